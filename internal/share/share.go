// Package share keeps shares: addresses through which people give others a file or folder, with an
// optional password, an end, and limits of views and downloads.
//
// A share grants no right of its own. Each visit is authorized by what its creator may do at that
// moment, from the visitor's address. So disabling the account or changing a rule ends the share,
// and a restriction of the file that applies to the creator applies to visitors. A share refers to
// an entry by its id: it survives renaming and moving, and ends with the entry.
//
// Visitors must also give a password that protects the file, a folder above it, or a rule that
// gives the creator access. The share's own password replaces those of them that its creator could
// let others pass: the passwords of entries that the creator owns or administers now, and the
// passwords that the creator had given when they set the share's password. A password that was
// changed since counts as a new one, so a creator who does not know it cannot let others pass it.
//
// One conditional update counts and limits views, on whichever replica; downloads likewise.
// Specification: Share, Share status, Share endpoints.
package share

import (
	"net/netip"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/vpath"
)

const (
	// idLength is the length of a share's id: 12 characters of base62, 71 bits.
	idLength = 12
	// MaxShares is how many shares of an account are kept at a time. At the limit, a new share
	// replaces the oldest one that has ended.
	MaxShares = 10000
)

// Share is a share as it is stored. Times are in milliseconds.
type Share struct {
	ID, EntryID, CreatorID string
	Title                  *string // nil for the name of the file
	PasswordID             string  // of its own password, "" for none
	ExpiresAt              *int64
	MaxViews, MaxDownloads *int64
	ViewCount              int64
	DownloadCount          int64
	AllowPreview           bool
	AllowDownload          bool
	RevokedAt              *int64
	CreatedAt, UpdatedAt   int64
	passwordHash           string
	proof                  []string // ids of passwords that the creator had given when they set the share's own
}

// Status is the stored state of a share.
type Status string

// The statuses. Visitors may get another answer: an active share answers that it is revoked
// while its creator lacks the permission.
const (
	Active  Status = "active"
	Expired Status = "expired"
	Revoked Status = "revoked"
)

// Status returns the stored status at a time: revoked, else expired once ExpiresAt has come, else
// active.
func (s Share) Status(now time.Time) Status {
	switch {
	case s.RevokedAt != nil:
		return Revoked
	case s.ExpiresAt != nil && *s.ExpiresAt <= now.UnixMilli():
		return Expired
	}
	return Active
}

// Visitor is a person who opens a share.
type Visitor struct {
	IP          netip.Addr
	PasswordIDs []string // ids of the passwords that the visitor has given for this share
}

// Visit is a share with what a visitor may see of it, by what its creator may do at this moment.
// Unless Authorized is true, nothing about the entry may be shown but whether it is a folder.
type Visit struct {
	// AllowPreview and AllowDownload are the effective values: both are false without the creator's
	// permission to download
	Share
	CreatorName string
	// at the visitor's address, with the passwords that count as given; content and listings are
	// authorized as for this actor
	Creator access.Actor
	Found   *files.FoundEntry // the shared entry
	Entry   files.Entry       // as the creator sees it
	Path    vpath.Path
	// passwords that protect the visit, given or not: the share's own, and those of the file that
	// the share's own does not replace
	Passwords  []files.RequiredPassword
	Authorized bool // no password is missing
}

// ShowsContent reports whether visitors may see some of the content of the files: the share allows
// previews or downloads.
func (v *Visit) ShowsContent() bool { return v.AllowPreview || v.AllowDownload }

// Config holds the dependencies of a Service.
type Config struct {
	DB       *db.DB
	Tree     *files.Tree
	Accounts *account.Service
	IDs      *ident.Source
	Now      func() time.Time
}

// Service manages the shares of one database. All methods are safe for concurrent use.
type Service struct {
	db        *db.DB
	tree      *files.Tree
	accounts  *account.Service
	ids       *ident.Source
	now       func() time.Time
	maxShares int // shares of an account
	position  sweepPosition
}

// New returns a Service for the shares in cfg.DB.
func New(cfg Config) *Service {
	return &Service{db: cfg.DB, tree: cfg.Tree, accounts: cfg.Accounts, ids: cfg.IDs, now: cfg.Now,
		maxShares: MaxShares}
}

// notFound returns the fault NotFound, for a share that does not exist or is somebody else's.
func notFound() error { return fault.New(fault.NotFound, "There is no such share.") }

// revokedFault returns the fault for visitors of a share that its creator, or the loss of a right,
// has ended.
func revokedFault() error { return fault.New(fault.ShareRevoked, "This share no longer works.") }

// expiredFault returns the fault for visitors of a share whose end has passed.
func expiredFault() error { return fault.New(fault.ShareExpired, "This share has expired.") }
