package freemode

import "context"

// TransferLimit returns how transfers enter a new gate.
func TransferLimit() func(session, address string) (leave func(), err error) {
	return newTransferLimit().tryAcquire
}

// CallLimit returns how other calls enter a new gate.
func CallLimit() func(ctx context.Context, session, address string) (leave func(), err error) {
	return newCallLimit().acquire
}
