package thumbtest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Attacks lists what a compromised decoder tries. A picture carries them to the fake vipsthumbnail.
type Attacks struct {
	Read        []string // files
	List        []string // directories
	Write       []string // files to create or change
	TCP         int      // a listening port on 127.0.0.1
	UDP         int
	Unix        string // the path of a listening socket, and the abstract name of another
	Socket      string
	Parent      int    // the server's process
	ForeignCall string // "i386" or "x32": a call of another ABI, which kills the process
	WaitForKill bool   // write the process id and wait to be killed
}

const attacksMark = "\nORDERS:"

// WithAttacks appends attacks to the bytes of a picture, which can still be decoded.
func WithAttacks(picture []byte, orders Attacks) []byte {
	text, err := json.Marshal(orders)
	must(err)
	return append(append(bytes.Clone(picture), attacksMark...), text...)
}

// ParseAttacks parses the text that WithAttacks appends.
func ParseAttacks(text []byte) Attacks {
	var orders Attacks
	must(json.Unmarshal(text, &orders))
	return orders
}

// FakeVips copies the running test program into dir as a compromised vipsthumbnail, and returns its
// path. For a picture without attacks that program writes a thumbnail, otherwise it tries the
// attacks and writes a WebP file that contains their outcome.
func FakeVips(dir string) (path string, err error) {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, fakeVipsName)
	return path, os.WriteFile(path, program, 0o700)
}

const fakeVipsName = "vipsthumbnail"

// Outcome parses the output of the fake vipsthumbnail: the name of the error, such as EPERM, by
// attempt; "" for an attack that succeeded.
func Outcome(thumbnail []byte) (map[string]string, error) {
	const head = 20
	if len(thumbnail) < head {
		return nil, fmt.Errorf("%d bytes are no outcome", len(thumbnail))
	}
	var outcome map[string]string
	return outcome, json.Unmarshal(thumbnail[head:], &outcome)
}

// When the test program was started as the fake vipsthumbnail, or by WithoutCall or
// KernelHasForeignCalls, it does that and ends.
func init() {
	switch {
	case filepath.Base(os.Args[0]) == fakeVipsName:
		runFakeVips()
		os.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == withForeignCall:
		foreignCall()
		os.Exit(0)
	case len(os.Args) > 4 && os.Args[1] == withoutCall:
		must(hideCall(os.Args[2], os.Args[3], os.Args[4:]))
	}
}

const withForeignCall = "with-foreign-call"

// KernelHasForeignCalls reports whether a process that is not confined can make a system call of a
// 32-bit program; a kernel without such calls kills it (Linux, CONFIG_IA32_EMULATION).
func KernelHasForeignCalls() bool {
	self, err := os.Executable()
	must(err)
	return exec.Command(self, withForeignCall).Run() == nil
}

// runFakeVips is the main function of the fake vipsthumbnail: it tries the attacks that the picture
// on standard input carries.
func runFakeVips() {
	if len(os.Args) > 1 && os.Args[1] == "--vips-version" {
		fmt.Println("libvips 8.14.1")
		return
	}
	given, err := io.ReadAll(os.Stdin)
	must(err)
	_, text, ordered := bytes.Cut(given, []byte(attacksMark))
	if !ordered {
		_, err := os.Stdout.Write(WebP)
		must(err)
		return
	}
	orders := ParseAttacks(text)
	outcome := orders.Attempt()
	if orders.WaitForKill {
		fmt.Println(os.Getpid())
		for {
			_ = unix.Nanosleep(&unix.Timespec{Sec: 3600}, nil)
		}
	}
	text, err = json.Marshal(outcome)
	must(err)
	text = append(text, bytes.Repeat([]byte(" "), len(text)%2)...)
	body := append([]byte("WEBP"), riffChunk("VP8L", text)...)
	_, err = os.Stdout.Write(append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...))
	must(err)
}

