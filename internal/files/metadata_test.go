package files_test

import (
	"testing"

	"larder/internal/fault"
	"larder/internal/files"
)

// Update validates every request, whatever a transport has validated before.
func TestUpdateValidatesPositions(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		f := h.mustUpload(h.ann, "/home/ann/f", "x")
		at := func(position int64) (files.Entry, error) {
			return h.tree.Update(t.Context(), h.ann, f.ID,
				files.Change{Position: files.Field[int64]{Given: true, Value: &position}})
		}
		for _, position := range []int64{9007199254740991, -9007199254740991, 0} {
			e, err := at(position)
			h.must(err)
			if e.ManualPosition == nil || *e.ManualPosition != position {
				t.Errorf("position %v, want %d", e.ManualPosition, position)
			}
		}
		for _, position := range []int64{9007199254740992, -9007199254740992} {
			_, err := at(position)
			h.wantFault("a position that JSON does not hold exactly", err, fault.Invalid)
		}
	})
}
