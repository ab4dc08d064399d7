package app

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"larder/internal/captcha"
	"larder/internal/egress"
)

// egressPolicy returns the policy for outgoing connections: public addresses and those in allow,
// but never the service itself.
func (a *App) egressPolicy(allow []netip.Prefix) *egress.Policy {
	p := &egress.Policy{Allow: allow, Refuse: a.isOwnAddress, Resolver: a.deps.Resolver}
	for _, origin := range a.publicHosts() {
		if _, err := netip.ParseAddrPort(origin); err != nil {
			p.OwnHosts = append(p.OwnHosts, origin)
		}
	}
	return p
}

// captchaVerifier returns the verifier of bot checks, which asks the configured verify address.
// That address may be in the same private networks as stores.
func (a *App) captchaVerifier() *captcha.Verifier {
	return captcha.New(captcha.Config{Address: a.Config.CaptchaVerifyURL, Secret: a.Config.CaptchaSecret,
		Egress: a.egressPolicy(a.Config.AllowPrivateEndpoints)})
}

// publicHosts returns the addresses, as host:port, at which others reach the service. Behind a
// router or a proxy they differ from the listen address.
func (a *App) publicHosts() (list []string) {
	for _, base := range []string{a.Config.BaseURL, a.Config.ContentURL} {
		u, err := url.Parse(base)
		if err != nil || u.Hostname() == "" {
			continue
		}
		port := u.Port()
		switch {
		case port != "":
		case u.Scheme == "http":
			port = "80"
		default:
			port = "443"
		}
		list = append(list, net.JoinHostPort(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), port))
	}
	return list
}

// isOwnAddress reports whether an outgoing connection to that address would reach the service
// itself: it belongs to a listener, whatever that is bound to, or the base URL names it. Such
// connections are refused.
func (a *App) isOwnAddress(to netip.AddrPort) bool {
	for _, l := range []net.Listener{a.listener, a.opsListener} {
		if l == nil {
			continue
		}
		bound, err := netip.ParseAddrPort(l.Addr().String())
		if err != nil || bound.Port() != to.Port() {
			continue
		}
		if bound.Addr().Unmap() == to.Addr() || bound.Addr().IsUnspecified() && isLocalAddress(to.Addr()) {
			return true
		}
	}
	return slices.ContainsFunc(a.publicHosts(), func(origin string) bool {
		at, err := netip.ParseAddrPort(origin)
		return err == nil && netip.AddrPortFrom(at.Addr().Unmap(), at.Port()) == to
	})
}

// isLocalAddress reports whether an address belongs to an interface of this machine. Every loopback
// address does, and every address when the interfaces cannot be listed.
func isLocalAddress(addr netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	return err != nil || addr.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap() == addr
	})
}
