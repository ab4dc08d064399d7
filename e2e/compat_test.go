package e2e

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
)

// docs/decisions.md, Uploads: compatible uploads accept many forms. Each case sends the same
// picture like some client.
func TestCompatibleUploads(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)
	token := s.key(t, "admin")
	admin := p.admin(t)
	picture := photograph(t)
	const chinese = "猫咪 照片（1）.jpg"
	encodedWord := "=?UTF-8?B?" + base64.StdEncoding.EncodeToString([]byte(chinese)) + "?="

	type request struct {
		body    []byte
		headers []string
	}
	asForm := func(parts ...formPart) request {
		body, kind := form(t, parts...)
		return request{body, []string{"Content-Type", kind, "Authorization", "Bearer " + token}}
	}
	asRaw := func(headers ...string) request {
		return request{picture, append([]string{"Authorization", "Bearer " + token}, headers...)}
	}
	asFile := func(name string) formPart { return file("file", name, "image/jpeg", string(picture)) }
	bareToken := asForm(asFile("token.jpg"))
	bareToken.headers[2], bareToken.headers[3] = "token", token
	bareAuthorization := asForm(asFile("bare.jpg"))
	bareAuthorization.headers[3] = token

	for _, test := range []struct {
		name, path string
		request
		want string // path of the file afterwards
	}{
		{"form", "/api/upload", asForm(asFile("form.jpg")), "/uploads/form.jpg"},
		{"form at the second address", "/api/upload/upload", asForm(asFile("second.jpg")), "/uploads/second.jpg"},
		{"form at the third address", "/api/compat/upload", asForm(asFile("third.jpg")), "/uploads/third.jpg"},
		{"form with a path before the file", "/api/upload", asForm(field("path", "2026/trip"), asFile("before.jpg")),
			"/uploads/2026/trip/before.jpg"},
		{"form with a path after the file", "/api/upload", asForm(asFile("after.jpg"), field("path", "/uploads/late")),
			"/uploads/late/after.jpg"},
		{"form of ShareX with fields that mean nothing", "/api/upload",
			asForm(field("d", "1"), field("title", "shot"), asFile("sharex.jpg")), "/uploads/sharex.jpg"},
		{"form whose file field has another name", "/api/upload",
			asForm(field("x", "1"), file("smfile", "other.jpg", "image/jpeg", string(picture))), "/uploads/other.jpg"},
		{"form with a Windows path", "/api/upload", asForm(asFile(`C:\\Users\\me\\win.jpg`)), "/uploads/win.jpg"},
		{"form without a type", "/api/upload",
			asForm(file("file", "untyped.jpg", "application/octet-stream", string(picture))), "/uploads/untyped.jpg"},
		{"form, Chinese name as it is", "/api/upload", asForm(field("path", "form-raw"), asFile(chinese)),
			"/uploads/form-raw/" + chinese},
		{"form, Chinese name percent-encoded", "/api/upload",
			asForm(field("path", "form-percent"), asFile(url.PathEscape(chinese))), "/uploads/form-percent/" + chinese},
		{"form, Chinese name as an encoded word", "/api/upload",
			asForm(field("path", "form-word"), asFile(encodedWord)), "/uploads/form-word/" + chinese},
		{"token in a header of its own", "/api/upload", bareToken, "/uploads/token.jpg"},
		{"token without the word Bearer", "/api/upload", bareAuthorization, "/uploads/bare.jpg"},
		{"raw body", "/api/upload", asRaw("X-File-Name", "raw.jpg", "Content-Type", "image/jpeg"), "/uploads/raw.jpg"},
		{"raw body with the old header", "/api/upload", asRaw("filename", "old.jpg", "Content-Type", "image/jpeg"),
			"/uploads/old.jpg"},
		{"raw body with a path", "/api/upload",
			asRaw("X-File-Name", "deep.jpg", "X-Path", "a/b", "Content-Type", "image/jpeg"), "/uploads/a/b/deep.jpg"},
		{"raw body, type unknown", "/api/upload",
			asRaw("X-File-Name", "sniffed.jpg", "Content-Type", "application/octet-stream"), "/uploads/sniffed.jpg"},
		{"raw body, Chinese name as it is", "/api/upload",
			asRaw("X-File-Name", chinese, "X-Path", "raw-raw", "Content-Type", "image/jpeg"),
			"/uploads/raw-raw/" + chinese},
		{"raw body, Chinese name percent-encoded", "/api/upload",
			asRaw("X-File-Name", url.PathEscape(chinese), "X-Path", "raw-percent", "Content-Type", "image/jpeg"),
			"/uploads/raw-percent/" + chinese},
		{"raw body, Chinese name as an encoded word", "/api/upload",
			asRaw("X-File-Name", encodedWord, "X-Path", "raw-word", "Content-Type", "image/jpeg"),
			"/uploads/raw-word/" + chinese},
		{"raw body, Chinese path percent-encoded", "/api/upload",
			asRaw("X-File-Name", "a.jpg", "X-Path", url.PathEscape("旅行"), "Content-Type", "image/jpeg"),
			"/uploads/旅行/a.jpg"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			anonymous := newClient(p.url)
			r := anonymous.do(t, "POST", test.path, test.body, test.headers...)
			var u uploaded
			r.data(t, 200, &u)
			dir, name := test.want[:strings.LastIndex(test.want, "/")], test.want[strings.LastIndex(test.want, "/")+1:]
			if want := (uploaded{URL: p.url + "/api/files/" + u.FileID + "/download", FileID: u.FileID, Path: dir,
				Size: int64(len(picture)), Filename: name, DirectURL: u.DirectURL}); u != want {
				t.Errorf("the answer is %+v, want %+v", u, want)
			}
			for _, e := range admin.list(t, dir) {
				if e.Name == name && e.ID != u.FileID {
					t.Errorf("%s has id %s, the answer said %s", test.want, e.ID, u.FileID)
				}
			}
			got := anonymous.do(t, "GET", u.DirectURL, nil).want(t, 200)
			if hash(got.body) != hash(picture) {
				t.Error("the direct address gives other bytes than were sent")
			}
			if kind := got.header.Get("Content-Type"); kind != "image/jpeg" {
				t.Errorf("the type is %q, want image/jpeg", kind)
			}
			if !strings.HasPrefix(u.DirectURL, p.url+"/api/i/") || !strings.HasSuffix(u.DirectURL, ".jpg") {
				t.Errorf("the direct address %s is no permanent link of a .jpg", u.DirectURL)
			}
		})
	}
}

