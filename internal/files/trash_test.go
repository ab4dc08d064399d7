package files_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/quota"
)

const trashDay = 24 * time.Hour

// eachTrashFixture is eachFixture with a trash of 30 days.
func eachTrashFixture(t *testing.T, test func(t *testing.T, h *fixture)) {
	t.Helper()
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.setTrash(files.TrashSettings{Days: 30})
		test(t, h)
	})
}

// eachTrashStoresFixture is eachStoresFixture with a trash of 30 days.
func eachTrashStoresFixture(t *testing.T, test func(t *testing.T, w *storesFixture)) {
	t.Helper()
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.setTrash(files.TrashSettings{Days: 30})
		test(t, w)
	})
}

// setTrash changes the settings of the trash, with a new version of the configuration.
func (f *fixture) setTrash(s files.TrashSettings) {
	f.t.Helper()
	f.trash = s
	f.addRule(access.Rule{Pattern: "/none/**", Effect: access.Deny, Role: access.User})
}

// toTrash deletes the entry at a path into the trash, and returns its id.
func (f *fixture) toTrash(a access.Actor, p string) string {
	f.t.Helper()
	id := f.idAtPath(p)
	gone, err := f.tree.DeleteTo(f.t.Context(), a, id, files.ToTrash)
	f.must(err)
	if !gone.InTrash {
		f.t.Fatalf("%s is not in the trash", p)
	}
	return id
}

// restore restores an entry, and returns the path that it has then.
func (f *fixture) restore(a access.Actor, id string, how files.RestoreOptions) (string, error) {
	f.t.Helper()
	back, err := f.tree.Restore(f.t.Context(), a, id, how)
	if err != nil {
		return "", err
	}
	return back.Entry.Path().String(), nil
}

func (f *fixture) wantRestored(what string, a access.Actor, id string, how files.RestoreOptions, want string) {
	f.t.Helper()
	if got, err := f.restore(a, id, how); got != want || err != nil {
		f.t.Errorf("%s: restored to %q, %v; want %q", what, got, err, want)
	}
}

// inTrash lists the trash of an actor, newest first: the paths before the deletion.
func (f *fixture) inTrash(a access.Actor, filter files.TrashFilter) (paths []string) {
	f.t.Helper()
	if filter.Limit == 0 {
		filter.Limit = 100
	}
	page, err := f.tree.ListTrash(f.t.Context(), a, filter)
	f.must(err)
	for _, i := range page.Items {
		paths = append(paths, i.Path)
	}
	return paths
}

// kept returns what is kept of a user.
func (f *fixture) kept(user string) int64 {
	f.t.Helper()
	k, err := quota.KeptOf(f.db.Read(f.t.Context()), user)
	f.must(err)
	return k.Storage
}

// checkTrash checks what is used and kept of ann and bob, and checkKept.
func (f *fixture) checkTrash(what string, want ...int64) {
	f.t.Helper()
	f.checkKept(what)
	var got []int64
	for _, user := range []string{"ann", "bob"} {
		used, _ := f.usage(user)
		got = append(got, used, f.kept(user))
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("%s: used and kept of ann and bob are %v, want %v", what, got, want)
	}
}

// checkKept checks that the kept bytes of ann and bob equal the sums of what is kept.
func (f *fixture) checkKept(what string) {
	f.t.Helper()
	for _, user := range []string{"ann", "bob"} {
		sum := f.queryInt(`SELECT COALESCE(SUM(size), 0) FROM (SELECT owner_id, size FROM trash_sizes
			UNION ALL SELECT owner_id, size FROM past) k WHERE owner_id = $1`, user)
		if kept := f.kept(user); kept != sum {
			f.t.Errorf("%s: %s keeps %d bytes, the entries have %d", what, user, kept, sum)
		}
	}
}

