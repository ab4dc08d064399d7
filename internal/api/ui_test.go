package api_test

import (
	"regexp"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/site"
)

// shellPolicy returns the Content-Security-Policy of a page by directive, without the nonce; abuse
// case C78.
func shellPolicy(t *testing.T, r *apptest.Reply) (directives map[string]string, nonce string) {
	t.Helper()
	directives = map[string]string{}
	for directive := range strings.SplitSeq(r.Header.Get("Content-Security-Policy"), "; ") {
		name, sources, _ := strings.Cut(directive, " ")
		directives[name] = sources
	}
	found := regexp.MustCompile(`^'nonce-([A-Z2-7]{20,})'`).FindStringSubmatch(directives["script-src"])
	if found == nil {
		t.Fatalf("script-src %q", directives["script-src"])
	}
	directives["script-src"] = strings.TrimPrefix(directives["script-src"], found[0])
	return directives, found[1]
}

// The web UI's page is at every address below /app and at the root, and no stored content runs in
// it.
func TestShellPage(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	visitor := l.Client(t)
	nonces := map[string]bool{}
	for _, path := range []string{"/", "/app", "/app/", "/app/files/home/a%20b", "/app/assets", "/app/none?x=1"} {
		r := visitor.Get(path).OK(200)
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "RateLimit-Limit": "",
		} {
			wantHeader(t, r, name, want)
		}
		policy, nonce := shellPolicy(t, r)
		for name, want := range map[string]string{
			"default-src": "'self'", "script-src": "", "style-src": "'self'", "img-src": "'self' blob: data: https:",
			"media-src":   "'self' blob: https:",
			"connect-src": "'self' https:", "frame-src": "'self'", "object-src": "'none'", "base-uri": "'none'",
			"form-action": "'self'", "frame-ancestors": "'none'",
		} {
			wantJSON(t, path+" "+name, policy[name], want)
		}
		wantBody(t, r, `<!doctype html><html lang="en" data-failure="" data-accent=""><title>Larder</title>`+
			`<script nonce="`+nonce+`" src="/app/assets/index-0a1b.js"></script></html>`+apptest.PageEnd)
		nonces[nonce] = true
	}
	if len(nonces) != 6 {
		t.Errorf("%d nonces for 6 answers", len(nonces))
	}
	head := visitor.Do(apptest.Request{Method: "HEAD", Path: "/app/files"}).OK(200)
	if len(head.Body) > 0 || head.Header.Get("Content-Length") == "0" {
		t.Errorf("HEAD: %s bytes, body %q", head.Header.Get("Content-Length"), head.Body)
	}
	for _, path := range []string{"/app/files", "/app/assets/index-0a1b.js"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PROPFIND"} {
			wantHeader(t, visitor.Do(apptest.Request{Method: method, Path: path}).Fails(405, "METHOD_NOT_ALLOWED"),
				"Allow", "GET, HEAD")
		}
	}
}

// Pages of the application and of shares name the accent of the site, on every replica at once.
func TestPagesNameTheAccentOfTheSite(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		share := shareEntry(admin, admin.Upload("/public", "cat.png", []byte(onePixel)))
		for _, accent := range []string{"#0A7f5b", ""} {
			admin.Patch(settingsPath, M{"siteAccent": accent}).OK(200)
			for range l.Apps { // the client asks the replicas in turn
				for path, status := range map[string]int{"/app/login": 200, "/share/" + share: 200, "/share/none": 404} {
					r := visitor.Get(path)
					mark := `data-accent="` + accent + `"`
					if r.Status != status || !strings.Contains(string(r.Body), mark) {
						t.Errorf("%s: status %d, want %d and %s: %s", path, r.Status, status, mark, r.Body)
					}
				}
			}
		}
	})
}

