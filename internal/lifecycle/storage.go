package lifecycle

import (
	"context"
	"crypto/sha256"
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/mount"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/upload"
)

// StorageProvider is a provider as administrators see it.
type StorageProvider struct {
	provider.Provider
	Mounts    int  // on it
	Available bool // its store can be used now, see provider.Registry.Standings
}

// StorageProviders lists all providers, the oldest first. Their stores are asked side by side, so
// that one that hangs holds it up for as long as provider.StatusTimeout at most.
func (s *Service) StorageProviders(ctx context.Context) ([]StorageProvider, error) {
	mounts, err := s.cfg.Mounts.TableIn(s.cfg.DB.Read(ctx))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, provider.StatusTimeout)
	defer cancel()
	all, err := s.cfg.Providers.StoreStatuses(ctx, provider.StatusTimeout)
	if err != nil {
		return nil, err
	}
	list := make([]StorageProvider, len(all))
	for i, standing := range all {
		list[i] = withMounts(standing, mounts)
	}
	return list, nil
}

func withMounts(standing provider.StoreStatus, mounts *mount.Table) StorageProvider {
	shown := StorageProvider{Provider: standing.Provider, Available: standing.Err == nil}
	for _, m := range mounts.All() {
		if m.ProviderID == standing.Provider.ID {
			shown.Mounts++
		}
	}
	return shown
}

// TestProvider tries out what a provider's store can do, also for browsers on pages at origin,
// see provider.Registry.Probe. Fault: NotFound.
func (s *Service) TestProvider(ctx context.Context, id, origin string) (provider.Report, error) {
	return s.cfg.Providers.Probe(ctx, id, origin)
}

func (s *Service) describeProvider(ctx context.Context, p provider.Provider) (StorageProvider, error) {
	mounts, err := s.cfg.Mounts.TableIn(s.cfg.DB.Read(ctx))
	if err != nil {
		return StorageProvider{}, err
	}
	return withMounts(provider.StoreStatus{Provider: p, Err: s.cfg.Providers.CheckStore(ctx, p)}, mounts), nil
}

// CreateProvider makes a provider, whose id, marker and times are not looked at, with its store.
// Repeating it after a crash is fine. Faults: Invalid, Unavailable.
func (s *Service) CreateProvider(ctx context.Context, p provider.Provider) (StorageProvider, error) {
	err := p.Check()
	if err != nil {
		return StorageProvider{}, err
	}
	if err := s.cfg.Providers.CheckEndpoint(ctx, p); err != nil {
		return StorageProvider{}, err
	}
	if p.Marker, err = s.prepareStore(ctx, p); err != nil {
		return StorageProvider{}, err
	}
	p.ID, p.CreatedAt = s.cfg.IDs.UUID(), s.cfg.Now().UnixMilli()
	p.UpdatedAt = p.CreatedAt
	if err := s.cfg.DB.Write(ctx, func(tx *db.Tx) error { return s.cfg.Providers.Insert(tx, p) }); err != nil {
		return StorageProvider{}, fmt.Errorf("create provider: %w", err)
	}
	return s.describeProvider(ctx, p)
}

// prepareStore makes the built-in store of a bucket before a row with its marker is committed. A
// bucket that a provider has already is that provider's store, and never made anew: its directory
// may be missing because a disk is.
func (s *Service) prepareStore(ctx context.Context, to provider.Provider) (marker string, err error) {
	if to.Type != provider.BuiltIn {
		return "", nil
	}
	bucket := to.Bucket
	all, err := s.cfg.Providers.All(ctx)
	if err != nil {
		return "", err
	}
	for _, p := range all {
		if p.Type == provider.BuiltIn && p.Bucket == bucket {
			return p.Marker, provider.Fault(s.cfg.Providers.CheckStore(ctx, p))
		}
	}
	number, err := storeNumber(s.cfg.DB.Read(ctx))
	if err != nil {
		return "", fmt.Errorf("name a store: %w", err)
	}
	marker = markerOf(number, bucket)
	return marker, s.cfg.Providers.Prepare(bucket, marker)
}

// markerOf is the marker of a bucket's store in the database whose first store has that number:
// always the same, so that what breaks off between store and row can be repeated, and another one
// in each database, so that nobody takes over the store of somebody else's.
func markerOf(first int64, bucket string) string {
	marker := fmt.Sprintf("larder-%016x", first)
	if bucket == firstBucket {
		return marker
	}
	sum := sha256.Sum256([]byte(marker + "/" + bucket))
	return fmt.Sprintf("larder-%x", sum[:16])
}

