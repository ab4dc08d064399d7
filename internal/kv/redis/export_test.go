package redis

import "time"

// SetPatience changes how long a Take waits for a server that was up so far, and returns what it was.
func (s *Store) SetPatience(d time.Duration) (before time.Duration) {
	before, s.opts.Patience = s.opts.Patience, d
	return before
}
