package files_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// eachHistoryFixture is eachTrashStoresFixture once places are recorded.
func eachHistoryFixture(t *testing.T, test func(t *testing.T, w *storesFixture)) {
	t.Helper()
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.must(w.tree.SweepTrash(t.Context()))
		w.advance(time.Minute)
		test(t, w)
	})
}

func pastOf(path string, at time.Time) files.PastQuery {
	return files.PastQuery{ListQuery: files.ListQuery{Path: mustParsePath(path), Page: 1, Limit: 100, Sort: "name"},
		At: at.UnixMilli()}
}

func pastOfID(id string, at time.Time) files.PastQuery {
	q := pastOf("/", at)
	q.FolderID = id
	return q
}

// past lists a folder as it was: the path, the size and the state of each entry.
func (f *fixture) past(a access.Actor, q files.PastQuery) (lines []string) {
	f.t.Helper()
	listing, err := f.tree.ListPast(f.t.Context(), a, q)
	f.must(err)
	for _, e := range listing.Items {
		path := e.Path().String()
		if e.Folder {
			path += "/"
		}
		lines = append(lines, fmt.Sprintf("%s %d %s", path, e.Size, e.State))
	}
	if listing.Total != len(lines) {
		f.t.Errorf("the total is %d of %d", listing.Total, len(lines))
	}
	return lines
}

func (f *fixture) wantPast(what string, a access.Actor, q files.PastQuery, want ...string) {
	f.t.Helper()
	if got := f.past(a, q); !slices.Equal(got, want) {
		f.t.Errorf("%s:\n%q, want\n%q", what, got, want)
	}
}

func (f *fixture) wantNoPast(what string, a access.Actor, q files.PastQuery, kind fault.Kind) {
	f.t.Helper()
	_, err := f.tree.ListPast(f.t.Context(), a, q)
	f.wantFault(what, err, kind)
}

// readAt returns the content that a file had.
func (f *fixture) readAt(a access.Actor, id string, at time.Time) (string, error) {
	f.t.Helper()
	found, err := f.tree.FindID(f.t.Context(), id)
	if err != nil {
		return "", err
	}
	c, _, err := found.ContentAt(f.t.Context(), a, at.UnixMilli())
	if err != nil {
		return "", err
	}
	return f.readContent(c), nil
}

