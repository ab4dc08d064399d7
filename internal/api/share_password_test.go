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

// tell gives a share a password.
func tell(c *apptest.Client, id, password string) *apptest.Reply {
	return c.Post("/api/shares/"+id+"/verify", m{"password": password})
}

// shut fails the test unless the share shows nothing of its file to the caller.
func shut(t *testing.T, what string, c *apptest.Client, id, title string) {
	t.Helper()
	r := seen(c, id)
	status(t, what, r, 200, "")
	fields(t, what, r.Value("share"), visitedFields...)
	for field, want := range (m{"title": title, "file": nil, "allowPreview": nil, "allowDownload": nil, "requiresPassword": true}) {
		equal(t, what+": "+field, r.Value("share."+field), want)
	}
}

func open(t *testing.T, what string, c *apptest.Client, id string) {
	t.Helper()
	r := seen(c, id)
	status(t, what, r, 200, "")
	if r.Value("share.file.id") == nil || r.Value("share.requiresPassword") != false {
		t.Errorf("%s: %s", what, r.Body)
	}
}

// Specification: POST /api/shares/{id}/verify; share access cookie.
func TestSharePassword(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		file := alice.Upload("/home/alice", "cat.png", []byte("meow"))
		made := alice.Post("/api/shares/", m{"fileId": file, "password": "open sesame"}).OK(201)
		equal(t, "passwordProtected", made.Value("share.passwordProtected"), true)
		id := made.Text("share.id")
		shut(t, "before", visitor, id, "")
		equal(t, "views while it is shut", seen(visitor, id).Value("share.viewCount"), 0)
		shut(t, "one with a title", visitor, newShare(alice, file, m{"password": "open sesame", "title": "Cat"}), "Cat")

		status(t, "a wrong one", tell(visitor, id, "open Sesame"), 401, "INVALID_PASSWORD")
		status(t, "a long one", tell(visitor, id, strings.Repeat("x", 129)), 400, "VALIDATION_ERROR")
		status(t, "an empty one", tell(visitor, id, ""), 400, "VALIDATION_ERROR")
		status(t, "none", visitor.Post("/api/shares/"+id+"/verify", m{}), 400, "VALIDATION_ERROR")
		status(t, "in the query", visitor.Post("/api/shares/"+id+"/verify?password=open+sesame", m{}), 400, "VALIDATION_ERROR")
		status(t, "from across sites", visitor.Post("/api/shares/"+id+"/verify", m{"password": "open sesame"}, "Sec-Fetch-Site", "cross-site"), 403, "FORBIDDEN")
		status(t, "of no share", tell(visitor, "abcdefghijkl", "open sesame"), 404, "NOT_FOUND")
		status(t, "of a share without", tell(visitor, newShare(alice, file), "open sesame"), 400, "VALIDATION_ERROR")
		shut(t, "after wrong ones", visitor, id, "")

		right := tell(visitor, id, "open sesame").OK(200)
		equal(t, "data", object(t, right.Body)["data"], m{"authorized": true})
		c := cookie(t, right)
		if c.Name != "share_auth_"+id || c.Path != "/api/shares/"+id || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge != 900 || c.Secure || c.Domain != "" {
			t.Errorf("the cookie is %v", c)
		}
		equal(t, "the first view", seen(visitor, id).OK(200).Value("share.viewCount"), 1)
		open(t, "with the cookie", visitor, id)
		shut(t, "somebody else", l.Client(t), id, "")
		shut(t, "the creator", alice, id, "")
		status(t, "a wrong one, though it is open", tell(visitor, id, "x"), 401, "INVALID_PASSWORD")
		open(t, "after a wrong one", visitor, id)

		l.Clock.Advance(15*time.Minute - time.Second)
		open(t, "just before 15 minutes", visitor, id)
		l.Clock.Advance(time.Second)
		shut(t, "after 15 minutes", visitor, id, "")
	})
}

