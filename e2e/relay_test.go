package e2e

import (
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// relay is a network connection between clients and a service that can be cut.
type relay struct {
	address string // where it listens
	target  string

	mu    sync.Mutex // guards the fields below
	cut   bool
	conns map[net.Conn]bool
	group sync.WaitGroup
}

// newRelay starts a relay that ends with the test.
func newRelay(t testing.TB, target string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{address: listener.Addr().String(), target: target, conns: map[net.Conn]bool{}}
	r.group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			r.group.Go(func() { r.carry(client) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		r.set(true)
		r.group.Wait()
	})
	return r
}

// set cuts all connections and refuses new ones, or accepts them again.
func (r *relay) set(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
	if cut {
		for conn := range r.conns {
			conn.Close()
		}
	}
}

// carry connects a client with the service until either ends or the relay is cut.
func (r *relay) carry(client net.Conn) {
	defer r.forget(client)
	if !r.keep(client) {
		return
	}
	service, err := net.Dial("tcp", r.target)
	if err != nil {
		return
	}
	defer r.forget(service)
	if !r.keep(service) {
		return
	}
	r.group.Go(func() {
		io.Copy(service, client) // ends as the connection does
		service.Close()
	})
	io.Copy(client, service)
}

// keep records a connection, and reports whether it may continue.
func (r *relay) keep(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[conn] = true
	return !r.cut
}

func (r *relay) forget(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, conn)
	conn.Close()
}

// newProxy returns an HTTP proxy that forwards consecutive requests to the targets in turn. The
// Host header stays, since it is part of signatures and addresses.
func newProxy(targets ...*url.URL) *httputil.ReverseProxy {
	var turn atomic.Int64
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	return &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(targets[int(turn.Add(1))%len(targets)])
		r.Out.Host = r.In.Host
	}}
}
