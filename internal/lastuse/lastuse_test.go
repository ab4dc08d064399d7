package lastuse_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"larder/internal/lastuse"
)

func TestEachUseIsWrittenOnceAndAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	ms := int64(1_000_000)
	r := lastuse.New(func() time.Time { return time.UnixMilli(ms) })
	write := func(fails error) string {
		t.Helper()
		written := "nothing"
		err := r.Write(func(uses map[string]int64) error {
			written = fmt.Sprint(uses)
			return fails
		})
		if !errors.Is(err, fails) {
			t.Errorf("got %v, want %v", err, fails)
		}
		return written
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: wrote %s, want %s", what, got, want)
		}
	}
	want("before any use", write(nil), "nothing")
	r.Touch("a")
	ms++
	r.Touch("a")
	if at, found := r.Unwritten("a"); at != 1_000_001 || !found {
		t.Errorf("unwritten: %d, %v", at, found)
	}
	want("the later of two uses", write(nil), "map[a:1000001]")
	if _, found := r.Unwritten("a"); found {
		t.Error("a written use is unwritten")
	}
	ms += 59_999
	r.Touch("a")
	r.Touch("b")
	want("within the minute", write(nil), "map[b:1060000]")
	ms++
	r.Touch("a")
	want("a minute after", write(errors.New("the disk is full")), "map[a:1060001]")
	want("after a failure", write(nil), "map[a:1060001]")
	want("once", write(nil), "nothing")
}
