package files

import (
	"context"
	"fmt"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// CheckDepthAt checks that the deepest entry of a mount stays within vpath.MaxDepth levels when the
// root of the mount, rootID, moves to path. The caller holds the tree exclusively. Fault: Invalid.
func (t *Tree) CheckDepthAt(tx *db.Tx, rootID string, path vpath.Path) error {
	height, err := heightOf(tx, rootID)
	if err != nil {
		return err
	}
	if path.Depth()+height > vpath.MaxDepth {
		return fault.New(fault.Invalid, "A path has at most 64 levels, and something in this mount would be deeper.")
	}
	return nil
}

// PublicMounts returns, by mount id, whether anybody may download from the path of the mount. It
// leaves out hidden mounts, at whose path another mount has priority.
func (t *Tree) PublicMounts(ctx context.Context) (map[string]bool, error) {
	public := map[string]bool{}
	_, err := t.readConsistent(ctx, func(v *ruleset) (int64, error) {
		q := t.DB.Read(ctx)
		version, err := db.ConfigVersion(q)
		if err != nil || version != v.version {
			return version, err
		}
		for _, m := range v.mounts.All() {
			if v.mounts.Hidden(m) {
				continue
			}
			n, version, err := v.find(q, m.Path)
			if err != nil || version != v.version {
				return version, err
			}
			public[m.ID] = v.public(n.existingTarget(access.Actor{Role: access.Guest}))
		}
		return version, nil
	})
	if err != nil {
		return nil, fmt.Errorf("find the public mounts: %w", err)
	}
	return public, nil
}

// RemoveRoot moves the root of a mount that is being deleted to the graveyard, with the folders in
// it, and credits the owners of these. The caller holds the tree exclusively. Fault: Conflict when
// there is a file at any depth.
func (t *Tree) RemoveRoot(tx *db.Tx, rootID string) error {
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
	if err := creditOwners(tx, sums); err != nil {
		return err
	}
	if err := moveToGraveyard(tx, []string{rootID}); err != nil {
		return fmt.Errorf("bury the root of a mount: %w", err)
	}
	return nil
}

// checkProviderExists refuses to finish an upload whose provider, p.ProviderID, was deleted while
// the content was stored. now is the present provider of the mount, which cannot be deleted. The
// caller holds the lock of the tree. Fault: Conflict.
func (t *Tree) checkProviderExists(tx *db.Tx, p Destination, now string) error {
	if p.ProviderID == now { // a provider with a mount cannot be deleted
		return nil
	}
	if _, err := t.Providers.ByIDIn(tx, p.ProviderID); fault.Is(err, fault.NotFound) {
		return fault.New(fault.Conflict, "The storage of this upload has been removed. Upload the file again.").
			WithCause(err)
	} else if err != nil {
		return err
	}
	return nil
}

// hiddenByMount reports whether path leads to another mount than the one with the id mountID, so
// that users do not see an entry that is stored in that mount at path.
func (rs *ruleset) hiddenByMount(mountID string, path vpath.Path) bool {
	m, _ := rs.mounts.Resolve(path)
	return m.ID != mountID
}
