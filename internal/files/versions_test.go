package files_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// replace uploads content over a file.
func (f *fixture) replace(a access.Actor, p, content string) files.Entry {
	f.t.Helper()
	e, err := f.upload(a, p, content, files.Replace)
	f.must(err)
	return e
}

func (f *fixture) versions(a access.Actor, id string) []files.Version {
	f.t.Helper()
	list, err := f.tree.Versions(f.t.Context(), a, id)
	f.must(err)
	return list
}

// readVersions returns the contents of all versions of a file, newest first.
func (f *fixture) readVersions(a access.Actor, id string) (contents []string) {
	f.t.Helper()
	for _, v := range f.versions(a, id) {
		found, err := f.tree.FindID(f.t.Context(), id)
		f.must(err)
		c, err := found.VersionFor(f.t.Context(), a, v.Until)
		f.must(err)
		contents = append(contents, f.readContent(c))
	}
	return contents
}

func (f *fixture) wantVersions(what string, a access.Actor, id string, want ...string) {
	f.t.Helper()
	if got := f.readVersions(a, id); !slices.Equal(got, want) {
		f.t.Errorf("%s: versions %q, want %q", what, got, want)
	}
}

// A replaced content stays as a version, counts as kept, and comes back with the file's id and
// link.
func TestReplacedContentIsKept(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		id := w.mustUpload(w.ann, "/home/ann/cat.jpg", "first").ID
		link, err := w.tree.Link(t.Context(), w.ann, id)
		w.must(err)
		created := w.clock().UnixMilli()
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/cat.jpg", "second!")
		w.checkTrash("replaced", 7, 5, 0, 0)
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/cat.jpg", "third")
		w.checkTrash("replaced again", 5, 12, 0, 0)
		w.wantVersions("both", w.ann, id, "second!", "first")
		list := w.versions(w.ann, id)
		hour := time.Hour.Milliseconds()
		second, first := list[0], list[1]
		if first.Since != created || first.Until != created+hour || second.Since != first.Until ||
			second.Until != created+2*hour || first.ReplacedBy != "ann" || first.Size != 5 ||
			first.ExpiresAt != first.Until+30*24*hour || len(first.SHA256) != 64 {
			t.Errorf("the versions are %+v", list)
		}
		w.advance(2 * grace)
		w.collect()

		e, err := w.tree.RestoreVersion(t.Context(), w.ann, id, first.Until)
		w.must(err)
		if e.ID != id || e.Size != 5 {
			t.Errorf("restored: %+v", e)
		}
		if got, err := w.readPath(w.ann, "/home/ann/cat.jpg"); got != "first" || err != nil {
			t.Errorf("the content is %q, %v", got, err)
		}
		if c, err := w.tree.ByLink(t.Context(), link.ID); err != nil || w.readContent(c) != "first" {
			t.Errorf("the link: %v", err)
		}
		w.wantVersions("one made current leaves the list", w.ann, id, "third", "second!")
		w.checkTrash("after it", 5, 17, 0, 0)
		w.checkAccounting()

		w.must(w.tree.DropVersion(t.Context(), w.ann, id, second.Until))
		w.wantVersions("one is dropped", w.ann, id, "third")
		w.checkTrash("one is dropped", 5, 10, 0, 0)
		w.wantFault("drop it again", w.tree.DropVersion(t.Context(), w.ann, id, second.Until), fault.NotFound)
		_, err = w.tree.RestoreVersion(t.Context(), w.ann, id, second.Until)
		w.wantFault("restore it", err, fault.NotFound)
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/cat.jpg", "fourth")
		w.wantVersions("it is replaced again", w.ann, id, "first", "third", "first")
		w.checkAccounting()
	})
}

