package backup_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/app"
	"larder/internal/backup"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// A restore refuses a destination that is not empty.
func TestRestoreRequiresAnEmptyDestination(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.alice.Upload("/home/alice", "a", []byte("a"))
		s.mustBackUp()
		_, _, err := restore(s.a.Config, s.dir)
		wantError(t, "the place of the service itself", err)
		for name, path := range map[string]string{
			"a database": "larder.db", "the log of one": "larder.db-wal", "an access log": "audit.db",
			"objects": "objects/default/ab/x", "another store": "objects/other/.larder-store", "a file": "objects/file",
		} {
			cfg := s.emptyDestination(t, "sqlite")
			write(t, filepath.Join(cfg.DataDir, path), "something")
			_, _, err := restore(cfg, s.dir)
			wantError(t, name, err, "empty")
			if text, err := os.ReadFile(filepath.Join(cfg.DataDir, path)); err != nil || string(text) != "something" {
				t.Errorf("%s is %q afterwards, %v", name, text, err)
			}
		}
		cfg := s.emptyDestination(t, "postgres")
		d, err := db.Open(t.Context(), db.Config{URL: cfg.DatabaseURL.Reveal(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		exec(t, d, "CREATE TABLE guestbook (line TEXT)")
		_, _, err = restore(cfg, s.dir)
		wantError(t, "a PostgreSQL database with tables", err, "tables", "empty")
		wantUntouched(t, cfg)

		// Allowed in an empty destination: directories for disks, a new disk, unrelated files.
		cfg = s.emptyDestination(t, s.engine)
		for _, dir := range []string{"objects/default/lost+found", "objects/lost+found"} {
			if err := os.MkdirAll(filepath.Join(cfg.DataDir, dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Join(cfg.DataDir, "larder.toml"), "")
		if _, _, err := restore(cfg, s.dir); err != nil {
			t.Errorf("an empty place with directories for disks: %v", err)
		}
		wantSound(t, start(t, s.engine, cfg))
	})
}

// Abuse case C116: without the master key of the original nothing is restored, and the message
// names the next step.
func TestRestoreRequiresTheKey(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.alice.Upload("/home/alice", "a", []byte("a"))
		s.mustBackUp()
		cfg := s.emptyDestination(t, s.engine)
		cfg.SecretKey = keyFingerprint("a wrong one")
		_, _, err := restore(cfg, s.dir)
		wantError(t, "with another key", err, "not the one", "LARDER_SECRET_KEY")
		wantUntouched(t, cfg)

		cfg = s.emptyDestination(t, "sqlite")
		cfg.SecretKey = ""
		_, _, err = restore(cfg, s.dir)
		wantError(t, "without a key", err, "does not contain the secret key", "LARDER_SECRET_KEY")
		wantUntouched(t, cfg)
	})
}

// A key that the service made itself is restored from the backup.
func TestRestoreBringsTheKeyThatWasMade(t *testing.T) {
	t.Parallel()
	s := newFixture(t, "sqlite", func(c *config.Config) { c.SecretKey = "" })
	s.alice.Upload("/home/alice", "a", []byte("a"))
	s.mustBackUp()
	original, err := os.ReadFile(s.a.Config.KeyFile())
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.emptyDestination(t, "sqlite")
	if _, _, err := restore(cfg, s.dir); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(cfg.KeyFile()); err != nil || string(text) != string(original) {
		t.Errorf("the key is another one (%v)", err)
	}
	if info, err := os.Stat(cfg.KeyFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	wantContent(t, start(t, "sqlite", cfg).SignIn(t, "alice", "password of alice"), "/home/alice/a", "a")

	cfg = s.emptyDestination(t, "sqlite")
	write(t, cfg.KeyFile(), string(original))
	if _, _, err := restore(cfg, s.dir); err != nil {
		t.Errorf("where the key lies already: %v", err)
	}
	cfg = s.emptyDestination(t, "sqlite")
	other := newFixture(t, "sqlite", func(c *config.Config) { c.SecretKey = "" })
	foreign, err := os.ReadFile(other.a.Config.KeyFile())
	if err != nil {
		t.Fatal(err)
	}
	write(t, cfg.KeyFile(), string(foreign))
	_, _, err = restore(cfg, s.dir)
	wantError(t, "where another key exists", err, "another service")

	cfg = s.emptyDestination(t, "sqlite")
	write(t, filepath.Join(s.dir, "snapshots", s.snapshots()[0], "secret.key"), string(foreign))
	_, _, err = restore(cfg, s.dir)
	wantError(t, "a backup whose key is another one", err, "secret key in the backup")
	wantUntouched(t, cfg)
}

// manifest changes the manifest of the only snapshot.
func (f *fixture) manifest(change func(m *backup.Manifest)) {
	f.t.Helper()
	path := filepath.Join(f.dir, "snapshots", f.snapshots()[0], "manifest.json")
	text, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	var m backup.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		f.t.Fatal(err)
	}
	change(&m)
	if text, err = json.Marshal(m); err != nil {
		f.t.Fatal(err)
	}
	write(f.t, path, string(text))
}

// A restore refuses unknown and damaged backups before it creates anything.
func TestRestoreRefusesBackups(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.alice.Upload("/home/alice", "a", []byte("a"))
		none := t.TempDir()
		_, _, err := restore(s.emptyDestination(t, "sqlite"), none)
		wantError(t, "an empty directory", err, "no backup")
		s.mustBackUp()
		refused := func(what string, words ...string) {
			t.Helper()
			cfg := s.emptyDestination(t, s.engine)
			_, _, err := restore(cfg, s.dir)
			wantError(t, what, err, words...)
			if _, err := os.Stat(cfg.DatabaseFile()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: and left a database (%v)", what, err)
			}
			if s.engine == "postgres" {
				d, err := db.Open(t.Context(),
					db.Config{URL: cfg.DatabaseURL.Reveal(), Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				if empty, err := d.IsEmpty(t.Context()); err != nil || !empty {
					t.Errorf("%s: and left tables (%v)", what, err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		newest, err := db.SchemaVersion()
		if err != nil {
			t.Fatal(err)
		}
		s.manifest(func(m *backup.Manifest) { m.Schema++ })
		refused("a newer schema", "newer Larder", fmt.Sprint(newest+1))
		s.manifest(func(m *backup.Manifest) { m.Schema--; m.Format++ })
		refused("another format", "format 2")
		s.manifest(func(m *backup.Manifest) { m.Format--; m.Fingerprint = "0123456789abcdef" })
		refused("another key's", "another installation")
		s.manifest(func(m *backup.Manifest) { m.Fingerprint = fingerprint(t, s.dir) })

		_, _, err = restore(s.emptyDestination(t, "sqlite"), s.dir,
			func(o *backup.RestoreOptions) { o.Snapshot = "20010101T000000.000Z" })
		wantError(t, "a snapshot that is not there", err, s.snapshots()[0])

		path := filepath.Join(s.dir, "snapshots", s.snapshots()[0], "larder.db")
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		harmed := slices.Clone(whole)
		harmed[len(harmed)/2] ^= 1
		write(t, path, string(harmed))
		refused("a damaged database", "larder.db", "damaged")
		write(t, path, string(whole))
		if _, _, err := restore(s.emptyDestination(t, s.engine), s.dir); err != nil {
			t.Errorf("as it was: %v", err)
		}
	})
}

func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	var id struct{ Fingerprint string }
	text, err := os.ReadFile(filepath.Join(dir, "larder-backup.json"))
	if err == nil {
		err = json.Unmarshal(text, &id)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id.Fingerprint
}

// All damaged and missing objects are reported. The restore continues when they are back, or
// without them with Incomplete.
func TestRestoreTellsOfDamage(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		content := map[string]string{"gone": "gone content", "changed": "changed content", "short": "short content",
			"long": "long content", "fine": "fine content"}
		keys := map[string]string{}
		for name, text := range content {
			keys[name] = s.object(s.alice.Upload("/home/alice", name, []byte(text)))
		}
		s.mustBackUp()
		if err := os.Remove(s.poolContent(keys["gone"])); err != nil {
			t.Fatal(err)
		}
		goneTo := filepath.Join(filepath.Dir(filepath.Dir(s.poolContent(keys["fine"]))), keys["gone"])
		write(t, s.poolContent(keys["changed"]), "chAnged content")
		write(t, s.poolContent(keys["short"]), "short")
		write(t, s.poolContent(keys["long"]), "long content, and more of it")

		cfg := s.emptyDestination(t, s.engine)
		_, said, err := restore(cfg, s.dir)
		if !errors.Is(err, backup.ErrIncomplete) || !strings.Contains(err.Error(), "4 objects") || len(said) != 4 {
			t.Errorf("%q, %v", said, err)
		}
		for name, key := range keys {
			if slices.ContainsFunc(said, func(line string) bool {
				return strings.Contains(line, key)
			}) != (name != "fine") {
				t.Errorf("%s: it says %q", name, said)
			}
		}
		_, err = app.New(t.Context(), cfg, app.Deps{Now: time.Now, Random: rand.Reader,
			Log: slog.New(slog.DiscardHandler)})
		wantError(t, "a start of an unfinished restore", err, "larder restore")

		write(t, goneTo, content["gone"])
		write(t, s.poolContent(keys["changed"]), content["changed"])
		write(t, s.poolContent(keys["short"]), content["short"])
		if _, said, err := restore(cfg, s.dir); !errors.Is(err, backup.ErrIncomplete) || len(said) != 1 {
			t.Errorf("with three of four back: %q, %v", said, err)
		}
		sum, said, err := restore(cfg, s.dir, func(o *backup.RestoreOptions) { o.Incomplete = true })
		if err != nil || sum.Wrong != 1 || sum.Objects != 4 || len(said) != 1 {
			t.Errorf("incomplete: %+v, %q, %v", sum, said, err)
		}
		l := start(t, s.engine, cfg)
		alice := l.SignIn(t, "alice", "password of alice")
		for _, name := range []string{"fine", "gone", "changed", "short"} {
			wantContent(t, alice, "/home/alice/"+name, content[name])
		}
	})
}

// An interrupted restore leaves nothing that starts, and continues with the same snapshot.
func TestInterruptedRestoreGoesOn(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		for i := range 50 {
			s.alice.Upload("/home/alice", fmt.Sprint("f", i), fmt.Appendf(nil, "content %d", i))
		}
		s.mustBackUp()
		s.alice.Upload("/home/alice", "later", []byte("later"))
		s.mustBackUp(func(o *backup.Options) { o.Keep = 2 })
		first, second := s.snapshots()[0], s.snapshots()[1]
		for _, engine := range dbtest.Engines {
			cfg := s.emptyDestination(t, engine)
			ctx, stop := context.WithCancel(t.Context())
			deps := app.Deps{Now: time.Now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
			_, err := app.Restore(ctx, cfg, deps,
				backup.RestoreOptions{Dir: s.dir, Snapshot: first, Progress: func(p backup.Progress) {
					if p.Objects == 20 {
						stop()
					}
				}})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
			for _, try := range []func(context.Context, config.Config, app.Deps) (*app.App, error){app.New, app.Open} {
				_, err := try(t.Context(), cfg, deps)
				wantError(t, "a start", err, "not finished", "larder restore")
			}
			if _, err := os.Stat(cfg.DatabaseFile()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is a database already: %v", err)
			}
			_, _, err = restore(cfg, s.dir, func(o *backup.RestoreOptions) { o.Snapshot = second })
			wantError(t, "another snapshot", err, first, "unfinished")
			moved := cfg
			moved.ObjectDir = filepath.Join(t.TempDir(), "objects")
			_, _, err = restore(moved, s.dir)
			wantError(t, "another object directory", err, "unfinished")
			sum, _, err := restore(cfg, s.dir)
			if err != nil || sum.Snapshot != first || sum.Objects != 50 {
				t.Fatalf("again: %+v, %v", sum, err)
			}
			l := start(t, engine, cfg)
			wantSound(t, l)
			alice := l.SignIn(t, "alice", "password of alice")
			wantContent(t, alice, "/home/alice/f49", "content 49")
			alice.Get("/home/alice/later").Fails(404, "NOT_FOUND")
			_, _, err = restore(cfg, s.dir)
			wantError(t, "once it runs", err)
		}
	})
}

// Several providers, one of them with a prefix in the bucket of another, are restored to the places
// in their rows.
func TestRestoreBringsEveryProvider(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		admin := s.l.Admin(t)
		for i, body := range []M{
			{"name": "second", "type": "store_a", "bucket": "second", "pathPrefix": "some/where"},
			{"name": "twin", "type": "store_a", "bucket": "default", "pathPrefix": "twin"},
			{"name": "empty", "type": "store_a", "bucket": "empty"},
		} {
			provider := admin.Post("/api/admin/storage/providers", body).OK(201).Text("provider.id")
			path := fmt.Sprint("/m", i)
			admin.Post("/api/admin/mounts", M{"providerId": provider, "mountPath": path, "name": body["name"]}).OK(201)
			if body["name"] != "empty" {
				admin.Upload(path, "file", []byte("in "+path))
			}
		}
		if sum := s.mustBackUp(); sum.Objects != 2 {
			t.Errorf("%+v", sum)
		}
		cfg := s.emptyDestination(t, s.engine)
		cfg.ObjectDir = filepath.Join(t.TempDir(), "elsewhere")
		if _, _, err := restore(cfg, s.dir); err != nil {
			t.Fatal(err)
		}
		l := start(t, s.engine, cfg)
		wantSound(t, l)
		admin = l.Admin(t)
		wantContent(t, admin, "/m0/file", "in /m0")
		wantContent(t, admin, "/m1/file", "in /m1")
		admin.Upload("/m2", "new", []byte("new"))
		if found, err := filepath.Glob(filepath.Join(cfg.ObjectDir, "second", "some", "where", "??",
			"*")); err != nil || len(found) != 1 {
			t.Errorf("in the second bucket: %q, %v", found, err)
		}
	})
}

