package site

import (
	"fmt"
	"strings"

	"larder/internal/db"
)

// save writes the rows of some fields in one statement.
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
