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
	"larder/internal/files"
	"larder/internal/quota"
)

// replaceTimes puts 19 bytes at a path that many times and returns the keys of all versions in
// order.
func (f *fixture) replaceTimes(p string, times int) (keys []blob.Key) {
	f.t.Helper()
	for i := range times {
		dest, err := f.tree.ResolveDestination(f.t.Context(), f.ann, mustParsePath(p).Parent(),
			mustParsePath(p).Base(), files.Replace)
		f.must(err)
		s := f.storeContent(fmt.Sprintf("%019d", i))
		_, err = f.putEntry(f.ann, dest, s)
		f.must(err)
		keys = append(keys, s.Key)
		f.advance(time.Millisecond)
	}
	return keys
}

// storedNumbers returns the indexes of the keys that are still in the store.
func (f *fixture) storedNumbers(keys []blob.Key) (numbers []int) {
	f.t.Helper()
	for i, key := range keys {
		if f.isStored(key) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func (f *fixture) wantStored(what string, keys []blob.Key, want ...int) {
	f.t.Helper()
	if got := f.storedNumbers(keys); fmt.Sprint(got) != fmt.Sprint(want) {
		f.t.Errorf("%s: %v are left, want %v", what, got, want)
	}
}

// docs/decisions.md, Quota: the bytes that an account uses, has reserved and has in garbage are at
// most twice its quota. Beyond that, its oldest garbage becomes due immediately.
func TestGarbageOfAnAccountIsBounded(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		asked := 0
		h.tree.Objects.TrimSoon = func() { asked++ }
		h.setQuota("ann", 20, quota.Unlimited)
		keys := h.replaceTimes("/home/ann/f", 2)
		if _, err := h.tree.Objects.Trim(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.collect()
		h.wantStored("within the bound, in the grace period", keys, 0, 1)

		asked = 0
		keys = append(keys, h.replaceTimes("/home/ann/f", 8)...) // key 0 is collected first: the file has the same name
		if asked == 0 {
			t.Error("no answer reports that the bound is exceeded")
		}
		if found, err := h.tree.Objects.Trim(t.Context()); err != nil || !found {
			t.Errorf("trim: %v, %v", found, err)
		}
		h.collect()
		h.wantStored("beyond it: the present bytes and one more", keys, 8, 9)
		if got, err := h.readPath(h.ann, "/home/ann/f"); got != fmt.Sprintf("%019d", 7) || err != nil {
			t.Errorf("the file: %q, %v", got, err)
		}
		if found, err := h.tree.Objects.Trim(t.Context()); err != nil || found {
			t.Errorf("trim again: %v, %v", found, err)
		}

		h.write(func(tx *db.Tx) error { return quota.Reserve(tx, "ann", 1, 0) })
		h.must(h.tree.Objects.TrimAll(t.Context()))
		h.collect()
		h.wantStored("with a byte reserved", keys, 8, 9)
		h.write(func(tx *db.Tx) error { return quota.Release(tx, "ann", 1, 0) })
		h.setQuota("ann", 18, quota.Unlimited)
		h.must(h.tree.Objects.TrimAll(t.Context()))
		h.collect()
		h.wantStored("with a lower limit", keys, 9)
		if n := h.countRows("garbage"); n != 0 {
			t.Errorf("%d keys stay on the list", n)
		}

		h.setQuota("ann", quota.Unlimited, quota.Unlimited)
		keys = h.replaceTimes("/home/ann/g", 5)
		h.must(h.tree.Objects.TrimAll(t.Context()))
		h.collect()
		h.wantStored("without a limit", keys, 0, 1, 2, 3, 4)
		h.advance(grace)
		h.collect()
		h.wantStored("after the grace period", keys, 4)
	})
}

// Garbage of one account does not make garbage of another due. Files that are deleted with their
// folder count too.
func TestGarbageIsBoundedByOwner(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.setQuota("ann", 60, quota.Unlimited)
		h.setQuota("bob", 20, quota.Unlimited)
		bobs := h.mustUpload(h.bob, "/home/bob/f", strings.Repeat("b", 20))
		_, _, err := h.tree.Delete(t.Context(), h.bob, bobs.ID)
		h.must(err)
		h.createFolder(h.ann, "/home/ann/dir")
		var keys []blob.Key
		for range 4 {
			e := h.createFolder(h.ann, "/home/ann/dir/in")
			for i := range 3 {
				keys = append(keys, h.replaceTimes(fmt.Sprint("/home/ann/dir/in/", i), 1)...)
			}
			_, _, err := h.tree.Delete(t.Context(), h.ann, e.ID)
			h.must(err)
			h.collect() // the rows
			h.advance(time.Millisecond)
		}
		_, err = h.tree.Objects.Trim(t.Context())
		h.must(err)
		h.collect()
		if got := len(h.storedNumbers(keys)); got != 6 { // 114 of 120 bytes
			t.Errorf("%d objects of 19 bytes are left to an account of 60", got)
		}
		if n := h.queryInt("SELECT count(*) FROM garbage WHERE owner_id = 'bob'"); n != 1 {
			t.Errorf("the other account has %d", n)
		}
	})
}

