package e2e

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob/s3/s3test"
	"larder/internal/kv/kvtest"
)

// ownServices are a PostgreSQL, a Redis and an S3 server of one test, which stops and starts them.
type ownServices struct {
	t        *testing.T
	dir      string
	postgres *exec.Cmd
	redis    *kvtest.Server
	s3       *exec.Cmd
	bucket   s3test.Bucket
}

// startServices starts all three, with a database and a bucket. They end with the test.
func startServices(t *testing.T) *ownServices {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "larder-chaos-") // the path of a socket has 107 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	s := &ownServices{t: t, dir: dir, redis: kvtest.StartServer(t)}
	t.Cleanup(func() {
		s.stop(s.postgres)
		s.stop(s.s3)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	init := s.unprivileged("initdb", "--pgdata", filepath.Join(dir, "data"), "--locale=C", "--encoding=UTF8",
		"--no-sync", "--auth=trust", "--username=postgres")
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.startPostgres()
	s.bucket = s3test.Bucket{Endpoint: "http://" + freeAddress(t), Name: "chaos", AccessKey: "chaos",
		SecretKey: "the-secret-of-chaos"}
	if err := os.Mkdir(filepath.Join(dir, "s3"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.startS3()
	if _, err := s.bucket.SDK(t).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &s.bucket.Name}); err != nil {
		t.Fatal(err)
	}
	return s
}

// databaseURL returns the address of the database.
func (s *ownServices) databaseURL() string {
	return "postgres:///postgres?" + url.Values{"host": {s.dir}, "user": {"postgres"}}.Encode()
}

// unprivileged returns a command of PostgreSQL, under another account if the test runs as root,
// since PostgreSQL refuses to run as root.
func (s *ownServices) unprivileged(program string, args ...string) *exec.Cmd {
	s.t.Helper()
	path, err := exec.LookPath(program)
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program); len(found) > 0 {
		path, err = slices.Max(found), nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = s.dir
	if os.Getuid() != 0 {
		return cmd
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			s.t.Fatal(err)
		}
	}
	uid, _ := strconv.Atoi(account.Uid) // numbers on Unix
	gid, _ := strconv.Atoi(account.Gid)
	if err := os.Chown(s.dir, uid, gid); err != nil {
		s.t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return cmd
}

// start starts a server and waits until it accepts connections at an address.
func (s *ownServices) start(cmd *exec.Cmd, network, address string) *exec.Cmd {
	s.t.Helper()
	said := newOutput()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		cmd.Wait() // ended by a signal
		close(exited)
	}()
	if !poll(s.t, exited, patience, "started "+cmd.Path, func() bool {
		conn, err := net.Dial(network, address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}) {
		s.t.Fatalf("%s ended:\n%s", cmd.Path, said)
	}
	return cmd
}

// stop ends a server at once, PostgreSQL like a crash of it. Nothing happens without one.
func (s *ownServices) stop(cmd *exec.Cmd) {
	s.t.Helper()
	if cmd == nil || cmd.Process == nil {
		return
	}
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Error(err)
	}
	until(s.t, "ended "+cmd.Path, func() bool { return cmd.Process.Signal(syscall.Signal(0)) != nil })
}

func (s *ownServices) startPostgres() {
	s.t.Helper()
	os.Remove(filepath.Join(s.dir, ".s.PGSQL.5432")) // left by a crash
	cmd := s.unprivileged("postgres", "-D", filepath.Join(s.dir, "data"), "-c", "listen_addresses=", "-c",
		"unix_socket_directories="+s.dir, "-c", "max_connections=100", "-c", "fsync=off")
	s.postgres = s.start(cmd, "unix", filepath.Join(s.dir, ".s.PGSQL.5432"))
}

func (s *ownServices) startS3() {
	s.t.Helper()
	path, err := exec.LookPath("versitygw")
	if cache, _ := os.UserCacheDir(); err != nil {
		path = filepath.Join(cache, "larder-tools/bin/versitygw") // of scripts/install-test-tools
	}
	address := strings.TrimPrefix(s.bucket.Endpoint, "http://")
	cmd := exec.Command(path, "--port", address, "--quiet", "posix", filepath.Join(s.dir, "s3"))
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s.bucket.AccessKey, "ROOT_SECRET_KEY="+s.bucket.SecretKey)
	s.s3 = s.start(cmd, "tcp", address)
	until(s.t, "an answer of the S3 server", func() bool {
		resp, err := http.Get(s.bucket.Endpoint)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
}
