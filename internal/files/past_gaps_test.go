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
