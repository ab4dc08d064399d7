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

// checkShareClosed fails the test unless the share reveals nothing of its file to the caller.
func checkShareClosed(t *testing.T, what string, c *apptest.Client, id, title string) {
	t.Helper()
	r := visitShare(c, id)
	wantStatus(t, what, r, 200, "")
	wantFields(t, what, r.Value("share"), shareFields...)
	for field, want := range (M{"title": title, "file": nil, "allowPreview": nil, "allowDownload": nil,
		"requiresPassword": true}) {
		wantJSON(t, what+": "+field, r.Value("share."+field), want)
	}
}

func checkShareOpen(t *testing.T, what string, c *apptest.Client, id string) {
	t.Helper()
	r := visitShare(c, id)
	wantStatus(t, what, r, 200, "")
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
		made := alice.Post("/api/shares/", M{"fileId": file, "password": "open sesame"}).OK(201)
		wantJSON(t, "passwordProtected", made.Value("share.passwordProtected"), true)
		id := made.Text("share.id")
		checkShareClosed(t, "before", visitor, id, "")
		wantJSON(t, "views while it is shut", visitShare(visitor, id).Value("share.viewCount"), 0)
		checkShareClosed(t, "one with a title", visitor,
			shareEntry(alice, file, M{"password": "open sesame", "title": "Cat"}), "Cat")

		wantStatus(t, "a wrong one", verifySharePassword(visitor, id, "open Sesame"), 401, "INVALID_PASSWORD")
		wantStatus(t, "a long one", verifySharePassword(visitor, id, strings.Repeat("x", 129)), 400, "VALIDATION_ERROR")
		wantStatus(t, "an empty one", verifySharePassword(visitor, id, ""), 400, "VALIDATION_ERROR")
		wantStatus(t, "none", visitor.Post("/api/shares/"+id+"/verify", M{}), 400, "VALIDATION_ERROR")
		wantStatus(t, "in the query", visitor.Post("/api/shares/"+id+"/verify?password=open+sesame", M{}), 400,
			"VALIDATION_ERROR")
		wantStatus(t, "from across sites", visitor.Post("/api/shares/"+id+"/verify", M{"password": "open sesame"},
			"Sec-Fetch-Site", "cross-site"), 403, "FORBIDDEN")
		wantStatus(t, "of no share", verifySharePassword(visitor, "abcdefghijkl", "open sesame"), 404, "NOT_FOUND")
		wantStatus(t, "of a share without", verifySharePassword(visitor, shareEntry(alice, file), "open sesame"), 400,
			"VALIDATION_ERROR")
		checkShareClosed(t, "after wrong ones", visitor, id, "")

		right := verifySharePassword(visitor, id, "open sesame").OK(200)
		wantJSON(t, "data", right.Object()["data"], M{"authorized": true})
		c := onlyCookie(t, right)
		if c.Name != "share_auth_"+id || c.Path != "/api/shares/"+id || !c.HttpOnly ||
			c.SameSite != http.SameSiteStrictMode || c.MaxAge != 900 || c.Secure || c.Domain != "" {
			t.Errorf("the cookie is %v", c)
		}
		wantJSON(t, "the first view", visitShare(visitor, id).OK(200).Value("share.viewCount"), 1)
		checkShareOpen(t, "with the cookie", visitor, id)
		checkShareClosed(t, "somebody else", l.Client(t), id, "")
		checkShareClosed(t, "the creator", alice, id, "")
		wantStatus(t, "a wrong one, though it is open", verifySharePassword(visitor, id, "x"), 401, "INVALID_PASSWORD")
		checkShareOpen(t, "after a wrong one", visitor, id)

		l.Clock.Advance(15*time.Minute - time.Second)
		checkShareOpen(t, "just before 15 minutes", visitor, id)
		l.Clock.Advance(time.Second)
		checkShareClosed(t, "after 15 minutes", visitor, id, "")
	})
}

