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

// egressPolicy is what may be reached of the outside: public addresses, those that the
// configuration adds, and never the service itself.
func (a *App) egressPolicy(allow []netip.Prefix) *egress.Policy {
	p := &egress.Policy{Allow: allow, Refuse: a.isOwnAddress, Resolver: a.deps.Resolver}
	for _, origin := range a.publicHosts() {
		if _, err := netip.ParseAddrPort(origin); err != nil {
			p.OwnHosts = append(p.OwnHosts, origin)
		}
	}
	return p
}

// captchaVerifier asks the configured verify address, which may lie where stores may.
func (a *App) captchaVerifier() *captcha.Verifier {
	return captcha.New(captcha.Config{Address: a.Config.CaptchaVerifyURL, Secret: a.Config.CaptchaSecret,
		Egress: a.egressPolicy(a.Config.AllowPrivateEndpoints)})
}

// publicHosts is where others reach the service, as host:port: behind a router or a proxy that is
// not where it listens.
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

// isOwnAddress reports whether an address is one of the service's own listeners, wherever they are
// bound, or the one that its base URL names.
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

// isLocalAddress reports whether an address is that of an interface here. All of loopback is,
// whatever the interface says.
func isLocalAddress(addr netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	return err != nil || addr.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap() == addr
	})
}
