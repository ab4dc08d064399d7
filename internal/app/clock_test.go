package app_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"larder/internal/app"
	"larder/internal/apptest"
	"larder/internal/db/dbtest"
)

// With PostgreSQL a process whose clock is two hours off uses the time of the database, which other
// replicas use too. With SQLite there is no other clock.
func TestClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"ahead": 2 * time.Hour, "behind": -2 * time.Hour, "right": 0} {
		for _, engine := range dbtest.Engines {
			t.Run(name+"/"+engine, func(t *testing.T) {
				t.Parallel()
				out := &apptest.LogBuffer{}
				own := deps(io.Discard)
				own.Now = func() time.Time { return time.Now().Add(off) }
				own.Log = slog.New(slog.NewTextHandler(out, nil))
				a, err := app.New(t.Context(), settings(t, engine), own)
				if err != nil {
					t.Fatal(err)
				}
				defer a.Close()
				want := time.Duration(0)
				if engine == "sqlite" {
					want = off
				}
				if got := time.Until(a.Now()); (got - want).Abs() > time.Hour {
					t.Errorf("the process is off by %v, want %v", got, want)
				}
				corrected := engine == "postgres" && off != 0
				if told := strings.Contains(out.String(), "is corrected to that of the database"); told != corrected {
					t.Errorf("logged %s", out)
				}
			})
		}
	}
}

// The ages of temporary files are differences of the machine's clock, which dates them.
func TestAgesOfTemporaryFiles(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "postgres")
	own := deps(io.Discard)
	own.ManualSweep = true
	own.Now = func() time.Time { return time.Now().Add(-10 * time.Hour) }
	a, err := app.New(t.Context(), cfg, own)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Seed(t.Context()); err != nil { // makes the store
		t.Fatal(err)
	}
	temporary := filepath.Join(cfg.ObjectDir, "default", "tmp")
	young, old := filepath.Join(temporary, "young"), filepath.Join(temporary, "old")
	for path, age := range map[string]time.Duration{young: time.Hour, old: 4 * time.Hour} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, own.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the file of four hours ago is still there")
	}
}

// A clock that is set while the process runs is followed too.
func TestClockIsFollowed(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "postgres")
	var off time.Duration
	own := deps(io.Discard)
	own.ManualSweep = true // which has the heartbeat too
	own.Now = func() time.Time { return time.Now().Add(off) }
	a, err := app.New(t.Context(), cfg, own)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, off = range []time.Duration{-2 * time.Hour, 3 * time.Hour, 0} {
		if err := a.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := time.Until(a.Now()); got.Abs() > time.Hour {
			t.Errorf("with a clock that is %v off the process is %v off", off, got)
		}
	}
}
