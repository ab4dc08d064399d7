package webdav

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"larder/internal/fault"
	"larder/internal/vpath"
)

// depth is how far below its resource a request reaches (RFC 4918 section 10.2).
type depth int

const (
	depth0 depth = iota
	depth1
	depthInfinity
)

// parseDepth reads a Depth header. It returns absent for an empty header. Fault: Invalid.
func parseDepth(header string, absent depth) (depth, error) {
	switch strings.ToLower(trimBlank(header)) {
	case "":
		return absent, nil
	case "0":
		return depth0, nil
	case "1":
		return depth1, nil
	case "infinity":
		return depthInfinity, nil
	}
	return 0, fault.New(fault.Invalid, "The Depth header is 0, 1 or infinity.")
}

// parseOverwrite reads an Overwrite header; an empty one means true (RFC 4918 section 10.6). Fault:
// Invalid.
func parseOverwrite(header string) (bool, error) {
	switch trimBlank(header) {
	case "", "T", "t":
		return true, nil
	case "F", "f":
		return false, nil
	}
	return false, fault.New(fault.Invalid, "The Overwrite header is T or F.")
}

// parseTimeout reads a Timeout header (RFC 4918 section 10.7). The header is only a wish, so there
// is no fault: the first time that is understood counts, raised to a second and lowered to most.
// Without one, the timeout is most.
func parseTimeout(header string, most time.Duration) time.Duration {
	for wish := range strings.SplitSeq(header, ",") {
		wish = strings.ToLower(trimBlank(wish))
		digits, limited := strings.CutPrefix(wish, "second-")
		switch {
		case wish == "infinite":
			return most
		case limited && digits != "" && strings.Trim(digits, "0123456789") == "":
			seconds, err := strconv.ParseInt(digits, 10, 64)
			if err != nil || seconds > int64(most/time.Second) { // digits that fail are too large
				return most
			}
			return max(time.Duration(seconds)*time.Second, time.Second)
		}
	}
	return most
}

// parseLockToken reads a Lock-Token header (RFC 4918 section 10.5) and returns the token without
// its angle brackets. Fault: Invalid.
func parseLockToken(header string) (string, error) {
	inside, opened := strings.CutPrefix(trimBlank(header), "<")
	token, closed := strings.CutSuffix(inside, ">")
	if !opened || !closed || !isAbsoluteURI(token) {
		return "", fault.New(fault.Invalid, "The Lock-Token header is a URI in angle brackets.")
	}
	return token, nil
}

// trimBlank removes spaces and tabs at both ends, which HTTP allows around the value of a header.
func trimBlank(header string) string { return strings.Trim(header, " \t") }

// pathSegment is the first segment of every WebDAV address.
const pathSegment = "webdav"

// errOtherServer says that an address is on another server (502: RFC 4918 section 9.8.5).
var errOtherServer = errors.New("the address is on another server")

// parseDestination reads a Destination header or a tag of an If header (RFC 4918 sections 10.3 and
// 8.3). The address is an absolute path, or an http or https URI on the server of base, which is
// the service's own address, or of host, which is the request's own; see sameServer. It returns the
// path below /webdav and whether a slash ended it. Each segment is decoded once. Fault: Invalid for
// an address that is malformed, relative or not below /webdav, that has a query, a fragment or user
// information, or in which a segment is no valid name. Error: errOtherServer.
func parseDestination(header, base, host string) (vpath.Path, bool, error) {
	target, ok := splitAddress(trimBlank(header))
	if !ok {
		return vpath.Root, false, fault.New(fault.Invalid,
			"The destination must be a URI or an absolute path, without user information.")
	}
	own, _ := splitAddress(base)
	if target.scheme != "" && !target.sameServer(own.scheme, own.authority) &&
		!target.sameServer("http", host) && !target.sameServer("https", host) {
		return vpath.Root, false, errOtherServer
	}
	if strings.ContainsAny(target.path, "?#") {
		return vpath.Root, false, fault.New(fault.Invalid, "The destination must not have a query or a fragment.")
	}
	segments, slash, err := splitPath(target.path)
	if err != nil {
		return vpath.Root, false, err
	}
	above, _, err := splitPath(own.path)
	if err != nil {
		return vpath.Root, false, err
	}
	above = append(above, pathSegment)
	if len(segments) < len(above) || !slices.Equal(segments[:len(above)], above) {
		return vpath.Root, false, fault.New(fault.Invalid, "The destination must be below /webdav.")
	}
	path, err := vpath.FromSegments(segments[len(above):])
	return path, slash && err == nil, err
}

