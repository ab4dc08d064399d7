package redis_test

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"larder/internal/kv"
	"larder/internal/kv/kvtest"
	"larder/internal/kv/redis"
)

func open(t testing.TB, server *kvtest.Server, opts redis.Options) *redis.Store {
	t.Helper()
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s, err := redis.New(server.URL, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// refuseWarnings returns a logger that fails the test when the store treats the server as down,
// since the buckets in memory would pass the suite.
func refuseWarnings(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
		t.Errorf("the store treats the server as down: %s", line)
		return len(line), nil
	}), nil))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// patience is the time-out of stores whose server must answer, also on a busy machine.
const patience = time.Hour

func TestContract(t *testing.T) {
	t.Parallel()
	server := kvtest.StartServer(t)
	kvtest.Run(t, func(t *testing.T, now func() time.Time) kv.Store {
		return open(t, server, redis.Options{Now: now, OwnClock: true, Prefix: t.Name() + ":", Log: refuseWarnings(t),
			Timeout: patience})
	})
}

func allowed(t testing.TB, s kv.Store, key string) bool {
	t.Helper()
	r, err := s.Take(t.Context(), key, 5, time.Hour, 1)
	if err != nil {
		t.Fatalf("Take: %v", err)
	}
	if r.Allowed == (r.RetryAfter > 0) {
		t.Errorf("allowed: %t and RetryAfter %v", r.Allowed, r.RetryAfter)
	}
	return r.Allowed
}

func TestReplicasShareBucketsAndTheServersClock(t *testing.T) { // abuse case C58
	t.Parallel()
	server, ahead := kvtest.StartServer(t), kvtest.NewClock()
	ahead.Advance(1000 * time.Hour)
	a := open(t, server, redis.Options{Now: kvtest.NewClock().Now, Log: refuseWarnings(t), Timeout: patience})
	b := open(t, server, redis.Options{Now: ahead.Now, Log: refuseWarnings(t), Timeout: patience})
	for i := range 5 {
		if s := []kv.Store{a, b}[i%2]; !allowed(t, s, "ip") {
			t.Errorf("take %d of 5 is refused", i+1)
		}
	}
	if allowed(t, a, "ip") || allowed(t, b, "ip") {
		t.Error("a sixth take is allowed on one of two replicas")
	}

	rdb := client.NewClient(&client.Options{Network: "unix", Addr: strings.TrimPrefix(server.URL, "unix://")})
	defer rdb.Close()
	if ttl, err := rdb.PTTL(t.Context(), "larder:rate:ip").Result(); err != nil || ttl <= 59*time.Minute ||
		ttl > time.Hour {
		t.Errorf("the bucket lives for %v, %v, want the hour until it is full", ttl, err)
	}
}

// outageLog collects log lines.
type outageLog struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *outageLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *outageLog) count(level string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.lines.String(), "level="+level)
}

func TestLimiterWorksDuringAnOutage(t *testing.T) { // abuse case C58
	t.Parallel()
	for name, fail := range map[string]func(*kvtest.Server){
		"server_killed":         (*kvtest.Server).Stop,
		"server_hangs":          (*kvtest.Server).Hang,
		"server_refuses_writes": refuseWrites,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, clock, log := kvtest.StartServer(t), kvtest.NewClock(), &outageLog{}
			s := open(t, server, redis.Options{Now: clock.Now, Log: slog.New(slog.NewTextHandler(log, nil)),
				Timeout: time.Hour})
			if !allowed(t, s, "ip") || log.count("WARN") != 0 {
				t.Fatal("the server is not used")
			}
			if got := s.State(); got != (redis.State{}) {
				t.Errorf("before the outage: %+v", got)
			}
			fail(server)
			if name == "server_hangs" { // the other callers are answered at once, however long the time-out is
				s.SetTimeout(10 * time.Millisecond)
			}
			for range 3 { // seconds of outage with one limit for all of them
				clock.Advance(time.Second)
				for range 5 {
					allowed(t, s, "ip")
				}
			}
			if allowed(t, s, "ip") {
				t.Error("the rate limit is off during an outage")
			}
			if log.count("WARN") != 1 || log.count("INFO") != 0 {
				t.Errorf("%d warnings for one outage, want 1:\n%s", log.count("WARN"), log.lines.String())
			}

			if got := s.State(); got != (redis.State{Down: true, Outages: 1, LocalTakes: 16}) {
				t.Errorf("during the outage: %+v", got)
			}
			server.Stop()
			server.Start()
			s.SetTimeout(time.Hour)
			if allowed(t, s, "ip") {
				t.Error("the server is tried again within a second of its failure")
			}
			clock.Advance(time.Second)
			if !allowed(t, s, "ip") { // the server starts empty
				t.Error("the server is not used again")
			}
			if log.count("WARN") != 1 || log.count("INFO") != 1 {
				t.Errorf("want one line for the end of the outage:\n%s", log.lines.String())
			}
			if got := s.State(); got != (redis.State{Outages: 1, LocalTakes: 17}) {
				t.Errorf("after the outage: %+v", got)
			}
		})
	}
}

