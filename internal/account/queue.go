package account

import (
	"context"
	"slices"
	"sync"
	"time"

	"larder/internal/fault"
)

// Limits of hashing. A hash takes about 30 ms and 19 MiB.
const (
	parallelHashes     = 2                // hashes at a time; one slot is for logins only
	maxQueuedPerSource = 64               // hashes that wait for one source
	maxQueuedPerKind   = 256              // hashes that wait for all sources of a kind
	maxQueueWait       = 10 * time.Second // the longest wait of a hash
	queueRetryAfter    = 5 * time.Second  // Retry-After of a refused hash
)

// Source identifies the caller that causes a hash. Sources of a kind take turns at hashing. The
// zero Source is the service itself.
type Source struct {
	kind sourceKind
	name string
}

// sourceKind divides the callers that cause hashes; each kind has a queue of its own.
type sourceKind int

const (
	accountKind sourceKind = iota // signed-in callers
	addressKind                   // callers without an account
	loginKind                     // by address; logins wait for other logins only
	sourceKinds
)

// AccountSource returns the source for hashes on behalf of a signed-in caller; see Source.
func AccountSource(userID string) Source { return Source{accountKind, userID} }

// AddressSource returns the source of a caller without an account: an IPv4 address or an IPv6 /64.
func AddressSource(address string) Source { return Source{addressKind, address} }

// login returns the source under which the same caller's logins wait; they wait for other logins
// only.
func (s Source) login() Source { return Source{loginKind, s.name} }

// IsLogin reports whether the hash verifies the password of a login.
func (s Source) IsLogin() bool { return s.kind == loginKind }

// hashQueue assigns the slots for hashing. Each kind of source has a queue. One slot is for logins
// only. The other slot goes to accounts and addresses in turns, and to logins while no account or
// address waits. Within a kind the sources take turns, however many hashes each of them has
// waiting.
type hashQueue struct {
	mu           sync.Mutex
	freeSlots    int // slots that no hash uses
	otherRunning int // running hashes that are not logins
	lastKind     sourceKind
	byKind       [sourceKinds]kindQueue

	maxWait time.Duration // the longest wait of a hash
}

// newHashQueue returns a queue with all slots free.
func newHashQueue(maxWait time.Duration) *hashQueue {
	return &hashQueue{freeSlots: parallelHashes, maxWait: maxWait}
}

// kindQueue holds the waiting hashes of one kind of source.
type kindQueue struct {
	waiting int
	sources []*sourceQueue // the first has the next turn
}

// sourceQueue holds the tickets of one source, oldest first.
type sourceQueue struct {
	name    string
	tickets []*ticket
}

// ticket is one hash that waits or runs. err is set before done is closed.
type ticket struct {
	source Source
	done   chan struct{}
	err    error // nil once it has a slot
}

// WaitingHashes returns the number of passwords that wait in this process for their hash, without
// those being hashed, for metrics.
func (s *Service) WaitingHashes() (waiting int) {
	q := s.hashing
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.byKind {
		waiting += q.byKind[i].waiting
	}
	return waiting
}

// acquire waits until the source may compute a hash, which takes one of parallelHashes slots. leave
// frees the slot. Fault: RateLimited when too many hashes wait, or after maxWait. Error: that
// of the context.
func (q *hashQueue) acquire(ctx context.Context, source Source) (leave func(), err error) {
	t, err := q.enqueue(source)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(q.maxWait)
	defer late.Stop()
	select {
	case <-t.done:
	case <-ctx.Done():
		q.cancel(t, ctx.Err())
	case <-late.C:
		q.cancel(t, queueFull())
	}
	if t.err == nil && ctx.Err() != nil { // it got a slot, and the context ended at the same moment
		q.release(t)
		return nil, ctx.Err()
	}
	if t.err != nil {
		return nil, t.err
	}
	return func() { q.release(t) }, nil
}

