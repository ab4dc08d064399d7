package backup

import (
	"context"
	"fmt"
	"io"
	"time"

	"larder/internal/blob"
)

// source is a backup that can be read: a directory or a bucket.
type source interface {
	fmt.Stringer // its address, for messages

	// identity returns the service of the backup. Error: fs.ErrNotExist when there is no backup.
	identity(ctx context.Context) (identity, error)
	// snapshots lists the complete snapshots, the oldest first.
	snapshots(ctx context.Context) ([]string, error)
	// open opens a file of a snapshot. Error: fs.ErrNotExist.
	open(ctx context.Context, snapshot, name string) (io.ReadCloser, error)
	// openObjects opens the objects of a provider for reading.
	openObjects(ctx context.Context, providerID string) (objectReader, error)
	close() error
}

// objectReader reads the objects of one provider in a backup.
type objectReader interface {
	blob.Opener
	Close() error
}

// target is a backup that is open for writing. It excludes other writers until it is closed.
type target interface {
	source

	// newSnapshotPath returns the local directory in which the new snapshot is made.
	newSnapshotPath() string
	// keepsKey reports whether a snapshot may contain the master key.
	keepsKey() bool
	// removeLeftovers removes the unfinished work that an interrupted run left.
	removeLeftovers(ctx context.Context) error
	// pools lists the providers that have objects in the backup.
	pools(ctx context.Context) ([]string, error)
	// createPool opens the pool of a provider, which it creates first.
	createPool(ctx context.Context, providerID string) (pool, error)
	// openPool opens the pool of a provider.
	openPool(ctx context.Context, providerID string) (pool, error)
	// removePool removes the pool of a provider that no snapshot names.
	removePool(ctx context.Context, providerID string) error
	// repeat calls do, again when it failed because the target could not be reached for a moment.
	repeat(ctx context.Context, do func() error) error
	// publish gives the new snapshot its name when everything else is durable.
	publish(ctx context.Context, name string) error
	// database returns the path of a local copy of a snapshot's database.
	database(ctx context.Context, snapshot string) (string, error)
	// remove removes a snapshot. An interrupted removal has ended the snapshot already.
	remove(ctx context.Context, snapshot string) error
	// snapshotAddress returns where a person finds a snapshot.
	snapshotAddress(snapshot string) string
}

// pool holds the objects of one provider in a backup. The methods are those of blob.Store and
// blob.Walker.
type pool interface {
	blob.Walker
	Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (blob.Info, error)
	blob.Opener
	Stat(ctx context.Context, key blob.Key) (blob.Info, error)
	Delete(ctx context.Context, key blob.Key) error
	Close() error
}

// openTarget opens the target of a backup for writing. It calls lose when the target no longer
// excludes other writers.
func (s *Service) openTarget(ctx context.Context, o Options, lose context.CancelCauseFunc) (target, error) {
	if o.Bucket != nil {
		if err := s.checkApartFromBuckets(ctx, *o.Bucket); err != nil {
			return nil, err
		}
		return s.openBucket(ctx, *o.Bucket, lose)
	}
	if err := s.checkApart(ctx, o.Dir); err != nil {
		return nil, err
	}
	return openDirectory(o.Dir, s.Fingerprint, s.Now)
}

// nextName returns the name for a snapshot of that moment. It sorts after the names of all existing
// snapshots, the oldest of which comes first.
func nextName(names []string, now time.Time) (string, error) {
	name := now.UTC().Format(nameLayout)
	if len(names) > 0 && names[len(names)-1] >= name {
		last, err := time.Parse(nameLayout, names[len(names)-1])
		if err != nil {
			return "", err
		}
		name = last.Add(time.Millisecond).Format(nameLayout)
	}
	return name, nil
}
