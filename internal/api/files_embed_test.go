package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// A signed-in user sees at least as much as a visitor: an embed that the account may not download
// is redirected to the public address.
func TestEmbedOfPublicFile(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		id := alice.Upload("/home/alice", "a.png", []byte("\x89PNG\r\n\x1a\n"))
		address := "/api/files/" + id + "/download"
		bob.Get(address, "Sec-Fetch-Dest", "image").Fails(403, "FORBIDDEN")
		link := alice.Post("/api/files/"+id+"/link", nil).OK(200).Text("link.url")
		r := bob.Get(address, "Sec-Fetch-Dest", "image").OK(302)
		wantHeader(t, r, "Location", link)
		wantHeader(t, r, "Cache-Control", "no-store")
		wantHeader(t, r, "Vary", "Accept, Sec-Fetch-Dest, Cookie, Authorization")
		// single-use addresses require the permission to download
		bob.Get(address).Fails(403, "FORBIDDEN")
		// with a key, the cookie does not count
		bob.Key(M{"permissions": []string{"read"}}).Get(address, "Accept", "image/*").Fails(403, "FORBIDDEN")
		wantHeader(t, alice.Get(address, "Sec-Fetch-Dest", "image").OK(200), "Cache-Control", "private, no-store")
		alice.Delete("/api/files/" + id + "/link").OK(200)
		bob.Get(address, "Sec-Fetch-Dest", "image").Fails(403, "FORBIDDEN")
	})
}
