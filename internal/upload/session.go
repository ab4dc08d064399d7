package upload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/object"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// NewSession is the announcement of a client.
type NewSession struct {
	Dir            vpath.Path
	Name           vpath.Name
	Size           int64          // bytes
	MimeType       string         // "" or what the client claims; an invalid type counts as ""
	PartCount      *int64         // nil = not given
	IdempotencyKey string         // "" = none; at most 255 characters
	Conflict       files.Conflict // "" = rename
	// Mode is "worker" for a client that cannot reach the store; "" or "auto" leaves it to the
	// provider.
	Mode  string
	HTTPS bool // the site is reached by https, so its pages may not send anything by http
}

// Session is an upload session as its owner sees it.
type Session struct {
	ID string
	// Mode is "worker" when the bytes go through the service, "presigned" when they may also go
	// directly to the store.
	Mode       string
	TotalParts *int64 // nil for a session in one piece
	ExpiresAt  int64  // ms
	Status     string // pending, completed; in a list also expired: its parts are kept
	Dir        vpath.Path
	Name       vpath.Name
	Size       int64 // bytes
	CreatedAt  int64 // ms

	// For sending bytes directly to the store until ExpiresAt, in the results of Create and Renew
	// with the mode presigned: the address for the whole body, or those of all parts with the
	// upload id of the store.
	URL      string
	Parts    []PartURL
	UploadID string

	IdempotencyKey string // "" for none
	// AlreadyCompleted and File are set when the idempotency key names a completed session.
	AlreadyCompleted bool
	File             *files.Entry
	// Received and KeptUntil are set by List: the number of bytes that have come in, nil when the
	// store does not answer, and until when (ms) the parts of an expired session are kept.
	Received, KeptUntil *int64
}

// session returns the row as its owner sees it, without addresses; see sessionFor.
func (r row) session() Session {
	s := Session{
		ID: r.id, Mode: modeWorker, ExpiresAt: r.expiresAt, Status: r.status, Dir: r.dest.Dir, Name: r.dest.Name,
		Size: r.size, CreatedAt: r.createdAt,
		IdempotencyKey: r.idempotencyKey,
	}
	if r.inParts() {
		total := int64(r.totalParts)
		s.TotalParts = &total
	}
	if r.mayGoDirect() {
		s.Mode = modePresigned
	}
	return s
}

// check validates size, number of parts, idempotency key and mode of the announcement without
// looking at stored data, and sets the default of Conflict. Fault: Invalid.
func (n *NewSession) check() error {
	switch {
	case n.Size < 0:
		return fault.New(fault.Invalid, "The file size must not be negative.")
	case n.Size > MaxFileSize:
		return fault.New(fault.Invalid, "A file has at most 20 GiB.")
	case n.PartCount != nil && (*n.PartCount < 1 || *n.PartCount > maxParts):
		return fault.New(fault.Invalid, "The number of parts is 1 to 2560.")
	case !utf8.ValidString(n.IdempotencyKey) || strings.ContainsRune(n.IdempotencyKey, 0):
		return fault.New(fault.Invalid, "An idempotency key must be valid UTF-8 without NUL.")
	case utf8.RuneCountInString(n.IdempotencyKey) > maxKeyLength:
		return fault.New(fault.Invalid, "An idempotency key has at most 255 characters.")
	case n.Mode != "" && n.Mode != "auto" && n.Mode != modeWorker:
		return fault.New(fault.Invalid, "The upload mode must be auto or worker.")
	}
	var err error
	n.Conflict, err = files.ParseConflict(string(n.Conflict))
	return err
}

// inParts reports whether the bytes of the new session come in parts: the file is larger than
// maxSingleSize, or the client asks for several parts. An empty file is always one piece.
func (n *NewSession) inParts() bool {
	return n.Size > maxSingleSize || n.Size > 0 && n.PartCount != nil && *n.PartCount > 1
}

// Create makes a session and reserves its bytes and one file. A session that replaces a file of the
// user's own reserves only the bytes beyond that file's and no file, unless another running upload
// replaces it as well. The completion decides again by what exists then. Create returns an existing
// session that the idempotency key names: a pending one, or for a day and while its file exists a
// completed one. The new session takes over the kept parts of an expired one. Faults: Invalid
// (also: the key has another target or size), Unauthorized, Forbidden, NotFound, AlreadyExists,
// QuotaExceeded, Conflict (100 are open), Unavailable.
func (s *Service) Create(ctx context.Context, a access.Actor, n NewSession) (Session, error) {
	if err := signedIn(a); err != nil {
		return Session{}, err
	}
	if err := n.check(); err != nil {
		return Session{}, err
	}
	const tries = 5
	for try := 1; ; try++ {
		var old *row
		if n.IdempotencyKey != "" {
			found, former, err := s.resume(ctx, a, n)
			if err != nil || found != nil {
				return sessionOrZero(found), err
			}
			old = former
		}
		session, err := s.create(ctx, a, n, old)
		if try < tries && mustRetryCreate(err) {
			continue
		}
		return session, err
	}
}

