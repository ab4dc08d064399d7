package files_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"larder/internal/fault"
	"larder/internal/files"
)

// wantCompleteSince expects the earliest time from which a folder is known, and that the time
// before it is refused.
func (w *storesFixture) wantCompleteSince(what, path string, want time.Time) {
	w.t.Helper()
	listing, err := w.tree.ListPast(w.t.Context(), w.ann, pastOf(path, w.clock()))
	w.must(err)
	if listing.CompleteSince != want.UnixMilli() {
		w.t.Errorf("%s: complete since %v, want %v", what, time.UnixMilli(listing.CompleteSince), want)
	}
	w.wantNoPast(what, w.ann, pastOf(path, want.Add(-time.Millisecond)), fault.Invalid)
}

// A time whose former places and versions the sweep has deleted stays unknown when the lifetime of
// the trash is raised, and a rewind to it is refused.
func TestHistoryAfterALongerLifetime(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.setTrash(files.TrashSettings{Days: 7})
		w.mustUpload(w.ann, "/home/ann/box/e", "1")
		w.advance(time.Hour)
		before := w.clock()
		w.advance(time.Hour)
		w.must(w.moveTo(w.ann, "/home/ann/box/e", "/home/ann/box/renamed", false))
		w.wantPast("before the sweep", w.ann, pastOf("/home/ann/box", before), "/home/ann/box/e 1 moved")
		w.advance(15 * trashDay)
		w.must(w.tree.SweepTrash(t.Context()))
		swept := w.clock()
		w.advance(trashDay)
		w.setTrash(files.TrashSettings{Days: 30})
		w.wantNoPast("before the swept time", w.ann, pastOf("/home/ann/box", before), fault.Invalid)
		w.wantCompleteSince("raised", "/home/ann/box", swept.Add(-7*trashDay))
		_, err := w.tree.PlanRewind(t.Context(), w.ann, w.idAtPath("/home/ann/box"), before.UnixMilli())
		w.wantFault("a rewind", err, fault.Invalid)
		w.must(w.tree.SweepTrash(t.Context()))
		w.wantCompleteSince("after another sweep", "/home/ann/box", swept.Add(-7*trashDay))
	})
}

// A sweep while the clock is a year ahead makes the past unknown until the clock is right again.
func TestHistoryAfterAWrongClock(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.setTrash(files.TrashSettings{Days: 30})
		w.mustUpload(w.ann, "/home/ann/box/e", "1")
		w.advance(365 * trashDay)
		w.must(w.tree.SweepTrash(t.Context()))
		w.advance(-365 * trashDay)
		w.must(w.tree.SweepTrash(t.Context()))
		right := w.clock()
		w.wantCompleteSince("after the clock was set right", "/home/ann/box", right)
		w.advance(time.Hour)
		w.wantPast("then", w.ann, pastOf("/home/ann/box", right), "/home/ann/box/e 1 same")
	})
}

