package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/download"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/notice"
	"larder/internal/object"
	"larder/internal/provider"
)

// EvacuateJob is the type of the job that moves all objects of a provider to another one.
// RunEvacuation runs it.
const EvacuateJob = "evacuate"

// An evacuation waits for old objects to be removed. It looks again when the next one is due, after
// minEmptyPause at least and maxEmptyPause at most.
const (
	minEmptyPause = time.Second
	maxEmptyPause = time.Minute
)

// Evacuation is a request to move all objects of a provider.
type Evacuation struct {
	Target         string // provider that gets the objects
	BytesPerSecond int64  // that are read, 0 for no limit
	DropSigned     bool   // does not wait for signed addresses to end
}

// evacuationPayload is the payload of the job: the request, and how far it is.
type evacuationPayload struct {
	Evacuation
	From    string // provider
	Mount   string // of which the objects are moved, "" for all of the provider
	Mounted bool   // the mounts are on the target by now
	Objects int64  // number of them when the job began, 0 before
}

// encode returns the payload as JSON, as the job's row holds it.
func (p evacuationPayload) encode() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings, a number and bools
	}
	return string(text)
}

// EvacuateProvider queues the job that moves all objects of the provider id to another one, in the
// name of the administrator ownerID, and returns the id of the job. From now on the mounts on the
// provider store new objects in the target. Faults: NotFound (no such provider), Invalid (no such
// target, the same provider), Conflict (one of them is part of another evacuation).
func (s *Service) EvacuateProvider(ctx context.Context, ownerID, id string, e Evacuation) (jobID string, err error) {
	jobID = s.cfg.IDs.UUID()
	err = s.inExclusiveTx(ctx, func(tx *db.Tx) error {
		from, err := s.cfg.Providers.ByIDIn(tx, id)
		if err != nil {
			return err
		}
		if err := s.checkEvacuation(tx, from, e); err != nil {
			return err
		}
		if err := s.cfg.Providers.Evacuate(tx, id, e.Target, jobID); err != nil {
			return err
		}
		if err := s.cfg.Mounts.Evacuate(tx, id, "", e.Target, jobID); err != nil {
			return err
		}
		return s.queueEvacuation(tx, jobID, ownerID, evacuationPayload{Evacuation: e, From: id})
	})
	if err != nil {
		return "", fmt.Errorf("evacuate provider: %w", err)
	}
	return jobID, nil
}

// queueEvacuation inserts the job of an evacuation with the id jobID, which the marks of provider
// and mounts name.
func (s *Service) queueEvacuation(tx *db.Tx, jobID, ownerID string, p evacuationPayload) error {
	err := job.Insert(tx, job.Spec{ID: jobID, Type: EvacuateJob, OwnerID: ownerID, Payload: p.encode(),
		CreatedAt: s.cfg.Now().UnixMilli()})
	if err == nil && s.cfg.Wake != nil {
		tx.AfterCommit(s.cfg.Wake)
	}
	return err
}

// checkEvacuation refuses an evacuation of from whose target does not exist or is the same provider
// (Invalid), or one of whose providers is part of another evacuation (Conflict).
func (s *Service) checkEvacuation(tx *db.Tx, from provider.Provider, e Evacuation) error {
	if err := s.checkTarget(tx, from.ID, e); err != nil {
		return err
	}
	return s.checkNotEvacuated(tx, from.ID)
}

// checkTarget refuses the target of an evacuation from the provider from: none or the same one
// (Invalid), or one that is being evacuated itself (Conflict).
func (s *Service) checkTarget(tx *db.Tx, from string, e Evacuation) error {
	if e.Target == from {
		return fault.InvalidField("targetProviderId", "The target is the provider itself. Choose another one.")
	}
	target, err := s.cfg.Providers.ByIDIn(tx, e.Target)
	if fault.Is(err, fault.NotFound) {
		return fault.InvalidField("targetProviderId", "targetProviderId names no provider.")
	}
	if err != nil {
		return err
	}
	if target.EvacuationID != "" {
		return fault.New(fault.Conflict, "The target is being evacuated itself. Choose another one.")
	}
	return nil
}