// The cookie opens one share, with its current password. Abuse case C46.
func TestShareCookie(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		file := alice.Upload("/home/alice", "a.txt", []byte("x"))
		id, other := shareEntry(alice, file, M{"password": "open sesame"}), shareEntry(alice, file,
			M{"password": "open sesame"})
		visitor := l.Client(t)
		verifySharePassword(visitor, id, "open sesame").OK(200)
		good := visitor.Cookies["share_auth_"+id]
		with := func(id, value string) *apptest.Client { return withCookie(l.Client(t), "share_auth_"+id, value) }
		checkShareOpen(t, "copied as it is", with(id, good), id)
		checkShareClosed(t, "copied to another share", with(other, good), other, "")
		body, mac, _ := strings.Cut(good, ".")
		verifySharePassword(visitor, other, "open sesame").OK(200)
		for what, value := range map[string]string{
			"empty": "", "dot": ".", "junk": "junk", "without a signature": body, "an empty signature": body + ".",
			"another payload": "eHl6." + mac, "cut": good[:len(good)-1],
			"longer": good + "A", "a session": alice.Cookies[api.SessionCookie], "huge": strings.Repeat("A", 30000),
			"the other's": visitor.Cookies["share_auth_"+other],
		} {
			checkShareClosed(t, what, with(id, value), id, "")
		}
		checkShareClosed(t, "in the place of another cookie", withCookie(l.Client(t), api.ProofCookie, good), id, "")

		for what, body := range map[string]M{"another password": {"password": "another"},
			"the same password, set anew": {"password": "open sesame"}} {
			visitor := l.Client(t)
			alice.Patch("/api/shares/"+other, M{"password": "before"}).OK(200)
			verifySharePassword(visitor, other, "before").OK(200)
			checkShareOpen(t, what+", before", visitor, other)
			alice.Patch("/api/shares/"+other, body).OK(200)
			checkShareClosed(t, what, visitor, other, "")
			wantStatus(t, what+": the old one", verifySharePassword(visitor, other, "before"), 401, "INVALID_PASSWORD")
			verifySharePassword(visitor, other, fmt.Sprint(body["password"])).OK(200)
			checkShareOpen(t, what+", given", visitor, other)
		}
		alice.Patch("/api/shares/"+other, M{"title": "other"}).OK(200)
		wantJSON(t, "requiresPassword after another change",
			alice.Get("/api/shares/").OK(200).Value("items.0.requiresPassword"), true)
		wantJSON(t, "removed password", alice.Patch("/api/shares/"+other,
			M{"password": nil}).OK(200).Value("share.requiresPassword"), false)
		checkShareOpen(t, "without a password", l.Client(t), other)
		alice.Delete("/api/shares/" + id).OK(200)
		wantStatus(t, "revoked", visitShare(with(id, good), id), 410, "SHARE_REVOKED")

		last := shareEntry(alice, file, M{"password": "open sesame"})
		verifySharePassword(visitor, last, "open sesame").OK(200)
		l.Clock.Advance(-2 * time.Hour) // the cookie would last longer than any does
		checkShareClosed(t, "from the future", visitor, last, "")
	}, func(cfg *config.Config) { cfg.RateLimitEnabled = false }) // whose counters do not go back in time
}

func TestShareCookieOverHTTPS(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.BaseURL = "https://larder.test" },
		apptest.TrustLoopback)
	admin := l.Admin(t)
	id := shareEntry(admin, admin.Upload("/public", "a.txt", []byte("x")), M{"password": "open sesame"})
	if c := onlyCookie(t, verifySharePassword(l.Client(t), id, "open sesame").OK(200)); !c.Secure {
		t.Errorf("the cookie is %v", c)
	}
}

