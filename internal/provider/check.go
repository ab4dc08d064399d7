package provider

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"larder/internal/blob"
	"larder/internal/fault"
)

// Limits, in characters. Specification: Storage provider.
const (
	maxName   = 100
	maxRegion = 64
	maxDomain = 255
)

// Check reports what keeps p from being stored, and brings what was left out and what can be written in several ways into the form that is
// stored. Fault: Invalid.
func (p *Provider) Check() error {
	if p.Type != BuiltIn {
		return fault.New(fault.Invalid, "The type must be store_a: this version does not open S3-compatible stores (store_b, store_c) yet.")
	}
	if p.Region == "" {
		p.Region = "auto"
	}
	if p.UploadMode == "" {
		p.UploadMode = "auto"
	}
	p.PathPrefix = strings.Trim(p.PathPrefix, "/")
	switch {
	case strings.TrimSpace(p.Name) == "" || utf8.RuneCountInString(p.Name) > maxName || strings.ContainsFunc(p.Name, unicode.IsControl):
		return fault.New(fault.Invalid, "A provider's name has 1 to 100 characters, none of them a control character.")
	case !bucketName.MatchString(p.Bucket):
		return badBucket()
	case len(p.Region) > maxRegion || strings.ContainsFunc(p.Region, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fault.New(fault.Invalid, "A region has at most 64 letters, digits and signs.")
	case !domain(p.PublicDomain):
		return fault.New(fault.Invalid, "publicDomain must be a host or an http(s) address.")
	case !domain(p.UploadDomain):
		return fault.New(fault.Invalid, "uploadDomain must be a host or an http(s) address.")
	case !slices.Contains([]string{"auto", "presigned", "worker"}, p.UploadMode):
		return fault.New(fault.Invalid, "The upload mode is auto, presigned or worker.")
	}
	if _, err := blob.NewShard(p.PathPrefix, nil); err != nil {
		return fault.New(fault.Invalid, "A path prefix is segments of 1 to 64 letters, digits, dots, underscores and hyphens that begin with a letter or digit, "+
			"joined by slashes, 459 characters in all; the first must not be tmp.").Because(err)
	}
	return nil
}

// host is a name or an IPv4 address, or an IPv6 address in brackets, with or without a port.
var host = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// domain reports whether s is empty, a host, or an http(s) address without credentials, query and fragment.
func domain(s string) bool {
	if s == "" || len(s) <= maxDomain && host.MatchString(s) {
		return true
	}
	u, err := url.Parse(s)
	plain := !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'<>\\`{}|^", r) })
	return err == nil && plain && len(s) <= maxDomain && (u.Scheme == "http" || u.Scheme == "https") && host.MatchString(u.Host) &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(s, "#")
}