// Attempt tries all attacks in this process, on the calling goroutine's thread, and returns the
// name of the error by attempt, "" for a success. A success does no damage.
func (at Attacks) Attempt() map[string]string {
	runtime.LockOSThread()
	outcome := map[string]string{}
	note := func(name string, err error) {
		errno, _ := err.(unix.Errno)
		if outcome[name] = unix.ErrnoName(errno); err != nil && errno == 0 {
			outcome[name] = err.Error()
		}
	}
	call := func(name string, number uintptr, arguments ...uintptr) {
		a := append(arguments, 0, 0, 0, 0, 0, 0)
		r, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		if forks := number == fork || number == vfork || number == unix.SYS_CLONE || number == unix.SYS_CLONE3; forks &&
			errno == 0 && r == 0 {
			unix.Exit(0) // the new process
		}
		if note(name, nil); errno != 0 {
			note(name, errno)
		}
	}
	parent, own := uintptr(at.Parent), uintptr(os.Getpid())
	for _, path := range append(at.Read, "/etc/passwd", fmt.Sprintf("/proc/%d/environ", at.Parent),
		fmt.Sprintf("/proc/%d/mem", at.Parent), fmt.Sprintf("/proc/%d/maps", at.Parent), "/proc/self/environ") {
		note("read "+path, readByte(path))
	}
	for _, path := range append(at.List, "/", "/tmp", "/proc") {
		note("list "+path, open(path, unix.O_RDONLY|unix.O_DIRECTORY))
	}
	for _, path := range at.Write {
		note("create "+path, open(path+".new", unix.O_WRONLY|unix.O_CREAT))
		note("change "+path, open(path, unix.O_RDWR))
		note("truncate "+path, open(path, unix.O_RDONLY|unix.O_TRUNC))
		call("unlink "+path, unix.SYS_UNLINKAT, uintptr(0xffffff9c), cString(path+".none"), 0)
		call("mkdir "+path, unix.SYS_MKDIRAT, uintptr(0xffffff9c), cString(path+".dir"), 0o700)
		call("link "+path, unix.SYS_LINKAT, uintptr(0xffffff9c), cString(path), uintptr(0xffffff9c),
			cString(path+".link"), 0)
		call("rename "+path, unix.SYS_RENAMEAT2, uintptr(0xffffff9c), cString(path+".none"), uintptr(0xffffff9c),
			cString(path+".also"), 0)
	}
	note("change the picture", open("/proc/self/fd/0", unix.O_RDWR))
	note("change /dev/mem", open("/dev/mem", unix.O_RDWR))
	note("nameless file", open("/tmp", unix.O_RDWR|unix.O_TMPFILE))
	call("mode of the picture", unix.SYS_FCHMOD, 0, 0o666)
	call("owner of the picture", unix.SYS_FCHOWN, 0, 0, 0)
	call("lock the picture", unix.SYS_FLOCK, 0, unix.LOCK_SH)

	note("tcp", at.dial(unix.AF_INET, unix.SOCK_STREAM, &unix.SockaddrInet4{Port: at.TCP, Addr: [4]byte{127, 0, 0, 1}}))
	note("udp", at.dial(unix.AF_INET, unix.SOCK_DGRAM, &unix.SockaddrInet4{Port: at.UDP, Addr: [4]byte{127, 0, 0, 1}}))
	note("unix socket", at.dial(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: at.Unix}))
	note("abstract socket", at.dial(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: at.Socket}))
	var pair [2]int32
	call("socketpair", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, uintptr(unsafe.Pointer(&pair)))

	if call("fork", fork); outcome["fork"] != "" { // otherwise the new process would overwrite the stack of this one
		call("vfork", vfork)
	}
	call("clone", unix.SYS_CLONE, uintptr(unix.SIGCHLD))
	call("clone into a namespace", unix.SYS_CLONE, unix.CLONE_NEWNET|uintptr(unix.SIGCHLD))
	// the kernel refuses it in any case
	call("clone a thread into a namespace", unix.SYS_CLONE, unix.CLONE_THREAD|unix.CLONE_NEWNET)
	clone3 := [8]uint64{4: uint64(unix.SIGCHLD)}
	call("clone3", unix.SYS_CLONE3, uintptr(unsafe.Pointer(&clone3)), unsafe.Sizeof(clone3))
	call("unshare", unix.SYS_UNSHARE, unix.CLONE_FILES)
	call("setns", unix.SYS_SETNS, 0, 0)

	call("setsid", unix.SYS_SETSID)
	call("setpgid", unix.SYS_SETPGID, 0, parent)
	call("outlive the parent", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0)
	call("ptrace", unix.SYS_PTRACE, unix.PTRACE_PEEKDATA, parent) // does not stop the parent
	there := []byte("here")
	pieces := unix.Iovec{Base: &there[0], Len: uint64(len(there))}
	call("process_vm_readv", unix.SYS_PROCESS_VM_READV, parent, uintptr(unsafe.Pointer(&pieces)), 1,
		uintptr(unsafe.Pointer(&pieces)), 1)
	call("process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, parent, uintptr(unsafe.Pointer(&pieces)), 1,
		uintptr(unsafe.Pointer(&pieces)), 1)

	harmless := uintptr(unix.SIGCONT)
	call("kill", unix.SYS_KILL, parent, harmless)
	call("kill a group", unix.SYS_KILL, -parent, harmless)
	call("kill its group", unix.SYS_KILL, 0, harmless)
	call("kill all", unix.SYS_KILL, ^uintptr(0), 0)
	call("kill itself", unix.SYS_KILL, own, harmless)
	call("tkill", unix.SYS_TKILL, parent, harmless)
	call("tgkill", unix.SYS_TGKILL, parent, parent, harmless)
	call("rt_sigqueueinfo", unix.SYS_RT_SIGQUEUEINFO, parent, harmless)
	call("pidfd_open", unix.SYS_PIDFD_OPEN, parent, 0)
	call("pidfd_send_signal", unix.SYS_PIDFD_SEND_SIGNAL, 0, harmless)
	call("signal by a file", unix.SYS_FCNTL, 0, unix.F_SETOWN, parent)
	call("signal of a file", unix.SYS_FCNTL, 0, unix.F_SETSIG, uintptr(unix.SIGKILL))
	call("ioctl", unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&there[0])))

	limit := unix.Rlimit{Cur: maxLimit, Max: maxLimit}
	call("more memory", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_DATA, uintptr(unsafe.Pointer(&limit)))
	var zero unix.Rlimit
	// which needs no privilege
	call("another limit", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, uintptr(unsafe.Pointer(&zero)))
	call("more time", unix.SYS_SETRLIMIT, unix.RLIMIT_CPU, uintptr(unsafe.Pointer(&limit)))
	call("the parent's limits", unix.SYS_PRLIMIT64, parent, unix.RLIMIT_NOFILE, 0, uintptr(unsafe.Pointer(&limit)))

	call("seccomp", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0)
	for name, number := range map[string]uintptr{
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "bpf": unix.SYS_BPF, "userfaultfd": unix.SYS_USERFAULTFD,
		"mount": unix.SYS_MOUNT, "chroot": unix.SYS_CHROOT, "keyctl": unix.SYS_KEYCTL,
		"add_key": unix.SYS_ADD_KEY, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "memfd_create": unix.SYS_MEMFD_CREATE,
		"open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "openat2": unix.SYS_OPENAT2,
		"init_module": unix.SYS_INIT_MODULE, "setuid": unix.SYS_SETUID, "capset": unix.SYS_CAPSET,
		"personality": unix.SYS_PERSONALITY, "shmget": unix.SYS_SHMGET,
		"mq_open": unix.SYS_MQ_OPEN, "inotify_init1": unix.SYS_INOTIFY_INIT1, "fanotify_init": unix.SYS_FANOTIFY_INIT,
		"a later kernel's call": 1000,
	} {
		call(name, number)
	}

	shell, self := cString("/bin/sh"), cString("/proc/self/exe")
	arguments := []uintptr{shell, cString("-c"), cString("exit 0"), 0}
	call("execve /bin/sh", unix.SYS_EXECVE, shell, uintptr(unsafe.Pointer(&arguments[0])))
	call("execveat /bin/sh", unix.SYS_EXECVEAT, uintptr(0xffffff9c), shell, uintptr(unsafe.Pointer(&arguments[0])))
	arguments[0] = cString(fakeVipsName)
	call("execve itself", unix.SYS_EXECVE, self, uintptr(unsafe.Pointer(&arguments[0])))
	done := make(chan bool)
	go func() { // in another thread there is no signal at the parent's death
		runtime.LockOSThread()
		call("execve in a thread", unix.SYS_EXECVE, self, uintptr(unsafe.Pointer(&arguments[0])))
		close(done)
	}()
	<-done

	switch at.ForeignCall {
	case "i386":
		foreignCall()
	case "x32":
		call("x32", 0x40000000|unix.SYS_GETPID)
	}
	return outcome
}

