package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/disk"
	"larder/internal/db"
	"larder/internal/provider"
)

// prune removes the snapshots that are not to be kept, and then what no snapshot names.
func (r *run) prune(ctx context.Context) error {
	names, err := snapshots(r.dir.path)
	if err != nil {
		return err
	}
	for ; len(names) > r.Keep; names = names[1:] {
		if err := r.dir.remove(names[0]); err != nil {
			return err
		}
	}
	kept := make([]*db.DB, 0, len(names))
	defer func() {
		for _, d := range kept {
			_ = d.Close() // opened to read
		}
	}()
	used := map[string]bool{} // providers
	for _, name := range names {
		d, err := db.OpenSnapshot(ctx, filepath.Join(r.dir.path, snapshotsName, name, databaseName), r.Log)
		if err != nil {
			return err
		}
		kept = append(kept, d)
		m, err := readManifest(r.dir.path, name)
		if err != nil {
			return err
		}
		for _, p := range m.Providers {
			used[p.ID] = used[p.ID] || p.Type == provider.BuiltIn
		}
	}
	pools, err := os.ReadDir(filepath.Join(r.dir.path, objectsName))
	if err != nil {
		return fmt.Errorf("list the objects of a backup: %w", err)
	}
	for _, pool := range pools {
		if used[pool.Name()] {
			err = r.prunePool(ctx, pool.Name(), kept)
		} else {
			err = os.RemoveAll(r.dir.pool(pool.Name()))
		}
		if err != nil {
			return fmt.Errorf("prune the objects of provider %s: %w", pool.Name(), err)
		}
	}
	return nil
}

// prunePool takes out of one provider's pool what no snapshot names.
func (r *run) prunePool(ctx context.Context, providerID string, kept []*db.DB) (err error) {
	pool, err := disk.Open(r.dir.pool(providerID), "larder-backup-"+r.Fingerprint, disk.Options{Now: r.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	batch := make([]blob.Key, 0, keyPiece)
	sift := func() error {
		if len(batch) == 0 {
			return nil
		}
		needed := map[blob.Key]bool{}
		for _, d := range kept {
			there, err := named(d.Read(ctx), providerID, batch)
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
			r.sum.Pruned++
		}
		batch = batch[:0]
		return nil
	}
	err = pool.Walk(ctx, func(key blob.Key, _ int64, _ time.Time) error {
		batch = append(batch, key)
		if len(batch) == keyPiece {
			return sift()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return sift()
}
