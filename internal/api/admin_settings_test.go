package api_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"

	"larder/internal/apptest"
	"larder/internal/config"
)

// defaultSettings returns the settings of a new service, with the defaults of
// LARDER_ALLOW_REGISTRATION and the like (docs/operate.md).
func defaultSettings() M {
	return M{
		"siteTitle": "Larder", "siteDescription": "", "siteLogo": "", "siteFavicon": "", "siteAccent": "",
		"allowRegistration": false, "allowGuestAccess": true,
		"requireEmailVerification": false,
		// as apptest configures it
		"enableCaptcha": false, "captchaSiteKey": "", "rateLimitEnabled": true, "rateLimitRequestsPerMinute": 10000.0,
		"smtpHost": "", "smtpPort": 587.0, "smtpSecure": false, "smtpUser": "", "smtpPassword": "", "smtpFromName": "",
		"smtpFromEmail": "", "emailEnabled": false,
		"requireInviteCode": false, "enableFreeMode": true, "trashDays": 30, "trashAll": false, "setup": "steps",
	}
}

const settingsPath = "/api/admin/settings"

func TestSettings(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		want := defaultSettings()
		see := func(what string, reply *apptest.Reply) {
			t.Helper()
			wantJSON(t, what, reply.OK(200).Object()["data"], want)
		}
		see("defaults", admin.Get(settingsPath))
		for _, change := range []M{
			{"siteTitle": "Our Photos", "siteLogo": "https://example.org/logo.svg",
				"siteFavicon": "/public/favicon.png", "siteAccent": "#0a7F5b"},
			{"allowRegistration": true, "allowGuestAccess": false, "requireEmailVerification": true,
				"captchaSiteKey": "site-key"},
			{"rateLimitEnabled": false, "rateLimitRequestsPerMinute": 1},
			{"rateLimitRequestsPerMinute": 10000},
			{"smtpHost": "mail.example.org", "smtpPort": 1, "smtpSecure": true, "smtpUser": "bob",
				"smtpFromName": "Übergabe", "smtpFromEmail": "larder@example.org"},
			{"smtpHost": "2001:db8::1", "smtpPort": 65535, "emailEnabled": true},
			{"smtpHost": "192.0.2.1"}, {"smtpHost": "localhost"}, {"smtpHost": ""},
			{"requireInviteCode": true, "enableFreeMode": false, "enableCaptcha": false},
			{"setup": "checklist"}, {"setup": "done"},
			{"captchaSiteKey": strings.Repeat("x", 500), "smtpUser": strings.Repeat("x", 320),
				"smtpFromName": strings.Repeat("x", 200)},
			{"smtpFromEmail": strings.Repeat("a", 250) + "@b.c", "smtpHost": strings.Repeat("a.", 126) + "a",
				"siteLogo": "https://example.org/" + strings.Repeat("x", 1980)},
			{"siteTitle": strings.Repeat("ü", 200), "siteDescription": strings.Repeat("ü", 500)},
			{"siteTitle": "", "siteLogo": "", "siteFavicon": "", "siteAccent": "", "smtpFromEmail": ""},
			{"unknown": 1, "SITETITLE": "no"}, {"siteTitle": nil, "smtpPort": nil, "emailEnabled": nil}, {},
		} {
			reply := admin.Patch(settingsPath, change)
			for name, value := range change {
				if _, known := want[name]; !known || value == nil {
					continue
				}
				if n, ok := value.(int); ok {
					value = float64(n)
				}
				want[name] = value
			}
			see(fmt.Sprint(change), reply)
			see("then", admin.Get(settingsPath)) // from the other replica
		}
	}, withTrash)
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		bad := map[string][]any{
			"siteDescription": {1, strings.Repeat("ü", 501), "a\nb", "a\u202eb"},
			"siteTitle": {1, true, []string{}, strings.Repeat("ü", 201), "a\r\nBcc: eve@example.org",
				"a\nb", "a\tb", "a\u2028b", "a\x7f", "a\u202eb", "\u202aa", "a\u2066b", "a\u2069"},
			"siteLogo": {1, "javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)",
				"java\tscript:alert(1)", "data:image/png;base64,AAAA", "DATA:text/html,x", "vbscript:x",
				"file:///etc/passwd", "ftp://example.org/a", "//example.org/a.png", "/\\example.org", "\\\\example.org",
				"logo.png", "http://", "https:example.org", "https://user:pass@example.org/a",
				"https://example.org/a b", "https://example.org/" + strings.Repeat("x", 1981)},
			"siteFavicon": {"javascript:alert(1)", "data:image/png;base64,AAAA", "//example.org/a.png",
				"favicon.ico", false},
			"siteAccent": {1, "red", "#0a7f5", "#0a7f5bb", "0a7f5b", "#0a7f5g", " #0a7f5b", "#0a7f5b\n",
				`#"><script>`},
			"captchaSiteKey":             {1, strings.Repeat("x", 501), "a\nb"},
			"rateLimitRequestsPerMinute": {0, -1, 10001, "600", 1.5, true, 1e30},
			"smtpPort":                   {0, -1, 65536, "587", 1.5},
			"smtpHost": {1, "http://mail.example.org", "mail.example.org:25", "mail example.org",
				"-a.example.org", "a..b", "[::1]", "fe80::1%eth0", "a\r\nb", "mail.example.org/",
				"user@mail.example.org", strings.Repeat("a.", 126) + "aa"},
			"smtpUser":     {1, "a\r\nb", strings.Repeat("x", 321)},
			"smtpPassword": {1, "a\nb", strings.Repeat("x", 1001)},
			"smtpFromName": {1, "a\r\nBcc: eve@example.org", strings.Repeat("x", 201)},
			"smtpFromEmail": {1, "nobody", "a@b\r\nBcc: eve@example.org", "Ann <ann@example.org>",
				"a@b, c@d", "a b@c", strings.Repeat("a", 251) + "@b.c"},
			"allowRegistration": {"true", 1}, "allowGuestAccess": {"false"}, "requireEmailVerification": {0},
			"enableCaptcha": {"on", true}, "rateLimitEnabled": {1},
			"smtpSecure": {"true"}, "emailEnabled": {"true"}, "requireInviteCode": {1}, "enableFreeMode": {"x"},
			"trashDays": {-1, 366, "x"}, "trashAll": {1},
			"setup": {"", "Steps", "later", true},
		}
		for name, values := range bad {
			for _, value := range values {
				body := M{"siteTitle": "changed", name: value}
				what := fmt.Sprintf("%s: %v", name, value)
				reply := admin.Patch(settingsPath, body)
				wantStatus(t, what, reply, 400, "VALIDATION_ERROR")
				// a value of another type is refused with the whole body
				if hasTypeOf(value, defaultSettings()[name]) {
					wantJSON(t, what+" names the field", reply.Object()["error"].(map[string]any)["field"], name)
				}
			}
		}
		wantStatus(t, "no object", admin.Patch(settingsPath, "[]", "Content-Type", "application/json"), 400,
			"VALIDATION_ERROR")
		wantJSON(t, "afterwards", admin.Get(settingsPath).OK(200).Object()["data"], defaultSettings())
	}, withTrash)
}

