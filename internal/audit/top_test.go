package audit_test

import (
	"slices"
	"testing"
	"time"

	"larder/internal/audit"
)

func TestTop(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		from := start.UnixMilli()
		note := func(after time.Duration, action audit.Action, path string, bytes int64, status int) {
			w.advance(after)
			w.Record(audit.Entry{Action: action, Path: path, Bytes: bytes, Status: status})
		}
		note(-time.Millisecond, audit.Download, "/before", 1, 200)
		note(time.Millisecond, audit.Download, "/a", 10, 200) // on the edge of the span
		note(0, audit.Download, "/a", 10, 206)
		note(0, audit.Download, "/a", 1000, 403)
		note(0, audit.Upload, "/a", 1000, 201)
		note(0, audit.ShareDownload, "/b", 100, 200)
		note(0, audit.Download, "/c", 20, 200)
		note(0, audit.Download, "/…", 5000, 200)
		w.CountRead("/d", 1)
		w.CountRead("/d", 1)
		w.CountRead("/d", 1)
		note(time.Minute, audit.Download, "/beyond", 1, 200)
		w.advance(time.Hour)
		w.flush()
		all := []audit.PathTraffic{{Path: "/b", Count: 1, Bytes: 100}, {Path: "/a", Count: 2, Bytes: 20},
			{Path: "/c", Count: 1, Bytes: 20}, {Path: "/d", Count: 3, Bytes: 3}}
		to := from + time.Minute.Milliseconds()
		for name, c := range map[string]struct {
			order audit.TopOrder
			limit int64
			want  []audit.PathTraffic
		}{
			"by bytes": {audit.ByBytes, 10, all},
			"by count": {audit.ByCount, 10, []audit.PathTraffic{all[3], all[1], all[0], all[2]}},
			"limited":  {audit.ByBytes, 2, all[:2]},
		} {
			got, since, err := w.Top(t.Context(), c.order, from, to, c.limit)
			if err != nil || since != from || !slices.Equal(got, c.want) {
				t.Errorf("%s: %v since %d, want %v (%v)", name, got, since-from, c.want, err)
			}
		}
	})
}

// A span with more than TopEntries entries is cut at its beginning, for both actions alike.
func TestTopIsBounded(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(c *audit.Config) { c.TopEntries = 3 }, func(t *testing.T, w *fixture) {
		from := start.UnixMilli()
		for i := range 4 {
			w.Record(audit.Entry{Action: audit.Download, Path: "/a", Bytes: 1, Status: 200})
			if i < 3 {
				w.Record(audit.Entry{Action: audit.ShareDownload, Path: "/b", Bytes: 10, Status: 200})
			}
			w.advance(time.Second)
		}
		w.flush()
		to := from + 4000
		got, since, err := w.Top(t.Context(), audit.ByBytes, from, to, 10)
		want := []audit.PathTraffic{{Path: "/b", Count: 2, Bytes: 20}, {Path: "/a", Count: 3, Bytes: 3}}
		if err != nil || since != from+1 || !slices.Equal(got, want) {
			t.Errorf("four downloads: %v since %d, want %v (%v)", got, since-from, want, err)
		}
		got, since, err = w.Top(t.Context(), audit.ByBytes, from+1000, to, 10)
		if err != nil || since != from+1000 || !slices.Equal(got, want) {
			t.Errorf("three downloads: %v since %d, want %v (%v)", got, since-from, want, err)
		}
	})
}