// The restored service completes a move that was in progress during the backup.
func TestRestoredServiceGoesOnWithJobs(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		admin := s.l.Admin(t)
		provider := admin.Post("/api/admin/storage/providers",
			M{"name": "second", "type": "store_a", "bucket": "second"}).OK(201).Text("provider.id")
		admin.Post("/api/admin/mounts", M{"providerId": provider, "mountPath": "/second", "name": "second"}).OK(201)
		admin.Post("/api/files/folder", M{"path": "/uploads", "name": "folder"}).OK(201)
		var folder string
		for i := range 20 {
			id := admin.Upload("/uploads/folder", fmt.Sprint("f", i), fmt.Appendf(nil, "content %d", i))
			if i == 0 {
				folder = s.parent(id)
			}
		}
		second := filepath.Join(s.a.Config.ObjectDir, "second")
		if err := os.Rename(second, second+"-away"); err != nil { // so that the move cannot finish
			t.Fatal(err)
		}
		job := admin.Post("/api/files/"+folder+"/move", M{"targetPath": "/second"}).OK(200).Text("jobId")
		s.wait("the move was tried", func() bool {
			return fingerprintNumber(t, s.a.DB,
				"SELECT count(*) FROM jobs WHERE id = $1 AND status = 'pending' AND attempts = 1",
				job) == 1
		})
		if err := os.Rename(second+"-away", second); err != nil {
			t.Fatal(err)
		}
		s.exec("UPDATE jobs SET status = 'running', holder = 'somebody', due = $1 WHERE id = $2",
			s.l.Clock.Now().Add(time.Hour).UnixMilli(), job)
		s.mustBackUp()
		l := s.restored(t, s.engine)
		moved := l.Admin(t)
		s.wait("the move was done", func() bool {
			return moved.Get("/api/files/jobs/"+job).OK(200).Text("job.status") == "completed"
		})
		wantContent(t, moved, "/second/folder/f7", "content 7")
		l.Sweep()
		wantSound(t, l)
	})
}

