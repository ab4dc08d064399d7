package freemode

import (
	"context"
	"sync"
	"time"

	"larder/internal/fault"
)

// How many transfers, up and down, and how many other calls of stores are under way at a time, in this process. Servers may let both wait, and answers
// take memory.
const (
	transfersEach    = 2 // of a session
	transfersAddress = 6
	transfersInAll   = 50
	transferRetry    = 10 * time.Second // nobody knows when one ends

	callsEach    = 2
	callsAddress = 6
	callsInAll   = 16
	callWait     = 10 * time.Second // for a place among them
)

// gate bounds how many are inside at a time.
type gate struct {
	each, address, most int // of a session, of an address, in all

	mu     sync.Mutex
	inside map[string]int // by session, and by address
	all    int
	left   chan struct{} // closed when one leaves, nil while nobody waits for that
}

func newGate(each, address, most int) *gate {
	return &gate{each: each, address: address, most: most, inside: map[string]int{}}
}

func transfers() *gate { return newGate(transfersEach, transfersAddress, transfersInAll) }
func calls() *gate     { return newGate(callsEach, callsAddress, callsInAll) }

// enter lets one in, until leave is called. Fault: RateLimited.
func (g *gate) enter(session, address string) (leave func(), err error) {
	leave, message, _ := g.try(session, address)
	if leave == nil {
		return nil, &fault.Error{Kind: fault.RateLimited, Message: message, RetryAfter: transferRetry}
	}
	return leave, nil
}

// await is enter that waits for its turn, for callWait at most. Fault: RateLimited. Error: that of ctx.
func (g *gate) await(ctx context.Context, session, address string) (leave func(), err error) {
	late := time.NewTimer(callWait)
	defer late.Stop()
	for {
		leave, message, left := g.try(session, address)
		if leave != nil {
			return leave, nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late.C:
			return nil, &fault.Error{Kind: fault.RateLimited, Message: message, RetryAfter: transferRetry}
		}
	}
}

// try lets one in, or tells why not and when it is worth another try.
func (g *gate) try(session, address string) (leave func(), message string, left <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.inside[session] >= g.each:
		message = "A free-mode session does at most 2 things of a kind at a time."
	case g.inside[address] >= g.address:
		message = "An address does at most 6 things of a kind at a time in free mode."
	case g.all >= g.most:
		message = "Free mode is busy. Please wait a moment."
	default:
		g.inside[session]++
		g.inside[address]++
		g.all++
		return func() { g.leave(session, address) }, "", nil
	}
	if g.left == nil {
		g.left = make(chan struct{})
	}
	return nil, message, g.left
}

func (g *gate) leave(session, address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, who := range []string{session, address} {
		if g.inside[who]--; g.inside[who] == 0 {
			delete(g.inside, who)
		}
	}
	g.all--
	if g.left != nil {
		close(g.left)
		g.left = nil
	}
}
