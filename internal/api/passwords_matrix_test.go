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

// protectedContent is the content of the protected files. It begins like a video. Its length is
// part of no other number in an answer.
var protectedContent = fileHeads["video/mp4"] + strings.Repeat("protected bytes ", 6735) + "eleven more"

// protectedSize finds the length of protectedContent as a number of its own.
var protectedSize = regexp.MustCompile(`\b107795\b`)

// contentRoutes are the routes of the table that answer the content of files. Each needs read
// requests below. The route of free mode answers objects of a visitor's own bucket, never a file.
// Thumbnails have a matrix of their own (thumbnail_test.go). Pictures of accounts are no files.
var contentRoutes = []string{
	"GET /api/files/{id}/download", "GET /api/files/{id}/thumbnail", "GET /api/files/zip",
	"GET /api/shares/{id}/preview", "GET /api/shares/{id}/thumbnail",
	"GET /api/free-mode/download", "GET /api/gateway/download/{token}", "GET /api/i/{link}",
	"GET /api/i/{link}/thumbnail", "GET /api/public/avatars/{id}",
}

// protectedFile is a file behind a password.
type protectedFile struct {
	protection         string
	id, dir, url       string // url is what the compatible upload answered
	path, link         string
	etag, lastModified string                       // from before the password
	share, folder      string                       // shares of ann's: of the file, and of the folder two levels above
	tokens             map[string]map[string]string // by request, by caller
}

// callers are the callers of the matrix. A visitor has no credential; bob may download all files of
// ann's.
var callers = []string{"visitor", "bob", "ann", "admin", "ann's key", "bob's key"}

// protections are the places of the password.
var protections = []string{"file", "folder", "two above", "rule"}

// readRequest is a request that reads a file or its metadata.
type readRequest struct {
	name    string
	address func(g protectedFile, caller string) string
	header  []string
	// The expected answer: a status and a code, or 200 for metadata of the file, which may contain
	// its name.
	expected func(protection, caller string) (status int, code string)
}

var readRequests = []readRequest{
	{"public path", func(g protectedFile, _ string) string { return g.path }, nil, wantPasswordRequired},
	{"public path in a page", func(g protectedFile, _ string) string { return g.path },
		[]string{"Sec-Fetch-Dest", "image", "Accept", "image/*"}, wantPasswordRequired},
	{"download", func(g protectedFile, _ string) string { return "/api/files/" + g.id + "/download" },
		[]string{"Accept", "application/json"}, wantSignInFirst},
	{"embed", func(g protectedFile, _ string) string { return "/api/files/" + g.id + "/download" },
		[]string{"Accept", "image/*"}, wantSignInFirst},
	{"compatible address", func(g protectedFile, _ string) string { return g.url },
		[]string{"Sec-Fetch-Dest", "video", "Accept", "*/*"}, wantSignInFirst},
	{"gateway", issuedToken, nil, wantPasswordRequired},
	{"gateway, preview", issuedToken, nil, wantPasswordRequired},
	{"gateway, another password given", issuedToken, nil, wantPasswordRequired},
	{"signed link", issuedToken, nil, wantPasswordRequired},
	{"zip", func(g protectedFile, _ string) string { return "/api/files/zip?ids=" + g.id }, nil,
		func(_, caller string) (int, string) {
			if caller == "visitor" {
				return 401, "UNAUTHORIZED"
			}
			return 404, "NOT_FOUND" // the zip omits it, and nothing else was requested
		}},
	{"permanent link", func(g protectedFile, _ string) string { return g.link }, nil,
		func(string, string) (int, string) { return 404, "NOT_FOUND" }},
	{"details", func(g protectedFile, _ string) string { return "/api/files/" + g.id }, nil, wantListedForOwners},
	{"listing", func(g protectedFile, _ string) string { return "/api/files?path=" + g.dir }, nil, wantListedForOwners},
	{"public listing", func(g protectedFile, _ string) string { return "/api/public/files?path=" + g.dir }, nil,
		func(protection, _ string) (int, string) {
			return wantListedForOwners(protection, "bob")
		}},
	{"share, download", func(g protectedFile, _ string) string { return "/api/shares/" + g.share + "/download" }, nil,
		wantSharePassword},
	{"share, preview", func(g protectedFile, _ string) string { return "/api/shares/" + g.share + "/preview" }, nil,
		wantSharePassword},
	{"share, token", issuedToken, nil, wantPasswordRequired},
	{"shared folder, download", func(g protectedFile, _ string) string {
		return "/api/shares/" + g.folder + "/download?file=" + g.id
	}, nil, wantLeftOut},
	{"shared folder, preview", func(g protectedFile, _ string) string {
		return "/api/shares/" + g.folder + "/preview?file=" + g.id
	}, nil, wantLeftOut},
	{"shared folder, token", issuedToken, nil, func(protection, _ string) (int, string) {
		if status, code := wantLeftOut(protection, ""); status == 404 {
			return status, code
		}
		return 403, "PASSWORD_REQUIRED"
	}},
	{"shared folder, listing", func(g protectedFile, _ string) string {
		return "/api/shares/" + g.folder + "/files?path=/inner"
	}, nil, func(protection, _ string) (int, string) {
		if protection == "file" {
			return 200, "" // without the file
		}
		return wantLeftOut(protection, "")
	}},
	{"search", func(g protectedFile, _ string) string { return "/api/files?path=/home/ann&search=secret" }, nil,
		func(_, caller string) (int, string) {
			if caller == "visitor" {
				return 401, "UNAUTHORIZED"
			}
			return 200, ""
		}},
}

