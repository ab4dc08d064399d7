package api_test

import (
	"strings"
	"testing"

	"larder/internal/apptest"
)

// Thousands of one-byte ranges are not answered one by one.
func TestManyRangesAreNotServedOneByOne(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	content := strings.Repeat("0123456789", 1000)
	l.Admin(t).Upload("/public", "a.txt", []byte(content))
	c := l.Client(t)
	for _, n := range []int{33, 5000} {
		r := c.Get("/public/a.txt", "Range", "bytes="+strings.Repeat("0-0,", n-1)+"1-1").OK(200)
		wantBody(t, r, content)
		wantHeader(t, r, "Content-Range", "")
	}
	r := c.Get("/public/a.txt", "Range", "bytes="+strings.Repeat("0-0,", 31)+"1-1").OK(206)
	if got := strings.Count(string(r.Body), "Content-Range: "); got != 32 {
		t.Errorf("%d ranges, want 32", got)
	}
}
