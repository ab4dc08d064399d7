// Package apptest runs the whole service inside a test: free ports, a temporary directory, a chosen
// engine, a clock that the test moves.
//
// Each runs a test on both standing set-ups: SQLite, and two replicas on one PostgreSQL
// between which requests alternate.
package apptest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"log/slog"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"larder/internal/account"
	"larder/internal/app"
	"larder/internal/audit"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/secret"
	"larder/internal/site"
	// the service starts its own program for thumbnails, which in a test is the test's
	_ "larder/internal/thumb/thumbtest"
)

// BaseURL is what the service under test believes its address to be. A Client reaches
// the replicas behind it.
const BaseURL = "http://larder.test"

// AdminPassword is the password of the administrator `admin`.
const AdminPassword = "correct horse battery"

// Larder is the running service.
type Larder struct {
	Clock    *Clock
	Apps     []*app.App // the replicas
	Log      *LogBuffer // everything that was logged, as JSON lines
	Resolver *Resolver
	cfg      config.Config
	t        testing.TB
	next     int
	mu       sync.Mutex

	hashMemory uint32               // see app.Deps
	onHash     func(account.Source) // see app.Deps

	sharedAdminMu     sync.Mutex
	sharedAdminClient *Client // see maker
}

// Each runs test once on each set-up, in parallel. change may alter the configuration.
func Each(t *testing.T, test func(t *testing.T, l *Larder), change ...func(*config.Config)) {
	t.Helper()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, Start(t, engine, change...))
		})
	}
}

// Start runs the service on engine until the end of the test: one process on SQLite, two replicas
// on PostgreSQL. Passwords are hashed at next to no cost.
func Start(t testing.TB, engine string, change ...func(*config.Config)) *Larder {
	t.Helper()
	return start(t, engine, 64, nil, change)
}

// StartWithHashHook is Start with a function that is called before each hash of a password and
// may hold it up.
func StartWithHashHook(t testing.TB, engine string, onHash func(account.Source),
	change ...func(*config.Config)) *Larder {
	t.Helper()
	return start(t, engine, 64, onHash, change)
}

// StartWithRealHashes is Start with passwords hashed at the cost that protects real ones.
func StartWithRealHashes(t testing.TB, engine string, change ...func(*config.Config)) *Larder {
	t.Helper()
	return start(t, engine, 0, nil, change)
}

func start(
	t testing.TB, engine string, hashMemory uint32, onHash func(account.Source), change []func(*config.Config),
) *Larder {
	t.Helper()
	dir := t.TempDir()
	key := sha256.Sum256([]byte(t.Name()))
	cfg := config.Config{
		Listen: "127.0.0.1:0", BaseURL: BaseURL, DataDir: dir, ObjectDir: filepath.Join(dir, "objects"),
		SecretKey:     secret.Text(key[:]),
		AdminUsername: "admin", AdminEmail: "admin@localhost", AdminPassword: AdminPassword,
		RateLimitEnabled: true, RateLimitPerMinute: 10000, AuthRateLimit: 10000, DefaultMaxStorage: 10 << 30,
		DefaultMaxFiles: 100000,
		LinkMaxAge:      time.Hour, LogRetention: 90 * 24 * time.Hour, GarbageGrace: time.Hour,
		Thumbnails:       config.ThumbnailsBuiltIn,
		SMTPAllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
	}
	replicas := 1
	if engine == "postgres" {
		cfg.DatabaseURL = secret.Text(dbtest.URL(t))
		replicas = 2
	}
	for _, fn := range change {
		fn(&cfg)
	}
	l := &Larder{Clock: &Clock{now: time.Now()}, Log: &LogBuffer{}, Resolver: &Resolver{}, cfg: cfg, t: t,
		hashMemory: hashMemory, onHash: onHash}
	for range replicas {
		l.startReplica(t)
	}
	return l
}

// TrustLoopback is a change for Each: the test's requests come through a trusted proxy.
func TrustLoopback(cfg *config.Config) {
	cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

func (l *Larder) startReplica(t testing.TB) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	log := slog.New(slog.NewJSONHandler(l.Log, app.LogOptions(slog.LevelInfo)))
	a, err := app.New(ctx, l.cfg, app.Deps{
		Now: l.Clock.Now, Random: rand.Reader, Log: log, Out: io.Discard, Resolver: l.Resolver, MailRoots: MailRoots(),
		HashMemory:   l.hashMemory,
		OnHash:       l.onHash,
		RedisTimeout: time.Minute, // a busy machine is no outage
		OwnClock:     true,
		UI:           UI,
		Version:      "1.2.3-test",
		ManualSweep:  true,
	})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	l.Apps = append(l.Apps, a)
	client := l.Client(t)
	for client.toReplica(len(l.Apps)-1).Get("/api/public/health/ready").Status != 200 {
		select {
		case err := <-done:
			t.Fatalf("did not start: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Sweep does every chore of the background once.
func (l *Larder) Sweep() {
	l.t.Helper()
	if err := l.Apps[0].Sweep(context.Background()); err != nil {
		l.t.Fatal(err)
	}
}

// FlushLog has every replica write what it has noted for the access log.
func (l *Larder) FlushLog() {
	l.t.Helper()
	for _, a := range l.Apps {
		if err := a.Audit.Flush(context.Background()); err != nil {
			l.t.Fatal(err)
		}
	}
}

// AuditDB is a handle of one's own on the database of the access log.
func (l *Larder) AuditDB(t testing.TB) *db.DB {
	t.Helper()
	d, err := db.Open(context.Background(), db.Config{URL: l.cfg.DatabaseURL.Reveal(), Path: l.cfg.AuditFile(),
		Schema: audit.Schema, Secondary: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// ChangeSettings changes the site settings as an administrator would.
func (l *Larder) ChangeSettings(t testing.TB, change func(*site.Settings)) {
	t.Helper()
	if _, err := l.Apps[0].Site.Update(context.Background(),
		func(s *site.Settings) error { change(s); return nil }); err != nil {
		t.Fatal(err)
	}
}

// replica picks the next one in turn.
func (l *Larder) replica() *app.App {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	return l.Apps[l.next%len(l.Apps)]
}

// Clock is a clock that stands still until the test moves it.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the present moment.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// SetToNow moves the clock to what it is outside, for those whose time goes on: real stores.
func (c *Clock) SetToNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = time.Now()
}

// Advance moves the clock forward, or back.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// LogBuffer is a bytes.Buffer for several writers.
type LogBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *LogBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns everything written.
func (b *LogBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
