package e2e

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// davFixture is a service for the tests with WebDAV clients.
type davFixture struct {
	*setup
	url string // the address for clients, alternating between the replicas
	// the administrator's key writes everywhere, the others below their owners' homes
	adminKey, annaKey, bertaKey davKey
	sharedKey                   davKey // another key of anna, for /shared
}

// TestWebDAV runs real WebDAV programs with both databases and both stores: one process on SQLite
// with objects on the disk and a bucket mounted beside it, and two replicas on PostgreSQL with a
// bucket, which receive the requests in turn.
func TestWebDAV(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine, store string
		parts, files  int // of rclone: parts, with so many files each
	}{{"sqlite", onDisk, 4, 250}, {"postgres", onBucket, 1, 200}} {
		t.Run(c.engine+"/"+c.store, func(t *testing.T) {
			t.Parallel()
			w := newDAVFixture(t, c.engine, c.store)
			t.Run("at once", func(t *testing.T) {
				for name, client := range map[string]func(t *testing.T){
					"litmus":         func(t *testing.T) { litmus(t, w.url+"/webdav/", w.adminKey) },
					"litmus at home": func(t *testing.T) { litmus(t, w.url+"/webdav/home/anna", w.annaKey) },
					"cadaver":        w.cadaver,
					"rclone":         func(t *testing.T) { w.rclone(t, c.parts, c.files) },
					"curl":           w.curl,
					"Finder":         w.finder,
					"Windows":        w.windows,
				} {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						client(t)
					})
				}
			})
			w.cutShort(t)
			w.locksLast(t)
			w.fsck(t)
		})
	}
}

func newDAVFixture(t *testing.T, engine, store string) *davFixture {
	t.Helper()
	w := &davFixture{setup: newSetup(t, engine, store)}
	if w.url = w.processes[0].url; len(w.processes) > 1 {
		w.url = balancer(t, w.admin.bases)
	}
	for _, name := range []string{"anna", "berta"} {
		w.admin.createUser(t, name, "a long password", "user")
	}
	w.admin.mkdir(t, "/", "shared")
	w.admin.do(t, "POST", "/api/admin/rules", object{"pathPattern": "/shared/**", "effect": "allow", "role": "user"}).
		want(t, 201)
	w.adminKey, w.annaKey, w.bertaKey = w.davKey(t, "admin"), w.davKey(t, "anna"), w.davKey(t, "berta")
	w.sharedKey = w.davKey(t, "anna", "--path", "/shared")
	return w
}

// davKey is a WebDAV key as user name and password.
type davKey struct{ user, password string }

var davLines = regexp.MustCompile(`^address   (https?://\S+)/webdav\nuser name (pk_\w{24})\npassword  (sk_\w{48})\n$`)

// davKey creates a key with the command line.
func (s *site) davKey(t testing.TB, user string, more ...string) davKey {
	t.Helper()
	args := append([]string{"key", "create"}, more...)
	out := s.mustRun(t, append(args, "--for", "webdav", user)...)
	m := davLines.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no configuration for WebDAV in %q", out)
	}
	return davKey{m[2], m[3]}
}

// client returns a client that sends the key with every request.
func (k davKey) client(bases ...string) *client {
	c := newClient(bases...)
	c.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(k.user+":"+k.password)))
	return c
}

// balancer starts a load balancer that sends consecutive requests to different replicas. It returns
// its address.
func balancer(t *testing.T, bases []string) string {
	t.Helper()
	var targets []*url.URL
	for _, base := range bases {
		target, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, target)
	}
	server := httptest.NewServer(newProxy(targets...))
	t.Cleanup(server.Close)
	return server.URL
}

// program runs a program in a directory, which is also its home, and waits for its end.
func program(t *testing.T, dir, stdin, name string, args ...string) (out string, code int) {
	t.Helper()
	// cleanups run programs as well
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C.UTF-8"}
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (ctx.Err() != nil || !errors.As(err, &exit)) {
		t.Errorf("%s %q: %v\n%s", name, args, err, text) // not Fatalf, since programs run in parallel
		return string(text), -1
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// writeFile writes a file for a program, with its parent folders.
func writeFile(t *testing.T, content []byte, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// multistatus is the body of a 207.
type multistatus struct {
	XMLName   xml.Name `xml:"DAV: multistatus"`
	Responses []struct {
		Href      string `xml:"DAV: href"`
		Propstats []struct {
			Status string `xml:"DAV: status"`
			Prop   struct {
				Inner string `xml:",innerxml"`
			} `xml:"DAV: prop"`
		} `xml:"DAV: propstat"`
	} `xml:"DAV: response"`
}

// multi checks that an answer is a 207 and returns its body.
func (r reply) multi(t *testing.T) (m multistatus) {
	t.Helper()
	r.want(t, 207)
	if err := xml.Unmarshal(r.body, &m); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	return m
}

// hrefs returns the hrefs of a multistatus.
func (m multistatus) hrefs() (all []string) {
	for _, r := range m.Responses {
		all = append(all, r.Href)
	}
	return all
}
