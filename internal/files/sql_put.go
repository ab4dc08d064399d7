package files

import (
	"database/sql"
	"errors"
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// childNamed reads an entry by its name in a folder; without id when there is none.
func childNamed(q db.Querier, parent string, name vpath.Name) (row, error) {
	var s rowScan
	err := q.QueryRow(`
		SELECT `+entryColumns+`
		FROM entries e LEFT JOIN objects o ON o.id = e.object_id
		WHERE e.parent_id = $1 AND e.name = $2`, parent, string(name)).Scan(s.columns()...)
	if errors.Is(err, db.ErrNoRows) {
		return row{}, nil
	}
	if err != nil {
		return row{}, fmt.Errorf("look up a name: %w", err)
	}
	return s.done(), nil
}

// lockEntry has whoever else locks or changes the entry wait until the transaction ends, and reports whether it is there.
func lockEntry(tx *db.Tx, id string) (there bool, err error) {
	n, err := tx.Exec("UPDATE entries SET updated_at = updated_at WHERE id = $1", id)
	if err != nil {
		return false, fmt.Errorf("lock entry: %w", err)
	}
	return n == 1, nil
}

// insertEntry makes an entry, with both times now, unless its name is taken.
func (t *Tree) insertEntry(tx *db.Tx, r *row) (done bool, err error) {
	kind := fileKind
	if r.folder {
		kind = folderKind
	}
	r.created = t.now()
	r.updated = r.created
	n, err := tx.Exec(`
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (parent_id, name) DO NOTHING`,
		r.id, nullable(r.parent), r.name, vpath.Fold(r.name), kind, r.size, r.mimeType, r.owner, nullable(r.object), r.created, r.updated)
	if err != nil {
		return false, fmt.Errorf("insert entry: %w", err)
	}
	return n == 1, nil
}

func nullable(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// updateContent gives a file r's content, provided that it still is what and where before says.
func updateContent(tx *db.Tx, r, before *row) (changed bool, err error) {
	n, err := tx.Exec(`
		UPDATE entries
		SET object_id = $1, size = $2, mime_type = $3, updated_at = $4
		WHERE id = $5 AND parent_id = $6 AND name = $7 AND object_id = $8`,
		r.object, r.size, r.mimeType, r.updated, before.id, before.parent, before.name, before.object)
	if err != nil {
		return false, fmt.Errorf("replace content: %w", err)
	}
	return n == 1, nil
}

// insertObject records content with one reference to it and returns its id, which is also what the ETag of a file is made of, see continueContent.
func (t *Tree) insertObject(tx *db.Tx, providerID string, s Stored) (id string, err error) {
	id = t.IDs.Hex(16)
	_, err = tx.Exec(`
		INSERT INTO objects (id, provider_id, key, size, sha256, etag, refs, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, 1, $7)`,
		id, providerID, string(s.Key), s.Size, nullable(s.SHA256), s.ETag, t.now())
	if err != nil {
		return "", fmt.Errorf("insert object: %w", err)
	}
	return id, nil
}

// release takes one reference away; with the last one the object becomes garbage after the grace period, of the owner of the file that it was the
// content of.
func (t *Tree) release(tx *db.Tx, objectID, owner string) error {
	var refs, size int64
	var providerID, key string
	err := tx.QueryRow("UPDATE objects SET refs = refs - 1 WHERE id = $1 RETURNING refs, size, provider_id, key", objectID).
		Scan(&refs, &size, &providerID, &key)
	if err != nil {
		return fmt.Errorf("release object %s: %w", objectID, err)
	}
	if refs > 0 {
		return nil
	}
	if _, err := tx.Exec("DELETE FROM objects WHERE id = $1", objectID); err != nil {
		return fmt.Errorf("delete object %s: %w", objectID, err)
	}
	return t.leave(tx, where{providerID, keyOf(key)}, size, owner)
}

// leave puts the key of content that nothing refers to any more on the garbage list, for after the grace period, or sooner where its owner has too much.
func (t *Tree) leave(tx *db.Tx, at where, size int64, owner string) error {
	_, err := tx.Exec(`
		INSERT INTO garbage (provider_id, key, after, owner_id, size)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (provider_id, key) DO UPDATE
		SET after = excluded.after, owner_id = excluded.owner_id, size = excluded.size
		WHERE garbage.after >= 0`,
		at.provider, string(at.key), t.now()+t.Grace.Milliseconds(), nullable(owner), size)
	if err != nil {
		return fmt.Errorf("put a key on the garbage list: %w", err)
	}
	t.grows(tx, owner, size)
	return nil
}

// Discard puts a key on the garbage list: the collector deletes its object once the time after (milliseconds) has come, unless Put takes it
// off before. A key that is listed already gets the new time, save when the collector has begun with it.
func (t *Tree) Discard(tx *db.Tx, providerID string, key blob.Key, after int64) error {
	_, err := tx.Exec(`
		INSERT INTO garbage (provider_id, key, after)
		VALUES ($1, $2, $3)
		ON CONFLICT (provider_id, key) DO UPDATE SET after = excluded.after WHERE garbage.after >= 0`,
		providerID, string(key), max(after, 0))
	if err != nil {
		return fmt.Errorf("put a key on the garbage list: %w", err)
	}
	return nil
}

// Postpone gives a key on the garbage list a later time, and reports whether it still could: false when the collector has begun with it.
func (t *Tree) Postpone(tx *db.Tx, providerID string, key blob.Key, after int64) (bool, error) {
	n, err := tx.Exec("UPDATE garbage SET after = $1 WHERE provider_id = $2 AND key = $3 AND after >= 0", after, providerID, string(key))
	if err != nil {
		return false, fmt.Errorf("postpone a key on the garbage list: %w", err)
	}
	return n == 1, nil
}

// Expect has the collector drop the parts that the store calls uploadID along with the object, once the time after (milliseconds) has come. The
// key must be on the garbage list; false when it is not, or when the collector has begun with it. Discard and Postpone keep the parts in mind.
func (t *Tree) Expect(tx *db.Tx, providerID string, key blob.Key, uploadID string, after int64) (bool, error) {
	n, err := tx.Exec("UPDATE garbage SET after = $1, upload_id = $2 WHERE provider_id = $3 AND key = $4 AND after >= 0",
		after, uploadID, providerID, string(key))
	if err != nil {
		return false, fmt.Errorf("note the parts of a key on the garbage list: %w", err)
	}
	return n == 1, nil
}

// ErrCollected is the cause of Put's fault when the collector was faster.
var ErrCollected = errors.New("the collector has taken the key")

// keep takes a key off the garbage list. It must be there: when it is not, or not any more its own, the collector has begun with the object or
// is done with it, whatever the clocks of the replicas say. Fault: Conflict, because of ErrCollected.
func (t *Tree) keep(tx *db.Tx, providerID string, key blob.Key) error {
	n, err := tx.Exec("DELETE FROM garbage WHERE provider_id = $1 AND key = $2 AND after >= 0", providerID, string(key))
	if err != nil {
		return fmt.Errorf("take a key off the garbage list: %w", err)
	}
	if n == 0 {
		return fault.New(fault.Conflict, "The uploaded content has been removed already; upload it again.").Because(ErrCollected)
	}
	return nil
}