// addToTrash adds empty folders to the trash of a user.
func (f *fixture) addToTrash(a access.Actor, count int) {
	f.t.Helper()
	f.write(func(tx *db.Tx) error {
		for n := range count {
			id := fmt.Sprintf("trashed-%05d", n)
			_, err := tx.Exec(`
				INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at, sort_key)
				VALUES ($1, 'trash', $1, $1, 0, 0, '', $2, 0, 0, $1)`, id, a.UserID)
			if err != nil {
				return err
			}
			_, err = tx.Exec(`
				INSERT INTO trash (entry_id, owner_id, deleted_by, deleted_at, reason, name, name_fold, parent_id, parents,
					mount_id, provider_id, path, files, folders, size)
				VALUES ($1, $2, $2, $3, 'deleted', $1, $1, $4, '[]', 'm', 'local', '/home/' || $1, 0, 1, 0)`,
				id, a.UserID, f.now.UnixMilli()-int64(n), f.root)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func at(p string) files.RestoreOptions {
	target := mustParsePath(p)
	return files.RestoreOptions{Target: &target}
}

// What is in the trash is gone for everybody, and comes back with its id, link, password and
// content.
func TestTrashGivesBackWhatItTook(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		file := w.mustUpload(w.ann, "/home/ann/box/sub/cat.jpg", "12345")
		w.mustUpload(w.ann, "/home/ann/box/dog.jpg", "123")
		link, err := w.tree.Link(t.Context(), w.ann, file.ID)
		w.must(err)
		w.setProperty(file.ID, "author", "ann")
		w.checkTrash("before", 8, 0, 0, 0)

		for _, p := range []string{"/home/ann/box/sub/cat.jpg", "/home/ann/box"} {
			id := w.toTrash(w.ann, p)
			_, err := w.readPath(w.ann, "/home/ann/box/sub/cat.jpg")
			w.wantFault("the path of "+p, err, fault.NotFound)
			_, err = w.tree.ByLink(t.Context(), link.ID)
			w.wantFault("the link in "+p, err, fault.NotFound)
			_, err = w.tree.ByID(t.Context(), w.admin, file.ID)
			w.wantFault("the entry in "+p, err, fault.NotFound)
			w.advance(2 * grace)
			w.collect()
			w.wantRestored("back", w.ann, id, files.RestoreOptions{}, p)
			if got, err := w.readPath(w.ann, "/home/ann/box/sub/cat.jpg"); got != "12345" || err != nil {
				t.Errorf("content after the restore of %s: %q, %v", p, got, err)
			}
			if _, err := w.tree.ByLink(t.Context(), link.ID); err != nil {
				t.Errorf("the link after the restore of %s: %v", p, err)
			}
			if got := w.idAtPath("/home/ann/box/sub/cat.jpg"); got != file.ID {
				t.Errorf("the id is %s, was %s", got, file.ID)
			}
			w.wantProperties("after the restore of "+p, file.ID, "author=ann")
			w.checkTrash("after the restore of "+p, 8, 0, 0, 0)
			if left := w.inTrash(w.ann, files.TrashFilter{}); len(left) != 0 {
				t.Errorf("left in the trash: %v", left)
			}
			w.checkAccounting()
		}
	})
}

// The bytes of every owner are credited at once, kept, and charged again.
func TestTrashCountsForEveryOwner(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		w.mustUpload(w.ann, "/team/box/a", "12345")
		w.mustUpload(w.bob, "/team/box/b", "123")
		w.checkTrash("before", 5, 0, 3, 0)
		id := w.toTrash(w.admin, "/team/box")
		w.checkTrash("in the trash", 0, 5, 0, 3)
		w.setQuota("bob", 2, 100)
		_, err := w.restore(w.admin, id, files.RestoreOptions{})
		w.wantFault("above the quota of bob", err, fault.QuotaExceeded)
		w.checkTrash("after the refusal", 0, 5, 0, 3)
		w.setQuota("bob", 3, 100)
		w.wantRestored("within the quotas", w.admin, id, files.RestoreOptions{}, "/team/box")
		w.checkTrash("back", 5, 0, 3, 0)
		w.checkObjects()
		w.checkFolderCounts()
	})
}

// An entry comes back to its folder wherever that is now, or else to the nearest folder above that
// still exists, where the folders between are made again.
func TestRestoreFindsTheFormerFolder(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/a/b/c/f", "1")
		f := w.toTrash(w.ann, "/home/ann/a/b/c/f")
		w.must(w.moveTo(w.ann, "/home/ann/a/b/c", "/home/ann/moved", false))
		w.wantRestored("the folder has moved", w.ann, f, files.RestoreOptions{}, "/home/ann/moved/f")
		w.must(w.moveTo(w.ann, "/home/ann/moved", "/home/ann/a/b/c", false))

		w.toTrash(w.ann, "/home/ann/a/b/c/f")
		deleted := w.toTrash(w.ann, "/home/ann/a/b")
		w.wantRestored("the folder is in the trash", w.ann, f, files.RestoreOptions{}, "/home/ann/a/b/c/f")
		w.wantRestored("a folder of the same name", w.ann, deleted, files.RestoreOptions{}, "/home/ann/a/b (1)")

		w.toTrash(w.ann, "/home/ann/a/b/c/f")
		w.toTrash(w.ann, "/home/ann/a/b/c")
		w.mustUpload(w.ann, "/home/ann/a/b/c", "a file")
		_, err := w.restore(w.ann, f, files.RestoreOptions{})
		w.wantFault("a file is in the way", err, fault.Conflict)
		w.wantRestored("another folder", w.ann, f, at("/home/ann"), "/home/ann/f")
		w.checkAccounting()
		w.checkFolderCounts()
	})
}

