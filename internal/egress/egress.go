// Package egress is the one way out of the service: HTTP clients that reach only addresses which a Policy allows.
//
// Where a client is sent is often for somebody else to say: an administrator names an endpoint, in free mode anybody does. So an address is
// judged twice: when it is given (Check), for a clear answer, and at each connection on the address that is really dialled, since a name can
// mean something else by then (abuse cases C60 to C64). Redirects are not followed, and proxies of the environment are not used: both would
// take the judgement elsewhere.
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
	"time"
)

// ErrRefused says that a policy does not let a connection be made. It is told to nobody but the log: which address a name means is not for others.
var ErrRefused = errors.New("the address is not one that may be reached")

// Resolver looks names up, as net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Policy says which addresses may be reached: public ones, and those that were allowed. The zero Policy allows public ones. Do not change it once
// it is in use.
type Policy struct {
	Allow    []netip.Prefix                                                       // not public, and may be reached all the same
	Refuse   func(netip.AddrPort) bool                                            // may not be reached though public, nil for none: this service itself
	Ports    func(port uint16) bool                                               // may be reached, nil for all but 0
	Resolver Resolver                                                             // nil for the system's
	Dial     func(ctx context.Context, network, address string) (net.Conn, error) // nil for a net.Dialer; address is numeric
}

// Limits of time of a client. The bodies of requests and answers have none: who sends or reads them sets it.
const (
	dialTimeout   = 10 * time.Second
	answerTimeout = time.Minute // until the head of the answer, once the request is written
)

// Client returns a client that connects to what p allows. The caller may shorten its limits.
func (p *Policy) Client() *http.Client {
	return &http.Client{
		Transport:     p.Transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Transport is the transport of Client, for callers with limits of their own.
func (p *Policy) Transport() *http.Transport {
	return &http.Transport{
		DialContext:           p.dial,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: answerTimeout,
		ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       30 * time.Second,
		DisableCompression:    true,
		ForceAttemptHTTP2:     true,
	}
}

// dial connects to the first of a name's addresses that p allows and that answers; what it does not allow is never tried.
func (p *Policy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return nil, fmt.Errorf("dial: %w", ErrRefused)
	}
	addrs, err := p.lookUp(ctx, host)
	if err != nil {
		return nil, err
	}
	connect := p.Dial
	if connect == nil {
		connect = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	failed := error(ErrRefused)
	for _, addr := range addrs {
		to := netip.AddrPortFrom(addr, uint16(number))
		if !p.Allows(to) {
			continue
		}
		conn, err := connect(ctx, network, to.String())
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("dial: %w", failed)
}

// lookUp returns the addresses of a name, or the one that it is.
func (p *Policy) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	resolver := p.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	addrs, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up a host: %w", err)
	}
	return addrs, nil
}

// Allows reports whether a connection to an address may be made.
func (p *Policy) Allows(to netip.AddrPort) bool {
	if to.Port() == 0 || p.Ports != nil && !p.Ports(to.Port()) || p.Refuse != nil && p.Refuse(netip.AddrPortFrom(to.Addr().Unmap(), to.Port())) {
		return false
	}
	addr := to.Addr().Unmap()
	within := func(prefix netip.Prefix) bool { return prefix.Contains(addr) }
	return addr.Zone() == "" && (slices.ContainsFunc(p.Allow, within) || Public(addr))
}
