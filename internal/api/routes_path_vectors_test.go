package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/vpath"
)

// badPath is an invalid path or name that must not reach any file.
type badPath struct {
	text    string
	dots    bool // leaves its folder; where a root limits the request, the answer is 403
	isName  bool // could only be meant as one segment
	literal bool // an ordinary name when taken literally: an encoded form, which is not decoded a second time
}

// badPaths returns at least 300 vectors of every kind that the abuse cases list for paths and names
// (abuse cases C1 to C11).
func badPaths() []badPath {
	var bad []badPath
	add := func(kind badPath, texts ...string) {
		for _, text := range texts {
			kind.text = text
			bad = append(bad, kind)
		}
	}
	// C1: every way out of a folder, in front, in the middle, at the end, and in forms that a text
	// comparison misses.
	for _, up := range []string{"..", "../..", "../../..", "./..", ".././..", "..//..", ".//.."} {
		add(badPath{dots: true}, up, "/"+up, up+"/", up+"/x", "/"+up+"/x", "a/"+up, "a/"+up+"/b", "/a/"+up+"/b",
			"a//"+up, "a/./"+up+"/.")
	}
	add(badPath{dots: true}, "../../../../etc/passwd", "/home/alice/..", "/home/alice/../bob",
		"/home/alice/../../home/bob/x", "a/b/c/../../../../bob/x")
	// C4: the backslash.
	for _, text := range []string{`\`, `\`, `a\b`, `..\`, `..\x`, `..\..\x`, `\home\alice`, `C:\x`, `\host\share`,
		`a/..\b`, `/home\bob`, `\..\bob`, `a\../b`, `\/..`, `.\x`} {
		add(badPath{}, text)
	}
	// C5: all controls, line and paragraph separators, text-direction overrides and isolates;
	// alone, inside, at an end.
	var unprintable []rune
	for r := rune(0); r < 0x20; r++ {
		unprintable = append(unprintable, r)
	}
	for r := rune(0x7f); r < 0xa0; r++ {
		unprintable = append(unprintable, r)
	}
	unprintable = append(unprintable, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068,
		0x2069)
	for _, r := range unprintable {
		add(badPath{}, "a"+string(r)+"b")
	}
	add(badPath{}, "\x00", "a\x00", "\x00a", "a.png\x00.txt", "..\x00", "\x00/..", "gpj\u202e.exe", "\u202e",
		"a/\u2067b/c")
	// C6: what is not UTF-8: overlong forms, surrogates, lone and missing continuation bytes,
	// beyond the last code point.
	add(badPath{}, "\xc0\xae\xc0\xae", "\xc0\xae\xc0\xae/x", "\xc0\xaf", "\xe0\x80\xae", "\xf0\x80\x80\xae", "\xff",
		"\xfe", "a\xffb", "\xed\xa0\x80", "\xed\xbf\xbf", "\xed\xa0\x80\xed\xb0\x80",
		"\xc3\x28", "\xc3", "a\xc3", "\xe2\x82", "\x80", "\xbf", "\xf8\x88\x80\x80\x80", "\xfc\x84\x80\x80\x80\x80",
		"\xf4\x90\x80\x80", "..\xff", "\xff/..x")
	// C9: white space of every kind around a name.
	for _, space := range []string{" ", "\u00a0", "\u1680", "\u2000", "\u2003", "\u2009", "\u200a", "\u202f", "\u205f",
		"\u3000"} {
		add(badPath{isName: true}, space, "a"+space, space+"a", space+space, ".."+space, space+"..", "."+space)
	}
	// C11: too long, too deep.
	add(badPath{}, strings.Repeat("语", 256), strings.Repeat("a", 256), strings.Repeat("e\u0301", 256),
		strings.Repeat("😀", 256), strings.Repeat("a", 5000), strings.Repeat("a/", 65)+"a",
		strings.Repeat("a/", 1000)+"a",
		strings.Repeat("语语语/", 60)+strings.Repeat("x", 5000), "ok/"+strings.Repeat("b", 256)+"/ok")
	// C2, C3: encoded forms, which are not decoded a second time.
	add(badPath{literal: true}, "%2e%2e", "%2E%2E", "..%2f", "..%2F", "%2e%2e%2fbob", "%2e%2e/", ".%2e", "%2e.",
		"%252e%252e", "%252e%252e%252f", "%25252e", "%c0%ae", "%c0%ae%c0%ae", "%e0%80%ae", "%00", "a%00b", "%5c",
		"..%5c",
		"%u002e%u002e", "&#46;&#46;", "..;", "..;x", "%ef%bc%8e%ef%bc%8e", "．．", "‥", "%2f", "%2f..", "a%2f..%2fb",
		"%3f", "%23", "file:%2f%2f")
	return bad
}

// Every bad path in every parameter that takes one is refused, never answered with 5xx, and never
// reaches another file.
func TestPathVectors(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		const home = "/home/alice"
		const secret = "what is bob's"
		bob.Upload("/home/bob", "x", []byte(secret))
		admin.Upload("/", "x", []byte(secret))
		mkdir(alice, home, "a")
		mkdir(alice, home, "desk")
		id := alice.Upload(home+"/desk", "file.txt", []byte("mine"))
		key := alice.Key(M{"uploadPath": home + "/a"})
		share := shareEntry(alice, entryIDOf(alice, home, "desk"))
		keys := 0
		provider := admin.Get("/api/admin/storage/providers").OK(200).Text("providers.0.id")

		json := func(text string) string { // a JSON string that keeps invalid UTF-8
			var b strings.Builder
			for i := range len(text) {
				switch c := text[i]; {
				case c < 0x20 || c == '"' || c == '\\':
					fmt.Fprintf(&b, `\u%04x`, c)
				default:
					b.WriteByte(c)
				}
			}
			return `"` + b.String() + `"`
		}
		send := func(c *apptest.Client, method, path, body string) *apptest.Reply {
			return c.Do(apptest.Request{Method: method, Path: path, Body: body,
				Header: map[string][]string{"Content-Type": {"application/json"}}})
		}
		header := headerValue // Go's client sends no others
		bucket := s3test.New(t)
		putObject(t, bucket, "x", "contents of the bucket")
		guest := openFreeSession(t, l, bucket)
		inBucket := func(badPath) []int { return []int{400, 403} } // 403 for a path that leaves the session's root
		sinks := []struct {
			name   string
			isName bool // takes one name; a compatible upload removes the directory of a name
			ask    func(t *testing.T, bad badPath) *apptest.Reply
			want   func(bad badPath) []int
		}{
			{"list path", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return alice.In(t).Get("/api/files?path=" + url.QueryEscape(home+"/"+bad.text))
			}, nil},
			{"list path from the root", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return alice.In(t).Get("/api/files?path=" + url.QueryEscape(bad.text))
			}, nil},
			{"public listing", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return visitor.In(t).Get("/api/public/files?path=" + url.QueryEscape("/public/"+bad.text))
			}, nil},
			{"share path", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return visitor.In(t).Get("/api/shares/" + share + "/files?path=" + url.QueryEscape("/"+bad.text))
			}, nil},
			{"share file", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return visitor.In(t).Get("/api/shares/" + share + "/download?file=" + url.QueryEscape(bad.text))
			}, func(badPath) []int { return []int{400, 404} }},
			{"share preview", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return visitor.In(t).Get("/api/shares/" + share + "/preview?file=" + url.QueryEscape(bad.text))
			}, func(badPath) []int { return []int{400, 404} }},
			{"folder path", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return send(alice.In(t), "POST", "/api/files/folder",
					`{"path":`+json(home+"/"+bad.text)+`,"name":"made"}`)
			}, nil},
			{"folder name", true, func(t *testing.T, bad badPath) *apptest.Reply {
				return send(alice.In(t), "POST", "/api/files/folder",
					`{"path":"`+home+`/desk","name":`+json(bad.text)+`}`)
			}, nil},
			{"rename", true, func(t *testing.T, bad badPath) *apptest.Reply {
				return send(alice.In(t), "PUT", "/api/files/"+id, `{"name":`+json(bad.text)+`}`)
			}, nil},
			{"move target", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return send(alice.In(t), "POST", "/api/files/"+id+"/move", `{"targetPath":`+json(home+"/"+bad.text)+`}`)
			}, nil},
			{"move newName", true, func(t *testing.T, bad badPath) *apptest.Reply {
				return send(alice.In(t), "POST", "/api/files/"+id+"/move",
					`{"targetPath":"`+home+`/desk","newName":`+json(bad.text)+`}`)
			}, nil},
			{"batch target", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return send(alice.In(t), "POST", "/api/files/batch",
					`{"action":"move","fileIds":["`+id+`"],"targetPath":`+json(home+"/"+bad.text)+`}`)
			}, nil},
			{"upload path", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return send(alice.In(t), "POST", "/api/files/upload-session",
					`{"path":`+json(home+"/"+bad.text)+`,"fileName":"f","fileSize":1}`)
			}, nil},
			{"upload fileName", true, func(t *testing.T, bad badPath) *apptest.Reply {
				return send(alice.In(t), "POST", "/api/files/upload-session",
					`{"path":"`+home+`/desk","fileName":`+json(bad.text)+`,"fileSize":1}`)
			}, nil},
			{"compatible path", false, func(t *testing.T, bad badPath) *apptest.Reply {
				body, contentType := form(part{name: "path", body: bad.text}, filePart("c.txt", "x"))
				return key.In(t).Post("/api/upload", body, "Content-Type", contentType)
			}, nil},
			{"X-Path", false, func(t *testing.T, bad badPath) *apptest.Reply {
				if !header(bad.text) {
					return nil
				}
				return key.In(t).Post("/api/upload", "x", "X-File-Name", "c.txt", "X-Path", bad.text)
			}, nil},
			{"X-Path encoded", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return key.In(t).Post("/api/upload", "x", "X-File-Name", "c.txt", "X-Path",
					strings.ReplaceAll(url.QueryEscape(bad.text), "+", "%20"))
			}, nil},
			{"key uploadPath", false, func(t *testing.T, bad badPath) *apptest.Reply {
				keys++
				return send(alice.In(t), "POST", "/api/keys/",
					fmt.Sprintf(`{"name":"k%d","permissions":["read"],"protocols":["api"],"uploadPath":%s}`, keys,
						json(home+"/"+bad.text)))
			}, func(bad badPath) []int { return []int{403, 400} }},
			{"rule pathPattern", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return send(admin.In(t), "POST", "/api/admin/rules",
					`{"effect":"allow","role":"guest","pathPattern":`+json("/nowhere/"+bad.text)+`}`)
			}, nil},
			{"mountPath", false, func(t *testing.T, bad badPath) *apptest.Reply {
				r := send(admin.In(t), "POST", "/api/admin/mounts",
					`{"name":"m","providerId":"`+provider+`","mountPath":`+json("/nowhere/"+bad.text)+`}`)
				if r.Status == 201 {
					admin.In(t).Delete("/api/admin/mounts/" + r.Text("mount.id")).OK(200)
				}
				return r
			}, nil},
			{"defaultPath", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return send(alice.In(t), "PUT", "/api/users/me/settings", `{"defaultPath":`+json(home+"/"+bad.text)+`}`)
			}, nil},
			{"public path", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return alice.In(t).Get(home + "/" + percentEncode(bad.text))
			}, func(badPath) []int { return []int{404, 400} }},
			{"public path from the root", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return admin.In(t).Get("/" + percentEncode(strings.TrimPrefix(bad.text, "/")))
			}, func(badPath) []int { return []int{404, 400} }},
			{"public path, slashes encoded", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return admin.In(t).Get("/home/alice/" + url.PathEscape(bad.text))
			}, func(badPath) []int { return []int{404, 400} }},
			{"free-mode path", false, func(t *testing.T, bad badPath) *apptest.Reply {
				if trimmedInTransit(bad.text) || bad.isName || len(bad.text) < 1024 &&
					!strings.ContainsAny(bad.text, ".\\") && plainRunes(bad.text) {
					return nil // rules for names do not apply to keys: white space, and the length of a name
				}
				return guest.In(t).Get("/api/free-mode/files?path=" + url.QueryEscape(bad.text))
			}, inBucket},
			{"free-mode upload path", false, func(t *testing.T, bad badPath) *apptest.Reply {
				if trimmedInTransit(bad.text) || bad.isName || len(bad.text) < 1024 &&
					!strings.ContainsAny(bad.text, ".\\") && plainRunes(bad.text) {
					return nil
				}
				return guest.In(t).Post("/api/free-mode/upload?path="+url.QueryEscape(bad.text), "x", "X-File-Name",
					"made")
			}, inBucket},
			{"free-mode download key", false, func(t *testing.T, bad badPath) *apptest.Reply {
				return guest.In(t).Get("/api/free-mode/download?key=" + url.QueryEscape(bad.text))
			}, func(bad badPath) []int { return []int{400, 403, 404} }},
			{"free-mode delete key", false, func(t *testing.T, bad badPath) *apptest.Reply {
				if bad.isName {
					return nil
				}
				return guest.In(t).Delete("/api/free-mode/object?key=" + url.QueryEscape("deleted/"+bad.text))
			}, func(bad badPath) []int {
				if len(bad.text) < 1000 && plainRunes(bad.text) && !strings.Contains(bad.text, "..") {
					return []int{400, 200} // deleting an absent key succeeds
				}
				return []int{400}
			}},
			{"X-File-Name", true, func(t *testing.T, bad badPath) *apptest.Reply {
				if !header(bad.text) {
					return nil
				}
				return key.In(t).Post("/api/upload", "x", "X-File-Name", bad.text, "X-Path", "named")
			}, nil},
			{"filename encoded", true, func(t *testing.T, bad badPath) *apptest.Reply {
				return key.In(t).Post("/api/upload", "x", "filename",
					strings.ReplaceAll(url.QueryEscape(bad.text), "+", "%20"), "X-Path", "named")
			}, nil},
			{"form filename", true, func(t *testing.T, bad badPath) *apptest.Reply {
				body, contentType := form(part{name: "path", body: "named"},
					part{disposition: "form-data; name=\"file\"; filename*=UTF-8''" +
						strings.ReplaceAll(url.QueryEscape(bad.text), "+", "%20"), body: "x"})
				return key.In(t).Post("/api/upload", body, "Content-Type", contentType)
			}, nil},
		}
		vectors := badPaths()
		if len(vectors) < 300 {
			t.Fatalf("only %d vectors", len(vectors))
		}
		for _, sink := range sinks {
			t.Run(sink.name, func(t *testing.T) {
				for _, bad := range vectors {
					r := sink.ask(t, bad)
					if r == nil {
						continue
					}
					if r.Err != nil || r.Status >= 500 || strings.Contains(string(r.Body), secret) {
						t.Errorf("%.60q: status %d %v: %s", bad.text, r.Status, r.Err, r.Body)
						continue
					}
					allowed := []int{400}
					if sink.want != nil {
						allowed = sink.want(bad)
					}
					compatible := strings.HasPrefix(sink.name, "compatible") || strings.HasPrefix(sink.name, "X-") ||
						strings.HasSuffix(sink.name, "filename") || sink.name == "filename encoded"
					switch {
					case compatible &&
						// the directory of a name is removed, and the path of one request may be
						// trimmed; the file stays inside
						r.Status == 200:
						if dir := r.Text("path"); dir != home+"/a" && !strings.HasPrefix(dir, home+"/a/") {
							t.Errorf("%.60q: stored in %q", bad.text, dir)
						}
						if name := r.Text("filename"); strings.ContainsAny(name, "/\\\x00\n\r") || name == ".." ||
							name == "." {
							t.Errorf("%.60q: stored as %q", bad.text, name)
						}
						if !bad.literal && !bad.isName && !(sink.isName && strings.ContainsAny(bad.text, `/\`)) &&
							!trimmedInTransit(bad.text) {
							t.Errorf("%.60q: accepted as %q in %q", bad.text, r.Text("filename"), r.Text("path"))
						}
						continue
					case bad.literal: // taken literally: a name that may be created, or that does not exist
						if sink.name == "key uploadPath" && r.Status == 201 || sink.name == "mountPath" &&
							r.Status == 201 || r.Status < 300 || r.Status == 403 || r.Status == 404 ||
							r.Status == 400 || r.Status == 409 {
							continue
						}
					case compatible && !sink.isName:
						allowed = []int{400, 403}
						if bad.dots {
							allowed = []int{403}
						}
					}
					if !contains(allowed, r.Status) {
						t.Errorf("%.60q: status %d, want one of %v: %.300s", bad.text, r.Status, allowed, r.Body)
					}
				}
			})
		}
		wantBody(t, bob.Get("/home/bob/x").OK(200), secret)
		if keys := bucket.Keys(t); !slices.Contains(keys, "x") ||
			slices.ContainsFunc(keys, func(key string) bool {
				return strings.Contains(key, "..") &&
					!strings.Contains(key, "%")
			}) {
			t.Errorf("the bucket contains %q", keys)
		}
		wantStrings(t, "bob's home", listNames(bob, "/home/bob"), "x")
		wantStrings(t, "homes", listNames(admin, "/home"), "alice", "bob")
		wantStrings(t, "root", listNames(admin, "/"), "home", "public", "uploads", "x")
		if name := alice.Get("/api/files/" + id).OK(200).Text("file.path"); name != home+"/desk" {
			t.Errorf("the file moved to %s", name)
		}
	}, apptest.ReachLoopback)
}

// plainRunes reports whether text has no character that is forbidden in paths.
func plainRunes(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, vpath.IsUnprintable) && !strings.Contains(text, "\\")
}

func contains(list []int, n int) bool {
	for _, have := range list {
		if have == n {
			return true
		}
	}
	return false
}

// trimmedInTransit reports whether white space at an end is the only fault of text. A header or
// form field loses it in transit.
func trimmedInTransit(text string) bool {
	return strings.TrimSpace(text) != text && !strings.ContainsAny(strings.TrimSpace(text), "\\\x00\n\r\t")
}

// percentEncode percent-encodes everything except slashes, so that a segment `..` is sent as
// %2E%2E.
func percentEncode(text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '/' || c >= 'a' && c <= 'z':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Abuse case C5 beyond paths: a NUL in any text is refused or finds nothing, on every engine.
func TestNULIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		for path, body := range map[string]M{
			"/api/auth/login": {"username": "ali\x00ce", "password": "x"},
			"/api/files/upload-session": {"path": "/home/alice", "fileName": "a", "fileSize": 1,
				"idempotencyKey": "\x00"},
			"/api/files/upload-complete": {"sessionId": "\x00", "etag": "x"},
			"/api/keys/": {"name": "a\x00b", "permissions": []string{"read"},
				"protocols": []string{"api"}},
		} {
			alice.Post(path, body).Fails(400, "VALIDATION_ERROR")
		}
		admin.Post("/api/admin/rules", M{"pathPattern": "/a/**", "effect": "allow", "userId": "\x00"}).
			Fails(400, "VALIDATION_ERROR")
		admin.Post("/api/admin/users", M{"username": "abc", "email": "a\x00@example.org", "password": "long enough"}).
			Fails(400, "VALIDATION_ERROR")
		alice.Get("/api/files?search=%00").Fails(400, "VALIDATION_ERROR")
		alice.Get("/api/files/jobs/%00").Fails(404, "NOT_FOUND")
		alice.Delete("/api/keys/%ff").Fails(404, "NOT_FOUND")
		admin.Delete("/api/admin/rules/%00").Fails(404, "NOT_FOUND")
		alice.Get("/api/files", "Authorization", "Bearer \xff.\xff").Fails(401, "INVALID_TOKEN")
	})
}