// After ten wrong passwords a minute none is checked, and an address has a limit over all shares.
// Abuse case C57.
func TestWrongSharePasswordsAreLimited(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite") // replicas share counters only through Redis
	admin, visitor := l.Admin(t), l.Client(t)
	file := admin.Upload("/public", "a.txt", []byte("x"))
	id, other := shareEntry(admin, file, M{"password": "open sesame"}), shareEntry(admin, file,
		M{"password": "open sesame"})
	verifySharePassword(visitor, id, "open sesame").OK(200) // right ones do not count
	for i := range 10 {
		wantStatus(t, fmt.Sprint("wrong ", i), verifySharePassword(visitor, id, "x"), 401, "INVALID_PASSWORD")
	}
	r := verifySharePassword(visitor, id, "open sesame")
	wantStatus(t, "the eleventh, right or not", r, 429, "RATE_LIMIT_EXCEEDED")
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	checkShareOpen(t, "an open share stays open", visitor, id)
	verifySharePassword(visitor, other, "open sesame").OK(200)
	l.Clock.Advance(time.Minute)
	verifySharePassword(visitor, id, "open sesame").OK(200)

	setAccessPassword(admin, file, "of the file") // many shares lead to one password
	for i := range 5 {
		first, second := shareEntry(admin, file), shareEntry(admin, file)
		wantStatus(t, fmt.Sprint("of the file ", i), verifySharePassword(visitor, first, "x"), 401, "INVALID_PASSWORD")
		wantStatus(t, fmt.Sprint("of the file again ", i), verifySharePassword(visitor, second, "x"), 401,
			"INVALID_PASSWORD")
	}
	wantStatus(t, "by another share", verifySharePassword(visitor, shareEntry(admin, file), "of the file"), 429,
		"RATE_LIMIT_EXCEEDED")
	l.Clock.Advance(time.Minute)
	for i := range 60 {
		if i%9 == 0 {
			id = shareEntry(admin, file, M{"password": "open sesame"})
		}
		wantStatus(t, fmt.Sprint("anywhere ", i), verifySharePassword(visitor, id, "x"), 401, "INVALID_PASSWORD")
	}
	last := shareEntry(admin, file, M{"password": "y"})
	wantStatus(t, "the sixty-first", verifySharePassword(visitor, last, "y"), 429, "RATE_LIMIT_EXCEEDED")
}

// Visitors of a share are asked for a password that protects its file, too. Abuse cases C80, C81,
// C83.
func TestShareOfProtectedFile(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		mkdir(alice, "/home/alice", "deep")
		file := alice.Upload("/home/alice/deep", "a.txt", []byte("x"))
		early := shareEntry(alice, file)
		checkShareOpen(t, "before there is a password", l.Client(t), early)
		setAccessPassword(alice, file, "of the file")
		made := alice.Post("/api/shares/", M{"fileId": file}).OK(201)
		wantJSON(t, "passwordProtected", made.Value("share.passwordProtected"), true)
		wantJSON(t, "requiresPassword", alice.Get("/api/shares/").OK(200).Value("items.0.requiresPassword"), true)
		for what, id := range map[string]string{"made before": early, "made since": made.Text("share.id")} {
			visitor := l.Client(t)
			checkShareClosed(t, what, visitor, id, "")
			wantStatus(t, what+": a wrong one", verifySharePassword(visitor, id, "x"), 401, "INVALID_PASSWORD")
			verifySharePassword(visitor, id, "of the file").OK(200)
			checkShareOpen(t, what, visitor, id)
		}

		visitor := l.Client(t)
		verifySharePassword(visitor, early, "of the file").OK(200)
		other := made.Text("share.id") // another share with the very same password; abuse case C46
		checkShareClosed(t, "the cookie of another share of it",
			withCookie(l.Client(t), "share_auth_"+other, visitor.Cookies["share_auth_"+early]), other, "")
		setAccessPassword(alice, file, "changed")
		checkShareClosed(t, "with the one before", visitor, early, "")
		wantStatus(t, "the one before", verifySharePassword(visitor, early, "of the file"), 401, "INVALID_PASSWORD")
		verifySharePassword(visitor, early, "changed").OK(200)
		checkShareOpen(t, "with the changed one", visitor, early)
		setAccessPassword(alice, file, nil)
		checkShareOpen(t, "without", l.Client(t), early)

		// on the folder above it
		folder := alice.Get("/api/files?path=/home/alice").OK(200).Text("items.0.id")
		setAccessPassword(alice, folder, "of the folder")
		checkShareClosed(t, "below a folder with a password", l.Client(t), early, "")
		verifySharePassword(visitor, early, "of the folder").OK(200)
		checkShareOpen(t, "with that of the folder", visitor, early)

		// the share's own password replaces it: alice and administrators may open the file to
		// others
		own := shareEntry(alice, file, M{"password": "of the share"})
		theirs := shareEntry(admin, file, M{"password": "of the share"})
		for what, id := range map[string]string{"the owner's": own, "an administrator's": theirs} {
			visitor := l.Client(t)
			wantStatus(t, what+": the folder's", verifySharePassword(visitor, id, "of the folder"), 401,
				"INVALID_PASSWORD")
			verifySharePassword(visitor, id, "of the share").OK(200)
			checkShareOpen(t, what, visitor, id)
		}
	})
}

