package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"larder/internal/access"
	"larder/internal/db"
)

// TimelineRevision returns the state of the timeline of the actor's own media of some types ("" for
// all types). Its ID differs after a medium was added, removed, renamed, replaced or moved to
// another folder, or got another time or other proportions; but the ID stays the same if the values
// of mediaSums stay the same for each folder. TimelineRevision reads the index of the media and
// their folders. In folders where rules or passwords decide about single files, it reads each
// medium.
func (t *Tree) TimelineRevision(ctx context.Context, a access.Actor, types TypeGroup) (Revision, error) {
	types = cmp.Or(types, mediaTypes)
	folders, err := mediaSumsOf(t.DB.Read(ctx), a.UserID, types)
	if err != nil {
		return Revision{}, err
	}
	digest, total := sha256.New(), int64(0)
	viewer := timelineViewer{tree: t, actor: a}
	var mixed []string // folders in which each medium needs a decision of its own
	for some := range slices.Chunk(folders, mediaChunk) {
		media := make([]medium, len(some))
		for i := range some {
			media[i].parent = some[i].folder
		}
		if err := viewer.decide(ctx, media); err != nil {
			return Revision{}, err
		}
		for _, s := range some {
			switch viewer.folders[s.folder].shown {
			case eachShown:
				mixed = append(mixed, s.folder)
			case allShown:
				fmt.Fprintf(digest, "%q %d %d %d %d\n", s.folder, s.count, s.times, s.changes, s.ratios)
				total += s.count
			}
		}
	}
	for some := range slices.Chunk(mixed, db.ChunkSize) {
		media, err := mediaIn(t.DB.Read(ctx), some, a.UserID, types)
		if err != nil {
			return Revision{}, err
		}
		slices.SortFunc(media, func(a, b medium) int { return cmp.Compare(a.id, b.id) })
		for part := range slices.Chunk(media, mediaChunk) {
			visible, err := viewer.visible(ctx, part)
			if err != nil {
				return Revision{}, err
			}
			for _, m := range visible {
				fmt.Fprintf(digest, "%q %q %d %d %d\n", m.id, m.parent, m.time, m.updated, m.ratio)
			}
			total += int64(len(visible))
		}
	}
	return Revision{ID: hex.EncodeToString(digest.Sum(nil)[:16]), Total: int(total)}, nil
}
