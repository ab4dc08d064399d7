// Package download issues the tokens that the gateway turns into bytes.
//
// A token lasts 15 minutes and serves once, or as often as one likes when it was made for a
// preview; a signed link is one that lasts as long as was asked for and is bound to the content,
// see signed.go. Only its SHA-256 is stored. It carries no right of its own: each look judges anew,
// with what the account and the key it was issued to may do at that moment, so that a disabled
// account, a revoked key or a changed rule ends it. One that a session made ends with the session
// too; a signed link does not. What is shared comes by tokens of no account, see shared.go. Of an
// account's tokens at most 1,000 are valid: the oldest end when more are issued. Looking and using
// up are two steps, since a token must survive what sends no body: HEAD, 304, 416, a store that
// fails. Specification: Download token, Download gateway.
package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/apikey"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/share"
	"larder/internal/vpath"
)

// Purpose is what a token is for.
type Purpose string

// The purposes.
const (
	Save    Purpose = "download" // once, as an attachment
	Preview Purpose = "preview"  // to be shown, any number of times
	Signed  Purpose = "signed"   // a signed link: any number of times, as an attachment
)

// Lifetime is how long a token is valid.
const Lifetime = 15 * time.Minute

// maxTokens is how many tokens of an account, or of a share, may be valid at a time; signed links
// have a bound of their own. Visitors of a public file share its bound. A token is followed at once
// by whoever asked for it, so that those who ask for very many lose none that is waited for.
const maxTokens = 1000

// clockSlack is how far the clocks of replicas may differ. A token with longer to live than its
// lifetime and that was made by a clock that has gone back since.
const clockSlack = time.Hour

// latestExpiry is the latest time (ms) at which a token that holds now can end. It is not kept how
// long a signed link was to last: the longest counts.
func latestExpiry(now int64, purpose Purpose) int64 {
	lifetime := Lifetime
	if purpose == Signed {
		lifetime = MaxSignedLifetime
	}
	return now + (lifetime + clockSlack).Milliseconds()
}

// tokenLength of a token in characters of base62: 256 bits.
const tokenLength = 43

// Config is what a Service works with.
type Config struct {
	DB       *db.DB
	Tree     *files.Tree
	Accounts *account.Service
	Keys     *apikey.Service
	Shares   *share.Service
	IDs      *ident.Source
	Now      func() time.Time
}

// Service issues and redeems tokens. All methods are safe for concurrent use.
type Service struct {
	db       *db.DB
	tree     *files.Tree
	accounts *account.Service
	keys     *apikey.Service
	shares   *share.Service
	ids      *ident.Source
	now      func() time.Time
}

// New returns a Service.
func New(cfg Config) *Service {
	return &Service{db: cfg.DB, tree: cfg.Tree, accounts: cfg.Accounts, keys: cfg.Keys, shares: cfg.Shares,
		ids: cfg.IDs, now: cfg.Now}
}

// Issue makes a token for a file that the actor may download, or to save a folder that they may
// download; what passwords they have given goes along as its proof. session is the actor's, nil for
// a key or a visitor: the token ends with it. Faults: NotFound, Forbidden, PasswordRequired.
func (s *Service) Issue(ctx context.Context, a access.Actor, session *account.Session, entryID string,
	purpose Purpose) (
	token string, expiresAt time.Time, err error,
) {
	if err := s.CheckIssue(ctx, a, entryID, purpose); err != nil {
		return "", time.Time{}, err
	}
	token, expiresAt = s.ids.Base62(tokenLength), s.now().Add(Lifetime)
	r := row{entryID: entryID, userID: a.UserID, purpose: purpose, proof: a.Unlocked, expiresAt: expiresAt.UnixMilli()}
	if a.Key != nil {
		r.keyID = a.Key.ID
	}
	if session != nil {
		r.sessionVersions = &sessionVersions{session: session.User.SessionVersion, role: session.User.RoleVersion}
	}
	now := s.now().UnixMilli()
	if err := s.db.Write(ctx, func(tx *db.Tx) error { return insertEvicting(tx, hash(token), r, now) }); err != nil {
		return "", time.Time{}, fmt.Errorf("issue a download token: %w", err)
	}
	return token, expiresAt, nil
}

// CheckIssue decides whether Issue would make a token, and makes none. Faults: those of Issue.
func (s *Service) CheckIssue(ctx context.Context, a access.Actor, entryID string, purpose Purpose) error {
	found, err := s.tree.FindID(ctx, entryID)
	if err != nil {
		return err
	}
	if purpose == Save && found.IsFolder() {
		return found.AuthorizeFolder(a)
	}
	_, err = found.ContentFor(a)
	return err
}

// Redemption is what a valid token stands for.
type Redemption struct {
	Content       files.Content
	Purpose       Purpose
	Path          vpath.Path          // of what is downloaded
	Folder        *files.ArchiveQuery // for a folder, which has no Content: what its archive is asked for with
	UserID, KeyID string              // whom it was issued to; "" for a visitor, for no key
	ShareID       string              // that it belongs to, "" for none
}

