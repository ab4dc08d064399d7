package mail

import (
	"net/mail"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"larder/internal/fault"
)

const maxAddressBytes = 254 // RFC 5321, sections 4.5.3.1.3 and 4.1.2: a path of 256 with its brackets

var hostPattern = regexp.MustCompile(
	`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*$`)

// IsHost reports whether s has the form of a DNS host name in ASCII, such as `localhost` or
// `mail.example.org`.
func IsHost(s string) bool { return hostPattern.MatchString(s) }

// CheckAddress returns nil for a bare address in the form of RFC 5322, at most 254 bytes, with a
// host that mail can be sent to (RFC 5321, section 4.1.2), in any script; `admin@localhost` is
// valid. It refuses display names, comments, quotes, address literals, spaces and invisible
// characters, so that nothing but an address can get into the header of a mail (abuse case C73).
// Fault: Invalid.
func CheckAddress(s string) error {
	bad := fault.New(fault.Invalid, "This is not a valid email address.")
	if len(s) > maxAddressBytes || !utf8.ValidString(s) {
		return bad
	}
	if strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune(`<>()[]"\`, r)
	}) {
		return bad
	}
	if parsed, err := mail.ParseAddress(s); err != nil || parsed.Name != "" || parsed.Address != s ||
		!IsHost(hostOf(s)) {
		return bad
	}
	return nil
}

// hostOf returns the part of an address after the @, in ASCII.
func hostOf(address string) string { return asciiHost(address[strings.LastIndexByte(address, '@')+1:]) }

// asciiHost returns the DNS form of a host name in any script, such as xn--bcher-kva.example. A
// name without such a form is returned as it is.
func asciiHost(host string) string {
	if isASCII(host) {
		return host
	}
	if name, err := idna.Lookup.ToASCII(host); err == nil {
		return name
	}
	return host
}

// withASCIIHost returns the address with its host in ASCII. Every server accepts it if the part
// before the @ is ASCII too.
func withASCIIHost(address string) string {
	return address[:strings.LastIndexByte(address, '@')+1] + hostOf(address)
}

// isASCII reports whether a text has ASCII characters only.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
