package api_test

import (
	"strings"
	"testing"

	"larder/internal/apptest"
)

// The test follows a file in a bucket from its upload to its deletion, through the service.
func TestFilesInABucket(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t, M{"uploadMode": "worker", "pathPrefix": "larder/files"})
		user := l.User(t, "anna")
		content := strings.Repeat("every byte counts ", 1000)
		id := user.Upload("/home/anna", "a.txt", []byte(content))
		if got := user.Get("/home/anna/a.txt"); got.Status != 200 || string(got.Body) != content {
			t.Errorf("status %d, %d bytes of %d", got.Status, len(got.Body), len(content))
		}
		if key := onlyObject(t, bucket); !strings.HasPrefix(key, "larder/files/") {
			t.Errorf("in the bucket: %s", key)
		}
		user.Delete("/api/files/" + id).OK(200)
		user.Get("/home/anna/a.txt").Fails(404, "NOT_FOUND")
	}, apptest.ReachLoopback)
}
