package audit

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// hourPath is the key under which public reads are summed. An hour is identified by its first
// millisecond.
type hourPath struct {
	hour int64
	path string
}

// end returns the time (ms) at which the hour is over.
func (p hourPath) end() int64 { return p.hour + hour }

// sum adds up requests that are not recorded one by one.
type sum struct{ requests, bytes int64 }

// sums holds the sum of each key until the key's period ends. It is guarded by Log.mu.
type sums[K interface {
	comparable
	end() int64 // ms
}] map[K]sum

// add adds more to the sum of a key. The caller holds Log.mu.
func (s sums[K]) add(at K, more sum) {
	have := s[at]
	s[at] = sum{have.requests + more.requests, have.bytes + more.bytes}
}

// takeFinished removes and returns the sums whose period has ended at now (ms), or all of them when
// the service stops (stopping); at most batchSize. The caller holds Log.mu.
func (s sums[K]) takeFinished(now int64, stopping bool) sums[K] {
	taken := sums[K]{}
	for at, sum := range s {
		if len(taken) == batchSize {
			break
		}
		if stopping || at.end() <= now {
			taken[at] = sum
			delete(s, at)
		}
	}
	return taken
}

// otherPaths stands for the paths beyond the number that is summed separately.
const otherPaths = "/…"

const (
	hour   = int64(time.Hour / time.Millisecond)
	minute = int64(time.Minute / time.Millisecond)
	// requestWindow is the period of Requests24h, in minutes.
	requestWindow = 24 * 60
)

// CountRead counts that a visitor has read the public file at path, of which bytes were sent. The
// reads of an hour become one entry for each path, which is written when the hour is over, or by
// Finish. It neither waits nor fails.
func (l *Log) CountRead(path string, bytes int64) {
	now := l.Now().UnixMilli()
	at := hourPath{now - now%hour, storable(path)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.reads[at]; !known && len(l.reads) >= l.HourPaths {
		at.path = otherPaths
	}
	l.reads.add(at, sum{1, bytes})
}

// publicReadEntries returns the entries to write for sums of public reads, one for each hour and
// path, ordered by hour.
func publicReadEntries(reads sums[hourPath]) []Entry {
	entries := make([]Entry, 0, len(reads))
	for at, s := range reads {
		entries = append(entries, Entry{Action: Download, Path: at.path, Bytes: s.bytes, Status: 200, Count: s.requests,
			CreatedAt: at.hour})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return int(a.CreatedAt/hour - b.CreatedAt/hour) })
	return entries
}

// requestCount is the number of requests of a minute, and how many of them were answered with a
// status of 500 or more.
type requestCount struct{ all, failed int64 }

// plus returns the sum of both counts.
func (c requestCount) plus(more requestCount) requestCount {
	return requestCount{c.all + more.all, c.failed + more.failed}
}

// CountRequest counts one request of the running minute, which was answered with status, for
// Requests24h and Series.
func (l *Log) CountRequest(status int) {
	at, one := l.Now().UnixMilli()/minute, requestCount{all: 1}
	if status >= 500 {
		one.failed = 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.minutes[at] = l.minutes[at].plus(one)
}

// Requests24h returns the number of requests of the last 24 hours on all replicas: those of the
// running minute and of the 1,439 minutes before it. Requests of the last second may be missing.
func (l *Log) Requests24h(ctx context.Context) (int64, error) {
	now := l.Now().UnixMilli() / minute
	n, err := countRequests(l.DB.Read(ctx), now-requestWindow, now+1) // one ahead, for replicas whose clocks are ahead
	if err != nil {
		return 0, fmt.Errorf("count requests: %w", err)
	}
	return n, nil
}
