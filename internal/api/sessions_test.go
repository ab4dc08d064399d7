package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// endings are the ways in which the sessions of an account end, and what its cookies get from then on (specification: Session version).
var endings = []struct {
	name string
	end  func(e departing)
	code string
}{
	{"logout", func(e departing) { e.c.Fork().Post("/api/auth/logout", nil).OK(200) }, "SESSION_REVOKED"},
	{"new password", func(e departing) {
		e.c.Fork().Put("/api/users/me/password", M{"oldPassword": "password of " + e.name, "newPassword": "another password"}).OK(200)
	}, "SESSION_REVOKED"},
	{"reset password", func(e departing) {
		token := resetToken(e.t, e.l, e.box, e.name+"@example.org")
		e.l.Client(e.t).Post("/api/auth/reset-password", M{"token": token, "password": "another password"}).OK(200)
		mailed(e.t, e.l)
	}, "SESSION_REVOKED"},
	{"disabled", changed(M{"status": "disabled"}), "SESSION_REVOKED"},
	{"banned", changed(M{"status": "banned"}), "SESSION_REVOKED"},
	{"disabled and active again", changed(M{"status": "disabled"}, M{"status": "active"}), "SESSION_REVOKED"},
	{"deleted", func(e departing) { e.admin.Delete("/api/admin/users/" + userID(e.t, e.admin, e.name)).OK(200) }, "SESSION_REVOKED"},
	{"another role", changed(M{"role": "guest"}), "ROLE_CHANGED"},
	{"another role and back", func(e departing) {
		was := e.c.Get("/api/auth/me").OK(200).Text("user.role")
		changed(M{"role": "guest"}, M{"role": was})(e)
	}, "ROLE_CHANGED"},
	{"more rights", changed(M{"role": "admin"}), "ROLE_CHANGED"},
	{"disabled and another role", changed(M{"status": "disabled"}, M{"role": "guest"}), "SESSION_REVOKED"},
}

// departing is whose sessions end.
type departing struct {
	t        *testing.T
	l        *apptest.Larder
	box      *apptest.Mailbox
	admin, c *apptest.Client
	name     string
}

// changed has an administrator make changes to the account.
func changed(changes ...M) func(departing) {
	return func(e departing) {
		for _, change := range changes {
			e.admin.Put("/api/admin/users/"+userID(e.t, e.admin, e.name), change).OK(200)
		}
	}
}

// A session that has ended opens no route that asks for one, an administrator's or not, and changes nothing there. Abuse case C41.
func TestEndedSessionsOnEveryRoute(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		w, box := newWorld(t, l), l.Mailbox(t)
		f := w.fixture("ended")
		for i, how := range endings {
			for _, role := range []string{"user", "admin"} {
				name := "e" + role + string(rune('a'+i))
				if how.name == "more rights" && role == "admin" {
					continue
				}
				c := l.User(t, name, M{"role": role})
				how.end(departing{t, l, box, w.admin, c, name})
				look := unchanged(t, l)
				for _, row := range matrix {
					if row.who != cookieOnly && row.who != cookieOrKey && row.who != adminOnly {
						continue
					}
					path, body := row.request(f)
					reply := send(c.Fork(), row.method, path, body)
					status(t, how.name+" ("+role+"), "+row.method+" "+row.pattern, reply, 401, how.code)
				}
				look(how.name + " (" + role + ")")
			}
		}
	}, apptest.ReachLoopback)
}

