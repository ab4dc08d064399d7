package picture_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"larder/internal/thumb/picture"
	"larder/internal/thumb/thumbtest"
)

// attackedServer holds the files and sockets that a compromised decoder tries to reach.
type attackedServer struct {
	orders thumbtest.Attacks
	secret string
}

func newAttackedServer(t testing.TB) attackedServer {
	t.Helper()
	dir := t.TempDir()
	secret := filepath.Join(dir, "master.key")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := func(network, address string) net.Addr {
		listener, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		return listener.Addr()
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { udp.Close() })
	return attackedServer{secret: secret, orders: thumbtest.Attacks{
		Read: []string{secret}, List: []string{dir}, Write: []string{secret}, Parent: os.Getpid(),
		TCP: listen("tcp", "127.0.0.1:0").(*net.TCPAddr).Port, UDP: udp.LocalAddr().(*net.UDPAddr).Port,
		Unix: listen("unix", filepath.Join(dir, "socket")).String(), Socket: listen("unix", "@larder"+dir).String(),
	}}
}

// runAttack runs the fake vipsthumbnail, with a command line that may change how the child runs.
func (s attackedServer) runAttack(t testing.TB, orders thumbtest.Attacks,
	command ...string) (map[string]string, error) {
	t.Helper()
	program, err := thumbtest.FakeVips(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "original")
	if err := os.WriteFile(path, thumbtest.WithAttacks(thumbtest.PNG(thumbtest.Quarters(64, 48)), orders),
		0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	command = append(command, "/proc/self/exe", picture.Command, "160", program)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = in, &out, &said, []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.String())
	}
	outcome, err := thumbtest.Outcome(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return outcome, nil
}

// wantRefused returns the kernel's expected answer to each attempt. opened is the answer to reading
// a file of the server, written the one to writing it.
func (s attackedServer) wantRefused(opened, written string) map[string]string {
	const no, none = "EPERM", "ENOSYS"
	want := map[string]string{
		"change the picture": written, "change /dev/mem": written, "nameless file": written,
		"mode of the picture": none, "owner of the picture": none, "lock the picture": none,
		"tcp": none, "udp": none, "unix socket": none, "abstract socket": none, "socketpair": none,
		"clone": no, "clone into a namespace": no, "clone a thread into a namespace": no, "fork": none, "vfork": none,
		"clone3": none, "unshare": none, "setns": none,
		"setsid": none, "setpgid": none, "outlive the parent": no, "ptrace": none, "process_vm_readv": none,
		"process_vm_writev": none,
		"kill":              no, "kill a group": no, "kill its group": no, "kill all": no, "kill itself": "",
		"tkill":  none,
		"tgkill": no, "rt_sigqueueinfo": none, "pidfd_open": none, "pidfd_send_signal": none,
		"signal by a file": no, "signal of a file": no, "ioctl": no, "more memory": no, "another limit": no,
		"more time": none, "the parent's limits": no,
		"execve /bin/sh": none, "execveat /bin/sh": none, "execve itself": none, "execve in a thread": none,
	}
	for _, call := range []string{
		"io_uring_setup", "bpf", "userfaultfd", "mount", "chroot", "keyctl", "add_key", "perf_event_open",
		"memfd_create", "open_by_handle_at", "openat2", "init_module", "seccomp", "setuid", "capset",
		"personality", "shmget", "mq_open", "inotify_init1", "fanotify_init", "a later kernel's call",
	} {
		want[call] = none
	}
	for _, file := range s.orders.Write {
		want["create "+file], want["change "+file], want["truncate "+file] = written, written, written
		want["unlink "+file], want["mkdir "+file], want["link "+file], want["rename "+file] = none, none, none, none
	}
	of := fmt.Sprintf("/proc/%d/", s.orders.Parent)
	for _, path := range append(s.orders.Read, "/etc/passwd", of+"environ", of+"mem", of+"maps", "/proc/self/environ") {
		want["read "+path] = opened
	}
	for _, path := range append(s.orders.List, "/", "/tmp", "/proc") {
		want["list "+path] = opened
	}
	return want
}

func compare(t *testing.T, got, want map[string]string) {
	t.Helper()
	for attempt, errno := range want {
		if have, tried := got[attempt]; !tried || have != errno {
			t.Errorf("%s: %q (%v), want %q", attempt, have, tried, errno)
		}
	}
	for attempt := range got {
		if _, known := want[attempt]; !known {
			t.Errorf("%s is in the test without an expected result", attempt)
		}
	}
}

// A compromised decoder reaches nothing of the server, neither files nor sockets nor other
// processes, and cannot execute another program.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	if _, err := picture.Landlock(); err != nil {
		t.Fatalf("this kernel has no Landlock: %v", err)
	}
	s := newAttackedServer(t)
	got, err := s.runAttack(t, s.orders)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, got, s.wantRefused("EACCES", "EPERM"))
	if content, err := os.ReadFile(s.secret); err != nil || string(content) != "secret" {
		t.Errorf("%q, %v", content, err)
	}
}

