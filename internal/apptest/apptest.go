// Package apptest runs the whole service inside a test, with free ports, a temporary directory, a
// chosen database engine, and a clock that the test moves.
//
// Each runs a test on both set-ups: SQLite, and two replicas on one PostgreSQL, which receive
// requests in turn.
package apptest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
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
	// the service starts its own program for thumbnails, which in a test is the test program
	_ "larder/internal/thumb/thumbtest"
)

// BaseURL is the base URL of the service under test. A Client sends requests below it to the
// replicas.
const BaseURL = "http://larder.test"

// AdminPassword is the password of the administrator `admin`.
const AdminPassword = "correct horse battery"

// Larder is the running service.
type Larder struct {
	Clock    *Clock
	Apps     []*app.App // the replicas
	Log      *LogBuffer // all log output, as JSON lines
	Resolver *Resolver
	cfg      config.Config
	t        testing.TB
	next     int
	mu       sync.Mutex

	hashMemory uint32               // see app.Deps
	onHash     func(account.Source) // see app.Deps

	sharedAdminMu     sync.Mutex
	sharedAdminClient *Client // see sharedAdmin
}

// Each runs test once on each set-up, in parallel. change may change the configuration.
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
// on PostgreSQL. Passwords are hashed with minimal memory.
func Start(t testing.TB, engine string, change ...func(*config.Config)) *Larder {
	t.Helper()
	return start(t, engine, 64, nil, change)
}

// StartWithHashHook is Start with a function that is called before each password hash and may delay
// it.
func StartWithHashHook(t testing.TB, engine string, onHash func(account.Source),
	change ...func(*config.Config)) *Larder {
	t.Helper()
	return start(t, engine, 64, onHash, change)
}

// StartWithRealHashes is Start with passwords hashed at the cost used in production.
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
		ObjectCache: 32 << 20, EntryCache: 8 << 20, Thumbnails: config.ThumbnailsBuiltIn,
		SMTPAllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
	}
	replicas := 1
	if engine == "postgres" {
		cfg.DatabaseURL = secret.Text(dbtest.MigratedURL(t))
		replicas = 2
	}
	for _, fn := range change {
		fn(&cfg)
	}
	if _, err := os.Stat(cfg.DatabaseFile()); engine == "sqlite" && errors.Is(err, fs.ErrNotExist) {
		dbtest.WriteMigrated(t, cfg.DatabaseFile())
	}
	l := &Larder{Clock: &Clock{now: time.Now()}, Log: &LogBuffer{}, Resolver: &Resolver{}, cfg: cfg, t: t,
		hashMemory: hashMemory, onHash: onHash}
	for range replicas {
		l.startReplica(t)
	}
	return l
}

// WithoutObjectCache makes every read ask the store.
func WithoutObjectCache(cfg *config.Config) { cfg.ObjectCache = 0 }

// TrustLoopback is a change for Each: it treats the test's client as a trusted proxy.
func TrustLoopback(cfg *config.Config) {
	cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

func (l *Larder) startReplica(t testing.TB) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	log := slog.New(app.NewLogHandler(l.Log, slog.LevelInfo, false))
	a, err := app.New(ctx, l.cfg, app.Deps{
		Now: l.Clock.Now, Random: rand.Reader, Log: log, Out: io.Discard, Resolver: l.Resolver, MailRoots: MailRoots(),
		HashMemory:   l.hashMemory,
		OnHash:       l.onHash,
		RedisTimeout: time.Minute, // long, since a busy machine may answer late
		ThumbTime:    10 * time.Minute,
		QueueTime:    10 * time.Minute,
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

// Sweep runs each background task once.
func (l *Larder) Sweep() {
	l.t.Helper()
	if err := l.Apps[0].Sweep(context.Background()); err != nil {
		l.t.Fatal(err)
	}
}

// FlushLog makes every replica write its pending rows of the access log.
func (l *Larder) FlushLog() {
	l.t.Helper()
	for _, a := range l.Apps {
		if err := a.Audit.Flush(context.Background()); err != nil {
			l.t.Fatal(err)
		}
	}
}

// AuditDB opens the database of the access log for the test.
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

// replica returns the next replica in turn.
func (l *Larder) replica() *app.App {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	return l.Apps[l.next%len(l.Apps)]
}

// Clock is a clock that only the test moves.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// SetToNow sets the clock to the real time, for tests with real stores.
func (c *Clock) SetToNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = time.Now()
}

// Advance moves the clock forward, or back for a negative duration.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// LogBuffer is a bytes.Buffer that is safe for concurrent use.
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

// CollectAtOnce makes the collector delete objects without a grace period.
func CollectAtOnce(cfg *config.Config) { cfg.GarbageGrace = 0 }
