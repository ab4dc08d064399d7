package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/quota"
)

// beginParts asks the store to begin an upload in parts for the new session r, under a key that is
// on the garbage list already, after checking that the session can succeed. It sets key, upload id
// and number of parts in r. Faults: QuotaExceeded, Conflict (too many open sessions), Unavailable.
func (s *Service) beginParts(ctx context.Context, r *row) error {
	bytes, count, err := quota.Remaining(s.db.Read(ctx), r.userID)
	if err != nil {
		return fmt.Errorf("read the quota: %w", err)
	}
	if bytes < r.bytes || count < r.files {
		return overQuota()
	}
	if err := s.checkOpenLimit(s.db.Read(ctx), *r); err != nil {
		return err
	}
	if r.key, _, err = s.keys.DiscardedKey(ctx, r.dest.ProviderID); err != nil {
		return err
	}
	store, err := s.store(ctx, r.dest.ProviderID) // after the key is on the garbage list, see object.KeySource
	if err != nil {
		return err
	}
	u, err := store.Begin(ctx, r.key, r.size, s.partSize, typeBeforeBytes(r.dest.Name, r.claimedType))
	if err != nil {
		return provider.Fault(err)
	}
	crash.Point("parts.begun")
	r.uploadID, r.totalParts, r.partsRecorded = u.ID, u.Parts(), r.mode == modeWorker
	return nil
}

// upload returns the description by which the store knows the parts of the session r.
func (s *Service) upload(r row) blob.Upload {
	return blob.Upload{Key: r.key, ID: r.uploadID, Size: r.size, PartSize: s.partSize}
}

// discardPartsLater makes the parts of the session r garbage for the time when it is over
// (garbageAt), with the store's upload id, so that the collector drops them if the session does not
// end before. Fault: Conflict because of object.ErrCollected when the collector has claimed the
// key.
func (s *Service) discardPartsLater(tx *db.Tx, r row) error {
	held, err := object.DiscardParts(tx, r.dest.ProviderID, r.key, r.uploadID, r.garbageAt())
	if err == nil && !held {
		err = fault.New(fault.Conflict, "The parts of this upload have been removed. Start a new upload.").
			WithCause(object.ErrCollected)
	}
	if err != nil {
		return err
	}
	return object.ExpectLateWrites(tx, r.dest.ProviderID, r.key, r.expiresAt)
}

