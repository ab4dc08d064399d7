package api_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/db"
	"larder/internal/download"
)

// secretText is what the protected files hold, which begin as a video does. Its length stands in no other number of an answer.
var secretText = heads["video/mp4"] + strings.Repeat("protected bytes ", 6735) + "eleven more"

// itsSize finds the length of secretText as a number of its own.
var itsSize = regexp.MustCompile(`\b107795\b`)

// bytesRoutes are the routes of the table that answer the content of files. Each has doors below; a new one needs its own. The one of free mode
// answers what lies in a visitor's own bucket, and never a file. Thumbnails have a matrix of their own (thumbnail_test.go).
var bytesRoutes = []string{
	"GET /api/files/{id}/download", "GET /api/files/{id}/thumbnail", "GET /api/files/zip", "GET /api/shares/{id}/preview", "GET /api/shares/{id}/thumbnail",
	"GET /api/free-mode/download", "GET /api/gateway/download/{token}", "GET /api/i/{link}", "GET /api/i/{link}/thumbnail",
}

// guarded is a file with a password in its way.
type guarded struct {
	protection    string
	id, dir, url  string // url is what the compatible upload answered
	path, link    string
	etag, date    string                       // of before
	share, folder string                       // shares of ann's: of the file, and of the folder two above
	tokens        map[string]map[string]string // by door, by caller
}

// The callers of the matrix. A visitor has no credential; bob may download everything that ann has.
var callers = []string{"visitor", "bob", "ann", "admin", "ann's key", "bob's key"}

// protections are where the password can be.
var protections = []string{"file", "folder", "two above", "rule"}

// door is a way to a file, or to what is known about it.
type door struct {
	name    string
	address func(g guarded, caller string) string
	header  []string
	// wants is what it answers: a status and a code, or 200 for facts about the file, which then may have its name in them or not.
	wants func(protection, caller string) (status int, code string)
}

var doors = []door{
	{"public path", func(g guarded, _ string) string { return g.path }, nil, asksEverybody},
	{"public path in a page", func(g guarded, _ string) string { return g.path }, []string{"Sec-Fetch-Dest", "image", "Accept", "image/*"}, asksEverybody},
	{"download", func(g guarded, _ string) string { return "/api/files/" + g.id + "/download" }, []string{"Accept", "application/json"}, asksWhoSignedIn},
	{"embed", func(g guarded, _ string) string { return "/api/files/" + g.id + "/download" }, []string{"Accept", "image/*"}, asksWhoSignedIn},
	{"compatible address", func(g guarded, _ string) string { return g.url }, []string{"Sec-Fetch-Dest", "video", "Accept", "*/*"}, asksWhoSignedIn},
	{"gateway", token, nil, asksEverybody},
	{"gateway, preview", token, nil, asksEverybody},
	{"gateway, another password given", token, nil, asksEverybody},
	{"signed link", token, nil, asksEverybody},
	{"zip", func(g guarded, _ string) string { return "/api/files/zip?ids=" + g.id }, nil, func(_, caller string) (int, string) {
		if caller == "visitor" {
			return 401, "UNAUTHORIZED"
		}
		return 404, "NOT_FOUND" // it is left out, and nothing else was asked for
	}},
	{"permanent link", func(g guarded, _ string) string { return g.link }, nil, func(string, string) (int, string) { return 404, "NOT_FOUND" }},
	{"details", func(g guarded, _ string) string { return "/api/files/" + g.id }, nil, asksWhoMayNotList},
	{"listing", func(g guarded, _ string) string { return "/api/files?path=" + g.dir }, nil, asksWhoMayNotList},
	{"public listing", func(g guarded, _ string) string { return "/api/public/files?path=" + g.dir }, nil, func(protection, _ string) (int, string) {
		return asksWhoMayNotList(protection, "bob")
	}},
	{"share, download", func(g guarded, _ string) string { return "/api/shares/" + g.share + "/download" }, nil, asksVisitors},
	{"share, preview", func(g guarded, _ string) string { return "/api/shares/" + g.share + "/preview" }, nil, asksVisitors},
	{"share, token", token, nil, asksEverybody},
	{"shared folder, download", func(g guarded, _ string) string { return "/api/shares/" + g.folder + "/download?file=" + g.id }, nil, leftOut},
	{"shared folder, preview", func(g guarded, _ string) string { return "/api/shares/" + g.folder + "/preview?file=" + g.id }, nil, leftOut},
	{"shared folder, token", token, nil, func(protection, _ string) (int, string) {
		if status, code := leftOut(protection, ""); status == 404 {
			return status, code
		}
		return 403, "PASSWORD_REQUIRED"
	}},
	{"shared folder, listing", func(g guarded, _ string) string { return "/api/shares/" + g.folder + "/files?path=/inner" }, nil, func(protection, _ string) (int, string) {
		if protection == "file" {
			return 200, "" // without it
		}
		return leftOut(protection, "")
	}},
	{"search", func(g guarded, _ string) string { return "/api/files?path=/home/ann&search=secret" }, nil, func(_, caller string) (int, string) {
		if caller == "visitor" {
			return 401, "UNAUTHORIZED"
		}
		return 200, ""
	}},
}

