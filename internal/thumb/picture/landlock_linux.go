package picture

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock returns the Landlock version of the kernel, from 1. It fails when the kernel has no
// Landlock or has it disabled.
func Landlock() (version int, err error) {
	got, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, os.NewSyscallError("landlock_create_ruleset", errno)
	}
	return int(got), nil
}

const (
	rightsRead    = unix.LANDLOCK_ACCESS_FS_READ_FILE
	rightsExecute = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	rightsList    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
)

// ruleset returns the rights that Landlock refuses unless a rule grants them: all rights of that
// Landlock version, up to version 6. The kernel returns EINVAL for rights that it does not know.
func ruleset(version int) unix.LandlockRulesetAttr {
	// the last right of version 1 and all before it
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1}
	if version >= 2 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

// rule grants rights to a file, or to all files below a directory.
type rule struct {
	path   string
	rights uint64
}

// vipsRules returns the files that vipsthumbnail needs: itself, its loader and its libraries. The
// picture and the thumbnail are open already.
func vipsRules(program string) ([]rule, error) {
	rules := []rule{{program, rightsExecute}, {"/etc/ld.so.cache", rightsRead}, {"/dev/null", rightsRead},
		{"/dev/urandom", rightsRead}}
	loader, err := loaderOf(program)
	if err != nil {
		return nil, err
	}
	if loader != "" {
		rules = append(rules, rule{loader, rightsExecute})
	}
	for _, dir := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64"} {
		rules = append(rules, rule{dir, rightsList})
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, err
	}
	// for an installation with libraries of its own
	if prefix, name := filepath.Split(filepath.Dir(real)); name == "bin" {
		rules = append(rules, rule{filepath.Join(prefix, "lib"), rightsList})
	}
	return rules, nil
}

// loaderOf returns the path of a program's dynamic loader, "" when it is linked statically.
func loaderOf(program string) (string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", err
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			path, err := io.ReadAll(segment.Open())
			return strings.TrimRight(string(path), "\x00"), err
		}
	}
	return "", nil
}

// restrictThread refuses all file accesses that rules do not grant to this thread and the program
// that it executes. Without Landlock it does nothing, and the server's log reports that.
func restrictThread(rules []rule) error {
	version, err := Landlock()
	if err != nil {
		return nil
	}
	attr := ruleset(version)
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)),
		unsafe.Offsetof(attr.Quiet_access_fs), 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	defer unix.Close(int(set))
	for _, rule := range rules {
		if err := grant(int(set), rule); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", rule.path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

// grant adds a rule to the Landlock ruleset with the descriptor set. Error: fs.ErrNotExist for a
// missing file.
func grant(set int, rule rule) error {
	file, err := unix.Open(rule.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	below := unix.LandlockPathBeneathAttr{Allowed_access: rule.rights, Parent_fd: int32(file)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&below)), 0, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_add_rule", errno)
	}
	return nil
}
