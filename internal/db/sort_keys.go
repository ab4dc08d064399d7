package db

import (
	"context"
	"fmt"
	"strings"

	"larder/internal/vpath"
)

// The steps that give every entry its sort key and an index over it. SQLite gets the index first,
// while it has no rows: building it later would hold up writes. PostgreSQL gets it last, over all
// rows, so that it is compact; and a row that a stalled older replica might still insert after the
// backfill is in listings there, as the first.
const (
	stepSortIndexSQLite   = "index the sort keys on SQLite"
	stepSortKeys          = "compute the sort keys"
	stepSortIndexPostgres = "index the sort keys on PostgreSQL"
	stepDropListingIndex  = "drop the index over folded names"
)

// Listings in any order and searches by name, of a folder's files or folders, of any owner:
// read from the index alone, but for the rows of one page.
const (
	sortIndex = "entries_sorted"
	sortedBy  = "entries (parent_id, kind, sort_key, name, name_fold, owner_id, updated_at, size, manual_position)"
)

// HasSortKey is the condition, for entries as e, that the index over the sort keys on SQLite has.
// SQLite uses the index only where a query has the same condition.
const HasSortKey = "e.sort_key <> ''"

var sortKeySteps = []Step{
	{Name: stepSortIndexSQLite, After: 14, Engine: sqlite,
		Index: Index{Name: sortIndex, On: sortedBy + " WHERE sort_key <> ''"}},
	{Name: stepSortKeys, After: 14, Batch: fillSortKeys},
	{Name: stepSortIndexPostgres, After: 14, Engine: postgres, Index: Index{Name: sortIndex, On: sortedBy}},
	// A copy that was begun before goes on in the order of this index.
	{Name: stepDropListingIndex, After: 14,
		Drop: Drop{Index: "entries_listing", While: "SELECT EXISTS (SELECT 1 FROM copies)"}},
}

// HasSortKeys reports whether every entry has its sort key, and the index over the keys is
// complete.
func (d *DB) HasSortKeys(ctx context.Context) (bool, error) {
	for _, name := range []string{stepSortKeys, stepSortIndexSQLite, stepSortIndexPostgres} {
		if complete, err := d.Completed(ctx, name); err != nil || !complete {
			return false, err
		}
	}
	return true, nil
}

// sortKeyBatch is the number of entries that one batch looks at.
const sortKeyBatch = 500

// fillSortKeys is the Batch of the step that computes the sort keys (vpath.SortKey): it stores
// those of the next sortKeyBatch entries in the order of their ids. It compares keys that are there
// already, too: until it began, an older replica may have renamed an entry whose key a newer one
// had stored.
func fillSortKeys(tx *Tx, position string) (next string, more bool, err error) {
	next, more, wrong, err := wrongSortKeys(tx, position)
	if err != nil {
		return "", false, fmt.Errorf("read names: %w", err)
	}
	return next, more, storeSortKeys(tx, wrong)
}

// wrongSortKeys looks at the next sortKeyBatch entries with an id above position. wrong holds id,
// name and correct key of each entry whose stored key is another one; next is the last id, and more
// is false at the end of the table.
func wrongSortKeys(tx *Tx, position string) (next string, more bool, wrong []any, err error) {
	rows, err := tx.Query("SELECT id, name, sort_key FROM entries WHERE id > $1 ORDER BY id LIMIT $2", position,
		sortKeyBatch)
	if err != nil {
		return "", false, nil, err
	}
	defer rows.Close()
	next = position
	read := 0
	for rows.Next() {
		var name, key string
		if err := rows.Scan(&next, &name, &key); err != nil {
			return "", false, nil, err
		}
		read++
		if right := vpath.SortKey(name); right != key {
			wrong = append(wrong, next, name, right)
		}
	}
	return next, read == sortKeyBatch, wrong, rows.Err()
}

// storeSortKeys stores the sort keys of at most sortKeyBatch entries: id, name and key of each, one
// after the other. An entry whose name has changed meanwhile keeps the key that was stored with its
// new name.
func storeSortKeys(tx *Tx, entries []any) error {
	if len(entries) == 0 {
		return nil
	}
	for len(entries) < 3*sortKeyBatch { // one text for all lengths
		entries = append(entries, entries[:3]...)
	}
	if _, err := tx.Exec(storeSortKeysText, entries...); err != nil {
		return fmt.Errorf("store sort keys: %w", err)
	}
	return nil
}

var storeSortKeysText = func() string {
	var values strings.Builder
	for i := range sortKeyBatch {
		if i > 0 {
			values.WriteString(", ")
		}
		fmt.Fprintf(&values, "($%d, $%d, $%d)", 3*i+1, 3*i+2, 3*i+3)
	}
	return `
		WITH computed (id, name, sort_key) AS (VALUES ` + values.String() + `)
		UPDATE entries
		SET sort_key = c.sort_key
		FROM computed c
		WHERE entries.id = c.id AND entries.name = c.name`
}()
