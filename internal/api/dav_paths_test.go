package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
)

// The vectors of TestPathVectors in a WebDAV address and a Destination (abuse cases C1 to C11) are
// refused, never answered with 5xx, and never reach another file.
func TestDAVPathVectors(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		const secret = "what is bob's"
		bob := l.User(t, "bob")
		bob.Upload("/home/bob", "x", []byte(secret))
		l.Admin(t).Upload("/", "x", []byte(secret))
		alice, key := davHome(t, l, "alice")
		dav(key, "MKCOL", "/home/alice/a", nil).OK(201)
		alice.Upload("/home/alice", "source.txt", []byte("mine"))
		sinks := map[string]func(at string) *apptest.Reply{
			"address": func(at string) *apptest.Reply {
				return dav(key, "PROPFIND", at, nil, "Depth", "0")
			},
			"address to be made":  func(at string) *apptest.Reply { return dav(key, "PUT", at, "x") },
			"address of a folder": func(at string) *apptest.Reply { return dav(key, "MKCOL", at, nil) },
			"Destination": func(at string) *apptest.Reply {
				return dav(key, "COPY", "/home/alice/source.txt", nil, "Destination", "/webdav"+at)
			},
			"Destination as a URI": func(at string) *apptest.Reply {
				return dav(key, "MOVE", "/home/alice/none.txt", nil, "Destination", apptest.BaseURL+"/webdav"+at)
			},
		}
		for name, ask := range sinks {
			for _, bad := range badPaths() {
				if len(bad.text) > 4900 && name[0] == 'D' {
					continue // the header is too long
				}
				r := ask("/home/alice/" + percentEncode(bad.text))
				what := fmt.Sprintf("%s: %.60q", name, bad.text)
				switch {
				case r.Err != nil || r.Status >= 500 || r.Status >= 300 && r.Status < 400 ||
					strings.Contains(string(r.Body), secret):
					t.Errorf("%s: status %d %v: %.200s", what, r.Status, r.Err, r.Body)
				case bad.literal:
				case r.Status != 400:
					t.Errorf("%s: status %d, want 400: %.200s", what, r.Status, r.Body)
				}
			}
		}
		wantBody(t, bob.Get("/home/bob/x").OK(200), secret)
		wantStrings(t, "bob's home", listNames(bob, "/home/bob"), "x")
		for _, name := range listNames(alice, "/home/alice") {
			known := slices.ContainsFunc(badPaths(),
				func(bad badPath) bool { return bad.literal && strings.TrimSuffix(bad.text, "/") == name })
			if !known && name != "a" && name != "source.txt" {
				t.Errorf("entries were created: %q", name)
			}
		}
	})
}