// The collector waits for a backup, also with garbage beyond the limit.
func TestGarbageLimitWaitsForBackup(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.setQuota("ann", 20, quota.Unlimited)
		hold, err := h.tree.Objects.Hold(t.Context())
		h.must(err)
		keys := h.replaceTimes("/home/ann/f", 4)
		h.must(h.tree.Objects.TrimAll(t.Context()))
		h.collect()
		h.wantStored("during a backup", keys, 0, 1, 2, 3)
		h.must(hold.Release(t.Context()))
		h.collect()
		h.wantStored("after it", keys, 2, 3)
	})
}

// Replacements, trims and collectors run concurrently. The content of files is kept, and the
// garbage left is within the limit.
func TestTrimAgainstConcurrentReplacements(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.setQuota("ann", 200, quota.Unlimited)
		var busy, maintenance sync.WaitGroup
		stop := make(chan struct{})
		for range 2 {
			maintenance.Go(func() {
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
				h.replaceTimes(p, 25)
				if got, err := h.readPath(h.ann, p); got != fmt.Sprintf("%019d", 24) || err != nil {
					t.Errorf("%s: %q, %v", p, got, err)
				}
			})
		}
		busy.Wait()
		close(stop)
		maintenance.Wait()
		h.must(h.tree.Objects.TrimAll(t.Context()))
		h.collect()
		if n := h.queryInt(
			"SELECT (SELECT used_storage FROM quotas WHERE user_id = 'ann') + (SELECT COALESCE(SUM(size), 0) FROM " +
				"garbage)"); n > 400 || n < 380 {
			t.Errorf("an account with a quota of 200 bytes has %d bytes of objects", n)
		}
	})
}

// docs/decisions.md, Quota: bytes of the trash and of versions count for the bound too. Beyond it,
// the oldest garbage goes first, then the oldest kept bytes.
func TestKeptBytesCountForTheBoundOfAnAccount(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.setQuota("ann", 10, 100)
		w.exec("UPDATE quotas SET max_kept = -1 WHERE user_id = 'ann'")
		id := w.mustUpload(w.ann, "/home/ann/f", "1 eight.").ID
		for _, content := range []string{"2 eight.", "3 eight.", "4 eight."} {
			w.advance(time.Millisecond)
			w.replace(w.ann, "/home/ann/f", content)
		}
		w.checkTrash("before the sweep", 8, 24, 0, 0)
		w.must(w.tree.SweepTrash(t.Context()))
		w.checkTrash("after it", 8, 8, 0, 0) // 16 of 20
		w.wantVersions("the newest stays", w.ann, id, "3 eight.")
		w.must(w.tree.Objects.TrimAll(t.Context()))
		w.collect()
		if n := w.countRows("garbage"); n != 0 {
			t.Errorf("%d objects of 8 bytes are garbage, with 4 bytes left", n)
		}

		w.setQuota("ann", 100, 100)
		w.advance(time.Millisecond)
		w.replace(w.ann, "/home/ann/f", "twenty-four bytes, right")
		w.setQuota("ann", 16, 100) // 8 bytes of the file are above it, and do not count
		w.must(w.tree.SweepTrash(t.Context()))
		w.checkTrash("under a lower quota", 24, 16, 0, 0)
		w.checkAccounting()
	})
}
