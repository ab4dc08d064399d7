package object

import (
	"database/sql"
	"fmt"

	"larder/internal/db"
)

// garbage is one key to be deleted.
type garbage struct {
	provider, key string
	uploadID      sql.NullString // what the store calls the parts that may lie there for it
	lateFrom      sql.NullInt64  // see ExpectLateWrites
	collected     bool           // its object has been deleted once
}

// claim takes the next garbage whose time has come, but for that of some providers. What is claimed
// carries the negative of the time at which it is taken up again, should it still be there; Keep
// does not take it off the list any more. What was claimed before comes behind what was not, so
// that objects that can't be deleted hold nothing else up. A key that an object has is passed over,
// however it came on the list. While a hold is valid nothing is claimed: the same statement that
// would take a key sees the hold, or was begun before it and sees no key that is named later.
func claim(tx *db.Tx, now, until int64, resting []string) (fresh, again []garbage, err error) {
	fresh, err = claimBetween(tx, now, until, 0, now, "ASC", objectsPerPiece, resting)
	if err != nil || len(fresh) == objectsPerPiece {
		return fresh, nil, err
	}
	again, err = claimBetween(tx, now, until, -now, -1, "DESC", objectsPerPiece-len(fresh), resting)
	return fresh, again, err
}

func claimBetween(tx *db.Tx, now, until, low, high int64, order string, limit int,
	resting []string) ([]garbage, error) {
	args := []any{-until, low, high, now, low, high, limit, now + maxHold.Milliseconds()}
	passed := ""
	for i, provider := range resting {
		args = append(args, provider)
		passed += fmt.Sprintf(" AND provider_id <> $%d", i+9)
	}
	rows, err := tx.Query(`
		UPDATE garbage
		SET after = $1
		WHERE after BETWEEN $2 AND $3 AND NOT `+holdCondition("$4", "$8")+` AND (provider_id, key) IN (
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
		if err := rows.Scan(&g.provider, &g.key, &g.uploadID, &g.lateFrom, &g.collected); err != nil {
			return nil, err
		}
		claimed = append(claimed, g)
	}
	return claimed, rows.Err()
}

// requeue lets what was claimed until then, and not tried, be taken up again at once, before what
// has failed. It stays claimed as far as Keep is concerned: an earlier claim of it may have
// deleted the object already.
func requeue(tx *db.Tx, untried []garbage, until int64) error {
	for _, g := range untried {
		if _, err := tx.Exec("UPDATE garbage SET after = -1 WHERE provider_id = $1 AND key = $2 AND after = $3",
			g.provider, g.key, -until); err != nil {
			return err
		}
	}
	return nil
}

// markLateWrites notes that clients write to a key, see ExpectLateWrites.
func markLateWrites(tx *db.Tx, provider, key string, from int64) error {
	_, err := tx.Exec("UPDATE garbage SET late_from = $1 WHERE provider_id = $2 AND key = $3 AND after >= 0", from,
		provider, key)
	return err
}

// removeDeleted takes keys off the list whose objects are deleted, or sets them down for the next
// look. Those stay claimed.
func removeDeleted(tx *db.Tx, deleted []garbage, now int64) error {
	for _, g := range deleted {
		if next := g.nextCheck(now); next > 0 {
			_, err := tx.Exec(`
				UPDATE garbage
				SET after = $1, collected = TRUE
				WHERE provider_id = $2 AND key = $3 AND after < 0`, -next, g.provider, g.key)
			if err != nil {
				return err
			}
			continue
		}
		if _, err := tx.Exec("DELETE FROM garbage WHERE provider_id = $1 AND key = $2 AND after < 0", g.provider,
			g.key); err != nil {
			return err
		}
	}
	return nil
}
