package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"larder/internal/apptest"
)

const (
	firefoxOnWindows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0"
	safariOnIPhone   = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 " +
		"(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
)

const mySessions = "/api/users/me/sessions"

// signInFrom signs a user in with a User-Agent and from an address.
func signInFrom(t *testing.T, l *apptest.Larder, name, agent, ip string) *apptest.Client {
	t.Helper()
	c := l.Client(t)
	c.Header.Set("User-Agent", agent)
	c.Header.Set("X-Forwarded-For", ip)
	postLogin(c, name, "password of "+name).OK(200)
	c.CSRF = c.Get("/api/auth/csrf-token").OK(200).Text("token")
	return c
}

// sessionsOf returns the sessions that a client lists, by id.
func sessionsOf(t testing.TB, c *apptest.Client) map[string]M {
	t.Helper()
	all := map[string]M{}
	list, isList := c.Get(mySessions).OK(200).Value("sessions").([]any)
	if !isList {
		t.Fatal("sessions is no list")
	}
	for _, one := range list {
		s := M(one.(map[string]any))
		all[s["id"].(string)] = s
	}
	return all
}

// currentSession returns the id of the client's session.
func currentSession(t testing.TB, c *apptest.Client) (id string) {
	t.Helper()
	for _, s := range sessionsOf(t, c) {
		if s["current"] == true {
			if id != "" {
				t.Error("two sessions are the current one")
			}
			id = s["id"].(string)
		}
	}
	if id == "" {
		t.Fatal("no session is the current one")
	}
	return id
}

// onEveryReplica sends a request to each replica.
func onEveryReplica(l *apptest.Larder, ask func() *apptest.Reply) (replies []*apptest.Reply) {
	for range l.Apps {
		replies = append(replies, ask())
	}
	return replies
}

// wantRefused fails the test unless every replica refuses the client's session.
func wantRefused(t *testing.T, what string, l *apptest.Larder, c *apptest.Client) {
	t.Helper()
	for _, r := range onEveryReplica(l, func() *apptest.Reply { return c.Fork().Get("/api/auth/me") }) {
		wantStatus(t, what, r, 401, "SESSION_REVOKED")
	}
}

func wantAccepted(t *testing.T, what string, l *apptest.Larder, c *apptest.Client) {
	t.Helper()
	for _, r := range onEveryReplica(l, func() *apptest.Reply { return c.Fork().Get("/api/auth/me") }) {
		wantStatus(t, what, r, 200, "")
	}
}

