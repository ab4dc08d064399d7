package fsck

import (
	"errors"
	"fmt"

	"larder/internal/db"
)

// The names of a scrub's values in the table versions. Those of the last pass are beside the
// results that every command has, see db.CommandResult.
const (
	nextScrub       = "scrub next"
	lastScrubPrefix = "last " + ScrubCommand + " "
)

// objectsOf lists the objects of a provider after a key, in the order of keys.
func objectsOf(q db.Querier, providerID, after string, limit int) ([]storedObject, error) {
	return queryAll(q, scanObject, objectColumns+"WHERE provider_id = $1 AND key > $2 ORDER BY key LIMIT $3",
		providerID, after, limit)
}

// countAfter counts the objects of a provider whose keys are after a key.
func countAfter(q db.Querier, providerID, after string) (n int64, err error) {
	err = q.QueryRow("SELECT COUNT(*) FROM objects WHERE provider_id = $1 AND key > $2", providerID, after).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the objects that were not read: %w", err)
	}
	return n, nil
}

// scrubIsDue reports whether a pass is to begin at a time (ms).
func scrubIsDue(q db.Querier, now, every int64) (due bool, err error) {
	var next int64
	err = q.QueryRow("SELECT value FROM versions WHERE name = $1", nextScrub).Scan(&next)
	if errors.Is(err, db.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look when a scrub is due: %w", err)
	}
	return next <= now || next > now+every, nil // the second: a wrong clock has set it
}

// claimScrub reports whether the caller begins the pass that is due now, and sets the time of the
// next one.
func claimScrub(tx *db.Tx, now, every int64) (bool, error) {
	n, err := tx.Exec(`
		INSERT INTO versions (name, value)
		VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE versions.value <= $3 OR versions.value > $4`,
		nextScrub, now+every, now, now+every)
	if err != nil {
		return false, fmt.Errorf("take turns at scrubbing: %w", err)
	}
	return n == 1, nil
}

// setNextScrub sets when the next pass begins (ms).
func setNextScrub(tx *db.Tx, at int64) error {
	return setVersion(tx, nextScrub, at)
}

func setVersion(tx *db.Tx, name string, value int64) error {
	_, err := tx.Exec("INSERT INTO versions (name, value) VALUES ($1, $2) "+
		"ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
	if err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	return nil
}

// writeScrubSummary records the counts of a pass beside its result as a command.
func writeScrubSummary(tx *db.Tx, endedAt int64, sum ScrubSummary) error {
	err := tx.SetCommandResult(ScrubCommand, db.CommandResult{EndedAt: endedAt, Problems: sum.Findings})
	for name, value := range sum.counts() {
		err = errors.Join(err, setVersion(tx, lastScrubPrefix+name, *value))
	}
	return err
}

// LastScrub returns when the last complete pass ended (ms), and what it found. Error: db.ErrNoRows
// when there was none.
func LastScrub(q db.Querier) (endedAt int64, sum ScrubSummary, err error) {
	last, err := db.LastCommandResult(q, ScrubCommand)
	if err != nil {
		return 0, ScrubSummary{}, err
	}
	sum.Findings = last.Problems
	for name, value := range sum.counts() {
		err := q.QueryRow("SELECT value FROM versions WHERE name = $1", lastScrubPrefix+name).Scan(value)
		if err != nil && !errors.Is(err, db.ErrNoRows) {
			return 0, ScrubSummary{}, fmt.Errorf("read the last scrub: %w", err)
		}
	}
	return last.EndedAt, sum, nil
}
