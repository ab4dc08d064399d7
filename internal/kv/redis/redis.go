// Package redis keeps rate limit buckets in a Redis-compatible server, so that replicas share them.
//
// One short script per Take reads the server's clock, so that replicas agree on the time as well. The limiter is never off: a server
// that fails or does not answer within 200 ms is left alone for a second, and a limiter in this process takes over (its buckets start
// full), until a try succeeds. The beginning and the end of an outage are logged, each once.
// Specification: Rate limits; abuse case C58.
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
	defaultPatience = 200 * time.Millisecond
	pause           = time.Second // between tries while the server is down
)

//go:embed take.lua
var takeSource string

// Options are the settings of a store.
type Options struct {
	Now    func() time.Time // the clock of outages and of the limiter that takes over, required
	Log    *slog.Logger     // told about outages, required
	Prefix string           // of every key, "larder:rate:" when empty

	// OwnClock makes buckets follow Now instead of the server's clock. For tests that move the time.
	OwnClock bool
	// Patience is how long one Take waits for the server, connecting included; 0 for 200 ms.
	Patience time.Duration
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

// New returns a store on the server at url: redis://, rediss:// or unix://, as the client library reads them. It does not connect: a
// server that is down now is an outage like any other. The client library's own log is turned off for the whole process.
func New(url string, opts Options) (*Store, error) {
	settings, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the Redis URL cannot be read; it looks like redis://[user:password@]host[:port][/database]") // the cause would show the password
	}
	if opts.Now == nil || opts.Log == nil {
		return nil, errors.New("redis store: a clock and a logger are required")
	}
	if opts.Prefix == "" {
		opts.Prefix = "larder:rate:"
	}
	opts.Patience = cmp.Or(opts.Patience, defaultPatience)
	settings.DialTimeout, settings.ReadTimeout, settings.WriteTimeout, settings.PoolTimeout = opts.Patience, opts.Patience, opts.Patience, opts.Patience
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

// Take spends from a bucket on the server, or from one in this process while the server is down. Errors: those of kv.Store.
func (s *Store) Take(ctx context.Context, key string, limit int, period time.Duration, cost int) (kv.Result, error) {
	if err := ctx.Err(); err != nil {
		return kv.Result{}, fmt.Errorf("take: %w", err)
	}
	spend, err := kv.NewSpend(limit, period, cost)
	if err != nil {
		return kv.Result{}, err
	}
	if s.outage.mayTry(s.opts.Now()) {
		result, err := s.ask(ctx, kv.Bound(key), spend)
		if err == nil {
			if s.outage.over() {
				s.opts.Log.InfoContext(ctx, "redis is back, rate limits are shared again")
			}
			return result, nil
		}
		if ctx.Err() != nil { // the caller has gone, which says nothing about the server
			return kv.Result{}, fmt.Errorf("take: %w", ctx.Err())
		}
		if s.outage.begin(s.opts.Now()) {
			s.opts.Log.WarnContext(ctx, "redis does not answer, rate limits count in this process alone", "error", err)
		}
	}
	return s.local.Take(ctx, key, limit, period, cost)
}

// ask runs the script, which knows the rule and leaves the wording to kv.Spend.
func (s *Store) ask(ctx context.Context, key string, spend kv.Spend) (kv.Result, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(caller, s.opts.Patience)
	defer cancel()
	now := int64(-1)
	if s.opts.OwnClock {
		now = s.opts.Now().UnixMicro()
	}
	moves := 0
	if spend.Cost != 0 {
		moves = 1
	}
	reply, err := s.script.Run(ctx, s.client, []string{s.opts.Prefix + key}, spend.Burst, spend.Need, moves, now).Int64Slice()
	if err != nil {
		waitIfDue(caller, ctx, err)
		return kv.Result{}, fmt.Errorf("run script: %w", err)
	}
	if len(reply) != 2 || reply[1] < 0 || reply[1] > spend.Burst {
		return kv.Result{}, fmt.Errorf("script answered %v", reply)
	}
	return spend.Result(reply[1], reply[0] == 1), nil
}

// waitIfDue returns once caller is done when err is its deadline, which a connection can notice a moment before the context does.
func waitIfDue(caller, ctx context.Context, err error) {
	theirs, limited := caller.Deadline()
	deadline, _ := ctx.Deadline()
	if timeout := net.Error(nil); limited && theirs.Equal(deadline) && errors.As(err, &timeout) && timeout.Timeout() {
		<-caller.Done()
	}
}

// outage remembers that the server is down, so that requests do not each wait for it.
type outage struct {
	mu   sync.Mutex
	down bool
	next time.Time // when one caller may try again
}

// mayTry reports whether the server should be asked: always while it is up, by one caller a second while it is down.
func (o *outage) mayTry(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.down {
		return true
	}
	if wait := o.next.Sub(now); wait > 0 && wait <= pause { // more than a pause: the clock was put back
		return false
	}
	o.next = now.Add(pause)
	return true
}

// begin notes a failure and reports whether it is the first of an outage.
func (o *outage) begin(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := !o.down
	o.down, o.next = true, now.Add(pause)
	return first
}

// over notes a success and reports whether it ends an outage.
func (o *outage) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	ended := o.down
	o.down = false
	return ended
}
