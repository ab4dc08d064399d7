package object_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/ident"
	"larder/internal/object"
	"larder/internal/provider"
)

const grace = time.Hour

// fixture is a registry on a real database and two real stores, `local` and `vault`.
type fixture struct {
	t       testing.TB
	db      *db.DB
	reg     *provider.Registry
	objects *object.Registry
	ids     *ident.Source

	mu  sync.Mutex
	now time.Time
}

func eachFixture(t *testing.T, test func(t *testing.T, w *fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(t, newFixture(t, d)) })
}

func newFixture(t testing.TB, d *db.DB) *fixture {
	t.Helper()
	w := &fixture{t: t, db: d, ids: ident.New(rand.Reader), now: time.UnixMilli(1_790_000_000_000)}
	w.reg = provider.New(provider.Config{DB: d, ObjectDir: t.TempDir(), Now: w.clock})
	t.Cleanup(func() {
		if err := w.reg.Close(); err != nil {
			t.Error(err)
		}
	})
	w.objects = object.New(object.Config{DB: d, Providers: w.reg, IDs: w.ids, Now: w.clock, Grace: grace,
		Log: slog.New(slog.DiscardHandler)})
	for _, name := range []string{"local", "vault"} {
		w.must(w.reg.Prepare(name, name+"-marker"))
		w.write(func(tx *db.Tx) error {
			return w.reg.Insert(tx, provider.Provider{ID: name, Name: name, Type: provider.BuiltIn, Bucket: name,
				Marker: name + "-marker"})
		})
	}
	return w
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *fixture) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *fixture) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *fixture) write(fn func(tx *db.Tx) error) {
	w.t.Helper()
	w.must(w.db.Write(w.t.Context(), fn))
}

// storeContent puts content into the store and its key on the garbage list, as an upload does
// before the file exists.
func (w *fixture) storeContent(content string) object.Record {
	w.t.Helper()
	store, err := w.reg.Store(w.t.Context(), "local")
	w.must(err)
	o := object.Record{Location: object.Location{Provider: "local", Key: blob.NewKey(w.ids, nil, "")},
		Size: int64(len(content))}
	w.write(func(tx *db.Tx) error { return object.Discard(tx, "local", o.Key, w.clock().Add(grace).UnixMilli()) })
	info, err := store.Put(w.t.Context(), o.Key, strings.NewReader(content), blob.PutOptions{Size: o.Size})
	w.must(err)
	o.ETag = info.ETag
	return o
}

// isStored reports whether an object is in the store.
func (w *fixture) isStored(key blob.Key) bool {
	w.t.Helper()
	store, err := w.reg.Store(w.t.Context(), "local")
	w.must(err)
	_, err = store.Stat(w.t.Context(), key)
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		w.t.Fatal(err)
	}
	return err == nil
}

// wrapStores wraps every store that the collector opens from now on.
func (w *fixture) wrapStores(wrap func(providerID string, store blob.Store) blob.Store) {
	inner := w.objects.Store
	w.objects.Store = func(ctx context.Context, providerID string) (blob.Store, error) {
		store, err := inner(ctx, providerID)
		if err != nil {
			return nil, err
		}
		return wrap(providerID, store), nil
	}
}

// collect runs the collector until nothing is due.
func (w *fixture) collect() {
	w.t.Helper()
	for {
		more, err := w.objects.Collect(w.t.Context())
		w.must(err)
		if !more {
			return
		}
	}
}

// queryInt returns the only value that a query selects.
func (w *fixture) queryInt(query string, args ...any) (n int64) {
	w.t.Helper()
	w.must(w.db.Read(w.t.Context()).QueryRow(query, args...).Scan(&n))
	return n
}

// countRows counts the rows of a table.
func (w *fixture) countRows(table string) int64 {
	w.t.Helper()
	return w.queryInt("SELECT COUNT(*) FROM " + table)
}

// countGarbage counts the garbage rows of a provider.
func (w *fixture) countGarbage(provider string) int64 {
	w.t.Helper()
	return w.queryInt("SELECT COUNT(*) FROM garbage WHERE provider_id = $1", provider)
}
