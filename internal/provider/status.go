package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"larder/internal/blob"
	"larder/internal/osfile"
)

const (
	// StatusTimeout is how long a store has to answer a status check.
	StatusTimeout = 4 * time.Second
	// statusCacheTime is how long the answer of a bucket is cached. Probes come often, and some
	// vendors charge for requests.
	statusCacheTime = 10 * time.Second
)

// StoreStatus is the present state of a provider's store.
type StoreStatus struct {
	Provider Provider
	Err      error         // why the store cannot be used, nil if it can
	Latency  time.Duration // of its answer, if Err is nil
	Free     int64         // bytes free on the disk; -1 if unknown
}

// statusCheck is one check of a store, shared by all callers that ask at the same time.
type statusCheck struct {
	provider Provider
	done     chan struct{} // closed when the fields below are set
	err      error
	at       time.Time // time of the answer
	took     time.Duration
	free     int64 // see StoreStatus
}

// waitForStatusChecks waits for running checks, for at most StatusTimeout: a hanging disk must not
// delay a stop.
func (r *Registry) waitForStatusChecks() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.checking.Wait()
	}()
	select {
	case <-done:
	case <-time.After(StatusTimeout):
	}
}

// errNoAnswer means that a store has not answered in time.
var errNoAnswer = errors.New("the store does not answer in time")

// StoreStatuses checks in parallel whether the stores of all providers can be used. The oldest
// provider comes first. A disk must have its marker and accept writes. A bucket is asked for an
// object that does not exist, so nothing is written; an answer of the last seconds is reused. A
// bucket that takes longer than bucketTimeout, or a disk that takes until ctx ends, counts as not
// answering.
func (r *Registry) StoreStatuses(ctx context.Context, bucketTimeout time.Duration) ([]StoreStatus, error) {
	all, err := r.All(ctx)
	if err != nil {
		return nil, err
	}
	r.dropRemoved(all)
	return r.checkStores(ctx, all, bucketTimeout), nil
}

// checkStores returns the statuses of the stores of some providers, see StoreStatuses.
func (r *Registry) checkStores(ctx context.Context, all []Provider, bucketTimeout time.Duration) []StoreStatus {
	looks := make([]*statusCheck, len(all))
	for i, p := range all {
		looks[i] = r.startStatusCheck(p)
	}
	bucketCtx, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	list := make([]StoreStatus, len(all))
	for i, p := range all {
		until := bucketCtx
		if p.Type == BuiltIn {
			until = ctx
		}
		list[i] = looks[i].status(p, until)
	}
	return list
}

// CheckStore returns the error because of which the store of p cannot be used, nil if it can. It
// waits for StatusTimeout at most.
func (r *Registry) CheckStore(ctx context.Context, p Provider) error {
	ctx, cancel := context.WithTimeout(ctx, StatusTimeout)
	defer cancel()
	return r.startStatusCheck(p).wait(ctx)
}

// status returns the result of the check of p. When until ends first, the status has an error, and
// the free space is unknown.
func (c *statusCheck) status(p Provider, until context.Context) StoreStatus {
	err := c.wait(until)
	select {
	case <-c.done:
		return StoreStatus{Provider: p, Err: err, Latency: c.took, Free: c.free}
	default:
		return StoreStatus{Provider: p, Err: err, Free: -1}
	}
}

// wait waits for the end of the check and returns its error; blob.ErrUnavailable when ctx ends
// first.
func (c *statusCheck) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return blob.Unavailable("ask a store", errNoAnswer)
	}
}

// startStatusCheck starts a check of the store of p, or returns the one that is running or cached.
// A hanging store is asked only once, however many callers wait.
func (r *Registry) startStatusCheck(p Provider) *statusCheck {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.statusChecks[p.ID]; l != nil && l.provider == p && !r.stale(l) {
		return l
	}
	l := &statusCheck{provider: p, done: make(chan struct{}), free: -1}
	if r.ctx.Err() != nil {
		l.err = blob.Unavailable("ask a store", r.ctx.Err())
		close(l.done)
		return l
	}
	r.statusChecks[p.ID] = l
	r.checking.Go(func() {
		defer close(l.done)
		ctx, cancel := context.WithTimeout(r.ctx, StatusTimeout)
		defer cancel()
		begin := r.cfg.Now()
		l.err = r.pingStore(ctx, p)
		if l.err == nil && p.Type == BuiltIn {
			l.free = r.free(p)
		}
		l.at = r.cfg.Now()
		l.took = l.at.Sub(begin)
	})
	return l
}

// stale reports whether the check l is too old to be used again. Failures are not cached, so that a
// store is used again at once when it is back. Disks are not cached, since checking one costs
// nothing.
func (r *Registry) stale(l *statusCheck) bool {
	select {
	case <-l.done:
		age := r.cfg.Now().Sub(l.at)
		return l.err != nil || l.provider.Type == BuiltIn || age < 0 || age >= statusCacheTime
	default:
		return false
	}
}

// pingStore returns an error unless the store of p works: a disk has its marker and accepts writes,
// and a bucket answers that an object does not exist.
func (r *Registry) pingStore(ctx context.Context, p Provider) error {
	store, err := r.open(p)
	if err != nil {
		return err
	}
	if p.Type == BuiltIn {
		return store.Check(ctx)
	}
	shard, err := blob.NewShard(p.PathPrefix, r.cfg.Now)
	if err != nil {
		return fmt.Errorf("ask a store: %w", err)
	}
	_, err = store.Stat(ctx, blob.NewKey(r.cfg.IDs, shard, "absent"))
	if errors.Is(err, blob.ErrNotFound) { // only a working store answers this
		return nil
	}
	return err
}

// free returns the bytes free on the disk of a provider, -1 if unknown.
func (r *Registry) free(p Provider) int64 {
	dir, err := r.dir(p.Bucket)
	if err != nil {
		return -1
	}
	free, err := osfile.FreeBytes(dir)
	if err != nil {
		return -1
	}
	return free
}

// Shortage is the space that a disk lacks.
type Shortage struct {
	Provider Provider
	Bytes    int64 // missing to twice the free space below which uploads are refused
}

// Shortages returns the built-in providers whose disk has less than twice MinFree left, so that an
// administrator can be warned before uploads are refused.
func (r *Registry) Shortages(ctx context.Context) (short []Shortage, err error) {
	all, err := r.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.Type != BuiltIn {
			continue
		}
		if free := r.free(p); free >= 0 && free-r.cfg.MinFree < r.cfg.MinFree {
			short = append(short, Shortage{p, r.cfg.MinFree - (free - r.cfg.MinFree)})
		}
	}
	return short, nil
}

// dropRemoved drops the status checks and closes the open buckets of providers that are not in all.
func (r *Registry) dropRemoved(all []Provider) {
	there := make(map[string]bool, len(all))
	for _, p := range all {
		there[p.ID] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.statusChecks {
		if !there[id] {
			delete(r.statusChecks, id)
		}
	}
	for id, b := range r.buckets {
		if !there[id] {
			b.store.Close()
			delete(r.buckets, id)
		}
	}
}
