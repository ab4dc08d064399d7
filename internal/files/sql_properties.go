package files

import (
	"fmt"

	"larder/internal/db"
)

// putProperty sets a dead property of an entry, or replaces its value.
func putProperty(tx *db.Tx, entryID string, p Property) error {
	_, err := tx.Exec(`
		INSERT INTO properties (entry_id, namespace, name, lang, value)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (entry_id, namespace, name) DO UPDATE SET lang = excluded.lang, value = excluded.value`,
		entryID, p.Namespace, p.Name, p.Lang, p.Value)
	if err != nil {
		return fmt.Errorf("set a property: %w", err)
	}
	return nil
}

// deleteProperty removes a dead property of an entry, if it has it.
func deleteProperty(tx *db.Tx, entryID, namespace, name string) error {
	if _, err := tx.Exec("DELETE FROM properties WHERE entry_id = $1 AND namespace = $2 AND name = $3", entryID,
		namespace, name); err != nil {
		return fmt.Errorf("remove a property: %w", err)
	}
	return nil
}

// propertiesOf reads the dead properties, which WebDAV clients store, of entries: by entry id,
// ordered by namespace and name.
func propertiesOf(q db.Querier, ids []string) (map[string][]Property, error) {
	found := map[string][]Property{}
	err := db.EachChunk(ids, func(args []any) error {
		rows, err := q.Query("SELECT entry_id, namespace, name, lang, value FROM properties WHERE entry_id "+db.InChunk+
			" ORDER BY entry_id, namespace, name", args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var p Property
			if err := rows.Scan(&id, &p.Namespace, &p.Name, &p.Lang, &p.Value); err != nil {
				return err
			}
			found[id] = append(found[id], p)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read properties: %w", err)
	}
	return found, nil
}

// copyProperties copies the dead properties of entries to others that have none yet; to maps the
// ids of the originals to those of the copies.
func copyProperties(tx *db.Tx, to map[string]string) error {
	from := make([]string, 0, len(to))
	for id := range to {
		from = append(from, id)
	}
	var having []string
	err := db.EachChunk(from, func(args []any) error {
		some, err := scanStrings(tx.Query("SELECT DISTINCT entry_id FROM properties WHERE entry_id "+db.InChunk,
			args...))
		having = append(having, some...)
		return err
	})
	for i := 0; i < len(having) && err == nil; i++ {
		_, err = tx.Exec(`
			INSERT INTO properties (entry_id, namespace, name, lang, value)
			SELECT CAST($1 AS TEXT), namespace, name, lang, value FROM properties WHERE entry_id = $2`, to[having[i]],
			having[i])
	}
	if err != nil {
		return fmt.Errorf("copy properties: %w", err)
	}
	return nil
}

// moveProperties replaces the dead properties of the entry to with those of the entry from.
func moveProperties(tx *db.Tx, from, to string) error {
	if err := deleteProperties(tx, []string{to}); err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE properties SET entry_id = $1 WHERE entry_id = $2", to, from); err != nil {
		return fmt.Errorf("move properties: %w", err)
	}
	return nil
}

// deleteProperties deletes all dead properties of these entries.
func deleteProperties(tx *db.Tx, ids []string) error {
	if len(ids) == 1 {
		return execDeleteProperties(tx, "= $1", ids[0])
	}
	return db.EachChunk(ids, func(args []any) error { return execDeleteProperties(tx, db.InChunk, args...) })
}

// execDeleteProperties deletes the properties whose entry_id meets the SQL condition which, with
// its args.
func execDeleteProperties(tx *db.Tx, which string, args ...any) error {
	if _, err := tx.Exec("DELETE FROM properties WHERE entry_id "+which, args...); err != nil {
		return fmt.Errorf("delete properties: %w", err)
	}
	return nil
}
