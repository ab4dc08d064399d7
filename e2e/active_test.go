package e2e

import (
	"fmt"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// sameKinds are the destinations as which a browser loads a file: more than those of the Fetch
// standard, because `top` is a navigation. Those in one line are equivalent.
var sameKinds = [][]string{
	{"top", "iframe", "object", "embed"},
	{"img", "video"},
	{"script"},
	{"module", "import"},
	{"style"},
	{"worker", "moduleworker"},
	{"shared"},
	{"service"},
}

// all selects every destination; other numbers select one of each line, in turn.
const all = -1

// requestWays are the ways in which the service serves files.
var requestWays = []string{"path", "private", "link", "gateway", "embed"}

// publicWays are those whose answers any site may embed and cache.
var publicWays = []string{"path", "link"}

// TestActiveContent stores files with active content and shows them to a signed-in browser. Abuse
// cases C67 and C68: no script of a file runs on the site's origin, whatever way the file was
// uploaded, served and displayed. The same files run when a bare file server serves them.
func TestActiveContent(t *testing.T) {
	t.Parallel()
	files := activeFiles()
	if len(files) < 60 {
		t.Fatalf("%d files, want 60 at least", len(files))
	}
	s, f := newSite(t), newProxiedSite(t)
	s.keepPort(t)
	s.env["LARDER_BASE_URL"] = f.url
	s.start(t)
	f.pass(t, "http://"+s.env["LARDER_LISTEN"])
	larder := storeActive(t, f, files)
	larder.checkHeaders(t)
	larder.checkParts(t)

	bare := bareSite(t, files)
	results := browse(t, bareVisits(bare, files), larder.visits(t))
	checkBare(t, bare, files, results[0])
	larder.check(t, results[1])
}

// bareVisits loads every file from the bare server as every destination.
func bareVisits(bare *proxiedSite, files []activeFile) profile {
	p := profile{Cookies: []browserCookie{{"auth_token", "anybody", bare.url}}}
	for _, destination := range slices.Concat(sameKinds...) {
		v := visit{Host: bare.url + "/__host", Destination: destination, URLs: map[string]string{}, Expect: []string{},
			way: "bare", own: true}
		for _, file := range files {
			v.URLs[file.id] = bare.url + "/" + url.PathEscape(file.name)
			if slices.Contains(strings.Fields(file.runs), destination) && !silent[file.name] && destination != "style" {
				v.Expect = append(v.Expect, file.id)
			}
		}
		p.Visits = append(p.Visits, v)
	}
	return p
}

// silent are the files that act without a script, which only the server notices.
var silent = map[string]bool{"refresh.html": true, "style.svg": true}

// checkBare checks the control: each file that must run has run, in the bare site's origin, and
// could read who is signed in.
func checkBare(t *testing.T, bare *proxiedSite, files []activeFile, result profiled) {
	t.Helper()
	ran, accounts, classes, heard := 0, map[string]bool{}, map[string]bool{}, bare.canaries()
	for i, v := range bareVisits(bare, files).Visits {
		got := result.Visits[i]
		for _, file := range files {
			accounts[file.id] = accounts[file.id] ||
				slices.Contains(got.Reports, "canary-account "+file.id+" "+bare.url)
			if !slices.Contains(strings.Fields(file.runs), v.Destination) {
				continue
			}
			did := slices.ContainsFunc(got.Reports,
				func(r string) bool { return strings.HasPrefix(r, "canary "+file.id+" ") })
			if silent[file.name] {
				did = len(heard[file.id]) > 0
			}
			if v.Destination == "style" {
				did = slices.Contains(got.Loaded, file.id)
			}
			if !did {
				t.Errorf("the control: %s does not run as %s", file.name, v.Destination)
			}
			ran++
			classes[file.class] = true
		}
		if len(got.Open) > 0 {
			t.Errorf("the control, %s: no end of %v", v.Destination, got.Open)
		}
	}
	readers := 0
	for _, file := range files {
		if accounts[file.id] {
			readers++
		}
	}
	t.Logf("the control: %d runs of %d classes (%v), %d files read who is signed in", ran, len(classes),
		slices.Sorted(maps.Keys(classes)), readers)
	// reading takes longer than running, and the test does not wait for it
	if ran < 240 || len(classes) < 20 || readers < 10 {
		t.Errorf("the control: too little runs for this test to mean anything")
	}
}

// larderSite is the service with the stored files.
type larderSite struct {
	front  *proxiedSite
	admin  *client
	anyone *client
	files  []activeFile
	stored []map[string]placed // in the order of files, by way of upload
	done   []visit             // the visits of the browser
}

// placed is a file stored in the service.
type placed struct{ id, path, link, private string }

var waysIn = []string{"session", "form", "raw"}

// storeActive uploads every file in every way, and a copy of each that only the administrator may
// read.
func storeActive(t *testing.T, f *proxiedSite, files []activeFile) *larderSite {
	t.Helper()
	l := &larderSite{front: f, admin: login(t, "admin", adminPassword, f.url), anyone: newClient(f.url), files: files}
	key := l.admin.createKey(t, object{"name": "active", "permissions": []string{"read", "write"},
		"protocols": []string{"api"}, "uploadPath": "/public", "publicLinks": "all"})
	withKey := withKey(key, f.url)
	for _, file := range files {
		by := map[string]placed{}
		l.session(t, "/private", file)
		for _, way := range waysIn {
			var at placed
			dir := "/public/" + way
			switch way {
			case "session":
				at.id = l.session(t, dir, file)
			case "form":
				body, kind := form(t, field("path", dir), fileNamed(file))
				var u uploaded
				withKey.do(t, "POST", "/api/upload", body, "Content-Type", kind).data(t, 200, &u)
				at.id = u.FileID
			case "raw":
				headers := []string{"X-File-Name", url.PathEscape(file.name), "X-Path", dir}
				if file.claim != "" {
					headers = append(headers, "Content-Type", file.claim)
				}
				var u uploaded
				withKey.do(t, "POST", "/api/upload", []byte(file.body), headers...).data(t, 200, &u)
				at.id = u.FileID
			}
			at.link = l.admin.permanentLink(t, at.id)
			at.path = f.url + dir + "/" + url.PathEscape(file.name)
			at.private = f.url + "/private/" + url.PathEscape(file.name)
			by[way] = at
		}
		l.stored = append(l.stored, by)
	}
	return l
}

// session uploads a file by an upload session.
func (l *larderSite) session(t *testing.T, dir string, file activeFile) (id string) {
	t.Helper()
	claim := object{}
	if file.claim != "" {
		claim["mimeType"] = file.claim
	}
	stored := l.admin.upload(t, dir, file.name, []byte(file.body), claim)
	if stored.Name != file.name {
		t.Fatalf("%s is stored as %s", file.name, stored.Name)
	}
	return stored.ID
}

// fileNamed returns the file as a part of a form.
func fileNamed(file activeFile) formPart {
	return formPart{disposition: `form-data; name="file"; filename="` + url.PathEscape(file.name) + `"`,
		mime: file.claim, content: file.body}
}

// address returns the address of a file for one way of upload and one way of serving. A gateway
// address is new each time.
func (l *larderSite) address(t *testing.T, file int, in, out string) string {
	t.Helper()
	at := l.stored[file][in]
	switch out {
	case "path":
		return at.path
	case "private":
		return at.private
	case "link":
		return at.link
	case "embed":
		return l.front.url + "/api/files/" + at.id + "/download"
	}
	return l.admin.downloadAddress(t, "/api/files/"+at.id+"/download")
}

// checkHeaders checks the headers of every file, for each way of upload and of serving.
func (l *larderSite) checkHeaders(t *testing.T) {
	t.Helper()
	for i, file := range l.files {
		for _, in := range waysIn {
			for _, out := range requestWays {
				what := fmt.Sprintf("%s (claimed %q) by %s, out by %s", file.name, file.claim, in, out)
				c, headers := l.anyone, []string(nil)
				switch out {
				case "private":
					c = l.admin
				case "embed":
					c, headers = l.admin, []string{"Sec-Fetch-Dest", "image"}
				}
				r := c.do(t, "GET", l.address(t, i, in, out), nil, headers...)
				if r.status != 200 || string(r.body) != file.body {
					t.Errorf("%s: status %d, %d bytes of %d", what, r.status, len(r.body), len(file.body))
					continue
				}
				for _, wrong := range wrongHeaders(r, file, out) {
					t.Errorf("%s: %s", what, wrong)
				}
			}
		}
	}
}

// checkParts does the same for a file uploaded in parts, whose type is determined in another way.
func (l *larderSite) checkParts(t *testing.T) {
	t.Helper()
	for i, file := range l.files {
		if file.class != "svg" && file.class != "html" && file.class != "disguised as a picture" {
			continue
		}
		var session struct{ SessionID, UploadURL string }
		l.admin.do(t, "POST", "/api/files/upload-session",
			object{"path": "/public/parts", "fileName": file.name, "fileSize": len(file.body), "partCount": 2,
				"mimeType": file.claim}).data(t, 200, &session)
		l.admin.do(t, "PUT", session.UploadURL+"1", []byte(file.body), "Content-Type", "image/png").want(t, 200)
		l.admin.do(t, "POST", "/api/files/upload-complete", object{"sessionId": session.SessionID}).want(t, 200)
		r := l.anyone.do(t, "GET", l.front.url+"/public/parts/"+url.PathEscape(file.name), nil).want(t, 200)
		for _, wrong := range wrongHeaders(r, file, "path") {
			t.Errorf("%s in parts (%d): %s", file.name, i, wrong)
		}
	}
}

// wrongHeaders lists the faults in the headers of an answer.
func wrongHeaders(r reply, file activeFile, out string) (wrong []string) {
	expect := func(name, want string) {
		if got := r.header.Get(name); got != want {
			wrong = append(wrong, fmt.Sprintf("%s: %q, want %q", name, got, want))
		}
	}
	expect("X-Content-Type-Options", "nosniff")
	public := slices.Contains(publicWays, out)
	if public {
		expect("Cross-Origin-Resource-Policy", "cross-origin")
		expect("Access-Control-Allow-Origin", "*")
	} else {
		expect("Cross-Origin-Resource-Policy", "")
		expect("Access-Control-Allow-Origin", "")
		expect("Cache-Control", "private, no-store")
	}
	got, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil || file.media != "" && got != file.media {
		wrong = append(wrong, fmt.Sprintf("Content-Type %q, want %s", r.header.Get("Content-Type"), file.media))
	}
	shown := "inline"
	if file.kind == boxed || out == "gateway" {
		shown = "attachment"
	}
	if disposition, params, err := mime.ParseMediaType(r.header.Get("Content-Disposition")); err != nil ||
		disposition != shown || params["filename"] != file.name {
		wrong = append(wrong, fmt.Sprintf("Content-Disposition %q, want %s of that name",
			r.header.Get("Content-Disposition"), shown))
	}
	policy := map[string]string{}
	for _, directive := range strings.Split(r.header.Get("Content-Security-Policy"), ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), " ")
		policy[name] = value
	}
	want := map[string]string{"default-src": "'none'", "style-src": "'unsafe-inline'"}
	switch file.kind {
	case boxed:
		want["sandbox"] = ""
	case raster:
		want["img-src"] = "'self' data:"
	case media:
		want["media-src"] = "'self'"
	}
	if !maps.Equal(policy, want) {
		wrong = append(wrong, fmt.Sprintf("Content-Security-Policy %q", r.header.Get("Content-Security-Policy")))
	}
	return wrong
}

