package audit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/audit"
)

// Abuse case C113: when the database accepts no writes, requests continue, and entries beyond the
// buffer are dropped and logged.
func TestFullBufferDropsAndNeverWaits(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(c *audit.Config) { c.Buffer = 2000 }, func(t *testing.T, w *fixture) {
		release := w.lockSize()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan struct{})
		go func() { w.Run(ctx); close(ended) }()
		for i := range 2000 {
			w.Record(upload(fmt.Sprint("/", i)))
		}
		if w.logOutput.lines() != 0 {
			t.Errorf("dropped before it was full: %s", w.logOutput)
		}
		w.Record(upload("/dropped"))
		if !strings.Contains(w.logOutput.String(), "entries=1") {
			t.Errorf("the first dropped entry is not logged: %q", w.logOutput)
		}
		for range 10 {
			w.Record(upload("/dropped"))
		}
		w.advance(time.Minute - time.Millisecond)
		w.Record(upload("/dropped"))
		if w.logOutput.lines() != 1 {
			t.Errorf("logged more than once a minute: %s", w.logOutput)
		}
		w.advance(time.Millisecond)
		w.Record(upload("/dropped"))
		if w.logOutput.lines() != 2 || !strings.Contains(w.logOutput.String(), "entries=12") {
			t.Errorf("logged after a minute: %s", w.logOutput)
		}
		release()
		w.waitForEntries(2000)
		stop()
		<-ended
		if paths := w.paths(); len(paths) != 2000 || slices.Contains(paths, "/dropped") {
			t.Errorf("%d were written", len(paths))
		}
	})
}

func TestFailedWriteIsTriedAgain(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		for i := range 2500 {
			w.Record(upload(fmt.Sprint("/", i)))
		}
		w.CountRead("/public/a", 10)
		w.CountRequest(200)
		w.advance(time.Hour)
		w.exec("ALTER TABLE request_minutes RENAME TO away") // the table that is written last
		if err := w.Flush(t.Context()); err == nil {
			t.Fatal("a flush without its table succeeded")
		}
		w.CountRead("/public/a", 10) // of another hour
		w.CountRequest(200)
		w.exec("ALTER TABLE away RENAME TO request_minutes")
		if n := len(w.allEntries()); n != 0 {
			t.Errorf("%d were written by a write that failed", n)
		}
		w.flush()
		w.flush()
		if n := len(w.allEntries()); n != 2501 {
			t.Errorf("%d were written, want 2501", n)
		}
		if n, err := w.Requests24h(t.Context()); err != nil || n != 2 {
			t.Errorf("%d requests, %v", n, err)
		}
	})
}

func TestFinishWritesTheRestAndLogsWhatIsLost(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		for i := range 2500 {
			w.Record(upload(fmt.Sprint("/", i)))
		}
		for i := range 1500 {
			w.CountRead(fmt.Sprint("/public/", i), 1)
		}
		w.Finish(t.Context())
		if n := len(w.allEntries()); n != 4000 || w.logOutput.lines() != 0 {
			t.Errorf("%d were written: %s", n, w.logOutput)
		}
		w.Record(upload("/lost"))
		w.CountRead("/public/lost", 1)
		if err := w.DB.Close(); err != nil {
			t.Fatal(err)
		}
		w.Record(upload("/lost"))
		w.Finish(t.Context())
		if !strings.Contains(w.logOutput.String(), "entries=3") {
			t.Errorf("told: %s", w.logOutput)
		}
	})
}

// After a failure of the last write, such as a broken connection, Finish tries again.
func TestFinishTriesOnceMore(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "postgres", nil)
	w.exec("CREATE SEQUENCE tries")
	w.exec(`
		CREATE FUNCTION fail_once() RETURNS TRIGGER LANGUAGE plpgsql AS $$
		BEGIN
			IF nextval('tries') = 1 THEN
				RAISE EXCEPTION 'once';
			END IF;
			RETURN NULL;
		END $$`)
	w.exec("CREATE TRIGGER fail_once AFTER INSERT ON access_log FOR EACH STATEMENT EXECUTE FUNCTION fail_once()")
	w.Record(upload("/a"))
	w.CountRead("/public/b", 1)
	w.Finish(t.Context())
	if paths := w.paths(); len(paths) != 2 || w.logOutput.lines() != 0 {
		t.Errorf("%v were written: %s", paths, w.logOutput)
	}
}