// hasTypeOf reports whether a setting accepts the type of a value. Numeric settings accept only
// whole numbers.
func hasTypeOf(value, setting any) bool {
	if _, whole := value.(int); whole {
		value = 0.0
	} else if _, broken := value.(float64); broken {
		return false
	}
	return reflect.TypeOf(value) == reflect.TypeOf(setting)
}

// The bot check can be switched on only when a captcha provider is configured.
func TestCaptchaNeedsAVerifyAddress(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		wantJSON(t, "enableCaptcha", admin.Patch(settingsPath, M{"enableCaptcha": true}).OK(200).Value("enableCaptcha"),
			true)
		wantJSON(t, "enableCaptcha", admin.Patch(settingsPath,
			M{"enableCaptcha": false}).OK(200).Value("enableCaptcha"), false)
	}, func(cfg *config.Config) {
		cfg.CaptchaVerifyURL, cfg.CaptchaSecret, cfg.CaptchaProvider = "https://captcha.example.org/siteverify", "secret", "turnstile"
	})
}

// Abuse case C115.
func TestMailPasswordIsNeverReturned(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		box := apptest.NewMailbox(t, apptest.NoTLS, "bob", "the first canary")
		works := func(want int) {
			t.Helper()
			wantStatus(t, "test mail", admin.Post(settingsPath+"/test-email", M{"to": "ann@example.org"}), want,
				map[int]string{500: "MAIL_ERROR"}[want])
		}
		patch := func(body M, shown string) {
			t.Helper()
			reply := admin.Patch(settingsPath, body).OK(200)
			wantJSON(t, fmt.Sprint(body), reply.Value("smtpPassword"), shown)
			if again := admin.Get(settingsPath).OK(200); again.Value("smtpPassword") != shown ||
				bytes.Contains(append(again.Body, reply.Body...), []byte("canary")) {
				t.Errorf("%v: %s %s", body, reply.Body, again.Body)
			}
		}
		patch(M{"smtpHost": box.Host, "smtpPort": box.Port, "smtpUser": "bob", "smtpFromEmail": "larder@example.org"},
			"")
		patch(M{"smtpPassword": ""}, "")
		patch(M{"smtpPassword": "******"}, "")
		works(500)
		patch(M{"smtpPassword": "the first canary"}, "******")
		works(200)
		for _, keep := range []M{{"smtpPassword": "******"}, {"smtpPassword": ""}, {"smtpPassword": nil},
			{"smtpFromName": "x"}, {"smtpHost": "localhost", "smtpPassword": "******"}, {"smtpHost": box.Host}} {
			patch(keep, "******")
		}
		works(200)
		patch(M{"smtpPassword": strings.Repeat("x", 1000)}, "******")
		patch(M{"smtpPassword": "the second canary"}, "******")
		works(500)
		rows, err := l.Apps[0].DB.Read(context.Background()).Query("SELECT value FROM settings")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var value string
			if err := rows.Scan(&value); err != nil || strings.Contains(value, "canary") {
				t.Errorf("the database contains %s, %v", value, err)
			}
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
		if strings.Contains(l.Log.String(), "canary") {
			t.Error("the log contains the password")
		}
	})
}

