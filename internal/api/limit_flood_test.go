package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/apptest"
)

// inProcess sends a request without a connection and returns the status of the answer. A body that
// is not empty is JSON; header is name, value, name, value …
func inProcess(l *apptest.Larder, method, path, ip, body string, header ...string) int {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = ip
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	l.Apps[0].Handler().ServeHTTP(w, r)
	return w.Code
}

// signIn tries a wrong password for a name that no other address tries, because names are limited
// as well.
func signIn(l *apptest.Larder, ip string) int {
	return inProcess(l, "POST", "/api/auth/login", ip,
		fmt.Sprintf(`{"username": %q, "password": "not the password"}`, ip))
}

// unlockPath tries a password on a path.
func unlockPath(l *apptest.Larder, ip, path, password string) int {
	return inProcess(l, "POST", "/api/public/unlock", ip, fmt.Sprintf(`{"path": %q, "password": %q}`, path, password))
}

// sendKey sends a key.
func sendKey(l *apptest.Larder, ip, path, token string) int {
	return inProcess(l, "GET", path, ip, "", "Authorization", "Bearer "+token)
}

// flood sends n requests, two at a time. Each answer must be 401 or 429.
func flood(t *testing.T, n int, send func(i int) int) {
	t.Helper()
	var all sync.WaitGroup
	for worker := range 2 {
		all.Go(func() {
			for i := worker; i < n; i += 2 {
				if status := send(i); status != 401 && status != 429 {
					t.Errorf("request %d of the flood: status %d", i, status)
					return
				}
			}
		})
	}
	all.Wait()
}

// A client that has used up its sign-ins stays limited, even if it invents more names than the
// limiter stores.
func TestFloodKeepsLoginLimit(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", withLimits(5, 600))
	const ip = "203.0.113.1:1000"
	for range 5 {
		wantJSON(t, "one failed sign-in of five", signIn(l, ip), 401)
	}
	wantJSON(t, "the sixth", signIn(l, ip), 429)

	half := "sk_" + strings.Repeat("x", 48)
	key := func(token string) int { return sendKey(l, ip, "/api/files", token) }
	dav := func(id string) int {
		credential := base64.StdEncoding.EncodeToString([]byte(id + ":" + half))
		return inProcess(l, "PROPFIND", "/webdav/", ip, "", "Authorization", "Basic "+credential)
	}
	kinds := []func(id string) int{
		func(id string) int { return key(id + "." + half) }, // an unknown id
		func(id string) int { return key(id[3:] + "." + half) },
		func(id string) int { return key(id) },
		func(id string) int { return key(id + "." + id) },
		func(id string) int { return key(id + strings.Repeat("x", 30) + "." + half) },
		func(id string) int { return sendKey(l, ip, "/x", id+"."+half) }, // where no credential is needed
		func(id string) int { return inProcess(l, "POST", "/api/upload", ip, "", "token", id+"."+half) },
		dav,
		func(id string) int { return dav(id[3:]) },
	}
	flood(t, 110_000, func(i int) int { return kinds[i%len(kinds)](fmt.Sprintf("pk_%024d", i)) })
	flood(t, 1000, func(i int) int { return unlockPath(l, ip, fmt.Sprint("/", i), "x") }) // paths count as names, too
	for range 5 {
		wantJSON(t, "after the flood", signIn(l, ip), 429)
	}
	l.Clock.Advance(12 * time.Second)
	wantJSON(t, "when one has come back", signIn(l, ip), 401)
	wantJSON(t, "the next attempt", signIn(l, ip), 429)
}

// An address that has used up its sign-ins stays limited, even when more addresses of two IPv6 /48
// send requests than the limiter stores.
func TestFloodFromNetworksKeepsLoginLimit(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", withLimits(5, 600))
	const ip = "203.0.113.1:1000"
	for range 5 {
		wantJSON(t, "one failed sign-in of five", signIn(l, ip), 401)
	}
	flood(t, 110_000, func(i int) int {
		from := fmt.Sprintf("[2001:db8:%x:%x::1]:1", i>>16, i&0xffff)
		if i%4 == 0 {
			return inProcess(l, "GET", "/api/auth/me", from, "")
		}
		return signIn(l, from)
	})
	for range 5 {
		wantJSON(t, "after the flood", signIn(l, ip), 429)
	}
}