// Image clients receive the right errors, and nothing is stored.
func TestCompatibleUploadRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)
	token := s.key(t, "admin")
	bearer := "Bearer " + token
	wrong := token[:len(token)-1] + "x"
	if wrong == token {
		wrong = token[:len(token)-1] + "y"
	}
	onlyFields, kind := form(t, field("path", "x"))
	c := newClient(p.url)
	c.do(t, "POST", "/api/upload", []byte("x"), "X-File-Name", "a.txt").fails(t, 401, "UNAUTHORIZED")
	c.do(t, "POST", "/api/upload", []byte("x"), "X-File-Name", "a.txt", "Authorization", "Bearer "+wrong).
		fails(t, 401, "INVALID_TOKEN")
	c.do(t, "POST", "/api/upload", []byte("x"), "X-File-Name", "a.txt", "X-Path", "/home", "Authorization", bearer).
		fails(t, 403, "FORBIDDEN")
	c.do(t, "POST", "/api/upload", []byte("x"), "X-File-Name", "a.txt", "X-Path", "../home", "Authorization", bearer).
		fails(t, 403, "FORBIDDEN")
	c.do(t, "POST", "/api/upload", []byte("x"), "X-File-Name", "a.txt", "X-Path", "/uploads/../home", "Authorization",
		bearer).fails(t, 403, "FORBIDDEN")
	c.do(t, "POST", "/api/upload", onlyFields, "Content-Type", kind, "Authorization", bearer).
		fails(t, 400, "VALIDATION_ERROR")
	if admin := p.admin(t); len(admin.list(t, "/uploads"))+len(admin.list(t, "/home")) != 0 {
		t.Error("something was stored")
	}
}
