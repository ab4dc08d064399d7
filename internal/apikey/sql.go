package apikey

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
)

const columns = `id, user_id, name, token_hash, permissions, protocols, upload_path, allowed_ips, public_links, root_only, last_used_at, expires_at,
	revoked_at, created_at`

// scan reads one row of a query of columns.
func scan(row interface{ Scan(dest ...any) error }) (storedKey, error) {
	var k storedKey
	var permissions, protocols, ips string
	err := row.Scan(&k.ID, &k.UserID, &k.Name, &k.tokenHash, &permissions, &protocols, &k.UploadPath, &ips,
		&k.PublicLinks, &k.RootOnly,
		&k.LastUsedAt, &k.ExpiresAt, &k.RevokedAt, &k.CreatedAt)
	if err != nil {
		return storedKey{}, err
	}
	k.Permissions, k.Protocols = strings.Split(permissions, ","), strings.Split(protocols, ",")
	if ips != "" {
		if k.AllowedIPs, err = access.ParseAddresses(strings.Split(ips, ",")); err != nil {
			return storedKey{}, fmt.Errorf("allowed addresses of key %s: %w", k.ID, err)
		}
	}
	return k, nil
}

// scanOne reads the row of a query of columns for one key. Fault: NotFound when there is none.
func scanOne(row db.Row) (storedKey, error) {
	k, err := scan(row)
	if errors.Is(err, db.ErrNoRows) {
		return storedKey{}, noKey()
	}
	if err != nil {
		return storedKey{}, fmt.Errorf("read API key: %w", err)
	}
	return k, nil
}

// byID reads a key of any user and any status. Fault: NotFound.
func byID(q db.Querier, id string) (storedKey, error) {
	return scanOne(q.QueryRow("SELECT "+columns+" FROM api_keys WHERE id = $1", id))
}

// byOwner reads a key of a user. Fault: NotFound, also for the key of another user.
func byOwner(q db.Querier, userID, id string) (Key, error) {
	k, err := scanOne(q.QueryRow("SELECT "+columns+" FROM api_keys WHERE id = $1 AND user_id = $2", id, userID))
	return k.Key, err
}

// list reads all keys of a user, newest first.
func list(q db.Querier, userID string) ([]Key, error) {
	rows, err := q.Query(`
		SELECT `+columns+`
		FROM api_keys
		WHERE user_id = $1
		ORDER BY created_at DESC, id`, userID)
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	defer rows.Close()
	keys := []Key{}
	for rows.Next() {
		k, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("list API keys: %w", err)
		}
		keys = append(keys, k.Key)
	}
	return keys, rows.Err()
}

// lockUser locks the user's row until tx ends, so that keys are counted and added atomically.
// Fault: NotFound.
func lockUser(tx *db.Tx, userID string) error {
	n, err := tx.Exec("UPDATE users SET updated_at = updated_at WHERE id = $1", userID)
	if err != nil {
		return fmt.Errorf("lock the owner of API keys: %w", err)
	}
	if n == 0 {
		return fault.New(fault.NotFound, "There is no such user.")
	}
	return nil
}

// countActive counts the keys of a user that are neither revoked nor expired at now (ms).
func countActive(q db.Querier, userID string, now int64) (int, error) {
	var n int
	err := q.QueryRow(`
		SELECT COUNT(*)
		FROM api_keys
		WHERE user_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`, userID, now,
	).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count API keys: %w", err)
	}
	return n, nil
}

