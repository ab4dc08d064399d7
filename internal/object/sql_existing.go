package object

import (
	"context"
	"fmt"
	"slices"

	"larder/internal/db"
)

const existingChunk = 500 // ids in one query

// ExistingContents returns which of the content ids (files.Content.ID) some object still has. The
// cleanups of thumbnails and of the properties of pictures use it.
func (r *Registry) ExistingContents(ctx context.Context, ids []string) (map[string]bool, error) {
	q := r.DB.Read(ctx)
	existing := map[string]bool{}
	missing := map[string]bool{}
	for chunk := range slices.Chunk(ids, existingChunk) {
		if err := existingUnmovedContents(q, chunk, existing); err != nil {
			return nil, err
		}
		for _, id := range chunk {
			if !existing[id] {
				missing[id] = true
			}
		}
	}
	if len(missing) == 0 {
		return existing, nil
	}
	return existing, existingMovedContents(q, missing, existing)
}

// existingUnmovedContents adds to existing those of the content ids that are ids of objects which
// were never copied to another store.
func existingUnmovedContents(q db.Querier, ids []string, existing map[string]bool) error {
	in, args := db.InList(1, ids)
	rows, err := q.Query("SELECT id FROM objects WHERE refs > 0 AND content_id IS NULL AND id "+in, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		existing[id] = true
	}
	return rows.Err()
}

// existingMovedContents adds to existing those of the missing content ids that an object has which
// was copied to another store. There may be very many of these objects, and the index
// objects_continued is not by content id: it reads all of them once.
func existingMovedContents(q db.Querier, missing, existing map[string]bool) error {
	rows, err := q.Query("SELECT content_id FROM objects WHERE content_id IS NOT NULL AND refs > 0")
	if err != nil {
		return fmt.Errorf("look for contents that were moved: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if missing[id] {
			existing[id] = true
		}
	}
	return rows.Err()
}
