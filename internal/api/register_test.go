package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/site"
)

// register registers an account, with further fields.
func register(c *apptest.Client, name string, more M, header ...string) *apptest.Reply {
	body := M{"username": name, "email": name + "@example.org", "password": "password of " + name}.With(more)
	return c.Post("/api/auth/register", body, header...)
}

// countRegistrationRows counts the rows that a registration makes: accounts, quotas, entries, uses
// of invites, mails.
func countRegistrationRows(t *testing.T, l *apptest.Larder) string {
	t.Helper()
	var all []string
	for _, query := range []string{
		"SELECT COUNT(*) FROM users", "SELECT COUNT(*) FROM quotas", "SELECT COUNT(*) FROM entries",
		"SELECT CAST(COALESCE(SUM(used_count), 0) AS BIGINT) FROM invites",
		"SELECT COUNT(*) FROM jobs",
	} {
		all = append(all, fmt.Sprint(queryInt(t, l, query)))
	}
	return strings.Join(all, " ")
}

func TestRegister(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		wantStatus(t, "by default", register(l.Client(t), "Ann", nil), 403, "FORBIDDEN")
		setAllowRegistration(t, l, true)
		c := l.Client(t)
		reply := register(c, "Ann", M{"email": "Ann@Example.org", "captchaToken": "not looked at",
			"inviteCode": "nor this"}).OK(201)
		wantFields(t, "data", reply.Object()["data"], "user", "message")
		user, _ := reply.Value("user").(map[string]any)
		id := reply.Text("user.id")
		delete(user, "id")
		wantJSON(t, "user", user, M{"username": "Ann", "email": "Ann@Example.org", "emailVerified": false,
			"role": "user"})
		if reply.Text("message") == "" || reply.Header.Get("Set-Cookie") != "" || len(c.Cookies) != 0 {
			t.Errorf("%s, cookies %v", reply.Body, reply.Header.Values("Set-Cookie"))
		}
		ann := l.SignIn(t, "ann@example.org", "password of Ann") // immediately: no address needs to be verified
		me := ann.Get("/api/auth/me").OK(200)
		wantJSON(t, "id", me.Value("user.id"), id)
		wantJSON(t, "quota", me.Value("quota"),
			M{"maxStorage": 10 << 30, "usedStorage": 0, "maxFiles": 100000, "usedFiles": 0})
		wantJSON(t, "home", me.Value("user.defaultPath"), "/home/Ann")
		ann.Upload("/home/Ann", "a.txt", []byte("x"))
		if n := queryInt(t, l, "SELECT COUNT(*) FROM jobs WHERE type = 'verify-mail'"); n != 0 {
			t.Error("an unrequested mail was sent")
		}

		before := countRegistrationRows(t, l)
		for name, body := range map[string]M{ // abuse case C51
			"ann": nil, "ANN": {"email": "other@example.org"}, "bob": {"email": "aNN@eXAMPLE.ORG"}, "admin": nil,
			"ADMIN": nil, "dora": {"email": "Admin@LOCALHOST"},
		} {
			wantStatus(t, name, register(l.Client(t), name, body), 409, "ALREADY_EXISTS")
		}
		wantStatus(t, "from across sites", register(l.Client(t), "bob", nil, "Sec-Fetch-Site", "cross-site"), 403,
			"FORBIDDEN")
		if after := countRegistrationRows(t, l); after != before {
			t.Errorf("refused registrations leave %s, was %s", after, before)
		}
		wantStatus(t, "bob", register(l.Client(t), "bob", nil), 201, "")

		// closing registration takes effect immediately on every replica
		setAllowRegistration(t, l, false)
		for range 2 {
			wantStatus(t, "closed again", register(l.Client(t), "eve", nil), 403, "FORBIDDEN")
		}
	})
}

