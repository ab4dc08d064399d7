package freemode

import (
	"sync"
	"time"

	"larder/internal/fault"
)

// How many transfers, up and down, are under way at a time, in this process.
const (
	transfersEach  = 2 // of a session
	transfersInAll = 50
	transferRetry  = 10 * time.Second // nobody knows when one ends
)

// gate bounds how many are inside at a time. Its zero value is empty.
type gate struct {
	mu     sync.Mutex
	inside map[string]int
	all    int
}

// enter lets one in, until leave is called. Fault: RateLimited.
func (g *gate) enter(who string) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.inside[who] >= transfersEach:
		return nil, &fault.Error{Kind: fault.RateLimited, Message: "A free-mode session has at most 2 transfers at a time.", RetryAfter: transferRetry}
	case g.all >= transfersInAll:
		return nil, &fault.Error{Kind: fault.RateLimited, Message: "Too many transfers are under way. Please wait a moment.", RetryAfter: transferRetry}
	}
	if g.inside == nil {
		g.inside = map[string]int{}
	}
	g.inside[who]++
	g.all++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.inside[who]--; g.inside[who] == 0 {
			delete(g.inside, who)
		}
		g.all--
	}, nil
}
