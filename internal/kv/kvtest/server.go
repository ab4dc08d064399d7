package kvtest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Server is a real Redis of one test, on a unix socket, without persistence.
type Server struct {
	URL string // for the client

	t       testing.TB
	binary  string
	socket  string
	process *exec.Cmd // nil while it is stopped
}

// StartServer starts a redis-server that ends with the test.
func StartServer(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("short tests run without Redis")
	}
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf(
			"redis-server is missing: these tests need a real one; install the package redis-server (make test does): %v", err)
	}
	dir, err := os.MkdirTemp("", "redis") // t.TempDir may be longer than a socket's path can be
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, binary: binary, socket: filepath.Join(dir, "s")}
	s.URL = "unix://" + s.socket
	t.Cleanup(func() {
		s.Stop()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s.Start()
	return s
}

// Start starts the server anew, empty, and returns when it takes connections.
func (s *Server) Start() {
	s.t.Helper()
	cmd := exec.Command(s.binary, "--port", "0", "--unixsocket", s.socket, "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--dir", filepath.Dir(s.socket))
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.process = cmd
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "ready to accept connections") {
			return // what it says later fits the pipe
		}
	}
	s.t.Fatalf("redis-server did not start:\n%s", said.String())
}

// Stop kills the server, as an outage does.
func (s *Server) Stop() {
	if s.process == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	_ = s.process.Wait() // tells that it was killed
	s.process = nil
}

// Hang makes the server keep its connections without answering; Resume and Stop end that.
func (s *Server) Hang() { s.signal(syscall.SIGSTOP) }

// Resume ends a Hang: the server answers what it was asked meanwhile.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(signal syscall.Signal) {
	if err := s.process.Process.Signal(signal); err != nil {
		s.t.Errorf("signal redis-server: %v", err)
	}
}