func TestRegisterFields(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		setAllowRegistration(t, l, true)
		at, before := 0, countRegistrationRows(t, l)
		post := func(change M) *apptest.Reply {
			at++
			body := M{"username": fmt.Sprint("user", at), "email": fmt.Sprintf("user%d@example.org", at),
				"password": "long enough"}
			for field, value := range change {
				body[field] = value
				if value == "absent" {
					delete(body, field)
				}
			}
			return l.Client(t).Post("/api/auth/register", body)
		}
		for name, change := range map[string]M{
			"no username": {"username": "absent"}, "username null": {"username": nil},
			"username a number": {"username": 12345}, "username of 2": {"username": "ab"},
			"username of 21": {"username": strings.Repeat("a", 21)}, "a hyphen": {"username": "a-b"},
			"a dot": {"username": "a.b"}, "a space": {"username": "a b"}, "an umlaut": {"username": "müller"},
			"a line at the end": {"username": "abc\n"}, "a slash": {"username": "../x"},
			"full-width": {"username": "ａｂｃ"}, "NUL": {"username": "ab\x00c"},
			"no password": {"password": "absent"}, "password null": {"password": nil},
			"password of 7": {"password": "1234567"}, "password of 129": {"password": strings.Repeat("a", 129)},
			// abuse case C107
			"129 characters of 4 bytes": {"password": strings.Repeat("😀", 129)},
			"a password of 1 MB":        {"password": strings.Repeat("a", 1000000)},
			"7 characters in 28 bytes":  {"password": strings.Repeat("😀", 7)},
			"no email":                  {"email": "absent"}, "email null": {"email": nil},
			"no at": {"email": "example.org"}, "a name as well": {"email": "Ann <ann@example.org>"},
			"two addresses":        {"email": "a@example.org, b@example.org"},
			"a header":             {"email": "a@example.org\r\nBcc: b@example.org"},
			"email of 255":         {"email": strings.Repeat("a", 243) + "@example.org"},
			"invite code a number": {"inviteCode": 5}, "invite code too long": {"inviteCode": strings.Repeat("a", 201)},
			"captcha token too long": {"captchaToken": strings.Repeat("a", 4097)},
		} {
			wantStatus(t, name, post(change), 400, "VALIDATION_ERROR")
		}
		if after := countRegistrationRows(t, l); after != before {
			t.Errorf("refused registrations leave %s, was %s", after, before)
		}
		for name, change := range map[string]M{
			"username of 3": {"username": "a_1"}, "username of 20": {"username": strings.Repeat("z", 20)},
			"password of 8": {"password": "12345678"}, "password of 128": {"password": strings.Repeat("a", 128)},
			"128 characters in 512 bytes": {"password": strings.Repeat("😀", 128)},
			"8 characters in 32 bytes":    {"password": strings.Repeat("😀", 8)},
			"email of 254":                {"email": strings.Repeat("a", 242) + "@example.org"},
			"nulls":                       {"inviteCode": nil, "captchaToken": nil},
			"captcha token of 4096":       {"captchaToken": strings.Repeat("a", 4096)},
			"a reserved name":             {"username": "webdav"}, "an unknown field": {"whatever": []int{1}},
		} {
			wantStatus(t, name, post(change), 201, "")
		}

		// abuse case C52: of a repeated field only the last counts, and no field that only looks
		// alike
		body := `{"username":"mallory","email":"m@example.org","password":"long enough","role":"admin","ROLE":"admin","Role":"admin","emailVerified":true,"EmailVerified":true,` +
			`"status":"banned","maxStorage":-1,"maxFiles":-1,"MaxStorage":-1,"homeId":"x","HomeID":"x","defaultPath":"/","DefaultPath":"/","id":"x","ID":"x","Username":"admin2","PASSWORD":"another one",` +
			`"locale":"zh-CN","sessionVersion":100}`
		reply := l.Client(t).Post("/api/auth/register", body, "Content-Type", "application/json").OK(201)
		wantJSON(t, "username", reply.Value("user.username"), "mallory")
		wantJSON(t, "role", reply.Value("user.role"), "user")
		wantJSON(t, "emailVerified", reply.Value("user.emailVerified"), false)
		me := l.SignIn(t, "mallory", "long enough").Get("/api/auth/me").OK(200)
		wantJSON(t, "quota", me.Value("quota.maxStorage"), 10<<30)
		wantJSON(t, "files", me.Value("quota.maxFiles"), 100000)
		wantJSON(t, "path", me.Value("user.defaultPath"), "/home/mallory")
		wantJSON(t, "locale", me.Value("user.locale"), "en-US")
		if n := queryInt(t, l, "SELECT COUNT(*) FROM users WHERE role = 'admin'"); n != 1 {
			t.Errorf("%d administrators", n)
		}
	})
}

func TestRegisteredLocale(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	setAllowRegistration(t, l, true)
	at := 0
	for accept, want := range map[string]string{
		"": "en-US", "zh": "zh-CN", "zh-CN,zh;q=0.9,en;q=0.8": "zh-CN", "zh-TW": "zh-CN", "ZH-hans": "zh-CN",
		"en": "en-US", "en-GB,en;q=0.9,zh;q=0.8": "en-US", "de-DE,de;q=0.9": "en-US",
		"de, zh;q=0.5": "zh-CN", "en;q=0.2, zh;q=0.7": "zh-CN", "zh;q=0": "en-US", "zh;q=x": "en-US", "*": "en-US",
		"zhx": "en-US", ";;,,": "en-US", strings.Repeat("de,", 5000) + "zh": "en-US",
	} {
		at++
		name := fmt.Sprint("user", at)
		register(l.Client(t), name, nil, "Accept-Language", accept).OK(201)
		if n := queryInt(t, l, "SELECT COUNT(*) FROM users WHERE username = $1 AND locale = $2", name, want); n != 1 {
			t.Errorf("%.60q does not make %s", accept, want)
		}
	}
}

