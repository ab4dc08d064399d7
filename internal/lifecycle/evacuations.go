package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/mount"
	"larder/internal/object"
	"larder/internal/provider"
)

// maxListedEvacuations is the largest number of evacuations in a listing.
const maxListedEvacuations = 20

// EvacuationStatus is an evacuation as administrators see it: its request, its job, and how far it
// is.
type EvacuationStatus struct {
	Evacuation
	Job            job.Job
	From, FromName string // provider; the name is "" if it has been deleted, likewise below
	TargetName     string
	Mount, Path    string // of which the objects are moved, "" for all of the provider
	Mounted        bool   // all objects are moved, and the mounts are on the target
	Objects        int64  // number of them when the job began, 0 before
	DoneBytes      int64  // bytes of moved objects
	Left           object.Total
	NextRemoval    int64             // when the collector removes the next old object (ms), 0 for none
	Failure        files.MoveFailure // why the job failed
}

// Evacuations returns the newest evacuations, of providers and of mounts, newest first.
func (s *Service) Evacuations(ctx context.Context) ([]EvacuationStatus, error) {
	q := s.cfg.DB.Read(ctx)
	found, err := job.NewestOfType(q, EvacuateJob, maxListedEvacuations)
	if err != nil {
		return nil, err
	}
	return s.describeEvacuations(ctx, found)
}

// EvacuationByID returns the evacuation of a job. Fault: NotFound.
func (s *Service) EvacuationByID(ctx context.Context, jobID string) (EvacuationStatus, error) {
	w, err := job.WorkByID(s.cfg.DB.Read(ctx), EvacuateJob, jobID)
	if err != nil {
		return EvacuationStatus{}, err
	}
	all, err := s.describeEvacuations(ctx, []job.Work{w})
	if err != nil {
		return EvacuationStatus{}, err
	}
	return all[0], nil
}

// describeEvacuations adds names to the jobs of evacuations, and counts the objects that are left
// of those that have not ended.
func (s *Service) describeEvacuations(ctx context.Context, jobs []job.Work) ([]EvacuationStatus, error) {
	providers, err := s.cfg.Providers.All(ctx)
	if err != nil {
		return nil, err
	}
	mounts, err := s.cfg.Mounts.TableIn(s.cfg.DB.Read(ctx))
	if err != nil {
		return nil, err
	}
	list := make([]EvacuationStatus, len(jobs))
	for i, w := range jobs {
		if list[i], err = s.describeEvacuation(ctx, w, providers, mounts); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *Service) describeEvacuation(ctx context.Context, w job.Work, providers []provider.Provider,
	mounts *mount.Table) (EvacuationStatus, error) {
	var p evacuationPayload
	if err := json.Unmarshal([]byte(w.Payload), &p); err != nil {
		return EvacuationStatus{}, fmt.Errorf("read the payload of an evacuation: %w", err)
	}
	shown := EvacuationStatus{Evacuation: p.Evacuation, Job: w.Job, From: p.From, Mount: p.Mount, Mounted: p.Mounted,
		Objects: p.Objects, DoneBytes: w.DoneBytes}
	for _, one := range providers {
		switch one.ID {
		case p.From:
			shown.FromName = one.Name
		case p.Target:
			shown.TargetName = one.Name
		}
	}
	m, there := mounts.ByID(p.Mount)
	if there {
		shown.Path = m.Path.String()
	}
	if w.Status == job.Completed || w.Status == job.Failed {
		if w.ErrorMessage != nil {
			shown.Failure = files.MoveFailureOf(*w.ErrorMessage)
		}
		return shown, nil
	}
	how := files.Evacuation{From: p.From, To: p.Target}
	if there {
		how.MountID, how.RootID = m.ID, m.RootID
	}
	var err error
	if p.Mount == "" || there {
		if shown.Left, err = s.cfg.Tree.LeftToEvacuate(ctx, how); err != nil {
			return EvacuationStatus{}, err
		}
	}
	if p.Mounted {
		shown.NextRemoval, err = object.NextDue(s.cfg.DB.Read(ctx), p.From)
	}
	return shown, err
}

// countOnce records in the payload how many objects an evacuation has to move, when it begins.
func (s *Service) countOnce(ctx context.Context, run *job.Run, p *evacuationPayload, how files.Evacuation) error {
	if p.Objects > 0 {
		return nil
	}
	left, err := s.cfg.Tree.LeftToEvacuate(ctx, how)
	if err != nil || left.Objects == 0 {
		return err
	}
	p.Objects = left.Objects
	return s.cfg.DB.Write(ctx, func(tx *db.Tx) error { return run.SavePayload(tx, p.encode()) })
}

// evacuationOwner returns the account for which userID pauses or resumes the job id. An evacuation
// belongs to the installation, so each administrator may pause and resume it, and its owner no
// longer may after losing the role. For any other job the account is userID. Fault: Conflict.
func evacuationOwner(q db.Querier, userID string, admin bool, id string) (string, error) {
	w, err := job.WorkByID(q, EvacuateJob, id)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && !admin && w.OwnerID != userID:
		return userID, nil
	case err == nil && !admin:
		return "", fault.New(fault.Conflict, "Only an administrator can pause or resume an evacuation.")
	}
	return w.OwnerID, err
}
