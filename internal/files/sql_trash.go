package files

import (
	"encoding/json"
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/vpath"
)

// moveFilesTo gives files another parent and their hidden names now (ms), provided that each is
// still where its row says; otherwise the transaction runs again (db.RetryError). It returns id,
// size and owner that each file had.
func moveFilesTo(tx *db.Tx, files []row, parent string, now int64) (gone []row, err error) {
	err = eachPiece(files, func(piece []row) error {
		var s statement
		s.WriteString("WITH moved (id, parent, name, hidden, hidden_fold, hidden_key) AS (VALUES ")
		for i := range piece {
			r := &piece[i]
			hidden := string(hiddenName(r.id))
			s.row(i, r.id, r.parent, r.name, hidden, vpath.Fold(hidden), vpath.SortKey(hidden))
		}
		s.WriteString(`)
			UPDATE entries
			SET parent_id = ` + s.arg(parent) + `, name = m.hidden, name_fold = m.hidden_fold, sort_key = m.hidden_key,
				place_since = ` + laterThan(s.arg(now), "("+placeFrom+")") + `
			FROM moved m
			WHERE entries.id = m.id AND entries.parent_id = m.parent AND entries.name = m.name
			RETURNING entries.id, entries.size, entries.owner_id`)
		rows, err := tx.Query(s.String(), s.args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r row
			if err := rows.Scan(&r.id, &r.size, &r.owner); err != nil {
				return err
			}
			gone = append(gone, r)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("move files to the trash: %w", err)
	}
	if len(gone) < len(files) {
		return nil, retryTransaction()
	}
	return gone, nil
}

// insertTrashed records entries in the trash, with what each account has in them. The caller adds
// their bytes to the kept bytes of the accounts.
func insertTrashed(tx *db.Tx, items []trashed) error {
	err := eachPiece(items, func(piece []trashed) error {
		var s statement
		s.WriteString(`
			INSERT INTO trash (entry_id, owner_id, deleted_by, deleted_by_key, deleted_at, reason, name, name_fold,
				parent_id, parents, mount_id, provider_id, path, files, folders, size, totals)
			VALUES `)
		for n := range piece {
			i := &piece[n]
			parents, err := json.Marshal(i.parents)
			if err != nil {
				return fmt.Errorf("describe the folders of an entry: %w", err)
			}
			totals, err := encodeTotals(i.totals)
			if err != nil {
				return err
			}
			s.row(n, i.id, i.owner, i.deletedBy, nullable(i.deletedByKey), i.deletedAt, string(i.reason), i.name,
				vpath.Fold(i.name), i.parent, string(parents), i.mount, i.provider, i.path, i.files, i.folders, i.size,
				totals)
		}
		_, err := tx.Exec(s.String(), s.args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("record entries in the trash: %w", err)
	}
	return insertTrashSizes(tx, items)
}

// insertTrashSizes records how many bytes each account has in entries of the trash.
func insertTrashSizes(tx *db.Tx, items []trashed) error {
	type owned struct {
		item  *trashed
		owner ownerTotals
	}
	var parts []owned
	for n := range items {
		for _, o := range items[n].totals {
			if o.bytes > 0 {
				parts = append(parts, owned{&items[n], o})
			}
		}
	}
	err := eachPiece(parts, func(piece []owned) error {
		var s statement
		s.WriteString("INSERT INTO trash_sizes (entry_id, owner_id, deleted_at, size) VALUES ")
		for n, p := range piece {
			s.row(n, p.item.id, p.owner.owner, p.item.deletedAt, p.owner.bytes)
		}
		_, err := tx.Exec(s.String(), s.args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("record the owners of entries in the trash: %w", err)
	}
	return nil
}

// trashedColumns are the columns of an entry in the trash, of trash as t and entries as e, in the
// order of scanTrashed.
const trashedColumns = `t.entry_id, t.owner_id, t.deleted_by, COALESCE(t.deleted_by_key, ''), t.deleted_at, t.reason,
	t.name, t.parent_id, t.parents, t.mount_id, t.provider_id, t.path, t.files, t.folders, t.size, e.kind`

// scanTrashed reads a row of trashedColumns by scan; more are the targets of columns that follow.
func scanTrashed(scan func(dest ...any) error, more ...any) (i trashed, err error) {
	var reason, parents string
	var kind int
	err = scan(append([]any{&i.id, &i.owner, &i.deletedBy, &i.deletedByKey, &i.deletedAt, &reason, &i.name, &i.parent,
		&parents, &i.mount, &i.provider, &i.path, &i.files, &i.folders, &i.size, &kind}, more...)...)
	if err != nil {
		return trashed{}, err
	}
	i.reason, i.folder = TrashReason(reason), kind == folderKind
	return i, json.Unmarshal([]byte(parents), &i.parents)
}

// trashedEntry reads an entry in the trash by its id; a result without id means that there is none.
func trashedEntry(q db.Querier, id string) (trashed, error) {
	row := q.QueryRow("SELECT "+trashedColumns+
		" FROM trash t JOIN entries e ON e.id = t.entry_id AND e.parent_id = $1 WHERE t.entry_id = $2", trashRoot, id)
	i, err := scanTrashed(row.Scan)
	if errors.Is(err, db.ErrNoRows) {
		return trashed{}, nil
	}
	if err != nil {
		return trashed{}, fmt.Errorf("read an entry in the trash: %w", err)
	}
	return i, nil
}

// trashedAmong calls found for those of the ids that are entries in the trash; only id, owner, the
// account that deleted them, and path are set.
func trashedAmong(q db.Querier, ids []string, found func(i *trashed)) error {
	err := db.EachChunk(ids, func(args []any) error {
		rows, err := q.Query("SELECT entry_id, owner_id, deleted_by, path FROM trash WHERE entry_id "+db.InChunk,
			args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var i trashed
			if err := rows.Scan(&i.id, &i.owner, &i.deletedBy, &i.path); err != nil {
				return err
			}
			found(&i)
		}
		return rows.Err()
	})
	if err != nil {
		return fmt.Errorf("look for entries in the trash: %w", err)
	}
	return nil
}

// trashQuery is a page of the trash of an account, newest first.
type trashQuery struct {
	userID     string // owner of the entries, or who deleted them
	ownedOnly  bool   // owner of the entries
	text       string // part of the name, folded; "" for all
	parent     string // id of the folder that they were in, "" for all
	root       string // path that they were at or below, "" for all
	beforeTime int64  // with beforeID: the position after which the page begins; 0 for the first page
	beforeID   string
	until, now int64 // entries that were deleted until the one time or after the other (ms); 0 for all
	limit      int
}

// conditions writes into s the SQL conditions for position, name, former folder and former path,
// and order and limit; the condition on the account stands before them.
func (tq *trashQuery) conditions(s *statement, dialect db.Dialect) {
	if tq.beforeID != "" {
		s.WriteString(" AND (t.deleted_at, t.entry_id) < (" + s.arg(tq.beforeTime) + ", " + s.arg(tq.beforeID) + ")")
	}
	if tq.until != 0 {
		s.WriteString(" AND (t.deleted_at <= " + s.arg(tq.until) + " OR t.deleted_at > " + s.arg(tq.now) + ")")
	}
	if tq.text != "" {
		s.WriteString(" AND " + dialect.Position("t.name_fold", s.arg(tq.text)) + " > 0")
	}
	if tq.parent != "" {
		s.WriteString(" AND t.parent_id = " + s.arg(tq.parent))
	}
	if tq.root != "" {
		s.WriteString(" AND (t.path = " + s.arg(tq.root) + " OR " + dialect.Position("t.path", s.arg(tq.root+"/")) + " = 1)")
	}
	s.WriteString(" ORDER BY t.deleted_at DESC, t.entry_id DESC LIMIT " + s.arg(tq.limit))
}

// listTrashed reads a page of the trash, newest first. An entry that its owner deleted is found by
// both indexes and is listed once.
func listTrashed(q db.Querier, dialect db.Dialect, tq *trashQuery) ([]trashed, error) {
	var s statement
	s.WriteString("WITH page (id) AS (SELECT * FROM (SELECT t.entry_id FROM trash t WHERE t.owner_id = " +
		s.arg(tq.userID))
	tq.conditions(&s, dialect)
	s.WriteString(") a")
	if !tq.ownedOnly {
		s.WriteString(" UNION SELECT * FROM (SELECT t.entry_id FROM trash t WHERE t.deleted_by = " + s.arg(tq.userID))
		tq.conditions(&s, dialect)
		s.WriteString(") b")
	}
	s.WriteString(") SELECT " + trashedColumns + `, COALESCE(u.username, '')
		FROM page p
			JOIN trash t ON t.entry_id = p.id
			JOIN entries e ON e.id = t.entry_id
			LEFT JOIN users u ON u.id = t.deleted_by
		ORDER BY t.deleted_at DESC, t.entry_id DESC
		LIMIT ` + s.arg(tq.limit))
	rows, err := q.Query(s.String(), s.args...)
	if err != nil {
		return nil, fmt.Errorf("list the trash: %w", err)
	}
	defer rows.Close()
	var page []trashed
	for rows.Next() {
		var name string
		i, err := scanTrashed(rows.Scan, &name)
		if err != nil {
			return nil, fmt.Errorf("list the trash: %w", err)
		}
		i.deletedByName = name
		page = append(page, i)
	}
	return page, rows.Err()
}

// forgetTrashed deletes the records of entries that leave the trash, and subtracts their bytes from
// the kept bytes (quotas.kept_storage) of each owner, in the order of the owners' ids.
func forgetTrashed(tx *db.Tx, ids []string) error {
	sizes := map[string]int64{}
	err := db.EachChunk(ids, func(args []any) error {
		rows, err := tx.Query("DELETE FROM trash_sizes WHERE entry_id "+db.InChunk+" RETURNING owner_id, size", args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var owner string
			var size int64
			if err := rows.Scan(&owner, &size); err != nil {
				return err
			}
			sizes[owner] += size
		}
		if err := rows.Err(); err != nil {
			return err
		}
		_, err = tx.Exec("DELETE FROM trash WHERE entry_id "+db.InChunk, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget entries of the trash: %w", err)
	}
	return subtractKept(tx, sizes)
}

// purgeFilesInTrash deletes the rows of those of the entries that are files directly in the trash,
// and returns their ids with object and owner. An entry that is not there any more is left out.
func purgeFilesInTrash(tx *db.Tx, ids []string) (gone []row, err error) {
	err = db.EachChunk(ids, func(args []any) error {
		rows, err := tx.Query("DELETE FROM entries WHERE id "+db.InChunk+" AND kind = 1 AND parent_id = "+db.AfterChunk+
			" RETURNING id, object_id, owner_id", args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r row
			if err := rows.Scan(&r.id, &r.object, &r.owner); err != nil {
				return err
			}
			gone = append(gone, r)
		}
		return rows.Err()
	}, trashRoot)
	if err != nil {
		return nil, fmt.Errorf("purge files of the trash: %w", err)
	}
	return gone, nil
}

// moveFoldersInTrashToGraveyard moves those of the entries that are folders directly in the trash
// to the graveyard, and returns their ids. An entry that is not there any more is left out.
func moveFoldersInTrashToGraveyard(tx *db.Tx, ids []string) (gone []string, err error) {
	err = db.EachChunk(ids, func(args []any) error {
		rows, err := tx.Query("UPDATE entries SET parent_id = '"+graveyard+"' WHERE id "+db.InChunk+
			" AND kind = 0 AND parent_id = "+db.AfterChunk+" RETURNING id", args...)
		found, err := scanStrings(rows, err)
		gone = append(gone, found...)
		return err
	}, trashRoot)
	if err != nil {
		return nil, fmt.Errorf("purge folders of the trash: %w", err)
	}
	return gone, nil
}

// oldestTrashed lists the ids of the entries in the trash that were deleted before a time (ms), the
// oldest first and at most limit.
func oldestTrashed(q db.Querier, before int64, limit int) ([]string, error) {
	ids, err := scanStrings(q.Query(
		"SELECT entry_id FROM trash WHERE deleted_at < $1 ORDER BY deleted_at, entry_id LIMIT $2", before, limit))
	if err != nil {
		return nil, fmt.Errorf("look for the oldest entries in the trash: %w", err)
	}
	return ids, nil
}

// handOverTrash gives the trash of an account to another, and returns the bytes that count as kept
// for the former one. The caller moves these.
func handOverTrash(tx *db.Tx, from, to string) (kept int64, err error) {
	if _, err := tx.Exec("UPDATE trash SET owner_id = $1 WHERE owner_id = $2", to, from); err != nil {
		return 0, fmt.Errorf("hand over the trash: %w", err)
	}
	// an entry in which both have bytes
	_, err = tx.Exec(`
		UPDATE trash_sizes
		SET size = size + (SELECT s.size FROM trash_sizes s WHERE s.entry_id = trash_sizes.entry_id AND s.owner_id = $1)
		WHERE owner_id = $2 AND entry_id IN (SELECT s.entry_id FROM trash_sizes s WHERE s.owner_id = $1)`, from, to)
	if err != nil {
		return 0, fmt.Errorf("hand over the sizes of the trash: %w", err)
	}
	err = tx.QueryRow("SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM trash_sizes WHERE owner_id = $1", from).
		Scan(&kept)
	if err != nil {
		return 0, fmt.Errorf("sum the sizes of the trash: %w", err)
	}
	_, err = tx.Exec(`
		DELETE FROM trash_sizes
		WHERE owner_id = $1 AND entry_id IN (SELECT s.entry_id FROM trash_sizes s WHERE s.owner_id = $2)`, from, to)
	if err != nil {
		return 0, fmt.Errorf("hand over the sizes of the trash: %w", err)
	}
	if _, err := tx.Exec("UPDATE trash_sizes SET owner_id = $1 WHERE owner_id = $2", to, from); err != nil {
		return 0, fmt.Errorf("hand over the sizes of the trash: %w", err)
	}
	return kept, nil
}

// countLinksBelow counts the permanent links to a file, or to the files in a folder, by its id;
// files is the number of these files. SQLite joins tables in the order that is written: it begins
// with the folder, or with all links where they are fewer.
func countLinksBelow(q db.Querier, id string, files int64) (n int64, err error) {
	var links int64
	err = q.QueryRow("SELECT COUNT(*) FROM (SELECT 1 FROM links LIMIT $1) l", files).Scan(&links)
	if err != nil {
		return 0, fmt.Errorf("count permanent links: %w", err)
	}
	inFolders := "FROM sub s CROSS JOIN entries e CROSS JOIN links l"
	if links < files {
		inFolders = "FROM links l CROSS JOIN entries e CROSS JOIN sub s"
	}
	err = q.QueryRow(foldersBelow+`
		SELECT (SELECT COUNT(*) FROM links WHERE entry_id = $1)
			+ (SELECT COUNT(*) `+inFolders+` WHERE e.parent_id = s.id AND e.kind = 1 AND l.entry_id = e.id)`, id).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count permanent links: %w", err)
	}
	return n, nil
}

// recordedTotals is ownerTotals in JSON.
type recordedTotals struct {
	Owner                 string
	Folders, Files, Bytes int64
}

// encodeTotals returns in JSON what each account has in an entry, as the column trash.totals stores
// it.
func encodeTotals(sums []ownerTotals) (string, error) {
	recorded := make([]recordedTotals, len(sums))
	for i, s := range sums {
		recorded[i] = recordedTotals{s.owner, s.folders, s.files, s.bytes}
	}
	text, err := json.Marshal(recorded)
	if err != nil {
		return "", fmt.Errorf("describe the owners of an entry: %w", err)
	}
	return string(text), nil
}

// totalsOf reads what each account had in an entry when it went to the trash; none when an older
// replica recorded the entry.
func totalsOf(q db.Querier, id string) ([]ownerTotals, error) {
	var text *string
	var recorded []recordedTotals
	err := q.QueryRow("SELECT totals FROM trash WHERE entry_id = $1", id).Scan(&text)
	if err == nil && text != nil {
		err = json.Unmarshal([]byte(*text), &recorded)
	}
	if err != nil {
		return nil, fmt.Errorf("read the owners of an entry in the trash: %w", err)
	}
	sums := make([]ownerTotals, len(recorded))
	for i, r := range recorded {
		sums[i] = ownerTotals{r.Owner, r.Folders, r.Files, r.Bytes}
	}
	return sums, nil
}
