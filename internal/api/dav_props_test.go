package api_test

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// propOf returns a PROPFIND body for properties by name, in DAV: unless a namespace is declared.
func propOf(names ...string) string {
	return `<propfind xmlns="DAV:"><prop><` + strings.Join(names, "/><") + `/></prop></propfind>`
}

// The test covers the request bodies of PROPFIND (RFC 4918, section 9.1). Abuse case C109.
func TestDAVPropfindRequests(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	_, key := davHome(t, l, "alice")
	for _, name := range []string{"/dir", "/dir/sub"} {
		dav(key, "MKCOL", "/home/alice"+name, nil).OK(201)
	}
	bodyOfSize := func(size int) string {
		text := propOf("getetag")
		return text + strings.Repeat(" ", size-len(text))
	}
	const at = "/home/alice/dir"
	for name, row := range map[string]struct {
		depth, body string
		want        int
	}{
		"a DTD": {"0", `<!DOCTYPE propfind><propfind xmlns="DAV:"><allprop/></propfind>`, 400},
		"entities": {"0",
			`<!DOCTYPE p [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><propfind xmlns="DAV:"><prop><x>&c;</x></prop></propfind>`, 400},
		"an entity alone":  {"0", `<propfind xmlns="DAV:"><prop><x>&c;</x></prop></propfind>`, 400},
		"no XML":           {"0", "garbage", 400},
		"half of it":       {"0", `<propfind xmlns="DAV:"><allprop/>`, 400},
		"no namespace":     {"0", `<propfind><allprop/></propfind>`, 400},
		"another root":     {"0", patchBody, 400},
		"64 KiB":           {"0", bodyOfSize(65536), 207},
		"a byte more":      {"0", bodyOfSize(65537), 413},
		"Depth 2":          {"2", "", 400},
		"Depth garbage":    {"x", "", 400},
		"Depth -1":         {"-1", "", 400},
		"Depth infinity":   {"infinity", "", 403},
		"Depth INFINITY":   {"INFINITY", "", 403},
		"everything":       {"0", `<propfind xmlns="DAV:"><allprop/></propfind>`, 207},
		"names":            {"0", `<propfind xmlns="DAV:"><propname/></propfind>`, 207},
		"257 properties":   {"0", `<propfind xmlns="DAV:"><prop>` + numberedPath("p", 257) + `</prop></propfind>`, 400},
		"no property":      {"0", `<propfind xmlns="DAV:"><prop/></propfind>`, 207},
		"unknown elements": {"0", `<propfind xmlns="DAV:"><x xmlns="u:x"/><allprop/></propfind>`, 207},
	} {
		r := dav(key, "PROPFIND", at, row.body, "Depth", row.depth)
		if row.want >= 400 {
			wantDAVStatus(t, name, r, row.want)
		}
		wantStatus(t, name, r, row.want, "")
		if row.want == 403 && !strings.Contains(string(r.Body), "propfind-finite-depth") {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	for depth, want := range map[string]int{"0": 1, "1": 2, "": 2} { // a missing Depth means 1
		var header []string
		if depth != "" {
			header = []string{"Depth", depth}
		}
		wantJSON(t, "responses at Depth "+depth,
			len(parseMultistatus(t, depth, dav(key, "PROPFIND", at, nil, header...))), want)
	}
}

func numberedPath(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<%s%d xmlns="u:x"/>`, name, i)
	}
	return b.String()
}

// The live properties of a file and a folder equal those written here by hand (RFC 4918, section
// 15; RFC 4331).
func TestDAVLiveProperties(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, key := davHome(t, l, "alice", M{"maxStorage": 1000})
		_, free := davHome(t, l, "free", M{"maxStorage": -1})
		const file = "/home/alice/a.txt"
		made := l.Clock.Now()
		dav(key, "PUT", file, "first").OK(201)
		l.Clock.Advance(90 * time.Second)
		changed := l.Clock.Now()
		etag := dav(key, "PUT", file, "content").OK(204).Header.Get("ETag")
		all := parseMultistatus(t, "allprop", dav(key, "PROPFIND", file, nil, "Depth", "0"))[0]
		wantJSON(t, "href", all.Hrefs[0], "/webdav"+file)
		for name, want := range map[string]string{
			"creationdate": made.UTC().Format("2006-01-02T15:04:05Z"), "getlastmodified": changed.UTC().
					Format("Mon, 02 Jan 2006 15:04:05 GMT"), "getetag": etag,
			"getcontentlength": "7", "getcontenttype": "text/plain; charset=utf-8", "displayname": "a.txt",
			"resourcetype": "", "lockdiscovery": "",
		} {
			if got := all.live(t, name); got != want && name != "getcontenttype" ||
				!strings.HasPrefix(got, strings.TrimSuffix(want, "; charset=utf-8")) {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		wantHeader(t, dav(key, "GET", file, nil).OK(200), "Last-Modified", all.live(t, "getlastmodified"))
		locks, _ := all.has("DAV:", "supportedlock")
		var scopes []string
		for _, entry := range locks.All {
			scopes = append(scopes, entry.at("lockscope").All[0].XMLName.Local+" "+
				entry.at("locktype").All[0].XMLName.Local)
		}
		slices.Sort(scopes)
		wantStrings(t, "supportedlock", scopes, "exclusive write", "shared write")
		// only by name: RFC 4331, section 2
		for _, name := range []string{"quota-used-bytes", "quota-available-bytes"} {
			if _, code := all.has("DAV:", name); code != "" {
				t.Errorf("allprop has %s", name)
			}
		}
		folder := parseMultistatus(t, "a folder", dav(key, "PROPFIND", "/home/alice", nil, "Depth", "0"))[0]
		wantJSON(t, "href", folder.Hrefs[0], "/webdav/home/alice/")
		if e, _ := folder.has("DAV:", "resourcetype"); e.at("collection").XMLName.Local == "" {
			t.Error("a folder is not reported as a collection")
		}
		for _, name := range []string{"getetag", "getcontentlength"} {
			if _, code := folder.has("DAV:", name); code != "" {
				t.Errorf("a folder has %s", name)
			}
		}
		quota := func(c *apptest.Client, path string) davResponse {
			return parseMultistatus(t, "quota",
				dav(c, "PROPFIND", path, propOf("quota-used-bytes", "quota-available-bytes"), "Depth", "0"))[0]
		}
		wantJSON(t, "used", quota(key, "/home/alice").live(t, "quota-used-bytes"), "7")
		wantJSON(t, "available", quota(key, "/home/alice").live(t, "quota-available-bytes"), "993")
		wantJSON(t, "used, without a limit", quota(free, "/home/free").live(t, "quota-used-bytes"), "0")
		if _, code := quota(free, "/home/free").has("DAV:", "quota-available-bytes"); code != "404" {
			t.Errorf("available without a limit: %s", code)
		}
		named := parseMultistatus(t, "by name",
			dav(key, "PROPFIND", file,
				`<propfind xmlns="DAV:" xmlns:u="u:x"><prop><getetag/><u:getetag/><none/><getetag xmlns=""/></prop></propfind>`, "Depth", "0"))[0]
		wantJSON(t, "getetag", named.live(t, "getetag"), etag)
		for space, name := range map[string]string{"u:x": "getetag", "DAV:": "none", "": "getetag"} {
			if _, code := named.has(space, name); code != "404" {
				t.Errorf("%s in %q: %q", name, space, code)
			}
		}
		for _, one := range parseMultistatus(t, "propname",
			dav(key, "PROPFIND", file, `<propfind xmlns="DAV:"><propname/></propfind>`, "Depth", "0"))[0].Propstats {
			for _, e := range one.Prop.All {
				if e.Text != "" || len(e.All) != 0 {
					t.Errorf("propname returns a value: %v", e)
				}
			}
		}
		included := parseMultistatus(t, "include",
			dav(key, "PROPFIND", "/home/alice",
				`<propfind xmlns="DAV:"><allprop/><include><quota-used-bytes/></include></propfind>`, "Depth", "0"))[0]
		wantJSON(t, "included", included.live(t, "quota-used-bytes"), "7")

		// a folder of more than a page lists the same entries as the JSON listing
		dav(key, "MKCOL", "/home/alice/many", nil).OK(201)
		parent := entryIDOf(alice, "/home/alice", "many")
		execAndRaiseVersion(t, l, `
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
			INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at, sort_key)
			SELECT 'many-' || n.i, $1, 'd' || n.i, 'd' || n.i, 0, 0, '', owner_id, 0, 0, 'd' || length(CAST(n.i AS TEXT)) || n.i FROM n, entries WHERE entries.id = $2`, parent, parent)
		shown := davMembers(t, key, "/home/alice/many")
		var listed []string
		for page := 1; page <= 6; page++ {
			listed = append(listed, listNames(alice, "/home/alice/many", "limit", "100", "page", fmt.Sprint(page))...)
		}
		slices.Sort(listed)
		if len(shown) != 600 || !slices.Equal(shown, listed) {
			t.Errorf("%d are shown, %d listed", len(shown), len(listed))
		}
	})
}

// Dead properties (RFC 4918, sections 4 and 9.2) are set all or none, in order. They move with the
// entry and are returned to actors who may read it.
func TestDAVProppatch(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		_, key := davHome(t, l, "alice")
		reader := davKey(admin, M{"permissions": []string{"read"}, "uploadPath": "/"})
		at := "/home/alice/a.txt"
		dav(key, "PUT", at, "x").OK(201)
		patch := func(inner string) davResponse {
			t.Helper()
			return parseMultistatus(t, inner,
				dav(key, "PROPPATCH", at, `<D:propertyupdate xmlns:D="DAV:" xmlns:u="u:x">`+inner+
					`</D:propertyupdate>`))[0]
		}
		wantPropStatus := func(what string, d davResponse, space, name, want string) {
			t.Helper()
			if _, code := d.has(space, name); code != want {
				t.Errorf("%s: %s has status %q, want %s", what, name, code, want)
			}
		}
		value := func(c *apptest.Client, name string) (davElement, string) {
			t.Helper()
			return parseMultistatus(t, "PROPFIND",
				dav(c, "PROPFIND", at, `<propfind xmlns="DAV:"><prop><`+name+` xmlns="u:x"/></prop></propfind>`,
					"Depth", "0"))[0].has("u:x", name)
		}
		wantPropStatus("set", patch(`<D:set><D:prop xml:lang="de"><u:a>ä &lt; <u:b c="d"/></u:a></D:prop></D:set>`),
			"u:x", "a", "200")
		for _, c := range []*apptest.Client{key, reader} {
			e, code := value(c, "a")
			if code != "200" || e.Text != "ä < " || len(e.All) != 1 || e.All[0].XMLName.Local != "b" ||
				e.All[0].XMLName.Space != "u:x" ||
				!slices.Contains(e.All[0].Attrs, xml.Attr{Name: xml.Name{Local: "c"}, Value: "d"}) {
				t.Errorf("it is %s %+v", code, e)
			}
			if !slices.ContainsFunc(e.Attrs, func(a xml.Attr) bool {
				return a.Name.Local == "lang" &&
					a.Value == "de"
			}) {
				t.Errorf("xml:lang: %v", e.Attrs)
			}
		}
		d := patch(
			`<D:set><D:prop><u:a>1</u:a></D:prop></D:set><D:remove><D:prop><u:a/></D:prop></D:remove><D:set><D:prop><u:c>2</u:c></D:prop></D:set>`)
		wantPropStatus("in order", d, "u:x", "a", "200")
		if _, code := value(key, "a"); code != "404" {
			t.Errorf("set, then removed: %s", code)
		}
		wantPropStatus("removing a missing property", patch(`<D:remove><D:prop><u:none/></D:prop></D:remove>`), "u:x",
			"none",
			"200")
		for _, name := range []string{"getetag", "getcontentlength", "resourcetype", "lockdiscovery", "creationdate",
			"getlastmodified", "supportedlock", "quota-used-bytes"} {
			d = patch(`<D:set><D:prop><u:c>changed</u:c><D:` + name + `>1</D:` + name +
				`></D:prop></D:set><D:remove><D:prop><u:e/></D:prop></D:remove>`)
			wantPropStatus("protected", d, "DAV:", name, "403")
			wantPropStatus("beside it", d, "u:x", "c", "424")
			wantPropStatus("behind it", d, "u:x", "e", "424")
		}
		if e, _ := value(key, "c"); e.Text != "2" {
			t.Errorf("a property changed together with a protected one: %s", e.Text)
		}
		d = patch(`<D:set><D:prop>` + numberedPath("p", 101) + `</D:prop></D:set>`)
		wantPropStatus("too many", d, "u:x", "p0", "507")
		if _, code := value(key, "p0"); code != "404" {
			t.Errorf("of too many, the first: %s", code)
		}
		for what, body := range map[string]string{"none": "", "garbage": "x", "a DTD": "<!DOCTYPE x>" + patchBody,
			"another root": propOf("a")} {
			wantDAVStatus(t, what, dav(key, "PROPPATCH", at, body), 400)
		}
		wantDAVStatus(t, "by an actor who may read", dav(reader, "PROPPATCH", at, patchBody), 403)
		dav(key, "MOVE", at, nil, "Destination", "/webdav/home/alice/moved.txt").OK(201)
		at = "/home/alice/moved.txt"
		if e, _ := value(key, "c"); e.Text != "2" {
			t.Errorf("after a move: %s", e.Text)
		}
		dav(key, "COPY", at, nil, "Destination", "/webdav/home/alice/copy.txt").OK(201)
		at = "/home/alice/copy.txt"
		if e, _ := value(key, "c"); e.Text != "2" { // RFC 4918, section 9.8.2
			t.Errorf("of a copy: %s", e.Text)
		}
	})
}
