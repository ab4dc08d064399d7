// Package site stores the site settings, which an administrator changes while the service runs. The
// configuration (package config) is fixed at start.
//
// A setting is a row with its name and its value in JSON. A missing row means the default, so a new
// setting needs no migration. Settings are cached under the config version, which every change
// raises.
//
// Specification: Site settings.
package site

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	"larder/internal/db"
	"larder/internal/secret"
)

// Settings holds all settings. The zero value is not useful: begin with Defaults.
type Settings struct {
	SiteTitle                  string
	SiteDescription            string // shown to visitors
	SiteLogo, SiteFavicon      string // addresses of images, empty for the built-in ones
	SiteAccent                 string // accent of the pages without an account as #RRGGBB, empty for the built-in one
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
	TrashDays                  int  // how long deleted entries stay in the trash, 0 to 365; 0 switches it off
	TrashAll                   bool // deletions that do not say otherwise go to the trash
	Setup                      Setup
	SMTPHost                   string
	SMTPPort                   int
	SMTPSecure                 bool // TLS from the first byte on; else STARTTLS
	SMTPUser                   string
	SMTPPassword               secret.Text // "" for none; sealed in the database
	SMTPFromName               string
	SMTPFromEmail              string
}

// Setup is the progress of administrators through the first run of the site.
type Setup string

const (
	SetupSteps     Setup = "steps"     // the first steps are due
	SetupChecklist Setup = "checklist" // the steps are over; the rest is a list on the dashboard
	SetupDone      Setup = "done"      // the list is finished or dismissed
)

// Defaults returns the settings of a service: no registration, guest access on, rate limits on. The
// first run is over, as in sites that are older than that setting; the first start sets SetupSteps.
func Defaults() Settings {
	return Settings{
		SiteTitle:                  "Larder",
		AllowGuestAccess:           true,
		RateLimitEnabled:           true,
		RateLimitRequestsPerMinute: 600,
		EnableFreeMode:             true,
		TrashDays:                  30,
		Setup:                      SetupDone,
		SMTPPort:                   587,
	}
}

// field is one setting: the name of its row, and a pointer to its value.
type field struct {
	name  string
	value any // a pointer into a Settings
}

// fields lists every setting of s under its name in the specification.
func (s *Settings) fields() []field {
	return []field{
		{"siteTitle", &s.SiteTitle},
		{"siteDescription", &s.SiteDescription},
		{"siteLogo", &s.SiteLogo},
		{"siteFavicon", &s.SiteFavicon},
		{"siteAccent", &s.SiteAccent},
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
		{"trashDays", &s.TrashDays},
		{"trashAll", &s.TrashAll},
		{"setup", &s.Setup},
		{"smtpHost", &s.SMTPHost},
		{"smtpPort", &s.SMTPPort},
		{"smtpSecure", &s.SMTPSecure},
		{"smtpUser", &s.SMTPUser},
		{passwordField, &s.SMTPPassword},
		{"smtpFromName", &s.SMTPFromName},
		{"smtpFromEmail", &s.SMTPFromEmail},
	}
}

// Store reads and writes the settings. It is safe for concurrent use.
type Store struct {
	db     *db.DB
	keys   *secret.Keyring // seals the secret settings
	cached db.VersionedValue[Settings]
	recent recentSettings
}

// New returns the store of the settings in d.
func New(d *db.DB, keys *secret.Keyring) *Store { return &Store{db: d, keys: keys} }

// Save writes every setting in the transaction tx, for the first start, and raises the config
// version. Fault: Invalid.
func (s *Store) Save(tx *db.Tx, settings Settings) error {
	if err := settings.Check(); err != nil {
		return err
	}
	if err := s.save(tx, settings.fields()); err != nil {
		return fmt.Errorf("save site settings: %w", err)
	}
	tx.AfterCommit(s.recent.invalidate)
	return tx.BumpConfig()
}

