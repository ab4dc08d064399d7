package files_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"larder/internal/files"
)

// checkUsageReport checks the totals of all files and the totals of each provider.
func (f *storesFixture) checkUsageReport(what string, all files.Amount, want map[string]files.Amount) {
	f.t.Helper()
	got, by, err := f.tree.Usage(f.t.Context(), []string{"local", "vault", "twin", "nobody's"})
	f.must(err)
	maps.DeleteFunc(by, func(_ string, a files.Amount) bool { return a == files.Amount{} })
	if got != all || !maps.Equal(by, want) {
		f.t.Errorf("%s: %v, %v; want %v, %v", what, got, by, all, want)
	}
}

// A deleted file stops counting immediately, before its row and object are deleted. A shared object
// counts once for each file, as in quotas.
func TestUsage(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		type by = map[string]files.Amount
		w.checkUsageReport("nothing", files.Amount{}, by{})
		a := w.mustUpload(w.ann, "/home/ann/a", "12345")
		w.createFolder(w.ann, "/home/ann/box")
		w.mustUpload(w.bob, "/home/bob/b", "1")
		w.checkUsageReport("one provider", files.Amount{Files: 2, Bytes: 6}, by{"local": {Files: 2, Bytes: 6}})
		w.mustUpload(w.ann, "/vault/box/c", "123")
		w.mustUpload(w.ann, "/vault/box/sub/empty", "")
		d := w.mustUpload(w.ann, "/vault/d", "1234567")
		w.checkUsageReport("two", files.Amount{Files: 5, Bytes: 16},
			by{"local": {Files: 2, Bytes: 6}, "vault": {Files: 3, Bytes: 10}})
		_, err := w.upload(w.ann, "/vault/d", "12", files.Replace)
		w.must(err)
		w.checkUsageReport("replaced", files.Amount{Files: 5, Bytes: 11},
			by{"local": {Files: 2, Bytes: 6}, "vault": {Files: 3, Bytes: 5}})

		_, err = w.tree.Copy(t.Context(), w.ann, a.ID, mustParsePath("/home/ann/box"), nil)
		w.must(err)
		w.checkUsageReport("copied", files.Amount{Files: 6, Bytes: 16},
			by{"local": {Files: 3, Bytes: 11}, "vault": {Files: 3, Bytes: 5}})
		w.startMove(w.ann, a.ID, "/vault")
		w.runJobs()
		w.checkUsageReport("moved to the other", files.Amount{Files: 6, Bytes: 16},
			by{"local": {Files: 2, Bytes: 6}, "vault": {Files: 4, Bytes: 10}})
		_, _, err = w.tree.Delete(t.Context(), w.ann, d.ID)
		w.must(err)
		w.checkUsageReport("a file deleted", files.Amount{Files: 5, Bytes: 14},
			by{"local": {Files: 2, Bytes: 6}, "vault": {Files: 3, Bytes: 8}})
		_, _, err = w.tree.Delete(t.Context(), w.ann, w.idAtPath("/vault/box"))
		w.must(err)
		after := by{"local": {Files: 2, Bytes: 6}, "vault": {Files: 1, Bytes: 5}}
		w.checkUsageReport("a folder deleted", files.Amount{Files: 3, Bytes: 11}, after)
		w.advance(2 * grace)
		w.collect()
		w.checkUsageReport("after a collection", files.Amount{Files: 3, Bytes: 11}, after)
		_, _, err = w.tree.Delete(t.Context(), w.ann, a.ID)
		w.must(err)
		w.checkUsageReport("one provider again", files.Amount{Files: 2, Bytes: 6}, by{"local": {Files: 2, Bytes: 6}})
	})
}

// A large copy under way does not count.
func TestUsageIgnoresCopyUnderWay(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		type by = map[string]files.Amount
		w.mustUpload(w.ann, "/vault/x", "1")
		content := map[string]string{"a": "12", "b": "123", "c": "1234", "d": "12345", "e": "", "f": "1"}
		before, during, after := files.Amount{Files: 6, Bytes: 15}, 0, files.Amount{Files: 12, Bytes: 30}
		check := func() {
			during++
			w.checkUsageReport("under way", files.Amount{Files: 7, Bytes: 16},
				by{"local": before, "vault": {Files: 1, Bytes: 1}})
		}
		_, id := w.startLargeCopy(w.ann, "/home/ann/from", "/home/ann/to", content)
		check()
		w.runBeforeTransaction(2, check)
		w.checkJobEnded(id, "")
		if during != 2 {
			t.Errorf("asked %d times", during)
		}
		w.checkUsageReport("done", files.Amount{Files: 13, Bytes: 31},
			by{"local": after, "vault": {Files: 1, Bytes: 1}})
	})
}

