package api_test

import (
	"fmt"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// Abuse cases C79 and C80: every request for an entry behind a password, by any route, method and
// condition, answers that a password is required and reveals nothing about the content.
func TestPasswordOnEveryRoute(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		content := []byte("exactly forty-one bytes are in this file.")
		file := admin.Upload("/public", "own.txt", content)
		folder := mkdir(admin, "/public", "shut")
		mkdir(admin, "/public/shut", "deep")
		below := admin.Upload("/public/shut/deep", "in.txt", content)
		mkdir(admin, "/public", "ruled")
		ruled := admin.Upload("/public/ruled", "r.txt", content)
		paths := map[string]string{file: "/public/own.txt", below: "/public/shut/deep/in.txt",
			ruled: "/public/ruled/r.txt"}
		etags, tokens := map[string]string{}, map[string]string{}
		for id, path := range paths {
			etags[id] = l.Client(t).Get(path).OK(200).Header.Get("ETag")
			tokens[id] = downloadURL(alice, id)
		}
		modified := l.Client(t).Get("/public/own.txt").OK(200).Header.Get("Last-Modified")
		setAccessPassword(admin, file, "open sesame")
		setAccessPassword(admin, folder, "open sesame")
		read := []string{"read", "download"}
		for _, role := range []string{"guest", "user"} {
			addRule(admin, M{"pathPattern": "/public/ruled/**", "effect": "allow", "role": role, "permissions": read,
				"requirePassword": true, "password": "the rule's", "priority": 10})
			addRule(admin, M{"pathPattern": "/public/ruled/**", "effect": "deny", "role": role, "permissions": read,
				"priority": 9})
		}
		for id, path := range paths {
			routes := map[string]string{"public path": path, "gateway": tokens[id]}
			for route, address := range routes {
				for _, method := range []string{"GET", "HEAD"} {
					for condition, header := range map[string][]string{
						"plain": {}, "range": {"Range", "bytes=0-4"}, "suffix": {"Range", "bytes=-4"},
						"beyond":        {"Range", "bytes=1000-"},
						"if-none-match": {"If-None-Match", etags[id]}, "any": {"If-None-Match", "*"},
						"if-match":            {"If-Match", `"other"`},
						"if-range":            {"If-Range", etags[id], "Range", "bytes=0-4"},
						"if-modified-since":   {"If-Modified-Since", modified},
						"if-unmodified-since": {"If-Unmodified-Since", "Mon, 02 Jan 2006 15:04:05 GMT"},
						"embed":               {"Sec-Fetch-Dest", "image"}, "page": {"Accept", "text/html"},
					} {
						for name, c := range map[string]*apptest.Client{"a visitor": l.Client(t),
							"alice": alice.Fork()} {
							r := c.Do(apptest.Request{Method: method, Path: address, Header: headerMap(header)})
							checkPasswordRequired(t,
								fmt.Sprint(method, " ", path, " by ", route, ", ", condition, ", ", name), r, content,
								etags[id])
						}
					}
				}
			}
			for _, header := range [][]string{{}, {"Range", "bytes=0-4"}, {"If-None-Match", etags[id]},
				{"Sec-Fetch-Dest", "image"}} {
				for _, method := range []string{"GET", "HEAD"} {
					r := alice.Do(apptest.Request{Method: method, Path: "/api/files/" + id + "/download",
						Header: headerMap(header)})
					if method == "HEAD" && r.Status == 403 && len(header) > 0 && header[0] == "Sec-Fetch-Dest" {
						continue
					}
					checkPasswordRequired(t, fmt.Sprint(method, " download of ", path, ", ", header), r, content,
						etags[id])
				}
			}
		}
		// the holder of the token redeems it after the password was set
		setAccessPassword(admin, file, nil)
		wantBody(t, l.Client(t).Get(tokens[file]).OK(200), string(content))
	})
}

func headerMap(pairs []string) map[string][]string {
	h := map[string][]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h[pairs[i]] = []string{pairs[i+1]}
	}
	return h
}

