package freemode

import "context"

// TransferLimit returns tryAcquire of a new limit of transfers.
func TransferLimit() func(session, address string) (leave func(), err error) {
	return newTransferLimit().tryAcquire
}

// CallLimit returns acquire of a new limit of other calls.
func CallLimit() func(ctx context.Context, session, address string) (leave func(), err error) {
	return newCallLimit(callWait).acquire
}
