package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
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
	"syscall"
	"time"
)

// tick is the unit of CPU time in /proc (USER_HZ), 100 per second on every Linux architecture of
// Go.
const tick = 10 * time.Millisecond

// server is a child process that serves HTTP.
type server struct {
	cmd      *exec.Cmd
	address  string   // host:port
	database *cluster // nil for none
	log      bytes.Buffer
}

// installation is the directory and the database of a server, used by several processes in turn.
type installation struct {
	binary, dir string
	password    string   // of the administrator
	database    *cluster // nil for SQLite
	url         string   // of the database, "" for SQLite
	ops         string   // address of the listener for operators, "" for none
	grace       time.Duration
	settings    []string // further ones, NAME=value
}

// newInstallation returns an installation in an empty directory with that name, on PostgreSQL with
// a database of its own. It starts nothing.
func (b *bench) newInstallation(ctx context.Context, name string) (s *installation, err error) {
	s = &installation{binary: b.binary, dir: filepath.Join(b.dir, name),
		password: "bench-password-of-the-administrator",
		database: b.cluster, grace: time.Hour}
	if b.cluster != nil {
		s.url, err = b.cluster.create(ctx, name)
	}
	return s, err
}

// environ returns the environment with the settings of the installation.
func (i *installation) environ() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + i.dir,
		"LARDER_LISTEN=127.0.0.1:0", "LARDER_DATA_DIR=" + filepath.Join(i.dir, "data"),
		"LARDER_ADMIN_PASSWORD=" + i.password,
		"LARDER_RATE_LIMIT_PER_MINUTE=10000", "LARDER_LOG_FORMAT=json", "LARDER_ALLOW_PRIVATE_ENDPOINTS=127.0.0.0/8",
		"LARDER_GARBAGE_GRACE=" + i.grace.String(),
	}
	env = append(env, i.settings...)
	if i.ops != "" {
		env = append(env, "LARDER_OPS_LISTEN="+i.ops)
	}
	if i.url != "" {
		env = append(env, "LARDER_DATABASE_URL="+i.url,
			"LARDER_SECRET_KEY="+base64.StdEncoding.EncodeToString(bodyBlock[:32]))
	}
	return env
}

// start runs the server and waits until it is ready. wrapper is the beginning of the command line,
// such as that of strace.
func (i *installation) start(ctx context.Context, wrapper ...string) (*server, error) {
	if err := os.MkdirAll(i.dir, 0o700); err != nil {
		return nil, err
	}
	words := append(append([]string{}, wrapper...), i.binary, "serve")
	p, err := launch(ctx, i.environ(), words)
	if err != nil {
		return nil, err
	}
	p.database = i.database
	if err := p.awaitReady(ctx); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// awaitReady polls the readiness probe until it answers 200, for a minute at most.
func (s *server) awaitReady(ctx context.Context) error {
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		resp, err := http.Get("http://" + s.address + "/api/public/health/ready")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s is not ready: %s", s.cmd.Path, tail(s.log.String()))
}

var fullToken = regexp.MustCompile(`pk_[0-9A-Za-z]{24}\.sk_[0-9A-Za-z]{48}`)

// key creates an API key of an account with the command line and returns it as a bearer token.
func (i *installation) key(ctx context.Context, username string) (string, error) {
	return i.tool(ctx, fullToken, "key", "create", username, "--for", "curl", "--base-url", "http://larder.test")
}

var madeDAVKey = regexp.MustCompile(`(?s)user name (pk_\w+).*password +(sk_\w+)`)

// davKey creates a WebDAV key with the command line and returns its Authorization header line.
func (i *installation) davKey(ctx context.Context, username string) (string, error) {
	made, err := i.tool(ctx, madeDAVKey, "key", "create", username, "--for", "webdav", "--base-url",
		"http://larder.test")
	if err != nil {
		return "", err
	}
	halves := madeDAVKey.FindStringSubmatch(made)
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(halves[1]+":"+halves[2])), nil
}

var madePassword = regexp.MustCompile(`with the password (\S+)`)

// account creates a user with the command line and returns the password.
func (i *installation) account(ctx context.Context, username string) (string, error) {
	found, err := i.tool(ctx, madePassword, "admin", "create", username, "--role", "user")
	return strings.TrimPrefix(found, "with the password "), err
}

// tool runs a command of the binary on the installation and returns the part of its output that
// matches wanted.
func (i *installation) tool(ctx context.Context, wanted *regexp.Regexp, words ...string) (string, error) {
	cmd := exec.CommandContext(ctx, i.binary, words...)
	cmd.Env = i.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, tail(string(out)))
	}
	found := wanted.Find(out)
	if found == nil {
		return "", fmt.Errorf("%s printed %q", strings.Join(words, " "), out)
	}
	return string(found), nil
}

// startReference runs the reference server on the directory dir.
func startReference(ctx context.Context, dir string) (*server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return launch(ctx, os.Environ(), []string{self, referenceCommand, dir})
}

// launch starts a program with that environment and waits for its line "… serves http://host:port".
func launch(ctx context.Context, env, words []string) (*server, error) {
	p := &server{cmd: exec.CommandContext(ctx, words[0], words[1:]...)}
	p.cmd.Env = env
	p.cmd.Stderr = &p.log
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if _, address, ok := strings.Cut(line, " serves http://"); ok {
			p.address = strings.TrimSpace(address)
			go io.Copy(io.Discard, lines) // ends with the process
			return p, nil
		}
		if err != nil {
			waited := p.cmd.Wait()
			return nil, fmt.Errorf("%s ended before it served: %w: %s", words[0], errors.Join(err, waited),
				tail(p.log.String()))
		}
	}
}

// stop ends the process with SIGTERM. The end of the context kills a program that ignores it.
func (s *server) stop() {
	s.cmd.Process.Signal(syscall.SIGTERM) // fails when it has ended
	s.cmd.Wait()                          // the reference ends by the signal
}

// cpu returns the CPU time of the process and its ended children.
func (s *server) cpu() (time.Duration, error) { return cpuOf(s.cmd.Process.Pid) }

// cpuOf returns the CPU time of a process and of those of its children that have ended.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from field 3, the state
	total := int64(0)
	for _, i := range []int{14, 15, 16, 17} { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(fields[i-3], 10, 64)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return time.Duration(total) * tick, nil
}

// memory returns a field of /proc/PID/status in bytes, such as VmRSS.
func (s *server) memory(field string) (int64, error) {
	text, err := os.ReadFile(s.proc("status"))
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^` + field + `:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("no %s for %s", field, s.cmd.Path)
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	return n << 10, err
}

// resetPeak resets VmHWM to the current memory.
func (s *server) resetPeak() error { return os.WriteFile(s.proc("clear_refs"), []byte("5"), 0) }

// proc returns the path of a file about the process in /proc.
func (s *server) proc(file string) string {
	return filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), file)
}

// dial opens a TCP connection to the server.
func (s *server) dial() (net.Conn, error) { return net.Dial("tcp", s.address) }

// tail returns the last 1,000 bytes of a text for a message.
func tail(text string) string {
	if len(text) > 1000 {
		return "…" + text[len(text)-1000:]
	}
	return text
}