// Each segment of an address is decoded once and cleaned without a redirect (abuse cases C2, C3,
// C12). Names are compared in NFC (C7) and with case (C8).
func TestDAVAddresses(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		_, key := davHome(t, l, "alice")
		home := "/home/alice"
		dav(key, "MKCOL", home+"/Folder", nil).OK(201)
		dav(key, "PUT", home+"/Folder/caf%C3%A9.txt", "composed").OK(201)
		dav(key, "PUT", home+"/Folder/plain.txt", "plain").OK(201)
		for address, want := range map[string]string{
			home + "/Folder/cafe%CC%81.txt": "composed", home + "/Folder/caf%c3%a9.txt": "composed",
			home + "/%46older/plain%2Etxt":  "plain",
			"//home/alice/Folder/plain.txt": "plain", "/./home/alice/Folder/plain.txt": "plain",
			home + "//Folder///plain.txt": "plain", home + "/%2E/Folder/plain.txt": "plain",
			home + "/Folder/./plain.txt": "plain", home + "/Folder/plain.txt?x=1": "plain",
		} {
			wantBody(t, dav(key, "GET", address, nil).OK(200), want)
			wantStatus(t, "PROPFIND "+address, dav(key, "PROPFIND", address, nil), 207, "")
		}
		for address, want := range map[string][]int{
			home + "/%2e%2e/alice/Folder/plain.txt": {400}, home + "/..%2falice": {400},
			home + "/Folder%2fplain.txt": {400}, home + "/Folder/plain.txt%00": {400},
			home + "/Folder/%ff": {400}, home + "/%c0%ae%c0%ae/bob": {400}, home + "/Folder%5cplain.txt": {400},
			home + "/Folder/%E2%80%AE": {400}, home + "/../alice": {400},
			home + "/folder/plain.txt": {404}, home + "/Folder/PLAIN.txt": {404}, home + "/%252e%252e": {404},
			home + "/Folder%252fplain.txt": {404}, home + "/%20Folder": {400},
		} {
			for _, method := range []string{"GET", "PROPFIND", "DELETE", "PROPPATCH"} {
				body := any(nil)
				if method == "PROPPATCH" {
					body = patchBody
				}
				r := dav(key, method, address, body)
				if !slices.Contains(want, r.Status) {
					t.Errorf("%s %s: %d, want %v: %s", method, address, r.Status, want, r.Body)
				}
			}
		}
		// the root, whatever its end
		for _, address := range []string{"/webdav", "/webdav/", "/webdav//", "/webdav/."} {
			r := parseMultistatus(t, address,
				key.Do(apptest.Request{Method: "PROPFIND", Path: address, Header: map[string][]string{"Depth": {"0"}}}))
			wantJSON(t, address, r[0].Hrefs, []string{"/webdav/"})
		}
		// other addresses: not redirected to this one
		for _, address := range []string{"//webdav/home", "/WebDAV/home", "/webdavx/home", "/%77ebdav/home"} {
			if r := key.Do(apptest.Request{Method: "PROPFIND", Path: address}); r.Status < 400 || r.Status >= 500 {
				t.Errorf("%s: %d %s", address, r.Status, r.Header)
			}
		}
		// a slash at the end means a folder; a folder is found without it too
		for _, address := range []string{home + "/Folder", home + "/Folder/"} {
			wantJSON(t, address, parseMultistatus(t, address,
				dav(key, "PROPFIND", address, nil, "Depth", "0"))[0].Hrefs, []string{"/webdav/home/alice/Folder/"})
		}
		wantDAVStatus(t, "PUT with a slash", dav(key, "PUT", home+"/new/", "x"), 405)
		dav(key, "MKCOL", home+"/made/", nil).OK(201)
		wantDAVStatus(t, "MKCOL in the other form", dav(key, "MKCOL", home+"/Folder/cafe%CC%81.txt", nil), 405)
		wantStatus(t, "PUT in the other form", dav(key, "PUT", home+"/Folder/cafe%CC%81.txt", "composed"), 204, "")
		dav(key, "PUT", home+"/Folder/PLAIN.txt", "capitals").OK(201)
		wantBody(t, dav(key, "GET", home+"/Folder/plain.txt", nil).OK(200), "plain")

		// ordinary names (C10, C11, C13, C14)
		odd := []string{"CON", "aux.png", ".htaccess", "...", "a.", "a..b.txt", "a?b#c;d%20&+.png", "%2e%2e", "<>&\"'",
			"100%", "~", "a b", "😀", strings.Repeat("語", 255)}
		for _, name := range odd {
			dav(key, "PUT", home+"/made/"+url.PathEscape(name), name).OK(201)
		}
		shown := parseMultistatus(t, "odd names", dav(key, "PROPFIND", home+"/made", nil, "Depth", "1"))
		if len(shown) != len(odd)+1 {
			t.Fatalf("%d are listed, want %d", len(shown)-1, len(odd))
		}
		for _, one := range shown[1:] {
			name := one.path(t)[len(home+"/made/"):]
			if !slices.Contains(odd, name) || one.live(t, "displayname") != name {
				t.Errorf("%q is shown as %q", name, one.live(t, "displayname"))
			}
			wantBody(t, key.Get(one.Hrefs[0]).OK(200), name)
			if strings.Trim(one.Hrefs[0],
				"/-._~%abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
				t.Errorf("not all is escaped in %s", one.Hrefs[0])
			}
			wantStatus(t, "MOVE to the returned address",
				dav(key, "MOVE", home+"/Folder/plain.txt", nil, "Destination", one.Hrefs[0]), 204, "")
			wantStatus(t, "and back", dav(key, "MOVE", strings.TrimPrefix(one.Hrefs[0], "/webdav"), nil, "Destination",
				"/webdav"+home+"/Folder/plain.txt"), 201, "")
		}
		wantDAVStatus(t, "256 characters", dav(key, "PUT", home+"/"+strings.Repeat("%E8%AA%9E", 256), "x"), 400)
		wantDAVStatus(t, "65 levels", dav(key, "PROPFIND", strings.Repeat("/d", 65), nil), 400)
	})
}

