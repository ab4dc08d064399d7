package api_test

import (
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
)

// Browsers keep to https for a year after the first answer, for this host only. Pages share no
// browsing context group with pages of other sites.
func TestTransportAndOpenerHeaders(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{"https://files.example": "max-age=31536000", "http://larder.test": ""} {
		l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.BaseURL = base }, apptest.TrustLoopback)
		c := l.Admin(t)
		c.Upload("/public", "a.txt", []byte("a"))
		html := []string{"Accept", "text/html"}
		for _, row := range []struct {
			method, path string
			header       []string
			status       int
			page         bool
		}{
			{"GET", "/", nil, 200, true},
			{"GET", "/app/files", nil, 200, true},
			{"GET", "/share/AAAAAAAAAAAA", html, 0, true},
			{"GET", "/nowhere", html, 0, true},
			{"GET", "/api/auth/verify-email?token=x", html, 0, true},
			{"GET", "/api/auth/verify-email?token=x", nil, 0, false},
			{"GET", "/api/auth/me", nil, 200, false},
			{"HEAD", "/api/auth/me", nil, 200, false},
			{"GET", "/api/nowhere", nil, 404, false},
			{"PATCH", "/api/auth/me", nil, 405, false},
			{"GET", "/api/openapi.json", nil, 200, false},
			{"GET", "/api/public/health", nil, 200, false},
			{"GET", "/public/a.txt", nil, 200, false},
			{"GET", "/public/a.txt", []string{"Range", "bytes=7-"}, 416, false},
			{"GET", "/nowhere", nil, 404, false},
			{"PROPFIND", "/webdav/", nil, 401, false},
			{"OPTIONS", "/webdav/", nil, 200, false},
			{"GET", "/app/assets/none.js", nil, 404, false},
		} {
			header := map[string][]string{}
			for i := 0; i+1 < len(row.header); i += 2 {
				header[row.header[i]] = []string{row.header[i+1]}
			}
			r := c.Do(apptest.Request{Method: row.method, Path: row.path, Header: header})
			if row.status != 0 && r.Status != row.status {
				t.Errorf("%s %s: status %d", row.method, row.path, r.Status)
			}
			wantHeader(t, r, "Strict-Transport-Security", want)
			wantHeader(t, r, "Cross-Origin-Opener-Policy", map[bool]string{true: "same-origin", false: ""}[row.page])
		}
	}
}
