// Package site keeps the site settings: what an administrator changes while the service runs, as opposed to its configuration.
//
// A setting is a row of its name and its value in JSON; a row that is missing means the default, so that a new setting needs no migration.
// Reading goes through memory, under the config version that every change raises.
//
// Specification: Site settings.
package site

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"larder/internal/db"
	"larder/internal/fault"
)

const (
	maxTitleRunes = 200
	maxTextBytes  = 64 << 10 // of the other texts; a logo may be a data: address
	maxPerMinute  = 10000
)

// Settings are all settings. A zero Settings is none that anybody wants: begin with Defaults.
type Settings struct {
	SiteTitle                  string
	SiteLogo, SiteFavicon      string // addresses of images, empty for the built-in ones
	AllowRegistration          bool
	AllowGuestAccess           bool
	RequireEmailVerification   bool
	EnableCaptcha              bool
	CaptchaSiteKey             string
	RateLimitEnabled           bool
	RateLimitRequestsPerMinute int // 1 to 10,000, per user or per address
	EmailEnabled               bool
	RequireInviteCode          bool
	EnableFreeMode             bool
}

// Defaults returns the settings of a service that nobody has set up: closed for registration, open for guests, rate limits on.
func Defaults() Settings {
	return Settings{
		SiteTitle:                  "Larder",
		AllowGuestAccess:           true,
		RateLimitEnabled:           true,
		RateLimitRequestsPerMinute: 600,
		EnableFreeMode:             true,
	}
}

// Check judges the values. Fault: Invalid.
func (s Settings) Check() error {
	switch {
	case utf8.RuneCountInString(s.SiteTitle) > maxTitleRunes:
		return fault.New(fault.Invalid, "A site title has at most 200 characters.")
	case len(s.SiteLogo) > maxTextBytes || len(s.SiteFavicon) > maxTextBytes || len(s.CaptchaSiteKey) > maxTextBytes:
		return fault.New(fault.Invalid, "A text among the site settings has at most 65536 bytes.")
	case s.RateLimitRequestsPerMinute < 1 || s.RateLimitRequestsPerMinute > maxPerMinute:
		return fault.New(fault.Invalid, "The rate limit is 1 to 10000 requests a minute.")
	}
	return nil
}

// field is one setting: the name of its row and where its value lies.
type field struct {
	name  string
	value any // a pointer into a Settings
}

// fields lists every setting of s under the name that the specification gives it.
func (s *Settings) fields() []field {
	return []field{
		{"siteTitle", &s.SiteTitle},
		{"siteLogo", &s.SiteLogo},
		{"siteFavicon", &s.SiteFavicon},
		{"allowRegistration", &s.AllowRegistration},
		{"allowGuestAccess", &s.AllowGuestAccess},
		{"requireEmailVerification", &s.RequireEmailVerification},
		{"enableCaptcha", &s.EnableCaptcha},
		{"captchaSiteKey", &s.CaptchaSiteKey},
		{"rateLimitEnabled", &s.RateLimitEnabled},
		{"rateLimitRequestsPerMinute", &s.RateLimitRequestsPerMinute},
		{"emailEnabled", &s.EmailEnabled},
		{"requireInviteCode", &s.RequireInviteCode},
		{"enableFreeMode", &s.EnableFreeMode},
	}
}

// Store reads and writes the settings. It is safe for concurrent use.
type Store struct {
	db     *db.DB
	cached db.Versioned[Settings]
}

// New returns the store of the settings in d.
func New(d *db.DB) *Store { return &Store{db: d} }

// Save writes every setting in the caller's transaction and raises the config version. Fault: Invalid.
func (s *Store) Save(tx *db.Tx, settings Settings) error {
	if err := settings.Check(); err != nil {
		return err
	}
	if err := save(tx, &settings); err != nil {
		return fmt.Errorf("save site settings: %w", err)
	}
	return tx.BumpConfig()
}

// Current returns the settings under version, the config version that the caller has just read.
func (s *Store) Current(ctx context.Context, version int64) (Settings, error) {
	return s.cached.Get(version, func() (Settings, error) {
		settings := Defaults()
		if err := load(s.db.Read(ctx), &settings); err != nil {
			return Settings{}, fmt.Errorf("load site settings: %w", err)
		}
		return settings, nil
	})
}

// encode writes the value of a field.
func (f field) encode() (string, error) {
	text, err := json.Marshal(f.value)
	return string(text), err
}

// decode reads the value of a field.
func (f field) decode(text string) error {
	if err := json.Unmarshal([]byte(text), f.value); err != nil {
		return fmt.Errorf("setting %s: %w", f.name, err)
	}
	return nil
}