// enqueue adds a hash to the queue of its source. When the queue of the source's kind (accounts,
// addresses or logins) is full, the source with the most tickets loses its last one, so that a
// source with few tickets gets in. The ticket's done is closed when it gets a slot or is refused.
// Fault: RateLimited.
func (q *hashQueue) enqueue(source Source) (*ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := &q.byKind[source.kind]
	own, has := l.find(source.name), 0
	if own != nil {
		has = len(own.tickets)
	}
	if has >= maxQueuedPerSource {
		return nil, queueFull()
	}
	t := &ticket{source: source, done: make(chan struct{})}
	if l.waiting >= maxQueuedPerKind {
		most := slices.MaxFunc(l.sources, func(a, b *sourceQueue) int { return len(a.tickets) - len(b.tickets) })
		if has+1 >= len(most.tickets) {
			return nil, queueFull()
		}
		last := most.tickets[len(most.tickets)-1]
		l.remove(last)
		last.finish(queueFull())
	}
	if own == nil {
		own = &sourceQueue{name: source.name}
		l.sources = append(l.sources, own)
	}
	own.tickets = append(own.tickets, t)
	l.waiting++
	q.dispatch()
	return t, nil
}

// cancel removes a ticket from its queue and ends it with err, unless it has just got a slot or was
// just refused.
func (q *hashQueue) cancel(t *ticket, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byKind[t.source.kind].remove(t) {
		t.finish(err)
	}
}

// release frees the slot of a hash that is done and gives it to the next ticket.
func (q *hashQueue) release(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.freeSlots++
	if !t.source.IsLogin() {
		q.otherRunning--
	}
	q.dispatch()
}

// dispatch gives the free slots to the tickets whose turn it is. The caller holds mu.
func (q *hashQueue) dispatch() {
	for q.freeSlots > 0 {
		t := q.next()
		if t == nil {
			return
		}
		q.freeSlots--
		if !t.source.IsLogin() {
			q.otherRunning++
		}
		t.finish(nil)
	}
}

// next removes and returns the ticket whose turn it is, nil when no ticket may have a slot. The
// caller holds mu.
func (q *hashQueue) next() *ticket {
	if q.otherRunning < parallelHashes-1 {
		for range 2 {
			q.lastKind = addressKind - q.lastKind // alternates between accounts and addresses
			if t := q.byKind[q.lastKind].pop(); t != nil {
				return t
			}
		}
	}
	return q.byKind[loginKind].pop()
}

// finish tells the waiting caller that the ticket has got a slot (nil) or is refused.
func (t *ticket) finish(err error) {
	t.err = err
	close(t.done)
}

// find returns the queue of the source with that name, nil for none.
func (q *kindQueue) find(name string) *sourceQueue {
	if i := slices.IndexFunc(q.sources, func(s *sourceQueue) bool { return s.name == name }); i >= 0 {
		return q.sources[i]
	}
	return nil
}

// pop removes and returns the oldest ticket of the source whose turn it is. The source moves to the
// end of the queue.
func (q *kindQueue) pop() *ticket {
	if len(q.sources) == 0 {
		return nil
	}
	first := q.sources[0]
	t := first.tickets[0]
	q.remove(t)
	if len(first.tickets) > 0 {
		q.sources = append(q.sources[1:], first)
	}
	return t
}

// remove removes a ticket and reports whether it was in the queue.
func (q *kindQueue) remove(t *ticket) bool {
	own := q.find(t.source.name)
	if own == nil {
		return false
	}
	i := slices.Index(own.tickets, t)
	if i < 0 {
		return false
	}
	own.tickets = slices.Delete(own.tickets, i, i+1)
	if len(own.tickets) == 0 {
		q.sources = slices.DeleteFunc(q.sources, func(s *sourceQueue) bool { return s == own })
	}
	q.waiting--
	return true
}

// queueFull returns the fault of a hash that is refused because too many wait.
func queueFull() error {
	return &fault.Error{
		Kind:       fault.RateLimited,
		Message:    "Too many passwords are being checked at this moment. Please try again in a few seconds.",
		RetryAfter: queueRetryAfter,
	}
}
