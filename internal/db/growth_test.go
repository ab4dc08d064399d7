package db_test

import (
	"errors"
	"fmt"
	"testing"

	"larder/internal/db"
)

// insertMember inserts an entry with that id and name into a folder. kind is 0 for a folder.
const insertMember = `INSERT INTO entries
	(id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at)
	VALUES ($1, $2, $1, $1, $3, 0, '', 'o', CASE $3 WHEN 1 THEN 'object' END, 0, 0)`

const (
	aFolder = 0 // entries.kind
	aFile   = 1
)

// wantGrowth checks by how many files the folders "from" and "to" have grown since a moment.
func wantGrowth(t *testing.T, what string, d *db.DB, since db.Moment, from, to int64) {
	t.Helper()
	for folder, want := range map[string]int64{"from": from, "to": to} {
		by, now, ok := d.Changes().Growth(db.Members{Folder: folder, Kind: aFile}, since)
		if !ok || by != want || now != d.Changes().Now() {
			t.Errorf("%s: %q grows by %d (known: %v), want %d", what, folder, by, ok, want)
		}
	}
}

// wantUnknown checks whether the growth of the files in the folder "from" is unknown.
func wantUnknown(t *testing.T, what string, d *db.DB, since db.Moment, want bool) {
	t.Helper()
	if by, _, ok := d.Changes().Growth(db.Members{Folder: "from", Kind: aFile}, since); ok == want {
		t.Errorf("%s: growth by %d, known: %v", what, by, ok)
	}
}

// The number of files in a folder grows with each that is added or moved there and shrinks with
// each that leaves, whatever happens to folders in it.
func TestGrowth(t *testing.T) {
	t.Parallel()
	d, _ := trackedDB(t)
	begin := d.Changes().Now()
	execute(t, d, insertMember, "a", "from", aFile)
	wantGrowth(t, "a new file", d, begin, 1, 0)
	execute(t, d, insertMember, "folder", "from", aFolder)
	execute(t, d, insertMember, "root", nil, aFolder)
	wantGrowth(t, "a new folder", d, begin, 1, 0)
	for _, id := range []string{"b", "c", "d"} {
		execute(t, d, insertMember, id, "from", aFile)
	}
	wantGrowth(t, "four files", d, begin, 4, 0)
	later := d.Changes().Now()
	execute(t, d, "UPDATE entries SET name = 'e', size = 5 WHERE id = 'a'")
	wantGrowth(t, "a rename", d, begin, 4, 0)
	execute(t, d, "UPDATE entries SET parent_id = 'to' WHERE id IN ('b', 'c')")
	wantGrowth(t, "a move of two", d, begin, 2, 2)
	execute(t, d, "DELETE FROM entries WHERE id IN ('a', 'b')")
	wantGrowth(t, "a deletion of two", d, begin, 1, 1)
	wantGrowth(t, "since four files", d, later, -3, 1)
	execute(t, d, "INSERT OR REPLACE"+insertMember[len("INSERT"):], "c", "from", aFile)
	wantGrowth(t, "a replacement in another folder", d, begin, 2, 0)
	execute(t, d, insertMember+" ON CONFLICT DO NOTHING", "c", "to", aFile)
	wantGrowth(t, "an insert that the id refuses", d, begin, 2, 0)
	wantGrowth(t, "nothing", d, d.Changes().Now(), 0, 0)
}

