package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/kv/kvtest"
	"larder/internal/secret"
)

// fromNetwork returns the header of a request from the n-th network, a different /48 for each n.
func fromNetwork(n int) []string {
	return []string{"X-Forwarded-For", fmt.Sprintf("2001:db8:%x::1", n)}
}

// attemptTarget is a target of password attempts.
type attemptTarget struct {
	name string
	code string // of a wrong answer
	// try sends the right or a wrong password from the n-th network.
	try func(c *apptest.Client, n int, right bool) *apptest.Reply
}

// newAttemptTargets makes a target of each kind, with a password that any visitor may give.
func newAttemptTargets(t *testing.T, l *apptest.Larder) []attemptTarget {
	t.Helper()
	admin := l.Admin(t)
	l.User(t, "alice")
	word := func(right bool) string {
		if right {
			return "open sesame"
		}
		return "wrong"
	}
	own := shareEntry(admin, admin.Upload("/public", "shared.txt", []byte("x")), M{"password": "open sesame"})
	file := admin.Upload("/public", "file.txt", []byte("x"))
	setAccessPassword(admin, file, "open sesame")
	alone := admin.Upload("/public", "alone.txt", []byte("x"))
	setAccessPassword(admin, alone, "open sesame")
	other := admin.Upload("/public", "other.txt", []byte("x"))
	setAccessPassword(admin, other, "open sesame")
	ofFile := shareEntry(admin, other)
	folder := mkdir(admin, "/public", "shut")
	admin.Upload("/public/shut", "in.txt", []byte("x"))
	setAccessPassword(admin, folder, "open sesame")
	mkdir(admin, "/uploads", "ruled")
	admin.Upload("/uploads/ruled", "in.txt", []byte("x"))
	admin.Post("/api/admin/rules", M{
		"pathPattern": "/uploads/ruled/**", "effect": "allow", "role": "guest",
		"permissions":     []string{"read", "download"},
		"requirePassword": true, "password": "open sesame", "priority": 1000,
	}).OK(201)
	by := func(path func(n int) string) func(*apptest.Client, int, bool) *apptest.Reply {
		return func(c *apptest.Client, n int, right bool) *apptest.Reply {
			return c.Post("/api/public/unlock", M{"path": path(n), "password": word(right)}, fromNetwork(n)...)
		}
	}
	always := func(path string) func(int) string { return func(int) string { return path } }
	share := func(id string) func(*apptest.Client, int, bool) *apptest.Reply {
		return func(c *apptest.Client, n int, right bool) *apptest.Reply {
			return verifySharePassword(c, id, word(right), fromNetwork(n)...)
		}
	}
	signIn := func(name string) func(*apptest.Client, int, bool) *apptest.Reply {
		return func(c *apptest.Client, n int, right bool) *apptest.Reply {
			password := "wrong"
			if right {
				password = "password of alice"
			}
			return postLogin(c, name, password, fromNetwork(n)...)
		}
	}
	return []attemptTarget{
		{"a share", "INVALID_PASSWORD", share(own)},
		{"a share of a file with a password", "INVALID_PASSWORD", share(ofFile)},
		{"a file by its id", "INVALID_PASSWORD", func(c *apptest.Client, n int, right bool) *apptest.Reply {
			return admin.In(t).Post("/api/files/"+file+"/verify-password", M{"password": word(right)},
				fromNetwork(n)...)
		}},
		{"a file by its path", "INVALID_PASSWORD", by(always("/public/alone.txt"))},
		{"a folder by any path below it", "INVALID_PASSWORD", by(func(n int) string {
			if n%2 == 0 {
				return "/public/shut/in.txt"
			}
			return "/public/shut"
		})},
		{"a rule", "INVALID_PASSWORD", by(always("/uploads/ruled/in.txt"))},
		{"an account by its name", "INVALID_CREDENTIALS", signIn("alice")},
		{"an account by its address", "INVALID_CREDENTIALS", signIn("alice@example.org")},
	}
}