// discardParts makes the parts of a session that was not created because of err garbage at once. As
// in discard, an error that is no fault may hide a commit; then it does nothing.
func (s *Service) discardParts(ctx context.Context, err error, r row) {
	var taken *db.ErrUnique
	if fault.KindOf(err) == fault.Internal && !errors.As(err, &taken) && !errors.Is(err, errSessionChanged) {
		return
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	noted := false
	err = s.db.Write(ctx, func(tx *db.Tx) (err error) {
		noted, err = object.DiscardParts(tx, r.dest.ProviderID, r.key, r.uploadID, s.nowMs())
		return err
	})
	if err == nil && !noted { // the collector has claimed the key and does not know the parts
		var store blob.Store
		if store, err = s.store(ctx, r.dest.ProviderID); err == nil {
			err = store.Abort(ctx, s.upload(r))
		}
	}
	if err != nil {
		s.log.Warn("drop the parts of an upload", "error", err)
	}
}

// forgetCollected drops the keys at hand, and the kept parts of the session old (nil for none), one
// of which the collector has claimed, since the clock of another replica is far ahead. The next
// attempt does not use them.
func (s *Service) forgetCollected(ctx context.Context, r row, old *row) {
	s.log.Warn("the object key of an upload in parts was collected too early: compare the clocks of the replicas",
		"provider", r.dest.ProviderID)
	s.keys.ForgetKeys(r.dest.ProviderID)
	if old == nil || old.status != expired {
		return
	}
	if err := s.dropKeptParts(ctx, *old); err != nil {
		s.log.Warn("drop kept parts", "error", err)
	}
}

// checkTakesParts refuses a part, or a question about parts, for a session that is not in parts or
// has ended. Faults: Conflict, UploadExpired.
func (s *Service) checkTakesParts(r row) error {
	if !r.inParts() {
		return fault.New(fault.Conflict, "This upload is not in parts. Send the whole file in one request.")
	}
	return s.checkTakesBytes(r)
}

// PutPart receives part number (from 1) of a pending session; length is its number of bytes, -1
// when the transport does not know. Parts come in any order, several at once, and as often as the
// client likes; nil means that the part is durable. Faults: NotFound, Conflict (not in parts,
// completed, aborted), UploadExpired, Invalid (no such part), Unverified (not exactly the part's
// length, or interrupted: nothing of it is kept), Unavailable.
func (s *Service) PutPart(ctx context.Context, a access.Actor, sessionID string, number int, body io.Reader,
	length int64) (etag string, err error) {
	r, err := find(s.db.Read(ctx), a.UserID, sessionID)
	if err != nil {
		return "", err
	}
	if err := s.checkTakesParts(r); err != nil {
		return "", err
	}
	u := s.upload(r)
	want := u.PartLength(number)
	if want == 0 {
		return "", fault.Newf(fault.Invalid, "The parts of this upload are numbered 1 to %d.", r.totalParts)
	}
	if length >= 0 && length != want {
		return "", fault.Newf(fault.Unverified, "Part %d must have %d bytes, but the request has "+
			"%d.", number, want, length)
	}
	store, err := s.store(ctx, r.dest.ProviderID)
	if err != nil {
		return "", err
	}
	var known []string
	if r.partsRecorded {
		if known, err = acknowledgedETagsOf(s.db.Read(ctx), r.id, number); err != nil {
			return "", err
		}
	}
	part, err := store.PutPart(ctx, u, number, s.endWithSession(ctx, r, body))
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return "", s.explainGone(ctx, store, r)
	case err != nil:
		return "", storeFault(err)
	}
	crash.Point("parts.stored")
	if r.partsRecorded {
		err = s.acknowledge(ctx, r, part, known)
	} else {
		err = s.recheckTakesBytes(s.db.Read(ctx), r)
	}
	if err != nil { // the part is not acknowledged: it does not count, whether or not it is stored
		return "", err
	}
	return part.ETag, nil
}

// acknowledge records a part that the store has. From now on neither an unacknowledged part in its
// place counts, nor the ETags in before. It also records a part whose client disconnected after the
// last byte. Faults: those of recheckTakesBytes.
func (s *Service) acknowledge(ctx context.Context, r row, part blob.Part, before []string) error {
	ctx, cancel := detached(ctx)
	defer cancel()
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		if err := s.recheckTakesBytes(tx, r); err != nil {
			return err
		}
		return acknowledge(tx, r.id, part, before)
	})
	if err != nil {
		return fmt.Errorf("acknowledge a part: %w", err)
	}
	crash.Point("parts.acknowledged")
	return nil
}

// recheckTakesBytes reads the session r again and checks that it still takes bytes. Faults: those
// of find and checkTakesBytes.
func (s *Service) recheckTakesBytes(q db.Querier, r row) error {
	now, err := find(q, r.userID, r.id)
	if err != nil {
		return err
	}
	return s.checkTakesBytes(now)
}

// recheckEvery is how often the session of a body under way is read again. A part that arrives
// sooner is checked when it is acknowledged.
const recheckEvery = 5 * time.Second

// endWithSession returns body as a reader that fails once the session r has ended. It reads the
// session again every recheckEvery, so that a renewal counts. Faults of reading: those of find and
// checkTakesBytes.
func (s *Service) endWithSession(ctx context.Context, r row, body io.Reader) io.Reader {
	checked := s.now()
	return &guardedReader{r: body, guard: func() error {
		now := s.now()
		if now.Sub(checked).Abs() < recheckEvery && now.UnixMilli() < r.expiresAt {
			return nil
		}
		checked = now
		switch fresh, err := find(s.db.Read(ctx), r.userID, r.id); {
		case err == nil:
			r = fresh
		case fault.KindOf(err) != fault.Internal:
			return err
		} // a database that does not answer now is no reason to end the body: the session is checked again at the end
		return s.checkTakesBytes(r)
	}}
}

