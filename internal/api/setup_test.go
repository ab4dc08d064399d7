package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// The first run of a site, as administrators see it in their settings.
func TestSetup(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		setup := func(c *apptest.Client) any { return c.Get(mySettingsPath).OK(200).Value("setup") }
		wantJSON(t, "on a new site", setup(admin), "steps")
		admin.Patch(settingsPath, M{"siteTitle": "Photos"}).OK(200)
		wantJSON(t, "after a change of the settings", setup(admin), "steps")

		file := admin.Upload("/public", "a.png", []byte("a picture"))
		wantJSON(t, "with a file", setup(admin), "checklist")
		admin.Delete("/api/files/" + file).OK(200)
		wantJSON(t, "without it", setup(admin), "steps")
		alice := l.User(t, "alice")
		wantJSON(t, "with another account", setup(admin), "checklist")
		wantJSON(t, "the stored state", admin.Get(settingsPath).OK(200).Value("setup"), "steps")

		for _, state := range []string{"checklist", "done"} {
			admin.Patch(settingsPath, M{"setup": state}).OK(200)
			wantJSON(t, "stored", setup(admin), state)
			wantJSON(t, "stored, for another administrator",
				setup(l.User(t, "admin_"+state, M{"role": "admin"})), state)
		}
		_, told := alice.Get(mySettingsPath).OK(200).Object()["data"].(map[string]any)["setup"]
		wantJSON(t, "whether other accounts are told", told, false)
		wantStatus(t, "a change by another account", alice.Patch(settingsPath, M{"setup": "steps"}), 403, "FORBIDDEN")
	})
}