// Update applies change to the settings in the database, and returns the new settings. Parallel
// updates of different settings both succeed: Update reads the current values under a lock, and
// writes only those that changed. change may run more than once. Fault: Invalid, or the error of
// change.
func (s *Store) Update(ctx context.Context, change func(*Settings) error) (Settings, error) {
	var settings Settings
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		if err := tx.BumpConfig(); err != nil { // first: locking this row makes other updates wait
			return fmt.Errorf("change site settings: %w", err)
		}
		settings = Defaults()
		if err := s.load(tx, &settings); err != nil {
			return fmt.Errorf("load site settings: %w", err)
		}
		before := settings
		if err := change(&settings); err != nil {
			return err
		}
		if err := settings.Check(); err != nil {
			return err
		}
		if err := s.save(tx, changedFields(&before, &settings)); err != nil {
			return fmt.Errorf("save site settings: %w", err)
		}
		return nil
	})
	s.recent.invalidate()
	return settings, err
}

// changedFields returns the fields of now whose values differ from those of before.
func changedFields(before, now *Settings) []field {
	var changed []field
	old := before.fields()
	for i, f := range now.fields() {
		if !reflect.DeepEqual(f.value, old[i].value) {
			changed = append(changed, f)
		}
	}
	return changed
}

// Current returns the settings under version, the config version that the caller has just read.
func (s *Store) Current(ctx context.Context, version int64) (Settings, error) {
	return s.cached.Get(version, func() (Settings, error) {
		settings := Defaults()
		if err := s.load(s.db.Read(ctx), &settings); err != nil {
			return Settings{}, fmt.Errorf("load site settings: %w", err)
		}
		s.recent.invalidate() // Recent holds the settings of an older version
		return settings, nil
	})
}

// recentSettings caches the last result of Recent.
type recentSettings struct {
	mu       sync.Mutex
	settings Settings
	until    time.Time // expiry of the cache
	changes  uint64    // number of changes by this process
}

// invalidate drops the cached settings, and makes store ignore settings that were read before.
func (r *recentSettings) invalidate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	r.until = time.Time{}
}

// get returns the cached settings, whether they are fresh at now, and the number of changes to pass
// to store.
func (r *recentSettings) get(now time.Time) (settings Settings, fresh bool, changes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settings, now.Before(r.until), r.changes
}

// store caches settings that were read at now for a second, unless this process has changed some
// since get returned changes.
func (r *recentSettings) store(settings Settings, now time.Time, changes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes == changes {
		r.settings, r.until = settings, now.Add(time.Second)
	}
}

// Recent returns settings that are at most a second old at now, the present time: a change by
// another replica may take that long to show, a change by this process shows at once. It is for the
// rate limit, which must cost no query when it refuses.
func (s *Store) Recent(ctx context.Context, now time.Time) (Settings, error) {
	settings, fresh, changes := s.recent.get(now)
	if fresh {
		return settings, nil
	}
	version, err := db.ConfigVersion(s.db.Read(ctx))
	if err != nil {
		return Settings{}, err
	}
	if settings, err = s.Current(ctx, version); err != nil {
		return Settings{}, err
	}
	s.recent.store(settings, now, changes)
	return settings, nil
}

// passwordField is the only secret setting.
const passwordField = "smtpPassword"

// sealPurpose is the purpose that the secret rows of settings are sealed for. Each can be opened
// only under its own name.
const sealPurpose = "settings"

// encode returns the value of a field as JSON, as its row holds it. It seals a secret; an empty
// secret stays an empty text.
func (s *Store) encode(f field) (string, error) {
	if password, ok := f.value.(*secret.Text); ok {
		if *password == "" {
			return `""`, nil
		}
		sealed, err := s.keys.Seal(sealPurpose, f.name, []byte(password.Reveal()))
		f.value = &sealed
		if err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(f.value)
	return string(text), err
}

// decode parses text, the JSON of a row, into the field. A secret that was sealed with another key
// becomes empty, and must be set again.
func (s *Store) decode(f field, text string) error {
	password, ok := f.value.(*secret.Text)
	if !ok {
		if err := json.Unmarshal([]byte(text), f.value); err != nil {
			return fmt.Errorf("setting %s: %w", f.name, err)
		}
		return nil
	}
	var sealed string
	if err := json.Unmarshal([]byte(text), &sealed); err != nil {
		return fmt.Errorf("setting %s: %w", f.name, err)
	}
	if plain, err := s.keys.Open(sealPurpose, f.name, sealed); err == nil {
		*password = secret.Text(plain)
	}
	return nil
}
