package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/site"
)

// Who may call what (specification: Authentication, rule 5).
const (
	public      = "public"        // credentials don't matter
	anyone      = "anyone"        // public, and a credential that came along counts
	cookieOnly  = "session"       // the login cookie
	cookieOrKey = "session, key"  // the login cookie or a key with protocol api
	adminOnly   = "administrator" // the login cookie of an administrator
	freeOnly    = "free session"  // the cookie of a free-mode session
	uploadKey   = "upload key"    // a key with protocol api and the permission write
)

// principals are the columns of the matrix, in this order.
var principals = []string{
	"anonymous", "owner", "another user", "administrator", "guest account", "key read", "key write", "key delete", "key webdav", "revoked key", "expired key", "disabled owner's key", "disabled account", "free mode",
}

// line is a row of the matrix: what each principal gets for a request about something that `owner` owns.
type line struct {
	method, pattern string
	who             string
	request         func(f fixture) (path string, body any)
	want            string // a status for each principal
	addition        bool   // not named by the specification
}

func at(path string, body any) func(fixture) (string, any) {
	return func(fixture) (string, any) { return path, body }
}

// formTo is a multipart upload into the key's root.
func formTo(path string) func(fixture) (string, any) {
	return at(path, upload{})
}

// upload stands for a form with a file.
type upload struct{}

const (
	everybody = "200 200 200 200 200 200 200 200 200 200 200 200 200 200"
	sessions  = "401 200 200 200 200 401 401 401 403 401 401 401 401 401"
	visitors  = "401 401 401 401 401 401 401 401 403 401 401 401 401 200"
	admins    = "401 403 403 200 403 401 401 401 403 401 401 401 401 401"
)

func created(want string) string { return strings.ReplaceAll(want, "200", "201") }

// ownersLink is a token that verifies the owner's address; see newWorld.
var ownersLink = strings.Repeat("v", 43)

