package blob

import (
	"context"
	"time"
)

// Walker is a Store that can list what it holds.
type Walker interface {
	// Walk calls fn for every object, in no order, with its size in bytes and the time it was
	// written. Objects that come or go meanwhile may be seen or not; names that are no keys are
	// passed over. An error of fn ends the walk and is returned as it is. Error: ErrUnavailable.
	Walk(ctx context.Context, fn func(key Key, size int64, written time.Time) error) error
}
