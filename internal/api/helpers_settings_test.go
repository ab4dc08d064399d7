package api_test

import (
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/site"
)

// setAllowGuestAccess sets the site setting allowGuestAccess.
func setAllowGuestAccess(t *testing.T, l *apptest.Larder, on bool) {
	t.Helper()
	l.ChangeSettings(t, func(s *site.Settings) { s.AllowGuestAccess = on })
}

// setAllowRegistration sets the site setting allowRegistration.
func setAllowRegistration(t *testing.T, l *apptest.Larder, on bool) {
	t.Helper()
	l.ChangeSettings(t, func(s *site.Settings) { s.AllowRegistration = on })
}

// setRateLimit sets the site settings of the rate limit and lets every replica take notice.
func setRateLimit(t *testing.T, l *apptest.Larder, on bool, perMinute int) {
	t.Helper()
	l.ChangeSettings(t, func(s *site.Settings) {
		s.RateLimitEnabled, s.RateLimitRequestsPerMinute = on, perMinute
	})
	l.Clock.Advance(time.Second)
}

// requireVerifiedEmail requires verified addresses and returns the mailbox of the site.
func requireVerifiedEmail(t *testing.T, l *apptest.Larder) *apptest.Mailbox {
	t.Helper()
	box := l.Mailbox(t)
	l.ChangeSettings(t, func(s *site.Settings) { s.AllowRegistration, s.RequireEmailVerification = true, true })
	return box
}