// explainGone returns why the store does not know the parts of the session r, which seemed to be
// pending: the session has ended meanwhile, an earlier completion has assembled them (Conflict), or
// see partsLostFault. Faults: those of recheckTakesBytes and partsLostFault, Conflict, Unavailable.
func (s *Service) explainGone(ctx context.Context, store blob.Store, r row) error {
	now, err := find(s.db.Read(ctx), r.userID, r.id)
	if err != nil {
		return err
	}
	if err := s.checkTakesBytes(now); err != nil {
		return err
	}
	switch _, err := store.Stat(ctx, r.key); {
	case err == nil:
		return fault.New(fault.Conflict, "All parts of this upload have been received. Complete it.")
	case !errors.Is(err, blob.ErrNotFound):
		return provider.Fault(err)
	}
	return s.partsLostFault(now, r)
}

// Parts is the state of a session in parts.
type Parts struct {
	Mode     string // as in Session
	Total    int
	Received []blob.Part // by number
	Missing  []int
	URLs     []PartURL // new ones for the missing parts, in mode presigned
}

// Parts returns which parts of a pending session have come in, for a client that resumes it.
// Faults: NotFound, Conflict (not in parts, completed, aborted), UploadExpired, Unavailable.
func (s *Service) Parts(ctx context.Context, a access.Actor, sessionID string) (Parts, error) {
	r, err := find(s.db.Read(ctx), a.UserID, sessionID)
	if err != nil {
		return Parts{}, err
	}
	if err := s.checkTakesParts(r); err != nil {
		return Parts{}, err
	}
	received, _, err := s.received(ctx, r)
	if errors.Is(err, blob.ErrNotFound) {
		store, err := s.store(ctx, r.dest.ProviderID)
		if err != nil {
			return Parts{}, err
		}
		return Parts{}, s.explainGone(ctx, store, r)
	}
	if err != nil {
		return Parts{}, err
	}
	parts := Parts{Mode: modeWorker, Total: r.totalParts, Received: received, Missing: missing(r.totalParts, received)}
	if r.mayGoDirect() {
		if parts.URLs, err = s.partURLs(ctx, r, parts.Missing); err == nil {
			parts.Mode = modePresigned
		} else {
			s.warnUnsigned(r, err)
		}
	}
	return parts, nil
}

// Renew extends a pending session in parts to an hour from now, up to a day after its creation, and
// renews its addresses. Faults: NotFound, Conflict (not in parts, completed, aborted),
// UploadExpired.
func (s *Service) Renew(ctx context.Context, a access.Actor, sessionID string) (Session, error) {
	var renewed row
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		r, err := find(tx, a.UserID, sessionID)
		if err != nil {
			return err
		}
		if err := s.checkTakesParts(r); err != nil {
			return err
		}
		now := s.now()
		until := min(now.Add(Lifetime).UnixMilli(), r.createdAt+renewableFor.Milliseconds())
		renewed, err = extendSession(tx, r.id, until, now.UnixMilli())
		if errors.Is(err, db.ErrNoRows) { // it ended while this transaction waited for its row
			if r, err = find(tx, a.UserID, sessionID); err == nil {
				err = s.checkTakesBytes(r)
			}
			if err == nil {
				err = errSessionChanged
			}
		}
		if err != nil {
			return err
		}
		return s.discardPartsLater(tx, renewed)
	})
	if err != nil {
		return Session{}, fmt.Errorf("renew an upload: %w", err)
	}
	return s.sessionFor(ctx, renewed, ""), nil
}
