// Package kvtest tests implementations of kv.Store with one suite, and starts a real Redis for
// tests.
package kvtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/kv"
)

// Clock is a clock that moves only when it is told to. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock set to a fixed time in November 2023.
func NewClock() *Clock { return &Clock{now: time.Unix(1_700_000_000, 123_456_789)} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward, or back if by is negative.
func (c *Clock) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// Run tests that a store keeps the contract of kv.Store, in one parallel subtest per rule. open
// returns a new store on the given clock for each subtest, and registers its cleanup.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) kv.Store) {
	for name, test := range map[string]func(*suiteTest){
		"limit_of_5_allows_5_at_once":            testBurst,
		"bucket_refills_evenly":                  testRefill,
		"cost_0_takes_nothing":                   testCostZero,
		"cost_is_taken_completely_or_not_at_all": testCostIsTakenWhole,
		"returned_units_can_be_taken_again":      testNegativeCost,
		"keys_are_independent":                   testKeysAreSeparate,
		"parallel_takes_never_exceed_the_limit":  testParallelTakes,
		"clock_that_is_put_back_does_not_block":  testClockSetBack,
		"changed_limit_takes_effect":             testLimitChange,
		"limit_that_does_not_divide_the_period":  testUnevenPeriod,
		"invalid_arguments_are_refused":          testInvalidArguments,
		"ended_context_returns_its_error":        testEndedContext,
		"refusals_do_not_prolong_the_wait":       testRefusalsCostNothing,
		"limit_above_one_unit_per_microsecond":   testHighRate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			test(&suiteTest{T: t, store: open(t, clock.Now), clock: clock})
		})
	}
}

// suiteTest is one subtest of Run, with its store and the clock of the store.
type suiteTest struct {
	*testing.T
	store kv.Store
	clock *Clock
}

// take calls Take and ends the test on an error.
func (t *suiteTest) take(key string, limit int, period time.Duration, cost int) kv.Result {
	t.Helper()
	r, err := t.store.Take(t.Context(), key, limit, period, cost)
	if err != nil {
		t.Fatalf("Take: %v", err)
	}
	return r
}

