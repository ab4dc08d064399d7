package apikey

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"

	"larder/internal/db"
	"larder/internal/fault"
)

// storedKey is the row of a key, with the hash of its token.
type storedKey struct {
	Key
	tokenHash string
}

// ErrEnded is the cause of an InvalidToken whose token is right, but whose key is revoked or
// expired. The client does not learn it. Such a request does not count as a guess.
var ErrEnded = errors.New("the API key is revoked or expired")

// ParseToken returns the key id in a token, `pk_….sk_…`, without looking the key up. Fault:
// InvalidToken for a text that does not have the form of a token, with the same message as for a
// wrong token.
func ParseToken(token string) (id string, err error) {
	id, half, _ := strings.Cut(token, ".")
	if !isKeyID(id) || !hasTokenForm(half, "sk_", 48) {
		return "", invalidToken()
	}
	return id, nil
}

// hasToken reports whether token is the token of the key. It compares in constant time.
func (k storedKey) hasToken(token string) bool {
	return subtle.ConstantTimeCompare([]byte(hashToken(token)), []byte(k.tokenHash)) == 1
}

// IsCached reports whether token is the right token of a key that is cached under the config
// version, whatever the key's status. Authenticate then does not query the database. Limits of
// wrong keys let such a request pass.
func (s *Service) IsCached(version int64, token string) bool {
	id, err := ParseToken(token)
	if err != nil {
		return false
	}
	found, err := s.keys.Get(version, id, func() (storedKey, error) { return storedKey{}, noKey() })
	return err == nil && found.hasToken(token)
}

// Authenticate returns the key of a token, `pk_….sk_…`. It reads the database only when the key is
// not cached under version, the config version that the caller has read in this request. It looks
// the key up by its id and compares the hash of the whole token in constant time. Key.Allows checks
// protocol and address; the caller checks whether the owner is active. Fault: InvalidToken, with
// the same message for every reason; its cause is ErrEnded when the token itself is right.
func (s *Service) Authenticate(ctx context.Context, version int64, token string) (Key, error) {
	id, err := ParseToken(token)
	if err != nil {
		return Key{}, err
	}
	found, err := s.cached(ctx, version, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return Key{}, invalidToken()
	case err != nil:
		return Key{}, fmt.Errorf("load an API key: %w", err)
	case !found.hasToken(token):
		return Key{}, s.rejectWrongSecret(ctx)
	case found.Status(s.now()) != "active":
		return Key{}, invalidToken().WithCause(ErrEnded)
	}
	return found.Key, nil
}

// rejectWrongSecret makes the query that Authenticate makes for an unknown id, which is never
// cached, and refuses. A caller that guesses cannot tell by the time which ids exist (abuse case
// C48). Fault: InvalidToken.
func (s *Service) rejectWrongSecret(ctx context.Context) error {
	if _, err := byID(s.db.Read(ctx), ""); err != nil && !fault.Is(err, fault.NotFound) {
		return fmt.Errorf("load an API key: %w", err)
	}
	return invalidToken()
}

// ByID returns a key of any user and any status, from the cache when it is cached under version.
// Fault: NotFound.
func (s *Service) ByID(ctx context.Context, version int64, id string) (Key, error) {
	if !isKeyID(id) {
		return Key{}, noKey()
	}
	found, err := s.cached(ctx, version, id)
	return found.Key, err
}

// cached returns a key by its id from the cache, or from the database if it is not cached under the
// config version. Fault: NotFound.
func (s *Service) cached(ctx context.Context, version int64, id string) (storedKey, error) {
	return s.keys.Get(version, id, func() (storedKey, error) { return byID(s.db.Read(ctx), id) })
}

// invalidToken returns the fault of a token that authenticates no key; it does not tell why.
func invalidToken() *fault.Error {
	return fault.New(fault.InvalidToken, "The API key is wrong, revoked or expired.")
}

// isKeyID reports whether s has the form of a key id: `pk_` and 24 letters and digits.
func isKeyID(s string) bool { return hasTokenForm(s, "pk_", 24) }

// hasTokenForm reports whether s is prefix followed by n letters and digits.
func hasTokenForm(s, prefix string, n int) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && len(rest) == n && !strings.ContainsFunc(rest, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// Touch records in memory that the key with that id is used now, at most once a minute. Sweep
// writes it to the database. It never raises the config version.
func (s *Service) Touch(id string) { s.uses.Touch(id) }

// addUse sets LastUsedAt of a key to a later use that Touch has recorded on this replica and Sweep
// has not written yet.
func (s *Service) addUse(k *Key) {
	if at, found := s.uses.Latest(k.ID); found && (k.LastUsedAt == nil || *k.LastUsedAt < at) {
		k.LastUsedAt = &at
	}
}

// Sweep writes the last uses that Touch has recorded since the previous Sweep. Call it once more
// before the database closes. Uses that could not be written are tried again.
func (s *Service) Sweep(ctx context.Context) error {
	err := s.uses.Write(func(uses map[string]int64) error {
		return s.db.Write(ctx, func(tx *db.Tx) error { return writeUses(tx, uses) })
	})
	if err != nil {
		return fmt.Errorf("write the last uses of API keys: %w", err)
	}
	return nil
}