// All addresses of an IPv6 /48 together have five times the limit of one address. An address over
// its own limit does not use up the limit of its network.
func TestNetworkLimits(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", withLimits(5, 600))
	address := func(network string, n int) string { return fmt.Sprintf("[2001:db8:%s:%x::1]:1", network, n) }
	for i := range 50 {
		want := 401
		if i >= 5 {
			want = 429
		}
		wantJSON(t, "many requests of one address", signIn(l, address("a", 1)), want)
	}
	for n := 2; n <= 30; n++ {
		want := 401
		if n > 21 { // 5 and 20
			want = 429
		}
		wantJSON(t, fmt.Sprint("address ", n, " of the network"), signIn(l, address("a", n)), want)
	}
	wantJSON(t, "another network", signIn(l, address("b", 1)), 401)
	wantJSON(t, "an IPv4 address", signIn(l, "203.0.113.1:1"), 401)
	l.Clock.Advance(2400 * time.Millisecond) // 25 a minute
	wantJSON(t, "when one has come back", signIn(l, address("a", 40)), 401)
	wantJSON(t, "the next attempt", signIn(l, address("a", 41)), 429)

	// passwords tried on paths: 60 per address, 300 per network
	unlock := func(ip string, i int) int { return unlockPath(l, ip, fmt.Sprint("/public/none ", i), "wrong") }
	for i := range 300 {
		wantJSON(t, fmt.Sprint("path ", i), unlock(address("c", i/60), i), 401)
	}
	wantJSON(t, "the 301st path", unlock(address("c", 5), 300), 429)
	wantJSON(t, "a path from another network", unlock(address("d", 1), 301), 401)

	// wrong keys: 60 per address, 300 per network
	wrongKey := func(ip string, i int) int {
		return sendKey(l, ip, "/api/files", fmt.Sprintf("pk_%024d.sk_%048d", i, i))
	}
	for i := range 300 {
		wantJSON(t, fmt.Sprint("wrong key ", i), wrongKey(address("e", i/60), i), 401)
	}
	wantJSON(t, "the 301st", wrongKey(address("e", 5), 300), 429)
	wantJSON(t, "from another network", wrongKey(address("f", 1), 301), 401)
}

// An address may try sixty wrong or unknown keys a minute, whatever their ids. A text that cannot
// be a key does not count.
func TestWrongKeysPerAddressAreLimited(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		right, fresh := admin.Key(M{}), admin.Key(M{})
		for range 2 { // both replicas
			wantStatus(t, "a right key", right.Get("/api/files?path=/uploads"), 200, "")
		}
		wrong := l.Client(t)
		try := func(i int) *apptest.Reply {
			return wrong.Get("/api/files?path=/uploads", "Authorization", fmt.Sprintf("Bearer pk_%024d.sk_%048d", i, i))
		}
		malformed := func() {
			t.Helper()
			id, half := "pk_"+strings.Repeat("a", 24), "sk_"+strings.Repeat("a", 48)
			other := ".sk_" + strings.Repeat("!", 48)
			for _, token := range []string{"x", "pk_x.sk_y", id, id + "a." + half, id + "." + half[1:], id + other} {
				reply := wrong.Get("/api/files?path=/uploads", "Authorization", "Bearer "+token)
				wantStatus(t, "a malformed key", reply, 401, "INVALID_TOKEN")
			}
		}
		for range 20 {
			malformed()
		}
		for i := range 60 * len(l.Apps) {
			wantStatus(t, fmt.Sprint("wrong key ", i), try(i), 401, "INVALID_TOKEN")
		}
		for i := range 2 * len(l.Apps) {
			over := try(1000 + i)
			wantStatus(t, "beyond", over, 429, "RATE_LIMIT_EXCEEDED")
			if got := over.Header.Get("Retry-After"); got != "1" {
				t.Errorf("Retry-After %q, want 1", got)
			}
			wantStatus(t, "a right key that is known", right.Get("/api/files?path=/uploads"), 200, "")
			wantStatus(t, "a key that is not in memory", fresh.Get("/api/files?path=/uploads"), 429,
				"RATE_LIMIT_EXCEEDED")
		}
		malformed()
		l.Clock.Advance(time.Second)
		for i := range len(l.Apps) {
			wantStatus(t, "when one has come back", try(2000+i), 401, "INVALID_TOKEN")
		}
		wantStatus(t, "the next attempt", try(3000), 429, "RATE_LIMIT_EXCEEDED")
		l.Clock.Advance(time.Second)
		for range 2 {
			wantStatus(t, "a key that is looked up now", fresh.Get("/api/files?path=/uploads"), 200, "")
		}
	})
}

// Valid keys are never refused because of one another, however many are looked up concurrently.
func TestConcurrentValidKeysAreAccepted(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", withLimits(10000, 10000))
	admin := l.Admin(t)
	var keys []string
	for range 10 {
		authorization := admin.Key(M{}).Header.Get("Authorization") // each new key clears the cache of keys
		keys = append(keys, strings.TrimPrefix(authorization, "Bearer "))
	}
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			<-begin
			if got := sendKey(l, "203.0.113.1:1", "/api/files?path=/uploads", keys[i%10]); got != http.StatusOK {
				t.Errorf("a valid key gets status %d", got)
			}
		})
	}
	close(begin)
	all.Wait()
}
