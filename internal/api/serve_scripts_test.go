package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// Abuse case C68: no page of the site can run a stored file, from any route that answers bytes.
func TestStoredFilesAreNotRunAsTheSite(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, c := l.Admin(t), l.Client(t)
		id := admin.Upload("/public", "a.js", []byte("alert(1)"))
		link := admin.Post("/api/files/"+id+"/link", nil).OK(200).Text("link.url")
		token := downloadURL(admin, id)
		for _, address := range []string{"/public/a.js", link, token} {
			for _, dest := range []string{"script", "worker", "sharedworker", "serviceworker", "audioworklet",
				"paintworklet", "style", "xslt"} {
				c.Get(address, "Sec-Fetch-Dest", dest, "Sec-Fetch-Site", "same-origin").Fails(403, "FORBIDDEN")
			}
			c.Get(address, "Service-Worker", "script").Fails(403, "FORBIDDEN")
		}
		for _, address := range []string{"/public/a.js", link, token} { // the token has not been used up
			r := c.Get(address, "Sec-Fetch-Dest", "empty", "Sec-Fetch-Site", "same-origin").OK(200)
			wantBody(t, r, "alert(1)")
			// otherwise the copy in the browser's cache would run
			wantHeader(t, r, "Vary", "Sec-Fetch-Dest, Sec-Fetch-Site")
		}
		wantBody(t, c.Get("/public/a.js", "Sec-Fetch-Dest", "script", "Sec-Fetch-Site", "cross-site").OK(200),
			"alert(1)")
		admin.Upload("/public", "a.png", []byte("\x89PNG\r\n\x1a\n"))
		wantHeader(t, c.Get("/public/a.png").OK(200), "Vary", "")
	})
}
