package share

// Step is how many shares one sweep looks at.
const Step = step

// Keep sets how many shares an account may have, for tests that cannot make ten thousand.
func (s *Service) Keep(most int) { s.most = most }

// CountView counts a view, whatever a visit before it has found.
var CountView = countView