// A stolen laptop: its session is in the list with device, address and last use. Once it is ended,
// its next request is refused on every replica, and the other sessions go on.
func TestEndingTheSessionOfAStolenLaptop(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.User(t, "ann").Post("/api/auth/logout", nil).OK(200)
		bob := l.User(t, "bob")
		signedIn := l.Clock.Now().UnixMilli()
		laptop := signInFrom(t, l, "ann", firefoxOnWindows, "203.0.113.5")
		l.Clock.Advance(time.Hour)
		phone := signInFrom(t, l, "ann", safariOnIPhone, "2001:db8::7")
		stolen, mine := currentSession(t, laptop), currentSession(t, phone)
		now := l.Clock.Now().UnixMilli()
		l.Sweep() // writes the last uses of every replica

		all := sessionsOf(t, phone)
		if len(all) != 2 {
			t.Fatalf("listed %v", all)
		}
		wantJSON(t, "the laptop", all[stolen], M{"id": stolen, "device": "Firefox on Windows", "ip": "203.0.113.5",
			"createdAt": signedIn, "lastUsedAt": now, "current": false})
		wantJSON(t, "the phone", all[mine], M{"id": mine, "device": "Safari on iPhone", "ip": "2001:db8::7",
			"createdAt": now, "lastUsedAt": now, "current": true})
		wantJSON(t, "current on the laptop", sessionsOf(t, laptop)[stolen]["current"], true)

		wantStatus(t, "without the CSRF token", phone.Do(apptest.Request{Method: "DELETE", Path: mySessions + "/" + stolen,
			Header: map[string][]string{"X-Csrf-Token": {""}}}), 403, "INVALID_CSRF")
		wantStatus(t, "another account", bob.Delete(mySessions+"/"+stolen), 404, "NOT_FOUND")
		wantStatus(t, "an unknown session", phone.Delete(mySessions+"/"+unknownID), 404, "NOT_FOUND")
		wantAccepted(t, "the laptop before", l, laptop)

		ended := phone.Delete(mySessions + "/" + stolen).OK(200)
		wantJSON(t, "data", ended.Object()["data"], nil)
		if ended.Header.Get("Set-Cookie") != "" {
			t.Error("ending another session sets a cookie")
		}
		wantRefused(t, "the laptop", l, laptop)
		wantStatus(t, "a write of the laptop",
			laptop.Fork().Post("/api/files/folder", M{"path": "/home/ann", "name": "x"}), 401, "SESSION_REVOKED")
		wantStatus(t, "the laptop ends the phone", laptop.Fork().Delete(mySessions+"/"+mine), 401, "SESSION_REVOKED")
		laptop.Fork().Post("/api/auth/logout", nil).OK(200)
		wantAccepted(t, "the phone", l, phone)
		wantAccepted(t, "another account", l, bob)
		if all := sessionsOf(t, phone); len(all) != 1 {
			t.Errorf("listed afterwards: %v", all)
		}
		wantStatus(t, "a second time", phone.Delete(mySessions+"/"+stolen), 404, "NOT_FOUND")
	}, apptest.TrustLoopback)
}

// Ending one's own session by its id is signing out on this device: the cookie goes, and others
// stay.
func TestEndingTheCurrentSessionClearsItsCookie(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		one := l.User(t, "ann")
		two := l.SignIn(t, "ann", "password of ann")
		before := two.Fork()
		reply := two.Delete(mySessions + "/" + currentSession(t, two)).OK(200)
		if cookie := onlySessionCookie(reply); cookie != "auth_token= -1" {
			t.Errorf("sets the cookie %q", cookie)
		}
		wantRefused(t, "the ended one", l, before)
		wantAccepted(t, "the other", l, one)
	})
}

// onlySessionCookie returns the value and the lifetime of the session cookie in a reply.
func onlySessionCookie(r *apptest.Reply) (found string) {
	for _, cookie := range (&http.Response{Header: r.Header}).Cookies() {
		if cookie.Name == "auth_token" {
			found += fmt.Sprintf("%s=%s %d", cookie.Name, cookie.Value, cookie.MaxAge)
		}
	}
	return found
}

func TestEndingAllOtherSessions(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		one, bob := l.User(t, "ann"), l.User(t, "bob")
		two := l.SignIn(t, "ann", "password of ann")
		before := l.SignIn(t, "ann", "password of ann") // by an older version, which does not list it
		execAndRaiseVersion(t, l, "DELETE FROM sessions WHERE id = $1", currentSession(t, before))
		current := l.SignIn(t, "ann", "password of ann")
		wantJSON(t, "data", current.Delete(mySessions).OK(200).Object()["data"], nil)
		wantRefused(t, "one", l, one)
		wantRefused(t, "two", l, two)
		wantRefused(t, "a session that was not listed", l, before)
		wantAccepted(t, "the current one", l, current)
		wantAccepted(t, "another account", l, bob)
		wantAccepted(t, "the next sign-in", l, l.SignIn(t, "ann", "password of ann"))
	})
}

