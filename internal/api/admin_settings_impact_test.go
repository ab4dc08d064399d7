package api_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/site"
)

// An administrator sees how many accounts and visitors a setting would shut out, and what they can
// open until then: the counted ones are those that the setting then refuses.
func TestSettingsImpact(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		want := func(when string, unverified, free, entries, links float64) {
			t.Helper()
			wantJSON(t, when, admin.Get(settingsPath + "/impact").OK(200).Object()["data"],
				M{"unverifiedUsers": unverified, "freeSessions": free, "publicEntries": entries, "permanentLinks": links})
		}
		want("at first, with the folder public", 0, 0, 1, 0)

		for _, name := range []string{"bob", "ann", "off"} {
			l.User(t, name)
		}
		updateUser(admin, userIDOf(t, admin, "off"), M{"status": "disabled"}).OK(200)
		execAndRaiseVersion(t, l, "UPDATE users SET email_verified = FALSE WHERE username <> 'ann'")
		visitor := openFreeSession(t, l, s3test.New(t), M{"sessionHours": 1})
		mkdir(admin, "/", "opened")
		addRule(admin, newRule(M{"pathPattern": "/opened/**", "role": "guest"}))
		link := admin.Post("/api/files/"+admin.Upload("/home", "a.txt", []byte("a"))+"/link", nil).OK(200).Text("link.url")
		wantStatus(t, "the permanent link", l.Client(t).Get(strings.TrimPrefix(link, apptest.BaseURL)), 200, "")
		want("with bob, who is not verified, a second public folder and a link", 1, 1, 2, 1)

		admin.Put("/api/files/"+listFolder(admin, "/").OK(200).Text("folder.id"), M{"accessPassword": "a password"}).OK(200)
		want("with a password on all folders", 1, 1, 0, 1)

		l.ChangeSettings(t, func(s *site.Settings) {
			s.RequireEmailVerification, s.AllowGuestAccess = true, false
		})
		wantStatus(t, "bob", postLogin(l.Client(t), "bob", "password of bob"), 403, "EMAIL_NOT_VERIFIED")
		want("without guest access", 1, 1, 0, 1)
		wantStatus(t, "the visitor", visitor.Get("/api/free-mode/session"), 403, "FORBIDDEN")
		l.SignIn(t, "ann", "password of ann")

		l.Clock.Advance(time.Hour)
		want("after the end of the visitor's session", 1, 0, 0, 1)
	}, apptest.ReachLoopback)
}
