package disk

import (
	"fmt"
	"os"
	"sync"
	"time"

	"larder/internal/blob"
)

// freeSpaceMaxAge is how long a measurement of the free space is used.
const freeSpaceMaxAge = time.Second

// freeSpace enforces the minimum of free space. Between two measurements it subtracts the bytes
// written, so that a fast body cannot go far below the minimum within a second.
type freeSpace struct {
	minFree int64 // bytes
	now     func() time.Time
	query   func(dir *os.File) (int64, error)

	mu        sync.Mutex
	available int64 // bytes free at the last measurement, less the bytes reserved since
	queriedAt time.Time
}

// reserve subtracts n bytes that are about to be written from the free space. It returns
// blob.ErrNoSpace when less than the minimum would remain. dir is any directory on the disk.
func (s *freeSpace) reserve(dir *os.File, n int64) error { return s.checkFree(dir, n, true) }

// check returns blob.ErrNoSpace when less than the minimum would remain after n more bytes. It
// subtracts nothing: it refuses an announced body before its first byte arrives.
func (s *freeSpace) check(dir *os.File, n int64) error { return s.checkFree(dir, n, false) }

// checkFree does the work of reserve (count is true) and of check (count is false). It measures the
// free space again when the last measurement is older than freeSpaceMaxAge.
func (s *freeSpace) checkFree(dir *os.File, n int64, count bool) error {
	if s.minFree <= 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := s.now().Sub(s.queriedAt); age >= freeSpaceMaxAge || age < 0 {
		free, err := s.query(dir)
		if err != nil {
			return storeError("ask for free space", err)
		}
		s.available, s.queriedAt = free, s.now()
	}
	if s.available-n < s.minFree {
		return blob.NoSpace("take body", fmt.Errorf("%d bytes free, %d more would leave less than the minimum of %d",
			s.available, n,
			s.minFree))
	}
	if count {
		s.available -= n
	}
	return nil
}
