package files_test

import (
	"context"
	"errors"
	"testing"

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