// checkNotEvacuated refuses while the provider id, or a mount on it, is the source or target of an
// evacuation. Fault: Conflict.
func (s *Service) checkNotEvacuated(tx *db.Tx, id string) error {
	p, err := s.cfg.Providers.ByIDIn(tx, id)
	if err != nil {
		return err
	}
	if p.EvacuationID != "" {
		return fault.New(fault.Conflict, "This provider is being evacuated. Wait until that has ended.")
	}
	is, err := provider.IsEvacuationTarget(tx, id)
	if err != nil {
		return err
	}
	mounts, err := s.cfg.Mounts.TableIn(tx)
	if err != nil {
		return err
	}
	for _, m := range mounts.All() {
		is = is || m.EvacuationID != "" && (m.ProviderID == id || m.EvacuatedID == id)
	}
	if is {
		return fault.New(fault.Conflict,
			"Another provider or a mount is being evacuated from or to this one. Wait until that has ended.")
	}
	return nil
}

// RunEvacuation runs the job of an evacuation. It moves the objects, then gives the mounts the
// target, then waits until the uploads that began before have ended, whose objects it moves as
// well, and until the collector has removed the old objects. After its end the provider can be
// deleted. Faults: those of files.Tree.Evacuate.
func (s *Service) RunEvacuation(ctx context.Context, run *job.Run) error {
	var p evacuationPayload
	if err := json.Unmarshal([]byte(run.Payload), &p); err != nil {
		return fmt.Errorf("read the payload of an evacuation: %w", err)
	}
	from, err := s.cfg.Providers.ByID(ctx, p.From)
	if err != nil {
		return err
	}
	how := files.Evacuation{From: p.From, To: p.Target, BytesPerSecond: p.BytesPerSecond}
	if p.Mount != "" {
		return s.runMountEvacuation(ctx, run, p, from, how)
	}
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
	return s.checkEvacuated(ctx, p.From)
}

// keepSigned sets how.KeepFor, for which old objects stay, so that signed addresses that clients
// have of the store from still work. They are not recorded: those of an object end within their
// longest lifetime after the last one was signed, which is before the object is switched over.
// p.DropSigned leaves this out.
func (s *Service) keepSigned(how *files.Evacuation, from provider.Provider, p evacuationPayload) {
	if from.Presigns() && !p.DropSigned {
		how.KeepFor = download.MaxSignedLifetime
	}
}

// mountTarget gives the mounts, and the entries in the trash, the target of an evacuation, when no
// object is left, and records that in the job. It makes the job run again when an upload has just
// stored another object.
func (s *Service) mountTarget(ctx context.Context, run *job.Run, p evacuationPayload) error {
	p.Mounted = true
	return s.inExclusiveTx(ctx, func(tx *db.Tx) error {
		if p.Mount == "" {
			has, err := object.ExistsIn(tx, p.From)
			if err != nil {
				return err
			}
			if has { // of an upload that has just ended
				return job.WaitUntil(s.cfg.Now().UnixMilli())
			}
		}
		if err := s.cfg.Mounts.FinishEvacuation(tx, run.ID); err != nil {
			return err
		}
		if err := files.ReplaceTrashProvider(tx, p.From, p.Target, p.Mount); err != nil {
			return err
		}
		return run.SavePayload(tx, p.encode())
	})
}

// checkEvacuated returns job.WaitUntil, which makes the job wait, while the provider id still has
// uploads or objects; nil when it is empty.
func (s *Service) checkEvacuated(ctx context.Context, id string) error {
	keys, err := s.cfg.Objects.UnusedKeys(ctx, id)
	if err == nil {
		err = s.inExclusiveTx(ctx, func(tx *db.Tx) error { return s.checkEmpty(tx, id, keys) })
	}
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	next, err := object.NextDue(s.cfg.DB.Read(ctx), id)
	if err != nil {
		return err
	}
	now := s.cfg.Now().UnixMilli()
	return job.WaitUntil(min(max(next, now+minEmptyPause.Milliseconds()), now+maxEmptyPause.Milliseconds()))
}

