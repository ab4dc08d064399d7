package backup_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/backup"
	"larder/internal/blob/disk"
)

// After an old database was brought back, its backups do not remove the snapshots of the later
// time.
func TestOldDatabaseDoesNotPruneNewSnapshots(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		two := func(o *backup.Options) { o.Keep = 2 }
		s.alice.Upload("/home/alice", "old", []byte("old"))
		first := s.mustBackUp(two).Snapshot
		s.l.User(t, "bob")
		s.l.User(t, "carol")
		key := s.object(s.alice.Upload("/home/alice", "new", []byte("of the days since")))
		second := s.mustBackUp(two).Snapshot

		l := s.restored(t, s.engine, func(o *backup.RestoreOptions) { o.Snapshot = first })
		s.a = l.Apps[0]
		sum, said, err := s.backUp()
		if err != nil || sum.Spared != 1 || len(said) != 1 || !strings.Contains(said[0], second) {
			t.Errorf("backup of the old database: %+v, %q, %v", sum, said, err)
		}
		if names := s.snapshots(); !slices.Equal(names, []string{second, sum.Snapshot}) || s.poolContent(key) == "" {
			t.Errorf("snapshots %q, the new object at %q", names, s.poolContent(key))
		}
		if err := os.RemoveAll(filepath.Join(s.dir, "snapshots", second)); err != nil { // as the message says
			t.Fatal(err)
		}
		if sum := s.mustBackUp(); sum.Pruned != 1 || s.poolContent(key) != "" {
			t.Errorf("the next one: %+v, the new object at %q", sum, s.poolContent(key))
		}
	})
}

// A difference below a day may come from deletions. A millisecond more means an old database, and
// so does an older configuration.
func TestOldDatabaseThreshold(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.alice.Upload("/home/alice", "f", []byte("content"))
		newest := func(at time.Time) {
			for _, set := range []string{"entries SET updated_at", "objects SET created_at", "jobs SET created_at",
				"users SET updated_at"} {
				s.exec("UPDATE "+set+" = $1", at.UnixMilli())
			}
		}
		spared := func() int64 {
			t.Helper()
			sum, _, err := s.backUp()
			if err != nil {
				t.Fatal(err)
			}
			return sum.Spared
		}
		now := s.l.Clock.Now()
		newest(now)
		s.mustBackUp()
		newest(now.Add(-24 * time.Hour))
		if n := spared(); n != 0 {
			t.Errorf("a day: %d snapshots stay", n)
		}
		newest(now.Add(-48*time.Hour - time.Millisecond))
		if n := spared(); n != 1 {
			t.Errorf("a day and a millisecond: %d snapshots stay", n)
		}
		newest(now) // the database is used until it is as recent
		if s.mustBackUp(); len(s.snapshots()) != 1 {
			t.Errorf("snapshots %q", s.snapshots())
		}
		s.exec("UPDATE versions SET value = value - 1 WHERE name = 'config'")
		if n := spared(); n != 1 {
			t.Errorf("an older configuration: %d snapshots stay", n)
		}
		s.exec("UPDATE versions SET value = value + 1 WHERE name = 'config'")
		if s.mustBackUp(); len(s.snapshots()) != 1 {
			t.Errorf("snapshots %q", s.snapshots())
		}
	})
}

// Only the pools of providers that no snapshot names are removed from the directory, and no other
// files.
func TestPruneLeavesForeignNamesAlone(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.mustBackUp()
		text, err := os.ReadFile(filepath.Join(s.dir, "larder-backup.json"))
		if err != nil {
			t.Fatal(err)
		}
		var id struct{ Fingerprint string }
		if err := json.Unmarshal(text, &id); err != nil {
			t.Fatal(err)
		}
		objects := filepath.Join(s.dir, "objects")
		foreign := []string{"lost+found/#12345", "holidays/photo.jpg", "note.txt"}
		for _, name := range foreign {
			write(t, filepath.Join(objects, name), "somebody else's")
		}
		for pool, marker := range map[string]string{"gone": "larder-backup-" + id.Fingerprint,
			"another's": "larder-backup-0123456789abcdef"} {
			if err := disk.Create(filepath.Join(objects, pool), marker); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(objects, pool, "ab", "00112233445566778899aabbccddeeff"), "content")
		}
		s.mustBackUp()
		for _, name := range append(foreign, "another's/ab/00112233445566778899aabbccddeeff") {
			if _, err := os.Stat(filepath.Join(objects, name)); err != nil {
				t.Error(err)
			}
		}
		for _, name := range []string{"gone", ".old"} {
			if _, err := os.Stat(filepath.Join(objects, name)); err == nil {
				t.Errorf("%s is left", name)
			}
		}
		write(t, filepath.Join(objects, ".old", "ab", "x"), "of an interrupted removal")
		s.mustBackUp()
		if _, err := os.Stat(filepath.Join(objects, ".old")); err == nil {
			t.Error("the rest of an interrupted removal is not removed")
		}
	})
}