// issuedToken stands for the address of the token that was issued to the caller before the password
// was set. The address is looked up by the request's name.
func issuedToken(protectedFile, string) string { return "" }

func wantPasswordRequired(string, string) (int, string) { return 403, "PASSWORD_REQUIRED" }

func wantSignInFirst(_, caller string) (int, string) {
	if caller == "visitor" {
		return 401, "UNAUTHORIZED"
	}
	return 403, "PASSWORD_REQUIRED"
}

// wantListedForOwners expects that the contents of a folder with a password are listed for its
// owner, for administrators, and for the keys of both. A file with its own password is listed like
// any other, and a rule about downloads hides nothing.
func wantListedForOwners(protection, caller string) (int, string) {
	switch {
	case caller == "visitor":
		return 401, "UNAUTHORIZED"
	case (caller == "bob" || caller == "bob's key") && (protection == "folder" || protection == "two above"):
		return 403, "PASSWORD_REQUIRED"
	}
	return 200, ""
}

// wantSharePassword expects that a share of a protected file asks everybody for the password, its
// creator too.
func wantSharePassword(string, string) (int, string) { return 401, "INVALID_PASSWORD" }

// wantLeftOut expects that a shared folder omits entries with a password of their own. If the
// shared folder itself has a password, the share asks for it.
func wantLeftOut(protection, _ string) (int, string) {
	if protection == "file" || protection == "folder" {
		return 404, "NOT_FOUND"
	}
	return 401, "INVALID_PASSWORD"
}

// conditionalHeaders is a set of headers that could make a server answer with less, or with 304.
type conditionalHeaders struct {
	name               string
	header             func(g protectedFile) []string
	statusWithPassword int // status of a GET after the password was given
}

var conditionalHeaderSets = []conditionalHeaders{
	{"none", func(protectedFile) []string { return nil }, 200},
	{"Range", func(protectedFile) []string { return []string{"Range", "bytes=0-3"} }, 206},
	{"Range from the end", func(protectedFile) []string { return []string{"Range", "bytes=-4"} }, 206},
	{"Range beyond the end", func(protectedFile) []string { return []string{"Range", "bytes=107795-"} }, 416},
	{"If-None-Match", func(g protectedFile) []string { return []string{"If-None-Match", g.etag} }, 304},
	{"If-None-Match, weak", func(g protectedFile) []string { return []string{"If-None-Match", `"x", W/` + g.etag} },
		304},
	{"If-None-Match: *", func(protectedFile) []string { return []string{"If-None-Match", "*"} }, 304},
	{"If-Range", func(g protectedFile) []string { return []string{"If-Range", g.etag, "Range", "bytes=0-3"} }, 206},
	{"If-Range, date", func(g protectedFile) []string {
		return []string{"If-Range", g.lastModified, "Range", "bytes=0-3"}
	}, 206},
	{"If-Modified-Since", func(g protectedFile) []string { return []string{"If-Modified-Since", g.lastModified} }, 304},
	{"If-Match", func(g protectedFile) []string { return []string{"If-Match", g.etag} }, 200},
	{"If-Match, another", func(protectedFile) []string { return []string{"If-Match", `"x"`} }, 412},
	{"If-Unmodified-Since", func(g protectedFile) []string { return []string{"If-Unmodified-Since", g.lastModified} },
		200},
}

// The matrix of abuse cases C79 and C80: every read request, method and condition, for every
// caller, with a password on the file, on its folder, further above, or of a rule. No answer
// reveals bytes, size or validators; with the password given, each does.
func TestProtectedFiles(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) { newProtectedFixture(t, l).checkMatrix(t) })
}

