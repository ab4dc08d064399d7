package blob

import "context"

// RangeOpener is a Store of which part of an object can be had without the rest
// of it being fetched.
type RangeOpener interface {
	// OpenRange is Open for a reader who wants length bytes (1 at least) from first on: it
	// stands there, and only those are fetched for as long as nothing else is read. size is
	// what the object is known to have. Errors: ErrNotFound, ErrUnavailable, which is also an
	// object of another size.
	OpenRange(ctx context.Context, key Key, size, first, length int64) (Object, error)
}
