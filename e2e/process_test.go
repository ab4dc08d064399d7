package e2e

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for a result that should come at once, since the machine may be
// busy.
const patience = 60 * time.Second

const adminPassword = "canary-Admin-pass-7731"

// site is a data directory with settings, on which processes are started.
type site struct {
	dir string            // the data directory
	env map[string]string // the whole environment of its processes, except PATH and the like
	// program is another build of the binary, "" for the one under test.
	program string
}

// binary returns the path of the program of the site.
func (s *site) binary() string {
	if s.program != "" {
		return s.program
	}
	return binary
}

// newSite returns a site with SQLite and the administrator's password adminPassword, on a port that
// the system chooses.
func newSite(t testing.TB) *site {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	return &site{dir: dir, env: map[string]string{
		"LARDER_LISTEN":                "127.0.0.1:0",
		"LARDER_DATA_DIR":              dir,
		"LARDER_ADMIN_PASSWORD":        adminPassword,
		"LARDER_AUTH_RATE_LIMIT":       "1000",
		"LARDER_RATE_LIMIT_PER_MINUTE": "10000",
		"LARDER_LOG_LEVEL":             "info",
	}}
}

// environ returns the environment of a process of the site. Of the test's own environment it
// contains only what programs need to run.
func (s *site) environ() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(s.dir), "TMPDIR=" + os.TempDir()}
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	return env
}

// run runs a command of the binary to its end.
func (s *site) run(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := s.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatalf("larder %v: %v", args, err)
		}
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// command returns a command of the binary on this site.
func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.binary(), args...)
	cmd.Env = s.environ()
	return cmd
}

// mustRun is run for a command that must succeed; it returns the standard output.
func (s *site) mustRun(t testing.TB, args ...string) string {
	t.Helper()
	stdout, stderr, code := s.run(t, args...)
	if code != 0 {
		t.Fatalf("larder %v: exit code %d, want 0\nstdout: %s\nstderr: %s", args, code, stdout, stderr)
	}
	return stdout
}

// process is a running server, or another program.
type process struct {
	site   *site // nil for another program
	cmd    *exec.Cmd
	url    string // the printed URL, without a trailing slash
	stdout *output
	stderr *output
	exited chan struct{} // closed when the process has ended and its output is complete
	err    error         // of the wait, valid after exited
}

// launch starts `larder serve`, after the words of wrapper if any, without waiting. The process is
// killed at the end of the test.
func (s *site) launch(t testing.TB, wrapper ...string) *process {
	t.Helper()
	words := append(append([]string{}, wrapper...), s.binary(), "serve")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = s.environ()
	p := spawn(t, cmd)
	p.site = s
	return p
}

// spawn starts a program without waiting and collects its output. It is killed at the end of the
// test.
func spawn(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, stdout: newOutput(), stderr: newOutput(), exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill() // fails when it has ended already
		<-p.exited
		if t.Failed() {
			t.Logf("stdout of %s %s:\n%s\nstderr without successful requests, the end:\n%s", filepath.Base(cmd.Path),
				p.url, p.stdout, tail(successfulRequest.ReplaceAllString(p.stderr.String(), ""), 4000))
		}
	})
	return p
}

// successfulRequest is a line of the log about a request that was answered with a status below 400.
var successfulRequest = regexp.MustCompile(`(?m)^.*"msg":"request".*"status":[123]\d\d,.*\n`)

var servesLine = regexp.MustCompile(`(?m)^Larder serves (https?://\S+)`)

// start launches a server and waits until it is ready.
func (s *site) start(t testing.TB, wrapper ...string) *process {
	t.Helper()
	p := s.launch(t, wrapper...)
	p.ready(t)
	return p
}

// ready waits until the server answers and records its address.
func (p *process) ready(t testing.TB) {
	t.Helper()
	p.url = p.stdout.wait(t, p.exited, servesLine)
	if listen := p.site.env["LARDER_LISTEN"]; !strings.HasSuffix(listen, ":0") {
		p.url = "http://" + listen // the printed address may be that of a load balancer
	}
	p.await(t, "ready", func() bool { return p.probe("/api/public/health/ready") == http.StatusOK })
}

