package disk

import (
	"context"
	"errors"
	"io"

	"larder/internal/blob"
)

var errNoParts = errors.New("this store takes no parts yet")

// Begin implements blob.PartStore.
func (s *Store) Begin(context.Context, blob.Key, int64, int64) (blob.Upload, error) {
	return blob.Upload{}, blob.Unavailable("begin upload", errNoParts)
}

// PutPart implements blob.PartStore.
func (s *Store) PutPart(context.Context, blob.Upload, int, io.Reader) (blob.Part, error) {
	return blob.Part{}, blob.Unavailable("put part", errNoParts)
}

// Parts implements blob.PartStore.
func (s *Store) Parts(context.Context, blob.Upload) ([]blob.Part, error) {
	return nil, blob.Unavailable("list parts", errNoParts)
}

// Finish implements blob.PartStore.
func (s *Store) Finish(context.Context, blob.Upload) (blob.Info, error) {
	return blob.Info{}, blob.Unavailable("finish upload", errNoParts)
}

// Abort implements blob.PartStore.
func (s *Store) Abort(context.Context, blob.Upload) error {
	return blob.Unavailable("abort upload", errNoParts)
}