// A name that is taken gets a number, or is refused, or its entry goes to the trash.
func TestRestoreSettlesTheName(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/f.txt", "old")
		id := w.toTrash(w.ann, "/home/ann/f.txt")
		w.mustUpload(w.ann, "/home/ann/f.txt", "newer")
		_, err := w.restore(w.ann, id, files.RestoreOptions{Conflict: files.Fail})
		w.wantFault("fail", err, fault.AlreadyExists)
		w.wantRestored("rename", w.ann, id, files.RestoreOptions{Conflict: files.RenameNew}, "/home/ann/f (1).txt")
		w.must(w.moveTo(w.ann, "/home/ann/f (1).txt", "/home/ann/sub.txt", false))
		w.toTrash(w.ann, "/home/ann/sub.txt")
		w.mustUpload(w.ann, "/home/ann/sub.txt", "loser")
		w.wantRestored("replace", w.ann, id, files.RestoreOptions{Conflict: files.Replace}, "/home/ann/sub.txt")
		page, err := w.tree.ListTrash(t.Context(), w.ann, files.TrashFilter{Limit: 10})
		w.must(err)
		if len(page.Items) != 1 || page.Items[0].Path != "/home/ann/sub.txt" || page.Items[0].Size != 5 ||
			page.Items[0].Reason != files.TrashReplaced {
			t.Errorf("the trash is %+v", page.Items)
		}
		if got, err := w.readPath(w.ann, "/home/ann/sub.txt"); got != "old" || err != nil {
			t.Errorf("the content is %q, %v", got, err)
		}
		w.checkTrash("after it", 8, 5, 0, 0)
		w.checkAccounting()
	})
}

// An entry in the trash is seen by its owner, by the account that deleted it, and by administrators
// who know its id; a key sees what was in its root.
func TestTrashIsPrivate(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		w.mustUpload(w.ann, "/team/box/f", "1")
		id := w.toTrash(w.bob, "/team/box/f")
		w.advance(time.Second)
		w.mustUpload(w.ann, "/home/ann/own", "1")
		own := w.toTrash(w.ann, "/home/ann/own")
		for _, c := range []struct {
			what string
			a    access.Actor
			want string
		}{
			{"the owner", w.ann, "/home/ann/own /team/box/f"}, {"who deleted it", w.bob, "/team/box/f"},
			{"an administrator", w.admin, ""},
		} {
			if got := strings.Join(w.inTrash(c.a, files.TrashFilter{}), " "); got != c.want {
				t.Errorf("%s sees %q, want %q", c.what, got, c.want)
			}
		}
		_, err := w.restore(w.bob, own, files.RestoreOptions{})
		w.wantFault("somebody else restores", err, fault.NotFound)
		_, err = w.tree.Purge(t.Context(), w.bob, own)
		w.wantFault("somebody else purges", err, fault.NotFound)
		_, err = w.tree.Purge(t.Context(), w.bob, id)
		w.wantFault("who deleted it purges", err, fault.Forbidden)
		_, err = w.restore(w.visitor, own, files.RestoreOptions{})
		w.wantFault("a visitor restores", err, fault.NotFound)
		_, err = w.restore(w.ann, "none", files.RestoreOptions{})
		w.wantFault("an unknown id", err, fault.NotFound)
		_, err = w.restore(w.ann, w.idAtPath("/home/ann"), files.RestoreOptions{})
		w.wantFault("an entry that is not in the trash", err, fault.NotFound)

		key := w.ann
		key.Key = &access.Key{ID: "k", Permissions: access.Set(access.Read | access.Write | access.Delete),
			Root: mustParsePath("/home/ann")}
		if got := w.inTrash(key, files.TrashFilter{}); !slices.Equal(got, []string{"/home/ann/own"}) {
			t.Errorf("a key sees %v", got)
		}
		_, err = w.restore(key, id, files.RestoreOptions{})
		w.wantFault("a key restores outside of its root", err, fault.NotFound)
		w.wantRestored("a key inside of its root", key, own, files.RestoreOptions{}, "/home/ann/own")
		w.wantRestored("an administrator", w.admin, id, files.RestoreOptions{}, "/team/box/f")
		id = w.toTrash(w.bob, "/team/box/f")
		w.addRule(access.Rule{Pattern: "/team/**", Effect: access.Deny, UserID: "ann", Permissions: access.Set(access.Write)})
		_, err = w.restore(w.ann, id, files.RestoreOptions{})
		w.wantFault("without the permission to write", err, fault.Forbidden)
		_, err = w.restore(w.ann, id, at("/home/ann/missing"))
		w.wantFault("to a folder that is not there", err, fault.NotFound)
	})
}

