package apptest_test

import (
	"testing"

	"larder/internal/apptest"
)

func TestUploadAndDownloadOnEverySetUp(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id := admin.Upload("/uploads", "a.txt", []byte("hello"))
		url := admin.Get("/api/files/" + id + "/download").OK(200).Text("url")
		if got := l.Client(t).Get(url).OK(200); string(got.Body) != "hello" {
			t.Fatalf("got %q", got.Body)
		}
		l.Client(t).Get(url).Fails(401, "INVALID_TOKEN")
		alice := l.User(t, "alice")
		if path := alice.Get("/api/auth/me").OK(200).Text("user.defaultPath"); path != "/home/alice" {
			t.Errorf("defaultPath %q", path)
		}
		alice.Get("/api/files?path=/home/alice").OK(200)
	})
}
