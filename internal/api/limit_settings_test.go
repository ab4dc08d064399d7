package api_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/kv/kvtest"
	"larder/internal/secret"
)

// A limit set by an administrator applies from the next request on, on every replica, at both edges
// of its range. The switch affects all limits except the strict one.
func TestRateLimitSettings(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		key := alice.Key(M{})
		wantLimit := func(what string, want int, ask func() *apptest.Reply) {
			t.Helper()
			for range 2 * len(l.Apps) {
				text := fmt.Sprint(want)
				if want == 0 {
					text = ""
				}
				h := ask().Header
				for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
					if want == 0 && h.Get(name) != "" || want != 0 && h.Get(name) == "" {
						t.Errorf("%s: %s is %q under a limit of %d", what, name, h.Get(name), want)
					}
				}
				if got := h.Get("RateLimit-Limit"); got != text {
					t.Errorf("%s: limit %q, want %q", what, got, text)
				}
			}
		}
		for _, row := range []struct {
			body  M
			limit int // 0: off
		}{
			{M{"rateLimitRequestsPerMinute": 1}, 1},
			{M{"rateLimitRequestsPerMinute": 10000}, 10000},
			{M{"rateLimitRequestsPerMinute": 40}, 40},
			{M{"rateLimitEnabled": false}, 0},
			{M{"rateLimitRequestsPerMinute": 50}, 0},
			{M{"rateLimitEnabled": true}, 50},
		} {
			admin.Patch(settingsPath, row.body).OK(200)
			wantLimit("a user, at once", row.limit, func() *apptest.Reply { return alice.Get("/api/auth/me") })
			l.Clock.Advance(2 * time.Minute) // a visitor's limit may be a second old; the buckets are full again
			wantLimit("bytes", 20*row.limit, func() *apptest.Reply { return alice.Get("/api/files/nothing/download") })
			wantLimit("a key", row.limit, func() *apptest.Reply { return key.Get("/api/files?path=/uploads") })
			wantLimit("a visitor", row.limit, func() *apptest.Reply { return visitor.Get("/api/public/settings") })
			wantLimit("a visitor's bytes", 20*row.limit,
				func() *apptest.Reply { return visitor.Get("/public/nothing") })
			wantLimit("the strict limit", 9, func() *apptest.Reply {
				return postLogin(l.Client(t), "nobody", "not the password")
			})
			l.Clock.Advance(2 * time.Minute)
		}
		for _, bad := range []any{0, 10001, -1, 1.5, "40"} {
			wantStatus(t, fmt.Sprint(bad), admin.Patch(settingsPath, M{"rateLimitRequestsPerMinute": bad}), 400,
				"VALIDATION_ERROR")
			l.Clock.Advance(time.Minute)
		}
		wantLimit("invalid values were not stored", 50, func() *apptest.Reply { return alice.Get("/api/auth/me") })
	}, withLimits(9, 600))
}

// Routes that check or mail a credential share one bucket per address. Routes that need a session
// are under the other limit.
func TestTheStrictLimitIsOneBucket(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", withLimits(7, 600))
	token := strings.Repeat("x", 43)
	asks := []func(c *apptest.Client) *apptest.Reply{
		func(c *apptest.Client) *apptest.Reply { return c.Post("/api/auth/register", M{}) },
		func(c *apptest.Client) *apptest.Reply { return postLogin(c, "nobody", "not the password") },
		func(c *apptest.Client) *apptest.Reply {
			return c.Post("/api/auth/forgot-password", M{"email": "nobody@example.org"})
		},
		func(c *apptest.Client) *apptest.Reply {
			return c.Post("/api/auth/reset-password", M{"token": token, "password": "a new password"})
		},
		func(c *apptest.Client) *apptest.Reply { return c.Get("/api/auth/verify-email?token=" + token) },
		func(c *apptest.Client) *apptest.Reply { return c.Get("/api/auth/verify?token=" + token) },
		func(c *apptest.Client) *apptest.Reply {
			return c.Post("/api/auth/resend-verification", M{"email": "nobody@example.org"})
		},
	}
	for i, ask := range asks {
		reply := ask(l.Client(t))
		if reply.Status == 429 {
			t.Errorf("%d: %s", i, reply.Body)
		}
		wantLimitHeaders(t, fmt.Sprint("request ", i), reply, 7, 6-i)
	}
	for i, ask := range asks {
		reply := ask(l.Client(t))
		wantStatus(t, fmt.Sprint("once more ", i), reply, 429, "RATE_LIMIT_EXCEEDED")
		wantLimitHeaders(t, fmt.Sprint("once more ", i), reply, 7, 0)
	}
	c := l.Client(t)
	for name, reply := range map[string]*apptest.Reply{"me": c.Get("/api/auth/me"),
		"csrf-token": c.Get("/api/auth/csrf-token"), "logout": c.Post("/api/auth/logout", nil)} {
		if got := reply.Header.Get("RateLimit-Limit"); got != "600" || reply.Status == 429 {
			t.Errorf("%s: limit %q, status %d", name, got, reply.Status)
		}
	}
}

// Two replicas count together in Redis, and each on its own while Redis is down. The limit is never
// off. Abuse case C58.
func TestLimitInRedis(t *testing.T) {
	t.Parallel()
	server := kvtest.StartServer(t)
	l := apptest.Start(t, "postgres", withLimits(5, 100), func(cfg *config.Config) {
		cfg.RedisURL = secret.Text(server.URL)
		cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	if len(l.Apps) != 2 {
		t.Fatalf("%d replicas", len(l.Apps))
	}
	try := func(ip string) int {
		return postLogin(l.Client(t), "nobody", "not the password", "X-Forwarded-For", ip).Status
	}
	var allowed atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if try("203.0.113.1") == 401 {
				allowed.Add(1)
			}
		})
	}
	all.Wait()
	if allowed.Load() != 5 {
		t.Errorf("two replicas accepted %d of 20 concurrent logins, want 5", allowed.Load())
	}
	ask := func(ip string) (allowed int) { // the limit that administrators set
		for range 300 {
			if l.Client(t).Get("/api/auth/me", "X-Forwarded-For", ip).Status == 401 {
				allowed++
			}
		}
		return allowed
	}
	if n := ask("203.0.113.3"); n != 100 {
		t.Errorf("two replicas accepted %d of 300 requests, want 100", n)
	}
	if log := l.Log.String(); strings.Contains(log, "redis does not answer") {
		t.Errorf("a replica left Redis:\n%s", log)
	}
	server.Stop() // the failure is reported immediately
	if n := ask("203.0.113.4"); n != 200 {
		t.Errorf("without Redis, %d of 300 requests were accepted, want 100 by each replica", n)
	}
	count := 0
	for range 20 {
		if try("203.0.113.2") == 401 {
			count++
		}
	}
	if count < 5 || count > 10 { // five each
		t.Errorf("without Redis, %d of 20 logins were accepted, want 5 to 10", count)
	}
	if got := l.Client(t).Get("/api/public/settings"); got.Status != 200 {
		t.Errorf("without Redis: %d %s", got.Status, got.Body)
	}
}
