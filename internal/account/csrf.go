package account

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"larder/internal/db"
	"larder/internal/fault"
)

const (
	// CSRFLifetime is how long a CSRF token is valid.
	CSRFLifetime = 2 * time.Hour
	csrfRunes    = 32
)

// CSRF returns the CSRF token of a session, 32 characters, which writes with the session send
// beside its cookie. It makes one if there is none. The token stays the same until it expires, so
// that two tabs of a browser can use it. Parallel calls get the same token.
func (s *Service) CSRF(ctx context.Context, session Session) (string, error) {
	now := s.now()
	token, err := readCSRF(s.db.Read(ctx), session.ID, now.UnixMilli())
	if err != nil {
		return "", fmt.Errorf("read a CSRF token: %w", err)
	}
	if token != "" {
		return token, nil
	}
	fresh := s.ids.Base62(csrfRunes)
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		var err error
		token, err = ensureCSRF(tx, session.ID, fresh, now.UnixMilli(), now.Add(CSRFLifetime).UnixMilli())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make a CSRF token: %w", err)
	}
	return token, nil
}

// CheckCSRF compares token with the valid token of the session in the database, in constant time.
// Fault: InvalidCSRF, also when the session has no valid token.
func (s *Service) CheckCSRF(ctx context.Context, session Session, token string) error {
	if len(token) == csrfRunes {
		want, err := readCSRF(s.db.Read(ctx), session.ID, s.now().UnixMilli())
		if err != nil {
			return fmt.Errorf("read a CSRF token: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(token), []byte(want)) == 1 {
			return nil
		}
	}
	return fault.New(fault.InvalidCSRF, "The CSRF token is missing, wrong or expired. Get a new one and try again.")
}

// Sweep writes the last uses of sessions, and deletes expired sessions, expired CSRF tokens,
// expired mailed tokens and codes, and counts of wrong codes that no limit needs any more. The
// application calls it regularly.
func (s *Service) Sweep(ctx context.Context) error {
	return errors.Join(s.WriteUses(ctx), s.sweepSessions(ctx), s.sweepCSRF(ctx), s.sweepMailed(ctx))
}

// sweepMailed deletes mailed tokens and codes, and the counts of wrong codes, once no limit counts
// them any more.
func (s *Service) sweepMailed(ctx context.Context) error {
	now := s.now()
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		return errors.Join(
			deleteExpiredTokens(tx, now.UnixMilli()),
			deleteOldCodes(tx, now.Add(-mailedWindow).UnixMilli(), now.UnixMilli()),
			deleteOldWrongCodes(tx, now.Add(-wrongCodeWindow).UnixMilli()),
		)
	})
	if err != nil {
		return fmt.Errorf("sweep what was mailed: %w", err)
	}
	return nil
}

// sweepCSRF deletes expired CSRF tokens.
func (s *Service) sweepCSRF(ctx context.Context) error {
	var swept int64
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		var err error
		swept, err = deleteCSRF(tx, s.now().UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("sweep CSRF tokens: %w", err)
	}
	s.log.DebugContext(ctx, "swept CSRF tokens", "deleted", swept)
	return nil
}