// A session of before the list is listed at its next use, with the device and address of that use.
func TestSessionFromBeforeTheListIsListedAtItsNextUse(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		c, other := l.User(t, "ann"), l.SignIn(t, "ann", "password of ann")
		id := currentSession(t, c)
		execAndRaiseVersion(t, l, "DELETE FROM sessions WHERE id = $1", id)
		if all := sessionsOf(t, other); len(all) != 1 {
			t.Errorf("listed before: %v", all)
		}
		c.Header.Set("User-Agent", "curl/8.5.0")
		wantAccepted(t, "the session", l, c)
		all := sessionsOf(t, other)
		wantJSON(t, "device", all[id]["device"], "curl")
		wantJSON(t, "ip", all[id]["ip"], "127.0.0.1")
		other.Delete(mySessions + "/" + id).OK(200)
		wantRefused(t, "the session", l, c)
	})
}

// Logging out, a new password and an administrator's change still end every session.
func TestSessionsEndTogetherAsBefore(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		for i, end := range []func(c *apptest.Client, name string){
			func(c *apptest.Client, _ string) { c.Fork().Post("/api/auth/logout", nil).OK(200) },
			func(c *apptest.Client, name string) {
				c.Fork().Put("/api/users/me/password",
					M{"oldPassword": "password of " + name, "newPassword": "password of " + name}).OK(200)
			},
			func(_ *apptest.Client, name string) {
				admin.Put("/api/admin/users/"+userIDOf(t, admin, name), M{"status": "disabled"}).OK(200)
				admin.Put("/api/admin/users/"+userIDOf(t, admin, name), M{"status": "active"}).OK(200)
			},
		} {
			name := fmt.Sprint("user", i)
			one := l.User(t, name)
			two := l.SignIn(t, name, "password of "+name)
			end(one, name)
			wantRefused(t, fmt.Sprint("one ", i), l, one)
			wantRefused(t, fmt.Sprint("two ", i), l, two)
			if all := sessionsOf(t, l.SignIn(t, name, "password of "+name)); len(all) != 1 {
				t.Errorf("%d: listed afterwards: %v", i, all)
			}
		}
	})
}

// A download token ends with the session that issued it, also when nothing else of the account
// changes. Tokens of other sessions stay, and so do signed links.
func TestDownloadTokensEndWithASessionEndedByItself(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		laptop, visitor := l.User(t, "ann"), l.Client(t)
		phone := l.SignIn(t, "ann", "password of ann")
		file := laptop.Upload("/home/ann", "f.txt", []byte("mine"))
		ended := map[string]string{
			"a file": downloadURL(laptop, file), "a folder": downloadURL(laptop, mkdir(laptop, "/home/ann", "d")),
		}
		stays := map[string]string{
			"the phone's": downloadURL(phone, file), "a signed link": signedLink(laptop, file),
			"a key's": downloadURL(laptop.Key(M{"uploadPath": "/home/ann"}), file),
		}
		visitor.Head(ended["a file"]).OK(200)
		phone.Delete(mySessions + "/" + currentSession(t, laptop)).OK(200)
		for what, address := range ended {
			wantStatus(t, "HEAD of "+what, visitor.Head(address), 401, "")
			wantStatus(t, what, visitor.Get(address), 401, "INVALID_TOKEN")
		}
		for what, address := range stays {
			wantStatus(t, what, visitor.Get(address), 200, "")
		}
	})
}

// While a replica of an older version is running, no session is ended.
func TestEndingSessionsDuringAnUpgrade(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		one := l.User(t, "ann")
		two := l.SignIn(t, "ann", "password of ann")
		execAndRaiseVersion(t, l,
			"INSERT INTO replicas (id, version, schema, audit_schema, seen) VALUES ('old', '0.9', 14, 2, $1)",
			l.Clock.Now().UnixMilli())
		wantStatus(t, "one", two.Delete(mySessions+"/"+currentSession(t, one)), 409, "OPERATION_FAILED")
		wantStatus(t, "all others", two.Delete(mySessions), 409, "OPERATION_FAILED")
		wantAccepted(t, "the session", l, one)
		execAndRaiseVersion(t, l, "DELETE FROM replicas WHERE id = 'old'")
		two.Delete(mySessions).OK(200)
		wantRefused(t, "the session", l, one)
	})
}
