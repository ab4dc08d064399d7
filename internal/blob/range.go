package blob

import "context"

// RangeOpener is a Store that can read a part of an object without fetching the rest.
type RangeOpener interface {
	// OpenRange is Open for a reader that needs length bytes (at least 1) from offset first. The
	// object is positioned at first, and only these bytes are fetched unless the caller reads
	// others. size is the known size of the object. Errors: ErrNotFound, ErrUnavailable, also when
	// the object has another size.
	OpenRange(ctx context.Context, key Key, size, first, length int64) (Object, error)
}
