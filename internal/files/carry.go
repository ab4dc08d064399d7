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
)

// cargoes is how many files are looked up at once.
const cargoes = 200

// copyAll copies everything at or below the entry that lies in another provider.
func (x *transfer) copyAll(ctx context.Context) error {
	var left int64
	err := x.walk(ctx, func(c cargo) error {
		left += c.size
		return nil
	})
	if err != nil {
		return err
	}
	x.run.Plan(left)
	return x.walk(ctx, func(c cargo) error { return x.copyOne(ctx, c) })
}

// walk calls each for every file at or below the entry whose content lies in another provider, folder by folder. Nothing is held meanwhile but
// the way down, so what others rename or move may be missed, or met twice.
func (x *transfer) walk(ctx context.Context, each func(c cargo) error) error {
	itself, err := elsewhereItself(x.DB.Read(ctx), x.order.Entry, x.order.Provider)
	if err != nil {
		return err
	}
	for _, c := range itself {
		if err := each(c); err != nil {
			return err
		}
	}
	type step struct {
		folder string
		last   rank // of the folders in it, the one gone through last
	}
	for way := []step{{folder: x.order.Entry}}; len(way) > 0; {
		here := &way[len(way)-1]
		if here.last == (rank{}) {
			if err := x.walkFiles(ctx, here.folder, each); err != nil {
				return err
			}
		}
		next, at, err := folderAfter(x.DB.Read(ctx), here.folder, here.last)
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

func (x *transfer) walkFiles(ctx context.Context, folder string, each func(c cargo) error) error {
	var last rank
	for {
		found, err := elsewhereIn(x.DB.Read(ctx), folder, x.order.Provider, last, cargoes)
		if err != nil {
			return err
		}
		for _, c := range found {
			if err := each(c); err != nil {
				return err
			}
			last = c.rank
		}
		if len(found) < cargoes {
			return nil
		}
	}
}

// copyOne copies one file's content to a key that is on the garbage list since before, verifies it, and switches the file over.
func (x *transfer) copyOne(ctx context.Context, c cargo) error {
	n, _, err := x.lookUp(ctx, c.id)
	if fault.Is(err, fault.NotFound) || err == nil && !x.concerns(&n) {
		return nil
	}
	if err != nil {
		return err
	}
	source, err := x.store(ctx, c.provider)
	if err != nil {
		return err
	}
	key, due, err := x.Keys.Take(ctx, x.order.Provider)
	if err != nil {
		return err
	}
	crash.Point("move.noted")
	target, err := x.store(ctx, x.order.Provider) // after the key is noted, see Keyring
	if err != nil {
		return err
	}
	h := haul{transfer: x, cargo: c, from: source, to: target, key: key, due: due}
	info, err := h.bring(ctx)
	var size blob.ErrSize
	switch {
	case errors.Is(err, ErrCollected):
		x.Keys.Drop(x.order.Provider)
		return fmt.Errorf("copy object %s: %w", c.key, err)
	case errors.As(err, &size), errors.Is(err, errDiffers):
		x.drop(ctx, key)
		return fault.New(fault.Unverified, "The copy of a file is not what was stored"+x.outcome()+" Tell whoever runs the service.").
			Because(fmt.Errorf("copy object %s of provider %s: %w", c.key, c.provider, err))
	case errors.Is(err, blob.ErrNotFound):
		return x.missing(ctx, c, err)
	case err != nil:
		return fmt.Errorf("copy object %s: %w", c.key, err)
	}
	crash.Point("move.copied")
	err = x.switchOver(ctx, c, where{x.order.Provider, key}, Stored{Key: key, Size: c.size, SHA256: hex.EncodeToString(info.SHA256), ETag: info.ETag})
	if errors.Is(err, ErrCollected) {
		x.Keys.Drop(x.order.Provider)
	}
	if err == nil {
		crash.Point("move.switched")
	}
	return err
}

// outcome ends a sentence about what keeps a file from being copied.
func (x *transfer) outcome() string {
	if x.order.Moved {
		return ", so it stays in the storage that it was in."
	}
	return ", so nothing was moved."
}

// missing tells an object that its store has lost from one that was replaced, deleted or carried away since it was looked up. Fault: Unverified.
func (x *transfer) missing(ctx context.Context, c cargo, cause error) error {
	now, err := elsewhereItself(x.DB.Read(ctx), c.id, x.order.Provider)
	if err != nil {
		return err
	}
	if len(now) == 1 && now[0].where == c.where {
		return fault.New(fault.Unverified, "The content of a file cannot be read"+x.outcome()+" Tell whoever runs the service.").
			Because(fmt.Errorf("open object %s of provider %s: %w", c.key, c.provider, cause))
	}
	return nil
}

// drop has a copy that nothing will refer to deleted soon. What fails here is done when the key is due.
func (x *transfer) drop(ctx context.Context, key blob.Key) {
	err := x.DB.Write(context.WithoutCancel(ctx), func(tx *db.Tx) error { return x.Discard(tx, x.order.Provider, key, x.now()) })
	if err != nil {
		x.Log.Warn("discard a copy", "key", key, "error", err)
	}
}

// switchOver makes the copy the file's content, in one transaction that readers don't notice: who has opened the old object reads on, and it
// stays for the grace period. An object that other files share stays with them, and the file gets one of its own. Where the file is gone, has
// other content, or was carried elsewhere, the copy is garbage.
func (x *transfer) switchOver(ctx context.Context, c cargo, to where, s Stored) error {
	return x.write(ctx, false, func(tx *db.Tx) error {
		refs, owner, err := x.lockCargo(tx, c)
		if err != nil {
			return err
		}
		if refs == 0 {
			return x.Discard(tx, to.provider, to.key, x.now())
		}
		if err := x.keep(tx, to.provider, to.key); errors.Is(err, ErrCollected) {
			return fmt.Errorf("switch a file over: %w", ErrCollected) // no fault: the next attempt draws another key
		} else if err != nil {
			return err
		}
		if refs > 1 {
			err = x.separate(tx, c, to, s, owner)
		} else if err = locate(tx, c.object, to, s); err == nil {
			err = x.leave(tx, c.where, c.size, owner)
		}
		if err != nil {
			return err
		}
		return x.run.Record(tx, c.size)
	})
}

// concerns reports whether a file is to be carried: it lies in the entry, and the entry, once moved, in the provider that is copied to.
func (x *transfer) concerns(n *node) bool {
	return n.within(x.order.Entry) && (!x.order.Moved || n.mount.ProviderID == x.order.Provider)
}

// lockCargo keeps everybody from a file and its object until the transaction ends, and returns how many files have the object, and whose the file is. It returns
// 0 when they are not what they were when they were looked up, or do not concern the move any more.
func (x *transfer) lockCargo(tx *db.Tx, c cargo) (refs int64, owner string, err error) {
	n, _, err := x.lookUpInside(tx, c.id)
	switch {
	case fault.Is(err, fault.NotFound):
		return 0, "", nil
	case err != nil:
		return 0, "", err
	case !x.concerns(&n):
		return 0, "", nil
	}
	if there, err := lockContent(tx, c.id, c.object); err != nil || !there {
		return 0, "", err
	}
	at, refs, err := lockObject(tx, c.object)
	if err != nil || at != c.where {
		return 0, "", err
	}
	return refs, n.owner, nil
}

// separate gives a file an object of its own and takes it off the one that it shared.
func (x *transfer) separate(tx *db.Tx, c cargo, to where, s Stored, owner string) error {
	object, err := x.insertObject(tx, to.provider, s)
	if err != nil {
		return err
	}
	if err := continueContent(tx, object, c.object); err != nil {
		return err
	}
	if err := setObject(tx, c.id, object); err != nil {
		return err
	}
	return x.release(tx, c.object, owner)
}
