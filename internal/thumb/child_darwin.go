package thumb

import "syscall"

// ownGroup returns the attributes of a child in a process group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
