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
	latest := func(when string) {
		t.Helper()
		if at, found := r.Latest("a"); at != 1_000_001 || !found {
			t.Errorf("the latest use %s: %d, %v", when, at, found)
		}
	}
	latest("before a write")
	if err := r.Write(func(map[string]int64) error {
		latest("during a write")
		return errors.New("the disk is full")
	}); err == nil {
		t.Error("the failure of a write is lost")
	}
	want("the later of two uses", write(nil), "map[a:1000001]")
	latest("after a write") // the reader may have read the database before
	ms += 59_999
	r.Touch("a")
	r.Touch("b")
	want("within the minute", write(nil), "map[b:1060000]")
	ms++
	r.Touch("a")
	want("a minute after", write(errors.New("the disk is full")), "map[a:1060001]")
	want("after a failure", write(nil), "map[a:1060001]")
	want("once", write(nil), "nothing")
	ms += 60_000
	want("later", write(nil), "nothing")
	if at, found := r.Latest("a"); found {
		t.Errorf("a use that was written a minute ago stays in memory: %d", at)
	}
}

// A use during a write is later than the written one, so it is kept.
func TestUseDuringAWrite(t *testing.T) {
	t.Parallel()
	ms := int64(1_000_000)
	r := lastuse.New(func() time.Time { return time.UnixMilli(ms) })
	r.Touch("a")
	if err := r.Write(func(map[string]int64) error {
		ms += 70_000
		r.Touch("a")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if at, found := r.Latest("a"); at != 1_070_000 || !found {
		t.Errorf("the latest use: %d, %v", at, found)
	}
}