// The cookie is good for one share and its present password. Abuse case C46.
func TestShareCookie(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		file := alice.Upload("/home/alice", "a.txt", []byte("x"))
		id, other := newShare(alice, file, m{"password": "open sesame"}), newShare(alice, file, m{"password": "open sesame"})
		visitor := l.Client(t)
		tell(visitor, id, "open sesame").OK(200)
		good := visitor.Cookies["share_auth_"+id]
		with := func(id, value string) *apptest.Client { return withCookie(l.Client(t), "share_auth_"+id, value) }
		open(t, "copied as it is", with(id, good), id)
		shut(t, "copied to another share", with(other, good), other, "")
		body, mac, _ := strings.Cut(good, ".")
		tell(visitor, other, "open sesame").OK(200)
		for what, value := range map[string]string{
			"empty": "", "dot": ".", "junk": "junk", "without a signature": body, "an empty signature": body + ".", "another payload": "eHl6." + mac, "cut": good[:len(good)-1],
			"longer": good + "A", "a session": alice.Cookies[api.SessionCookie], "huge": strings.Repeat("A", 30000), "the other's": visitor.Cookies["share_auth_"+other],
		} {
			shut(t, what, with(id, value), id, "")
		}
		shut(t, "in the place of another cookie", withCookie(l.Client(t), api.ProofCookie, good), id, "")

		for what, body := range map[string]m{"another password": {"password": "another"}, "the same password, set anew": {"password": "open sesame"}} {
			visitor := l.Client(t)
			alice.Patch("/api/shares/"+other, m{"password": "before"}).OK(200)
			tell(visitor, other, "before").OK(200)
			open(t, what+", before", visitor, other)
			alice.Patch("/api/shares/"+other, body).OK(200)
			shut(t, what, visitor, other, "")
			status(t, what+": the old one", tell(visitor, other, "before"), 401, "INVALID_PASSWORD")
			tell(visitor, other, fmt.Sprint(body["password"])).OK(200)
			open(t, what+", given", visitor, other)
		}
		alice.Patch("/api/shares/"+other, m{"title": "other"}).OK(200)
		equal(t, "requiresPassword of what was changed otherwise", alice.Get("/api/shares/").OK(200).Value("items.0.requiresPassword"), true)
		equal(t, "none any more", alice.Patch("/api/shares/"+other, m{"password": nil}).OK(200).Value("share.requiresPassword"), false)
		open(t, "without a password", l.Client(t), other)
		alice.Delete("/api/shares/" + id).OK(200)
		status(t, "revoked", seen(with(id, good), id), 410, "SHARE_REVOKED")

		last := newShare(alice, file, m{"password": "open sesame"})
		tell(visitor, last, "open sesame").OK(200)
		l.Clock.Advance(-2 * time.Hour) // then it would last longer than any does
		shut(t, "from the future", visitor, last, "")
	}, func(cfg *config.Config) { cfg.RateLimitEnabled = false }) // whose counters do not go back in time
}

func TestShareCookieOverHTTPS(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.BaseURL = "https://larder.test" }, apptest.TrustLoopback)
	admin := l.Admin(t)
	id := newShare(admin, admin.Upload("/public", "a.txt", []byte("x")), m{"password": "open sesame"})
	if c := cookie(t, tell(l.Client(t), id, "open sesame").OK(200)); !c.Secure {
		t.Errorf("the cookie is %v", c)
	}
}

// Ten wrong ones a minute, and then none is looked at; and an address tries so many in all. Abuse case C57.
func TestWrongSharePasswordsAreLimited(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite") // replicas share counters through Redis alone
	admin, visitor := l.Admin(t), l.Client(t)
	file := admin.Upload("/public", "a.txt", []byte("x"))
	id, other := newShare(admin, file, m{"password": "open sesame"}), newShare(admin, file, m{"password": "open sesame"})
	tell(visitor, id, "open sesame").OK(200) // right ones don't count
	for i := range 10 {
		status(t, fmt.Sprint("wrong ", i), tell(visitor, id, "x"), 401, "INVALID_PASSWORD")
	}
	r := tell(visitor, id, "open sesame")
	status(t, "the eleventh, right or not", r, 429, "RATE_LIMIT_EXCEEDED")
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	open(t, "what is open stays so", visitor, id)
	tell(visitor, other, "open sesame").OK(200)
	l.Clock.Advance(time.Minute)
	tell(visitor, id, "open sesame").OK(200)

	guard(admin, file, "of the file") // many shares lead to one password
	for i := range 5 {
		first, second := newShare(admin, file), newShare(admin, file)
		status(t, fmt.Sprint("of the file ", i), tell(visitor, first, "x"), 401, "INVALID_PASSWORD")
		status(t, fmt.Sprint("of the file again ", i), tell(visitor, second, "x"), 401, "INVALID_PASSWORD")
	}
	status(t, "by another share", tell(visitor, newShare(admin, file), "of the file"), 429, "RATE_LIMIT_EXCEEDED")
	l.Clock.Advance(time.Minute)
	for i := range 60 {
		if i%9 == 0 {
			id = newShare(admin, file, m{"password": "open sesame"})
		}
		status(t, fmt.Sprint("anywhere ", i), tell(visitor, id, "x"), 401, "INVALID_PASSWORD")
	}
	status(t, "the sixty-first", tell(visitor, newShare(admin, file, m{"password": "y"}), "y"), 429, "RATE_LIMIT_EXCEEDED")
}