// token is the address of the door's token that was issued to the caller before there was a password; filled in by name.
func token(guarded, string) string { return "" }

func asksEverybody(string, string) (int, string) { return 403, "PASSWORD_REQUIRED" }

func asksWhoSignedIn(_, caller string) (int, string) {
	if caller == "visitor" {
		return 401, "UNAUTHORIZED"
	}
	return 403, "PASSWORD_REQUIRED"
}

// asksWhoMayNotList: what is in a folder with a password is listed for its owner, for
// administrators, and for the keys of both. A file with a password stands in the listing of its
// folder like any other, and a rule about downloads hides nothing.
func asksWhoMayNotList(protection, caller string) (int, string) {
	switch {
	case caller == "visitor":
		return 401, "UNAUTHORIZED"
	case (caller == "bob" || caller == "bob's key") && (protection == "folder" || protection == "two above"):
		return 403, "PASSWORD_REQUIRED"
	}
	return 200, ""
}

// asksVisitors: a share of what is protected asks whoever comes by it, its creator too.
func asksVisitors(string, string) (int, string) { return 401, "INVALID_PASSWORD" }

// leftOut: of a shared folder what has a password of its own is not there; where the password is on the shared folder itself the share asks for it.
func leftOut(protection, _ string) (int, string) {
	if protection == "file" || protection == "folder" {
		return 404, "NOT_FOUND"
	}
	return 401, "INVALID_PASSWORD"
}

// condition is a set of headers that would let a server answer less, or that something is as it was.
type condition struct {
	name   string
	header func(g guarded) []string
	opened int // what a GET answers once the password was given
}

var conditions = []condition{
	{"none", func(guarded) []string { return nil }, 200},
	{"Range", func(guarded) []string { return []string{"Range", "bytes=0-3"} }, 206},
	{"Range from the end", func(guarded) []string { return []string{"Range", "bytes=-4"} }, 206},
	{"Range beyond the end", func(guarded) []string { return []string{"Range", "bytes=107795-"} }, 416},
	{"If-None-Match", func(g guarded) []string { return []string{"If-None-Match", g.etag} }, 304},
	{"If-None-Match, weak", func(g guarded) []string { return []string{"If-None-Match", `"x", W/` + g.etag} }, 304},
	{"If-None-Match: *", func(guarded) []string { return []string{"If-None-Match", "*"} }, 304},
	{"If-Range", func(g guarded) []string { return []string{"If-Range", g.etag, "Range", "bytes=0-3"} }, 206},
	{"If-Range, date", func(g guarded) []string { return []string{"If-Range", g.date, "Range", "bytes=0-3"} }, 206},
	{"If-Modified-Since", func(g guarded) []string { return []string{"If-Modified-Since", g.date} }, 304},
	{"If-Match", func(g guarded) []string { return []string{"If-Match", g.etag} }, 200},
	{"If-Match, another", func(guarded) []string { return []string{"If-Match", `"x"`} }, 412},
	{"If-Unmodified-Since", func(g guarded) []string { return []string{"If-Unmodified-Since", g.date} }, 200},
}

// TestProtectedFiles is the matrix of abuse case C79, and C80: every door, method and condition, for every caller, with a password on the file, on
// its folder, further above, or asked for by a rule. None of them gives bytes, size or validators away; with the password given they do.
func TestProtectedFiles(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) { newGuardedWorld(t, l).matrix(t) })
}

// The same with the files in a bucket to which clients are sent: nobody is who may not have the bytes.
func TestProtectedFilesInABucket(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t, m{"redirect": true, "uploadMode": "worker"})
		setProvider(t, l.Admin(t), bucket, m{"publicDomain": publish(t, bucket)})
		w := newGuardedWorld(t, l)
		w.bucket = &bucket
		w.matrix(t)
	}, apptest.ReachLoopback)
}