// Resolve finds what a token stands for, without using it up; ip is where the request comes from,
// for rules that ask, and given are passwords that were given besides those of the token's proof;
// for a share's token none of them counts. Faults: InvalidToken (unknown, used, expired, or
// whoever it was issued to may not download the file any more; a signed link also when the file
// is gone or has other content; a share's when that has ended), PasswordRequired, NotFound (the
// file is gone), ShareLimitReached.
func (s *Service) Resolve(ctx context.Context, token string, ip netip.Addr, given ...string) (Redemption, error) {
	if len(token) != tokenLength {
		return Redemption{}, invalidToken()
	}
	r, err := findToken(s.db.Read(ctx), hash(token))
	if errors.Is(err, db.ErrNoRows) {
		return Redemption{}, invalidToken()
	}
	if err != nil {
		return Redemption{}, fmt.Errorf("find a download token: %w", err)
	}
	if now := s.now().UnixMilli(); r.consumed || now >= r.expiresAt || r.expiresAt > latestExpiry(now, r.purpose) {
		return Redemption{}, invalidToken()
	}
	if r.shareID != "" {
		return s.resolveShared(ctx, r, ip)
	}
	r.proof = append(r.proof, given...)
	a, err := s.currentActor(ctx, r, ip)
	if err != nil {
		return Redemption{}, err
	}
	found, err := s.tree.FindID(ctx, r.entryID)
	if err != nil {
		return Redemption{}, err
	}
	redemption := Redemption{Purpose: r.purpose, UserID: r.userID, KeyID: r.keyID}
	redemption.Path, _ = found.Path()
	if r.purpose == Save && found.IsFolder() {
		redemption.Folder = &files.ArchiveQuery{IDs: []string{r.entryID},
			ActorAt: func(ctx context.Context, version int64) (access.Actor, error) {
				return s.actorAt(ctx, r, ip, version)
			}}
		err = found.AuthorizeFolder(a)
	} else {
		redemption.Content, err = found.ContentFor(a)
	}
	switch fault.KindOf(err) {
	case fault.Forbidden, fault.Unauthorized:
		return Redemption{}, invalidToken().WithCause(err)
	case fault.NotFound:
		if r.purpose == Signed {
			return Redemption{}, invalidToken().WithCause(err)
		}
	}
	if err != nil {
		return Redemption{}, err
	}
	if r.purpose == Signed && redemption.Content.ID != r.content {
		return Redemption{}, invalidToken()
	}
	return redemption, nil
}

// currentActor returns whom a token was issued to, as they are now. Fault: InvalidToken for an
// account that is not active, for a key that is revoked or expired, and when the session that made
// the token has ended. From where a key may be used is not asked: what fetches the bytes is often
// another machine than the key's.
func (s *Service) currentActor(ctx context.Context, r row, ip netip.Addr) (access.Actor, error) {
	if r.userID == "" {
		return s.actorAt(ctx, r, ip, 0)
	}
	version, err := db.ConfigVersion(s.db.Read(ctx))
	if err != nil {
		return access.Actor{}, fmt.Errorf("read the config version: %w", err)
	}
	if r.sessionVersions != nil {
		user, err := s.accounts.Cached(ctx, version, r.userID)
		if err != nil {
			return access.Actor{}, asInvalidToken(err)
		}
		if *r.sessionVersions != (sessionVersions{session: user.SessionVersion, role: user.RoleVersion}) {
			return access.Actor{}, invalidToken()
		}
	}
	return s.actorAt(ctx, r, ip, version)
}

// actorAt is actor by a config version, for what is under way: the end of a
// session stops no download.
func (s *Service) actorAt(ctx context.Context, r row, ip netip.Addr, version int64) (access.Actor, error) {
	a := access.Actor{Role: access.Guest, IP: ip, Unlocked: r.proof}
	if r.userID == "" {
		return a, nil
	}
	user, err := s.accounts.Cached(ctx, version, r.userID)
	if err == nil && user.Status != account.Active {
		err = invalidToken()
	}
	if err != nil {
		return access.Actor{}, asInvalidToken(err)
	}
	a.UserID, a.Role, a.HomeID = user.ID, user.Role, user.HomeID
	if r.keyID == "" {
		return a, nil
	}
	key, err := s.keys.ByID(ctx, version, r.keyID)
	if err != nil {
		return access.Actor{}, asInvalidToken(err)
	}
	if key.UserID != user.ID || key.Status(s.now()) != "active" {
		return access.Actor{}, invalidToken()
	}
	a.Key = key.Scope()
	return a, nil
}

// asInvalidToken makes InvalidToken of what is told about an account or key that cannot be used,
// and leaves a failure of the server what it is.
func asInvalidToken(err error) error {
	if fault.KindOf(err) == fault.Internal || fault.Is(err, fault.Unavailable) {
		return err
	}
	return invalidToken().WithCause(err)
}

// Consume uses up a token that serves once: of any number of callers exactly one gets nil. Faults:
// InvalidToken for everybody else; ShareLimitReached when its share has been downloaded as often as
// it may, and then it is not used up.
func (s *Service) Consume(ctx context.Context, token string) error {
	if len(token) != tokenLength {
		return invalidToken()
	}
	now := s.now().UnixMilli()
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		shareID, err := consumeToken(tx, hash(token), now)
		switch {
		case errors.Is(err, db.ErrNoRows):
			return invalidToken()
		case err != nil:
			return fmt.Errorf("use up a download token: %w", err)
		case shareID == "":
			return nil
		}
		return s.countDownload(tx, shareID)
	})
	if err == nil {
		crash.Point("download.consumed")
	}
	return err
}

// Sweep deletes expired tokens.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.now().UnixMilli()
	if err := s.db.Write(ctx, func(tx *db.Tx) error { return deleteExpired(tx, now) }); err != nil {
		return fmt.Errorf("delete expired download tokens: %w", err)
	}
	return nil
}

// hash is what is stored of a token. It holds 256 random bits, so that a plain
// digest cannot be searched.
func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func invalidToken() *fault.Error {
	return fault.New(fault.InvalidToken, "This download address is invalid, used up or expired.")
}
