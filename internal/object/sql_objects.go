package object

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"larder/internal/blob"
	"larder/internal/db"
)

// Insert records a stored object with one reference, that of the caller's file, and returns its id,
// from which the ETag of the file is derived; see InheritContentID.
func (r *Registry) Insert(tx *db.Tx, o Record) (id string, err error) {
	id = r.IDs.Hex(16)
	_, err = tx.Exec(`
		INSERT INTO objects (id, provider_id, key, size, sha256, etag, refs, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, 1, $7)`,
		id, o.Provider, string(o.Key), o.Size, nullable(o.SHA256), o.ETag, r.nowMs())
	if err != nil {
		return "", fmt.Errorf("insert object: %w", err)
	}
	return id, nil
}

// Release removes one reference to an object, of a file or version that ends. After the last
// reference the object becomes garbage that counts for owner, due after the grace period.
func (r *Registry) Release(tx *db.Tx, objectID, owner string) error {
	var refs, size int64
	var providerID, key string
	err := tx.QueryRow("UPDATE objects SET refs = refs - 1 WHERE id = $1 RETURNING refs, size, provider_id, key",
		objectID).
		Scan(&refs, &size, &providerID, &key)
	if err != nil {
		return fmt.Errorf("release object %s: %w", objectID, err)
	}
	if refs > 0 {
		return nil
	}
	if _, err := tx.Exec("DELETE FROM objects WHERE id = $1", objectID); err != nil {
		return fmt.Errorf("delete object %s: %w", objectID, err)
	}
	return r.DiscardContent(tx, Location{providerID, blob.Key(key)}, size, owner)
}

// ReleaseAll removes one reference from each of several objects, whose ids occur once, in few
// statements. Objects without references become garbage that counts for owner, due after the grace
// period.
func (r *Registry) ReleaseAll(tx *db.Tx, objects []string, owner string) error {
	after := r.nowMs() + r.Grace.Milliseconds()
	r.NoteGrowth(tx, owner, math.MaxInt64) // an amount that makes sure that the account is checked
	return db.EachChunk(objects, func(args []any) error {
		ids := args[:db.ChunkSize]
		if _, err := tx.Exec("UPDATE objects SET refs = refs - 1 WHERE id "+db.InChunk, ids...); err != nil {
			return err
		}
		_, err := tx.Exec(`
			INSERT INTO garbage (provider_id, key, after, owner_id, size)
			SELECT provider_id, key, CAST(`+db.AfterChunk+` AS BIGINT), CAST(`+db.AfterChunk2+
			` AS TEXT), size FROM objects WHERE refs = 0 AND id `+db.InChunk+`
			ON CONFLICT (provider_id, key) DO NOTHING`, args...)
		if err != nil {
			return err
		}
		_, err = tx.Exec("DELETE FROM objects WHERE refs = 0 AND id "+db.InChunk, ids...)
		return err
	}, after, nullable(owner))
}

// AddReferences adds references to objects; more is their number by object id. all is false when
// one of the objects does not exist any more: the caller runs its transaction again.
func AddReferences(tx *db.Tx, more map[string]int64) (all bool, err error) {
	byCount := map[int64][]string{}
	for _, id := range slices.Sorted(maps.Keys(more)) {
		byCount[more[id]] = append(byCount[more[id]], id)
	}
	for _, count := range slices.Sorted(maps.Keys(byCount)) {
		var changed int64
		err := db.EachChunk(byCount[count], func(args []any) error {
			n, err := tx.Exec("UPDATE objects SET refs = refs + CAST("+db.AfterChunk+" AS BIGINT) WHERE id "+db.InChunk,
				args...)
			changed += n
			return err
		}, count)
		if err != nil {
			return false, fmt.Errorf("share objects: %w", err)
		}
		if changed != int64(len(byCount[count])) {
			return false, nil
		}
	}
	return true, nil
}

