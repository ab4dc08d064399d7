package share

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/secret"
	"larder/internal/vpath"
)

const (
	// MaxTitle is the longest title, in characters.
	MaxTitle = 200
	// MinSeconds and MaxSeconds bound the lifetime of a share that has an end.
	MinSeconds, MaxSeconds = 60, 365 * 24 * 3600
	// MaxCount is the highest limit of views and downloads.
	MaxCount = 1_000_000_000
)

// Draft holds the values of a new share.
type Draft struct {
	EntryID                     string
	Title                       *string      // nil or blank for the name of the file
	Password                    *secret.Text // nil for none
	ExpiresIn                   *int64       // seconds, nil for no end
	MaxViews, MaxDownloads      *int64       // nil for no limit
	AllowPreview, AllowDownload bool
}

// Create makes a share of an entry for the actor: an address through which others reach it, with
// the options in d. If the actor may not download the entry, the share shows no content. Faults:
// Invalid, NotFound, Forbidden, PasswordRequired when the actor may not see the entry without a
// password, Conflict when the actor has too many shares, RateLimited when too many passwords wait
// to be hashed.
func (s *Service) Create(ctx context.Context, a access.Actor, d Draft) (Item, error) {
	now := s.now()
	row := Share{EntryID: d.EntryID, CreatorID: a.UserID, MaxViews: d.MaxViews, MaxDownloads: d.MaxDownloads,
		AllowPreview:  d.AllowPreview,
		AllowDownload: d.AllowDownload, CreatedAt: now.UnixMilli(), UpdatedAt: now.UnixMilli()}
	var err error
	if row.Title, err = cleanTitle(d.Title); err != nil {
		return Item{}, err
	}
	if row.ExpiresAt, err = expiry(d.ExpiresIn, now); err != nil {
		return Item{}, err
	}
	if err := checkLimits(d.MaxViews, d.MaxDownloads); err != nil {
		return Item{}, err
	}
	found, err := s.checkSharing(ctx, a, d.EntryID, d.Password)
	if err != nil {
		return Item{}, err
	}
	if d.Password != nil {
		if err := s.setPassword(ctx, &row, found, a, *d.Password); err != nil {
			return Item{}, err
		}
	}
	row.ID = s.ids.Base62(idLength)
	var share Share
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if err := s.makeRoom(tx, a.UserID, now.UnixMilli()); err != nil {
			return err
		}
		share = row
		if err := s.applyRights(tx, a, &share); err != nil {
			return err
		}
		return insert(tx, share)
	})
	if err != nil {
		return Item{}, err
	}
	return s.item(ctx, a, share)
}

// checkSharing checks, before a password is hashed, whether the actor may make or change a share of
// the entry with that password, nil for none. The transaction checks the permission again. Faults:
// Invalid, NotFound, Forbidden (also for visitors and API keys), PasswordRequired.
func (s *Service) checkSharing(ctx context.Context, a access.Actor, entryID string,
	password *secret.Text) (*files.FoundEntry, error) {
	if a.UserID == "" || a.Key != nil {
		return nil, fault.New(fault.Forbidden, "Only signed-in users can share; visitors and API keys cannot.")
	}
	if password != nil && *password == "" {
		return nil, fault.New(fault.Invalid, "A password has 1 to 128 characters and at most 512 bytes.")
	}
	found, err := s.tree.FindID(ctx, entryID)
	if err != nil {
		return nil, err
	}
	_, err = found.RequireShareable(a)
	return found, err
}

// setPassword gives the share row a password of its own. It replaces those passwords of the entry
// that the actor has given, for this share password or an earlier one: visitors need not give them.
// It replaces no other password that the actor has given, even if the entry later moves below one.
// Faults: Invalid, NotFound, RateLimited.
func (s *Service) setPassword(ctx context.Context, row *Share, found *files.FoundEntry, a access.Actor,
	password secret.Text) (err error) {
	if row.passwordHash, err = s.accounts.HashPassword(ctx, account.AccountSource(a.UserID), password); err != nil {
		return err
	}
	row.PasswordID = s.ids.UUID() // voids what was signed for an earlier password
	required, err := found.SharePasswords(ctx, a)
	if err != nil {
		return err
	}
	row.proof = intersect(required, slices.Concat(row.proof, a.Unlocked))
	row.proof = row.proof[:min(len(row.proof), maxProof)]
	return nil
}

