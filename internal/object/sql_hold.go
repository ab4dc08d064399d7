package object

import "larder/internal/db"

// holds is the prefix of the names of holds in the table versions; their value is the end of their
// validity (ms). holdPrefixEnd sorts after all of them.
const (
	holdPrefix    = "backup "
	holdPrefixEnd = "backup!"
)

// holdCondition is the SQL condition that some hold is valid. now and most are placeholders: a hold
// is valid if it ends after now, and not after most (ms), since none can last that long.
func holdCondition(now, most string) string {
	return "EXISTS (SELECT 1 FROM versions WHERE name > '" + holdPrefix + "' AND name < '" + holdPrefixEnd +
		"' AND value > " + now + " AND value <= " + most + ")"
}

// insertHold records a hold that is valid until a time (ms).
func insertHold(tx *db.Tx, name string, until int64) error {
	_, err := tx.Exec("INSERT INTO versions (name, value) VALUES ($1, $2)", name, until)
	return err
}

// renewHold extends a hold until a time (ms). It reports false, and changes nothing, if the hold
// ends before least (ms) or does not exist.
func renewHold(tx *db.Tx, name string, until, least int64) (bool, error) {
	n, err := tx.Exec("UPDATE versions SET value = $1 WHERE name = $2 AND value >= $3", until, name, least)
	return n == 1, err
}

// dropHold deletes a hold by its name.
func dropHold(tx *db.Tx, name string) error {
	_, err := tx.Exec("DELETE FROM versions WHERE name = $1", name)
	return err
}

// dropHolds deletes holds that their processes did not delete: those that ended before now, and
// those that end later than most, as no hold can (ms).
func dropHolds(tx *db.Tx, now, most int64) error {
	_, err := tx.Exec("DELETE FROM versions WHERE name > $1 AND name < $2 AND (value < $3 OR value > $4)", holdPrefix,
		holdPrefixEnd, now, most)
	return err
}

// dropAllHolds deletes all holds, in a restored database.
func dropAllHolds(tx *db.Tx) error {
	_, err := tx.Exec("DELETE FROM versions WHERE name > $1 AND name < $2", holdPrefix, holdPrefixEnd)
	return err
}

// dropGarbage empties the garbage list, in a restored database.
func dropGarbage(tx *db.Tx) error {
	_, err := tx.Exec("DELETE FROM garbage")
	return err
}
