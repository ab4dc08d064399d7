package object

import (
	"database/sql"
	"fmt"

	"larder/internal/db"
)

// Total is a number of objects and their bytes.
type Total struct{ Objects, Bytes int64 }

// CountIn returns number and bytes of the objects of a provider, without garbage.
func CountIn(q db.Querier, providerID string) (t Total, err error) {
	err = q.QueryRow("SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM objects WHERE provider_id = $1",
		providerID).Scan(&t.Objects, &t.Bytes)
	if err != nil {
		return Total{}, fmt.Errorf("count the objects of a provider: %w", err)
	}
	return t, nil
}

// NextDue returns the time (ms) at which the collector deletes the next garbage of a provider, or
// tries again; 0 when there is none. An evacuation waits for it.
func NextDue(q db.Querier, providerID string) (ms int64, err error) {
	var next sql.NullInt64
	err = q.QueryRow("SELECT MIN(ABS(after)) FROM garbage WHERE provider_id = $1 AND NOT collected", providerID).
		Scan(&next)
	if err != nil {
		return 0, fmt.Errorf("look for garbage of a provider: %w", err)
	}
	return next.Int64, nil
}
