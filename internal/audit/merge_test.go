package audit_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/audit"
)

func entryBy(user, ip string, action audit.Action) audit.Entry {
	return audit.Entry{UserID: user, IP: ip, Action: action, Path: "/p", Bytes: 10, Status: 200}
}

// sums returns the merged entries as sorted text, and the number of entries that were not merged.
func (f *fixture) sums() (merged []string, alone int) {
	f.t.Helper()
	for _, e := range f.allEntries() {
		if e.Path != "/…" {
			alone++
			continue
		}
		merged = append(merged, fmt.Sprintf("%s %s %s %d: %d, %d bytes, after %v", cmp.Or(e.UserID, "-"),
			cmp.Or(e.IP, "-"), e.Action, e.Status, e.Count, e.Bytes, time.UnixMilli(e.CreatedAt).Sub(start)))
	}
	slices.Sort(merged)
	return merged, alone
}

func (f *fixture) wantSums(what string, alone int, merged ...string) {
	f.t.Helper()
	got, n := f.sums()
	slices.Sort(merged)
	if n != alone || !slices.Equal(got, merged) {
		f.t.Errorf("%s: %d not merged, want %d; merged\n%s\nwant\n%s", what, n, alone, strings.Join(got, "\n"),
			strings.Join(merged, "\n"))
	}
}

// Abuse case C113: the first 600 entries of an account in a minute are written as they are. From
// the 601st on, the entries of an action are merged into one.
func TestOneSourceCannotFillTheLog(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(c *audit.Config) { c.MaxUnmerged = 0 }, func(t *testing.T, w *fixture) {
		w.advance(59*time.Second + 999*time.Millisecond)
		for range 600 {
			w.Record(entryBy("ann", "203.0.113.1", audit.Download))
		}
		w.flush()
		w.wantSums("600", 600)
		for range 3 {
			w.Record(entryBy("ann", "203.0.113.1", audit.Download))
		}
		w.Record(entryBy("ann", "203.0.113.2", audit.Download)) // from another address
		w.Record(entryBy("ann", "203.0.113.1", audit.Upload))   // another action with the same limit
		failed := entryBy("ann", "203.0.113.1", audit.Download)
		failed.Status, failed.Bytes = 403, 0
		w.Record(failed)
		w.flush()
		w.wantSums("within the minute", 600)
		w.Record(entryBy("ann", "203.0.113.1", audit.Delete)) // not hidden by reads
		w.Record(entryBy("bob", "203.0.113.1", audit.Download))
		w.Record(entryBy("", "203.0.113.1", audit.Download))
		w.advance(time.Millisecond)
		w.flush()
		merged := []string{"ann - download 200: 4, 40 bytes, after 0s", "ann - upload 200: 1, 10 bytes, after 0s",
			"ann - download 403: 1, 0 bytes, after 0s"}
		w.wantSums("after the minute", 603, merged...)
		for range 600 { // which has a limit of its own
			w.Record(entryBy("ann", "203.0.113.1", audit.Download))
		}
		w.flush()
		w.wantSums("the next minute", 1203, merged...)
	})
}

func TestMergeGroupsBySource(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(c *audit.Config) { c.MaxUnmerged = 1 }, func(t *testing.T, w *fixture) {
		for _, e := range []audit.Entry{
			entryBy("", "203.0.113.1", audit.ShareDownload), entryBy("", "203.0.113.1", audit.ShareDownload),
			entryBy("", "203.0.113.2", audit.ShareDownload),
			entryBy("", "2001:db8::1", audit.ShareDownload), entryBy("", "2001:db8::2", audit.ShareDownload),
			entryBy("", "2001:db8:0:1::1", audit.ShareDownload),
			entryBy("", "", audit.Register), entryBy("", "", audit.Register),
			// A failed login counts for the address, not for the account that was tried.
			entryBy("ann", "203.0.113.7", audit.LoginFailed), entryBy("bob", "203.0.113.7", audit.LoginFailed),
			entryBy("ann", "203.0.113.8", audit.LoginFailed), entryBy("ann", "203.0.113.9", audit.Login),
			// Entries of administrators are never merged.
			entryBy("admin", "203.0.113.9", audit.Admin), entryBy("admin", "203.0.113.9", audit.Admin),
			entryBy("admin", "203.0.113.9", audit.Admin), entryBy("admin", "203.0.113.9", audit.Delete),
		} {
			w.Record(e)
		}
		w.Finish(t.Context()) // in the middle of the minute
		w.wantSums("all", 12,
			"- 203.0.113.1 share_download 200: 1, 10 bytes, after 0s",
			"- 2001:db8::/64 share_download 200: 1, 10 bytes, after 0s",
			"- - register 200: 1, 10 bytes, after 0s", "- 203.0.113.7 login_failed 200: 1, 10 bytes, after 0s")
		if w.logOutput.lines() != 0 {
			t.Errorf("lost: %s", w.logOutput)
		}
	})
}

// The memory for a minute is bounded: addresses beyond the limit are counted together, and do not
// affect accounts.
func TestCountedSourcesAreBounded(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(c *audit.Config) { c.MaxUnmerged, c.MaxSources = 1, 2 }, func(t *testing.T, w *fixture) {
		for i := range 5 { // two sources that are counted separately, and the first of the rest
			w.Record(entryBy("", fmt.Sprint("203.0.113.", i), audit.ShareDownload))
		}
		w.Record(entryBy("ann", "203.0.113.9", audit.Download))
		w.Record(entryBy("bob", "203.0.113.9", audit.Download))
		w.advance(time.Minute)
		w.flush()
		w.wantSums("five addresses", 5, "- - share_download 200: 2, 20 bytes, after 0s")

		// The database accepts no writes for long.
		release := w.lockSize()
		for range 6 {
			for range 3 {
				w.Record(entryBy("ann", "203.0.113.9", audit.Download))
			}
			w.advance(time.Minute)
		}
		release()
		w.flush()
		w.wantSums("after six minutes without a write", 11, "- - share_download 200: 2, 20 bytes, after 0s",
			"ann - download 200: 2, 20 bytes, after 1m0s", "ann - download 200: 2, 20 bytes, after 2m0s",
			"- - download 200: 2, 20 bytes, after 3m0s", "- - download 200: 2, 20 bytes, after 4m0s")
		w.Finish(t.Context())
		if !strings.Contains(w.logOutput.String(), "entries=4") { // of the last two minutes
			t.Errorf("dropped: %s", w.logOutput)
		}
	})
}

func TestMergedEntriesThatFailAreTriedAgain(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(c *audit.Config) { c.MaxUnmerged = 1 }, func(t *testing.T, w *fixture) {
		for range 4 {
			w.Record(entryBy("ann", "203.0.113.1", audit.Download))
		}
		w.advance(time.Minute)
		w.exec("ALTER TABLE access_log RENAME TO away")
		if err := w.Flush(t.Context()); err == nil {
			t.Fatal("a flush without its table succeeded")
		}
		w.exec("ALTER TABLE away RENAME TO access_log")
		w.flush()
		w.flush()
		w.wantSums("at the end", 1, "ann - download 200: 3, 30 bytes, after 0s")
	})
}