// The list has pages, a search and a folder.
func TestTrashList(t *testing.T) {
	eachTrashFixture(t, func(t *testing.T, h *fixture) {
		for n := range 7 {
			h.mustUpload(h.ann, fmt.Sprintf("/home/ann/d%d/F%d.txt", n%2, n), "1")
			h.toTrash(h.ann, fmt.Sprintf("/home/ann/d%d/F%d.txt", n%2, n))
			if n%3 > 0 { // some are deleted in the same millisecond
				h.advance(time.Second)
			}
		}
		var all []string
		filter := files.TrashFilter{Limit: 2}
		for pages := 1; ; pages++ {
			page, err := h.tree.ListTrash(t.Context(), h.ann, filter)
			h.must(err)
			for _, i := range page.Items {
				all = append(all, i.Name)
			}
			if filter.Cursor = page.Next; page.Next == "" {
				if pages != 4 {
					t.Errorf("%d pages, want 4", pages)
				}
				break
			}
		}
		sorted := slices.Sorted(slices.Values(all))
		if len(slices.Compact(sorted)) != 7 || all[0] != "F6.txt" && all[0] != "F5.txt" {
			t.Errorf("listed %v", all)
		}
		if got := h.inTrash(h.ann, files.TrashFilter{Search: "f3"}); !slices.Equal(got, []string{"/home/ann/d1/F3.txt"}) {
			t.Errorf("found %v", got)
		}
		in := mustParsePath("/home/ann/d1")
		if got := h.inTrash(h.ann, files.TrashFilter{In: &in}); len(got) != 3 {
			t.Errorf("deleted in the folder: %v", got)
		}
		for _, cursor := range []string{"x", "1", ".", "x.y"} {
			_, err := h.tree.ListTrash(t.Context(), h.ann, files.TrashFilter{Limit: 1, Cursor: cursor})
			h.wantFault("cursor "+cursor, err, fault.Invalid)
		}
	})
}

// A purge deletes for good: the collector removes the content.
func TestPurgeOfTheTrash(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/f", "12345")
		w.mustUpload(w.ann, "/home/ann/box/sub/g", "123")
		w.mustUpload(w.ann, "/home/ann/stays", "1")
		for _, c := range []struct {
			p           string
			rows, bytes int64
		}{{"/home/ann/f", 1, 5}, {"/home/ann/box", 3, 3}} {
			id := w.toTrash(w.ann, c.p)
			gone, err := w.tree.Purge(t.Context(), w.ann, id)
			if gone != (files.Purged{Rows: c.rows, Bytes: c.bytes, Path: c.p}) || err != nil {
				t.Errorf("purge of %s: %+v, %v", c.p, gone, err)
			}
			_, err = w.tree.Purge(t.Context(), w.ann, id)
			w.wantFault("again", err, fault.NotFound)
			_, err = w.restore(w.ann, id, files.RestoreOptions{})
			w.wantFault("restore afterwards", err, fault.NotFound)
		}
		w.checkTrash("after the purges", 1, 0, 0, 0)
		w.advance(2 * grace)
		w.collect()
		if n := w.countRows("objects"); n != 1 {
			t.Errorf("%d objects are left, want 1", n)
		}
		w.checkAccounting()
	})
}

