package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/object"
)

// secretTables are the tables whose rows no snapshot holds: short-lived tokens and sessions, which
// a restored service would refuse anyway, counts of wrong passwords, which have expired by then,
// and the running replicas.
var secretTables = []string{"csrf_tokens", "download_tokens", "sessions", "free_sessions", "guesses", "replicas"}

// storedObject is a row of objects: an object that a backup has to hold.
type storedObject struct {
	id, provider string
	key          blob.Key
	size         int64
	sha256       string // hexadecimal, "" when not computed yet
	etag         string
}

func (o storedObject) String() string {
	return fmt.Sprintf("object %s of provider %s", o.key, o.provider)
}

// objectsAfter returns up to limit objects with ids above id, ordered by id; "" begins.
func objectsAfter(q db.Querier, id string, limit int) ([]storedObject, error) {
	rows, err := q.Query(`
		SELECT id, provider_id, key, size, COALESCE(sha256, ''), etag
		FROM objects
		WHERE id > $1
		ORDER BY id
		LIMIT $2`, id, limit)
	if err != nil {
		return nil, fmt.Errorf("list objects: %w", err)
	}
	defer rows.Close()
	var found []storedObject
	for rows.Next() {
		var o storedObject
		var key string
		if err := rows.Scan(&o.id, &o.provider, &key, &o.size, &o.sha256, &o.etag); err != nil {
			return nil, fmt.Errorf("list objects: %w", err)
		}
		if o.key, err = blob.ParseKey(key); err != nil {
			return nil, fmt.Errorf("object %s: %w", o.id, err)
		}
		found = append(found, o)
	}
	return found, rows.Err()
}

// totals returns the number of all objects and the sum of their sizes in bytes.
func totals(q db.Querier) (objects, bytes int64, err error) {
	err = q.QueryRow("SELECT count(*), CAST(COALESCE(sum(size), 0) AS BIGINT) FROM objects").Scan(&objects, &bytes)
	if err != nil {
		return 0, 0, fmt.Errorf("count objects: %w", err)
	}
	return objects, bytes, nil
}

// databaseStateOf returns how recent a database is. It reads all rows of four tables, which takes a
// moment.
func databaseStateOf(q db.Querier) (p databaseState, err error) {
	err = q.QueryRow(`
		SELECT COALESCE((SELECT value FROM versions WHERE name = 'config'), 0), CAST(COALESCE(MAX(at), 0) AS BIGINT)
		FROM (
			SELECT MAX(updated_at) AS at FROM entries
			UNION ALL
			SELECT MAX(created_at) FROM objects
			UNION ALL
			SELECT MAX(created_at) FROM jobs
			UNION ALL
			SELECT MAX(updated_at) FROM users
		) AS newest`).Scan(&p.config, &p.newest)
	if err != nil {
		return databaseState{}, fmt.Errorf("ask how old a database is: %w", err)
	}
	return p, nil
}

// keysPerQuery is the number of keys in one statement.
const keysPerQuery = 200

// keysInUse returns those of at most keysPerQuery keys that belong to an object of the provider.
func keysInUse(q db.Querier, providerID string, keys []blob.Key) (map[blob.Key]bool, error) {
	texts := make([]string, keysPerQuery)
	for i := range texts { // always the same number, so that the statement's text does not change
		texts[i] = string(keys[min(i, len(keys)-1)])
	}
	in, args := db.InList(2, texts)
	rows, err := q.Query("SELECT key FROM objects WHERE provider_id = $1 AND key "+in,
		append([]any{providerID}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("ask for keys: %w", err)
	}
	defer rows.Close()
	there := map[blob.Key]bool{}
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, fmt.Errorf("ask for keys: %w", err)
		}
		there[blob.Key(key)] = true
	}
	return there, rows.Err()
}

// keyFingerprint returns the fingerprint of the master key with which a database is sealed, as
// package lifecycle records it.
func keyFingerprint(q db.Querier) (fingerprint int64, err error) {
	if err := q.QueryRow("SELECT value FROM versions WHERE name = 'key'").Scan(&fingerprint); err != nil {
		return 0, fmt.Errorf("look up the key's fingerprint: %w", err)
	}
	return fingerprint, nil
}

// recordOrigin records in a restored database the time of its snapshot in ms, by which an
// interrupted restore recognizes it.
func recordOrigin(tx *db.Tx, taken int64) error {
	_, err := tx.Exec(
		"INSERT INTO versions (name, value) VALUES ('restored', $1) ON CONFLICT (name) DO UPDATE SET value = "+
			"excluded.value", taken)
	if err != nil {
		return fmt.Errorf("note where the database comes from: %w", err)
	}
	return nil
}

// restoredFrom returns the time that recordOrigin recorded, 0 for a database that was not restored.
func restoredFrom(ctx context.Context, d *db.DB) (taken int64, err error) {
	err = d.Read(ctx).QueryRow("SELECT value FROM versions WHERE name = 'restored'").Scan(&taken)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return taken, err
}

// maxSameContent is the number of objects of one content that are looked for in a snapshot.
const maxSameContent = 5

// sameContent returns where a service had objects of that content.
func sameContent(q db.Querier, of object.Record) (found []object.Location, err error) {
	rows, err := q.Query("SELECT provider_id, key FROM objects WHERE sha256 = $1 AND size = $2 ORDER BY id LIMIT $3",
		of.SHA256, of.Size, maxSameContent)
	if err != nil {
		return nil, fmt.Errorf("look for the same content: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var at object.Location
		var key string
		if err := rows.Scan(&at.Provider, &key); err != nil {
			return nil, fmt.Errorf("look for the same content: %w", err)
		}
		if at.Key, err = blob.ParseKey(key); err != nil {
			return nil, fmt.Errorf("look for the same content: %w", err)
		}
		found = append(found, at)
	}
	return found, rows.Err()
}
