package files

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/provider"
	"larder/internal/vpath"
)

// FitsAt checks that what is in a mount stays within the levels that a path may have when its root comes to lie at path. The caller holds the
// tree alone. Fault: Invalid.
func (t *Tree) FitsAt(tx *db.Tx, rootID string, path vpath.Path) error {
	height, err := heightOf(tx, rootID)
	if err != nil {
		return err
	}
	if path.Depth()+height > vpath.MaxDepth {
		return fault.New(fault.Invalid, "A path has at most 64 levels, and something in this mount would lie deeper.")
	}
	return nil
}

// BuryRoot takes the root of a mount that is being deleted out of the tree, with the folders in it. The caller holds the tree alone. Fault:
// Conflict when there is a file.
func (t *Tree) BuryRoot(tx *db.Tx, rootID string) error {
	found, err := filesBelow(tx, rootID)
	if err != nil {
		return err
	}
	if found {
		return fault.New(fault.Conflict, "This mount still contains files. Delete or move them first.")
	}
	_, sums, err := sumBelow(tx, rootID)
	if err != nil {
		return err
	}
	if err := giveBack(tx, sums); err != nil {
		return err
	}
	if err := raise(tx, []string{rootID}); err != nil {
		return fmt.Errorf("bury the root of a mount: %w", err)
	}
	return nil
}

// maxNoted is how many keys of a provider are looked at one by one.
const maxNoted = 1000

// OnlyNoted returns the keys of a provider on the garbage list when nothing lies under any of them: uploads note keys beforehand, which would
// keep a provider that is empty in use for hours. LetGo takes them off. Fault: Conflict when objects are left, or may be.
func (t *Tree) OnlyNoted(ctx context.Context, providerID string) ([]blob.Key, error) {
	q := t.DB.Read(ctx)
	has, err := hasObjects(q, providerID)
	if err != nil {
		return nil, err
	}
	keys, parts, err := discarded(q, providerID, maxNoted+1)
	if err != nil {
		return nil, err
	}
	if has || parts || len(keys) > maxNoted {
		return nil, objectsLeft()
	}
	if len(keys) == 0 {
		return nil, nil
	}
	store, err := t.Providers.Store(ctx, providerID)
	if err != nil {
		return nil, objectsLeft().Because(err)
	}
	for _, key := range keys {
		if _, err := store.Stat(ctx, key); !errors.Is(err, blob.ErrNotFound) {
			return nil, objectsLeft().Because(err)
		}
	}
	return keys, nil
}

// LetGo takes keys that OnlyNoted has returned off the garbage list: an upload that holds one of them fails, or begins again. The caller holds
// the tree alone. So it does with keys under which an object may only come late. Fault: Conflict
// when the provider has any other key, or an object.
func (t *Tree) LetGo(tx *db.Tx, providerID string, keys []blob.Key) error {
	if err := forgetKeys(tx, providerID, keys); err != nil {
		return err
	}
	has, err := hasObjects(tx, providerID)
	if err != nil {
		return err
	}
	left, parts, err := discarded(tx, providerID, 1)
	if err != nil {
		return err
	}
	if has || parts || len(left) > 0 {
		return objectsLeft()
	}
	return forgetLate(tx, providerID)
}

func objectsLeft() *fault.Error {
	return fault.New(fault.Conflict, "Objects of this provider are still in use, or are still being removed.")
}

// stillThere refuses content in a provider that was deleted while it was stored; now is the one of the mount. The caller holds the tree. Fault:
// Conflict.
func (t *Tree) stillThere(tx *db.Tx, p Place, now string) error {
	if p.ProviderID == now { // a mount keeps its provider from being deleted
		return nil
	}
	if _, err := t.Providers.ByIDIn(tx, p.ProviderID); fault.Is(err, fault.NotFound) {
		return fault.New(fault.Conflict, "The storage that this upload began on is gone. Upload the file again.").Because(err)
	} else if err != nil {
		return err
	}
	return nil
}

// gone reports that an object could not be deleted because its provider was, along with whatever an upload had still noted for it.
func gone(err error) bool { return errors.Is(err, provider.ErrGone) }
