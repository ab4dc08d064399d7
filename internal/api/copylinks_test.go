package api_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/config"
)

func copyLinks(c *apptest.Client, id, query string) *apptest.Reply {
	return c.Get("/api/files/" + id + "/copy-links" + query)
}

// signedLink makes a signed link to a file and returns its address.
func signedLink(c *apptest.Client, id string, more ...string) string {
	return copyLinks(c, id, "?signed=true"+strings.Join(more, "")).OK(200).Text("formats.direct")
}

var signedLinkPattern = regexp.MustCompile(`^` + apptest.BaseURL + `/api/gateway/download/[0-9A-Za-z]{43}$`)

// Specification: GET /api/files/{id}/copy-links.
func TestCopyLinks(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		photo := alice.Upload("/home/alice", "a b.png", []byte(onePixel))
		folder := mkdir(alice, "/home/alice", "x & y")
		public := admin.Upload("/public", "p.txt", []byte("public"))

		t.Run("the public path", func(t *testing.T) {
			for _, query := range []string{"", "?signed=false", "?signed=", "?expiresIn=60", "?expiresIn=604800"} {
				r := copyLinks(alice.In(t), photo, query).OK(200)
				wantFields(t, "data", r.Object()["data"], "formats", "accessMode", "needsPassword",
					"expiresIn")
				wantFields(t, "formats", r.Value("formats"), "direct", "html", "markdown", "bbcode")
				const address = apptest.BaseURL + "/home/alice/a%20b.png"
				wantJSON(t, "direct", r.Value("formats.direct"), address)
				wantJSON(t, "html", r.Value("formats.html"), `<img src="`+address+`" alt="a b.png">`)
				wantJSON(t, "markdown", r.Value("formats.markdown"), `![a b.png](`+address+`)`)
				wantJSON(t, "bbcode", r.Value("formats.bbcode"), `[img]`+address+`[/img]`)
				wantJSON(t, "accessMode", r.Value("accessMode"), "public_path")
				wantJSON(t, "needsPassword", r.Value("needsPassword"), false)
				wantJSON(t, "expiresIn", r.Value("expiresIn"), nil)
			}
			wantBody(t, alice.In(t).Get(copyLinks(alice.In(t), photo, "").OK(200).Text("formats.direct")).OK(200),
				onePixel)
			wantJSON(t, "by a key", copyLinks(alice.In(t).Key(M{}), photo, "").OK(200).Value("accessMode"),
				"public_path")
			wantJSON(t, "the public path", copyLinks(bob.In(t), public, "").OK(200).Value("formats.direct"),
				apptest.BaseURL+"/public/p.txt")
		})
		t.Run("a folder has its page's address, signed or not", func(t *testing.T) {
			for _, query := range []string{"", "?signed=true", "?signed=true&expiresIn=60"} {
				r := copyLinks(alice.In(t), folder, query).OK(200)
				const address = apptest.BaseURL + "/app/files/home/alice/x%20&%20y"
				wantJSON(t, "direct", r.Value("formats.direct"), address)
				wantJSON(t, "html", r.Value("formats.html"),
					`<a href="`+strings.ReplaceAll(address, "&", "&amp;")+`">x &amp; y</a>`)
				wantJSON(t, "markdown", r.Value("formats.markdown"), `[x \& y](`+address+`)`)
				wantJSON(t, "bbcode", r.Value("formats.bbcode"), `[url=`+address+`]x & y[/url]`)
				wantJSON(t, "accessMode", r.Value("accessMode"), "public_path")
				wantJSON(t, "needsPassword", r.Value("needsPassword"), false)
				wantJSON(t, "expiresIn", r.Value("expiresIn"), nil)
			}
			root := listFolder(admin.In(t), "/").OK(200).Text("folder.id")
			r := copyLinks(admin.In(t), root, "").OK(200)
			wantJSON(t, "the root", r.Value("formats.markdown"), "[/]("+apptest.BaseURL+"/app/files/)")
		})
		t.Run("signed", func(t *testing.T) {
			for query, lasts := range map[string]int64{"?signed=true": 3600, "?signed=true&expiresIn=60": 60,
				"?signed=true&expiresIn=604800": 604800} {
				r := copyLinks(alice.In(t), photo, query).OK(200)
				wantFields(t, "data", r.Object()["data"], "formats", "accessMode", "needsPassword",
					"expiresIn")
				direct := r.Text("formats.direct")
				if !signedLinkPattern.MatchString(direct) {
					t.Errorf("direct is %s", direct)
				}
				wantJSON(t, "html", r.Value("formats.html"), `<img src="`+direct+`" alt="a b.png">`)
				wantJSON(t, "accessMode", r.Value("accessMode"), "signed")
				wantJSON(t, "needsPassword", r.Value("needsPassword"), false)
				wantJSON(t, "expiresIn", r.Int("expiresIn"), lasts)
				wantBody(t, visitor.In(t).Get(direct).OK(200), onePixel)
			}
		})
		t.Run("refusals", func(t *testing.T) {
			for _, query := range []string{"", "?signed=true"} {
				copyLinks(alice.In(t), unknownID, query).Fails(404, "NOT_FOUND")
				copyLinks(alice.In(t), "none", query).Fails(404, "NOT_FOUND")
				copyLinks(bob.In(t), photo, query).Fails(403, "FORBIDDEN")
				copyLinks(bob.In(t), folder, query).Fails(403, "FORBIDDEN")
				copyLinks(visitor.In(t), public, query).Fails(401, "UNAUTHORIZED")
				blind := alice.In(t).Key(M{"permissions": []string{"write", "delete"}})
				copyLinks(blind, photo, query).Fails(403, "FORBIDDEN")
				// nor does it learn that there is no such file
				copyLinks(blind, unknownID, query).Fails(403, "FORBIDDEN")
			}
			for _, query := range []string{"expiresIn=59", "expiresIn=604801", "expiresIn=0", "expiresIn=-60",
				"expiresIn=1e3", "expiresIn=99999999999999999999", "expiresIn=x"} {
				copyLinks(alice.In(t), photo, "?"+query).Fails(400, "VALIDATION_ERROR")
				copyLinks(alice.In(t), photo, "?signed=true&"+query).Fails(400, "VALIDATION_ERROR")
				copyLinks(alice.In(t), folder, "?signed=true&"+query).Fails(400, "VALIDATION_ERROR")
			}
			for _, query := range []string{"?signed=1", "?signed=yes", "?signed=TRUE"} {
				copyLinks(alice.In(t), photo, query).Fails(400, "VALIDATION_ERROR")
			}
		})
		t.Run("read and download are separate permissions", func(t *testing.T) { // abuse case C27
			carol := l.User(t, "carol")
			file := carol.Upload("/home/carol", "f.txt", []byte("carol's"))
			deny := func(permission string) string {
				return addRule(admin.In(t), M{"pathPattern": "/home/carol/**", "effect": "deny", "role": "user",
					"permissions": []string{permission}})
			}
			rule := deny("download")
			copyLinks(carol, file, "").OK(200)
			copyLinks(carol, file, "?signed=true").Fails(403, "FORBIDDEN")
			admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)
			rule = deny("read") // the answer would reveal the name
			copyLinks(carol, file, "").Fails(403, "FORBIDDEN")
			copyLinks(carol, file, "?signed=true").Fails(403, "FORBIDDEN")
			admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)
			copyLinks(carol, file, "?signed=true").OK(200)
		})
	})
}

