package object

import (
	"database/sql"
	"fmt"

	"larder/internal/db"
)

// garbage is one key on the garbage list.
type garbage struct {
	provider, key string
	uploadID      sql.NullString // upload id of the store for parts under the key
	lateFrom      sql.NullInt64  // see ExpectLateWrites
	collected     bool           // the object was deleted once
}

// claim claims the next garbage that is due at now, except that of the providers in resting, until
// a time (all in ms); at most objectsPerPiece. A claimed row has the negative of the time at which
// it can be claimed again, if it still exists then; Undiscard does not take it off the list any
// more. fresh was never claimed before, again was, and comes after all others, so that objects that
// cannot be deleted delay nothing else. It skips a key that an object has, for whatever reason the
// key is on the list. It claims nothing while a hold is valid: the statement that would claim a key
// either sees the hold, or began before it and sees no key that is named later.
func claim(tx *db.Tx, now, until int64, resting []string) (fresh, again []garbage, err error) {
	fresh, err = claimBetween(tx, now, until, 0, now, "ASC", objectsPerPiece, resting)
	if err != nil || len(fresh) == objectsPerPiece {
		return fresh, nil, err
	}
	again, err = claimBetween(tx, now, until, -now, -1, "DESC", objectsPerPiece-len(fresh), resting)
	return fresh, again, err
}

// claimBetween claims the garbage whose column after is between low and high, in that order (ASC or
// DESC), at most limit; see claim for the others.
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

// requeue makes garbage that was claimed until a time (ms) and not tried available at once, before
// garbage that has failed. It stays claimed for Undiscard: an earlier claim may have deleted the
// object already.
func requeue(tx *db.Tx, untried []garbage, until int64) error {
	for _, g := range untried {
		if _, err := tx.Exec("UPDATE garbage SET after = -1 WHERE provider_id = $1 AND key = $2 AND after = $3",
			g.provider, g.key, -until); err != nil {
			return err
		}
	}
	return nil
}

// markLateWrites records in the row of a key from when (ms) on late writes are expected; see
// ExpectLateWrites.
func markLateWrites(tx *db.Tx, provider, key string, from int64) error {
	_, err := tx.Exec("UPDATE garbage SET late_from = $1 WHERE provider_id = $2 AND key = $3 AND after >= 0", from,
		provider, key)
	return err
}

// removeDeleted takes the keys of deleted objects off the list, or schedules their next check for
// late writes. The latter stay claimed. now is in ms.
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
