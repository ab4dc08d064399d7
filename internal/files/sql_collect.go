package files

import (
	"database/sql"
	"fmt"
	"math"

	"larder/internal/db"
)

// buried lists the next entries directly below the graveyard.
func buried(tx *db.Tx) ([]string, error) {
	rows, err := tx.Query("SELECT id FROM entries WHERE parent_id = $1 ORDER BY name LIMIT $2", graveyard, graves)
	return texts(rows, err)
}

// contents lists what lies directly in these folders, up to a piece of it: folder by folder and in the order of an index, which passes by what
// was deleted before. PostgreSQL would answer a join by reading the whole table from its start, where the dead rows are.
func contents(tx *db.Tx, folders []string) (found []row, err error) {
	for _, folder := range folders {
		if found, err = appendChildren(tx, found, folder, piece-len(found)); err != nil || len(found) == piece {
			return found, err
		}
	}
	return found, nil
}

// appendChildren appends up to limit entries of a folder, of which it reads id and kind.
func appendChildren(tx *db.Tx, found []row, folder string, limit int) ([]row, error) {
	rows, err := tx.Query("SELECT id, kind FROM entries WHERE parent_id = $1 ORDER BY name LIMIT $2", folder, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		var kind int
		if err := rows.Scan(&r.id, &kind); err != nil {
			return nil, err
		}
		r.folder = kind == folderKind
		found = append(found, r)
	}
	return found, rows.Err()
}

// deleteFiles deletes rows of files and returns, of those that another process has not deleted already, object and owner.
func deleteFiles(tx *db.Tx, ids []string) (gone []row, err error) {
	err = db.EachChunk(ids, func(args []any) error {
		rows, err := tx.Query("DELETE FROM entries WHERE id "+db.InChunk+" RETURNING object_id, owner_id", args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r row
			if err := rows.Scan(&r.object, &r.owner); err != nil {
				return err
			}
			gone = append(gone, r)
		}
		return rows.Err()
	})
	return gone, err
}

func deleteLinks(tx *db.Tx, ids []string) error {
	return db.EachChunk(ids, func(args []any) error {
		_, err := tx.Exec("DELETE FROM links WHERE entry_id "+db.InChunk, args...)
		return err
	})
}

// raise moves folders up below the graveyard.
func raise(tx *db.Tx, ids []string) error {
	return db.EachChunk(ids, func(args []any) error {
		_, err := tx.Exec("UPDATE entries SET parent_id = "+db.AfterChunk+", name = id, name_fold = id WHERE id "+db.InChunk, args...)
		return err
	}, graveyard)
}

// deleteFolders deletes folders that nothing lies in. It looks for itself: on PostgreSQL others may have come to the graveyard since contents
// listed a piece of it, and pushed what lies in these out of the piece.
func deleteFolders(tx *db.Tx, ids []string) error {
	return db.EachChunk(ids, func(args []any) error {
		_, err := tx.Exec("DELETE FROM entries WHERE id "+db.InChunk+" AND NOT EXISTS (SELECT 1 FROM entries c WHERE c.parent_id = entries.id)", args...)
		return err
	})
}

// Garbage counts the objects that wait to be removed from the stores, as far as most, and sums the bytes of those that
// were the content of files.
func Garbage(q db.Querier, most int64) (objects, bytes int64, err error) {
	err = q.QueryRow(`
		SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT)
		FROM (SELECT size FROM garbage WHERE NOT collected LIMIT $1) g`, most).Scan(&objects, &bytes)
	if err != nil {
		return 0, 0, fmt.Errorf("count garbage: %w", err)
	}
	return objects, bytes, nil
}

// releaseAll takes one reference away from each object; those that nothing refers to any more become garbage of that owner after the grace period.
func (t *Tree) releaseAll(tx *db.Tx, objects []string, owner string) error {
	after := t.now() + t.Grace.Milliseconds()
	t.grows(tx, owner, math.MaxInt64) // how much is not asked
	return db.EachChunk(objects, func(args []any) error {
		ids := args[:db.ChunkSize]
		if _, err := tx.Exec("UPDATE objects SET refs = refs - 1 WHERE id "+db.InChunk, ids...); err != nil {
			return err
		}
		_, err := tx.Exec(`
			INSERT INTO garbage (provider_id, key, after, owner_id, size)
			SELECT provider_id, key, CAST(`+db.AfterChunk+` AS BIGINT), CAST(`+db.AfterChunk2+` AS TEXT), size FROM objects WHERE refs = 0 AND id `+db.InChunk+`
			ON CONFLICT (provider_id, key) DO NOTHING`, args...)
		if err != nil {
			return err
		}
		_, err = tx.Exec("DELETE FROM objects WHERE refs = 0 AND id "+db.InChunk, ids...)
		return err
	}, after, nullable(owner))
}

