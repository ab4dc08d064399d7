package account

import (
	"context"
	"slices"
	"sync"
	"time"

	"larder/internal/fault"
)

// Limits of hashing. A hash takes some 30 ms and 19 MiB.
const (
	parallelHashes = 2                // hashes at a time; one place is for logins alone
	queuedEach     = 64               // hashes that wait for one source
	queuedInAll    = 256              // hashes that wait for all sources of a kind
	queueTime      = 10 * time.Second // the longest wait of a hash
	queueRetry     = 5 * time.Second  // Retry-After of a refusal
)

// Source says who causes a hash. Sources of a kind take turns at hashing. The zero Source is the
// service itself.
type Source struct {
	kind kind
	name string
}

type kind int

const (
	accounts  kind = iota // signed-in callers
	addresses             // callers without an account
	logins                // by address; these wait for each other only
	kinds
)

// ByAccount returns the source of what a signed-in caller asks for.
func ByAccount(userID string) Source { return Source{accounts, userID} }

// ByAddress returns the source of what a caller without an account asks for: an IPv4 address or an
// IPv6 /64.
func ByAddress(address string) Source { return Source{addresses, address} }

// login returns the source of the same caller's logins.
func (s Source) login() Source { return Source{logins, s.name} }

// IsLogin reports whether the hash decides about a login.
func (s Source) IsLogin() bool { return s.kind == logins }

// queue hands out the places for hashing. Each kind of source has a line. One place is for logins
// alone; the other goes to the lines of accounts and addresses in turns, and to logins while both are
// empty. Within a line the sources take turns, whatever each of them has waiting.
type queue struct {
	mu    sync.Mutex
	free  int // places
	other int // hashes under way that are no logins
	turn  kind
	lines [kinds]line

	longest time.Duration // the longest wait of a hash
}

func newQueue() *queue { return &queue{free: parallelHashes, longest: queueTime} }

// line is what waits of one kind.
type line struct {
	waiting int
	sources []*turns // the first has the next turn
}

// turns are the tickets of one source, oldest first.
type turns struct {
	name    string
	tickets []*ticket
}

// ticket is one hash that waits or is under way. err is set before done is closed.
type ticket struct {
	source Source
	done   chan struct{}
	err    error // nil once it has a place
}

// Hashing returns how many passwords wait to be hashed at this moment.
func (s *Service) Hashing() (waiting int) {
	q := s.hashing
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.lines {
		waiting += q.lines[i].waiting
	}
	return waiting
}

// enter waits for a place, which leave gives back. Fault: RateLimited when too many wait, or after
// queueTime. Error: the context's.
func (q *queue) enter(ctx context.Context, source Source) (leave func(), err error) {
	t, err := q.join(source)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(q.longest)
	defer late.Stop()
	select {
	case <-t.done:
	case <-ctx.Done():
		q.giveUp(t, ctx.Err())
	case <-late.C:
		q.giveUp(t, queueFull())
	}
	if t.err == nil && ctx.Err() != nil { // it got a place and lost its caller at the same moment
		q.leave(t)
		return nil, ctx.Err()
	}
	if t.err != nil {
		return nil, t.err
	}
	return func() { q.leave(t) }, nil
}

// join puts a hash into the line of its source. A line that is full loses the last ticket of the
// source that has the most, so that a source with few gets in. Fault: RateLimited.
func (q *queue) join(source Source) (*ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := &q.lines[source.kind]
	own, has := l.of(source.name), 0
	if own != nil {
		has = len(own.tickets)
	}
	if has >= queuedEach {
		return nil, queueFull()
	}
	t := &ticket{source: source, done: make(chan struct{})}
	if l.waiting >= queuedInAll {
		most := slices.MaxFunc(l.sources, func(a, b *turns) int { return len(a.tickets) - len(b.tickets) })
		if has+1 >= len(most.tickets) {
			return nil, queueFull()
		}
		last := most.tickets[len(most.tickets)-1]
		l.remove(last)
		last.finish(queueFull())
	}
	if own == nil {
		own = &turns{name: source.name}
		l.sources = append(l.sources, own)
	}
	own.tickets = append(own.tickets, t)
	l.waiting++
	q.admit()
	return t, nil
}

// giveUp takes a ticket out of its line, unless it has a place or was refused just now.
func (q *queue) giveUp(t *ticket, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lines[t.source.kind].remove(t) {
		t.finish(err)
	}
}

// leave gives the place of a hash to the next one.
func (q *queue) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	if !t.source.IsLogin() {
		q.other--
	}
	q.admit()
}

// admit gives away free places.
func (q *queue) admit() {
	for q.free > 0 {
		t := q.next()
		if t == nil {
			return
		}
		q.free--
		if !t.source.IsLogin() {
			q.other++
		}
		t.finish(nil)
	}
}

// next takes out the ticket whose turn it is, nil when none may have a place.
func (q *queue) next() *ticket {
	if q.other < parallelHashes-1 {
		for range 2 {
			q.turn = addresses - q.turn // the other of the two lines
			if t := q.lines[q.turn].pop(); t != nil {
				return t
			}
		}
	}
	return q.lines[logins].pop()
}

func (t *ticket) finish(err error) {
	t.err = err
	close(t.done)
}

// of returns what a source has in the line, nil for nothing.
func (l *line) of(name string) *turns {
	if i := slices.IndexFunc(l.sources, func(s *turns) bool { return s.name == name }); i >= 0 {
		return l.sources[i]
	}
	return nil
}

// pop takes out the oldest ticket of the source whose turn it is, which goes to the end of the line.
func (l *line) pop() *ticket {
	if len(l.sources) == 0 {
		return nil
	}
	first := l.sources[0]
	t := first.tickets[0]
	l.remove(t)
	if len(first.tickets) > 0 {
		l.sources = append(l.sources[1:], first)
	}
	return t
}

// remove takes a ticket out and reports whether it was in the line.
func (l *line) remove(t *ticket) bool {
	own := l.of(t.source.name)
	if own == nil {
		return false
	}
	i := slices.Index(own.tickets, t)
	if i < 0 {
		return false
	}
	own.tickets = slices.Delete(own.tickets, i, i+1)
	if len(own.tickets) == 0 {
		l.sources = slices.DeleteFunc(l.sources, func(s *turns) bool { return s == own })
	}
	l.waiting--
	return true
}

func queueFull() error {
	return &fault.Error{
		Kind:       fault.RateLimited,
		Message:    "Too many passwords are being checked at this moment. Please try again in a few seconds.",
		RetryAfter: queueRetry,
	}
}
