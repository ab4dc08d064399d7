package fsck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"larder/internal/db"
	"larder/internal/job"
	"larder/internal/object"
)

const (
	// ScrubJob is the type of the job that is a pass of the scrub. RunScrub runs it.
	ScrubJob = "scrub"

	// scrubSaveEvery is how often a pass saves its position.
	scrubSaveEvery = 5 * time.Second
	// scrubRetry is when a pass looks again for a store that was not available.
	scrubRetry = 15 * time.Minute
	// scrubAfterFailure is when the pass after a failed one begins.
	scrubAfterFailure = 24 * time.Hour
)

// StartScrub queues a pass of the scrub if one is due: 90 days after the beginning of the last one,
// on one of the replicas. Most calls do nothing.
func (s *Service) StartScrub(ctx context.Context) error {
	if s.ScrubRate == 0 {
		return nil
	}
	now := s.Now().UnixMilli()
	due, err := scrubIsDue(s.DB.Read(ctx), now, scrubEvery.Milliseconds())
	if err != nil || !due {
		return err
	}
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		// a pass may take longer than 90 days at a low rate
		if running, err := job.CountOpenOfType(tx, ScrubJob, 1); err != nil || running > 0 {
			return err
		}
		mine, err := claimScrub(tx, now, scrubEvery.Milliseconds())
		if err != nil || !mine {
			return err
		}
		if s.WakeScrub != nil {
			tx.AfterCommit(s.WakeScrub)
		}
		return job.Insert(tx, job.Spec{ID: s.Objects.IDs.UUID(), Type: ScrubJob, CreatedAt: now,
			Payload: newScrubState(now).encode()})
	})
}

func (s *scrubState) encode() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings, numbers and bools
	}
	return string(text)
}

// RunScrub runs a pass of the scrub. It saves its position and goes on from there when it is called
// again. It waits for stores that are not available (job.WaitUntil), and gives up after the time of
// a pass.
func (s *Service) RunScrub(ctx context.Context, run *job.Run) error {
	state := newScrubState(s.Now().UnixMilli())
	if err := json.Unmarshal([]byte(run.Payload), state); err != nil {
		return fmt.Errorf("read the payload of a scrub: %w", err)
	}
	if err := s.setRemaining(ctx, run, state); err != nil {
		return err
	}
	var saved time.Time
	var unsaved int64
	save := func(ctx context.Context) error {
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			if err := run.SavePayload(tx, state.encode()); err != nil {
				return err
			}
			return run.RecordBytes(tx, unsaved)
		})
		saved, unsaved = s.Now(), 0
		return err
	}
	pass := scrub{ScrubOptions: ScrubOptions{Report: s.logFinding}, openBackup: s.OpenBackup,
		pace: s.Tree.NewPace(s.ScrubRate), state: state,
		step: func(ctx context.Context, bytes int64) error {
			unsaved += bytes
			if age := s.Now().Sub(saved); age >= 0 && age < scrubSaveEvery {
				return nil
			}
			return save(ctx)
		}}
	complete, err := s.scrubProviders(ctx, &pass)
	if pass.Backup != nil {
		err = errors.Join(err, pass.Backup.Close())
	}
	if err != nil {
		return err
	}
	if !complete {
		if now := s.Now().UnixMilli(); now < state.Started+scrubEvery.Milliseconds() {
			if err := save(ctx); err != nil {
				return err
			}
			return job.WaitUntil(now + scrubRetry.Milliseconds())
		}
		if err := s.countUnread(ctx, state); err != nil {
			return err
		}
	}
	s.Log.Info("scrubbed the stores", "objects", state.Summary.Objects, "bytes", state.Summary.Bytes, "damaged",
		state.Summary.Findings, "healed", state.Summary.Healed, "unread", state.Summary.Unread)
	return s.recordScrub(ctx, state.Summary)
}

// setRemaining tells the job how many bytes are left to read.
func (s *Service) setRemaining(ctx context.Context, run *job.Run, state *scrubState) error {
	list, err := s.scrubbed(ctx)
	if err != nil {
		return err
	}
	left := -state.Summary.Bytes
	for _, p := range list {
		total, err := object.CountIn(s.DB.Read(ctx), p.ID)
		if err != nil {
			return err
		}
		left += total.Bytes
	}
	run.SetRemaining(max(left, 0))
	return nil
}

// logFinding tells the operator of a damaged object.
func (s *Service) logFinding(f Finding) {
	if f.Repaired {
		s.Log.Warn("a damaged object was healed from another one with the same content: check the disk", "damage",
			f.Text)
		return
	}
	s.Log.Error("a stored object is damaged, and its files answer 500: heal it from a backup by `larder scrub --now "+
		"--from BACKUP`, or replace its files; check the disk", "damage", f.Text)
}

// EndScrub begins the next pass sooner after one that failed, for job.Runner.OnEnd.
func (s *Service) EndScrub(tx *db.Tx, _ *job.Run, failure string) error {
	if failure == "" {
		return nil
	}
	return setNextScrub(tx, s.Now().Add(scrubAfterFailure).UnixMilli())
}
