package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/backup"
	"larder/internal/config"
	"larder/internal/db/dbtest"
	"larder/internal/object"
)

// freeSession is a free-mode session that ends at $1.
const freeSession = "INSERT INTO free_sessions VALUES ('hash', 'fm_x', 'csrf', 'canary-sealed-place', '192.0.2.1', " +
	"0, $1)"

// A restored service has the bytes, links, passwords and quotas of the time of the backup, on
// either engine. Sessions, open uploads and tokens of the original do not come back.
func TestRestoredServiceIsTheSame(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		const cat = "not really a picture of a cat 🐈"
		alice := s.alice
		id := alice.Upload("/home/alice", "猫.txt", []byte("first"))
		alice.Upload("/home/alice", "猫.txt", []byte(cat), M{"conflict": "replace"})
		alice.Upload("/home/alice/deep/down", "empty", nil)
		gone := alice.Upload("/home/alice", "gone.txt", []byte("gone"))
		alice.Delete("/api/files/" + gone).OK(200)
		link := alice.Post("/api/files/"+id+"/link", nil).OK(200).Text("link.url")
		session := alice.Post("/api/files/upload-session", M{"path": "/home/alice", "fileName": "half", "fileSize": 5}).
			OK(200).Text("sessionId")
		alice.Put("/api/files/upload/raw/"+session, []byte("bytes")).OK(200)
		token := alice.Get("/api/files/" + id + "/download").OK(200).Text("url")
		key := alice.Key(M{})
		s.exec(freeSession, s.l.Clock.Now().Add(time.Hour).UnixMilli())
		// These would become valid again if the versions rose by one only, since the original
		// continues to count after the backup.
		cookies := []*apptest.Client{alice}
		then := fingerprintNumber(t, s.a.DB, "SELECT value FROM versions WHERE name = 'config'")
		s.mustBackUp()
		for range 3 {
			c := s.l.SignIn(t, "alice", "password of alice")
			cookies = append(cookies, c.Fork())
			c.Post("/api/auth/logout", nil).OK(200)
		}
		for _, engine := range dbtest.Engines {
			t.Run("to "+engine, func(t *testing.T) {
				t.Parallel()
				l := s.restored(t, engine)
				wantSound(t, l)
				for i, c := range cookies {
					old := l.Client(t)
					for name, value := range c.Cookies {
						old.Cookies[name] = value
					}
					if r := old.Get("/api/auth/me"); r.Status != 401 {
						t.Errorf("session %d goes on: %d %s", i, r.Status, r.Body)
					}
				}
				again := l.SignIn(t, "alice", "password of alice")
				wantContent(t, again, "/home/alice/猫.txt", cat)
				wantContent(t, again, "/home/alice/deep/down/empty", "")
				wantContent(t, l.Client(t), link, cat)
				if e := again.Get("/api/files/" + id).OK(200); e.Text("file.name") != "猫.txt" {
					t.Errorf("by its id: %s", e.Body)
				}
				again.Get("/home/alice/gone.txt").Fails(404, "NOT_FOUND")
				again.Get("/api/files/"+gone).Fails(404, "NOT_FOUND")
				again.Post("/api/files/upload-complete", M{"sessionId": session, "etag": "x"}).Fails(404, "NOT_FOUND")
				l.Client(t).Get(token).Fails(401, "INVALID_TOKEN")
				d := l.Apps[0].DB
				for what, query := range map[string]string{
					"reservations":    "SELECT CAST(sum(reserved_storage) + sum(reserved_files) AS BIGINT) FROM quotas",
					"upload sessions": "SELECT count(*) FROM upload_sessions WHERE status <> 'completed'",
					"garbage":         "SELECT count(*) FROM garbage",
					"tokens":          "SELECT count(*) FROM download_tokens",
					"free sessions":   "SELECT count(*) FROM free_sessions",
					"holds":           "SELECT count(*) FROM versions WHERE name LIKE 'backup %'",
				} {
					if n := fingerprintNumber(t, d, query); n != 0 {
						t.Errorf("%d %s are left", n, what)
					}
				}
				if now := fingerprintNumber(t, d, "SELECT value FROM versions WHERE name = 'config'"); now <= then {
					t.Errorf("config version %d, was %d", now, then)
				}
				keyed := l.Client(t)
				keyed.Header = key.Header.Clone()
				keyed.Post("/api/upload", "a new file", "X-File-Name", "new.txt").OK(200)
				wantContent(t, again, "/uploads/new.txt", "a new file")
				l.Sweep()
				wantSound(t, l)
			})
		}
	})
}