// Without Landlock it can read files of the server's account, and nothing else.
func TestTakenOverWithoutLandlock(t *testing.T) {
	t.Parallel()
	for _, answer := range []unix.Errno{unix.ENOSYS, unix.EOPNOTSUPP} {
		t.Run(unix.ErrnoName(answer), func(t *testing.T) {
			t.Parallel()
			s := newAttackedServer(t)
			got, err := s.runAttack(t, s.orders, thumbtest.WithoutLandlock(answer)...)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, got, s.wantRefused("", "EPERM"))
		})
	}
}

// asDecoder is the argument with which this program confines itself like the child with Go's
// decoders and then runs attacks.
const asDecoder = "as-decoder"

func init() {
	if len(os.Args) != 3 || os.Args[1] != asDecoder {
		return
	}
	confined := make(chan error)
	done := make(chan map[string]string)
	go func() { // on a thread that existed before
		runtime.LockOSThread()
		if <-confined == nil {
			done <- thumbtest.ParseAttacks([]byte(os.Args[2])).Attempt()
		}
	}()
	_, err := picture.Confine("")
	if confined <- err; err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	text, err := json.Marshal(<-done)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(text)
	os.Exit(0)
}

// Go's decoders are confined as well, on all threads and with or without Landlock: they open no
// file at all.
func TestDecoderTakenOver(t *testing.T) {
	t.Parallel()
	s := newAttackedServer(t)
	orders, err := json.Marshal(s.orders)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", asDecoder, string(orders))
	cmd.SysProcAttr, cmd.Stderr = &syscall.SysProcAttr{Setpgid: true}, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	compare(t, got, s.wantRefused("ENOSYS", "ENOSYS"))
}

// The child ends with its parent, whatever it has tried.
func TestEndsWithParent(t *testing.T) {
	t.Parallel()
	s := newAttackedServer(t)
	program, err := thumbtest.FakeVips(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	orders := s.orders
	orders.WaitForKill = true
	path := filepath.Join(t.TempDir(), "original")
	if err := os.WriteFile(path, thumbtest.WithAttacks(thumbtest.PNG(thumbtest.Quarters(64, 48)), orders),
		0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	parent := exec.CommandContext(t.Context(), "/bin/sh", "-c", `"$0" "$1" 160 "$2" <"$3" & wait`, self,
		picture.Command, program, path)
	parent.Stdout, parent.Env = write, []string{}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	if err := read.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Fscanln(read, &child); err != nil { // all attempts are done
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	if n, err := read.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("process %d has outlived its parent: %v", child, err)
		_ = syscall.Kill(child, syscall.SIGKILL) // it has ended, or is a child of this test
	}
}

// A child that cannot be confined decodes nothing and returns the exit code Unconfined.
func TestUnconfined(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "original")
	if err := os.WriteFile(path, thumbtest.PNG(thumbtest.Quarters(64, 48)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string][]string{
		"no filter": append(thumbtest.WithoutCall(unix.SYS_SECCOMP, unix.EINVAL), "/proc/self/exe",
			picture.Command, "160"),
		"no filter of libvips": append(thumbtest.WithoutCall(unix.SYS_SECCOMP, unix.EBUSY), "/proc/self/exe",
			picture.Command, "160", vips(t)),
		"no rules": append(thumbtest.WithoutCall(unix.SYS_LANDLOCK_ADD_RULE, unix.EPERM), "/proc/self/exe",
			picture.Command, "160", vips(t)),
		"no restriction": append(thumbtest.WithoutCall(unix.SYS_LANDLOCK_RESTRICT_SELF, unix.E2BIG),
			"/proc/self/exe", picture.Command, "160", vips(t)),
		"no program": {"/proc/self/exe", picture.Command, "160", "/no such program"},
	} {
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Stdin = in
		out, err := cmd.Output()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != picture.Unconfined || len(out) != 0 {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
	}
}

// With an older Landlock the child requests the rights of that version, with a newer one those
// known here (landlock(7)).
func TestLandlockVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[int][3]uint64{
		1: {0x1fff, 0, 0}, 2: {0x3fff, 0, 0}, 3: {0x7fff, 0, 0}, 4: {0x7fff, 3, 0}, 5: {0xffff, 3, 0},
		6: {0xffff, 3, 3}, 7: {0xffff, 3, 3}, 99: {0xffff, 3, 3},
	} {
		got := picture.Ruleset(version)
		if have := [3]uint64{got.Handled_access_fs, got.Handled_access_net, got.Scoped}; have != want {
			t.Errorf("version %d: %#x, want %#x", version, have, want)
		}
	}
}

// System calls of another ABI kill the process.
func TestForeignCalls(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		return // other architectures have no such calls here
	}
	for _, foreign := range []string{"i386", "x32"} {
		s := newAttackedServer(t)
		orders := s.orders
		orders.ForeignCall = foreign
		_, err := s.runAttack(t, orders)
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			t.Errorf("%s: %v", foreign, err)
		} else if foreign == "i386" && !thumbtest.KernelHasForeignCalls() {
			t.Logf("%s: this kernel has no such calls: %.40s", foreign, err)
		} else if ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGSYS {
			t.Errorf("%s: %v", foreign, err)
		}
	}
}
