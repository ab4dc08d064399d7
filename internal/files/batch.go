package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/job"
	"larder/internal/vpath"
)

// Outcome is what became of one entry of a batch.
type Outcome struct {
	ID  string
	Err error    // nil when it is done, or accepted
	Job *job.Job // of a move that is under way, else nil
}

// DeleteEach deletes entries one after the other, each in a transaction of its own and judged by
// itself as in Delete. An id that is named more than once counts once, where it was named first.
// What lay in a folder that an earlier id had deleted is deleted, too, and counts as that:
// whoever selects a folder and things in it means all of them. It stops, and returns an error,
// only when ctx ends.
func (t *Tree) DeleteEach(ctx context.Context, a access.Actor, ids []string) ([]Outcome, error) {
	ids = distinct(ids)
	alsoDeleted := map[string]bool{} // what went with its folder
	return each(ctx, ids, func(i int) Outcome {
		id := ids[i]
		if alsoDeleted[id] {
			return Outcome{ID: id}
		}
		gone, err := t.delete(ctx, a, id, ids[i+1:], nil)
		for _, inside := range gone.alsoDeleted {
			alsoDeleted[inside] = true
		}
		return Outcome{ID: id, Err: err}
	})
}

// MoveEach moves entries into the folder target under the names that they have, as DeleteEach
// deletes them and as Move moves one. What lies in a folder that goes along is taken out of it when
// it is named itself, whichever of the two comes first.
func (t *Tree) MoveEach(ctx context.Context, a access.Actor, ids []string, target vpath.Path) ([]Outcome, error) {
	ids = distinct(ids)
	return each(ctx, ids, func(i int) Outcome {
		o := Outcome{ID: ids[i]}
		made, err := t.Move(ctx, a, o.ID, target, nil)
		if o.Err = err; err == nil && made.Status != job.Completed {
			o.Job = &made
		}
		return o
	})
}

// each collects the outcomes of a batch until ctx ends.
func each(ctx context.Context, ids []string, do func(i int) Outcome) ([]Outcome, error) {
	outcomes := make([]Outcome, 0, len(ids))
	for i := range ids {
		o := do(i)
		if err := ctx.Err(); err != nil {
			return outcomes, err
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// distinct leaves of each id the first.
func distinct(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	left := make([]string, 0, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			left = append(left, id)
		}
	}
	return left
}
