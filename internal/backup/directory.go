package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/disk"
	"larder/internal/osfile"
)

// The files of a backup.
const (
	identityName  = "larder-backup.json" // identifies the service
	lockName      = "lock"
	snapshotsName = "snapshots"
	objectsName   = "objects"

	// The files of a snapshot.
	databaseName  = "larder.db"
	manifestName  = "manifest.json"
	elsewhereName = "elsewhere.jsonl"
	keyName       = "secret.key"
	auditName     = "audit.db" // the same name as in the data directory

	newSnapshotName = ".new" // a snapshot that is being written
	removedName     = ".old" // a snapshot or a pool that is being removed
	nameLayout      = "20060102T150405.000Z"
)

// directory is a backup in a directory that is open for writing. Its lock excludes other writers.
type directory struct {
	directorySource
	fingerprint string
	now         func() time.Time
	lock        *os.File
}

var _ target = (*directory)(nil)

// openDirectory opens and locks the backup at path of the service whose master key has that
// fingerprint. It begins a new backup in a directory that is empty or does not exist. The caller
// closes it.
func openDirectory(path, fingerprint string, now func() time.Time) (*directory, error) {
	if err := disk.MakeDir(path); err != nil {
		return nil, fmt.Errorf("make the backup's directory: %w", err)
	}
	if err := checkOwner(path, fingerprint); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the backup: %w", err)
	}
	d := &directory{directorySource{path}, fingerprint, now, lock}
	if err := osfile.Lock(lock, true); err != nil {
		return nil,
			errors.Join(fmt.Errorf("%s is in use: another backup into it, or a restore from it, is under way (%w)",
				path, err), d.close())
	}
	err = d.claim(fingerprint)
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// claim records the service with that fingerprint as the owner of the backup, unless it is recorded
// already. It makes the directories of a new backup.
func (d *directory) claim(fingerprint string) error {
	if err := checkOwner(d.path, fingerprint); err != nil { // again, now under the lock
		return err
	}
	for _, name := range []string{objectsName, snapshotsName} {
		if err := disk.MakeDir(filepath.Join(d.path, name)); err != nil {
			return fmt.Errorf("make the backup's directory: %w", err)
		}
	}
	if _, err := os.Lstat(filepath.Join(d.path, identityName)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeJSON(d.path, identityName, identity{Format: format, Fingerprint: fingerprint})
}

// checkOwner returns an error when the directory at path holds anything but a backup of the service
// whose master key has that fingerprint.
func checkOwner(path, fingerprint string) error {
	id, err := readIdentity(path)
	if err == nil {
		if id.Fingerprint != fingerprint {
			return fmt.Errorf(
				"%s contains the backup of another installation with another secret key, or of this one before "+
					"`larder rotate-key`: choose another directory",
				path)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("look into the backup's directory: %w", err)
	}
	for _, name := range names { // files that are made before the identity is written
		if !slices.Contains([]string{"lost+found", lockName, objectsName, snapshotsName, identityName + newSuffix},
			name.Name()) {
			return fmt.Errorf("%s is not a backup, it contains %q: choose an empty directory", path, name.Name())
		}
	}
	for _, name := range []string{objectsName, snapshotsName} {
		if err := checkEmptyDir(filepath.Join(path, name)); err != nil {
			return fmt.Errorf("%s is not a backup: choose an empty directory (%w)", path, err)
		}
	}
	return nil
}

// close releases the lock.
func (d *directory) close() error { return d.lock.Close() }

func (d *directory) keepsKey() bool { return true }

func (d *directory) repeat(_ context.Context, do func() error) error { return do() }

func (d *directory) newSnapshotPath() string {
	return filepath.Join(d.path, snapshotsName, newSnapshotName)
}

func (d *directory) poolPath(providerID string) string {
	return filepath.Join(d.path, objectsName, providerID)
}

func (d *directory) pools(context.Context) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(d.path, objectsName))
	if err != nil {
		return nil, fmt.Errorf("list the objects of a backup: %w", err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, nil
}

// poolMarker returns the marker of the pools of a backup, which contains the fingerprint of the
// service's master key.
func poolMarker(fingerprint string) string { return "larder-backup-" + fingerprint }

func (d *directory) createPool(_ context.Context, providerID string) (pool, error) {
	if err := disk.Create(d.poolPath(providerID), poolMarker(d.fingerprint)); err != nil {
		return nil, fmt.Errorf("make room in the backup: %w", err)
	}
	p, err := d.openDisk(providerID)
	if err != nil {
		return nil, err
	}
	// of any age, since no other process writes here
	if _, err := p.SweepTemp(d.now().AddDate(100, 0, 0)); err != nil {
		return nil, errors.Join(fmt.Errorf("clean up after an interrupted backup: %w", err), p.Close())
	}
	return p, nil
}

func (d *directory) openPool(_ context.Context, providerID string) (pool, error) {
	return d.openDisk(providerID)
}

func (d *directory) openDisk(providerID string) (*disk.Store, error) {
	return disk.Open(d.poolPath(providerID), poolMarker(d.fingerprint), disk.Options{Now: d.now})
}

// removeLeftovers removes the incomplete snapshots and pools that an interrupted run left.
func (d *directory) removeLeftovers(context.Context) error {
	for _, path := range []string{filepath.Join(snapshotsName, newSnapshotName),
		filepath.Join(snapshotsName, removedName),
		filepath.Join(objectsName, removedName)} {
		if err := os.RemoveAll(filepath.Join(d.path, path)); err != nil {
			return fmt.Errorf("clean up after an interrupted backup: %w", err)
		}
	}
	return nil
}

// publish gives the new snapshot its name, durably, when its content is durable. From then on it is
// a backup.
func (d *directory) publish(_ context.Context, name string) error {
	parent := filepath.Join(d.path, snapshotsName)
	if err := osfile.Sync(d.newSnapshotPath()); err != nil {
		return fmt.Errorf("finish a snapshot: %w", err)
	}
	if err := os.Rename(d.newSnapshotPath(), filepath.Join(parent, name)); err != nil {
		return fmt.Errorf("finish a snapshot: %w", err)
	}
	if err := osfile.Sync(parent); err != nil {
		return fmt.Errorf("finish a snapshot: %w", err)
	}
	return nil
}

func (d *directory) database(_ context.Context, snapshot string) (string, error) {
	return filepath.Join(d.snapshotAddress(snapshot), databaseName), nil
}

func (d *directory) snapshotAddress(snapshot string) string {
	return filepath.Join(d.path, snapshotsName, snapshot)
}

// remove removes the snapshot with that name. The rename at its beginning already ends the
// snapshot.
func (d *directory) remove(_ context.Context, name string) error {
	old := filepath.Join(d.path, snapshotsName, removedName)
	err := os.Rename(filepath.Join(d.path, snapshotsName, name), old)
	if err == nil {
		err = osfile.Sync(filepath.Dir(old)) // before its objects are removed
	}
	if err == nil {
		err = os.RemoveAll(old)
	}
	if err != nil {
		return fmt.Errorf("remove an old snapshot: %w", err)
	}
	return nil
}

// removePool removes the pool of a provider that no snapshot names, and no other directory. The
// rename at its beginning already ends the pool; an interrupted removal is completed by the next
// run.
func (d *directory) removePool(ctx context.Context, providerID string) error {
	if !d.isPool(ctx, providerID) {
		return nil
	}
	old := filepath.Join(d.path, objectsName, removedName)
	if err := os.Rename(d.poolPath(providerID), old); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// isPool reports whether a directory in objects/ is a pool of this service.
func (d *directory) isPool(ctx context.Context, name string) bool {
	p, err := d.openDisk(name)
	if err != nil {
		return false
	}
	defer p.Close() // closes descriptors
	_, err = p.Stat(ctx, absentKey)
	return errors.Is(err, blob.ErrNotFound)
}

// directorySource is a backup in a directory that is read.
type directorySource struct{ path string }

func (d directorySource) String() string { return d.path }

func (d directorySource) identity(context.Context) (identity, error) { return readIdentity(d.path) }

func (d directorySource) open(_ context.Context, snapshot, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(d.path, snapshotsName, snapshot, name))
}

// openObjects opens the objects of a provider, which may be absent.
func (d directorySource) openObjects(_ context.Context, providerID string) (objectReader, error) {
	root, err := os.OpenRoot(filepath.Join(d.path, objectsName, providerID))
	if errors.Is(err, fs.ErrNotExist) {
		return directoryObjects{}, nil
	}
	return directoryObjects{root}, err
}

func (d directorySource) close() error { return nil }

// directoryObjects are the objects of one provider; root is nil when there are none.
type directoryObjects struct{ root *os.Root }

func (o directoryObjects) Open(_ context.Context, key blob.Key) (blob.Object, error) {
	if o.root == nil {
		return nil, blob.ErrNotFound
	}
	file, err := o.root.Open(string(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, blob.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return objectFile{file, info.Size()}, nil
}

// objectFile is an object in a directory.
type objectFile struct {
	*os.File
	size int64
}

func (o objectFile) Size() int64 { return o.size }

func (o directoryObjects) Close() error {
	if o.root == nil {
		return nil
	}
	return o.root.Close()
}

// snapshots lists the names of the complete snapshots of the backup at path, the oldest first.
func (d directorySource) snapshots(context.Context) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(d.path, snapshotsName))
	if err != nil {
		return nil, fmt.Errorf("list the snapshots of a backup: %w", err)
	}
	var names []string
	for _, entry := range entries { // sorted by name
		if _, err := time.Parse(nameLayout, entry.Name()); err == nil && entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// checkEmptyDir returns an error when the directory holds anything. A directory that does not exist
// is empty.
func checkEmptyDir(path string) error {
	names, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		if name.Name() != "lost+found" {
			return fmt.Errorf("%s holds %q", path, name.Name())
		}
	}
	return nil
}

// resolve returns the absolute path without symbolic links, as far as the path exists.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		if real, err = resolve(filepath.Dir(path)); err == nil {
			real = filepath.Join(real, filepath.Base(path))
		}
	}
	return real, err
}

// inside reports whether the path equals the directory of or lies below it.
func inside(path, of string) bool {
	way, err := filepath.Rel(of, path)
	return err == nil && filepath.IsLocal(way)
}

// checkProviderName returns an error for a provider id that cannot be the name of a directory in
// the pool. Ids come from a database, which may be damaged.
func checkProviderName(id string) error {
	if id == "" || id[0] == '.' || strings.ContainsFunc(id,
		func(r rune) bool { return r <= ' ' || r > '~' || r == '/' }) || len(id) > 100 {
		return fmt.Errorf("provider %.80q has an id that can't be the name of a directory", id)
	}
	return nil
}
