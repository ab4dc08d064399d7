package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"larder/internal/db"
	"larder/internal/osfile"
	"larder/internal/secret"
)

// markerName is the file in the data directory that marks a restore that is not finished.
const markerName = "restoring.json"

// restoreMarker is the content of that file.
type restoreMarker struct{ Snapshot, Fingerprint, ObjectDir string }

// Unfinished reports whether a restore into a data directory was begun and not finished. No service
// may start there.
func Unfinished(dataDir string) (bool, error) {
	m, err := readMarker(dataDir)
	return m != nil, err
}

// readMarker returns the restore that was begun into a data directory, nil when none was.
func readMarker(dataDir string) (*restoreMarker, error) {
	var m restoreMarker
	err := readJSON(filepath.Join(dataDir, markerName), &m)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &m, err
}

// Messages about the master key, with the next step.
const (
	needsKey = "the backup does not contain the secret key: give the LARDER_SECRET_KEY of the service that made it, " +
		"or put the secret.key of its data directory into this one"
	wrongKey = "the secret key is not the one of this backup: give the LARDER_SECRET_KEY of the service that made " +
		"the backup"
)

// checkKey checks that the restored service will have the master key of the original: from the
// settings, from a key file that is there already, or from the backup. The error tells the operator
// which key to give.
func (r *restore) checkKey(ctx context.Context) error {
	want := r.manifest.Fingerprint
	if r.Key != nil {
		if r.Key.Fingerprint() == want {
			return nil
		}
		if r.manifest.KeyIncluded {
			return errors.New(wrongKey + ", or none, since the backup contains it")
		}
		return errors.New(wrongKey)
	}
	_, err := os.Lstat(r.KeyFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for the secret key: %w", err)
	}
	if there := err == nil; there {
		found, err := fingerprintOf(r.KeyFile)
		if err == nil && found != want {
			err = fmt.Errorf("%s is the key of another service: restore into an empty directory", r.KeyFile)
		}
		r.keyInPlace = err == nil
		return err
	}
	if !r.manifest.KeyIncluded {
		return errors.New(needsKey)
	}
	text, err := r.readKey(ctx)
	if err != nil {
		return err
	}
	key, err := secret.ParseKey(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("the secret key in the backup is damaged: %w", err)
	}
	ring, err := secret.New(key)
	if err != nil {
		return err
	}
	if ring.Fingerprint() != want {
		return errors.New(
			"the secret key in the backup is not the one that its manifest names: give the LARDER_SECRET_KEY of the " +
				"service that made the backup")
	}
	return nil
}

// readKey reads the key file of the backup.
func (r *restore) readKey(ctx context.Context) ([]byte, error) {
	file, err := r.from.open(ctx, r.Snapshot, keyName)
	if err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	defer file.Close() // opened for reading
	return io.ReadAll(file)
}

// checkEmpty returns an error when the destination, directories or database, holds anything but
// empty directories.
func (r *restore) checkEmpty(ctx context.Context) error {
	for _, path := range []string{r.DatabaseFile, r.DatabaseFile + "-wal", filepath.Join(r.DataDir, auditName)} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("%s already exists: restore into an empty data directory", path),
				err)
		}
	}
	entries, err := os.ReadDir(r.ObjectDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look into the object directory: %w", err)
	}
	for _, entry := range entries { // empty directories to mount disks on, or links to such, are allowed
		if entry.Name() == "lost+found" {
			continue
		}
		if err := checkEmptyDir(filepath.Join(r.ObjectDir, entry.Name())); err != nil {
			return fmt.Errorf("the object directory is not empty: restore into an empty one (%w)",
				err)
		}
	}
	if r.DatabaseURL == "" {
		return nil
	}
	return r.inPostgres(ctx, func(d *db.DB) error {
		empty, err := d.IsEmpty(ctx)
		if err == nil && !empty {
			err = errors.New("the PostgreSQL database already has tables: restore into an empty one")
		}
		return err
	})
}

// isFinished reports whether an interrupted restore lacked only the last step, the removal of its
// marker: the database is in place and is the one of this snapshot.
func (r *restore) isFinished(ctx context.Context) (done bool, err error) {
	taken, err := r.manifest.takenAt()
	if err != nil {
		return false, err
	}
	ours := func(d *db.DB) error {
		from, err := restoredFrom(ctx, d)
		if err == nil && from != taken {
			err = errors.New("the database is not the one of the interrupted restore")
		}
		done = err == nil
		return err
	}
	if r.DatabaseURL != "" {
		err = r.inPostgres(ctx, func(d *db.DB) error {
			if empty, err := d.IsEmpty(ctx); err != nil || empty {
				return err
			}
			return ours(d)
		})
		return done, err
	}
	if _, err := os.Lstat(r.DatabaseFile); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	d, err := db.OpenSnapshot(ctx, r.DatabaseFile, r.Log)
	if err != nil {
		return false, err
	}
	return done, errors.Join(ours(d), d.Close())
}

// exportToPostgres copies the restored database, so far a SQLite file, into the PostgreSQL database
// of the destination in one transaction.
func (r *restore) exportToPostgres(ctx context.Context) error {
	from, err := db.OpenSnapshot(ctx, r.loadingPath(), r.Log)
	if err != nil {
		return err
	}
	defer from.Close() // opened for reading
	return r.inPostgres(ctx, func(d *db.DB) error { return d.ImportFrom(ctx, from) })
}

// inPostgres opens the PostgreSQL database of the destination, calls do with it and closes it. It
// returns the error of do.
func (r *restore) inPostgres(ctx context.Context, do func(d *db.DB) error) error {
	d, err := db.Open(ctx, db.Config{URL: r.DatabaseURL.Reveal(), Log: r.Log})
	if err != nil {
		return err
	}
	return errors.Join(do(d), d.Close())
}

// finish removes the temporary files and the marker, after which the service can start.
func (r *restore) finish() error {
	for _, path := range []string{r.loadingPath(), filepath.Join(r.DataDir, markerName)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("finish the restore: %w", err)
		}
	}
	if err := osfile.Sync(r.DataDir); err != nil {
		return fmt.Errorf("finish the restore: %w", err)
	}
	return nil
}

// copyFile copies the file name of the snapshot to the path to, durably, and checks its size and
// hash against the manifest.
func (r *restore) copyFile(ctx context.Context, name, to string) error {
	return fetchFile(ctx, r.from, r.Snapshot, r.manifest, name, to)
}

// fetchFile copies a file of a snapshot and checks its size and hash against the manifest.
func fetchFile(ctx context.Context, from source, snapshot string, m Manifest, name, to string) (err error) {
	want, known := m.Files[name]
	if !known {
		return fmt.Errorf("the manifest of the backup does not name %s", name)
	}
	content, err := from.open(ctx, snapshot, name)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer content.Close() // opened for reading
	file, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, h), content)
	if err == nil && (File{Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}) != want {
		err = fmt.Errorf("%s in the backup is damaged: it differs from its checksum in the manifest", name)
	}
	return errors.Join(err, file.Sync(), file.Close())
}