// want fails the test unless got equals want.
func (t *suiteTest) want(got, want kv.Result) {
	t.Helper()
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// testBurst checks that a limit of 5 a minute allows five takes at once, and the next one 12
// seconds later.
func testBurst(b *suiteTest) {
	for i := range 5 {
		b.want(b.take("k", 5, time.Minute, 1),
			kv.Result{Allowed: true, Limit: 5, Remaining: 4 - i, Reset: time.Duration(i+1) * 12 * time.Second})
	}
	b.want(b.take("k", 5, time.Minute, 1), kv.Result{Limit: 5, Reset: time.Minute, RetryAfter: 12 * time.Second})
	b.clock.Advance(12*time.Second - time.Microsecond)
	b.want(b.take("k", 5, time.Minute, 1), kv.Result{Limit: 5, Reset: 48*time.Second + time.Microsecond,
		RetryAfter: time.Microsecond})
	b.clock.Advance(time.Microsecond)
	b.want(b.take("k", 5, time.Minute, 1), kv.Result{Allowed: true, Limit: 5, Reset: time.Minute})
	b.want(b.take("k", 5, time.Minute, 1), kv.Result{Limit: 5, Reset: time.Minute, RetryAfter: 12 * time.Second})
}

// testRefill checks that a bucket refills evenly, and up to its limit only.
func testRefill(b *suiteTest) {
	for range 5 {
		b.take("k", 5, time.Minute, 1)
	}
	b.clock.Advance(30 * time.Second)
	b.want(b.take("k", 5, time.Minute, 0), kv.Result{Allowed: true, Limit: 5, Remaining: 2, Reset: 30 * time.Second})
	b.clock.Advance(time.Hour)
	b.want(b.take("k", 5, time.Minute, 0), kv.Result{Allowed: true, Limit: 5, Remaining: 5})
	for range 5 { // an hour without takes refills the bucket to its limit only
		if !b.take("k", 5, time.Minute, 1).Allowed {
			b.Error("a full bucket refuses")
		}
	}
	if b.take("k", 5, time.Minute, 1).Allowed {
		b.Error("more than the limit at once after an hour without takes")
	}
}

// testCostZero checks that cost 0 takes nothing and tells whether cost 1 would be allowed.
func testCostZero(b *suiteTest) {
	for range 20 {
		b.want(b.take("k", 2, time.Minute, 0), kv.Result{Allowed: true, Limit: 2, Remaining: 2})
	}
	b.take("k", 2, time.Minute, 2)
	b.want(b.take("k", 2, time.Minute, 0), kv.Result{Limit: 2, Reset: time.Minute, RetryAfter: 30 * time.Second})
	b.clock.Advance(30 * time.Second)
	for range 20 {
		b.want(b.take("k", 2, time.Minute, 0),
			kv.Result{Allowed: true, Limit: 2, Remaining: 1, Reset: 30 * time.Second})
	}
}

// testCostIsTakenWhole checks that a cost above the remaining units takes none of them.
func testCostIsTakenWhole(b *suiteTest) {
	b.want(b.take("k", 10, 10*time.Second, 7),
		kv.Result{Allowed: true, Limit: 10, Remaining: 3, Reset: 7 * time.Second})
	b.want(b.take("k", 10, 10*time.Second, 5),
		kv.Result{Limit: 10, Remaining: 3, Reset: 7 * time.Second, RetryAfter: 2 * time.Second})
	b.want(b.take("k", 10, 10*time.Second, 3), kv.Result{Allowed: true, Limit: 10, Reset: 10 * time.Second})
	b.want(b.take("fresh", 10, 10*time.Second, 11), kv.Result{Limit: 10, Remaining: 10, RetryAfter: time.Second})
	b.want(b.take("fresh", 10, 10*time.Second, 10), kv.Result{Allowed: true, Limit: 10, Reset: 10 * time.Second})
}

// testNegativeCost checks that a negative cost returns units, up to the limit.
func testNegativeCost(b *suiteTest) {
	b.want(b.take("fresh", 5, time.Minute, -1), kv.Result{Allowed: true, Limit: 5, Remaining: 5}) // at most the limit
	b.want(b.take("fresh", 5, time.Minute, 5), kv.Result{Allowed: true, Limit: 5, Reset: time.Minute})
	b.want(b.take("fresh", 5, time.Minute, 1), kv.Result{Limit: 5, Reset: time.Minute, RetryAfter: 12 * time.Second})

	b.take("k", 5, time.Minute, 5)
	b.want(b.take("k", 5, time.Minute, -2), kv.Result{Allowed: true, Limit: 5, Remaining: 2, Reset: 36 * time.Second})
	b.want(b.take("k", 5, time.Minute, 3), kv.Result{Limit: 5, Remaining: 2, Reset: 36 * time.Second,
		RetryAfter: 12 * time.Second})
	b.want(b.take("k", 5, time.Minute, 2), kv.Result{Allowed: true, Limit: 5, Reset: time.Minute})
	b.want(b.take("k", 5, time.Minute, -5), kv.Result{Allowed: true, Limit: 5, Remaining: 5})
	b.want(b.take("k", 5, time.Minute, 0), kv.Result{Allowed: true, Limit: 5, Remaining: 5})
	b.take("k", 5, time.Minute, 1)
	b.clock.Advance(6 * time.Second) // half a unit has been refilled
	b.want(b.take("k", 5, time.Minute, -1), kv.Result{Allowed: true, Limit: 5, Remaining: 5})
	b.want(b.take("k", 5, time.Minute, 0), kv.Result{Allowed: true, Limit: 5, Remaining: 5})
	b.take("huge", 5_000_000, time.Second, -5_000_000)
}

// testKeysAreSeparate checks that keys of any length and content have buckets of their own.
func testKeysAreSeparate(b *suiteTest) {
	long := strings.Repeat("a", 5000)
	for _, key := range []string{"k", "k2", "", "with space\r\n", "é\x00", long, long + "b", long[1:]} {
		b.want(b.take(key, 1, time.Minute, 1), kv.Result{Allowed: true, Limit: 1, Reset: time.Minute})
		b.want(b.take(key, 1, time.Minute, 1), kv.Result{Limit: 1, Reset: time.Minute, RetryAfter: time.Minute})
	}
}

// testParallelTakes checks that of 60 parallel takes exactly the limit of 25 is allowed.
func testParallelTakes(b *suiteTest) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	allowed, remaining := 0, map[int]bool{}
	for range 60 {
		wg.Go(func() {
			r, err := b.store.Take(b.Context(), "k", 25, time.Hour, 1)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				b.Errorf("Take: %v", err)
			}
			if r.Allowed {
				allowed++
				remaining[r.Remaining] = true
			}
		})
	}
	wg.Wait()
	if allowed != 25 || len(remaining) != 25 {
		b.Errorf("%d of 60 takes allowed with %d different remainders, want 25 and 25", allowed, len(remaining))
	}
}