// A target accepts twenty wrong answers from all addresses together. After that it accepts one
// attempt a minute, also for the right password.
func TestWrongPasswordsFromManyNetworks(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		for _, g := range newAttemptTargets(t, l) {
			t.Run(g.name, func(t *testing.T) {
				n := 0
				from := func(what string, right bool, want int) *apptest.Reply {
					t.Helper()
					n++
					r := g.try(l.Client(t), n, right)
					code := map[int]string{200: "", 401: g.code, 429: "RATE_LIMIT_EXCEEDED"}[want]
					wantStatus(t, what, r, want, code)
					return r
				}
				wantRetryAfter := func(what string, right bool, seconds int) {
					t.Helper()
					if got := from(what, right, 429).Header.Get("Retry-After"); got != fmt.Sprint(seconds) {
						t.Errorf("%s: Retry-After %q, want %d", what, got, seconds)
					}
				}
				for i := range 20 {
					from("the right one counts for nothing", true, 200)
					from(fmt.Sprint("wrong ", i+1), false, 401)
				}
				wantRetryAfter("the 21st", false, 60)
				wantRetryAfter("the right one", true, 60)
				l.Clock.Advance(time.Minute - time.Second)
				wantRetryAfter("a second before the minute is over", true, 1)
				l.Clock.Advance(time.Second)
				from("a minute later, the right one", true, 200)
				from("the right one again", true, 200)
				from("one wrong one", false, 401)
				wantRetryAfter("the next", true, 60)
				l.Clock.Advance(time.Minute)
				from("a wrong one each minute", false, 401)
				wantRetryAfter("the next attempt", false, 60)
				l.Clock.Advance(20 * time.Minute)
				for i := range 20 {
					from(fmt.Sprint("after twenty minutes, wrong ", i+1), false, 401)
				}
				wantRetryAfter("the 21st again", true, 60)
			})
		}
	}, apptest.TrustLoopback)
}

// Of fifty concurrent wrong answers, from fifty addresses and to all replicas, twenty are checked.
// Right answers and refused ones do not count.
func TestConcurrentWrongPasswordsFromManyNetworks(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		visitor := l.Client(t)
		for _, g := range newAttemptTargets(t, l) {
			right := countStatuses(t, runConcurrently(t, visitor, 20, func(c *apptest.Client, i int) *apptest.Reply {
				return g.try(c, i, true)
			}))
			if right[200] != 20 {
				t.Errorf("%s: twenty concurrent right passwords: %v", g.name, right)
			}
			wrong := countStatuses(t, runConcurrently(t, visitor, 50, func(c *apptest.Client, i int) *apptest.Reply {
				return g.try(c, 100+i, false)
			}))
			if wrong[401] != 20 || wrong[429] != 30 {
				t.Errorf("%s: fifty concurrent wrong passwords: %v, want twenty checked", g.name, wrong)
			}
			l.Clock.Advance(time.Minute)
			wantStatus(t, g.name+", a minute later", g.try(l.Client(t), 200, true), 200, "")
		}
	}, apptest.TrustLoopback)
}

// Each target has its own count, and a new password is a new target.
func TestWrongPasswordsCountPerTarget(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		file := admin.Upload("/public", "a.txt", []byte("x"))
		one, two := shareEntry(admin, file, M{"password": "open sesame"}), shareEntry(admin, file,
			M{"password": "open sesame"})
		try := func(id string, n int, password string) *apptest.Reply {
			return verifySharePassword(visitor, id, password, fromNetwork(n)...)
		}
		for i := range 20 {
			wantStatus(t, "wrong", try(one, i, "x"), 401, "INVALID_PASSWORD")
		}
		wantStatus(t, "the 21st", try(one, 20, "open sesame"), 429, "RATE_LIMIT_EXCEEDED")
		try(two, 21, "open sesame").OK(200)
		wantStatus(t, "after the other share's", try(one, 22, "open sesame"), 429, "RATE_LIMIT_EXCEEDED")
		admin.Patch("/api/shares/"+one, M{"password": "open sesame"}).OK(200)
		try(one, 23, "open sesame").OK(200)

		// a path that leads nowhere has no password: attempts there count by address only
		for i := range 25 {
			r := visitor.Post("/api/public/unlock", M{"path": "/nowhere", "password": "x"}, fromNetwork(i)...)
			wantStatus(t, fmt.Sprint("nothing there ", i), r, 401, "INVALID_PASSWORD")
		}
	}, apptest.TrustLoopback)
}

// An address over its own limit does not use up the target's attempts.
func TestLimitedAddressDoesNotCountForTarget(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		id := shareEntry(admin, admin.Upload("/public", "a.txt", []byte("x")), M{"password": "open sesame"})
		for range 100 {
			verifySharePassword(visitor, id, "x", fromNetwork(1)...)
		}
		if len(l.Apps) == 1 { // each replica counts addresses on its own
			for i := range 10 {
				r := verifySharePassword(visitor, id, "x", fromNetwork(i+2)...)
				wantStatus(t, fmt.Sprint("another address ", i), r, 401, "INVALID_PASSWORD")
			}
		}
		r := verifySharePassword(visitor, id, "open sesame", fromNetwork(99)...)
		wantStatus(t, "the target's are used up", r, 429, "RATE_LIMIT_EXCEEDED")
	}, apptest.TrustLoopback)
}

