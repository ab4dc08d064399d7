//go:build !windows

package thumb

import (
	"os/exec"
	"syscall"
)

// killGroup kills the process group of a started child.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// lowerPriority makes a started child give way to other processes. A failure only means that it
// does not. The whole process group is named, because on Linux a process has a priority for each
// thread. On Linux, a process with the value low receives a tenth of the processor time of a
// process with the value 0. With the largest value, 19, it would receive a seventieth, and would
// exceed its time limit on a busy machine.
func lowerPriority(cmd *exec.Cmd) {
	const low = 10
	_ = syscall.Setpriority(syscall.PRIO_PGRP, cmd.Process.Pid, low)
}
