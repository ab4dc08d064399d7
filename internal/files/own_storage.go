package files

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"larder/internal/access"
	"larder/internal/vpath"
)

// OwnStorage is the files of an account in a folder.
type OwnStorage struct {
	Here    Amount // directly in the folder
	Folders []FolderStorage
}

// FolderStorage is the files of an account in a folder and below it.
type FolderStorage struct {
	Name string
	Path vpath.Path
	Amount
}

// maxStorageFolders is the maximal number of folders that OwnStorage looks into.
const maxStorageFolders = 1000

// OwnStorage sums the files that the actor owns directly in a folder, and those in each folder in
// it, mounts included. It returns the folders that have such files, the largest ones first, of the
// first maxStorageFolders that the actor may see. It reads all folders below the path. Faults:
// those of List.
func (t *Tree) OwnStorage(ctx context.Context, a access.Actor, path vpath.Path) (OwnStorage, error) {
	l, _, f, err := t.openFolder(ctx, a, path, "")
	if err != nil {
		return OwnStorage{}, err
	}
	if l.order.names, err = t.nameOrderNow(ctx); err != nil {
		return OwnStorage{}, err
	}
	l.order.key, l.kind = "name", folderKind
	parts, err := l.children(f)
	if err != nil {
		return OwnStorage{}, err
	}
	seen, _, err := pageOf(parts, l.order, 0, maxStorageFolders)
	if err != nil {
		return OwnStorage{}, err
	}
	var found OwnStorage
	if f.id != "" {
		if found.Here, err = sumOwnIn(l.q, a.UserID, f.id); err != nil {
			return OwnStorage{}, err
		}
	}
	folders := map[string]int{} // indices in seen, by the ids of the folders from which files hang
	for i := range seen {
		folders[seen[i].row.id] = i
		for _, m := range l.mounts {
			if m.Path.Within(seen[i].target.Path) {
				folders[m.RootID] = i
			}
		}
	}
	amounts := make([]Amount, len(seen))
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(folders)), 500) {
		err := eachOwnSum(l.q, a.UserID, ids, func(id string, sum Amount) {
			amounts[folders[id]].Files += sum.Files
			amounts[folders[id]].Bytes += sum.Bytes
		})
		if err != nil {
			return OwnStorage{}, err
		}
	}
	for i, amount := range amounts {
		if amount.Files > 0 {
			found.Folders = append(found.Folders, FolderStorage{seen[i].row.name, seen[i].target.Path, amount})
		}
	}
	slices.SortStableFunc(found.Folders, func(a, b FolderStorage) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return found, nil
}
