package apikey_test

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/apikey"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/ident"
)

// fixture holds the keys of a database with the users "ann" and "bob", and a clock that moves only
// when told to.
type fixture struct {
	*apikey.Service
	t   *testing.T
	db  *db.DB
	now *atomic.Int64 // ms
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newFixture(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	w := &fixture{t: t, db: d, now: new(atomic.Int64)}
	w.now.Store(start.UnixMilli())
	w.Service = w.replica()
	if err := d.Write(context.Background(), func(tx *db.Tx) error {
		return insertUsers(tx, "ann", "bob")
	}); err != nil {
		t.Fatal(err)
	}
	return w
}

// replica returns a Service of another process on the same database.
func (f *fixture) replica() *apikey.Service {
	return apikey.New(f.db, ident.New(rand.Reader), f.time)
}

func (f *fixture) time() time.Time { return time.UnixMilli(f.now.Load()) }

func (f *fixture) advance(d time.Duration) { f.now.Add(d.Milliseconds()) }

func (f *fixture) version() int64 {
	f.t.Helper()
	v, err := db.ConfigVersion(f.db.Read(context.Background()))
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

// newKey returns a simple NewKey.
func newKey(change ...func(n *apikey.NewKey)) apikey.NewKey {
	n := apikey.NewKey{Name: "key", Permissions: []string{"write"}, Protocols: []string{"api"}}
	for _, c := range change {
		c(&n)
	}
	return n
}

// create creates a key and returns it with its whole token.
func (f *fixture) create(user string, n apikey.NewKey) (apikey.Key, string) {
	f.t.Helper()
	k, half, err := f.Create(context.Background(), user, n)
	if err != nil {
		f.t.Fatal(err)
	}
	return k, k.ID + "." + half.Reveal()
}

// list returns the keys of a user by id.
func (f *fixture) list(user string) map[string]apikey.Key {
	f.t.Helper()
	keys, err := f.List(context.Background(), user)
	if err != nil {
		f.t.Fatal(err)
	}
	byID := map[string]apikey.Key{}
	for _, k := range keys {
		byID[k.ID] = k
	}
	return byID
}

func ptr[T any](v T) *T { return &v }

func wantKind(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: got %v, want kind %d", what, err, kind)
	}
}
