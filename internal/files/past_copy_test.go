package files_test

import (
	"fmt"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// copyPast copies an entry as it was and returns the path of the copy.
func (f *fixture) copyPast(a access.Actor, id string, at time.Time, target string,
	newName ...vpath.Name) (string, error) {
	f.t.Helper()
	var name *vpath.Name
	if len(newName) > 0 {
		name = &newName[0]
	}
	_, e, err := f.tree.CopyPast(f.t.Context(), a, id, at.UnixMilli(), mustParsePath(target), name)
	if err != nil {
		return "", err
	}
	return e.Path().String(), nil
}

func (f *fixture) wantCopyPast(what string, a access.Actor, id string, at time.Time, target, want string) {
	f.t.Helper()
	if got, err := f.copyPast(a, id, at, target); got != want || err != nil {
		f.t.Errorf("%s: the copy is %q, %v; want %s", what, got, err, want)
	}
}

func (f *fixture) wantNoCopyPast(what string, a access.Actor, id string, at time.Time, target string, kind fault.Kind) {
	f.t.Helper()
	_, err := f.copyPast(a, id, at, target)
	f.wantFault(what, err, kind)
}

// A copy from an earlier time has the names and contents of that time, and nothing else changes.
func TestCopyFromAnEarlierTime(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		const in = "/home/ann/trip/"
		a := w.mustUpload(w.ann, in+"a.jpg", "1").ID
		b := w.mustUpload(w.ann, in+"b.jpg", "22").ID
		w.mustUpload(w.ann, in+"sub/deep", "deep")
		w.mustUpload(w.ann, in+"sub/moved", "moved")
		trip, sub := w.idAtPath("/home/ann/trip"), w.idAtPath(in+"sub")
		w.advance(time.Hour)
		then := w.clock()
		w.advance(time.Hour)
		w.replace(w.ann, in+"a.jpg", "333")
		w.must(w.moveTo(w.ann, in+"b.jpg", in+"z.jpg", false))
		w.must(w.moveTo(w.ann, in+"sub/moved", "/home/ann/moved", false))
		w.mustUpload(w.ann, in+"sub/new", "new")
		w.toTrash(w.ann, in+"sub")
		w.mustUpload(w.ann, in+"new", "new")
		w.advance(time.Hour)
		w.checkTrash("before", 3+2+5+3, 1+4+3, 0, 0)

		w.wantCopyPast("other content", w.ann, a, then, "/home/ann/trip", in+"a (1).jpg")
		w.wantCopyPast("again", w.ann, a, then, "/home/ann/trip", in+"a (2).jpg")
		w.wantCopyPast("another name", w.ann, b, then, "/home/ann/trip", in+"b.jpg")
		if path, err := w.copyPast(w.ann, a, then, "/home/ann/trip", "old.jpg"); path != in+"old.jpg" || err != nil {
			t.Errorf("the copy under a name is %q, %v", path, err)
		}
		w.wantCopyPast("the present content", w.ann, a, w.clock(), "/home/ann", "/home/ann/a.jpg")
		w.wantCopyPast("a folder in the trash", w.ann, sub, then, "/home/ann", "/home/ann/sub")
		w.wantCopyPast("a folder", w.ann, trip, then, "/home/ann", "/home/ann/trip (1)")
		w.checkContents("/home/ann/sub", "deep=deep", "moved=moved")
		w.checkContents("/home/ann/trip (1)", "a.jpg=1", "b.jpg=22", "sub/", "sub/deep=deep", "sub/moved=moved")
		w.checkContents("/home/ann/trip", "a.jpg=333", "a (1).jpg=1", "a (2).jpg=1", "b.jpg=22", "new=new",
			"old.jpg=1", "z.jpg=22")
		w.checkTrash("after", 13+1+1+2+1+3+9+12, 8, 0, 0)
		for path, id := range map[string]string{in + "a.jpg": a, in + "z.jpg": b} {
			if w.idAtPath(path) != id {
				t.Errorf("%s is another entry", path)
			}
		}
		w.wantVersions("the version stays", w.ann, a, "1")

		// the copies keep their contents when the originals are deleted for good
		_, err := w.tree.Purge(t.Context(), w.ann, sub)
		w.must(err)
		_, _, err = w.tree.Delete(t.Context(), w.ann, trip)
		w.must(err)
		w.advance(2 * grace)
		w.collect()
		w.checkContents("/home/ann/trip (1)", "a.jpg=1", "b.jpg=22", "sub/", "sub/deep=deep", "sub/moved=moved")
		w.wantNoCopyPast("deleted for good", w.ann, a, then, "/home/ann", fault.NotFound)
		w.checkTrash("at the end", 5+3+9+12, 0, 0, 0)
	})
}