// What this service signed for anything else is no session, and a session is nothing else. Abuse case C40.
func TestTokensOfOtherPurposesAreNoSession(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		w := newWorld(t, l)
		f := w.fixture("purposes")
		unlocked := w.owner.Fork()
		folder := w.owner.Post("/api/files/folder", M{"path": "/home/owner", "name": "locked"}).OK(201).Text("file.id")
		w.owner.Put("/api/files/"+folder, M{"accessPassword": "open sesame"}).OK(200)
		unlocked.Post("/api/files/"+folder+"/verify-password", M{"password": "open sesame"}).OK(200)
		signed := w.owner.Get("/api/files/" + f.file + "/copy-links?signed=true").OK(200).Text("formats.direct")
		for name, token := range map[string]string{
			"proof of a password": unlocked.Cookies["unlocked"],
			"free-mode session":   w.clients["free mode"].Cookies["fm_token"],
			"CSRF token":          w.owner.CSRF,
			"download token":      last(f.gateway),
			"signed link":         last(signed),
			"permanent link":      last(f.link),
			"API key":             strings.TrimPrefix(w.clients["key read"].Header.Get("Authorization"), "Bearer "),
			"upload session":      f.session,
		} {
			if len(token) < 8 {
				t.Fatalf("%s: %q", name, token)
			}
			for _, path := range []string{"/api/auth/me", "/api/auth/csrf-token", "/api/files?path=/", "/api/keys/", "/api/admin/rules"} {
				c := l.Client(t)
				c.Cookies["auth_token"] = token
				status(t, name+" as a session at "+path, c.Get(path), 401, "INVALID_TOKEN")
			}
		}
		session := w.owner.Cookies["auth_token"]
		visitor := l.Client(t)
		visitor.Cookies["fm_token"], visitor.Cookies["unlocked"] = session, session
		status(t, "a session as one of free mode", visitor.Get("/api/free-mode/files"), 401, "UNAUTHORIZED")
		status(t, "a session as a key", visitor.Get("/api/files?path=/", "Authorization", "Bearer "+session), 401, "INVALID_TOKEN")
		status(t, "a session as a download token", visitor.Get("/api/gateway/download/"+session), 401, "INVALID_TOKEN")
		status(t, "a session as proof of a password", w.admin.Fork().Get("/api/files/"+w.locked+"/download", "Cookie", "unlocked="+session), 403, "PASSWORD_REQUIRED")
	}, apptest.ReachLoopback)
}

// last is the last segment of an address.
func last(address string) string { return address[strings.LastIndexByte(address, '/')+1:] }

// Every write from across sites is refused, whatever credential a browser would send along, login and the like too. Abuse case C43.
func TestEveryWriteFromAcrossSites(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		w := newWorld(t, l)
		f := w.fixture("across")
		look := unchanged(t, l)
		for _, row := range matrix {
			if row.method == "GET" || row.method == "OPTIONS" || row.who == uploadKey {
				continue
			}
			path, body := row.request(f)
			for _, who := range []string{"anonymous", "owner", "administrator", "free mode"} {
				reply := send(w.clients[who].Fork(), row.method, path, formed(body), "Sec-Fetch-Site", "cross-site")
				if reply.Status == 401 && (row.who != public && row.who != anyone) { // no credential that counts here
					continue
				}
				status(t, row.method+" "+row.pattern+" by "+who, reply, 403, "FORBIDDEN")
				if reply.Header.Get("Set-Cookie") != "" {
					t.Errorf("%s %s by %s sets a cookie", row.method, row.pattern, who)
				}
			}
		}
		look("a write from across sites")
	}, apptest.ReachLoopback)
}

// formed is a body that can be sent: JSON stays, and what stands for a form becomes bytes.
func formed(body any) any {
	if _, isForm := body.(upload); isForm {
		return "x"
	}
	return body
}

// A form that another site's page can send without asking first is no JSON, however much its text looks like it. Abuse case C43.
func TestFormsAreNoJSON(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		w := newWorld(t, l)
		f := w.fixture("forms")
		look := unchanged(t, l)
		asked := 0
		for _, row := range matrix {
			path, body := row.request(f)
			fields, isJSON := body.(M)
			if !isJSON || row.who == freeOnly || row.who == uploadKey {
				continue
			}
			c := w.owner
			if row.who == adminOnly {
				c = w.admin
			}
			asked++
			text, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{"text/plain", "text/plain; charset=utf-8", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", "text/json", "", "application"} {
				header := []string{"Content-Type", kind}
				if kind == "" {
					header = nil
				}
				status(t, row.method+" "+row.pattern+" as "+kind, send(c.Fork(), row.method, path, text, header...), 400, "VALIDATION_ERROR")
			}
		}
		if asked < 15 {
			t.Errorf("only %d routes take JSON", asked)
		}
		look("a form")
	}, apptest.ReachLoopback)
}
