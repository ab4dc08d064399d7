package files

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"larder/internal/crash"
	"larder/internal/db"
)

const (
	// foldersPerPiece is the number of deleted folders that one piece looks into, entriesPerPiece
	// the maximal number of entries that it deletes.
	foldersPerPiece = 200
	entriesPerPiece = 1000
)

// Collect is one step of the collector. It deletes the rows of the next deleted folders in the
// graveyard, and the next garbage in the stores (object.Registry.Collect). more reports that there
// is more to do at once. It may run in several processes at a time.
func (t *Tree) Collect(ctx context.Context) (more bool, err error) {
	rows, err := t.collectRows(ctx)
	if err != nil {
		return false, err
	}
	objects, err := t.Objects.Collect(ctx)
	return rows || objects, err
}

// collectRows deletes the direct content of up to foldersPerPiece folders in the graveyard, at most
// entriesPerPiece entries, in one transaction: it deletes the files, moves the folders in them up
// to the graveyard, and deletes the emptied folders. more is false when the graveyard is empty.
func (t *Tree) collectRows(ctx context.Context) (more bool, err error) {
	err = t.DB.Write(ctx, func(tx *db.Tx) error {
		found, err := graveyardFolders(tx)
		if err != nil || len(found) == 0 {
			more = false
			return err
		}
		if err := deleteProperties(tx, found); err != nil {
			return err
		}
		if err := deleteFavouritesOf(tx, found); err != nil {
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
		if err := t.purgeFiles(tx, files); err != nil {
			return err
		}
		if err := moveToGraveyard(tx, folders); err != nil {
			return err
		}
		if len(inside) < entriesPerPiece { // the folders are empty now
			if err := deletePlacesOf(tx, found); err != nil {
				return err
			}
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

// purgeFiles deletes the rows of files for good, with their links, properties, favourites and
// history, and releases their objects. It does not change quotas: the deleted folder was credited
// when it was deleted.
func (t *Tree) purgeFiles(tx *db.Tx, ids []string) error {
	gone, err := deleteFiles(tx, ids)
	if err != nil {
		return err
	}
	return t.releaseFiles(tx, ids, gone)
}

// releaseFiles deletes the permanent links, dead properties, favourites, versions and former places
// of the files ids, and releases the objects of the rows gone, which this transaction has deleted.
func (t *Tree) releaseFiles(tx *db.Tx, ids []string, gone []row) error {
	if err := deleteLinks(tx, ids); err != nil {
		return err
	}
	if err := deleteProperties(tx, ids); err != nil {
		return err
	}
	if err := deleteFavouritesOf(tx, ids); err != nil {
		return err
	}
	if err := t.forgetHistoryOf(tx, ids); err != nil {
		return err
	}
	return t.releaseContents(tx, gone)
}

// releaseContents removes one reference to its object for each row, of which it uses object and
// owner. An object without references becomes garbage, for the owner's bound on garbage.
func (t *Tree) releaseContents(tx *db.Tx, gone []row) error {
	counts := map[string]int64{}
	for _, f := range gone {
		counts[f.object]++
	}
	once := map[string][]string{} // by owner
	for _, f := range gone {
		switch counts[f.object] {
		case 0: // released already
		case 1:
			once[f.owner] = append(once[f.owner], f.object)
		default: // copies that share their content
			for range counts[f.object] {
				if err := t.Objects.Release(tx, f.object, f.owner); err != nil {
					return err
				}
			}
			counts[f.object] = 0
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(once)) {
		if err := t.Objects.ReleaseAll(tx, once[owner], owner); err != nil {
			return err
		}
	}
	return nil
}
