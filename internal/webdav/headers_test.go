package webdav

import (
	"errors"
	"testing"
	"time"

	"larder/internal/fault"
	"larder/internal/vpath"
)

func TestParseDepth(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]depth{
		"0": depth0, "1": depth1, "infinity": depthInfinity, "Infinity": depthInfinity, "INFINITY": depthInfinity,
		" 0\t": depth0, "": depth1, " ": depth1,
	} {
		if got, err := parseDepth(in, depth1); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"2", "-1", "00", "01", "infinite", "1,noroot", "1, 1", "x", "\u0661"} {
		if got, err := parseDepth(in, depth1); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
}

func TestParseOverwrite(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{"": true, "T": true, "t": true, " T ": true, "F": false, "f": false,
		"\tF": false} {
		if got, err := parseOverwrite(in); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"true", "FF", "0", "T,F", "no"} {
		if got, err := parseOverwrite(in); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
}

func TestParseTimeout(t *testing.T) {
	t.Parallel()
	const most = time.Hour
	for in, want := range map[string]time.Duration{
		"Second-60": time.Minute, "second-60": time.Minute, " SECOND-60 ": time.Minute, "Second-3600": most,
		"Infinite": most, "infinite": most, "Infinite, Second-4100000000": most, "Second-60, Infinite": time.Minute,
		"Second-60,Second-5": time.Minute,
		"Second-0":           time.Second, "Second-1": time.Second, "Second-00000000000000000000060": time.Minute,
		"Second-3601": most, "Second-4100000000": most, "Second-99999999999999999999999": most,
		"Second-9223372036854775807": most,
		"":                           most, "x": most, "60": most, "Second-": most, "Second--60": most,
		"Second-+60": most, "Second-6_0": most,
		"Second-60s": most, "Second 60": most,
		"Second-\u0666": most, "Extend, Second-60": time.Minute, "Second-x, Second-60": time.Minute,
		"Second-, Second-60": time.Minute, ",,Second-60,": time.Minute, "Infinite-, Second-60": time.Minute,
	} {
		if got := parseTimeout(in, most); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

func TestParseLockToken(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		// RFC 4918 section 9.11.1
		"<urn:uuid:a515cfa4-5da4-22e1-f5b5-00a0451e6bf7>": "urn:uuid:a515cfa4-5da4-22e1-f5b5-00a0451e6bf7",
		" <opaquelocktoken:x> ":                           "opaquelocktoken:x",
	} {
		if got, err := parseLockToken(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", "urn:uuid:x", "<urn:uuid:x", "urn:uuid:x>", "<>", "<x>", "</x>", "< urn:x>",
		"<urn:x y>", "<<urn:x>>", "<urn:x>,<urn:y>", "(<urn:x>)",
	} {
		if got, err := parseLockToken(in); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestParseDestination(t *testing.T) {
	t.Parallel()
	type want struct {
		path  string
		slash bool
	}
	for in, want := range map[string]want{
		"/webdav": {"/", false}, "/webdav/": {"/", true}, "/webdav/a": {"/a", false}, "/webdav/a/": {"/a", true},
		" /webdav/a\t":      {"/a", false},
		"//webdav//a///b//": {"/a/b", true}, "/webdav/./a/.": {"/a", true}, "/./webdav/a": {"/a", false},
		"/webdav/a/%2E":            {"/a", true},
		"/webdav/a%20b/%C3%A9%2B+": {"/a b/é++", false}, "/webdav/a b/é": {"/a b/é", false},
		"/webdav/e%CC%81": {"/é", false},
		// decoded once
		"/webdav/%2561": {"/%61", false}, "/webdav/%252e%252e/a": {"/%2e%2e/a", false},
		"/webdav/a%3Fb%23c":  {"/a?b#c", false},
		"/webdav/http://x/y": {"/http:/x/y", false}, "/webdav/a@b:c": {"/a@b:c", false},
		"/%77ebdav/a": {"/a", false}, "/webdav/webdav": {"/webdav", false},
		"https://files.example.org/webdav/a": {"/a", false}, "https://files.example.org:443/webdav/a": {"/a", false},
		"HTTPS://Files.Example.ORG/webdav/A": {"/A", false}, "https://files.example.org:/webdav/a": {"/a", false},
		"https://files.example.org//webdav/a/": {"/a", true},
		// the request's own host
		"http://10.0.0.5:8080/webdav/a": {"/a", false}, "https://10.0.0.5:8080/webdav/a": {"/a", false},
		// a proxy may have ended TLS
		"http://files.example.org/webdav/a": {"/a", false}, "http://files.example.org:80/webdav/a": {"/a", false},
	} {
		got, slash, err := parseDestination(in, "https://files.example.org", "10.0.0.5:8080")
		if err != nil || got.String() != want.path || slash != want.slash {
			t.Errorf("%q: %s, %v, %v", in, got, slash, err)
		}
	}
}

func TestParseDestinationRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "webdav/a", "a", "../a", "./webdav/a", "?", "*", "files.example.org/webdav/a", ":/webdav/a",
		"1http://x/webdav/a",
		"/", "/a", "/webdavx/a", "/Webdav/a", "/web/dav/a", "/x/webdav/a", "/api/webdav/a",
		"//files.example.org/webdav/a",
		"https://files.example.org", "https://files.example.org/", "https://files.example.org/a",
		"https://files.example.org?/webdav/a",
		"https:///webdav/a", "https:/webdav/a", "https:webdav/a", "http://:80/webdav/a", "https://:443/webdav/a",
		"https://user@files.example.org/webdav/a", "https://user:password@files.example.org/webdav/a",
		"https://files.example.org@evil.example/webdav/a", "https://@files.example.org/webdav/a",
		"/webdav/a?b", "/webdav/a?", "/webdav/a#b", "/webdav/a#", "https://files.example.org/webdav/a?b=c",
		"https://files.example.org/webdav#/a",
		"/webdav/..", "/webdav/../", "/webdav/../webdav/a", "/webdav/a/../b", "/../webdav/a", "/webdav/%2e%2e/a",
		"/webdav/.%2E/a", "/x/../webdav/a",
		"/webdav/a%2Fb", "/webdav/a%2fb", "/webdav%2Fa", "/%2Fwebdav/a", "/webdav/%2F", "/webdav/a%5Cb", "/webdav/a\\b",
		"/webdav/a%", "/webdav/a%2", "/webdav/a%zz", "/%zz/../webdav/a",
		"/webdav/a%00", "/webdav/a%0A", "/webdav/a\x00", "/webdav/%FF", "/webdav/\xff", "/webdav/%20a",
		"/webdav/%E2%80%AEa",
	} {
		if got, slash, err := parseDestination(in, "https://files.example.org", "10.0.0.5:8080"); !fault.Is(err,
			fault.Invalid) || got != vpath.Root || slash {
			t.Errorf("%q: %s, %v, %v", in, got, slash, err)
		}
	}
}

func TestParseDestinationOnOtherServer(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"https://evil.example/webdav/a", "https://evil.example/webdav/a?b",
		"https://files.example.org.evil.example/webdav/a",
		"https://example.org/webdav/a",
		"http://files.example.org:443/webdav/a", "http://files.example.org:8080/webdav/a",
		"http://evil.example/webdav/a", "http://10.0.0.5/webdav/a",
		"https://files.example.org:8443/webdav/a", "https://files.example.org:80/webdav/a", "https://10.0.0.5/webdav/a",
		"http://10.0.0.5:8081/webdav/a", "ftp://files.example.org/webdav/a", "ftp://10.0.0.5:8080/webdav/a",
		"davs://files.example.org/webdav/a", "file:///webdav/a",
		"urn:webdav:a", "mailto:a", "x:/webdav/a", "https://[::1]/webdav/a",
	} {
		if got, slash, err := parseDestination(in, "https://files.example.org", "10.0.0.5:8080"); !errors.Is(err,
			errOtherServer) || got != vpath.Root || slash {
			t.Errorf("%q: %s, %v, %v", in, got, slash, err)
		}
	}
}

func TestParseDestinationByBaseAndHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, base, host string
		ok             bool
	}{
		{"http://h/webdav/a", "http://h:80", "", true}, {"http://h:80/webdav/a", "http://h", "", true},
		{"http://h:443/webdav/a", "http://h", "", false},
		{"http://H/webdav/a", "https://x", "h", true}, {"http://h:80/webdav/a", "https://x", "h", true},
		{"http://h/webdav/a", "https://x", "h:80", true},
		{"https://h/webdav/a", "http://x", "h:443", true}, {"https://h/webdav/a", "http://x", "h:80", true},
		{"http://h/webdav/a", "", "", false},
		// the default ports of http and https are the same server
		{"https://h/webdav/a", "http://h", "", true}, {"https://h:443/webdav/a", "http://h", "", true},
		{"https://h/webdav/a", "http://h:80", "", true},
		{"https://H:/webdav/a", "http://h:80", "", true}, {"http://h/webdav/a", "https://h", "", true},
		{"http://h:80/webdav/a", "https://h:443", "", true},
		{"http://h/webdav/a", "https://x", "h:443", true}, {"https://[::1]/webdav/a", "http://[::1]:80", "", true},
		{"https://h/webdav/a", "http://x", "h", true},
		// any other port is another server, and differs by scheme
		{"https://h:80/webdav/a", "http://h", "", false}, {"https://h:80/webdav/a", "http://h:80", "", false},
		{"https://h:8443/webdav/a", "http://h", "", false},
		{"https://h/webdav/a", "http://h:8080", "", false}, {"https://h:8080/webdav/a", "http://h:8080", "", false},
		{"http://h:443/webdav/a", "https://h", "", false},
		{"https://[::1]:8080/webdav/a", "http://[::1]:80", "", false},
		{"https://[::1]/webdav/a", "http://[::1]:8080", "", false},
		{"https://x.h/webdav/a", "http://h", "", false}, {"ftp://h/webdav/a", "http://h", "h", false},
		{"http://[2001:DB8::1]:8080/webdav/a", "http://[2001:db8::1]:8080", "", true},
		{"http://[::1]/webdav/a", "http://x", "[::1]:80", true},
		{"http://[::1]/webdav/a", "http://x", "[::2]", false}, {"/webdav/a", "", "", true},
		// a base below the root of its host
		{"https://h/files/webdav/a", "https://h/files", "", true}, {"/files/webdav/a", "https://h/files", "", true},
		{"https://x/files/webdav/a", "https://h/files/", "x", true},
	} {
		got, _, err := parseDestination(c.in, c.base, c.host)
		switch {
		case c.ok && (err != nil || got.String() != "/a"):
			t.Errorf("%s at %s, %s: %s, %v", c.in, c.base, c.host, got, err)
		case !c.ok && !errors.Is(err, errOtherServer):
			t.Errorf("%s at %s, %s: %s, %v", c.in, c.base, c.host, got, err)
		}
	}
	for _, in := range []string{"/webdav/a", "/files", "https://h/webdav/a", "https://h/filesx/webdav/a",
		"https://h/files/x/webdav/a"} {
		if got, _, err := parseDestination(in, "https://h/files", "x"); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s with the base /files: %s, %v", in, got, err)
		}
	}
}

