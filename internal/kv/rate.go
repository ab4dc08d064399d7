package kv

import (
	"errors"
	"fmt"
	"time"
)

// ErrArguments is returned for a limit below 1, a period below a microsecond, and a negative cost
// that returns more than the limit.
var ErrArguments = errors.New("impossible rate limit")

// GCRA holds the parameters of one Take for the generic cell rate algorithm, the virtual scheduling
// of ITU-T I.371. A bucket is stored as the time at which it will be full again, and its level is
// the time until then. All values are in microseconds, since Redis computes with doubles.
//
// A Take is allowed when level + Increment <= Burst. It then moves the level by Increment, to 0 at
// the lowest, unless Cost is 0.
type GCRA struct {
	Limit     int
	Cost      int
	Interval  int64 // µs in which one unit is refilled
	Burst     int64 // µs from empty to full, Limit * Interval
	Increment int64 // µs that Cost is worth; those of one unit if Cost is 0
}

// NewGCRA returns the parameters of a Take of cost units from a bucket of limit units that refills
// within period. A limit of more than one unit per microsecond refills at one unit per microsecond.
// Error: ErrArguments.
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
		s.Increment = s.Burst + s.Interval // not allowed at any level
	}
	return s, nil
}

// Level returns the level of a bucket, the µs from now until it is full; full is the time at which
// it will be (both in µs since 1970). It is at most Burst, so a clock that was put back cannot make
// a bucket emptier than empty (abuse case C129).
func (g GCRA) Level(full, now int64) int64 { return min(max(full-now, 0), g.Burst) }

// Take decides whether the cost may be taken at a level (µs). after is the level of the bucket
// afterwards, unchanged if it is not allowed.
func (g GCRA) Take(level int64) (after int64, result Result) {
	allowed := level+g.Increment <= g.Burst
	if allowed && g.Cost != 0 {
		level = max(level+g.Increment, 0)
	}
	return level, g.Result(level, allowed)
}

// Result returns the Result of a decision, allowed or not; level is the level after it, in µs.
func (g GCRA) Result(level int64, allowed bool) Result {
	r := Result{
		Allowed:   allowed,
		Limit:     g.Limit,
		Remaining: int((g.Burst - level) / g.Interval),
		Reset:     time.Duration(level) * time.Microsecond,
	}
	if !allowed {
		r.RetryAfter = time.Duration(level+g.Increment-g.Burst) * time.Microsecond
	}
	return r
}