// A second backup copies only new objects and removes those that no snapshot needs.
func TestSecondBackupCopiesWhatIsNew(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		old := s.alice.Upload("/home/alice", "old", []byte("old content"))
		both := s.alice.Upload("/home/alice", "both", []byte("content of both"))
		oldKey, bothKey := s.object(old), s.object(both)
		if sum := s.mustBackUp(); sum.Objects != 2 || sum.Copied != 2 || sum.Bytes != 26 || sum.Added != 26 ||
			sum.Pruned != 0 {
			t.Errorf("first: %+v", sum)
		}
		before, err := os.Stat(s.poolContent(bothKey))
		if err != nil {
			t.Fatal(err)
		}
		s.alice.Delete("/api/files/" + old).OK(200)
		s.alice.Upload("/home/alice", "new", []byte("new"))
		sum := s.mustBackUp(func(o *backup.Options) { o.Keep = 2 })
		if sum.Objects != 2 || sum.Copied != 1 || sum.Added != 3 || sum.Pruned != 0 || len(s.snapshots()) != 2 ||
			s.poolContent(oldKey) == "" {
			t.Errorf("second: %+v, snapshots %q, the old object at %q", sum, s.snapshots(), s.poolContent(oldKey))
		}
		if after, err := os.Stat(s.poolContent(bothKey)); err != nil || !os.SameFile(before, after) {
			t.Errorf("an existing object was copied again (%v)", err)
		}
		first := s.snapshots()[0]
		l := s.restored(t, "sqlite", func(o *backup.RestoreOptions) { o.Snapshot = first })
		wantContent(t, l.SignIn(t, "alice", "password of alice"), "/home/alice/old", "old content")
		wantSound(t, l)

		if sum = s.mustBackUp(); sum.Copied != 0 || sum.Pruned != 1 || len(s.snapshots()) != 1 ||
			s.poolContent(oldKey) != "" ||
			s.poolContent(bothKey) == "" {
			t.Errorf("third: %+v, snapshots %q, the old object at %q", sum, s.snapshots(), s.poolContent(oldKey))
		}
		s.restored(t, s.engine)
	})
}

// Files are deleted and the collector runs while a backup copies. The backup has all objects of its
// snapshot, and the collector continues afterwards.
func TestBackupHoldsTheCollector(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		const many = 30
		var ids, keys []string
		for i := range many {
			ids = append(ids, s.alice.Upload("/home/alice", fmt.Sprint("f", i), fmt.Appendf(nil, "content %d", i)))
			keys = append(keys, s.object(ids[i]))
		}
		deleted := false
		s.mustBackUp(func(o *backup.Options) {
			o.Progress = func(backup.Progress) {
				if deleted {
					return
				}
				deleted = true
				for _, id := range ids {
					s.alice.Delete("/api/files/" + id).OK(200)
				}
				s.l.Clock.Advance(time.Minute)
				s.l.Sweep()
			}
		})
		for _, key := range keys {
			if s.poolContent(key) == "" {
				t.Errorf("%s was deleted under the backup", key)
			}
		}
		s.l.Clock.Advance(time.Minute)
		s.l.Sweep()
		for _, key := range keys {
			if _, err := os.Stat(s.storedPath(key)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is still there after the backup: %v", key, err)
			}
		}
		l := s.restored(t, s.engine)
		wantSound(t, l)
		wantContent(t, l.SignIn(t, "alice", "password of alice"), "/home/alice/f7", "content 7")
	})
}