// The current password of a session is counted apart from sign-ins. Strangers cannot keep an owner
// from setting a new password, and a stolen session cannot guess without a limit.
func TestCurrentPasswordHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		present := func(n int, old string) *apptest.Reply {
			return alice.Put("/api/users/me/password", M{"oldPassword": old, "newPassword": "another password"},
				fromNetwork(n)...)
		}
		for i := range 21 {
			postLogin(l.Client(t), "alice", "wrong", fromNetwork(i)...)
		}
		checkSignInBlocked(t, "a new browser", l.Client(t), "alice", "password of alice")
		for i := range 20 {
			wantStatus(t, fmt.Sprint("wrong present password ", i+1), present(i, "wrong"), 401, "INVALID_PASSWORD")
		}
		wantStatus(t, "the 21st, right", present(31, "password of alice"), 429, "RATE_LIMIT_EXCEEDED")
		l.Clock.Advance(time.Minute)
		wantStatus(t, "a minute later", present(32, "password of alice"), 200, "")
	}, apptest.TrustLoopback)
}

// With the counts in PostgreSQL, a crash of every replica loses none.
func TestWrongPasswordsSurviveARestart(t *testing.T) {
	t.Parallel()
	var same config.Config
	l := apptest.Start(t, "postgres", apptest.TrustLoopback, func(cfg *config.Config) { same = *cfg })
	admin := l.Admin(t)
	id := shareEntry(admin, admin.Upload("/public", "a.txt", []byte("x")), M{"password": "open sesame"})
	for i := range 20 {
		r := verifySharePassword(l.Client(t), id, "x", fromNetwork(i)...)
		wantStatus(t, "wrong", r, 401, "INVALID_PASSWORD")
		postLogin(l.Client(t), "admin", "wrong", fromNetwork(i)...)
	}
	// processes that know only the database
	again := apptest.Start(t, "postgres", func(cfg *config.Config) { *cfg = same })
	again.Clock.Advance(l.Clock.Now().Sub(again.Clock.Now()))
	for n := range 2 {
		r := verifySharePassword(again.Client(t), id, "open sesame", fromNetwork(40+n)...)
		wantStatus(t, "the share", r, 429, "RATE_LIMIT_EXCEEDED")
		checkSignInBlocked(t, "the account", again.Client(t), "admin", apptest.AdminPassword)
	}
}

// Replicas with Redis count there. While Redis is down, each counts on its own.
func TestWrongPasswordsCountInRedis(t *testing.T) {
	t.Parallel()
	server := kvtest.StartServer(t)
	l := apptest.Start(t, "postgres", apptest.TrustLoopback, func(cfg *config.Config) {
		cfg.RedisURL = secret.Text(server.URL)
	})
	admin := l.Admin(t)
	file := admin.Upload("/public", "a.txt", []byte("x"))
	checked := func(id string) (n int) {
		for i := range 60 {
			if verifySharePassword(l.Client(t), id, "x", fromNetwork(i)...).Status == 401 {
				n++
			}
		}
		return n
	}
	id := shareEntry(admin, file, M{"password": "open sesame"})
	if n := checked(id); n != 20 {
		t.Errorf("two replicas checked %d of 60 wrong answers, want 20", n)
	}
	if n := queryInt(t, l, "SELECT COUNT(*) FROM guesses"); n != 0 {
		t.Errorf("%d counts are in the database beside Redis", n)
	}
	l.Clock.Advance(time.Minute)
	r := verifySharePassword(l.Client(t), id, "open sesame", fromNetwork(1000)...)
	wantStatus(t, "a minute later", r, 200, "")
	server.Stop()
	if n := checked(shareEntry(admin, file, M{"password": "open sesame"})); n != 40 {
		t.Errorf("without Redis, %d of 60 wrong answers were checked, want 20 by each replica", n)
	}
}

// The sweep deletes expired counts and no others.
func TestExpiredCountsAreDeleted(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "postgres", apptest.TrustLoopback)
	for i := range 3 {
		postLogin(l.Client(t), "admin", "wrong", fromNetwork(i)...)
	}
	postLogin(l.Client(t), strings.Repeat("nobody", 3), "wrong")
	for _, step := range []struct {
		after time.Duration
		rows  int
	}{{0, 2}, {time.Minute, 1}, {2*time.Minute - time.Microsecond, 1}, {time.Microsecond, 0}} {
		l.Clock.Advance(step.after)
		l.Sweep()
		if n := queryInt(t, l, "SELECT COUNT(*) FROM guesses"); n != step.rows {
			t.Errorf("%d counts, want %d", n, step.rows)
		}
	}
}