// mustRetryCreate reports whether err says to try the creation of a session again: another request
// with the same idempotency key was faster, so its session is to be resumed, or the collector
// claimed the key.
func mustRetryCreate(err error) bool {
	var taken *db.ErrUnique
	return errors.As(err, &taken) && taken.Name == "upload_sessions_key_unique" || errors.Is(err, errSessionChanged) ||
		errors.Is(err, object.ErrCollected)
}

// sessionOrZero returns *session, and the zero Session for nil.
func sessionOrZero(session *Session) Session {
	if session == nil {
		return Session{}
	}
	return *session
}

// resume looks for the session that the idempotency key of n names. It returns that session if it
// is pending, or completed not long ago. Otherwise it returns the row that still has the key and
// has to release it for a new session: a completed one that is too old or whose file is gone, or
// one whose parts are kept. Both are nil when the key is free. Faults: Invalid when the key belongs
// to another target or size; those of the permission to write.
func (s *Service) resume(ctx context.Context, a access.Actor, n NewSession) (*Session, *row, error) {
	r, err := s.keyHolder(ctx, a.UserID, n.IdempotencyKey)
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	same := r.dest.Dir == n.Dir && r.dest.Name == n.Name && r.size == n.Size
	var file *files.Entry
	if r.status == completed {
		if s.nowMs() >= r.completedAt+repeatableFor.Milliseconds() {
			return nil, &r, nil
		}
		there, _, err := s.tree.Details(ctx, a, r.entryID)
		if fault.Is(err, fault.NotFound) {
			return nil, &r, nil
		}
		if err != nil {
			return nil, nil, err
		}
		file = &there
	}
	switch {
	case !same:
		return nil, nil, fault.New(fault.Invalid,
			"This idempotency key belongs to an upload with another target or size.")
	case r.status == expired:
		return nil, &r, nil
	case r.status == pending:
		// The completion checks whether the name is free; the permission to write is checked each
		// time.
		if _, err := s.tree.ResolveDestination(ctx, a, n.Dir, n.Name, files.RenameNew); err != nil {
			return nil, nil, err
		}
	}
	view := s.sessionFor(ctx, r, n.Mode)
	view.AlreadyCompleted, view.File = file != nil, file
	return &view, nil, nil
}

// keyHolder returns the row that has a user's idempotency key. It first ends a session that has
// expired, or whose parts were kept long enough. Fault: Conflict while a completion runs. Error:
// db.ErrNoRows when the key is free.
func (s *Service) keyHolder(ctx context.Context, userID, idempotencyKey string) (row, error) {
	for range 5 { // an ended session may be kept or taken over by now
		r, err := findKey(s.db.Read(ctx), userID, idempotencyKey)
		switch now := s.nowMs(); {
		case err != nil:
			return row{}, fmt.Errorf("find a session by its key: %w", err)
		case r.status == pending && now >= r.expiresAt && s.assembling(r):
			return row{}, beingCompleted()
		case r.status == pending && now >= r.expiresAt:
			var received int64
			if received, err = s.bytesToKeep(ctx, r); err == nil {
				err = s.expire(ctx, r, received, nil)
			}
		case r.status == expired && now >= r.keptUntil:
			err = s.dropKeptParts(ctx, r)
		default:
			return r, nil
		}
		if err != nil {
			return row{}, fmt.Errorf("end an expired upload: %w", err)
		}
	}
	return row{}, errors.New("an idempotency key changes hands too often")
}