// A backup that lost its hold fails and leaves the previous one unchanged.
func TestBackupThatLostItsHoldFails(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.alice.Upload("/home/alice", "a", []byte("a"))
		s.mustBackUp()
		before := s.snapshots()
		s.alice.Upload("/home/alice", "b", []byte("b"))
		late := true
		_, _, err := s.backUp(func(o *backup.Options) {
			o.Progress = func(backup.Progress) {
				if late {
					late = false
					s.l.Clock.Advance(5*time.Minute + time.Millisecond)
				}
			}
		})
		if !errors.Is(err, object.ErrHoldLost) {
			t.Errorf("got %v", err)
		}
		if !slices.Contains(s.snapshots(), before[0]) {
			t.Errorf("the former snapshot is gone: %q", s.snapshots())
		}
		if n := fingerprintNumber(t, s.a.DB, "SELECT count(*) FROM versions WHERE name LIKE 'backup %'"); n != 0 {
			t.Errorf("%d holds are left", n)
		}
		if sum := s.mustBackUp(); sum.Objects != 2 || sum.Copied != 0 {
			t.Errorf("the next one: %+v", sum)
		}
		if names := s.snapshots(); len(names) != 1 || names[0] == before[0] {
			t.Errorf("snapshots %q", names)
		}
	})
}

// A backup after an interrupted one reuses the objects copied so far.
func TestInterruptedBackupGoesOn(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		for i := range 50 {
			s.alice.Upload("/home/alice", fmt.Sprint("f", i), fmt.Appendf(nil, "content %d", i))
		}
		ctx, stop := context.WithCancel(t.Context())
		_, err := s.a.Backup(ctx, "test", backup.Options{Dir: s.dir, Keep: 1, Progress: func(p backup.Progress) {
			if p.Objects == 20 {
				stop()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if _, _, err := restore(s.emptyDestination(t, "sqlite"), s.dir); err == nil ||
			!strings.Contains(err.Error(), "incomplete") {
			t.Errorf("a restore of an unfinished backup: %v", err)
		}
		if sum := s.mustBackUp(); sum.Objects != 50 || sum.Copied < 10 || sum.Copied > 30 {
			t.Errorf("the next one: %+v", sum)
		}
		if names := s.snapshots(); len(names) != 1 {
			t.Errorf("snapshots %q", names)
		}
		wantSound(t, s.restored(t, s.engine))
	})
}

// Damaged objects are reported by their keys and not by file names, and the other objects are
// backed up.
func TestBackupTellsOfDamage(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		damage := map[string]func(path string) error{
			"missing": os.Remove,
			"changed": func(path string) error { return os.WriteFile(path, []byte("chanGed!"), 0o600) },
			"longer":  func(path string) error { return os.WriteFile(path, []byte("changed, and longer"), 0o600) },
			"shorter": func(path string) error { return os.Truncate(path, 3) },
		}
		keys := map[string]string{}
		for name, harm := range damage {
			keys[name] = s.object(s.alice.Upload("/home/alice", name+"-secret-name", []byte("original")))
			if err := harm(s.storedPath(keys[name])); err != nil {
				t.Fatal(err)
			}
		}
		fine := s.object(s.alice.Upload("/home/alice", "fine", []byte("fine")))
		unread := s.alice.Upload("/home/alice", "unread", []byte("unread"))
		s.exec("UPDATE objects SET sha256 = NULL WHERE key = $1", s.object(unread))
		sum, said, err := s.backUp()
		if err != nil || sum.Wrong != 4 || len(said) != 4 || sum.Objects != 6 || sum.Copied != 2 || sum.Unhashed != 1 {
			t.Errorf("%+v, %q, %v", sum, said, err)
		}
		for name, key := range keys {
			if !slices.ContainsFunc(said, func(line string) bool { return strings.Contains(line, key) }) ||
				s.poolContent(key) != "" {
				t.Errorf("%s: the backup says %q, and holds %q", name, said, s.poolContent(key))
			}
		}
		if all := strings.Join(said, "\n"); strings.Contains(all, "secret-name") || strings.Contains(all, fine) {
			t.Errorf("it says %s", all)
		}
		if _, said, err := restore(s.emptyDestination(t, s.engine), s.dir); !errors.Is(err, backup.ErrIncomplete) ||
			len(said) != 4 {
			t.Errorf("restore: %q, %v", said, err)
		}
		cfg := s.emptyDestination(t, s.engine)
		back, said, err := restore(cfg, s.dir, func(o *backup.RestoreOptions) { o.Incomplete = true })
		if err != nil || back.Wrong != 4 || len(said) != 4 || back.Objects != 2 {
			t.Errorf("incomplete: %+v, %q, %v", back, said, err)
		}
		l := start(t, s.engine, cfg)
		alice := l.SignIn(t, "alice", "password of alice")
		wantContent(t, alice, "/home/alice/fine", "fine")
		wantContent(t, alice, "/home/alice/unread", "unread")
	})
}

