package site_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/secret"
	"larder/internal/site"
)

// changedSettings has a value other than the default in every field.
var changedSettings = site.Settings{
	SiteTitle:                  "Vorrat \"süß\" <&>",
	SiteDescription:            "Bilder vom See",
	SiteLogo:                   "https://example.org/logo.svg",
	SiteFavicon:                "/public/favicon.png",
	SiteAccent:                 "#0a7F5b",
	AllowRegistration:          true,
	RequireEmailVerification:   true,
	EnableCaptcha:              true,
	CaptchaSiteKey:             "key",
	RateLimitRequestsPerMinute: 10000,
	EmailEnabled:               true,
	RequireInviteCode:          true,
	Setup:                      site.SetupSteps,
	SMTPHost:                   "mail.example.org",
	SMTPPort:                   465,
	SMTPSecure:                 true,
	SMTPUser:                   "bob",
	SMTPPassword:               "the canary",
	SMTPFromName:               "Vorrat",
	SMTPFromEmail:              "larder@example.org",
}

// testKeyring is a keyring for tests.
var testKeyring = func() *secret.Keyring {
	master := sha256.Sum256([]byte("a master key for tests"))
	ring, err := secret.New(master[:])
	if err != nil {
		panic(err)
	}
	return ring
}()

func version(t *testing.T, d *db.DB) int64 {
	t.Helper()
	v, err := db.ConfigVersion(d.Read(context.Background()))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func current(t *testing.T, d *db.DB, s *site.Store) site.Settings {
	t.Helper()
	got, err := s.Current(context.Background(), version(t, d))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEmptyDatabaseMeansDefaults(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		want := site.Settings{
			SiteTitle:                  "Larder",
			AllowRegistration:          false,
			AllowGuestAccess:           true,
			RequireEmailVerification:   false,
			EmailEnabled:               false,
			RateLimitEnabled:           true,
			RateLimitRequestsPerMinute: 600,
			EnableFreeMode:             true,
			TrashDays:                  30,
			Setup:                      site.SetupDone, // the site is older than the setting
			SMTPPort:                   587,
		}
		if got := current(t, d, site.New(d, testKeyring)); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestSavedSettingsAreSeenByEveryReplica(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		one, two := site.New(d, testKeyring), site.New(d, testKeyring)
		if got := current(t, d, two); got != site.Defaults() {
			t.Fatalf("before: %+v", got)
		}
		before := version(t, d)
		for _, settings := range []site.Settings{changedSettings, site.Defaults(), changedSettings} {
			if err := d.Write(context.Background(),
				func(tx *db.Tx) error { return one.Save(tx, settings) }); err != nil {
				t.Fatal(err)
			}
			for name, store := range map[string]*site.Store{"writer": one, "other": two,
				"restarted": site.New(d, testKeyring)} {
				if got := current(t, d, store); got != settings {
					t.Errorf("%s: got %+v, want %+v", name, got, settings)
				}
			}
		}
		if after := version(t, d); after != before+3 {
			t.Errorf("the config version rose from %d to %d", before, after)
		}
	})
}

func TestSettingsAreKeptInMemoryUnderTheirVersion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		store := site.New(d, testKeyring)
		v := version(t, d)
		if _, err := store.Current(context.Background(), v); err != nil {
			t.Fatal(err)
		}
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := store.Current(cancelled, v); err != nil {
			t.Errorf("a known version is read again: %v", err)
		}
		if _, err := store.Current(cancelled, v+1); !errors.Is(err, context.Canceled) {
			t.Errorf("another version is not read: %v", err)
		}
	})
}

func TestBadSettingsAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	with := func(change func(s *site.Settings)) site.Settings {
		s := site.Defaults()
		change(&s)
		return s
	}
	cases := map[string]struct {
		settings site.Settings
		ok       bool
	}{
		"0 requests":     {with(func(s *site.Settings) { s.RateLimitRequestsPerMinute = 0 }), false},
		"1 request":      {with(func(s *site.Settings) { s.RateLimitRequestsPerMinute = 1 }), true},
		"10000 requests": {with(func(s *site.Settings) { s.RateLimitRequestsPerMinute = 10000 }), true},
		"10001 requests": {with(func(s *site.Settings) { s.RateLimitRequestsPerMinute = 10001 }), false},
		"title of 200":   {with(func(s *site.Settings) { s.SiteTitle = strings.Repeat("ü", 200) }), true},
		"title of 201":   {with(func(s *site.Settings) { s.SiteTitle = strings.Repeat("ü", 201) }), false},
		// abuse case C73
		"title, two lines":  {with(func(s *site.Settings) { s.SiteTitle = "a\r\nBcc: eve@example.org" }), false},
		"name, two lines":   {with(func(s *site.Settings) { s.SMTPFromName = "a\r\nBcc: eve@example.org" }), false},
		"sender, two lines": {with(func(s *site.Settings) { s.SMTPFromEmail = "a@b\r\nBcc: eve@example.org" }), false},
		"title, broken":     {with(func(s *site.Settings) { s.SiteTitle = "\xff" }), false},
		// abuse case C66
		"logo with a script": {with(func(s *site.Settings) { s.SiteLogo = "javascript:alert(1)" }), false},
		"logo inside":        {with(func(s *site.Settings) { s.SiteLogo = "data:image/png;base64,AAAA" }), false},
		"logo of 2000":       {with(func(s *site.Settings) { s.SiteLogo = "/" + strings.Repeat("x", 1999) }), true},
		"logo of 2001":       {with(func(s *site.Settings) { s.SiteLogo = "/" + strings.Repeat("x", 2000) }), false},
		"favicon of 2001":    {with(func(s *site.Settings) { s.SiteFavicon = "/" + strings.Repeat("x", 2000) }), false},
		"accent":             {with(func(s *site.Settings) { s.SiteAccent = "#0a7F5b" }), true},
		"accent of 5 digits": {with(func(s *site.Settings) { s.SiteAccent = "#0a7f5" }), false},
		"accent of 7 digits": {with(func(s *site.Settings) { s.SiteAccent = "#0a7f5bb" }), false},
		"accent of markup":   {with(func(s *site.Settings) { s.SiteAccent = `#"><x>` }), false},
		"captcha key, 500":   {with(func(s *site.Settings) { s.CaptchaSiteKey = strings.Repeat("x", 500) }), true},
		"captcha key, 501":   {with(func(s *site.Settings) { s.CaptchaSiteKey = strings.Repeat("x", 501) }), false},
		"port 0":             {with(func(s *site.Settings) { s.SMTPPort = 0 }), false},
		"port 1":             {with(func(s *site.Settings) { s.SMTPPort = 1 }), true},
		"port 65535":         {with(func(s *site.Settings) { s.SMTPPort = 65535 }), true},
		"port 65536":         {with(func(s *site.Settings) { s.SMTPPort = 65536 }), false},
		"an untitled site":   {with(func(s *site.Settings) { s.SiteTitle = "" }), true},
		"the zero value":     {site.Settings{}, false},
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		store := site.New(d, testKeyring)
		for name, c := range cases {
			before, old := version(t, d), current(t, d, store)
			err := d.Write(context.Background(), func(tx *db.Tx) error { return store.Save(tx, c.settings) })
			if c.ok {
				if err != nil || current(t, d, store) != c.settings {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if !fault.Is(err, fault.Invalid) || version(t, d) != before || current(t, d, store) != old {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

// Parallel updates all take effect, whatever each of them has read before.
func TestUpdatesDoNotLoseEachOther(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		one, two := site.New(d, testKeyring), site.New(d, testKeyring)
		changes := []func(s *site.Settings){
			func(s *site.Settings) { s.SiteTitle = "title" }, func(s *site.Settings) { s.SMTPHost = "host" },
			func(s *site.Settings) { s.SMTPPort = 25 },
			func(s *site.Settings) { s.SMTPPassword = "word" }, func(s *site.Settings) { s.AllowRegistration = true },
			func(s *site.Settings) { s.SMTPUser = "bob" },
			func(s *site.Settings) { s.EmailEnabled = true }, func(s *site.Settings) { s.AllowGuestAccess = false },
		}
		for range 20 {
			if err := d.Write(t.Context(), func(tx *db.Tx) error { return one.Save(tx, site.Defaults()) }); err != nil {
				t.Fatal(err)
			}
			want := site.Defaults()
			var all sync.WaitGroup
			for i, change := range changes {
				change(&want)
				all.Go(func() {
					store := []*site.Store{one, two}[i%2]
					if _, err := store.Update(t.Context(),
						func(s *site.Settings) error { change(s); return nil }); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if got := current(t, d, two); got != want {
				t.Fatalf("got %+v, want %+v", got, want)
			}
		}
	})
}

func TestUpdateThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		store := site.New(d, testKeyring)
		before := version(t, d)
		mine := errors.New("no")
		if _, err := store.Update(t.Context(),
			func(s *site.Settings) error { s.SiteTitle = "x"; return mine }); !errors.Is(err, mine) {
			t.Errorf("got %v", err)
		}
		if _, err := store.Update(t.Context(),
			func(s *site.Settings) error { s.SMTPPort = 0; return nil }); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
		if got := current(t, d, store); got != site.Defaults() || version(t, d) != before {
			t.Errorf("got %+v", got)
		}
	})
}

// The password is stored sealed. With another key it is empty, without an error. Changing other
// settings then leaves the sealed value as it is, since the key may come back.
func TestThePasswordIsSealed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		store := site.New(d, testKeyring)
		if _, err := store.Update(t.Context(),
			func(s *site.Settings) error { s.SMTPPassword = "the canary"; return nil }); err != nil {
			t.Fatal(err)
		}
		var lies string
		if err := d.Read(t.Context()).QueryRow("SELECT value FROM settings WHERE name = 'smtpPassword'").
			Scan(&lies); err != nil || lies == `""` || strings.Contains(lies, "canary") {
			t.Fatalf("in the database: %s, %v", lies, err)
		}
		master := sha256.Sum256([]byte("another master key"))
		ring, err := secret.New(master[:])
		if err != nil {
			t.Fatal(err)
		}
		other := site.New(d, ring)
		if got := current(t, d, other); got != site.Defaults() {
			t.Errorf("with another key: %+v", got)
		}
		if _, err := other.Update(t.Context(),
			func(s *site.Settings) error { s.SiteTitle = "x"; return nil }); err != nil {
			t.Error(err)
		}
		if got := current(t, d, site.New(d, testKeyring)); got.SMTPPassword != "the canary" || got.SiteTitle != "x" {
			t.Errorf("with its own key again: %+v", got)
		}
	})
}

// A change by this process shows at once, even if settings were being read while it was made.
func TestRecentIsNeverOlderThanAChange(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, now := site.New(d, testKeyring), time.UnixMilli(1)
		for limit := 1; limit <= 3; limit++ {
			if _, err := s.Update(context.Background(),
				func(s *site.Settings) error { s.RateLimitRequestsPerMinute = limit; return nil }); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got, err := s.Recent(context.Background(), now)
				if err != nil || got.RateLimitRequestsPerMinute != limit {
					t.Fatalf("after the change to %d: %d, %v", limit, got.RateLimitRequestsPerMinute, err)
				}
			}
		}
	})
	if site.KeepsLateRead() {
		t.Error("a reader that began before a change caches what it read")
	}
}
