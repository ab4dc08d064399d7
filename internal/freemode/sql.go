package freemode

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/secret"
)

// reserve inserts the row of a session whose connection is being tested, so that the limits of open
// sessions count tests too. address is the visitor's. No token opens such a row yet. Fault:
// RateLimited when the address, its network or all together have too many sessions.
func (s *Service) reserve(ctx context.Context, session Session, address string) error {
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockFreeSessions(); err != nil {
			return fmt.Errorf("hold a free-mode session: %w", err)
		}
		now := s.Now()
		for _, limit := range []struct {
			address string
			most    int
			message string
		}{
			{address, sessionsPerAddress,
				"At most 10 free-mode sessions can be open from one address. Please end one, or wait."},
			{"", maxSessions, "Too many free-mode sessions are open. Please wait."},
		} {
			count, ends, err := countOpen(tx, limit.address, now.UnixMilli())
			if err != nil {
				return err
			}
			if count >= limit.most {
				return &fault.Error{Kind: fault.RateLimited, Message: limit.message,
					RetryAfter: time.UnixMilli(ends).Sub(now)}
			}
		}
		if err := checkNetworkLimit(tx, address, now); err != nil {
			return err
		}
		_, err := tx.Exec(`
			INSERT INTO free_sessions (hash, username, csrf_token, place, address, created_at, expires_at)
			VALUES ($1, $2, $3, '', $4, $5, $6)`,
			session.hash, session.Username, session.CSRFToken, address, now.UnixMilli(), now.Add(reservationTime).
				UnixMilli())
		if err != nil {
			return fmt.Errorf("hold a free-mode session: %w", err)
		}
		return nil
	})
}

// checkNetworkLimit allows sessionsPerNetwork sessions of the /48 of an IPv6 address (given as its
// /64). One customer may own a whole /48 and could fill free mode from its addresses. It passes
// other addresses. Fault: RateLimited.
func checkNetworkLimit(tx *db.Tx, address string, now time.Time) error {
	network, ok := networkOf(address)
	if !ok {
		return nil
	}
	rows, err := tx.Query(`SELECT address, expires_at FROM free_sessions WHERE expires_at > $1 ORDER BY expires_at`,
		now.UnixMilli())
	if err != nil {
		return fmt.Errorf("count free-mode sessions of a network: %w", err)
	}
	defer rows.Close()
	count, first := 0, int64(0)
	for rows.Next() {
		var other string
		var ends int64
		if err := rows.Scan(&other, &ends); err != nil {
			return fmt.Errorf("count free-mode sessions of a network: %w", err)
		}
		if in, ok := networkOf(other); ok && in == network {
			if count++; count == 1 {
				first = ends
			}
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("count free-mode sessions of a network: %w", err)
	}
	if count >= sessionsPerNetwork {
		return &fault.Error{Kind: fault.RateLimited,
			Message: "At most 50 free-mode sessions can be open from one network. Please " +
				"wait.", RetryAfter: time.UnixMilli(first).
				Sub(now)}
	}
	return nil
}

// networkOf returns the /48 that contains an IPv6 /64, and false for any other address.
func networkOf(address string) (netip.Prefix, bool) {
	prefix, err := netip.ParsePrefix(address)
	if err != nil || !prefix.Addr().Is6() {
		return netip.Prefix{}, false
	}
	network, err := prefix.Addr().Prefix(48)
	return network, err == nil
}

// countOpen counts the sessions of an address, or all for "", that are open at now (ms), and
// returns when (ms) the first of them ends.
func countOpen(tx *db.Tx, address string, now int64) (count int, ends int64, err error) {
	err = tx.QueryRow(`
		SELECT COUNT(*), COALESCE(MIN(expires_at), 0)
		FROM free_sessions
		WHERE expires_at > $1 AND (address = $2 OR $2 = '')`, now, address).Scan(&count, &ends)
	if err != nil {
		return 0, 0, fmt.Errorf("count free-mode sessions: %w", err)
	}
	return count, ends, nil
}

// CountOpen counts the sessions that have begun and not ended. While free mode is switched off,
// their visitors cannot use them.
func (s *Service) CountOpen(ctx context.Context) (n int64, err error) {
	err = s.DB.Read(ctx).QueryRow("SELECT COUNT(*) FROM free_sessions WHERE place <> '' AND expires_at > $1",
		s.Now().UnixMilli()).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count open free-mode sessions: %w", err)
	}
	return n, nil
}