// An unavailable store ends a backup before anything of the previous one is removed.
func TestBackupNeedsEveryStore(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.alice.Upload("/home/alice", "a", []byte("a"))
		s.mustBackUp()
		before := s.snapshots()
		here := filepath.Join(s.a.Config.ObjectDir, "default")
		if err := os.Rename(here, here+"-away"); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.backUp()
		wantError(t, "without the store", err, "not available")
		if err := os.Rename(here+"-away", here); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(s.snapshots(), before[0]) {
			t.Errorf("the former snapshot is gone: %q", s.snapshots())
		}
		s.mustBackUp()
	})
}

// Objects in the pool are checked by their size, and with Verify by their content.
func TestVerifyReadsThePool(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		key := s.object(s.alice.Upload("/home/alice", "a", []byte("original")))
		other := s.object(s.alice.Upload("/home/alice", "b", []byte("another")))
		s.mustBackUp()
		write(t, s.poolContent(key), "originaL")
		if sum := s.mustBackUp(); sum.Copied != 0 {
			t.Errorf("copied without being asked: %+v", sum)
		}
		sum, said, err := s.backUp(func(o *backup.Options) { o.Verify = true })
		if err != nil || sum.Copied != 1 || sum.Wrong != 0 || len(said) != 1 || !strings.Contains(said[0], key) {
			t.Errorf("%+v, %q, %v", sum, said, err)
		}
		if text, err := os.ReadFile(s.poolContent(key)); err != nil || string(text) != "original" {
			t.Errorf("the pool holds %q, %v", text, err)
		}
		// an object that the store does not have undamaged stays in the pool, since there may be no
		// better copy
		write(t, s.poolContent(key), "originaL")
		write(t, s.storedPath(key), "orig")
		sum, said, err = s.backUp(func(o *backup.Options) { o.Verify = true })
		if err != nil || sum.Wrong != 1 || len(said) != 1 || !strings.Contains(said[0], key) {
			t.Errorf("damaged in both places: %+v, %q, %v", sum, said, err)
		}
		if text, err := os.ReadFile(s.poolContent(key)); err != nil || string(text) != "originaL" {
			t.Errorf("the pool holds %q, %v", text, err)
		}
		write(t, s.storedPath(key), "original")
		s.mustBackUp(func(o *backup.Options) { o.Verify = true }, func(o *backup.Options) { o.Report = nil })
		write(t, s.poolContent(other), "short")
		if sum := s.mustBackUp(); sum.Copied != 1 {
			t.Errorf("another length is noticed anyway: %+v", sum)
		}
	})
}

// Abuse case C118: files 0600, directories 0700. Abuse case C114: no password and no token can be
// read in a backup.
func TestBackupIsPrivate(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		key := s.alice.Key(M{})
		id := s.alice.Upload("/home/alice", "a", []byte("a"))
		url := s.alice.Get("/api/files/" + id + "/download").OK(200).Text("url")
		s.exec(freeSession, s.l.Clock.Now().Add(time.Hour).UnixMilli())
		s.exec("INSERT INTO guesses VALUES ('canary-of-wrong-passwords', $1)",
			s.l.Clock.Now().Add(time.Hour).UnixMicro())
		s.exec("INSERT INTO replicas VALUES ('canary-of-another-replica', '', 0, 0, $1)", s.l.Clock.Now().UnixMilli())
		write(t, filepath.Join(s.a.Config.DataDir, "larder.toml"), "")
		s.mustBackUp()
		secrets := []string{
			"password of alice", apptest.AdminPassword, strings.TrimPrefix(key.Header.Get("Authorization"), "Bearer "),
			"canary-sealed-place", "canary-of-wrong-passwords", "canary-of-another-replica", s.alice.CSRF,
			url[strings.LastIndex(url, "/")+1:], string(keyFingerprint(t.Name())),
		}
		for _, value := range s.alice.Cookies {
			secrets = append(secrets, value)
		}
		seen := 0
		err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if entry.IsDir() {
				want = 0o700
			}
			if info.Mode().Perm() != want {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			if entry.IsDir() {
				return nil
			}
			seen++
			text, err := os.ReadFile(path)
			for i, word := range secrets {
				if len(word) < 16 {
					t.Errorf("secret %d is too short to look for: %q", i, word)
				}
				if bytes.Contains(text, []byte(word)) {
					t.Errorf("%s holds secret %d", path, i)
				}
			}
			return err
		})
		if err != nil || seen < 6 {
			t.Errorf("%d files, %v", seen, err)
		}
	})
}

