package freemode

import (
	"context"
	"errors"
	"time"

	"larder/internal/concurrency"
	"larder/internal/fault"
)

// Limits of concurrent transfers, up and down, and of other calls of stores in this process. A
// server may make both wait, and responses take memory.
const (
	transfersPerSession = 2 // of a session
	transfersPerAddress = 6
	maxTransfers        = 50
	transferRetry       = 10 * time.Second // it is not known when a transfer will end

	callsPerSession = 2
	callsPerAddress = 6
	maxCalls        = 16
	callWait        = 10 * time.Second // longest wait for a slot
)

// operationLimit limits concurrent operations per session, per address and in total.
type operationLimit struct {
	limit                  *concurrency.Limit
	perSession, perAddress int
	wait                   time.Duration // longest wait of acquire
}

// newTransferLimit returns the limit of uploads and downloads.
func newTransferLimit() *operationLimit {
	return &operationLimit{concurrency.NewLimit(maxTransfers), transfersPerSession, transfersPerAddress, 0}
}

// newCallLimit returns the limit of the other calls of stores. A call waits for a slot up to wait.
func newCallLimit(wait time.Duration) *operationLimit {
	return &operationLimit{concurrency.NewLimit(maxCalls), callsPerSession, callsPerAddress, wait}
}

// tryAcquire takes a slot for an operation of a session (its hash) that an address began, without
// waiting. leave releases the slot. Fault: RateLimited.
func (l *operationLimit) tryAcquire(session, address string) (leave func(), err error) {
	leave, err = l.limit.TryAcquire(l.sources(session, address)...)
	return leave, limitFault(err, session, address)
}

// acquire takes a slot for an operation of a session (its hash) that an address began, and waits
// for one up to l.wait. leave releases the slot. Fault: RateLimited. Error: that of ctx.
func (l *operationLimit) acquire(ctx context.Context, session, address string) (leave func(), err error) {
	leave, err = l.limit.Acquire(ctx, l.wait, l.sources(session, address)...)
	return leave, limitFault(err, session, address)
}

// sources returns the session and the address as separate sources, whose names cannot collide.
func (l *operationLimit) sources(session, address string) []concurrency.Source {
	return []concurrency.Source{{Name: "session:" + session, Max: l.perSession},
		{Name: "address:" + address, Max: l.perAddress}}
}

// limitFault turns a concurrency.LimitError into RateLimited, with a sentence that names the limit:
// of the session, of the address or of all. It returns other errors unchanged.
func limitFault(err error, session, address string) error {
	var full *concurrency.LimitError
	if !errors.As(err, &full) {
		return err
	}
	message := "Free mode is busy. Please wait a moment."
	switch full.Source {
	case "session:" + session:
		message = "A free-mode session can run at most 2 transfers and 2 other operations at a time."
	case "address:" + address:
		message = "In free mode, one address can run at most 6 transfers and 6 other operations at a time."
	}
	return &fault.Error{Kind: fault.RateLimited, Message: message, RetryAfter: transferRetry}
}
