package site

import (
	"errors"
	"fmt"

	"larder/internal/db"
)

const announcementColumns = "id, title, content, level, expires_at, created_at, updated_at"

// scanAnnouncement reads a row of announcementColumns.
func scanAnnouncement(from interface{ Scan(dest ...any) error }) (a Announcement, err error) {
	err = from.Scan(&a.ID, &a.Title, &a.Content, &a.Level, &a.ExpiresAt, &a.CreatedAt, &a.UpdatedAt)
	return a, err
}

// listAnnouncements returns all announcements, newest first.
func listAnnouncements(q db.Querier) (all []Announcement, err error) {
	rows, err := q.Query("SELECT " + announcementColumns + " FROM announcements ORDER BY created_at DESC, id DESC")
	if err != nil {
		return nil, fmt.Errorf("list announcements: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		a, err := scanAnnouncement(rows)
		if err != nil {
			return nil, fmt.Errorf("list announcements: %w", err)
		}
		all = append(all, a)
	}
	return all, rows.Err()
}

// insertAnnouncement inserts an announcement unless there are maxAnnouncements, and reports whether
// it did.
func insertAnnouncement(tx *db.Tx, a Announcement) (bool, error) {
	n, err := tx.Exec(`
		INSERT INTO announcements (`+announcementColumns+`)
		SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS BIGINT), CAST($6 AS BIGINT), CAST($7 AS BIGINT)
		WHERE (SELECT COUNT(*) FROM announcements) < CAST($8 AS BIGINT)`,
		a.ID, a.Title, a.Content, a.Level, a.ExpiresAt, a.CreatedAt, a.UpdatedAt, maxAnnouncements)
	if err != nil {
		return false, fmt.Errorf("insert announcement: %w", err)
	}
	return n == 1, nil
}

// updateAnnouncement changes those values of the announcement id that n gives, at now (ms), and
// returns the result. Fault: NotFound.
func updateAnnouncement(tx *db.Tx, id string, n AnnouncementInput, now int64) (Announcement, error) {
	a, err := scanAnnouncement(tx.QueryRow(`
		UPDATE announcements
		SET title = COALESCE(CAST($2 AS TEXT), title), content = COALESCE(CAST($3 AS TEXT), content), level = COALESCE(CAST($4 AS TEXT), level),
			expires_at = CASE WHEN CAST($5 AS BOOLEAN) THEN CAST($6 AS BIGINT) ELSE expires_at END, updated_at = CAST($7 AS BIGINT)
		WHERE id = $1
		RETURNING `+announcementColumns, id, n.Title, n.Content, n.Level, n.SetExpiry, n.expiry(now), now))
	if errors.Is(err, db.ErrNoRows) {
		return Announcement{}, noAnnouncement()
	}
	if err != nil {
		return Announcement{}, fmt.Errorf("change announcement: %w", err)
	}
	return a, nil
}

// deleteAnnouncement deletes an announcement. Fault: NotFound.
func deleteAnnouncement(tx *db.Tx, id string) error {
	n, err := tx.Exec("DELETE FROM announcements WHERE id = $1", id)
	if err != nil {
		return fmt.Errorf("delete announcement: %w", err)
	}
	if n == 0 {
		return noAnnouncement()
	}
	return nil
}
