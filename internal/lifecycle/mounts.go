package lifecycle

import (
	"context"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/mount"
)

// Mount is a mount as administrators see it.
type Mount struct {
	mount.Mount
	ProviderName string
	Hidden       bool // other mounts cover all of it
	Public       bool // anybody may download from its path
}

// AllMounts lists the mounts by path; those of one path in the order in which they are tried.
func (s *Service) AllMounts(ctx context.Context) ([]Mount, error) {
	table, err := s.cfg.Mounts.TableIn(s.cfg.DB.Read(ctx))
	if err != nil {
		return nil, err
	}
	return s.describeMounts(ctx, table, table.All())
}

// describeMounts adds the provider name, Hidden and Public to mounts; table holds all mounts.
func (s *Service) describeMounts(ctx context.Context, table *mount.Table, mounts []mount.Mount) ([]Mount, error) {
	providers, err := s.cfg.Providers.All(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, p := range providers {
		names[p.ID] = p.Name
	}
	public, err := s.cfg.Tree.PublicMounts(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Mount, len(mounts))
	for i, m := range mounts {
		list[i] = Mount{Mount: m, ProviderName: names[m.RecordedProviderID()], Hidden: table.Hidden(m),
			Public: public[m.ID]}
	}
	return list, nil
}

// describeMount returns m as administrators see it, with the provider's name and whether it is
// hidden or public.
func (s *Service) describeMount(ctx context.Context, m mount.Mount) (Mount, error) {
	table, err := s.cfg.Mounts.TableIn(s.cfg.DB.Read(ctx))
	if err != nil {
		return Mount{}, err
	}
	list, err := s.describeMounts(ctx, table, []mount.Mount{m})
	if err != nil {
		return Mount{}, err
	}
	return list[0], nil
}

// CreateMount makes a mount with an empty root that belongs to ownerID; it ignores id, root and
// times of m. Faults: Invalid, Conflict, Forbidden when the owner is no active account any more.
func (s *Service) CreateMount(ctx context.Context, ownerID string, m mount.Mount) (Mount, error) {
	if err := m.Check(); err != nil {
		return Mount{}, err
	}
	m.ID, m.CreatedAt = s.cfg.IDs.UUID(), s.cfg.Now().UnixMilli()
	m.UpdatedAt = m.CreatedAt
	err := s.inMountTx(ctx, func(tx *db.Tx) (err error) {
		active, err := s.cfg.Accounts.IsActive(tx, ownerID)
		if err == nil && !active {
			err = fault.New(fault.Forbidden, "The account that started this is no longer active.")
		}
		if err != nil {
			return err
		}
		if err := s.checkProvider(tx, m); err != nil {
			return err
		}
		if m.RootID, err = s.cfg.Tree.InsertRoot(tx, ownerID, m.Name); err != nil {
			return err
		}
		return s.cfg.Mounts.Insert(tx, m, m.CreatedAt)
	})
	if err != nil {
		return Mount{}, fmt.Errorf("create mount: %w", err)
	}
	return s.describeMount(ctx, m)
}

// inMountTx is inExclusiveTx for changes of mounts, and refuses a change that removes a password
// from content. The folders above a mount, and so whether a password covers it, depend on where all
// the mounts are. A mount that is moved, deleted or laid over such a folder would open the content
// below, without any intention. Fault: Conflict.
func (s *Service) inMountTx(ctx context.Context, fn func(tx *db.Tx) error) error {
	return s.inExclusiveTx(ctx, func(tx *db.Tx) error {
		before, err := s.cfg.Tree.MountPasswords(tx)
		if err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			return err
		}
		after, err := s.cfg.Tree.MountPasswords(tx)
		if err != nil {
			return err
		}
		for id, guard := range before {
			if now, there := after[id]; there && guard != "" && now != guard {
				return fault.New(fault.Conflict,
					"The password of a folder would no longer cover the content of a mount below it. "+
						"Remove that password first, or set one on the mount's own folder.")
			}
		}
		return nil
	})
}

// inExclusiveTx runs fn in a transaction that holds the tree alone: meanwhile nothing puts content
// into the tree or a key on the garbage list, and no mount or provider changes.
func (s *Service) inExclusiveTx(ctx context.Context, fn func(tx *db.Tx) error) error {
	return s.cfg.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockTree(true); err != nil {
			return fmt.Errorf("lock the tree: %w", err)
		}
		return fn(tx)
	})
}

// checkProvider refuses a mount on a provider that does not exist or is being evacuated. Faults:
// Invalid, Conflict.
func (s *Service) checkProvider(tx *db.Tx, m mount.Mount) error {
	p, err := s.cfg.Providers.ByIDIn(tx, m.ProviderID)
	if fault.Is(err, fault.NotFound) {
		return fault.InvalidField("providerId", "providerId names no provider.")
	}
	if err == nil && p.EvacuationID != "" {
		return fault.New(fault.Conflict, "This provider is being evacuated and takes no new files. Choose another one.")
	}
	return err
}

// UpdateMount applies change to the mount id; change may be called more than once, and its fault
// ends the update. The content of the mount moves along with its path. With another provider the
// content stays where it is stored. Faults: Invalid, NotFound, Conflict.
func (s *Service) UpdateMount(ctx context.Context, id string, change func(m *mount.Mount) error) (Mount, error) {
	var m mount.Mount
	err := s.inMountTx(ctx, func(tx *db.Tx) error {
		before, err := s.cfg.Mounts.Lock(tx, id)
		if err != nil {
			return err
		}
		recorded := before.RecordedProviderID()
		m = before
		m.ProviderID = recorded
		if err := change(&m); err != nil {
			return err
		}
		if err := m.Check(); err != nil {
			return err
		}
		if m.ProviderID != recorded {
			if before.EvacuationID != "" {
				return fault.New(fault.Conflict,
					"This mount is being evacuated. Its provider can be changed when that has ended.")
			}
			if err := s.checkProvider(tx, m); err != nil {
				return err
			}
		} else {
			m.ProviderID = before.ProviderID
		}
		if m.Path.Depth() > before.Path.Depth() {
			if err := s.cfg.Tree.CheckDepthAt(tx, m.RootID, m.Path); err != nil {
				return fault.InField(err, "mountPath")
			}
		}
		m.UpdatedAt = s.cfg.Now().UnixMilli()
		return s.cfg.Mounts.Replace(tx, m)
	})
	if err != nil {
		return Mount{}, fmt.Errorf("update mount: %w", err)
	}
	return s.describeMount(ctx, m)
}

// DeleteMount deletes a mount without files, with its folders and the rules for it alone. Faults:
// NotFound, Conflict when it has files, or when a password would no longer cover content.
func (s *Service) DeleteMount(ctx context.Context, id string) error {
	err := s.inMountTx(ctx, func(tx *db.Tx) error {
		m, err := s.cfg.Mounts.Lock(tx, id)
		if err != nil {
			return err
		}
		if err := s.cfg.Tree.RemoveRoot(tx, m.RootID); err != nil {
			return err
		}
		if err := s.cfg.Policies.DeleteOfMount(tx, id); err != nil {
			return err
		}
		return s.cfg.Mounts.Delete(tx, id)
	})
	if err != nil {
		return fmt.Errorf("delete mount: %w", err)
	}
	return nil
}