// Emptying the trash takes everything that the account owns, and nothing of others.
func TestEmptyTrash(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.mustUpload(w.ann, "/team/of ann", "1")
		w.mustUpload(w.bob, "/team/of bob", "1")
		w.toTrash(w.bob, "/team/of ann")
		w.toTrash(w.bob, "/team/of bob")
		w.addToTrash(w.bob, 2300)
		rest, err := w.tree.EmptyTrash(t.Context(), w.bob, "bob")
		w.must(err)
		if n := w.queryInt("SELECT COUNT(*) FROM trash WHERE owner_id = 'bob'"); rest == nil || n != 1301 {
			t.Fatalf("%d entries are left for the job %v", n, rest)
		}
		w.runJobs()
		if got := w.inTrash(w.bob, files.TrashFilter{}); !slices.Equal(got, []string{"/team/of ann"}) {
			t.Errorf("left: %v", got)
		}
		w.checkTrash("after it", 0, 1, 0, 0)
		_, err = w.tree.EmptyTrash(t.Context(), w.bob, "ann")
		w.wantFault("the trash of another account", err, fault.Forbidden)
		if rest, err = w.tree.EmptyTrash(t.Context(), w.admin, "ann"); rest != nil || err != nil {
			t.Errorf("a small trash, by an administrator: %v, %v", rest, err)
		}
		w.checkTrash("all empty", 0, 0, 0, 0)
	})
}

// The trash becomes empty also when the clock has gone back since the deletions.
func TestEmptyTrashAfterTheClockWentBack(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		for _, name := range []string{"a", "b"} {
			w.mustUpload(w.ann, "/home/ann/"+name, "1")
			w.toTrash(w.ann, "/home/ann/"+name)
			w.advance(-2 * time.Hour)
		}
		if rest, err := w.tree.EmptyTrash(t.Context(), w.ann, "ann"); rest != nil || err != nil {
			t.Errorf("%v, %v", rest, err)
		}
		w.checkTrash("empty", 0, 0, 0, 0)
		if rest, err := w.tree.EmptyTrash(t.Context(), w.ann, "ann"); rest != nil || err != nil {
			t.Errorf("again: %v, %v", rest, err)
		}
		w.checkAccounting()
	})
}

// An entry stays for the days of the setting.
func TestTrashEndsInTime(t *testing.T) {
	eachTrashFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.ann, "/home/ann/f", "1")
		h.toTrash(h.ann, "/home/ann/f")
		deleted := h.clock().UnixMilli()
		page, err := h.tree.ListTrash(t.Context(), h.ann, files.TrashFilter{Limit: 1})
		h.must(err)
		if end := page.Items[0].ExpiresAt; end != deleted+30*24*3600*1000 {
			t.Errorf("it expires at %d", end)
		}
		h.advance(30*trashDay - time.Millisecond)
		h.must(h.tree.SweepTrash(t.Context()))
		if n := h.countRows("trash"); n != 1 {
			t.Errorf("%d entries a millisecond before the end", n)
		}
		h.advance(time.Millisecond)
		h.must(h.tree.SweepTrash(t.Context()))
		if n := h.countRows("trash") + h.countRows("trash_sizes"); n != 0 {
			t.Errorf("%d rows at the end", n)
		}
		h.checkTrash("at the end", 0, 0, 0, 0)
	})
}

// The trash of an account is bounded: the oldest entries go first, and one above the bound is never
// taken, and never deleted instead.
func TestTrashIsBounded(t *testing.T) {
	eachTrashFixture(t, func(t *testing.T, h *fixture) {
		h.setQuota("ann", 20, 100) // the bound is half of it
		h.mustUpload(h.ann, "/home/ann/big", "12345678901")
		_, err := h.tree.DeleteTo(t.Context(), h.ann, h.idAtPath("/home/ann/big"), files.ToTrash)
		h.wantFault("larger than the bound", err, fault.Conflict)
		if _, err := h.readPath(h.ann, "/home/ann/big"); err != nil {
			t.Errorf("the file after the refusal: %v", err)
		}
		_, _, err = h.tree.Delete(t.Context(), h.ann, h.idAtPath("/home/ann/big"))
		h.must(err)
		for n := range 4 {
			h.mustUpload(h.ann, fmt.Sprint("/home/ann/f", n), "12345")
			h.toTrash(h.ann, fmt.Sprint("/home/ann/f", n))
			h.advance(time.Second)
		}
		h.must(h.tree.SweepTrash(t.Context()))
		if got := h.inTrash(h.ann, files.TrashFilter{}); !slices.Equal(got, []string{"/home/ann/f3", "/home/ann/f2"}) {
			t.Errorf("kept %v", got)
		}
		h.checkTrash("after the sweep", 0, 10, 0, 0)
		five := int64(5)
		h.write(func(tx *db.Tx) error { return quota.SetMaxKept(tx, "ann", &five) })
		h.must(h.tree.SweepTrash(t.Context()))
		h.checkTrash("with a bound of 5", 0, 5, 0, 0)
		unbounded := int64(quota.Unlimited)
		h.write(func(tx *db.Tx) error { return quota.SetMaxKept(tx, "ann", &unbounded) })
		h.mustUpload(h.ann, "/home/ann/big", "12345678901")
		h.toTrash(h.ann, "/home/ann/big")
		h.must(h.tree.SweepTrash(t.Context()))
		h.checkTrash("without a bound", 0, 16, 0, 0)
	})
}

