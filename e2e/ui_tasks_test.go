package e2e

import "testing"

// Five everyday tasks, counted in clicks, keys and seconds (browser/ui/tasks.mjs): `-v` prints the
// figures.
func TestUITasks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.set("LARDER_RATE_LIMIT_ENABLED", "false") // the test creates the files of the tasks by requests
	p := s.start(t)
	p.admin(t).createUser(t, "mia", adminPassword, "user")
	login(t, "mia", adminPassword, p.url).do(t, "PUT", "/api/users/me/settings", object{"locale": "en-US"}).want(t, 200)
	runBrowser(t, object{"base": p.url, "users": map[string]string{"en-US": "mia"}, "password": adminPassword,
		"suite": "tasks", "only": ""}, &uiFixture{site: p})
}