// The tests cover needsPassword and the effect of a password on both kinds of link (abuse cases
// C79, C80).
func TestCopyLinksAndPasswords(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		dir := mkdir(admin, "/public", "dir")
		inside := admin.Upload("/public/dir", "in.txt", []byte("inside"))
		file := admin.Upload("/public", "f.png", []byte(onePixel))
		own := alice.Upload("/home/alice", "own.txt", []byte("alice's"))
		wantNeedsPassword := func(c *apptest.Client, id string, plain, signed bool) {
			t.Helper()
			wantJSON(t, "needsPassword", copyLinks(c, id, "").OK(200).Value("needsPassword"), plain)
			wantJSON(t, "needsPassword of a signed link",
				copyLinks(c, id, "?signed=true").OK(200).Value("needsPassword"), signed)
		}
		// wantPasswordRequired checks that both addresses of a file refuse every kind of request
		// for bytes and reveal nothing of them.
		wantPasswordRequired := func(c *apptest.Client, id, before string) {
			t.Helper()
			plain, signed := copyLinks(c, id, "").OK(200).Text("formats.direct"), signedLink(c, id)
			for _, address := range []string{plain, signed, before} {
				for _, header := range [][]string{nil, {"Range", "bytes=0-1"}, {"If-None-Match", "*"},
					{"If-Range", `"x"`, "Range", "bytes=0-1"}, {"Sec-Fetch-Dest", "image"}} {
					for _, r := range []*apptest.Reply{visitor.Get(address, header...),
						visitor.Head(address, header...)} {
						wantStatus(t, address, r, 403, "PASSWORD_REQUIRED")
						wantHeader(t, r, "ETag", "")
						wantHeader(t, r, "Last-Modified", "")
						wantHeader(t, r, "Content-Disposition", "")
					}
				}
			}
		}

		for _, id := range []string{file, inside} {
			before := signedLink(bob, id)
			wantBody(t, visitor.Get(before).OK(200), map[string]string{file: onePixel, inside: "inside"}[id])
			wantNeedsPassword(bob, id, false, false)
			wantNeedsPassword(admin, id, false, false)
			guarded := map[string]string{file: file, inside: dir}[id]
			setAccessPassword(admin, guarded, "open sesame")
			wantNeedsPassword(admin, id, true, true)
			wantPasswordRequired(admin, id, before)
			switch id {
			case file: // its name may be read, so its address may be too
				wantNeedsPassword(bob, id, true, true)
				wantPasswordRequired(bob, id, before)
			case inside: // neither may be read without the password
				copyLinks(bob, id, "").Fails(403, "PASSWORD_REQUIRED")
				copyLinks(bob, id, "?signed=true").Fails(403, "PASSWORD_REQUIRED")
				wantJSON(t, "needsPassword of the folder", copyLinks(bob, dir, "").OK(200).Value("needsPassword"), true)
				wantJSON(t, "needsPassword of the folder, for an administrator",
					copyLinks(admin, dir, "").OK(200).Value("needsPassword"), true)
			}
			setAccessPassword(admin, guarded, nil)
			visitor.Get(before).OK(200) // it has not ended
			wantNeedsPassword(bob, id, false, false)
		}
		wantJSON(t, "needsPassword of an open folder", copyLinks(bob, dir, "").OK(200).Value("needsPassword"), false)

		// Rules. Each case differs by what bob is denied without the rule.
		t.Run("a rule with a password", func(t *testing.T) {
			rule := M{"pathPattern": "/home/alice/**", "effect": "allow", "role": "user", "requirePassword": true,
				"password": "open sesame", "permissions": []string{"download"}}
			read := addRule(admin, M{"pathPattern": "/home/alice/**", "effect": "allow", "role": "user",
				"permissions": []string{"read"}})
			copyLinks(bob, own, "?signed=true").Fails(403, "FORBIDDEN")
			made := addRule(admin, rule)
			wantNeedsPassword(bob, own, true, true)
			wantStatus(t, "the signed link", visitor.Get(signedLink(bob, own)), 403, "PASSWORD_REQUIRED")
			wantNeedsPassword(alice, own, false, false) // her own file
			wantBody(t, visitor.Get(signedLink(alice, own)).OK(200), "alice's")
			admin.Delete("/api/admin/rules/" + made).OK(200)
			admin.Delete("/api/admin/rules/" + read).OK(200)

			rule["role"] = "guest" // and the rule asks visitors
			made = addRule(admin, rule)
			wantNeedsPassword(alice, own, true, true)
			wantStatus(t, "the path", visitor.Get("/home/alice/own.txt"), 403, "PASSWORD_REQUIRED")
			admin.Delete("/api/admin/rules/" + made).OK(200)
		})
		t.Run("a rule for addresses", func(t *testing.T) {
			for _, c := range []struct {
				rule   M
				opens  bool
				signed bool
			}{
				// her own file anyway
				{M{"effect": "allow", "role": "user", "allowedIps": []string{"127.0.0.0/8", "::1"}}, true, false},
				// at this address only
				{M{"effect": "deny", "role": "user", "allowedIps": []string{"127.0.0.0/8", "::1"}}, true, true},
				// from this address a visitor, too
				{M{"effect": "allow", "role": "guest", "allowedIps": []string{"127.0.0.0/8", "::1"}}, true, true},
				// from that address a visitor not
				{M{"effect": "deny", "role": "guest", "allowedIps": []string{"198.51.100.7"}}, true, true},
				// not at this address: forbidden
				{M{"effect": "deny", "role": "user", "allowedIps": []string{"198.51.100.7"}}, false, true},
				// nor does it help her
				{M{"effect": "allow", "role": "user", "allowedIps": []string{"198.51.100.7"}}, true, false},
				// without a condition
				{M{"effect": "deny", "role": "guest"}, true, false},
				// with the lowest priority
				{M{"effect": "deny", "role": "user", "allowedIps": []string{"198.51.100.7"}, "priority": -1}, false,
					true},
			} {
				c.rule["pathPattern"], c.rule["permissions"] = "/home/alice/**", []string{"download"}
				made := addRule(admin, c.rule)
				r := copyLinks(alice, own, "?signed=true")
				if !c.opens {
					wantStatus(t, fmt.Sprint(c.rule), r, 403, "FORBIDDEN")
				} else {
					wantJSON(t, fmt.Sprint("needsPassword under ", c.rule), r.OK(200).Value("needsPassword"), c.signed)
					wantBody(t, visitor.Get(r.Text("formats.direct")).OK(200), "alice's")
				}
				wantJSON(t, fmt.Sprint("needsPassword of the path under ", c.rule),
					copyLinks(alice, own, "").OK(200).Value("needsPassword"), false)
				admin.Delete("/api/admin/rules/" + made).OK(200)
			}
			link := signedLink(alice, own)
			made := addRule(admin, M{"pathPattern": "/home/alice/**", "effect": "deny", "role": "user",
				"allowedIps": []string{"198.51.100.7"}, "permissions": []string{"download"}})
			visitor.Get(link).Fails(401, "INVALID_TOKEN") // the request comes from the wrong address
			admin.Delete("/api/admin/rules/" + made).OK(200)
			wantBody(t, visitor.Get(link).OK(200), "alice's")
		})
	})
}