// matrix has a row for each route. Expected values are written by hand.
var matrix = []line{
	{"POST", "/api/auth/register", public, func(f fixture) (string, any) {
		return "/api/auth/register", M{"username": "r_" + f.name, "email": "r_" + f.name + "@example.org", "password": "a good password"}
	}, created(everybody), false},
	{"GET", "/api/auth/verify-email", public, at("/api/auth/verify-email?token="+ownersLink, nil), everybody, false}, // the owner is verified already
	{"GET", "/api/auth/verify", public, at("/api/auth/verify?token="+ownersLink, nil), everybody, false},
	{"POST", "/api/auth/resend-verification", public, at("/api/auth/resend-verification", M{"email": "owner@example.org"}), everybody, true},
	{"POST", "/api/auth/login", public, at("/api/auth/login", M{"username": "owner", "password": "password of owner"}), everybody, false},
	{"GET", "/api/auth/me", cookieOnly, at("/api/auth/me", nil), sessions, false},
	{"GET", "/api/auth/csrf-token", cookieOnly, at("/api/auth/csrf-token", nil), sessions, false},
	{"POST", "/api/auth/forgot-password", public, at("/api/auth/forgot-password", M{"email": "nobody@example.org"}), everybody, false},
	{"POST", "/api/auth/reset-password", public, at("/api/auth/reset-password", M{"token": "none", "password": "a good password"}), strings.ReplaceAll(everybody, "200", "400"), false},

	{"GET", "/api/files", cookieOrKey, at("/api/files?path=/home/owner", nil), "401 200 403 200 403 200 403 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/folder", cookieOrKey, func(f fixture) (string, any) {
		return "/api/files/folder", M{"path": "/home/owner", "name": "folder " + f.name}
	}, "401 201 403 201 403 403 201 403 403 401 401 401 401 401", false},
	{"GET", "/api/files/{id}", cookieOrKey, func(f fixture) (string, any) { return "/api/files/" + f.file, nil }, "401 200 403 200 403 200 403 403 403 401 401 401 401 401", false},
	{"PUT", "/api/files/{id}", cookieOrKey, func(f fixture) (string, any) { return "/api/files/" + f.file, M{"name": "renamed " + f.name} }, "401 200 403 200 403 403 200 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/{id}/verify-password", cookieOrKey, func(f fixture) (string, any) {
		return "/api/files/" + f.locked + "/verify-password", M{"password": "open sesame"}
	}, "401 200 403 200 403 403 403 403 403 401 401 401 401 401", false},
	{"DELETE", "/api/files/{id}", cookieOrKey, func(f fixture) (string, any) { return "/api/files/" + f.file, nil }, "401 200 403 200 403 403 403 200 403 401 401 401 401 401", false},
	{"GET", "/api/files/{id}/download", anyone, func(f fixture) (string, any) { return "/api/files/" + f.file + "/download", nil }, "401 200 403 200 403 200 403 403 403 401 401 401 401 401", false},
	{"GET", "/api/files/{id}/thumbnail", anyone, func(f fixture) (string, any) {
		return "/api/files/" + f.picture + "/thumbnail?size=160", nil
	}, "401 200 403 200 403 200 403 403 403 401 401 401 401 401", true},
	{"POST", "/api/files/{id}/move", cookieOrKey, func(f fixture) (string, any) {
		return "/api/files/" + f.file + "/move", M{"targetPath": "/home/owner", "newName": "moved " + f.name}
	}, "401 200 403 200 403 403 403 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/batch", cookieOrKey, func(f fixture) (string, any) {
		return "/api/files/batch", M{"action": "delete", "fileIds": []string{f.file}}
	}, "401 200 200 200 200 403 403 200 403 401 401 401 401 401", false}, // who may not do it is told so beside the id
	{"GET", "/api/files/zip", cookieOrKey, func(f fixture) (string, any) { return "/api/files/zip?ids=" + f.file, nil }, "401 200 404 200 404 200 403 403 403 401 401 401 401 401", true},
	{"POST", "/api/files/{id}/copy", cookieOrKey, func(f fixture) (string, any) {
		return "/api/files/" + f.file + "/copy", M{"targetPath": "/home/owner", "newName": "copied " + f.name}
	}, "401 200 403 200 403 403 403 403 403 401 401 401 401 401", true},
	{"GET", "/api/files/jobs", cookieOrKey, at("/api/files/jobs", nil), "401 200 200 200 200 200 200 200 403 401 401 401 401 401", true},
	{"GET", "/api/files/jobs/{jobId}", cookieOrKey, func(f fixture) (string, any) { return "/api/files/jobs/" + f.job, nil }, "401 200 404 404 404 200 200 200 403 401 401 401 401 401", false},
	{"GET", "/api/files/{id}/copy-links", cookieOrKey, func(f fixture) (string, any) { return "/api/files/" + f.file + "/copy-links?signed=true", nil }, "401 200 403 200 403 200 403 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/copy-links", cookieOrKey, func(f fixture) (string, any) {
		return "/api/files/copy-links", M{"ids": []string{f.file}}
	}, "401 200 200 200 200 200 403 403 403 401 401 401 401 401", true},
	{"POST", "/api/files/{id}/link", cookieOnly, func(f fixture) (string, any) { return "/api/files/" + f.file + "/link", nil }, "401 200 403 200 403 401 401 401 403 401 401 401 401 401", true},
	{"DELETE", "/api/files/{id}/link", cookieOnly, func(f fixture) (string, any) { return "/api/files/" + f.file + "/link", nil }, "401 200 403 200 403 401 401 401 403 401 401 401 401 401", true},

	{"POST", "/api/files/upload-session", cookieOrKey, func(f fixture) (string, any) {
		return "/api/files/upload-session", M{"path": "/home/owner", "fileName": "new " + f.name, "fileSize": 1}
	}, "401 200 403 200 403 403 200 403 403 401 401 401 401 401", false},
	{"PUT", "/api/files/upload/raw/{sessionId}", cookieOrKey, func(f fixture) (string, any) { return "/api/files/upload/raw/" + f.session, "y" }, "401 200 404 404 404 403 200 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/upload-complete", cookieOrKey, func(f fixture) (string, any) {
		return "/api/files/upload-complete", M{"sessionId": f.session, "etag": f.etag}
	}, "401 200 404 404 404 403 200 403 403 401 401 401 401 401", false},
	{"PUT", "/api/files/upload/multipart/{sessionId}/part/{partNumber}", cookieOrKey, func(f fixture) (string, any) {
		return "/api/files/upload/multipart/" + f.multipart + "/part/1", "y"
	}, "401 200 404 404 404 403 200 403 403 401 401 401 401 401", false},
	{"GET", "/api/files/upload/multipart/{sessionId}/parts", cookieOrKey, func(f fixture) (string, any) {
		return "/api/files/upload/multipart/" + f.multipart + "/parts", nil
	}, "401 200 404 404 404 403 200 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/upload/multipart/{sessionId}/renew", cookieOrKey, func(f fixture) (string, any) {
		return "/api/files/upload/multipart/" + f.multipart + "/renew", nil
	}, "401 200 404 404 404 403 200 403 403 401 401 401 401 401", true},
	{"GET", "/api/files/upload-sessions", cookieOrKey, at("/api/files/upload-sessions?status=pending", nil), "401 200 200 200 200 403 200 403 403 401 401 401 401 401", true},
	{"DELETE", "/api/files/upload/multipart/{sessionId}", cookieOrKey, func(f fixture) (string, any) { return "/api/files/upload/multipart/" + f.session, nil }, "401 200 404 404 404 403 200 403 403 401 401 401 401 401", false},

	{"POST", "/api/upload", uploadKey, formTo("/api/upload"), "401 401 401 401 401 403 200 403 403 401 401 401 401 401", false},
	{"OPTIONS", "/api/upload", public, at("/api/upload", nil), strings.ReplaceAll(everybody, "200", "204"), true},
	{"POST", "/api/upload/upload", uploadKey, formTo("/api/upload/upload"), "401 401 401 401 401 403 200 403 403 401 401 401 401 401", false},
	{"OPTIONS", "/api/upload/upload", public, at("/api/upload/upload", nil), strings.ReplaceAll(everybody, "200", "204"), true},
	{"POST", "/api/compat/upload", uploadKey, formTo("/api/compat/upload"), "401 401 401 401 401 403 200 403 403 401 401 401 401 401", false},
	{"OPTIONS", "/api/compat/upload", public, at("/api/compat/upload", nil), strings.ReplaceAll(everybody, "200", "204"), true},

	{"POST", "/api/shares/", cookieOnly, func(f fixture) (string, any) { return "/api/shares/", M{"fileId": f.file} }, "401 201 403 201 403 401 401 401 403 401 401 401 401 401", false},
	{"GET", "/api/shares/", cookieOnly, at("/api/shares/", nil), sessions, false},
	{"GET", "/api/shares/{id}", public, func(f fixture) (string, any) { return "/api/shares/" + f.share, nil }, everybody, false},
	{"POST", "/api/shares/{id}/verify", public, func(f fixture) (string, any) {
		return "/api/shares/" + f.share + "/verify", M{"password": "open sesame"}
	}, everybody, false},
	{"PATCH", "/api/shares/{id}", cookieOnly, func(f fixture) (string, any) { return "/api/shares/" + f.share, M{"title": "other"} }, "401 200 404 404 404 401 401 401 403 401 401 401 401 401", true},
	{"DELETE", "/api/shares/{id}", cookieOnly, func(f fixture) (string, any) { return "/api/shares/" + f.share, nil }, "401 200 404 404 404 401 401 401 403 401 401 401 401 401", false},

	{"GET", "/api/users/me/settings", cookieOnly, at("/api/users/me/settings", nil), sessions, false},
	{"PUT", "/api/users/me/settings", cookieOnly, at("/api/users/me/settings", M{"theme": "dark"}), sessions, false},
	// A wrong password, mail that is off, and no code: what they could do would end the sessions, or needs a mail server.
	{"PUT", "/api/users/me/password", cookieOnly, at("/api/users/me/password", M{"oldPassword": "wrong", "newPassword": "a good password"}), strings.ReplaceAll(sessions, "200", "401"), false},
	{"POST", "/api/users/me/email/send-otp", cookieOnly, at("/api/users/me/email/send-otp", M{"email": "other@example.com"}), strings.ReplaceAll(sessions, "200", "500"), false},
	{"POST", "/api/users/me/email/verify-otp", cookieOnly, at("/api/users/me/email/verify-otp", M{"email": "other@example.com", "code": "000000"}), strings.ReplaceAll(sessions, "200", "400"), false},

	{"POST", "/api/keys/", cookieOnly, at("/api/keys/", M{"name": "k", "permissions": []string{"read"}, "protocols": []string{"api"}}), created(sessions), false},
	{"GET", "/api/keys/", cookieOnly, at("/api/keys/", nil), sessions, false},
	{"GET", "/api/keys/rules", cookieOnly, at("/api/keys/rules", nil), sessions, false},
	{"PATCH", "/api/keys/{id}", cookieOnly, func(f fixture) (string, any) { return "/api/keys/" + f.key, M{"name": "other"} }, "401 200 404 404 404 401 401 401 403 401 401 401 401 401", true},
	{"DELETE", "/api/keys/{id}", cookieOnly, func(f fixture) (string, any) { return "/api/keys/" + f.key, nil }, "401 200 404 404 404 401 401 401 403 401 401 401 401 401", false},

	{"GET", "/api/admin/dashboard", adminOnly, at("/api/admin/dashboard", nil), admins, false},
	{"GET", "/api/admin/stats", adminOnly, at("/api/admin/stats", nil), admins, false},
	{"GET", "/api/admin/stats/series", adminOnly, at("/api/admin/stats/series?metric=logins", nil), admins, true},
	{"GET", "/api/admin/system", adminOnly, at("/api/admin/system", nil), admins, true},
	{"POST", "/api/admin/users", adminOnly, func(f fixture) (string, any) {
		return "/api/admin/users", M{"username": "u_" + f.name, "email": f.name + "@example.org", "password": "a good password"}
	}, created(admins), true},
	{"GET", "/api/admin/users", adminOnly, at("/api/admin/users", nil), admins, false},
	{"PUT", "/api/admin/users/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/users/" + f.user, M{"maxFiles": 5} }, admins, false},
	{"DELETE", "/api/admin/users/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/users/" + f.user, nil }, admins, false},
	{"GET", "/api/admin/shares", adminOnly, at("/api/admin/shares", nil), admins, false},
	{"DELETE", "/api/admin/shares/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/shares/" + f.share, nil }, admins, false},
	{"GET", "/api/admin/files", adminOnly, at("/api/admin/files?search=a", nil), admins, false},
	{"GET", "/api/admin/settings", adminOnly, at("/api/admin/settings", nil), admins, false},
	{"PATCH", "/api/admin/settings", adminOnly, at("/api/admin/settings", M{"siteTitle": "Larder"}), admins, false},
	// The address is none.
	{"POST", "/api/admin/settings/test-email", adminOnly, at("/api/admin/settings/test-email", M{"to": "nobody"}), strings.ReplaceAll(admins, "200", "400"), false},
	{"GET", "/api/admin/announcements", adminOnly, at("/api/admin/announcements", nil), admins, false},
	{"POST", "/api/admin/announcements", adminOnly, at("/api/admin/announcements", M{"title": "t", "content": "c"}), created(admins), false},
	{"PUT", "/api/admin/announcements/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/announcements/" + f.announcement, M{"title": "u"} }, admins, false},
	{"DELETE", "/api/admin/announcements/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/announcements/" + f.announcement, nil }, admins, false},
	{"GET", "/api/admin/invites", adminOnly, at("/api/admin/invites", nil), admins, true},
	{"POST", "/api/admin/invites", adminOnly, at("/api/admin/invites", M{"maxUses": 2, "expiresIn": 60, "note": "for a friend"}), created(admins), true},
	{"DELETE", "/api/admin/invites/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/invites/" + f.invite, nil }, admins, true},
	{"GET", "/api/admin/storage/providers", adminOnly, at("/api/admin/storage/providers", nil), admins, false},
	{"POST", "/api/admin/storage/providers", adminOnly, at("/api/admin/storage/providers", M{"name": "p", "type": "store_a", "bucket": "matrix"}), created(admins), false},
	{"PUT", "/api/admin/storage/providers/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/storage/providers/" + f.provider, M{"name": "q"} }, admins, false},
	{"DELETE", "/api/admin/storage/providers/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/storage/providers/" + f.provider, nil }, admins, false},
	{"POST", "/api/admin/storage/providers/{id}/test", adminOnly, func(f fixture) (string, any) {
		return "/api/admin/storage/providers/" + f.provider + "/test", nil
	}, admins, false},
	{"GET", "/api/admin/mounts", adminOnly, at("/api/admin/mounts", nil), admins, false},
	{"POST", "/api/admin/mounts", adminOnly, func(f fixture) (string, any) {
		return "/api/admin/mounts", M{"providerId": f.store, "mountPath": "/mounts/" + f.name, "name": "m"}
	}, created(admins), false},
	{"PUT", "/api/admin/mounts/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/mounts/" + f.mount, M{"priority": 5} }, admins, false},
	{"DELETE", "/api/admin/mounts/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/mounts/" + f.mount, nil }, admins, false},
	{"GET", "/api/admin/rules", adminOnly, at("/api/admin/rules", nil), admins, false},
	{"POST", "/api/admin/rules", adminOnly, at("/api/admin/rules", M{"pathPattern": "/nowhere/**", "effect": "deny", "role": "guest"}), created(admins), false},
	{"PUT", "/api/admin/rules/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/rules/" + f.rule, M{"priority": 5} }, admins, false},
	{"DELETE", "/api/admin/rules/{id}", adminOnly, func(f fixture) (string, any) { return "/api/admin/rules/" + f.rule, nil }, admins, false},
	{"POST", "/api/admin/rules/explain", adminOnly, at("/api/admin/rules/explain", M{"path": "/a", "permission": "read", "anonymous": true}), admins, true},
	{"GET", "/api/admin/logs", adminOnly, at("/api/admin/logs", nil), admins, false},

	{"GET", "/api/shares/{id}/download", public, func(f fixture) (string, any) { return "/api/shares/" + f.album + "/download", nil }, everybody, false},
	{"GET", "/api/shares/{id}/preview", public, func(f fixture) (string, any) {
		return "/api/shares/" + f.album + "/preview?file=" + f.picture, nil
	}, everybody, false},
	{"GET", "/api/shares/{id}/thumbnail", public, func(f fixture) (string, any) {
		return "/api/shares/" + f.album + "/thumbnail?size=160&file=" + f.picture, nil
	}, everybody, true},
	{"GET", "/api/shares/{id}/files", public, func(f fixture) (string, any) { return "/api/shares/" + f.album + "/files?path=/", nil }, everybody, true},

	// The endpoint is a private one.
	{"POST", "/api/free-mode/init", public, at("/api/free-mode/init", M{
		"type": "store_b", "endpoint": "http://127.0.0.1:9000", "bucket": "bucket", "accessKeyId": "key", "secretAccessKey": "secret",
	}), strings.ReplaceAll(everybody, "200", "400"), false},
	{"GET", "/api/free-mode/session", freeOnly, at("/api/free-mode/session", nil), visitors, true},
	{"GET", "/api/free-mode/files", freeOnly, at("/api/free-mode/files?path=/a", nil), visitors, false},
	{"GET", "/api/free-mode/download", freeOnly, at("/api/free-mode/download?key=a", nil), strings.ReplaceAll(visitors, "200", "404"), true},
	{"POST", "/api/free-mode/upload", freeOnly, formTo("/api/free-mode/upload?path=/a"), created(visitors), false},
	{"DELETE", "/api/free-mode/object", freeOnly, at("/api/free-mode/object?key=a", nil), visitors, false},
	{"POST", "/api/free-mode/logout", public, at("/api/free-mode/logout", nil), everybody, false},

	{"GET", "/api/gateway/download/{token}", public, func(f fixture) (string, any) { return f.gateway, nil }, everybody, false},
	{"GET", "/api/i/{link}", public, func(f fixture) (string, any) { return f.link, nil }, everybody, true},
	// What is linked is no picture.
	{"GET", "/api/i/{link}/thumbnail", public, func(f fixture) (string, any) { return f.link + "/thumbnail?size=160", nil }, strings.ReplaceAll(everybody, "200", "404"), true},

	{"GET", "/api/public/settings", public, at("/api/public/settings", nil), everybody, false},
	{"GET", "/api/public/features", public, at("/api/public/features", nil), everybody, true},
	{"GET", "/api/public/announcements", public, at("/api/public/announcements", nil), everybody, false},
	{"POST", "/api/public/unlock", anyone, at("/api/public/unlock", M{"path": "/public/locked.txt", "password": "open sesame"}), "200 200 200 200 200 403 403 403 403 401 401 401 200 200", true},
	{"GET", "/api/public/files", public, at("/api/public/files?path=/public", nil), everybody, true},
	{"GET", "/api/public/health", public, at("/api/public/health", nil), everybody, false},
	{"GET", "/api/public/health/live", public, at("/api/public/health/live", nil), everybody, false},
	{"GET", "/api/public/health/ready", public, at("/api/public/health/ready", nil), everybody, false},
	{"GET", "/api/openapi.json", public, at("/api/openapi.json", nil), everybody, true},

	{"POST", "/api/auth/logout", public, at("/api/auth/logout", nil), everybody, false}, // last: it ends the sessions
}