// checkPasswordRequired fails the test unless the answer is PASSWORD_REQUIRED and reveals nothing
// about the content.
func checkPasswordRequired(t *testing.T, what string, r *apptest.Reply, content []byte, etag string) {
	t.Helper()
	if r.Status != 403 || len(r.Body) > 0 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") &&
		!strings.Contains(string(r.Body), "PASSWORD_REQUIRED") {
		t.Errorf("%s: status %d %.200s", what, r.Status, r.Body)
	}
	for _, name := range []string{"ETag", "Last-Modified", "Accept-Ranges", "Content-Range", "Content-Disposition",
		"Location"} {
		if r.Header.Get(name) != "" {
			t.Errorf("%s: %s: %s", what, name, r.Header.Get(name))
		}
	}
	if strings.Contains(string(r.Body), string(content[:5])) ||
		strings.Contains(fmt.Sprint(r.Header)+string(r.Body), strings.Trim(etag, `"`)) ||
		r.Header.Get("Content-Length") == fmt.Sprint(len(content)) ||
		r.Header.Get("Cache-Control") != "private, no-store" {
		t.Errorf("%s: %v %.200s", what, r.Header, r.Body)
	}
}

// Abuse case C81: tokens and cookies of an old password end when the password changes.
func TestNewPasswordEndsOldTokens(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		for what, c := range map[string]struct{ folder, path string }{
			"file": {"files", "/public/files/f.txt"}, "folder": {"folders", "/public/folders/f.txt"},
			"rule": {"rules", "/public/rules/f.txt"},
		} {
			dir := "/public/" + c.folder
			folder := mkdir(admin, "/public", c.folder)
			file := admin.Upload(dir, "f.txt", []byte("content"))
			var set func(password string)
			switch what {
			case "file":
				set = func(password string) { setAccessPassword(admin, file, password) }
			case "folder":
				set = func(password string) { setAccessPassword(admin, folder, password) }
			case "rule":
				addRule(admin, M{"pathPattern": dir + "/**", "effect": "deny", "role": "guest", "priority": 9})
				rule := addRule(admin, M{"pathPattern": dir + "/**", "effect": "allow", "role": "guest",
					"requirePassword": true, "password": "first", "priority": 10})
				set = func(password string) {
					admin.Put("/api/admin/rules/"+rule, M{"password": password}).OK(200)
				}
			}
			set("the old one")
			visitor := l.Client(t)
			unlockTokens := func() (tokens []string) {
				for range 2 {
					tokens = append(tokens, unlock(visitor, c.path, "the old one").OK(200).Text("url"))
				}
				tokens = append(tokens, visitor.Post("/api/public/unlock",
					M{"path": c.path, "password": "the old one", "purpose": "preview"}).OK(200).Text("url"))
				return tokens
			}
			tokens := unlockTokens()
			wantBody(t, visitor.Get(tokens[0]).OK(200), "content")
			if what != "file" {
				unlock(visitor, dir, "the old one").OK(200)
				wantBody(t, visitor.Get(c.path).OK(200), "content")
			}
			for _, password := range []string{"the new one",
				"the old one"} { // setting the same password again ends them too
				set(password)
				for i, token := range tokens[1:] {
					wantStatus(t, fmt.Sprint(what, ": token ", i, " after ", password), l.Client(t).Get(token), 403,
						"PASSWORD_REQUIRED")
					wantStatus(t, fmt.Sprint(what, ": token ", i, " with the cookie after ", password),
						visitor.Get(token), 403, "PASSWORD_REQUIRED")
				}
				wantStatus(t, what+": the cookie after "+password, visitor.Get(c.path), 403, "PASSWORD_REQUIRED")
			}
			// a cookie with the current password opens what the token's proof does not
			if what != "file" {
				unlock(visitor, dir, "the old one").OK(200)
				wantStatus(t, what+": the token alone", l.Client(t).Get(tokens[1]), 403, "PASSWORD_REQUIRED")
				wantBody(t, visitor.Get(tokens[1]).OK(200), "content")
			}
			if what != "rule" {
				id := map[string]string{"file": file, "folder": folder}[what]
				setAccessPassword(admin, id, nil)
				wantBody(t, l.Client(t).Get(tokens[2]).OK(200), "content") // no password is needed any more
			}
		}
	})
}

