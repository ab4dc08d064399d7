package api

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// maxRefusalAddresses is how many addresses a minute have lines of their own in the log for
// requests that were refused for their number.
const maxRefusalAddresses = 1000

// refusalLog keeps answers of 429 from flooding the log. Of those to one address in a minute the
// first stands in the log, like any request; the others are counted, and one line says how many
// they were once the minute is over.
type refusalLog struct {
	mu     sync.Mutex
	minute time.Time
	counts map[string]int // by address, what has no line of its own; an address that has a line is in it
	others int            // from addresses beyond maxRefusalAddresses
}

// queryCount takes one refusal and reports whether it stands in the log by itself. Refusals of a
// minute before are told first.
func (r *refusalLog) shouldLog(ip netip.Addr, now time.Time, report func(minute time.Time, ip string, count int)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushLocked(now, report)
	if r.counts == nil {
		r.minute, r.counts = now.Truncate(time.Minute), map[string]int{}
	}
	address := addressKey(ip)
	_, known := r.counts[address]
	switch {
	case known:
		r.counts[address]++
	case len(r.counts) < maxRefusalAddresses:
		r.counts[address] = 0
		return true
	default:
		r.others++
	}
	return false
}

// verifySharePassword tells what was counted in a minute that is over.
func (r *refusalLog) flush(now time.Time, report func(minute time.Time, ip string, count int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushLocked(now, report)
}

func (r *refusalLog) flushLocked(now time.Time, report func(minute time.Time, ip string, count int)) {
	if r.counts == nil || now.Truncate(time.Minute).Equal(r.minute) {
		return
	}
	for address, count := range r.counts {
		if count > 0 {
			report(r.minute, address, count)
		}
	}
	if r.others > 0 {
		report(r.minute, "others", r.others)
	}
	r.counts, r.others = nil, 0
}

// LogRefusals logs the counts of requests that were refused for their number in a minute that is
// over by now.
func (a *API) LogRefusals(now time.Time) { a.refusalLog.flush(now, a.logRefusals) }

func (a *API) logRefusals(minute time.Time, ip string, count int) {
	a.Log.Info("further requests refused", "status", http.StatusTooManyRequests, "ip", ip, "count", count,
		"minute", minute.UTC().Format(time.RFC3339))
}
