package thumb

import "syscall"

// ownGroup returns the attributes of a child in a process group of its own, which the kernel kills
// when the server dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
