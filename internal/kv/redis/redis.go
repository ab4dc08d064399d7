// Package redis keeps rate limit buckets in a Redis-compatible server, so that replicas share them.
//
// Each Take runs a short script. The script reads the server's clock, so that replicas agree on the
// time as well.
//
// The rate limit is never off. While the server is down, buckets in this process take over, which
// start full. The server counts as down as soon as it cannot be reached, breaks a connection off or
// answers with an error, and also when it leaves a Take without an answer for 2 s. The limit is
// that long because a busy machine or a fork of the server takes less, and because buckets that
// start full let too much through. While the server is down, the store tries it once a second and
// waits a tenth of that time, until a try succeeds. So no request waits longer than 2 s, and none
// waits after the first one has. The beginning and the end of an outage are logged once each, and
// State reports it. Specification: Rate limits; abuse case C58.
package redis

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"larder/internal/kv"
	"larder/internal/kv/memory"
)

const (
	defaultTimeout     = 2 * time.Second
	retryInterval      = time.Second // between tries while the server is down
	downTimeoutDivisor = 10          // divisor of the time-out while the server is down
)

//go:embed take.lua
var takeSource string

// Options holds the settings of a store.
type Options struct {
	Now    func() time.Time // the clock of outages and of the buckets in this process, required
	Log    *slog.Logger     // logs outages, required
	Prefix string           // of every key, "larder:rate:" if empty

	// OwnClock makes buckets follow Now instead of the server's clock. It is for tests that move
	// the time.
	OwnClock bool
	// Timeout is how long one Take waits for a server that is up, including the connection; 0 for 2
	// s.
	Timeout time.Duration
}

// Store is a kv.Store on a Redis-compatible server.
type Store struct {
	client *redis.Client
	script *redis.Script
	opts   Options
	local  *memory.Store
	outage outage
}

var _ kv.Store = (*Store)(nil)

// New returns a store on the server at url: redis://, rediss:// or unix://, in the form of the
// client library. It does not connect, and treats a server that is down now like any other outage.
// It turns the client library's own log off for the whole process.
func New(url string, opts Options) (*Store, error) {
	settings, err := redis.ParseURL(url)
	if err != nil {
		// the cause would contain the password
		return nil,
			errors.New("the Redis URL cannot be read; it looks like redis://[user:password@]host[:port][/database]")
	}
	if opts.Now == nil || opts.Log == nil {
		return nil, errors.New("redis store: a clock and a logger are required")
	}
	if opts.Prefix == "" {
		opts.Prefix = "larder:rate:"
	}
	opts.Timeout = cmp.Or(opts.Timeout, defaultTimeout)
	settings.DialTimeout, settings.PoolTimeout = opts.Timeout, opts.Timeout
	settings.ReadTimeout, settings.WriteTimeout = opts.Timeout, opts.Timeout
	settings.ContextTimeoutEnabled = true
	settings.MaxRetries, settings.DialerRetries = -1, 1
	settings.DisableIdentity = true
	settings.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	logging.Disable()
	return &Store{
		client: redis.NewClient(settings),
		script: redis.NewScript(takeSource),
		opts:   opts,
		local:  memory.New(opts.Now, 0),
	}, nil
}

// Close closes the connections.
func (s *Store) Close() error {
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("close redis client: %w", err)
	}
	return nil
}

// Take takes cost units from the bucket key on the server, or from one in this process while the
// server is down. Errors: those of kv.Store.
func (s *Store) Take(ctx context.Context, key string, limit int, period time.Duration, cost int) (kv.Result, error) {
	if err := ctx.Err(); err != nil {
		return kv.Result{}, fmt.Errorf("take: %w", err)
	}
	gcra, err := kv.NewGCRA(limit, period, cost)
	if err != nil {
		return kv.Result{}, err
	}
	if timeout := s.outage.allowedWait(s.opts.Now(), s.opts.Timeout); timeout > 0 {
		result, err := s.runScript(ctx, kv.HashLongKey(key), gcra, timeout)
		if err == nil {
			if s.outage.end() {
				s.opts.Log.InfoContext(ctx, "redis is back, rate limits are shared again")
			}
			return result, nil
		}
		if ctx.Err() != nil { // the caller has given up, which says nothing about the server
			return kv.Result{}, fmt.Errorf("take: %w", ctx.Err())
		}
		if s.outage.begin(s.opts.Now()) {
			s.opts.Log.WarnContext(ctx, "redis does not answer, rate limits count in this process alone", "error", err)
		}
	}
	s.outage.countLocal()
	return s.local.Take(ctx, key, limit, period, cost)
}

// State is the state of the server as the store last saw it.
type State struct {
	Down       bool  // at this moment
	Outages    int64 // number of outages so far
	LocalTakes int64 // takes so far that were counted in this process only
}

// State returns the state of the server as the last Take found it.
func (s *Store) State() State {
	s.outage.mu.Lock()
	defer s.outage.mu.Unlock()
	return s.outage.State
}

// runScript runs the script of a Take on the server, which changes the bucket of key, and returns
// its Result. Error: no usable answer within timeout.
func (s *Store) runScript(ctx context.Context, key string, gcra kv.GCRA, timeout time.Duration) (kv.Result, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(caller, timeout)
	defer cancel()
	now := int64(-1)
	if s.opts.OwnClock {
		now = s.opts.Now().UnixMicro()
	}
	spends := 0
	if gcra.Cost != 0 {
		spends = 1
	}
	reply, err := s.script.Run(ctx, s.client, []string{s.opts.Prefix + key}, gcra.Burst, gcra.Increment, spends, now).
		Int64Slice()
	if err != nil {
		waitForCallerDeadline(caller, ctx, err)
		return kv.Result{}, fmt.Errorf("run script: %w", err)
	}
	if len(reply) != 2 || reply[1] < 0 || reply[1] > gcra.Burst {
		return kv.Result{}, fmt.Errorf("script answered %v", reply)
	}
	return gcra.Result(reply[1], reply[0] == 1), nil
}

// waitForCallerDeadline waits until caller is done if err is its deadline, which a connection can
// notice a moment before the context does. Take then sees that the caller has given up and does not
// take it for an outage. ctx is the context of the call, derived from caller.
func waitForCallerDeadline(caller, ctx context.Context, err error) {
	theirs, limited := caller.Deadline()
	deadline, _ := ctx.Deadline()
	if timeout := net.Error(nil); limited && theirs.Equal(deadline) && errors.As(err, &timeout) && timeout.Timeout() {
		<-caller.Done()
	}
}

// outage records that the server is down, so that requests do not each wait for it.
type outage struct {
	mu sync.Mutex
	State
	next time.Time // when one caller may try again
}

// allowedWait returns how long the caller may wait for the server, 0 for not asking it at all.
// While the server is up every caller may ask, for timeout. While it is down one caller a second
// may, with a shorter time-out.
func (o *outage) allowedWait(now time.Time, timeout time.Duration) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.Down {
		return timeout
	}
	if wait := o.next.Sub(now); wait > 0 && wait <= retryInterval { // longer than the interval: the clock was put back
		return 0
	}
	o.next = now.Add(retryInterval)
	return timeout / downTimeoutDivisor
}

// countLocal counts a Take that was decided in this process only.
func (o *outage) countLocal() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.LocalTakes++
}

// begin records a failure and reports whether it begins an outage.
func (o *outage) begin(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := !o.Down
	if first {
		o.Outages++
	}
	o.Down, o.next = true, now.Add(retryInterval)
	return first
}

// end records a success and reports whether it ends an outage.
func (o *outage) end() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	ended := o.Down
	o.Down = false
	return ended
}
