package files

import (
	"errors"
	"fmt"

	"larder/internal/db"
)

// factsOf reads the Facts of a file. Fault: NotFound.
func factsOf(q db.Querier, id string) (f Facts, err error) {
	err = q.QueryRow(`
		SELECT COALESCE(u.username, ''), COALESCE(o.sha256, '')
		FROM entries e
			JOIN objects o ON o.id = e.object_id
			LEFT JOIN users u ON u.id = e.owner_id
		WHERE e.id = $1`, id).Scan(&f.Owner, &f.SHA256)
	if errors.Is(err, db.ErrNoRows) { // it was deleted since the caller found it
		return Facts{}, noEntry()
	}
	if err != nil {
		return Facts{}, fmt.Errorf("read further properties of a file: %w", err)
	}
	return f, nil
}
