package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// Specification: PUT /api/files/{id}; Metadata the owner can set.
func TestMetadata(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		file, folder := alice.Upload("/home/alice", "a.txt", []byte("x")), mkdir(alice, "/home/alice", "dir")
		full := M{"customTitle": "Holiday", "customColor": "#1a2B3c", "coverUrl": "/public/cover.png", "iconEmoji": "🏖",
			"manualPosition": 7}
		for _, id := range []string{file, folder} {
			wantFields := func(what string, want M) {
				t.Helper()
				for name, value := range want {
					wantJSON(t, what+": "+name, alice.Get("/api/files/"+id).OK(200).Value("file."+name), value)
				}
			}
			reply := alice.Put("/api/files/"+id, full).OK(200)
			for _, name := range []string{"id", "name", "path", "type", "size", "hasPassword", "updatedAt"} {
				if reply.Value("file."+name) == nil {
					t.Errorf("the answer lacks file.%s: %s", name, reply.Body)
				}
			}
			wantFields("all at once", full)
			alice.Put("/api/files/"+id, M{"customTitle": "Other"}).OK(200)
			wantFields("omitted fields stay",
				M{"customTitle": "Other", "customColor": "#1a2B3c", "coverUrl": "/public/cover.png", "iconEmoji": "🏖",
					"manualPosition": 7})
			alice.Put("/api/files/"+id, M{"customColor": nil, "manualPosition": nil, "name": nil}).OK(200)
			wantFields("null clears, but not a name",
				M{"customTitle": "Other", "customColor": nil, "coverUrl": "/public/cover.png", "manualPosition": nil,
					"name": map[bool]string{true: "a.txt", false: "dir"}[id == file]})
			alice.Put("/api/files/"+id, M{"customTitle": nil, "coverUrl": "", "iconEmoji": ""}).OK(200)
			wantFields("empty clears too", M{"customTitle": nil, "coverUrl": nil, "iconEmoji": nil})
			alice.Put("/api/files/"+id, full).OK(200)
			alice.Put("/api/files/"+id, M{"customTitle": "", "coverUrl": nil, "iconEmoji": nil}).OK(200)
			wantFields("the other way round",
				M{"customTitle": nil, "coverUrl": nil, "iconEmoji": nil, "customColor": "#1a2B3c"})
		}

		// a name and the other fields together, or nothing at all
		alice.Put("/api/files/"+file, M{"name": "b.txt", "customTitle": "T", "accessPassword": "open sesame"}).OK(200)
		reply := alice.Get("/api/files/" + file).OK(200)
		wantJSON(t, "name", reply.Value("file.name"), "b.txt")
		wantJSON(t, "title", reply.Value("file.customTitle"), "T")
		wantJSON(t, "hasPassword", reply.Value("hasPassword"), true)
		alice.Put("/api/files/"+file, M{"name": "dir", "customTitle": "lost", "accessPassword": nil}).
			Fails(409, "ALREADY_EXISTS")
		alice.Put("/api/files/"+file, M{"name": "c.txt", "customColor": "red"}).Fails(400, "VALIDATION_ERROR")
		reply = alice.Get("/api/files/" + file).OK(200)
		wantJSON(t, "name after refusals", reply.Value("file.name"), "b.txt")
		wantJSON(t, "title after refusals", reply.Value("file.customTitle"), "T")
		wantJSON(t, "hasPassword after refusals", reply.Value("hasPassword"), true)

		// updatedAt rises with every change and only then
		last := alice.Get("/api/files/" + file).OK(200).Int("file.updatedAt")
		for i, change := range []M{{"customTitle": "1"}, {"customTitle": nil}, {"manualPosition": 2}, {"name": "c.txt"},
			{"accessPassword": "another one"}, {"accessPassword": nil}} {
			now := alice.Put("/api/files/"+file, change).OK(200).Int("file.updatedAt")
			if now <= last {
				t.Errorf("change %d: updatedAt %d after %d", i, now, last)
			}
			last = now
			l.Clock.Advance(time.Duration(i%2) * time.Second)
		}
		for _, change := range []M{{}, {"name": "c.txt"}, {"name": nil}} {
			if now := alice.Put("/api/files/"+file, change).OK(200).Int("file.updatedAt"); now != last {
				t.Errorf("%v: updatedAt %d after %d", change, now, last)
			}
		}

		// mounts and the seeded folders have metadata too
		root := listFolder(l.Admin(t), "/").OK(200).Text("folder.id")
		l.Admin(t).Put("/api/files/"+root, M{"customTitle": "All"}).OK(200)
		wantJSON(t, "title of the root", listFolder(l.Admin(t), "/").OK(200).Value("folder.customTitle"), "All")
	})
}