// Versions go with the file into the trash and come back; they end with its deletion for good, in a
// folder too.
func TestVersionsFollowTheFile(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		id := w.mustUpload(w.ann, "/home/ann/box/a", "old").ID
		w.replace(w.ann, "/home/ann/box/a", "new")
		w.toTrash(w.ann, "/home/ann/box/a")
		w.checkTrash("in the trash", 0, 6, 0, 0)
		_, err := w.tree.Versions(t.Context(), w.ann, id)
		w.wantFault("versions of a file in the trash", err, fault.NotFound)
		w.wantRestored("back", w.ann, id, files.RestoreOptions{}, "/home/ann/box/a")
		w.wantVersions("back", w.ann, id, "old")
		_, err = w.tree.Purge(t.Context(), w.ann, w.toTrash(w.ann, "/home/ann/box/a"))
		w.must(err)
		w.checkTrash("purged", 0, 0, 0, 0)

		id = w.mustUpload(w.ann, "/home/ann/box/b", "old").ID
		w.replace(w.ann, "/home/ann/box/b", "new")
		_, _, err = w.tree.Delete(t.Context(), w.ann, id)
		w.must(err)
		w.checkTrash("deleted for good", 0, 0, 0, 0)

		w.mustUpload(w.ann, "/home/ann/box/c", "old")
		w.replace(w.ann, "/home/ann/box/c", "new")
		_, _, err = w.tree.Delete(t.Context(), w.ann, w.idAtPath("/home/ann/box"))
		w.must(err)
		w.collect()
		w.checkTrash("its folder is deleted for good", 0, 0, 0, 0)
		if n := w.countRows("past"); n != 0 {
			t.Errorf("%d versions are left", n)
		}
		w.checkAccounting()
	})
}

// A file that a move or a copy replaces keeps its former content, as editors save.
func TestMoveOverAFileKeepsAVersion(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		id := w.mustUpload(w.ann, "/home/ann/doc.txt", "first").ID
		w.mustUpload(w.ann, "/home/ann/doc.tmp", "tmp")
		w.replace(w.ann, "/home/ann/doc.tmp", "second")
		w.advance(time.Second)
		const name = vpath.Name("doc.txt")
		_, err := w.tree.MoveWithOptions(t.Context(), w.ann, w.idAtPath("/home/ann/doc.tmp"), mustParsePath("/home/ann"), name,
			files.CopyMoveOptions{Replace: true})
		w.must(err)
		w.wantVersions("moved over it", w.ann, id, "first")
		w.mustUpload(w.ann, "/home/ann/other.txt", "third")
		w.advance(time.Second)
		_, err = w.tree.CopyWithOptions(t.Context(), w.ann, w.idAtPath("/home/ann/other.txt"), mustParsePath("/home/ann"), name,
			files.CopyMoveOptions{Replace: true})
		w.must(err)
		w.wantVersions("copied over it", w.ann, id, "second", "first")
		w.checkTrash("after both", 10, 11, 0, 0)
		w.checkAccounting()
	})
}

// Not every replaced content is kept.
func TestContentThatIsNotKept(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		id := w.mustUpload(w.ann, "/home/ann/a", "12345").ID
		w.replace(w.ann, "/home/ann/a", "12345")
		w.wantVersions("the same content", w.ann, id)
		four := int64(4)
		w.write(func(tx *db.Tx) error { return quota.SetMaxKept(tx, "ann", &four) })
		w.replace(w.ann, "/home/ann/a", "1234")
		w.wantVersions("larger than the bound", w.ann, id)
		w.replace(w.ann, "/home/ann/a", "123")
		w.wantVersions("as large as the bound", w.ann, id, "1234")
		w.advance(time.Second)
		w.replace(w.ann, "/home/ann/a", "12")
		w.wantVersions("beyond the bound until the sweep", w.ann, id, "123", "1234")
		w.must(w.tree.SweepTrash(t.Context()))
		w.wantVersions("after the sweep", w.ann, id, "123")
		w.checkTrash("after the sweep", 2, 3, 0, 0)

		w.addReplica(20)
		w.replace(w.ann, "/home/ann/a", "1")
		w.wantVersions("beside an older replica", w.ann, id, "123")
		w.exec("UPDATE replicas SET schema = 21")
		w.replace(w.ann, "/home/ann/a", "x")
		w.wantVersions("beside a replica of this schema", w.ann, id, "1", "123")
		w.checkAccounting()
	})
}

// Without a trash there are no versions, and the sweep removes those that there are.
func TestVersionsWithoutATrash(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		id := w.mustUpload(w.ann, "/home/ann/a", "one").ID
		w.replace(w.ann, "/home/ann/a", "two")
		w.setTrash(files.TrashSettings{})
		w.replace(w.ann, "/home/ann/a", "three")
		w.wantVersions("switched off", w.ann, id, "one")
		w.advance(time.Second)
		w.must(w.tree.SweepTrash(t.Context()))
		w.wantVersions("after the sweep", w.ann, id)
		w.checkTrash("after the sweep", 5, 0, 0, 0)
		w.checkAccounting()
	})
}

