package files

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/job"
	"larder/internal/object"
)

// mountPageSize is the number of objects that one query of a mount's evacuation returns.
const mountPageSize = 2000

// Evacuation says how the objects of a provider are moved to another one.
type Evacuation struct {
	From, To       string        // providers
	BytesPerSecond int64         // that are read, 0 for no limit
	KeepFor        time.Duration // how long the old objects stay at least; the grace period holds too
	// a mount and its root, to move only the objects of its files; "" for those of the provider
	MountID, RootID string
}

// evacuation is one call of Evacuate.
type evacuation struct {
	*Tree
	Evacuation
	run      *job.Run
	pace     *Pace
	passes   []string // queries, see evacuationPasses
	pageSize int      // objects in one query
}

// Evacuate moves all objects of a provider, or of a mount on it, to another one, whatever refers
// to them: files, versions, the trash. It copies and verifies each object once and switches its
// row over in a transaction of its own, so the ids and ETags of files stay, and readers notice
// nothing. The old object becomes garbage, due after the grace period or KeepFor. It returns when
// no object is left; an upload that began before may add another one later. It may be ended at any
// line and called again.
//
// Fault: Unverified for an object that is not what was stored, or is missing; it stays where it is,
// and its copy becomes garbage.
func (t *Tree) Evacuate(ctx context.Context, run *job.Run, how Evacuation) error {
	e := evacuation{Tree: t, Evacuation: how, run: run, pace: t.NewPace(how.BytesPerSecond),
		passes: evacuationPasses, pageSize: sourceFilesPerQuery}
	if how.MountID != "" {
		e.passes, e.pageSize = mountPasses, mountPageSize
	}
	for range maxRounds {
		left, err := t.LeftToEvacuate(ctx, how)
		if err != nil || left.Objects == 0 {
			return err
		}
		run.SetRemaining(left.Bytes)
		for _, pass := range e.passes {
			if err := e.walk(ctx, pass); err != nil {
				return err
			}
		}
	}
	return errors.New("objects are added to the provider faster than they can be moved")
}

// walk moves all objects that one pass lists, page by page. pass is the query of the pass, one of
// evacuationPasses or mountPasses.
func (e *evacuation) walk(ctx context.Context, pass string) error {
	for after := ""; ; {
		found, last, err := e.evacuationPage(ctx, pass, after)
		if err != nil {
			return err
		}
		for _, c := range found {
			if err := e.moveObject(ctx, c); err != nil {
				return err
			}
		}
		if len(found) < e.pageSize {
			return nil
		}
		after = last
	}
}

// moveObject copies one object of the evacuated provider to the target provider, verifies the copy,
// and makes the copy the object. The copy has a key that is on the garbage list already, so that it
// is deleted if the process ends meanwhile. An object that was moved or deleted meanwhile is no
// error. Fault: Unverified when copy or original is not what was stored.
func (e *evacuation) moveObject(ctx context.Context, c sourceFile) error {
	if there, err := e.isThere(ctx, c); err != nil || !there { // moved for another file, or deleted
		return err
	}
	source, err := e.Objects.Store(ctx, c.Provider)
	if err != nil {
		return err
	}
	key, due, err := e.Objects.Keys.DiscardedKey(ctx, e.To)
	if err != nil {
		return err
	}
	// after the key is on the garbage list, see object.KeySource
	target, err := e.Objects.Store(ctx, e.To)
	if err != nil {
		return err
	}
	oc := objectCopy{Tree: e.Tree, run: e.run, file: c, fromStore: source, toStore: target,
		to: object.Location{Provider: e.To, Key: key}, pace: e.pace, due: due}
	info, err := oc.copyAndVerify(ctx)
	var size blob.ErrSize
	switch {
	case errors.Is(err, object.ErrCollected):
		e.Objects.Keys.ForgetKeys(e.To)
		return fmt.Errorf("copy object %s: %w", c.Key, err)
	case errors.As(err, &size), errors.Is(err, errCopyDiffers):
		e.discardCopy(ctx, oc.to)
		return evacuationFault(copyDiffers, c, err)
	case errors.Is(err, blob.ErrNotFound):
		if there, lookErr := e.isThere(ctx, c); lookErr != nil || !there {
			return lookErr
		}
		return evacuationFault(objectMissing, c, err)
	case err != nil:
		return fmt.Errorf("copy object %s: %w", c.Key, err)
	}
	err = e.switchOver(ctx, c, object.Record{Location: oc.to, Size: c.size, SHA256: hex.EncodeToString(info.SHA256),
		ETag: info.ETag})
	if errors.Is(err, object.ErrCollected) {
		e.Objects.Keys.ForgetKeys(e.To)
	}
	return err
}

// isThere reports whether the object c still exists at the location where the pass listed it.
// Another pass may have moved it, or its last file may be deleted.
func (e *evacuation) isThere(ctx context.Context, c sourceFile) (bool, error) {
	at, err := object.Locate(e.DB.Read(ctx), c.object)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return err == nil && at == c.Location, err
}

// switchOver makes the copy at to the object's location in one transaction; c is the object as it
// was listed. The copy becomes garbage when the object is gone or has been moved meanwhile.
// Otherwise the old bytes become garbage that belongs to no account, so that the bound on an
// account's garbage does not delete them before their time. Error: object.ErrCollected when the
// collector has taken the copy.
func (e *evacuation) switchOver(ctx context.Context, c sourceFile, to object.Record) error {
	return e.writeLocked(ctx, false, func(tx *db.Tx) error {
		switched, err := e.switchObject(tx, c.object, c.Location, to, max(e.Objects.Grace, e.KeepFor))
		if err != nil || !switched {
			return err
		}
		return e.run.RecordBytes(tx, c.size)
	})
}

// switchObject switches an object from its location over to a copy, and reports whether it did. The
// copy becomes garbage when the object is gone, or has been moved meanwhile. The former location
// becomes garbage that is kept for a time; it belongs to nobody, so that no account's bound ends it
// before.
func (t *Tree) switchObject(tx *db.Tx, objectID string, from object.Location, to object.Record,
	keep time.Duration) (switched bool, err error) {
	at, _, err := object.Lock(tx, objectID)
	if errors.Is(err, db.ErrNoRows) || err == nil && at != from {
		return false, object.Discard(tx, to.Provider, to.Key, t.nowMs())
	}
	if err != nil {
		return false, err
	}
	if err := object.Undiscard(tx, to.Provider, to.Key); errors.Is(err, object.ErrCollected) {
		// not a fault: the next attempt draws another key
		return false, fmt.Errorf("switch an object over: %w", object.ErrCollected)
	} else if err != nil {
		return false, err
	}
	if err := object.Relocate(tx, objectID, to); err != nil {
		return false, err
	}
	return true, object.Discard(tx, from.Provider, from.Key, t.nowMs()+keep.Milliseconds())
}
