package site

import (
	"encoding/json"
	"fmt"
	"strings"

	"larder/internal/db"
)

// save writes the rows of some fields in one statement, secrets sealed.
func (s *Store) save(tx *db.Tx, fields []field) error {
	if len(fields) == 0 {
		return nil
	}
	var rows []string
	var args []any
	for _, f := range fields {
		text, err := s.encode(f)
		if err != nil {
			return err
		}
		rows = append(rows, fmt.Sprintf("($%d, $%d)", len(args)+1, len(args)+2))
		args = append(args, f.name, text)
	}
	_, err := tx.Exec(`
		INSERT INTO settings (name, value)
		VALUES `+strings.Join(rows, ", ")+`
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, args...)
	return err
}

// load overwrites the values in settings with the stored ones. It ignores unknown rows, which
// belong to a newer version of the service.
func (s *Store) load(q db.Querier, settings *Settings) error {
	rows, err := q.Query("SELECT name, value FROM settings")
	if err != nil {
		return err
	}
	defer rows.Close()
	known := map[string]field{}
	for _, f := range settings.fields() {
		known[f.name] = f
	}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		if f, ok := known[name]; ok {
			if err := s.decode(f, text); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}

// readSetting returns the value of a row, as JSON. Error: db.ErrNoRows.
func readSetting(q db.Querier, name string) (value string, err error) {
	err = q.QueryRow("SELECT value FROM settings WHERE name = $1", name).Scan(&value)
	return value, err
}

// writeJSONSetting writes a text to a row, as JSON.
func writeJSONSetting(tx *db.Tx, name, text string) error {
	value, err := json.Marshal(text)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`
		INSERT INTO settings (name, value)
		VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, string(value))
	return err
}

// deleteFormerKeys deletes the row that Reseal has written.
func deleteFormerKeys(tx *db.Tx) error {
	if _, err := tx.Exec("DELETE FROM settings WHERE name = $1", formerKeysName); err != nil {
		return fmt.Errorf("delete the former keys: %w", err)
	}
	return nil
}
