package files

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/vpath"
)

// updateText updates each field that has its flag set. Every update raises updated_at, even when
// the clock stands still. A new name is a new place.
var updateText = `
	UPDATE entries
	SET name = $1, name_fold = $2, sort_key = $21,
		custom_title = CASE WHEN $3 = 1 THEN CAST($4 AS TEXT) ELSE custom_title END,
		custom_color = CASE WHEN $5 = 1 THEN CAST($6 AS TEXT) ELSE custom_color END,
		cover_url = CASE WHEN $7 = 1 THEN CAST($8 AS TEXT) ELSE cover_url END,
		icon_emoji = CASE WHEN $9 = 1 THEN CAST($10 AS TEXT) ELSE icon_emoji END,
		manual_position = CASE WHEN $11 = 1 THEN CAST($12 AS BIGINT) ELSE manual_position END,
		password_hash = CASE WHEN $13 = 1 THEN CAST($14 AS TEXT) ELSE password_hash END,
		password_id = CASE WHEN $13 = 1 THEN CAST($15 AS TEXT) ELSE password_id END,
		updated_at = CASE WHEN updated_at < $16 THEN $16 ELSE updated_at + 1 END,
		place_since = CASE WHEN name = $1 THEN place_since ELSE ` + laterThan("$16", "("+placeFrom+")") + ` END
	WHERE id = $17 AND COALESCE(parent_id, '') = $18 AND name = $19 AND owner_id = $20
	RETURNING custom_title, custom_color, cover_url, icon_emoji, manual_position, updated_at,
		CASE WHEN password_hash IS NULL THEN '' ELSE COALESCE(password_id, id) END`

// update writes the change c to the row of n, and updates n, provided that n still has the same
// place and owner; otherwise the transaction runs again (db.RetryError). hash is that of a new
// password, "" for none. Error: a db.ErrUnique when the name is taken.
func (t *Tree) update(tx *db.Tx, n *node, c *Change, hash string) error {
	name := vpath.Name(n.name)
	if c.Name != nil {
		name = *c.Name
	}
	passwordID := ""
	if hash != "" {
		passwordID = t.IDs.Hex(16)
	}
	r := n.row
	err := tx.QueryRow(updateText,
		string(name), vpath.Fold(string(name)),
		flag(c.Title.Given), c.Title.Value, flag(c.Color.Given), c.Color.Value, flag(c.Cover.Given), c.Cover.Value,
		flag(c.Emoji.Given), c.Emoji.Value,
		flag(c.Position.Given), c.Position.Value, flag(c.Password != nil), nullable(hash), nullable(passwordID),
		t.nowMs(),
		n.id, n.parent, n.name, n.owner, vpath.SortKey(string(name))).
		Scan(&r.title, &r.color, &r.cover, &r.emoji, &r.position, &r.updated, &r.password)
	if errors.Is(err, db.ErrNoRows) {
		return retryTransaction()
	}
	if err != nil {
		return fmt.Errorf("update entry: %w", err)
	}
	if c.Name != nil {
		n.path = n.path.Parent().Child(name)
	}
	r.name = string(name)
	n.row, n.trail[len(n.trail)-1].password = r, r.password
	return nil
}

// flag is a bool as a parameter of SQL: 1 or 0.
func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// passwordOf reads the id and the hash of the present password of an entry; hash is "" when it has
// none.
func passwordOf(q db.Querier, entryID string) (id, hash string, err error) {
	err = q.QueryRow(`
		SELECT COALESCE(password_id, id), COALESCE(password_hash, '')
		FROM entries
		WHERE id = $1`, entryID).Scan(&id, &hash)
	if errors.Is(err, db.ErrNoRows) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read a password: %w", err)
	}
	return id, hash, nil
}
