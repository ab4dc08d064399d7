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
	// foldersPerPiece is how many deleted folders one piece looks into, piece how many entries it
	// takes away at most.
	foldersPerPiece = 200
	entriesPerPiece = 1000
)

// Collect takes the next piece of deleted folders and the next piece of garbage away
// (object.Registry.Collect), and tells whether there is more to do at once. It may run in several
// processes at a time.
func (t *Tree) Collect(ctx context.Context) (more bool, err error) {
	rows, err := t.collectRows(ctx)
	if err != nil {
		return false, err
	}
	objects, err := t.Objects.Collect(ctx)
	return rows || objects, err
}

// collectRows takes away what lies directly in the folders below the graveyard: files go, folders
// move up below the graveyard, and a folder that is empty goes as well.
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
		if len(inside) < entriesPerPiece { // then nothing was left behind in them
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

// purgeFiles deletes the rows of files with their links and properties, and releases their objects.
func (t *Tree) purgeFiles(tx *db.Tx, ids []string) error {
	gone, err := deleteFiles(tx, ids)
	if err != nil {
		return err
	}
	if err := deleteLinks(tx, ids); err != nil {
		return err
	}
	if err := deleteProperties(tx, ids); err != nil {
		return err
	}
	counts := map[string]int64{}
	for _, f := range gone {
		counts[f.object]++
	}
	once := map[string][]string{} // by owner
	for _, f := range gone {
		switch counts[f.object] {
		case 0: // done
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
