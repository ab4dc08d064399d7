package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/maypok86/otter/v2"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/secret"
)

// SessionLifetime is how long a session lasts unless it is ended earlier.
const SessionLifetime = 7 * 24 * time.Hour

// clockSlack is how far the clocks of replicas may differ. A value with a later time was made by a
// clock that has been put back since, and would live too long by the present clock.
const clockSlack = time.Hour

// audience marks the token of a session. No other token of this service carries it (abuse case
// C40).
const audience = "larder/session"

// maxTokenBytes is far above the length of any token that Issue makes, about 450 bytes.
const maxTokenBytes = 4096

// Session is the content of a token that Authenticate has checked.
type Session struct {
	ID        string // jti
	User      User
	ExpiresAt time.Time
}

// Login returns the user with that name or address and that password. With requireVerified, only
// administrators can log in without a verified address. An unknown user takes as long as a wrong
// password and gets the same answer. The state of the account is revealed only with the right
// password (abuse case C48). Logins wait for hashing among other logins only; source is the address
// of the caller. It starts no session; Issue does. Faults: BadCredentials, UserDisabled,
// EmailNotVerified, RateLimited when too many hashes wait.
func (s *Service) Login(ctx context.Context, source Source, name string, password secret.Text,
	requireVerified bool) (User, error) {
	u, stored, err := findUser(s.db.Read(ctx), name)
	known := err == nil
	switch {
	case fault.Is(err, fault.NotFound):
		stored = s.dummyHash()
	case err != nil:
		return User{}, err
	}
	right, err := s.VerifyPassword(ctx, source.login(), stored, password)
	if err != nil {
		return User{}, fmt.Errorf("verify a password: %w", err)
	}
	switch {
	case !known || !right:
		return User{}, fault.New(fault.BadCredentials, "Wrong username or password.")
	case u.Status != Active:
		return User{}, fault.New(fault.UserDisabled, "This account is not active.")
	case requireVerified && !u.EmailVerified && u.Role != access.Admin:
		return User{}, fault.New(fault.EmailNotVerified,
			"Verify your email address first: follow the link that was mailed to it.")
	}
	return u, nil
}

// Issue starts a session of SessionLifetime for u, who signs in from the origin, and adds it to the
// user's list of sessions. It returns the token, the value of the session cookie: a JWT signed with
// HS256.
func (s *Service) Issue(ctx context.Context, u User, from Origin) (token string, session Session, err error) {
	issued := s.now().Truncate(time.Second) // JWT times are whole seconds
	session = Session{ID: s.ids.UUID(), User: u, ExpiresAt: issued.Add(SessionLifetime)}
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"aud":  audience,
		"sub":  u.ID,
		"role": string(u.Role),
		"rv":   u.RoleVersion,
		"sv":   u.SessionVersion,
		"jti":  session.ID,
		"iat":  issued.Unix(),
		"exp":  session.ExpiresAt.Unix(),
	}).SignedString(s.sessionKey)
	if err != nil {
		return "", Session{}, fmt.Errorf("sign a session: %w", err)
	}
	if err := s.listIssued(ctx, session, s.now(), from); err != nil {
		return "", Session{}, err
	}
	return token, session, nil
}

// Authenticate checks a token against the user and the session cached under version, the config
// version that the caller has read in this request. It checks in this order: signature and lifetime
// (fault InvalidToken); whether the account exists and its sessions were not ended (SessionRevoked:
// logout, a new password, disabled, banned); whether the role has changed since, even if it changed
// back (RoleChanged); the status of the account (UserDisabled); whether this session was ended by
// itself (SessionRevoked). A session that is not listed yet is listed with the origin of this
// request.
func (s *Service) Authenticate(ctx context.Context, version int64, token string, from Origin) (Session, error) {
	c, err := s.parse(token)
	if err != nil {
		return Session{}, err
	}
	u, err := s.Cached(ctx, version, c.userID)
	switch {
	case fault.Is(err, fault.NotFound):
		return Session{}, fault.New(fault.SessionRevoked, "This account does not exist any more.")
	case err != nil:
		return Session{}, fmt.Errorf("load the user of a session: %w", err)
	}
	if err := c.checkOwner(u.SessionVersion, u.RoleVersion, u.Status == Active); err != nil {
		return Session{}, err
	}
	if err := s.checkListed(ctx, version, c, from); err != nil {
		return Session{}, err
	}
	return Session{ID: c.sessionID, User: u, ExpiresAt: c.expiresAt}, nil
}

