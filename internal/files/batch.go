package files

import (
	"context"
	"slices"

	"larder/internal/access"
	"larder/internal/job"
	"larder/internal/vpath"
)

// Outcome is the outcome of a batch for one entry.
type Outcome struct {
	ID  string
	Err error    // nil when the entry is done, or the job is accepted
	Job *job.Job // of a move that is still running, else nil
	// InTrash reports whether this very entry is in the trash: not for one that was in a folder
	// deleted by an earlier id.
	InTrash bool
}

// DeleteEach deletes entries one after the other, each decided by itself as in Delete. Files that
// follow each other are deleted in one transaction, and each folder in one of its own. An id that
// is named more than once counts once, at its first position. An entry that was in a folder deleted
// by an earlier id counts as deleted: a user who selects a folder and entries in it means all of
// them. DeleteEach stops and returns an error only when ctx ends.
func (t *Tree) DeleteEach(ctx context.Context, a access.Actor, ids []string, to Disposal) ([]Outcome, error) {
	ids = distinct(ids)
	alsoDeleted := map[string]bool{} // entries deleted with their folder
	var files []Outcome              // the outcomes of the files that come next
	together := true                 // false after a transaction of several files has failed
	return each(ctx, ids, func(i int) Outcome {
		id := ids[i]
		if alsoDeleted[id] {
			return Outcome{ID: id}
		}
		if len(files) == 0 && together {
			next := ids[i:]
			if j := slices.IndexFunc(next, func(id string) bool { return alsoDeleted[id] }); j >= 0 {
				next = next[:j]
			}
			var err error
			files, err = t.deleteTogether(ctx, a, next, to)
			together = err == nil
		}
		if len(files) > 0 {
			o := files[0]
			files = files[1:]
			return o
		}
		gone, err := t.delete(ctx, a, id, to, deleteOptions{others: ids[i+1:]})
		for _, inside := range gone.alsoDeleted {
			alsoDeleted[inside] = true
		}
		return Outcome{ID: id, Err: err, InTrash: gone.InTrash}
	})
}

// MoveEach moves entries into the folder target and keeps their names. It handles the batch as
// DeleteEach does, and each entry as Move does. An entry that is named itself is taken out of a
// folder that is moved as well, in either order. still is the precondition of each move, nil for
// none.
func (t *Tree) MoveEach(ctx context.Context, a access.Actor, ids []string, target vpath.Path, still Precondition) (
	[]Outcome, error) {
	ids = distinct(ids)
	return each(ctx, ids, func(i int) Outcome {
		o := Outcome{ID: ids[i]}
		made, err := t.move(ctx, a, o.ID, target, nil, CopyMoveOptions{Precondition: still})
		if o.Err = err; err == nil && made.Status != job.Completed {
			o.Job = &made
		}
		return o
	})
}

// each calls do for the index of each id in turn, and collects the outcomes. It stops when ctx ends
// and returns the outcomes so far with the error of ctx.
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

// distinct returns ids without repetitions, in the order of their first positions.
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