// The same matrix with the files in a bucket to which clients are redirected. A caller who may not
// have the bytes is not redirected.
func TestProtectedFilesInABucket(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t, M{"redirect": true, "uploadMode": "worker"})
		admin := l.Admin(t)
		admin.Put(providerPath(t, admin, bucket), M{"publicDomain": makeBucketPublic(t, bucket)}).OK(200)
		f := newProtectedFixture(t, l)
		f.bucket = &bucket
		f.checkMatrix(t)
	}, apptest.ReachLoopback)
}

func (f *protectedFixture) checkMatrix(t *testing.T) {
	for i, protection := range protections {
		f.files = append(f.files, f.uploadFile(t, i, protection))
	}
	for _, g := range f.files {
		f.checkReadable(t, g)
	}
	for _, g := range f.files {
		f.setPassword(t, g)
	}
	cells := 0
	for _, g := range f.files {
		for _, d := range readRequests {
			for _, caller := range callers {
				for _, cond := range conditionalHeaderSets {
					for _, method := range []string{"GET", "HEAD"} {
						f.checkCell(t, g, d, caller, cond, method)
						cells++
					}
				}
			}
		}
	}
	given := 0
	for _, g := range f.files {
		given += f.checkAfterPassword(t, g)
	}
	t.Logf("%d cells refused, %d with the password given", cells, given)
	if want := 4 * 22 * 6 * 13 * 2; cells != want || given != 4*4*2*13*2 {
		t.Errorf("%d and %d cells ran, want %d and %d", cells, given, want, 4*4*2*13*2)
	}
}

// A route that may answer bytes needs read requests in the matrix.
func TestEveryRouteThatServesBytesIsInTheMatrix(t *testing.T) {
	t.Parallel()
	var routes []string
	for _, line := range api.TableRows() {
		if line.ServesContent {
			routes = append(routes, line.Method+" "+line.Pattern)
		}
	}
	wantStrings(t, "routes that serve bytes", routes, contentRoutes...)
}

type protectedFixture struct {
	l       *apptest.Larder
	clients map[string]*apptest.Client
	actors  map[string]access.Actor
	files   []protectedFile
	bucket  *s3test.Bucket // to which clients are redirected for bytes, nil for none
}

func newProtectedFixture(t *testing.T, l *apptest.Larder) *protectedFixture {
	t.Helper()
	admin, ann, bob := l.Admin(t), l.User(t, "ann"), l.User(t, "bob")
	f := &protectedFixture{l: l, clients: map[string]*apptest.Client{
		"visitor": l.Client(t), "bob": bob, "ann": ann, "admin": admin,
		"ann's key": ann.Key(M{"uploadPath": "/home/ann", "publicLinks": "all"}), "bob's key": bob.Key(M{}),
	}}
	f.actors = map[string]access.Actor{
		"visitor": {Role: access.Guest}, "bob": {UserID: callerID(bob), Role: access.User},
		"ann": {UserID: callerID(ann), Role: access.User}, "admin": {UserID: callerID(admin), Role: access.Admin},
	}
	addRule(admin, M{"pathPattern": "/home/ann/**", "effect": "allow", "role": "guest",
		"permissions": []string{"read", "download"}})
	addRule(admin, M{"pathPattern": "/home/ann/**", "effect": "allow", "userId": callerID(bob),
		"permissions": []string{"read", "download"}})
	return f
}