// A version stays for the days of the setting, and of a file the newest 100.
func TestVersionsEnd(t *testing.T) {
	eachTrashFixture(t, func(t *testing.T, h *fixture) {
		id := h.mustUpload(h.ann, "/home/ann/a", "0").ID
		for n := 1; n <= 101; n++ {
			h.advance(time.Millisecond)
			h.replace(h.ann, "/home/ann/a", fmt.Sprint(n))
		}
		list := h.readVersions(h.ann, id)
		if len(list) != 100 || list[0] != "100" || list[99] != "1" {
			t.Errorf("%d versions, from %q to %q", len(list), list[0], list[len(list)-1])
		}
		last := h.versions(h.ann, id)[99]
		h.advance(time.UnixMilli(last.ExpiresAt - 1).Sub(h.clock()))
		h.must(h.tree.SweepTrash(t.Context()))
		if n := h.countRows("past"); n != 100 {
			t.Errorf("%d versions a millisecond before the end of the oldest", n)
		}
		h.advance(time.Millisecond)
		h.must(h.tree.SweepTrash(t.Context()))
		if n := h.countRows("past"); n != 99 {
			t.Errorf("%d versions at the end of the oldest", n)
		}
		h.advance(trashDay)
		h.must(h.tree.SweepTrash(t.Context()))
		h.checkTrash("all are gone", 3, 0, 0, 0)
	})
}

// The times of the versions of a file never go back, even when the clock does.
func TestVersionsWhenTheClockGoesBack(t *testing.T) {
	eachTrashFixture(t, func(t *testing.T, h *fixture) {
		id := h.mustUpload(h.ann, "/home/ann/a", "1").ID
		for n := 2; n <= 4; n++ {
			h.replace(h.ann, "/home/ann/a", fmt.Sprint(n))
			h.advance(-2 * time.Hour)
		}
		h.wantVersions("in order", h.ann, id, "3", "2", "1")
		list := h.versions(h.ann, id)
		for i, v := range list {
			if v.Since >= v.Until || i > 0 && list[i-1].Since != v.Until {
				t.Errorf("version %d is from %d to %d", i, v.Since, v.Until)
			}
		}
	})
}

// Who may see, restore and drop versions.
func TestVersionsArePrivate(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		own := w.mustUpload(w.ann, "/home/ann/a", "old").ID
		w.replace(w.ann, "/home/ann/a", "new")
		until := w.versions(w.ann, own)[0].Until
		_, err := w.tree.Versions(t.Context(), w.bob, own)
		w.wantFault("somebody else lists", err, fault.Forbidden)
		_, err = w.tree.RestoreVersion(t.Context(), w.bob, own, until)
		w.wantFault("somebody else restores", err, fault.Forbidden)
		w.wantFault("somebody else drops", w.tree.DropVersion(t.Context(), w.bob, own, until), fault.Forbidden)
		found, err := w.tree.FindID(t.Context(), own)
		w.must(err)
		_, err = found.VersionFor(t.Context(), w.bob, until)
		w.wantFault("somebody else reads", err, fault.Forbidden)
		_, err = w.tree.Versions(t.Context(), w.ann, w.idAtPath("/home/ann"))
		w.wantFault("a folder", err, fault.NotFound)
		_, err = w.tree.RestoreVersion(t.Context(), w.ann, w.idAtPath("/home/ann"), until)
		w.wantFault("restore in a folder", err, fault.NotFound)

		team := w.mustUpload(w.ann, "/team/box/f", "old").ID
		w.replace(w.bob, "/team/box/f", "new")
		until = w.versions(w.bob, team)[0].Until
		w.wantFault("a user who is not the owner drops", w.tree.DropVersion(t.Context(), w.bob, team, until),
			fault.Forbidden)
		_, err = w.tree.RestoreVersion(t.Context(), w.bob, team, until)
		w.must(err)
		w.checkTrash("the owner is charged", 6, 9, 0, 0)
		w.must(w.tree.DropVersion(t.Context(), w.admin, team, until))
		w.setQuota("ann", 6, 10)
		w.replace(w.ann, "/team/box/f", "n")
		w.mustUpload(w.ann, "/home/ann/fill", "12")
		_, err = w.tree.RestoreVersion(t.Context(), w.ann, team, w.versions(w.ann, team)[0].Until)
		w.wantFault("beyond the quota", err, fault.QuotaExceeded)
		w.checkAccounting()
	})
}

