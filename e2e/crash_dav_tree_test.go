package e2e

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// driveKey creates a WebDAV key that may change everything below /uploads.
func driveKey(t testing.TB, admin *client) davKey {
	t.Helper()
	id, secret, _ := strings.Cut(admin.createKey(t, object{
		"name": "drive", "permissions": []string{"read", "write", "delete"}, "protocols": []string{"webdav"},
		"uploadPath": "/uploads",
	}), ".")
	return davKey{id, secret}
}

// dav returns the address of a path.
func dav(path string) string { return "/webdav" + escaped(path) }

// davResource is a resource as PROPFIND and GET show it.
type davResource struct {
	folder     bool
	hash       string // "" for a folder
	size       int64
	properties string // the values of the two properties that askAbout names
	lock       string // the token, "" for none
}

// davTree holds the resources below a folder by relative path.
type davTree map[string]davResource

const askAbout = `<?xml version="1.0"?><propfind xmlns="DAV:" xmlns:c="urn:crash"><prop><resourcetype/><getcontentlength/><lockdiscovery/><c:one/><c:two/></prop></propfind>`

// setBoth returns a PROPPATCH of both properties.
func setBoth(value string) []byte {
	return fmt.Appendf(nil,
		`<propertyupdate xmlns="DAV:" xmlns:c="urn:crash"><set><prop><c:one>%s</c:one><c:two>%[1]s</c:two></prop></set></propertyupdate>`, value)
}

// bothAre returns davResource.properties after setBoth.
func bothAre(value string) string { return value + "|" + value }

const lockIt = `<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>crash</owner></lockinfo>`

type driveListing struct {
	Responses []struct {
		Href      string `xml:"DAV: href"`
		Propstats []struct {
			Status string `xml:"DAV: status"`
			Prop   struct {
				Collection *struct{} `xml:"DAV: resourcetype>collection"`
				Size       int64     `xml:"DAV: getcontentlength"`
				Tokens     []string  `xml:"DAV: lockdiscovery>activelock>locktoken>href"`
				One        string    `xml:"urn:crash one"`
				Two        string    `xml:"urn:crash two"`
			} `xml:"DAV: prop"`
		} `xml:"DAV: propstat"`
	} `xml:"DAV: response"`
}

// things walks through a folder and reads every file. The folder's own lock and properties have the
// path "".
func (c *client) things(t testing.TB, folder string) davTree {
	t.Helper()
	found := davTree{}
	c.walkThings(t, folder, "", found, func(path string) []byte {
		return c.do(t, "GET", dav(path), nil).want(t, 200).body
	})
	return found
}

func (c *client) walkThings(t testing.TB, top, at string, found davTree, read func(path string) []byte) {
	t.Helper()
	folder := strings.TrimSuffix(top+"/"+at, "/")
	for path, is := range c.propfind(t, folder) {
		relative := strings.TrimPrefix(strings.TrimPrefix(path, top), "/")
		if relative != at && is.folder {
			c.walkThings(t, top, relative, found, read)
			continue
		}
		if !is.folder {
			body := read(path)
			if int64(len(body)) != is.size {
				t.Errorf("%s is listed with %d bytes and has %d", path, is.size, len(body))
			}
			is.hash = hash(body)
		}
		found[relative] = is
	}
}

// propfind returns a resource and its children by absolute path.
func (c *client) propfind(t testing.TB, path string) map[string]davResource {
	t.Helper()
	r := c.do(t, "PROPFIND", dav(path), []byte(askAbout), "Depth", "1").want(t, 207)
	var m driveListing
	if err := xml.Unmarshal(r.body, &m); err != nil {
		t.Fatalf("PROPFIND %s: %v in %s", path, err, r.body)
	}
	all := map[string]davResource{}
	for _, response := range m.Responses {
		at, err := url.PathUnescape(strings.TrimPrefix(response.Href, "/webdav"))
		if err != nil {
			t.Fatal(err)
		}
		at = strings.TrimSuffix(at, "/")
		if _, twice := all[at]; twice {
			t.Errorf("PROPFIND %s lists %s twice", path, at)
		}
		all[at] = davResource{}
		for _, s := range response.Propstats {
			if s.Status != "HTTP/1.1 200 OK" {
				continue
			}
			is := davResource{folder: s.Prop.Collection != nil, size: s.Prop.Size,
				lock: strings.Join(s.Prop.Tokens, " ")}
			if s.Prop.One+s.Prop.Two != "" {
				is.properties = s.Prop.One + "|" + s.Prop.Two
			}
			all[at] = is
		}
	}
	return all
}

// ifHeader returns an If header with the tokens of all locks below a folder and their resources.
func ifHeader(top string, locked davTree) []string {
	var lists []string
	for path, is := range locked {
		if is.lock != "" {
			lists = append(lists, fmt.Sprintf("<%s> (<%s>)", dav(top+"/"+path), is.lock))
		}
	}
	if lists == nil {
		return nil
	}
	slices.Sort(lists)
	return []string{"If", strings.Join(lists, " ")}
}
