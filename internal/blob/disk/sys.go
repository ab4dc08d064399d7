package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// fileStat contains the properties of a file that the store uses. Two different files never have
// equal properties, so a store compares them to detect that its marker was replaced.
type fileStat struct {
	dev, ino uint64
	links    uint64 // names of the file
	size     int64
	modified int64 // time of the last change of the content in Unix nanoseconds
	regular  bool
}

// written returns the time of the last change of the content.
func (st fileStat) written() time.Time { return time.Unix(0, st.modified) }

// openRegular opens the file name in dir for reading, and returns its properties. It refuses
// anything but a regular file.
func openRegular(dir *os.File, name string) (*os.File, fileStat, error) {
	return openRegularFlags(dir, name, syscall.O_RDONLY)
}

// openRegularFlags is openRegular with other flags. It creates files with mode 0600.
func openRegularFlags(dir *os.File, name string, flags int) (*os.File, fileStat, error) {
	f, err := openAt(dir, name, flags, 0o600)
	if err != nil {
		return nil, fileStat{}, err
	}
	st, err := statFile(f)
	if err == nil && !st.regular {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: errors.New("not a plain file")}
	}
	if err != nil {
		f.Close()
		return nil, fileStat{}, err
	}
	return f, st, nil
}
