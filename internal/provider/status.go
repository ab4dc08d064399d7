package provider

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"larder/internal/blob"
)

const (
	// StatusTimeout is how long a store has to answer when it is asked whether it is there.
	StatusTimeout = 4 * time.Second
	// statusCacheTime is for how long a bucket that has answered is not asked again: probes come
	// often, and some vendors count requests.
	statusCacheTime = 10 * time.Second
)

// StoreStatus is how a provider's store stands at the moment.
type StoreStatus struct {
	Provider Provider
	Err      error         // why it cannot be used, nil when it can
	Latency  time.Duration // of its answer, where Err is nil
	Free     int64         // bytes free on the disk; -1 where that isn't known
}

// statusCheck is one question to a store, for all who ask at the same time.
type statusCheck struct {
	provider Provider
	done     chan struct{} // closed when what follows is there
	err      error
	at       time.Time // when it was answered
	took     time.Duration
	free     int64 // see Standing
}

// waitForStatusChecks waits for those who are asking a store, though for no longer than they should
// take: a disk that hangs is not to hold up a stop.
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

// errNoAnswer says that a store has not answered yet.
var errNoAnswer = errors.New("the store does not answer in time")

// StoreStatuses asks the stores of all providers side by side whether they can be used, the oldest
// provider first. A disk must have its marker and take writes. A bucket is asked for an object that
// it does not have, so that nothing is written; one that has answered in the last seconds is not
// asked again. A bucket that takes longer than patience counts as one that does not answer, as does
// a disk when ctx ends.
func (r *Registry) StoreStatuses(ctx context.Context, bucketTimeout time.Duration) ([]StoreStatus, error) {
	all, err := r.All(ctx)
	if err != nil {
		return nil, err
	}
	looks := make([]*statusCheck, len(all))
	for i, p := range all {
		looks[i] = r.startStatusCheck(p)
	}
	r.dropRemoved(all)
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
	return list, nil
}

// CheckStore is Standings for one provider's record.
func (r *Registry) CheckStore(ctx context.Context, p Provider) error {
	ctx, cancel := context.WithTimeout(ctx, StatusTimeout)
	defer cancel()
	return r.startStatusCheck(p).wait(ctx)
}

func (l *statusCheck) status(p Provider, until context.Context) StoreStatus {
	err := l.wait(until)
	select {
	case <-l.done:
		return StoreStatus{Provider: p, Err: err, Latency: l.took, Free: l.free}
	default:
		return StoreStatus{Provider: p, Err: err, Free: -1}
	}
}

func (l *statusCheck) wait(ctx context.Context) error {
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return blob.Unavailable("ask a store", errNoAnswer)
	}
}

// statusCheck asks a store, or joins those who are asking it. A store that hangs is asked once,
// however many want to know.
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

// stale reports whether a store must be asked again: that one failed is not remembered, so that its
// return shows at once, and a disk costs nothing.
func (r *Registry) stale(l *statusCheck) bool {
	select {
	case <-l.done:
		age := r.cfg.Now().Sub(l.at)
		return l.err != nil || l.provider.Type == BuiltIn || age < 0 || age >= statusCacheTime
	default:
		return false
	}
}

// pingStore asks a store.
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
	if errors.Is(err, blob.ErrNotFound) { // which only a healthy store says
		return nil
	}
	return err
}

// free returns how many bytes are free on the disk of a provider, -1 when that can't be told.
func (r *Registry) free(p Provider) int64 {
	dir, err := r.dir(p.Bucket)
	if err != nil {
		return -1
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return -1
	}
	return int64(disk.Bavail) * int64(disk.Bsize)
}

// dropRemoved drops what was known of providers that are gone.
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
