package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"larder/internal/osfile"
)

// The calls below take a name in an open directory and never follow a symbolic link. They are those
// of the native API, as in package os, which has no rename that refuses an existing name. They
// share every file for deletion, so that a file may be renamed and removed while it is open.
//
// A name is durable by two means. The handle that creates, renames or removes it has
// FILE_WRITE_THROUGH, as that of MoveFileEx with MOVEFILE_WRITE_THROUGH. The sync of a directory is
// FlushFileBuffers, which needs a handle with write access.
//
// Errors are *fs.PathError or *os.LinkError. Those that the package distinguishes are ENOENT,
// EEXIST and ENOTDIR, as on the other systems.

const (
	openDirectory = 1 << 30 // opens a directory; none of the flags of package syscall

	shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
)

// openDirPath opens the directory at path. Error: ENOTDIR for anything else.
func openDirPath(path string) (*os.File, error) {
	f, err := openPath(path, windows.GENERIC_READ|windows.GENERIC_WRITE, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.Join(err, syscall.ENOTDIR)}
	}
	return f, nil
}

// openPath opens the existing file or directory at path. flags are added to those of CreateFile.
func openPath(path string, access, flags uint32) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	handle, err := windows.CreateFile(name, access, shareAll, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|flags, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "CreateFile", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}

// lockDir does nothing: Windows locks no directories. Of two processes that create a store at once
// one fails.
func lockDir(*os.File) error { return nil }

// openAt opens name in dir. A symbolic link is refused. A file that it creates has the access
// control list that dir hands on, whatever the mode.
func openAt(dir *os.File, name string, flags int, _ uint32) (*os.File, error) {
	access, options, disposition := uint32(windows.FILE_GENERIC_READ), uint32(windows.FILE_NON_DIRECTORY_FILE),
		uint32(windows.FILE_OPEN)
	if flags&(syscall.O_WRONLY|syscall.O_RDWR) != 0 {
		access |= windows.FILE_GENERIC_WRITE
	}
	switch {
	case flags&openDirectory != 0:
		access |= windows.FILE_GENERIC_WRITE
		options = windows.FILE_DIRECTORY_FILE
	case flags&syscall.O_EXCL != 0:
		disposition = windows.FILE_CREATE
	case flags&syscall.O_TRUNC != 0:
		disposition = windows.FILE_OVERWRITE_IF
	case flags&syscall.O_CREAT != 0:
		disposition = windows.FILE_OPEN_IF
	}
	handle, err := open(dir, name, access, disposition, options)
	path := filepath.Join(dir.Name(), name)
	if err != nil {
		return nil, &fs.PathError{Op: "NtCreateFile", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}

// open opens or creates name in dir, for calls that return when they have taken effect.
func open(dir *os.File, name string, access, disposition, options uint32) (handle windows.Handle, err error) {
	if name == "." {
		name = ""
	}
	unicode, err := windows.NewNTUnicodeString(name)
	if err != nil {
		return 0, err
	}
	object := &windows.OBJECT_ATTRIBUTES{RootDirectory: windows.Handle(dir.Fd()), ObjectName: unicode,
		Attributes: windows.OBJ_CASE_INSENSITIVE | windows.OBJ_DONT_REPARSE}
	object.Length = uint32(unsafe.Sizeof(*object))
	err = windows.NtCreateFile(&handle, access|windows.SYNCHRONIZE, object, &windows.IO_STATUS_BLOCK{}, nil,
		windows.FILE_ATTRIBUTE_NORMAL, shareAll, disposition,
		options|windows.FILE_SYNCHRONOUS_IO_NONALERT|windows.FILE_OPEN_FOR_BACKUP_INTENT, 0, 0)
	return handle, errnoOf(err)
}

// errnoOf returns the error that the package expects for a status of the native API.
func errnoOf(err error) error {
	status, ok := err.(windows.NTStatus)
	if !ok {
		return err
	}
	switch status {
	case windows.STATUS_OBJECT_NAME_NOT_FOUND, windows.STATUS_OBJECT_PATH_NOT_FOUND, windows.STATUS_NO_SUCH_FILE,
		windows.STATUS_DELETE_PENDING: // removed, and still open on a volume that keeps the name until then
		return syscall.ENOENT
	case windows.STATUS_OBJECT_NAME_COLLISION:
		return syscall.EEXIST
	case windows.STATUS_NOT_A_DIRECTORY:
		return syscall.ENOTDIR
	}
	return status.Errno()
}

// statFile returns the properties of an open file.
func statFile(f *os.File) (fileStat, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return fileStat{}, &fs.PathError{Op: "GetFileInformationByHandle", Path: f.Name(), Err: err}
	}
	return fileStat{
		dev:      uint64(info.VolumeSerialNumber),
		ino:      uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow),
		links:    uint64(info.NumberOfLinks),
		size:     int64(info.FileSizeHigh)<<32 | int64(info.FileSizeLow),
		modified: info.LastWriteTime.Nanoseconds(),
		regular:  info.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY == 0,
	}, nil
}

