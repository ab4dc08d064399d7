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

func (at hourPath) end() int64 { return at.hour + hour }

// sum is how much was done, of what was not noted one by one.
type sum struct{ requests, bytes int64 }

// sums are kept by what they are of, until the time of that is over. They are guarded by Log.mu.
type sums[K interface {
	comparable
	end() int64 // ms
}] map[K]sum

func (s sums[K]) add(at K, more sum) {
	have := s[at]
	s[at] = sum{have.requests + more.requests, have.bytes + more.bytes}
}

// takeFinished takes those whose time is over at now, all of them when the service stops;
// at most a batch.
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

// otherPaths stands for the paths that came when there were too many to sum each.
const otherPaths = "/…"

const (
	hour   = int64(time.Hour / time.Millisecond)
	minute = int64(time.Minute / time.Millisecond)
	// requestWindow is how far back Requests24h counts, in minutes.
	requestWindow = 24 * 60
)

// CountRead notes that a visitor read a public file. Reads of an hour become one entry for each
// path, written when the hour is over or by Finish. It neither waits nor fails.
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

// publicReadEntries makes entries of public reads.
func publicReadEntries(reads sums[hourPath]) []Entry {
	entries := make([]Entry, 0, len(reads))
	for at, s := range reads {
		entries = append(entries, Entry{Action: Download, Path: at.path, Bytes: s.bytes, Status: 200, Count: s.requests,
			CreatedAt: at.hour})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return int(a.CreatedAt/hour - b.CreatedAt/hour) })
	return entries
}

// CountRequest notes that there was a request.
func (l *Log) CountRequest() {
	at := l.Now().UnixMilli() / minute
	l.mu.Lock()
	defer l.mu.Unlock()
	l.minutes[at]++
}

// Requests24h counts the requests of the last 24 hours, over all replicas: those of the running
// minute and of the 1,439 before it. What was noted in the last second may be missing.
func (l *Log) Requests24h(ctx context.Context) (int64, error) {
	now := l.Now().UnixMilli() / minute
	n, err := countRequests(l.DB.Read(ctx), now-requestWindow, now+1) // one ahead, for replicas whose clocks are
	if err != nil {
		return 0, fmt.Errorf("count requests: %w", err)
	}
	return n, nil
}