// A share's own password replaces only passwords that its creator may open to others. Abuse case
// C83.
func TestSharePasswordDoesNotCoverOthersPasswords(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, bob := l.Admin(t), l.User(t, "bob")
		shelf := mkdir(admin, "/uploads", "shelf")
		file := admin.Upload("/uploads/shelf", "a.txt", []byte("x"))
		addRule(admin, M{"pathPattern": "/uploads/**", "effect": "allow", "userId": callerID(bob),
			"permissions": []string{"read", "share", "download"}})
		setAccessPassword(admin, file, "of the file")
		id := shareEntry(bob, file, M{"password": "bob's"})
		visitor := l.Client(t)
		checkShareClosed(t, "before", visitor, id, "")
		wantStatus(t, "bob's alone", verifySharePassword(visitor, id, "bob's"), 403, "PASSWORD_REQUIRED")
		checkShareClosed(t, "with bob's alone", visitor, id, "")
		verifySharePassword(visitor, id, "of the file").OK(200)
		checkShareOpen(t, "with both", visitor, id)
		visitor = l.Client(t)
		wantStatus(t, "the file's alone", verifySharePassword(visitor, id, "of the file"), 403, "PASSWORD_REQUIRED")
		checkShareClosed(t, "with the file's alone", visitor, id, "")
		setAccessPassword(admin, file, nil)

		// given when the share was made
		setAccessPassword(admin, shelf, "of the folder")
		wantStatus(t, "a file that bob may not see", bob.Post("/api/shares/", M{"fileId": file}), 403,
			"PASSWORD_REQUIRED")
		verifyPassword(bob, shelf, "of the folder").OK(200)
		known := shareEntry(bob, file, M{"password": "bob's"})
		late := shareEntry(bob, file)
		wantJSON(t, "that a password is needed", bob.Patch("/api/shares/"+late,
			M{"password": "bob's"}).OK(200).Value("share.requiresPassword"), true)
		for what, id := range map[string]string{"when it was made": known, "when its password was set": late} {
			visitor := l.Client(t)
			verifySharePassword(visitor, id, "bob's").OK(200)
			checkShareOpen(t, "given "+what, visitor, id)
		}
		verifySharePassword(visitor, known, "bob's").OK(200)
		setAccessPassword(admin, shelf, "changed")
		checkShareClosed(t, "the folder's has changed, and bob does not know it", visitor, known, "")
		wantStatus(t, "bob's alone", verifySharePassword(l.Client(t), known, "bob's"), 403, "PASSWORD_REQUIRED")
		verifySharePassword(visitor, known, "changed").OK(200)
		checkShareOpen(t, "with the changed one", visitor, known)
		setAccessPassword(admin, shelf, nil)
	})
}

