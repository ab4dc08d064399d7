package api_test

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// basicAuth returns an Authorization header with a key's token.
func basicAuth(fullToken string) string {
	id, secret, _ := strings.Cut(fullToken, ".")
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
}

// davKey makes an API key for WebDAV of the signed-in user and returns a client that uses it.
func davKey(c *apptest.Client, body M) *apptest.Client {
	k := c.Key(M{"protocols": []string{"webdav"}}.With(body))
	k.Header.Set("Authorization", basicAuth(strings.TrimPrefix(k.Header.Get("Authorization"), "Bearer ")))
	return k
}

// davHome makes a user, and a key that may do everything in the user's home.
func davHome(t *testing.T, l *apptest.Larder, name string, extra ...M) (user, key *apptest.Client) {
	t.Helper()
	user = l.User(t, name, extra...)
	return user, davKey(user, M{"uploadPath": "/home/" + name})
}

// dav sends a WebDAV request for a path that is percent-encoded already; header is name, value,
// name, value …
func dav(c *apptest.Client, method, path string, body any, header ...string) *apptest.Reply {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return c.Do(apptest.Request{Method: method, Path: "/webdav" + path, Body: body, Header: h})
}

// wantDAVStatus fails the test unless the answer has that status and is a WebDAV answer: no JSON
// envelope and no HTML page.
func wantDAVStatus(t *testing.T, what string, r *apptest.Reply, want int) {
	t.Helper()
	wantStatus(t, what, r, want, "")
	if r.Err != nil {
		return
	}
	kind := r.Header.Get("Content-Type")
	switch {
	case kind == "" && len(r.Body) == 0: // HEAD
	case kind == "text/plain; charset=utf-8":
	case kind == "application/xml; charset=utf-8":
		var e struct {
			XMLName xml.Name `xml:"DAV: error"`
		}
		if err := xml.Unmarshal(r.Body, &e); err != nil && len(r.Body) > 0 {
			t.Errorf("%s: %v in %s", what, err, r.Body)
		}
	default:
		t.Errorf("%s: it is %s: %.200s", what, kind, r.Body)
	}
	if strings.Contains(string(r.Body), `"success"`) {
		t.Errorf("%s: an envelope: %s", what, r.Body)
	}
	wantHeader(t, r, "X-Content-Type-Options", "nosniff")
	wantHeader(t, r, "ETag", "")
	if policy := r.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("%s: Content-Security-Policy %q", what, policy)
	}
	challenge := r.Header.Get("WWW-Authenticate")
	if (want == 401) != (challenge != "") || want == 401 && !strings.HasPrefix(challenge, `Basic realm="Larder"`) {
		t.Errorf("%s: WWW-Authenticate %q", what, challenge)
	}
}

// multistatus is the body of a 207 (RFC 4918, section 14.16).
type multistatus struct {
	XMLName   xml.Name      `xml:"DAV: multistatus"`
	Responses []davResponse `xml:"DAV: response"`
}

type davResponse struct {
	Hrefs     []string `xml:"DAV: href"`
	Status    string   `xml:"DAV: status"`
	Propstats []struct {
		Prop struct {
			All []davElement `xml:",any"`
		} `xml:"DAV: prop"`
		Status string     `xml:"DAV: status"`
		Error  davElement `xml:"DAV: error"`
	} `xml:"DAV: propstat"`
}

// davElement is any element.
type davElement struct {
	XMLName xml.Name
	Attrs   []xml.Attr   `xml:",any,attr"`
	Text    string       `xml:",chardata"`
	All     []davElement `xml:",any"`
}

// at returns the element at a path of local names, empty when there is none.
func (e davElement) at(names ...string) davElement {
	if len(names) == 0 {
		return e
	}
	for _, inner := range e.All {
		if inner.XMLName.Local == names[0] && inner.XMLName.Space == "DAV:" {
			return inner.at(names[1:]...)
		}
	}
	return davElement{}
}

// statusLine returns a status as it is written in a multistatus.
func statusLine(code string) string {
	return "HTTP/1.1 " + code + " " + map[string]string{
		"200": "OK", "403": "Forbidden", "404": "Not Found", "423": "Locked", "424": "Failed Dependency",
		"507": "Insufficient Storage",
	}[code]
}

// parseMultistatus parses a multistatus. Each response has one href.
func parseMultistatus(t *testing.T, what string, r *apptest.Reply) []davResponse {
	t.Helper()
	var m multistatus
	if r.Err != nil || r.Status != 207 {
		t.Fatalf("%s: status %d, want 207: %.300s (%v)", what, r.Status, r.Body, r.Err)
	}
	if err := xml.Unmarshal(r.Body, &m); err != nil {
		t.Fatalf("%s: %v in %.2000s", what, err, r.Body)
	}
	wantHeader(t, r, "Content-Type", "application/xml; charset=utf-8")
	for _, one := range m.Responses {
		if len(one.Hrefs) != 1 {
			t.Fatalf("%s: hrefs %q", what, one.Hrefs)
		}
	}
	return m.Responses
}

// has returns a property of a response and its status in digits, "" when it is missing.
func (d davResponse) has(space, name string) (davElement, string) {
	for _, p := range d.Propstats {
		for _, e := range p.Prop.All {
			if e.XMLName.Space == space && e.XMLName.Local == name {
				digits, _, _ := strings.Cut(strings.TrimPrefix(p.Status, "HTTP/1.1 "), " ")
				return e, digits
			}
		}
	}
	return davElement{}, ""
}

// live returns the text of a property in DAV: that must be there.
func (d davResponse) live(t *testing.T, name string) string {
	t.Helper()
	e, code := d.has("DAV:", name)
	if code != "200" {
		t.Errorf("%s: %s has status %q", d.Hrefs[0], name, code)
	}
	return e.Text
}

// path returns the path of a response's href below /webdav, without the slash at the end of a
// folder.
func (d davResponse) path(t *testing.T) string {
	t.Helper()
	plain, err := url.PathUnescape(d.Hrefs[0])
	below, ours := strings.CutPrefix(plain, "/webdav/")
	if err != nil || !ours {
		t.Errorf("href %q: %v", d.Hrefs[0], err)
	}
	return "/" + strings.TrimSuffix(below, "/")
}

// davMembers lists a folder with Depth 1 and returns the names in it, sorted.
func davMembers(t *testing.T, c *apptest.Client, path string) (names []string) {
	t.Helper()
	responses := parseMultistatus(t, "PROPFIND "+path, dav(c.In(t), "PROPFIND", path, nil, "Depth", "1"))
	for _, one := range responses[1:] {
		at := one.path(t)
		names = append(names, at[strings.LastIndexByte(at, '/')+1:])
	}
	slices.Sort(names)
	return names
}
