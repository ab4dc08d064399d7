package app_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/app"
	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// hand opens the metadata with a handle of the test's own.
func hand(t *testing.T, cfg config.Config) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: cfg.DatabaseURL.Reveal(), Path: cfg.DatabaseFile(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func change(t *testing.T, d *db.DB, statement string, args ...any) {
	t.Helper()
	if err := d.Write(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func replicas(t *testing.T, d *db.DB) []db.Replica {
	t.Helper()
	all, err := d.Replicas(t.Context(), 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A process has a row with its versions while it runs. A clean stop deletes the row, and so does a
// start that fails after writing it.
func TestReplicaHasARowWhileItRuns(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, engine)
			newest, err := db.SchemaVersion()
			if err != nil {
				t.Fatal(err)
			}
			run(t, cfg, func(string) {
				all := replicas(t, hand(t, cfg))
				if len(all) != 1 || all[0].Schema != newest || all[0].AuditSchema != 5 ||
					!strings.Contains(all[0].ID, "-") {
					t.Errorf("while it runs: %+v", all)
				}
			})
			d := hand(t, cfg)
			if all := replicas(t, d); len(all) != 0 {
				t.Errorf("after the stop: %+v", all)
			}
			// noticed after the row is written
			change(t, d, "UPDATE versions SET value = value + 1 WHERE name = 'key'")
			if _, err := app.New(t.Context(), cfg, deps(io.Discard)); err == nil {
				t.Error("starts with another key")
			}
			if all := replicas(t, d); len(all) != 0 {
				t.Errorf("after a start that failed: %+v", all)
			}
		})
	}
}

// With SQLite the next start deletes the row of a killed process, since it runs alone. With
// PostgreSQL the row may belong to another replica and stays.
func TestRowsOfKilledReplicas(t *testing.T) {
	t.Parallel()
	for engine, want := range map[string]int{"sqlite": 1, "postgres": 2} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, engine)
			run(t, cfg, func(string) {})
			d := hand(t, cfg)
			change(t, d, "INSERT INTO replicas VALUES ('killed', '', 0, 0, $1)", time.Now().UnixMilli())
			run(t, cfg, func(string) {
				if all := replicas(t, d); len(all) != want {
					t.Errorf("replicas %+v", all)
				}
			})
		})
	}
}

// A migration of the access log waits for replicas as well.
func TestAccessLogWaitsForOlderReplicas(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "postgres")
	run(t, cfg, func(string) {})
	d := hand(t, cfg)
	change(t, d, "INSERT INTO replicas VALUES ('other', '1.2.3', 9999, 0, $1)", time.Now().UnixMilli())
	change(t, d, "UPDATE audit_version SET version = 1")
	_, err := app.New(t.Context(), cfg, deps(io.Discard))
	if !errors.Is(err, db.ErrOlderReplica) || !strings.Contains(err.Error(), "other (Larder 1.2.3)") {
		t.Errorf("got %v", err)
	}
}

// A process that stood still while the schema was migrated without it stops with an error, instead
// of continuing with a schema that it does not know.
func TestReplicaThatIsTooOldStops(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, engine)
			// With a clock that stands still, the requests that wait for the start would use up
			// the rate limit for good.
			var ahead atomic.Int64
			own := deps(io.Discard)
			own.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			own.OwnClock, own.ManualSweep = true, true
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			a, err := app.New(ctx, cfg, own)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- a.Run(ctx) }()
			adminKey(t, a, "/uploads") // the start is complete
			d := hand(t, cfg)
			change(t, d, "UPDATE schema_version SET version = 9999, oldest = 9999")
			if err := a.Sweep(ctx); errors.Is(err, db.ErrTooOld) {
				t.Errorf("a heartbeat in time: %v", err)
			}
			ahead.Add(int64(5 * time.Minute))
			if err := a.Sweep(ctx); !errors.Is(err, db.ErrTooOld) {
				t.Errorf("a heartbeat after the migration: %v", err)
			}
			select {
			case err := <-done:
				if !errors.Is(err, db.ErrTooOld) {
					t.Errorf("ended with %v", err)
				}
			case <-time.After(time.Minute):
				t.Error("goes on")
			}
		})
	}
}

// The log names the replica with the id that others see.
func TestReplicaIsNamedInTheLog(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "sqlite")
	out := &apptest.LogBuffer{}
	own := deps(&bytes.Buffer{})
	own.Log = slog.New(slog.NewTextHandler(out, nil))
	a, err := app.New(t.Context(), cfg, own)
	if err != nil {
		t.Fatal(err)
	}
	all := replicas(t, a.DB)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if len(all) != 1 || !strings.Contains(out.String(), "id="+all[0].ID) {
		t.Errorf("%+v in %s", all, out.String())
	}
}
