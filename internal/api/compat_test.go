package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"larder/internal/apptest"
)

const onePixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"

// part is one part of a form. A part without disposition is a field.
type part struct{ name, disposition, mimeType, body string }

// form encodes the parts in their order.
func form(parts ...part) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		if p.disposition == "" {
			p.disposition = `form-data; name="` + p.name + `"`
		}
		h.Set("Content-Disposition", p.disposition)
		if p.mimeType != "" {
			h.Set("Content-Type", p.mimeType)
		}
		writer, _ := w.CreatePart(h) // a bytes.Buffer accepts every write
		_, _ = io.WriteString(writer, p.body)
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

// filePart returns the usual file part.
func filePart(name, body string) part {
	return part{disposition: `form-data; name="file"; filename="` + name + `"`, mimeType: "application/octet-stream",
		body: body}
}

func sendForm(c *apptest.Client, parts []part, header ...string) *apptest.Reply {
	body, contentType := form(parts...)
	return c.Post("/api/upload", body, append([]string{"Content-Type", contentType}, header...)...)
}

// topMessage checks the message that errors of these routes carry beside the envelope.
func topMessage(t *testing.T, r *apptest.Reply) {
	t.Helper()
	var envelope struct {
		Message string `json:"message"`
		Error   struct{ Message string }
	}
	if err := json.Unmarshal(r.Body, &envelope); err != nil || envelope.Message == "" ||
		envelope.Message != envelope.Error.Message {
		t.Errorf("message at the top: %v %s", err, r.Body)
	}
}

