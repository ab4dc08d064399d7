package freemode

import "context"

// Gate returns how transfers enter a new gate.
func Gate() func(session, address string) (leave func(), err error) { return transfers().enter }

// Calls returns how other calls enter a new gate.
func Calls() func(ctx context.Context, session, address string) (leave func(), err error) {
	return calls().await
}
