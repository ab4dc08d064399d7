package files_test

import (
	"fmt"
	"testing"
	"time"

	"larder/internal/db"
)

// Many locks deep in the tree do not slow the move or deletion of a folder elsewhere. Their common
// ancestors are read once.
func TestManyDeepLocksDoNotSlowFolderChanges(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		top := h.createFolder(h.ann, "/home/ann/top")
		at := "/home/ann/top"
		for i := range 50 {
			at += fmt.Sprint("/", i)
			h.createFolder(h.ann, at)
		}
		deepest := h.mustUpload(h.ann, at+"/f", "x")
		h.createFolder(h.ann, "/home/ann/empty")
		h.write(func(tx *db.Tx) error {
			for i := range 5000 {
				_, err := tx.Exec(
					"INSERT INTO locks (token, entry_id, deep, exclusive, key_id, owner, expires_at) VALUES ($1, $2, "+
						"FALSE, FALSE, $3, '', $4)",
					fmt.Sprint("token ", i), deepest.ID, fmt.Sprint("key ", i/100), h.clock().Add(time.Hour).
						UnixMilli())
				if err != nil {
					return err
				}
			}
			return nil
		})
		fastest := time.Hour // the others may have waited for a busy disk
		for range 20 {
			f := h.createFolder(h.ann, "/home/ann/elsewhere")
			began := time.Now()
			_, _, err := h.tree.Delete(t.Context(), h.ann, f.ID)
			h.must(err)
			fastest = min(fastest, time.Since(began))
		}
		if fastest > 500*time.Millisecond {
			t.Errorf("a DELETE of an empty folder took at least %v", fastest)
		}
		_, _, err := h.tree.Delete(t.Context(), h.ann, top.ID)
		h.wantLocked("their parent folder", err, at+"/f")
	})
}