func TestCompatibleUpload(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		const root = "/home/alice/img"
		key := alice.Key(M{"uploadPath": root})
		token := strings.TrimPrefix(key.Header.Get("Authorization"), "Bearer ")
		visitor := l.Client(t)

		t.Run("answer", func(t *testing.T) {
			r := sendForm(key.In(t), []part{filePart("cat.png", onePixel)}).OK(200)
			for _, name := range []string{"url", "fileId", "path", "size", "filename", "directUrl"} {
				if r.Value(name) == nil {
					t.Errorf("no %s: %s", name, r.Body)
				}
			}
			id := r.Text("fileId")
			if r.Text("url") != apptest.BaseURL+"/api/files/"+id+"/download" || r.Text("path") != root ||
				r.Int("size") != int64(len(onePixel)) || r.Text("filename") != "cat.png" {
				t.Errorf("got %s", r.Body)
			}
			direct := r.Text("directUrl")
			if !regexp.MustCompile(`^` + apptest.BaseURL + `/api/i/[0-9A-Za-z]{22}\.png$`).MatchString(direct) {
				t.Errorf("directUrl %s", direct)
			}
			if r.Text("links.url") != direct || r.Text("links.html") != `<img src="`+direct+`" alt="cat.png">` ||
				r.Text("links.markdown") != "![cat.png]("+direct+")" ||
				r.Text("links.bbcode") != "[img]"+direct+"[/img]" {
				t.Errorf("links: %s", r.Body)
			}
			wantBody(t, visitor.In(t).Get(direct).OK(200), onePixel)
			wantHeader(t, r, "Access-Control-Allow-Origin", "*")
			wantHeader(t, r, "Access-Control-Allow-Credentials", "")
			// detected from the content
			if alice.In(t).Get("/api/files/"+id).OK(200).Text("file.mimeType") != "image/png" {
				t.Error("not sniffed")
			}
			again := sendForm(key.In(t), []part{filePart("cat.png", onePixel)}).OK(200)
			if again.Text("filename") != "cat (1).png" {
				t.Errorf("second: %s", again.Body)
			}
		})
		t.Run("three routes, three headers for the token", func(t *testing.T) {
			for _, route := range []string{"/api/upload", "/api/upload/upload", "/api/compat/upload"} {
				for name, header := range map[string][]string{
					"bearer": {"Authorization", "Bearer " + token}, "bare": {"Authorization", token},
					"header": {"token", token}, "lower case": {"Authorization", "bearer " + token},
				} {
					body, contentType := form(filePart("r.txt", "x"))
					r := visitor.In(t).Post(route, body, append([]string{"Content-Type", contentType}, header...)...)
					if r.Status != 200 {
						t.Errorf("%s %s: %d %s", route, name, r.Status, r.Body)
					}
					// as the raw body
					r = visitor.In(t).Post(route, "raw", append([]string{"X-File-Name", "raw.txt"}, header...)...)
					if r.Status != 200 {
						t.Errorf("%s %s raw: %d %s", route, name, r.Status, r.Body)
					}
				}
			}
		})
		t.Run("credentials", func(t *testing.T) {
			body, contentType := form(filePart("r.txt", "x"))
			send := func(c *apptest.Client, header ...string) *apptest.Reply {
				r := c.Post("/api/upload", body, append([]string{"Content-Type", contentType}, header...)...)
				wantHeader(t, r, "Access-Control-Allow-Origin", "*")
				topMessage(t, r)
				return r
			}
			send(visitor.In(t)).Fails(401, "UNAUTHORIZED")
			send(alice.In(t)).Fails(401, "UNAUTHORIZED") // a session does not replace a key
			for _, bad := range []string{"Bearer junk", "Bearer " + token + "x", "Bearer " + token[:len(token)-1] + "!",
				"Bearer pk_" + strings.Repeat("a", 24) + ".sk_" + strings.Repeat("b", 48),
				strings.Replace(token, ".", ".sk_", 1)} {
				send(visitor.In(t), "Authorization", bad).Fails(401, "INVALID_TOKEN")
			}
			send(visitor.In(t), "token", "junk").Fails(401, "INVALID_TOKEN")
			send(alice.In(t).Key(M{"permissions": []string{"read", "delete"}})).Fails(403, "FORBIDDEN")
			send(alice.In(t).Key(M{"protocols": []string{"webdav"}})).Fails(403, "FORBIDDEN")
			send(alice.In(t).Key(M{"allowedIps": []string{"192.0.2.7"}})).Fails(403, "FORBIDDEN")
			revoked := alice.In(t).Key(M{"name": "revoked"})
			id, _, _ := strings.Cut(strings.TrimPrefix(revoked.Header.Get("Authorization"), "Bearer "), ".")
			alice.In(t).Delete("/api/keys/" + id).OK(200)
			send(revoked).Fails(401, "INVALID_TOKEN")
		})
		t.Run("preflight", func(t *testing.T) {
			for _, route := range []string{"/api/upload", "/api/upload/upload", "/api/compat/upload"} {
				r := visitor.In(t).Do(apptest.Request{Method: "OPTIONS", Path: route, Header: map[string][]string{
					"Origin": {"https://elsewhere.example"}, "Access-Control-Request-Method": {"POST"},
					"Access-Control-Request-Headers": {"authorization,x-path"},
				}})
				if r.Status != 204 && r.Status != 200 {
					t.Errorf("%s: %d", route, r.Status)
				}
				wantHeader(t, r, "Access-Control-Allow-Origin", "*")
				wantHeader(t, r, "Access-Control-Allow-Headers",
					"Authorization, token, X-File-Name, filename, X-Path, Content-Type")
				wantHeader(t, r, "Access-Control-Allow-Credentials", "")
				if !strings.Contains(r.Header.Get("Access-Control-Allow-Methods"), "POST") {
					t.Errorf("methods %q", r.Header.Get("Access-Control-Allow-Methods"))
				}
			}
			r := visitor.In(t).Get("/api/public/settings", "Origin", "https://elsewhere.example") // abuse case C77
			wantHeader(t, r, "Access-Control-Allow-Origin", "")
			r = alice.In(t).Get("/api/files", "Origin", "https://elsewhere.example")
			wantHeader(t, r, "Access-Control-Allow-Origin", "")
		})
		t.Run("forms", func(t *testing.T) {
			key := key.In(t)
			stored := func(r *apptest.Reply, name, dir, body string) {
				t.Helper()
				r.OK(200)
				if r.Text("filename") != name || r.Text("path") != dir {
					t.Errorf("stored as %s in %s, want %s in %s", r.Text("filename"), r.Text("path"), name, dir)
				}
				wantBody(t, key.Get("/api/files/"+r.Text("fileId")+"/download", "Sec-Fetch-Dest", "image").OK(200),
					body)
			}
			other := part{disposition: `form-data; name="image"; filename="o.txt"`, body: "other"}
			stored(sendForm(key, []part{other}), "o.txt", root, "other")
			stored(sendForm(key, []part{other, filePart("first.txt", "the file")}), "first.txt", root, "the file")
			stored(sendForm(key, []part{filePart("one.txt", "1"), filePart("two.txt", "2")}), "one.txt", root, "1")
			stored(sendForm(key, []part{{name: "path", body: "sub/dir"}, filePart("p.txt", "before")}), "p.txt",
				root+"/sub/dir", "before")
			stored(sendForm(key, []part{filePart("q.txt", "after"), {name: "path", body: "sub/dir"}}), "q.txt",
				root+"/sub/dir", "after")
			stored(sendForm(key, []part{{name: "path", body: root + "/abs"}, filePart("a.txt", "absolute")}), "a.txt",
				root+"/abs", "absolute")
			stored(sendForm(key, []part{{name: "path", body: ""}, filePart("e.txt", "empty path")}), "e.txt", root,
				"empty path")
			stored(sendForm(key, []part{{name: "title", body: "x"}, filePart("f.txt", "fields around"),
				{name: "extra", body: strings.Repeat("y", 10000)}}), "f.txt", root, "fields around")
			large := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
			stored(sendForm(key, []part{filePart("large.bin", large), {name: "path", body: "late"}}), "large.bin",
				root+"/late", large)
			stored(sendForm(key, []part{{name: "path", body: "early"}, filePart("large.bin", large)}), "large.bin",
				root+"/early", large)
			stored(sendForm(key, []part{filePart("x.txt", "by header")}, "X-Path", "sub/x"), "x.txt", root+"/sub/x",
				"by header")
			stored(sendForm(key, []part{filePart("none.txt", "")}), "none.txt", root, "")
		})
		t.Run("no file", func(t *testing.T) {
			for _, parts := range [][]part{{}, {{name: "path", body: "x"}},
				{{name: "file", body: "a field, no file"}}} {
				r := sendForm(key.In(t), parts).Fails(400, "VALIDATION_ERROR")
				topMessage(t, r)
				wantHeader(t, r, "Access-Control-Allow-Origin", "*")
			}
			key.In(t).Post("/api/upload", nil).Fails(400, "VALIDATION_ERROR")
			key.In(t).Post("/api/upload", "x", "Content-Type", "multipart/form-data").Fails(400, "VALIDATION_ERROR")
			key.In(t).Post("/api/upload", "x", "Content-Type", "multipart/form-data; boundary=b").
				Fails(400, "VALIDATION_ERROR")
		})
		t.Run("names", func(t *testing.T) {
			key := key.In(t)
			for given, want := range map[string]string{
				"plain.txt": "plain.txt", "grüße.txt": "grüße.txt", "gr%C3%BC%C3%9Fe2.txt": "grüße2.txt",
				"=?UTF-8?B?Z3LDvMOfZTMudHh0?=":     "grüße3.txt",
				"=?utf-8?q?gr=C3=BC=C3=9Fe4.txt?=": "grüße4.txt", `C:\dir\win.txt`: "win.txt",
				"/etc/unix.txt": "unix.txt", "../../up.txt": "up.txt", `..\..\up2.txt`: "up2.txt",
				"..%2F..%2Fup3.txt": "up3.txt", "{year}": "{year}", "{filename}.x": "{filename}.x",
				"a..b.txt": "a..b.txt",
			} { // abuse cases C14, C16
				for _, header := range []string{"X-File-Name", "filename"} {
					r := key.Post("/api/upload", "x", header, given, "X-Path", "names-"+header, "Content-Type",
						"text/plain").OK(200)
					if r.Text("filename") != want || r.Text("path") != root+"/names-"+header {
						t.Errorf("%s %q: stored as %q in %q, want %q", header, given, r.Text("filename"),
							r.Text("path"), want)
					}
				}
				if !strings.Contains(given, `\`) && !strings.Contains(given, "%") {
					r := sendForm(key, []part{{name: "path", body: "names-form"}, filePart(given, "x")}).OK(200)
					if r.Text("filename") != want {
						t.Errorf("form %q: stored as %q, want %q", given, r.Text("filename"), want)
					}
				}
			}
			r := sendForm(key, []part{{disposition: "form-data; name=\"file\"; filename*=UTF-8''na%C3%AFve.txt",
				body: "x"}}).OK(200)
			if r.Text("filename") != "naïve.txt" {
				t.Errorf("filename*: %q", r.Text("filename"))
			}
			r = sendForm(key, []part{{disposition: `form-data; name="file"; filename="C:\dir\form.txt"`, body: "x"}}).
				OK(200)
			if got := r.Text("filename"); got != "form.txt" {
				t.Errorf("C:\\dir\\form.txt: %q", got)
			}
			for _, bad := range []string{"..", ".", "a/..", strings.Repeat("x", 256), "a%00b", "a%0Ab", "a%5Cb%00"} {
				r := key.Post("/api/upload", "x", "X-File-Name", bad)
				topMessage(t, r.Fails(400, "VALIDATION_ERROR"))
			}
		})
		t.Run("no name", func(t *testing.T) {
			for body, pattern := range map[string]string{onePixel: `^upload-.*\.png$`,
				"just words\n": `^upload-.*\.txt$`, "\x00\x01\x02\xff\xfe\x80\x00": `^upload-.*\.bin$`} {
				r := key.In(t).Post("/api/upload", body, "Content-Type", "application/octet-stream").OK(200)
				if !regexp.MustCompile(pattern).MatchString(r.Text("filename")) {
					t.Errorf("named %q, want %s", r.Text("filename"), pattern)
				}
				r = sendForm(key.In(t), []part{{disposition: `form-data; name="file"; filename=""`, body: body}}).
					OK(200)
				if !regexp.MustCompile(pattern).MatchString(r.Text("filename")) {
					t.Errorf("form: named %q, want %s", r.Text("filename"), pattern)
				}
			}
			r := key.In(t).Post("/api/upload", "x", "Content-Type", "image/jpeg").OK(200)
			if !strings.HasPrefix(r.Text("filename"), "upload-") || !strings.HasSuffix(r.Text("filename"), ".jpg") {
				t.Errorf("named %q", r.Text("filename"))
			}
		})
		t.Run("outside the root", func(t *testing.T) { // abuse cases C1, C15
			for _, path := range []string{
				"..", "../x", "a/../..", "a/../b", root + "/..", root + "/../img", root + "-evil", root + "X/y",
				"/home/alice", "/home/bob", "/", "/uploads", "/IMG", "%2e%2e/x", "..%2fx",
				"{year}/..", "/home/alice/{year}",
			} {
				r := key.In(t).Post("/api/upload", "x", "X-File-Name", "a.txt", "X-Path", path).Fails(403, "FORBIDDEN")
				topMessage(t, r)
				sendForm(key.In(t), []part{{name: "path", body: path}, filePart("a.txt", "x")}).Fails(403, "FORBIDDEN")
				sendForm(key.In(t), []part{filePart("a.txt", "x"), {name: "path", body: path}}).Fails(403, "FORBIDDEN")
			}
			for _, path := range []string{`a\b`, "a%00b", "a%FFb", "a\tb", strings.Repeat("d/", 70)} {
				key.In(t).Post("/api/upload", "x", "X-File-Name", "a.txt", "X-Path", path).
					Fails(400, "VALIDATION_ERROR")
			}
			wantStrings(t, "home", listNames(alice.In(t), "/home/alice"), "img")
		})
		t.Run("placeholders", func(t *testing.T) {
			now := l.Clock.Now().UTC()
			day := fmt.Sprintf("%04d/%02d/%02d", now.Year(), now.Month(), now.Day())
			key := alice.In(t).Key(M{"uploadPath": "/home/alice/{username}/{year}/{month}/{day}"})
			r := key.Post("/api/upload", "x", "X-File-Name", "t.txt").OK(200)
			if r.Text("path") != "/home/alice/alice/"+day {
				t.Errorf("path %s", r.Text("path"))
			}
			// a path of the request is relative to the part before the placeholders and may contain
			// placeholders too
			r = key.Post("/api/upload", "x", "X-File-Name", "t.Tar.GZ", "X-Path", "by/{ext}/{filename}").OK(200)
			if !strings.EqualFold(r.Text("path"), "/home/alice/by/gz/t.Tar.GZ") &&
				!strings.EqualFold(r.Text("path"), "/home/alice/by/gz/t.Tar") {
				t.Errorf("path %s", r.Text("path"))
			}
			r = key.Post("/api/upload", "x", "X-File-Name", "t.txt", "X-Path", "{hour}-{minute}-{second}-{timestamp}").
				OK(200)
			if want := fmt.Sprintf("/home/alice/%02d-%02d-%02d-", now.Hour(), now.Minute(),
				now.Second()); !strings.HasPrefix(r.Text("path"), want) {
				t.Errorf("path %s, want %s…", r.Text("path"), want)
			}
			r = key.Post("/api/upload", "x", "X-File-Name", "t.txt", "X-Path", "{uuid}/{random}").OK(200)
			if !regexp.MustCompile(`^/home/alice/[0-9a-f-]{36}/[0-9A-Za-z]+$`).MatchString(r.Text("path")) {
				t.Errorf("path %s", r.Text("path"))
			}
			// a file's name never becomes part of the path template
			for _, name := range []string{"{year}", "{../..}", "..{ext}"} {
				r := key.Post("/api/upload", "x", "X-File-Name", name, "X-Path", "lit/{filename}")
				if r.Status == 200 && !strings.HasPrefix(r.Text("path"), "/home/alice/lit/") || r.Status >= 500 {
					t.Errorf("%q: %d %s", name, r.Status, r.Body)
				}
			}
		})
		t.Run("links", func(t *testing.T) { // abuse case C72
			for _, test := range []struct{ name, body, wantHTML, wantMarkdown, wantBB string }{
				{`a"><script>b.png`, onePixel, `<img src="URL" alt="a&#34;&gt;&lt;script&gt;b.png">`,
					`![a"\>\<script\>b.png](URL)`, `[img]URL[/img]`},
				{`x](javascript:y).txt`, "x", `<a href="URL">x](javascript:y).txt</a>`,
					`[x\]\(javascript:y\).txt](URL)`, ""},
				{"[img].txt", "x", `<a href="URL">[img].txt</a>`, `[\[img\].txt](URL)`, ""},
			} {
				r := key.In(t).Post("/api/upload", test.body, "X-File-Name",
					strings.ReplaceAll(url.QueryEscape(test.name), "+", "%20"), "X-Path", "esc").OK(200)
				if r.Text("filename") != test.name {
					t.Fatalf("named %q", r.Text("filename"))
				}
				address := r.Text("directUrl")
				put := func(s string) string { return strings.ReplaceAll(s, "URL", address) }
				if strings.ContainsAny(address, `"<>[] `) {
					t.Errorf("address %s", address)
				}
				if got := r.Text("links.html"); got != put(test.wantHTML) {
					t.Errorf("html %s, want %s", got, put(test.wantHTML))
				}
				if got := r.Text("links.markdown"); !strings.HasPrefix(got,
					put(test.wantMarkdown)[:strings.Index(test.wantMarkdown, "URL")]) {
					t.Errorf("markdown %s, want %s", got, put(test.wantMarkdown))
				}
				bb := r.Text("links.bbcode")
				if test.wantBB != "" && bb != put(test.wantBB) || test.wantBB == "" &&
					(strings.Count(bb, "[") != 2 || !strings.HasSuffix(bb, "[/url]")) {
					t.Errorf("bbcode %s", bb)
				}
			}
		})
		t.Run("permanent links", func(t *testing.T) {
			isLink := func(r *apptest.Reply) bool {
				return strings.HasPrefix(r.Text("directUrl"), apptest.BaseURL+"/api/i/")
			}
			const svg = `<svg xmlns="http://www.w3.org/2000/svg"/>`
			for _, test := range []struct {
				links              any
				png, svg, lie, txt bool
			}{
				{nil, true, false, false, false}, {"images", true, false, false, false},
				{"all", true, true, true, true}, {"none", false, false, false, false},
			} {
				body := M{"uploadPath": root}
				if test.links != nil {
					body["publicLinks"] = test.links
				}
				key := alice.In(t).Key(body)
				for name, want := range map[string]struct {
					body string
					link bool
				}{"a.png": {onePixel, test.png}, "a.svg": {svg, test.svg},
					"lie.png": {"<script>alert(1)</script>", test.lie}, "a.txt": {"words", test.txt}} {
					r := key.Post("/api/upload", want.body, "X-File-Name", name).OK(200)
					if isLink(r) != want.link {
						t.Errorf("publicLinks %v, %s: directUrl %s", test.links, name, r.Text("directUrl"))
					}
					if !want.link && r.Text("directUrl") != apptest.BaseURL+root+"/"+
						url.PathEscape(r.Text("filename")) {
						t.Errorf("directUrl %s", r.Text("directUrl"))
					}
				}
			}
		})
	})
}

