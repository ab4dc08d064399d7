package files

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/vpath"
)

// nameOrder is the order of names in a folder: by a key in a column, and then by the name itself.
// A walk over a folder in several queries keeps the order in which it began.
type nameOrder bool

const (
	// natural is the order of vpath.SortKey.
	natural nameOrder = true
	// folded compares characters without case. It is the order until the steps of the sort keys are
	// complete, and that of copies which began before.
	folded nameOrder = false
)

// nameOrderNow returns the order for a listing or a walk that begins now.
func (t *Tree) nameOrderNow(ctx context.Context) (nameOrder, error) {
	complete, err := t.DB.HasSortKeys(ctx)
	return nameOrder(complete), err
}

// column is the column of the key.
func (o nameOrder) column() string {
	if o == natural {
		return "sort_key"
	}
	return "name_fold"
}

// key is the key of a name.
func (o nameOrder) key(name string) string {
	if o == natural {
		return vpath.SortKey(name)
	}
	return vpath.Fold(name)
}

// storedKey is the key of a row that was read with listColumns.
func (o nameOrder) storedKey(r *row) string {
	if o == natural {
		return r.sortKey
	}
	return vpath.Fold(r.name)
}

// indexed is a condition that all entries meet, for entries as e. SQLite needs it to use the index
// over sort keys. PostgreSQL does not: an entry that a stalled replica of an older version inserts
// too late has no key, and is listed as the first.
func (o nameOrder) indexed(dialect db.Dialect) string {
	if o == natural && dialect.SingleWriter() {
		return " AND " + db.HasSortKey
	}
	return ""
}

// orderBy is the order in SQL, for entries as e, each column followed by its direction: "" or
// " DESC".
func (o nameOrder) orderBy(direction string) string {
	return "e." + o.column() + direction + ", e.name" + direction
}

// after is the condition that an entry comes after a position, whose key and name are parameters of
// the query, for entries as e.
func (o nameOrder) after(dialect db.Dialect, key, name string) string {
	return "(e." + o.column() + ", e.name) > (" + key + ", " + name + ")" + o.indexed(dialect)
}

// CorrectSortKey computes the sort key of an entry anew, for package fsck.
func (t *Tree) CorrectSortKey(tx *db.Tx, id string) error {
	var name string
	err := tx.QueryRow("UPDATE entries SET updated_at = updated_at WHERE id = $1 RETURNING name", id).Scan(&name)
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	if err == nil {
		_, err = tx.Exec("UPDATE entries SET sort_key = $1 WHERE id = $2", vpath.SortKey(name), id)
	}
	if err != nil {
		return fmt.Errorf("correct a sort key: %w", err)
	}
	return nil
}

// namePosition is the position of an entry among those of its kind in its folder, as its row has
// it. The zero value comes before all.
type namePosition struct{ key, name string }