// A signed link is a download token of its own kind: it works many times and is bound to the
// content and to its issuer's permissions.
func TestSignedLink(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		const text = "0123456789"
		wantInvalidToken := func(t *testing.T, address string) {
			t.Helper()
			for _, r := range []*apptest.Reply{visitor.In(t).Get(address), visitor.In(t).Head(address),
				visitor.In(t).Get(address, "Range", "bytes=0-1"), visitor.In(t).Get(address, "If-None-Match", "*")} {
				wantStatus(t, address, r, 401, "INVALID_TOKEN")
				wantHeader(t, r, "ETag", "")
				wantHeader(t, r, "Content-Disposition", "")
			}
		}
		t.Run("unlimited uses", func(t *testing.T) {
			visitor := visitor.In(t)
			id := alice.In(t).Upload("/home/alice", "data.txt", []byte(text))
			address := signedLink(alice.In(t), id)
			for range 3 {
				r := visitor.Get(address).OK(200)
				wantBody(t, r, text)
				wantHeader(t, r, "Content-Type", "text/plain; charset=utf-8")
				wantHeader(t, r, "Content-Disposition", `attachment; filename="data.txt"`)
				wantHeader(t, r, "Cache-Control", "private, no-store")
				wantHeader(t, r, "X-Content-Type-Options", "nosniff")
				wantHeader(t, r, "Access-Control-Allow-Origin", "")
				head := visitor.Head(address).OK(200)
				wantHeader(t, head, "Content-Length", "10")
				if part := visitor.Get(address, "Range", "bytes=2-4"); part.Status != 206 ||
					string(part.Body) != "234" {
					t.Errorf("range: %d %q", part.Status, part.Body)
				}
				if again := visitor.Get(address, "If-None-Match", r.Header.Get("ETag")); again.Status != 304 {
					t.Errorf("If-None-Match: %d", again.Status)
				}
				if outside := visitor.Get(address, "Range", "bytes=10-"); outside.Status != 416 {
					t.Errorf("a range outside: %d", outside.Status)
				}
			}
			photo := signedLink(alice.In(t), alice.In(t).Upload("/home/alice", "photo.png", []byte(onePixel)))
			// an <img> shows a response with Content-Disposition: attachment
			r := visitor.Get(photo, "Sec-Fetch-Dest", "image", "Sec-Fetch-Site", "cross-site", "Accept", "image/*").
				OK(200)
			wantBody(t, r, onePixel)
			wantHeader(t, r, "Content-Type", "image/png")
			wantHeader(t, r, "Content-Disposition", `attachment; filename="photo.png"`)
			wantHeader(t, r, "Cross-Origin-Resource-Policy", "")
			if strings.Contains(l.Log.String(), strings.TrimPrefix(photo, apptest.BaseURL+"/api/gateway/download/")) {
				t.Error("the log contains the token")
			}
		})
		t.Run("ends with the content, not with the path", func(t *testing.T) {
			alice, visitor := alice.In(t), visitor.In(t)
			addVaultMount(t, l)
			id := alice.Upload("/home/alice", "f.txt", []byte("one"))
			address := signedLink(alice, id)
			etag := visitor.Head(address).OK(200).Header.Get("ETag")
			alice.Put("/api/files/"+id, M{"name": "g.txt"}).OK(200)
			wantHeader(t, visitor.Get(address).OK(200), "Content-Disposition", `attachment; filename="g.txt"`)
			mkdir(alice, "/home/alice", "sub")
			alice.Post("/api/files/"+id+"/move", M{"targetPath": "/home/alice/sub"}).OK(200)
			wantBody(t, visitor.Get(address).OK(200), "one")
			job := alice.Post("/api/files/"+id+"/move", M{"targetPath": "/vault", "newName": "f.txt"}).OK(200).
				Text("jobId")
			wantJSON(t, "the move", waitForJob(t, alice, job).Value("job.status"), "completed")
			r := visitor.Get(address).OK(200) // from another provider
			wantBody(t, r, "one")
			wantHeader(t, r, "ETag", etag)

			alice.Upload("/vault", "f.txt", []byte("two"), M{"conflict": "replace"})
			wantInvalidToken(t, address)
			fresh := signedLink(alice, id)
			wantBody(t, visitor.Get(fresh).OK(200), "two")
			// equal bytes are stored as new content
			alice.Upload("/vault", "f.txt", []byte("two"), M{"conflict": "replace"})
			wantInvalidToken(t, fresh)
			fresh = signedLink(alice, id)
			visitor.Get(fresh).OK(200)
			alice.Delete("/api/files/" + id).OK(200)
			wantInvalidToken(t, fresh)
		})
		t.Run("ends with its issuer's rights", func(t *testing.T) { // abuse cases C31, C86
			carol := l.User(t, "carol")
			id := carol.Upload("/home/carol", "f.txt", []byte("carol"))
			address := signedLink(carol, id)
			rule := addRule(admin.In(t), M{"pathPattern": "/home/carol/**", "effect": "deny", "role": "user",
				"permissions": []string{"download"}})
			wantInvalidToken(t, address)
			admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)
			wantBody(t, visitor.In(t).Get(address).OK(200), "carol")

			key := carol.Key(M{"permissions": []string{"read"}})
			byKey := signedLink(key, id)
			wantBody(t, visitor.In(t).Get(byKey).OK(200), "carol")
			token, _, _ := strings.Cut(strings.TrimPrefix(key.Header.Get("Authorization"), "Bearer "), ".")
			carol.Delete("/api/keys/" + token).OK(200)
			wantInvalidToken(t, byKey)
			wantBody(t, visitor.In(t).Get(address).OK(200), "carol") // hers continues to work

			execAndRaiseVersion(t, l, "UPDATE users SET status = 'disabled' WHERE username = 'carol'")
			wantInvalidToken(t, address)
		})
	})
}

