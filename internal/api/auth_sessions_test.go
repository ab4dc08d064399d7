package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// sessionEndings are the ways in which the sessions of an account end, and the error code of its
// cookies afterwards (specification: Session version).
var sessionEndings = []struct {
	name string
	end  func(e endingAccount)
	code string
}{
	{"logout", func(e endingAccount) { e.c.Fork().Post("/api/auth/logout", nil).OK(200) }, "SESSION_REVOKED"},
	{"new password", func(e endingAccount) {
		e.c.Fork().Put("/api/users/me/password",
			M{"oldPassword": "password of " + e.name, "newPassword": "another password"}).OK(200)
	}, "SESSION_REVOKED"},
	{"reset password", func(e endingAccount) {
		token := mailedResetToken(e.t, e.l, e.box, e.name+"@example.org")
		e.l.Client(e.t).Post("/api/auth/reset-password", M{"token": token, "password": "another password"}).OK(200)
		waitForMails(e.t, e.l)
	}, "SESSION_REVOKED"},
	{"disabled", byAdminChange(M{"status": "disabled"}), "SESSION_REVOKED"},
	{"banned", byAdminChange(M{"status": "banned"}), "SESSION_REVOKED"},
	{"disabled and active again", byAdminChange(M{"status": "disabled"}, M{"status": "active"}), "SESSION_REVOKED"},
	{"deleted", func(e endingAccount) { e.admin.Delete("/api/admin/users/" + userIDOf(e.t, e.admin, e.name)).OK(200) },
		"SESSION_REVOKED"},
	{"another role", byAdminChange(M{"role": "guest"}), "ROLE_CHANGED"},
	{"another role and back", func(e endingAccount) {
		was := e.c.Get("/api/auth/me").OK(200).Text("user.role")
		byAdminChange(M{"role": "guest"}, M{"role": was})(e)
	}, "ROLE_CHANGED"},
	{"more rights", byAdminChange(M{"role": "admin"}), "ROLE_CHANGED"},
	{"disabled and another role", byAdminChange(M{"status": "disabled"}, M{"role": "guest"}), "SESSION_REVOKED"},
}

// endingAccount is the account whose sessions end.
type endingAccount struct {
	t        *testing.T
	l        *apptest.Larder
	box      *apptest.Mailbox
	admin, c *apptest.Client
	name     string
}

// byAdminChange returns an ending by an administrator's changes to the account.
func byAdminChange(changes ...M) func(endingAccount) {
	return func(e endingAccount) {
		for _, change := range changes {
			e.admin.Put("/api/admin/users/"+userIDOf(e.t, e.admin, e.name), change).OK(200)
		}
	}
}

// A session that has ended opens no route that needs one, of users or administrators, and changes
// nothing. Abuse case C41.
func TestEndedSessionsOnEveryRoute(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f, box := newMatrixFixture(t, l), l.Mailbox(t)
		o := f.newItems("ended")
		for i, how := range sessionEndings {
			for _, role := range []string{"user", "admin"} {
				name := "e" + role + string(rune('a'+i))
				if how.name == "more rights" && role == "admin" {
					continue
				}
				c := l.User(t, name, M{"role": role})
				how.end(endingAccount{t, l, box, f.admin, c, name})
				look := watchTables(t, l)
				for _, row := range matrix {
					if row.auth != sessionAuth && row.auth != sessionOrKeyAuth && row.auth != adminAuth {
						continue
					}
					path, body := row.request(o)
					reply := send(c.Fork(), row.method, path, body)
					wantStatus(t, how.name+" ("+role+"), "+row.method+" "+row.pattern, reply, 401, how.code)
				}
				look(how.name + " (" + role + ")")
			}
		}
	}, apptest.ReachLoopback)
}

