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

// checkTimeout bounds how long a name may take to be looked up when an address is given.
const checkTimeout = 5 * time.Second

// ParseEndpoint reads the address of a server that is to be reached: http or https, a host, maybe a
// port, and nothing else but a slash. What the host means is not looked at. Fault: Invalid.
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

// isPlainHost reports whether a host has only the characters of names and addresses;
// names in other scripts are written as `xn--…`, and addresses that hold on one interface
// only (`fe80::1%eth0`) are none.
func isPlainHost(host string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + "0123456789" + "-._:"
	return strings.Trim(host, plain) == ""
}

// portOf is the port of an address, 0 for one that is none.
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

// Check reports whether an endpoint can be reached as far as that can be known beforehand: its host
// is looked up, and every address of it must be allowed. The sentence is the same for whatever is
// not, and for names that nobody knows, so that it tells nothing of what lies behind a name, nor
// which names are known inside. Fault: Invalid.
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
