package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/backup"
	"larder/internal/blob/blobtest"
	"larder/internal/config"
	"larder/internal/db/dbtest"
	"larder/internal/fsck"
)

// giveOtherKey gives the object of a file another key, as a healing or an evacuation does, and
// damages it there. It returns the key.
func (f *fixture) giveOtherKey(id string) string {
	f.t.Helper()
	old, key := f.object(id), string(blobtest.NewKey())
	if err := os.MkdirAll(filepath.Dir(f.storedPath(key)), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.storedPath(old), f.storedPath(key)); err != nil {
		f.t.Fatal(err)
	}
	f.exec("UPDATE objects SET key = $1 WHERE key = $2", key, old)
	f.damage(key)
	return key
}

// damage changes the bytes of an object.
func (f *fixture) damage(key string) {
	f.t.Helper()
	if err := os.WriteFile(f.storedPath(key), []byte("FIRST"), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// wantHealed scrubs with a backup, and expects that one object is healed.
func (f *fixture) wantHealed(what string, from backup.SourceOptions) {
	f.t.Helper()
	from.DataDir, from.Now, from.Log = f.a.Config.DataDir, time.Now, f.a.Fsck.Log
	sum, err := f.a.Scrub(context.Background(), &from, nil)
	if err != nil || sum.Findings != 1 || sum.Healed != 1 {
		f.t.Errorf("%s: %+v, %v", what, sum, err)
	}
	wantContent(f.t, f.alice, "/home/alice/a.txt", "first")
}

// A scrub heals from a backup in a directory or a bucket: an object with the same key, one that has
// another key since the backup, and one that only an older snapshot has intact.
func TestHealFromABackup(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		id := s.alice.Upload("/home/alice", "a.txt", []byte("first"))
		s.alice.Upload("/home/alice", "b.txt", []byte("other"))
		s.mustBackUp()
		s.save()
		sources := map[string]backup.SourceOptions{"directory": {Dir: s.dir}, "bucket": {Bucket: s.options(s.bucket)}}
		for name, source := range sources {
			s.damage(s.object(id))
			s.wantHealed(name+", the same key", source)
			s.giveOtherKey(id)
			s.wantHealed(name+", another key", source)
		}
		s.giveOtherKey(id)
		for _, into := range []func(*backup.Options){func(*backup.Options) {}, s.into} {
			sum, _, err := s.backUp(into, func(o *backup.Options) { o.Keep = 2 })
			if err != nil || sum.Wrong != 1 {
				t.Fatalf("%+v, %v", sum, err)
			}
		}
		for name, source := range sources {
			s.wantHealed(name+", an older snapshot", source)
			s.giveOtherKey(id)
		}
		copies := func() []string {
			found, err := filepath.Glob(filepath.Join(s.a.Config.DataDir, "scrub-*"))
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		if found := copies(); len(found) > 0 {
			t.Errorf("local copies of databases: %q", found)
		}

		// those that an interrupted process has left are removed, those of another one stay
		left, present := filepath.Join(s.a.Config.DataDir, "scrub-1.db"), filepath.Join(s.a.Config.DataDir, "scrub-2.db")
		for path, age := range map[string]time.Duration{left: 25 * time.Hour, present: 23 * time.Hour} {
			at := time.Now().Add(-age)
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
				t.Fatal(err)
			}
		}
		s.damage(s.object(id))
		s.wantHealed("beside other copies", sources["bucket"])
		if found := copies(); !slices.Equal(found, []string{present}) {
			t.Errorf("local copies of databases: %q, want %s", found, present)
		}
	})
}

// The scrub of a server heals from the backup of its settings. While that is absent it marks the
// damaged object.
func TestServerHealsFromItsBackup(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "set")
			s := newFixture(t, engine, func(c *config.Config) { c.ScrubBackup = dir })
			id := s.alice.Upload("/home/alice", "a.txt", []byte("first"))
			s.a.Fsck.ScrubRate = 1 << 20
			pass := func(healed, marked int64) {
				t.Helper()
				if err := s.a.Fsck.StartScrub(t.Context()); err != nil {
					t.Fatal(err)
				}
				if ran, err := s.a.ScrubJobs.RunNext(t.Context()); !ran || err != nil {
					t.Fatal(ran, err)
				}
				_, sum, err := fsck.LastScrub(s.a.DB.Read(t.Context()))
				if err != nil || sum.Healed != healed || sum.Findings != healed+marked {
					t.Errorf("%+v, %v", sum, err)
				}
			}
			s.damage(s.object(id))
			pass(0, 1)
			if !strings.Contains(s.l.Log.String(), "there is no backup in "+dir) {
				t.Error("the log does not name the absent backup")
			}
			if err := os.WriteFile(s.storedPath(s.object(id)), []byte("first"), 0o600); err != nil {
				t.Fatal(err)
			}
			s.mustBackUp(func(o *backup.Options) { o.Dir = dir })
			key := s.giveOtherKey(id)
			s.l.Clock.Advance(91 * 24 * time.Hour)
			pass(1, 0)
			if healed := s.object(id); healed == key {
				t.Errorf("the file has the object %s, want another one", key)
			} else if content, err := os.ReadFile(s.storedPath(healed)); string(content) != "first" {
				t.Errorf("the file is %q, %v", content, err)
			}
		})
	}
}