// Abuse case C82: a password stays with its entry through a rename, a move and new content.
func TestPasswordStaysWithItsEntry(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		second := addProvider(admin, "second")
		addMount(admin, second, "/public/far")
		mkdir(admin, "/public", "to")
		file, folder := admin.Upload("/public", "f.txt", []byte("old")), mkdir(admin, "/public", "dir")
		admin.Upload("/public/dir", "in.txt", []byte("in"))
		for _, id := range []string{file, folder} {
			setAccessPassword(admin, id, "open sesame")
		}
		visitor := l.Client(t)
		unlock(visitor, "/public/dir", "open sesame").OK(200)
		wantProtected := func(what, at, dir string) {
			t.Helper()
			for _, p := range []string{at, dir + "/in.txt"} {
				wantStatus(t, what+": "+p, l.Client(t).Get(p), 403, "PASSWORD_REQUIRED")
			}
			wantBody(t, visitor.Get(dir+"/in.txt").OK(200), "in") // the same password, so its proof stays valid
			r := unlock(l.Client(t), at, "open sesame").OK(200)
			visitor.Get(r.Text("url")).OK(200)
		}
		wantProtected("at first", "/public/f.txt", "/public/dir")
		admin.Put("/api/files/"+file, M{"name": "g.txt"}).OK(200)
		admin.Put("/api/files/"+folder, M{"name": "other"}).OK(200)
		wantProtected("renamed", "/public/g.txt", "/public/other")
		for _, id := range []string{file, folder} {
			admin.Post("/api/files/"+id+"/move", M{"targetPath": "/public/to"}).OK(200)
		}
		wantProtected("moved", "/public/to/g.txt", "/public/to/other")
		wantJSON(t, "the same id", admin.Upload("/public/to", "g.txt", []byte("new"), M{"conflict": "replace"}), file)
		wantProtected("replaced", "/public/to/g.txt", "/public/to/other")
		for _, id := range []string{file, folder} {
			waitForJob(t, admin, admin.Post("/api/files/"+id+"/move",
				M{"targetPath": "/public/far"}).OK(200).Text("jobId"))
		}
		wantProtected("moved to another provider", "/public/far/g.txt", "/public/far/other")
		r := unlock(l.Client(t), "/public/far/g.txt", "open sesame").OK(200)
		wantBody(t, visitor.Get(r.Text("url")).OK(200), "new")
	})
}

