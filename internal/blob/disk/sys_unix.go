//go:build !windows

package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// The calls below take a name in an open directory and never follow a symbolic link. The standard
// library offers such calls only in os.Root, which follows links that stay inside the directory.
// Errors are *fs.PathError or *os.LinkError around the errno.

const openDirectory = syscall.O_RDONLY | syscall.O_DIRECTORY

// openDirPath opens the directory at path. Error: ENOTDIR for anything else.
func openDirPath(path string) (*os.File, error) { return os.OpenFile(path, openDirectory, 0) }

// lockDir locks an open directory until it is closed. It waits for the lock.
func lockDir(dir *os.File) error { return syscall.Flock(int(dir.Fd()), syscall.LOCK_EX) }

// openAt opens name in dir. It adds O_NOFOLLOW and O_CLOEXEC to flags, so that a symbolic link is
// refused; mode is for a file that it creates.
func openAt(dir *os.File, name string, flags int, mode uint32) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	for {
		fd, err := unix.Openat(int(dir.Fd()), name, flags|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, mode)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), path), nil
		case syscall.EINTR: // a network file system was interrupted by a signal of the Go runtime
		default:
			return nil, &fs.PathError{Op: "openat", Path: path, Err: err}
		}
	}
}

// statFile returns the properties of an open file.
func statFile(f *os.File) (fileStat, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return fileStat{}, &fs.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return fileStatOf(&st), nil
}

// lstatPath returns the properties of the file at path, or of the symbolic link there.
func lstatPath(path string) (fileStat, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return fileStat{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return fileStatOf(&st), nil
}

// fileStatOf returns the properties in st.
func fileStatOf(st *syscall.Stat_t) fileStat {
	return fileStat{dev: uint64(st.Dev), ino: st.Ino, links: uint64(st.Nlink), size: st.Size,
		modified: modifiedOf(st).UnixNano(), regular: st.Mode&syscall.S_IFMT == syscall.S_IFREG}
}

// mkdirAt creates the directory name in dir with mode 0700. Error: EEXIST when the name exists.
func mkdirAt(dir *os.File, name string) error {
	if err := unix.Mkdirat(int(dir.Fd()), name, 0o700); err != nil {
		return &fs.PathError{Op: "mkdirat", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	return nil
}

// removeAt removes the file name from dir. Error: ENOENT when there is none.
func removeAt(dir *os.File, name string) error {
	if err := unix.Unlinkat(int(dir.Fd()), name, 0); err != nil {
		return &fs.PathError{Op: "unlinkat", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	return nil
}

// renameNoReplace renames a file to a free name. It returns EEXIST when the name exists; the kernel
// decides that atomically, also between processes. On a file system without such a rename it
// creates a hard link, which fails in the same way, and removes the old name.
func renameNoReplace(from *os.File, name string, to *os.File, newName string) error {
	err := error(unix.EINTR)
	for err == unix.EINTR {
		err = renameExclusive(int(from.Fd()), name, int(to.Fd()), newName)
	}
	if err == unix.ENOSYS || err == unix.EINVAL || err == unix.EOPNOTSUPP {
		if err = unix.Linkat(int(from.Fd()), name, int(to.Fd()), newName, 0); err == nil {
			err = unix.Unlinkat(int(from.Fd()), name, 0)
		}
	}
	if err != nil {
		return &os.LinkError{Op: "renameat2", Old: filepath.Join(from.Name(), name),
			New: filepath.Join(to.Name(), newName), Err: err}
	}
	return nil
}

// freeBytes returns the bytes that an unprivileged process may still write to the file system of
// dir.
func freeBytes(dir *os.File) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(dir.Fd()), &st); err != nil {
		return 0, &fs.PathError{Op: "fstatfs", Path: dir.Name(), Err: err}
	}
	return int64(st.Bavail) * blockSize(&st), nil
}

// tryLock locks length bytes from start, 0 for all bytes after start, for this open file; no other
// open file of this or another process can lock an overlapping range. It returns false when another
// one holds a lock there.
func tryLock(f *os.File, start, length int64) (bool, error) {
	switch err := setLock(f, syscall.F_WRLCK, start, length); err {
	case nil:
		return true, nil
	case syscall.EAGAIN, syscall.EACCES:
		return false, nil
	default:
		return false, &fs.PathError{Op: "fcntl", Path: f.Name(), Err: err}
	}
}

// unlock releases all locks of an open file. Closing the file is not enough: a child process that
// is just being started may share it for a moment.
func unlock(f *os.File) { _ = setLock(f, syscall.F_UNLCK, 0, 0) }

// isFull reports whether err says that the disk is full or its quota exceeded.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// setLock sets (F_WRLCK) or releases (F_UNLCK) a lock of this open file on length bytes from start,
// 0 for all bytes after start. It does not wait. Error: EAGAIN when another open file has the lock.
func setLock(f *os.File, kind int16, start, length int64) error {
	lock := syscall.Flock_t{Type: kind, Whence: io.SeekStart, Start: start, Len: length}
	for {
		if err := syscall.FcntlFlock(f.Fd(), openFileSetLock, &lock); err != syscall.EINTR {
			return err
		}
	}
}