// The settings of the site: without days nothing goes to the trash; with trashAll everything does
// unless its owner or an administrator says otherwise.
func TestTrashSettings(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		id := w.mustUpload(w.ann, "/team/box/f", "1").ID
		w.setTrash(files.TrashSettings{Days: 0, All: true})
		_, err := w.tree.DeleteTo(t.Context(), w.ann, id, files.ToTrash)
		w.wantFault("switched off", err, fault.Conflict)
		w.setTrash(files.TrashSettings{Days: 1, All: true})
		_, err = w.tree.DeleteTo(t.Context(), w.bob, id, files.ForGood)
		w.wantFault("for good by somebody else", err, fault.Forbidden)
		gone, err := w.tree.DeleteTo(t.Context(), w.bob, id, files.AsSet)
		if !gone.InTrash || err != nil {
			t.Errorf("a plain deletion with trashAll: %+v, %v", gone, err)
		}
		w.wantRestored("back", w.bob, id, files.RestoreOptions{}, "/team/box/f")
		if gone, err = w.tree.DeleteTo(t.Context(), w.ann, id, files.ForGood); gone.InTrash || err != nil {
			t.Errorf("for good by the owner: %+v, %v", gone, err)
		}
		w.setTrash(files.TrashSettings{Days: 1})
		id = w.mustUpload(w.ann, "/team/box/g", "1").ID
		if gone, err = w.tree.DeleteTo(t.Context(), w.bob, id, files.AsSet); gone.InTrash || err != nil {
			t.Errorf("a plain deletion: %+v, %v", gone, err)
		}
		if n := w.countRows("trash"); n != 0 {
			t.Errorf("%d entries in the trash", n)
		}
	})
}

// With trashAll an entry that a move replaces goes to the trash as well.
func TestReplacedEntryGoesToTheTrash(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/box/f", "123")
		w.mustUpload(w.ann, "/home/ann/other/f", "12345")
		box := w.idAtPath("/home/ann/box")
		for _, all := range []bool{true, false} {
			w.setTrash(files.TrashSettings{Days: 30, All: all})
			_, err := w.tree.MoveWithOptions(t.Context(), w.ann, w.idAtPath("/home/ann/other"), mustParsePath("/home/ann"),
				"box", files.CopyMoveOptions{Replace: true})
			w.must(err)
			if got, err := w.readPath(w.ann, "/home/ann/box/f"); got != "12345" || err != nil {
				t.Errorf("after the move: %q, %v", got, err)
			}
			if all {
				w.checkTrash("with trashAll", 5, 3, 0, 0)
				w.wantRestored("back", w.ann, box, files.RestoreOptions{}, "/home/ann/box (1)")
				_, err = w.tree.MoveWithOptions(t.Context(), w.ann, w.idAtPath("/home/ann/box"), mustParsePath("/home/ann"),
					"other", files.CopyMoveOptions{})
				w.must(err)
				_, err = w.tree.MoveWithOptions(t.Context(), w.ann, box, mustParsePath("/home/ann"), "box",
					files.CopyMoveOptions{})
				w.must(err)
			}
		}
		w.checkTrash("without trashAll", 5, 0, 0, 0)
		w.checkAccounting()
	})
}

// A replica that knows no trash would count its entries as used: nothing goes there while one runs,
// and none can start once something is there.
func TestTrashWaitsForOlderReplicas(t *testing.T) {
	eachTrashFixture(t, func(t *testing.T, h *fixture) {
		id := h.mustUpload(h.ann, "/home/ann/f", "1").ID
		h.addReplica(19)
		_, err := h.tree.DeleteTo(t.Context(), h.ann, id, files.ToTrash)
		h.wantFault("beside an older replica", err, fault.Conflict)
		if n := h.queryInt("SELECT oldest FROM schema_version"); n >= 20 {
			t.Errorf("a refused deletion requires schema %d", n)
		}
		h.exec("UPDATE replicas SET schema = 20")
		h.toTrash(h.ann, "/home/ann/f")
		if n := h.queryInt("SELECT oldest FROM schema_version"); n != 20 {
			t.Errorf("after a deletion to the trash replicas must know schema %d, want 20", n)
		}
	})
}

