package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// exchange sends bytes unchanged and returns the first answer.
func (p *process) exchange(t *testing.T, request string) (*http.Response, string) {
	t.Helper()
	return p.exchangePaused(t, "", func() {}, request)
}

// exchangePaused is exchange for a request of two pieces, between which pause runs.
func (p *process) exchangePaused(t *testing.T, first string, pause func(), rest string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, first); err != nil {
		t.Fatal(err)
	}
	pause()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		io.WriteString(conn, rest) // an early answer may interrupt it
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	conn.Close()
	<-sent
	return resp, string(body)
}

// abuse cases C106 and C121
func TestWire(t *testing.T) {
	t.Parallel()
	p := newSite(t).start(t)
	for _, test := range []struct {
		name, request string
		status        int
	}{
		{"TRACE is no method here", "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", 405},
		{"TRACE is no method of the interface", "TRACE /api/files HTTP/1.1\r\nHost: x\r\n\r\n", 405},
		{"a body with a length", "POST /api/auth/logout HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
			200},
		{"a body in chunks", "POST /api/auth/logout HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			200},
		{"two lengths of one body",
			"POST /api/auth/logout HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"0\r\n\r\n", 400},
		{"a body in chunks before HTTP/1.1",
			"POST /api/auth/logout HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		{"headers of more than 64 KB", "GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("a", 72<<10) +
			"\r\n\r\n", 431},
		{"an encoded body",
			"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n" +
				"Content-Length: 2\r\n\r\n{}", 400},
		{"JSON of more than 1 MiB", fmt.Sprintf(
			"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"+
				"{\"username\":\"%s\"}", 1<<20+15, strings.Repeat("a", 1<<20)), 413},
		{"HTTP/2 without TLS is not spoken",
			"GET /api/public/health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" +
				"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", 200},
		{"profiles are not public", "GET /debug/pprof/ HTTP/1.1\r\nHost: x\r\n\r\n", 401},
		{"metrics are not public", "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 401},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			resp, body := p.exchange(t, test.request)
			if resp.StatusCode != test.status {
				t.Errorf("status %d, want %d: %s", resp.StatusCode, test.status, tail(body, 300))
			}
		})
	}
}

// Abuse case C121: a request with two possible interpretations. The request hidden in its body is
// not answered.
func TestHiddenRequestsAreNotAnswered(t *testing.T) {
	t.Parallel()
	p := newSite(t).start(t)
	const hidden = "GET /api/public/health HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, request := range map[string]string{
		"behind the chunks": fmt.Sprintf(
			"POST /api/auth/logout HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n"+
				"0\r\n\r\n%s", 5+len(hidden), hidden),
		"behind the length": fmt.Sprintf(
			"POST /api/auth/logout HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"+
				"%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden),
		"in HTTP/1.0": "POST /api/auth/logout HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n" + hidden,
		"behind a good body": "POST /api/auth/logout HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" +
			"Content-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + hidden,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn, request)
			answer, err := io.ReadAll(conn) // until the server closes the connection
			if err != nil || strings.Count(string(answer), "HTTP/1.1 ") != 1 ||
				!strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
				t.Errorf("%v: %s", err, answer)
			}
		})
	}
}

// Abuse case C119: whatever a client sends, a log line is one line of JSON.
func TestLogLines(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)
	token := s.key(t, "admin")
	c := p.admin(t)
	evil := "x\n{\"level\":\"FAKE\"}\x1b[31mred\u2028end"
	c.do(t, "GET", "/"+url.PathEscape(evil), nil)
	c.do(t, "GET", "/api/files?path="+url.QueryEscape("/"+evil), nil)
	c.do(t, "GET", "/api/"+url.PathEscape(evil), nil, "User-Agent", "agent\twith a tab")
	c.do(t, "POST", "/api/auth/login", object{"username": evil, "password": evil})
	c.do(t, "POST", "/api/files/folder", object{"path": "/", "name": evil}).fails(t, 400, "VALIDATION_ERROR")
	body, kind := form(t, file("file", url.PathEscape(evil), "text/plain", "x"))
	withKey(token, p.url).do(t, "POST", "/api/upload", body, "Content-Type", kind)
	p.stop(t)

	lines := strings.Split(strings.TrimRight(p.stderr.String(), "\n"), "\n")
	if len(lines) < 6 {
		t.Fatalf("%d log lines, want at least one for each request:\n%s", len(lines), p.stderr)
	}
	for _, line := range lines {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Errorf("not a line of JSON: %q", line)
		}
		if record["level"] == "FAKE" || strings.ContainsAny(line, "\x1b\u2028\r") {
			t.Errorf("a client wrote into the log: %q", line)
		}
	}
}

// Abuse case C114: secrets sent or received are in no log line.
func TestNoSecretsInLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env["LARDER_LOG_LEVEL"] = "debug"
	p := s.start(t)
	token := s.key(t, "admin")
	c := p.admin(t)
	secrets := map[string]string{
		"password": adminPassword, "wrong password": "canary-wrong-pass-1", "CSRF token": c.header.Get("X-CSRF-Token"),
		"key": token, "secret of the key": strings.SplitN(token, ".", 2)[1],
		"bad key":       "pk_canaryCanaryCanaryCanary.sk_x",
		"file password": "canary-file-pass-3", "bare token": "canary-bare-token-4",
	}
	address, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range c.http.Jar.Cookies(address) {
		secrets["cookie "+cookie.Name] = cookie.Value
	}
	newClient(p.url).do(t, "POST", "/api/auth/login",
		object{"username": "admin", "password": secrets["wrong password"]}).want(t, 401)
	withKey(secrets["bad key"], p.url).do(t, "GET", "/api/files", nil).want(t, 401)
	newClient(p.url).do(t, "POST", "/api/upload", []byte("x"), "token", secrets["bare token"]).want(t, 401)
	u := withKey(token, p.url).mustRaw(t, "secret.txt", "", "text/plain", []byte("x"))
	download := c.downloadAddress(t, "/api/files/"+u.FileID+"/download")
	secrets["download token"] = download[strings.LastIndex(download, "/")+1:]
	for _, status := range []int{200, 401} { // valid, then used up
		newClient(p.url).do(t, "GET", download, nil).want(t, status)
	}
	c.do(t, "PUT", "/api/files/"+u.FileID, object{"accessPassword": secrets["file password"]}).want(t, 200)
	p.stop(t)

	log := p.stdout.String() + p.stderr.String()
	if !strings.Contains(log, "/api/auth/login") {
		t.Fatalf("the log does not hold the requests:\n%s", log)
	}
	for name, value := range secrets {
		if len(value) < 10 {
			t.Errorf("the %s is %q, too short to be looked for", name, value)
		} else if strings.Contains(log, value) {
			t.Errorf("the %s is in the log", name)
		}
	}
}
