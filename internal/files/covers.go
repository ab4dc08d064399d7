package files

import (
	"context"

	"larder/internal/access"
)

const (
	// maxCovers is the maximal number of pictures that stand for a folder.
	maxCovers = 4
	// maxCoverCandidates is the number of pictures of a folder, the first by name, among which its
	// covers are.
	maxCoverCandidates = 8
)

// addCovers sets Covers of those entries that are folders without a cover of their own. targets are
// the targets of the entries. It reads the pictures of all folders in one query for each
// db.ChunkSize of them, and judges each picture as a listing of the folder does. It sets none while
// the index for it is being built.
func (t *Tree) addCovers(ctx context.Context, v *entryViewer, entries []Entry, targets []access.Target) error {
	var folders []string
	for i := range entries {
		if entries[i].mayHaveCovers() {
			folders = append(folders, entries[i].ID)
		}
	}
	if len(folders) == 0 {
		return nil
	}
	if ready, err := t.DB.HasCovers(ctx); err != nil || !ready {
		return err
	}
	candidates, err := coverCandidates(t.DB.Read(ctx), folders)
	if err != nil {
		return err
	}
	for i := range entries {
		if e := &entries[i]; e.mayHaveCovers() {
			e.Covers = v.coversOf(targets[i], candidates[e.ID])
		}
	}
	return nil
}

// mayHaveCovers reports whether an entry is a folder whose pictures can be its covers: it has a
// row, and its coverUrl is empty.
func (e *Entry) mayHaveCovers() bool { return e.Folder && e.MountID != "" && e.CoverURL == nil }

// coversOf returns the ids of the first candidates, at most maxCovers, that the actor sees in the
// folder and may download, and that have no password of their own. Listings show no thumbnails of
// files with passwords.
func (v *entryViewer) coversOf(folder access.Target, candidates []row) (ids []string) {
	mounted := len(candidates) > 0 && len(v.mounts.Below(folder.Path)) > 0
	for i := range candidates {
		r := &candidates[i]
		target := childTarget(folder, v.Actor, r)
		if r.password != "" || mounted && v.hiddenByMount(target.MountID, target.Path) || !v.showsContent(target) {
			continue
		}
		if ids = append(ids, r.id); len(ids) == maxCovers {
			break
		}
	}
	return ids
}
