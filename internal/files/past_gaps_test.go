package files_test

import (
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
				for _, folder := range []string{"a", "b", "c", "d", "from"} {
					w.wantNoPast(folder+" at once", w.ann, pastOf("/home/ann/"+folder, before), fault.Invalid)
				}
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
		if n := w.countRows("history_gaps"); n != 5 {
			t.Errorf("%d gaps, want one for each of 5 folders", n)
		}
		w.wantPast("the target of a move", w.ann, pastOf("/home/ann/target", begin), "/home/ann/target/f 1 same")
		w.wantPast("another folder", w.ann, pastOf("/home/ann/e", begin), "/home/ann/e/kept 1 same")
		w.collect()

		w.setTrash(files.TrashSettings{})
		w.must(w.tree.SweepTrash(t.Context()))
		w.must(w.tree.SweepTrash(t.Context()))
		w.exec("DELETE FROM history_gaps")
		remove("/home/ann/e/kept")
		if n := w.countRows("history_gaps"); n != 0 {
			t.Errorf("%d gaps without a history", n)
		}
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
