package files_test

import (
	"context"
	"crypto/rand"
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

// storeContent puts content into the store and its key on the garbage list, as an upload does
// before the file exists.
func (h *fixture) storeContent(content string) files.StoredObject {
	h.t.Helper()
	store, err := h.reg.Store(h.t.Context(), "local")
	h.must(err)
	s := files.StoredObject{Key: blob.NewKey(h.ids, nil, ""), Size: int64(len(content)), MimeType: "text/plain"}
	h.write(func(tx *db.Tx) error {
		return object.Discard(tx, "local", s.Key, h.clock().Add(grace).UnixMilli())
	})
	info, err := store.Put(h.t.Context(), s.Key, strings.NewReader(content), blob.PutOptions{Size: s.Size})
	h.must(err)
	s.ETag = info.ETag
	return s
}

// upload uploads content and returns the entry or the fault.
func (h *fixture) upload(a access.Actor, p, content string, c files.Conflict) (files.Entry, error) {
	h.t.Helper()
	place, err := h.tree.ResolveDestination(h.t.Context(), a, mustParsePath(p).Parent(), mustParsePath(p).Base(), c)
	if err != nil {
		return files.Entry{}, err
	}
	return h.putEntry(a, place, h.storeContent(content))
}

func (h *fixture) putEntry(a access.Actor, p files.Destination, s files.StoredObject) (e files.Entry, err error) {
	err = h.db.Write(h.t.Context(), func(tx *db.Tx) (err error) {
		e, err = h.tree.Put(h.t.Context(), tx, a, p, s)
		return err
	})
	return e, err
}

// mustUpload uploads content and fails the test when that is refused.
func (h *fixture) mustUpload(a access.Actor, p, content string) files.Entry {
	h.t.Helper()
	e, err := h.upload(a, p, content, files.Fail)
	h.must(err)
	return e
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

// protectEntry sets a password on an entry in the database.
func (h *fixture) protectEntry(id string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE entries SET password_hash = 'hash' WHERE id = $1", id)
		return err
	})
}

// countRows counts the rows of a table.
func (h *fixture) countRows(table string) (n int) {
	h.t.Helper()
	h.must(h.db.Read(h.t.Context()).QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n))
	return n
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
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != kind {
		h.t.Errorf("%s: got %v, want fault kind %d", what, err, kind)
	}
}

// noHome reports that the given folders lie in no account's home.
func noHome([]string) (bool, error) { return false, nil }