// world is a service with all principals.
type world struct {
	t                       testing.TB
	owner, admin, anonymous *apptest.Client
	clients                 map[string]*apptest.Client
	locked                  string // a file of the owner's with a password; another is public
	album, picture          string // see fixture
	serial                  int
	last                    fixture
}

func newWorld(t *testing.T, l *apptest.Larder) *world {
	t.Helper()
	w := &world{t: t, admin: l.Admin(t), anonymous: l.Client(t)}
	l.ChangeSettings(t, func(s *site.Settings) { s.AllowRegistration = true })
	w.owner = l.User(t, "owner")
	giveLink(t, l, "owner", ownersLink, l.Clock.Now().Add(24*time.Hour))
	key := func(c *apptest.Client, more M) *apptest.Client {
		body := M{"uploadPath": "/home/owner"}
		for name, value := range more {
			body[name] = value
		}
		return c.Key(body)
	}
	w.locked = w.owner.Upload("/home/owner", "locked.txt", []byte("x"))
	w.owner.Put("/api/files/"+w.locked, M{"accessPassword": "open sesame"}).OK(200)
	w.admin.Put("/api/files/"+w.admin.Upload("/public", "locked.txt", []byte("x")), M{"accessPassword": "open sesame"}).OK(200)
	w.album = handOut(w.owner, mkdir(w.owner, "/home/owner", "album"))
	w.picture = w.owner.Upload("/home/owner/album", "picture.png", []byte(onePixel))
	victim := l.User(t, "victim")
	victimKey := key(victim, M{"uploadPath": "/uploads"})
	disabled := l.SignIn(t, "victim", "password of victim")
	change(t, l, "UPDATE users SET status = 'disabled', session_version = session_version + 1 WHERE username = 'victim'")
	former := l.User(t, "former") // not the owner, who makes so many keys in here that the oldest ended ones are forgotten
	revoked := key(former, M{"uploadPath": "/uploads"})
	id, _, _ := strings.Cut(strings.TrimPrefix(revoked.Header.Get("Authorization"), "Bearer "), ".")
	former.Delete("/api/keys/" + id).OK(200)
	expired := key(former, M{"uploadPath": "/uploads", "expiresIn": 60})
	l.Clock.Advance(61 * time.Second)
	w.clients = map[string]*apptest.Client{
		"anonymous": w.anonymous, "owner": w.owner, "administrator": w.admin, "another user": l.User(t, "other"), "guest account": l.User(t, "guesty", M{"role": "guest"}),
		"key read": key(w.owner, M{"permissions": []string{"read"}}), "key write": key(w.owner, M{"permissions": []string{"write"}}), "key delete": key(w.owner, M{"permissions": []string{"delete"}}),
		"key webdav": key(w.owner, M{"protocols": []string{"webdav"}}), "revoked key": revoked, "expired key": expired, "disabled owner's key": victimKey,
		"disabled account": disabled, "free mode": visit(t, l, s3test.New(t), M{"sessionHours": 8}),
	}
	return w
}

