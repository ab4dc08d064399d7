package audit_test

import (
	"maps"
	"testing"
	"time"

	"larder/internal/audit"
)

func TestSeries(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		from := start.UnixMilli()
		note := func(after time.Duration, e audit.Entry) {
			w.advance(after)
			w.Record(e)
		}
		note(-time.Millisecond, audit.Entry{Action: audit.Upload, Bytes: 1, Status: 201}) // before the span
		note(time.Millisecond, audit.Entry{Action: audit.Upload, Bytes: 2, Status: 201})  // on its edge
		note(0, audit.Entry{Action: audit.Upload, Bytes: 4, Status: 413})                 // which failed
		note(0, audit.Entry{Action: audit.Delete, Bytes: 8, Status: 200})
		// the last of the first step
		note(time.Minute-time.Millisecond, audit.Entry{Action: audit.Upload, Bytes: 16, Status: 200})
		// the first of the second
		note(time.Millisecond, audit.Entry{Action: audit.Upload, Bytes: 32, Status: 200})
		note(0, audit.Entry{Action: audit.Login, Status: 200})
		note(0, audit.Entry{Action: audit.LoginFailed, Status: 401})
		note(0, audit.Entry{Action: audit.LoginFailed, Status: 429})
		note(0, audit.Entry{Action: audit.ShareDownload, Bytes: 64, Status: 200})
		note(0, audit.Entry{Action: audit.Download, Bytes: 128, Status: 302})
		note(0, audit.Entry{Action: audit.Download, Bytes: 256, Status: 403})
		w.CountRead("/public/a", 512)
		w.CountRead("/public/a", 512)
		// the last of the span
		note(2*time.Minute-time.Millisecond, audit.Entry{Action: audit.Upload, Bytes: 1024, Status: 200})
		note(time.Millisecond, audit.Entry{Action: audit.Upload, Bytes: 2048, Status: 200}) // beyond
		w.advance(time.Hour)
		w.flush()
		type points = map[int64]int64
		for of, want := range map[audit.Measure]points{
			audit.Uploads: {0: 2, 1: 1, 2: 1}, audit.UploadBytes: {0: 18, 1: 32, 2: 1024},
			audit.Downloads: {0: 2, 1: 2}, audit.DownloadBytes: {0: 1024, 1: 192},
			audit.Logins: {1: 1}, audit.FailedLogins: {1: 2}, audit.Requests: {}, audit.ServerErrors: {},
			// the upload 413; the logins 401 and 429, and the download 403
			audit.Errors: {0: 1, 1: 3},
		} {
			got, err := w.Series(t.Context(), of, from, from+3*time.Minute.Milliseconds(), time.Minute.Milliseconds())
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("%s: %v, want %v (%v)", of, got, want, err)
			}
		}
		got, err := w.Series(t.Context(), audit.Uploads, from, from+time.Hour.Milliseconds(),
			2*time.Minute.Milliseconds())
		if want := (points{0: 3, 1: 2}); err != nil || !maps.Equal(got, want) {
			t.Errorf("longer steps: %v, want %v (%v)", got, want, err)
		}
	})
}

func TestSeriesOfRequests(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		other := w.replica(w.open(), nil)
		w.advance(59 * time.Second)
		w.CountRequest(200)
		other.CountRequest(500)
		w.advance(time.Second)
		other.CountRequest(499)
		w.advance(time.Minute)
		w.CountRequest(503)
		w.flush()
		if err := other.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		from, minute := start.UnixMilli(), time.Minute.Milliseconds()
		for _, c := range []struct {
			from, to int64
			want     map[int64]int64
		}{
			{from, from + 3*minute, map[int64]int64{0: 2, 1: 1, 2: 1}},
			{from, from + 2*minute, map[int64]int64{0: 2, 1: 1}},
			{from + 1, from + 3*minute, map[int64]int64{0: 1, 1: 1}},
			{from - minute, from + 1, map[int64]int64{1: 2}},
		} {
			if got, err := w.Series(t.Context(), audit.Requests, c.from, c.to, minute); err != nil ||
				!maps.Equal(got, c.want) {
				t.Errorf("%d to %d: %v, want %v (%v)", c.from-from, c.to-from, got, c.want, err)
			}
		}
		if got, err := w.Series(t.Context(), audit.ServerErrors, from, from+3*minute, minute); err != nil ||
			!maps.Equal(got, map[int64]int64{0: 1, 1: 0, 2: 1}) {
			t.Errorf("server errors: %v (%v)", got, err)
		}
	})
}
