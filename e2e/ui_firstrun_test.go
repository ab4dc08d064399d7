package e2e

import "testing"

// testFirstRun makes the first run of new sites: through the steps in each language, and past them
// (browser/ui/firstrun.mjs). Every scenario has a site of its own.
func testFirstRun(t *testing.T) {
	for _, scenario := range []string{"goes through the first run/en-US", "goes through the first run/zh-CN",
		"skips the first run"} {
		p := newSite(t).start(t)
		users := map[string]string{"en-US": "admin", "zh-CN": "admin"}
		runBrowser(t, object{"base": p.url, "users": users, "password": adminPassword, "suite": "firstrun",
			"only": scenario}, nil)
	}
}
