package files

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/db"
)

// insertLink makes the permanent link of the file r with a random id, or returns the existing one.
func (t *Tree) insertLink(tx *db.Tx, r *row) (Link, error) {
	_, err := tx.Exec(`
		INSERT INTO links (id, entry_id, ext, created_at)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT (entry_id) DO NOTHING`,
		t.IDs.Base62(linkLength), r.id, linkExt(r.name, r.mimeType), t.nowMs())
	if err != nil {
		return Link{}, fmt.Errorf("insert link: %w", err)
	}
	link, found, err := linkOf(tx, r.id)
	if err == nil && !found {
		err = fmt.Errorf("the link of entry %s is gone", r.id)
	}
	return link, err
}

// linkOf reads the permanent link to an entry. found is false when there is none.
func linkOf(q db.Querier, entryID string) (link Link, found bool, err error) {
	err = q.QueryRow("SELECT id, ext, created_at FROM links WHERE entry_id = $1", entryID).
		Scan(&link.ID, &link.Ext, &link.CreatedAt)
	if errors.Is(err, db.ErrNoRows) {
		return Link{}, false, nil
	}
	if err != nil {
		return Link{}, false, fmt.Errorf("read link: %w", err)
	}
	return link, true, nil
}

// deleteLink deletes the permanent link to an entry, if there is one.
func deleteLink(tx *db.Tx, entryID string) error {
	if _, err := tx.Exec("DELETE FROM links WHERE entry_id = $1", entryID); err != nil {
		return fmt.Errorf("delete link: %w", err)
	}
	return nil
}

// CountLinks counts the permanent links to all files, those in the trash included.
func (t *Tree) CountLinks(ctx context.Context) (n int64, err error) {
	if err = t.DB.Read(ctx).QueryRow("SELECT COUNT(*) FROM links").Scan(&n); err != nil {
		return 0, fmt.Errorf("count permanent links: %w", err)
	}
	return n, nil
}
