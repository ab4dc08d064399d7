package share

// SweepBatch is how many shares one step of a sweep looks at.
const SweepBatch = sweepBatch

// SetMaxShares sets how many shares an account may have, for tests that cannot make 10,000.
func (s *Service) SetMaxShares(most int) { s.maxShares = most }

// CountView counts a view without a visit before it.
var CountView = countView