// The files of the page never change under a name and are sent in the smallest encoding that the
// client accepts.
func TestShellAssets(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	visitor := l.Client(t)
	for _, c := range []struct{ path, accept, body, encoding, media string }{
		{"index-0a1b.js", "identity", "console.log('plain')", "", "text/javascript; charset=utf-8"},
		{"index-0a1b.js", "gzip, deflate, br;q=1.0", "as brotli", "br", "text/javascript; charset=utf-8"},
		{"index-0a1b.js", "gzip, br;q=0", "as gzip", "gzip", "text/javascript; charset=utf-8"},
		{"index-0a1b.js", "br;q=0,gzip;q=0.0, *", "console.log('plain')", "", "text/javascript; charset=utf-8"},
		{"index-2c3d.css", "br, gzip", "body{}", "", "text/css; charset=utf-8"},
	} {
		r := visitor.Get("/app/assets/"+c.path, "Accept-Encoding", c.accept).OK(200)
		wantBody(t, r, c.body)
		for name, want := range map[string]string{
			"Content-Encoding": c.encoding, "Content-Type": c.media,
			"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding",
			"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin", "RateLimit-Limit": "",
		} {
			wantHeader(t, r, name, want)
		}
	}
	for _, path := range []string{"none.js", "", "index-0a1b.js.br", "..%2findex.html", "../index.html",
		"index-0a1b.js/", "%69ndex-0a1b.js"} {
		visitor.Get("/app/assets/"+path, "Accept", "text/html").Fails(404, "NOT_FOUND")
	}
}

// The page's policy names other origins only while the page needs them.
func TestShellPolicyAllowsOnlyNeededOrigins(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback, func(cfg *config.Config) {
		cfg.CaptchaProvider, cfg.CaptchaVerifyURL, cfg.CaptchaSecret = "turnstile", "http://127.0.0.1:1/siteverify", "secret"
	})
	admin, visitor := l.Admin(t), l.Client(t)
	policy := func() map[string]string {
		t.Helper()
		directives, _ := shellPolicy(t, visitor.Get("/app/login").OK(200))
		return directives
	}
	const captcha = " https://challenges.cloudflare.com"
	wantJSON(t, "scripts without the bot check", policy()["script-src"], "")
	l.ChangeSettings(t, func(s *site.Settings) { s.EnableCaptcha = true })
	wantJSON(t, "scripts with it", policy()["script-src"], captcha)
	wantJSON(t, "frames with it", policy()["frame-src"], "'self'"+captcha)
	l.ChangeSettings(t, func(s *site.Settings) { s.EnableCaptcha = false })
	wantJSON(t, "scripts after it", policy()["script-src"], "")

	provider := func(name string, more M) {
		body := M{"name": name, "type": "store_b", "endpoint": "http://127.0.0.1:9", "bucket": name, "accessKeyId": "a",
			"secretAccessKey": "b"}.With(more)
		admin.Post("/api/admin/storage/providers", body).OK(201)
	}
	provider("inner", M{"uploadMode": "worker", "endpoint": "http://127.0.0.1:8"}) // only the service connects to it
	provider("sealed", M{"uploadDomain": "https://up.example.org"})
	wantJSON(t, "without a plain store", policy()["connect-src"], "'self' https:")
	provider("domain", M{"uploadDomain": "http://up.example.org:9000", "publicDomain": "http://cdn.example.org/files"})
	provider("redirect", M{"redirect": true})
	const plain = " http://127.0.0.1:9 http://cdn.example.org http://up.example.org:9000"
	wantJSON(t, "connections to plain stores", policy()["connect-src"], "'self' https:"+plain)
	wantJSON(t, "pictures from plain stores", policy()["img-src"], "'self' blob: data: https:"+plain)
	wantJSON(t, "media from plain stores", policy()["media-src"], "'self' blob: https:"+plain)
	wantJSON(t, "scripts from plain stores", policy()["script-src"], "")
}

// The page's policy names a store by http with the upload mode auto exactly where the service signs
// addresses of it for uploads: on a site by http.
func TestShellPolicyAgreesWithAutomaticUploads(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://larder.test":  "'self' https: http://127.0.0.1:9",
		"https://larder.test": "'self' https:",
	} {
		l := apptest.Start(t, "sqlite", apptest.ReachLoopback, apptest.TrustLoopback,
			func(cfg *config.Config) { cfg.BaseURL = base })
		l.Admin(t).Post("/api/admin/storage/providers", M{"name": "plain", "type": "store_b", "bucket": "plain",
			"endpoint": "http://127.0.0.1:9", "accessKeyId": "a", "secretAccessKey": "b"}).OK(201)
		directives, _ := shellPolicy(t, l.Client(t).Get("/app/login").OK(200))
		wantJSON(t, base, directives["connect-src"], want)
	}
}