// A folder shows the names, sizes and contents of an earlier time, wherever the entries are now.
func TestFolderAsItWas(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		step := func() time.Time {
			w.advance(time.Hour)
			defer w.advance(time.Hour)
			return w.clock()
		}
		w.mustUpload(w.ann, "/home/ann/trip/b.jpg", "22")
		a := w.mustUpload(w.ann, "/home/ann/trip/a.jpg", "1").ID
		sub := w.createFolder(w.ann, "/home/ann/trip/sub").ID
		w.mustUpload(w.ann, "/home/ann/trip/sub/deep", "deep")
		begin := step()
		w.replace(w.ann, "/home/ann/trip/a.jpg", "333")
		replaced := step()
		w.must(w.moveTo(w.ann, "/home/ann/trip/a.jpg", "/home/ann/trip/z.jpg", false))
		renamed := step()
		w.must(w.moveTo(w.ann, "/home/ann/trip/z.jpg", "/home/ann/z.jpg", false))
		w.toTrash(w.ann, "/home/ann/trip/sub")
		trip := w.toTrash(w.ann, "/home/ann/trip/b.jpg")
		deleted := step()
		w.mustUpload(w.ann, "/home/ann/trip/new", "new")
		now := step()

		const in = "/home/ann/trip/"
		w.wantPast("at the beginning", w.ann, pastOf("/home/ann/trip", begin), in+"sub/ 0 trashed",
			in+"a.jpg 1 moved", in+"b.jpg 2 trashed")
		w.wantPast("replaced", w.ann, pastOf("/home/ann/trip", replaced), in+"sub/ 0 trashed", in+"a.jpg 3 moved",
			in+"b.jpg 2 trashed")
		w.wantPast("renamed", w.ann, pastOf("/home/ann/trip", renamed), in+"sub/ 0 trashed", in+"b.jpg 2 trashed",
			in+"z.jpg 3 moved")
		w.wantPast("deleted", w.ann, pastOf("/home/ann/trip", deleted))
		w.wantPast("now", w.ann, pastOf("/home/ann/trip", now), in+"new 3 same")
		w.wantPast("a folder in the trash", w.ann, pastOfID(sub, begin), in+"sub/deep 4 trashed")
		for at, want := range map[time.Time]string{begin: "1", replaced: "333", now: "333"} {
			if got, err := w.readAt(w.ann, a, at); got != want || err != nil {
				t.Errorf("a.jpg was %q, %v; want %q", got, err, want)
			}
		}
		if _, err := w.readAt(w.ann, a, begin.Add(-2*time.Hour)); !fault.Is(err, fault.NotFound) {
			t.Errorf("the content before the file: %v", err)
		}

		w.wantRestored("back", w.ann, trip, files.RestoreOptions{}, "/home/ann/trip/b.jpg")
		w.must(w.moveTo(w.ann, "/home/ann/z.jpg", "/home/ann/trip/a.jpg", false))
		back := step()
		w.replace(w.ann, "/home/ann/trip/b.jpg", "4444")
		w.wantPast("as before", w.ann, pastOf("/home/ann/trip", begin), in+"sub/ 0 trashed", in+"a.jpg 1 changed",
			in+"b.jpg 2 changed")
		w.wantPast("while it was in the trash", w.ann, pastOf("/home/ann/trip", deleted))
		w.wantPast("back", w.ann, pastOf("/home/ann/trip", back), in+"a.jpg 3 same", in+"b.jpg 2 changed",
			in+"new 3 same")
		q := pastOf("/home/ann/trip", back)
		q.Type, q.Limit, q.Page, q.Order = "file", 2, 2, "desc"
		listing, err := w.tree.ListPast(t.Context(), w.ann, q)
		w.must(err)
		if listing.Total != 3 || len(listing.Items) != 1 || listing.Items[0].Name != "a.jpg" ||
			listing.Folder.Path().String() != "/home/ann/trip" {
			t.Errorf("the second page is %+v", listing)
		}
	})
}

// A new name by a change of the entry is recorded like one by a move; other changes are not.
func TestNewNamesInAnEarlierTime(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		ids := []string{w.mustUpload(w.ann, "/home/ann/box/f", "1").ID, w.createFolder(w.ann, "/home/ann/box/dir").ID}
		w.advance(time.Hour)
		before := w.clock()
		w.advance(time.Hour)
		change := func(id string, c files.Change) {
			t.Helper()
			_, err := w.tree.Update(t.Context(), w.ann, id, c)
			w.must(err)
		}
		for i, same := range []vpath.Name{"f", "dir"} {
			title := "title"
			change(ids[i], files.Change{Name: &same, Title: files.Field[string]{Given: true, Value: &title}})
		}
		w.wantPast("not renamed", w.ann, pastOf("/home/ann/box", before), "/home/ann/box/dir/ 0 same",
			"/home/ann/box/f 1 same")
		w.advance(time.Hour)
		for i, name := range []vpath.Name{"g", "folder"} {
			change(ids[i], files.Change{Name: &name})
		}
		renamed := w.clock()
		w.wantPast("before", w.ann, pastOf("/home/ann/box", before), "/home/ann/box/dir/ 0 moved",
			"/home/ann/box/f 1 moved")
		w.wantPast("renamed", w.ann, pastOf("/home/ann/box", renamed), "/home/ann/box/folder/ 0 same",
			"/home/ann/box/g 1 same")
		w.advance(time.Hour)
		if got := w.rewind(w.ann, "/home/ann/box", before); got != "completed" {
			t.Errorf("the rewind is %s", got)
		}
		w.wantPast("back", w.ann, pastOf("/home/ann/box", before), "/home/ann/box/dir/ 0 same", "/home/ann/box/f 1 same")
	})
}

