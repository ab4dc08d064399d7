package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// The WebDAV row of abuse cases C79 and C80: no key gets bytes, size or validators of an entry
// behind a password, wherever the password is, and no key copies it. Keys of its owner and of
// administrators may list and replace it, and it keeps the password (C82). Keys of others list
// nothing that a folder's password covers.
func TestProtectedFilesByWebDAV(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newProtectedFixture(t, l)
		keys := map[string]*apptest.Client{
			"ann's":   davKey(f.clients["ann"], M{"uploadPath": "/home/ann"}),
			"bob's":   davKey(f.clients["bob"], M{"uploadPath": "/home/bob"}),
			"admin's": davKey(f.clients["admin"], M{"uploadPath": "/"}),
		}
		for i, protection := range protections {
			f.files = append(f.files, f.uploadFile(t, i, protection))
		}
		for _, g := range f.files {
			for whose, key := range keys { // shows that the checks below can fail
				wantStatus(t, "before, "+whose, dav(key, "GET", g.path, nil), 200, "")
			}
			f.setPassword(t, g)
		}
		cells := 0
		for _, g := range f.files {
			for whose, key := range keys {
				for _, cond := range conditionalHeaderSets {
					for _, method := range []string{"GET", "HEAD"} {
						what := fmt.Sprintf("password on %s: %s by %s key with %s", g.protection, method, whose,
							cond.name)
						header := http.Header{}
						pairs := cond.header(g)
						for i := 0; i+1 < len(pairs); i += 2 {
							header.Set(pairs[i], pairs[i+1])
						}
						r := key.Do(apptest.Request{Method: method, Path: "/webdav" + g.path, Header: header})
						wantDAVStatus(t, what, r, 403)
						checkPasswordRequired(t, what, r, []byte(protectedContent), g.etag)
						cells++
					}
				}
				what := fmt.Sprintf("password on %s, %s key: ", g.protection, whose)
				wantDAVStatus(t, what+"COPY",
					dav(key, "COPY", g.path, nil, "Destination",
						"/webdav/home/"+strings.TrimSuffix(whose, "'s")+"/stolen.mp4"), 403)
				wantDAVStatus(t, what+"COPY of the folder",
					dav(key, "COPY", g.dir, nil, "Destination",
						"/webdav/home/"+strings.TrimSuffix(whose, "'s")+"/stolen"), 403)
				if whose == "bob's" && (g.protection == "folder" || g.protection == "two above") {
					wantDAVStatus(t, what+"PROPFIND of the folder", dav(key, "PROPFIND", g.dir, nil, "Depth", "1"), 403)
					wantDAVStatus(t, what+"PROPFIND", dav(key, "PROPFIND", g.path, nil), 403)
					continue
				}
				wantStrings(t, what+"the folder", davMembers(t, key, g.dir), g.path[len(g.dir)+1:])
				wantStatus(t, what+"PROPFIND", dav(key, "PROPFIND", g.path, nil), 207, "")
			}
		}
		if want := 4 * 3 * 13 * 2; cells != want {
			t.Errorf("%d cells, want %d", cells, want)
		}
		for _, g := range f.files {
			key := keys["ann's"]
			refused := func(what, path string) {
				t.Helper()
				wantDAVStatus(t, g.protection+", "+what, dav(key, "GET", path, nil), 403)
			}
			if g.protection == "file" { // the others lose it with the folder that has it
				wantStatus(t, "MOVE", dav(key, "MOVE", g.path, nil, "Destination", "/webdav/home/ann/moved.mp4"), 201,
					"")
				refused("moved", "/home/ann/moved.mp4")
				wantStatus(t, "PUT beside", dav(key, "PUT", "/home/ann/plain.mp4", "plain"), 201, "")
				wantStatus(t, "MOVE over", dav(key, "MOVE", "/home/ann/moved.mp4", nil, "Destination",
					"/webdav/home/ann/plain.mp4"), 204, "")
				refused("moved over an entry without one", "/home/ann/plain.mp4")
				wantStatus(t, "PUT beside", dav(key, "PUT", "/home/ann/other.mp4", "plain"), 201, "")
				wantStatus(t, "MOVE over it",
					dav(key, "MOVE", "/home/ann/other.mp4", nil, "Destination", "/webdav/home/ann/plain.mp4"), 204, "")
				refused("replaced by a move", "/home/ann/plain.mp4")
				g.path = "/home/ann/plain.mp4"
			}
			wantStatus(t, "PUT", dav(key, "PUT", g.path, "replaced"), 204, "")
			refused("replaced", g.path)
		}
	})
}
