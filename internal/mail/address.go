package mail

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"larder/internal/fault"
)

const maxAddressBytes = 254 // RFC 5321, sections 4.5.3.1.3 and 4.1.2: a path of 256 with its brackets

// CheckAddress takes a bare address as RFC 5322 writes it, at most 254 bytes; `admin@localhost` is one. Display names, comments, quotes,
// address literals, spaces and invisible characters are refused, so that nothing but an address ever enters the header of a mail (abuse case C73).
// Fault: Invalid.
func CheckAddress(s string) error {
	bad := fault.New(fault.Invalid, "This is not a valid e-mail address.")
	if len(s) > maxAddressBytes || !utf8.ValidString(s) {
		return bad
	}
	if strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune(`<>()[]"\`, r)
	}) {
		return bad
	}
	if parsed, err := mail.ParseAddress(s); err != nil || parsed.Name != "" || parsed.Address != s {
		return bad
	}
	return nil
}

// hostOf is the part of an address behind the @, in ASCII.
func hostOf(address string) string { return inASCII(address[strings.LastIndexByte(address, '@')+1:]) }

// inASCII writes the name of a host as DNS knows it. One that can't be written so stays as it is.
func inASCII(host string) string {
	if ascii(host) {
		return host
	}
	if name, err := idna.Lookup.ToASCII(host); err == nil {
		return name
	}
	return host
}

// reachable is the address with its host in ASCII: any server takes that, as long as the part before the @ is ASCII too.
func reachable(address string) string {
	return address[:strings.LastIndexByte(address, '@')+1] + hostOf(address)
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
