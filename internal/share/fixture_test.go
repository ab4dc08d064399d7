package share_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/lifecycle"
	"larder/internal/mount"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/secret"
	"larder/internal/share"
	"larder/internal/site"
	"larder/internal/upload"
	"larder/internal/vpath"
)

var ctx = context.Background()

// fixture is a service after its first start, with the users ann and bob; ann has a file.
type fixture struct {
	t        *testing.T
	db       *db.DB
	tree     *files.Tree
	accounts *account.Service
	ids      *ident.Source
	shares   *share.Service
	uploads  *upload.Service
	ann, bob access.Actor
	file     files.Entry
	clock    atomic.Int64 // ms
}

func (f *fixture) now() time.Time { return time.UnixMilli(f.clock.Load()).UTC() }

func (f *fixture) advance(d time.Duration) { f.clock.Add(d.Milliseconds()) }

func eachEngine(t *testing.T, test func(t *testing.T, w *fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(t, newWorld(t, d)) })
}

func newWorld(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	w := &fixture{t: t, db: d, ids: ident.New(rand.Reader)}
	w.clock.Store(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC).UnixMilli())
	log := slog.New(slog.DiscardHandler)
	master, err := secret.New(w.ids.Bytes(32))
	if err != nil {
		t.Fatal(err)
	}
	settings := site.New(d, master)
	w.accounts = account.New(account.Config{DB: d, IDs: w.ids, Random: rand.Reader, Keys: master, Now: w.now, Log: log,
		HashMemory: 64})
	policies := access.NewStore(d, w.now, func(ctx context.Context, version int64) (bool, error) {
		current, err := settings.Current(ctx, version)
		return current.AllowGuestAccess, err
	})
	providers := provider.New(provider.Config{DB: d, ObjectDir: filepath.Join(t.TempDir(), "objects"), Now: w.now})
	t.Cleanup(func() {
		if err := providers.Close(); err != nil {
			t.Error(err)
		}
	})
	mounts := mount.New(d)
	objects := object.New(object.Config{DB: d, Providers: providers, IDs: w.ids, Now: w.now, Grace: time.Hour,
		Log: log})
	w.tree = files.New(files.Config{DB: d, Policies: policies, Mounts: mounts, Providers: providers, Objects: objects,
		IDs: w.ids, Now: w.now, Log: log})
	w.uploads = upload.New(upload.Config{DB: d, Tree: w.tree, Objects: objects, Providers: providers, IDs: w.ids,
		Now: w.now, Log: log})
	w.shares = w.replica()
	life := lifecycle.New(lifecycle.Config{
		DB: d, Accounts: w.accounts, Policies: policies, Providers: providers, Mounts: mounts, Tree: w.tree,
		Objects: objects, Site: settings, IDs: w.ids, Now: w.now,
		MaxStorage: -1, MaxFiles: -1,
	})
	first := lifecycle.FirstStart{Username: "admin", Email: "admin@localhost", Password: "correct horse",
		Settings: site.Defaults()}
	if _, err := life.Seed(ctx, first); err != nil {
		t.Fatal(err)
	}
	w.ann, w.bob = w.user(life, "ann"), w.user(life, "bob")
	w.file = w.put(w.ann, "/home/ann", "f.txt")
	return w
}

func (f *fixture) user(life *lifecycle.Service, name string) access.Actor {
	f.t.Helper()
	u, err := life.CreateUser(ctx, lifecycle.NewUser{NewUser: account.NewUser{
		Username: name, Email: name + "@example.org", Password: "correct horse", Role: access.User, EmailVerified: true,
		Locale: "en-US",
	}})
	if err != nil {
		f.t.Fatal(err)
	}
	return access.Actor{UserID: u.ID, Role: u.Role, HomeID: u.HomeID}
}

// replica returns the service of another process on the same database.
func (f *fixture) replica() *share.Service {
	return share.New(share.Config{DB: f.db, Tree: f.tree, Accounts: f.accounts, IDs: f.ids, Now: f.now})
}

func (f *fixture) put(a access.Actor, dir, name string) files.Entry {
	f.t.Helper()
	at, err := vpath.Parse(dir)
	if err != nil {
		f.t.Fatal(err)
	}
	result, err := f.uploads.Put(ctx, a, upload.OneShot{Dir: at, Name: vpath.Name(name), Size: -1,
		Body: strings.NewReader("hello")})
	if err != nil {
		f.t.Fatal(err)
	}
	return result.File
}

// create shares ann's file.
func (f *fixture) create(change ...func(d *share.Draft)) share.Item {
	f.t.Helper()
	d := share.Draft{EntryID: f.file.ID, AllowPreview: true, AllowDownload: true}
	for _, c := range change {
		c(&d)
	}
	item, err := f.shares.Create(ctx, f.ann, d)
	if err != nil {
		f.t.Fatal(err)
	}
	return item
}

func (f *fixture) visit(id string, given ...string) (share.Visit, error) {
	return f.shares.Visit(ctx, id, share.Visitor{IP: netip.MustParseAddr("203.0.113.7"), PasswordIDs: given})
}

func (f *fixture) wantFault(err error, kind fault.Kind, doing string) {
	f.t.Helper()
	if !fault.Is(err, kind) {
		f.t.Errorf("%s: got %v, want fault %d", doing, err, kind)
	}
}

func (f *fixture) count(query string, args ...any) (n int) {
	f.t.Helper()
	if err := f.db.Read(ctx).QueryRow(query, args...).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

func ptr[T any](v T) *T { return &v }