// Entries of the trash that are purged, early or by a user, leave gaps in the folder that they were
// deleted from and in those that they and the entries in them were in before. Each gap ends when
// the entry left the folder.
func TestPurgesLeaveGaps(t *testing.T) {
	for what, purge := range map[string]func(w *storesFixture, ids ...string){
		"early": func(w *storesFixture, _ ...string) {
			w.exec("UPDATE quotas SET max_kept = 0 WHERE user_id = 'ann'")
			w.must(w.tree.SweepTrash(w.t.Context()))
		},
		"by the user": func(w *storesFixture, ids ...string) {
			for _, id := range ids {
				_, err := w.tree.Purge(w.t.Context(), w.ann, id)
				w.must(err)
			}
		},
		"the whole trash": func(w *storesFixture, _ ...string) {
			_, err := w.tree.EmptyTrash(w.t.Context(), w.ann, "ann")
			w.must(err)
		},
	} {
		t.Run(what, func(t *testing.T) {
			eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
				for _, path := range []string{"a/f", "b/sub/g", "c/h", "d/folder/i", "e/kept", "from/kept"} {
					w.mustUpload(w.ann, "/home/ann/"+path, "1")
				}
				begin := w.clock()
				w.advance(time.Hour)
				before := w.clock()
				w.advance(time.Hour)
				w.must(w.moveTo(w.ann, "/home/ann/a/f", "/home/ann/from/f", false))
				w.must(w.moveTo(w.ann, "/home/ann/b/sub", "/home/ann/from/sub", false))
				w.must(w.moveTo(w.ann, "/home/ann/c/h", "/home/ann/from/sub/h", false))
				w.must(w.moveTo(w.ann, "/home/ann/d/folder", "/home/ann/from/sub/folder", false))
				moved := w.clock()
				w.advance(time.Hour)
				ids := []string{w.toTrash(w.ann, "/home/ann/from/f"), w.toTrash(w.ann, "/home/ann/from/sub")}
				deleted := w.clock()
				w.advance(time.Hour)
				purge(w, ids...)
				for _, folder := range []string{"a", "b", "c", "d"} {
					w.wantNoPast(folder+" at once", w.ann, pastOf("/home/ann/"+folder, before), fault.Invalid)
				}
				w.wantNoPast("from at once", w.ann, pastOf("/home/ann/from", moved), fault.Invalid)
				w.wantPast("from before", w.ann, pastOf("/home/ann/from", before), "/home/ann/from/kept 1 same")
				w.collect()
				for _, folder := range []string{"a", "b", "c", "d"} {
					w.wantCompleteSince(folder, "/home/ann/"+folder, moved)
					w.wantPast(folder, w.ann, pastOf("/home/ann/"+folder, moved))
				}
				w.wantCompleteSince("from", "/home/ann/from", deleted)
				w.wantPast("another folder", w.ann, pastOf("/home/ann/e", begin), "/home/ann/e/kept 1 same")
				if n := w.countRows("former_places"); n != 0 {
					t.Errorf("%d places of deleted entries stay", n)
				}
				w.checkAccounting()
			})
		})
	}
}

// A deletion for good leaves a gap in the folder and in the former ones, also when a move replaces
// another file by the entry. One row is written for a folder, and none without a history.
func TestDeletionsForGoodLeaveGaps(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		remove := func(path string) {
			t.Helper()
			_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath(path))
			w.must(err)
		}
		paths := []string{"file/f", "folder/sub/1", "folder/sub/2", "was/g", "over/source", "target/f", "e/kept"}
		for _, path := range paths {
			w.mustUpload(w.ann, "/home/ann/"+path, "1")
		}
		w.mustUpload(w.ann, "/home/ann/replaced/f", "1")
		w.createFolder(w.ann, "/home/ann/replaced/by")
		begin := w.clock()
		w.advance(time.Hour)
		w.must(w.moveTo(w.ann, "/home/ann/was/g", "/home/ann/file/g", false))
		moved := w.clock()
		w.advance(time.Hour)
		remove("/home/ann/file/f")
		remove("/home/ann/file/g")
		remove("/home/ann/folder/sub")
		w.must(w.moveTo(w.ann, "/home/ann/over/source", "/home/ann/target/f", true))
		w.must(w.moveTo(w.ann, "/home/ann/replaced/by", "/home/ann/replaced/f", true))
		deleted := w.clock()
		w.advance(time.Hour)
		for _, folder := range []string{"file", "folder", "over", "replaced"} {
			w.wantCompleteSince(folder, "/home/ann/"+folder, deleted)
		}
		w.wantCompleteSince("was", "/home/ann/was", moved)
		if n := w.countRows("bounded_gaps"); n != 5 {
			t.Errorf("%d gaps, want one for each of 5 folders", n)
		}
		w.wantPast("the target of a move", w.ann, pastOf("/home/ann/target", begin), "/home/ann/target/f 1 same")
		w.wantPast("another folder", w.ann, pastOf("/home/ann/e", begin), "/home/ann/e/kept 1 same")
		w.collect()

		w.setTrash(files.TrashSettings{})
		w.must(w.tree.SweepTrash(t.Context()))
		w.must(w.tree.SweepTrash(t.Context()))
		w.exec("DELETE FROM bounded_gaps")
		remove("/home/ann/e/kept")
		if n := w.countRows("history_gaps") + w.countRows("bounded_gaps"); n != 0 {
			t.Errorf("%d gaps without a history", n)
		}
	})
}