// Abuse case C35 and RFC 4918, sections 9.8 and 9.9.
func TestDAVDestination(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		_, key := davHome(t, l, "alice")
		const home = "/webdav/home/alice"
		for _, folder := range []string{"/dir", "/dir/sub", "/empty"} {
			dav(key, "MKCOL", "/home/alice"+folder, nil).OK(201)
		}
		put := func(name, content string) { dav(key, "PUT", "/home/alice"+name, content) }
		put("/file", "file")
		put("/other", "other")
		put("/dir/sub/deep", "deep")
		for _, row := range []struct {
			source, destination string
			want                int
		}{
			{"/file", "", 400},
			{"/file", "x", 400},
			{"/file", "webdav/home/alice/x", 400},
			{"/file", "/home/alice/x", 400},
			{"/file", "/webdavx/home/alice/x", 400},
			{"/file", "/WEBDAV/home/alice/x", 400},
			{"/file", "/api/files", 400},
			{"/file", "/", 400},
			{"/file", "http://larder.test/home/alice/x", 400},
			{"/file", "http://larder.test", 400},
			{"/file", "http://", 400},
			{"/file", "http:///webdav/home/alice/x", 400},
			{"/file", "http://user@larder.test" + home + "/x", 400},
			{"/file", "//larder.test" + home + "/x", 400},
			{"/file", home + "/x?y=1", 400},
			{"/file", home + "/x#y", 400},
			{"/file", home + "/../bob", 400},
			{"/file", home + "/%2e%2e/bob/x", 400},
			{"/file", home + "/..%2fbob", 400},
			{"/file", home + "/dir%2fx", 400},
			{"/file", home + "/%zz", 400},
			{"/file", home + "/%", 400},
			{"/file", home + "/a%00", 400},
			{"/file", home + "/%ff", 400},
			{"/file", home + `/a\b`, 400},
			{"/file", "/webdav/../home/alice/x", 400},
			{"/file", "/%2e%2e" + home + "/x", 400},
			{"/file", "http://other.test" + home + "/x", 502},
			{"/file", "http://larder.test.evil.test" + home + "/x", 502},
			{"/file", "http://larder.test:81" + home + "/x", 502},
			{"/file", "ftp://larder.test" + home + "/x", 502},
			{"/file", "file:///webdav/home/alice/x", 502},
			{"/file", "http://localhost" + home + "/x", 502},
			{"/file", home + "/file", 403},
			{"/file", "//home/alice/file", 400},
			{"/file", home + "//./file", 403},
			{"/file", home + "/%66ile", 403},
			{"/dir", home + "/dir", 403},
			{"/dir", home + "/dir/", 403},
			{"/dir", home + "/dir/new", 403},
			{"/dir", home + "/dir/sub", 403},
			{"/dir", home + "/dir/sub/deep/new", 403},
			{"/dir/sub", home + "/dir", 403},
			{"/dir/sub/deep", home, 403},
			{"/file", home, 403},
			{"/file", "/webdav", 403},
			{"/file", "/webdav/", 403},
			{"/file", "http://larder.test/webdav", 403},
			{"/file", home + "/none/x", 409},
			{"/file", home + "/none/none/x", 409},
			{"/dir", home + "/none/x", 409},
			{"/file", home + "/other/x", 409}, // the parent is a file
			{"/none", home + "/x", 404},
		} {
			for _, method := range []string{"MOVE", "COPY"} {
				var header []string
				if row.destination != "" {
					header = []string{"Destination", row.destination}
				}
				wantDAVStatus(t, method+" "+row.source+" to "+row.destination,
					dav(key, method, "/home/alice"+row.source, nil, header...), row.want)
			}
		}
		wantStrings(t, "the home", davMembers(t, key, "/home/alice"), "dir", "empty", "file", "other")
		wantStrings(t, "the folder", davMembers(t, key, "/home/alice/dir/sub"), "deep")
		for _, destination := range []string{home + "/x", "http://larder.test" + home + "/x",
			"HTTP://LARDER.test:80" + home + "/x", "https://larder.test" + home + "/x", "/webdav//home/./alice/x",
			" " + home + "/x "} {
			wantStatus(t, "COPY to "+destination, dav(key, "COPY", "/home/alice/file", nil, "Destination", destination),
				201, "")
			wantStatus(t, "DELETE", dav(key, "DELETE", "/home/alice/x", nil), 204, "")
		}

		// Overwrite (RFC 4918, section 10.6)
		copied := func(method, overwrite string) *apptest.Reply {
			return dav(key, method, "/home/alice/file", nil, "Destination", home+"/other", "Overwrite", overwrite)
		}
		for _, method := range []string{"MOVE", "COPY"} {
			wantDAVStatus(t, method+", Overwrite F", copied(method, "F"), 412)
			wantDAVStatus(t, method+", Overwrite x", copied(method, "x"), 400)
			wantDAVStatus(t, method+", Overwrite TT", copied(method, "TT"), 400)
			wantDAVStatus(t, "a folder, Overwrite F",
				dav(key, method, "/home/alice/dir", nil, "Destination", home+"/empty", "Overwrite", "F"), 412)
		}
		wantBody(t, dav(key, "GET", "/home/alice/other", nil).OK(200), "other")
		wantStrings(t, "the home", davMembers(t, key, "/home/alice"), "dir", "empty", "file", "other")
		wantStatus(t, "COPY, Overwrite T", copied("COPY", "T"), 204, "")
		wantBody(t, dav(key, "GET", "/home/alice/other", nil).OK(200), "file")
		put("/other", "other")
		wantStatus(t, "MOVE, no Overwrite", dav(key, "MOVE", "/home/alice/file", nil, "Destination", home+"/other"),
			204, "")
		wantBody(t, dav(key, "GET", "/home/alice/other", nil).OK(200), "file")
		wantStatus(t, "where it was", dav(key, "GET", "/home/alice/file", nil), 404, "")
		wantStatus(t, "MOVE, Overwrite F, to nothing",
			dav(key, "MOVE", "/home/alice/other", nil, "Destination", home+"/file", "Overwrite", "F"), 201, "")
		wantStatus(t, "a folder over a folder", dav(key, "COPY", "/home/alice/dir", nil, "Destination", home+"/empty"),
			204, "")
		wantStrings(t, "the replaced folder", davMembers(t, key, "/home/alice/empty/sub"), "deep")
		wantStatus(t, "a file over a folder", dav(key, "MOVE", "/home/alice/file", nil, "Destination", home+"/empty"),
			204, "")
		wantBody(t, dav(key, "GET", "/home/alice/empty", nil).OK(200), "file")
		wantStatus(t, "a folder over a file", dav(key, "MOVE", "/home/alice/dir", nil, "Destination", home+"/empty/"),
			204, "")
		wantStrings(t, "the home", davMembers(t, key, "/home/alice"), "empty")
		wantStrings(t, "the folder", davMembers(t, key, "/home/alice/empty"), "sub")

		// Depth (RFC 4918, sections 9.8.3 and 9.9.2)
		for depth, want := range map[string]int{"1": 400, "2": 400, "x": 400, "infinity,0": 400} {
			wantDAVStatus(t, "COPY, Depth "+depth,
				dav(key, "COPY", "/home/alice/empty", nil, "Destination", home+"/x", "Depth", depth), want)
			wantDAVStatus(t, "MOVE, Depth "+depth,
				dav(key, "MOVE", "/home/alice/empty", nil, "Destination", home+"/x", "Depth", depth), want)
		}
		wantDAVStatus(t, "MOVE, Depth 0", dav(key, "MOVE", "/home/alice/empty", nil, "Destination", home+"/x", "Depth",
			"0"), 400)
		wantStatus(t, "COPY, Depth 0", dav(key, "COPY", "/home/alice/empty", nil, "Destination", home+"/shallow",
			"Depth", "0"), 201, "")
		wantStrings(t, "no entry inside", davMembers(t, key, "/home/alice/shallow"))
		wantStatus(t, "COPY, Depth infinity",
			dav(key, "COPY", "/home/alice/empty", nil, "Destination", home+"/deep/", "Depth", "Infinity"), 201, "")
		wantStrings(t, "with all inside", davMembers(t, key, "/home/alice/deep/sub"), "deep")
	})
}

