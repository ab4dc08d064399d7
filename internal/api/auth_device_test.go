package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/config"
)

const halfAYear = 180 * 24 * time.Hour

// deviceCookie returns the known_device cookie that a reply sets, nil for none.
func deviceCookie(r *apptest.Reply) *http.Cookie {
	for _, c := range (&http.Response{Header: r.Header}).Cookies() {
		if c.Name == api.DeviceCookie {
			return c
		}
	}
	return nil
}

// newKnownDevice signs in from a new browser and returns a client that has only the known-device
// cookie of that sign-in.
func newKnownDevice(t *testing.T, l *apptest.Larder, name, password string) *apptest.Client {
	t.Helper()
	c := l.Client(t)
	postLogin(c, name, password).OK(200)
	return withCookie(l.Client(t), api.DeviceCookie, c.Cookies[api.DeviceCookie])
}

// exhaustSignIns tries wrong passwords from many addresses until one is refused.
func exhaustSignIns(t *testing.T, l *apptest.Larder, name string) {
	t.Helper()
	for i := range 40 {
		if postLogin(l.Client(t), name, "wrong", fromNetwork(1000+i)...).Status == 429 {
			return
		}
	}
	t.Fatalf("%s has no limit of attempts", name)
}

// checkSignInBlocked fails the test unless the limit refuses a sign-in with that password.
func checkSignInBlocked(t *testing.T, what string, c *apptest.Client, name, password string) {
	t.Helper()
	wantStatus(t, what, postLogin(c.Fork(), name, password, fromNetwork(5000)...), 429, "RATE_LIMIT_EXCEEDED")
}

func TestKnownDeviceCookie(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.User(t, "alice")
		c := l.Client(t)
		reply := postLogin(c, "alice", "password of alice").OK(200)
		got := deviceCookie(reply)
		if got == nil {
			t.Fatalf("no cookie: %v", reply.Header.Values("Set-Cookie"))
		}
		want := "known_device=" + got.Value + "; Path=/api/auth; Max-Age=15552000; HttpOnly; SameSite=Strict"
		if got.Raw != want {
			t.Errorf("the cookie is %s, want %s", got.Raw, want)
		}
		if strings.Contains(l.Log.String(), got.Value) {
			t.Error("the cookie is in the log")
		}
		for what, r := range map[string]*apptest.Reply{
			"a wrong password": postLogin(l.Client(t), "alice", "wrong"),
			"nobody":           postLogin(l.Client(t), "nobody", "wrong"),
			"another page":     c.Get("/api/auth/me"), "signing out": c.Post("/api/auth/logout", nil),
		} {
			if got := deviceCookie(r); got != nil {
				t.Errorf("%s sets %s", what, got.Raw)
			}
		}
		only := withCookie(l.Client(t), api.DeviceCookie, got.Value)
		for _, path := range []string{"/api/auth/me", "/api/auth/csrf-token", "/api/files", "/api/users/me/settings"} {
			wantStatus(t, "it is no session: "+path, only.Get(path), 401, "UNAUTHORIZED")
		}
	})
	t.Run("https", func(t *testing.T) {
		t.Parallel()
		https := func(cfg *config.Config) { cfg.BaseURL = "https://larder.test" }
		l := apptest.Start(t, "sqlite", https, apptest.TrustLoopback)
		got := deviceCookie(postLogin(l.Client(t), "admin", apptest.AdminPassword).OK(200))
		if got == nil || !got.Secure || !got.HttpOnly {
			t.Errorf("the cookie is %v", got)
		}
	})
}

