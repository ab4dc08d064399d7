package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"larder/internal/db"
	"larder/internal/fault"
)

// Each sign-in has a row, by which a user sees where the account is signed in and ends one session
// or all others. The row says only whether the session was ended individually; the versions of the
// user end all sessions at once, as before. docs/adr/0012 has the reasons.

const (
	// maxSessions is how many sessions of an account last at a time. A further sign-in ends the one
	// that was not used for the longest time.
	maxSessions = 1000
	// maxCachedSessions bounds the sessions kept in memory, about 100 bytes each.
	maxCachedSessions = 50_000
	// sessionsSchema is the schema of the table. A replica that does not know it would accept the
	// token of a session that was ended.
	sessionsSchema = 15
)

// ListedSession is a session of a user as the list of sessions shows it.
type ListedSession struct {
	ID                    string
	Device                string // such as "Firefox on Windows", "" if the sign-in did not tell
	IP                    string // address of the sign-in
	CreatedAt, LastUsedAt int64  // ms
}

// Sessions lists the sessions of a user that last, the last used first. Their last uses include
// those of this replica that are not in the database yet.
func (s *Service) Sessions(ctx context.Context, userID string) ([]ListedSession, error) {
	rows, err := listSessions(s.db.Read(ctx), userID, s.now().UnixMilli(), maxSessions)
	if err != nil {
		return nil, err
	}
	all := make([]ListedSession, len(rows))
	for i, r := range rows {
		if at, found := s.uses.Latest(r.id); found {
			r.lastUsedAt = max(r.lastUsedAt, at)
		}
		all[i] = ListedSession{r.id, deviceOf(r.agent), r.ip, r.createdAt, r.lastUsedAt}
	}
	slices.SortStableFunc(all, func(a, b ListedSession) int { return cmp.Compare(b.LastUsedAt, a.LastUsedAt) })
	return all, nil
}

// EndSession ends a session of the user of current, which may be current itself: from then on every
// replica refuses its token. Faults: NotFound, also for a session of another user and for one that
// has ended; SessionRevoked when current has ended; Conflict while an older replica is running.
func (s *Service) EndSession(ctx context.Context, current Session, id string) error {
	if strings.ContainsRune(id, 0) || !utf8.ValidString(id) {
		return noSession() // PostgreSQL refuses such texts
	}
	return s.changeSessions(ctx, current, func(tx *db.Tx, now int64) error {
		return endSession(tx, current.User.ID, id, now)
	})
}

// EndOtherSessions ends all sessions of the user of current except current. Faults: SessionRevoked
// when current has ended; Conflict while an older replica is running.
func (s *Service) EndOtherSessions(ctx context.Context, current Session) error {
	return s.changeSessions(ctx, current, func(tx *db.Tx, now int64) error {
		return endOtherSessions(tx, current.User.ID, current.ID, now)
	})
}

// changeSessions ends sessions by change in a transaction in which current still lasts. So of two
// sessions that end each other only one succeeds. now is in ms. Faults: SessionRevoked when current
// has ended, Conflict while an older replica is running, and those of change.
func (s *Service) changeSessions(ctx context.Context, current Session,
	change func(tx *db.Tx, now int64) error) error {
	return s.db.Write(ctx, func(tx *db.Tx) error {
		// before any row is locked: a migration takes the same locks in this order
		err := tx.RequireSchema(sessionsSchema)
		if errors.Is(err, db.ErrOlderReplica) {
			return fault.New(fault.Conflict,
				"An older version of this service is still running and would not refuse the ended session. Try again "+
					"when the upgrade is complete.").WithCause(err)
		}
		if err != nil {
			return err
		}
		owner, err := lockSessions(tx, current.User.ID)
		if err != nil {
			return err
		}
		ended, err := isSessionEnded(tx, current.User.ID, current.ID)
		if errors.Is(err, db.ErrNoRows) {
			ended, err = true, nil
		}
		switch {
		case err != nil:
			return err
		case ended || owner.sessionVersion != current.User.SessionVersion ||
			owner.roleVersion != current.User.RoleVersion:
			return sessionEnded()
		}
		if err := change(tx, s.now().UnixMilli()); err != nil {
			return err
		}
		return tx.BumpConfig()
	})
}

// CheckLasting reads from the database whether the session with that id of a user still has its row
// and was not ended individually. It does not look at the versions of the user, which the caller
// has compared. Fault: SessionRevoked.
func (s *Service) CheckLasting(ctx context.Context, userID, id string) error {
	ended, err := isSessionEnded(s.db.Read(ctx), userID, id)
	if errors.Is(err, db.ErrNoRows) || err == nil && ended {
		return sessionEnded()
	}
	return err
}

