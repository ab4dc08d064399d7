package upload

import (
	"context"
	"time"

	"larder/internal/blob"
)

// WrapStores puts wrap around every store that s opens from now on.
func (s *Service) WrapStores(wrap func(blob.Store) blob.Store) {
	inner := s.store
	s.store = func(ctx context.Context, providerID string) (blob.Store, error) {
		store, err := inner(ctx, providerID)
		if err != nil {
			return nil, err
		}
		return wrap(store), nil
	}
}

// SetPartSize makes parts of that many bytes.
func (s *Service) SetPartSize(bytes int64) { s.part = bytes }

// SetAnswerTime bounds how long a store has to tell what came in.
func (s *Service) SetAnswerTime(d time.Duration) { s.answer = d }
