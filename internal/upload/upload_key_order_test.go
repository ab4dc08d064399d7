package upload_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
)

// Moving a provider to another bucket holds the tree alone and needs a garbage list without keys.
// So a key is put on the list under the tree's lock, and before its store is looked up: else the
// bytes of an upload could go to the former bucket.
func TestKeysAreNotedBeforeTheirStoreIsAskedFor(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		garbage := func() int64 { return w.queryInt("SELECT COUNT(*) FROM garbage") }
		w.advance(31 * time.Minute) // older keys are not handed out any more
		session := w.create(w.ann, file("by session", 5))
		uploads := map[string]func() error{
			"small": func() error {
				_, err := w.up.Put(ctx, w.ann, oneShot("small", "small", 5))
				return err
			},
			"large": func() error {
				_, err := w.up.Put(ctx, w.ann, oneShot("large", strings.Repeat("x", 300<<10), 300<<10))
				return err
			},
			"by session": func() error {
				_, _, err := w.up.PutRaw(ctx, w.ann, session.ID, strings.NewReader("bytes"), 5, "")
				return err
			},
		}
		var before int64
		var asked atomic.Int64
		w.up.WrapStores(func(inner blob.Store) blob.Store {
			asked.Add(1)
			if garbage() == before {
				t.Error("a store was asked for before a key was noted")
			}
			return inner
		})
		for name, send := range uploads {
			before = garbage()
			asked.Store(0)
			done := make(chan error, 1)
			if w.db.Dialect() != "postgres" { // one writer: a change of a provider is alone
				done <- send()
			} else if err := w.db.Write(ctx, func(tx *db.Tx) error {
				if err := tx.LockTree(true); err != nil {
					return err
				}
				go func() { done <- send() }()
				for waiting := 0; waiting == 0; {
					if len(done) > 0 {
						return errors.New("it did not wait")
					}
					if err := tx.QueryRow(
						"SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = " +
							"(SELECT oid FROM pg_database WHERE datname = current_database())").
						Scan(&waiting); err != nil {
						return err
					}
				}
				if asked.Load() > 0 || garbage() != before {
					t.Errorf("%s: noted while a provider may be changing", name)
				}
				return nil
			}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := <-done; err != nil || asked.Load() == 0 {
				t.Errorf("%s: %v, store asked for %d times", name, err, asked.Load())
			}
		}
	})
}
