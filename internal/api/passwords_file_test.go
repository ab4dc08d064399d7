package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// setAccessPassword sets an access password on an entry; nil removes it.
func setAccessPassword(c *apptest.Client, id string, password any) {
	c.Put("/api/files/"+id, M{"accessPassword": password}).OK(200)
}

// Specification: File or folder entry (hasPassword); PASSWORD_REQUIRED of the download endpoint,
// the gateway and public path serving. Abuse case C79.
func TestFileWithAPassword(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		private := alice.Upload("/home/alice", "a.txt", []byte("alice's"))
		public := admin.Upload("/public", "p.txt", []byte("everybody's"))
		folder := mkdir(admin, "/public", "shut")
		below := admin.Upload("/public/shut", "in.txt", []byte("below"))
		link := alice.Post("/api/files/"+private+"/link", M{}).OK(200).Text("link.url")
		waiting := downloadURL(alice, private)
		wantHasPassword := func(want bool) {
			t.Helper()
			details, item := alice.Get("/api/files/"+private).OK(200), listFolder(alice, "/home/alice").OK(200)
			wantJSON(t, "hasPassword of the details", details.Value("hasPassword"), want)
			wantJSON(t, "file.hasPassword", details.Value("file.hasPassword"), want)
			wantJSON(t, "hasPassword in the listing", item.Value("items.0.hasPassword"), want)
		}
		wantHasPassword(false)
		seen := visitor.Get("/public/p.txt").OK(200)
		wantBody(t, seen, "everybody's")

		for _, id := range []string{private, public, folder} {
			setAccessPassword(admin, id, "open sesame")
		}
		wantHasPassword(true)
		wantJSON(t, "hasPassword after a new name",
			alice.Put("/api/files/"+private, M{"name": "b.txt"}).OK(200).Value("file.hasPassword"), true)
		for what, r := range map[string]*apptest.Reply{
			"the owner asks for an address": alice.Get("/api/files/" + private + "/download"),
			"the owner's <img>":             alice.Get("/api/files/"+private+"/download", "Sec-Fetch-Dest", "image"),
			"the owner at the path":         alice.Get("/home/alice/b.txt"),
			"the owner's key":               alice.Key(M{}).Get("/api/files/" + private + "/download"),
			"an administrator":              admin.Get("/api/files/" + private + "/download"),
			"a token from before":           visitor.Get(waiting),
			"a visitor at a public path":    visitor.Get("/public/p.txt"),
			"HEAD of a public path":         visitor.Head("/public/p.txt"),
			"a copy to be validated":        visitor.Get("/public/p.txt", "If-None-Match", seen.Header.Get("ETag")),
			"a range":                       visitor.Get("/public/p.txt", "Range", "bytes=0-3"),
			"a range of the token":          visitor.Get(waiting, "Range", "bytes=0-3"),
			"a public path below a folder":  visitor.Get("/public/shut/in.txt"),
			"an address below a folder":     admin.Get("/api/files/" + below + "/download"),
		} {
			wantStatus(t, what, r, 403, "PASSWORD_REQUIRED")
		}
		wantStatus(t, "the permanent link", visitor.Get(link), 404, "NOT_FOUND")
		wantStatus(t, "the pasted address", visitor.Get("/api/files/"+public+"/download", "Accept", "image/*"), 401,
			"UNAUTHORIZED")

		for _, id := range []string{private, public, folder} {
			setAccessPassword(admin, id, nil)
		}
		wantHasPassword(false)
		wantBody(t, visitor.Get(waiting).OK(200), "alice's") // the refusal has not used up the token
		wantBody(t, visitor.Get("/public/p.txt").OK(200), "everybody's")
		wantBody(t, visitor.Get("/public/shut/in.txt").OK(200), "below")
		wantBody(t, visitor.Get(link).OK(200), "alice's")
	})
}