// lstatPath returns the properties of the file at path, or of the symbolic link there.
func lstatPath(path string) (fileStat, error) {
	f, err := openPath(path, windows.FILE_READ_ATTRIBUTES, windows.FILE_FLAG_OPEN_REPARSE_POINT)
	if err != nil {
		return fileStat{}, err
	}
	defer f.Close()
	return statFile(f)
}

// mkdirAt creates the directory name in dir. Error: EEXIST when the name exists.
func mkdirAt(dir *os.File, name string) error {
	handle, err := open(dir, name, windows.FILE_LIST_DIRECTORY, windows.FILE_CREATE,
		windows.FILE_DIRECTORY_FILE|windows.FILE_WRITE_THROUGH)
	if err == nil {
		err = windows.CloseHandle(handle)
	}
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	return nil
}

// removeAt removes the file name from dir. Error: ENOENT when there is none. The name is free at
// once, also while the file is open, on NTFS since Windows 10; on other volumes when the last user
// closes the file.
func removeAt(dir *os.File, name string) error {
	handle, err := open(dir, name, windows.DELETE, windows.FILE_OPEN,
		windows.FILE_NON_DIRECTORY_FILE|windows.FILE_WRITE_THROUGH)
	if err == nil {
		err = errors.Join(remove(handle), windows.CloseHandle(handle))
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	return nil
}

// remove removes the file of a handle with the right DELETE.
func remove(handle windows.Handle) error {
	flags := uint32(windows.FILE_DISPOSITION_DELETE | windows.FILE_DISPOSITION_POSIX_SEMANTICS)
	err := setInformation(handle, windows.FileDispositionInformationEx, unsafe.Pointer(&flags), unsafe.Sizeof(flags))
	switch err {
	case windows.STATUS_INVALID_INFO_CLASS, windows.STATUS_INVALID_PARAMETER, windows.STATUS_NOT_SUPPORTED:
		deleted := true
		err = setInformation(handle, windows.FileDispositionInformation, unsafe.Pointer(&deleted),
			unsafe.Sizeof(deleted))
	}
	return errnoOf(err)
}

// setInformation calls NtSetInformationFile. Its errors are of the type windows.NTStatus.
func setInformation(handle windows.Handle, class uint32, info unsafe.Pointer, size uintptr) error {
	return windows.NtSetInformationFile(handle, &windows.IO_STATUS_BLOCK{}, (*byte)(info), uint32(size), class)
}

// renameInformation is FILE_RENAME_INFORMATION with room for the names of the store.
type renameInformation struct {
	replace       uint32
	rootDirectory windows.Handle
	nameLength    uint32 // bytes
	name          [256]uint16
}

// renameNoReplace renames a file to a free name. It returns EEXIST when the name exists; the file
// system decides that atomically, also between processes.
func renameNoReplace(from *os.File, name string, to *os.File, newName string) error {
	if err := rename(from, name, to, newName); err != nil {
		return &os.LinkError{Op: "rename", Old: filepath.Join(from.Name(), name),
			New: filepath.Join(to.Name(), newName), Err: err}
	}
	return nil
}

// rename is renameNoReplace with bare errors.
func rename(from *os.File, name string, to *os.File, newName string) error {
	unicode, err := windows.UTF16FromString(newName)
	if err != nil {
		return err
	}
	info := renameInformation{rootDirectory: windows.Handle(to.Fd()), nameLength: uint32(2 * (len(unicode) - 1))}
	if copy(info.name[:], unicode) < len(unicode) {
		return syscall.ENAMETOOLONG
	}
	handle, err := open(from, name, windows.DELETE, windows.FILE_OPEN,
		windows.FILE_NON_DIRECTORY_FILE|windows.FILE_WRITE_THROUGH)
	if err != nil {
		return err
	}
	err = setInformation(handle, windows.FileRenameInformation, unsafe.Pointer(&info), unsafe.Sizeof(info))
	return errors.Join(errnoOf(err), windows.CloseHandle(handle))
}

// freeBytes returns the bytes that the account of this process may still write to the volume of
// dir.
func freeBytes(dir *os.File) (int64, error) { return osfile.FreeBytes(dir.Name()) }

// lockBase is the offset of the lock on the first byte of a file. Windows refuses others the access
// to locked bytes, but a lock here only excludes other locks: all locks lie beyond the end of any
// object.
const lockBase = 1 << 61

// tryLock locks length bytes from start, 0 for all bytes after start, for this open file; no other
// open file of this or another process can lock an overlapping range. It returns false when another
// one holds a lock there.
func tryLock(f *os.File, start, length int64) (bool, error) {
	at := uint64(start) + lockBase
	if length == 0 {
		length = 1<<63 - 1 - int64(at)
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, uint32(length), uint32(length>>32),
		&windows.Overlapped{Offset: uint32(at), OffsetHigh: uint32(at >> 32)})
	switch err {
	case nil:
		return true, nil
	case windows.ERROR_LOCK_VIOLATION:
		return false, nil
	default:
		return false, &fs.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
	}
}

// unlock does nothing: Windows releases the locks of a file that is closed, and child processes do
// not share it.
func unlock(*os.File) {}

// isFull reports whether err says that the disk is full or its quota exceeded.
func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// dropCache does nothing: Windows has no such call.
func dropCache(*os.File) {}
