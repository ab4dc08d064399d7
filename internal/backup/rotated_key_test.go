package backup_test

import (
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"larder/internal/backup"
	"larder/internal/config"
	"larder/internal/secret"
)

// A backup during which the key is replaced ends without a snapshot: its manifest would name
// another key than that of the database or of the key file.
func TestKeyReplacedDuringABackup(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.alice.Upload("/home/alice", "a", []byte("a"))
		cfg := backup.Config{DB: s.a.DB, Objects: s.a.Objects, Providers: s.a.Providers, Now: time.Now,
			Log: slog.New(slog.DiscardHandler), DataDir: s.a.Config.DataDir, ObjectDir: s.a.Config.ObjectDir,
			Fingerprint: "0123456789abcdef"} // as before the rotation
		_, err := backup.New(cfg).Run(t.Context(), backup.Options{Dir: s.dir, Keep: 1})
		wantError(t, "the database has another key", err, "the secret key was replaced")
		wantNoSnapshot(t, s.dir)
	})
	t.Run("file", func(t *testing.T) {
		s := newFixture(t, "sqlite", func(c *config.Config) { c.SecretKey = "" })
		s.alice.Upload("/home/alice", "a", []byte("a"))
		_, _, err := s.backUp(func(o *backup.Options) {
			o.Progress = func(backup.Progress) { // after the copy of the database
				path := s.a.Config.KeyFile()
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
				if _, err := secret.LoadOrCreate(path, rand.Reader); err != nil {
					t.Error(err)
				}
			}
		})
		wantError(t, "the file has another key", err, "the secret key was replaced")
		wantNoSnapshot(t, s.dir)
	})
}

func wantNoSnapshot(t *testing.T, dir string) {
	t.Helper()
	if found, err := filepath.Glob(filepath.Join(dir, "snapshots", "2*")); err != nil || len(found) > 0 {
		t.Errorf("snapshots %q, %v", found, err)
	}
}