// A Destination may name base_url's host or the requested host, because a proxy may pass on another
// name.
func TestDAVDestinationBehindAProxy(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.BaseURL = "https://files.example:8443" },
		apptest.TrustLoopback)
	_, key := davHome(t, l, "alice")
	dav(key, "PUT", "/home/alice/file", "file").OK(201)
	for destination, want := range map[string]int{
		"https://files.example:8443/webdav/home/alice/a": 201, "http://larder.test/webdav/home/alice/b": 201,
		"https://larder.test/webdav/home/alice/c":   201,
		"https://files.example/webdav/home/alice/d": 502, "http://files.example:8443/webdav/home/alice/d": 502,
		"https://larder.test:8443/webdav/home/alice/d": 502,
	} {
		wantStatus(t, destination, dav(key, "COPY", "/home/alice/file", nil, "Destination", destination), want, "")
	}
	wantStrings(t, "the home", davMembers(t, key, "/home/alice"), "a", "b", "c", "file")
}

// A proxy ends TLS in front of a service whose base_url and requests say http. The client's
// Destination says https.
func TestDAVDestinationBehindAProxyThatEndsTLS(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.BaseURL = "http://files.example" },
		apptest.TrustLoopback)
	_, key := davHome(t, l, "alice")
	dav(key, "PUT", "/home/alice/file", "file").OK(201)
	for destination, want := range map[string]int{
		"https://files.example/webdav/home/alice/a": 201, "https://files.example:443/webdav/home/alice/b": 201,
		"http://files.example:80/webdav/home/alice/c":    201,
		"https://files.example:8443/webdav/home/alice/d": 502, "https://files.example:80/webdav/home/alice/d": 502,
		"http://files.example:443/webdav/home/alice/d": 502,
		"https://other.example/webdav/home/alice/d":    502, "http://files.example:8080/webdav/home/alice/d": 502,
	} {
		wantStatus(t, destination, dav(key, "COPY", "/home/alice/file", nil, "Destination", destination), want, "")
	}
	wantStrings(t, "the home", davMembers(t, key, "/home/alice"), "a", "b", "c", "file")
}

