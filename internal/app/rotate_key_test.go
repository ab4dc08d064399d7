package app_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"testing"
	"time"

	"larder/internal/app"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/lifecycle"
	"larder/internal/secret"
)

// A process that stood still while the key was replaced, so long that it counted as stopped, ends
// with an error instead of sealing values with the old key.
func TestReplicaWithTheOldKeyStops(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, engine)
			own := deps(io.Discard)
			own.ManualSweep = true
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			a, err := app.New(ctx, cfg, own)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- a.Run(ctx) }()
			waitUntilReady(t, a)
			if err := a.Sweep(ctx); err != nil {
				t.Errorf("with the key of the database: %v", err)
			}
			change(t, hand(t, cfg), "UPDATE versions SET value = value + 1 WHERE name = 'key'")
			if err := a.Sweep(ctx); !errors.Is(err, lifecycle.ErrWrongKey) {
				t.Errorf("with a replaced key: %v", err)
			}
			select {
			case err := <-done:
				if !errors.Is(err, lifecycle.ErrWrongKey) {
					t.Errorf("ended with %v", err)
				}
			case <-time.After(time.Minute):
				t.Error("goes on")
			}
		})
	}
}

// The key is not replaced under a server that has joined, and a value that the old key does not
// open stays as it is.
func TestRotateKeyBesideAReplica(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "postgres")
	run(t, cfg, func(string) {})
	d := hand(t, cfg)
	next := sha256.Sum256([]byte("the next key"))
	change(t, d, "INSERT INTO replicas VALUES ('other', '1.2.3', 9999, 9999, $1)", time.Now().UnixMilli())
	_, err := app.RotateKey(t.Context(), cfg, deps(io.Discard), secret.Text(next[:]))
	if !errors.Is(err, db.ErrReplicaRunning) {
		t.Errorf("beside a replica: %v", err)
	}
	change(t, d, "DELETE FROM replicas")
	change(t, d, "UPDATE providers SET access_key_id = 'v1.unreadable'")
	done, err := app.RotateKey(t.Context(), cfg, deps(io.Discard), secret.Text(next[:]))
	if err != nil || done.Sealed != 0 || done.Unreadable != 1 || done.Finished || done.InFile {
		t.Errorf("%+v, %v", done, err)
	}
	var kept string
	if err := d.Read(t.Context()).QueryRow("SELECT access_key_id FROM providers").Scan(&kept); err != nil ||
		kept != "v1.unreadable" {
		t.Errorf("the unreadable value is %q, %v", kept, err)
	}
	if done, err = app.RotateKey(t.Context(), cfg, deps(io.Discard), secret.Text(next[:])); err != nil ||
		!done.Finished {
		t.Errorf("again: %+v, %v", done, err)
	}
	change(t, d, "UPDATE providers SET access_key_id = ''")
	cfg.SecretKey = secret.Text(next[:])
	run(t, cfg, func(string) {})
}
