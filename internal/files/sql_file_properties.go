package files

import (
	"errors"
	"fmt"

	"larder/internal/db"
)

// ownerName reads the name of the account that an entry counts for, "" if that account is deleted.
// Fault: NotFound.
func ownerName(q db.Querier, id string) (name string, err error) {
	err = q.QueryRow(`
		SELECT COALESCE(u.username, '')
		FROM entries e LEFT JOIN users u ON u.id = e.owner_id
		WHERE e.id = $1`, id).Scan(&name)
	if errors.Is(err, db.ErrNoRows) { // it was deleted since the caller found it
		return "", noEntry()
	}
	if err != nil {
		return "", fmt.Errorf("read the owner of a file: %w", err)
	}
	return name, nil
}