// fixture is a set of fresh things that belong to the owner.
type fixture struct {
	name                                               string
	file, job, session, etag, key, rule, gateway, link string
	multipart                                          string // a session in one part of 1 byte
	locked                                             string // the same file in all of them
	invite                                             string
	share                                              string // with a password
	album, picture                                     string // a share of a folder, and a file in that; the same in all of them
	store, provider, mount                             string // store is the seeded provider, provider another without mounts
	user                                               string // the same account in all of them, until it is deleted
	announcement                                       string
}

func (w *world) fixture(name string) fixture {
	w.t.Helper()
	w.serial++
	f := fixture{name: fmt.Sprint(name, w.serial), locked: w.locked, album: w.album, picture: w.picture}
	f.file = w.owner.Upload("/home/owner", f.name+".png", []byte("x"))
	moved := w.owner.Upload("/home/owner", f.name+" to move", []byte("x"))
	f.job = w.owner.Post("/api/files/"+moved+"/move", M{"targetPath": "/home/owner", "newName": f.name + " moved"}).OK(200).Text("jobId")
	f.session = w.owner.Post("/api/files/upload-session", M{"path": "/home/owner", "fileName": f.name + " session", "fileSize": 1}).OK(200).Text("sessionId")
	f.etag = w.owner.Put("/api/files/upload/raw/"+f.session, "x").OK(200).Text("etag")
	f.multipart = w.owner.Post("/api/files/upload-session", M{"path": "/home/owner", "fileName": f.name + " multipart", "fileSize": 1, "partCount": 2}).OK(200).Text("sessionId")
	created := w.owner.Post("/api/keys/", M{"name": "of " + f.name, "permissions": []string{"read"}, "protocols": []string{"webdav"}}).OK(201)
	f.key = created.Text("key.id")
	if w.last.name != "" { // at most 20 keys are active and 100 sessions open
		w.owner.Delete("/api/keys/" + w.last.key)
		w.owner.Delete("/api/files/upload/multipart/" + w.last.session)
		w.owner.Delete("/api/files/upload/multipart/" + w.last.multipart)
	}
	f.store = w.admin.Get("/api/admin/storage/providers").OK(200).Text("providers.0.id")
	if w.last.name != "" {
		w.admin.Delete("/api/admin/storage/providers/" + w.last.provider)
		w.admin.Delete("/api/admin/mounts/" + w.last.mount)
		w.admin.Delete("/api/admin/announcements/" + w.last.announcement)
	}
	f.provider = w.admin.Post("/api/admin/storage/providers", M{"name": "p", "type": "store_a", "bucket": "matrix"}).OK(201).Text("provider.id")
	f.mount = w.admin.Post("/api/admin/mounts", M{"providerId": f.store, "mountPath": "/mounts/" + f.name, "name": "m"}).OK(201).Text("mount.id")
	if f.user = w.last.user; f.user == "" || w.admin.Put("/api/admin/users/"+f.user, M{}).Status != 200 { // to make one costs a password hash
		f.user = w.admin.Post("/api/admin/users", M{"username": fmt.Sprint("spare", w.serial), "email": f.name + "@spare.example.org", "password": "a good password"}).OK(201).Text("user.id")
	}
	f.rule = w.admin.Post("/api/admin/rules", M{"pathPattern": "/nowhere/**", "effect": "deny", "role": "guest"}).OK(201).Text("rule.id")
	f.invite = w.admin.Post("/api/admin/invites", M{}).OK(201).Text("invite.id")
	f.announcement = w.admin.Post("/api/admin/announcements", M{"title": "t", "content": "c"}).OK(201).Text("announcement.id")
	f.gateway = w.owner.Get("/api/files/" + f.file + "/download").OK(200).Text("url")
	f.share = w.owner.Post("/api/shares/", M{"fileId": f.file, "password": "open sesame"}).OK(201).Text("share.id")
	f.link = w.owner.Post("/api/files/"+f.file+"/link", nil).OK(200).Text("link.url")
	w.last = f
	return f
}

