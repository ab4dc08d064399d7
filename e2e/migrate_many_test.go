package e2e

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"larder/internal/db/dbtest"
)

// `larder migrate-database` copies many entries from SQLite to PostgreSQL and back: the command
// prints the same counts and checksums both times, and the rows are the same.
// LARDER_TEST_MIGRATION is the number of files.
func TestMigrateManyEntries(t *testing.T) {
	t.Parallel()
	files := envNumber(t, "LARDER_TEST_MIGRATION", 5000, 10_000_000)
	s := newSite(t)
	s.env["LARDER_SCRUB_RATE"] = "0" // the objects have no bytes
	s.start(t).stop(t)
	d := s.sqlite(t)
	seedEntries(t, d, files)
	entries, objects := rowsOf(t, d, entryRows), rowsOf(t, d, objectRows)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if objects.number != files || entries.number < files {
		t.Fatalf("seeded are %+v and %+v", entries, objects)
	}

	address := dbtest.URL(t)
	there, took := s.migrateTimed(t, address)
	_, key, _ := strings.Cut(there, "\nLARDER_SECRET_KEY=")
	d, err := sql.Open("pgx", address+"&jit=off") // compiling takes longer than reading once
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, "PostgreSQL", d, entries, objects)

	s.env["LARDER_DATABASE_URL"], s.env["LARDER_SECRET_KEY"] = address, strings.TrimSpace(key)
	back, tookBack := s.migrateTimed(t, "sqlite")
	delete(s.env, "LARDER_DATABASE_URL")
	wantRows(t, "SQLite", s.sqlite(t), entries, objects)

	for _, table := range []string{"entries", "objects"} {
		line := regexp.MustCompile(fmt.Sprintf(`(?m)^%s +(\d+) +[0-9a-f]{64}$`, table))
		first, second := line.FindStringSubmatch(there), line.FindString(back)
		want := map[string]rows{"entries": entries, "objects": objects}[table].number
		if first == nil || first[0] != second || first[1] != fmt.Sprint(want) {
			t.Errorf("of %d %s the command printed %q, and on the way back %q", want, table, first, second)
		}
	}
	t.Logf("%d entries and %d objects: to PostgreSQL in %v, back in %v", entries.number, objects.number,
		took.Round(time.Millisecond), tookBack.Round(time.Millisecond))
	s.start(t).stop(t)
}

// migrateTimed moves the database of the site and returns what the command printed, and how long it
// took.
func (s *site) migrateTimed(t *testing.T, to string) (said string, took time.Duration) {
	t.Helper()
	begun := time.Now()
	return s.mustRun(t, "migrate-database", "--to", to), time.Since(begun)
}

// seedEntries inserts that many files into /uploads of a new SQLite database, with their objects
// and without bytes. The order of the ids differs from that of the names.
func seedEntries(t *testing.T, d *sql.DB, files int) {
	t.Helper()
	numbers := fmt.Sprintf(`
		WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %d),
		seed AS (SELECT n, printf('%%08x%%024x', n * 2654435761 %% 4294967296, n) AS id FROM numbers)`, files)
	for _, statement := range []string{
		`INSERT INTO objects (id, provider_id, key, size, sha256, etag, refs, created_at)` + numbers + `
			SELECT id, (SELECT MIN(id) FROM providers), substr(id, 1, 2) || '/' || id, 1000 + n % 100000, id || id, '', 1,
				1790000000000 + n
			FROM seed`,
		`INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at,
				updated_at, sort_key)` + numbers + `
			SELECT 'e' || seed.id, f.id, 'größe ' || n, 'größe ' || n, 1, 1000 + n % 100000, 'image/jpeg', f.owner_id, seed.id,
				1790000000000 + n, 1790000000000 + n, 'größe ' || n
			FROM seed
			JOIN entries f ON f.name = 'uploads' AND f.kind = 0`,
	} {
		if _, err := d.Exec(statement); err != nil {
			t.Fatalf("%v in %s", err, statement)
		}
	}
}

// rows is the content of a table: the number of rows, and a hash of their values.
type rows struct {
	number int
	hash   string
}

const (
	entryRows = "SELECT id || ' ' || coalesce(parent_id, '') || ' ' || name || ' ' || coalesce(object_id, ''), size, " +
		"created_at FROM entries ORDER BY id"
	objectRows = "SELECT id || ' ' || key || ' ' || coalesce(sha256, ''), size, created_at FROM objects ORDER BY id"
)

// rowsOf reads a table by one of the queries above.
func rowsOf(t *testing.T, d *sql.DB, query string) (all rows) {
	t.Helper()
	found, err := d.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	h := sha256.New()
	for found.Next() {
		var text string
		var size, created int64
		if err := found.Scan(&text, &size, &created); err != nil {
			t.Fatal(err)
		}
		all.number++
		fmt.Fprintln(h, text, size, created)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	all.hash = hex.EncodeToString(h.Sum(nil))
	return all
}

// wantRows compares the tables of a database, which it closes.
func wantRows(t *testing.T, name string, d *sql.DB, entries, objects rows) {
	t.Helper()
	if got := rowsOf(t, d, entryRows); got != entries {
		t.Errorf("entries in %s: %+v, want %+v", name, got, entries)
	}
	if got := rowsOf(t, d, objectRows); got != objects {
		t.Errorf("objects in %s: %+v, want %+v", name, got, objects)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