// Mails that were queued during the backup are not sent by the restored service, since the original
// has sent them.
func TestRestoredServiceSendsNoMailsThatWaited(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		for i, kind := range []string{"verify-mail", "resend-mail", "reset-mail", "move"} {
			for _, status := range []string{"pending", "running", "failed"} {
				s.exec(
					"INSERT INTO jobs (id, type, owner_id, status, progress, created_at, payload, due) VALUES ($1, "+
						"$2, '', $3, 0, $4, 'nobody@example.org', 9000000000000)",
					fmt.Sprint(status, i), kind, status, s.l.Clock.Now().UnixMilli())
			}
		}
		s.mustBackUp()
		l := s.restored(t, s.engine)
		if n := fingerprintNumber(t, l.Apps[0].DB, "SELECT count(*) FROM jobs WHERE type LIKE '%mail'"); n != 0 {
			t.Errorf("%d mails wait", n)
		}
		// which runs at once
		if n := fingerprintNumber(t, l.Apps[0].DB,
			"SELECT count(*) FROM jobs WHERE type = 'move' AND id <> 'running3'"); n != 2 {
			t.Errorf("%d other jobs", n)
		}
	})
}

func (f *fixture) parent(id string) (parent string) {
	f.t.Helper()
	if err := f.a.DB.Read(context.Background()).QueryRow("SELECT parent_id FROM entries WHERE id = $1", id).
		Scan(&parent); err != nil {
		f.t.Fatal(err)
	}
	return parent
}

