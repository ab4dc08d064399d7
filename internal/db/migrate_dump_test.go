package db_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"larder/internal/audit"
	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// A filled dump of each released schema version is kept in testdata, for both engines, and must
// migrate to the newest version. The dump of a version is written once, before its release: go test
// ./internal/db -run TestDumps -update
var update = flag.Bool("update", false, "write the dump of the newest schema version")

// schema is a set of migrations with its dumps.
type schema struct {
	name       string // of its dumps
	definition db.Schema
	sample     string // a row for every table of the newest version
}

var schemas = []schema{{name: "schema", definition: db.Metadata, sample: sample},
	{name: "audit", definition: audit.Schema, sample: auditSample}}

func (s schema) dumpFile(version int, engine string) string {
	return filepath.Join("testdata", fmt.Sprintf("%s-%04d.%s.sql", s.name, version, engine))
}

func TestDumpsOfEveryVersionMigrate(t *testing.T) {
	t.Parallel()
	for _, s := range schemas {
		newest, err := s.definition.Newest()
		if err != nil {
			t.Fatal(err)
		}
		for _, engine := range dbtest.Engines {
			if *update {
				s.writeDump(t, engine, newest)
			}
			for version := 1; version <= newest; version++ {
				t.Run(fmt.Sprintf("%s/%s/%d", s.name, engine, version), func(t *testing.T) {
					t.Parallel()
					s.migratesFrom(t, engine, version)
				})
			}
		}
	}
}

func (s schema) migratesFrom(t *testing.T, engine string, version int) {
	dump, err := os.ReadFile(s.dumpFile(version, engine))
	if err != nil {
		t.Fatalf("every schema version keeps a dump: %v", err)
	}
	d := s.openEmpty(t, engine)
	exec(t, d, string(dump))
	before := tableCounts(t, d)
	if err := d.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	after := tableCounts(t, d)
	for table, rows := range before {
		if rows == 0 {
			t.Errorf("the dump holds no row of %s", table)
		}
		if table != s.definition.Table && after[table] < rows {
			t.Errorf("%s had %d rows, has %d after migrating", table, rows, after[table])
		}
	}
	if err := d.CheckSchema(context.Background()); err != nil {
		t.Error(err)
	}
	s.runSteps(t, d, after["copies"] > 0)
	fresh := s.openEmpty(t, engine)
	if err := fresh.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, want := columns(t, d, after), columns(t, fresh, after); got != want {
		t.Errorf("the migrated schema is\n%s\na fresh one\n%s", got, want)
	}
}

// runSteps runs the steps, which a new database does not need. They wait for the replica of the
// dump, and the last one for its copy.
func (s schema) runSteps(t *testing.T, d *db.DB, copying bool) {
	t.Helper()
	if len(s.definition.Steps) == 0 {
		return
	}
	exec(t, d, "DELETE FROM replicas")
	if all, err := d.RunSteps(t.Context(), "web-1"); err != nil || all == copying {
		t.Errorf("all steps are complete: %v, %v; while a copy is under way: %v", all, err, copying)
	}
	exec(t, d, "DELETE FROM copies")
	if all, err := d.RunSteps(t.Context(), "web-1"); err != nil || !all {
		t.Errorf("all steps are complete: %v, %v", all, err)
	}
}

