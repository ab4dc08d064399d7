// Package egress makes the outgoing connections of the service: HTTP clients, and connections to
// mail servers, that reach only addresses which a Policy allows.
//
// Others often choose the target of a connection: an administrator names an endpoint, or in free
// mode any visitor does. So an address is checked twice: when it is given (Check), to return a
// clear message, and for each connection, on the address that is actually dialled, since a name may
// have another address by then (abuse cases C60 to C64). Redirects are not followed and proxies of
// the environment are not used, since both would bypass the check.
//
// Specification: Storage provider (public http(s) addresses only), Free-mode endpoints.
package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrRefused means that a policy does not allow a connection. Only the log contains it, since it
// reveals the address of a name.
var ErrRefused = errors.New("the address is not one that may be reached")

// Resolver looks up names like net.Resolver.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Policy decides which addresses may be reached: public addresses, and those in Allow. The zero
// Policy allows public addresses. A Policy must not be changed once it is in use.
type Policy struct {
	// not public, but allowed
	Allow []netip.Prefix
	// reports addresses that are refused even if public or in Allow, such as those of this service;
	// nil for none
	Refuse func(netip.AddrPort) bool
	// names of this service as host:port; refused by name, and so are the addresses that they
	// resolve to
	OwnHosts []string
	Ports    func(port uint16) bool // reports allowed ports; nil for all but 0
	Resolver Resolver               // nil for that of the system
	// nil for a net.Dialer; address is numeric
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Limits of a client. The bodies of requests and responses have no limit here; the caller sets one.
const (
	dialTimeout   = 10 * time.Second
	answerTimeout = time.Minute // from the end of the request to the head of the response
	maxHead       = 64 << 10    // size of the head of a response
	maxTried      = 8           // addresses of a name that are tried
)

// Client returns a client that connects only to addresses that p allows. The caller may shorten its
// limits.
func (p *Policy) Client() *http.Client {
	return &http.Client{
		Transport:     p.Transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Transport returns the transport of Client, for callers with limits of their own. A caller that
// adds a proxy or another dialer bypasses the policy.
func (p *Policy) Transport() *http.Transport {
	return &http.Transport{
		DialContext:            p.DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  answerTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHead,
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        30 * time.Second,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
	}
}

// DialContext connects to the first address of a name that p allows and that answers. It never
// tries an address that p does not allow. It is for protocols other than HTTP; Client and Transport
// use it, too.
func (p *Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", ErrRefused)
	}
	addrs, err := p.lookUp(ctx, host, uint16(port))
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	addrs = slices.DeleteFunc(addrs, func(addr netip.Addr) bool {
		return !p.Allows(netip.AddrPortFrom(addr, uint16(port)))
	})
	failed := error(ErrRefused)
	for _, addr := range addrs[:min(len(addrs), maxTried)] {
		conn, err := p.connect(ctx, network, netip.AddrPortFrom(addr, uint16(port)),
			dialTimeout/time.Duration(min(len(addrs), maxTried)))
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("dial: %w", failed)
}

// connect connects to one numeric address within limit, so that time remains for the other
// addresses of a name.
func (p *Policy) connect(ctx context.Context, network string, to netip.AddrPort,
	limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if p.Dial != nil {
		return p.Dial(ctx, network, to.String())
	}
	return new(net.Dialer).DialContext(ctx, network, to.String())
}

// lookUp returns the addresses of a host name, or the address that host itself is, without checking
// whether p allows them. Error: ErrRefused for a name of this service, and for forms that only some
// programs read as an address (127.1, 0x7f.1, 017700000001), since some resolvers understand them
// (abuse case C61).
func (p *Policy) lookUp(ctx context.Context, host string, port uint16) ([]netip.Addr, error) {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if slices.ContainsFunc(p.OwnHosts, func(own string) bool {
		return own == net.JoinHostPort(name, strconv.Itoa(int(port)))
	}) {
		return nil, ErrRefused
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, p.refuseOwn(ctx, addr, port)
	}
	if looksNumeric(name) {
		return nil, ErrRefused
	}
	return p.resolve(ctx, host)
}

// refuseOwn returns ErrRefused for an address and port that one of OwnHosts leads to, so that the
// service can't be made to call itself by its number, else nil. A name of another service that
// shares the address, behind one proxy, is not refused: lookUp calls refuseOwn for numeric hosts
// only.
func (p *Policy) refuseOwn(ctx context.Context, addr netip.Addr, port uint16) error {
	for _, own := range p.OwnHosts {
		host, digits, err := net.SplitHostPort(own)
		if err != nil || digits != strconv.Itoa(int(port)) {
			continue
		}
		if addrs, err := p.resolve(ctx, host); err == nil &&
			slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.Unmap() == addr.Unmap() }) {
			return ErrRefused
		}
	}
	return nil
}

// looksNumeric reports whether a host, which is no valid address, is a number-like text that some
// resolvers would read as one. The last label of a host name is never a number.
func looksNumeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	digits, hex := strings.CutPrefix(last, "0x")
	if hex && strings.Trim(digits, "0123456789abcdef") == "" {
		return true
	}
	return strings.Trim(last, "0123456789") == "" || strings.ContainsAny(host, ":%")
}

// resolve looks a host name up and returns all of its addresses, whether p allows them or not.
func (p *Policy) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	resolver := p.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	addrs, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up a host: %w", err)
	}
	return slices.Clone(addrs), nil
}

// Allows reports whether a connection to an address and port may be made: the address is public or
// in Allow, and neither Refuse nor Ports forbids it. The unspecified address, 0.0.0.0 or ::,
// reaches this machine, so it is refused even if its range is allowed.
func (p *Policy) Allows(to netip.AddrPort) bool {
	addr := to.Addr().Unmap()
	switch {
	case !addr.IsValid() || addr.IsUnspecified() || addr.IsMulticast() || to.Addr().Zone() != "":
		return false
	case to.Port() == 0 || p.Ports != nil && !p.Ports(to.Port()) || p.Refuse != nil &&
		p.Refuse(netip.AddrPortFrom(addr, to.Port())):
		return false
	}
	return slices.ContainsFunc(p.Allow, func(prefix netip.Prefix) bool { return prefix.Contains(addr) }) || Public(addr)
}
