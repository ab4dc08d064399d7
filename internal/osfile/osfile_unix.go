//go:build !windows

package osfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ErrLocked is the error of Lock for a file that another open file has locked.
const ErrLocked = syscall.EWOULDBLOCK

// OthersMode selects the bits of a mode that give rights to others than the owner of a file.
const OthersMode fs.FileMode = 0o077

// Sync makes the content of the file at path, or the names in the directory at path, durable.
func Sync(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// Lock locks a file until it is closed, for its holder alone or shared with other shared locks. It
// does not wait. Error: ErrLocked.
func Lock(file *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	return syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
}

// CreateUnnamed opens a new temporary file in dir, whose space is freed when it is closed. pattern
// is that of os.CreateTemp.
func CreateUnnamed(dir, pattern string) (*os.File, error) {
	file, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// FreeBytes returns the bytes that an unprivileged process may still write to the file system of
// dir.
func FreeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
