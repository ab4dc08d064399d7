package site_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/site"
)

// changed is a value other than the default in every field.
var changed = site.Settings{
	SiteTitle:                  "Vorrat \"süß\" \x00 <&>",
	SiteLogo:                   "https://example.org/logo.svg",
	SiteFavicon:                "data:image/png;base64,AAAA",
	AllowRegistration:          true,
	RequireEmailVerification:   true,
	EnableCaptcha:              true,
	CaptchaSiteKey:             "key",
	RateLimitRequestsPerMinute: 10000,
	EmailEnabled:               true,
	RequireInviteCode:          true,
}

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
		}
		if got := current(t, d, site.New(d)); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestSavedSettingsAreSeenByEveryReplica(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		one, two := site.New(d), site.New(d)
		if got := current(t, d, two); got != site.Defaults() {
			t.Fatalf("before: %+v", got)
		}
		before := version(t, d)
		for _, settings := range []site.Settings{changed, site.Defaults(), changed} {
			if err := d.Write(context.Background(), func(tx *db.Tx) error { return one.Save(tx, settings) }); err != nil {
				t.Fatal(err)
			}
			for name, store := range map[string]*site.Store{"writer": one, "other": two, "restarted": site.New(d)} {
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
		store := site.New(d)
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
		"0 requests":        {with(func(s *site.Settings) { s.RateLimitRequestsPerMinute = 0 }), false},
		"1 request":         {with(func(s *site.Settings) { s.RateLimitRequestsPerMinute = 1 }), true},
		"10000 requests":    {with(func(s *site.Settings) { s.RateLimitRequestsPerMinute = 10000 }), true},
		"10001 requests":    {with(func(s *site.Settings) { s.RateLimitRequestsPerMinute = 10001 }), false},
		"title of 200":      {with(func(s *site.Settings) { s.SiteTitle = strings.Repeat("ü", 200) }), true},
		"title of 201":      {with(func(s *site.Settings) { s.SiteTitle = strings.Repeat("ü", 201) }), false},
		"logo of 64 KiB":    {with(func(s *site.Settings) { s.SiteLogo = strings.Repeat("x", 65536) }), true},
		"logo beyond":       {with(func(s *site.Settings) { s.SiteLogo = strings.Repeat("x", 65537) }), false},
		"favicon beyond":    {with(func(s *site.Settings) { s.SiteFavicon = strings.Repeat("x", 65537) }), false},
		"captcha key too":   {with(func(s *site.Settings) { s.CaptchaSiteKey = strings.Repeat("x", 65537) }), false},
		"an untitled site":  {with(func(s *site.Settings) { s.SiteTitle = "" }), true},
		"nothing but zeros": {site.Settings{}, false},
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		store := site.New(d)
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
