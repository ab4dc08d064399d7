package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// Abuse case C77: the page of a refused navigation is not cached, like the envelope in its place.
func TestRefusalPagesAreNotCached(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	for path, status := range map[string]int{"/home/alice/x": 401, "/public/absent": 404, "/api": 404} {
		r := l.Client(t).Get(path, "Accept", "text/html")
		if r.Status != status {
			t.Errorf("%s: %d", path, r.Status)
		}
		wantHeader(t, r, "Cache-Control", "private, no-store")
	}
}
