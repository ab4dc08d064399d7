package files_test

import (
	"context"
	"fmt"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/object"
)

// newEntryCacheFixture is a storesFixture on SQLite that keeps found files in memory.
func newEntryCacheFixture(t *testing.T, limit int64) *storesFixture {
	t.Helper()
	w := newStoresFixture(t, dbtest.Open(t, "sqlite"))
	w.tree.EntryCache = files.NewEntryCache(limit, w.db.Changes())
	return w
}

// wantByID reads a file by its id.
func (f *storesFixture) wantByID(when, id, path, content string) {
	f.t.Helper()
	c, err := f.tree.ByID(f.t.Context(), f.ann, id)
	f.must(err)
	if got := c.Entry.Path().String(); got != path {
		f.t.Errorf("%s: the path is %s, want %s", when, got, path)
	}
	if got := f.readContent(c); got != content {
		f.t.Errorf("%s: the content is %q, want %q", when, got, content)
	}
}

// wantFinds checks how many files were found in memory and in the database since the last check.
func (f *storesFixture) wantFinds(when string, before *files.EntryCacheStats, hits, misses uint64) {
	f.t.Helper()
	now := f.tree.EntryCache.Stats()
	if h, m := now.Hits-before.Hits, now.Misses-before.Misses; h != hits || m != misses {
		f.t.Errorf("%s: %d hits and %d misses, want %d and %d", when, h, m, hits, misses)
	}
	*before = now
}

// A change of one file leaves the others in memory.
func TestEntryCacheKeepsOtherFiles(t *testing.T) {
	t.Parallel()
	w := newEntryCacheFixture(t, 1<<20)
	a, b := w.mustUpload(w.ann, "/home/ann/a", "one"), w.mustUpload(w.ann, "/home/ann/b", "two")
	var stats files.EntryCacheStats
	readBoth := func(when, nameOfA string) {
		t.Helper()
		w.wantByID(when, a.ID, "/home/ann/"+nameOfA, "one")
		w.wantByID(when, b.ID, "/home/ann/b", "two")
	}
	readBoth("at first", "a")
	w.wantFinds("at first", &stats, 0, 2)
	readBoth("again", "a")
	w.wantFinds("again", &stats, 2, 0)
	_, err := w.tree.Rename(t.Context(), w.ann, a.ID, "c")
	w.must(err)
	readBoth("after a new name", "c")
	w.wantFinds("after a new name", &stats, 1, 1)
	w.mustUpload(w.ann, "/home/ann/a", "three")
	readBoth("after a new file", "c")
	w.wantFinds("after a new file", &stats, 2, 0)
}

// A change of each entry on the way to a file counts.
func TestEntryCacheFollowsEntriesAbove(t *testing.T) {
	t.Parallel()
	w := newEntryCacheFixture(t, 1<<20)
	folder := w.createFolder(w.ann, "/home/ann/folder")
	e := w.mustUpload(w.ann, "/home/ann/folder/a", "one")
	setPassword := func(id string, hash string) {
		t.Helper()
		_, err := w.tree.Update(t.Context(), w.admin, id, files.Change{Password: &files.NewPassword{
			Hash: func(context.Context) (string, error) { return hash, nil }}})
		w.must(err)
	}
	for what, id := range map[string]string{"the mount": w.root, "the home": w.ann.HomeID, "the folder": folder.ID,
		"the file": e.ID} {
		w.wantByID("before "+what, e.ID, "/home/ann/folder/a", "one")
		setPassword(id, "hash")
		if _, err := w.readPath(w.ann, "/home/ann/folder/a"); !fault.Is(err, fault.PasswordRequired) {
			t.Errorf("by path, with a password on %s: %v", what, err)
		}
		if _, err := w.tree.ByID(t.Context(), w.ann, e.ID); !fault.Is(err, fault.PasswordRequired) {
			t.Errorf("by id, with a password on %s: %v", what, err)
		}
		w.exec("UPDATE entries SET password_hash = NULL WHERE id = $1", id)
	}
}

// A path without a file is not kept, since a new file is no change.
func TestEntryCacheKeepsFilesOnly(t *testing.T) {
	t.Parallel()
	w := newEntryCacheFixture(t, 1<<20)
	w.createFolder(w.ann, "/home/ann/folder")
	for range 2 {
		for _, path := range []string{"/home/ann/new", "/home/ann/folder"} {
			if _, err := w.readPath(w.ann, path); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v, want that there is no file", path, err)
			}
		}
	}
	if stats := w.tree.EntryCache.Stats(); stats.Bytes != 0 || stats.Hits != 0 {
		t.Errorf("no file is kept: %+v", stats)
	}
	w.mustUpload(w.ann, "/home/ann/new", "new")
	if got, err := w.readPath(w.ann, "/home/ann/new"); got != "new" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A change that is committed during the look-up counts, even if the look-up does not see it.
