package files

import (
	"context"
	"fmt"
	"time"

	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
)

const (
	// graves is how many deleted folders one piece looks into, piece how many entries it takes away at most.
	graves = 200
	piece  = 1000
	// garbagePiece is how many objects one piece deletes at most, and retry how long one that could not be deleted is left alone.
	garbagePiece = 500
	retry        = time.Minute
	// enough failures in one piece, and a store is taken for unavailable.
	enough = 3
)

// Collect takes the next piece of deleted folders and the next piece of garbage away, and tells whether there is more to do at once. Nothing else
// deletes objects. It may run in several processes at a time: each piece is claimed in a short transaction first. An object that its store does
// not delete now is tried again a minute later and holds nothing else up; such failures are logged, not returned.
func (t *Tree) Collect(ctx context.Context) (more bool, err error) {
	rows, err := t.collectRows(ctx)
	if err != nil {
		return false, err
	}
	objects, err := t.collectGarbage(ctx)
	return rows || objects, err
}

// collectRows takes away what lies directly in the folders below the graveyard: files go, folders move up below the graveyard, and a folder that
// is empty goes as well.
func (t *Tree) collectRows(ctx context.Context) (more bool, err error) {
	err = t.DB.Write(ctx, func(tx *db.Tx) error {
		found, err := buried(tx)
		if err != nil || len(found) == 0 {
			more = false
			return err
		}
		more = true
		inside, err := contents(tx, found)
		if err != nil {
			return err
		}
		var files, folders []string
		for _, r := range inside {
			if r.folder {
				folders = append(folders, r.id)
			} else {
				files = append(files, r.id)
			}
		}
		if err := t.takeAway(tx, files); err != nil {
			return err
		}
		if err := raise(tx, folders); err != nil {
			return err
		}
		if len(inside) < piece { // then nothing was left behind in them
			return deleteFolders(tx, found)
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("collect deleted entries: %w", err)
	}
	if more {
		crash.Point("collect.rows")
	}
	return more, nil
}

// takeAway deletes the rows of files with their links and releases their objects.
func (t *Tree) takeAway(tx *db.Tx, ids []string) error {
	objects, err := deleteFiles(tx, ids)
	if err != nil {
		return err
	}
	if err := deleteLinks(tx, ids); err != nil {
		return err
	}
	counts := map[string]int64{}
	for _, id := range objects {
		counts[id]++
	}
	var once []string
	for _, id := range objects {
		switch counts[id] {
		case 0: // done
		case 1:
			once = append(once, id)
		default: // copies that share their content
			for range counts[id] {
				if err := t.release(tx, id); err != nil {
					return err
				}
			}
			counts[id] = 0
		}
	}
	return t.releaseAll(tx, once)
}

// collectGarbage deletes the objects whose time has come.
func (t *Tree) collectGarbage(ctx context.Context) (more bool, err error) {
	var claimed []garbage
	err = t.DB.Write(ctx, func(tx *db.Tx) (err error) {
		claimed, err = claim(tx, t.now(), retry.Milliseconds())
		return err
	})
	if err != nil {
		return false, fmt.Errorf("collect garbage: %w", err)
	}
	if len(claimed) > 0 {
		crash.Point("collect.claimed")
	}
	var deleted []garbage
	failures := map[string]int{} // by provider: after some it is not asked again for now, yet one bad object does not hold up the others
	for _, g := range claimed {
		if failures[g.provider] == enough {
			continue
		}
		if err := t.deleteObject(ctx, g); err != nil && !gone(err) {
			if ctx.Err() != nil {
				break
			}
			failures[g.provider]++
			t.Log.Warn("delete an object that nothing refers to", "provider", g.provider, "key", g.key, "error", err)
			continue
		}
		crash.Point("collect.deleted")
		deleted = append(deleted, g)
	}
	if len(deleted) == 0 { // what fails is set aside for a while, and what comes behind it has its turn
		return len(claimed) == garbagePiece, ctx.Err()
	}
	err = t.DB.Write(context.WithoutCancel(ctx), func(tx *db.Tx) error { return forget(tx, deleted) })
	if err != nil {
		return false, fmt.Errorf("collect garbage: %w", err)
	}
	return len(claimed) == garbagePiece, nil
}

func (t *Tree) deleteObject(ctx context.Context, g garbage) error {
	store, err := t.Providers.Store(ctx, g.provider)
	if err != nil {
		return err
	}
	if g.upload.Valid { // first: what is put together at this moment has its object by then, or never
		u := blob.Upload{Key: keyOf(g.key), ID: g.upload.String, Size: 1, PartSize: 1} // to drop it, no store needs to know how large it is
		if err := store.Abort(ctx, u); err != nil {
			return err
		}
	}
	if err := store.Delete(ctx, keyOf(g.key)); err != nil {
		return err
	}
	return nil
}
