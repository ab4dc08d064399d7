// Package download issues the tokens that the gateway turns into bytes.
//
// A token is valid for 15 minutes and serves once; a token for a preview serves any number of
// times. A signed link is a token with a lifetime that its issuer chose; it is bound to the
// content, see signed.go. The database stores only the SHA-256 of a token. A token grants no right
// of its own: each use is authorized anew by what the account and the key it was issued to may do
// at that moment, so that disabling the account, revoking the key or changing a rule ends it. A
// token that a session issued ends with the session too; a signed link does not. The tokens of
// shares belong to no account, see share.go. An account has at most 1,000 valid tokens: issuing
// more ends the oldest. Resolve and Consume are separate steps, since a response without a body
// must not use the token up: HEAD, 304, 416, a failing store. Specification: Download token,
// Download gateway.
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

// Purpose says how a token may be used.
type Purpose string

// The purposes.
const (
	Save    Purpose = "download" // used once, as an attachment
	Preview Purpose = "preview"  // shown in the browser, any number of times
	Signed  Purpose = "signed"   // a signed link: any number of times, as an attachment
)

// Lifetime is how long a token is valid.
const Lifetime = 15 * time.Minute

// maxTokens is how many tokens of an account, or of a share, may be valid at a time; signed links
// have a bound of their own. All visitors of one public file share one bound. Clients redeem a
// token right after they asked for it, so ending the oldest tokens ends none that a client still
// needs.
const maxTokens = 1000

// clockSlack is how far the clocks of replicas may differ. A token that would live longer than its
// lifetime plus clockSlack is not valid: the clock that issued it has been set back since.
const clockSlack = time.Hour

// latestExpiry returns the latest time (ms) at which a token of a purpose can expire if it was
// issued by now (ms); a later one shows a clock that was set back. The row does not record the
// lifetime of a signed link, so the longest allowed one is used.
func latestExpiry(now int64, purpose Purpose) int64 {
	lifetime := Lifetime
	if purpose == Signed {
		lifetime = MaxSignedLifetime
	}
	return now + (lifetime + clockSlack).Milliseconds()
}

// tokenLength is the length of a token in characters of base62: 256 bits.
const tokenLength = 43

// Config holds the dependencies of a Service.
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

// Issue creates a download token for the file entryID that the actor may download, or, with the
// purpose Save, for a folder that the actor may download. The row keeps the ids of the passwords
// that the actor has given as the token's proof. session is the actor's session, with which the
// token ends; nil for a key or a visitor. The token is valid until expiresAt. Faults: NotFound,
// Forbidden, PasswordRequired.
func (s *Service) Issue(ctx context.Context, a access.Actor, session *account.Session, entryID string,
	purpose Purpose) (
	token string, expiresAt time.Time, err error,
) {
	if err := s.CheckIssue(ctx, a, entryID, purpose); err != nil {
		return "", time.Time{}, err
	}
	return s.issue(ctx, a, session, row{entryID: entryID, purpose: purpose})
}

// IssueVersion creates a download token for a version of a file, a former content, which is named
// by the time of its end, until (ms). session and the results are those of Issue. Faults: those of
// Issue, Conflict while a replica of an earlier release runs that would send the present content.
func (s *Service) IssueVersion(ctx context.Context, a access.Actor, session *account.Session, fileID string,
	until int64, purpose Purpose) (
	token string, expiresAt time.Time, err error,
) {
	if err := s.CheckIssueVersion(ctx, a, fileID, until); err != nil {
		return "", time.Time{}, err
	}
	return s.issue(ctx, a, session, row{entryID: fileID, purpose: purpose, version: until})
}

// issue stores a token for the content that r names, without checking rights, and deletes the
// oldest tokens beyond maxTokens of the account, or for a visitor of the file. It returns the token
// and its expiry. Fault: Conflict, as of IssueVersion.
func (s *Service) issue(ctx context.Context, a access.Actor, session *account.Session, r row) (
	token string, expiresAt time.Time, err error,
) {
	token, expiresAt = s.ids.Base62(tokenLength), s.now().Add(Lifetime)
	r.userID, r.proof, r.expiresAt = a.UserID, a.Unlocked, expiresAt.UnixMilli()
	if a.Key != nil {
		r.keyID = a.Key.ID
	}
	if session != nil {
		r.sessionVersions = &sessionVersions{session: session.User.SessionVersion, role: session.User.RoleVersion}
		r.sessionID = session.ID
	}
	now := s.now().UnixMilli()
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if r.version != 0 {
			if err := files.CheckVersions(s.db, tx); err != nil {
				return err
			}
		}
		return insertEvicting(tx, hash(token), r, now)
	})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("issue a download token: %w", err)
	}
	return token, expiresAt, nil
}

