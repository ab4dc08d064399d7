package api_test

import (
	"strings"
	"testing"

	"larder/internal/apptest"
)

// A rule whose subject is a key restricts that key at every route that it opens. It restricts
// neither the key's owner nor the owner's other keys. Abuse cases C25, C27, C32.
func TestRulesOfAKeyAtEveryRoute(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		const home = "/home/alice"
		admin, alice := l.Admin(t), l.User(t, "alice")
		mkdir(alice, home, "secret")
		secret := alice.Upload(home+"/secret", "s.png", []byte("secret"))
		folder := alice.Get("/api/files?path=" + home).OK(200).Text("items.0.id")
		open := alice.Upload(home, "open.png", []byte("open"))
		other := alice.Key(M{"uploadPath": home})
		created := alice.Post("/api/keys/", newKey(M{"permissions": []string{"read", "write", "delete"},
			"uploadPath": home})).OK(201)
		key := l.Client(t)
		key.Header.Set("Authorization", "Bearer "+created.Text("key.fullToken"))
		begun := postUploadSession(key, home+"/secret", "begun.png", 1).OK(200).Text("sessionId")
		etag := putRaw(key, begun, "x").OK(200).Text("etag")
		address := downloadURL(key, secret)
		rule := admin.Post("/api/admin/rules",
			M{"pathPattern": home + "/secret/**", "effect": "deny", "apiKeyId": created.Text("key.id")}).OK(201).
			Text("rule.id")

		look := watchTables(t, l)
		form, contentType := apptest.Form(map[string]string{"path": "secret"}, "file", "u.png", []byte("x"))
		for _, row := range []struct {
			what string
			call func(c *apptest.Client) *apptest.Reply
		}{
			{"listing", func(c *apptest.Client) *apptest.Reply { return listFolder(c, home+"/secret") }},
			{"details", func(c *apptest.Client) *apptest.Reply { return c.Get("/api/files/" + secret) }},
			{"details of the folder", func(c *apptest.Client) *apptest.Reply { return c.Get("/api/files/" + folder) }},
			{"an address", func(c *apptest.Client) *apptest.Reply {
				return c.Get("/api/files/" + secret + "/download")
			}},
			{"an embed", func(c *apptest.Client) *apptest.Reply {
				return c.Get("/api/files/"+secret+"/download", "Accept", "image/*")
			}},
			{"a zip of the folder", func(c *apptest.Client) *apptest.Reply {
				return c.Get("/api/files/" + folder + "/download")
			}},
			{"links", func(c *apptest.Client) *apptest.Reply { return c.Get("/api/files/" + secret + "/copy-links") }},
			{"signed links", func(c *apptest.Client) *apptest.Reply {
				return c.Get("/api/files/" + secret + "/copy-links?signed=true")
			}},
			{"another name", func(c *apptest.Client) *apptest.Reply {
				return c.Put("/api/files/"+secret, M{"name": "t.png"})
			}},
			{"metadata", func(c *apptest.Client) *apptest.Reply {
				return c.Put("/api/files/"+secret, M{"customTitle": "t"})
			}},
			{"deletion", func(c *apptest.Client) *apptest.Reply { return c.Delete("/api/files/" + secret) }},
			{"deletion of the folder", func(c *apptest.Client) *apptest.Reply {
				return c.Delete("/api/files/" + folder)
			}},
			{"a folder", func(c *apptest.Client) *apptest.Reply {
				return c.Post("/api/files/folder", M{"path": home + "/secret", "name": "d"})
			}},
			{"a move out", func(c *apptest.Client) *apptest.Reply {
				return c.Post("/api/files/"+secret+"/move", M{"targetPath": home})
			}},
			{"a move in", func(c *apptest.Client) *apptest.Reply {
				return c.Post("/api/files/"+open+"/move", M{"targetPath": home + "/secret"})
			}},
			{"a copy out", func(c *apptest.Client) *apptest.Reply {
				return c.Post("/api/files/"+secret+"/copy", M{"targetPath": home})
			}},
			{"a copy in", func(c *apptest.Client) *apptest.Reply {
				return c.Post("/api/files/"+open+"/copy", M{"targetPath": home + "/secret"})
			}},
			{"an upload", func(c *apptest.Client) *apptest.Reply {
				return postUploadSession(c, home+"/secret", "u.png", 1)
			}},
			{"an upload into a new folder", func(c *apptest.Client) *apptest.Reply {
				return postUploadSession(c, home+"/secret/new", "u.png", 1)
			}},
			{"the completion of one", func(c *apptest.Client) *apptest.Reply { return completeUpload(c, begun, etag) }},
			{"a compatible upload", func(c *apptest.Client) *apptest.Reply {
				return c.Post("/api/upload", form, "Content-Type", contentType)
			}},
			{"the file's path", func(c *apptest.Client) *apptest.Reply { return c.Get(home + "/secret/s.png") }},
		} {
			wantStatus(t, row.what, row.call(key.Fork()), 403, "FORBIDDEN")
		}
		// abuse case C31
		wantStatus(t, "an address from before", l.Client(t).Get(strings.TrimPrefix(address, apptest.BaseURL)), 401,
			"INVALID_TOKEN")
		wantStatus(t, "a zip of the named entries", key.Get("/api/files/zip?ids="+secret), 404, "NOT_FOUND")
		wantJSON(t, "a batch", key.Post("/api/files/batch",
			M{"action": "delete", "fileIds": []string{secret, folder}}).OK(200).Value("succeeded"), []string{})
		wantJSON(t, "many links", key.Post("/api/files/copy-links",
			M{"ids": []string{secret}}).OK(200).Value("items.0.code"), "FORBIDDEN")
		wantStrings(t, "the folder above", listNames(key, home), "open.png")
		wantStrings(t, "a search", listNames(key, home, "search", "s"))
		// a refused completion may release its bytes
		look("after the key's refusals", "upload_sessions", "objects", "garbage")

		for name, c := range map[string]*apptest.Client{"the owner": alice, "another key": other} {
			wantStatus(t, name, listFolder(c, home+"/secret"), 200, "")
			wantStatus(t, name+": details", c.Get("/api/files/"+secret), 200, "")
		}

		// no rule gives a key more than its owner has, and a key cannot give a password
		admin.Delete("/api/admin/rules/" + rule).OK(200)
		bobs := l.User(t, "bob").Upload("/home/bob", "b.png", []byte("x"))
		for _, more := range []M{{"pathPattern": "/home/bob/**", "effect": "allow"},
			{"pathPattern": "/**", "effect": "allow", "priority": 1000}} {
			more["apiKeyId"] = created.Text("key.id")
			admin.Post("/api/admin/rules", more).OK(201)
		}
		wantStatus(t, "an entry that the owner may not read", key.Get("/api/files/"+bobs), 403, "FORBIDDEN")
		wantStatus(t, "by its path", listFolder(key, "/home/bob"), 403, "FORBIDDEN")
		wantStatus(t, "the denying rule was deleted", key.Get("/api/files/"+secret), 200, "")
		admin.Post("/api/admin/rules", M{
			"pathPattern": home + "/secret/**", "effect": "allow", "apiKeyId": created.Text("key.id"),
			"requirePassword": true, "password": "open sesame", "priority": 2000,
		}).OK(201)
		admin.Post("/api/admin/rules", M{"pathPattern": home + "/secret/**", "effect": "deny",
			"apiKeyId": created.Text("key.id"), "priority": 1999}).OK(201)
		wantStatus(t, "a rule with a password", key.Get("/api/files/"+secret+"/download"), 403, "PASSWORD_REQUIRED")
		wantStatus(t, "without effect on the owner", alice.Get("/api/files/"+secret+"/download"), 200, "")

		// an address in a rule is compared with the address of the request
		from := admin.Post("/api/admin/rules", M{
			"pathPattern": home + "/open.png", "effect": "deny", "apiKeyId": created.Text("key.id"),
			"allowedIps": []string{"203.0.113.0/24"}, "priority": 3000,
		}).OK(201).Text("rule.id")
		wantStatus(t, "from another address", key.Get("/api/files/"+open), 403, "FORBIDDEN")
		admin.Put("/api/admin/rules/"+from, M{"allowedIps": []string{"127.0.0.0/8"}}).OK(200)
		wantStatus(t, "from here", key.Get("/api/files/"+open), 200, "")
	})
}