// wantGaps expects the gaps of a folder, and that the times at their edges are refused or listed.
func (w *storesFixture) wantGaps(what, path string, want ...files.Gap) {
	w.t.Helper()
	listing, err := w.tree.ListPast(w.t.Context(), w.ann, pastOf(path, w.clock()))
	w.must(err)
	if !slices.Equal(listing.Gaps, want) {
		w.t.Errorf("%s: gaps %v, want %v", what, listing.Gaps, want)
	}
	for _, g := range want {
		since, until := time.UnixMilli(g.Since), time.UnixMilli(g.Until)
		w.wantNoPast(what+": the first time", w.ann, pastOf(path, since), fault.Invalid)
		w.wantNoPast(what+": the last time", w.ann, pastOf(path, until.Add(-time.Millisecond)), fault.Invalid)
		w.past(w.ann, pastOf(path, since.Add(-time.Millisecond)))
		w.past(w.ann, pastOf(path, until))
	}
}

func gapOf(since, until time.Time) files.Gap {
	return files.Gap{Since: since.UnixMilli(), Until: until.UnixMilli()}
}

// A folder is known before and after the times at which it had a file that was deleted for good:
// a lock file of an editor, or a file that replaced another one by a move. Earlier times than the
// beginning of the history stay unknown, and so do those at which it had an older file.
func TestGapsHaveABeginning(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		const box = "/home/ann/box"
		remove := func(path string) {
			t.Helper()
			_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath(path))
			w.must(err)
		}
		for _, folder := range []string{box, "/home/ann/other", "/home/ann/old"} {
			w.createFolder(w.ann, folder)
		}
		w.advance(time.Hour)
		w.mustUpload(w.ann, box+"/letter", "1")
		begin := w.clock()
		w.advance(time.Hour)
		var opened, stored, saved, closed time.Time
		var want []files.Gap
		for range 2 { // as an editor that writes a new file, and moves it over the former one
			opened = w.clock()
			w.mustUpload(w.ann, box+"/.lock", "me")
			w.advance(time.Hour)
			remove(box + "/.lock")
			closed = w.clock()
			w.advance(time.Hour)
			stored = w.clock()
			w.mustUpload(w.ann, box+"/letter.tmp", "22")
			w.advance(time.Second)
			saved = w.clock()
			w.must(w.moveTo(w.ann, box+"/letter.tmp", box+"/letter", true))
			w.advance(time.Hour)
			want = append(want, gapOf(opened, closed), gapOf(stored, saved))
		}
		w.wantGaps("the folder", box, want...)
		w.wantCompleteSince("the folder", box, saved)
		w.wantPast("at first", w.ann, pastOf(box, begin), box+"/letter 1 changed")
		w.wantPast("before the last change", w.ann, pastOf(box, closed), box+"/letter 2 same")

		folder := w.clock()
		w.createFolder(w.ann, box+"/sub")
		w.mustUpload(w.ann, "/home/ann/other/f", "1")
		w.advance(time.Hour)
		w.must(w.moveTo(w.ann, "/home/ann/other/f", box+"/sub/f", false))
		moved := w.clock()
		w.advance(time.Hour)
		remove(box + "/sub")
		removed := w.clock()
		w.collect()
		w.advance(time.Hour)
		w.wantGaps("after a folder", box, append(want, gapOf(folder, removed))...)
		w.wantGaps("a former folder of a file in it", "/home/ann/other", gapOf(folder, moved))

		remove(box + "/letter") // it is as old as the history
		w.advance(time.Hour)
		w.wantGaps("without the letter", box, gapOf(begin, w.clock().Add(-time.Hour)))
		w.must(w.tree.SweepTrash(t.Context()))
		w.exec("UPDATE history SET since = $1", begin.Add(time.Minute).UnixMilli())
		w.mustUpload(w.ann, box+"/new", "1")
		old := w.mustUpload(w.ann, "/home/ann/old/f", "1").ID
		w.exec("UPDATE entries SET created_at = $1 WHERE id = $2", begin.UnixMilli(), old)
		w.advance(time.Hour)
		remove("/home/ann/old/f")
		w.advance(time.Hour)
		w.wantGaps("a file from before the history", "/home/ann/old")
		w.wantCompleteSince("a file from before the history", "/home/ann/old", w.clock().Add(-time.Hour))
	})
}