// Each limit is tested on both sides of its edge. Abuse cases C66 and C75.
func TestMetadataLimits(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice := l.User(t, "alice")
	id := alice.Upload("/home/alice", "a.txt", []byte("x"))
	const e, decomposed = "\u00e9", "e\u0301"
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, c := range []struct {
		field string
		value any
		want  any // nil for VALIDATION_ERROR
	}{
		{"customTitle", strings.Repeat(e, 200), strings.Repeat(e, 200)},
		{"customTitle", strings.Repeat(e, 201), nil},
		{"customTitle", strings.Repeat(decomposed, 200), strings.Repeat(e, 200)}, // NFC, like names
		{"customTitle", strings.Repeat(decomposed, 201), nil},
		{"customTitle", strings.Repeat("\u0958", 101), nil}, // becomes two characters each in NFC
		{"customTitle", " a \"<b>\" & 中文 ", " a \"<b>\" & 中文 "},
		{"customTitle", " ", nil},
		{"customTitle", " \u00a0\u3000", nil}, // blank in any script
		{"customTitle", "a\nb", nil},
		{"customTitle", "a\u007f", nil},
		{"customTitle", "a\u0085", nil},
		{"customTitle", "a\u2028b", nil},
		{"customTitle", "\u202egpj.exe", nil},
		{"customTitle", "a\u2066b", nil},
		{"customTitle", raw(`"\u0000"`), nil},
		{"customTitle", 5, nil},
		{"customTitle", []string{"a"}, nil},
		{"customColor", "#000000", "#000000"},
		{"customColor", "#ABCdef", "#ABCdef"},
		{"customColor", "#12345", nil},
		{"customColor", "#1234567", nil},
		{"customColor", "#12345\n", nil},
		{"customColor", "#123456\n", nil},
		{"customColor", "123456", nil},
		{"customColor", "#12345g", nil},
		{"customColor", "#１２３４５６", nil},
		{"customColor", "red", nil},
		{"customColor", "", nil},
		{"coverUrl", "https://example.org/" + strings.Repeat("a", 2028),
			"https://example.org/" + strings.Repeat("a", 2028)},
		{"coverUrl", "https://example.org/" + strings.Repeat("a", 2029), nil},
		{"coverUrl", "http://[2001:db8::1]:8080/a?b=c#d", "http://[2001:db8::1]:8080/a?b=c#d"},
		{"coverUrl", "HTTPS://example.org/a", "HTTPS://example.org/a"},
		{"coverUrl", "/", "/"},
		{"coverUrl", "/a//b", "/a//b"},
		{"coverUrl", "//example.org/a", nil},
		{"coverUrl", `/\example.org/a`, nil},
		{"coverUrl", `https:\\example.org`, nil},
		{"coverUrl", "/\t/example.org", nil},
		{"coverUrl", "javascript:alert(1)", nil},
		{"coverUrl", "JavaScript://example.org/%0aalert(1)", nil},
		{"coverUrl", " javascript:alert(1)", nil},
		{"coverUrl", "java\nscript:alert(1)", nil},
		{"coverUrl", "data:image/png;base64,AAAA", nil},
		{"coverUrl", "file:///etc/passwd", nil},
		{"coverUrl", "ftp://example.org/a", nil},
		{"coverUrl", "https:example.org", nil},
		{"coverUrl", "https:///a", nil},
		{"coverUrl", "https://:80/a", nil},
		{"coverUrl", "https://example.org/a b", nil},
		{"coverUrl", "example.org/a.png", nil},
		{"coverUrl", "a.png", nil},
		{"iconEmoji", strings.Repeat("🏖", 16), strings.Repeat("🏖", 16)},
		{"iconEmoji", strings.Repeat("🏖", 17), nil},
		{"iconEmoji", "👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"},
		{"iconEmoji", "\u202e", nil},
		{"manualPosition", 0, 0},
		{"manualPosition", raw("9007199254740991"), raw("9007199254740991")},
		{"manualPosition", raw("-9007199254740991"), raw("-9007199254740991")},
		{"manualPosition", raw("9007199254740992"), nil},
		{"manualPosition", raw("-9007199254740992"), nil},
		{"manualPosition", raw("99999999999999999999"), nil},
		{"manualPosition", raw("1.5"), nil},
		{"manualPosition", "1", nil},
		{"accessPassword", "", nil},
		{"accessPassword", strings.Repeat("x", 129), nil},
		{"accessPassword", strings.Repeat(decomposed, 100), nil}, // 200 characters: passwords are not normalized
		{"accessPassword", 5, nil},
		{"accessPassword", false, nil},
	} {
		what := c.field + " " + string(must(json.Marshal(c.value)))
		r := alice.Put("/api/files/"+id, M{c.field: c.value})
		if c.want == nil {
			wantStatus(t, what, r, 400, "VALIDATION_ERROR")
			continue
		}
		wantStatus(t, what, r, 200, "")
		wantJSON(t, what, alice.Get("/api/files/"+id).OK(200).Value("file."+c.field), c.want)
	}
	for _, password := range []string{"x", strings.Repeat("x", 128), strings.Repeat("🏖", 128)} {
		setAccessPassword(alice, id, password)
		alice.Post("/api/files/"+id+"/verify-password", M{"password": password}).OK(200)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Metadata requires the permission to update. A password also requires the owner or an
// administrator.
func TestWhoMayChangeMetadata(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		shared := mkdir(admin, "/uploads", "shared")
		addRule(admin, M{"pathPattern": "/uploads/shared/**", "effect": "allow", "role": "user",
			"permissions": []string{"read", "write", "update", "download"}})
		file := alice.Upload("/uploads/shared", "a.txt", []byte("x"))
		his := mkdir(bob, "/uploads/shared", "bobs")
		bob.Upload("/uploads/shared/bobs", "his.txt", []byte("x"))
		mkdir(bob, "/uploads/shared/bobs", "deep")
		alice.Upload("/uploads/shared/bobs/deep", "hers.txt", []byte("x"))
		alone := mkdir(bob, "/uploads/shared", "alone")
		bob.Upload("/uploads/shared/alone", "his.txt", []byte("x"))
		title, password := M{"customTitle": "T"}, M{"accessPassword": "open sesame"}
		both := M{"customTitle": "both", "accessPassword": "open sesame"}
		key := alice.Key(M{"uploadPath": "/uploads/shared"})
		reader := alice.Key(M{"uploadPath": "/uploads/shared", "permissions": []string{"read"}})
		for _, c := range []struct {
			what   string
			who    *apptest.Client
			id     string
			change M
			status int
			code   string
		}{
			{"a visitor", l.Client(t), file, title, 401, "UNAUTHORIZED"},
			{"bob's title", bob, file, title, 200, ""},
			{"bob's password", bob, file, password, 403, "FORBIDDEN"},
			{"bob's both", bob, file, both, 403, "FORBIDDEN"},
			{"bob removes a missing password", bob, file, M{"accessPassword": nil}, 403, "FORBIDDEN"},
			{"the folder's title by alice", alice, shared, title, 200, ""},
			{"the folder's password by alice", alice, shared, password, 403, "FORBIDDEN"},
			{"a key that reads", reader, file, title, 403, "FORBIDDEN"},
			{"nothing", alice, "absent", title, 404, "NOT_FOUND"},
			{"the owner's key", key, file, password, 403, "FORBIDDEN"},
			{"the owner's password", alice, file, password, 200, ""},
			{"bob's title once there is a password", bob, file, title, 403, "PASSWORD_REQUIRED"},
			{"the owner's key removes it", key, file, M{"accessPassword": nil}, 403, "FORBIDDEN"},
			{"bob's folder with a file of alice's", bob, his, password, 403, "FORBIDDEN"},
			{"its title", bob, his, title, 200, ""},
			{"bob's folder with only his files", bob, alone, password, 200, ""},
			{"an administrator removes it", admin, file, M{"accessPassword": nil}, 200, ""},
			{"an administrator's", admin, file, password, 200, ""},
		} {
			wantStatus(t, c.what, c.who.Put("/api/files/"+c.id, c.change), c.status, c.code)
		}
		wantJSON(t, "the title", alice.Get("/api/files/"+file).OK(200).Value("file.customTitle"), "T")
	})
}
