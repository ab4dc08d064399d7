//go:build amd64 || arm64

package picture

import "golang.org/x/sys/unix"

// commonCalls are the system calls that both decoders need: memory, threads, time, signals within
// the process, open files.
var commonCalls = []uint32{
	unix.SYS_BRK, unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE,
	unix.SYS_MINCORE, unix.SYS_MEMBARRIER,
	unix.SYS_FUTEX, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS, unix.SYS_GETTID, unix.SYS_GETPID,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SCHED_GETATTR,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_RESTART_SYSCALL,
	unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY,
	unix.SYS_GETRUSAGE, unix.SYS_GETRANDOM, unix.SYS_UNAME, unix.SYS_SYSINFO, unix.SYS_GETUID, unix.SYS_GETEUID,
	unix.SYS_GETGID, unix.SYS_GETEGID,
	unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_PREADV, unix.SYS_WRITE, unix.SYS_WRITEV,
	unix.SYS_PWRITE64, unix.SYS_PWRITEV,
	unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_FADVISE64, unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_PPOLL,
	unix.SYS_PSELECT6,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2,
}

// fileCalls are the system calls with which libvips finds its libraries. Go's decoders open no
// file.
var fileCalls = []uint32{
	unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_READLINKAT,
	unix.SYS_GETDENTS64, unix.SYS_GETCWD,
}

const (
	namespaces = unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS |
		unix.CLONE_NEWPID | unix.CLONE_NEWTIME | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS
	// writeFlags are the flags of open(2) that allow more than reading.
	writeFlags = unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// conditionalCalls returns the system calls that both decoders need only with certain arguments.
// pid is the id of this process.
func conditionalCalls(pid uint32) []conditionalCall {
	return []conditionalCall{
		{unix.SYS_CLONE, []condition{{argument: 0, mask: unix.CLONE_THREAD | namespaces,
			values: []uint32{unix.CLONE_THREAD}}}},
		{unix.SYS_KILL, []condition{{argument: 0, values: []uint32{pid}}}},
		{unix.SYS_TGKILL, []condition{{argument: 0, values: []uint32{pid}}}},
		{unix.SYS_PRCTL, []condition{{argument: 0,
			values: []uint32{unix.PR_SET_NAME, unix.PR_GET_NAME, unix.PR_SET_VMA}}}},
		{unix.SYS_FCNTL, []condition{{argument: 1,
			values: []uint32{unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL}}}},
		{unix.SYS_IOCTL, []condition{{argument: 1, values: []uint32{unix.TCGETS, unix.TIOCGWINSZ}}}},
		{unix.SYS_PRLIMIT64, []condition{ // only to read its own limits
			{argument: 0, values: []uint32{0}}, {argument: 2, values: []uint32{0}},
			{argument: 2, high: true, values: []uint32{0}},
		}},
	}
}

// readOnlyCalls returns the calls that open files, allowed only for reading.
func readOnlyCalls() []conditionalCall {
	return append([]conditionalCall{{unix.SYS_OPENAT,
		[]condition{{argument: 2, mask: writeFlags, values: []uint32{0}}}}},
		legacyOpenCalls...)
}
