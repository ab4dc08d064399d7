package account

import (
	"errors"
	"fmt"

	"larder/internal/db"
)

// insertAvatar adds a picture to an account, which must have none. id is the random id that is part
// of the picture's address; now is in milliseconds.
func insertAvatar(tx *db.Tx, id, userID string, picture Avatar, now int64) error {
	_, err := tx.Exec(`
		INSERT INTO avatars (id, user_id, media_type, content, created_at)
		VALUES ($1, $2, $3, $4, $5)`, id, userID, picture.MediaType, picture.Content, now)
	if err != nil {
		return fmt.Errorf("add a picture: %w", err)
	}
	return nil
}

// deleteAvatar deletes the picture of an account, if there is one.
func deleteAvatar(tx *db.Tx, userID string) error {
	if _, err := tx.Exec("DELETE FROM avatars WHERE user_id = $1", userID); err != nil {
		return fmt.Errorf("delete a picture: %w", err)
	}
	return nil
}

// readAvatarID returns the id of the picture of an account. Error: db.ErrNoRows for none.
func readAvatarID(q db.Querier, userID string) (id string, err error) {
	err = q.QueryRow("SELECT id FROM avatars WHERE user_id = $1", userID).Scan(&id)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		err = fmt.Errorf("look for a picture: %w", err)
	}
	return id, err
}

// readAvatarIDs returns the ids of the pictures of existing accounts, by the ids of the accounts.
func readAvatarIDs(q db.Querier, userIDs []string) (map[string]string, error) {
	in, args := db.InList(1, userIDs)
	rows, err := q.Query(`
		SELECT avatars.user_id, avatars.id
		FROM avatars
		JOIN users ON users.id = avatars.user_id
		WHERE avatars.user_id `+in, args...)
	if err != nil {
		return nil, fmt.Errorf("look for pictures: %w", err)
	}
	defer rows.Close()
	ids := map[string]string{}
	for rows.Next() {
		var userID, id string
		if err := rows.Scan(&userID, &id); err != nil {
			return nil, fmt.Errorf("look for pictures: %w", err)
		}
		ids[userID] = id
	}
	return ids, rows.Err()
}

// readAvatar returns the picture with an id. It requires that the account exists: an older replica
// deletes an account without its picture. Error: db.ErrNoRows for none.
func readAvatar(q db.Querier, id string) (found Avatar, err error) {
	err = q.QueryRow(`
		SELECT avatars.media_type, avatars.content
		FROM avatars
		JOIN users ON users.id = avatars.user_id
		WHERE avatars.id = $1`, id).Scan(&found.MediaType, &found.Content)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		err = fmt.Errorf("read a picture: %w", err)
	}
	return found, err
}
