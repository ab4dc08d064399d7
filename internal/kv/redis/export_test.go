package redis

import "time"

// SetTimeout changes how long a Take waits for a server that is up, and returns the previous value.
func (s *Store) SetTimeout(d time.Duration) (before time.Duration) {
	before, s.opts.Timeout = s.opts.Timeout, d
	return before
}
