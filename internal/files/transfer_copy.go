package files

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/object"
)

// sourceFilesPerQuery is the number of files that one query reads.
const sourceFilesPerQuery = 200

// copyAll copies the content of all files at or below the entry that is not in the target's
// provider yet, one file after the other. It first sums their sizes for the progress of the job.
func (t *transfer) copyAll(ctx context.Context) error {
	var left int64
	err := t.eachForeign(ctx, func(c sourceFile) error {
		left += c.size
		return nil
	})
	if err != nil {
		return err
	}
	t.run.SetRemaining(left)
	return t.eachForeign(ctx, func(c sourceFile) error { return t.copyOne(ctx, c) })
}

// eachForeign calls each for every file at or below the entry whose content is not in the target's
// provider, folder by folder. It holds nothing but the path down to the current folder, so it may
// miss files that others rename or move meanwhile, or meet them twice.
func (t *transfer) eachForeign(ctx context.Context, each func(c sourceFile) error) error {
	itself, err := foreignFile(t.DB.Read(ctx), t.payload.Entry, t.payload.Provider)
	if err != nil {
		return err
	}
	for _, c := range itself {
		if err := each(c); err != nil {
			return err
		}
	}
	names, err := t.nameOrderNow(ctx)
	if err != nil {
		return err
	}
	type step struct {
		folder string
		last   namePosition // last folder that was walked
	}
	for way := []step{{folder: t.payload.Entry}}; len(way) > 0; {
		here := &way[len(way)-1]
		if here.last == (namePosition{}) {
			if err := t.eachForeignIn(ctx, here.folder, names, each); err != nil {
				return err
			}
		}
		next, at, err := t.folderAfter(ctx, here.folder, names, here.last)
		if err != nil {
			return err
		}
		if next == "" {
			way = way[:len(way)-1]
			continue
		}
		here.last = at
		way = append(way, step{folder: next})
	}
	return nil
}

// eachForeignIn calls each for the files directly in a folder whose content is not in the target's
// provider, in the order names.
func (t *transfer) eachForeignIn(ctx context.Context, folder string, names nameOrder,
	each func(c sourceFile) error) error {
	var last namePosition
	for {
		found, err := t.foreignFilesIn(ctx, folder, names, last, sourceFilesPerQuery)
		if err != nil {
			return err
		}
		for _, c := range found {
			if err := each(c); err != nil {
				return err
			}
			last = c.position
		}
		if len(found) < sourceFilesPerQuery {
			return nil
		}
	}
}

// copyOne copies the content of one file to a key that is on the garbage list already, verifies the
// copy, and switches the file over to it. The key leaves the list only then, so a copy that is not
// used gets deleted. A file that has changed meanwhile is no error. Fault: Unverified when copy or
// original is not what was stored.
func (t *transfer) copyOne(ctx context.Context, c sourceFile) error {
	n, _, err := t.lookUp(ctx, c.id)
	if fault.Is(err, fault.NotFound) || err == nil && !t.mustCopy(&n) {
		return nil
	}
	if err != nil {
		return err
	}
	source, err := t.Objects.Store(ctx, c.Provider)
	if err != nil {
		return err
	}
	key, due, err := t.Objects.Keys.DiscardedKey(ctx, t.payload.Provider)
	if err != nil {
		return err
	}
	crash.Point("move.noted")
	// after the key is on the garbage list, see object.KeySource
	target, err := t.Objects.Store(ctx, t.payload.Provider)
	if err != nil {
		return err
	}
	h := objectCopy{Tree: t.Tree, run: t.run, file: c, fromStore: source, toStore: target,
		to: object.Location{Provider: t.payload.Provider, Key: key}, due: due}
	info, err := h.copyAndVerify(ctx)
	var size blob.ErrSize
	switch {
	case errors.Is(err, object.ErrCollected):
		t.Objects.Keys.ForgetKeys(t.payload.Provider)
		return fmt.Errorf("copy object %s: %w", c.Key, err)
	case errors.As(err, &size), errors.Is(err, errCopyDiffers):
		t.discardCopy(ctx, h.to)
		return fault.New(fault.Unverified, "The copy of a file differs from the stored file"+t.outcomeText()+
			" Tell the administrator.").
			WithCause(fmt.Errorf("copy object %s of provider %s: %w", c.Key, c.Provider, err))
	case errors.Is(err, blob.ErrNotFound):
		return t.checkMissing(ctx, c, err)
	case err != nil:
		return fmt.Errorf("copy object %s: %w", c.Key, err)
	}
	crash.Point("move.copied")
	err = t.switchOver(ctx, c, object.Record{
		Location: object.Location{Provider: t.payload.Provider, Key: key}, Size: c.size,
		SHA256: hex.EncodeToString(info.SHA256), ETag: info.ETag,
	})
	if errors.Is(err, object.ErrCollected) {
		t.Objects.Keys.ForgetKeys(t.payload.Provider)
	}
	if err == nil {
		crash.Point("move.switched")
	}
	return err
}