// activate stores the connection and the times of a reserved session. From then on its token is
// valid.
func (s *Service) activate(ctx context.Context, session Session) error {
	sealed, err := s.seal(session.hash, session.Connection)
	if err != nil {
		return err
	}
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(`
			UPDATE free_sessions
			SET place = $1, created_at = $2, expires_at = $3
			WHERE hash = $4`, sealed, session.CreatedAt, session.ExpiresAt, session.hash)
		if err == nil && n != 1 {
			err = fmt.Errorf("%d rows", n)
		}
		if err != nil {
			return fmt.Errorf("begin a free-mode session: %w", err)
		}
		return nil
	})
}

// find returns the session with that hash that has begun, ends after now and not later than latest
// (ms), and its connection as sealed text. Error: db.ErrNoRows.
func find(q db.Querier, hash string, now, latest int64) (session Session, sealed string, err error) {
	session.hash = hash
	err = q.QueryRow(`
		SELECT username, csrf_token, place, address, created_at, expires_at
		FROM free_sessions
		WHERE hash = $1 AND place <> '' AND expires_at > $2 AND expires_at <= $3`, hash, now, latest).
		Scan(&session.Username, &session.CSRFToken, &sealed, &session.Address, &session.CreatedAt, &session.ExpiresAt)
	return session, sealed, err
}

// deleteSession deletes the row of a session by its hash; a missing row is no error.
func (s *Service) deleteSession(ctx context.Context, hash string) error {
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(`DELETE FROM free_sessions WHERE hash = $1`, hash); err != nil {
			return fmt.Errorf("end a free-mode session: %w", err)
		}
		return nil
	})
}

// Sweep deletes the sessions whose time is over. The application calls it regularly.
func (s *Service) Sweep(ctx context.Context) error {
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(`DELETE FROM free_sessions WHERE expires_at <= $1`, s.Now().UnixMilli()); err != nil {
			return fmt.Errorf("sweep free-mode sessions: %w", err)
		}
		return nil
	})
}

// Reseal decrypts the connections of all sessions with the old master key and encrypts them with
// the new one, in the transaction of a key rotation.
func Reseal(tx *db.Tx, rotation *secret.Rotation) error {
	type sealed struct{ hash, place string }
	rows, err := tx.Query("SELECT hash, place FROM free_sessions WHERE place <> '' ORDER BY hash")
	if err != nil {
		return fmt.Errorf("read free-mode sessions: %w", err)
	}
	defer rows.Close()
	var all []sealed
	for rows.Next() {
		var s sealed
		if err := rows.Scan(&s.hash, &s.place); err != nil {
			return fmt.Errorf("read free-mode sessions: %w", err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read free-mode sessions: %w", err)
	}
	for _, s := range all {
		place, err := rotation.Reseal(sealPurpose, s.hash, s.place)
		if err == nil {
			_, err = tx.Exec("UPDATE free_sessions SET place = $1 WHERE hash = $2", place, s.hash)
		}
		if err != nil {
			return fmt.Errorf("seal free-mode sessions anew: %w", err)
		}
	}
	return nil
}

// AfterRestore deletes all sessions in a database restored from a backup: a session that was ended
// after the backup would otherwise go on.
func AfterRestore(tx *db.Tx) error {
	if _, err := tx.Exec("DELETE FROM free_sessions"); err != nil {
		return fmt.Errorf("drop free-mode sessions: %w", err)
	}
	return nil
}
