package upload

import (
	"context"
	"fmt"
	"io"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// An account has slotsPerUser uploads in one request at a time. This process counts all of them.
// With PostgreSQL, where there may be other replicas, it also counts the rows of uploads that write
// to a disk. A row counts while it is renewed, so the rows of a dead process do not refuse uploads
// for longer than rowCountsFor. Small bodies have no row: each replica counts its own, which are in
// memory.
const (
	slotsPerUser   = 16
	renewEvery     = 10 * time.Second
	rowCountsFor   = 3 * renewEvery
	slotTimeout    = 2 * time.Second // how long an upload waits for a slot
	slotRetryAfter = 5 * time.Second // how long a client without a slot is asked to wait
)

// acquireSlot takes one of the user's slotsPerUser slots for uploads in one request; leave frees
// it. It waits a short time when all slots are taken, so that many small uploads at once take
// turns. Fault: RateLimited.
func (s *Service) acquireSlot(ctx context.Context, userID string) (leave func(), err error) {
	limited, cancel := context.WithTimeout(ctx, s.slotTimeout)
	defer cancel()
	leave, err = s.oneShotSlots.acquire(limited, userID)
	if err != nil && ctx.Err() == nil {
		err = tooManyOneShots()
	}
	return leave, err
}

// tooManyOneShots is the fault RateLimited, with RetryAfter, for a user whose slots for uploads in
// one request are all taken.
func tooManyOneShots() error {
	return &fault.Error{
		Kind: fault.RateLimited, RetryAfter: slotRetryAfter,
		Message: "You have 16 unfinished uploads. Wait until one of them has ended.",
	}
}

// checkOneShotLimit refuses one more row of an upload in one request than slotsPerUser, counting
// those of other replicas. It is exact only after the user's quota was locked in the same
// transaction. Fault: RateLimited.
func (s *Service) checkOneShotLimit(tx *db.Tx, userID string) error {
	if s.db.Dialect() != "postgres" { // this is the only server, and it has counted
		return nil
	}
	count, err := countOneShots(tx, userID, s.now().Add(Lifetime-rowCountsFor).UnixMilli())
	if err == nil && count >= slotsPerUser {
		err = tooManyOneShots()
	}
	return err
}

// BufferedUpload is an upload in one request whose body is kept elsewhere until Put reads it. It
// has a slot of its account, and a reservation in its quota for the bytes that have come. Not for
// concurrent use.
type BufferedUpload struct {
	service     *Service
	row         row
	releaseSlot func()
}

// BeginBuffered takes a slot of the actor's account for an upload whose body is buffered before Put
// reads it, as that of a form whose fields come after the file. Call End in any case. Faults:
// Unauthorized, RateLimited.
func (s *Service) BeginBuffered(ctx context.Context, a access.Actor) (*BufferedUpload, error) {
	if err := signedIn(a); err != nil {
		return nil, err
	}
	leave, err := s.acquireSlot(ctx, a.UserID)
	if err != nil {
		return nil, err
	}
	return &BufferedUpload{service: s, row: row{userID: a.UserID}, releaseSlot: leave}, nil
}

// Body wraps a body of unknown length in a reader that reserves room in the quota before it returns
// bytes. Call it once. Faults: QuotaExceeded, RateLimited; of reading also QuotaExceeded,
// UploadExpired.
func (u *BufferedUpload) Body(ctx context.Context, body io.Reader) (io.Reader, error) {
	s := u.service
	now := s.now()
	r := u.row
	r.id, r.createdAt, r.expiresAt = s.ids.UUID(), now.UnixMilli(), now.Add(Lifetime).UnixMilli()
	r.size, r.oneShot, r.files, r.dest = -1, true, 1, files.Destination{Dir: vpath.Root, Conflict: files.RenameNew}
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		if err := quota.Reserve(tx, r.userID, 0, r.files); err != nil {
			return err
		}
		if err := s.checkOneShotLimit(tx, r.userID); err != nil {
			return err
		}
		var err error
		if r.bytes, err = reserveStep(tx, r.userID, 0); err != nil {
			return err
		}
		return insert(tx, r)
	})
	if err != nil {
		return nil, fmt.Errorf("reserve for an upload: %w", err)
	}
	u.row = r
	alive := &guardedReader{r: body, guard: func() error { return s.renewOneShot(ctx, &u.row) }}
	more := func(arrived int64) (int64, error) { return s.reserveMore(ctx, &u.row, arrived) }
	return &reservingReader{Reader: alive, reserved: u.row.bytes, reserve: more}, nil
}

// reserved returns the bytes and files that u has reserved; zeros for a nil u.
func (u *BufferedUpload) reserved() (bytes, files int64) {
	if u == nil {
		return 0, 0
	}
	return u.row.bytes, u.row.files
}

// releaseForPut deletes the row of u and releases its reservation, in the transaction in which Put
// makes its own, so that the bytes never count twice. It does nothing for a nil u, or before Body.
// Fault: UploadExpired when the row is gone.
func (u *BufferedUpload) releaseForPut(tx *db.Tx) error {
	if u == nil || u.row.id == "" {
		return nil
	}
	r := u.row
	held, err := deleteOneShot(tx, &r)
	if err == nil && !held {
		err = leaseLapsed()
	}
	if err != nil {
		return err
	}
	return quota.Release(tx, r.userID, r.bytes, r.files)
}

// End releases the slot of u, and its reservation unless Put has taken that over. Call it when the
// upload is done, whether it succeeded or not. It does nothing for a nil u.
func (u *BufferedUpload) End(ctx context.Context) {
	if u == nil {
		return
	}
	defer u.releaseSlot() // last: until it is deleted, the row counts against the limit, too
	if u.row.id != "" {
		u.service.cleanUpFailed(ctx, nil, u.row)
	}
}