func TestEntryCacheChangeDuringLookUp(t *testing.T) {
	t.Parallel()
	w := newEntryCacheFixture(t, 1<<20)
	e := w.mustUpload(w.ann, "/home/ann/a", "one")
	cache := w.tree.EntryCache
	_, err := cache.FindDuring(e.ID, func() (*files.FoundEntry, error) {
		w.tree.EntryCache = nil
		defer func() { w.tree.EntryCache = cache }()
		found, err := w.tree.FindID(t.Context(), e.ID)
		if err == nil {
			_, err = w.tree.Rename(t.Context(), w.ann, e.ID, "b")
		}
		return found, err
	})
	w.must(err)
	w.wantByID("after the new name", e.ID, "/home/ann/b", "one")
}

// The content of a file is in another store, and the row of the file is as it was.
func TestEntryCacheFollowsContent(t *testing.T) {
	t.Parallel()
	w := newEntryCacheFixture(t, 1<<20)
	e := w.mustUpload(w.ann, "/home/ann/a", "one")
	w.wantByID("at first", e.ID, "/home/ann/a", "one")
	there := w.storeContentIn("vault", "ONE") // in other letters, to tell them apart
	var id string
	w.must(w.db.Read(t.Context()).QueryRow("SELECT object_id FROM entries WHERE id = $1", e.ID).Scan(&id))
	w.write(func(tx *db.Tx) error {
		return object.Relocate(tx, id, object.Record{
			Location: object.Location{Provider: "vault", Key: there.Key}, ETag: there.ETag})
	})
	w.wantByID("in the other store", e.ID, "/home/ann/a", "ONE")
}

// A revoked permanent link ends although the file is as it was.
func TestEntryCacheFollowsLinks(t *testing.T) {
	t.Parallel()
	w := newEntryCacheFixture(t, 1<<20)
	e := w.mustUpload(w.ann, "/home/ann/a.txt", "one")
	link, err := w.tree.Link(t.Context(), w.ann, e.ID)
	w.must(err)
	for range 2 {
		c, err := w.tree.ByLink(t.Context(), link.ID)
		w.must(err)
		if got := w.readContent(c); got != "one" {
			t.Errorf("the link leads to %q", got)
		}
	}
	w.must(w.tree.Unlink(t.Context(), w.ann, e.ID))
	if _, err := w.tree.ByLink(t.Context(), link.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("the revoked link: %v", err)
	}
}

// A rule counts for files that were found before.
func TestEntryCacheFollowsRules(t *testing.T) {
	t.Parallel()
	w := newEntryCacheFixture(t, 1<<20)
	w.mustUpload(w.ann, "/home/ann/a", "one")
	for range 2 {
		if got, err := w.readPath(w.ann, "/home/ann/a"); got != "one" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	w.addRule(access.Rule{Pattern: "/home/ann/**", Effect: access.Deny, Role: access.User,
		Permissions: access.Set(access.Download)})
	if _, err := w.readPath(w.ann, "/home/ann/a"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("after a denial: %v", err)
	}
}

// The cache takes no more memory than its limit, and none when it is off.
func TestEntryCacheLimit(t *testing.T) {
	t.Parallel()
	const limit = 20_000
	w := newEntryCacheFixture(t, limit)
	for i := range 40 {
		e := w.mustUpload(w.ann, fmt.Sprint("/home/ann/", i), "x")
		for range 2 {
			w.wantByID("each", e.ID, fmt.Sprint("/home/ann/", i), "x")
		}
	}
	stats := w.tree.EntryCache.Stats()
	if stats.Bytes < limit/2 || stats.Bytes > limit || stats.Hits == 0 {
		t.Errorf("the cache is %+v, want up to %d bytes and hits", stats, limit)
	}
	if files.NewEntryCache(0, w.db.Changes()) != nil || files.NewEntryCache(1<<20, (*db.Changes)(nil)) != nil {
		t.Error("a cache without memory or changes is not nil")
	}
}

// The cache holds entries of the newest config version alone: each holds all rules of its version.
func TestEntryCacheForgetsFormerVersions(t *testing.T) {
	t.Parallel()
	w := newEntryCacheFixture(t, 1<<20)
	a, b := w.mustUpload(w.ann, "/home/ann/a", "one"), w.mustUpload(w.ann, "/home/ann/b", "two")
	w.wantByID("before", a.ID, "/home/ann/a", "one")
	one := w.tree.EntryCache.Stats().Bytes
	w.wantByID("before", b.ID, "/home/ann/b", "two")
	w.addRule(access.Rule{Pattern: "/elsewhere/**", Effect: access.Deny, UserID: "bob",
		Permissions: access.Set(access.Read)})
	w.wantByID("after", a.ID, "/home/ann/a", "one")
	if got := w.tree.EntryCache.Stats().Bytes; got != one {
		t.Errorf("the cache takes %d bytes, want the %d of one entry", got, one)
	}
}
