package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxiedSite is a proxy in front of a server, on one origin for the browser. It adds pages of the
// test below /__host without any policy, as if the site had forgotten its own, and records the
// canaries that it receives.
type proxiedSite struct {
	url  string
	next http.Handler // set before the first request
	mu   sync.Mutex   // guards heard
	// heard holds the files whose canary arrived, each with the origin in which it ran, or `page`
	// for what a page loads without a script.
	heard map[string][]string
}

// lastPage is loaded after everything else. When it has reported itself, slower scripts have had
// enough time.
const lastPage = `<!doctype html><svg xmlns="http://www.w3.org/2000/svg"><rect><animate attributeName="x" dur="1s" onbegin="begun()"/></rect></svg>
<script>function begun() { fetch('/__canary/last/page').then(() => requestAnimationFrame(() => setTimeout(() => parent.postMessage('last', '*')))) }</script>`

func newProxiedSite(t *testing.T) *proxiedSite {
	t.Helper()
	f := &proxiedSite{heard: map[string][]string{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (s *proxiedSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, found := strings.CutPrefix(r.URL.Path, "/__canary/"); found {
		file, origin, _ := strings.Cut(rest, "/")
		s.mu.Lock()
		s.heard[file] = append(s.heard[file], origin)
		s.mu.Unlock()
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Content-Type", "text/plain")
		return
	}
	switch r.URL.Path {
	case "/__host":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><title>host</title><body>`)
	case "/__host/last.js":
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `onconnect = (event) => event.ports[0].postMessage('last')`)
	case "/__host/last":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, lastPage)
	default:
		s.next.ServeHTTP(w, r)
	}
}

// canaries returns those received so far.
func (s *proxiedSite) canaries() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.heard)
}

// elsewhere returns the address of the test's pages on another host name of this machine, which is
// another site.
func (s *proxiedSite) elsewhere() string { return strings.Replace(s.url, "127.0.0.1", "localhost", 1) }

// pass makes the proxy forward all other requests to target.
func (s *proxiedSite) pass(t *testing.T, target string) {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	s.next = newProxy(to)
}

// bareSite starts a file server without any protection: types as claimed or as http.FileServer
// guesses, and a session cookie that its pages may read.
func bareSite(t *testing.T, files []activeFile) *proxiedSite {
	t.Helper()
	f, dir, claims := newProxiedSite(t), t.TempDir(), map[string]string{}
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(dir, file.name), []byte(file.body), 0o600); err != nil {
			t.Fatal(err)
		}
		claims["/"+file.name] = file.claim
	}
	served := http.FileServer(http.Dir(dir))
	f.next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/auth/me" {
			if cookie, err := r.Cookie("auth_token"); err != nil || cookie.Value == "" {
				http.Error(w, "who are you", http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, `{"username":"admin"}`)
			return
		}
		if claim := claims[r.URL.Path]; claim != "" {
			w.Header().Set("Content-Type", claim)
		}
		served.ServeHTTP(w, r)
	})
	return f
}

// The input and output of browser/active.mjs.
type (
	browserCookie struct {
		Name  string `json:"name"`
		Value string `json:"value"`
		URL   string `json:"url"`
	}
	visit struct {
		Host        string            `json:"host"`
		Sealed      bool              `json:"sealed"` // with a policy of its own
		Destination string            `json:"destination"`
		URLs        map[string]string `json:"urls"`
		Expect      []string          `json:"expect"`

		way string // how the URLs are served
		own bool   // the host has the origin of the files
	}
	profile struct {
		Cookies []browserCookie `json:"cookies"`
		Visits  []visit         `json:"visits"`
	}
	visited struct {
		Reports, Loaded, Open []string
		Ms                    int
	}
	profiled struct {
		Workers int
		Visits  []visited
	}
)

// browse shows the visits to the browser.
func browse(t *testing.T, profiles ...profile) []profiled {
	t.Helper()
	input, err := json.Marshal(map[string]any{"profiles": profiles})
	if err != nil {
		t.Fatal(err)
	}
	var results []profiled
	runScript(t, 10*time.Minute, input, &results, "active.mjs")
	if len(results) != len(profiles) {
		t.Fatalf("%d profiles were shown, want %d", len(results), len(profiles))
	}
	for i, p := range profiles {
		if len(results[i].Visits) != len(p.Visits) {
			t.Fatalf("%d visits were made, want %d", len(results[i].Visits), len(p.Visits))
		}
	}
	return results
}
