package object

import "larder/internal/db"

// holds is what the names of holds in the table versions begin with; their value is until when they
// are valid (ms). holdPrefixEnd comes after all of them.
const (
	holdPrefix    = "backup "
	holdPrefixEnd = "backup!"
)

// holdCondition is the condition that a hold is valid at the time of one parameter and ends
// before that of another.
func holdCondition(now, most string) string {
	return "EXISTS (SELECT 1 FROM versions WHERE name > '" + holdPrefix + "' AND name < '" + holdPrefixEnd +
		"' AND value > " + now + " AND value <= " + most + ")"
}

func insertHold(tx *db.Tx, name string, until int64) error {
	_, err := tx.Exec("INSERT INTO versions (name, value) VALUES ($1, $2)", name, until)
	return err
}

// renewHold reports false when the hold is not valid until least any more.
func renewHold(tx *db.Tx, name string, until, least int64) (bool, error) {
	n, err := tx.Exec("UPDATE versions SET value = $1 WHERE name = $2 AND value >= $3", until, name, least)
	return n == 1, err
}

func dropHold(tx *db.Tx, name string) error {
	_, err := tx.Exec("DELETE FROM versions WHERE name = $1", name)
	return err
}

// dropHolds deletes the holds of those who did not live to do so: all that are over, or that end
// later than any can.
func dropHolds(tx *db.Tx, now, most int64) error {
	_, err := tx.Exec("DELETE FROM versions WHERE name > $1 AND name < $2 AND (value < $3 OR value > $4)", holdPrefix,
		holdPrefixEnd, now, most)
	return err
}

func dropAllHolds(tx *db.Tx) error {
	_, err := tx.Exec("DELETE FROM versions WHERE name > $1 AND name < $2", holdPrefix, holdPrefixEnd)
	return err
}

func dropGarbage(tx *db.Tx) error {
	_, err := tx.Exec("DELETE FROM garbage")
	return err
}