// The path of a folder in an earlier time is the one that it had.
func TestPathOfAnEarlierTime(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/a/b/f", "1")
		id := w.idAtPath("/home/ann/a/b")
		w.advance(time.Hour)
		before := w.clock()
		w.advance(time.Hour)
		w.must(w.moveTo(w.ann, "/home/ann/a", "/home/ann/renamed", false))
		w.must(w.moveTo(w.ann, "/home/ann/renamed/b", "/home/ann/b", false))
		w.advance(time.Hour)
		w.wantPast("by the present path", w.ann, pastOf("/home/ann/b", before), "/home/ann/a/b/f 1 same")
		w.wantPast("by id", w.ann, pastOfID(id, before), "/home/ann/a/b/f 1 same")
		w.wantPast("the folder above", w.ann, pastOf("/home/ann", before), "/home/ann/a/ 0 moved")
		w.wantPast("between", w.ann, pastOf("/home/ann/renamed", before), "/home/ann/a/b/ 0 moved")
		w.wantPast("by the path that it had", w.ann, pastOf("/home/ann/a/b", before), "/home/ann/a/b/f 1 same")
		w.mustUpload(w.ann, "/home/ann/a/b/new", "2")
		w.wantPast("another folder has that path now", w.ann, pastOf("/home/ann/a/b", before), "/home/ann/a/b/f 1 same")
		w.wantPast("and now", w.ann, pastOf("/home/ann/a/b", w.clock()), "/home/ann/a/b/new 1 same")
		w.wantNoPast("a path of later", w.ann, pastOf("/home/ann/a/b", before.Add(-time.Hour-time.Second)), fault.NotFound)
		w.toTrash(w.ann, "/home/ann/b")
		w.wantPast("it is in the trash", w.ann, pastOf("/home/ann/a/b", before), "/home/ann/a/b/f 1 trashed")
		w.wantNoPast("before it was made", w.ann, pastOfID(id, before.Add(-time.Hour-time.Second)), fault.NotFound)
		w.wantNoPast("a file", w.ann, pastOf("/home/ann/a/b/f", before), fault.NotFound)
		w.wantNoPast("an unknown id", w.ann, pastOfID("none", before), fault.NotFound)
		w.wantNoPast("an absent folder", w.ann, pastOf("/home/ann/none", before), fault.NotFound)
	})
}

// An earlier time shows nobody an entry that they do not see now.
func TestThePastIsNotMorePublic(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		w.mustUpload(w.ann, "/team/box/hidden", "1")
		w.mustUpload(w.ann, "/team/box/trashed", "1")
		w.mustUpload(w.ann, "/team/box/stays", "1")
		secret := w.mustUpload(w.ann, "/team/box/secret", "1").ID
		w.mustUpload(w.ann, "/home/ann/other/f", "1")
		w.mustUpload(w.ann, "/team/gone/f", "1")
		w.addRule(access.Rule{Pattern: "/team/box/private*", Effect: access.Deny, UserID: "bob"})
		w.mustUpload(w.ann, "/team/box/private", "1")
		w.advance(time.Hour)
		before := w.clock()
		w.advance(time.Hour)
		w.must(w.moveTo(w.admin, "/team/box/private", "/team/box/open", false))
		w.must(w.moveTo(w.ann, "/team/box/hidden", "/home/ann/hidden", false))
		w.toTrash(w.ann, "/team/box/trashed")
		w.must(w.moveTo(w.ann, "/home/ann/other", "/team/other", false))
		w.must(w.moveTo(w.ann, "/team/gone", "/home/ann/gone", false))
		w.setPassword(secret, "password")
		w.wantPast("ann", w.ann, pastOf("/team/box", before), "/team/box/hidden 1 moved", "/team/box/private 1 moved",
			"/team/box/secret 1 same",
			"/team/box/stays 1 same", "/team/box/trashed 1 trashed")
		w.wantPast("bob", w.bob, pastOf("/team/box", before), "/team/box/secret 1 same", "/team/box/stays 1 same")
		if _, err := w.readAt(w.bob, secret, before); !fault.Is(err, fault.PasswordRequired) {
			t.Errorf("bob reads the secret: %v", err)
		}
		w.wantNoPast("a folder that was private", w.bob, pastOf("/team/other", before), fault.Forbidden)
		w.wantNoPast("an absent folder in somebody's home", w.bob, pastOf("/home/ann/none", before), fault.Forbidden)
		w.wantPast("ann's own folder", w.ann, pastOf("/team/gone", before), "/team/gone/f 1 same")
		w.wantNoPast("a folder that is private now", w.bob, pastOf("/team/gone", before), fault.NotFound)
		w.wantNoPast("by id", w.bob, pastOfID(w.idAtPath("/home/ann/gone"), before), fault.Forbidden)
		w.must(w.moveTo(w.ann, "/home/ann/gone", "/team/locked", false))
		w.setPassword(w.idAtPath("/team/locked"), "password")
		w.wantNoPast("a folder that has a password now", w.bob, pastOf("/team/gone", before), fault.NotFound)
		w.toTrash(w.ann, "/team/locked")
		w.wantNoPast("a folder in somebody's trash now", w.bob, pastOf("/team/gone", before), fault.NotFound)
		w.wantNoPast("a folder in somebody's trash", w.bob, pastOfID(w.toTrash(w.ann, "/team/other"), before),
			fault.NotFound)
		listing, err := w.tree.ListPast(t.Context(), w.ann, pastOf("/team/box", before))
		w.must(err)
		for _, e := range listing.Items {
			if e.Permissions&^(access.Set(access.Read)|access.Set(access.Download)) != 0 || e.Public {
				t.Errorf("%s has the permissions %v, public %v", e.Name, e.Permissions, e.Public)
			}
		}
		w.setPassword(w.idAtPath("/team/box"), "password")
		w.wantNoPast("behind a password", w.bob, pastOf("/team/box", before), fault.PasswordRequired)
	})
}