// Deletions for good at times that overlap make one gap, in the rows and in the listing.
func TestOverlappingGapsAreOne(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		const box = "/home/ann/box"
		w.createFolder(w.ann, box)
		w.advance(time.Hour)
		var begin, end time.Time
		for i := range 20 { // the last five files are there
			path := fmt.Sprintf("%s/%d", box, i)
			if i == 0 {
				begin = w.clock()
			}
			w.mustUpload(w.ann, path, "1")
			w.advance(time.Minute)
			if i >= 5 {
				_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath(fmt.Sprintf("%s/%d", box, i-5)))
				w.must(err)
				end = w.clock()
				w.advance(time.Minute)
			}
		}
		if n := w.countRows("bounded_gaps"); n != 1 {
			t.Errorf("%d gaps, want 1", n)
		}
		w.wantGaps("the folder", box, gapOf(begin, end))
		w.mustUpload(w.ann, box+"/inner", "1")
		inner := w.clock()
		w.advance(time.Hour)
		_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath(box+"/inner"))
		w.must(err)
		within := w.clock()
		w.advance(time.Hour)
		w.wantGaps("another one", box, gapOf(begin, end), gapOf(inner, within))
		_, _, err = w.tree.Delete(t.Context(), w.ann, w.idAtPath(box+"/19")) // it was there before both ended
		w.must(err)
		last := w.clock()
		w.advance(time.Hour)
		w.wantGaps("all", box, gapOf(begin, last))
	})
}

// A replica of an older schema would show a folder without a file that is gone. So while one runs,
// a deletion for good ends the history of its folder.
func TestGapsBesideAnOlderReplica(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.createFolder(w.ann, "/home/ann/box")
		deleteOne := func() (since, until time.Time) {
			t.Helper()
			w.must(w.tree.SweepTrash(t.Context()))
			w.advance(time.Hour)
			since = w.clock()
			w.mustUpload(w.ann, "/home/ann/box/f", "1")
			w.advance(time.Hour)
			_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath("/home/ann/box/f"))
			w.must(err)
			until = w.clock()
			w.advance(time.Hour)
			return since, until
		}
		w.addReplica(28)
		_, until := deleteOne()
		w.wantGaps("beside it", "/home/ann/box")
		w.wantCompleteSince("beside it", "/home/ann/box", until)
		w.exec("DELETE FROM replicas")
		w.addReplica(29)
		w.wantGaps("after it", "/home/ann/box", gapOf(deleteOne()))
	})
}

// A file that came later than now by the clock leaves a gap of a millisecond.
func TestGapAfterAClockWentBack(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.createFolder(w.ann, "/home/ann/box")
		w.advance(2 * time.Hour)
		since := w.clock()
		w.mustUpload(w.ann, "/home/ann/box/f", "1")
		w.advance(-time.Hour)
		_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath("/home/ann/box/f"))
		w.must(err)
		w.advance(2 * time.Hour)
		w.wantGaps("the folder", "/home/ann/box", gapOf(since, since.Add(time.Millisecond)))
	})
}

// A version that a user deletes is missing for its time alone: the file is listed as lost then, and
// later times are as before.
func TestADeletedVersionLeavesAGap(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		id := w.mustUpload(w.ann, "/home/ann/box/f", "1").ID
		first := w.clock()
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/box/f", "22")
		second := w.clock()
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/box/f", "333")
		third := w.clock()
		w.advance(time.Hour)
		w.must(w.tree.DropVersion(t.Context(), w.ann, id, second.UnixMilli()))
		for range 2 {
			w.wantPast("the deleted one", w.ann, pastOf("/home/ann/box", first), "/home/ann/box/f 3 lost")
			w.wantPast("the next one", w.ann, pastOf("/home/ann/box", second), "/home/ann/box/f 2 changed")
			w.wantPast("the present one", w.ann, pastOf("/home/ann/box", third), "/home/ann/box/f 3 same")
			w.must(w.tree.SweepTrash(t.Context()))
		}
	})
}