// garbage is one key to be deleted.
type garbage struct {
	provider, key string
	upload        sql.NullString // what the store calls the parts that may lie there for it
	lateFrom      sql.NullInt64  // see Late
	collected     bool           // its object has been deleted once
}

// claim takes the next garbage whose time has come, but for that of some providers. What is claimed carries the negative of the time at which it
// is taken up again, should it still be there; Put does not take it off the list any more. What was claimed before comes behind what was not, so that
// objects that can't be deleted hold nothing else up. A key that an object has is passed over, however it came on the list. While a hold is valid
// nothing is claimed: the same statement that would take a key sees the hold, or was begun before it and sees no key that is named later.
func claim(tx *db.Tx, now, until int64, resting []string) (fresh, again []garbage, err error) {
	fresh, err = claimBetween(tx, now, until, 0, now, "ASC", garbagePiece, resting)
	if err != nil || len(fresh) == garbagePiece {
		return fresh, nil, err
	}
	again, err = claimBetween(tx, now, until, -now, -1, "DESC", garbagePiece-len(fresh), resting)
	return fresh, again, err
}

func claimBetween(tx *db.Tx, now, until, low, high int64, order string, limit int, resting []string) ([]garbage, error) {
	args := []any{-until, low, high, now, low, high, limit, now + holdMost.Milliseconds()}
	passed := ""
	for i, provider := range resting {
		args = append(args, provider)
		passed += fmt.Sprintf(" AND provider_id <> $%d", i+9)
	}
	rows, err := tx.Query(`
		UPDATE garbage
		SET after = $1
		WHERE after BETWEEN $2 AND $3 AND NOT `+held("$4", "$8")+` AND (provider_id, key) IN (
			SELECT provider_id, key
			FROM garbage
			WHERE after BETWEEN $5 AND $6
				AND NOT EXISTS (SELECT 1 FROM objects o WHERE o.provider_id = garbage.provider_id AND o.key = garbage.key)`+passed+`
			ORDER BY after `+order+`
			LIMIT $7)
		RETURNING provider_id, key, upload_id, late_from, collected`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var claimed []garbage
	for rows.Next() {
		var g garbage
		if err := rows.Scan(&g.provider, &g.key, &g.upload, &g.lateFrom, &g.collected); err != nil {
			return nil, err
		}
		claimed = append(claimed, g)
	}
	return claimed, rows.Err()
}

// handBack lets what was claimed until then, and not tried, be taken up again at once, before what has failed. It stays claimed as far as Put is
// concerned: an earlier claim of it may have deleted the object already.
func handBack(tx *db.Tx, untried []garbage, until int64) error {
	for _, g := range untried {
		if _, err := tx.Exec("UPDATE garbage SET after = -1 WHERE provider_id = $1 AND key = $2 AND after = $3", g.provider, g.key, -until); err != nil {
			return err
		}
	}
	return nil
}

// late notes that clients write to a key, see Late.
func late(tx *db.Tx, provider, key string, from int64) error {
	_, err := tx.Exec("UPDATE garbage SET late_from = $1 WHERE provider_id = $2 AND key = $3 AND after >= 0", from, provider, key)
	return err
}

// forget takes keys off the list whose objects are deleted, or sets them down for the next look.
// Those stay claimed.
func forget(tx *db.Tx, deleted []garbage, now int64) error {
	for _, g := range deleted {
		if next := g.nextLook(now); next > 0 {
			_, err := tx.Exec(`
				UPDATE garbage
				SET after = $1, collected = TRUE
				WHERE provider_id = $2 AND key = $3 AND after < 0`, -next, g.provider, g.key)
			if err != nil {
				return err
			}
			continue
		}
		if _, err := tx.Exec("DELETE FROM garbage WHERE provider_id = $1 AND key = $2 AND after < 0", g.provider, g.key); err != nil {
			return err
		}
	}
	return nil
}

// texts reads rows of one text column.
func texts(rows *sql.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}