// A password that stands before the file asks visitors, too. Abuse cases C80, C81, C83.
func TestShareOfWhatIsProtected(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		mkdir(alice, "/home/alice", "deep")
		file := alice.Upload("/home/alice/deep", "a.txt", []byte("x"))
		early := newShare(alice, file)
		open(t, "before there is a password", l.Client(t), early)
		guard(alice, file, "of the file")
		made := alice.Post("/api/shares/", m{"fileId": file}).OK(201)
		equal(t, "passwordProtected", made.Value("share.passwordProtected"), true)
		equal(t, "requiresPassword", alice.Get("/api/shares/").OK(200).Value("items.0.requiresPassword"), true)
		for what, id := range map[string]string{"made before": early, "made since": made.Text("share.id")} {
			visitor := l.Client(t)
			shut(t, what, visitor, id, "")
			status(t, what+": a wrong one", tell(visitor, id, "x"), 401, "INVALID_PASSWORD")
			tell(visitor, id, "of the file").OK(200)
			open(t, what, visitor, id)
		}

		visitor := l.Client(t)
		tell(visitor, early, "of the file").OK(200)
		other := made.Text("share.id") // that asks for the very same password; abuse case C46
		shut(t, "the cookie of another share of it", withCookie(l.Client(t), "share_auth_"+other, visitor.Cookies["share_auth_"+early]), other, "")
		guard(alice, file, "changed")
		shut(t, "with the one before", visitor, early, "")
		status(t, "the one before", tell(visitor, early, "of the file"), 401, "INVALID_PASSWORD")
		tell(visitor, early, "changed").OK(200)
		open(t, "with the changed one", visitor, early)
		guard(alice, file, nil)
		open(t, "without", l.Client(t), early)

		// on the folder above it
		folder := alice.Get("/api/files?path=/home/alice").OK(200).Text("items.0.id")
		guard(alice, folder, "of the folder")
		shut(t, "below a folder with a password", l.Client(t), early, "")
		tell(visitor, early, "of the folder").OK(200)
		open(t, "with that of the folder", visitor, early)

		// the share's own stands in for it: it is alice's, and administrators' to open
		own := newShare(alice, file, m{"password": "of the share"})
		theirs := newShare(admin, file, m{"password": "of the share"})
		for what, id := range map[string]string{"the owner's": own, "an administrator's": theirs} {
			visitor := l.Client(t)
			status(t, what+": the folder's", tell(visitor, id, "of the folder"), 401, "INVALID_PASSWORD")
			tell(visitor, id, "of the share").OK(200)
			open(t, what, visitor, id)
		}
	})
}

// A share's own password stands in for what its creator could let others pass, and for nothing else. Abuse case C83.
func TestSharePasswordOfSomebodyElse(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, bob := l.Admin(t), l.User(t, "bob")
		shelf := mkdir(admin, "/uploads", "shelf")
		file := admin.Upload("/uploads/shelf", "a.txt", []byte("x"))
		addRule(admin, m{"pathPattern": "/uploads/**", "effect": "allow", "userId": idOfUser(bob), "permissions": []string{"read", "share", "download"}})
		guard(admin, file, "of the file")
		id := newShare(bob, file, m{"password": "bob's"})
		visitor := l.Client(t)
		shut(t, "before", visitor, id, "")
		status(t, "bob's alone", tell(visitor, id, "bob's"), 403, "PASSWORD_REQUIRED")
		shut(t, "with bob's alone", visitor, id, "")
		tell(visitor, id, "of the file").OK(200)
		open(t, "with both", visitor, id)
		visitor = l.Client(t)
		status(t, "the file's alone", tell(visitor, id, "of the file"), 403, "PASSWORD_REQUIRED")
		shut(t, "with the file's alone", visitor, id, "")
		guard(admin, file, nil)

		// given when it was made
		guard(admin, shelf, "of the folder")
		status(t, "what bob may not see", bob.Post("/api/shares/", m{"fileId": file}), 403, "PASSWORD_REQUIRED")
		verify(bob, shelf, "of the folder").OK(200)
		known := newShare(bob, file, m{"password": "bob's"})
		late := newShare(bob, file)
		equal(t, "that it is asked for", bob.Patch("/api/shares/"+late, m{"password": "bob's"}).OK(200).Value("share.requiresPassword"), true)
		for what, id := range map[string]string{"when it was made": known, "when its password was set": late} {
			visitor := l.Client(t)
			tell(visitor, id, "bob's").OK(200)
			open(t, "given "+what, visitor, id)
		}
		tell(visitor, known, "bob's").OK(200)
		guard(admin, shelf, "changed")
		shut(t, "the folder's has changed, and bob does not know it", visitor, known, "")
		status(t, "bob's alone", tell(l.Client(t), known, "bob's"), 403, "PASSWORD_REQUIRED")
		tell(visitor, known, "changed").OK(200)
		open(t, "with the changed one", visitor, known)
		guard(admin, shelf, nil)
	})
}