// Content that a file had in a private folder stays private when the file moves to a shared one:
// others find no such version, whereas the owner and administrators do.
func TestVersionsOfAPrivateFolder(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		id := w.mustUpload(w.ann, "/home/ann/own/f", "secret").ID
		written := w.clock().UnixMilli()
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/own/f", "draft")
		w.advance(time.Hour)
		w.must(w.moveTo(w.ann, "/home/ann/own/f", "/team/box/f", false))
		w.advance(time.Hour)
		w.replace(w.ann, "/team/box/f", "shared")
		w.advance(time.Hour)
		w.replace(w.ann, "/team/box/f", "last")

		w.wantVersions("of the owner", w.ann, id, "shared", "draft", "secret")
		w.wantVersions("of an administrator", w.admin, id, "shared", "draft", "secret")
		w.wantVersions("of another user", w.bob, id, "shared", "draft") // bob could read the draft after the move
		until := w.versions(w.ann, id)[2].Until
		found, err := w.tree.FindID(t.Context(), id)
		w.must(err)
		_, err = found.VersionFor(t.Context(), w.bob, until)
		w.wantFault("another user reads the secret", err, fault.NotFound)
		_, _, err = found.ContentAt(t.Context(), w.bob, written)
		w.wantFault("another user reads it by its time", err, fault.NotFound)
		// the draft is a version that bob may read, but not as it was before the move
		_, _, err = found.ContentAt(t.Context(), w.bob, until)
		w.wantFault("another user reads the draft by a time before the move", err, fault.NotFound)
		_, err = w.tree.RestoreVersion(t.Context(), w.bob, id, until)
		w.wantFault("another user restores the secret", err, fault.NotFound)
		_, _, err = found.ContentAt(t.Context(), w.ann, written)
		w.must(err)
		w.advance(time.Hour)

		// the same when a folder above has moved
		w.must(w.moveTo(w.ann, "/team/box/f", "/home/ann/own/f", false))
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/own/f", "private again")
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/own/f", "public at last")
		w.must(w.moveTo(w.ann, "/home/ann/own", "/team/own", false))
		w.wantVersions("after a move of the folder", w.bob, id, "shared", "draft")
		_, _, err = w.tree.Delete(t.Context(), w.ann, w.idAtPath("/team/box"))
		w.must(err)
		w.collect()
		w.wantVersions("of a place that is deleted", w.bob, id)
		w.wantVersions("of it, for an administrator", w.admin, id, "private again", "last", "shared", "draft",
			"secret")
		_, err = w.tree.RestoreVersion(t.Context(), w.ann, id, until)
		w.must(err)
	})
}

// The versions of a deleted account go to its successor.
func TestVersionsAreHandedOver(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/a", "12345")
		w.replace(w.ann, "/home/ann/a", "1")
		w.write(func(tx *db.Tx) error {
			if err := w.tree.HandOverKept(tx, "ann", "bob"); err != nil {
				return err
			}
			_, _, err := w.tree.HandOver(tx, "ann", files.Successor{ID: "bob"}, "", 1000)
			return err
		})
		w.checkTrash("handed over", 0, 0, 1, 5)
	})
}

// A version whose file was moved to another provider stays readable, and is not restored.
func TestVersionInAnotherProvider(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		id := w.mustUpload(w.ann, "/home/ann/a", "old").ID
		w.replace(w.ann, "/home/ann/a", "new")
		w.addRule(access.Rule{Pattern: "/vault/**", Effect: access.Allow, Role: access.User})
		_, err := w.tree.Move(t.Context(), w.ann, id, mustParsePath("/vault"), nil)
		w.must(err)
		w.runJobs()
		w.wantVersions("moved", w.ann, id, "old")
		_, err = w.tree.RestoreVersion(t.Context(), w.ann, id, w.versions(w.ann, id)[0].Until)
		w.wantFault("restore", err, fault.Conflict)
		w.checkAccounting()
	})
}