// checkListed refuses the token of a session that was ended individually. It reads the database
// only when the session is not cached under the config version. A token without a row is adopted,
// with from as its origin. Faults: SessionRevoked, RoleChanged, UserDisabled.
func (s *Service) checkListed(ctx context.Context, version int64, c claims, from Origin) error {
	ended, err := s.sessions.Get(version, c.sessionID, func() (bool, error) {
		ended, err := isSessionEnded(s.db.Read(ctx), c.userID, c.sessionID)
		if errors.Is(err, db.ErrNoRows) {
			ended, err = s.adopt(ctx, c, from)
		}
		return ended, err
	})
	if err == nil && ended {
		err = sessionEnded()
	}
	return err
}

// adopt adds the row of a session whose token an older replica issued, which kept no rows, and
// reports whether the session has ended. The user's row stays locked from the check of its versions
// to the commit, so that the end of all other sessions either finds the new row or is found here.
// Faults: SessionRevoked, RoleChanged, UserDisabled.
func (s *Service) adopt(ctx context.Context, c claims, from Origin) (ended bool, err error) {
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		owner, err := lockSessions(tx, c.userID)
		if err != nil {
			return err
		}
		if err := c.checkOwner(owner.sessionVersion, owner.roleVersion, owner.active); err != nil {
			return err
		}
		ended, err = isSessionEnded(tx, c.userID, c.sessionID)
		if !errors.Is(err, db.ErrNoRows) {
			return err // another request was faster
		}
		if ended = owner.unlistedEnded; ended {
			return nil
		}
		r := from.row(c.sessionID, c.userID, c.sessionVersion, c.roleVersion)
		r.createdAt, r.lastUsedAt, r.expiresAt = c.issuedAt.UnixMilli(), s.now().UnixMilli(), c.expiresAt.UnixMilli()
		added, err := insertSession(tx, r)
		ended = !added
		return err
	})
	if err != nil && fault.KindOf(err) == fault.Internal {
		err = fmt.Errorf("list a session: %w", err)
	}
	return ended, err
}

// listIssued adds the row of a session that begins at the time issued, and ends the account's least
// used sessions beyond maxSessions.
func (s *Service) listIssued(ctx context.Context, session Session, issued time.Time, from Origin) error {
	u := session.User
	r := from.row(session.ID, u.ID, u.SessionVersion, u.RoleVersion)
	r.createdAt, r.lastUsedAt, r.expiresAt = issued.UnixMilli(), issued.UnixMilli(), session.ExpiresAt.UnixMilli()
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		added, err := insertSession(tx, r)
		if err != nil {
			return err
		}
		if !added {
			return errors.New("the id of a new session is taken")
		}
		more, err := endExcessSessions(tx, u.ID, issued.UnixMilli(), maxSessions)
		if err != nil || !more {
			return err
		}
		return tx.BumpConfig()
	})
	if err != nil {
		return fmt.Errorf("list a session: %w", err)
	}
	return nil
}

// Touch records in memory that a session is used now, at most once a minute. WriteUses writes it to
// the database. It never raises the config version.
func (s *Service) Touch(sessionID string) { s.uses.Touch(sessionID) }

// WriteUses writes the last uses of sessions that Touch has recorded since the previous call. Call
// it once more before the database closes. Uses that could not be written are tried again.
func (s *Service) WriteUses(ctx context.Context) error {
	err := s.uses.Write(func(uses map[string]int64) error {
		return s.db.Write(ctx, func(tx *db.Tx) error { return writeSessionUses(tx, uses) })
	})
	if err != nil {
		return fmt.Errorf("write the last uses of sessions: %w", err)
	}
	return nil
}

// noSession returns the fault NotFound of a session.
func noSession() error { return fault.New(fault.NotFound, "There is no such session.") }

// sweepSessions deletes the rows of expired tokens. It waits for clockSlack: a replica whose clock
// is behind still accepts the token, and would adopt it again.
func (s *Service) sweepSessions(ctx context.Context) error {
	before := s.now().Add(-clockSlack).UnixMilli()
	if err := s.db.Write(ctx, func(tx *db.Tx) error { return deleteExpiredSessions(tx, before) }); err != nil {
		return fmt.Errorf("sweep sessions: %w", err)
	}
	return nil
}
