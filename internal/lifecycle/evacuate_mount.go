package lifecycle

import (
	"context"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/provider"
	"larder/internal/upload"
)

// EvacuateMount is EvacuateProvider for the objects of one mount: of its files, their versions, and
// what was deleted from it into the trash. An object that files of other mounts share is moved too.
// Faults: NotFound (no such mount), Invalid, Conflict.
func (s *Service) EvacuateMount(ctx context.Context, ownerID, id string, e Evacuation) (jobID string, err error) {
	jobID = s.cfg.IDs.UUID()
	err = s.inExclusiveTx(ctx, func(tx *db.Tx) error {
		m, err := s.cfg.Mounts.Lock(tx, id)
		if err != nil {
			return err
		}
		if err := s.checkTarget(tx, m.RecordedProviderID(), e); err != nil {
			return err
		}
		if m.EvacuationID != "" {
			return fault.New(fault.Conflict, "This mount is being evacuated. Wait until that has ended.")
		}
		if err := s.cfg.Mounts.Evacuate(tx, m.ProviderID, id, e.Target, jobID); err != nil {
			return err
		}
		return s.queueEvacuation(tx, jobID, ownerID, evacuationPayload{Evacuation: e, From: m.ProviderID, Mount: id})
	})
	if err != nil {
		return "", fmt.Errorf("evacuate mount: %w", err)
	}
	return jobID, nil
}

// runMountEvacuation is RunEvacuation for the mount p.Mount on the provider from; how says which
// objects move. It ends when no upload to the mount that began before is open. Other mounts may go
// on using the provider.
func (s *Service) runMountEvacuation(ctx context.Context, run *job.Run, p evacuationPayload, from provider.Provider,
	how files.Evacuation) error {
	q := s.cfg.DB.Read(ctx)
	busy, err := upload.MountInUse(q, p.From, p.Mount) // first, since the object of one that ends later is not seen
	if err != nil {
		return err
	}
	mounts, err := s.cfg.Mounts.TableIn(q)
	if err != nil {
		return err
	}
	m, there := mounts.ByID(p.Mount)
	if !there { // deleted, without files
		return nil
	}
	how.MountID, how.RootID = m.ID, m.RootID
	s.keepSigned(&how, from, p)
	if err := s.countOnce(ctx, run, &p, how); err != nil {
		return err
	}
	if err := s.cfg.Tree.Evacuate(ctx, run, how); err != nil {
		return err
	}
	if !p.Mounted {
		if err := s.mountTarget(ctx, run, p); err != nil {
			return err
		}
	}
	if busy {
		return job.WaitUntil(s.cfg.Now().Add(maxEmptyPause).UnixMilli())
	}
	return nil
}
