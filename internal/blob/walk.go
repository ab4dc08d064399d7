package blob

import (
	"context"
	"time"
)

// Walker is a Store that can list its objects.
type Walker interface {
	// Walk calls fn for every object, in no particular order, with its size in bytes and the time
	// it was written. Objects created or deleted during the walk may or may not be included. Names
	// that are not keys are skipped. An error of fn ends the walk and is returned unchanged. Error:
	// ErrUnavailable.
	Walk(ctx context.Context, fn func(key Key, size int64, written time.Time) error) error
}