// lastUses returns the latest time (ms) at which a key of each user was used, by the user's id;
// users without one are left out.
func lastUses(q db.Querier, userIDs []string) (map[string]int64, error) {
	in, args := db.InList(1, userIDs)
	rows, err := q.Query(`
		SELECT user_id, MAX(last_used_at)
		FROM api_keys
		WHERE last_used_at IS NOT NULL AND user_id `+in+`
		GROUP BY user_id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read the last uses of API keys: %w", err)
	}
	defer rows.Close()
	uses := map[string]int64{}
	for rows.Next() {
		var userID string
		var at int64
		if err := rows.Scan(&userID, &at); err != nil {
			return nil, fmt.Errorf("read the last uses of API keys: %w", err)
		}
		uses[userID] = at
	}
	return uses, rows.Err()
}

// insert stores a key with the hash of its token; its id must be new.
func insert(tx *db.Tx, k Key, tokenHash string) error {
	_, err := tx.Exec(`
		INSERT INTO api_keys (id, user_id, name, token_hash, permissions, protocols, upload_path, allowed_ips, public_links, root_only, expires_at,
			created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		k.ID, k.UserID, k.Name, tokenHash, strings.Join(k.Permissions, ","), strings.Join(k.Protocols, ","),
		k.UploadPath,
		access.JoinAddresses(k.AllowedIPs), k.PublicLinks, k.RootOnly, k.ExpiresAt, k.CreatedAt, k.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert API key: %w", err)
	}
	return nil
}

// deleteOldInactive deletes the oldest of a user's keys that are expired or revoked at now (ms),
// beyond maxInactiveKeys.
func deleteOldInactive(tx *db.Tx, userID string, now int64) error {
	_, err := tx.Exec(`
		DELETE FROM api_keys
		WHERE id IN (
			SELECT id
			FROM api_keys
			WHERE user_id = $1 AND (revoked_at IS NOT NULL OR expires_at <= $2)
			ORDER BY created_at DESC, id
			LIMIT 1000 OFFSET $3
		)`, userID, now, maxInactiveKeys)
	if err != nil {
		return fmt.Errorf("forget old API keys: %w", err)
	}
	return nil
}

// update writes the columns of a key that can change; now is in ms.
func update(tx *db.Tx, k Key, now int64) error {
	_, err := tx.Exec(`
		UPDATE api_keys
		SET name = $2, permissions = $3, allowed_ips = $4, expires_at = $5, public_links = $6, root_only = $7, updated_at = $8
		WHERE id = $1`,
		k.ID, k.Name, strings.Join(k.Permissions, ","), access.JoinAddresses(k.AllowedIPs), k.ExpiresAt, k.PublicLinks,
		k.RootOnly, now)
	if err != nil {
		return fmt.Errorf("change API key: %w", err)
	}
	return nil
}

// revoke ends a key of a user at now (ms). A key that was revoked before keeps its time. Fault:
// NotFound.
func revoke(tx *db.Tx, userID, id string, now int64) error {
	n, err := tx.Exec(`
		UPDATE api_keys
		SET revoked_at = COALESCE(revoked_at, $3), updated_at = $3
		WHERE id = $1 AND user_id = $2`, id, userID, now)
	if err != nil {
		return fmt.Errorf("revoke API key: %w", err)
	}
	if n == 0 {
		return noKey()
	}
	return nil
}

// revokeAll ends all keys of a user at now (ms); keys that were revoked before keep their time. It
// returns the ids of all.
func revokeAll(tx *db.Tx, userID string, now int64) ([]string, error) {
	rows, err := tx.Query(`
		UPDATE api_keys
		SET revoked_at = COALESCE(revoked_at, $2), updated_at = $2
		WHERE user_id = $1
		RETURNING id`, userID, now)
	if err != nil {
		return nil, fmt.Errorf("revoke API keys: %w", err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("revoke API keys: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// writeUses sets the times (ms) of last use of keys, by key id, and never moves one back. It writes
// in the order of ids, so that two replicas cannot deadlock.
func writeUses(tx *db.Tx, uses map[string]int64) error {
	for _, id := range slices.Sorted(maps.Keys(uses)) {
		_, err := tx.Exec(`
			UPDATE api_keys
			SET last_used_at = $2
			WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, id, uses[id])
		if err != nil {
			return err
		}
	}
	return nil
}
