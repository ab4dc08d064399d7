package disk

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openFileSetLock is the command of fcntl(2) that locks a range of bytes for an open file.
const openFileSetLock = unix.F_OFD_SETLK

// renameExclusive renames a file, and fails with EEXIST when the new name exists.
func renameExclusive(from int, name string, to int, newName string) error {
	return unix.Renameat2(from, name, to, newName, unix.RENAME_NOREPLACE)
}

// blockSize returns the unit of the counts of blocks in st, in bytes.
func blockSize(st *syscall.Statfs_t) int64 {
	if st.Frsize != 0 {
		return int64(st.Frsize)
	}
	return int64(st.Bsize)
}

// modifiedOf returns the time of the last change of the content.
func modifiedOf(st *syscall.Stat_t) time.Time { return time.Unix(st.Mtim.Unix()) }

// dropCache removes the pages of a file from the page cache. A file system without a page cache, or
// without this call, keeps its own way of reading.
func dropCache(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
