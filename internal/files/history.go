package files

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// The history of an entry has two parts: its versions (the table past), and its former places (the
// table former_places). When an entry leaves a folder, by a move, a new name or a deletion to the
// trash, its place becomes a former one, for as long as an entry stays in the trash. A folder at an
// earlier time is then the entries that have their place in it since then, and those that had it
// then. An entry that is deleted for good leaves a gap in each folder that it was in: times before
// it left that folder are not known any more. docs/adr/0016-history.md.

// historySchema is the first version of the schema with former places.
const historySchema = 22

// keepHistory is the first step of the sweep. It begins to record the former places of entries once
// all replicas record them, and ends that when the trash is off (s.Days is 0). The sweep deletes
// versions and former places that ended before ended (ms). So keepHistory moves the beginning of
// the history to that time before anything is deleted: earlier times stay unknown when the lifetime
// of the trash is raised.
func (t *Tree) keepHistory(ctx context.Context, s TrashSettings, ended int64) error {
	err := t.DB.Write(ctx, func(tx *db.Tx) error {
		err := t.DB.RequireSchema(tx, historySchema)
		switch {
		case err != nil && !errors.Is(err, db.ErrOlderReplica):
			return err
		case err != nil || s.Days == 0:
			return endHistory(tx)
		}
		return beginHistory(tx, t.nowMs(), ended-1)
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
			more, err = forgetPlaces(tx, ended, trashPiece)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// completeSince is the earliest time (ms) for which the content of a folder is completely known:
// since then places are recorded, the time is within the lifetime of the trash, and nothing that
// the folder had then was deleted early (a gap). It is later than now while no places are recorded.
func (t *Tree) completeSince(q db.Querier, s TrashSettings, folder string) (int64, error) {
	since, gap, err := historyOf(q, folder)
	if err != nil {
		return 0, err
	}
	now := t.nowMs()
	if since == 0 || s.Days == 0 {
		return now + 1, nil
	}
	return max(since, gap, now-s.lifetime()), nil
}

// checkKnown refuses the time at (ms) when it is in the future or before completeSince (ms), from
// where everything is known. Fault: Invalid.
func (t *Tree) checkKnown(at, completeSince int64) error {
	switch {
	case at > t.nowMs():
		return fault.InvalidField("at", "The time is in the future.")
	case at < completeSince:
		return notKnown()
	}
	return nil
}

// notKnown is the fault Invalid for a time at which something in the folder is not known any more.
func notKnown() error {
	return fault.InvalidField("at", "It is not known how the folder was at that time.")
}

// noHistory is the fault NotFound for an entry that had no place at the time that is asked for.
func noHistory() error {
	return fault.New(fault.NotFound, "This file or folder did not exist at that time.")
}