// Specification: Limits, Signed copy link expiresIn. A link works at both ends of its lifetime, to
// the millisecond. The sweep deletes it afterwards.
func TestSignedLinkLifetime(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		visitor := l.Client(t)
		l.User(t, "alice")
		for _, seconds := range []int64{60, 604800} {
			alice := l.SignIn(t, "alice", "password of alice")
			id := alice.Upload("/home/alice", fmt.Sprint(seconds), []byte("x"))
			address := signedLink(alice, id, "&expiresIn=", fmt.Sprint(seconds))
			l.Clock.Advance(time.Duration(seconds)*time.Second - time.Millisecond)
			wantBody(t, visitor.Get(address).OK(200), "x")
			l.Clock.Advance(time.Millisecond)
			visitor.Get(address).Fails(401, "INVALID_TOKEN")
			visitor.Head(address).Fails(401, "INVALID_TOKEN")
			if n := queryInt(t, l, "SELECT COUNT(*) FROM download_tokens"); n != 1 {
				t.Errorf("%d tokens before the sweep", n)
			}
			l.Sweep()
			if n := queryInt(t, l, "SELECT COUNT(*) FROM download_tokens"); n != 0 {
				t.Errorf("%d tokens after the sweep", n)
			}
		}
		// If the clock is set back (abuse case C129), no link lives longer than a week and an hour.
		alice := l.SignIn(t, "alice", "password of alice")
		address := signedLink(alice, alice.Upload("/home/alice", "back", []byte("x")), "&expiresIn=604800")
		l.Clock.Advance(-time.Hour)
		wantBody(t, visitor.Get(address).OK(200), "x")
		l.Clock.Advance(-time.Millisecond)
		visitor.Get(address).Fails(401, "INVALID_TOKEN")
	}, func(cfg *config.Config) { cfg.RateLimitEnabled = false }) // limits take a clock that is set back for a burst
}