// uploadFile uploads a file as an image client does, before the password is set.
func (f *protectedFixture) uploadFile(t *testing.T, number int, protection string) protectedFile {
	t.Helper()
	g := protectedFile{protection: protection, dir: fmt.Sprintf("/home/ann/%d/inner", number),
		tokens: map[string]map[string]string{}}
	name := fmt.Sprintf("secret-%d.mp4", number)
	r := f.clients["ann's key"].Post("/api/upload", protectedContent, "X-File-Name", name, "X-Path", g.dir,
		"Content-Type", "video/mp4").OK(200)
	g.id, g.url, g.link, g.path = r.Text("fileId"), r.Text("url"), r.Text("directUrl"), g.dir+"/"+name
	seen := f.clients["visitor"].Head(g.path).OK(200)
	if before := f.clients["visitor"].Get(g.path); f.bucket != nil {
		at := redirectTarget(t, before)
		if got := fetchAsBrowser(t, at); strings.Contains(at, "?") || got.status != 200 ||
			got.body != protectedContent {
			t.Errorf("without a password: %d at %s", got.status, at)
		}
	} else {
		wantBody(t, before.OK(200), protectedContent)
	}
	g.etag, g.lastModified = seen.Header.Get("ETag"), seen.Header.Get("Last-Modified")
	if g.etag == "" || g.lastModified == "" || !strings.Contains(g.link, "/api/i/") {
		t.Fatalf("no validators, or no link: %v, %s", seen.Header, g.link)
	}
	g.share, g.folder = shareEntry(f.clients["ann"], g.id), shareEntry(f.clients["ann"],
		entryIDOf(f.clients["ann"], "/home/ann", fmt.Sprint(number)))
	for _, caller := range callers {
		f.addToken(g, "share, token", caller, shareDownload(f.clients[caller], g.share))
		f.addToken(g, "shared folder, token", caller, shareDownload(f.clients[caller], g.folder, "?file=", g.id))
	}
	for route, how := range map[string]struct {
		purpose download.Purpose
		given   []string
	}{
		"gateway": {download.Save, nil}, "gateway, preview": {download.Preview, nil},
		"gateway, another password given": {download.Save, []string{"another"}},
	} {
		g.tokens[route] = map[string]string{}
		for _, caller := range callers {
			a, known := f.actors[caller]
			if !known {
				f.addToken(g, "signed link", caller, f.signAsOwner(t, caller, g.id))
				// a key gives no password and makes no preview
				g.tokens[route][caller] = downloadURL(f.clients[caller], g.id)
				continue
			}
			f.addToken(g, "signed link", caller, f.sign(t, a, g.id))
			a.Unlocked = how.given
			g.tokens[route][caller] = f.issue(t, a, g.id, how.purpose)
		}
	}
	return g
}

// sign makes a signed link to the gateway.
func (f *protectedFixture) sign(t *testing.T, a access.Actor, id string) string {
	t.Helper()
	links, err := f.l.Apps[0].Downloads.Sign(context.Background(), a, []string{id}, time.Hour, nil)
	if err != nil || links[0].Err != nil {
		t.Fatal(err, links)
	}
	return "/api/gateway/download/" + links[0].Token
}

// signAsOwner makes a signed link, for a key as the key's owner. An issued address of the store
// itself cannot be revoked and is not part of the matrix.
func (f *protectedFixture) signAsOwner(t *testing.T, caller, id string) string {
	t.Helper()
	signed := f.clients[caller].Get("/api/files/" + id + "/copy-links?signed=true").OK(200).Text("formats.direct")
	if f.bucket == nil {
		return signed[strings.Index(signed, "/api/"):]
	}
	checkPresigned(t, *f.bucket, signed, 3600)
	owner, _, _ := strings.Cut(caller, "'")
	return f.sign(t, f.actors[owner], id)
}

func (f *protectedFixture) addToken(g protectedFile, route, caller, address string) {
	if g.tokens[route] == nil {
		g.tokens[route] = map[string]string{}
	}
	g.tokens[route][caller] = address
}

func (f *protectedFixture) issue(t *testing.T, a access.Actor, id string, purpose download.Purpose) string {
	t.Helper()
	token, _, err := f.l.Apps[0].Downloads.Issue(context.Background(), a, nil, id, purpose)
	if err != nil {
		t.Fatal(err)
	}
	return "/api/gateway/download/" + token
}