// An interrupted upload releases its reservation and leaves nothing. The quota stops a body of
// unknown length.
func TestCompatibleUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		const quota = 1 << 20
		alice := l.User(t, "alice", M{"maxStorage": quota})
		key := alice.Key(M{"uploadPath": "/home/alice/img"})
		body, contentType := form(filePart("cut.bin", strings.Repeat("x", 600_000)))
		for _, cut := range []int{len(body) - 4, len(body) / 2, 300, 10} {
			r := key.Post("/api/upload", body[:cut], "Content-Type", contentType)
			if r.Status != 400 && r.Status != 422 {
				t.Errorf("a form cut at %d: %d %s", cut, r.Status, r.Body)
			}
			key.Post("/api/upload", io.MultiReader(strings.NewReader(body[:cut])), "Content-Type", contentType)
		}
		late, lateType := form(filePart("cut.bin", strings.Repeat("x", 600_000)), part{name: "path", body: "sub"})
		if r := key.Post("/api/upload", late[:len(late)-200], "Content-Type", lateType); r.Status != 400 &&
			r.Status != 422 {
			t.Errorf("a form cut after its file: %d %s", r.Status, r.Body)
		}
		// a raw body that ends before its Content-Length
		key.Do(apptest.Request{Method: "POST", Path: "/api/upload",
			Body: io.MultiReader(strings.NewReader(strings.Repeat("x", 300_000))), Length: 600_000,
			Header: map[string][]string{"X-File-Name": {"cut.bin"}}})
		listFolder(alice, "/home/alice/img").Fails(404, "NOT_FOUND")
		wantUsed(t, alice, 0, 0)

		chunked := func(size int) *apptest.Reply {
			return key.Post("/api/upload", io.MultiReader(strings.NewReader(strings.Repeat("y", size))), "X-File-Name",
				"c.bin")
		}
		chunked(quota+1).Fails(413, "QUOTA_EXCEEDED")
		key.Post("/api/upload", strings.Repeat("y", quota+1), "X-File-Name", "c.bin").Fails(413, "QUOTA_EXCEEDED")
		over, overType := form(filePart("c.bin", strings.Repeat("y", quota+1)))
		topMessage(t, key.Post("/api/upload", over, "Content-Type", overType).Fails(413, "QUOTA_EXCEEDED"))
		wantUsed(t, alice, 0, 0)
		// The whole reservation is released, possibly with a delay: the client goes on before the
		// server has noticed the closed connection.
		var whole *apptest.Reply
		waitUntil(t, "there is room again", func() bool {
			whole = chunked(quota)
			return whole.Status != 413
		})
		whole.OK(200)
		wantUsed(t, alice, quota, 1)
		chunked(1).Fails(413, "QUOTA_EXCEEDED")

		// a Content-Length is checked before the first byte of the body arrives
		announce := func(c *apptest.Client, method, path string, size int64) *apptest.Reply {
			body, writer := io.Pipe()
			defer writer.Close()
			return c.Do(apptest.Request{Method: method, Path: path, Body: body, Length: size,
				Header: map[string][]string{"X-File-Name": {"big.bin"}}})
		}
		announce(key, "POST", "/api/upload", quota+1).Fails(413, "QUOTA_EXCEEDED")
		announce(l.Admin(t).Key(M{}), "POST", "/api/upload", 20<<30+1).Fails(413, "PAYLOAD_TOO_LARGE")
		bob := l.User(t, "bob")
		id := newUploadSession(bob, "/home/bob", "f", 5)
		announce(bob, "PUT", "/api/files/upload/raw/"+id, 1<<20).Fails(422, "OPERATION_FAILED")
	})
}
