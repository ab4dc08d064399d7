//go:build !windows

package thumb

import (
	"os/exec"
	"syscall"
)

// killGroup kills the process group of a started child.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