// Nobody copies from an earlier time what they may not read and download at its former path and
// where it is now.
func TestCopiesOfThePastAreNotMorePublic(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		ids := map[string]string{}
		for _, name := range []string{"hidden", "trashed", "stays", "secret", "viewed"} {
			ids[name] = w.mustUpload(w.ann, "/team/box/"+name, "1").ID
		}
		ids["private"] = w.mustUpload(w.ann, "/team/closed/private", "1").ID
		w.mustUpload(w.ann, "/team/closed/f", "1")
		w.addRule(access.Rule{Pattern: "/team/closed/private", Effect: access.Deny, UserID: "bob", Priority: 9})
		w.addRule(access.Rule{Pattern: "/team/view/**", Effect: access.Deny, UserID: "bob", Priority: 9,
			Permissions: access.Set(access.Download)})
		other := w.mustUpload(w.ann, "/home/ann/other/f", "1").ID
		w.advance(time.Hour)
		before := w.clock()
		w.advance(time.Hour)
		w.must(w.moveTo(w.ann, "/team/closed/private", "/team/closed/open", false))
		w.must(w.moveTo(w.ann, "/team/box/hidden", "/home/ann/hidden", false))
		w.createFolder(w.ann, "/team/view")
		w.must(w.moveTo(w.ann, "/team/box/viewed", "/team/view/viewed", false))
		w.toTrash(w.ann, "/team/box/trashed")
		w.must(w.moveTo(w.ann, "/home/ann/other", "/team/other", false))
		w.advance(time.Hour)
		box := w.idAtPath("/team/box")
		w.wantNoCopyPast("with an entry that is not for download", w.bob, box, before, "/home/bob", fault.Forbidden)
		w.setPassword(ids["secret"], "password")

		for name, want := range map[string]fault.Kind{"hidden": fault.Forbidden, "trashed": fault.NotFound,
			"secret": fault.PasswordRequired, "viewed": fault.Forbidden, "private": fault.Forbidden} {
			w.wantNoCopyPast(name, w.bob, ids[name], before, "/home/bob", want)
		}
		w.wantNoCopyPast("from a folder that was private", w.bob, other, before, "/home/bob", fault.Forbidden)
		w.wantNoCopyPast("to somebody's folder", w.bob, ids["stays"], before, "/home/ann", fault.Forbidden)
		w.wantNoCopyPast("to an absent folder in somebody's home", w.bob, ids["stays"], before, "/home/ann/none",
			fault.Forbidden)
		w.wantNoCopyPast("a visitor", w.visitor, ids["stays"], before, "/team", fault.Unauthorized)
		w.wantCopyPast("allowed", w.bob, ids["stays"], before, "/home/bob", "/home/bob/stays")
		w.wantCopyPast("from the own trash", w.ann, ids["trashed"], before, "/home/ann", "/home/ann/trashed")

		w.must(w.moveTo(w.ann, "/team/view/viewed", "/team/box/viewed", false))
		w.wantNoCopyPast("with an entry that has a password", w.bob, box, before, "/home/bob", fault.Forbidden)
		w.setPassword(ids["secret"], "")
		w.wantNoCopyPast("with an entry that was denied", w.bob, w.idAtPath("/team/closed"), before, "/home/bob",
			fault.Forbidden)
		w.wantCopyPast("without what bob does not see now", w.bob, box, before, "/home/bob", "/home/bob/box")
		w.checkContents("/home/bob/box", "secret=1", "stays=1", "viewed=1")
		w.wantCopyPast("as ann sees it", w.ann, box, before, "/home/ann", "/home/ann/box")
		w.checkContents("/home/ann/box", "hidden=1", "secret=1", "stays=1", "trashed=1", "viewed=1")
	})
}