// testClockSetBack checks that a bucket is empty at worst after the clock was put back, and refills
// from then on.
func testClockSetBack(b *suiteTest) { // abuse case C129
	for range 5 {
		b.take("k", 5, time.Minute, 1)
	}
	b.clock.Advance(-2 * time.Hour)
	b.want(b.take("k", 5, time.Minute, 1), kv.Result{Limit: 5, Reset: time.Minute, RetryAfter: 12 * time.Second})
	b.clock.Advance(12 * time.Second)
	b.want(b.take("k", 5, time.Minute, 1), kv.Result{Allowed: true, Limit: 5, Reset: time.Minute})
	b.clock.Advance(-2 * time.Hour)
	b.take("k", 5, time.Minute, 0) // cost 0 is enough to notice
	b.clock.Advance(time.Minute)
	b.want(b.take("k", 5, time.Minute, 0), kv.Result{Allowed: true, Limit: 5, Remaining: 5})

	b.take("returned", 5, time.Minute, 1) // then returned below: a full bucket stays full
	b.take("returned", 5, time.Minute, -1)
	b.clock.Advance(-2 * time.Hour)
	b.want(b.take("returned", 5, time.Minute, 0), kv.Result{Allowed: true, Limit: 5, Remaining: 5})
}

// testLimitChange checks that after a change of the limit the units taken before count as the time
// that they needed to come back.
func testLimitChange(b *suiteTest) {
	b.take("k", 600, time.Minute, 600)
	b.want(b.take("k", 5, time.Minute, 0), kv.Result{Limit: 5, Reset: time.Minute, RetryAfter: 12 * time.Second})
	b.clock.Advance(30 * time.Second)
	b.want(b.take("k", 1200, time.Minute, 0),
		kv.Result{Allowed: true, Limit: 1200, Remaining: 600, Reset: 30 * time.Second})
}

// testUnevenPeriod checks a limit that does not divide its period into whole microseconds.
func testUnevenPeriod(b *suiteTest) {
	for i := range 7 {
		if r := b.take("k", 7, time.Minute, 1); !r.Allowed || r.Remaining != 6-i {
			b.Errorf("take %d of 7: %+v", i+1, r)
		}
	}
	r := b.take("k", 7, time.Minute, 1)
	if r.Allowed || r.RetryAfter < 8*time.Second || r.RetryAfter > 9*time.Second {
		b.Errorf("take 8 of 7: %+v", r)
	}
	b.clock.Advance(r.RetryAfter)
	if r := b.take("k", 7, time.Minute, 1); !r.Allowed {
		b.Errorf("take after RetryAfter: %+v", r)
	}
}

// testInvalidArguments checks that impossible limits, periods and costs return ErrArguments.
func testInvalidArguments(b *suiteTest) {
	for _, c := range []struct {
		limit  int
		period time.Duration
		cost   int
	}{{0, time.Minute, 1}, {-1, time.Minute, 1}, {1, 0, 1}, {1, -time.Minute, 1}, {1, time.Nanosecond, 1},
		{1, time.Minute, -2}, {5, time.Minute, -6}} {
		if r, err := b.store.Take(b.Context(), "k", c.limit, c.period, c.cost); !errors.Is(err, kv.ErrArguments) ||
			r.Allowed {
			b.Errorf("Take of %+v = %+v, %v, want ErrArguments", c, r, err)
		}
	}
}

// testEndedContext checks that Take returns the error of an ended context and takes nothing.
func testEndedContext(b *suiteTest) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	if r, err := b.store.Take(ctx, "k", 1, time.Minute, 1); !errors.Is(err, context.Canceled) || r.Allowed {
		b.Errorf("Take = %+v, %v, want context.Canceled", r, err)
	}
	if !b.take("k", 1, time.Minute, 1).Allowed {
		b.Error("the cancelled take has taken a unit")
	}
}

// testRefusalsCostNothing checks that refused takes do not prolong the wait.
func testRefusalsCostNothing(b *suiteTest) {
	b.take("k", 1, time.Minute, 1)
	for range 50 {
		b.clock.Advance(time.Second)
		if b.take("k", 1, time.Minute, 1).Allowed {
			b.Fatal("allowed within the minute")
		}
	}
	b.clock.Advance(10 * time.Second)
	if !b.take("k", 1, time.Minute, 1).Allowed {
		b.Error("still refused after the minute")
	}
}

// testHighRate checks a limit of more than one unit per microsecond, which refills at one unit per
// microsecond.
func testHighRate(b *suiteTest) {
	const limit = 5_000_000
	b.want(b.take("k", limit, time.Second, limit), kv.Result{Allowed: true, Limit: limit, Reset: 5 * time.Second})
	b.want(b.take("k", limit, time.Second, 1),
		kv.Result{Limit: limit, Reset: 5 * time.Second, RetryAfter: time.Microsecond})
}