// A share's password replaces the passwords needed when it was set. Other passwords that its
// creator had given then open nothing for visitors, wherever the file is moved.
func TestSharePasswordCoversOnlyFoldersAtCreation(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, bob := l.Admin(t), l.User(t, "bob")
		mkdir(admin, "/uploads", "open")
		shut := mkdir(admin, "/uploads", "shut")
		file := admin.Upload("/uploads/open", "a.txt", []byte("x"))
		addRule(admin, M{"pathPattern": "/uploads/**", "effect": "allow", "userId": callerID(bob),
			"permissions": []string{"read", "share", "download"}})
		setAccessPassword(admin, shut, "of the folder")
		verifyPassword(bob, shut, "of the folder").OK(200)
		made, changed := shareEntry(bob, file, M{"password": "bob's"}), shareEntry(bob, file)
		bob.Patch("/api/shares/"+changed, M{"password": "bob's"}).OK(200)
		for what, id := range map[string]string{"when it was made": made, "when it was changed": changed} {
			visitor := l.Client(t)
			verifySharePassword(visitor, id, "bob's").OK(200)
			checkShareOpen(t, "set "+what, visitor, id)
		}
		admin.Post("/api/files/"+file+"/move", M{"targetPath": "/uploads/shut"}).OK(200)
		for what, id := range map[string]string{"when it was made": made, "when it was changed": changed} {
			visitor := l.Client(t)
			wantStatus(t, "set "+what, verifySharePassword(visitor, id, "bob's"), 403, "PASSWORD_REQUIRED")
			visitor.Get("/api/shares/"+id+"/download").Fails(401, "INVALID_PASSWORD")
			verifySharePassword(visitor, id, "of the folder").OK(200)
			checkShareOpen(t, "with both, set "+what, visitor, id)
		}
	})
}

// A rule that lets the creator in only with a password lets no other visitor in without it.
func TestShareByARuleWithAPassword(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, bob := l.Admin(t), l.User(t, "bob")
		file := admin.Upload("/uploads", "a.txt", []byte("x"))
		me := callerID(bob)
		addRule(admin, M{"pathPattern": "/uploads/**", "effect": "allow", "userId": me,
			"permissions": []string{"read", "share"}})
		rule := addRule(admin, M{"pathPattern": "/uploads/**", "effect": "allow", "userId": me,
			"permissions": []string{"download"}, "requirePassword": true, "password": "of the rule"})
		addRule(admin, M{"pathPattern": "/uploads/**", "effect": "allow", "userId": me,
			"permissions": []string{"delete"}, "requirePassword": true, "password": "to delete"})
		id := shareEntry(bob, file)
		visitor := l.Client(t)
		checkShareClosed(t, "before", visitor, id, "")
		wantStatus(t, "the password of a rule about another path", verifySharePassword(visitor, id, "to delete"), 401,
			"INVALID_PASSWORD")
		verifySharePassword(visitor, id, "of the rule").OK(200)
		checkShareOpen(t, "with that of the rule", visitor, id)
		wantJSON(t, "allowDownload", visitShare(visitor, id).Value("share.allowDownload"), true)
		admin.Put("/api/admin/rules/"+rule, M{"password": "changed"}).OK(200)
		checkShareClosed(t, "once it has changed", visitor, id, "")
	})
}

// No answer and no log entry contains anything of a password. Abuse case C115.
func TestShareTellsNoSecrets(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	file := admin.Upload("/public", "a.txt", []byte("x"))
	made := admin.Post("/api/shares/", M{"fileId": file, "password": "a hidden word"}).OK(201)
	id := made.Text("share.id")
	answers := []*apptest.Reply{
		made, admin.Get("/api/shares/"), admin.Get("/api/admin/shares"),
		admin.Patch("/api/shares/"+id, M{"password": "a hidden word"}), visitShare(l.Client(t), id),
		verifySharePassword(l.Client(t), id, "a hidden word"),
	}
	for _, r := range answers {
		for _, secret := range []string{"a hidden word", "argon2", "proof", "passwordHash", "passwordId"} {
			if strings.Contains(string(r.Body), secret) {
				t.Errorf("%s in %s", secret, r.Body)
			}
		}
	}
	log := l.Log.String()
	if strings.Contains(log, "a hidden word") || strings.Contains(log, id) ||
		!strings.Contains(log, "/api/shares/[redacted]") {
		t.Error("the log contains a password, or the address of a share")
	}
}
