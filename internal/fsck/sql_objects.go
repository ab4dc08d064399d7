package fsck

import (
	"database/sql"
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
)

const objectColumns = "SELECT id, provider_id, key, size, COALESCE(sha256, ''), damaged_at IS NOT NULL FROM objects "

// scanObject is a scan function of queryAll for the columns objectColumns.
func scanObject(rows *sql.Rows) (o storedObject, err error) {
	err = rows.Scan(&o.id, &o.provider, &o.key, &o.size, &o.sha256, &o.damaged)
	return o, err
}

// objectRows returns the objects with ids in (low, high], ordered by id.
func objectRows(q db.Querier, low, high string) ([]storedObject, error) {
	return queryAll(q, scanObject, objectColumns+"WHERE id > $1 AND id <= $2 ORDER BY id", low, high)
}

// objectRow returns the object with that id. Error: db.ErrNoRows when it was deleted.
func objectRow(q db.Querier, id string) (o storedObject, err error) {
	err = q.QueryRow(objectColumns+"WHERE id = $1", id).
		Scan(&o.id, &o.provider, &o.key, &o.size, &o.sha256, &o.damaged)
	return o, err
}

// filesOf lists the ids of up to limit files whose content is the object. It reads all files.
func filesOf(q db.Querier, objectID string, limit int) ([]string, error) {
	return queryAll(q, scanText, "SELECT id FROM entries WHERE object_id = $1 ORDER BY id LIMIT $2", objectID, limit)
}

// versionedFiles lists the ids of up to limit files that have a former version whose content is the
// object.
func versionedFiles(q db.Querier, objectID string, limit int) ([]string, error) {
	return queryAll(q, scanText, "SELECT DISTINCT entry_id FROM past WHERE object_id = $1 ORDER BY entry_id LIMIT $2",
		objectID, limit)
}

// keysPerQuery is the number of keys in one statement.
const keysPerQuery = 200

// unreferencedKeys returns those of at most keysPerQuery keys that no object, no row of the garbage
// list and no open upload session of any provider has. It asks for all providers, since providers
// may be moved to or from a location during its listing; keys are random, so none is mistaken for
// another provider's. It is one statement: a key moves from the garbage list to an object in one
// transaction, and the statement sees it in one of them.
func unreferencedKeys(q db.Querier, keys []blob.Key) ([]blob.Key, error) {
	// A query of its own, so that PostgreSQL uses the indexes. Objects of a provider that is
	// created in between are too young to be asked for.
	providers, err := queryAll(q, scanText, "SELECT id FROM providers")
	if err != nil {
		return nil, fmt.Errorf("ask for providers: %w", err)
	}
	if len(providers) == 0 {
		return nil, nil // without providers nothing is deleted
	}
	texts := make([]string, keysPerQuery)
	for i := range texts { // always the same number, so that the statement's text does not change
		texts[i] = string(keys[min(i, len(keys)-1)])
	}
	ofAll, args := db.InList(1, providers)
	these, more := db.InList(1+len(providers), texts)
	known, err := queryAll(q, scanText, `
		SELECT key FROM objects WHERE provider_id `+ofAll+` AND key `+these+`
		UNION
		SELECT key FROM garbage WHERE provider_id `+ofAll+` AND key `+these+`
		UNION
		SELECT object_key FROM upload_sessions WHERE status = 'pending' AND provider_id `+ofAll+
		` AND object_key `+these+`
		UNION
		SELECT object_key FROM upload_sessions WHERE kept_until IS NOT NULL AND provider_id `+ofAll+
		` AND object_key `+these, append(args, more...)...)
	if err != nil {
		return nil, fmt.Errorf("ask for keys: %w", err)
	}
	there := make(map[blob.Key]bool, len(known))
	for _, key := range known {
		there[blob.Key(key)] = true
	}
	var rest []blob.Key
	for _, key := range keys {
		if !there[key] {
			rest = append(rest, key)
		}
	}
	return rest, nil
}

// claimTurn reports whether the caller does the periodic work with that name now: one caller within
// every `every` ms; now is the present time in ms. The first call of all creates the row and gets
// no turn. Neither does a call that is more than late ms overdue: then the service was down for
// long, or the database comes from a backup, and the last turn says nothing about what has been
// stored since. A turn far in the future was recorded by a wrong clock and counts as over.
func claimTurn(tx *db.Tx, name string, now, every, late int64) (bool, error) {
	made, err := tx.Exec("INSERT INTO versions (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, now)
	if err != nil || made == 1 {
		return false, err
	}
	n, err := tx.Exec("UPDATE versions SET value = $1 WHERE name = $2 AND (value BETWEEN $3 AND $4 OR value > $5)",
		now, name, now-every-late, now-every, now+every)
	if err != nil || n == 1 {
		return n == 1, err
	}
	_, err = tx.Exec("UPDATE versions SET value = $1 WHERE name = $2 AND value < $3", now, name, now-every-late)
	return false, err
}

// AfterRestore deletes from a restored database the times at which stores were swept and folders
// counted (claimTurn), so that the interval before the first sweep begins again.
func AfterRestore(tx *db.Tx) error {
	if _, err := tx.Exec("DELETE FROM versions WHERE name LIKE 'swept %'"); err != nil {
		return fmt.Errorf("forget when stores were swept: %w", err)
	}
	return nil
}
