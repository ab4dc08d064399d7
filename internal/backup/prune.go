package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/provider"
)

// oldDatabaseAge is by how much the newest change of a database must precede that of an older
// snapshot before the database counts as an old one. A smaller difference may come from deletions.
const oldDatabaseAge = 24 * time.Hour

// prune removes the snapshots beyond Keep, and then the objects in the pool that no remaining
// snapshot names. The new snapshot is published before.
func (r *backupRun) prune(ctx context.Context) error {
	all, err := r.at.snapshots(ctx)
	if err != nil {
		return err
	}
	names, err := r.dropSnapshots(ctx, all)
	if err != nil {
		return err
	}
	kept := make([]*db.DB, 0, len(names))
	defer func() {
		for _, d := range kept {
			_ = d.Close() // opened for reading
		}
	}()
	used := map[string]bool{} // local providers
	for _, name := range names {
		d, err := r.openDatabase(ctx, name)
		if err != nil {
			return err
		}
		kept = append(kept, d)
		m, err := readManifest(ctx, r.at, name)
		if err != nil {
			return err
		}
		for _, p := range m.Providers {
			used[p.ID] = used[p.ID] || p.Type == provider.BuiltIn
		}
	}
	pools, err := r.at.pools(ctx)
	if err != nil {
		return err
	}
	for _, id := range pools {
		if used[id] {
			err = r.prunePool(ctx, id, kept)
		} else {
			err = r.at.removePool(ctx, id)
		}
		if err != nil {
			return fmt.Errorf("prune the objects of provider %s: %w", id, err)
		}
	}
	return nil
}

// dropSnapshots removes the oldest of the snapshots names beyond Keep and returns the names of the
// others. It keeps a snapshot whose database is newer than that of the new one: then an old
// database was backed up, and the snapshot may hold the only record of later files.
func (r *backupRun) dropSnapshots(ctx context.Context, names []string) (left []string, err error) {
	if len(names) == 0 || names[len(names)-1] != r.summary.Snapshot {
		return nil, fmt.Errorf("the newest snapshot should be %s: nothing is pruned", r.summary.Snapshot)
	}
	here, err := r.snapshotState(ctx, r.summary.Snapshot)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if i >= len(names)-r.Keep {
			return append(left, names[i:]...), nil
		}
		there, err := r.snapshotState(ctx, name)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if isOutside(err) {
			return nil, fmt.Errorf("read snapshot %s, which is due to be removed: %w", name, err)
		}
		if err == nil && here.isBehind(there) { // a snapshot that cannot be read is removed
			r.reportSpared(name)
			left = append(left, name)
			continue
		}
		if err := r.at.remove(ctx, name); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// isOutside reports whether an error shows that a snapshot could not be read here and now, and not
// that it is damaged: its target or the local disk failed, or a newer Larder has made it.
func isOutside(err error) bool {
	var errno syscall.Errno
	return errors.Is(err, blob.ErrUnavailable) || errors.Is(err, errNewerSchema) ||
		errors.As(err, &errno) && !errors.Is(errno, fs.ErrNotExist) && errno != syscall.ENOTDIR
}

// snapshotState returns how recent the database in the snapshot with that name is.
func (r *backupRun) snapshotState(ctx context.Context, name string) (at databaseState, err error) {
	d, err := r.openDatabase(ctx, name)
	if err != nil {
		return databaseState{}, err
	}
	defer d.Close() // opened for reading
	return databaseStateOf(d.Read(ctx))
}

func (r *backupRun) openDatabase(ctx context.Context, snapshot string) (*db.DB, error) {
	path, err := r.at.database(ctx, snapshot)
	if err != nil {
		return nil, err
	}
	return db.OpenSnapshot(ctx, path, r.Log)
}

// databaseState shows how recent a database is. Both numbers only grow while a service uses the
// database.
type databaseState struct {
	config int64 // version of the configuration
	newest int64 // time of the newest change in ms
}

// isBehind reports whether a database with state s is older than one with state other: by its
// config version, or by more than oldDatabaseAge.
func (s databaseState) isBehind(other databaseState) bool {
	return s.config < other.config || s.newest < other.newest-oldDatabaseAge.Milliseconds()
}

// reportSpared reports and counts a snapshot that is beyond Keep and was not removed because its
// database is newer.
func (r *backupRun) reportSpared(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Spared++
	if r.Report != nil {
		r.Report(
			fmt.Sprintf(
				"snapshot %s has a newer database than this backup, so it is kept. "+
					"If an older database was restored on purpose, remove %s", name, r.at.snapshotAddress(name)))
	}
}

// prunePool deletes the objects in the pool of a provider that none of the databases in kept, those
// of the remaining snapshots, names.
func (r *backupRun) prunePool(ctx context.Context, providerID string, kept []*db.DB) (err error) {
	pool, err := r.at.openPool(ctx, providerID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	batch := make([]blob.Key, 0, keysPerQuery)
	sift := func() error {
		if len(batch) == 0 {
			return nil
		}
		needed := map[blob.Key]bool{}
		for _, d := range kept {
			there, err := keysInUse(d.Read(ctx), providerID, batch)
			if err != nil {
				return err
			}
			for key := range there {
				needed[key] = true
			}
		}
		for _, key := range batch {
			if needed[key] {
				continue
			}
			if err := pool.Delete(ctx, key); err != nil {
				return err
			}
			r.summary.Pruned++
		}
		batch = batch[:0]
		return nil
	}
	err = pool.Walk(ctx, func(key blob.Key, _ int64, _ time.Time) error {
		batch = append(batch, key)
		if len(batch) == keysPerQuery {
			return sift()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return sift()
}
