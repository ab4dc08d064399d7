package api

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// maxRefused is how many addresses a minute have lines of their own in the log for requests that
// were refused for their number.
const maxRefused = 1000

// refusals keeps answers of 429 from flooding the log. Of those to one address in a minute the
// first stands in the log, like any request; the others are counted, and one line says how many
// they were once the minute is over.
type refusals struct {
	mu       sync.Mutex
	minute   time.Time
	counts   map[string]int // by address, what has no line of its own; an address that has a line is in it
	nameless int            // from addresses beyond maxRefused
}

// queryCount takes one refusal and reports whether it stands in the log by itself. Refusals of a minute
// before are told first.
func (r *refusals) count(ip netip.Addr, now time.Time, tell func(minute time.Time, ip string, count int)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finish(now, tell)
	if r.counts == nil {
		r.minute, r.counts = now.Truncate(time.Minute), map[string]int{}
	}
	address := addressKey(ip)
	_, known := r.counts[address]
	switch {
	case known:
		r.counts[address]++
	case len(r.counts) < maxRefused:
		r.counts[address] = 0
		return true
	default:
		r.nameless++
	}
	return false
}

// verifySharePassword tells what was counted in a minute that is over.
func (r *refusals) tell(now time.Time, tell func(minute time.Time, ip string, count int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finish(now, tell)
}

func (r *refusals) finish(now time.Time, tell func(minute time.Time, ip string, count int)) {
	if r.counts == nil || now.Truncate(time.Minute).Equal(r.minute) {
		return
	}
	for address, count := range r.counts {
		if count > 0 {
			tell(r.minute, address, count)
		}
	}
	if r.nameless > 0 {
		tell(r.minute, "others", r.nameless)
	}
	r.counts, r.nameless = nil, 0
}

// LogRefusals logs the counts of requests that were refused for their number in a minute that is
// over by now.
func (a *API) LogRefusals(now time.Time) { a.refusals.tell(now, a.logRefusals) }

func (a *API) logRefusals(minute time.Time, ip string, count int) {
	a.Log.Info("further requests refused", "status", http.StatusTooManyRequests, "ip", ip, "count", count,
		"minute", minute.UTC().Format(time.RFC3339))
}