// Many administrators each change one setting concurrently. No change is lost.
func TestConcurrentSettingsChanges(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		for round := range 10 {
			changes := M{
				"siteTitle": fmt.Sprint("title ", round), "siteLogo": fmt.Sprint("/logo", round),
				"captchaSiteKey": fmt.Sprint("key", round), "smtpHost": fmt.Sprint("host", round),
				"smtpPort": float64(1000 + round), "smtpUser": fmt.Sprint("user", round),
				"smtpFromName": fmt.Sprint("name", round), "smtpFromEmail": fmt.Sprintf("a%d@example.org", round),
			}
			var all sync.WaitGroup
			for name, value := range changes {
				c := admin.Fork()
				all.Go(func() {
					if reply := c.Patch(settingsPath, M{name: value}); reply.Status != 200 {
						t.Errorf("%s: %d %s", name, reply.Status, reply.Body)
					}
				})
			}
			all.Wait()
			want := defaultSettings()
			maps.Copy(want, changes)
			wantJSON(t, fmt.Sprint("round ", round), admin.Get(settingsPath).OK(200).Object()["data"], want)
		}
	}, withTrash)
}

// A change applies from the next request on, for visitors and users, on every replica.
func TestSettingsTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, user, visitor := l.Admin(t), l.User(t, "ann"), l.Client(t)
		admin.Post("/api/files/folder", M{"path": "/public", "name": "seen"}).OK(201)
		for i, open := range []bool{false, true, false} {
			title := fmt.Sprint("title ", i)
			admin.Patch(settingsPath, M{"allowGuestAccess": open, "siteTitle": title, "requireInviteCode": open}).
				OK(200)
			for range 2 {
				want := 401
				if open {
					want = 200
				}
				wantStatus(t, "a visitor", visitor.Get("/api/public/files?path=/public"), want, "")
				wantStatus(t, "a user", user.Get("/api/auth/me"), 200, "")
				settings := visitor.Get("/api/public/settings").OK(200)
				wantJSON(t, "siteTitle", settings.Value("siteTitle"), title)
				wantJSON(t, "allowGuestAccess", settings.Value("allowGuestAccess"), open)
				features := visitor.Get("/api/public/features").OK(200)
				wantJSON(t, "inviteRequired", features.Value("inviteRequired"), open)
				wantJSON(t, "freeMode", features.Value("freeMode"), open)
				if page := visitor.Get("/api/auth/verify?token=none", "Accept",
					"text/html"); !strings.Contains(string(page.Body), title) {
					t.Errorf("a page does not show %q: %s", title, page.Body)
				}
			}
		}
	})
}

// The request limit of visitors costs no query. The process that made a change applies it
// immediately, the others within a second.
func TestRequestLimitFollowsItsSetting(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin, visitor := l.Admin(t), l.Client(t)
	for _, limit := range []string{"700", "", "800"} {
		if limit == "" {
			admin.Patch(settingsPath, M{"rateLimitEnabled": false}).OK(200)
		} else {
			perMinute, err := strconv.Atoi(limit)
			if err != nil {
				t.Fatal(err)
			}
			admin.Patch(settingsPath, M{"rateLimitEnabled": true, "rateLimitRequestsPerMinute": perMinute}).OK(200)
		}
		wantHeader(t, visitor.Get("/api/public/settings").OK(200), "RateLimit-Limit", limit)
	}
}