// A copy from an earlier time is refused as a whole.
func TestRefusedCopiesOfThePast(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		since := w.clock().Add(-time.Minute) // the first sweep
		id := w.mustUpload(w.ann, "/home/ann/box/sub/f", "12345").ID
		box, sub := w.idAtPath("/home/ann/box"), w.idAtPath("/home/ann/box/sub")
		w.advance(time.Hour)
		then := w.clock()
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/box/sub/f", "1")
		w.advance(time.Hour)
		for _, of := range []string{id, box} {
			w.wantNoCopyPast("the future", w.ann, of, w.clock().Add(time.Millisecond), "/home/ann", fault.Invalid)
			w.wantNoCopyPast("before places are known", w.ann, of, since.Add(-time.Millisecond), "/home/ann", fault.Invalid)
			w.wantNoCopyPast("before it was made", w.ann, of, since, "/home/ann", fault.NotFound)
			w.wantNoCopyPast("an absent target", w.ann, of, then, "/home/ann/none", fault.NotFound)
			w.wantNoCopyPast("a file as target", w.ann, of, then, "/home/ann/box/sub/f", fault.NotFound)
			w.wantNoCopyPast("a reserved path", w.ann, of, then, "/", fault.Forbidden)
		}
		w.wantNoCopyPast("an unknown id", w.ann, "none", then, "/home/ann", fault.NotFound)
		w.wantNoCopyPast("into itself", w.ann, box, then, "/home/ann/box/sub", fault.Conflict)

		w.tree.SetCopyBatchSize(2)
		w.wantNoCopyPast("three entries", w.ann, box, then, "/home/ann", fault.Conflict)
		w.wantCopyPast("two entries", w.ann, sub, then, "/home/ann", "/home/ann/sub")
		w.addRule(access.Rule{Pattern: "/home/ann/sub (1)", Effect: access.Deny, UserID: "ann", Priority: 9})
		w.wantNoCopyPast("a number that makes a name denied", w.ann, sub, then, "/home/ann", fault.Forbidden)
		w.tree.SetCopyBatchSize(3)
		w.setQuota("ann", 1+5+4, 100)
		w.wantNoCopyPast("a full quota", w.ann, box, then, "/home/ann", fault.QuotaExceeded)
		w.setQuota("ann", 1+5+5, 100)
		w.wantCopyPast("three entries", w.ann, box, then, "/home/ann", "/home/ann/box (1)")
		w.setQuota("ann", 1000, 100)
		w.mustLock("one", w.idAtPath("/home/ann/sub"), deepLock)
		_, err := w.copyPast(viaKey(w.ann, "two"), id, then, "/home/ann/sub")
		w.wantLocked("into a locked folder", err, "/home/ann/sub")

		// content that went before its time
		w.must(w.tree.DropVersion(t.Context(), w.ann, id, w.versions(w.ann, id)[0].Until))
		w.wantNoCopyPast("content that is not kept", w.ann, id, then, "/home/ann", fault.NotFound)
		w.replace(w.ann, "/home/ann/box/sub/f", "54321")
		lost := w.clock()
		w.mustUpload(w.ann, "/home/ann/box/sub/gone", "gone")
		w.advance(time.Hour)
		w.toTrash(w.ann, "/home/ann/box/sub/gone")
		gap := w.clock()
		w.advance(time.Hour)
		w.exec("UPDATE quotas SET max_kept = 0 WHERE user_id = 'ann'")
		w.must(w.tree.SweepTrash(t.Context()))
		w.wantNoCopyPast("lost content", w.ann, id, lost.Add(-time.Millisecond), "/home/ann", fault.NotFound)
		w.wantNoCopyPast("a folder below with a gap", w.ann, box, gap.Add(-time.Millisecond), "/home/ann", fault.Invalid)
		w.wantCopyPast("after the gap", w.ann, box, gap, "/home/ann", "/home/ann/box (2)")
		w.exec("DELETE FROM bounded_gaps WHERE folder_id = $1", sub)
		w.wantNoCopyPast("a folder with lost content", w.ann, box, lost.Add(-time.Millisecond), "/home/ann",
			fault.NotFound)
		w.checkContents("/home/ann/box (1)", "sub/", "sub/f=12345")
		w.checkContents("/home/ann/box (2)", "sub/", "sub/f=54321")
	})
}