// A count that took long is cached for a time in proportion to its duration. The cache is never
// used longer, and never after a change of providers.
func TestUsageCachesSlowCounts(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		type by = map[string]files.Amount
		w.mustUpload(w.ann, "/vault/x", "12")
		for _, p := range []string{"/home/ann/a", "/home/ann/b", "/home/ann/c"} {
			w.mustUpload(w.ann, p, "12")
		}
		w.checkUsageReport("counted", files.Amount{Files: 4, Bytes: 8},
			by{"local": {Files: 3, Bytes: 6}, "vault": {Files: 1, Bytes: 2}})
		w.tree.CacheUsage(w.clock().Add(time.Second))
		for _, p := range []string{"/vault/e", "/vault/f", "/vault/g", "/vault/h"} {
			w.mustUpload(w.ann, p, "12")
		}
		w.advance(time.Second - time.Millisecond)
		w.checkUsageReport("soon after", files.Amount{Files: 8, Bytes: 16},
			by{"local": {Files: 6, Bytes: 12}, "vault": {Files: 2, Bytes: 4}})
		w.advance(time.Millisecond)
		w.checkUsageReport("later", files.Amount{Files: 8, Bytes: 16},
			by{"local": {Files: 3, Bytes: 6}, "vault": {Files: 5, Bytes: 10}})
		w.tree.CacheUsage(w.clock().Add(time.Hour))
		w.mustUpload(w.ann, "/twin/t", "1")
		w.checkUsageReport("with a third", files.Amount{Files: 9, Bytes: 17},
			by{"local": {Files: 3, Bytes: 6}, "vault": {Files: 5, Bytes: 10}, "twin": {Files: 1, Bytes: 1}})
	})
}

// While one caller counts, others get the cached count. Without a cached count they wait until
// their context ends.
func TestUsageWhileAnotherCountRuns(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		type by = map[string]files.Amount
		w.mustUpload(w.ann, "/vault/x", "12")
		w.mustUpload(w.ann, "/home/ann/a", "12")
		both := by{"local": {Files: 1, Bytes: 2}, "vault": {Files: 1, Bytes: 2}}

		release := w.tree.BlockUsage()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := w.tree.Usage(ctx, []string{"local", "vault"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller whose context ended: %v", err)
		}
		waits := make(chan by)
		go func() {
			_, got, err := w.tree.Usage(t.Context(), []string{"local", "vault"})
			if err != nil {
				t.Error(err)
			}
			waits <- got
		}()
		release()
		if got := <-waits; !maps.Equal(got, both) {
			t.Errorf("a caller that waited: %v", got)
		}

		w.tree.CacheUsage(w.clock())
		w.mustUpload(w.ann, "/vault/y", "12")
		w.mustUpload(w.ann, "/vault/z", "12")
		release = w.tree.BlockUsage()
		w.checkUsageReport("the last count, in proportion", files.Amount{Files: 4, Bytes: 8},
			by{"local": {Files: 2, Bytes: 4}, "vault": {Files: 2, Bytes: 4}})
		release()
		w.checkUsageReport("counted again", files.Amount{Files: 4, Bytes: 8},
			by{"local": {Files: 1, Bytes: 2}, "vault": {Files: 3, Bytes: 6}})
	})
}

// Of very many deleted files a sample is read. The total of all files stays exact, and so do the
// totals of providers where a folder's files were all in one provider.
func TestUsageSamplesDeletedFiles(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		type by = map[string]files.Amount
		w.mustUpload(w.ann, "/vault/x", "12")
		for _, p := range []string{"/home/ann/box/a", "/home/ann/box/b", "/home/ann/box/c", "/home/ann/box/d",
			"/home/ann/kept"} {
			w.mustUpload(w.ann, p, "12")
		}
		_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath("/home/ann/box"))
		w.must(err)
		for _, n := range []int64{1, 3, 4, 5} {
			w.tree.SetSampleSize(n)
			w.checkUsageReport("deleted", files.Amount{Files: 2, Bytes: 4},
				by{"local": {Files: 1, Bytes: 2}, "vault": {Files: 1, Bytes: 2}})
		}
	})
}
