package egress

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"larder/internal/fault"
)

// checkTimeout bounds the look-up of a name in Check.
const checkTimeout = 5 * time.Second

// ParseEndpoint parses the address of a server: http or https, a host, an optional port, and
// nothing else but a slash. It does not look the host up. Fault: Invalid.
func ParseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || len(text) > 255 || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery ||
		strings.Contains(text, "#") || u.Path != "" && u.Path != "/" || strings.HasSuffix(u.Host, ":") ||
		!isPlainHost(u.Hostname()) || portOf(u) == 0 {
		return nil,
			fault.New(fault.Invalid,
				"An endpoint is https:// or http:// with a host and maybe a port, without user, path or query.")
	}
	u.Path = ""
	return u, nil
}

// isPlainHost reports whether a host has only the ASCII characters of names and IP addresses. Names
// in other scripts must be in the form `xn--…`. Addresses that are valid on one interface only
// (`fe80::1%eth0`) are refused.
func isPlainHost(host string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + "0123456789" + "-._:"
	return strings.Trim(host, plain) == ""
}

// portOf returns the port of an address, by default that of http or https; 0 for an invalid one.
func portOf(u *url.URL) uint16 {
	switch {
	case u.Port() != "":
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil {
			return 0
		}
		return uint16(n)
	case u.Scheme == "http":
		return 80
	}
	return 443
}

// Check checks in advance whether an endpoint may be reached: it looks the host up, and every
// address of it must be allowed. The message is the same for unknown names and for all addresses
// that are not allowed, so that it reveals neither the address of a name nor which internal names
// exist. Fault: Invalid.
func (p *Policy) Check(ctx context.Context, endpoint *url.URL) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	addrs, err := p.lookUp(ctx, endpoint.Hostname(), portOf(endpoint))
	for _, addr := range addrs {
		if !p.Allows(netip.AddrPortFrom(addr, portOf(endpoint))) {
			err = &net.AddrError{Err: ErrRefused.Error(), Addr: addr.String()}
		}
	}
	if err != nil || len(addrs) == 0 {
		return fault.New(fault.Invalid, "The endpoint's host is not known, or is not a public address.").WithCause(err)
	}
	return nil
}