// CheckIssue returns nil if Issue would succeed, without creating a token, for HEAD requests.
// Faults: those of Issue.
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

// CheckIssueVersion returns nil if the actor may have a token for the version of a file that ended
// at until (ms), without creating one. Faults: those of IssueVersion except Conflict.
func (s *Service) CheckIssueVersion(ctx context.Context, a access.Actor, fileID string, until int64) error {
	found, err := s.tree.FindID(ctx, fileID)
	if err != nil {
		return err
	}
	_, err = found.VersionFor(ctx, a, until)
	return err
}

// Redemption describes what a valid token gives access to.
type Redemption struct {
	Content       files.Content
	Purpose       Purpose
	Path          vpath.Path          // of the downloaded file or folder
	Folder        *files.ArchiveQuery // of a folder, or of some files in it; Content is unset then
	UserID, KeyID string              // to which it was issued; "" for a visitor, for no key
	ShareID       string              // share that the token belongs to, "" for none
}

// Resolve returns what a token gives access to, without using it up. ip is the address of the
// request, for rules that depend on it. given are ids of passwords given in addition to the token's
// proof; they do not count for a share's token. Faults: InvalidToken (unknown, used or expired; the
// account or key may not download the file any more; for a signed link also when the file is gone
// or has other content; for a share's token also when the share has ended), PasswordRequired,
// NotFound (the file is gone), ShareLimitReached.
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
	found, err := s.tree.FindID(ctx, r.entryID)
	if err != nil {
		return Redemption{}, err
	}
	a, err := s.currentActor(ctx, r, ip, found.Version())
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
	} else if r.version != 0 {
		redemption.Content, err = found.VersionFor(ctx, a, r.version)
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

// currentActor returns the actor that the token r was issued to, with its rights at a config
// version, which tells the state of accounts, keys and rules; 0 stands for the present one. ip is
// the address of the request. Fault: InvalidToken for an account that is not active, for a key that
// is revoked or expired, and when the session that issued the token has ended. The addresses from
// which a key may be used are not checked: often another machine than the key's fetches the bytes.
func (s *Service) currentActor(ctx context.Context, r row, ip netip.Addr, version int64) (a access.Actor, err error) {
	if r.userID == "" {
		return s.actorAt(ctx, r, ip, version)
	}
	if version == 0 { // the entry is gone
		if version, err = db.ConfigVersion(s.db.Read(ctx)); err != nil {
			return access.Actor{}, fmt.Errorf("read the config version: %w", err)
		}
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
	if r.sessionID != "" { // not cached: it is one look-up for a token
		if err := s.accounts.CheckLasting(ctx, r.userID, r.sessionID); err != nil {
			return access.Actor{}, asInvalidToken(err)
		}
	}
	return s.actorAt(ctx, r, ip, version)
}

// actorAt returns the actor that the token r was issued to, with the rights that its account and
// key have at a config version; a guest for a visitor's token. It does not check the session: it
// serves downloads in progress, which the end of a session does not stop. Fault: InvalidToken when
// the account or key is not active.
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

// asInvalidToken turns a fault about an account or key that cannot be used into InvalidToken. It
// returns failures of the server unchanged.
func asInvalidToken(err error) error {
	if fault.KindOf(err) == fault.Internal || fault.Is(err, fault.Unavailable) {
		return err
	}
	return invalidToken().WithCause(err)
}

// Consume uses up a token that serves once. Of any number of concurrent callers exactly one gets
// nil. Faults: InvalidToken for all others; ShareLimitReached when its share has no downloads left,
// and then the token is not used up.
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

// Sweep deletes expired tokens. The application calls it regularly.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.now().UnixMilli()
	if err := s.db.Write(ctx, func(tx *db.Tx) error { return deleteExpired(tx, now) }); err != nil {
		return fmt.Errorf("delete expired download tokens: %w", err)
	}
	return nil
}

// hash returns the form of a token that is stored. A token has 256 random bits, so a plain digest
// cannot be reversed by search.
func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// invalidToken returns the one fault of a token that can't be used, which does not tell why.
func invalidToken() *fault.Error {
	return fault.New(fault.InvalidToken, "This download address is invalid, used up or expired.")
}
