package files_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/files"
	"larder/internal/quota"
)

// limit sets a user's storage quota.
func (h *house) limit(user string, bytes int64) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error { return quota.SetLimits(tx, user, &bytes, nil) })
}

// replaced puts content of 19 bytes at a path that many times, and returns the keys of all in
// order.
func (h *house) replaced(p string, times int) (keys []blob.Key) {
	h.t.Helper()
	for i := range times {
		place, err := h.tree.Place(h.t.Context(), h.ann, path(p).Parent(), path(p).Base(), files.Replace)
		h.must(err)
		s := h.store(fmt.Sprintf("%019d", i))
		_, err = h.commit(h.ann, place, s)
		h.must(err)
		keys = append(keys, s.Key)
		h.pass(time.Millisecond)
	}
	return keys
}

// left are the numbers of those keys that are in the store.
func (h *house) left(keys []blob.Key) (numbers []int) {
	h.t.Helper()
	for i, key := range keys {
		if h.stored(key) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func (h *house) wantLeft(what string, keys []blob.Key, want ...int) {
	h.t.Helper()
	if got := h.left(keys); fmt.Sprint(got) != fmt.Sprint(want) {
		h.t.Errorf("%s: %v are left, want %v", what, got, want)
	}
}

// docs/decisions.md, Quota: what an account uses, has reserved and has in garbage is at most twice its
// quota; beyond it its oldest garbage goes at once.
func TestGarbageOfAnAccountIsBounded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		asked := 0
		h.tree.Objects.TrimSoon = func() { asked++ }
		h.limit("ann", 20)
		keys := h.replaced("/home/ann/f", 2)
		if _, err := h.tree.Objects.Trim(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.collect()
		h.wantLeft("within the bound, in the grace period", keys, 0, 1)

		asked = 0
		keys = append(keys, h.replaced("/home/ann/f", 8)...) // 0 is collected before: it has the same name
		if asked == 0 {
			t.Error("nobody is told that there is too much")
		}
		if found, err := h.tree.Objects.Trim(t.Context()); err != nil || !found {
			t.Errorf("trim: %v, %v", found, err)
		}
		h.collect()
		h.wantLeft("beyond it: what is there and one more", keys, 8, 9)
		if got, err := h.read(h.ann, "/home/ann/f"); got != fmt.Sprintf("%019d", 7) || err != nil {
			t.Errorf("the file: %q, %v", got, err)
		}
		if found, err := h.tree.Objects.Trim(t.Context()); err != nil || found {
			t.Errorf("trim again: %v, %v", found, err)
		}

		h.write(func(tx *db.Tx) error { return quota.Reserve(tx, "ann", 1, 0) })
		h.must(h.tree.Objects.TrimAll(t.Context()))
		h.collect()
		h.wantLeft("with a byte reserved", keys, 8, 9)
		h.write(func(tx *db.Tx) error { return quota.Release(tx, "ann", 1, 0) })
		h.limit("ann", 18)
		h.must(h.tree.Objects.TrimAll(t.Context()))
		h.collect()
		h.wantLeft("with a lower limit", keys, 9)
		if n := h.count("garbage"); n != 0 {
			t.Errorf("%d keys stay on the list", n)
		}

		h.limit("ann", quota.Unlimited)
		keys = h.replaced("/home/ann/g", 5)
		h.must(h.tree.Objects.TrimAll(t.Context()))
		h.collect()
		h.wantLeft("without a limit", keys, 0, 1, 2, 3, 4)
		h.pass(grace)
		h.collect()
		h.wantLeft("after the grace period", keys, 4)
	})
}

// Garbage of one account makes none of another's due, and what is deleted with its folder counts as
// well.
func TestGarbageIsBoundedByOwner(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.limit("ann", 60)
		h.limit("bob", 20)
		bobs := h.file(h.bob, "/home/bob/f", strings.Repeat("b", 20))
		_, _, err := h.tree.Delete(t.Context(), h.bob, bobs.ID)
		h.must(err)
		h.folder(h.ann, "/home/ann/dir")
		var keys []blob.Key
		for range 4 {
			e := h.folder(h.ann, "/home/ann/dir/in")
			for i := range 3 {
				keys = append(keys, h.replaced(fmt.Sprint("/home/ann/dir/in/", i), 1)...)
			}
			_, _, err := h.tree.Delete(t.Context(), h.ann, e.ID)
			h.must(err)
			h.collect() // the rows
			h.pass(time.Millisecond)
		}
		_, err = h.tree.Objects.Trim(t.Context())
		h.must(err)
		h.collect()
		if got := len(h.left(keys)); got != 6 { // 114 of 120 bytes
			t.Errorf("%d objects of 19 bytes are left to an account of 60", got)
		}
		if n := h.number("SELECT count(*) FROM garbage WHERE owner_id = 'bob'"); n != 1 {
			t.Errorf("the other account has %d", n)
		}
	})
}

// A backup has the collector wait, also with what an account has too much.
func TestBoundOfGarbageWaitsForABackup(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.limit("ann", 20)
		hold, err := h.tree.Objects.Hold(t.Context())
		h.must(err)
		keys := h.replaced("/home/ann/f", 4)
		h.must(h.tree.Objects.TrimAll(t.Context()))
		h.collect()
		h.wantLeft("during a backup", keys, 0, 1, 2, 3)
		h.must(hold.Release(t.Context()))
		h.collect()
		h.wantLeft("after it", keys, 2, 3)
	})
}

// Replacements, trims and collectors at once: what files have stays, and what is left is within the
// bound.
func TestTrimBesideReplacementsAndCollectors(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.limit("ann", 200)
		var busy, chores sync.WaitGroup
		stop := make(chan struct{})
		for range 2 {
			chores.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					_, err := h.tree.Objects.Trim(context.Background())
					if err == nil {
						err = h.tree.Objects.TrimAll(context.Background())
					}
					if err == nil {
						_, err = h.tree.Collect(context.Background())
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for i := range 4 {
			busy.Go(func() {
				p := fmt.Sprint("/home/ann/f", i)
				h.replaced(p, 25)
				if got, err := h.read(h.ann, p); got != fmt.Sprintf("%019d", 24) || err != nil {
					t.Errorf("%s: %q, %v", p, got, err)
				}
			})
		}
		busy.Wait()
		close(stop)
		chores.Wait()
		h.must(h.tree.Objects.TrimAll(t.Context()))
		h.collect()
		if n := h.number("SELECT (SELECT used_storage FROM quotas WHERE user_id = 'ann') + (SELECT COALESCE(SUM(size), 0) FROM garbage)"); n > 400 || n < 380 {
			t.Errorf("%d bytes are left to an account of 200", n)
		}
	})
}

func (h *house) number(query string) (n int64) {
	h.t.Helper()
	h.must(h.db.Read(h.t.Context()).QueryRow("SELECT CAST((" + query + ") AS BIGINT)").Scan(&n))
	return n
}