// A backup requires a directory that is empty or holds a backup of the same installation, and that
// is separate from the backed-up data.
func TestBackupRefusesDirectories(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.mustBackUp()
		at := func(dir string) error {
			_, _, err := s.backUp(func(o *backup.Options) { o.Dir = dir })
			return err
		}
		full := t.TempDir()
		write(t, filepath.Join(full, "thesis.txt"), "")
		wantError(t, "a directory that holds something else", at(full), "thesis.txt", "empty directory")
		foreign := t.TempDir()
		write(t, filepath.Join(foreign, "objects", "x"), "")
		wantError(t, "a directory with other objects", at(foreign), "empty directory")
		wantError(t, "a file", at(filepath.Join(full, "thesis.txt")))
		if names, err := os.ReadDir(full); err != nil || len(names) != 1 {
			t.Errorf("a refused backup left %v, %v", names, err)
		}
		data, objects := s.a.Config.DataDir, s.a.Config.ObjectDir
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(data, link); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{data, filepath.Join(data, "b"), filepath.Join(objects, "b"),
			filepath.Join(objects, "default", "b"), filepath.Join(link, "b", "c"), filepath.Dir(data)} {
			wantError(t, dir, at(dir), "apart from")
		}
		if _, err := os.Stat(filepath.Join(data, "b")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a refused backup made its directory: %v", err)
		}
		wantError(t, "nothing kept", func() error {
			_, _, err := s.backUp(func(o *backup.Options) { o.Keep = 0 })
			return err
		}(), "at least one")

		write(t, filepath.Join(t.TempDir(), "lost+found", "x"), "")
		disk := t.TempDir() // a new disk
		if err := os.Mkdir(filepath.Join(disk, "lost+found"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := at(disk); err != nil {
			t.Errorf("a new disk: %v", err)
		}
		other := newFixture(t, s.engine, func(c *config.Config) { c.SecretKey = keyFingerprint("another") })
		other.dir = s.dir
		_, _, err := other.backUp()
		wantError(t, "another installation's", err, "another installation")
		if sum := s.mustBackUp(); sum.Snapshot == "" {
			t.Error("the backup was harmed")
		}
	})
}

// Of two parallel backups into one directory one is refused. Backups into two directories both
// succeed.
func TestBackupsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.alice.Upload("/home/alice", "a", []byte("a"))
		var same, other error
		s.mustBackUp(func(o *backup.Options) {
			o.Progress = func(backup.Progress) {
				_, _, same = s.backUp()
				_, _, other = s.backUp(func(o *backup.Options) { o.Dir = s.dir + "-2" })
				_, _, err := restore(s.emptyDestination(t, "sqlite"), s.dir)
				wantError(t, "a restore meanwhile", err, "under way")
			}
		})
		wantError(t, "into the same directory", same, "in use")
		if other != nil {
			t.Errorf("into another directory: %v", other)
		}
		if n := fingerprintNumber(t, s.a.DB, "SELECT count(*) FROM versions WHERE name LIKE 'backup %'"); n != 0 {
			t.Errorf("%d holds are left", n)
		}
	})
}

// The names of snapshots stay in order when the clock goes back.
func TestSnapshotsStayInOrder(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		first := s.mustBackUp(func(o *backup.Options) { o.Keep = 3 }).Snapshot
		s.l.Clock.Advance(-time.Hour)
		second := s.mustBackUp(func(o *backup.Options) { o.Keep = 3 }).Snapshot
		third := s.mustBackUp(func(o *backup.Options) { o.Keep = 2 }).Snapshot
		if first >= second || second >= third || !slices.Equal(s.snapshots(), []string{second, third}) {
			t.Errorf("%s, %s, %s; kept %q", first, second, third, s.snapshots())
		}
	})
}