func (w *guardedWorld) matrix(t *testing.T) {
	for i, protection := range protections {
		w.files = append(w.files, w.place(t, i, protection))
	}
	for _, g := range w.files {
		w.open(t, g)
	}
	for _, g := range w.files {
		w.shut(t, g)
	}
	cells := 0
	for _, g := range w.files {
		for _, d := range doors {
			for _, caller := range callers {
				for _, cond := range conditions {
					for _, method := range []string{"GET", "HEAD"} {
						w.cell(t, g, d, caller, cond, method)
						cells++
					}
				}
			}
		}
	}
	given := 0
	for _, g := range w.files {
		given += w.proven(t, g)
	}
	t.Logf("%d cells refused, %d with the password given", cells, given)
	if want := 4 * 22 * 6 * 13 * 2; cells != want || given != 4*4*2*13*2 {
		t.Errorf("%d and %d cells ran, want %d and %d", cells, given, want, 4*4*2*13*2)
	}
}

// A route that may answer bytes needs its doors in the matrix.
func TestEveryRouteThatServesBytesIsInTheMatrix(t *testing.T) {
	t.Parallel()
	var routes []string
	for _, line := range api.Lines() {
		if line.Bytes {
			routes = append(routes, line.Method+" "+line.Pattern)
		}
	}
	same(t, "routes that serve bytes", routes, bytesRoutes...)
}

type guardedWorld struct {
	l       *apptest.Larder
	clients map[string]*apptest.Client
	actors  map[string]access.Actor
	files   []guarded
	bucket  *s3test.Bucket // to which clients are sent for bytes, nil for none
}

func newGuardedWorld(t *testing.T, l *apptest.Larder) *guardedWorld {
	t.Helper()
	admin, ann, bob := l.Admin(t), l.User(t, "ann"), l.User(t, "bob")
	w := &guardedWorld{l: l, clients: map[string]*apptest.Client{
		"visitor": l.Client(t), "bob": bob, "ann": ann, "admin": admin,
		"ann's key": ann.Key(m{"uploadPath": "/home/ann", "publicLinks": "all"}), "bob's key": bob.Key(m{}),
	}}
	id := func(c *apptest.Client) string { return c.Get("/api/auth/me").OK(200).Text("user.id") }
	w.actors = map[string]access.Actor{
		"visitor": {Role: access.Guest}, "bob": {UserID: id(bob), Role: access.User},
		"ann": {UserID: id(ann), Role: access.User}, "admin": {UserID: id(admin), Role: access.Admin},
	}
	addRule(admin, m{"pathPattern": "/home/ann/**", "effect": "allow", "role": "guest", "permissions": []string{"read", "download"}})
	addRule(admin, m{"pathPattern": "/home/ann/**", "effect": "allow", "userId": id(bob), "permissions": []string{"read", "download"}})
	return w
}

// place uploads a file as an image client does, where nothing is in its way yet.
func (w *guardedWorld) place(t *testing.T, number int, protection string) guarded {
	t.Helper()
	g := guarded{protection: protection, dir: fmt.Sprintf("/home/ann/%d/inner", number), tokens: map[string]map[string]string{}}
	name := fmt.Sprintf("secret-%d.mp4", number)
	r := w.clients["ann's key"].Post("/api/upload", secretText, "X-File-Name", name, "X-Path", g.dir, "Content-Type", "video/mp4").OK(200)
	g.id, g.url, g.link, g.path = r.Text("fileId"), r.Text("url"), r.Text("directUrl"), g.dir+"/"+name
	seen := w.clients["visitor"].Head(g.path).OK(200)
	if before := w.clients["visitor"].Get(g.path); w.bucket != nil {
		at := sentOn(t, before)
		if got := fetch(t, at); strings.Contains(at, "?") || got.status != 200 || got.body != secretText {
			t.Errorf("without a password: %d at %s", got.status, at)
		}
	} else {
		bodyIs(t, before.OK(200), secretText)
	}
	g.etag, g.date = seen.Header.Get("ETag"), seen.Header.Get("Last-Modified")
	if g.etag == "" || g.date == "" || !strings.Contains(g.link, "/api/i/") {
		t.Fatalf("no validators, or no link: %v, %s", seen.Header, g.link)
	}
	g.share, g.folder = handOut(w.clients["ann"], g.id), handOut(w.clients["ann"], idOf(w.clients["ann"], "/home/ann", fmt.Sprint(number)))
	for _, caller := range callers {
		w.remember(g, "share, token", caller, voucher(w.clients[caller], g.share))
		w.remember(g, "shared folder, token", caller, voucher(w.clients[caller], g.folder, "?file=", g.id))
	}
	for door, how := range map[string]struct {
		purpose download.Purpose
		given   []string
	}{
		"gateway": {download.Save, nil}, "gateway, preview": {download.Preview, nil}, "gateway, another password given": {download.Save, []string{"another"}},
	} {
		g.tokens[door] = map[string]string{}
		for _, caller := range callers {
			a, known := w.actors[caller]
			if !known {
				w.remember(g, "signed link", caller, w.signs(t, caller, g.id))
				g.tokens[door][caller] = ticket(w.clients[caller], g.id) // a key gives no password, and makes no preview
				continue
			}
			w.remember(g, "signed link", caller, w.sign(t, a, g.id))
			a.Unlocked = how.given
			g.tokens[door][caller] = w.issue(t, a, g.id, how.purpose)
		}
	}
	return g
}

