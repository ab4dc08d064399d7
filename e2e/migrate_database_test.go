package e2e

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"larder/internal/db/dbtest"
)

// wantRefused runs a command that must fail at once and say a text.
func (s *site) wantRefused(t *testing.T, text string, args ...string) {
	t.Helper()
	command := s.command(args...)
	var said bytes.Buffer
	command.Stderr = &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = command.Process.Kill() }) // it serves
	err := command.Wait()
	if !late.Stop() || err == nil || !strings.Contains(said.String(), text) {
		t.Errorf("larder %v ended with %v, want a failure that says %q:\n%s", args, err, text, said.String())
	}
}

// wantServed checks that a server has all content, and that the session from before goes on.
func (c *fixedContent) wantServed(t *testing.T, p *process) {
	t.Helper()
	c.cookie.bases = []string{p.url}
	c.cookie.do(t, "GET", "/api/auth/me", nil).want(t, 200)
	for path, content := range c.files {
		if body := c.cookie.do(t, "GET", escaped(path), nil).want(t, 200).body; string(body) != content {
			t.Errorf("%s has %d bytes, want %d", path, len(body), len(content))
		}
	}
	c.wantLinks(t, p)
}

// wantLoggedUploads checks how many uploads an access log lists that a stop has completed.
func (p *process) wantLoggedUploads(t *testing.T, want int) {
	t.Helper()
	var page struct{ Pagination struct{ Total int } }
	p.admin(t).do(t, "GET", "/api/admin/logs?action=upload", nil).data(t, 200, &page)
	if page.Pagination.Total != want {
		t.Errorf("the access log lists %d uploads, want %d", page.Pagination.Total, want)
	}
}

// "I began with one machine, and move to PostgreSQL and back": everything is there each time,
// accounts, sessions, files, links and the access log, and no server can go on with the old
// database by mistake.
func TestMigrateDatabase(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env["LARDER_RATE_LIMIT_ENABLED"] = "false"
	address := dbtest.URL(t)
	migrate := []string{"migrate-database", "--to", address}

	p := s.start(t)
	content := uploadFixedContent(t, p)
	s.wantRefused(t, "in use by another Larder", migrate...)
	p.stop(t)

	// a destination that cannot be used changes nothing
	s.wantRefused(t, "connect", "migrate-database", "--to", "postgres:///nothing?host=/nothing/listens/here")
	s.start(t).stop(t)

	said := s.mustRun(t, migrate...)
	if !regexp.MustCompile(`(?m)^links +12 +[0-9a-f]{64}$`).MatchString(said) ||
		!regexp.MustCompile(`(?m)^access_log +[1-9][0-9]* `).MatchString(said) {
		t.Errorf("the command printed %s", said)
	}
	_, key, found := strings.Cut(said, "\nLARDER_SECRET_KEY=")
	if !found {
		t.Fatalf("no key in %s", said)
	}
	s.wantRefused(t, "this database was moved", "serve")
	s.wantRefused(t, "this database was moved", "fsck")
	s.wantRefused(t, "tables that this command did not make", migrate...)

	// the command was interrupted: the copy bears the mark of the original, and is not complete
	d, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	var mark int64
	original := s.sqlite(t)
	if err := original.QueryRow("SELECT value FROM versions WHERE name = 'moved'").Scan(&mark); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec("INSERT INTO versions (name, value) VALUES ('moved', $1)", mark); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec("DELETE FROM links; DELETE FROM access_log"); err != nil {
		t.Fatal(err)
	}
	if err := original.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	s.env["LARDER_DATABASE_URL"], s.env["LARDER_SECRET_KEY"] = address, strings.TrimSpace(key)
	s.wantRefused(t, "this database was moved", "serve")
	if again := s.mustRun(t, append(migrate, "--from", "sqlite")...); !strings.Contains(again, "The copy is complete.") {
		t.Errorf("the second run printed %s", again)
	}

	p = s.start(t)
	content.wantServed(t, p)
	p.wantLoggedUploads(t, 12)
	file := content.cookie.upload(t, "/uploads/still", "on PostgreSQL.txt", []byte("on PostgreSQL"), nil)
	content.files["/uploads/still/on PostgreSQL.txt"] = "on PostgreSQL"
	content.links[at(t, content.cookie.permanentLink(t, file.ID))] = "on PostgreSQL"
	back := []string{"migrate-database", "--to", "sqlite"}
	s.wantRefused(t, "stop all servers", back...)
	p.stop(t)
	s.fsck(t)
	delete(s.env, "LARDER_DATABASE_URL")
	named := append(back, "--from", address)
	secretKey := s.env["LARDER_SECRET_KEY"]
	delete(s.env, "LARDER_SECRET_KEY")
	s.wantRefused(t, "needs LARDER_SECRET_KEY", named...)
	s.env["LARDER_SECRET_KEY"] = secretKey
	if said := s.mustRun(t, named...); strings.Contains(said, "LARDER_SECRET_KEY") {
		t.Errorf("the command printed the key of the settings: %s", said)
	}
	s.env["LARDER_DATABASE_URL"] = address
	s.wantRefused(t, "this database was moved", "serve")
	delete(s.env, "LARDER_DATABASE_URL")
	p = s.start(t)
	content.wantServed(t, p)
	p.wantLoggedUploads(t, 13)
	p.stop(t)
	s.fsck(t)
	former, err := filepath.Glob(filepath.Join(s.dir, "larder.db.moved-*"))
	if err != nil || len(former) != 1 {
		t.Errorf("the former database was set aside as %q (%v)", former, err)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "*.migrating*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}

	s.env["LARDER_DATABASE_URL"] = address
	s.wantRefused(t, "this database was moved", "serve")
	s.wantRefused(t, "there is no database in", "migrate-database", "--reopen", "--from", "sqlite",
		"--data-dir", t.TempDir())
	s.mustRun(t, "migrate-database", "--reopen")
	s.wantRefused(t, "was not moved", "migrate-database", "--reopen")
	s.start(t).stop(t)
	s.wantRefused(t, "already exists: move it away first", back...)
	for _, wrong := range [][]string{{"migrate-database"}, {"migrate-database", "--to", "mysql://x"},
		{"migrate-database", "--to", "sqlite", "--reopen"}, {"migrate-database", "--to", "sqlite", "x"},
		{"migrate-database", "--to", "sqlite", "--from", "mysql://x"}, {"migrate-database", "--from", "sqlite"}} {
		if _, _, code := s.run(t, wrong...); code != 2 {
			t.Errorf("larder %v: exit code %d, want 2", wrong, code)
		}
	}
	s.wantRefused(t, "from SQLite to PostgreSQL or from PostgreSQL to sqlite", migrate...)
	if _, err := os.Stat(filepath.Join(s.dir, "larder.db")); err != nil {
		t.Error(err)
	}
}
