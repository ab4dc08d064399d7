package apikey

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/vpath"
)

const (
	defaultUploadPath = "/uploads"
	maxNameRunes      = 100
	minExpiresIn      = 60
	maxExpiresIn      = 100 * 365 * 24 * 3600 // seconds: a century
)

// NewKey describes a key to create.
type NewKey struct {
	Name        string
	Permissions []string // of read, write, delete; at least one
	Protocols   []string // of webdav, api; at least one
	UploadPath  string   // "" for /uploads
	AllowedIPs  []string // addresses and CIDRs; none for any address
	ExpiresIn   *int64   // seconds, at least 60; nil for no expiry
	PublicLinks string   // none, images, all; "" for images with protocol api, else none
	RootOnly    bool
}

// build validates n and returns the key that it describes, without an id. Faults: Invalid,
// Forbidden for an invalid upload path.
func (n NewKey) build(now time.Time) (Key, error) {
	protocols, err := selectKnown(n.Protocols, "protocol", "webdav", "api")
	if err != nil {
		return Key{}, err
	}
	path, err := cleanUploadPath(n.UploadPath)
	if err != nil {
		return Key{}, err
	}
	if clean, err := vpath.Parse(path); err != nil || clean.Reserved() {
		return Key{}, badUploadPath("its first segment is reserved by the service")
	}
	links := n.PublicLinks
	if links == "" {
		links = "none"
		if slices.Contains(protocols, "api") {
			links = "images"
		}
	}
	k := Key{Protocols: protocols, UploadPath: path}
	c := Change{
		Name:        &n.Name,
		Permissions: &n.Permissions,
		AllowedIPs:  &n.AllowedIPs,
		ExpiresIn:   &n.ExpiresIn,
		PublicLinks: &links,
		RootOnly:    &n.RootOnly,
	}
	if err := c.apply(&k, now); err != nil {
		return Key{}, err
	}
	return k, nil
}

// apply checks the changes in c and applies them to k; now is the time from which an expiry counts.
// Fault: Invalid.
func (c Change) apply(k *Key, now time.Time) error {
	var err error
	if c.Name != nil {
		if k.Name, err = cleanName(*c.Name); err != nil {
			return err
		}
	}
	if c.Permissions != nil {
		if k.Permissions, err = selectKnown(*c.Permissions, "permission", "read", "write", "delete"); err != nil {
			return err
		}
	}
	if c.AllowedIPs != nil {
		if k.AllowedIPs, err = access.ParseAddresses(*c.AllowedIPs); err != nil {
			return err
		}
	}
	if c.ExpiresIn != nil {
		if k.ExpiresAt, err = expiry(*c.ExpiresIn, now); err != nil {
			return err
		}
	}
	if c.PublicLinks != nil {
		if !slices.Contains([]string{"none", "images", "all"}, *c.PublicLinks) {
			return fault.New(fault.Invalid, "The public links of an API key are none, images or all.")
		}
		k.PublicLinks = *c.PublicLinks
	}
	if c.RootOnly != nil {
		k.RootOnly = *c.RootOnly
	}
	return nil
}

// cleanName trims the name of a key and checks it: 1 to 100 characters, no control characters.
// Fault: Invalid.
func cleanName(s string) (string, error) {
	s = strings.TrimSpace(s)
	if n := utf8.RuneCountInString(s); n < 1 || n > maxNameRunes || !utf8.ValidString(s) ||
		strings.ContainsFunc(s, unicode.IsControl) {
		return "",
			fault.New(fault.Invalid, "The name of an API key has 1 to 100 characters, none of them control characters.")
	}
	return s, nil
}

// selectKnown checks that list has only elements of known, and returns them in the order of known,
// each once. noun names an element in messages. Fault: Invalid for an unknown element and for an
// empty list.
func selectKnown(list []string, noun string, known ...string) ([]string, error) {
	for _, s := range list {
		if !slices.Contains(known, s) {
			return nil, fault.Newf(fault.Invalid, "A %s of an API key is one of: %s.", noun, strings.Join(known, ", "))
		}
	}
	if len(list) == 0 {
		return nil, fault.Newf(fault.Invalid, "An API key needs at least one %s.", noun)
	}
	return slices.DeleteFunc(slices.Clone(known), func(s string) bool { return !slices.Contains(list, s) }), nil
}

// expiry converts seconds from now into a time in ms; nil means never. Fault: Invalid outside of 60
// seconds to 100 years.
func expiry(seconds *int64, now time.Time) (*int64, error) {
	if seconds == nil {
		return nil, nil
	}
	if *seconds < minExpiresIn || *seconds > maxExpiresIn {
		return nil, fault.New(fault.Invalid, "An API key expires in 60 seconds at the earliest, and within 100 years.")
	}
	at := now.UnixMilli() + *seconds*1000
	return &at, nil
}

// cleanUploadPath normalises the upload path of a key, a template with placeholders such as {year};
// "" becomes the default. Fault: Forbidden for `..` and `~` anywhere (abuse case C17), for unknown
// placeholders, and for anything else that is not a path.
func cleanUploadPath(s string) (string, error) {
	if s == "" {
		return defaultUploadPath, nil
	}
	if strings.Contains(s, "..") || strings.Contains(s, "~") {
		return "", badUploadPath("it must not contain \"..\" or \"~\"")
	}
	if name, found := unknownPlaceholder(s); found {
		return "", badUploadPath("there is no placeholder " + name)
	}
	path, err := vpath.Parse("/" + s)
	if err != nil {
		return "", badUploadPath(err.Error())
	}
	return path.String(), nil
}

// badUploadPath returns the fault Forbidden of an upload path; why is the rest of the sentence.
func badUploadPath(why string) error {
	return fault.Newf(fault.Forbidden, "This upload path is not valid: %s", strings.TrimSuffix(why, ".")+".")
}
