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

// nameOrderNow returns the order of names for a listing or walk that begins now: natural once all
// entries have sort keys (db.DB.HasSortKeys), folded before.
func (t *Tree) nameOrderNow(ctx context.Context) (nameOrder, error) {
	complete, err := t.DB.HasSortKeys(ctx)
	return nameOrder(complete), err
}

// column is the column of entries that holds the key of this order.
func (o nameOrder) column() string {
	if o == natural {
		return "sort_key"
	}
	return "name_fold"
}

// key is the key of a name in this order; keys are compared byte by byte.
func (o nameOrder) key(name string) string {
	if o == natural {
		return vpath.SortKey(name)
	}
	return vpath.Fold(name)
}

// storedKey is the key in this order of a row that was read with listColumns, as the database
// stores it.
func (o nameOrder) storedKey(r *row) string {
	if o == natural {
		return r.sortKey
	}
	return vpath.Fold(r.name)
}

// indexed is an SQL condition that all entries e meet, or "". SQLite needs it to use the index over
// sort keys. PostgreSQL does not: an entry that a stalled replica of an older version inserts too
// late has no key, and is listed as the first.
func (o nameOrder) indexed(dialect db.Dialect) string {
	if o == natural && dialect.SingleWriter() {
		return " AND " + db.HasSortKey
	}
	return ""
}

// orderBy is the order of names for ORDER BY, with the table entries as e. direction is "" or "
// DESC", and follows each column.
func (o nameOrder) orderBy(direction string) string {
	return "e." + o.column() + direction + ", e.name" + direction
}

// after is the SQL condition that an entry e comes after a position in this order. key and name are
// the placeholders of the position's parameters, such as `$3`.
func (o nameOrder) after(dialect db.Dialect, key, name string) string {
	return "(e." + o.column() + ", e.name) > (" + key + ", " + name + ")" + o.indexed(dialect)
}

// CorrectSortKey computes the sort key of an entry anew from its name, for fsck, which found a
// wrong one. It does nothing for an entry that is gone.
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