// Lock locks an object until the transaction ends, and returns its location and the number of
// references to it, of files and versions. Error: db.ErrNoRows when there is no such object.
func Lock(tx *db.Tx, id string) (at Location, refs int64, err error) {
	var key string
	err = tx.QueryRow("UPDATE objects SET refs = refs WHERE id = $1 RETURNING provider_id, key, refs", id).
		Scan(&at.Provider, &key, &refs)
	if err != nil {
		return Location{}, 0, fmt.Errorf("lock object %s: %w", id, err)
	}
	at.Key = blob.Key(key)
	return at, refs, nil
}

// Locate returns the location of an object. Error: db.ErrNoRows when there is no such object.
func Locate(q db.Querier, id string) (at Location, err error) {
	var key string
	err = q.QueryRow("SELECT provider_id, key FROM objects WHERE id = $1", id).Scan(&at.Provider, &key)
	if err != nil {
		return Location{}, fmt.Errorf("locate object %s: %w", id, err)
	}
	at.Key = blob.Key(key)
	return at, nil
}

// Relocate records that the object id is now at the location of o, with the ETag of that store. Its
// id stays, and with it the ETag of its files. It fills in the SHA-256 if that was not known.
func Relocate(tx *db.Tx, id string, o Record) error {
	_, err := tx.Exec(`
		UPDATE objects
		SET provider_id = $1, key = $2, etag = $3, sha256 = COALESCE(sha256, $4), damaged_at = NULL
		WHERE id = $5`, o.Provider, string(o.Key), o.ETag, nullable(o.SHA256), id)
	if err != nil {
		return fmt.Errorf("locate object %s: %w", id, err)
	}
	return nil
}

// InheritContentID records that the object id has the same content as the object from, whose copy
// it is, so that the ETag of its file stays.
func InheritContentID(tx *db.Tx, id, from string) error {
	_, err := tx.Exec(
		"UPDATE objects SET content_id = (SELECT COALESCE(content_id, id) FROM objects WHERE id = $1) WHERE id = $2",
		from, id)
	if err != nil {
		return fmt.Errorf("record the content id of object %s: %w", id, err)
	}
	return nil
}

// ExistsIn reports whether a provider has objects that files or versions refer to, also files in
// the trash or the graveyard; garbage does not count.
func ExistsIn(q db.Querier, providerID string) (has bool, err error) {
	err = q.QueryRow("SELECT EXISTS (SELECT 1 FROM objects WHERE provider_id = $1)", providerID).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("look for objects of a provider: %w", err)
	}
	return has, nil
}

// SHA256 returns the SHA-256 of the object id in hexadecimal, "" where it is not known or there is
// no such object.
func SHA256(q db.Querier, id string) (string, error) {
	var sum sql.NullString
	err := q.QueryRow("SELECT sha256 FROM objects WHERE id = $1", id).Scan(&sum)
	if errors.Is(err, db.ErrNoRows) { // the object is opened by what was read before
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look up a checksum: %w", err)
	}
	return sum.String, nil
}

// unhashedRecord is an object whose SHA-256 is not known.
type unhashedRecord struct {
	id   string
	size int64 // bytes; the store must have as many
	Location
}

// unhashedObject returns the object of that id if its SHA-256 is not known yet. found is false when
// it is known, or there is no such object.
func unhashedObject(q db.Querier, id string) (o unhashedRecord, found bool, err error) {
	var key string
	err = q.QueryRow("SELECT size, provider_id, key FROM objects WHERE id = $1 AND sha256 IS NULL", id).
		Scan(&o.size, &o.Provider, &key)
	if errors.Is(err, db.ErrNoRows) {
		return unhashedRecord{}, false, nil
	}
	if err != nil {
		return unhashedRecord{}, false, fmt.Errorf("look up object %s: %w", id, err)
	}
	o.id, o.Key = id, blob.Key(key)
	return o, true, nil
}

// nullable is a string as a parameter of SQL, with NULL for "".
func nullable(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// recordedHash returns the SHA-256 of a stored object in hexadecimal, "" if it is not known yet.
// Error: db.ErrNoRows when no object has the key.
func recordedHash(q db.Querier, at Location) (sum string, err error) {
	err = q.QueryRow("SELECT COALESCE(sha256, '') FROM objects WHERE provider_id = $1 AND key = $2",
		at.Provider, string(at.Key)).Scan(&sum)
	return sum, err
}
