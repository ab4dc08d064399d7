package site

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/ident"
	"larder/internal/vpath"
)

const (
	maxAnnouncementTitle = 200  // characters of an announcement's title
	maxContent           = 5000 // characters
	maxAnnouncements     = 200  // announcements that are stored
	maxShown             = 50   // announcements that Active returns
	minLifetime          = 60   // seconds
	maxLifetime          = 10 * 365 * 24 * 3600
)

// Announcement is a notice from administrators to everybody. Its texts are plain: neither this
// package nor the UI interprets markup in them (abuse case C74). Specification: Announcement.
type Announcement struct {
	ID        string
	Title     string // one line
	Content   string
	Level     string // info, warning or danger
	ExpiresAt *int64 // ms; nil for never
	CreatedAt int64  // ms
	UpdatedAt int64  // ms
}

// AnnouncementInput holds the values of a new announcement or of a change. In a change, a nil text
// leaves the value as it is.
type AnnouncementInput struct {
	Title, Content, Level *string
	SetExpiry             bool   // ExpiresIn was given
	ExpiresIn             *int64 // seconds; nil for no expiry
}

// Announcements stores the announcements. It is safe for concurrent use.
type Announcements struct {
	db     *db.DB
	ids    *ident.Source
	now    func() time.Time
	cached db.VersionedValue[[]Announcement]
}

// NewAnnouncements returns the announcements in d.
func NewAnnouncements(d *db.DB, ids *ident.Source, now func() time.Time) *Announcements {
	return &Announcements{db: d, ids: ids, now: now}
}

// All lists all announcements, newest first, including expired ones.
func (an *Announcements) All(ctx context.Context) ([]Announcement, error) {
	return listAnnouncements(an.db.Read(ctx))
}

// Active lists the newest 50 announcements that have not expired, under version, the config version
// that the caller has just read.
func (an *Announcements) Active(ctx context.Context, version int64) ([]Announcement, error) {
	all, err := an.cached.Get(version, func() ([]Announcement, error) { return an.All(ctx) })
	now := an.now().UnixMilli()
	var active []Announcement
	for _, a := range all {
		if (a.ExpiresAt == nil || now < *a.ExpiresAt) && len(active) < maxShown {
			active = append(active, a)
		}
	}
	return active, err
}

// Create creates an announcement from n, whose title and content are required. The default level is
// info. Faults: Invalid, Conflict when there are 200.
func (an *Announcements) Create(ctx context.Context, n AnnouncementInput) (made Announcement, err error) {
	for _, field := range []**string{&n.Title, &n.Content} {
		if *field == nil {
			*field = new(string) // check refuses the empty text
		}
	}
	if n.Level == nil {
		level := "info"
		n.Level = &level
	}
	if err := n.check(); err != nil {
		return Announcement{}, err
	}
	now := an.now().UnixMilli()
	made = Announcement{
		ID: an.ids.UUID(), Title: *n.Title, Content: *n.Content, Level: *n.Level, ExpiresAt: n.expiry(now),
		CreatedAt: now, UpdatedAt: now,
	}
	err = an.db.Write(ctx, func(tx *db.Tx) error {
		if err := tx.BumpConfig(); err != nil { // first, so that other calls wait and then count this announcement
			return err
		}
		fits, err := insertAnnouncement(tx, made)
		if err == nil && !fits {
			return fault.Newf(fault.Conflict, "There are %d announcements already. Please delete some of them first.",
				maxAnnouncements)
		}
		return err
	})
	return made, err
}

// Change changes those values of the announcement id that n gives. Faults: Invalid, NotFound.
func (an *Announcements) Change(ctx context.Context, id string, n AnnouncementInput) (changed Announcement, err error) {
	if err := n.check(); err != nil {
		return Announcement{}, err
	}
	err = an.db.Write(ctx, func(tx *db.Tx) (err error) {
		if changed, err = updateAnnouncement(tx, id, n, an.now().UnixMilli()); err != nil {
			return err
		}
		return tx.BumpConfig()
	})
	return changed, err
}

// Delete deletes an announcement. Fault: NotFound.
func (an *Announcements) Delete(ctx context.Context, id string) error {
	return an.db.Write(ctx, func(tx *db.Tx) error {
		if err := deleteAnnouncement(tx, id); err != nil {
			return err
		}
		return tx.BumpConfig()
	})
}

// noAnnouncement returns the fault NotFound for an unknown id.
func noAnnouncement() error { return fault.New(fault.NotFound, "There is no such announcement.") }

// expiry returns the time of expiry (ms), ExpiresIn seconds after now (ms); nil for never.
func (ai AnnouncementInput) expiry(now int64) *int64 {
	if ai.ExpiresIn == nil {
		return nil
	}
	at := now + *ai.ExpiresIn*1000
	return &at
}

// check refuses invalid values (fault Invalid) and puts the texts into the form that is stored, see
// cleanText.
func (ai *AnnouncementInput) check() (err error) {
	if ai.Title, err = cleanText(ai.Title, "title", maxAnnouncementTitle, ""); err != nil {
		return err
	}
	if ai.Content, err = cleanText(ai.Content, "content", maxContent, "\n\t"); err != nil {
		return err
	}
	if ai.Level != nil && *ai.Level != "info" && *ai.Level != "warning" && *ai.Level != "danger" {
		return fault.InvalidField("level", "The level of an announcement is info, warning or danger.")
	}
	if in := ai.ExpiresIn; in != nil && (*in < minLifetime || *in > maxLifetime) {
		return fault.InvalidField("expiresIn", "expiresIn is %d to %d seconds.", minLifetime, maxLifetime)
	}
	return nil
}

// cleanText returns a text in NFC with normalised line ends, nil for nil. It refuses a blank text,
// one longer than most characters, control characters other than those in allowed, and overrides of
// the text direction. name is the field for the message. Fault: Invalid.
func cleanText(given *string, name string, most int, allowed string) (*string, error) {
	if given == nil {
		return nil, nil
	}
	if len(*given) > 20*most || !utf8.ValidString(*given) { // before the cost of normalising
		return nil, fault.InvalidField(name, "%s has at most %d characters of valid UTF-8.", name, most)
	}
	s := strings.ReplaceAll(norm.NFC.String(*given), "\r\n", "\n")
	switch {
	case strings.TrimSpace(s) == "":
		return nil, fault.InvalidField(name, "%s must not be empty.", name)
	case utf8.RuneCountInString(s) > most:
		return nil, fault.InvalidField(name, "%s has at most %d characters.", name, most)
	case strings.ContainsFunc(s, func(r rune) bool {
		return vpath.IsUnprintable(r) &&
			!strings.ContainsRune(allowed, r)
	}):
		return nil, fault.InvalidField(name, "%s must not contain control characters or text-direction overrides.",
			name)
	}
	return &s, nil
}
