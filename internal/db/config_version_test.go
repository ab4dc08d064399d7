package db_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

func bumpConfig(t *testing.T, d *db.DB) {
	t.Helper()
	if err := d.Write(context.Background(), func(tx *db.Tx) error { return tx.BumpConfig() }); err != nil {
		t.Error(err)
	}
}

func configVersion(t *testing.T, q db.Querier) int64 {
	t.Helper()
	version, err := db.ConfigVersion(q)
	if err != nil {
		t.Error(err)
	}
	return version
}

// The config version is in memory until somebody raises it, this process or another one.
func TestConfigVersionIsKept(t *testing.T) {
	t.Parallel()
	d, path := trackedDB(t)
	other := openElsewhere(t, path)
	defer other.Close()
	ended, end := context.WithCancel(t.Context())
	end()
	was := configVersion(t, d.Read(t.Context()))
	for i, by := range []*db.DB{d, other, d} {
		// a query would fail in a context that has ended
		if got := configVersion(t, d.Read(ended)); got != was {
			t.Errorf("change %d: the version in memory is %d, want %d", i, got, was)
		}
		bumpConfig(t, by)
		if got := configVersion(t, d.Read(t.Context())); got != was+1 {
			t.Errorf("change %d: the version is %d, want %d", i, got, was+1)
		}
		was++
	}
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		err := tx.BumpConfig()
		if got := configVersion(t, tx); got != was+1 {
			t.Errorf("in the transaction that raises it, the version is %d, want %d", got, was+1)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// No read of the config version is older than an acknowledged change.
func TestConfigVersionAgainstChanges(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			d := dbtest.Open(t, engine)
			const changes = 200
			first := configVersion(t, d.Read(t.Context()))
			var acknowledged atomic.Int64
			acknowledged.Store(first)
			var done sync.WaitGroup
			done.Go(func() {
				for range changes {
					bumpConfig(t, d)
					acknowledged.Add(1)
				}
			})
			for range 4 {
				done.Go(func() {
					for acknowledged.Load() < first+changes && !t.Failed() {
						least := acknowledged.Load()
						if got := configVersion(t, d.Read(t.Context())); got < least {
							t.Errorf("the version is %d after the change to %d", got, least)
						}
					}
				})
			}
			done.Wait()
		})
	}
}