// A browser in which the account was signed in before can sign in, even when others have used up
// the account's attempts.
func TestKnownDeviceIgnoresAccountLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.User(t, "alice")
		l.User(t, "bob")
		const right = "password of alice"
		known, second := newKnownDevice(t, l, "alice", right), newKnownDevice(t, l, "alice@example.org", right)
		bobs := newKnownDevice(t, l, "bob", "password of bob")
		exhaustSignIns(t, l, "alice")
		exhaustSignIns(t, l, "alice@example.org")
		checkSignInBlocked(t, "a new browser", l.Client(t), "alice", right)
		checkSignInBlocked(t, "bob's browser", bobs, "alice", right)
		for name, c := range map[string]*apptest.Client{"the browser": known, "another of alice's": second} {
			for range 2 {
				postLogin(c.Fork(), "alice", right, fromNetwork(1)...).OK(200)
				postLogin(c.Fork(), "ALICE@example.org", right, fromNetwork(2)...).OK(200)
			}
			wantStatus(t, name+", a wrong one", postLogin(c.Fork(), "alice", "wrong"), 401, "INVALID_CREDENTIALS")
		}
		checkSignInBlocked(t, "a new browser still", l.Client(t), "alice", right)

		// a browser with sign-ins of two accounts is a known device of both
		shared := bobs.Fork()
		value := bobs.Cookies[api.DeviceCookie]
		l.Clock.Advance(time.Minute)
		postLogin(shared, "alice", right).OK(200)
		exhaustSignIns(t, l, "alice")
		exhaustSignIns(t, l, "bob")
		postLogin(shared.Fork(), "alice", right).OK(200)
		postLogin(shared.Fork(), "bob", "password of bob").OK(200)
		postLogin(withCookie(l.Client(t), api.DeviceCookie, value), "bob", "password of bob").OK(200)
		checkSignInBlocked(t, "bob's alone", bobs, "alice", right)
		for range 20 { // each sign-in replaces the proof of its account
			postLogin(shared, "bob", "password of bob").OK(200)
		}
		if n := len(shared.Cookies[api.DeviceCookie]); n != 2*75+1 {
			t.Errorf("the cookie of two accounts has %d characters", n)
		}
	}, apptest.TrustLoopback)
}

// A known device has its own limit, so a stolen cookie does not avoid the limit.
func TestKnownDeviceHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.User(t, "alice")
		const right = "password of alice"
		known, second := newKnownDevice(t, l, "alice", right), newKnownDevice(t, l, "alice", right)
		for i := range 20 {
			name := []string{"alice", "alice@example.org"}[i%2]
			wantStatus(t, fmt.Sprint("wrong ", i+1), postLogin(known.Fork(), name, "wrong", fromNetwork(i)...), 401,
				"INVALID_CREDENTIALS")
		}
		over := postLogin(known.Fork(), "alice", right, fromNetwork(30)...)
		wantStatus(t, "the 21st, right", over, 429, "RATE_LIMIT_EXCEEDED")
		if got := over.Header.Get("Retry-After"); got != "60" {
			t.Errorf("Retry-After %s", got)
		}
		postLogin(second.Fork(), "alice", right).OK(200)
		postLogin(l.Client(t), "alice", right).OK(200) // the device's attempts did not count for the account
		l.Clock.Advance(time.Minute - time.Second)
		checkSignInBlocked(t, "a second before the minute is over", known, "alice", right)
		l.Clock.Advance(time.Second)
		wantStatus(t, "a minute later", postLogin(known.Fork(), "alice", "wrong"), 401, "INVALID_CREDENTIALS")
		checkSignInBlocked(t, "the next attempt", known, "alice", right)
	}, apptest.TrustLoopback)
}

// The rows list events that end a known device, and events that do not.
func TestKnownDeviceEnds(t *testing.T) {
	t.Parallel()
	const right = "password of alice"
	for _, row := range []struct {
		name     string
		does     func(t *testing.T, l *apptest.Larder, alice *apptest.Client)
		password string
		ends     bool
	}{
		{"nothing", func(*testing.T, *apptest.Larder, *apptest.Client) {}, right, false},
		{"signing out", func(_ *testing.T, _ *apptest.Larder, alice *apptest.Client) {
			alice.Post("/api/auth/logout", nil).OK(200)
		}, right, false},
		{"another quota", func(t *testing.T, l *apptest.Larder, alice *apptest.Client) {
			l.Admin(t).Put("/api/admin/users/"+callerID(alice), M{"maxFiles": 9}).OK(200)
		}, right, false},
		{"another password", func(t *testing.T, l *apptest.Larder, alice *apptest.Client) {
			reply := changePassword(alice, right, "another password").OK(200)
			if got := deviceCookie(reply); got != nil {
				t.Errorf("the new password sets %s", got.Raw)
			}
		}, "another password", true},
		{"the same password again", func(_ *testing.T, _ *apptest.Larder, alice *apptest.Client) {
			changePassword(alice, right, right).OK(200)
		}, right, true},
		{"a moment before its half year", func(_ *testing.T, l *apptest.Larder, _ *apptest.Client) {
			l.Clock.Advance(halfAYear - time.Millisecond)
		}, right, false},
		{"its half year", func(_ *testing.T, l *apptest.Larder, _ *apptest.Client) {
			l.Clock.Advance(halfAYear)
		}, right, true},
		{"a clock put back by an hour", func(_ *testing.T, l *apptest.Larder, _ *apptest.Client) {
			l.Clock.Advance(-time.Hour)
		}, right, false},
		{"a clock put back by more", func(_ *testing.T, l *apptest.Larder, _ *apptest.Client) {
			l.Clock.Advance(-time.Hour - time.Second)
		}, right, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
				alice := l.User(t, "alice")
				known := newKnownDevice(t, l, "alice", right)
				row.does(t, l, alice)
				exhaustSignIns(t, l, "alice")
				for range 2 { // both replicas
					if row.ends {
						checkSignInBlocked(t, "the browser", known, "alice", row.password)
					} else {
						// its own limit is not affected by the clock
						postLogin(known.Fork(), "alice", row.password, fromNetwork(5000)...).OK(200)
					}
				}
			}, apptest.TrustLoopback)
		})
	}
}

