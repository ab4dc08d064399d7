package app

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"larder/internal/config"
	"larder/internal/egress"
)

// oneNameResolver is a resolver that knows one name.
type oneNameResolver struct{ name, address string }

func (r oneNameResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host != r.name {
		return nil, fmt.Errorf("no such host as %s", host)
	}
	return []netip.Addr{netip.MustParseAddr(r.address)}, nil
}

func bind(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// interfaceAddresses returns the addresses of this machine's interfaces, except loopback.
func interfaceAddresses(t *testing.T) (list []string) {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && !prefix.Addr().IsLoopback() && !prefix.Addr().
			IsLinkLocalUnicast() {
			list = append(list, prefix.Addr().String())
		}
	}
	return list
}

// The service does not reach itself, whatever the configuration allows (abuse case C60).
func TestTheServiceDoesNotReachItself(t *testing.T) {
	t.Parallel()
	here := interfaceAddresses(t)
	for _, row := range []struct {
		listen  string
		mine    []string // must not be reachable at its port
		foreign []string // must be reachable
	}{
		{"127.0.0.1:0", []string{"127.0.0.1", "::ffff:127.0.0.1"},
			append([]string{"::1", "127.0.0.2", "10.0.0.1"}, here...)},
		{"[::1]:0", []string{"::1"}, []string{"127.0.0.1", "fd00::7"}},
		{"0.0.0.0:0", append([]string{"127.0.0.1", "127.0.0.2", "127.255.255.255", "::ffff:127.0.0.1", "::1"}, here...),
			[]string{"10.0.0.1", "8.8.8.8"}},
		{"[::]:0", append([]string{"127.0.0.1", "127.8.9.10", "::1"}, here...),
			[]string{"10.0.0.1", "2606:4700::1111"}},
	} {
		for _, ops := range []bool{false, true} {
			l := bind(t, row.listen)
			a := &App{listener: l}
			if ops {
				a = &App{listener: bind(t, "127.0.0.1:0"), opsListener: l}
			}
			policy := a.egressPolicy([]netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")})
			port := netip.MustParseAddrPort(l.Addr().String()).Port()
			for _, address := range row.mine {
				if policy.Allows(netip.AddrPortFrom(netip.MustParseAddr(address), port)) {
					t.Errorf("listening at %s, ops %v, it reaches itself at %s", row.listen, ops, address)
				}
				if !policy.Allows(netip.AddrPortFrom(netip.MustParseAddr(address), port^1)) {
					t.Errorf("listening at %s, ops %v, it does not reach another port of %s", row.listen, ops, address)
				}
			}
			for _, address := range row.foreign {
				if !policy.Allows(netip.AddrPortFrom(netip.MustParseAddr(address), port)) {
					t.Errorf("listening at %s, ops %v, it does not reach %s", row.listen, ops, address)
				}
			}
			for _, address := range []string{"0.0.0.0", "::", "::ffff:0.0.0.0"} {
				if policy.Allows(netip.AddrPortFrom(netip.MustParseAddr(address), port)) {
					t.Errorf("listening at %s, ops %v, it may go to %s", row.listen, ops, address)
				}
			}
		}
	}
}

// Behind a router or a proxy the address of the service is its base URL.
func TestTheServiceDoesNotReachItsBaseURL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		base     string
		endpoint string
		fine     bool
	}{
		{"https://files.example.org", "https://files.example.org", false},
		{"https://files.example.org", "https://FILES.example.org.:443/", false},
		{"https://files.example.org", "http://files.example.org:443", false},
		{"https://files.example.org", "http://files.example.org", true}, // another port
		{"https://files.example.org", "https://8.8.8.8", false},
		{"https://files.example.org", "https://[::ffff:8.8.8.8]", false},
		{"https://files.example.org", "https://8.8.8.8:9000", true},
		{"https://files.example.org", "https://8.8.4.4", true},
		{"http://FILES.example.org:8080", "http://files.example.org:8080", false},
		{"http://files.example.org", "http://8.8.8.8:80", false},
		{"http://8.8.8.8:8080", "http://8.8.8.8:8080", false},
		{"http://8.8.8.8:8080", "http://[::ffff:8.8.8.8]:8080", false},
		{"http://8.8.8.8:8080", "http://files.example.org:8080", false},
		{"http://8.8.8.8:8080", "http://8.8.8.8", true},
		{"http://[2606:4700::7]:8080", "http://[2606:4700:0::7]:8080", false},
		{"", "http://8.8.8.8", true},
	} {
		for _, content := range []bool{false, true} {
			cfg := config.Config{BaseURL: row.base}
			if content {
				cfg = config.Config{BaseURL: "https://other.example.org:8443", ContentURL: row.base}
			}
			a := &App{Config: cfg, deps: Deps{Resolver: oneNameResolver{"files.example.org", "8.8.8.8"}}}
			endpoint, err := egress.ParseEndpoint(row.endpoint)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.egressPolicy(nil).Check(t.Context(), endpoint); (err == nil) != row.fine {
				t.Errorf("reached as %s (content %v), %s: %v", row.base, content, row.endpoint, err)
			}
		}
	}
}
