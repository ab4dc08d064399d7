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
	Mounts    int  // number of mounts on it
	Available bool // the store can be used now, see provider.Registry.StoreStatuses
}

// StorageProviders lists all providers, the oldest first. It asks their stores concurrently, so
// that a store that hangs delays it for provider.StatusTimeout at most.
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
	for i, status := range all {
		list[i] = withMounts(status, mounts)
	}
	return list, nil
}

// withMounts returns the provider of a status with the number of its mounts.
func withMounts(status provider.StoreStatus, mounts *mount.Table) StorageProvider {
	shown := StorageProvider{Provider: status.Provider, Available: status.Err == nil}
	for _, m := range mounts.All() {
		if m.RecordedProviderID() == status.Provider.ID {
			shown.Mounts++
		}
	}
	return shown
}

// TestProvider tests what the store of the provider id can do, also for browsers on pages of the
// site at origin, see provider.Registry.Probe. Fault: NotFound.
func (s *Service) TestProvider(ctx context.Context, id, origin string) (provider.Report, error) {
	return s.cfg.Providers.Probe(ctx, id, origin)
}

// describeProvider returns p as administrators see it. It asks the store whether it is available.
func (s *Service) describeProvider(ctx context.Context, p provider.Provider) (StorageProvider, error) {
	mounts, err := s.cfg.Mounts.TableIn(s.cfg.DB.Read(ctx))
	if err != nil {
		return StorageProvider{}, err
	}
	return withMounts(provider.StoreStatus{Provider: p, Err: s.cfg.Providers.CheckStore(ctx, p)}, mounts), nil
}

// CreateProvider makes a provider with its store; it ignores id, marker and times of p. It can be
// repeated after a crash. Faults: Invalid, Unavailable.
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

// prepareStore makes the built-in store of a provider's bucket before a row with its marker is
// committed, and returns the marker, "" for other types. A bucket of an existing provider is that
// provider's store, and is never made again: its directory may be missing because a disk is.
// Faults: Invalid, Unavailable.
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

// markerOf returns the id, for the marker file, of a bucket's store in the database with that first
// store number. It is always the same, so that a crash between making the store and committing the
// row can be repeated, and differs between databases, so that none takes over the store of another.
func markerOf(first int64, bucket string) string {
	marker := fmt.Sprintf("larder-%016x", first)
	if bucket == firstBucket {
		return marker
	}
	sum := sha256.Sum256([]byte(marker + "/" + bucket))
	return fmt.Sprintf("larder-%x", sum[:16])
}

// UpdateProvider applies change to the provider id; change may be called more than once, and its
// fault ends the update. Faults: Invalid, NotFound, Unavailable, Conflict for another bucket, type
// or prefix while there are objects.
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
			return fault.New(fault.Conflict, "Someone else has just changed this provider. Reload it and try again.")
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

// applyChange returns p after change, checked. Faults: those of change, Invalid.
func applyChange(p provider.Provider, change func(p *provider.Provider) error) (provider.Provider, error) {
	if err := change(&p); err != nil {
		return p, err
	}
	return p, p.Check()
}

// storageChanged reports whether objects that were stored with the record a cannot be found with b:
// type, bucket or prefix differ.
func storageChanged(a, b provider.Provider) bool {
	return a.Type != b.Type || a.Bucket != b.Bucket || a.PathPrefix != b.PathPrefix
}

// checkEmpty refuses while objects are, or are about to be, in the store of the provider id. noted
// are the keys that were only put on the garbage list for future uploads, and have no object
// (object.Registry.UnusedKeys); it takes them off the list. Fault: Conflict.
func (s *Service) checkEmpty(tx *db.Tx, id string, noted []blob.Key) error {
	busy, err := upload.InUse(tx, id)
	if err != nil {
		return err
	}
	if busy {
		return fault.New(fault.Conflict, "Uploads to this provider are still open. Wait until they end.")
	}
	return object.ForgetKeys(tx, id, noted)
}

// DeleteProvider deletes a provider without mounts and objects. Its directory stays on the disk.
// Faults: NotFound, Conflict.
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
		if err := s.checkNotEvacuated(tx, id); err != nil {
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

// checkUnmounted refuses while mounts are on the provider or are being evacuated from it. Fault:
// Conflict.
func (s *Service) checkUnmounted(q db.Querier, id string) error {
	mounts, err := s.cfg.Mounts.TableIn(q)
	if err != nil {
		return err
	}
	for _, m := range mounts.All() {
		if m.ProviderID == id || m.EvacuatedID == id {
			return fault.Newf(fault.Conflict, "The mount %q at %s uses this provider. Delete the mount "+
				"first.", m.Name, m.Path)
		}
	}
	return nil
}
