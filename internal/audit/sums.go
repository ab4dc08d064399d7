package audit

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// hourPath is what public reads are summed by. An hour is named by its first millisecond.
type hourPath struct {
	hour int64
	path string
}

// sum is what a path was read in an hour.
type sum struct{ requests, bytes int64 }

// otherPaths stands for the paths that came when there were too many to sum each.
const otherPaths = "/…"

const (
	hour   = int64(time.Hour / time.Millisecond)
	minute = int64(time.Minute / time.Millisecond)
	// window is how far back Requests24h counts, in minutes.
	window = 24 * 60
)

// Read notes that a visitor read a public file. Reads of an hour become one entry for each path, written when the hour is over or by Finish. It
// neither waits nor fails.
func (l *Log) Read(path string, bytes int64) {
	now := l.Now().UnixMilli()
	at := hourPath{now - now%hour, storable(path)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.reads[at]; !known && len(l.reads) >= l.HourPaths {
		at.path = otherPaths
	}
	l.add(at, sum{1, bytes})
}

// add needs l.mu.
func (l *Log) add(at hourPath, s sum) {
	have := l.reads[at]
	l.reads[at] = sum{have.requests + s.requests, have.bytes + s.bytes}
}

// over takes the sums of the hours that are over at now, of all hours when the service stops; at most a batch of them. It needs l.mu.
func (l *Log) over(now int64, stopping bool) map[hourPath]sum {
	taken := map[hourPath]sum{}
	for at, s := range l.reads {
		if len(taken) == batch {
			break
		}
		if stopping || at.hour+hour <= now {
			taken[at] = s
			delete(l.reads, at)
		}
	}
	return taken
}

// rows makes entries of sums.
func rows(sums map[hourPath]sum) []Entry {
	entries := make([]Entry, 0, len(sums))
	for at, s := range sums {
		entries = append(entries, Entry{Action: Download, Path: at.path, Bytes: s.bytes, Status: 200, Count: s.requests, CreatedAt: at.hour})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return int(a.CreatedAt/hour - b.CreatedAt/hour) })
	return entries
}

// Request notes that there was a request.
func (l *Log) Request() {
	at := l.Now().UnixMilli() / minute
	l.mu.Lock()
	defer l.mu.Unlock()
	l.minutes[at]++
}

// Requests24h counts the requests of the last 24 hours, over all replicas: those of the running minute and of the 1,439 before it. What was noted in
// the last second may be missing.
func (l *Log) Requests24h(ctx context.Context) (int64, error) {
	now := l.Now().UnixMilli() / minute
	n, err := countRequests(l.DB.Read(ctx), now-window, now+1) // one ahead, for replicas whose clocks are
	if err != nil {
		return 0, fmt.Errorf("count requests: %w", err)
	}
	return n, nil
}