// sign makes a signed link that is the gateway's.
func (w *guardedWorld) sign(t *testing.T, a access.Actor, id string) string {
	t.Helper()
	links, err := w.l.Apps[0].Downloads.Sign(context.Background(), a, []string{id}, time.Hour, nil)
	if err != nil || links[0].Err != nil {
		t.Fatal(err, links)
	}
	return "/api/gateway/download/" + links[0].Token
}

// signs has a key's owner make one. An address of the store's own that was handed out cannot be taken back, and is no door of the service's.
func (w *guardedWorld) signs(t *testing.T, caller, id string) string {
	t.Helper()
	signed := w.clients[caller].Get("/api/files/" + id + "/copy-links?signed=true").OK(200).Text("formats.direct")
	if w.bucket == nil {
		return signed[strings.Index(signed, "/api/"):]
	}
	presigned(t, *w.bucket, signed, 3600)
	owner, _, _ := strings.Cut(caller, "'")
	return w.sign(t, w.actors[owner], id)
}

func (w *guardedWorld) remember(g guarded, door, caller, address string) {
	if g.tokens[door] == nil {
		g.tokens[door] = map[string]string{}
	}
	g.tokens[door][caller] = address
}

func (w *guardedWorld) issue(t *testing.T, a access.Actor, id string, purpose download.Purpose) string {
	t.Helper()
	token, _, err := w.l.Apps[0].Downloads.Issue(context.Background(), a, nil, id, purpose)
	if err != nil {
		t.Fatal(err)
	}
	return "/api/gateway/download/" + token
}

// open shows that everybody gets the bytes by every door as long as there is no password, so that the matrix can fail.
func (w *guardedWorld) open(t *testing.T, g guarded) {
	t.Helper()
	for _, d := range doors {
		for _, caller := range callers {
			r := w.ask(t, g, d, caller, conditions[4], "HEAD") // uses no token up
			want := 304
			switch {
			case slices.Contains([]string{"download", "zip", "details", "listing", "search"}, d.name):
				if want = 200; caller == "visitor" {
					want = 401
				}
			case slices.Contains([]string{"public listing", "share, download", "shared folder, download", "shared folder, listing"}, d.name):
				want = 200
			case (d.name == "embed" || d.name == "compatible address") && caller == "visitor":
				want = 302
			}
			if r.Status != want {
				t.Errorf("without a password: %s for %s: status %d, want %d", d.name, caller, r.Status, want)
			}
		}
	}
}

