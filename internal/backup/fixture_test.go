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

// fixture is a service with a backup directory that does not exist yet.
type fixture struct {
	t      *testing.T
	l      *apptest.Larder
	a      *app.App
	dir    string
	alice  *apptest.Client
	engine string
}

func newFixture(t *testing.T, engine string, change ...func(*config.Config)) *fixture {
	t.Helper()
	key := keyFingerprint(t.Name())
	change = append([]func(*config.Config){func(c *config.Config) {
		c.SecretKey = key
		c.GarbageGrace = time.Millisecond
	}}, change...)
	l := apptest.Start(t, engine, change...)
	return &fixture{t: t, l: l, a: l.Apps[0], dir: filepath.Join(t.TempDir(), "backup"), alice: l.User(t, "alice"),
		engine: engine}
}

func keyFingerprint(name string) secret.Text {
	key := sha256.Sum256([]byte(name))
	return secret.Text(key[:])
}

// each runs test with a fixture on each engine.
func each(t *testing.T, test func(t *testing.T, s *fixture)) {
	t.Helper()
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, newFixture(t, engine))
		})
	}
}

// backUp makes a backup and returns its reports.
func (f *fixture) backUp(change ...func(*backup.Options)) (sum backup.Summary, said []string, err error) {
	o := backup.Options{Dir: f.dir, Keep: 1, Report: func(line string) { said = append(said, line) }}
	for _, fn := range change {
		fn(&o)
	}
	sum, err = f.a.Backup(context.Background(), "test", o)
	return sum, said, err
}

// mustBackUp is backUp for a backup without problems.
func (f *fixture) mustBackUp(change ...func(*backup.Options)) backup.Summary {
	f.t.Helper()
	sum, said, err := f.backUp(change...)
	if err != nil || len(said) > 0 || sum.Wrong > 0 {
		f.t.Fatalf("backup: %+v, %q, %v", sum, said, err)
	}
	return sum
}

func (f *fixture) exec(query string, args ...any) {
	f.t.Helper()
	exec(f.t, f.a.DB, query, args...)
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

func fingerprintNumber(t *testing.T, d *db.DB, query string, args ...any) (n int64) {
	t.Helper()
	if err := d.Read(context.Background()).QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// object returns the key of a file's object.
func (f *fixture) object(id string) (key string) {
	f.t.Helper()
	err := f.a.DB.Read(context.Background()).
		QueryRow("SELECT o.key FROM objects o JOIN entries e ON e.object_id = o.id WHERE e.id = $1", id).Scan(&key)
	if err != nil {
		f.t.Fatal(err)
	}
	return key
}

// storedPath returns the path of an object in the service's store.
func (f *fixture) storedPath(key string) string {
	return filepath.Join(f.a.Config.ObjectDir, "default", key)
}

// poolContent returns the content of an object in the backup.
func (f *fixture) poolContent(key string) string {
	f.t.Helper()
	found, err := filepath.Glob(filepath.Join(f.dir, "objects", "*", key))
	if err != nil || len(found) > 1 {
		f.t.Fatal(found, err)
	}
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

func (f *fixture) snapshots() []string {
	f.t.Helper()
	entries, err := os.ReadDir(filepath.Join(f.dir, "snapshots"))
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// emptyPlace returns the configuration of an empty destination on an engine, with the fixture's
// master key.
func (f *fixture) emptyDestination(t *testing.T, engine string) config.Config {
	t.Helper()
	cfg := f.a.Config
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

// restored restores the newest snapshot into an empty destination on an engine and starts the
// service there.
func (f *fixture) restored(t *testing.T, engine string, change ...func(*backup.RestoreOptions)) *apptest.Larder {
	t.Helper()
	cfg := f.emptyDestination(t, engine)
	if sum, said, err := restore(cfg, f.dir, change...); err != nil || sum.Wrong > 0 || len(said) > 0 {
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

// wantSound fails the test unless a deep check has no findings and has checked everything.
func wantSound(t *testing.T, l *apptest.Larder) {
	t.Helper()
	sum, err := l.Apps[0].Fsck.Check(context.Background(),
		fsck.Options{Deep: true, Report: func(f fsck.Finding) { t.Errorf("fsck: %s %s", f.Kind, f.Text) }})
	if err != nil || sum.TooYoung > 0 || sum.Unchecked > 0 {
		t.Errorf("fsck: %+v, %v", sum, err)
	}
}

func wantContent(t *testing.T, c *apptest.Client, path, want string) {
	t.Helper()
	if got := c.In(t).Get(path).OK(200); string(got.Body) != want {
		t.Errorf("%s: %q, want %q", path, got.Body, want)
	}
}

// wantError fails the test unless the error contains the words.
func wantError(t *testing.T, what string, err error, words ...string) {
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

// wantUntouched fails the test if a refused restore has created files of a service.
func wantUntouched(t *testing.T, cfg config.Config) {
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
