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
// all types). Its ID differs after a medium was added, removed, renamed, replaced or moved to
// another folder, or got another time or other proportions; but the ID stays the same if the values
// of mediaSums stay the same for each folder. TimelineRevision reads the index of the media and
// their folders. If rules or passwords decide about single files of a folder, it also reads each
// medium from the index, mediaChunk at a time.
func (t *Tree) TimelineRevision(ctx context.Context, a access.Actor, types TypeGroup) (Revision, error) {
	types = cmp.Or(types, mediaTypes)
	folders, err := mediaSumsOf(t.DB.Read(ctx), a.UserID, types)
	if err != nil {
		return Revision{}, err
	}
	digest, total := sha256.New(), int64(0)
	viewer := timelineViewer{tree: t, actor: a}
	mixed := map[string]bool{} // folders in which each medium needs a decision of its own
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
				mixed[s.folder] = true
			case allShown:
				fmt.Fprintf(digest, "%q %d %d %d %d\n", s.folder, s.count, s.times, s.changes, s.ratios)
				total += s.count
			}
		}
	}
	if len(mixed) > 0 {
		visit := func(m medium) bool {
			if mixed[m.parent] {
				fmt.Fprintf(digest, "%q %q %d %d %d\n", m.id, m.parent, m.time, m.updated, m.ratio)
				total++
			}
			return true
		}
		q := TimelineQuery{Types: types}
		if err := t.eachVisibleMedium(ctx, a, q, newest, math.MinInt64, mediaChunk, visit); err != nil {
			return Revision{}, err
		}
	}
	return Revision{ID: hex.EncodeToString(digest.Sum(nil)[:16]), Total: int(total)}, nil
}
