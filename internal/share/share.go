// Package share keeps what people hand out to others: a file or folder behind an address, for a
// time, for so many views and downloads, behind a password.
//
// A share carries no right of its own. Each visit is judged anew with what its creator may do at
// that moment, from the visitor's address: a disabled account or a changed rule ends it, and what
// stands before the file for the creator stands before it for visitors. It belongs to the entry, so
// that it goes on when that is renamed or moved, and ends with it.
//
// A password on the file, above it or on a rule that lets the creator in is asked of visitors
// too. A password of the share's own stands in for those that its creator could let others pass:
// where they own what is protected or administer it, now, and those that they had given when they
// set the share's. A password that was changed since is another one: who no longer knows it can
// let nobody pass it.
//
// Views are counted and limited by one conditional update, whichever replica shows the file, and so
// are downloads. Specification: Share, Share status, Share endpoints.
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
	// idLength is the length of a share's id: 12 of 62 characters, 71 bits.
	idLength = 12
	// MaxShares is how many shares of an account are kept at a time. Where they are as many, the
	// oldest that have ended make room.
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

// Status is what became of a share.
type Status string

// The statuses. What visitors are told can be less: an active share answers that it is revoked
// while its creator lacks the permission.
const (
	Active  Status = "active"
	Expired Status = "expired"
	Revoked Status = "revoked"
)

// Status returns the status at a time.
func (s Share) Status(now time.Time) Status {
	switch {
	case s.RevokedAt != nil:
		return Revoked
	case s.ExpiresAt != nil && *s.ExpiresAt <= now.UnixMilli():
		return Expired
	}
	return Active
}

// Visitor is who stands before a share.
type Visitor struct {
	IP          netip.Addr
	PasswordIDs []string // ids of passwords that they have given to this share
}

// Visit is a share as a visitor finds it, judged with what its creator may do at this moment.
// Unless Open, nothing of the file may be told.
type Visit struct {
	// AllowPreview and AllowDownload are what holds now: neither without the
	// creator's permission to download
	Share
	CreatorName string
	// at the visitor's address, with the passwords that count as given: content and listings are
	// judged as this actor
	Creator access.Actor
	Entry   files.Entry // as the creator sees it
	Path    vpath.Path
	// the passwords that ask, given or not: the share's own, and of the file's those that it does
	// not stand in for
	Passwords  []files.RequiredPassword
	Authorized bool // no password is missing
}

// Config is what a Service works with.
type Config struct {
	DB       *db.DB
	Tree     *files.Tree
	Accounts *account.Service
	IDs      *ident.Source
	Now      func() time.Time
}

// Service is the shares of one database. All methods are safe for concurrent use.
type Service struct {
	db        *db.DB
	tree      *files.Tree
	accounts  *account.Service
	ids       *ident.Source
	now       func() time.Time
	maxShares int // shares of an account
	position  sweepPosition
}

// New returns the shares in cfg.DB.
func New(cfg Config) *Service {
	return &Service{db: cfg.DB, tree: cfg.Tree, accounts: cfg.Accounts, ids: cfg.IDs, now: cfg.Now,
		maxShares: MaxShares}
}

func notFound() error { return fault.New(fault.NotFound, "There is no such share.") }

func revokedFault() error { return fault.New(fault.ShareRevoked, "This share no longer works.") }

func expiredFault() error { return fault.New(fault.ShareExpired, "This share has expired.") }
