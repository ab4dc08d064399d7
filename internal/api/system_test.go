package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/site"
)

func TestPublicSettings(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		for range 2 {
			reply := l.Client(t).Get("/api/public/settings").OK(200)
			wantFields(t, "data", reply.Object()["data"], "siteTitle", "siteLogo", "siteFavicon",
				"allowGuestAccess", "allowRegistration", "requireEmailVerification")
			wantJSON(t, "data", reply.Object()["data"], M{
				"siteTitle": "Larder", "siteLogo": "", "siteFavicon": "", "allowGuestAccess": true,
				"allowRegistration": false, "requireEmailVerification": false,
			})
		}
	})
	registration := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.AllowRegistration = true })
	wantJSON(t, "allowRegistration as configured",
		registration.Client(t).Get("/api/public/settings").OK(200).Value("allowRegistration"), true)
}

func TestPublicFeatures(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.CaptchaProvider = "turnstile" })
	reply := l.Client(t).Get("/api/public/features").OK(200)
	wantJSON(t, "data", reply.Object()["data"], M{
		"enableCaptcha": false, "captchaProvider": "turnstile", "captchaSiteKey": "", "inviteRequired": false,
		"emailEnabled": false, "freeMode": true, "siteDescription": "",
	})
	l.ChangeSettings(t, func(s *site.Settings) { s.SiteDescription = "Pictures of the lake" })
	wantJSON(t, "siteDescription", l.Client(t).Get("/api/public/features").OK(200).Value("siteDescription"),
		"Pictures of the lake")
}

// Addresses are made from the configured base URL, whatever the request's headers say. Abuse case
// C47.
func TestForeignHostHeadersAreIgnored(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.TrustLoopback)
	admin := l.Admin(t)
	body, err := json.Marshal(newKey(nil))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest("POST", "http://"+l.Apps[0].Addr().String()+"/api/keys/", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	for name, value := range map[string]string{
		"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example", "X-Original-Host": "evil.example",
		"X-Forwarded-For": "203.0.113.1",
		"Content-Type":    "application/json", "X-CSRF-Token": admin.CSRF,
		"Cookie": "auth_token=" + admin.Cookies["auth_token"],
	} {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 201 || strings.Contains(string(text), "evil") ||
		!strings.Contains(string(text), `"http://larder.test/api/upload"`) {
		t.Errorf("status %d, %v: %s", response.StatusCode, err, text)
	}
}

// A malformed request that reaches no handler gets no page of the site and causes no crash: abuse
// cases C106, C121.
func TestMalformedHTTP(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	for name, row := range map[string]struct{ request, want string }{
		"a broken escape": {"GET /api/%zz HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
		"both lengths": {
			"POST /api/auth/logout HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"0\r\n\r\n", "400"},
		"chunks before HTTP/1.1": {
			"POST /api/auth/logout HTTP/1.0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"400"},
		"chunks": {
			"POST /api/auth/logout HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" +
				"0\r\n\r\n", "200"},
		"two lengths": {
			"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", "400"},
		"headers over 64 KB": {"GET /api/auth/me HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("a", 70<<10) +
			"\r\n\r\n", "431"},
		"HTTP/2 without TLS": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "405"},
		"no host":            {"GET /api/auth/me HTTP/1.1\r\n\r\n", "400"},
		"an absolute address": {
			"GET http://evil.example/api/auth/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "401"},
		"an asterisk":             {"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "200"},
		"a malformed query":       {"GET /api/files?path=%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "401"},
		"a path that is no UTF-8": {"GET /api/%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "404"},
		"a path with a NUL":       {"GET /api/files/%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "401"},
	} {
		connection, err := net.Dial("tcp", l.Apps[0].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		// the server may close the connection before it has read everything
		_, _ = io.WriteString(connection, row.request)
		line, err := bufio.NewReader(connection).ReadString('\n')
		if fields := strings.Fields(line); err != nil || len(fields) < 2 || fields[1] != row.want {
			t.Errorf("%s: %q, %v, want %s", name, line, err, row.want)
		}
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	}
	admin := l.Admin(t)
	for _, path := range []string{"/api/files?path=%zz", "/api/files?path=%ff", "/api/files?path=%00",
		"/api/files?path=/&page=%zz", "/api/admin/rules?limit=%00"} {
		wantStatus(t, path, admin.Get(path), 400, "VALIDATION_ERROR")
	}
	for _, path := range []string{"/api/files/%00", "/api/files/%ff", "/api/files/jobs/%00", "/api/admin/rules/%ff%00",
		"/api/keys/%ff", "/api/files/upload/raw/%00", "/api/gateway/download/%00", "/api/i/%ff.png"} {
		for _, method := range []string{"GET", "PUT", "DELETE", "PATCH"} {
			if reply := send(admin, method, path, nil); reply.Status >= 500 || reply.Status < 400 {
				t.Errorf("%s %s: %d %s", method, path, reply.Status, reply.Body)
			}
		}
	}
}