// Content in another provider than the target's is copied there by a job.
func TestCopyFromAnEarlierTimeToAnotherProvider(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		id := w.mustUpload(w.ann, "/home/ann/box/f", "12345").ID
		box := w.idAtPath("/home/ann/box")
		w.advance(time.Hour)
		then := w.clock()
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/box/f", "1")
		w.wantCopyPast("a file", w.ann, id, then, "/vault", "/vault/f")
		w.wantCopyPast("a folder", w.ann, box, then, "/vault", "/vault/box")
		w.runJobs()
		w.checkContents("/vault", "box/", "box/f=12345", "f=12345")
		if n := w.queryInt(`SELECT COUNT(*) FROM entries e JOIN objects o ON o.id = e.object_id
			WHERE e.size = 5 AND o.provider_id = 'vault'`); n != 2 {
			t.Errorf("%d copies are in the vault", n)
		}
		w.checkTrash("after", 1+5+5, 5, 0, 0)
	})
}

// A copy of an earlier time has all entries of that time, even while others leave the folder.
func TestCopyFromAnEarlierTimeDuringMoves(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		const count = 150
		var ids []string
		for n := range count {
			ids = append(ids, w.mustUpload(w.ann, fmt.Sprintf("/home/ann/box/%d", n), "1").ID)
		}
		box, home := w.idAtPath("/home/ann/box"), mustParsePath("/home/ann")
		w.advance(time.Hour)
		then := w.clock()
		w.advance(time.Hour)
		moved := make(chan error)
		go func() {
			for _, id := range ids {
				if _, err := w.tree.Move(t.Context(), w.ann, id, home, nil); err != nil {
					moved <- err
					return
				}
			}
			moved <- nil
		}()
		for n := 0; ; n++ {
			path, err := w.copyPast(w.ann, box, then, "/home/ann")
			w.must(err)
			got := w.queryInt("SELECT COUNT(*) FROM entries WHERE parent_id = '" + w.idAtPath(path) + "'")
			if got != count {
				t.Fatalf("copy %d has %d entries", n, got)
			}
			select {
			case err := <-moved:
				w.must(err)
				return
			default:
			}
		}
	})
}

// After a clock went back, two folders may have been in one another at a time: they have no path.
func TestFoldersInOneAnotherHaveNoPath(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		a, b := w.createFolder(w.ann, "/home/ann/a").ID, w.createFolder(w.ann, "/home/ann/b").ID
		w.advance(2 * time.Hour)
		later := w.clock()
		w.must(w.moveTo(w.ann, "/home/ann/a", "/home/ann/b/a", false))
		w.advance(-time.Hour)
		w.must(w.moveTo(w.ann, "/home/ann/b/a", "/home/ann/a", false))
		w.must(w.moveTo(w.ann, "/home/ann/b", "/home/ann/a/b", false))
		w.advance(2 * time.Hour)
		for _, id := range []string{a, b} {
			w.wantNoCopyPast("in one another", w.ann, id, later, "/home/ann", fault.NotFound)
		}
		w.wantCopyPast("afterwards", w.ann, a, w.clock(), "/home/ann", "/home/ann/a (1)")
		w.checkContents("/home/ann/a (1)", "b/")
	})
}

// Copies that are made at once get different names.
func TestCopiesFromAnEarlierTimeAtOnce(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		id := w.mustUpload(w.ann, "/home/ann/box/f", "1").ID
		w.advance(time.Hour)
		const atOnce = 6
		for n := range 10 {
			target := fmt.Sprint("/home/ann/", n)
			w.createFolder(w.ann, target)
			failed := make(chan error)
			for range atOnce {
				go func() {
					_, err := w.copyPast(w.ann, id, w.clock(), target)
					failed <- err
				}()
			}
			for range atOnce {
				if err := <-failed; err != nil {
					t.Error(err)
				}
			}
			w.checkContents(target, "f=1", "f (1)=1", "f (2)=1", "f (3)=1", "f (4)=1", "f (5)=1")
		}
	})
}
