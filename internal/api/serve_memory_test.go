package api_test

import (
	"net/http"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// A file of up to 64 KiB that was sent before is sent from memory while its bucket does not answer.
// Other files are not, and HEAD asks the bucket.
func TestSmallFilesWithoutTheirBucket(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		server, _ := rootBehindProxy(t, l)
		admin, visitor := l.Admin(t), l.Client(t)
		small, large := strings.Repeat("s", 64<<10), strings.Repeat("l", 64<<10+1)
		admin.Upload("/public", "small.txt", []byte(small))
		admin.Upload("/public", "never read.txt", []byte("n"))
		admin.Upload("/public", "large.txt", []byte(large))
		for path, want := range map[string]string{"/public/small.txt": small, "/public/large.txt": large} {
			for range 2 { // on each replica
				wantBody(t, visitor.Get(path).OK(200), want)
			}
		}
		server.SetBefore(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		})
		for range 2 {
			wantBody(t, visitor.Get("/public/small.txt").OK(200), small)
			wantBody(t, visitor.Get("/public/small.txt", "Range", "bytes=1-2").OK(206), "ss")
			visitor.Get("/public/large.txt").Fails(500, "INTERNAL_ERROR")
			visitor.Get("/public/never%20read.txt").Fails(500, "INTERNAL_ERROR")
			wantStatus(t, "HEAD", visitor.Head("/public/small.txt"), 500, "")
		}
	}, apptest.ReachLoopback)
}