// outcomeText is the end of a sentence about a file that could not be copied: whether anything was
// moved.
func (t *transfer) outcomeText() string {
	if t.payload.Moved {
		return ", so the file stays in its current storage."
	}
	return ", so nothing was moved."
}

// checkMissing returns the fault Unverified when the store has lost the object of the file c, which
// it did not find (cause). It returns nil when the file was replaced, deleted or moved to another
// store since it was looked up.
func (t *transfer) checkMissing(ctx context.Context, c sourceFile, cause error) error {
	now, err := foreignFile(t.DB.Read(ctx), c.id, t.payload.Provider)
	if err != nil {
		return err
	}
	if len(now) == 1 && now[0].Location == c.Location {
		return fault.New(fault.Unverified, "The content of a file cannot be read"+t.outcomeText()+
			" Tell the administrator.").
			WithCause(fmt.Errorf("open object %s of provider %s: %w", c.Key, c.Provider, cause))
	}
	return nil
}

// discardCopy puts a copy that no file refers to on the garbage list, to be deleted soon. When that
// fails, the collector deletes the copy when its key is due.
func (t *Tree) discardCopy(ctx context.Context, at object.Location) {
	err := t.DB.Write(context.WithoutCancel(ctx),
		func(tx *db.Tx) error { return object.Discard(tx, at.Provider, at.Key, t.nowMs()) })
	if err != nil {
		t.Log.Warn("discard a copy", "key", at.Key, "error", err)
	}
}

// switchOver makes the verified copy at to the content of the file c, in one transaction. Readers
// that have opened the old object are not disturbed: it stays for the grace period. An object that
// other files share stays theirs, and the file gets an object of its own. The copy becomes garbage
// when the file is gone, has other content, or is in yet another provider. Error:
// object.ErrCollected when the collector has the copy.
func (t *transfer) switchOver(ctx context.Context, c sourceFile, to object.Record) error {
	return t.writeLocked(ctx, false, func(tx *db.Tx) error {
		refs, owner, err := t.lockSource(tx, c)
		if err != nil {
			return err
		}
		if refs == 0 {
			return object.Discard(tx, to.Provider, to.Key, t.nowMs())
		}
		if err := object.Undiscard(tx, to.Provider, to.Key); errors.Is(err, object.ErrCollected) {
			// not a fault: the next attempt draws another key
			return fmt.Errorf("switch a file over: %w", object.ErrCollected)
		} else if err != nil {
			return err
		}
		if refs > 1 {
			err = t.splitObject(tx, c, to, owner)
		} else if err = object.Relocate(tx, c.object, to); err == nil {
			err = t.Objects.DiscardContent(tx, c.Location, c.size, owner)
		}
		if err != nil {
			return err
		}
		return t.run.RecordBytes(tx, c.size)
	})
}

// mustCopy reports whether a file is to be copied: it is in the entry, and, once the entry has
// been moved, in the provider that the job copies to.
func (t *transfer) mustCopy(n *node) bool {
	return n.within(t.payload.Entry) && (!t.payload.Moved || n.mount.ProviderID == t.payload.Provider)
}

// lockSource locks a file and its object until the transaction ends, and returns the number of
// files and versions that have the object, and the owner of the file. refs is 0 when file or object
// have changed since they were looked up, or the move does not concern them any more.
func (t *transfer) lockSource(tx *db.Tx, c sourceFile) (refs int64, owner string, err error) {
	n, _, err := t.lookUpTx(tx, c.id)
	switch {
	case fault.Is(err, fault.NotFound):
		return 0, "", nil
	case err != nil:
		return 0, "", err
	case !t.mustCopy(&n):
		return 0, "", nil
	}
	if there, err := lockContent(tx, c.id, c.object); err != nil || !there {
		return 0, "", err
	}
	at, refs, err := object.Lock(tx, c.object)
	if err != nil || at != c.Location {
		return 0, "", err
	}
	return refs, n.owner, nil
}

// splitObject gives the file c an object of its own, the copy at to, with the content id of the
// object that it shares, and removes its reference to that one. owner is that of the file.
func (t *transfer) splitObject(tx *db.Tx, c sourceFile, to object.Record, owner string) error {
	id, err := t.Objects.Insert(tx, to)
	if err != nil {
		return err
	}
	if err := object.InheritContentID(tx, id, c.object); err != nil {
		return err
	}
	if err := setObject(tx, c.id, id); err != nil {
		return err
	}
	return t.Objects.Release(tx, c.object, owner)
}
