package files

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strings"

	"larder/internal/blob"
	"larder/internal/db"
)

// Picture contains the properties of the picture in a file.
type Picture struct {
	Width, Height int    // pixels, as a viewer shows the picture: after the orientation
	Orientation   int    // EXIF 2.32, section 4.6.4: 1 to 8
	TakenAt       int64  // ms; 0 when the picture does not state it
	ThumbHash     []byte // a blurred preview in up to 25 bytes; nil when there is none
}

// picturesOf reads the properties of the pictures in objects, by object id.
func picturesOf(q db.Querier, objects []string) (map[string]*Picture, error) {
	found := map[string]*Picture{}
	err := db.EachChunk(objects, func(args []any) error {
		rows, err := q.Query(`
			SELECT o.id, p.width, p.height, p.orientation, COALESCE(p.taken_at, 0), COALESCE(p.thumbhash, '')
			FROM objects o JOIN pictures p ON p.content_id = COALESCE(o.content_id, o.id)
			WHERE p.width IS NOT NULL AND o.id `+db.InChunk, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, hash string
			p := &Picture{}
			if err := rows.Scan(&id, &p.Width, &p.Height, &p.Orientation, &p.TakenAt, &hash); err != nil {
				return err
			}
			if hash != "" {
				if p.ThumbHash, err = base64.StdEncoding.DecodeString(hash); err != nil {
					return err
				}
			}
			found[id] = p
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read the properties of pictures: %w", err)
	}
	return found, nil
}

// unexaminedQuery lists pictures to examine: those after a time (ms) and an id, at most a number.
const unexaminedQuery = `
	SELECT e.id, e.created_at, e.object_id, o.size, o.provider_id, o.key, COALESCE(o.content_id, o.id),
		EXISTS (SELECT 1 FROM pictures p WHERE p.content_id = COALESCE(o.content_id, o.id))
	FROM entries e JOIN objects o ON o.id = e.object_id
	WHERE ` + db.Unexamined + ` AND e.created_at <= $1 AND (e.created_at < $1 OR e.id < $2)
		AND o.damaged_at IS NULL
	ORDER BY e.created_at DESC, e.id DESC
	LIMIT $3`

// unexaminedAfter lists pictures whose properties have not been read, from newer to older ones,
// after a position; at most limit.
func unexaminedAfter(ctx context.Context, d *db.DB, after ExaminePosition, limit int) ([]UnexaminedPicture, error) {
	rows, err := d.Read(ctx).Query(unexaminedQuery, after.created, after.id, limit)
	if err != nil {
		return nil, fmt.Errorf("list pictures to examine: %w", err)
	}
	defer rows.Close()
	var found []UnexaminedPicture
	for rows.Next() {
		var p UnexaminedPicture
		var key string
		if err := rows.Scan(&p.Position.id, &p.Position.created, &p.object, &p.Size, &p.Provider, &key, &p.Content,
			&p.Known); err != nil {
			return nil, fmt.Errorf("list pictures to examine: %w", err)
		}
		p.key = blob.Key(key)
		found = append(found, p)
	}
	return found, rows.Err()
}

// insertPicture records the properties of a content, nil for none, unless they are recorded.
func insertPicture(tx *db.Tx, content string, p *Picture) error {
	var width, height, orientation, taken sql.NullInt64
	var hash sql.NullString
	if p != nil {
		width = sql.NullInt64{Int64: int64(p.Width), Valid: true}
		height = sql.NullInt64{Int64: int64(p.Height), Valid: true}
		orientation = sql.NullInt64{Int64: int64(p.Orientation), Valid: true}
		taken = sql.NullInt64{Int64: p.TakenAt, Valid: p.TakenAt != 0}
		hash = nullable(base64.StdEncoding.EncodeToString(p.ThumbHash))
	}
	_, err := tx.Exec(`
		INSERT INTO pictures (content_id, width, height, orientation, taken_at, thumbhash)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (content_id) DO NOTHING`, content, width, height, orientation, taken, hash)
	if err != nil {
		return fmt.Errorf("record the properties of a picture: %w", err)
	}
	return nil
}

// pictureRatio is the SQL expression for the ratio of an entry, from the table pictures.
const pictureRatio = "CASE WHEN COALESCE(height, 0) = 0 THEN 0 WHEN 200 * width < height THEN 1 " +
	"ELSE (200 * width + height) / (2 * height) END"

// knownPicture returns the SQL expression for a property of the picture in an object, from the
// tables objects as o and pictures as p, by the parameter with the id of the object. It is null if
// the picture was not examined.
func knownPicture(property, object string) string {
	return "(SELECT " + property + " FROM objects o JOIN pictures p ON p.content_id = COALESCE(o.content_id, o.id) " +
		"WHERE o.id = " + object + ")"
}

// pictureObject is the id of the object of a picture, as a parameter of SQL; NULL for other
// entries.
func pictureObject(r *row) sql.NullString {
	return sql.NullString{String: r.object, Valid: !r.folder && strings.HasPrefix(r.mimeType, "image/")}
}

// setExamined records that the properties of a content, which an object of a file has, were read,
// and copies those of a timeline to the file. If the file has another object by now, that one is
// still to be examined.
func setExamined(tx *db.Tx, id, object, content string) error {
	_, err := tx.Exec(`
		UPDATE entries
		SET examined_object = $1,
			taken_at = (SELECT taken_at FROM pictures WHERE content_id = $2),
			ratio = COALESCE((SELECT `+pictureRatio+` FROM pictures WHERE content_id = $2), 0)
		WHERE id = $3`, object, content, id)
	if err != nil {
		return fmt.Errorf("record an examined picture: %w", err)
	}
	return nil
}

// picturesAfter lists contents whose properties are recorded, in the order of their ids after one;
// at most limit.
func picturesAfter(q db.Querier, after string, limit int) ([]string, error) {
	ids, err := scanStrings(q.Query(
		"SELECT content_id FROM pictures WHERE content_id > $1 ORDER BY content_id LIMIT $2", after, limit))
	if err != nil {
		return nil, fmt.Errorf("list examined pictures: %w", err)
	}
	return ids, nil
}

// deletePictures deletes the properties of contents.
func deletePictures(tx *db.Tx, contents []string) error {
	return db.EachChunk(contents, func(args []any) error {
		_, err := tx.Exec("DELETE FROM pictures WHERE content_id "+db.InChunk, args...)
		return err
	})
}
