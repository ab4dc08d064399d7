package e2e

import "testing"

// Versions, the trash and earlier times as one story, by visible labels (browser/ui/history.mjs):
// an ordinary user, and a program that writes by WebDAV while the user looks at the folder.
func TestUIHistory(t *testing.T) {
	t.Parallel()
	p := newSite(t).start(t)
	p.admin(t).createUser(t, "mia", adminPassword, "user")
	login(t, "mia", adminPassword, p.url).do(t, "PUT", "/api/users/me/settings", object{"locale": "en-US"}).want(t, 200)
	runBrowser(t, object{"base": p.url, "users": map[string]string{"en-US": "mia"}, "password": adminPassword,
		"suite": "history", "only": ""}, nil)
}
