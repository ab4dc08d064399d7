package share

// SweepBatch is how many shares one sweep looks at.
const SweepBatch = sweepBatch

// SetMaxShares sets how many shares an account may have, for tests that cannot make ten thousand.
func (s *Service) SetMaxShares(most int) { s.maxShares = most }

// CountView counts a view, whatever a visit before it has found.
var CountView = countView
