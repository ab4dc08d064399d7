package db

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
)

// walIndex is the WAL index of a SQLite database, a file that all processes map into their memory
// (https://www.sqlite.org/walformat.html, section 2).
type walIndex struct{ file *os.File }

// commitCountOffset is the offset of the field iChange of the header, which SQLite adds one to in
// each transaction that writes. It is in the byte order of the machine.
const commitCountOffset = 8

// openWALIndex opens the WAL index of the database file at that path. SQLite must have created it.
func openWALIndex(database string) (*walIndex, error) {
	file, err := os.Open(database + "-shm")
	if err != nil {
		return nil, fmt.Errorf("open the WAL index: %w", err)
	}
	return &walIndex{file}, nil
}

// isOf reports whether x is the index that SQLite uses at present for the database file at that
// path: SQLite may have deleted the file of x and made another.
func (x *walIndex) isOf(database string) bool {
	mine, err := x.file.Stat()
	if err != nil {
		return false
	}
	present, err := os.Stat(database + "-shm")
	return err == nil && os.SameFile(mine, present)
}

var countBuffers = sync.Pool{New: func() any { return new([4]byte) }}

// commits returns the number of transactions that all processes have committed, modulo 2^32. ok is
// false when it cannot be read, or there is no index.
func (x *walIndex) commits() (n uint32, ok bool) {
	if x == nil {
		return 0, false
	}
	buffer := countBuffers.Get().(*[4]byte)
	defer countBuffers.Put(buffer)
	if _, err := x.file.ReadAt(buffer[:], commitCountOffset); err != nil {
		return 0, false
	}
	return binary.NativeEndian.Uint32(buffer[:]), true
}
