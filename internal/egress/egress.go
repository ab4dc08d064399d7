// Package egress is the one way out of the service: HTTP clients, and connections to mail servers,
// that reach only addresses which a Policy allows.
//
// Where a client is sent is often for somebody else to say: an administrator names an endpoint, in
// free mode anybody does. So an address is judged twice: when it is given (Check), for a clear
// answer, and at each connection on the address that is really dialled, since a name can mean
// something else by then (abuse cases C60 to C64). Redirects are not followed, and proxies of the
// environment are not used: both would take the judgement elsewhere.
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

// ErrRefused says that a policy does not let a connection be made. It is told to nobody but the
// log: which address a name means is not for others.
var ErrRefused = errors.New("the address is not one that may be reached")

// Resolver looks names up, as net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Policy says which addresses may be reached: public ones, and those that were allowed. The zero
// Policy allows public ones. Do not change it once it is in use.
type Policy struct {
	// not public, and may be reached all the same
	Allow []netip.Prefix
	// may not be reached though public or allowed, nil for none: this service itself
	Refuse func(netip.AddrPort) bool
	// host:port, names of this service: not to be reached by them, nor by number where they lead
	OwnHosts []string
	Ports    func(port uint16) bool // may be reached, nil for all but 0
	Resolver Resolver               // nil for the system's
	// nil for a net.Dialer; address is numeric
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Limits of a client. The bodies of requests and answers have none: who sends or
// reads them sets it.
const (
	dialTimeout   = 10 * time.Second
	answerTimeout = time.Minute // until the head of the answer, once the request is written
	maxHead       = 64 << 10    // bytes of the head of an answer
	maxTried      = 8           // addresses of one name that are tried
)

// Client returns a client that connects to what p allows. The caller may shorten its limits.
func (p *Policy) Client() *http.Client {
	return &http.Client{
		Transport:     p.Transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Transport is the transport of Client, for callers with limits of their own. Who adds a Proxy or
// dials otherwise goes around the policy.
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

// DialContext connects to the first of a name's addresses that p allows and that answers; what it
// does not allow is never tried. It is for protocols other than HTTP; Client and Transport use it,
// too.
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

// connect connects to one address, which does not get the time of those after it.
func (p *Policy) connect(ctx context.Context, network string, to netip.AddrPort,
	limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if p.Dial != nil {
		return p.Dial(ctx, network, to.String())
	}
	return new(net.Dialer).DialContext(ctx, network, to.String())
}

// lookUp returns the addresses of a name, or the one that it is. What other programs read as an
// address though it is none as written (127.1, 0x7f.1, 017700000001) is not looked up: some
// resolvers know what is meant (abuse case C61).
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

// refuseOwn refuses an address that a name of this service leads to. Other names may lead there: a
// proxy can stand before several services.
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

// looksNumeric reports whether a host is an address in no form that is known here, or nothing at
// all: a name's last part never is a number.
func looksNumeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	digits, hex := strings.CutPrefix(last, "0x")
	if hex && strings.Trim(digits, "0123456789abcdef") == "" {
		return true
	}
	return strings.Trim(last, "0123456789") == "" || strings.ContainsAny(host, ":%")
}

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

// Allows reports whether a connection to an address may be made. The address that stands for none,
// 0.0.0.0 or ::, leads to this machine and is no place even where its range is allowed.
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