// Run writes about once a second, logs failures, and ends with its context.
func TestRun(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { w.Run(ctx); close(ended) }()
		w.Record(upload("/a"))
		w.waitForEntries(1)
		w.exec("ALTER TABLE access_log RENAME TO away")
		w.Record(upload("/b"))
		for !strings.Contains(w.logOutput.String(), "will be retried") {
			<-time.After(time.Millisecond)
		}
		stop()
		<-ended
	})
}

func TestPublicReadsAreSummedByTheHour(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		w.advance(59*time.Minute + 59*time.Second + 999*time.Millisecond)
		for range 3 {
			w.CountRead("/public/a.jpg", 100)
		}
		w.CountRead("/public/b.jpg", 7)
		w.flush()
		if got := w.allEntries(); len(got) != 0 {
			t.Errorf("before the hour is over: %v", got)
		}
		w.advance(time.Millisecond)
		w.CountRead("/public/a.jpg", 100)
		w.flush()
		got := w.allEntries()
		for i := range got {
			got[i].ID = 0
		}
		slices.SortFunc(got, func(a, b audit.Entry) int { return strings.Compare(a.Path, b.Path) })
		want := []audit.Entry{
			{Action: audit.Download, Path: "/public/a.jpg", Bytes: 300, Status: 200, Count: 3,
				CreatedAt: start.UnixMilli()},
			{Action: audit.Download, Path: "/public/b.jpg", Bytes: 7, Status: 200, Count: 1,
				CreatedAt: start.UnixMilli()},
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		w.Finish(t.Context()) // in the middle of an hour
		again := w.replica(w.open(), nil)
		again.CountRead("/public/a.jpg", 100)
		w.advance(time.Hour)
		if err := again.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.allEntries(); len(got) != 4 || got[0].CreatedAt != got[1].CreatedAt ||
			got[0].CreatedAt != start.Add(time.Hour).UnixMilli() {
			t.Errorf("around a stop: %v", got)
		}
	})
}

func TestSumsAreBounded(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(c *audit.Config) { c.HourPaths = 2 }, func(t *testing.T, w *fixture) {
		for _, path := range []string{"/public/1", "/public/2", "/public/3", "/public/1", "/public/4"} {
			w.CountRead(path, 10)
		}
		w.advance(time.Hour)
		w.flush()
		got := map[string]int64{}
		for _, e := range w.allEntries() {
			got[e.Path] = e.Count*1000 + e.Bytes
		}
		if len(got) != 3 || got["/public/1"] != 2020 || got["/public/2"] != 1010 || got["/…"] != 2020 {
			t.Errorf("got %v", got)
		}
		w.CountRead("/public/3", 10) // the next hour has room again
		w.advance(time.Hour)
		w.flush()
		if got := w.allEntries(); got[0].Path != "/public/3" {
			t.Errorf("the next hour: %v", got[0])
		}
	})
}

// An entry that the database refuses would block all entries behind it.
func TestAnyPathCanBeStored(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		long := "/" + strings.Repeat("é", 2047) // 4,095 bytes
		for _, path := range []string{"a\x00b", "\xff\xfe", "line\nbreak\x1b[31m", long + "x", long + "é", ""} {
			w.Record(upload(path))
			w.CountRead(path+"r", 1)
		}
		w.Finish(t.Context())
		got := w.paths()
		for _, want := range []string{"a\uFFFDb", "\uFFFD", "line\nbreak\x1b[31m", long + "x", long, "", "r"} {
			if !slices.Contains(got, want) {
				t.Errorf("%.20q is missing", want)
			}
		}
		if len(got) < 11 {
			t.Errorf("%d entries", len(got))
		}
	})
}
