package upload

import (
	"context"
	"fmt"
	"io"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
)

// Room for a body of unknown length is reserved while it arrives, in steps: each is as large as the
// bytes that have arrived, within these bounds in bytes. The steps get smaller where the quota is
// nearly used up.
const (
	firstStep = 2 << 20
	maxStep   = 16 << 20
	minStep   = 256 << 10
)

// reserveStep reserves the next step of quota for a user's body of unknown length of which arrived
// bytes have arrived, and returns its size in bytes: 0 where nothing is left.
func reserveStep(tx *db.Tx, userID string, arrived int64) (int64, error) {
	return quota.ReserveUpTo(tx, userID, minStep, min(max(arrived, firstStep), maxStep))
}

// deductReplaced decides whether the reservation of r leaves out r.freed bytes, those of the file
// that it replaces; if not, it sets r.replaces and r.freed to nothing. They count in full when
// another running upload leaves them out already, or when the user's uploads would leave out more
// than the user has: the stores would then hold more bytes than are used and reserved. It locks the
// user's quota, so that uploads decide this one after the other. Fault: QuotaExceeded without a
// quota.
func deductReplaced(tx *db.Tx, r *row) error {
	if err := quota.Lock(tx, r.userID); err != nil {
		return err
	}
	if r.replaces == "" {
		return nil
	}
	taken, freed, err := deductedBytes(tx, r.userID, r.replaces)
	if err != nil {
		return err
	}
	q, err := quota.Get(tx, r.userID)
	if fault.Is(err, fault.NotFound) {
		return overQuota()
	}
	if err != nil {
		return err
	}
	if taken || freed+r.freed > q.UsedStorage {
		r.replaces, r.freed = "", 0
	}
	return nil
}

// Unreserved returns how many bytes a user's running uploads do not reserve, since they replace
// files of as many bytes. The bound on an account's garbage counts them (object.Config.Unreserved).
func Unreserved(q db.Querier, userID string) (bytes int64, err error) {
	_, bytes, err = deductedBytes(q, userID, "")
	return bytes, err
}

// reservingReader is a body of unknown length. It reserves room before it returns bytes. Fault:
// QuotaExceeded, when there are more bytes and no more room.
type reservingReader struct {
	io.Reader
	arrived, reserved int64
	reserve           func(arrived int64) (granted int64, err error)
}

// Read implements io.Reader. Faults: QuotaExceeded when there are more bytes than room; those of
// reserve.
func (r *reservingReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.arrived == r.reserved {
		granted, err := r.reserve(r.arrived)
		if err != nil {
			return 0, fault.AsFault(err)
		}
		r.reserved += granted
	}
	full := r.arrived == r.reserved
	// one byte beyond the room tells whether the body ends there
	p = p[:min(int64(len(p)), max(r.reserved-r.arrived, 1))]
	n, err := r.Reader.Read(p)
	r.arrived += int64(n)
	if full && n > 0 {
		return 0, overQuota()
	}
	return n, err
}

// reserveMore adds a step to the reservation of the upload r, of which arrived bytes have arrived,
// and returns the step's size in bytes: 0 where the quota ends. Fault: UploadExpired when the row
// is gone.
func (s *Service) reserveMore(ctx context.Context, r *row, arrived int64) (granted int64, err error) {
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		held, err := extendOneShot(tx, r.id, r.expiresAt) // sessions before quotas, as everywhere
		if err == nil && !held {
			err = leaseLapsed()
		}
		if err != nil {
			return err
		}
		if granted, err = reserveStep(tx, r.userID, arrived); err != nil || granted == 0 {
			return err
		}
		return addReserved(tx, r.id, granted)
	})
	if err != nil {
		return 0, fmt.Errorf("reserve more for an upload: %w", err)
	}
	r.bytes += granted
	return granted, nil
}