// create makes a new session. old, nil for none, is the row that still has its idempotency key: a
// completed session, or one whose kept parts the new session takes over if they are in the same
// provider. Faults: those of Create. Error: as in mustRetryCreate.
func (s *Service) create(ctx context.Context, a access.Actor, n NewSession, old *row) (Session, error) {
	dest, err := s.tree.ResolveDestination(ctx, a, n.Dir, n.Name, n.Conflict)
	if err != nil {
		return Session{}, err
	}
	now := s.now()
	r := row{
		id: s.ids.UUID(), userID: a.UserID, dest: dest, size: n.Size, claimedType: cleanType(n.MimeType),
		idempotencyKey: n.IdempotencyKey,
		status:         pending, bytes: n.Size, files: 1, createdAt: now.UnixMilli(), expiresAt: now.Add(Lifetime).
				UnixMilli(),
		begunAt: now.UnixMilli(),
	}
	if dest.Replaces { // a replacement adds no file
		r.files = 0
		if r.paidByUser() {
			r.replaces, r.freed = dest.ReplacesID, dest.Freed
			r.bytes = max(r.size-r.freed, 0)
		}
	}
	if a.Key != nil {
		r.keyID = a.Key.ID
	}
	// the kept parts are in another provider than the new file
	if old != nil && old.status == expired && old.dest.ProviderID != dest.ProviderID {
		if err := s.dropKeptParts(ctx, *old); err != nil {
			return Session{}, fmt.Errorf("drop kept parts: %w", err)
		}
		old = nil
	}
	if r.mode, err = s.chooseMode(ctx, n, a.UserID, dest.ProviderID); err != nil {
		return Session{}, err
	}
	begun := false
	switch {
	case old != nil && old.status == expired:
		r.key, r.uploadID, r.totalParts = old.key, old.uploadID, old.totalParts
		r.begunAt, r.partsRecorded = old.begunAt, old.partsRecorded
		if r.partsRecorded { // parts in the store that were not acknowledged must not count now
			r.mode = modeWorker
		}
	case n.inParts():
		if err := s.beginParts(ctx, &r); err != nil {
			return Session{}, err
		}
		begun = true
	case r.mode == modePresigned:
		if r.key, err = s.keys.NewKey(ctx, dest.ProviderID); err != nil {
			return Session{}, err
		}
	}
	err = s.db.Write(ctx, func(tx *db.Tx) error { return s.reserve(tx, r, old) })
	if errors.Is(err, object.ErrCollected) {
		s.forgetCollected(ctx, r, old)
	}
	if err != nil {
		if begun {
			s.discardParts(ctx, err, r)
		}
		return Session{}, fmt.Errorf("create an upload session: %w", err)
	}
	return s.sessionFor(ctx, r, n.Mode), nil
}

// reserve records the new session r with its reservation in tx, releases the former holder old (nil
// for none) of its idempotency key, and puts its key on the garbage list for the time when it is
// over. Faults: QuotaExceeded, Conflict (too many are open). Error: errSessionChanged when another
// session has taken over the parts kept in old.
func (s *Service) reserve(tx *db.Tx, r row, old *row) error {
	if r.inStaging() {
		if err := tx.LockTree(false); err != nil { // see object.KeySource
			return err
		}
	}
	if old != nil { // sessions before quotas, as everywhere, or two callers could deadlock
		if err := s.releaseFormer(tx, *old); err != nil {
			return err
		}
	}
	if err := deductReplaced(tx, &r); err != nil {
		return err
	}
	r.bytes = max(r.size-r.freed, 0)
	if err := quota.Reserve(tx, r.userID, r.bytes, r.files); err != nil {
		return err
	}
	if err := s.checkOpenLimit(tx, r); err != nil {
		return err
	}
	if err := insert(tx, r); err != nil {
		return err
	}
	if old != nil && old.status == expired {
		if err := moveAcknowledgments(tx, r.id, old.id); err != nil {
			return err
		}
	}
	switch {
	case r.inParts():
		return s.discardPartsLater(tx, r)
	case r.inStaging():
		if err := object.Discard(tx, r.dest.ProviderID, r.key, r.garbageAt()); err != nil {
			return err
		}
		return object.ExpectLateWrites(tx, r.dest.ProviderID, r.key, r.expiresAt)
	}
	return nil
}

// releaseFormer takes the idempotency key from the completed session old, or the kept parts, with
// their reservation, from the expired one. Error: errSessionChanged when another session has taken
// the parts.
func (s *Service) releaseFormer(tx *db.Tx, old row) error {
	if old.status == completed {
		return dropKey(tx, old.id)
	}
	former, err := endKeeping(tx, old.id)
	if errors.Is(err, db.ErrNoRows) {
		return errSessionChanged
	}
	if err != nil {
		return err
	}
	return quota.Release(tx, former.userID, former.bytes, former.files)
}

// checkOpenLimit refuses one more open session to the user of r than maxOpenSessions. It is exact
// only after the user's quota was changed in the same transaction. Fault: Conflict.
func (s *Service) checkOpenLimit(q db.Querier, r row) error {
	count, err := countOpen(q, r.userID, r.createdAt)
	if err == nil && count >= maxOpenSessions {
		err = fault.New(fault.Conflict, "You have 100 open uploads. Finish or abort some of them first. "+
			"An upload that goes directly to the store counts until its address has expired, even when it was aborted.")
	}
	return err
}
