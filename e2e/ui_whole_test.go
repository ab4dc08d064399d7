package e2e

import "testing"

// The whole application as one story, by visible labels alone (browser/ui/whole.mjs): from an empty
// data directory and the password that the first start prints.
func TestUIWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	delete(s.env, "LARDER_ADMIN_PASSWORD")
	s.set("SSL_CERT_FILE", mailRoots(t), "LARDER_ALLOW_PRIVATE_ENDPOINTS", "127.0.0.0/8",
		"LARDER_FREE_MODE_ALLOW_PRIVATE_ENDPOINTS", "127.0.0.0/8")
	p := s.start(t)
	password := p.stdout.wait(t, p.exited, passwordLine)
	runBrowser(t, object{"base": p.url, "users": map[string]string{"en-US": "admin"}, "password": password,
		"suite": "whole", "only": ""}, &uiFixture{site: p})
}
