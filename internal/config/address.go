package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"larder/internal/secret"
)

// Limits of the first administrator. Specification: Limits. 128 characters of UTF-8 are at most 512
// bytes.
const (
	minPasswordRunes = 8
	maxPasswordRunes = 128
	maxEmailBytes    = 254
)

var (
	usernamePattern = regexp.MustCompile(`^[A-Za-z0-9_]{3,20}$`)
	hostPattern     = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)
)

// The readers below return the value in its normalised form, or an error that completes the
// sentence "LARDER_X …".

// optional returns a function that reads a value as read does, and also accepts the empty value,
// which means none.
func optional(read func(string) (string, error)) func(string) (string, error) {
	return func(value string) (string, error) {
		if value == "" {
			return "", nil
		}
		return read(value)
	}
}

// anyText accepts every value.
func anyText(value string) (string, error) { return value, nil }

// oneOf returns a function that reads a value and accepts only the given words.
func oneOf(words ...string) func(string) (string, error) {
	return func(value string) (string, error) {
		if !slices.Contains(words, value) {
			return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		return value, nil
	}
}

// directory reads the path of a directory, which need not exist, and cleans it.
func directory(value string) (string, error) {
	if value == "" {
		return "", errors.New("must name a directory")
	}
	if strings.ContainsRune(value, 0) {
		return "", errors.New("must not hold a NUL character")
	}
	return filepath.Clean(value), nil
}

// listenAddress reads host:port. An empty host means all interfaces, port 0 any free port.
func listenAddress(value string) (string, error) {
	host, port, err := net.SplitHostPort(value)
	if err != nil || !validPort(port, 0) {
		return "", errors.New("must be host:port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8080")
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !hostPattern.MatchString(host) {
		return "", errors.New("must begin with an IP address or a host name")
	}
	return value, nil
}

// origin reads scheme://host[:port] for http or https and returns it in lower case, without the
// default port of the scheme.
func origin(value string) (string, error) {
	shape := errors.New("must be http:// or https://, a host and perhaps a port, nothing more")
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return "", shape
	}
	if strings.ContainsAny(value, "?#@") {
		return "", shape
	}
	if u.Path != "" && u.Path != "/" {
		return "", errors.New("must not have a path: the service needs a host of its own")
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if strings.HasSuffix(u.Host, ":") || (port != "" && !validPort(port, 1)) {
		return "", errors.New("has a port that is not from 1 to 65535")
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		if addr.Zone() != "" {
			return "", errors.New("must not have an IPv6 zone")
		}
		host = "[" + addr.String() + "]"
	} else if !hostPattern.MatchString(host) {
		return "", errors.New("has no usable host (write an international name in its xn-- form)")
	}
	if (u.Scheme == "http" && port == "80") || (u.Scheme == "https" && port == "443") {
		port = ""
	}
	if port != "" {
		host += ":" + port
	}
	return u.Scheme + "://" + host, nil
}

// validPort reports whether port is a number from least to 65535, without leading zeros.
func validPort(port string, least uint64) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n >= least && strconv.FormatUint(n, 10) == port
}

// urlWithScheme returns a function that reads an address with one of the schemes, which may contain
// a password. Its errors do not repeat the address.
func urlWithScheme(schemes ...string) func(string) (string, error) {
	return func(value string) (string, error) {
		u, err := url.Parse(value)
		if err != nil {
			return "", errors.New("is not a valid URL (percent-encode special characters in its password)")
		}
		if !slices.Contains(schemes, u.Scheme) || !strings.HasPrefix(value[len(u.Scheme):], "://") {
			return "", fmt.Errorf("must begin with %s://", strings.Join(schemes, ":// or "))
		}
		return value, nil
	}
}

// webAddress reads an http(s) address without credentials and fragment.
func webAddress(value string) (string, error) {
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil ||
		u.Fragment != "" {
		return "", errors.New("must be an http:// or https:// address")
	}
	return value, nil
}

// masterKey reads the master key in base64 and returns its 32 bytes. It refuses weak keys, and an
// empty one, which is most likely a variable that was not filled in.
func masterKey(value string) (string, error) {
	key, err := secret.ParseKey(value)
	if err != nil {
		return "",
			fmt.Errorf("must be 32 random bytes in base64, as `head -c 32 /dev/urandom | base64` prints them: %w", err)
	}
	return string(key), nil
}

// username reads a user name: 3 to 20 ASCII letters, digits and underscores.
func username(value string) (string, error) {
	if !usernamePattern.MatchString(value) {
		return "", errors.New("must have 3 to 20 letters, digits and underscores")
	}
	return value, nil
}

// email reads a plain email address of at most 254 bytes.
func email(value string) (string, error) {
	addr, err := mail.ParseAddress(value)
	if err != nil || addr.Address != value || len(value) > maxEmailBytes {
		return "", errors.New("must be an email address such as admin@example.org")
	}
	return value, nil
}

// password reads a password of 8 to 128 characters.
func password(value string) (string, error) {
	n := utf8.RuneCountInString(value)
	if !utf8.ValidString(value) || n < minPasswordRunes || n > maxPasswordRunes {
		return "", fmt.Errorf("must have %d to %d characters", minPasswordRunes, maxPasswordRunes)
	}
	return value, nil
}