// EndEvacuation records the end of an evacuation, completed or failed, and notifies the
// administrator who started it, who must still be one; failure is the sentence for a failed one.
// job.Runner.OnEnd calls it in the transaction that ends the job. After a failure the mounts are on
// their provider as before; objects that were moved stay in the target.
func (s *Service) EndEvacuation(tx *db.Tx, run *job.Run, failure string) error {
	if err := s.cfg.Mounts.CancelEvacuation(tx, run.ID); err != nil {
		return err
	}
	if err := s.cfg.Providers.EndEvacuation(tx, run.ID); err != nil {
		return err
	}
	owner, err := s.cfg.Accounts.ByID(tx, run.OwnerID)
	if fault.Is(err, fault.NotFound) || err == nil && owner.Role != access.Admin {
		return nil // names of storages and mounts are for administrators
	}
	if err != nil {
		return err
	}
	params := notice.Params{JobID: run.ID, JobType: run.Type, Failed: failure != "", Message: failure}
	var p evacuationPayload
	if err := json.Unmarshal([]byte(run.Payload), &p); err == nil {
		if params.Name, err = s.evacuatedName(tx, p); err != nil {
			return err
		}
		if params.Target, err = s.providerName(tx, p.Target); err != nil {
			return err
		}
	}
	return notice.Insert(tx, notice.Event{ID: s.cfg.IDs.UUID(), UserID: run.OwnerID, Kind: notice.Job,
		Subject: run.ID, Params: params, At: s.cfg.Now().UnixMilli()})
}

// evacuatedName returns the path of the mount that is evacuated, or the name of the provider; "" if
// it does not exist any more.
func (s *Service) evacuatedName(tx *db.Tx, p evacuationPayload) (string, error) {
	if p.Mount == "" {
		return s.providerName(tx, p.From)
	}
	mounts, err := s.cfg.Mounts.TableIn(tx)
	if err != nil {
		return "", err
	}
	m, there := mounts.ByID(p.Mount)
	if !there {
		return "", nil
	}
	return m.Path.String(), nil
}

// providerName returns the name of the provider id, "" if it does not exist any more.
func (s *Service) providerName(tx *db.Tx, id string) (string, error) {
	p, err := s.cfg.Providers.ByIDIn(tx, id)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	return p.Name, err
}

// PauseJob pauses an evacuation of an account, see job.Pause; an administrator pauses those of
// others too. Faults: NotFound, Conflict.
func (s *Service) PauseJob(ctx context.Context, userID string, admin bool, id string) (j job.Job, err error) {
	err = s.cfg.DB.Write(ctx, func(tx *db.Tx) error {
		owner, err := evacuationOwner(tx, userID, admin, id)
		if err != nil {
			return err
		}
		j, err = job.Pause(tx, owner, id, EvacuateJob)
		return err
	})
	return j, err
}

// ResumeJob resumes an evacuation of an account, see job.Resume; an administrator resumes those of
// others too. Faults: NotFound, Conflict.
func (s *Service) ResumeJob(ctx context.Context, userID string, admin bool, id string) (j job.Job, err error) {
	err = s.cfg.DB.Write(ctx, func(tx *db.Tx) error {
		owner, err := evacuationOwner(tx, userID, admin, id)
		if err != nil {
			return err
		}
		j, err = job.Resume(tx, owner, id, EvacuateJob, s.cfg.Now().UnixMilli())
		if err == nil && s.cfg.Wake != nil {
			tx.AfterCommit(s.cfg.Wake)
		}
		return err
	})
	return j, err
}