// Addition: POST /api/files/copy-links. Abuse case C30.
func TestCopyManyLinks(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		one := alice.Upload("/home/alice", "one.png", []byte(onePixel))
		two := alice.Upload("/home/alice", "two.txt", []byte("two"))
		folder := mkdir(alice, "/home/alice", "folder")
		foreign := bob.Upload("/home/bob", "what is bob's alone.txt", []byte("bob's"))
		dir := mkdir(admin, "/public", "a folder with a lock")
		locked := admin.Upload("/public/a folder with a lock", "behind a password.txt", []byte("locked"))
		setAccessPassword(admin, dir, "open sesame")
		many := func(c *apptest.Client, body M) *apptest.Reply { return c.Post("/api/files/copy-links", body) }

		for _, signed := range []bool{false, true} {
			r := many(alice, M{"ids": []string{two, foreign, one, two, unknownID, folder, locked, "", one},
				"signed": signed, "expiresIn": 61}).OK(200)
			var ids []string
			for _, item := range r.Value("items").([]any) {
				ids = append(ids, item.(map[string]any)["id"].(string))
			}
			wantStrings(t, "ids", ids, two, foreign, one, unknownID, folder, locked, "")
			for i, code := range map[int]string{1: "FORBIDDEN", 3: "NOT_FOUND", 5: "PASSWORD_REQUIRED",
				6: "NOT_FOUND"} {
				item := fmt.Sprint("items.", i)
				wantFields(t, item, r.Value(item), "id", "error", "code")
				wantJSON(t, item+".code", r.Value(item+".code"), code)
				if r.Text(item+".error") == "" {
					t.Errorf("%s has no message", item)
				}
			}
			for _, secret := range []string{"bob's", "behind", "/home/bob", "with a lock"} {
				if strings.Contains(string(r.Body), secret) {
					t.Errorf("the answer reveals %q: %s", secret, r.Body)
				}
			}
			for _, i := range []int{0, 2, 4} {
				item := fmt.Sprint("items.", i)
				wantFields(t, item, r.Value(item), "id", "formats", "accessMode", "needsPassword", "expiresIn")
				wantFields(t, item, r.Value(item+".formats"), "direct", "html", "markdown", "bbcode")
				wantJSON(t, item+".needsPassword", r.Value(item+".needsPassword"), false)
			}
			wantJSON(t, "the folder", r.Value("items.4.formats.direct"), apptest.BaseURL+"/app/files/home/alice/folder")
			wantJSON(t, "the folder's mode", r.Value("items.4.accessMode"), "public_path")
			wantJSON(t, "the folder's lifetime", r.Value("items.4.expiresIn"), nil)
			if !signed {
				wantJSON(t, "direct", r.Value("items.0.formats.direct"), apptest.BaseURL+"/home/alice/two.txt")
				wantJSON(t, "accessMode", r.Value("items.0.accessMode"), "public_path")
				wantJSON(t, "expiresIn", r.Value("items.0.expiresIn"), nil)
				continue
			}
			wantJSON(t, "accessMode", r.Value("items.0.accessMode"), "signed")
			wantJSON(t, "expiresIn", r.Int("items.0.expiresIn"), 61)
			wantBody(t, visitor.Get(r.Text("items.0.formats.direct")).OK(200), "two")
			wantBody(t, visitor.Get(r.Text("items.2.formats.direct")).OK(200), onePixel)
		}

		ids := func(n int) (list []string) {
			for i := range n {
				list = append(list, fmt.Sprint("id", i))
			}
			return list
		}
		if n := len(many(alice, M{"ids": append(ids(99), one)}).OK(200).Value("items").([]any)); n != 100 {
			t.Errorf("%d items of 100", n)
		}
		if n := len(many(alice, M{"ids": []string{one}}).OK(200).Value("items").([]any)); n != 1 {
			t.Errorf("%d items of 1", n)
		}
		many(alice, M{"ids": append(ids(99), one, two), "signed": true}).Fails(400, "VALIDATION_ERROR")
		many(alice, M{"ids": slices.Repeat([]string{one}, 101)}).Fails(400, "VALIDATION_ERROR")
		for _, body := range []M{
			{}, {"ids": []string{}}, {"ids": nil}, {"ids": one}, {"ids": []int{1}},
			{"ids": []string{one}, "signed": "true"},
			{"ids": []string{one}, "expiresIn": 59}, {"ids": []string{one}, "expiresIn": 604801},
			{"ids": []string{one}, "expiresIn": 60.5}, {"ids": []string{"\x00"}},
		} {
			many(alice, body).Fails(400, "VALIDATION_ERROR")
		}
		for _, lasts := range []int64{60, 604800} {
			wantJSON(t, "expiresIn", many(alice,
				M{"ids": []string{one}, "signed": true, "expiresIn": lasts}).OK(200).Int("items.0.expiresIn"), lasts)
		}
		many(visitor, M{"ids": []string{one}}).Fails(401, "UNAUTHORIZED")
		many(alice.Key(M{}), M{"ids": []string{one}}).OK(200)
		many(alice.Key(M{"permissions": []string{"write"}}), M{"ids": []string{one}}).Fails(403, "FORBIDDEN")
		forged := alice.Fork()
		forged.CSRF = ""
		many(forged, M{"ids": []string{one}}).Fails(403, "INVALID_CSRF")
	})
}

