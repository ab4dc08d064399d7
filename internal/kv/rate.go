package kv

import (
	"errors"
	"fmt"
	"time"
)

// ErrArguments: a limit below 1, a period below a microsecond, or a negative cost that gives back
// more than the limit.
var ErrArguments = errors.New("impossible rate limit")

// GCRA is one Take in the terms of GCRA, the virtual scheduling of ITU-T I.371: a bucket is nothing
// but the instant at which it will be full again, and its level is how far away that is. Everything
// is in microseconds, since Redis counts in doubles.
//
// A take is allowed when level + Need <= Burst, and then the level moves by Need, to 0 at the
// lowest, unless Cost is 0.
type GCRA struct {
	Limit     int
	Cost      int
	Interval  int64 // µs in which one unit comes back
	Burst     int64 // µs from empty to full, Limit * Interval
	Increment int64 // µs that Cost is worth; of one unit where Cost is 0
}

// NewGCRA checks the arguments of a Take. A limit of more than one unit a microsecond refills at
// that speed. Error: ErrArguments.
func NewGCRA(limit int, period time.Duration, cost int) (GCRA, error) {
	if limit < 1 || period < time.Microsecond || cost < -limit {
		return GCRA{}, fmt.Errorf("%w: %d of %d in %v", ErrArguments, cost, limit, period)
	}
	s := GCRA{Limit: limit, Cost: cost, Interval: max(1, period.Microseconds()/int64(limit))}
	s.Burst = s.Interval * int64(limit)
	s.Increment = s.Interval * int64(min(cost, limit))
	if cost == 0 {
		s.Increment = s.Interval
	}
	if cost > limit {
		s.Increment = s.Burst + s.Interval // fits at no level
	}
	return s, nil
}

// Level returns how far from full a bucket is that will be full at the instant full, both µs since
// 1970. A clock that was put back cannot make a bucket emptier than empty (abuse case C129).
func (s GCRA) Level(full, now int64) int64 { return min(max(full-now, 0), s.Burst) }

// Take decides at that level; after is the level that the bucket has then.
func (s GCRA) Take(level int64) (after int64, result Result) {
	allowed := level+s.Increment <= s.Burst
	if allowed && s.Cost != 0 {
		level = max(level+s.Increment, 0)
	}
	return level, s.Result(level, allowed)
}

// Result puts a decision into words; level is the one after it.
func (s GCRA) Result(level int64, allowed bool) Result {
	r := Result{
		Allowed:   allowed,
		Limit:     s.Limit,
		Remaining: int((s.Burst - level) / s.Interval),
		Reset:     time.Duration(level) * time.Microsecond,
	}
	if !allowed {
		r.RetryAfter = time.Duration(level+s.Increment-s.Burst) * time.Microsecond
	}
	return r
}