// await polls until condition holds, and fails when the process ends before that.
func (p *process) await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	if !poll(t, p.exited, patience, what, condition) {
		t.Fatalf("the server ended (%v) before it was %s\nstdout: %s\nstderr: %s", p.err, what, p.stdout, p.stderr)
	}
}

// until polls until condition holds.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	poll(t, nil, patience, what, condition)
}

// poll polls until condition holds, and returns true, or until exited is closed, and returns false.
// It fails when neither happens within limit. exited may be nil.
func poll(t testing.TB, exited <-chan struct{}, limit time.Duration, what string, condition func() bool) bool {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for !condition() {
		select {
		case <-tick.C:
		case <-exited:
			return false
		case <-deadline:
			t.Fatalf("not %s after %v", what, limit)
		}
	}
	return true
}

// probe returns the status of a GET, 0 when there is no answer.
func (p *process) probe(path string) int {
	resp, err := http.Get(p.url + path)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// kill ends the process like a crash.
func (p *process) kill() {
	p.cmd.Process.Kill() // fails when it has ended already
	<-p.exited
}

// wasKilled reports whether a process ended by SIGKILL.
func wasKilled(state *os.ProcessState) bool {
	how, ok := state.Sys().(syscall.WaitStatus)
	return ok && how.Signal() == syscall.SIGKILL
}

// terminate sends SIGTERM.
func (p *process) terminate(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// ended waits for the end and returns the exit code.
func (p *process) ended(t testing.TB) int {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatalf("the server runs on %v after it should have ended", patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

// stop ends the process cleanly.
func (p *process) stop(t testing.TB) {
	t.Helper()
	p.terminate(t)
	if code := p.ended(t); code != 0 {
		t.Fatalf("exit code after SIGTERM: %d, want 0\n%s", code, p.stderr)
	}
}

// nextPort iterates over ports that the system does not assign by itself, so that a port is still
// free after a restart.
var nextPort atomic.Int64

// keepPort gives the site a fixed address, which commands know.
func (s *site) keepPort(t testing.TB) {
	t.Helper()
	s.env["LARDER_LISTEN"] = freeAddress(t)
}

// freeAddress returns an address without a listener.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := 20000 + (int64(os.Getpid())*37+nextPort.Add(1))%10000
		address := net.JoinHostPort("127.0.0.1", strconv.FormatInt(port, 10))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no free port between 20000 and 30000")
	return ""
}

// output collects the output of a process and wakes the waiters for a line.
type output struct {
	mu   sync.Mutex // guards text and more
	text bytes.Buffer
	more chan struct{} // closed and replaced at each write
}

func newOutput() *output { return &output{more: make(chan struct{})} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.text.Write(b)
}

func (o *output) String() string {
	text, _ := o.now()
	return text
}

func (o *output) now() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.more
}

// wait returns the first group of pattern once it has been written, and fails when
// the process ends before.
func (o *output) wait(t testing.TB, exited <-chan struct{}, pattern *regexp.Regexp) string {
	t.Helper()
	deadline := time.After(patience)
	for ended := false; ; {
		text, more := o.now()
		if m := pattern.FindStringSubmatch(text); m != nil {
			return m[1]
		}
		if ended {
			t.Fatalf("the process ended without printing %s:\n%s", pattern, text)
		}
		select {
		case <-more:
		case <-exited:
			ended = true
		case <-deadline:
			t.Fatalf("nothing like %s was printed within %v:\n%s", pattern, patience, text)
		}
	}
}

var passwordLine = regexp.MustCompile(`password(?: of \w+ is)? ([0-9A-Za-z]{12,})`)

// passwordIn finds a password that a command printed.
func passwordIn(t testing.TB, text string) string {
	t.Helper()
	m := passwordLine.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no password in %q", text)
	}
	return m[1]
}

func tail(text string, n int) string {
	if len(text) > n {
		return "…" + text[len(text)-n:]
	}
	return text
}

// sqlite opens the database of a site with SQLite. The caller closes it.
func (s *site) sqlite(t testing.TB) *sql.DB {
	t.Helper()
	d, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "larder.db")+"?_pragma=busy_timeout(15000)")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// procStatus returns a field of /proc/PID/status in bytes, such as VmRSS or VmHWM.
func (p *process) procStatus(t testing.TB, field string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + field + `:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in /proc/PID/status", field)
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}
