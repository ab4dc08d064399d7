package backup_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/app"
	"larder/internal/apptest"
	"larder/internal/backup"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fsck"
	"larder/internal/secret"
)

type M = apptest.M

// shop is a service with a backup directory that does not exist yet.
type shop struct {
	t      *testing.T
	l      *apptest.Larder
	a      *app.App
	dir    string
	alice  *apptest.Client
	engine string
}

func newShop(t *testing.T, engine string, change ...func(*config.Config)) *shop {
	t.Helper()
	key := keyOf(t.Name())
	change = append([]func(*config.Config){func(c *config.Config) {
		c.SecretKey = key
		c.GarbageGrace = time.Millisecond
	}}, change...)
	l := apptest.Start(t, engine, change...)
	return &shop{t: t, l: l, a: l.Apps[0], dir: filepath.Join(t.TempDir(), "backup"), alice: l.User(t, "alice"),
		engine: engine}
}

func keyOf(name string) secret.Text {
	key := sha256.Sum256([]byte(name))
	return secret.Text(key[:])
}

// each runs test in a shop on each engine.
func each(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, newShop(t, engine))
		})
	}
}

// take takes a backup and returns what it said.
func (s *shop) take(change ...func(*backup.Options)) (sum backup.Summary, said []string, err error) {
	o := backup.Options{Dir: s.dir, Keep: 1, Report: func(line string) { said = append(said, line) }}
	for _, fn := range change {
		fn(&o)
	}
	sum, err = s.a.Backup(context.Background(), "test", o)
	return sum, said, err
}

// must is take for a backup in which nothing is wrong.
func (s *shop) must(change ...func(*backup.Options)) backup.Summary {
	s.t.Helper()
	sum, said, err := s.take(change...)
	if err != nil || len(said) > 0 || sum.Wrong > 0 {
		s.t.Fatalf("backup: %+v, %q, %v", sum, said, err)
	}
	return sum
}

func (s *shop) exec(query string, args ...any) {
	s.t.Helper()
	exec(s.t, s.a.DB, query, args...)
}

func exec(t *testing.T, d *db.DB, query string, args ...any) {
	t.Helper()
	err := d.Write(context.Background(), func(tx *db.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func number(t *testing.T, d *db.DB, query string, args ...any) (n int64) {
	t.Helper()
	if err := d.Read(context.Background()).QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// object is the key of a file's object.
func (s *shop) object(id string) (key string) {
	s.t.Helper()
	err := s.a.DB.Read(context.Background()).
		QueryRow("SELECT o.key FROM objects o JOIN entries e ON e.object_id = o.id WHERE e.id = $1", id).Scan(&key)
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

// stored is where an object lies in the service.
func (s *shop) stored(key string) string { return filepath.Join(s.a.Config.ObjectDir, "default", key) }

// kept is where it lies in the backup.
func (s *shop) kept(key string) string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.dir, "objects", "*", key))
	if err != nil || len(found) > 1 {
		s.t.Fatal(found, err)
	}
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

func (s *shop) snapshots() []string {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.dir, "snapshots"))
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// emptyPlace is the configuration of a service to come on an engine, with the key of the shop.
func (s *shop) emptyPlace(t *testing.T, engine string) config.Config {
	t.Helper()
	cfg := s.a.Config
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	cfg.ObjectDir = filepath.Join(cfg.DataDir, "objects")
	cfg.DatabaseURL = ""
	if engine == "postgres" {
		cfg.DatabaseURL = secret.Text(dbtest.URL(t))
	}
	return cfg
}

func restore(cfg config.Config, dir string, change ...func(
	*backup.RestoreOptions)) (sum backup.Restored, said []string, err error) {
	o := backup.RestoreOptions{Dir: dir, Report: func(line string) { said = append(said, line) }}
	for _, fn := range change {
		fn(&o)
	}
	deps := app.Deps{Now: time.Now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
	sum, err = app.Restore(context.Background(), cfg, deps, o)
	return sum, said, err
}

// restored restores the newest snapshot into an empty place on an engine and
// starts the service there.
func (s *shop) restored(t *testing.T, engine string, change ...func(*backup.RestoreOptions)) *apptest.Larder {
	t.Helper()
	cfg := s.emptyPlace(t, engine)
	if sum, said, err := restore(cfg, s.dir, change...); err != nil || sum.Wrong > 0 || len(said) > 0 {
		t.Fatalf("restore: %+v, %q, %v", sum, said, err)
	}
	return start(t, engine, cfg)
}

func start(t *testing.T, engine string, cfg config.Config) *apptest.Larder {
	t.Helper()
	l := apptest.Start(t, engine, func(c *config.Config) { *c = cfg })
	l.Apps[0].Fsck.Pause = time.Millisecond
	return l
}

// sound checks that a deep check finds nothing and passes nothing over.
func sound(t *testing.T, l *apptest.Larder) {
	t.Helper()
	sum, err := l.Apps[0].Fsck.Check(context.Background(),
		fsck.Options{Deep: true, Report: func(f fsck.Finding) { t.Errorf("fsck: %s %s", f.Kind, f.Text) }})
	if err != nil || sum.Young > 0 || sum.Unchecked > 0 {
		t.Errorf("fsck: %+v, %v", sum, err)
	}
}

func reads(t *testing.T, c *apptest.Client, path, want string) {
	t.Helper()
	if got := c.In(t).Get(path).OK(200); string(got.Body) != want {
		t.Errorf("%s: %q, want %q", path, got.Body, want)
	}
}

// told checks that an error says what it should.
func told(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one about %q", what, words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, which does not say %q", what, err, word)
		}
	}
}

// untouched checks that a refused restore has made nothing of a service.
func untouched(t *testing.T, cfg config.Config) {
	t.Helper()
	entries, err := os.ReadDir(cfg.DataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !slices.Contains([]string{"larder.lock", "objects"}, entry.Name()) {
			t.Errorf("a refused restore left %s", entry.Name())
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
