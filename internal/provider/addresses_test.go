package provider_test

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"larder/internal/blob"
	"larder/internal/egress"
	"larder/internal/provider"
)

// fakeResolver is a resolver that knows a few names.
type fakeResolver map[string]string

func (r fakeResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	addr, known := r[host]
	if !known {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr(addr)}, nil
}

// Clients get addresses of stores that they can reach: public ones, and those for which an
// administrator has set a domain or redirect.
func TestReachable(t *testing.T) {
	t.Parallel()
	r := provider.New(provider.Config{Egress: &egress.Policy{
		// for the service only
		Allow:    []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8")},
		Resolver: fakeResolver{"minio": "10.0.0.5", "s3.example": "93.184.215.14", "mixed.example": "192.168.1.2"},
	}})
	for _, c := range []struct {
		p    provider.Provider
		want bool
	}{
		{provider.Provider{Type: provider.PathStyle, Endpoint: "https://s3.example"}, true},
		{provider.Provider{Type: provider.VirtualHost, Endpoint: "https://s3.example:8443"}, true},
		{provider.Provider{Type: provider.PathStyle, Endpoint: "http://93.184.215.14:9000"}, true},
		{provider.Provider{Type: provider.PathStyle, Endpoint: "http://minio:9000"}, false},
		{provider.Provider{Type: provider.PathStyle, Endpoint: "http://mixed.example"}, false},
		{provider.Provider{Type: provider.PathStyle, Endpoint: "http://unknown.example"}, false},
		{provider.Provider{Type: provider.PathStyle, Endpoint: "http://127.0.0.1:9000"}, false},
		{provider.Provider{Type: provider.PathStyle, Endpoint: "http://[::1]:9000"}, false},
		{provider.Provider{Type: provider.PathStyle, Endpoint: "http://minio:9000", UploadDomain: "s3.example"}, true},
		{provider.Provider{Type: provider.PathStyle, Endpoint: "http://minio:9000", Redirect: true}, true},
		{provider.Provider{Type: provider.BuiltIn, UploadDomain: "s3.example", Redirect: true}, false},
	} {
		if got := r.ReachableByClients(t.Context(), c.p); got != c.want {
			t.Errorf("%+v: %v", c.p, got)
		}
	}
}

func TestPublicAddress(t *testing.T) {
	t.Parallel()
	const key = blob.Key("larder/ab/0123456789abcdef0123456789abcdef.png")
	for domain, want := range map[string]string{
		"": "", "cdn.example": "https://cdn.example/" + string(key),
		"cdn.example:8443":           "https://cdn.example:8443/" + string(key),
		"http://cdn.example":         "http://cdn.example/" + string(key),
		"https://cdn.example/files/": "https://cdn.example/files/" + string(key),
		"[2001:db8::1]":              "https://[2001:db8::1]/" + string(key),
	} {
		if got := (provider.Provider{PublicDomain: domain}).PublicAddress(key); got != want {
			t.Errorf("%q: %s, want %s", domain, got, want)
		}
	}
}