func TestEveryRouteIsInTheMatrix(t *testing.T) {
	t.Parallel()
	var rows, routes []string
	for _, row := range matrix {
		rows = append(rows, fmt.Sprint(row.method, " ", row.pattern, " addition: ", row.addition))
	}
	for _, route := range api.Lines() {
		routes = append(routes, fmt.Sprint(route.Method, " ", route.Pattern, " addition: ", route.Addition))
	}
	slices.Sort(rows)
	slices.Sort(routes)
	for _, route := range routes {
		if !slices.Contains(rows, route) {
			t.Errorf("the matrix lacks %s", route)
		}
	}
	for _, row := range rows {
		if !slices.Contains(routes, row) {
			t.Errorf("there is no route %s", row)
		}
	}
}

// Every route with every principal.
func TestAuthorisation(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	w := newWorld(t, l)
	for _, row := range matrix {
		wants := strings.Fields(row.want)
		if len(wants) != len(principals) {
			t.Fatalf("%s %s: %d expectations", row.method, row.pattern, len(wants))
		}
		shared := fixture{}
		for i, who := range principals {
			// a new set of things where somebody before may have changed them
			if row.needsFixture() && (shared.name == "" || row.method != "GET" || strings.Contains(row.pattern, "{token}")) {
				shared = w.fixture("m")
			}
			if !row.needsFixture() || row.pattern == "/api/admin/users" || row.pattern == "/api/files/folder" || row.pattern == "/api/files/upload-session" {
				w.serial++
				shared.name = fmt.Sprint("n", w.serial)
			}
			path, body := row.request(shared)
			var header []string
			if _, isForm := body.(upload); isForm {
				bytes, contentType := apptest.Form(nil, "file", "a.txt", []byte("x"))
				body, header = bytes, []string{"Content-Type", contentType}
			}
			reply := send(w.clients[who].Fork(), row.method, path, body, header...)
			if fmt.Sprint(reply.Status) != wants[i] {
				t.Errorf("%s %s by %s: status %d, want %s: %.200s", row.method, row.pattern, who, reply.Status, wants[i], reply.Body)
				continue
			}
			if code := expectedCode(row, who, reply.Status); code != "" && !strings.Contains(string(reply.Body), `"code":"`+code+`"`) {
				t.Errorf("%s %s by %s: %.200s, want %s", row.method, row.pattern, who, reply.Body, code)
			}
		}
	}
}

func (row line) needsFixture() bool {
	switch row.pattern {
	case "/api/files/upload-complete", "/api/files/copy-links", "/api/files/batch", "/api/files/zip":
		return true
	case "/api/admin/mounts", "/api/shares/":
		return row.method == "POST"
	}
	return strings.Contains(row.pattern, "{")
}

// expectedCode is the code that goes with a refusal.
func expectedCode(row line, who string, status int) string {
	switch {
	case row.pattern == "/api/users/me/password" && slices.Contains([]string{"owner", "another user", "administrator", "guest account"}, who):
		return "INVALID_PASSWORD"
	case status == 401 && slices.Contains([]string{"revoked key", "expired key", "disabled owner's key"}, who):
		return "INVALID_TOKEN"
	case status == 401 && who == "disabled account" && row.who != freeOnly && row.who != uploadKey:
		return "SESSION_REVOKED"
	case status == 401:
		return "UNAUTHORIZED"
	case status == 403:
		return "FORBIDDEN"
	case status == 404:
		return "NOT_FOUND"
	}
	return ""
}
