package freemode

import (
	"context"
	"errors"
	"time"

	"larder/internal/concurrency"
	"larder/internal/fault"
)

// How many transfers, up and down, and how many other calls of stores run at once in this process.
// Servers may let both wait, and answers take memory.
const (
	transfersPerSession = 2 // of a session
	transfersPerAddress = 6
	maxTransfers        = 50
	transferRetry       = 10 * time.Second // the end of a transfer is not known

	callsPerSession = 2
	callsPerAddress = 6
	maxCalls        = 16
	callWait        = 10 * time.Second // for a place among them
)

// operationLimit limits how many operations of a session, of an address and in all run at once.
type operationLimit struct {
	limit                  *concurrency.Limit
	perSession, perAddress int
}

func newTransferLimit() *operationLimit {
	return &operationLimit{concurrency.NewLimit(maxTransfers), transfersPerSession, transfersPerAddress}
}

func newCallLimit() *operationLimit {
	return &operationLimit{concurrency.NewLimit(maxCalls), callsPerSession, callsPerAddress}
}

// tryAcquire takes a place until leave is called. Fault: RateLimited.
func (g *operationLimit) tryAcquire(session, address string) (leave func(), err error) {
	leave, err = g.limit.TryAcquire(g.sources(session, address)...)
	return leave, limitFault(err, session, address)
}

// acquire is enter that waits for its turn, for callWait at most. Fault: RateLimited.
// Error: that of ctx.
func (g *operationLimit) acquire(ctx context.Context, session, address string) (leave func(), err error) {
	leave, err = g.limit.Acquire(ctx, callWait, g.sources(session, address)...)
	return leave, limitFault(err, session, address)
}

// sources names the session and the address apart, whatever either is called.
func (g *operationLimit) sources(session, address string) []concurrency.Source {
	return []concurrency.Source{{Name: "session:" + session, Max: g.perSession},
		{Name: "address:" + address, Max: g.perAddress}}
}

// limitFault turns a place that is missing into RateLimited.
func limitFault(err error, session, address string) error {
	var full *concurrency.LimitError
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
