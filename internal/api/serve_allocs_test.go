package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"larder/internal/apptest"
)

// discardWriter is a ResponseWriter that keeps its header map and drops the body.
type discardWriter struct {
	header http.Header
	status int
}

func (w *discardWriter) Header() http.Header         { return w.header }
func (w *discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *discardWriter) WriteHeader(status int)      { w.status = status }

// SetWriteDeadline is that of http.ResponseController.
func (w *discardWriter) SetWriteDeadline(time.Time) error { return nil }

// warmReadAllocations is the largest number of allocations of a warm read. The log line and the
// counts of the request are in it, the work of net/http is not.
const warmReadAllocations = 30

// A public file that is asked for again costs few allocations: nothing that is constant for it is
// made anew.
func TestWarmReadAllocations(t *testing.T) {
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	admin.Upload("/public", "f.png", []byte(onePixel))
	handler := l.Apps[0].Handler()
	r := httptest.NewRequest(http.MethodGet, "/public/f.png", nil)
	w := &discardWriter{header: http.Header{}}
	get := func() {
		clear(w.header)
		handler.ServeHTTP(w, r)
	}
	for range 3 {
		get()
	}
	if w.status != http.StatusOK {
		t.Fatalf("status %d", w.status)
	}
	if got := testing.AllocsPerRun(200, get); got > warmReadAllocations {
		t.Errorf("a warm read makes %v allocations, want %d at most", got, warmReadAllocations)
	}
}