func (s schema) openEmpty(t *testing.T, engine string) *db.DB {
	t.Helper()
	cfg := dbtest.Config(t, engine)
	cfg.Schema = s.definition
	d, err := db.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// exec executes statements, in which X'31' is a BLOB of one byte.
func exec(t *testing.T, d *db.DB, text string) {
	t.Helper()
	if d.Dialect() == "postgres" {
		text = strings.ReplaceAll(text, "X'31'", `'\x31'`)
	}
	if err := d.Write(context.Background(), func(tx *db.Tx) error {
		_, err := tx.Exec(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// tableCounts returns the number of rows of every table.
func tableCounts(t *testing.T, d *db.DB) map[string]int {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if d.Dialect() == "postgres" {
		query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
	}
	counts := map[string]int{}
	for _, table := range queryTexts(t, d, query) {
		var n int
		if err := d.Read(context.Background()).QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		counts[table] = n
	}
	return counts
}

func queryTexts(t *testing.T, d *db.DB, query string) []string {
	t.Helper()
	rows, err := d.Read(context.Background()).Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// columns lists every column and index, to compare two schemas.
func columns(t *testing.T, d *db.DB, tables map[string]int) string {
	t.Helper()
	var list []string
	for table := range tables {
		rows, err := d.Read(context.Background()).Query("SELECT * FROM " + table + " LIMIT 0")
		if err != nil {
			t.Fatal(err)
		}
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
		list = append(list, table+"("+strings.Join(names, " ")+")")
	}
	indexes := "SELECT name FROM sqlite_master WHERE type = 'index' AND name NOT LIKE 'sqlite_%'"
	if d.Dialect() == "postgres" {
		indexes = "SELECT indexname FROM pg_indexes WHERE schemaname = 'public'"
	}
	list = append(list, queryTexts(t, d, indexes)...)
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// writeDump writes the dump of a schema version with a row in every table.
func (s schema) writeDump(t *testing.T, engine string, version int) {
	t.Helper()
	d := s.openEmpty(t, engine)
	ddl, err := d.DDL(version)
	if err != nil {
		t.Fatal(err)
	}
	oldest, err := db.Oldest(s.definition)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(
		"CREATE TABLE %[1]s (%[5]s);\nINSERT INTO %[1]s (version, oldest) VALUES (%[2]d, %[6]d);\n%[3]s%[4]s",
		s.definition.Table, version, ddl, s.sample, db.VersionColumns, oldest)
	exec(t, d, text)
	if err := os.WriteFile(s.dumpFile(version, engine), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// auditSample is sample for the access log. Its size table has a row already.
const auditSample = `
INSERT INTO access_log (user_id, key_id, ip, action, path, path_fold, bytes, status, count, created_at, request_id, method)
    VALUES ('u1', 'pk_1', '192.0.2.1', 'download', '/home/Alice/猫.jpg', '/home/alice/猫.jpg', 5, 200, 1, 1700000000000, '5b1f0c9a3d2e4f60', 'GET');
UPDATE access_log_size SET size = 1;
INSERT INTO request_minutes VALUES (28333333, 7, 1);
INSERT INTO storage_days VALUES (19675, 'p1', 5, 1);
`

// sample contains a row for every table of the newest version.
const sample = `
INSERT INTO settings VALUES ('siteTitle', '"Larder"');
INSERT INTO users VALUES ('u1', 'Alice', 'alice', 'alice@example.org', 'alice@example.org', TRUE, '$argon2id$x', 'user', 'active', 'Alice', NULL, '/home/Alice', 'home1', 'en-US',
    'system', '#3b6cf6', TRUE, 1, 1, 1700000000000, 1700000000000, 1700000000000, 1700000000000);
INSERT INTO sessions VALUES ('jti1', 'u1', 1, 1, 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0', '192.0.2.1', 1700000000000, 1700000060000,
    1700604800000, NULL);
INSERT INTO avatars VALUES ('4fTz0', 'u1', 'image/png', X'31', 1700000000000);
INSERT INTO sessions VALUES ('jti2', 'u1', 1, 1, '', '', 1700000000000, 1700000000000, 1700604800000, 1700000060000);
INSERT INTO csrf_tokens VALUES ('jti1', 'token', 1700000000000);
INSERT INTO quotas VALUES ('u1', 1000, 10, 5, 1, 7, 1, 1, 2, 1700000000000, 5, NULL);
INSERT INTO notifications VALUES ('n1', 'u1', 'quota:1700000000000', 'quota', '{"Percent":91}', 1700000000000, 1700000060000);
INSERT INTO api_keys VALUES ('pk_1', 'u1', 'key', 'hash', 'read,write', 'api', '/uploads', '', 'images', FALSE, NULL, NULL, NULL, 1700000000000, 1700000000000);
INSERT INTO providers VALUES ('p1', 'local', 'store_a', '', '', 'default', '', '', '', '', '', 'auto', FALSE, 'marker', 1700000000000, 1700000000000, 'j3', 'p2');
INSERT INTO mounts VALUES ('m1', 'p1', 'root1', '/', 'Files', 'name', 'asc', 0, 1700000000000, 1700000000000, 'j3', 'p2');
INSERT INTO rules VALUES ('r1', '/public/**', 'allow', NULL, 'guest', NULL, NULL, 'read,download', FALSE, NULL, '', 0, 1700000000000, 1700000000000);
INSERT INTO entries VALUES ('root1', NULL, 'Files', 'files', 0, 0, '', 'u1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1700000000000, 1700000000000, NULL, 'files', 0, 0, NULL, NULL, NULL);
INSERT INTO entries VALUES ('e1', 'root1', '猫.jpg', '猫.jpg', 1, 5, 'image/jpeg', 'u1', 'o1', 'Cat', '#aabbcc', NULL, '🐈', 3, 'hash', 1700000000000, 1700000000000, 'p1', '猫.jpg', 0, 0, 'o1', 1752510659000, 75);
INSERT INTO objects VALUES ('o1', 'p1', 'ab/0123456789abcdef0123456789abcdef.jpg', 5, 'sha', 'etag', 1, 1700000000000, NULL, 1700000000000);
INSERT INTO objects VALUES ('o2', 'p1', 'ab/1123456789abcdef0123456789abcdef.jpg', 5, 'sha', 'etag', 1, 1700000000000, 'o1', NULL);
INSERT INTO garbage VALUES ('p1', 'cd/0123456789abcdef0123456789abcdef', 1700000000000, NULL, 'u1', 12, NULL, FALSE);
INSERT INTO garbage VALUES ('p1', 'ef/0123456789abcdef0123456789abcdef', 1700003600000, 'upload1', NULL, 0, 1700003600000, FALSE);
INSERT INTO links VALUES ('abcdefghijklmnopqrstuv', 'e1', 'jpg', 1700000000000);
INSERT INTO upload_sessions (id, user_id, mount_id, provider_id, target_path, base_id, missing, file_name, file_size, mime_type, conflict, idempotency_key, one_shot,
    status, reserved_storage, reserved_files, created_at, expires_at, replaces_id, freed)
    VALUES ('s1', 'u1', 'm1', 'p1', '/', 'root1', '', 'b.jpg', 7, '', 'replace', 'again', FALSE, 'pending', 2, 0, 1700000000000, 1700003600000, 'e1', 5);
INSERT INTO upload_sessions (id, user_id, mount_id, provider_id, target_path, base_id, missing, file_name, file_size, mime_type, conflict, idempotency_key, one_shot,
    status, reserved_storage, reserved_files, created_at, expires_at, object_key, upload_id, total_parts, kept_until, parts_recorded)
    VALUES ('s2', 'u1', 'm1', 'p1', '/', 'root1', '', 'c.mp4', 20000000, '', 'rename', 'tomorrow', FALSE, 'expired', 8388608, 0, 1700000000000, 1700003600000,
    'ef/0123456789abcdef0123456789abcdef', 'upload1', 3, 1700090000000, TRUE);
INSERT INTO upload_parts VALUES ('s2', 1, 'b6579723102f9c0a77d5069aafd0c000');
INSERT INTO guesses VALUES ('username:u1', 1700000000000000);
INSERT INTO download_tokens VALUES ('hash', 'e1', 'u1', NULL, 'signed', 'o1', NULL, 1700000900000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO download_tokens VALUES ('hash2', 'e1', 'u1', NULL, 'download', NULL, NULL, 1700000900000, NULL, 'abcdefghijkl', NULL, NULL, NULL, 'e1,e2', NULL);
INSERT INTO download_tokens VALUES ('hash3', 'e1', 'u1', NULL, 'download', NULL, NULL, 1700000900000, NULL, NULL, 2, 1, 'jti1', NULL, 1699999000000);
INSERT INTO mailed_tokens VALUES ('hash', 'u1', 'verify', 'alice@example.org', 1700086400000, NULL, 1700000000000);
INSERT INTO email_codes VALUES ('c1', 'u1', 'Alice@example.com', 'alice@example.com', 'mac', 2, 1700000300000, NULL, 1700000000000);
INSERT INTO wrong_codes VALUES ('w1', 'u1', 1700000000000);
INSERT INTO invites VALUES ('i1', 'code', 5, 1, NULL, 'for friends', 'u1', 1700000000000);
INSERT INTO shares VALUES ('abcdefghijkl', 'e1', 'u1', NULL, 'hash', 'p2', 'p1', 1700086400000, 10, 2, 3, 1, TRUE, TRUE, NULL, 1700000000000, 1700000000000, 1700086400000);
INSERT INTO announcements VALUES ('a1', 'Hello', 'World', 'info', NULL, 1700000000000, 1700000000000);
INSERT INTO legacies VALUES ('u9', 'u1', FALSE, 1700000000000);
INSERT INTO jobs VALUES ('j1', 'move', 'u1', 'completed', 100, NULL, 1700000000000, 1700000000001, '', 0, 0, 0, 0, NULL, FALSE);
INSERT INTO entries VALUES ('e2', 'staging', 'e2', 'e2', 0, 0, '', 'u1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1700000000000, 1700000000000, NULL, 'e12', 0, 0, NULL, NULL, NULL);
INSERT INTO entries VALUES ('e3', 'trash', 'e3', 'e3', 1, 5, 'image/jpeg', 'u1', 'o1', NULL, NULL, NULL, NULL, NULL, NULL, 1700000000000, 1700000000000, NULL, 'e13', 0, 0, NULL, NULL, NULL);
INSERT INTO trash VALUES ('e3', 'u1', 'u1', NULL, 1700000000000, 'deleted', 'cat.jpg', 'cat.jpg', 'root1', '[{"id":"root1","name":"","owner":"u1"}]', 'm1', 'p1', '/cat.jpg', 1, 0, 5, '[{"Owner":"u1","Folders":0,"Files":1,"Bytes":5}]');
INSERT INTO favourites VALUES ('u1', 'e1', 1700000000000);
INSERT INTO pictures VALUES ('o1', 3024, 4032, 6, 1752510659000, 'YJXQ');
INSERT INTO trash_sizes VALUES ('e3', 'u1', 1700000000000, 5);
INSERT INTO past VALUES ('e1', 1690000000000, 1699999000000, 'root1', 'cat.jpg', 5, 'image/jpeg', 'u1', 'o1', 'replace', 'u1', 'pk_1');
INSERT INTO former_places VALUES ('e1', 1690000000000, 1699999000000, 'root1', 'cat.jpg', 'cat.jpg', 'cat.jpg', 1);
INSERT INTO history_gaps VALUES ('root1', 1699999000000);
INSERT INTO bounded_gaps VALUES ('root1', 1698999000000, 1699999000000);
INSERT INTO history VALUES (1, 1690000000000, 1);
INSERT INTO copies VALUES ('j3', 'e2', 'u1', 1000, 3, 0, 0, 2);
INSERT INTO jobs VALUES ('j3', 'copy', 'u1', 'pending', 0, NULL, 1700000000000, NULL, '{}', 4096, 0, 0, 1700000000000, NULL, TRUE);
INSERT INTO locks VALUES ('f81d4fae-7dec-11d0-a765-00a0c91e6bf6', 'e1', FALSE, TRUE, 'pk_1', '<D:href xmlns:D="DAV:">mailto:alice@example.org</D:href>', 1700003600000);
INSERT INTO properties VALUES ('e1', 'http://example.org/ns', 'author', 'en', '<b xmlns="">Alice</b>');
INSERT INTO properties VALUES ('e1', '', 'Straße', '', '');
INSERT INTO free_sessions VALUES ('hash', 'fm_0123456789', 'token', 'v1.sealed', '192.0.2.1', 1700000000000, 1700003600000);
INSERT INTO replicas VALUES ('web-1-0123456789', '1.2.3', 15, 2, 1700000000000);
INSERT INTO schema_steps VALUES ('backfill', 'e1', 'web-1-0123456789', 1700000020000, NULL);
INSERT INTO jobs VALUES ('j2', 'move', 'u1', 'running', 40, NULL, 1700000000000, NULL, '{}', 100, 40, 1, 1700000060000, 'replica', FALSE);
`
