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

// Server is a real Redis server of one test, on a Unix socket, without persistence.
type Server struct {
	URL string // for the client

	t       testing.TB
	binary  string
	socket  string
	process *exec.Cmd // nil while it is stopped
}

// StartServer starts a redis-server that ends with the test. It skips a short test.
func StartServer(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("short tests run without Redis")
	}
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf(
			"redis-server is missing: these tests need a real one; install the package redis-server (make test "+
				"does): %v", err)
	}
	dir, err := os.MkdirTemp("", "redis") // t.TempDir may be longer than the path of a socket may be
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

// Start starts the server again, empty, and returns when it accepts connections.
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
			return // later output fits into the pipe
		}
	}
	s.t.Fatalf("redis-server did not start:\n%s", said.String())
}

// Stop kills the server, like an outage.
func (s *Server) Stop() {
	if s.process == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	_ = s.process.Wait() // reports that the process was killed
	s.process = nil
}

// Hang makes the server keep its connections without answering, until Resume or Stop.
func (s *Server) Hang() { s.signal(syscall.SIGSTOP) }

// Resume ends a Hang. The server then answers the requests that it received meanwhile.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

// signal sends a signal to the server's process.
func (s *Server) signal(signal syscall.Signal) {
	if err := s.process.Process.Signal(signal); err != nil {
		s.t.Errorf("signal redis-server: %v", err)
	}
}
