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
	onOwner  func()          // called when a job asks for the rights of its owner, outside of any transaction
}

func (h *fixture) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *fixture) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
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
	h.rules = access.NewStore(d, h.clock, func(context.Context, int64) (bool, error) { return h.guests, nil })
	h.objects = t.TempDir()
	h.reg = provider.New(provider.Config{DB: d, ObjectDir: h.objects, Now: h.clock})
	t.Cleanup(func() {
		if err := h.reg.Close(); err != nil {
			t.Error(err)
		}
	})
	mounts := mount.New(d)
	log := slog.New(slog.DiscardHandler)
	h.tree = files.New(files.Config{
		DB: d, Policies: h.rules, Mounts: mounts, Providers: h.reg, IDs: h.ids, Now: h.clock, Log: log,
		Objects: object.New(object.Config{DB: d, Providers: h.reg, IDs: h.ids, Now: h.clock, Grace: grace, Log: log}),
		Owner: func(_ context.Context, _ int64, id string) (access.Actor, bool, error) {
			if h.onOwner != nil {
				h.onOwner()
			}
			for _, a := range []access.Actor{h.admin, h.ann, h.bob} {
				if a.UserID == id {
					return a, !h.inactive[id], nil
				}
			}
			return access.Actor{}, false, nil
		},
	})
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

// eachFixture runs a test with a fixture on each engine.
func eachFixture(t *testing.T, test func(t *testing.T, h *fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(t, newFixture(t, d)) })
}

func (h *fixture) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *fixture) write(fn func(tx *db.Tx) error) {
	h.t.Helper()
	h.must(h.db.Write(h.t.Context(), fn))
}

// exec executes a statement in a transaction of its own.
func (h *fixture) exec(query string, args ...any) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}

// queryInt returns the only value that a query selects.
func (h *fixture) queryInt(query string, args ...any) (n int64) {
	h.t.Helper()
	h.must(h.db.Read(h.t.Context()).QueryRow("SELECT CAST(("+query+") AS BIGINT)", args...).Scan(&n))
	return n
}

// addRule adds a rule and returns its id.
func (h *fixture) addRule(r access.Rule) string {
	h.t.Helper()
	r.ID = h.ids.UUID()
	hash := ""
	if r.RequirePassword {
		hash = "hash"
	}
	h.write(func(tx *db.Tx) error { return h.rules.Insert(tx, access.StoredRule{Rule: r, PasswordHash: hash}) })
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
func (h *fixture) createFolder(a access.Actor, p string) files.Entry {
	h.t.Helper()
	e, err := h.tree.CreateFolder(h.t.Context(), a, mustParsePath(p).Parent(), mustParsePath(p).Base())
	h.must(err)
	return e
}

// storeContent is storeContentIn for the provider `local`.
func (h *fixture) storeContent(content string) files.StoredObject {
	h.t.Helper()
	return h.storeContentIn("local", content)
}

// storeContentIn puts content into the store of a provider and its key on the garbage list, as an
// upload does before the file exists.
func (h *fixture) storeContentIn(providerID, content string) files.StoredObject {
	h.t.Helper()
	store, err := h.reg.Store(h.t.Context(), providerID)
	h.must(err)
	s := files.StoredObject{Key: blob.NewKey(h.ids, nil, ""), Size: int64(len(content)), MimeType: "text/plain"}
	h.write(func(tx *db.Tx) error {
		return object.Discard(tx, providerID, s.Key, h.clock().Add(grace).UnixMilli())
	})
	info, err := store.Put(h.t.Context(), s.Key, strings.NewReader(content), blob.PutOptions{Size: s.Size})
	h.must(err)
	s.ETag = info.ETag
	return s
}

// upload uploads content to the provider of the destination, and returns the entry or the fault.
func (h *fixture) upload(a access.Actor, p, content string, c files.Conflict) (files.Entry, error) {
	h.t.Helper()
	place, err := h.tree.ResolveDestination(h.t.Context(), a, mustParsePath(p).Parent(), mustParsePath(p).Base(), c)
	if err != nil {
		return files.Entry{}, err
	}
	stored := h.storeContentIn(place.ProviderID, content)
	sum := sha256.Sum256([]byte(content))
	stored.SHA256 = hex.EncodeToString(sum[:])
	return h.putEntry(a, place, stored)
}

// mustUpload uploads content and fails the test when that is refused.
func (h *fixture) mustUpload(a access.Actor, p, content string) files.Entry {
	h.t.Helper()
	e, err := h.upload(a, p, content, files.Fail)
	h.must(err)
	return e
}

// mustUploadUnsummed is mustUpload for content whose checksum a job determines, as that of an
// upload in parts.
func (h *fixture) mustUploadUnsummed(a access.Actor, p, content string) files.Entry {
	h.t.Helper()
	place, err := h.tree.ResolveDestination(h.t.Context(), a, mustParsePath(p).Parent(), mustParsePath(p).Base(),
		files.Fail)
	h.must(err)
	e, err := h.putEntry(a, place, h.storeContentIn(place.ProviderID, content))
	h.must(err)
	return e
}

func (h *fixture) putEntry(a access.Actor, p files.Destination, s files.StoredObject) (e files.Entry, err error) {
	err = h.db.Write(h.t.Context(), func(tx *db.Tx) (err error) {
		e, err = h.tree.Put(h.t.Context(), tx, a, p, s)
		return err
	})
	return e, err
}

// readPath returns the content at a path as the actor gets it.
func (h *fixture) readPath(a access.Actor, p string) (string, error) {
	h.t.Helper()
	c, err := h.tree.ByPath(h.t.Context(), a, mustParsePath(p))
	if err != nil {
		return "", err
	}
	return h.readContent(c), nil
}

func (h *fixture) readContent(c files.Content) string {
	h.t.Helper()
	o, err := c.Open(h.t.Context())
	h.must(err)
	defer o.Close()
	b, err := io.ReadAll(o)
	h.must(err)
	return string(b)
}

// listNames lists a folder, or the results of a search below it, as `name` and `name/`.
func (h *fixture) listNames(a access.Actor, q files.ListQuery) []string {
	h.t.Helper()
	if q.Page == 0 {
		q.Page = 1
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	l, err := h.tree.List(h.t.Context(), a, q)
	h.must(err)
	names := []string{}
	for _, e := range l.Items {
		name := e.Name
		if e.Folder {
			name += "/"
		}
		names = append(names, name)
	}
	if q.Page == 1 && l.Total <= q.Limit && l.Total != len(names) {
		h.t.Errorf("total %d, but %d items", l.Total, len(names))
	}
	return names
}

func (h *fixture) listFolder(a access.Actor, p string) []string {
	h.t.Helper()
	return h.listNames(a, files.ListQuery{Path: mustParsePath(p)})
}

// usage returns the bytes and files charged to an account.
func (h *fixture) usage(user string) (bytes, count int64) {
	h.t.Helper()
	q, err := quota.Get(h.db.Read(h.t.Context()), user)
	h.must(err)
	return q.UsedStorage, q.UsedFiles
}

// addMount makes a mount of the fixture's provider and returns the id of its root.
func (h *fixture) addMount(p string) (root string) {
	h.t.Helper()
	return h.addMountWithPriority(p, 0)
}

// addMountWithPriority makes a mount with a priority and returns the id of its root.
func (h *fixture) addMountWithPriority(p string, priority int) (root string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) {
		if root, err = h.tree.InsertRoot(tx, "admin", "the name in the database"); err != nil {
			return err
		}
		return mount.New(h.db).Insert(tx, mount.Mount{
			ID: "mount of " + p, ProviderID: "local", RootID: root, Path: mustParsePath(p), Name: "M", SortBy: "name",
			SortOrder: "desc", Priority: priority,
		}, 0)
	})
	return root
}

