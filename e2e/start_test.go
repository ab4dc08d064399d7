package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The service prints its address at each start and the administrator's password at the first one,
// both on stdout (docs/operate.md, Start).
func TestFirstStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	delete(s.env, "LARDER_ADMIN_PASSWORD")
	first := s.start(t)
	password := first.stdout.wait(t, first.exited, passwordLine)
	if n := strings.Count(first.stdout.String(), password); n != 1 {
		t.Errorf("the password was printed %d times, want once:\n%s", n, first.stdout)
	}
	if strings.Contains(first.stderr.String(), password) {
		t.Error("the password is in the log")
	}
	login(t, "admin", password, first.url)
	first.stop(t)

	second := s.start(t)
	if out := second.stdout.String(); passwordLine.MatchString(out) {
		t.Errorf("the second start speaks of a password: %s", out)
	}
	login(t, "admin", password, second.url)
	// abuse case C53: the password cannot be guessed
	for _, guess := range []string{"admin", "password", "larder", "changeme"} {
		newClient(second.url).do(t, "POST", "/api/auth/login", object{"username": "admin", "password": guess}).
			fails(t, 401, "INVALID_CREDENTIALS")
	}
}

func TestSeededTree(t *testing.T) {
	t.Parallel()
	c := newSite(t).start(t).admin(t)
	var names []string
	for _, e := range c.list(t, "/") {
		if e.Type != "folder" || e.Path != "/" {
			t.Errorf("entry %+v, want a folder in /", e)
		}
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "home public uploads" {
		t.Errorf("the root holds %q, want home, public and uploads", got)
	}
}

// Abuse case C131: requests in progress at SIGTERM are completed and durable; then the exit code is
// 0.
func TestStopFinishesUpload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)
	token := s.key(t, "admin")
	content := strings.Repeat("half of it ", 20_000)
	address := strings.TrimPrefix(p.url, "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn,
		"POST /api/upload HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nX-File-Name: slow.txt\r\n"+
			"Content-Type: text/plain\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		address, token, len(content))
	answers := bufio.NewReader(conn)
	if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("%q, %v; want 100 Continue", line, err)
	}
	answers.ReadString('\n') // the empty line after it
	io.WriteString(conn, content[:len(content)/2])
	p.terminate(t)
	p.await(t, "closed to new connections", func() bool {
		other, err := net.Dial("tcp", address)
		if err != nil {
			return true
		}
		other.Close()
		return false
	})
	if _, err := io.WriteString(conn, content[len(content)/2:]); err != nil {
		t.Fatalf("send the second half: %v", err)
	}
	resp, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatalf("the answer to the upload: %v", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Fatalf("the upload answered %s, want 200", resp.Status)
	}
	if code := p.ended(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}

	again := s.start(t)
	got := again.admin(t).do(t, "GET", "/uploads/slow.txt", nil).want(t, 200)
	if string(got.body) != content {
		t.Errorf("the file has %d bytes after the restart, want the %d that were sent", len(got.body), len(content))
	}
}

// abuse case C130
func TestSecondProcessRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)
	second := s.launch(t)
	if code := second.ended(t); code == 0 {
		t.Errorf("the second process ended with exit code 0; stdout: %s", second.stdout)
	}
	if said := second.stderr.String(); !strings.Contains(said, s.dir) {
		t.Errorf("the refusal does not name the data directory: %s", said)
	}
	if strings.Contains(second.stdout.String(), "Larder serves") {
		t.Error("the second process said that it serves")
	}
	p.admin(t)
}

// Specification: health probes return a bare object. Abuse case C122: they disclose nothing else.
func TestHealth(t *testing.T) {
	t.Parallel()
	p := newSite(t).start(t)
	for _, path := range []string{"/api/public/health", "/api/public/health/live", "/api/public/health/ready"} {
		r := newClient(p.url).do(t, "GET", path, nil).want(t, 200)
		var fields map[string]any
		if err := json.Unmarshal(r.body, &fields); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if kind := r.header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
			t.Errorf("%s: Content-Type %q", path, kind)
		}
		if len(fields) != 4 || fields["ready"] != true {
			t.Errorf("%s answers %s; want service, status, ready true, detail", path, r.body)
		}
		for _, name := range []string{"service", "status", "detail"} {
			if _, ok := fields[name].(string); !ok {
				t.Errorf("%s: %s is %v, want a string", path, name, fields[name])
			}
		}
		if path == "/api/public/health/live" && fields["status"] != "ok" {
			t.Errorf("live: status %v, want ok", fields["status"])
		}
		if text := string(r.body); strings.Contains(text, builtVersion) ||
			strings.Contains(text, filepath.Dir(p.site.dir)) {
			t.Errorf("%s reveals too much: %s", path, text)
		}
	}
}

func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env["LARDER_LISTEN"] = "nowhere"
	s.env["LARDER_RATE_LIMIT_PER_MINUTE"] = "10001"
	s.env["LARDER_LINK_MAX_AGE"] = "tomorrow"
	s.env["LARDER_SECRET_KEY"] = "changeme-canary" // abuse case C117
	s.env["LARDER_LISTNE"] = "127.0.0.1:0"
	p := s.launch(t)
	if code := p.ended(t); code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
	said := p.stderr.String()
	for _, name := range []string{"LARDER_LISTEN", "LARDER_RATE_LIMIT_PER_MINUTE", "LARDER_LINK_MAX_AGE",
		"LARDER_SECRET_KEY", "LARDER_LISTNE"} {
		if !strings.Contains(said, name) {
			t.Errorf("%s is not reported in:\n%s", name, said)
		}
	}
	if strings.Contains(said, "changeme-canary") {
		t.Error("the message repeats a secret")
	}
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("a data directory was made although the configuration is bad")
	}
}

// abuse case C118
func TestModes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)
	withKey(s.key(t, "admin"), p.url).mustRaw(t, "a.txt", "", "text/plain", []byte("a"))
	files := 0
	check := func() {
		err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			switch mode := info.Mode(); {
			case d.IsDir() && mode.Perm() != 0o700:
				t.Errorf("%s has mode %v, want 0700", path, mode)
			case mode.IsRegular():
				files++
				if mode.Perm() != 0o600 {
					t.Errorf("%s has mode %v, want 0600", path, mode)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	check()
	p.stop(t)
	check()
	if files < 6 { // database, key and object, twice
		t.Errorf("%d files were looked at", files)
	}
}