// checkReadable checks that everybody gets the bytes by every request as long as there is no
// password. It shows that the matrix can fail.
func (f *protectedFixture) checkReadable(t *testing.T, g protectedFile) {
	t.Helper()
	for _, d := range readRequests {
		for _, caller := range callers {
			r := f.send(t, g, d, caller, conditionalHeaderSets[4], "HEAD") // does not use up a token
			want := 304
			switch {
			case slices.Contains([]string{"download", "zip", "details", "listing", "search"}, d.name):
				if want = 200; caller == "visitor" {
					want = 401
				}
			case slices.Contains([]string{"public listing", "share, download", "shared folder, download",
				"shared folder, listing"}, d.name):
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

// setPassword sets the password at the place that the protection names.
func (f *protectedFixture) setPassword(t *testing.T, g protectedFile) {
	t.Helper()
	upper := strings.TrimSuffix(g.dir, "/inner")
	var at string
	switch g.protection {
	case "rule":
		for _, role := range []string{"guest", "user", "admin"} {
			rule := M{"pathPattern": upper + "/**", "effect": "allow", "role": role,
				"permissions": []string{"download"}, "requirePassword": true, "password": "open sesame", "priority": 10}
			addRule(f.clients["admin"], rule)
			addRule(f.clients["admin"], M{"pathPattern": upper + "/**", "effect": "deny", "role": role,
				"permissions": []string{"download"}, "priority": 5})
		}
		return
	case "file":
		at = g.id
	case "folder":
		at = entryIDOf(f.clients["ann"], upper, "inner")
	case "two above":
		at = entryIDOf(f.clients["ann"], "/home/ann", upper[len("/home/ann/"):])
	}
	err := f.l.Apps[0].DB.Write(context.Background(), func(tx *db.Tx) error {
		n, err := tx.Exec("UPDATE entries SET password_hash = $1, password_id = $2 WHERE id = $3",
			"a hash that no password has", "password of "+g.protection, at)
		if err == nil && n != 1 {
			err = fmt.Errorf("%d entries have the id %s", n, at)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (f *protectedFixture) send(t *testing.T, g protectedFile, d readRequest, caller string, cond conditionalHeaders,
	method string) *apptest.Reply {
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
	return f.clients[caller].In(t).Do(apptest.Request{Method: method, Path: address, Header: header})
}

// checkCell sends one request and checks that its answer reveals nothing.
func (f *protectedFixture) checkCell(t *testing.T, g protectedFile, d readRequest, caller string,
	cond conditionalHeaders, method string) {
	t.Helper()
	what := fmt.Sprintf("password on %s: %s of %s by %s with %s", g.protection, method, d.name, caller, cond.name)
	r := f.send(t, g, d, caller, cond, method)
	want, code := d.expected(g.protection, caller)
	if r.Status != want {
		t.Errorf("%s: status %d, want %d: %.200s", what, r.Status, want, r.Body)
		return
	}
	if want != 200 && method == "GET" {
		r.Fails(want, code)
	}
	for _, name := range []string{"ETag", "Last-Modified", "Content-Range", "Accept-Ranges", "Content-Disposition",
		"Location"} {
		if value := r.Header.Get(name); value != "" {
			t.Errorf("%s: %s: %s", what, name, value)
		}
	}
	if length := r.Header.Get("Content-Length"); protectedSize.MatchString(length) {
		t.Errorf("%s: Content-Length: %s", what, length)
	}
	if strings.Contains(string(r.Body), "protected bytes") {
		t.Errorf("%s: the answer contains the content", what)
	}
	if want != 200 {
		if protectedSize.Match(r.Body) || strings.Contains(string(r.Body), "secret-") ||
			r.Header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("%s: Cache-Control %q, %.200s", what, r.Header.Get("Cache-Control"), r.Body)
		}
		return
	}
	if d.name == "shared folder, listing" && (protectedSize.Match(r.Body) ||
		strings.Contains(string(r.Body), "secret-")) {
		t.Errorf("%s: it is listed: %.200s", what, r.Body)
	}
	if status, _ := wantListedForOwners(g.protection, caller); method == "GET" && d.name == "search" &&
		slices.Contains(r.Names("items"), g.path[len(g.dir)+1:]) != (status == 200) {
		t.Errorf("%s: it finds %v", what, r.Names("items"))
	}
}

// checkAfterPassword sends requests to the gateway with tokens of callers who gave the password,
// and returns their number. The service sends the bytes, also from a bucket: the publicDomain would
// answer everybody who knows the key, permanently.
func (f *protectedFixture) checkAfterPassword(t *testing.T, g protectedFile) (cells int) {
	t.Helper()
	given := []string{"password of " + g.protection}
	rules, err := f.l.Apps[0].Rules.All(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if g.protection == "rule" && r.RequirePassword {
			given = append(given, r.PasswordID)
		}
	}
	for _, caller := range callers {
		a, known := f.actors[caller]
		if !known {
			continue
		}
		a.Unlocked = given
		for _, purpose := range []download.Purpose{download.Save, download.Preview} {
			for _, cond := range conditionalHeaderSets {
				for _, method := range []string{"GET", "HEAD"} {
					address := f.issue(t, a, g.id, purpose)
					r := f.send(t, g, readRequest{address: func(protectedFile, string) string { return address }},
						"visitor", cond, method)
					if r.Status != cond.statusWithPassword || r.Status < 400 && r.Header.Get("ETag") != g.etag ||
						method == "GET" && r.Status == 200 && string(r.Body) != protectedContent {
						t.Errorf("password on %s, given by %s: %s with %s: status %d, want %d: %v", g.protection,
							caller, method, cond.name, r.Status, cond.statusWithPassword, r.Header)
					}
					cells++
				}
			}
		}
	}
	return cells
}
