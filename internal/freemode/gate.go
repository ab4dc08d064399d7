package freemode

import (
	"context"
	"errors"
	"time"

	"larder/internal/concurrency"
	"larder/internal/fault"
)

// How many transfers, up and down, and how many other calls of stores run at once in this process. Servers may let both
// wait, and answers take memory.
const (
	transfersEach    = 2 // of a session
	transfersAddress = 6
	transfersInAll   = 50
	transferRetry    = 10 * time.Second // the end of a transfer is not known

	callsEach    = 2
	callsAddress = 6
	callsInAll   = 16
	callWait     = 10 * time.Second // for a place among them
)

// gate limits how many operations of a session, of an address and in all run at once.
type gate struct {
	limit         *concurrency.Limit
	each, address int
}

func transfers() *gate {
	return &gate{concurrency.NewLimit(transfersInAll), transfersEach, transfersAddress}
}

func calls() *gate { return &gate{concurrency.NewLimit(callsInAll), callsEach, callsAddress} }

// enter takes a place until leave is called. Fault: RateLimited.
func (g *gate) enter(session, address string) (leave func(), err error) {
	leave, err = g.limit.TryAcquire(g.sources(session, address)...)
	return leave, gateFault(err, session, address)
}

// await is enter that waits for its turn, for callWait at most. Fault: RateLimited. Error: that of ctx.
func (g *gate) await(ctx context.Context, session, address string) (leave func(), err error) {
	leave, err = g.limit.Acquire(ctx, callWait, g.sources(session, address)...)
	return leave, gateFault(err, session, address)
}

// sources names the session and the address apart, whatever either is called.
func (g *gate) sources(session, address string) []concurrency.Source {
	return []concurrency.Source{{Name: "session:" + session, Most: g.each}, {Name: "address:" + address, Most: g.address}}
}

// gateFault turns a place that is missing into RateLimited.
func gateFault(err error, session, address string) error {
	var full *concurrency.Full
	if !errors.As(err, &full) {
		return err
	}
	message := "Free mode is busy. Please wait a moment."
	switch full.Source {
	case "session:" + session:
		message = "A free-mode session does at most 2 things of a kind at a time."
	case "address:" + address:
		message = "An address does at most 6 things of a kind at a time in free mode."
	}
	return &fault.Error{Kind: fault.RateLimited, Message: message, RetryAfter: transferRetry}
}
