package disk

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openFileSetLock is the command of fcntl(2) that locks a range of bytes for an open file:
// F_OFD_SETLK, which package unix does not define for macOS.
const openFileSetLock = 90

// renameExclusive renames a file, and fails with EEXIST when the new name exists.
func renameExclusive(from int, name string, to int, newName string) error {
	return unix.RenameatxNp(from, name, to, newName, unix.RENAME_EXCL)
}

// blockSize returns the unit of the counts of blocks in st, in bytes.
func blockSize(st *syscall.Statfs_t) int64 { return int64(st.Bsize) }

// modifiedOf returns the time of the last change of the content.
func modifiedOf(st *syscall.Stat_t) time.Time { return time.Unix(st.Mtimespec.Unix()) }

// dropCache does nothing: macOS has no such call.
func dropCache(*os.File) {}
