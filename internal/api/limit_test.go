package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/config"
)

// withLimits sets the two rate limits, in requests a minute.
func withLimits(auth, others int) func(*config.Config) {
	return func(cfg *config.Config) { cfg.AuthRateLimit, cfg.RateLimitPerMinute = auth, others }
}

// wantLimitHeaders checks the rate-limit headers of an answer.
func wantLimitHeaders(t testing.TB, what string, r *apptest.Reply, limit, remaining int) {
	t.Helper()
	h := r.Header
	if h.Get("RateLimit-Limit") != fmt.Sprint(limit) || h.Get("RateLimit-Remaining") != fmt.Sprint(remaining) {
		t.Errorf("%s: limit %q, remaining %q, want %d and %d", what, h.Get("RateLimit-Limit"),
			h.Get("RateLimit-Remaining"), limit, remaining)
	}
	var reset int
	if _, err := fmt.Sscan(h.Get("RateLimit-Reset"), &reset); err != nil || reset < 0 || reset > 60 {
		t.Errorf("%s: reset %q", what, h.Get("RateLimit-Reset"))
	}
	if (r.Status == 429) != (h.Get("Retry-After") != "") {
		t.Errorf("%s: status %d with Retry-After %q", what, r.Status, h.Get("Retry-After"))
	}
}

func TestAuthLimit(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", withLimits(5, 600), apptest.TrustLoopback)
	c := l.Client(t)
	from := func(ip string) []string { return []string{"X-Forwarded-For", ip} }
	const wrong = "not the password"
	attempts := []struct {
		name string
		do   func() *apptest.Reply
		want int
	}{
		{"a wrong password", func() *apptest.Reply { return postLogin(c, "admin", wrong, from("203.0.113.1")...) },
			401},
		{"the right one", func() *apptest.Reply {
			return postLogin(l.Client(t), "admin", apptest.AdminPassword, from("203.0.113.1")...)
		}, 200},
		{"a malformed body", func() *apptest.Reply { return c.Post("/api/auth/login", "{", from("203.0.113.1")...) },
			400},
		{"from across sites", func() *apptest.Reply {
			return postLogin(c, "admin", wrong, append(from("203.0.113.1"), "Sec-Fetch-Site", "cross-site")...)
		}, 403},
		{"a compressed body", func() *apptest.Reply {
			return postLogin(c, "admin", wrong, append(from("203.0.113.1"), "Content-Encoding", "gzip")...)
		}, 400},
	}
	for i, a := range attempts {
		reply := a.do()
		wantStatus(t, a.name, reply, a.want, "")
		wantLimitHeaders(t, a.name, reply, 5, 4-i)
	}
	sixth := postLogin(l.Client(t), "admin", apptest.AdminPassword, from("203.0.113.1")...)
	wantStatus(t, "the sixth", sixth, 429, "RATE_LIMIT_EXCEEDED")
	wantLimitHeaders(t, "the sixth", sixth, 5, 0)
	if sixth.Header.Get("Set-Cookie") != "" {
		t.Error("the sixth attempt signs in")
	}
	var wait int
	if _, err := fmt.Sscan(sixth.Header.Get("Retry-After"), &wait); err != nil || wait < 1 || wait > 60 {
		t.Fatalf("Retry-After %q", sixth.Header.Get("Retry-After"))
	}
	wantStatus(t, "another address", postLogin(l.Client(t), "admin", apptest.AdminPassword, from("203.0.113.2")...),
		200, "")
	// me, csrf-token and logout are not under this limit
	wantStatus(t, "logout", c.Post("/api/auth/logout", nil, from("203.0.113.1")...), 200, "")
	wantStatus(t, "me", c.Get("/api/auth/me", from("203.0.113.1")...), 401, "UNAUTHORIZED")
	l.Clock.Advance(time.Duration(wait)*time.Second - time.Second)
	wantStatus(t, "before Retry-After", postLogin(l.Client(t), "admin", apptest.AdminPassword, from("203.0.113.1")...),
		429, "")
	l.Clock.Advance(time.Second)
	wantStatus(t, "after Retry-After", postLogin(l.Client(t), "admin", apptest.AdminPassword, from("203.0.113.1")...),
		200, "")
	l.Clock.Advance(time.Minute)
	wantLimitHeaders(t, "a minute later", postLogin(c, "admin", wrong, from("203.0.113.1")...), 5, 4)
}