// visits loads every file in every way from a page of the site without its policy, from the site's
// own page, and from a page of another site: from the public path as every destination, otherwise
// as one of each line. The ways of upload take turns.
func (l *larderSite) visits(t *testing.T) profile {
	t.Helper()
	l.done = l.planned(t)
	p := profile{Visits: l.done}
	site, err := url.Parse(l.front.url)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range l.admin.http.Jar.Cookies(site) {
		p.Cookies = append(p.Cookies, browserCookie{cookie.Name, cookie.Value, l.front.url})
	}
	if len(p.Cookies) == 0 {
		t.Fatal("no session cookie")
	}
	return p
}

func (l *larderSite) planned(t *testing.T) (visits []visit) {
	t.Helper()
	add := func(host, way string, turn int) {
		for _, group := range sameKinds {
			for at, destination := range group {
				v := visit{Host: host, Sealed: host == l.front.url+"/", Destination: destination,
					URLs: map[string]string{}, Expect: []string{}, way: way, own: strings.HasPrefix(host, l.front.url)}
				for i, file := range l.files {
					if turn < 0 || (i+turn)%len(group) == at {
						v.URLs[file.id] = l.address(t, i, waysIn[(i+len(visits))%len(waysIn)], way)
					}
				}
				visits = append(visits, v)
			}
		}
	}
	add(l.front.url+"/__host", "path", all)
	for turn, way := range requestWays {
		if way != "path" {
			add(l.front.url+"/__host", way, turn)
		}
		if way != "private" { // a page of another site sends no cookie
			add(l.front.elsewhere()+"/__host", way, turn)
		}
	}
	add(l.front.url+"/", "path", 0)
	return slices.DeleteFunc(visits, func(v visit) bool { // the starting page makes no difference to a navigation
		return v.Destination == "top" && v.Host != l.front.url+"/__host"
	})
}