// A time is refused where something may be missing: before places were recorded, before the
// retention, and before an entry of the trash ended early.
func TestHistoryIsComplete(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/box/f", "12345")
		q := func(at time.Time) files.PastQuery { return pastOf("/home/ann/box", at) }
		since := func(want time.Time) {
			t.Helper()
			listing, err := w.tree.ListPast(t.Context(), w.ann, q(w.clock()))
			w.must(err)
			if listing.CompleteSince != want.UnixMilli() {
				t.Errorf("complete since %v, want %v", time.UnixMilli(listing.CompleteSince), want)
			}
			w.wantNoPast("before it", w.ann, q(want.Add(-time.Millisecond)), fault.Invalid)
			w.past(w.ann, q(want))
		}
		w.wantNoPast("no places are recorded", w.ann, q(w.clock()), fault.Invalid)
		w.advance(time.Hour)
		begin := w.clock()
		w.must(w.tree.SweepTrash(t.Context()))
		w.advance(time.Hour)
		w.must(w.tree.SweepTrash(t.Context()))
		since(begin)
		w.wantNoPast("the future", w.ann, q(w.clock().Add(time.Millisecond)), fault.Invalid)

		w.toTrash(w.ann, "/home/ann/box/f")
		ended := w.clock()
		w.advance(time.Hour)
		since(begin)
		w.exec("UPDATE quotas SET max_kept = 4 WHERE user_id = 'ann'")
		w.must(w.tree.SweepTrash(t.Context()))
		since(ended)

		w.advance(31 * trashDay)
		w.must(w.tree.SweepTrash(t.Context()))
		since(w.clock().Add(-30 * trashDay))
		if n := w.countRows("history_gaps") + w.countRows("bounded_gaps") + w.countRows("former_places"); n != 0 {
			t.Errorf("%d places and gaps stay", n)
		}

		w.setTrash(files.TrashSettings{})
		w.wantNoPast("without a trash", w.ann, q(w.clock()), fault.Invalid)
		w.must(w.tree.SweepTrash(t.Context()))
		w.setTrash(files.TrashSettings{Days: 30})
		w.advance(time.Hour)
		w.must(w.tree.SweepTrash(t.Context()))
		since(w.clock())
		w.addReplica(21)
		w.must(w.tree.SweepTrash(t.Context()))
		w.wantNoPast("beside an older replica", w.ann, q(w.clock()), fault.Invalid)
	})
}