func TestAuthLimitIgnoresForwardedHeaders(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		trust   bool
		headers func(i int) []string
		want    int // status of the sixth
	}{
		// abuse case C55
		"rotating X-Forwarded-For": {false,
			func(i int) []string { return []string{"X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i)} }, 429},
		"rotating X-Real-IP": {false,
			func(i int) []string { return []string{"X-Real-IP", fmt.Sprintf("203.0.113.%d", i)} }, 429},
		"rotating Forwarded": {false,
			func(i int) []string { return []string{"Forwarded", fmt.Sprintf("for=203.0.113.%d", i)} }, 429},
		"rotating the left-most hop": {true, func(i int) []string {
			return []string{"X-Forwarded-For", fmt.Sprintf("203.0.113.%d, 198.51.100.7", i)}
		}, 429},
		"rotating in a header of its own": {true, func(i int) []string {
			return []string{"X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i), "X-Forwarded-For", "198.51.100.7"}
		}, 429},
		"a trusted hop in between": {true, func(i int) []string {
			return []string{"X-Forwarded-For", fmt.Sprintf("203.0.113.%d, 198.51.100.7, 127.0.0.3", i)}
		}, 429},
		"X-Real-IP behind a proxy": {true,
			func(i int) []string { return []string{"X-Real-IP", fmt.Sprintf("203.0.113.%d", i)} }, 429},
		"garbage behind a proxy": {true,
			func(i int) []string { return []string{"X-Forwarded-For", fmt.Sprintf("garbage %d", i)} }, 429},
		"the same address with a port": {true,
			func(i int) []string { return []string{"X-Forwarded-For", fmt.Sprintf("203.0.113.9:%d", 1000+i)} }, 429},
		"IPv4-mapped and not": {true, func(i int) []string {
			return []string{"X-Forwarded-For", []string{"203.0.113.9", "::ffff:203.0.113.9"}[i%2]}
		}, 429},
		// abuse case C56
		"20 addresses of one /64": {true,
			func(i int) []string { return []string{"X-Forwarded-For", fmt.Sprintf("2001:db8:1:2::%x", i+1)} }, 429},
		"several /64": {true,
			func(i int) []string { return []string{"X-Forwarded-For", fmt.Sprintf("2001:db8:1:%x::1", i+1)} }, 401},
		"other visitors of the proxy": {true,
			func(i int) []string { return []string{"X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i+1)} }, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := []func(*config.Config){withLimits(5, 600)}
			if row.trust {
				changes = append(changes, apptest.TrustLoopback)
			}
			l := apptest.Start(t, "sqlite", changes...)
			c := l.Client(t)
			for i := range 5 {
				// an unknown username: no other limit, per account, may count
				wantStatus(t, "one failed sign-in of five",
					postLogin(c, "nobody", "not the password", row.headers(i)...), 401, "")
			}
			wantStatus(t, "the sixth", postLogin(c, "nobody", "not the password", row.headers(5)...), row.want, "")
		})
	}
}

func TestConfigurableLimit(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", withLimits(10000, 40))
	alice, bob := l.User(t, "alice"), l.User(t, "bob")
	aliceAgain := l.SignIn(t, "alice", "password of alice")
	first, second := alice.Key(M{}), alice.Key(M{})
	id := alice.Upload("/home/alice", "a.txt", []byte("x"))
	l.Clock.Advance(2 * time.Minute) // full buckets

	// per user, whatever the session
	for i := range 40 {
		c := []*apptest.Client{alice, aliceAgain}[i%2]
		reply := c.Get("/api/auth/me")
		wantStatus(t, "me", reply, 200, "")
		wantLimitHeaders(t, "me", reply, 40, 39-i)
	}
	over := alice.Get("/api/auth/me")
	wantStatus(t, "the 41st", over, 429, "RATE_LIMIT_EXCEEDED")
	wantLimitHeaders(t, "the 41st", over, 40, 0)
	wantStatus(t, "an unknown id", alice.Get("/api/files/nothing"), 429, "")
	wantLimitHeaders(t, "another user", bob.Get("/api/auth/me"), 40, 39)
	// errors are counted and carry the headers too
	for i, row := range []struct {
		reply *apptest.Reply
		want  int
	}{
		{bob.Get("/api/files/nothing"), 404}, {bob.Get("/api/admin/rules"), 403}, {bob.Get("/api/files?page=0"), 400},
		{bob.Post("/api/keys/", "{", "Content-Type", "application/json"), 400},
		{bob.Post("/api/keys/", M{}, "X-CSRF-Token", "wrong"), 403},
		{bob.Post("/api/keys/", M{}, "Content-Encoding", "gzip"), 400},
	} {
		wantStatus(t, "an error", row.reply, row.want, "")
		wantLimitHeaders(t, "an error", row.reply, 40, 38-i)
	}

	// per address without a session; a bad credential counts by address too
	visitor, liar := l.Client(t), l.Client(t)
	liar.Cookies["auth_token"] = "garbage"
	for i, row := range []struct {
		reply *apptest.Reply
		want  int
	}{
		{visitor.Get("/api/public/settings"), 200}, {liar.Fork().Get("/api/auth/me"), 401},
		{visitor.Get("/api/auth/me"), 401}, {visitor.Get("/api/nothing"), 404}, {visitor.Put("/api/auth/me", nil), 405},
		{visitor.Get("/api/auth/me", "Authorization", "Bearer x"), 401},
	} {
		wantStatus(t, "a visitor", row.reply, row.want, "")
		wantLimitHeaders(t, "a visitor", row.reply, 40, 39-i)
	}

	// bytes: a separate bucket, 20 times as large
	wantLimitHeaders(t, "download", alice.Get("/api/files/"+id+"/download"), 800, 799)
	wantLimitHeaders(t, "an upload session", alice.Post("/api/files/upload-session",
		M{"path": "/home/alice", "fileName": "b", "fileSize": 1}), 800, 798)
	wantLimitHeaders(t, "the gateway", visitor.Get("/api/gateway/download/nothing"), 800, 799)
	wantLimitHeaders(t, "the public path", visitor.Get("/public/nothing.png"), 800, 798)
	wantLimitHeaders(t, "a permanent link", visitor.Get("/api/i/nothing.png"), 800, 797)

	// keys: each has its own bucket
	wantLimitHeaders(t, "one key", first.Get("/api/files?path=/uploads"), 40, 39)
	wantLimitHeaders(t, "the same", first.Get("/api/files?path=/uploads"), 40, 38)
	wantLimitHeaders(t, "another key of the user", second.Get("/api/files?path=/uploads"), 40, 39)
	form, contentType := apptest.Form(nil, "file", "a.txt", []byte("x"))
	reply := first.Post("/api/upload", form, "Content-Type", contentType)
	wantStatus(t, "a compatible upload", reply, 200, "")
	wantLimitHeaders(t, "a compatible upload", reply, 800, 799)

	// switched off
	setRateLimit(t, l, false, 40)
	for range 50 {
		reply := alice.Get("/api/auth/me")
		wantStatus(t, "limit off", reply, 200, "")
		if got := reply.Header.Get("RateLimit-Limit"); got != "" {
			t.Errorf("RateLimit-Limit %s while the limit is off", got)
		}
	}
	wantLimitHeaders(t, "login stays limited", postLogin(l.Client(t), "alice", "password of alice"), 10000, 9999)
	setRateLimit(t, l, true, 1)
	l.Clock.Advance(2 * time.Minute)
	wantLimitHeaders(t, "one a minute", bob.Get("/api/auth/me"), 1, 0)
	wantStatus(t, "one a minute", bob.Get("/api/auth/me"), 429, "RATE_LIMIT_EXCEEDED")
}

func TestAuthLimitIsAlwaysOn(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", withLimits(5, 600), func(cfg *config.Config) { cfg.RateLimitEnabled = false })
	c := l.Client(t)
	for range 5 {
		wantStatus(t, "one failed sign-in of five", postLogin(c, "nobody", "not the password"), 401, "")
	}
	wantStatus(t, "the sixth", postLogin(c, "nobody", "not the password"), 429, "RATE_LIMIT_EXCEEDED")
	for range 20 {
		wantStatus(t, "others", c.Get("/api/public/settings"), 200, "")
	}
}

// After ten wrong secrets a minute for an address and a key, not even the right secret is checked.
// Abuse case C57.
func TestGuessingKeySecrets(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.TrustLoopback)
	admin := l.Admin(t)
	key, other := admin.Key(M{}), admin.Key(M{})
	id, _, _ := strings.Cut(strings.TrimPrefix(key.Header.Get("Authorization"), "Bearer "), ".")
	try := func(c *apptest.Client, ip string) *apptest.Reply {
		return c.Get("/api/files?path=/uploads", "X-Forwarded-For", ip)
	}
	guess := l.Client(t)
	for i := range 10 {
		guess.Header.Set("Authorization", fmt.Sprintf("Bearer %s.sk_%048d", id, i))
		wantStatus(t, "a guess", try(guess, "203.0.113.1"), 401, "INVALID_TOKEN")
	}
	over := try(guess, "203.0.113.1")
	wantStatus(t, "the 11th guess", over, 429, "RATE_LIMIT_EXCEEDED")
	if over.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	wantStatus(t, "the right secret", try(key, "203.0.113.1"), 429, "RATE_LIMIT_EXCEEDED")
	form, contentType := apptest.Form(nil, "file", "a.txt", []byte("x"))
	wantStatus(t, "by an upload", key.Post("/api/upload", form, "Content-Type", contentType, "X-Forwarded-For",
		"203.0.113.1"), 429, "RATE_LIMIT_EXCEEDED")
	wantStatus(t, "the right secret from elsewhere", try(key, "203.0.113.2"), 200, "")
	wantStatus(t, "another key from there", try(other, "203.0.113.1"), 200, "")
	l.Clock.Advance(time.Minute)
	wantStatus(t, "a minute later", try(key, "203.0.113.1"), 200, "")
	for range 30 {
		wantStatus(t, "the right secret is no guess", try(key, "203.0.113.1"), 200, "")
	}

	// a client with a deleted key gets the reason, however often it asks
	admin.Delete("/api/keys/" + id).OK(200)
	for range 15 {
		wantStatus(t, "a revoked key", try(key, "203.0.113.3"), 401, "INVALID_TOKEN")
	}
}

// Abuse case C59.
func TestAllowedIPs(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.TrustLoopback)
	admin := l.Admin(t)
	for _, row := range []struct {
		name    string
		allowed []string
		from    map[string]bool
	}{
		{"an address", []string{"203.0.113.5"},
			map[string]bool{"203.0.113.5": true, "203.0.113.6": false, "::ffff:203.0.113.5": true, "2001:db8::1": false,
				"198.51.100.1, 203.0.113.5": true, "203.0.113.5, 198.51.100.1": false}},
		{"an address behind two proxies", []string{"203.0.113.5"},
			map[string]bool{"203.0.113.5, 127.0.0.9": true, "203.0.113.5:4711, 127.0.0.9": true,
				"203.0.113.5, 198.51.100.1, 127.0.0.9": false}},
		{"an address left of the trusted ones", []string{"203.0.113.5"},
			map[string]bool{"203.0.113.5, unknown": false, "203.0.113.5, ": false,
				"203.0.113.5, unknown, 127.0.0.9": false}},
		{"the proxy, without a header", []string{"127.0.0.9"},
			map[string]bool{"203.0.113.5, unknown, 127.0.0.9": true, "127.0.0.9": true, "203.0.113.5": false}},
		{"a mapped address", []string{"::ffff:203.0.113.5"},
			map[string]bool{"203.0.113.5": true, "203.0.113.6": false}},
		{"a network", []string{"203.0.113.0/24", "2001:db8:5::/48"},
			map[string]bool{"203.0.113.255": true, "203.0.114.0": false, "2001:db8:5:1::9": true,
				"2001:db8:6::": false}},
		{"a network with host bits", []string{"203.0.113.77/24"},
			map[string]bool{"203.0.113.1": true, "203.0.114.1": false}},
		{"none", []string{}, map[string]bool{"203.0.113.5": true, "2001:db8::1": true}},
	} {
		key := admin.Key(M{"allowedIps": row.allowed})
		for ip, allowed := range row.from {
			want, code := 200, ""
			if !allowed {
				want, code = 403, "FORBIDDEN"
			}
			wantStatus(t, row.name+" from "+ip, key.Get("/api/files?path=/uploads", "X-Forwarded-For", ip), want, code)
		}
	}
	for _, bad := range []any{[]string{"garbage"}, []string{""}, []string{"203.0.113.0/33"}, []string{"203.0.113.256"},
		[]string{"203.0.113.5", "x"}, []string{"larder.test"}, []string{"fe80::1%eth0"}, "203.0.113.5", []int{5}} {
		body := M{"name": "k", "permissions": []string{"read"}, "protocols": []string{"api"}, "allowedIps": bad}
		wantStatus(t, fmt.Sprint(bad), admin.Post("/api/keys/", body), 400, "VALIDATION_ERROR")
	}
	// without a trusted proxy, the address of the peer counts
	plain := apptest.Start(t, "sqlite")
	far := plain.Admin(t).Key(M{"allowedIps": []string{"203.0.113.5"}})
	wantStatus(t, "a header of one's own", far.Get("/api/files?path=/uploads", "X-Forwarded-For", "203.0.113.5"), 403,
		"FORBIDDEN")
	near := plain.Admin(t).Key(M{"allowedIps": []string{"127.0.0.0/8", "::1"}})
	wantStatus(t, "the peer", near.Get("/api/files?path=/uploads", "X-Forwarded-For", "203.0.113.5"), 200, "")
}