// maxProof is how many passwords a share remembers as given by its creator.
const maxProof = 64

// applyRights checks, in the transaction that stores the share, whether the actor may share the
// entry, and turns previews and downloads off when the actor may not download it. Faults: NotFound,
// Forbidden, PasswordRequired.
func (s *Service) applyRights(tx *db.Tx, a access.Actor, row *Share) error {
	sharing, err := s.tree.RequireShareableTx(tx, a, row.EntryID)
	if err != nil {
		return err
	}
	if sharing.Download == access.Denied {
		row.AllowPreview, row.AllowDownload = false, false
	}
	return nil
}

// makeRoom locks the account's shares until tx ends, and deletes ended ones when the account
// already has the largest number of shares. now is in ms. Faults: Conflict when none has ended,
// NotFound when there is no such account.
func (s *Service) makeRoom(tx *db.Tx, userID string, now int64) error {
	if err := lockUser(tx, userID); err != nil {
		return err
	}
	kept, err := countShares(tx, userID, s.maxShares)
	if err != nil || kept < s.maxShares {
		return err
	}
	gone, err := deleteEnded(tx, userID, now, 100)
	if err == nil && gone == 0 {
		err = fault.Newf(fault.Conflict, "You already have %d active shares: revoke one first.", s.maxShares)
	}
	return err
}

// requiresPassword reports whether the share asks its visitors for a password at present, its own
// or one of the file; a is the share's creator.
func requiresPassword(ctx context.Context, found *files.FoundEntry, a access.Actor, row Share) (bool, error) {
	visit, err := authorizeVisit(ctx, found, row, a, nil)
	switch fault.KindOf(err) {
	case fault.NotFound, fault.ShareRevoked: // the visit fails before it asks for a password
		return row.PasswordID != "", nil
	}
	return len(visit.Passwords) > 0, err
}

// cleanTitle checks a title and normalises it to NFC; a blank one becomes nil, which stands for the
// name of the file. Fault: Invalid for a title that is too long or has control characters.
func cleanTitle(title *string) (*string, error) {
	if title == nil {
		return nil, nil
	}
	wrong := fault.Newf(fault.Invalid,
		"title has at most %d characters, none of them control characters or text-direction overrides.", MaxTitle)
	// checked first, to save the cost of normalising: NFC shrinks no character by more than this
	if len(*title) > 20*MaxTitle || !utf8.ValidString(*title) {
		return nil, wrong
	}
	clean := norm.NFC.String(*title)
	if utf8.RuneCountInString(clean) > MaxTitle {
		return nil, wrong
	}
	for _, r := range clean {
		if vpath.IsUnprintable(r) {
			return nil, wrong
		}
	}
	if strings.TrimSpace(clean) == "" {
		return nil, nil
	}
	return &clean, nil
}

// expiry returns the time (ms) at which a share ends that lasts the given seconds from now, nil for
// never. Fault: Invalid.
func expiry(seconds *int64, now time.Time) (*int64, error) {
	if seconds == nil {
		return nil, nil
	}
	if *seconds < MinSeconds || *seconds > MaxSeconds {
		return nil, fault.New(fault.Invalid, "expiresIn must be between 60 seconds and one year.")
	}
	at := now.Add(time.Duration(*seconds) * time.Second).UnixMilli()
	return &at, nil
}

// checkLimits checks that limits of views and downloads are between 1 and MaxCount, or nil for
// none. Fault: Invalid.
func checkLimits(limits ...*int64) error {
	for _, limit := range limits {
		if limit != nil && (*limit < 1 || *limit > MaxCount) {
			return fault.New(fault.Invalid, "A limit of views or downloads must be between 1 and 1000000000.")
		}
	}
	return nil
}
