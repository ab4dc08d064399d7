package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/site"
)

// Browsers ask for the service worker at each use, and its policy allows it to send requests to the
// site alone.
func TestServiceWorker(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	visitor := l.Client(t)
	r := visitor.Get("/app/sw.js", "Service-Worker", "script", "Sec-Fetch-Dest", "serviceworker", "Sec-Fetch-Site",
		"same-origin").OK(200)
	wantBody(t, r, "self.addEventListener('fetch', () => {})")
	for name, want := range map[string]string{
		"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "no-cache",
		"Content-Security-Policy": "default-src 'none'; connect-src 'self'", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin", "Service-Worker-Allowed": "", "RateLimit-Limit": "",
	} {
		wantHeader(t, r, name, want)
	}
	head := visitor.Head("/app/sw.js").OK(200)
	wantHeader(t, head, "Content-Length", "40")
	wantBody(t, head, "")
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		for _, path := range []string{"/app/sw.js", "/app/manifest.webmanifest"} {
			wantHeader(t, visitor.Do(apptest.Request{Method: method, Path: path}).Fails(405, "METHOD_NOT_ALLOWED"),
				"Allow", "GET, HEAD")
		}
	}
}

// Other spellings of the worker's address return the page, which browsers do not run as a worker.
func TestServiceWorkerHasOneAddress(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	for _, path := range []string{"/app/sw.js/", "/app/%73w.js", "/app/SW.js", "/app//sw.js"} {
		wantHeader(t, l.Client(t).Get(path).OK(200), "Content-Type", "text/html; charset=utf-8")
	}
	l.Client(t).Get("/sw.js").Fails(401, "UNAUTHORIZED")
	l.Client(t).Get("/share/sw.js").OK(404)
}

// The server sends the manifest of the build, with the title of the site as the name of the app.
func TestAppManifest(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	visitor := l.Client(t)
	l.ChangeSettings(t, func(s *site.Settings) { s.SiteTitle = `Our "pictures" <b>` })
	r := visitor.Get("/app/manifest.webmanifest").OK(200)
	wantBody(t, r, `{"icons":[{"src":"/app/assets/icon.png"}],"id":"/app/","name":"Our \"pictures\" \u003cb\u003e",`+
		`"scope":"/app/","short_name":"Our \"pictures\" \u003cb\u003e"}`)
	for name, want := range map[string]string{
		"Content-Type": "application/manifest+json", "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin", "RateLimit-Limit": "",
	} {
		wantHeader(t, r, name, want)
	}
	l.ChangeSettings(t, func(s *site.Settings) { s.SiteTitle = "" })
	wantBody(t, visitor.Get("/app/manifest.webmanifest").OK(200), `{"icons":[{"src":"/app/assets/icon.png"}],`+
		`"id":"/app/","name":"Larder","scope":"/app/","short_name":"Larder"}`)
}

// Only the page of the web UI may register a worker: the page of a share may not.
func TestOnlyTheShellAllowsTheWorker(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	visitor := l.Client(t)
	for _, path := range []string{"/", "/app/files", "/app/share-target"} {
		policy, _ := shellPolicy(t, visitor.Get(path).OK(200))
		wantJSON(t, "workers of "+path, policy["worker-src"], "'self'")
		wantJSON(t, "manifests of "+path, policy["manifest-src"], "'self'")
	}
	policy, _ := shellPolicy(t, visitor.Get("/share/none"))
	for _, name := range []string{"worker-src", "manifest-src"} {
		if sources, found := policy[name]; found {
			t.Errorf("%s of the page of a share: %q", name, sources)
		}
	}
}

// A POST to the share target is answered with a redirect to the files. The server reads no byte of
// the body, which may be 20 GiB long (abuse case C134).
func TestShareTargetReadsNoBody(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	visitor := l.Client(t)
	wantHeader(t, visitor.Get("/app/share-target?share=1").OK(200), "Content-Type", "text/html; charset=utf-8")
	for _, method := range []string{"PUT", "DELETE", "PROPFIND"} {
		wantHeader(t, visitor.Do(apptest.Request{Method: method, Path: "/app/share-target"}).
			Fails(405, "METHOD_NOT_ALLOWED"), "Allow", "GET, HEAD, POST")
	}
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"a long body":       {"Sec-Fetch-Site: none\r\nContent-Length: 21474836480", 303},
		"a short body":      {"Sec-Fetch-Site: none\r\nContent-Length: 1000", 303},
		"chunks":            {"Sec-Fetch-Site: none\r\nTransfer-Encoding: chunked", 303},
		"from another site": {"Sec-Fetch-Site: cross-site\r\nContent-Length: 1000", 403},
	} {
		connection, err := net.Dial("tcp", l.Apps[0].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		// no byte of the body follows, so a server that reads it does not answer
		if _, err := io.WriteString(connection, "POST /app/share-target HTTP/1.1\r\nHost: x\r\n"+c.head+
			"\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		_ = connection.SetReadDeadline(time.Now().Add(time.Minute))
		answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		location := map[int]string{303: "/app/files"}[c.status]
		if answer.StatusCode != c.status || answer.Header.Get("Location") != location || !answer.Close ||
			!strings.Contains(answer.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("%s: %d %v", name, answer.StatusCode, answer.Header)
		}
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	}
}
