package apptest

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// Resolver resolves host names for the service. It looks up names that the test has not set.
type Resolver struct {
	mu        sync.Mutex
	addresses map[string][]netip.Addr
}

// Set sets the addresses of a name; without addresses the name does not exist.
func (r *Resolver) Set(name string, addresses ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.addresses == nil {
		r.addresses = map[string][]netip.Addr{}
	}
	r.addresses[name] = nil
	for _, address := range addresses {
		r.addresses[name] = append(r.addresses[name], netip.MustParseAddr(address))
	}
}

// LookupNetIP implements egress.Resolver.
func (r *Resolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	addrs, known := r.addresses[host]
	r.mu.Unlock()
	switch {
	case !known:
		return net.DefaultResolver.LookupNetIP(ctx, network, host)
	case addrs == nil:
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return addrs, nil
}

// Canary is a listener to which the service must not connect.
type Canary struct {
	Port        string
	t           testing.TB
	address     net.Addr
	connections chan net.Addr
}

// NewCanary listens at address until the end of the test.
func NewCanary(t testing.TB, address string) *Canary {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	c := &Canary{Port: port, t: t, address: listener.Addr(), connections: make(chan net.Addr, 1000)}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.connections <- conn.RemoteAddr()
			_ = conn.Close()
		}
	}()
	return c
}

// WantNoConnections fails the test when the service has connected since the last call. It connects
// itself and accepts all connections up to its own, which come in order.
func (c *Canary) WantNoConnections(what string) {
	c.t.Helper()
	conn, err := net.Dial("tcp", c.address.String())
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	for came := <-c.connections; came.String() != conn.LocalAddr().String(); came = <-c.connections {
		c.t.Errorf("%s: somebody came to %s", what, c.address)
	}
}
