package upload_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/lifecycle"
	"larder/internal/mount"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/quota"
	"larder/internal/secret"
	"larder/internal/site"
	"larder/internal/upload"
	"larder/internal/vpath"
)

const mebibyte = 1 << 20

// fixture is a service after its first start, with two users of 10 MiB and 200 files each.
type fixture struct {
	t         *testing.T
	db        *db.DB
	tree      *files.Tree
	policies  *access.Store
	providers *provider.Registry
	mounts    *mount.Store
	up        *upload.Service
	store     *blobtest.FaultyStore // around the disk
	objects   string                // the directory of the disk store
	admin     access.Actor
	ann, ben  access.Actor
	clock     atomic.Int64 // ms
	clockStep atomic.Int64 // ms that pass at each reading of the clock
}

var ctx = context.Background()

// each runs test with a fixture of its own on each engine.
func each(t *testing.T, test func(t *testing.T, w *fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		test(t, w)
		w.checkInvariants()
	})
}

func newFixture(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	w := &fixture{t: t, db: d, objects: filepath.Join(t.TempDir(), "objects")}
	w.clock.Store(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC).UnixMilli())
	ids, log := ident.New(rand.Reader), slog.New(slog.DiscardHandler)
	keys, err := secret.New(ids.Bytes(32))
	if err != nil {
		t.Fatal(err)
	}
	settings := site.New(d, keys)
	accounts := account.New(account.Config{DB: d, IDs: ids, Random: rand.Reader, Keys: keys, Now: w.now, Log: log,
		HashMemory: 64})
	w.policies = access.NewStore(d, w.now, func(ctx context.Context, version int64) (bool, error) {
		current, err := settings.Current(ctx, version)
		return current.AllowGuestAccess, err
	})
	w.providers = provider.New(provider.Config{DB: d, ObjectDir: w.objects, Now: w.now})
	t.Cleanup(func() {
		if err := w.providers.Close(); err != nil {
			t.Error(err)
		}
	})
	w.mounts = mount.New(d)
	stored := object.New(object.Config{DB: d, Providers: w.providers, IDs: ids, Now: w.now, Grace: time.Hour, Log: log})
	w.tree = files.New(files.Config{
		DB: d, Policies: w.policies, Mounts: w.mounts, Providers: w.providers, Objects: stored, IDs: ids, Now: w.now,
		Log: log,
		Owner: func(ctx context.Context, version int64, userID string) (access.Actor, bool, error) {
			user, err := accounts.Cached(ctx, version, userID)
			return access.Actor{UserID: user.ID, Role: user.Role, HomeID: user.HomeID}, user.Status == account.Active,
				err
		},
	})
	w.up = upload.New(upload.Config{DB: d, Tree: w.tree, Objects: stored, Providers: w.providers, IDs: ids, Now: w.now,
		Log: log})
	var local blob.Store
	w.up.WrapStores(func(inner blob.Store) blob.Store {
		if w.store == nil {
			w.store, local = blobtest.NewFaultyStore(inner), inner
		}
		if inner != local { // of another provider
			return inner
		}
		return w.store
	})
	life := lifecycle.New(lifecycle.Config{
		DB: d, Accounts: accounts, Policies: w.policies, Providers: w.providers, Mounts: w.mounts, Tree: w.tree,
		Objects: stored, Site: settings, IDs: ids, Now: w.now,
		MaxStorage: 10 * mebibyte, MaxFiles: 200,
	})
	first := lifecycle.FirstStart{Username: "admin", Email: "admin@localhost", Password: "correct horse",
		Settings: site.Defaults()}
	if made, err := life.Seed(ctx, first); err != nil || !made {
		t.Fatalf("seed: %v, %v", made, err)
	}
	user, err := accounts.ByName(d.Read(ctx), "admin")
	if err != nil {
		t.Fatal(err)
	}
	w.admin = access.Actor{UserID: user.ID, Role: access.Admin}
	for name, actor := range map[string]*access.Actor{"ann": &w.ann, "ben": &w.ben} {
		user, err := life.CreateUser(ctx, lifecycle.NewUser{NewUser: account.NewUser{
			Username: name, Email: name + "@example.org", Password: "correct horse", Role: access.User,
			EmailVerified: true, Locale: "en-US",
		}})
		if err != nil {
			t.Fatal(err)
		}
		*actor = access.Actor{UserID: user.ID, Role: user.Role, HomeID: user.HomeID}
	}
	// One store for the whole fixture, so that a test can make it fail before the first upload.
	if _, err := w.up.Put(ctx, w.admin, upload.OneShot{Dir: path("/public"), Name: "first", Size: -1,
		Body: strings.NewReader("")}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (f *fixture) now() time.Time           { return time.UnixMilli(f.clock.Add(f.clockStep.Load())).UTC() }
func (f *fixture) advance(by time.Duration) { f.clock.Add(by.Milliseconds()) }

func path(s string) vpath.Path {
	p, err := vpath.Parse(s)
	if err != nil {
		panic(err)
	}
	return p
}

// file is a session for a file of that size in ann's home.
func file(name string, size int64) upload.NewSession {
	return upload.NewSession{Dir: path("/home/ann"), Name: vpath.Name(name), Size: size}
}

func (f *fixture) create(a access.Actor, n upload.NewSession) upload.Session {
	f.t.Helper()
	session, err := f.up.Create(ctx, a, n)
	if err != nil {
		f.t.Fatalf("create: %v", err)
	}
	return session
}

func (f *fixture) putRaw(a access.Actor, id, content string) string {
	f.t.Helper()
	etag, size, err := f.up.PutRaw(ctx, a, id, strings.NewReader(content), int64(len(content)), "")
	if err != nil || size != int64(len(content)) {
		f.t.Fatalf("raw: %d bytes, %v", size, err)
	}
	return etag
}

func (f *fixture) complete(a access.Actor, id, etag string) files.Entry {
	f.t.Helper()
	entry, _, err := f.up.Complete(ctx, a, id, etag)
	if err != nil {
		f.t.Fatalf("complete: %v", err)
	}
	return entry
}

// oneShot is an upload in one request to ann's home.
func oneShot(name, content string, size int64) upload.OneShot {
	return upload.OneShot{Dir: path("/home/ann"), Name: vpath.Name(name), Size: size, Body: strings.NewReader(content)}
}

// put uploads content in one request to ann's home.
func (f *fixture) put(name, content string) files.Entry {
	f.t.Helper()
	result, err := f.up.Put(ctx, f.ann, oneShot(name, content, int64(len(content))))
	if err != nil {
		f.t.Fatalf("put: %v", err)
	}
	return result.File
}

// content reads a file back as its owner.
func (f *fixture) content(a access.Actor, id string) string {
	f.t.Helper()
	found, err := f.tree.ByID(ctx, a, id)
	if err != nil {
		f.t.Fatalf("by id: %v", err)
	}
	object, err := found.Open(ctx)
	if err != nil {
		f.t.Fatalf("open: %v", err)
	}
	defer object.Close()
	all, err := io.ReadAll(object)
	if err != nil {
		f.t.Fatalf("read: %v", err)
	}
	return string(all)
}

// used reads the used amounts of the user's quota.
func (f *fixture) used(a access.Actor) (storage, count int64) {
	f.t.Helper()
	q, err := quota.Get(f.db.Read(ctx), a.UserID)
	if err != nil {
		f.t.Fatal(err)
	}
	return q.UsedStorage, q.UsedFiles
}

func (f *fixture) reserved(a access.Actor) (storage, count int64) {
	f.t.Helper()
	if err := f.db.Read(ctx).QueryRow("SELECT reserved_storage, reserved_files FROM quotas WHERE user_id = $1",
		a.UserID).Scan(&storage, &count); err != nil {
		f.t.Fatal(err)
	}
	return storage, count
}

// exec executes a statement in a transaction of its own, which raises the config version as well.
func (f *fixture) exec(query string, args ...any) {
	f.t.Helper()
	err := f.db.Write(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(query, args...)
		return errors.Join(err, tx.BumpConfig())
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// queryInt returns the only value that a query selects.
func (f *fixture) queryInt(query string, args ...any) int64 {
	f.t.Helper()
	var n int64
	if err := f.db.Read(ctx).QueryRow(query, args...).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

func (f *fixture) wantFault(err error, kind fault.Kind, doing string) {
	f.t.Helper()
	if !fault.Is(err, kind) {
		f.t.Errorf("%s: got %v, want fault %d", doing, err, kind)
	}
}

// sweep runs the sweep of expired sessions.
func (f *fixture) sweep() {
	f.t.Helper()
	if err := f.up.Sweep(ctx); err != nil {
		f.t.Error(err) // not Fatal, since tests sweep in the background as well
	}
}

// collect runs the collector until nothing is due.
func (f *fixture) collect() {
	f.t.Helper()
	for {
		more, err := f.tree.Collect(ctx)
		if err != nil {
			f.t.Error(err)
		}
		if !more || err != nil {
			return
		}
	}
}

func (f *fixture) sweepAndCollect() {
	f.t.Helper()
	f.sweep()
	f.collect()
}

// collectWithClockAhead runs the collector of a replica whose clock is ahead.
func (f *fixture) collectWithClockAhead(by time.Duration) {
	f.t.Helper()
	cfg := f.tree.Objects.Config
	cfg.Now = func() time.Time { return f.now().Add(by) }
	if _, err := object.New(cfg).Collect(ctx); err != nil {
		f.t.Error(err)
	}
}

// storedKeys lists the keys of the objects on the disk.
func (f *fixture) storedKeys() []string {
	f.t.Helper()
	root := filepath.Join(f.objects, "default")
	var keys []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a temporary file that was deleted meanwhile
		}
		if err == nil && entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), ".larder") {
			key, err := filepath.Rel(root, name)
			keys = append(keys, filepath.ToSlash(key))
			return err
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return keys
}

// checkInvariants checks abuse case C93, and that each object on the disk belongs to a file or is
// on the garbage list.
func (f *fixture) checkInvariants() {
	f.t.Helper()
	for name, query := range map[string]string{
		"used bytes": "SELECT count(*) FROM quotas q WHERE used_storage <> (SELECT COALESCE(sum(size), 0) FROM " +
			"entries WHERE owner_id = q.user_id AND kind = 1)",
		"used files": "SELECT count(*) FROM quotas q WHERE used_files <> (SELECT count(*) FROM entries WHERE " +
			"owner_id = q.user_id AND kind = 1)",
		"used folders": "SELECT count(*) FROM quotas q WHERE used_folders <> (SELECT count(*) FROM entries WHERE " +
			"owner_id = q.user_id AND kind = 0 AND COALESCE(parent_id, '') <> 'graveyard')",
		"reserved bytes": "SELECT count(*) FROM quotas q WHERE reserved_storage <> (SELECT " +
			"COALESCE(sum(reserved_storage), 0) FROM upload_sessions WHERE user_id = q.user_id AND (status = " +
			"'pending' OR kept_until IS NOT NULL))",
		"reserved files": "SELECT count(*) FROM quotas q WHERE reserved_files <> (SELECT " +
			"COALESCE(sum(reserved_files), 0) FROM upload_sessions WHERE user_id = q.user_id AND (status = 'pending' " +
			"OR kept_until IS NOT NULL))",
		"parts": "SELECT count(*) FROM upload_parts WHERE session_id NOT IN (SELECT id FROM upload_sessions)",
		"live garbage": "SELECT count(*) FROM garbage g JOIN objects o ON o.provider_id = g.provider_id AND o.key = " +
			"g.key WHERE o.refs > 0",
	} {
		if n := f.queryInt(query); n != 0 {
			f.t.Errorf("invariant of %s: broken in %d rows", name, n)
		}
	}
	for _, key := range f.storedKeys() {
		// parts are found by the key of the future object
		if parts, inParts := strings.CutPrefix(key, "tmp/parts/"); inParts {
			key = "%/" + strings.TrimSuffix(parts, "-journal")
		}
		known := f.queryInt(
			"SELECT (SELECT count(*) FROM objects WHERE key = $1) + (SELECT count(*) FROM garbage WHERE key LIKE $1)",
			key)
		if known == 0 {
			f.t.Errorf("neither a file nor the garbage list has the object %s", key)
		}
	}
}

// sha is the SHA-256 of content, hexadecimal.
func sha(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

const noFault fault.Kind = -1

// kindOf returns the kind of an error, or noFault.
func kindOf(err error) fault.Kind {
	if err == nil {
		return noFault
	}
	return fault.KindOf(err)
}

// parallel runs fn n times at once and counts the calls by kindOf.
func parallel(n int, fn func(i int) error) map[fault.Kind]int {
	outcomes := make(chan fault.Kind, n)
	start := make(chan struct{})
	for i := range n {
		go func() {
			<-start
			outcomes <- kindOf(fn(i))
		}()
	}
	close(start)
	counts := map[fault.Kind]int{}
	for range n {
		counts[<-outcomes]++
	}
	return counts
}

func (f *fixture) setLimits(a access.Actor, storage, count int64) error {
	return f.db.Write(ctx, func(tx *db.Tx) error { return quota.SetLimits(tx, a.UserID, &storage, &count) })
}

// waitUntil waits until a condition holds.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.After(time.Minute); !holds(); runtime.Gosched() {
		select {
		case <-deadline:
			t.Fatalf("timeout; the condition does not hold: %s", what)
		default:
		}
	}
}

// hookedStore is a store that calls then after each object that is put.
type hookedStore struct {
	blob.Store
	then func()
}

func (h hookedStore) Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (blob.Info, error) {
	info, err := h.Store.Put(ctx, key, body, opts)
	h.then()
	return info, err
}