// A file whose content of a time ended early is listed as such, and its folder can be asked for all
// the same: beyond 100 versions, above the bound, and when versions made room.
func TestContentThatIsLost(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/box/other", "1")
		often := w.mustUpload(w.ann, "/home/ann/box/often", "0").ID
		large := w.mustUpload(w.ann, "/home/ann/box/large", "12345").ID
		swept := w.mustUpload(w.ann, "/home/ann/box/swept", "123").ID
		dropped := w.mustUpload(w.ann, "/home/ann/box/dropped", "12").ID
		w.advance(time.Hour)
		first := w.clock()
		for n := range 100 {
			w.advance(time.Second)
			w.replace(w.ann, "/home/ann/box/often", fmt.Sprint(n+1))
		}
		w.wantPast("100 versions", w.ann, pastOf("/home/ann/box", first), "/home/ann/box/dropped 2 same",
			"/home/ann/box/large 5 same", "/home/ann/box/often 1 changed", "/home/ann/box/other 1 same",
			"/home/ann/box/swept 3 same")
		second := w.clock().Add(-99 * time.Second) // often has its first new content
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/box/often", "0123456789")
		w.replace(w.ann, "/home/ann/box/swept", "1")
		w.replace(w.ann, "/home/ann/box/dropped", "1")
		w.must(w.tree.DropVersion(t.Context(), w.ann, dropped, w.versions(w.ann, dropped)[0].Until))
		w.exec("UPDATE quotas SET max_kept = 4 WHERE user_id = 'ann'")
		w.replace(w.ann, "/home/ann/box/large", "1")
		w.wantPast("101 versions, one above the bound, and one deleted", w.ann, pastOf("/home/ann/box", first),
			"/home/ann/box/dropped 1 lost",
			"/home/ann/box/large 1 lost", "/home/ann/box/often 10 lost", "/home/ann/box/other 1 same",
			"/home/ann/box/swept 3 changed")
		w.wantPast("the second content", w.ann, pastOf("/home/ann/box", second), "/home/ann/box/dropped 1 lost",
			"/home/ann/box/large 1 lost",
			"/home/ann/box/often 1 changed", "/home/ann/box/other 1 same", "/home/ann/box/swept 3 changed")
		w.exec("UPDATE quotas SET max_kept = 0 WHERE user_id = 'ann'")
		w.must(w.tree.SweepTrash(t.Context()))
		w.wantPast("no versions", w.ann, pastOf("/home/ann/box", first), "/home/ann/box/dropped 1 lost",
			"/home/ann/box/large 1 lost", "/home/ann/box/often 10 lost", "/home/ann/box/other 1 same",
			"/home/ann/box/swept 1 lost")

		listing, err := w.tree.ListPast(t.Context(), w.ann, pastOf("/home/ann/box", first))
		w.must(err)
		for _, e := range listing.Items {
			if got := e.Permissions.Has(access.Download); got != (e.Name == "other") {
				t.Errorf("%s can be downloaded: %v", e.Name, got)
			}
		}
		for _, id := range []string{often, large, swept, dropped} {
			_, err := w.readAt(w.ann, id, first)
			w.wantFault("the content of a lost file", err, fault.NotFound)
		}
		const want = `failed: 4 entries could not be brought back. The first is "/home/ann/box/dropped": ` +
			"The content that this file had is not kept any more."
		if got := w.rewind(w.ann, "/home/ann/box", first); got != want {
			t.Errorf("a rewind is %q, want %q", got, want)
		}
		w.exec("UPDATE quotas SET max_kept = 100 WHERE user_id = 'ann'")
		w.toTrash(w.ann, "/home/ann/box/often")
		w.wantPast("one in the trash", w.ann, pastOf("/home/ann/box", first), "/home/ann/box/dropped 1 lost",
			"/home/ann/box/large 1 lost", "/home/ann/box/often 10 trashed", "/home/ann/box/other 1 same",
			"/home/ann/box/swept 1 lost")
		w.checkAccounting()
	})
}

// Content that was replaced while the trash was off is not shown as that of an earlier time.
func TestContentReplacedWithoutATrash(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		id := w.mustUpload(w.ann, "/home/ann/box/f", "1").ID
		w.advance(time.Hour)
		before := w.clock()
		w.advance(time.Hour)
		w.setTrash(files.TrashSettings{})
		w.replace(w.ann, "/home/ann/box/f", "22")
		w.setTrash(files.TrashSettings{Days: 30}) // before the next sweep
		w.wantPast("before", w.ann, pastOf("/home/ann/box", before))
		w.wantPast("now", w.ann, pastOf("/home/ann/box", w.clock()), "/home/ann/box/f 2 same")
		if _, err := w.readAt(w.ann, id, before); !fault.Is(err, fault.NotFound) {
			t.Errorf("the former content: %v", err)
		}
	})
}
