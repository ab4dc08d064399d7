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
	"larder/internal/quota"
	"larder/internal/vpath"
)

// NewSession is what a client announces.
type NewSession struct {
	Dir            vpath.Path
	Name           vpath.Name
	Size           int64          // bytes
	MimeType       string         // "" or what the client says; nonsense counts as ""
	PartCount      *int64         // nil = not given
	IdempotencyKey string         // "" = none; at most 255 characters
	Conflict       files.Conflict // "" = rename
}

// Session is an upload session as its owner sees it.
type Session struct {
	ID         string
	Mode       string // "worker": the bytes go through the service
	TotalParts *int64 // nil for a single session
	ExpiresAt  int64  // ms
	Status     string // pending, completed
	Dir        vpath.Path
	Name       vpath.Name
	Size       int64 // bytes
	// AlreadyCompleted and File are set when the idempotency key names a completed session.
	AlreadyCompleted bool
	File             *files.Entry
}

func (r row) view() Session {
	return Session{ID: r.id, Mode: "worker", ExpiresAt: r.expiresAt, Status: r.status, Dir: r.place.Dir, Name: r.place.Name, Size: r.size}
}

// check validates what needs no look at anything stored, and settles what was left out. Fault: Invalid.
func (n *NewSession) check() error {
	switch {
	case n.Size < 0:
		return fault.New(fault.Invalid, "The file size must not be negative.")
	case n.Size > MaxFileSize:
		return fault.New(fault.Invalid, "A file has at most 20 GiB.")
	case n.PartCount != nil && (*n.PartCount < 1 || *n.PartCount > partCounts):
		return fault.New(fault.Invalid, "The number of parts is 1 to 2560.")
	case !utf8.ValidString(n.IdempotencyKey) || strings.ContainsRune(n.IdempotencyKey, 0):
		return fault.New(fault.Invalid, "An idempotency key must be valid UTF-8 without NUL.")
	case utf8.RuneCountInString(n.IdempotencyKey) > keyMax:
		return fault.New(fault.Invalid, "An idempotency key has at most 255 characters.")
	case n.Size > singleMax || n.Size > 0 && n.PartCount != nil && *n.PartCount > 1: // no bytes are always one piece
		return fault.New(fault.Invalid, "This server does not take uploads in parts yet: a session holds at most 100 MiB in one part.")
	}
	var err error
	n.Conflict, err = files.ParseConflict(string(n.Conflict))
	return err
}

// Create makes a session and reserves its bytes and, unless it replaces one, a file, or returns the one that the idempotency key names: the pending one, or for a
// day and while its file exists the completed one. Faults: Invalid (also: the key with another target or size), Unauthorized, Forbidden,
// NotFound, AlreadyExists, QuotaExceeded, Conflict (100 are open).
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
				return deref(found), err
			}
			old = former
		}
		session, err := s.create(ctx, a, n, old)
		var taken *db.ErrUnique
		if errors.As(err, &taken) && taken.Name == "upload_sessions_key_unique" && try < tries {
			continue // the same key came in twice at once; the other one's session is to be resumed
		}
		return session, err
	}
}

func deref(session *Session) Session {
	if session == nil {
		return Session{}
	}
	return *session
}

// resume returns the session that the idempotency key names, or the row that still holds the key and has to give way.
func (s *Service) resume(ctx context.Context, a access.Actor, n NewSession) (*Session, *row, error) {
	r, err := findKey(s.db.Read(ctx), a.UserID, n.IdempotencyKey)
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find a session by its key: %w", err)
	}
	same := r.place.Dir == n.Dir && r.place.Name == n.Name && r.size == n.Size
	view := r.view()
	if r.status == completed {
		if s.ms() >= r.completedAt+repeatable.Milliseconds() {
			return nil, &r, nil
		}
		file, _, err := s.tree.Details(ctx, a, r.entryID)
		if fault.Is(err, fault.NotFound) {
			return nil, &r, nil
		}
		if err != nil {
			return nil, nil, err
		}
		view.AlreadyCompleted, view.File = true, &file
	} else if s.ms() >= r.expiresAt {
		return nil, &r, nil
	} else if same {
		// Whether the name is free is asked on completion; the right to write is asked each time.
		if _, err := s.tree.Place(ctx, a, n.Dir, n.Name, files.RenameNew); err != nil {
			return nil, nil, err
		}
	}
	if !same {
		return nil, nil, fault.New(fault.Invalid, "This idempotency key belongs to an upload with another target or size.")
	}
	return &view, nil, nil
}

// create makes a new session; old holds its idempotency key still, when it has one.
func (s *Service) create(ctx context.Context, a access.Actor, n NewSession, old *row) (Session, error) {
	place, err := s.tree.Place(ctx, a, n.Dir, n.Name, n.Conflict)
	if err != nil {
		return Session{}, err
	}
	now := s.now()
	r := row{
		id: s.ids.UUID(), userID: a.UserID, place: place, size: n.Size, claim: claim(n.MimeType), idempotencyKey: n.IdempotencyKey,
		status: pending, bytes: n.Size, files: 1, createdAt: now.UnixMilli(), expiresAt: now.Add(Lifetime).UnixMilli(),
	}
	if place.Replaces {
		r.files = 0 // overwriting adds no file; its bytes are reserved in full, since both contents lie there until it completes
	}
	if a.Key != nil {
		r.keyID = a.Key.ID
	}
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if old != nil { // sessions before quotas, as everywhere, or two callers could wait for each other
			if err := dropKey(tx, old.id); err != nil {
				return err
			}
			if err := s.expireOne(tx, old.id); err != nil {
				return err
			}
		}
		if err := quota.Reserve(tx, r.userID, r.bytes, r.files); err != nil {
			return err
		}
		count, err := countOpen(tx, r.userID, r.createdAt)
		if err != nil {
			return err
		}
		if count >= openMax {
			return fault.New(fault.Conflict, "You have 100 open uploads. Finish or abort some of them first.")
		}
		return insert(tx, r)
	})
	if err != nil {
		return Session{}, fmt.Errorf("create an upload session: %w", err)
	}
	return r.view(), nil
}

// List returns the actor's open sessions, the newest first. Fault: Unauthorized.
func (s *Service) List(ctx context.Context, a access.Actor) ([]Session, error) {
	if err := signedIn(a); err != nil {
		return nil, err
	}
	rows, err := open(s.db.Read(ctx), a.UserID, s.ms())
	if err != nil {
		return nil, fmt.Errorf("list upload sessions: %w", err)
	}
	list := make([]Session, len(rows))
	for i, r := range rows {
		list[i] = r.view()
	}
	return list, nil
}