// address is a URI split into its parts, as written except for the case of the scheme.
type address struct {
	scheme, authority string // "" for a path alone
	path              string // with query and fragment
}

// splitAddress splits an absolute URI or an absolute path into its parts. It returns false for a
// relative address, for one with user information, and for an http or https URI without a host.
func splitAddress(s string) (address, bool) {
	if s != "" && s[0] == '/' {
		return address{path: s}, true
	}
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || !isScheme(scheme) {
		return address{}, false
	}
	a := address{scheme: strings.ToLower(scheme), path: rest}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		end := strings.IndexAny(after+"/", "/?#")
		a.authority, a.path = after[:end], after[end:]
	}
	return a, !strings.Contains(a.authority, "@") && (!isWeb(a.scheme) || canonicalHost(a.scheme, a.authority) != "")
}

// sameServer reports whether scheme and authority (host and port) lead to the server of a. http and
// https at their default ports are the same server: a proxy in front may end TLS, and then the
// client, the proxy and this service each know another scheme and another of these ports.
func (a address) sameServer(scheme, authority string) bool {
	host := canonicalHost(a.scheme, a.authority)
	if host != canonicalHost(scheme, authority) {
		return false
	}
	return a.scheme == scheme || isWeb(a.scheme) && isWeb(scheme) && !hasPort(host)
}

// isWeb reports whether a scheme is http or https.
func isWeb(scheme string) bool { return scheme == "http" || scheme == "https" }

// hasPort reports whether an authority names a port. The colons of an IPv6 address are inside
// brackets.
func hasPort(authority string) bool {
	return strings.Contains(authority[strings.LastIndexByte(authority, ']')+1:], ":")
}

// canonicalHost returns host and port in the form in which they are compared: in lower case,
// without the default port of the scheme.
func canonicalHost(scheme, authority string) string {
	host := strings.TrimSuffix(strings.ToLower(authority), ":")
	switch scheme {
	case "http":
		return strings.TrimSuffix(host, ":80")
	case "https":
		return strings.TrimSuffix(host, ":443")
	}
	return host
}

// splitPath returns the decoded segments of a path without empty ones and `.`, and whether a slash
// ends it. Fault: Invalid for bad escapes.
func splitPath(path string) (segments []string, slash bool, err error) {
	for part := range strings.SplitSeq(path, "/") {
		segment, err := url.PathUnescape(part)
		if err != nil {
			return nil, false, fault.New(fault.Invalid, "The destination has an invalid "+
				"percent-encoding.").WithCause(err)
		}
		if slash = segment == "" || segment == "."; !slash {
			segments = append(segments, segment)
		}
	}
	return segments, slash, nil
}

// href returns the address of p as WebDAV responses write it: a percent-encoded path from /webdav
// on. It escapes all but the unreserved characters of RFC 3986, since clients compare addresses
// letter by letter. The address of a folder ends in a slash (RFC 4918 section 5.2).
func href(p vpath.Path, folder bool) string {
	b := []byte("/" + pathSegment)
	for _, name := range p.Names() {
		b = appendSegment(append(b, '/'), string(name))
	}
	if folder {
		b = append(b, '/')
	}
	return string(b)
}

// appendSegment appends one segment of an address, a name, with all but the unreserved characters
// percent-encoded.
func appendSegment(b []byte, name string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(name) {
		if c := name[i]; isUnreserved(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return b
}

// isUnreserved reports whether a byte may stand unescaped in any part of an address (RFC 3986,
// section 2.3).
func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' ||
		c == '~'
}