// A cookie that was altered in any character, cut or extended is ignored.
func TestForgedKnownDeviceIsIgnored(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.TrustLoopback)
	l.User(t, "alice")
	const right = "password of alice"
	good := newKnownDevice(t, l, "alice", right).Cookies[api.DeviceCookie]
	session := l.SignIn(t, "alice", right).Cookies["auth_token"]
	exhaustSignIns(t, l, "alice")
	forged := []string{
		"", ".", good + ".", "." + good, good + "x", good[1:], good + "=", strings.Repeat("A", 75),
		strings.Repeat(good+".", 8) + good, session, strings.Repeat("x", 4000),
	}
	for i := range good {
		other := byte('A')
		if good[i] == other {
			other = 'B'
		}
		forged = append(forged, good[:i]+string(other)+good[i+1:])
	}
	for _, value := range forged {
		checkSignInBlocked(t, value, withCookie(l.Client(t), api.DeviceCookie, value), "alice", right)
		r := postLogin(withCookie(l.Client(t), api.DeviceCookie, value), "nobody", "wrong", fromNetwork(1)...)
		if r.Status != 401 && r.Status != 429 || deviceCookie(r) != nil {
			t.Errorf("%s, with a name that no account has: %d %s", value, r.Status, r.Body)
		}
	}
	postLogin(withCookie(l.Client(t), api.DeviceCookie, good), "alice", right).OK(200)
}

// Names without an account, usernames and addresses are each counted alone and alike, so the limit
// reveals neither which of them exist nor which belong together. Abuse case C48.
func TestSignInLimitRevealsNoAccounts(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.User(t, "alice")
		disabled := l.User(t, "resting")
		l.Admin(t).Put("/api/admin/users/"+callerID(disabled), M{"status": "disabled"}).OK(200)
		var want []string
		for i, names := range [][]string{
			{"alice", "ALICE"}, {"alice@example.org", "Alice@EXAMPLE.org"}, {"resting", "Resting"},
			{"nobody", "NOBODY"}, {"nobody@example.org", "Nobody@EXAMPLE.org"}, {"no name", "NO NAME"}, {"x", "X"},
			{"straße", "STRASSE"}, {strings.Repeat("é", 320), strings.Repeat("É", 320)},
		} {
			var got []string
			for n := range 24 {
				if n == 22 {
					l.Clock.Advance(time.Minute)
				}
				r := postLogin(l.Client(t), names[n%2], "wrong", fromNetwork(n)...)
				text := r.BodyWithoutID()
				if at := strings.Index(text, `,"timestamp"`); at > 0 {
					text = text[:at]
				}
				got = append(got, fmt.Sprint(r.Status, " ", r.Header.Get("Retry-After"), " ", text))
			}
			if i == 0 {
				want = got
				starts := map[int]string{0: "401  ", 19: "401  ", 20: "429 60 ", 21: "429 60 ", 22: "401  ",
					23: "429 60 "}
				for n, s := range starts {
					if !strings.HasPrefix(want[n], s) {
						t.Errorf("try %d: %s, want %s", n+1, want[n], s)
					}
				}
			}
			wantJSON(t, names[0], got, want)
		}
	}, apptest.TrustLoopback)
}
