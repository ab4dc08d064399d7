package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/s3"
	"larder/internal/crash"
	"larder/internal/osfile"
)

// bucket is a backup in a bucket that is open for writing. The new snapshot is made in a local
// directory and is sent at its end. docs/adr/0022 describes the steps.
type bucket struct {
	bucketSource
	local  string   // directory of this installation for backups to buckets
	lock   *os.File // in local; excludes other backups of this installation
	marker *marker  // in the bucket; excludes other installations

	found     listing
	published string // the name of the new snapshot, "" before it has one
}

var _ target = (*bucket)(nil)

// listing is what a bucket held when the backup began. It needs about 50 bytes for each object.
type listing struct {
	sizes     map[objectName]int64 // bytes of the objects, by the hash of provider and key
	providers map[string]bool      // those with objects
	files     map[string][]string  // names of files, by snapshot
}

// objectName is the first half of the SHA-256 of a name in the bucket.
type objectName [16]byte

func nameOf(name string) objectName {
	sum := sha256.Sum256([]byte(name))
	return objectName(sum[:16])
}

// localName is the local directory for backups to buckets, in the data directory.
const localName = "backup"

// openBucket opens the backup of this service in a bucket for writing. It begins a new backup below
// a prefix that has no objects. It calls lose when another installation writes there.
func (s *Service) openBucket(ctx context.Context, o s3.Options, lose context.CancelCauseFunc) (*bucket, error) {
	from, err := openBucketSource(o)
	if err != nil {
		return nil, err
	}
	b := &bucket{
		bucketSource: *from, local: filepath.Join(s.DataDir, localName),
		found: listing{map[objectName]int64{}, map[string]bool{}, map[string][]string{}},
	}
	if err := b.openLocal(); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if err = b.checkOwner(ctx, s.Fingerprint, o); err == nil {
		err = b.placeMarker(ctx, s, lose)
	}
	if err == nil {
		err = b.claim(ctx, s.Fingerprint)
	}
	if err == nil {
		err = b.list(ctx) // when no other run can change it
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	crash.Point("backup.claimed")
	return b, nil
}

// openLocal locks the local directory, which it creates first.
func (b *bucket) openLocal() error {
	if err := os.MkdirAll(b.local, 0o700); err != nil {
		return fmt.Errorf("make the local directory for backups: %w", err)
	}
	if info, err := os.Lstat(b.local); err != nil || !info.IsDir() {
		return errors.Join(err, fmt.Errorf("%s must be a directory, not a symbolic link", b.local))
	}
	lock, err := os.OpenFile(filepath.Join(b.local, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the local directory for backups: %w", err)
	}
	if err := osfile.Lock(lock, true); err != nil {
		return errors.Join(fmt.Errorf("%s is in use: another backup to a bucket is under way (%w)", b.local, err),
			lock.Close())
	}
	b.lock = lock
	return nil
}

// checkOwner returns an error when there is anything below the prefix but a backup of the service
// with that master key, and when a prefix without a backup lies inside that of another one. o are
// the options of the bucket. It changes nothing.
func (b *bucket) checkOwner(ctx context.Context, fingerprint string, o s3.Options) error {
	id, err := b.identity(ctx)
	if err == nil && id.Fingerprint != fingerprint {
		return fmt.Errorf("%s contains the backup of another installation with another secret key, or of this one "+
			"before `larder rotate-key`: choose another prefix", b)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = b.store.WalkNamed(ctx, "", func(name string, _ int64, _ time.Time) error {
		if isMarker.MatchString(name) {
			return nil
		}
		return fmt.Errorf("%s is not a backup, it contains %q: choose a prefix without objects", b, name)
	})
	if err != nil {
		return b.explain(err)
	}
	return checkNotInside(ctx, o)
}

// checkNotInside returns an error when the prefix of o lies inside that of a backup, whose runs
// abort all uploads below their prefix. It skips a prefix that the credentials may not read.
func checkNotInside(ctx context.Context, o s3.Options) error {
	inner := o.Prefix
	for o.Prefix != "" {
		o.Prefix = strings.TrimPrefix(path.Dir(o.Prefix), ".")
		outer, err := openBucketSource(o)
		if err != nil {
			return err
		}
		_, err = outer.store.StatNamed(ctx, identityName)
		outer.store.Close()
		switch {
		case err == nil:
			return fmt.Errorf("the prefix %q lies inside the backup %s: choose another prefix", inner, outer)
		case !errors.Is(err, blob.ErrNotFound) && !errors.Is(err, s3.ErrDenied):
			return outer.explain(err)
		}
	}
	return nil
}

// list reads all names below the prefix.
func (b *bucket) list(ctx context.Context) error {
	return b.explain(b.store.WalkNamed(ctx, "", func(name string, size int64, _ time.Time) error {
		first, rest, _ := strings.Cut(name, "/")
		second, file, deeper := strings.Cut(rest, "/")
		switch {
		case !deeper:
		case first == objectsName:
			b.found.sizes[nameOf(name)] = size
			b.found.providers[second] = true
		case first == snapshotsName && isSnapshot(second):
			b.found.files[second] = append(b.found.files[second], file)
		}
		return nil
	}))
}

// claim records the service in the bucket, unless it is recorded already.
func (b *bucket) claim(ctx context.Context, fingerprint string) error {
	text, err := json.MarshalIndent(identity{Format: format, Fingerprint: fingerprint}, "", "  ")
	if err != nil {
		return err
	}
	id, err := b.identity(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		if err = b.putText(ctx, identityName, append(text, '\n')); err == nil {
			return nil
		}
		if id, err = b.identity(ctx); err != nil {
			return err
		}
	}
	if err == nil && id.Fingerprint != fingerprint {
		err = fmt.Errorf("%s was claimed by another installation meanwhile: choose another prefix", b)
	}
	return err
}

func (b *bucket) keepsKey() bool { return false }

func (b *bucket) newSnapshotPath() string { return filepath.Join(b.local, newSnapshotName) }

// removeLeftovers removes local files, unfinished uploads, and the files of snapshots without a
// manifest: those that were not finished, or whose removal was not.
func (b *bucket) removeLeftovers(ctx context.Context) error {
	if err := b.removeLocal(); err != nil {
		return err
	}
	if err := b.store.AbortUploads(ctx); err != nil {
		return fmt.Errorf("clean up after an interrupted backup: %w", b.explain(err))
	}
	for snapshot, files := range b.found.files {
		if slices.Contains(files, manifestName) {
			continue
		}
		// the listing may be older than the manifest
		_, err := b.store.StatNamed(ctx, fileName(snapshot, manifestName))
		if err == nil {
			continue
		}
		if !errors.Is(err, blob.ErrNotFound) {
			return fmt.Errorf("clean up after an interrupted backup: %w", b.explain(err))
		}
		if err := b.deleteFiles(ctx, snapshot, files); err != nil {
			return fmt.Errorf("clean up after an interrupted backup: %w", err)
		}
	}
	return nil
}

// removeLocal removes the local files of this or an interrupted run, and no others.
func (b *bucket) removeLocal() error {
	entries, err := os.ReadDir(b.local)
	if err != nil {
		return fmt.Errorf("clean up local files of a backup: %w", err)
	}
	for _, entry := range entries {
		snapshot, isCopy := strings.CutSuffix(strings.TrimSuffix(entry.Name(), newSuffix), databaseSuffix)
		if entry.Name() != newSnapshotName && !(isCopy && isSnapshot(snapshot)) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(b.local, entry.Name())); err != nil {
			return fmt.Errorf("clean up local files of a backup: %w", err)
		}
	}
	return nil
}

func (b *bucket) deleteFiles(ctx context.Context, snapshot string, files []string) error {
	for _, file := range files {
		if err := b.store.DeleteNamed(ctx, fileName(snapshot, file)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bucket) pools(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(b.found.providers)), nil
}

func (b *bucket) createPool(_ context.Context, providerID string) (pool, error) {
	return bucketPool{b, objectPrefix(providerID)}, nil
}

func (b *bucket) openPool(ctx context.Context, providerID string) (pool, error) {
	if err := b.marker.check(ctx); err != nil { // objects are about to be removed
		return nil, err
	}
	return bucketPool{b, objectPrefix(providerID)}, nil
}

// publish sends the files of the new snapshot, and the manifest last, which makes them a snapshot.
func (b *bucket) publish(ctx context.Context, name string) error {
	var m Manifest
	if err := readJSON(filepath.Join(b.newSnapshotPath(), manifestName), &m); err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(m.Files)) {
		if err := b.sendFile(ctx, name, file, m.Files[file]); err != nil {
			return fmt.Errorf("finish a snapshot: %w", b.explain(err))
		}
	}
	crash.Point("backup.sent")
	if err := b.marker.check(ctx); err != nil {
		return err
	}
	size, err := measureFile(filepath.Join(b.newSnapshotPath(), manifestName))
	if err == nil {
		err = b.sendFile(ctx, name, manifestName, size)
	}
	if err != nil {
		return fmt.Errorf("finish a snapshot: %w", b.explain(err))
	}
	b.published = name
	if err := b.marker.check(ctx); err != nil {
		// another run may have removed files of this snapshot
		return errors.Join(err, b.store.DeleteNamed(ctx, fileName(name, manifestName)))
	}
	return nil
}

// databaseSuffix ends the names of the local copies of databases.
const databaseSuffix = ".db"

// isSnapshot reports whether a name is that of a snapshot: a time.
func isSnapshot(name string) bool {
	_, err := time.Parse(nameLayout, name)
	return err == nil
}

// sendFile sends a file of the new snapshot and checks that it is what was measured.
func (b *bucket) sendFile(ctx context.Context, snapshot, name string, want File) error {
	return b.repeat(ctx, func() error {
		file, err := os.Open(filepath.Join(b.newSnapshotPath(), name))
		if err != nil {
			return err
		}
		defer file.Close() // opened for reading
		info, err := b.put(ctx, fileName(snapshot, name), file, want.Size)
		if err == nil && info.SHA256 != nil && hex.EncodeToString(info.SHA256) != want.SHA256 {
			err = fmt.Errorf("%s changed while it was sent", name)
		}
		return err
	})
}

// database returns the path of a local copy, which it fetches for snapshots of earlier runs and
// compares with the manifest.
func (b *bucket) database(ctx context.Context, snapshot string) (string, error) {
	if snapshot == b.published {
		return filepath.Join(b.newSnapshotPath(), databaseName), nil
	}
	to := filepath.Join(b.local, snapshot+databaseSuffix)
	if _, err := os.Lstat(to); err == nil {
		return to, nil
	}
	m, err := readManifest(ctx, b, snapshot)
	if err != nil {
		return "", err
	}
	if err := fetchFile(ctx, b, snapshot, m, databaseName, to+newSuffix); err != nil {
		return "", err
	}
	return to, os.Rename(to+newSuffix, to)
}

// remove removes a snapshot. The deletion of its manifest already ends the snapshot.
func (b *bucket) remove(ctx context.Context, snapshot string) error {
	if err := b.marker.check(ctx); err != nil {
		return err
	}
	err := b.store.DeleteNamed(ctx, fileName(snapshot, manifestName))
	if err == nil {
		crash.Point("backup.ended")
		err = b.deleteFiles(ctx, snapshot, b.found.files[snapshot])
	}
	if err != nil {
		return fmt.Errorf("remove an old snapshot: %w", b.explain(err))
	}
	return nil
}

func (b *bucket) snapshotAddress(snapshot string) string {
	return b.String() + "/" + path.Join(snapshotsName, snapshot)
}

func (b *bucket) close() error {
	if b.marker != nil {
		b.marker.remove()
	}
	var err error
	if b.lock != nil {
		err = errors.Join(b.removeLocal(), b.lock.Close())
	}
	return errors.Join(err, b.bucketSource.close())
}