// Changes that were undone are no growth: neither those of a refused write, alone or in a group,
// nor those of a statement that failed.
func TestGrowthOfUndoneChanges(t *testing.T) {
	t.Parallel()
	d, _ := trackedDB(t)
	begin := d.Changes().Now()
	refused := errors.New("refused")
	refuse := func(write func(tx *db.Tx) error) func(tx *db.Tx) error {
		return func(tx *db.Tx) error { return errors.Join(write(tx), refused) }
	}
	if err := d.Write(t.Context(), refuse(statement(insertMember, "a", "from", aFile))); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	wantGrowth(t, "a refused write", d, begin, 0, 0)
	errs := writeTogether(t, d, statement(insertMember, "a", "from", aFile),
		refuse(statement(insertMember, "b", "from", aFile)),
		statement(insertMember, "c", "from", aFile),
		refuse(statement("UPDATE entries SET parent_id = 'to'")),
		statement(insertMember, "d", "to", aFile))
	for i, err := range errs {
		if isRefused := i == 1 || i == 3; errors.Is(err, refused) != isRefused || err != nil && !isRefused {
			t.Errorf("write %d: %v", i, err)
		}
	}
	wantGrowth(t, "two refused writes in a group of five", d, begin, 2, 1)

	// SQLite inserts x, meets the name of d, and takes x away again
	failing := statement(`INSERT INTO entries
		(id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at)
		VALUES ('x', 'from', 'x', 'x', 1, 0, '', 'o', 'object', 0, 0), ('y', 'to', 'd', 'd', 1, 0, '', 'o', 'object', 0, 0)`)
	tolerant := func(tx *db.Tx) error {
		var taken *db.ErrUnique
		if err := failing(tx); !errors.As(err, &taken) {
			return fmt.Errorf("a name was given twice: %w", err)
		}
		return statement(insertMember, "e", "to", aFile)(tx)
	}
	if err := d.Write(t.Context(), tolerant); err != nil {
		t.Fatal(err)
	}
	wantUnknown(t, "a failed statement", d, begin, true)
	now := d.Changes().Now()
	execute(t, d, insertMember, "f", "from", aFile)
	wantGrowth(t, "a write after it", d, now, 1, 0)
}

// Growth is known as long as this process has made all commits, and while there were few enough.
func TestGrowthIsUnknown(t *testing.T) {
	t.Parallel()
	d, path := trackedDB(t)
	other := openElsewhere(t, path)
	defer other.Close()
	begin := d.Changes().Now()
	execute(t, other, insertMember, "a", "from", aFile)
	wantUnknown(t, "a commit elsewhere", d, begin, true)
	begin = d.Changes().Now()
	execute(t, d, insertMember, "b", "from", aFile)
	wantGrowth(t, "an own commit", d, begin, 1, 0)
	if err := d.Write(t.Context(), func(tx *db.Tx) error { tx.BreakConnection(); return nil }); err == nil {
		t.Fatal("a write on a broken connection succeeded")
	}
	wantUnknown(t, "a broken connection", d, begin, true)
	execute(t, d, insertMember, "c", "from", aFile)
	wantUnknown(t, "the next commit", d, begin, true)

	begin = d.Changes().Now()
	insertInto := func(first, last int) error {
		return d.Write(t.Context(), func(tx *db.Tx) error {
			for i := first; i <= last; i++ {
				if err := statement(insertMember, fmt.Sprint("in", i), fmt.Sprint("folder", i), aFile)(tx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := insertInto(1, 512); err != nil {
		t.Fatal(err)
	}
	wantGrowth(t, "512 folders in a transaction", d, begin, 0, 0)
	if err := insertInto(1001, 1513); err != nil {
		t.Fatal(err)
	}
	wantUnknown(t, "513 folders in a transaction", d, begin, true)

	begin = d.Changes().Now()
	execute(t, d, insertMember, "first", "from", aFile)
	for i := range 31 { // 1,984 growths
		if err := insertInto(2000+64*i, 2063+64*i); err != nil {
			t.Fatal(err)
		}
	}
	wantGrowth(t, "1,985 growths", d, begin, 1, 0)
	if err := insertInto(5000, 5063); err != nil {
		t.Fatal(err)
	}
	wantUnknown(t, "2,049 growths", d, begin, true)
	now := d.Changes().Now()
	execute(t, d, insertMember, "last", "from", aFile)
	wantGrowth(t, "the last of them", d, now, 1, 0)
}