// During an outage, too, a flood of other buckets evicts none of the limit on signing in.
func TestFloodDuringAnOutage(t *testing.T) {
	t.Parallel()
	server, clock := kvtest.StartServer(t), kvtest.NewClock()
	s := open(t, server, redis.Options{Now: clock.Now})
	server.Stop()
	for range 5 {
		allowed(t, s, "auth:ip")
	}
	for i := range 110_000 {
		allowed(t, s, "wrong:"+strconv.Itoa(i))
	}
	if allowed(t, s, "auth:ip") {
		t.Error("the flood has evicted the bucket")
	}
}

// refuseWrites turns a server into a replica, like a failover.
func refuseWrites(server *kvtest.Server) {
	rdb := client.NewClient(&client.Options{Network: "unix", Addr: strings.TrimPrefix(server.URL, "unix://")})
	defer rdb.Close()
	rdb.ReplicaOf(context.Background(), "127.0.0.1", "1")
}

// A slow server is not an outage: replicas still share what they count.
func TestSlowServerIsNoOutage(t *testing.T) {
	t.Parallel()
	server := kvtest.StartServer(t)
	a := open(t, server, redis.Options{Now: kvtest.NewClock().Now, Log: refuseWarnings(t)})
	b := open(t, server, redis.Options{Now: kvtest.NewClock().Now, Log: refuseWarnings(t)})
	for _, s := range []*redis.Store{a, b} {
		if was := s.SetTimeout(time.Hour); was < 2*time.Second {
			t.Errorf("a store waits only %v, too short for a busy machine", was)
		}
	}
	server.Hang()
	results := make(chan kv.Result)
	for i := range 10 {
		go func() {
			r, err := []kv.Store{a, b}[i%2].Take(t.Context(), "ip", 5, time.Hour, 1)
			if err != nil {
				t.Errorf("Take: %v", err)
			}
			results <- r
		}()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	if r, err := a.Take(ctx, "ip", 5, time.Hour, 0); err == nil {
		t.Errorf("a Take doesn't wait for the server: %+v", r)
	}
	server.Resume()
	passed := 0
	for range 10 {
		if r := <-results; r.Allowed {
			passed++
		}
	}
	if passed != 5 {
		t.Errorf("%d of 10 passed, want 5", passed)
	}
}

func TestHangingServerDelaysNoCallerBeyondTheTimeout(t *testing.T) {
	t.Parallel()
	server, clock := kvtest.StartServer(t), kvtest.NewClock()
	s := open(t, server, redis.Options{Now: clock.Now})
	allowed(t, s, "ip")
	server.Hang()
	s.SetTimeout(10 * time.Millisecond)
	allowed(t, s, "ip")
	s.SetTimeout(time.Hour) // for the caller that waits for the server now
	for range 200 {
		allowed(t, s, "ip")
	}
	clock.Advance(-time.Hour) // after the clock is put back one caller tries, with a tenth of the time-out
	s.SetTimeout(10 * time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
	defer cancel()
	if _, err := s.Take(ctx, "ip", 5, time.Hour, 1); err != nil {
		t.Errorf("the caller that tries: %v", err)
	}
	s.SetTimeout(time.Hour)
	for range 200 {
		allowed(t, s, "ip")
	}
	if got := s.State(); got.LocalTakes != 402 {
		t.Errorf("%d takes counted in this process, want 402", got.LocalTakes)
	}
}

func TestCancelledCallerIsNoOutage(t *testing.T) {
	t.Parallel()
	server, log := kvtest.StartServer(t), &outageLog{}
	s := open(t, server, redis.Options{Now: kvtest.NewClock().Now, Log: slog.New(slog.NewTextHandler(log, nil))})
	server.Hang()
	for range 30 { // the connection and the context notice the deadline in either order
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if r, err := s.Take(ctx, "ip", 5, time.Hour, 1); err == nil {
			t.Errorf("Take = %+v, want the context's error", r)
		}
		cancel()
	}
	if log.count("WARN") != 0 {
		t.Errorf("a caller's deadline is logged as an outage:\n%s", log.lines.String())
	}
}

func TestNewRefusesURLsWithoutShowingThem(t *testing.T) {
	t.Parallel()
	opts := redis.Options{Now: kvtest.NewClock().Now, Log: slog.New(slog.DiscardHandler)}
	for _, url := range []string{"", "localhost:6379", "http://localhost", "redis://user:hunter2@host:x",
		"redis://:hunter2@h/not-a-number", "\x00hunter2"} {
		_, err := redis.New(url, opts)
		if err == nil {
			t.Errorf("URL %q is accepted", url)
		} else if strings.Contains(err.Error(), "hunter2") { // abuse case C114
			t.Errorf("error shows the password: %v", err)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	s := open(b, kvtest.StartServer(b), redis.Options{Now: kvtest.NewClock().Now, Log: refuseWarnings(b)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Take(b.Context(), "ip", 600, time.Minute, 1); err != nil {
			b.Fatal(err)
		}
	}
}
