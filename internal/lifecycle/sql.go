package lifecycle

import (
	"errors"

	"larder/internal/db"
)

// markSeeded records that the first start is done, and reports whether this call was the first to
// do so.
func markSeeded(tx *db.Tx) (bool, error) {
	n, err := tx.Exec("INSERT INTO versions (name, value) VALUES ('seeded', 1) ON CONFLICT (name) DO NOTHING")
	return n == 1, err
}

// seeded reports whether the first start is done.
func seeded(q db.Querier) (bool, error) {
	var value int64
	err := q.QueryRow("SELECT value FROM versions WHERE name = 'seeded'").Scan(&value)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// recordFirstStore records drawn as the number of the first store, unless one is recorded already,
// and returns the recorded one.
func recordFirstStore(tx *db.Tx, drawn int64) (int64, error) {
	if _, err := tx.Exec("INSERT INTO versions (name, value) VALUES ('first store', $1) ON CONFLICT (name) DO NOTHING",
		drawn); err != nil {
		return 0, err
	}
	var number int64
	err := tx.QueryRow("SELECT value FROM versions WHERE name = 'first store'").Scan(&number)
	return number, err
}

// storeNumber returns the number of the first store, which recordFirstStore has recorded; the ids
// of all stores derive from it.
func storeNumber(q db.Querier) (number int64, err error) {
	err = q.QueryRow("SELECT value FROM versions WHERE name = 'first store'").Scan(&number)
	return number, err
}

// recordKeyFingerprint records the fingerprint of the master key, unless one is recorded already,
// and returns the recorded one. It locks the row, so that a rotation of the key either is complete
// before, or sees the replica that this transaction belongs to.
func recordKeyFingerprint(tx *db.Tx, fingerprint int64) (noted int64, err error) {
	err = tx.QueryRow(`
		INSERT INTO versions (name, value)
		VALUES ('key', $1)
		ON CONFLICT (name) DO UPDATE SET value = versions.value
		RETURNING value`, fingerprint).Scan(&noted)
	return noted, err
}

// keyFingerprint returns the recorded fingerprint of the master key.
func keyFingerprint(q db.Querier) (noted int64, err error) {
	err = q.QueryRow("SELECT value FROM versions WHERE name = 'key'").Scan(&noted)
	return noted, err
}

// replaceKeyFingerprint records another fingerprint of the master key.
func replaceKeyFingerprint(tx *db.Tx, fingerprint int64) error {
	_, err := tx.Exec("UPDATE versions SET value = $1 WHERE name = 'key'", fingerprint)
	return err
}