// Mounts, folders above a mount, and the root cannot be changed (abuse case C23). A virtual folder
// can be listed and nothing else. An entry at the root cannot have the name of the first segment of
// a service address (C21).
func TestDAVMountsAndReservedNames(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		provider := admin.Get("/api/admin/storage/providers").OK(200).Text("providers.0.id")
		addMount(admin, provider, "/disk")
		addMount(admin, provider, "/way/to/deep")
		mkdir(admin, "/", "above")
		addMount(admin, provider, "/above/inner")
		key := davKey(admin, M{"uploadPath": "/"})
		for path, content := range map[string]string{"/disk/f": "disk", "/way/to/deep/f": "deep", "/above/f": "above",
			"/above/inner/f": "inner", "/source": "source"} {
			dav(key, "PUT", path, content).OK(201)
		}
		try := func(when string, hasRoot bool) {
			t.Helper()
			for _, path := range []string{"/", "/disk", "/disk/", "/above", "/above/inner", "/way", "/way/to",
				"/way/to/deep"} {
				if !hasRoot && strings.Contains(path, "above") {
					continue
				}
				wantDAVStatus(t, when+"DELETE "+path, dav(key, "DELETE", path, nil), 403)
				wantDAVStatus(t, when+"MOVE "+path, dav(key, "MOVE", path, nil, "Destination", "/webdav/disk/moved"),
					403)
				for _, method := range []string{"MOVE", "COPY"} {
					if r := dav(key, method, "/disk/f", nil, "Destination", "/webdav"+path); r.Status != 403 &&
						r.Status != 409 {
						t.Errorf("%s%s onto %s: %d %s", when, method, path, r.Status, r.Body)
					}
				}
				wantDAVStatus(t, when+"PUT "+path, dav(key, "PUT", path, "x"), 405)
				wantDAVStatus(t, when+"MKCOL "+path, dav(key, "MKCOL", path, nil), 405)
				wantDAVStatus(t, when+"GET "+path, dav(key, "GET", path, nil), 405)
			}
			for _, path := range []string{"/way", "/way/to"} {
				wantDAVStatus(t, when+"PROPPATCH "+path, dav(key, "PROPPATCH", path, patchBody), 403)
				wantDAVStatus(t, when+"LOCK "+path, dav(key, "LOCK", path, lockBody), 403)
				wantDAVStatus(t, when+"COPY "+path, dav(key, "COPY", path, nil, "Destination", "/webdav/disk/copied"),
					403)
				for _, method := range []string{"PUT", "MKCOL", "LOCK"} {
					body := any(nil)
					if method == "LOCK" {
						body = lockBody
					}
					if r := dav(key, method, path+"/new", body); r.Status != 403 && r.Status != 409 {
						t.Errorf("%s%s %s/new: %d %s", when, method, path, r.Status, r.Body)
					}
				}
				for _, method := range []string{"MOVE", "COPY"} {
					if r := dav(key, method, "/disk/f", nil, "Destination", "/webdav"+path+"/new"); r.Status != 403 &&
						r.Status != 409 {
						t.Errorf("%s%s to %s/new: %d %s", when, method, path, r.Status, r.Body)
					}
				}
			}
			wantStrings(t, when+"a virtual folder", davMembers(t, key, "/way"), "to")
			wantStrings(t, when+"and the next", davMembers(t, key, "/way/to"), "deep")
			for path, content := range map[string]string{"/disk/f": "disk", "/way/to/deep/f": "deep"} {
				wantBody(t, dav(key, "GET", path, nil).OK(200), content)
			}
			virtual := parseMultistatus(t, "a virtual folder", dav(key, "PROPFIND", "/way", nil, "Depth", "0"))[0]
			if e, code := virtual.has("DAV:", "resourcetype"); code != "200" || e.at("collection").XMLName.Local == "" {
				t.Errorf("%sresourcetype %v", when, e)
			}
		}
		try("", true)
		wantStrings(t, "the root", davMembers(t, key, "/"), "above", "disk", "home", "public", "source", "uploads",
			"way")
		wantStrings(t, "above a mount", davMembers(t, key, "/above"), "f", "inner")
		for _, name := range []string{"api", "webdav", "share", "app", "favicon.ico", "robots.txt", "API", "WebDAV",
			"Robots.txt", "Share"} {
			for _, method := range []string{"PUT", "MKCOL", "LOCK"} {
				body := any(nil)
				if method == "LOCK" {
					body = lockBody
				}
				wantDAVStatus(t, method+" "+name, dav(key, method, "/"+name, body), 400)
			}
			for _, method := range []string{"MOVE", "COPY"} {
				wantDAVStatus(t, method+" to "+name, dav(key, method, "/source", nil, "Destination", "/webdav/"+name),
					400)
			}
			wantStatus(t, "below the root", dav(key, "PUT", "/above/"+name, "x"), 201, "")
		}
		wantStatus(t, "an entry in it, by its name", dav(key, "PROPFIND", "/webdav", nil), 404, "")
		execAndRaiseVersion(t, l, "DELETE FROM mounts WHERE mount_path = '/'")
		try("without a mount at the root: ", false)
		wantStrings(t, "without a mount at the root", davMembers(t, key, "/"), "above", "disk", "way")
	})
}