// With email off or not configured, a registration that needs verification is refused.
func TestRegisterNeedsMailsForVerification(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := requireVerifiedEmail(t, l)
		code := invite(l.Admin(t), M{})
		l.ChangeSettings(t, func(s *site.Settings) { s.RequireInviteCode = true })
		before := countRegistrationRows(t, l)
		l.ChangeSettings(t, func(s *site.Settings) { s.EmailEnabled = false })
		wantStatus(t, "switched off", register(l.Client(t), "ann", M{"inviteCode": code}), 500, "MAIL_ERROR")
		l.ChangeSettings(t, func(s *site.Settings) { s.EmailEnabled, s.SMTPHost = true, "" })
		wantStatus(t, "not set up", register(l.Client(t), "ann", M{"inviteCode": code}), 500, "MAIL_ERROR")
		if after := countRegistrationRows(t, l); after != before {
			t.Errorf("it leaves %s, was %s", after, before)
		}
		l.ChangeSettings(t, func(s *site.Settings) { s.SMTPHost = box.Host })
		register(l.Client(t), "ann", M{"inviteCode": code}).OK(201)
		link, _ := mailLink(t, verifyPath, box.Next("ann@example.org"))
		l.Client(t).Get(link).OK(200)
		l.SignIn(t, "ann", "password of ann")

		// an account from before verification was required must verify its address once it is
		l.ChangeSettings(t, func(s *site.Settings) { s.RequireEmailVerification, s.RequireInviteCode = false, false })
		register(l.Client(t), "bob", nil).OK(201)
		l.SignIn(t, "bob", "password of bob")
		execAndRaiseVersion(t, l, "UPDATE users SET email_verified = FALSE WHERE username = 'admin'")
		l.ChangeSettings(t, func(s *site.Settings) { s.RequireEmailVerification = true })
		wantStatus(t, "bob", postLogin(l.Client(t), "bob", "password of bob"), 403, "EMAIL_NOT_VERIFIED")
		l.Admin(t)
		l.Client(t).Post("/api/auth/resend-verification", M{"email": "bob@example.org"}).OK(200)
		link, _ = mailLink(t, verifyPath, box.Next("bob@example.org"))
		l.Client(t).Get(link).OK(200)
		l.SignIn(t, "bob", "password of bob")
	})
}

// A failed registration leaves nothing, wherever it fails: the job for the mail is its last step.
func TestFailedRegistrationLeavesNothing(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		requireVerifiedEmail(t, l)
		code := invite(l.Admin(t), M{})
		l.ChangeSettings(t, func(s *site.Settings) { s.RequireInviteCode = true })
		before := countRegistrationRows(t, l)
		for _, table := range []string{"quotas", "entries", "jobs"} {
			execDDL(t, l, "ALTER TABLE "+table+" RENAME TO away")
			wantStatus(t, "without "+table, register(l.Client(t), "ann", M{"inviteCode": code}), 500, "INTERNAL_ERROR")
			execDDL(t, l, "ALTER TABLE away RENAME TO "+table)
			if after := countRegistrationRows(t, l); after != before {
				t.Errorf("without %s it leaves %s, was %s", table, after, before)
			}
		}
		register(l.Client(t), "ann", M{"inviteCode": code}).OK(201)
		if n := queryInt(t, l, "SELECT COUNT(*) FROM entries WHERE name LIKE 'ann%'"); n != 1 {
			t.Errorf("%d homes", n)
		}
	})
}