// Of several restores and purges of one entry at once, one wins.
func TestTrashedEntryLeavesOnceAtOnce(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		for round := range 6 {
			folder := fmt.Sprintf("/home/ann/box%d", round)
			w.mustUpload(w.ann, folder+"/f", "123")
			id := w.toTrash(w.ann, map[bool]string{true: folder, false: folder + "/f"}[round%2 == 0])
			var won atomic.Int64
			var all sync.WaitGroup
			for n := range 4 {
				all.Go(func() {
					var err error
					if n == 3 {
						_, err = w.tree.Purge(t.Context(), w.ann, id)
					} else {
						_, err = w.tree.Restore(t.Context(), w.ann, id, files.RestoreOptions{})
					}
					switch {
					case err == nil:
						won.Add(1)
					case !fault.Is(err, fault.NotFound):
						t.Errorf("round %d: %v", round, err)
					}
				})
			}
			all.Wait()
			if won.Load() != 1 {
				t.Errorf("round %d: %d callers succeeded", round, won.Load())
			}
			if n := w.countRows("trash") + w.countRows("trash_sizes"); n != 0 {
				t.Errorf("round %d: %d rows are left", round, n)
			}
		}
		w.checkAccounting()
		w.checkFolderCounts()
	})
}

// The trash of a deleted account goes to the successor.
func TestTrashIsHandedOver(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		w.mustUpload(w.ann, "/team/box/a", "12345")
		w.mustUpload(w.bob, "/team/box/b", "123")
		shared := w.toTrash(w.admin, "/team/box")
		w.mustUpload(w.ann, "/home/ann/own", "1")
		own := w.toTrash(w.ann, "/home/ann/own")
		w.checkTrash("before", 0, 6, 0, 3)
		w.write(func(tx *db.Tx) error {
			if err := tx.LockTree(true); err != nil {
				return err
			}
			if err := w.tree.HandOverKept(tx, "ann", "bob"); err != nil {
				return err
			}
			_, _, err := w.tree.HandOver(tx, "ann", files.Successor{ID: "bob"}, "", 1000)
			return err
		})
		w.checkTrash("handed over", 0, 0, 0, 9)
		w.write(func(tx *db.Tx) error { return quota.Delete(tx, "ann") }) // the end of every handover
		w.wantRestored("by the successor", w.bob, own, at("/home/bob"), "/home/bob/own")
		w.wantRestored("by who deleted it", w.admin, shared, files.RestoreOptions{}, "/team/box")
		if used, count := w.usage("bob"); used != 9 || count != 3 || w.kept("bob") != 0 {
			t.Errorf("restored: the successor uses %d bytes in %d files and keeps %d", used, count, w.kept("bob"))
		}
		w.checkObjects()
		w.checkFolderCounts()
	})
}

// A restore charges the same when a server of the version before recorded the deletion.
func TestRestoreOfAnOlderRecord(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		w.mustUpload(w.ann, "/team/box/a", "12345")
		w.mustUpload(w.bob, "/team/box/sub/b", "123")
		id := w.toTrash(w.admin, "/team/box")
		w.exec("UPDATE trash SET totals = NULL")
		w.wantRestored("without totals", w.admin, id, files.RestoreOptions{}, "/team/box")
		w.checkTrash("restored", 5, 0, 3, 0)
		w.checkFolderCounts()
	})
}

// A restore of a folder counts the links to files in it and below it, and no other.
func TestRestoreCountsLinks(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		link := func(path, content string) {
			_, err := w.tree.Link(t.Context(), w.ann, w.mustUpload(w.ann, path, content).ID)
			w.must(err)
		}
		link("/home/ann/box/a", "1")
		link("/home/ann/box/sub/deep/b", "2")
		w.mustUpload(w.ann, "/home/ann/box/c", "3")
		w.mustUpload(w.ann, "/home/ann/box/d", "4")
		want := func(what string) {
			t.Helper()
			back, err := w.tree.Restore(t.Context(), w.ann, w.toTrash(w.ann, "/home/ann/box"), files.RestoreOptions{})
			if err != nil || back.Links != 2 {
				t.Errorf("%s: %d links, %v", what, back.Links, err)
			}
		}
		want("fewer links than files")
		link("/home/ann/e", "5")
		link("/home/ann/f", "6")
		want("as many links as files")
		back, err := w.tree.Restore(t.Context(), w.ann, w.toTrash(w.ann, "/home/ann/e"), files.RestoreOptions{})
		if err != nil || back.Links != 1 {
			t.Errorf("a file: %d links, %v", back.Links, err)
		}
	})
}