func (f *fixture) wait(what string, condition func() bool) {
	f.t.Helper()
	deadline := time.After(time.Minute)
	for !condition() {
		select {
		case <-deadline:
			f.t.Fatalf("timeout waiting until %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// A snapshot with an older schema is migrated: the frozen dump of each earlier version replaces the
// database of the snapshot.
func TestRestoreMigratesOlderSchemas(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.mustBackUp()
		newest, err := db.SchemaVersion()
		if err != nil {
			t.Fatal(err)
		}
		key := fingerprintNumber(t, s.a.DB, "SELECT value FROM versions WHERE name = 'key'")
		for version := 1; version < newest; version++ {
			path := filepath.Join(s.dir, "snapshots", s.snapshots()[0], "larder.db")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			dump, err := os.ReadFile(fmt.Sprintf("../db/testdata/schema-%04d.sqlite.sql", version))
			if err != nil {
				t.Fatal(err)
			}
			d, err := db.Open(t.Context(), db.Config{Path: path, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			exec(t, d, string(dump))
			exec(t, d, "INSERT INTO versions (name, value) VALUES ('key', $1)", key)
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(text)
			s.manifest(func(m *backup.Manifest) {
				m.Schema = version
				m.Files["larder.db"] = backup.File{Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
			})
			cfg := s.emptyDestination(t, s.engine)
			if _, _, err := restore(cfg, s.dir, func(o *backup.RestoreOptions) { o.Incomplete = true }); err != nil {
				t.Fatalf("version %d: %v", version, err)
			}
			d, err = db.Open(t.Context(), db.Config{URL: cfg.DatabaseURL.Reveal(), Path: cfg.DatabaseFile(),
				Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.CheckSchema(t.Context()); err != nil {
				t.Errorf("version %d: %v", version, err)
			}
			if n := fingerprintNumber(t, d, "SELECT count(*) FROM users WHERE username = 'Alice'"); n != 1 {
				t.Errorf("version %d: %d users named Alice", version, n)
			}
			keys, err := d.HasSortKeys(t.Context())
			if n := fingerprintNumber(t, d, "SELECT count(*) FROM entries WHERE sort_key = "+
				"''"); err != nil || !keys || n != 0 {
				t.Errorf("version %d: sort keys are complete: %v, %v; %d entries have none", version, keys, err, n)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// The access log, which has a database of its own, is backed up.
func TestBackupTakesTheAccessLogAlong(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		log, err := db.Open(t.Context(), db.Config{Path: filepath.Join(s.a.Config.DataDir, "audit.db"),
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		exec(t, log, "CREATE TABLE IF NOT EXISTS tried (line TEXT); INSERT INTO tried VALUES ('a line of before');")
		s.mustBackUp()
		exec(t, log, "INSERT INTO tried VALUES ('a line of after')")
		cfg := s.emptyDestination(t, s.engine)
		if _, _, err := restore(cfg, s.dir); err != nil {
			t.Fatal(err)
		}
		back, err := db.Open(t.Context(), db.Config{Path: filepath.Join(cfg.DataDir, "audit.db"),
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer back.Close()
		if n := fingerprintNumber(t, back, "SELECT count(*) FROM tried"); n != 1 {
			t.Errorf("%d lines", n)
		}
	})
}
