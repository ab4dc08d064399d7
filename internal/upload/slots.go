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

// An account has slotsPerUser uploads in one request at a time. This process counts all of them. With
// PostgreSQL, where there may be other replicas, the rows of uploads that put bytes on a disk are
// counted as well; a row counts while it is renewed, so that rows of a process that has died refuse
// nothing for longer than countedFor. Small bodies have no row: each replica counts its own, which are
// in memory.
const (
	slotsPerUser = 16
	renewEvery   = 10 * time.Second
	countedFor   = 3 * renewEvery
	slotPatience = 2 * time.Second // how long an upload waits for a slot
	slotRetry    = 5 * time.Second // what a client is told to wait that got none
)

// enter returns when the user has a slot, and what gives it back. It waits for a moment where all
// are taken, so that many small uploads at once take turns. Fault: RateLimited.
func (s *Service) enter(ctx context.Context, userID string) (leave func(), err error) {
	limited, cancel := context.WithTimeout(ctx, s.slotPatience)
	defer cancel()
	leave, err = s.slots.wait(limited, userID)
	if err != nil && ctx.Err() == nil {
		err = tooMany()
	}
	return leave, err
}

func tooMany() error {
	return &fault.Error{
		Kind: fault.RateLimited, RetryAfter: slotRetry,
		Message: "You have 16 uploads under way. Wait until one of them has ended.",
	}
}

// fewAtOnce refuses one more row than a user may have. Exact only after the user's quota was locked
// in the same transaction. Fault: RateLimited.
func (s *Service) fewAtOnce(tx *db.Tx, userID string) error {
	if s.db.Dialect() != "postgres" { // this process is alone, and has counted
		return nil
	}
	count, err := countOneShots(tx, userID, s.now().Add(Lifetime-countedFor).UnixMilli())
	if err == nil && count >= slotsPerUser {
		err = tooMany()
	}
	return err
}

// Waiting is an upload in one request whose body is kept elsewhere until Put has it: it has a slot
// of its account, and room in its quota for what has come. Not for concurrent use.
type Waiting struct {
	service *Service
	row     row
	leave   func()
}

// Wait begins an upload whose body does not go to Put at once. Faults: Unauthorized, RateLimited.
func (s *Service) Wait(ctx context.Context, a access.Actor) (*Waiting, error) {
	if err := signedIn(a); err != nil {
		return nil, err
	}
	leave, err := s.enter(ctx, a.UserID)
	if err != nil {
		return nil, err
	}
	return &Waiting{service: s, row: row{userID: a.UserID}, leave: leave}, nil
}

// Body is a body of unknown length, for which it reserves room in the quota before it hands bytes
// out. To be called once. Faults: QuotaExceeded, RateLimited; of reading also QuotaExceeded,
// UploadExpired.
func (w *Waiting) Body(ctx context.Context, body io.Reader) (io.Reader, error) {
	s := w.service
	now := s.now()
	r := w.row
	r.id, r.createdAt, r.expiresAt = s.ids.UUID(), now.UnixMilli(), now.Add(Lifetime).UnixMilli()
	r.size, r.oneShot, r.files, r.place = -1, true, 1, files.Place{Dir: vpath.Root, Conflict: files.RenameNew}
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		if err := quota.Reserve(tx, r.userID, 0, r.files); err != nil {
			return err
		}
		if err := s.fewAtOnce(tx, r.userID); err != nil {
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
	w.row = r
	alive := &guardedReader{r: body, guard: func() error { return s.keepAlive(ctx, &w.row) }}
	more := func(arrived int64) (int64, error) { return s.reserveMore(ctx, &w.row, arrived) }
	return &metered{Reader: alive, room: w.row.bytes, more: more}, nil
}

// reserved is what the quota has set aside for w, which may be nil.
func (w *Waiting) reserved() (bytes, files int64) {
	if w == nil {
		return 0, 0
	}
	return w.row.bytes, w.row.files
}

// handOver gives back what is reserved for w, in the transaction that reserves it for what Put
// stores. w may be nil.
func (w *Waiting) handOver(tx *db.Tx) error {
	if w == nil || w.row.id == "" {
		return nil
	}
	r := w.row
	held, err := take(tx, &r)
	if err == nil && !held {
		err = lapsed()
	}
	if err != nil {
		return err
	}
	return quota.Release(tx, r.userID, r.bytes, r.files)
}

// End gives back what is left of w. w may be nil.
func (w *Waiting) End(ctx context.Context) {
	if w == nil {
		return
	}
	defer w.leave() // once the row is gone, which counts as well
	if w.row.id != "" {
		w.service.giveUp(ctx, nil, w.row)
	}
}