// idAtPath returns the id of the entry at a path.
func (h *fixture) idAtPath(p string) string {
	h.t.Helper()
	s, err := h.tree.ResourceAt(h.t.Context(), mustParsePath(p))
	h.must(err)
	if !s.Exists() {
		h.t.Fatalf("there is no %s", p)
	}
	return s.ID()
}

// setQuota sets an account's quota: bytes and files.
func (h *fixture) setQuota(user string, bytes, count int64) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error { return quota.SetLimits(tx, user, &bytes, &count) })
}

// protectEntry sets a password on an entry as older versions did, without a password_id: the
// password's id is that of the entry.
func (h *fixture) protectEntry(id string) {
	h.t.Helper()
	h.exec("UPDATE entries SET password_hash = 'hash' WHERE id = $1", id)
}

// setPassword sets a password on an entry.
func (h *fixture) setPassword(id, password string) {
	h.t.Helper()
	h.exec(
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
func (h *fixture) insertEntry(tx *db.Tx, l treeEntry) error {
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
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, manual_position, password_hash, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, '', $7, $8, $9, $10, 0, $11)`,
		l.id, parent, l.name, vpath.Fold(l.name), kind, l.size, l.owner, object, l.position, hash, l.updated)
	return err
}

// countRows counts the rows of a table.
func (h *fixture) countRows(table string) int {
	h.t.Helper()
	return int(h.queryInt("SELECT COUNT(*) FROM " + table))
}

// sumFiles sums a column over all files.
func (h *fixture) sumFiles(column string) int64 {
	h.t.Helper()
	return h.queryInt("SELECT COALESCE(SUM(" + column + "), 0) FROM entries WHERE kind = 1")
}

// isStored reports whether an object is in the store.
func (h *fixture) isStored(key blob.Key) bool {
	h.t.Helper()
	store, err := h.reg.Store(h.t.Context(), "local")
	h.must(err)
	_, err = store.Stat(h.t.Context(), key)
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		h.t.Fatal(err)
	}
	return err == nil
}

// collect runs the collector until nothing is due.
func (h *fixture) collect() {
	h.t.Helper()
	for {
		more, err := h.tree.Collect(h.t.Context())
		h.must(err)
		if !more {
			return
		}
	}
}

// wantFault checks that err is a fault of that kind.
func (h *fixture) wantFault(what string, err error, kind fault.Kind) {
	h.t.Helper()
	var got *fault.Error
	if !errors.As(err, &got) || got.Kind != kind {
		h.t.Errorf("%s: got %v, want fault kind %d", what, err, kind)
	}
}

// noHome reports that the given folders lie in no account's home.
func noHome([]string) (bool, error) { return false, nil }