func TestRegisterInParallel(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		setAllowRegistration(t, l, true)
		admin := l.Admin(t)
		const n, rounds = 20, 2
		for round := range rounds { // abuse case C51
			name := fmt.Sprint("name", round, "abcdefgh")
			got := countStatuses(t, runConcurrently(t, l.Client(t), n, func(c *apptest.Client, i int) *apptest.Reply {
				return register(c, name[:5]+withUpperCase(name[5:], i),
					M{"email": fmt.Sprintf("%d_%d@example.org", round, i)})
			}))
			if got[201] != 1 || got[409] != n-1 {
				t.Errorf("one name: %v", got)
			}
			if homes := queryInt(t, l, "SELECT COUNT(*) FROM entries WHERE LOWER(name) LIKE $1",
				name+"%"); homes != 1 {
				t.Errorf("%d homes", homes)
			}
			got = countStatuses(t, runConcurrently(t, l.Client(t), n, func(c *apptest.Client, i int) *apptest.Reply {
				return register(c, fmt.Sprintf("a%d_%d", round, i),
					M{"email": fmt.Sprintf("%s%d@example.org", withUpperCase("abcdefgh", i), round)})
			}))
			if got[201] != 1 || got[409] != n-1 {
				t.Errorf("one address: %v", got)
			}
			for required, refusal := range map[bool]int{true: 400, false: 403} {
				l.ChangeSettings(t, func(s *site.Settings) {
					s.AllowRegistration, s.RequireInviteCode = required, required
				})
				code := invite(admin, M{})
				got := countStatuses(t, runConcurrently(t, l.Client(t), n,
					func(c *apptest.Client, i int) *apptest.Reply {
						return register(c, fmt.Sprintf("i%d%v%d", round, required, i), M{"inviteCode": code})
					}))
				if got[201] != 1 || got[refusal] != n-1 {
					t.Errorf("one invite, required %v: %v", required, got)
				}
				if used := queryInt(t, l, "SELECT used_count FROM invites WHERE code = $1", code); used != 1 {
					t.Errorf("it was used %d times", used)
				}
			}
			setAllowRegistration(t, l, true)
			l.ChangeSettings(t, func(s *site.Settings) { s.RequireInviteCode = false })
		}
		users, quotas := queryInt(t, l, "SELECT COUNT(*) FROM users"), queryInt(t, l, "SELECT COUNT(*) FROM quotas")
		if users != 1+rounds*4 || quotas != users {
			t.Errorf("%d users, %d quotas", users, quotas)
		}
	})
}

// withUpperCase returns text with those letters in upper case that the bits of n select.
func withUpperCase(text string, n int) string {
	out := []byte(text)
	for i := range out {
		if n>>i&1 == 1 {
			out[i] -= 'a' - 'A'
		}
	}
	return string(out)
}

func TestRegistrationsInTheLog(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		setAllowRegistration(t, l, true)
		id := register(l.Client(t), "ann", M{"inviteCode": "canary-code", "captchaToken": "canary-captcha"}).OK(201).
			Text("user.id")
		l.Clock.Advance(time.Second)
		register(l.Client(t), "ann", M{"email": "canary-address@example.org"}).Fails(409, "ALREADY_EXISTS")
		l.FlushLog()
		reply := admin.Get("/api/admin/logs?action=register").OK(200)
		wantJSON(t, "how many", reply.Value("pagination.total"), 2)
		for i, want := range []struct {
			user, name any
			status     int
		}{{nil, nil, 409}, {id, "ann", 201}} {
			row, _ := reply.Value(fmt.Sprint("logs.", i)).(map[string]any)
			wantJSON(t, "user", row["userId"], want.user)
			wantJSON(t, "name", row["username"], want.name)
			wantJSON(t, "status", row["statusCode"], want.status)
			wantJSON(t, "path", row["path"], "/api/auth/register")
		}
		for _, text := range []string{dumpLog(t, l), l.Log.String()} {
			if strings.Contains(text, "canary") || strings.Contains(text, "password of ann") {
				t.Errorf("the typed password is stored: %s", text)
			}
		}
	})
}

// Registration, verification links and requests for another link share one bucket of the strict
// limit with logins.
func TestRegistrationIsUnderTheAuthLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		setAllowRegistration(t, l, true)
		link := "?token=" + strings.Repeat("x", 43)
		at := 0
		for _, ask := range []func(c *apptest.Client) *apptest.Reply{
			func(c *apptest.Client) *apptest.Reply {
				at++
				return register(c, fmt.Sprintf("user%d", at), nil)
			},
			func(c *apptest.Client) *apptest.Reply { return c.Get("/api/auth/verify-email" + link) },
			func(c *apptest.Client) *apptest.Reply { return c.Head("/api/auth/verify" + link) },
			func(c *apptest.Client) *apptest.Reply {
				return c.Post("/api/auth/resend-verification", M{"email": "user1@example.org"})
			},
			func(c *apptest.Client) *apptest.Reply { return postLogin(c, "admin", "wrong") },
		} {
			want := 5 * len(l.Apps) // replicas without a shared Redis count on their own
			for i := range want {
				wantStatus(t, fmt.Sprint("link ", i), l.Client(t).Get("/api/auth/verify"+link), 400, "")
			}
			wantStatus(t, "one more", ask(l.Client(t)), 429, "RATE_LIMIT_EXCEEDED")
			wantStatus(t, "one request more", ask(l.Client(t)), 429, "RATE_LIMIT_EXCEEDED")
			l.Clock.Advance(time.Minute)
			if got := ask(l.Client(t)); got.Status == 429 || got.Header.Get("RateLimit-Limit") != "5" ||
				got.Header.Get("RateLimit-Remaining") != "4" {
				t.Errorf("a minute later: %d %v", got.Status, got.Header)
			}
			l.Clock.Advance(time.Minute)
		}
	}, withLimits(5, 10000))
}
