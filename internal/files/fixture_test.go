package files_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/mount"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/quota"
	"larder/internal/vpath"
)

const grace = time.Hour

// fixture is a seeded tree on a real database and a real disk with three accounts: an
// administrator, and ann and bob with homes.
type fixture struct {
	t     testing.TB
	db    *db.DB
	tree  *files.Tree
	rules *access.Store
	reg   *provider.Registry
	ids   *ident.Source

	root            string // id of the root entry
	objects         string // directory of the stores
	admin, ann, bob access.Actor
	visitor         access.Actor

	mu       sync.Mutex
	now      time.Time
	guests   bool
	inactive map[string]bool // accounts that are not active
	trash    files.TrashSettings
	onOwner  func() // called when a job asks for the rights of its owner, outside of any transaction
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

func newFixture(t testing.TB, d *db.DB) *fixture {
	t.Helper()
	h := &fixture{t: t, db: d, ids: ident.New(rand.Reader), now: time.UnixMilli(1_790_000_000_000), guests: true,
		inactive: map[string]bool{}}
	ip := netip.MustParseAddr("192.0.2.7")
	h.admin = access.Actor{UserID: "admin", Role: access.Admin, IP: ip}
	h.ann = access.Actor{UserID: "ann", Role: access.User, IP: ip}
	h.bob = access.Actor{UserID: "bob", Role: access.User, IP: ip}
	h.visitor = access.Actor{Role: access.Guest, IP: ip}
	h.objects = t.TempDir()
	mounts := h.openReplica()
	h.must(h.reg.Prepare("default", "marker"))
	h.write(func(tx *db.Tx) (err error) {
		for _, user := range []string{"admin", "ann", "bob"} {
			if err := quota.Create(tx, user, quota.Unlimited, quota.Unlimited); err != nil {
				return err
			}
		}
		if h.root, err = h.tree.InsertRoot(tx, "admin", "Files"); err != nil {
			return err
		}
		for _, name := range []vpath.Name{"home", "public", "uploads"} {
			if _, err := h.tree.InsertFolder(tx, h.root, name, "admin"); err != nil {
				return err
			}
		}
		if err := h.reg.Insert(tx, provider.Provider{ID: "local", Name: "local", Type: provider.BuiltIn,
			Bucket: "default", Marker: "marker"}); err != nil {
			return err
		}
		err = mounts.Insert(tx, mount.Mount{ID: "m", ProviderID: "local", RootID: h.root, Name: "Files", SortBy: "name",
			SortOrder: "asc"}, 0)
		if err != nil {
			return err
		}
		for _, a := range []*access.Actor{&h.ann, &h.bob} {
			if a.HomeID, _, err = h.tree.InsertHome(t.Context(), tx, a.UserID, a.UserID, noHome); err != nil {
				return err
			}
		}
		return nil
	})
	read := access.Set(access.Read | access.Download)
	h.addRule(access.Rule{Pattern: "/public/**", Effect: access.Allow, Role: access.Guest, Permissions: read})
	h.addRule(access.Rule{Pattern: "/public/**", Effect: access.Allow, Role: access.User, Permissions: read})
	h.addRule(access.Rule{Pattern: "/uploads/**", Effect: access.Allow, Role: access.User,
		Permissions: access.Set(access.Write)})
	return h
}

// openReplica opens another replica on the database: it replaces tree, rules and reg of the
// fixture, and returns the mounts of the replica.
func (f *fixture) openReplica() *mount.Store {
	f.rules = access.NewStore(f.db, f.clock, func(context.Context, int64) (bool, error) { return f.guests, nil })
	reg := provider.New(provider.Config{DB: f.db, ObjectDir: f.objects, Now: f.clock})
	f.t.Cleanup(func() {
		if err := reg.Close(); err != nil {
			f.t.Error(err)
		}
	})
	f.reg = reg
	mounts := mount.New(f.db)
	log := slog.New(slog.DiscardHandler)
	f.tree = files.New(files.Config{
		DB: f.db, Policies: f.rules, Mounts: mounts, Providers: f.reg, IDs: f.ids, Now: f.clock, Log: log,
		Objects: object.New(object.Config{DB: f.db, Providers: f.reg, IDs: f.ids, Now: f.clock, Grace: grace,
			Log: log}),
		Owner: func(_ context.Context, _ int64, id string) (access.Actor, bool, error) {
			if f.onOwner != nil {
				f.onOwner()
			}
			for _, a := range []access.Actor{f.admin, f.ann, f.bob} {
				if a.UserID == id {
					return a, !f.inactive[id], nil
				}
			}
			return access.Actor{}, false, nil
		},
		Trash:      func(context.Context) (files.TrashSettings, error) { return f.trash, nil },
		EntryCache: files.NewEntryCache(1<<20, f.db.Changes()),
	})
	return mounts
}

// eachFixture runs a test with a fixture on each engine.
func eachFixture(t *testing.T, test func(t *testing.T, h *fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(t, newFixture(t, d)) })
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

// exec executes a statement in a transaction of its own.
func (f *fixture) exec(query string, args ...any) {
	f.t.Helper()
	f.write(func(tx *db.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}

// addReplica adds a running replica of a version of the schema.
func (f *fixture) addReplica(schema int) {
	f.t.Helper()
	seen := "CAST(strftime('%s', 'now') AS BIGINT) * 1000"
	if !f.db.Dialect().SingleWriter() {
		seen = "CAST(EXTRACT(EPOCH FROM now()) AS BIGINT) * 1000"
	}
	f.exec("INSERT INTO replicas (id, version, schema, audit_schema, seen) VALUES ('old', '0.9', $1, 1, "+seen+")", schema)
}

// queryInt returns the only value that a query selects.
func (f *fixture) queryInt(query string, args ...any) (n int64) {
	f.t.Helper()
	f.must(f.db.Read(f.t.Context()).QueryRow("SELECT CAST(("+query+") AS BIGINT)", args...).Scan(&n))
	return n
}

// planOf returns the plan of a query with parameters. PostgreSQL does not scan the table, which is
// small here, and does none of the operations that off names.
func (f *fixture) planOf(off []string, query string, args []any) (plan string) {
	f.t.Helper()
	if f.db.Dialect().SingleWriter() {
		rows, err := f.db.Read(f.t.Context()).Query("EXPLAIN QUERY PLAN "+query, args...)
		f.must(err)
		defer rows.Close()
		for rows.Next() {
			var a, b, c any
			var step string
			f.must(rows.Scan(&a, &b, &c, &step))
			plan += step + "\n"
		}
		f.must(rows.Err())
		return plan
	}
	f.write(func(tx *db.Tx) error {
		for _, way := range append(off, "seqscan", "bitmapscan") {
			if _, err := tx.Exec("SET LOCAL enable_" + way + " = off"); err != nil {
				return err
			}
		}
		return tx.QueryRow("EXPLAIN (FORMAT JSON) "+query, args...).Scan(&plan)
	})
	return plan
}

// wantIndex checks that a query with parameters reads an index in its order.
func (f *fixture) wantIndex(index, query string, args ...any) {
	f.t.Helper()
	plan := f.planOf([]string{"sort"}, query, args)
	if !strings.Contains(plan, index) || strings.Contains(plan, "Sort") || strings.Contains(plan, "TEMP") {
		f.t.Errorf("%s: %s", index, plan)
	}
}

// wantCoveringIndex checks that a query with parameters reads an index and no row of the table.
func (f *fixture) wantCoveringIndex(index, query string, args ...any) {
	f.t.Helper()
	plan := f.planOf(nil, query, args)
	covers := strings.Contains(plan, "COVERING INDEX") || strings.Contains(plan, "Index Only Scan")
	if !covers || !strings.Contains(plan, index) {
		f.t.Errorf("%s: %s", index, plan)
	}
}

// addRule adds a rule and returns its id.
func (f *fixture) addRule(r access.Rule) string {
	f.t.Helper()
	r.ID = f.ids.UUID()
	hash := ""
	if r.RequirePassword {
		hash = "hash"
	}
	f.write(func(tx *db.Tx) error { return f.rules.Insert(tx, access.StoredRule{Rule: r, PasswordHash: hash}) })
	return r.ID
}

func mustParsePath(s string) vpath.Path {
	p, err := vpath.Parse(s)
	if err != nil {
		panic(err)
	}
	return p
}

// createFolder creates a folder and its missing parents as the actor.
func (f *fixture) createFolder(a access.Actor, p string) files.Entry {
	f.t.Helper()
	e, err := f.tree.CreateFolder(f.t.Context(), a, mustParsePath(p).Parent(), mustParsePath(p).Base())
	f.must(err)
	return e
}

// storeContent is storeContentIn for the provider `local`.
func (f *fixture) storeContent(content string) files.StoredObject {
	f.t.Helper()
	return f.storeContentIn("local", content)
}

// storeContentIn puts content into the store of a provider and its key on the garbage list, as an
// upload does before the file exists.
func (f *fixture) storeContentIn(providerID, content string) files.StoredObject {
	f.t.Helper()
	store, err := f.reg.Store(f.t.Context(), providerID)
	f.must(err)
	s := files.StoredObject{Key: blob.NewKey(f.ids, nil, ""), Size: int64(len(content)), MimeType: "text/plain"}
	f.write(func(tx *db.Tx) error {
		return object.Discard(tx, providerID, s.Key, f.clock().Add(grace).UnixMilli())
	})
	info, err := store.Put(f.t.Context(), s.Key, strings.NewReader(content), blob.PutOptions{Size: s.Size})
	f.must(err)
	s.ETag = info.ETag
	return s
}

// upload uploads content to the provider of the destination, and returns the entry or the fault.
func (f *fixture) upload(a access.Actor, p, content string, c files.Conflict) (files.Entry, error) {
	f.t.Helper()
	dest, err := f.tree.ResolveDestination(f.t.Context(), a, mustParsePath(p).Parent(), mustParsePath(p).Base(), c)
	if err != nil {
		return files.Entry{}, err
	}
	stored := f.storeContentIn(dest.ProviderID, content)
	sum := sha256.Sum256([]byte(content))
	stored.SHA256 = hex.EncodeToString(sum[:])
	return f.putEntry(a, dest, stored)
}

// mustUpload uploads content and fails the test when that is refused.
func (f *fixture) mustUpload(a access.Actor, p, content string) files.Entry {
	f.t.Helper()
	e, err := f.upload(a, p, content, files.Fail)
	f.must(err)
	return e
}

// mustUploadUnsummed is mustUpload for content whose checksum a job determines, as that of an
// upload in parts.
func (f *fixture) mustUploadUnsummed(a access.Actor, p, content string) files.Entry {
	f.t.Helper()
	dest, err := f.tree.ResolveDestination(f.t.Context(), a, mustParsePath(p).Parent(), mustParsePath(p).Base(),
		files.Fail)
	f.must(err)
	e, err := f.putEntry(a, dest, f.storeContentIn(dest.ProviderID, content))
	f.must(err)
	return e
}

func (f *fixture) putEntry(a access.Actor, p files.Destination, s files.StoredObject) (e files.Entry, err error) {
	err = f.db.Write(f.t.Context(), func(tx *db.Tx) (err error) {
		e, err = f.tree.Put(f.t.Context(), tx, a, p, s)
		return err
	})
	return e, err
}

// readPath returns the content at a path as the actor gets it.
func (f *fixture) readPath(a access.Actor, p string) (string, error) {
	f.t.Helper()
	c, err := f.tree.ByPath(f.t.Context(), a, mustParsePath(p))
	if err != nil {
		return "", err
	}
	return f.readContent(c), nil
}

func (f *fixture) readContent(c files.Content) string {
	f.t.Helper()
	o, err := c.Open(f.t.Context())
	f.must(err)
	defer o.Close()
	b, err := io.ReadAll(o)
	f.must(err)
	return string(b)
}

// listNames lists a folder, or the results of a search below it, as `name` and `name/`.
func (f *fixture) listNames(a access.Actor, q files.ListQuery) []string {
	f.t.Helper()
	if q.Page == 0 {
		q.Page = 1
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	l, err := f.tree.List(f.t.Context(), a, q)
	f.must(err)
	names := []string{}
	for _, e := range l.Items {
		name := e.Name
		if e.Folder {
			name += "/"
		}
		names = append(names, name)
	}
	if q.Page == 1 && l.Total <= q.Limit && l.Total != len(names) {
		f.t.Errorf("total %d, but %d items", l.Total, len(names))
	}
	return names
}

func (f *fixture) listFolder(a access.Actor, p string) []string {
	f.t.Helper()
	return f.listNames(a, files.ListQuery{Path: mustParsePath(p)})
}

// usage returns the bytes and files charged to an account.
func (f *fixture) usage(user string) (bytes, count int64) {
	f.t.Helper()
	q, err := quota.Get(f.db.Read(f.t.Context()), user)
	f.must(err)
	return q.UsedStorage, q.UsedFiles
}

// addMount makes a mount of the fixture's provider and returns the id of its root.
func (f *fixture) addMount(p string) (root string) {
	f.t.Helper()
	return f.addMountWithPriority(p, 0)
}

// addMountWithPriority makes a mount with a priority and returns the id of its root.
func (f *fixture) addMountWithPriority(p string, priority int) (root string) {
	f.t.Helper()
	f.write(func(tx *db.Tx) (err error) {
		if root, err = f.tree.InsertRoot(tx, "admin", "the name in the database"); err != nil {
			return err
		}
		return mount.New(f.db).Insert(tx, mount.Mount{
			ID: "mount of " + p, ProviderID: "local", RootID: root, Path: mustParsePath(p), Name: "M", SortBy: "name",
			SortOrder: "desc", Priority: priority,
		}, 0)
	})
	return root
}

// idAtPath returns the id of the entry at a path.
func (f *fixture) idAtPath(p string) string {
	f.t.Helper()
	s, err := f.tree.ResourceAt(f.t.Context(), mustParsePath(p))
	f.must(err)
	if !s.Exists() {
		f.t.Fatalf("there is no %s", p)
	}
	return s.ID()
}

// setQuota sets an account's quota: bytes and files.
func (f *fixture) setQuota(user string, bytes, count int64) {
	f.t.Helper()
	f.write(func(tx *db.Tx) error { return quota.SetLimits(tx, user, &bytes, &count) })
}

// protectEntry sets a password on an entry as older versions did, without a password_id: the
// password's id is that of the entry.
func (f *fixture) protectEntry(id string) {
	f.t.Helper()
	f.exec("UPDATE entries SET password_hash = 'hash' WHERE id = $1", id)
}

// setPassword sets a password on an entry.
func (f *fixture) setPassword(id, password string) {
	f.t.Helper()
	f.exec(
		"UPDATE entries SET password_hash = 'hash of ' || CAST($1 AS TEXT), password_id = $1 WHERE id = $2",
		password, id)
}

// treeEntry is an entry as it was inserted.
type treeEntry struct {
	id, parent, name, owner string
	folder, hasPassword     bool
	size, updated           int64
	position                *int64
	object                  string // of a file; "" for "object", which is in no store
}

// insertEntry inserts the row of an entry, and nothing else: no object, no charge.
func (f *fixture) insertEntry(tx *db.Tx, l treeEntry) error {
	kind, object, hash := 1, any(cmp.Or(l.object, "object")), any(nil)
	if l.folder {
		kind, object = 0, nil
	}
	if l.hasPassword {
		hash = "hash"
	}
	var parent any
	if l.parent != "" {
		parent = l.parent
	}
	_, err := tx.Exec(`
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, manual_position, password_hash, created_at, updated_at, sort_key)
		VALUES ($1, $2, $3, $4, $5, $6, '', $7, $8, $9, $10, 0, $11, $12)`,
		l.id, parent, l.name, vpath.Fold(l.name), kind, l.size, l.owner, object, l.position, hash, l.updated,
		vpath.SortKey(l.name))
	return err
}

// countRows counts the rows of a table.
func (f *fixture) countRows(table string) int {
	f.t.Helper()
	return int(f.queryInt("SELECT COUNT(*) FROM " + table))
}

// sumFiles sums a column over all files that are not in the trash.
func (f *fixture) sumFiles(column string) int64 {
	f.t.Helper()
	return f.queryInt(`
		WITH RECURSIVE apart (id) AS (
			SELECT id FROM entries WHERE id = 'trash'
			UNION ALL
			SELECT e.id FROM apart a JOIN entries e ON e.parent_id = a.id AND e.kind = 0)
		SELECT COALESCE(SUM(` + column + `), 0)
		FROM entries
		WHERE kind = 1 AND parent_id NOT IN (SELECT id FROM apart)`)
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

// collect runs the collector until nothing is due.
func (f *fixture) collect() {
	f.t.Helper()
	for {
		more, err := f.tree.Collect(f.t.Context())
		f.must(err)
		if !more {
			return
		}
	}
}

// wantFault checks that err is a fault of that kind.
func (f *fixture) wantFault(what string, err error, kind fault.Kind) {
	f.t.Helper()
	var got *fault.Error
	if !errors.As(err, &got) || got.Kind != kind {
		f.t.Errorf("%s: got %v, want fault kind %d", what, err, kind)
	}
}

// noHome reports that the given folders lie in no account's home.
func noHome([]string) (bool, error) { return false, nil }
