package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/site"
)

// captchaServer plays the captcha provider's verify address. The token `human` is valid.
type captchaServer struct {
	mu       sync.Mutex
	requests []string // secret, token, address
	broken   bool
	url      string
}

func newCaptchaServer(t *testing.T) *captchaServer {
	t.Helper()
	s := &captchaServer{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r.PostFormValue("secret")+" "+r.PostFormValue("response")+" "+
			r.PostFormValue("remoteip"))
		switch {
		case s.broken:
			w.WriteHeader(503)
		case r.PostFormValue("response") == "human":
			_, _ = io.WriteString(w, `{"success":true}`)
		default:
			_, _ = io.WriteString(w, `{"success":false,"error-codes":["invalid-input-response"]}`)
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL + "/siteverify"
	return s
}

// takeRequests returns the requests and forgets them.
func (s *captchaServer) takeRequests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.requests
	s.requests = nil
	return asked
}

func (s *captchaServer) setBroken(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// configure is a config change for apptest.Each.
func (s *captchaServer) configure(cfg *config.Config) {
	cfg.CaptchaVerifyURL, cfg.CaptchaSecret, cfg.CaptchaProvider = s.url, "canary-captcha-secret", "turnstile"
}

func TestBotCheck(t *testing.T) {
	t.Parallel()
	servers := map[string]*captchaServer{"sqlite": newCaptchaServer(t), "postgres": newCaptchaServer(t)}
	for engine, captcha := range servers {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			l := apptest.Start(t, engine, apptest.ReachLoopback, apptest.TrustLoopback, captcha.configure)
			checkBotCheck(t, l, captcha)
		})
	}
}

func checkBotCheck(t *testing.T, l *apptest.Larder, captcha *captchaServer) {
	admin := l.Admin(t)
	setAllowRegistration(t, l, true)
	code := invite(admin, M{"maxUses": 100})
	from := []string{"X-Forwarded-For", "203.0.113.7"}
	signIn := func(name, password string, token any) *apptest.Reply {
		return l.Client(t).Post("/api/auth/login", M{"username": name, "password": password, "captchaToken": token},
			from...)
	}
	// while the check is off, the provider is not asked
	register(l.Client(t), "early", M{"captchaToken": "robot"}).OK(201)
	signIn("early", "password of early", "robot").OK(200)
	if asked := captcha.takeRequests(); asked != nil {
		t.Errorf("asked %v", asked)
	}
	l.ChangeSettings(t, func(s *site.Settings) { s.EnableCaptcha, s.CaptchaSiteKey = true, "site-key" })
	features := l.Client(t).Get("/api/public/features").OK(200)
	wantJSON(t, "enableCaptcha", features.Value("enableCaptcha"), true)
	wantJSON(t, "captchaSiteKey", features.Value("captchaSiteKey"), "site-key")
	wantJSON(t, "captchaProvider", features.Value("captchaProvider"), "turnstile")

	before := countRegistrationRows(t, l)
	for name, token := range map[string]any{"missing": nil, "empty": "", "too long": strings.Repeat("a", 4097)} {
		wantStatus(t, "register, "+name, register(l.Client(t), "ann", M{"captchaToken": token}), 400,
			"VALIDATION_ERROR")
		wantStatus(t, "login, "+name, signIn("early", "password of early", token), 400, "VALIDATION_ERROR")
	}
	if asked := captcha.takeRequests(); asked != nil {
		t.Errorf("asked %v", asked)
	}
	refused := register(l.Client(t), "ann", M{"captchaToken": "robot"}, from...)
	wantStatus(t, "register, refused", refused, 400, "VALIDATION_ERROR")
	wantStatus(t, "login, refused", signIn("early", "password of early", "robot"), 400, "VALIDATION_ERROR")
	// the captcha is checked first
	wantStatus(t, "login, refused, wrong password", signIn("early", "wrong", "robot"), 400, "VALIDATION_ERROR")
	want := "canary-captcha-secret robot 203.0.113.7"
	wantJSON(t, "asked", captcha.takeRequests(), []string{want, want, want})

	// a request that is refused anyway is refused before
	setAllowRegistration(t, l, false)
	wantStatus(t, "closed", register(l.Client(t), "ann", M{"captchaToken": "human"}), 403, "FORBIDDEN")
	wantStatus(t, "invalid", register(l.Client(t), "ann",
		M{"captchaToken": "human", "inviteCode": code, "password": "1234567"}), 400, "VALIDATION_ERROR")
	wantStatus(t, "from across sites", register(l.Client(t), "ann", M{"captchaToken": "human", "inviteCode": code},
		"Sec-Fetch-Site", "cross-site"), 403, "FORBIDDEN")
	l.ChangeSettings(t, func(s *site.Settings) { s.RequireInviteCode = true })
	wantStatus(t, "a wrong invite", register(l.Client(t), "ann", M{"captchaToken": "human", "inviteCode": "wrong"}),
		400, "VALIDATION_ERROR")
	if asked := captcha.takeRequests(); asked != nil {
		t.Errorf("asked %v", asked)
	}

	captcha.setBroken(true) // every login is refused, and the answer does not blame the client
	wantStatus(t, "register, no answer", register(l.Client(t), "ann", M{"captchaToken": "human", "inviteCode": code}),
		500, "INTERNAL_ERROR")
	wantStatus(t, "login, no answer", signIn("early", "password of early", "human"), 500, "INTERNAL_ERROR")
	captcha.setBroken(false)
	if after := countRegistrationRows(t, l); after != before {
		t.Errorf("refused registrations leave %s, was %s", after, before)
	}
	register(l.Client(t), "ann", M{"captchaToken": "human", "inviteCode": code}).OK(201)
	signIn("ann", "password of ann", "human").OK(200)
	wantStatus(t, "login, wrong password", signIn("ann", "wrong", "human"), 401, "INVALID_CREDENTIALS")
	for _, secret := range []string{"canary-captcha-secret", "robot"} {
		if strings.Contains(l.Log.String(), secret) {
			t.Errorf("%s is logged", secret)
		}
	}
}

// When the verify address is forbidden or invalid, the check fails closed.
func TestBotCheckFailsClosed(t *testing.T) {
	t.Parallel()
	captcha := newCaptchaServer(t)
	for name, change := range map[string]func(*config.Config){
		"not configured": func(*config.Config) {}, "not public": captcha.configure,
		"the service itself": func(cfg *config.Config) {
			apptest.ReachLoopback(cfg)
			captcha.configure(cfg)
			cfg.CaptchaVerifyURL = apptest.BaseURL + "/api/public/health"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := apptest.Start(t, "sqlite", change)
			l.ChangeSettings(t, func(s *site.Settings) { s.EnableCaptcha, s.AllowRegistration = true, true })
			wantStatus(t, "register", register(l.Client(t), "ann", M{"captchaToken": "human"}), 500, "INTERNAL_ERROR")
			wantStatus(t, "login", l.Client(t).Post("/api/auth/login",
				M{"username": "admin", "password": apptest.AdminPassword, "captchaToken": "human"}), 500,
				"INTERNAL_ERROR")
			if asked := captcha.takeRequests(); asked != nil {
				t.Errorf("asked %v", asked)
			}
		})
	}
}