func TestTestEmail(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		send := func(to any) *apptest.Reply { return admin.Post(settingsPath+"/test-email", M{"to": to}) }
		wantStatus(t, "without configuration", send("ann@example.org"), 400, "VALIDATION_ERROR")
		admin.Patch(settingsPath, M{"smtpHost": "127.0.0.1", "smtpPort": 1}).OK(200)
		wantStatus(t, "no sender", send("ann@example.org"), 400, "VALIDATION_ERROR")
		box := apptest.NewMailbox(t, apptest.NoTLS, "", "", func(b *apptest.Mailbox, _ *smtp.Server) {
			b.Refuse = func(to string) error {
				if to == "full@example.org" {
					return &smtp.SMTPError{Code: 552, EnhancedCode: smtp.EnhancedCode{5, 2, 2},
						Message: "mailbox of <b>full</b> is full"}
				}
				return nil
			}
		})
		// and email is off
		admin.Patch(settingsPath, M{"smtpPort": box.Port, "smtpFromEmail": "larder@example.org"}).OK(200)
		for _, bad := range []any{nil, "", 1, "nobody", "a@b\r\nBcc: eve@example.org", "a@b\nRCPT TO:<eve@example.org>",
			"Ann <ann@example.org>", "a@b,c@d", strings.Repeat("a", 251) + "@b.c"} {
			wantStatus(t, fmt.Sprintf("to %v", bad), send(bad), 400, "VALIDATION_ERROR")
		}
		if box.Len() != 0 {
			t.Fatalf("%d messages were sent", box.Len())
		}
		reply := send("ann@example.org").OK(200)
		wantFields(t, "data", reply.Object()["data"], "message")
		if got := box.Next("ann@example.org"); !strings.Contains(got.Text, "admin") ||
			!strings.Contains(got.Subject, "Larder") {
			t.Errorf("the message is %s: %s", got.Subject, got.Text)
		}
		refused := send("full@example.org")
		wantStatus(t, "refused", refused, 500, "MAIL_ERROR")
		if !bytes.Contains(refused.Body, []byte("552 5.2.2 mailbox of <b>full</b> is full")) {
			t.Errorf("the server's answer is missing: %s", refused.Body)
		}
		if !strings.Contains(l.Log.String(), "552 5.2.2") {
			t.Error("the log does not contain it either")
		}
		l.FlushLog()
		if logged := string(admin.Get("/api/admin/logs?action=admin&limit=200").OK(200).Body); strings.Count(logged,
			settingsPath+"/test-email") != 1 || strings.Count(logged, `"`+settingsPath+`"`) != 2 {
			t.Errorf("logged %s", logged)
		}
	})
}

// The mail server must have a public address or one in the configured ranges. No mail goes to
// another address. For a forbidden address, the test of the settings answers like for an address
// where nothing listens.
func TestMailServerAddressIsRestricted(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		allow []netip.Prefix
		comes bool
	}{
		"nothing": {nil, false}, "another range": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.2/31")}, false},
		"it": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.SMTPAllowPrivate = row.allow })
			l.Resolver.Set("mail.test", "127.0.0.1")
			admin, alice := l.Admin(t), l.User(t, "alice")
			box := apptest.NewMailbox(t, apptest.NoTLS, "", "")
			test := func() *apptest.Reply { return admin.Post(settingsPath+"/test-email", M{"to": "ann@example.org"}) }
			for _, host := range []string{"127.0.0.1", "mail.test"} {
				admin.Patch(settingsPath, M{"smtpHost": host, "smtpPort": box.Port,
					"smtpFromEmail": "larder@example.org", "emailEnabled": true}).OK(200)
				if row.comes {
					test().OK(200)
					box.Next("ann@example.org")
					continue
				}
				reply := test()
				wantStatus(t, host, reply, 500, "MAIL_ERROR")
				wantStatus(t, host+", a code", sendCode(alice, "new@example.org"), 500, "MAIL_ERROR")
				admin.Patch(settingsPath, M{"smtpPort": 1}).OK(200)
				if closed := test(); errorMessage(t, reply) != errorMessage(t, closed) ||
					!strings.Contains(errorMessage(t, reply), "LARDER_SMTP_ALLOW_PRIVATE") {
					t.Errorf("%s gets the answer %s, a closed port gets %s", host, reply.Body, closed.Body)
				}
			}
			if !row.comes && box.Len() != 0 {
				t.Errorf("%d messages were sent", box.Len())
			}
			if !row.comes && !strings.Contains(l.Log.String(), "may be reached") {
				t.Error("the log does not say why")
			}
		})
	}
}
