package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"larder/internal/access"
)

// TimelineRevision returns the state of the timeline of the actor's own media of some types ("" for
// all types). Its ID differs after a medium was added, removed or moved to another folder, or got
// another time or other proportions; but it stays if the number and the sums of the times and
// proportions of each folder do. It reads the index of the media and their folders; where rules or
// passwords decide about single files, it costs as much as Timeline.
func (t *Tree) TimelineRevision(ctx context.Context, a access.Actor, types TypeGroup) (Revision, error) {
	folders, err := mediaSumsOf(t.DB.Read(ctx), a.UserID, cmp.Or(types, mediaTypes))
	if err != nil {
		return Revision{}, err
	}
	digest, total := sha256.New(), int64(0)
	viewer := timelineViewer{tree: t, actor: a}
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
				return t.revisionOfVisibleMedia(ctx, a, types)
			case allShown:
				fmt.Fprintf(digest, "%q %d %d %d\n", s.folder, s.count, s.times, s.ratios)
				total += s.count
			}
		}
	}
	return Revision{ID: hex.EncodeToString(digest.Sum(nil)[:16]), Total: int(total)}, nil
}

// revisionOfVisibleMedia is TimelineRevision from each medium that the actor sees.
func (t *Tree) revisionOfVisibleMedia(ctx context.Context, a access.Actor, types TypeGroup) (Revision, error) {
	digest, total := sha256.New(), 0
	err := t.eachVisibleMedium(ctx, a, TimelineQuery{Types: types}, newest, math.MinInt64, mediaChunk,
		func(m medium) bool {
			fmt.Fprintf(digest, "%q %q %d %d\n", m.id, m.parent, m.time, m.ratio)
			total++
			return true
		})
	if err != nil {
		return Revision{}, err
	}
	return Revision{ID: hex.EncodeToString(digest.Sum(nil)[:16]), Total: total}, nil
}
