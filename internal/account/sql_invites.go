package account

import (
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// countInvites counts all invites, also those that can't be used any more.
func countInvites(q db.Querier) (n int, err error) {
	if err := q.QueryRow("SELECT COUNT(*) FROM invites").Scan(&n); err != nil {
		return 0, fmt.Errorf("count invites: %w", err)
	}
	return n, nil
}

// insertInvite stores a new invite that was not used yet.
func insertInvite(tx *db.Tx, i Invite) error {
	_, err := tx.Exec(`
		INSERT INTO invites (id, code, max_uses, used_count, expires_at, note, created_by, created_at)
		VALUES ($1, $2, $3, 0, $4, $5, $6, $7)`, i.ID, i.Code, i.MaxUses, i.ExpiresAt, i.Note, i.CreatedBy, i.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert invite: %w", err)
	}
	return nil
}

// readInvites reads all invites, newest first; now (ms) decides which are usable.
func readInvites(q db.Querier, now int64) ([]Invite, error) {
	rows, err := q.Query(`
		SELECT id, code, max_uses, used_count, expires_at, note, created_by, created_at, `+usableInviteCondition+`
		FROM invites
		ORDER BY created_at DESC, id`, now)
	if err != nil {
		return nil, fmt.Errorf("list invites: %w", err)
	}
	defer rows.Close()
	var list []Invite
	for rows.Next() {
		var i Invite
		if err := rows.Scan(&i.ID, &i.Code, &i.MaxUses, &i.UsedCount, &i.ExpiresAt, &i.Note, &i.CreatedBy,
			&i.CreatedAt, &i.Usable); err != nil {
			return nil, fmt.Errorf("list invites: %w", err)
		}
		list = append(list, i)
	}
	return list, rows.Err()
}

// deleteInvite deletes one invite. Fault: NotFound.
func deleteInvite(tx *db.Tx, id string) error {
	n, err := tx.Exec("DELETE FROM invites WHERE id = $1", id)
	if err != nil {
		return fmt.Errorf("delete invite: %w", err)
	}
	if n == 0 {
		return fault.New(fault.NotFound, "There is no such invite.")
	}
	return nil
}

// usableInviteCondition is the condition under which an invite can be used at a time ($1, ms). The
// creator of the invite must still be an active administrator.
const usableInviteCondition = "used_count < max_uses AND (expires_at IS NULL OR expires_at > $1) " +
	"AND EXISTS (SELECT 1 FROM users WHERE users.id = invites.created_by AND role = 'admin' AND status = 'active')"

// usableInviteExists reports whether the invite with that code can be used at now (ms).
func usableInviteExists(q db.Querier, code string, now int64) (bool, error) {
	var n int
	err := q.QueryRow("SELECT COUNT(*) FROM invites WHERE code = $2 AND "+usableInviteCondition, now, code).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look up an invite: %w", err)
	}
	return n > 0, nil
}

// useInvite counts one use of the invite with that code if it can be used at now (ms), and reports
// whether it could.
func useInvite(tx *db.Tx, code string, now int64) (bool, error) {
	n, err := tx.Exec("UPDATE invites SET used_count = used_count + 1 WHERE code = $2 AND "+usableInviteCondition, now,
		code)
	return n == 1, err
}