func TestHref(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path   string
		folder bool
		want   string
	}{
		{"/", true, "/webdav/"}, {"/", false, "/webdav"}, {"/a", false, "/webdav/a"}, {"/a/b", true, "/webdav/a/b/"},
		{"/AZaz09-._~", false, "/webdav/AZaz09-._~"}, {"/a b", false, "/webdav/a%20b"},
		{"/é/猫", false, "/webdav/%C3%A9/%E7%8C%AB"},
		{"/!\"#$%&'()*+,", false, "/webdav/%21%22%23%24%25%26%27%28%29%2A%2B%2C"},
		{"/:;<=>?@[]^`{|}", false, "/webdav/%3A%3B%3C%3D%3E%3F%40%5B%5D%5E%60%7B%7C%7D"},
		{"/%20", false, "/webdav/%2520"},
	} {
		p, err := vpath.Parse(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := href(p, c.folder); got != c.want {
			t.Errorf("%s: %s, want %s", c.path, got, c.want)
		}
		back, slash, err := parseDestination(c.want, "https://files.example.org", "")
		if err != nil || back != p || slash != c.folder {
			t.Errorf("%s parses as %s, %v, %v", c.want, back, slash, err)
		}
	}
}

func FuzzDestination(f *testing.F) {
	for _, seed := range []string{
		"/webdav/a", "https://files.example.org/webdav/%C3%A9/", "http://h:80/webdav//a/./b", "/webdav/%2e%2e/a",
		"/webdav/a%2Fb", "//h/webdav", "urn:x", "/webdav/a?b",
	} {
		f.Add(seed, "h")
	}
	f.Fuzz(func(t *testing.T, header, host string) {
		const base = "https://files.example.org"
		p, slash, err := parseDestination(header, base, host)
		if err != nil {
			if p != vpath.Root || slash || !fault.Is(err, fault.Invalid) && !errors.Is(err, errOtherServer) {
				t.Fatalf("%q: %s, %v, %v", header, p, slash, err)
			}
			return
		}
		if clean, err := vpath.Parse(p.String()); err != nil || clean != p {
			t.Fatalf("%q became the unclean %q: %v", header, p, err)
		}
		back, backSlash, err := parseDestination(href(p, slash), base, host)
		if err != nil || back != p || backSlash != slash {
			t.Fatalf("%q is the path %q, but its address gives %q, %v: %v", header, p, back, backSlash, err)
		}
	})
}
