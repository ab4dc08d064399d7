package disk

import (
	"fmt"
	"os"
	"sync"
	"time"

	"larder/internal/blob"
)

// spaceAge is how long one answer of the file system serves.
const spaceAge = time.Second

// space keeps the floor of free space. Between two questions to the file system, what was
// written since is counted off the answer, so that a fast body cannot run far below the
// floor within a second.
type space struct {
	floor int64 // bytes
	now   func() time.Time
	free  func(dir *os.File) (int64, error)

	mu    sync.Mutex
	known int64 // bytes free, less what was taken since
	asked time.Time
}

// take counts n bytes that are about to be written below dir; it refuses with blob.ErrNoSpace when
// less than the floor would be left.
func (s *space) take(dir *os.File, n int64) error { return s.ask(dir, n, true) }

// room is take without the counting, for a body of n bytes that is only announced.
func (s *space) room(dir *os.File, n int64) error { return s.ask(dir, n, false) }

func (s *space) ask(dir *os.File, n int64, count bool) error {
	if s.floor <= 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := s.now().Sub(s.asked); age >= spaceAge || age < 0 {
		free, err := s.free(dir)
		if err != nil {
			return failed("ask for free space", err)
		}
		s.known, s.asked = free, s.now()
	}
	if s.known-n < s.floor {
		return blob.NoSpace("take body", fmt.Errorf("%d bytes free, %d more would go below the floor of %d", s.known, n,
			s.floor))
	}
	if count {
		s.known -= n
	}
	return nil
}