// Rules with a password are tested alone and together with a password of an entry.
func TestPasswordsOfRules(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		folder := mkdir(admin, "/uploads", "ruled")
		sub := mkdir(admin, "/uploads/ruled", "sub")
		file := admin.Upload("/uploads/ruled/sub", "f.txt", []byte("content"))
		addRule(admin, M{"pathPattern": "/uploads/ruled/**", "effect": "allow", "role": "user", "requirePassword": true,
			"password": "the rule's", "priority": 2})
		addRule(admin, M{"pathPattern": "/uploads/ruled/**", "effect": "deny", "role": "user", "priority": 1})
		addRule(admin, M{"pathPattern": "/uploads/ruled/sub/f.txt", "effect": "deny", "role": "user",
			"permissions": []string{"delete"}, "priority": 3})
		addRule(admin, M{"pathPattern": "/uploads/ruled/**", "effect": "allow", "role": "guest",
			"permissions": []string{"download"}, "requirePassword": true, "password": "the guests'"})

		wantStatus(t, "alice, by another", verifyPassword(alice, file, "x"), 401, "INVALID_PASSWORD")
		wantBody(t, alice.Get(verifyPassword(alice, file, "the rule's").OK(200).Text("url")).OK(200), "content")
		// a rule for users denies her
		wantStatus(t, "alice, by the guests' password", unlock(alice, "/uploads/ruled/sub/f.txt", "the guests'"), 401,
			"INVALID_PASSWORD")
		wantStatus(t, "a visitor, by the users' password",
			unlock(l.Client(t), "/uploads/ruled/sub/f.txt", "the rule's"), 401, "INVALID_PASSWORD")
		wantBody(t, alice.Get(unlock(l.Client(t), "/uploads/ruled/sub/f.txt",
			"the guests'").OK(200).Text("url")).OK(200), "content")
		wantStatus(t, "an administrator, for whom no rule needs a password", verifyPassword(admin, file, "the rule's"),
			400,
			"VALIDATION_ERROR")

		// the folder's password opens it under every rule, for fifteen minutes
		wantStatus(t, "a new name without", alice.Put("/api/files/"+file, M{"customTitle": "T"}), 403,
			"PASSWORD_REQUIRED")
		wantStatus(t, "a listing without", listFolder(alice, "/uploads/ruled"), 403, "PASSWORD_REQUIRED")
		verifyPassword(alice, folder, "the rule's").OK(200)
		wantStrings(t, "a listing", listNames(alice, "/uploads/ruled"), "sub")
		alice.Put("/api/files/"+file, M{"customTitle": "T"}).OK(200)
		wantStatus(t, "denied with the password too", alice.Delete("/api/files/"+file), 403, "FORBIDDEN")
		wantBody(t, l.Client(t).Get(downloadURL(alice, file)).OK(200), "content")

		// an entry and a rule have passwords: both are needed, one after the other
		setAccessPassword(admin, sub, "the folder's")
		for i, order := range [][2]string{{"the folder's", "the rule's"}, {"the rule's", "the folder's"}} {
			for j, id := range []string{sub, file} {
				bob := l.User(t, fmt.Sprintf("bob%d%d", i, j))
				r := verifyPassword(bob, id, order[0])
				wantStatus(t, "the first of two", r, 403, "PASSWORD_REQUIRED")
				if !strings.Contains(string(r.Body), "another") {
					t.Errorf("%s", r.Body)
				}
				wantStatus(t, "wrong as the second", verifyPassword(bob, id, "x"), 401, "INVALID_PASSWORD")
				verifyPassword(bob, id, order[1]).OK(200)
			}
			visitor := l.Client(t)
			guests := strings.ReplaceAll(order[0]+"|"+order[1], "the rule's", "the guests'")
			first, second, _ := strings.Cut(guests, "|")
			wantStatus(t, "a visitor's first", unlock(visitor, "/uploads/ruled/sub/f.txt", first), 403,
				"PASSWORD_REQUIRED")
			wantStatus(t, "and a missing entry", unlock(visitor, "/uploads/ruled/sub/absent", first), 403,
				"PASSWORD_REQUIRED")
			wantStatus(t, "with both passwords", unlock(visitor, "/uploads/ruled/sub/absent", second), 401,
				"INVALID_PASSWORD")
			wantBody(t, alice.Get(unlock(visitor, "/uploads/ruled/sub/f.txt", second).OK(200).Text("url")).OK(200),
				"content")
		}
		setAccessPassword(admin, sub, "the rule's") // one password for both
		verifyPassword(l.User(t, "carol"), file, "the rule's").OK(200)

		// a folder with a password that is write-only for the caller
		drop := mkdir(admin, "/uploads", "drop")
		addRule(admin, M{"pathPattern": "/uploads/drop/**", "effect": "deny", "role": "user", "priority": 1})
		addRule(admin, M{"pathPattern": "/uploads/drop/**", "effect": "allow", "role": "user",
			"permissions": []string{"write"}, "requirePassword": true, "password": "drop it", "priority": 2})
		wantStatus(t, "an upload without", alice.Post("/api/files/upload-session",
			M{"path": "/uploads/drop", "fileName": "a", "fileSize": 1}), 403, "PASSWORD_REQUIRED")
		unlock(alice, "/uploads/drop", "drop it").OK(200)
		alice.Post("/api/files/upload-session", M{"path": "/uploads/drop", "fileName": "a", "fileSize": 1}).OK(200)
		dave := l.User(t, "dave")
		verifyPassword(dave, drop, "drop it").OK(200)
		dave.Post("/api/files/upload-session", M{"path": "/uploads/drop", "fileName": "a", "fileSize": 1}).OK(200)
	})
}
