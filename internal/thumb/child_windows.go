package thumb

import (
	"os/exec"
	"syscall"
)

// ownGroup returns no attributes: a child on Windows ends at once, because only Linux can confine
// it.
func ownGroup() *syscall.SysProcAttr { return nil }

// killGroup kills a started child.
func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// lowerPriority does nothing, as no child does any work on Windows.
func lowerPriority(*exec.Cmd) {}