const maxLimit = 1 << 40

// cStrings keeps the strings passed to the kernel alive.
var cStrings [][]byte

// cString returns the address of s with a zero byte, for a raw system call.
func cString(s string) uintptr {
	b := append([]byte(s), 0)
	cStrings = append(cStrings, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// open opens and closes a file with the given flags.
func open(path string, flags int) error {
	file, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err == nil {
		err = unix.Close(file)
	}
	return err
}

// readByte opens a file and reads one byte.
func readByte(path string) error {
	file, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	_, err = unix.Pread(file, make([]byte, 1), 0)
	if err == unix.EIO { // reading mem at 0, after a successful open
		return nil
	}
	return err
}

// dial connects a new socket of that family and kind, and closes it.
func (at Attacks) dial(family, kind int, to unix.Sockaddr) error {
	socket, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	return unix.Connect(socket, to)
}

const withoutCall = "without-call"

// WithoutCall returns the beginning of a command line that runs a program for which the system call
// of that number fails with the error answer, as on a kernel without it.
func WithoutCall(number uintptr, answer unix.Errno) []string {
	self, err := os.Executable()
	must(err)
	return []string{self, withoutCall, strconv.Itoa(int(number)), strconv.Itoa(int(answer))}
}

// WithoutLandlock is WithoutCall for Landlock: ENOSYS as on a kernel built without it, EOPNOTSUPP
// as when it is disabled.
func WithoutLandlock(answer unix.Errno) []string {
	return WithoutCall(unix.SYS_LANDLOCK_CREATE_RULESET, answer)
}

// hideCall executes command as a program for which a system call fails: number is the call, answer
// the errno, both in decimal. It returns only an error.
func hideCall(number, answer string, command []string) error {
	call, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	errno, err := strconv.Atoi(answer)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(call), Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return unix.Exec(command[0], command, os.Environ())
}
