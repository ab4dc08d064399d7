package upload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/provider"
)

// Of several completions of one session in parts only one at a time asks the store, on whichever
// replicas they run: it holds a lease on the session's row, and the others wait for its commit. A
// store that assembles an object may list neither the parts nor the object until it is done, which
// takes minutes for a large one; a second completion would think that the parts are lost.
//
// The lease decides who asks the store, not who makes the file: that is the conditional UPDATE of
// commit. So nothing is lost when two completions hold it, because a process was suspended or
// clocks differ. A lease expires when its holder does not renew it, because the process died; the
// next completion finds the parts or the object and continues. If it finds neither, the store may
// still be assembling: for assemblyTime it asks the client to retry.
const (
	// leaseTime is the validity of a lease without renewal; less than leaseWait, so that the next
	// completion outlasts a dead one.
	leaseTime    = 15 * time.Second
	leaseRenewal = 5 * time.Second
	maxLease     = 10 * time.Minute // a lease that ends later was left by a clock that went back
	assemblyTime = 15 * time.Minute // a store may take so long, also after its caller is gone; see s3.Limits

	leaseWait  = 20 * time.Second // how long a completion waits for another one
	retryAfter = 5 * time.Second
)

// completeParts makes the file of a session in parts. It continues when the client disconnects: the
// store may take longer than the client waits, and the client's next completion has to find the
// file. Faults: those of finish and commit, RateLimited (too many wait), Conflict with RetryAfter
// (another completion takes longer than this one can wait). Error: errSessionChanged when the
// session has to be read again.
func (s *Service) completeParts(ctx context.Context, a access.Actor, r row) (files.Entry, error) {
	r, err := s.lease(ctx, r)
	if err != nil {
		return files.Entry{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), assemblyTime+time.Minute)
	defer cancel()
	stop := s.keepLease(ctx, r)
	var file files.Entry
	made := r
	if err = s.finish(ctx, &made); err == nil {
		file, err = s.commit(ctx, a, r, made)
	}
	stop()
	if err != nil {
		s.endLeaseAfterFailure(ctx, r, err)
	}
	return file, err
}

// lease waits until no other completion of the session r holds its lease, and takes it, so that one
// completion at a time asks the store. It returns r as it is then, with a new name for this
// completion as completingBy; completingUntil stays as it was read, so that partsLostFault knows
// about earlier completions. Faults: RateLimited, Conflict with RetryAfter after leaseWait. Error:
// errSessionChanged when the session has ended meanwhile.
func (s *Service) lease(ctx context.Context, r row) (row, error) {
	by := s.ids.UUID()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.leaseWait)
	defer cancel()
	var leave func()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		if !s.leased(r) {
			taken := false
			err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
				now := s.now()
				taken, err = takeLease(tx, r, by, now.Add(leaseTime).UnixMilli(), now.UnixMilli())
				return err
			})
			if err != nil {
				return row{}, fmt.Errorf("begin to complete an upload: %w", err)
			}
			if taken {
				r.completingBy = by
				return r, nil
			}
		}
		if leave == nil {
			var err error
			if leave, err = s.completionWaiters.enter(r.userID); err != nil {
				return row{}, err
			}
			defer leave()
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return row{}, fmt.Errorf("wait for another completion: %w", ctx.Err())
		case <-patience.Done():
			return row{}, beingCompleted()
		}
		now, err := find(s.db.Read(ctx), r.userID, r.id)
		if err != nil {
			return row{}, err
		}
		if s.checkTakesBytes(now) != nil {
			return row{}, errSessionChanged
		}
		r = now
	}
}

// leased reports whether a completion holds the lease of the session r now. A lease whose end is
// too far in the future was left by a clock that went back, and does not count.
func (s *Service) leased(r row) bool {
	now := s.nowMs()
	return r.completingBy != "" && now < r.completingUntil && r.completingUntil <= now+maxLease.Milliseconds()
}

// assembling reports whether a completion holds the lease of a session, or the store may still be
// assembling the object after one that broke off. Such a session does not expire: its parts must be
// neither kept nor dropped.
func (s *Service) assembling(r row) bool {
	now := s.nowMs()
	return r.completingUntil > 0 && now < r.completingUntil+assemblyTime.Milliseconds() &&
		r.completingUntil <= now+maxLease.Milliseconds()
}

// keepLease renews the lease of the session r in the background until stop is called, which waits
// for the end of that.
func (s *Service) keepLease(ctx context.Context, r row) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(s.leaseRenewal)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := s.db.Write(ctx, func(tx *db.Tx) error {
				return renewLease(tx, r.id, r.completingBy, s.now().Add(leaseTime).UnixMilli())
			})
			if err != nil && ctx.Err() == nil { // another completion may begin then, which loses nothing
				s.log.Warn("renew the lease of a completion", "error", err)
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// endLeaseAfterFailure ends the lease of a completion that failed because of err, so that the next
// one need not wait for its end. Without a clear answer of the store, which may still be
// assembling, it records the time of the question in the row.
func (s *Service) endLeaseAfterFailure(ctx context.Context, r row, err error) {
	asked := r.completingUntil
	if kind := fault.KindOf(err); kind == fault.Unavailable || kind == fault.Internal &&
		!errors.Is(err, errSessionChanged) {
		asked = s.nowMs()
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	if err := s.db.Write(ctx, func(tx *db.Tx) error { return endLease(tx, r.id, r.completingBy, asked) }); err != nil {
		s.log.Warn("end the lease of a completion", "error", err)
	}
}

// explainVanished returns why the store has neither the parts nor the object of the session r,
// which the caller is completing. Error: errSessionChanged when the session has ended meanwhile, or
// the object exists by now. Faults: those of partsLostFault, Unavailable.
func (s *Service) explainVanished(ctx context.Context, store blob.Store, r row) error {
	now, err := find(s.db.Read(ctx), r.userID, r.id)
	if err != nil {
		return err
	}
	if s.checkTakesBytes(now) != nil {
		return errSessionChanged
	}
	switch _, err := store.Stat(ctx, r.key); {
	case err == nil:
		return errSessionChanged
	case !errors.Is(err, blob.ErrNotFound):
		return provider.Fault(err)
	}
	return s.partsLostFault(now, r)
}

// partsLostFault is the fault Conflict for a pending session whose parts and object are not in the
// store. now is its present row, r the row with which the caller has asked the store. When another
// completion is running, or ran a short time ago, the object may still appear: the fault then has
// RetryAfter. Otherwise the parts are lost.
func (s *Service) partsLostFault(now, r row) error {
	asked := now.completingUntil
	if r.completingBy != "" && now.completingBy == r.completingBy {
		asked = r.completingUntil
	}
	if asked > 0 && s.nowMs() < asked+assemblyTime.Milliseconds() {
		return beingCompleted()
	}
	return fault.New(fault.Conflict,
		"The parts of this upload are no longer in the store. Abort it and start a new one.")
}

// beingCompleted is the fault Conflict, with RetryAfter, for a session that another request
// completes.
func beingCompleted() error {
	err := fault.New(fault.Conflict, "This upload is already being completed. Try again in a few seconds.")
	err.RetryAfter = retryAfter
	return err
}