// A share's password stands in for what was asked for when it was set: what else its creator had given that day lets nobody in, wherever the file goes.
func TestSharePasswordAndAnotherFolders(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, bob := l.Admin(t), l.User(t, "bob")
		mkdir(admin, "/uploads", "open")
		shut := mkdir(admin, "/uploads", "shut")
		file := admin.Upload("/uploads/open", "a.txt", []byte("x"))
		addRule(admin, m{"pathPattern": "/uploads/**", "effect": "allow", "userId": idOfUser(bob), "permissions": []string{"read", "share", "download"}})
		guard(admin, shut, "of the folder")
		verify(bob, shut, "of the folder").OK(200)
		made, changed := newShare(bob, file, m{"password": "bob's"}), newShare(bob, file)
		bob.Patch("/api/shares/"+changed, m{"password": "bob's"}).OK(200)
		for what, id := range map[string]string{"when it was made": made, "when it was changed": changed} {
			visitor := l.Client(t)
			tell(visitor, id, "bob's").OK(200)
			open(t, "set "+what, visitor, id)
		}
		admin.Post("/api/files/"+file+"/move", m{"targetPath": "/uploads/shut"}).OK(200)
		for what, id := range map[string]string{"when it was made": made, "when it was changed": changed} {
			visitor := l.Client(t)
			status(t, "set "+what, tell(visitor, id, "bob's"), 403, "PASSWORD_REQUIRED")
			visitor.Get("/api/shares/"+id+"/download").Fails(401, "INVALID_PASSWORD")
			tell(visitor, id, "of the folder").OK(200)
			open(t, "with both, set "+what, visitor, id)
		}
	})
}

// A rule that lets the creator in with a password alone lets nobody else in without.
func TestShareByARuleWithAPassword(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, bob := l.Admin(t), l.User(t, "bob")
		file := admin.Upload("/uploads", "a.txt", []byte("x"))
		me := idOfUser(bob)
		addRule(admin, m{"pathPattern": "/uploads/**", "effect": "allow", "userId": me, "permissions": []string{"read", "share"}})
		rule := addRule(admin, m{"pathPattern": "/uploads/**", "effect": "allow", "userId": me, "permissions": []string{"download"}, "requirePassword": true, "password": "of the rule"})
		addRule(admin, m{"pathPattern": "/uploads/**", "effect": "allow", "userId": me, "permissions": []string{"delete"}, "requirePassword": true, "password": "to delete"})
		id := newShare(bob, file)
		visitor := l.Client(t)
		shut(t, "before", visitor, id, "")
		status(t, "that of a rule about something else", tell(visitor, id, "to delete"), 401, "INVALID_PASSWORD")
		tell(visitor, id, "of the rule").OK(200)
		open(t, "with that of the rule", visitor, id)
		equal(t, "allowDownload", seen(visitor, id).Value("share.allowDownload"), true)
		admin.Put("/api/admin/rules/"+rule, m{"password": "changed"}).OK(200)
		shut(t, "once it has changed", visitor, id, "")
	})
}

// Nothing of a password is in any answer or in the log. Abuse case C115.
func TestShareTellsNoSecrets(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	file := admin.Upload("/public", "a.txt", []byte("x"))
	made := admin.Post("/api/shares/", m{"fileId": file, "password": "a hidden word"}).OK(201)
	id := made.Text("share.id")
	answers := []*apptest.Reply{
		made, admin.Get("/api/shares/"), admin.Get("/api/admin/shares"), admin.Patch("/api/shares/"+id, m{"password": "a hidden word"}), seen(l.Client(t), id), tell(l.Client(t), id, "a hidden word"),
	}
	for _, r := range answers {
		for _, secret := range []string{"a hidden word", "argon2", "proof", "passwordHash", "passwordId"} {
			if strings.Contains(string(r.Body), secret) {
				t.Errorf("%s in %s", secret, r.Body)
			}
		}
	}
	log := l.Log.String()
	if strings.Contains(log, "a hidden word") || strings.Contains(log, id) || !strings.Contains(log, "/api/shares/[redacted]") {
		t.Error("the log holds a password, or the address of a share")
	}
}