// A restore takes nothing out of the reach of the password above its former place.
func TestRestoreKeepsProtection(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		w.createFolder(w.admin, "/team/box/open")
		safe := w.createFolder(w.admin, "/team/box/safe")
		w.protectEntry(safe.ID)
		w.exec("UPDATE entries SET owner_id = 'bob' WHERE id = $1", safe.ID)
		id := w.mustUpload(w.admin, "/team/box/safe/f", "1").ID
		w.exec("UPDATE entries SET owner_id = 'ann' WHERE id = $1", id)
		w.exec("UPDATE quotas SET used_storage = 1, used_files = 1 WHERE user_id = 'ann'")
		w.toTrash(w.admin, "/team/box/safe/f")
		_, err := w.restore(w.ann, id, at("/team/box/open"))
		w.wantFault("out of the folder", err, fault.PasswordRequired)
		w.toTrash(w.admin, "/team/box/safe")
		_, err = w.restore(w.ann, id, at("/team/box/open"))
		w.wantFault("the folder is gone", err, fault.PasswordRequired)
		w.wantRestored("by an administrator", w.admin, id, at("/team/box/open"), "/team/box/open/f")
	})
}

// The target is in another provider: nothing is copied by a restore.
func TestRestoreStaysInItsProvider(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/f", "1")
		id := w.toTrash(w.ann, "/home/ann/f")
		_, err := w.restore(w.ann, id, at("/vault"))
		w.wantFault("another provider", err, fault.Conflict)
		w.wantRestored("its own", w.ann, id, at("/home/ann"), "/home/ann/f")
	})
}

// An entry whose folder is now in another provider comes back to the place that the folder had.
func TestRestoreWhereTheFolderLeftTheProvider(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		box := w.createFolder(w.ann, "/home/ann/box")
		w.mustUpload(w.ann, "/home/ann/box/f", "1")
		id := w.toTrash(w.ann, "/home/ann/box/f")
		w.must(w.moveTo(w.ann, "/home/ann/box", "/vault/box", false))
		w.wantRestored("the former place", w.ann, id, files.RestoreOptions{}, "/home/ann/box/f")
		if there := w.idAtPath("/vault/box"); there != box.ID {
			t.Errorf("the folder in the vault is %s, not %s", there, box.ID)
		}
		w.checkAccounting()
		w.checkFolderCounts()
	})
}

// On a disk that is nearly full the oldest entries and versions go before their time, as many as
// free what is missing; what is garbage already counts.
func TestKeptMakesRoom(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		free := func(provider string, bytes, want int64) {
			t.Helper()
			if got, err := w.tree.FreeKept(t.Context(), provider, bytes); got != want || err != nil {
				t.Errorf("%d bytes of %s: freed %d, %v; want %d", bytes, provider, got, err, want)
			}
		}
		begin := w.clock()
		w.mustUpload(w.ann, "/home/ann/folder/f", "12345")
		w.toTrash(w.ann, "/home/ann/folder")
		w.advance(time.Hour)
		id := w.mustUpload(w.ann, "/home/ann/v", "123").ID
		w.replace(w.ann, "/home/ann/v", "1")
		w.advance(time.Hour)
		w.mustUpload(w.ann, "/home/ann/g", "1234567")
		w.toTrash(w.ann, "/home/ann/g")
		w.mustUpload(w.ann, "/vault/other", "12345678")
		w.toTrash(w.ann, "/vault/other")
		w.checkTrash("kept", 1, 5+3+7+8, 0, 0)
		free("local", 0, 0)
		free("local", 1, 5)
		w.checkTrash("the oldest is purged", 1, 3+7+8, 0, 0)
		free("local", 6, 0) // it is not collected yet
		w.collect()
		free("local", 6, 0+3) // 5 bytes are garbage
		w.wantVersions("the version is gone", w.ann, id)
		w.checkTrash("two are purged", 1, 7+8, 0, 0)
		w.advance(2 * grace)
		w.collect()
		free("local", 100, 7)
		w.checkTrash("the other provider keeps", 1, 8, 0, 0)
		w.wantNoPast("the time of the oldest", w.ann, pastOf("/home/ann", begin), fault.Invalid)
		w.checkAccounting()
	})
}
