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
	dir     string // parent directory of the stores
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
	w := &fixture{t: t, db: d, dir: t.TempDir(), ids: ident.New(rand.Reader), now: time.UnixMilli(1_790_000_000_000)}
	w.reg = provider.New(provider.Config{DB: d, ObjectDir: w.dir, Now: w.clock})
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

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) write(fn func(tx *db.Tx) error) {
	f.t.Helper()
	f.must(f.db.Write(f.t.Context(), fn))
}

// storeContent puts content into the store and its key on the garbage list, as an upload does
// before the file exists.
func (f *fixture) storeContent(content string) object.Record {
	f.t.Helper()
	store, err := f.reg.Store(f.t.Context(), "local")
	f.must(err)
	o := object.Record{Location: object.Location{Provider: "local", Key: blob.NewKey(f.ids, nil, "")},
		Size: int64(len(content))}
	f.write(func(tx *db.Tx) error { return object.Discard(tx, "local", o.Key, f.clock().Add(grace).UnixMilli()) })
	info, err := store.Put(f.t.Context(), o.Key, strings.NewReader(content), blob.PutOptions{Size: o.Size})
	f.must(err)
	o.ETag = info.ETag
	return o
}

// isStored reports whether an object is in the store.
func (f *fixture) isStored(key blob.Key) bool {
	f.t.Helper()
	store, err := f.reg.Store(f.t.Context(), "local")
	f.must(err)
	_, err = store.Stat(f.t.Context(), key)
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		f.t.Fatal(err)
	}
	return err == nil
}

// wrapStores wraps every store that the collector opens from now on.
func (f *fixture) wrapStores(wrap func(providerID string, store blob.Store) blob.Store) {
	inner := f.objects.Store
	f.objects.Store = func(ctx context.Context, providerID string) (blob.Store, error) {
		store, err := inner(ctx, providerID)
		if err != nil {
			return nil, err
		}
		return wrap(providerID, store), nil
	}
}

// collect runs the collector until nothing is due.
func (f *fixture) collect() {
	f.t.Helper()
	for {
		more, err := f.objects.Collect(f.t.Context())
		f.must(err)
		if !more {
			return
		}
	}
}

// queryInt returns the only value that a query selects.
func (f *fixture) queryInt(query string, args ...any) (n int64) {
	f.t.Helper()
	f.must(f.db.Read(f.t.Context()).QueryRow(query, args...).Scan(&n))
	return n
}

// countRows counts the rows of a table.
func (f *fixture) countRows(table string) int64 {
	f.t.Helper()
	return f.queryInt("SELECT COUNT(*) FROM " + table)
}

// countGarbage counts the garbage rows of a provider.
func (f *fixture) countGarbage(provider string) int64 {
	f.t.Helper()
	return f.queryInt("SELECT COUNT(*) FROM garbage WHERE provider_id = $1", provider)
}