// Tokens that the service signed for other purposes are not accepted as a session, nor a session as
// one of them. Abuse case C40.
func TestOtherTokensAreNoSession(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMatrixFixture(t, l)
		o := f.newItems("purposes")
		unlocked := f.owner.Fork()
		folder := f.owner.Post("/api/files/folder", M{"path": "/home/owner", "name": "locked"}).OK(201).Text("file.id")
		f.owner.Put("/api/files/"+folder, M{"accessPassword": "open sesame"}).OK(200)
		unlocked.Post("/api/files/"+folder+"/verify-password", M{"password": "open sesame"}).OK(200)
		signed := f.owner.Get("/api/files/" + o.file + "/copy-links?signed=true").OK(200).Text("formats.direct")
		for name, token := range map[string]string{
			"proof of a password": unlocked.Cookies["unlocked"],
			"free-mode session":   f.clients["free mode"].Cookies["fm_token"],
			"CSRF token":          f.owner.CSRF,
			"download token":      lastSegment(o.gateway),
			"signed link":         lastSegment(signed),
			"permanent link":      lastSegment(o.link),
			"API key":             strings.TrimPrefix(f.clients["key read"].Header.Get("Authorization"), "Bearer "),
			"upload session":      o.session,
		} {
			if len(token) < 8 {
				t.Fatalf("%s: %q", name, token)
			}
			for _, path := range []string{"/api/auth/me", "/api/auth/csrf-token", "/api/files?path=/", "/api/keys/",
				"/api/admin/rules"} {
				c := l.Client(t)
				c.Cookies["auth_token"] = token
				wantStatus(t, name+" as a session at "+path, c.Get(path), 401, "INVALID_TOKEN")
			}
		}
		session := f.owner.Cookies["auth_token"]
		visitor := l.Client(t)
		visitor.Cookies["fm_token"], visitor.Cookies["unlocked"] = session, session
		wantStatus(t, "a session as one of free mode", visitor.Get("/api/free-mode/files"), 401, "UNAUTHORIZED")
		wantStatus(t, "a session as a key", visitor.Get("/api/files?path=/", "Authorization", "Bearer "+session), 401,
			"INVALID_TOKEN")
		wantStatus(t, "a session as a download token", visitor.Get("/api/gateway/download/"+session), 401,
			"INVALID_TOKEN")
		wantStatus(t, "a session as proof of a password",
			f.admin.Fork().Get("/api/files/"+f.protected+"/download", "Cookie", "unlocked="+session), 403,
			"PASSWORD_REQUIRED")
	}, apptest.ReachLoopback)
}

// lastSegment returns the last segment of an address.
func lastSegment(address string) string { return address[strings.LastIndexByte(address, '/')+1:] }

// Every cross-site write is refused, with every credential that a browser would send, including
// logins. Abuse case C43.
func TestCrossSiteWritesAreRefused(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMatrixFixture(t, l)
		o := f.newItems("across")
		look := watchTables(t, l)
		for _, row := range matrix {
			if row.method == "GET" || row.method == "OPTIONS" || row.auth == uploadKeyAuth {
				continue
			}
			path, body := row.request(o)
			for _, who := range []string{"anonymous", "owner", "administrator", "free mode"} {
				reply := send(f.clients[who].Fork(), row.method, path, sendableBody(body), "Sec-Fetch-Site",
					"cross-site")
				// no credential that counts at this route
				if reply.Status == 401 && (row.auth != noAuth && row.auth != optionalAuth) {
					continue
				}
				wantStatus(t, row.method+" "+row.pattern+" by "+who, reply, 403, "FORBIDDEN")
				if reply.Header.Get("Set-Cookie") != "" {
					t.Errorf("%s %s by %s sets a cookie", row.method, row.pattern, who)
				}
			}
		}
		look("a write from across sites")
	}, apptest.ReachLoopback)
}

// sendableBody returns a body that can be sent: JSON is unchanged, and a placeholder for a form
// becomes its bytes.
func sendableBody(body any) any {
	if _, isForm := body.(formBody); isForm {
		return "x"
	}
	return body
}

// A form that a page of another site can send without a preflight is not accepted as JSON, whatever
// its text. Abuse case C43.
func TestFormsAreNotAcceptedAsJSON(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMatrixFixture(t, l)
		o := f.newItems("forms")
		look := watchTables(t, l)
		asked := 0
		for _, row := range matrix {
			path, body := row.request(o)
			fields, isJSON := body.(M)
			if !isJSON || row.auth == freeModeAuth || row.auth == uploadKeyAuth {
				continue
			}
			c := f.owner
			if row.auth == adminAuth {
				c = f.admin
			}
			asked++
			text, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{"text/plain", "text/plain; charset=utf-8",
				"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp",
				"text/json", "", "application"} {
				header := []string{"Content-Type", kind}
				if kind == "" {
					header = nil
				}
				wantStatus(t, row.method+" "+row.pattern+" as "+kind, send(c.Fork(), row.method, path, text, header...),
					400, "VALIDATION_ERROR")
			}
		}
		if asked < 15 {
			t.Errorf("only %d routes take JSON", asked)
		}
		look("a form")
	}, apptest.ReachLoopback)
}
