package files

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// The place of an entry is its parent folder and its name. The history of an entry has two parts:
// its versions (the table past), and its former places (the table former_places). When an entry
// leaves a folder, by a move, a new name or a deletion to the trash, its place becomes a former
// one, for as long as an entry stays in the trash. A folder at an earlier time is then the entries
// that have their place in it since then, and those that had it then. An entry that is deleted for
// good leaves a gap in each folder that it was in: the times at which it was there are not known
// any more. docs/adr/0016-history.md.

// The first versions of the schema with former places, and with gaps that have a beginning.
const (
	historySchema = 22
	gapSchema     = 29
)

// keepHistory is the first step of the sweep. It begins to record the former places of entries once
// all replicas record them, and ends that when the trash is off (s.Days is 0). The sweep deletes
// versions and former places that ended before ended (ms). So keepHistory moves the beginning of
// the history to that time before anything is deleted: earlier times stay unknown when the lifetime
// of the trash is raised. While a replica runs that knows no gaps with a beginning, gaps have none.
func (t *Tree) keepHistory(ctx context.Context, s TrashSettings, ended int64) error {
	err := t.DB.Write(ctx, func(tx *db.Tx) error {
		err := t.DB.RequireSchema(tx, historySchema)
		switch {
		case err != nil && !errors.Is(err, db.ErrOlderReplica):
			return err
		case err != nil || s.Days == 0:
			return endHistory(tx)
		}
		bounded := t.DB.RequireSchema(tx, gapSchema)
		if bounded != nil && !errors.Is(bounded, db.ErrOlderReplica) {
			return bounded
		}
		return beginHistory(tx, t.nowMs(), ended-1, bounded == nil)
	})
	if err != nil {
		return fmt.Errorf("record the places of entries: %w", err)
	}
	return nil
}

// sweepPlaces deletes former places and gaps that ended before ended (ms).
func (t *Tree) sweepPlaces(ctx context.Context, ended int64) error {
	for more := true; more; {
		err := t.DB.Write(ctx, func(tx *db.Tx) (err error) {
			more, err = deleteOldPlaces(tx, ended, trashPiece)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// knownHistory reads the history of the folder with this id. It returns the fault Invalid in two
// cases: the time at (ms) is in the future, or Larder does not know the whole content of the folder
// at that time. Larder does not know it before it recorded places, before the lifetime of the
// trash, and in a gap.
func (t *Tree) knownHistory(q db.Querier, s TrashSettings, folder string, at int64) (folderHistory, error) {
	h, err := historyOf(q, folder, at)
	if err != nil {
		return folderHistory{}, err
	}
	now := t.nowMs()
	if h.since == 0 || s.Days == 0 {
		h.since = now + 1
	}
	h.since = max(h.since, now-s.lifetime())
	h.completeSince = max(h.since, h.completeSince)
	switch {
	case at > now:
		return folderHistory{}, fault.InvalidField("at", "The time is in the future.")
	case at < h.since || h.gap:
		return folderHistory{}, notKnown()
	}
	return h, nil
}

// notKnown is the fault Invalid for a time at which something in the folder is not known any more.
func notKnown() error {
	return fault.InvalidField("at", "Larder does not know what was in the folder at that time.")
}

// noHistory is the fault NotFound for an entry that had no place at the time that is asked for.
func noHistory() error {
	return fault.New(fault.NotFound, "This file or folder did not exist at that time.")
}
