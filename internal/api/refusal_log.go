package api

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// maxRefusalAddresses is the number of addresses that have log lines of their own in a minute for
// requests refused by a rate limit.
const maxRefusalAddresses = 1000

// refusalLog limits the log lines for answers of status 429. The first refusal of an address in a
// minute has a log line, like any request. The others are counted, and one line gives their number
// when the minute is over.
type refusalLog struct {
	mu     sync.Mutex
	minute time.Time
	counts map[string]int // refusals without a line, by address; an address with a line has an entry
	others int            // from addresses beyond maxRefusalAddresses
}

// shouldLog counts one refused request of an address and returns true if it has its own log line.
// It first gives the counts of an earlier minute to report.
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

// flush gives report the counts of refusals in a minute that is over, by address, and forgets them.
// ip is "others" for addresses beyond maxRefusalAddresses. Without a call the counts of a quiet
// address would never be logged.
func (r *refusalLog) flush(now time.Time, report func(minute time.Time, ip string, count int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushLocked(now, report)
}

// flushLocked gives report the counts of refusals in a minute that is over, by address, and forgets
// them. The caller holds the mutex.
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

// LogRefusals logs the counts of requests that a rate limit refused in a minute that is over by
// now. The application calls it regularly.
func (a *API) LogRefusals(now time.Time) { a.refusalLog.flush(now, a.logRefusals) }

// logRefusals logs the number of requests of an address that were refused in a minute beside the
// first.
func (a *API) logRefusals(minute time.Time, ip string, count int) {
	a.Log.Info("further requests refused", "status", http.StatusTooManyRequests, "ip", ip, "count", count,
		"minute", minute.UTC().Format(time.RFC3339))
}
