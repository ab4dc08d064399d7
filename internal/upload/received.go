package upload

import (
	"context"
	"errors"
	"slices"

	"larder/internal/blob"
	"larder/internal/provider"
)

// Where all parts come through the service, a part counts when the store lists it under an ETag
// that was acknowledged: the last one, or, of several that came at once, the one that the store
// took last. A store may list others. Some servers take a body that a reset connection cut off for
// a whole part; it may even appear after the next body for that part has been stored and
// acknowledged, and replace it. Such a part was never acknowledged, so it counts as missing and has
// to be sent again.
//
// Parts that may go directly to the store do not pass through the service, which cannot tell them
// from such parts. There every part that the store lists counts.

// received lists the parts of a session that count as received. When parts may go directly to the
// store, every listed part counts. others reports that the store lists some that do not count,
// since they were never acknowledged. When an earlier completion has assembled the parts, all of
// them count, with the ETag of the object. Error: blob.ErrNotFound when the store knows nothing of
// them. Fault: Unavailable.
func (s *Service) received(ctx context.Context, r row) (parts []blob.Part, others bool, err error) {
	store, err := s.store(ctx, r.dest.ProviderID)
	if err != nil {
		return nil, false, err
	}
	u := s.upload(r)
	listed, err := store.Parts(ctx, u)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		parts, err = assembledParts(ctx, store, u)
		return parts, false, err
	case err != nil:
		return nil, false, provider.Fault(err)
	case !r.partsRecorded:
		return listed, false, nil
	}
	known, err := acknowledgedETags(s.db.Read(ctx), r.id)
	if err != nil {
		return nil, false, err
	}
	for _, p := range listed {
		if slices.Contains(known[p.Number], unquoteETag(p.ETag)) {
			parts = append(parts, p)
		}
	}
	return parts, len(parts) < len(listed), nil
}

// assembledParts lists all parts of an upload whose object exists, so that its parts were
// assembled, with the ETag of the object. Error: blob.ErrNotFound when there is no object. Fault:
// Unavailable.
func assembledParts(ctx context.Context, store blob.Store, u blob.Upload) (parts []blob.Part, err error) {
	info, err := store.Stat(ctx, u.Key)
	if err != nil {
		return nil, provider.Fault(err)
	}
	for n := 1; n <= u.Parts(); n++ {
		parts = append(parts, blob.Part{Number: n, Size: u.PartLength(n), ETag: info.ETag})
	}
	return parts, nil
}

// missing lists the numbers from 1 to total of the parts that are not in received.
func missing(total int, received []blob.Part) []int {
	there := make(map[int]bool, len(received))
	for _, p := range received {
		there[p.Number] = true
	}
	var numbers []int
	for n := 1; n <= total; n++ {
		if !there[n] {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// totalSize sums the sizes of parts, in bytes.
func totalSize(parts []blob.Part) (n int64) {
	for _, p := range parts {
		n += p.Size
	}
	return n
}