// UpdateProvider has change alter a provider; it may be called more than once, and its fault
// ends it. Faults: Invalid, NotFound, Unavailable, Conflict for another bucket, type or prefix
// while there are objects.
func (s *Service) UpdateProvider(ctx context.Context, id string,
	change func(p *provider.Provider) error) (StorageProvider, error) {
	before, err := s.cfg.Providers.ByID(ctx, id)
	if err != nil {
		return StorageProvider{}, err
	}
	after, err := applyChange(before, change)
	if err != nil {
		return StorageProvider{}, err
	}
	if after.Endpoint != before.Endpoint {
		if err := s.cfg.Providers.CheckEndpoint(ctx, after); err != nil {
			return StorageProvider{}, err
		}
	}
	var noted []blob.Key
	if storageChanged(before, after) {
		if noted, err = s.cfg.Objects.UnusedKeys(ctx, id); err != nil {
			return StorageProvider{}, err
		}
		if after.Marker, err = s.prepareStore(ctx, after); err != nil {
			return StorageProvider{}, err
		}
	}
	err = s.inExclusiveTx(ctx, func(tx *db.Tx) error {
		p, err := s.cfg.Providers.ByIDIn(tx, id)
		if err != nil {
			return err
		}
		if storageChanged(before, p) {
			return fault.New(fault.Conflict, "Somebody else has just changed this provider. Look at it again.")
		}
		marker := after.Marker
		if after, err = applyChange(p, change); err != nil {
			return err
		}
		after.Marker, after.UpdatedAt = marker, s.cfg.Now().UnixMilli()
		if storageChanged(before, after) {
			if err := s.checkEmpty(tx, id, noted); err != nil {
				return err
			}
		}
		return s.cfg.Providers.Replace(tx, after)
	})
	if err != nil {
		return StorageProvider{}, fmt.Errorf("update provider: %w", err)
	}
	return s.describeProvider(ctx, after)
}

func applyChange(p provider.Provider, change func(p *provider.Provider) error) (provider.Provider, error) {
	if err := change(&p); err != nil {
		return p, err
	}
	return p, p.Check()
}

// storageChanged reports whether the keys of one are not to be found by the other.
func storageChanged(a, b provider.Provider) bool {
	return a.Type != b.Type || a.Bucket != b.Bucket || a.PathPrefix != b.PathPrefix
}

// checkEmpty refuses while anything lies, or is about to lie, in the provider's store; keys that
// were only noted for uploads to come are let go.
func (s *Service) checkEmpty(tx *db.Tx, id string, noted []blob.Key) error {
	busy, err := upload.InUse(tx, id)
	if err != nil {
		return err
	}
	if busy {
		return fault.New(fault.Conflict, "Uploads to this provider are still open.")
	}
	return object.ForgetKeys(tx, id, noted)
}

// DeleteProvider removes a provider that nothing is on and nothing is in. Its directory stays on
// the disk. Faults: NotFound, Conflict.
func (s *Service) DeleteProvider(ctx context.Context, id string) error {
	if _, err := s.cfg.Providers.ByID(ctx, id); err != nil {
		return err
	}
	if err := s.checkUnmounted(s.cfg.DB.Read(ctx), id); err != nil {
		return err
	}
	noted, err := s.cfg.Objects.UnusedKeys(ctx, id)
	if err != nil {
		return err
	}
	err = s.inExclusiveTx(ctx, func(tx *db.Tx) error {
		if err := s.checkUnmounted(tx, id); err != nil {
			return err
		}
		if err := s.checkEmpty(tx, id, noted); err != nil {
			return err
		}
		return s.cfg.Providers.Delete(tx, id)
	})
	if err != nil {
		return fmt.Errorf("delete provider: %w", err)
	}
	return nil
}

// checkUnmounted refuses while mounts are on the provider. Fault: Conflict.
func (s *Service) checkUnmounted(q db.Querier, id string) error {
	mounts, err := s.cfg.Mounts.TableIn(q)
	if err != nil {
		return err
	}
	for _, m := range mounts.All() {
		if m.ProviderID == id {
			return fault.Newf(fault.Conflict, "The mount %q at %s is on this provider.", m.Name, m.Path)
		}
	}
	return nil
}