// shut puts the password where the protection says.
func (w *guardedWorld) shut(t *testing.T, g guarded) {
	t.Helper()
	upper := strings.TrimSuffix(g.dir, "/inner")
	var at string
	switch g.protection {
	case "rule":
		for _, role := range []string{"guest", "user", "admin"} {
			rule := m{"pathPattern": upper + "/**", "effect": "allow", "role": role, "permissions": []string{"download"}, "requirePassword": true, "password": "open sesame", "priority": 10}
			addRule(w.clients["admin"], rule)
			addRule(w.clients["admin"], m{"pathPattern": upper + "/**", "effect": "deny", "role": role, "permissions": []string{"download"}, "priority": 5})
		}
		return
	case "file":
		at = g.id
	case "folder":
		at = idOf(w.clients["ann"], upper, "inner")
	case "two above":
		at = idOf(w.clients["ann"], "/home/ann", upper[len("/home/ann/"):])
	}
	err := w.l.Apps[0].DB.Write(context.Background(), func(tx *db.Tx) error {
		n, err := tx.Exec("UPDATE entries SET password_hash = $1, password_id = $2 WHERE id = $3", "a hash that no password has", "password of "+g.protection, at)
		if err == nil && n != 1 {
			err = fmt.Errorf("%d entries have the id %s", n, at)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *guardedWorld) ask(t *testing.T, g guarded, d door, caller string, cond condition, method string) *apptest.Reply {
	t.Helper()
	address := d.address(g, caller)
	if address == "" {
		address = g.tokens[d.name][caller]
	}
	header := http.Header{}
	for _, pairs := range [][]string{d.header, cond.header(g)} {
		for i := 0; i+1 < len(pairs); i += 2 {
			header.Set(pairs[i], pairs[i+1])
		}
	}
	return w.clients[caller].In(t).Do(apptest.Request{Method: method, Path: address, Header: header})
}

// cell asks once, and looks for whatever an answer could give away.
func (w *guardedWorld) cell(t *testing.T, g guarded, d door, caller string, cond condition, method string) {
	t.Helper()
	what := fmt.Sprintf("password on %s: %s of %s by %s with %s", g.protection, method, d.name, caller, cond.name)
	r := w.ask(t, g, d, caller, cond, method)
	want, code := d.wants(g.protection, caller)
	if r.Status != want {
		t.Errorf("%s: status %d, want %d: %.200s", what, r.Status, want, r.Body)
		return
	}
	if want != 200 && method == "GET" {
		r.Fails(want, code)
	}
	for _, name := range []string{"ETag", "Last-Modified", "Content-Range", "Accept-Ranges", "Content-Disposition", "Location"} {
		if value := r.Header.Get(name); value != "" {
			t.Errorf("%s: %s: %s", what, name, value)
		}
	}
	if length := r.Header.Get("Content-Length"); itsSize.MatchString(length) {
		t.Errorf("%s: Content-Length: %s", what, length)
	}
	if strings.Contains(string(r.Body), "protected bytes") {
		t.Errorf("%s: it has the bytes", what)
	}
	if want != 200 {
		if itsSize.Match(r.Body) || strings.Contains(string(r.Body), "secret-") || r.Header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("%s: Cache-Control %q, %.200s", what, r.Header.Get("Cache-Control"), r.Body)
		}
		return
	}
	if d.name == "shared folder, listing" && (itsSize.Match(r.Body) || strings.Contains(string(r.Body), "secret-")) {
		t.Errorf("%s: it is listed: %.200s", what, r.Body)
	}
	if status, _ := asksWhoMayNotList(g.protection, caller); method == "GET" && d.name == "search" && slices.Contains(r.Names("items"), g.path[len(g.dir)+1:]) != (status == 200) {
		t.Errorf("%s: it finds %v", what, r.Names("items"))
	}
}

// proven asks at the gateway with tokens of callers who gave the password; it returns how often. The service sends the bytes, from a bucket too: the
// publicDomain would answer whoever has learned the key, for good.
func (w *guardedWorld) proven(t *testing.T, g guarded) (cells int) {
	t.Helper()
	given := []string{"password of " + g.protection}
	rules, err := w.l.Apps[0].Rules.All(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if g.protection == "rule" && r.RequirePassword {
			given = append(given, r.PasswordID)
		}
	}
	for _, caller := range callers {
		a, known := w.actors[caller]
		if !known {
			continue
		}
		a.Unlocked = given
		for _, purpose := range []download.Purpose{download.Save, download.Preview} {
			for _, cond := range conditions {
				for _, method := range []string{"GET", "HEAD"} {
					address := w.issue(t, a, g.id, purpose)
					r := w.ask(t, g, door{address: func(guarded, string) string { return address }}, "visitor", cond, method)
					if r.Status != cond.opened || r.Status < 400 && r.Header.Get("ETag") != g.etag || method == "GET" && r.Status == 200 && string(r.Body) != secretText {
						t.Errorf("password on %s, given by %s: %s with %s: status %d, want %d: %v", g.protection, caller, method, cond.name, r.Status, cond.opened, r.Header)
					}
					cells++
				}
			}
		}
	}
	return cells
}
