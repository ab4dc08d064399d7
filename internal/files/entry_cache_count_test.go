package files_test

import (
	"fmt"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/files"
)

// The total of a folder of 1,000 entries is counted once, and follows each change of the folder. It
// is that of the entries that the caller sees.
func TestCountsOfFoldersFollowChanges(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.addRule(access.Rule{Pattern: "/home/ann/**", Effect: access.Allow, UserID: "bob",
			Permissions: access.Set(access.Read)})
		h.addRule(access.Rule{Pattern: "/home/ann/big/?*2*", Effect: access.Deny, UserID: "bob", Priority: 1})
		folder, elsewhere := h.createFolder(h.ann, "/home/ann/big"), h.createFolder(h.ann, "/home/ann/elsewhere")
		add := func(first, last int) {
			h.write(func(tx *db.Tx) error {
				for i := first; i <= last; i++ {
					name := fmt.Sprintf("f%04d", i)
					err := h.insertEntry(tx, treeEntry{id: name, parent: folder.ID, name: name, owner: "ann"})
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		total := func(a access.Actor, want int) {
			t.Helper()
			for range 2 {
				got, err := h.tree.List(t.Context(), a, files.ListQuery{Path: mustParsePath("/home/ann/big"), Page: 1,
					Limit: 10})
				h.must(err)
				if got.Total != want {
					t.Errorf("%s: %d entries, want %d", a.UserID, got.Total, want)
				}
			}
		}
		kept := func(want int) {
			t.Helper()
			if cache := h.tree.EntryCache; cache != nil && cache.KeptCounts() != want {
				t.Errorf("%d counts are kept, want %d", cache.KeptCounts(), want)
			}
		}
		add(1, 999)
		total(h.ann, 999)
		kept(0)
		add(1000, 1000)
		total(h.ann, 1000)
		kept(1)
		total(h.bob, 729) // 1,000 less those with a 2 in their three last digits: 1000 - 9^3
		kept(1)
		add(1001, 1500)
		total(h.ann, 1500)
		total(h.bob, 729+4*81) // of 1001 to 1500 less 12xx, and those with a 2 behind
		kept(2)

		upload := h.mustUpload(h.ann, "/home/ann/big/new", "x")
		total(h.ann, 1501)
		total(h.bob, 729+4*81+1)
		_, err := h.tree.Rename(t.Context(), h.ann, upload.ID, "a 2")
		h.must(err)
		total(h.ann, 1501)
		total(h.bob, 729+4*81)
		_, err = h.tree.Move(t.Context(), h.ann, upload.ID, mustParsePath("/home/ann/elsewhere"), nil)
		h.must(err)
		total(h.ann, 1500)
		_, err = h.tree.Move(t.Context(), h.ann, elsewhere.ID, mustParsePath("/home/ann/big"), nil)
		h.must(err)
		total(h.ann, 1501)
		_, _, err = h.tree.Delete(t.Context(), h.ann, elsewhere.ID)
		h.must(err)
		total(h.ann, 1500)
	})
}
