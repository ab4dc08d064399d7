package redis

import "time"

// SetTimeout changes how long a Take waits for a server that was up so far, and
// returns what it was.
func (s *Store) SetTimeout(d time.Duration) (before time.Duration) {
	before, s.opts.Timeout = s.opts.Timeout, d
	return before
}
