package osfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// ErrLocked is the error of Lock for a file that another open file has locked.
const ErrLocked = windows.ERROR_LOCK_VIOLATION

// OthersMode selects no bits: Go invents the mode of a file on Windows, where the access control
// list that a file inherits from its directory says who may read it.
const OthersMode fs.FileMode = 0

const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

// Sync makes the content of the file at path, or the names in the directory at path, durable.
// FlushFileBuffers needs a handle with write access. An account that may not write to a directory
// has changed no names in it: Sync does nothing then.
func Sync(path string) error {
	file, err := open(path, windows.GENERIC_READ|windows.GENERIC_WRITE)
	if errors.Is(err, fs.ErrPermission) {
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// open opens an existing file or directory, which others may rename and remove meanwhile.
func open(path string, access uint32) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := windows.CreateFile(name, access, shareAll, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "CreateFile", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}

// Lock locks a file until it is closed, for its holder alone or shared with other shared locks. It
// does not wait. Windows refuses others the access to locked bytes, so the locked byte lies beyond
// the end of any file. Error: ErrLocked.
func Lock(file *os.File, exclusive bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}

// CreateUnnamed opens a new temporary file in dir that Windows removes when it is closed, also by
// the end of the process. pattern is that of os.CreateTemp, with one asterisk.
func CreateUnnamed(dir, pattern string) (*os.File, error) {
	path := filepath.Join(dir, strings.Replace(pattern, "*", rand.Text(), 1))
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|windows.FILE_FLAG_DELETE_ON_CLOSE, 0o600)
}

// FreeBytes returns the bytes that the account of this process may still write to the volume of
// dir.
func FreeBytes(dir string) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, &fs.PathError{Op: "GetDiskFreeSpaceEx", Path: dir, Err: err}
	}
	return int64(free), nil
}