// Specification: File details, accessMode.
func TestAccessMode(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		public, folder := admin.Upload("/public", "p.txt", []byte("x")), mkdir(admin, "/public", "dir")
		private := alice.Upload("/home/alice", "f.txt", []byte("x"))
		mode := func(c *apptest.Client, id, want string) {
			t.Helper()
			wantJSON(t, "accessMode", c.Get("/api/files/"+id).OK(200).Value("accessMode"), want)
		}
		local := "/api/admin/storage/providers/" + admin.Get("/api/admin/storage/providers").OK(200).
			Text("providers.0.id")
		mode(alice, public, "private_gateway")
		admin.Put(local, M{"publicDomain": "https://cdn.example"}).OK(200)
		mode(alice, public, "public_cdn")
		mode(admin, public, "public_cdn")
		mode(alice, private, "private_gateway")
		mode(alice, folder, "private_gateway")
		// the path, in every mode
		wantJSON(t, "direct", copyLinks(alice, public, "").OK(200).Value("formats.direct"),
			apptest.BaseURL+"/public/p.txt")
		setAccessPassword(admin, public, "open sesame")
		mode(alice, public, "private_gateway")
		setAccessPassword(admin, public, nil)
		mode(alice, public, "public_cdn")
		setAllowGuestAccess(t, l, false)
		mode(alice, public, "private_gateway")
		setAllowGuestAccess(t, l, true)
		admin.Put(local, M{"publicDomain": ""}).OK(200)
		mode(alice, public, "private_gateway")
	})
}

// Names with characters that have a meaning in an address are escaped, and the address works.
func TestCopyLinksAddresses(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin, visitor := l.Admin(t), l.Client(t)
	for _, name := range badNames() {
		id := admin.Upload("/public", name, []byte(name))
		direct := copyLinks(admin, id, "").OK(200).Text("formats.direct")
		if u, err := url.Parse(direct); err != nil || u.Path != "/public/"+name || u.RawQuery != "" ||
			u.Fragment != "" {
			t.Errorf("%q has the address %s (%v)", name, direct, err)
		}
		wantBody(t, visitor.Get(direct).OK(200), name)
		wantBody(t, visitor.Get(signedLink(admin, id)).OK(200), name)
	}
}

// badNames returns legal names that look like something else in an address.
func badNames() (list []string) {
	for _, bad := range badPaths() {
		if bad.literal && !strings.ContainsAny(bad.text, `/\`) {
			list = append(list, bad.text)
		}
	}
	return append(list, "a?b", "a#b", "a;b", "a&b=c", "a+b c", "a%", "%zz", "a:b", "@a", "a,b", "~", "...", "猫")
}