// Logout ends every session of the user that the token names. It does nothing, without an error,
// for a token that is forged, expired, or older than the last logout, new password or change of
// role, and for one whose session was ended individually.
func (s *Service) Logout(ctx context.Context, token string) error {
	c, err := s.parse(token)
	if err != nil {
		return nil // the token names no user
	}
	return s.db.Write(ctx, func(tx *db.Tx) error {
		ended, err := endSessions(tx, c, s.now().UnixMilli())
		if err != nil || !ended {
			return err
		}
		return finishChange(tx, deleteStaleSessions(tx, c.userID))
	})
}

// claims are the verified claims of a token.
type claims struct {
	userID, sessionID           string
	roleVersion, sessionVersion int64
	issuedAt, expiresAt         time.Time
}

// checkOwner compares the versions in the claims with the present versions of their user, and
// requires that the account is active. Faults: SessionRevoked, RoleChanged, UserDisabled.
func (c claims) checkOwner(sessionVersion, roleVersion int64, active bool) error {
	switch {
	case sessionVersion != c.sessionVersion:
		return sessionEnded()
	case roleVersion != c.roleVersion:
		return fault.New(fault.RoleChanged, "Your role has changed. Sign in again.")
	case !active:
		return fault.New(fault.UserDisabled, "This account is not active.")
	}
	return nil
}

// maxVerified is the number of tokens whose claims are kept.
const maxVerified = 2000

// newVerifiedTokens returns an empty cache for the claims of valid tokens. The next request with
// the same token then needs no check of the signature and no decoding.
func newVerifiedTokens() *otter.Cache[string, claims] {
	return otter.Must(&otter.Options[string, claims]{MaximumSize: maxVerified,
		Executor: func(evict func()) { evict() }})
}

// parse returns the claims of a session token after it has checked signature, audience and
// lifetime; the signature of a known token is not checked again. Fault: InvalidToken.
func (s *Service) parse(token string) (claims, error) {
	c, known := s.verified.GetIfPresent(token)
	if !known {
		var err error
		if c, err = s.verify(token); err != nil {
			return claims{}, err
		}
		s.verified.Set(token, c)
	}
	now := s.now()
	switch {
	case !now.Before(c.expiresAt):
		return claims{}, invalidToken(errors.New("expired"))
	case c.issuedAt.After(now.Add(clockSlack)):
		return claims{}, invalidToken(errors.New("issued in the future"))
	}
	return c, nil
}

// verify decodes a session token and checks signature and audience, and that the token has not
// expired. Fault: InvalidToken.
func (s *Service) verify(token string) (claims, error) {
	if len(token) > maxTokenBytes {
		return claims{}, invalidToken(errors.New("token too long"))
	}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{"HS256"}),
		jwt.WithExpirationRequired(),
		jwt.WithAudience(audience),
		jwt.WithTimeFunc(s.now),
		jwt.WithStrictDecoding(),
		jwt.WithJSONNumber(),
	)
	claimMap := jwt.MapClaims{}
	if _, err := parser.ParseWithClaims(token, claimMap,
		func(*jwt.Token) (any, error) { return s.sessionKey, nil }); err != nil {
		return claims{}, invalidToken(err)
	}
	var c claims
	var err error
	if c.userID, err = claimMap.GetSubject(); err != nil || c.userID == "" {
		return claims{}, invalidToken(errors.New("no sub"))
	}
	if c.sessionID, _ = claimMap["jti"].(string); c.sessionID == "" {
		return claims{}, invalidToken(errors.New("no jti"))
	}
	if c.roleVersion, err = integerClaim(claimMap, "rv"); err != nil {
		return claims{}, invalidToken(err)
	}
	if c.sessionVersion, err = integerClaim(claimMap, "sv"); err != nil {
		return claims{}, invalidToken(err)
	}
	exp, err := claimMap.GetExpirationTime()
	if err != nil {
		return claims{}, invalidToken(err)
	}
	c.expiresAt = exp.Time
	issued, err := claimMap.GetIssuedAt()
	if err != nil || issued == nil {
		return claims{}, invalidToken(errors.New("no iat"))
	}
	c.issuedAt = issued.Time
	return c, nil
}

// integerClaim returns a claim that must be an integer. Its error names the claim.
func integerClaim(claimMap jwt.MapClaims, name string) (int64, error) {
	n, ok := claimMap[name].(json.Number)
	if !ok {
		return 0, fmt.Errorf("no %s", name)
	}
	return n.Int64()
}

// invalidToken returns the fault of a text that is no valid session token; the client does not
// learn the cause.
func invalidToken(cause error) error {
	return fault.New(fault.InvalidToken, "The session is invalid or has expired. Sign in again.").WithCause(cause)
}