// Where two passwords are needed, an answer that the limit of one refuses does not count for the
// other.
func TestRefusedPasswordsCountForNoOtherTarget(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		mkdir(admin, "/uploads", "ruled")
		file := admin.Upload("/uploads/ruled", "both.txt", []byte("x"))
		admin.Upload("/uploads/ruled", "rule.txt", []byte("x"))
		admin.Post("/api/admin/rules", M{
			"pathPattern": "/uploads/ruled/**", "effect": "allow", "role": "guest",
			"permissions":     []string{"read", "download"},
			"requirePassword": true, "password": "of the rule", "priority": 1000,
		}).OK(201)
		setAccessPassword(admin, file, "of the file")
		n := 0
		try := func(name, password string) *apptest.Reply {
			n++
			return visitor.Post("/api/public/unlock", M{"path": "/uploads/ruled/" + name, "password": password},
				fromNetwork(n)...)
		}
		for range 20 {
			wantStatus(t, "wrong for the rule", try("rule.txt", "x"), 401, "INVALID_PASSWORD")
		}
		for range 30 {
			wantStatus(t, "the rule's is used up", try("both.txt", "x"), 429, "RATE_LIMIT_EXCEEDED")
		}
		// asks for the file's password only, because its creator needs none for the rule
		link := shareEntry(admin, file)
		for i := range 20 {
			r := verifySharePassword(visitor, link, "x", fromNetwork(500+i)...)
			wantStatus(t, fmt.Sprint("wrong for the file ", i+1), r, 401, "INVALID_PASSWORD")
		}
		r := verifySharePassword(visitor, link, "of the file", fromNetwork(600)...)
		wantStatus(t, "the 21st", r, 429, "RATE_LIMIT_EXCEEDED")
	}, apptest.TrustLoopback)
}

// Strangers who use up the attempts at a file's password do not delay its owner, who has a separate
// count of the same size.
func TestOwnerHasItsOwnPasswordLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		rule := M{"pathPattern": "/home/alice/open/**", "effect": "allow", "role": "guest",
			"permissions": []string{"read", "download"}}
		mkdir(alice, "/home/alice", "open")
		addRule(l.Admin(t), rule)
		file := alice.Upload("/home/alice/open", "f.txt", []byte("x"))
		setAccessPassword(alice, file, "open sesame")
		n := 0
		give := func(c *apptest.Client, password string) *apptest.Reply {
			n++
			return c.Post("/api/files/"+file+"/verify-password", M{"password": password}, fromNetwork(n)...)
		}
		for range 20 {
			wantStatus(t, "a stranger's guess", give(bob, "wrong"), 401, "INVALID_PASSWORD")
		}
		wantStatus(t, "a stranger", give(bob, "open sesame"), 429, "RATE_LIMIT_EXCEEDED")
		wantStatus(t, "the owner", give(alice, "open sesame"), 200, "")
		for range 20 {
			wantStatus(t, "the owner's mistake", give(alice, "wrong"), 401, "INVALID_PASSWORD")
		}
		wantStatus(t, "the owner after 20 mistakes", give(alice, "open sesame"), 429, "RATE_LIMIT_EXCEEDED")
		l.Clock.Advance(time.Minute)
		wantStatus(t, "the owner a minute later", give(alice, "open sesame"), 200, "")
		wantStatus(t, "a stranger a minute later", give(bob, "open sesame"), 200, "")
	}, apptest.TrustLoopback)
}

// A right answer to a password that the caller has set frees no attempt at another password.
func TestOwnPasswordDoesNotFreeGuesses(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.TrustLoopback)
	admin, alice := l.Admin(t), l.User(t, "alice")
	mkdir(admin, "/uploads", "vault")
	file := alice.Upload("/uploads/vault", "own.txt", []byte("x"))
	addRule(admin, M{
		"pathPattern": "/uploads/vault/**", "effect": "allow", "role": "user", "permissions": []string{"download"},
		"requirePassword": true, "password": "1234", "priority": 1000,
	})
	addRule(admin, M{"pathPattern": "/uploads/vault/**", "effect": "deny", "role": "user",
		"permissions": []string{"download"}, "priority": 900})
	for i := range 20 {
		guess := fmt.Sprint("guess ", i)
		setAccessPassword(alice, file, guess)
		r := alice.Post("/api/files/"+file+"/verify-password", M{"password": guess}, fromNetwork(i)...)
		wantStatus(t, guess, r, 403, "PASSWORD_REQUIRED")
	}
	setAccessPassword(alice, file, "1234")
	r := alice.Post("/api/files/"+file+"/verify-password", M{"password": "1234"}, fromNetwork(20)...)
	wantStatus(t, "the 21st guess", r, 429, "RATE_LIMIT_EXCEEDED")
}
