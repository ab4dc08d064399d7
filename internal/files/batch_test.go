package files_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"larder/internal/fault"
	"larder/internal/files"
)

// A batch stops when its context is cancelled.
func TestBatchStopsWhenContextIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	outcomes, err := files.EachInBatch(ctx, []string{"a", "b", "c", "d"}, func(i int) files.Outcome {
		if asked++; i == 1 {
			cancel()
		}
		return files.Outcome{}
	})
	if !errors.Is(err, context.Canceled) || asked != 2 || len(outcomes) != 1 {
		t.Errorf("asked %d times, %d outcomes, %v", asked, len(outcomes), err)
	}
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.ann, "/home/ann/a", "a")
		b := h.mustUpload(h.ann, "/home/ann/b", "b")
		if _, err := h.tree.DeleteEach(ctx, h.ann, []string{b.ID}, files.AsSet); !errors.Is(err, context.Canceled) {
			t.Errorf("delete: %v", err)
		}
		if _, err := h.tree.MoveEach(ctx, h.ann, []string{b.ID}, mustParsePath("/uploads"), nil); !errors.Is(err,
			context.Canceled) {
			t.Errorf("move: %v", err)
		}
		if left := h.listFolder(h.ann, "/home/ann"); len(left) != 2 {
			t.Errorf("left %q", left)
		}
	})
}

// An entry inside a folder that the same batch has deleted before is reported as deleted, at any
// depth. A batch may contain folders that lie in one another.
func TestBatchDeletesNestedFolders(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		var ids []string
		for _, p := range []string{"/home/ann/x", "/home/ann/x/y", "/home/ann/x/y/z"} {
			ids = append(ids, h.createFolder(h.ann, p).ID)
		}
		file := h.mustUpload(h.ann, "/home/ann/x/y/z/f", "f")
		other := h.mustUpload(h.ann, "/home/ann/other", "o")
		outcomes, err := h.tree.DeleteEach(t.Context(), h.ann,
			[]string{ids[1], file.ID, ids[0], ids[2], ids[1], "none", other.ID}, files.AsSet)
		h.must(err)
		if len(outcomes) != 6 {
			t.Fatalf("%d outcomes", len(outcomes))
		}
		for i, o := range outcomes {
			if (o.Err != nil) != (i == 4) {
				t.Errorf("%d: %s: %v", i, o.ID, o.Err)
			}
		}
		if bytes, count := h.usage("ann"); bytes != 0 || count != 0 {
			t.Errorf("charged %d bytes and %d files", bytes, count)
		}
	})
}

// A batch decides about each of its entries separately, even when it deletes several files in one
// transaction. It deletes the files that the actor may delete, to the trash or for good, and keeps
// the others. When it deletes a folder, it deletes the files in that folder, too.
func TestBatchDecidesAboutEachFile(t *testing.T) {
	for name, to := range map[string]files.Disposal{"to the trash": files.ToTrash, "for good": files.ForGood} {
		t.Run(name, func(t *testing.T) { testBatchDecides(t, to) })
	}
}

func testBatchDecides(t *testing.T, to files.Disposal) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		first := w.mustUpload(w.ann, "/home/ann/first", "1")
		foreign := w.mustUpload(w.bob, "/home/bob/foreign", "22")
		locked := w.mustUpload(w.ann, "/home/ann/shut/locked", "333")
		w.mustLock("other", locked.ID, exclusiveLock)
		large := w.mustUpload(w.ann, "/home/ann/large", "more than the trash may have")
		box := w.createFolder(w.ann, "/home/ann/box")
		inside := w.mustUpload(w.ann, "/home/ann/box/inside", "55555")
		team := w.mustUpload(w.bob, "/team/bobs", "666666")
		last := w.mustUpload(w.ann, "/home/ann/last", "7777777")
		w.exec("UPDATE quotas SET max_kept = 13 WHERE user_id = 'ann'")
		ids := []string{first.ID, foreign.ID, "none", locked.ID, large.ID, box.ID, inside.ID, team.ID, last.ID}
		outcomes, err := w.tree.DeleteEach(t.Context(), w.ann, ids, to)
		w.must(err)
		refused := map[string]fault.Kind{foreign.ID: fault.Forbidden, "none": fault.NotFound, locked.ID: fault.Locked}
		if to == files.ToTrash {
			refused[large.ID] = fault.Conflict
		}
		for i, o := range outcomes {
			kind, isRefused := refused[ids[i]]
			if o.ID != ids[i] || isRefused != (o.Err != nil) || isRefused && fault.KindOf(o.Err) != kind {
				t.Errorf("entry %d: %v, want refused: %v (%v)", i, o.Err, isRefused, kind)
			}
			inTrash := to == files.ToTrash && !isRefused && ids[i] != inside.ID
			if o.InTrash != inTrash {
				t.Errorf("entry %d is in the trash: %v", i, o.InTrash)
			}
		}
		want := []string{"shut/"}
		if to == files.ToTrash {
			want = []string{"large", "shut/"}
		}
		got := w.listFolder(w.ann, "/home/ann")
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("the home has %q, want %q", got, want)
		}
		if left := w.listFolder(w.bob, "/team"); len(left) != 0 {
			t.Errorf("/team has %q", left)
		}
		used := map[files.Disposal][]int64{files.ToTrash: {31, 13, 2, 6}, files.ForGood: {3, 0, 2, 0}}[to]
		w.checkTrash("after the batch", used...)
		w.collect()
		w.checkFolderCounts()
		w.checkObjects()
	})
}