// check fails the test for every script that ran.
func (l *larderSite) check(t *testing.T, result profiled) {
	t.Helper()
	name := map[string]string{}
	for _, file := range l.files {
		name[file.id] = file.name
	}
	shown, total, slowest, where := 0, 0, 0, ""
	for i, v := range l.done {
		got := result.Visits[i]
		what := fmt.Sprintf("as %s by %s from %s", v.Destination, v.way, v.Host)
		for _, report := range got.Reports {
			words := strings.SplitN(report, " ", 3)
			// a script that another site includes runs with that site's origin
			if words[0] != "canary" || len(words) != 3 || words[2] != l.front.elsewhere() {
				t.Errorf("%s: %s (%s)", what, report, name[words[min(1, len(words)-1)]])
			}
		}
		if v.own && slices.Contains(strings.Fields(scripted+" style"), v.Destination) && len(got.Loaded) > 0 {
			t.Errorf("%s: the browser takes %v", what, got.Loaded)
		}
		if len(got.Open) > 0 {
			t.Errorf("%s: no end of %v", what, got.Open)
		}
		total += len(v.URLs)
		if got.Ms > slowest {
			slowest, where = got.Ms, what
		}
		shown += len(got.Loaded)
	}
	for file, origins := range l.front.canaries() {
		for _, origin := range origins {
			if file != "last" && (origin == l.front.url || origin == "page") {
				t.Errorf("the canary of %s came in from %s", name[file], origin)
			}
		}
	}
	if result.Workers != 0 {
		t.Errorf("%d service workers stay", result.Workers)
	}
	t.Logf("%d files shown %d times, %d of them arrived as the requested type; the slowest visit: %s, %d ms",
		len(l.files), total, shown, where, slowest)
}
