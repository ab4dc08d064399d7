package provider

import (
	"context"
	"strings"

	"larder/internal/blob"
	"larder/internal/egress"
)

// PublicAddress is the address of an object under the provider's publicDomain, "" without one. The
// address of an object is its own for good.
func (p Provider) PublicAddress(key blob.Key) string {
	if p.PublicDomain == "" {
		return ""
	}
	base := strings.TrimRight(p.PublicDomain, "/")
	if !strings.Contains(base, "://") {
		base = "https://" + base
	}
	return base + "/" + string(key) // of letters, digits, dots, underscores, hyphens and slashes
}

// BrowserAddresses are the addresses of all stores that browsers may be sent to or upload to, as
// far as that is known without asking the network.
func (r *Registry) BrowserAddresses(ctx context.Context) ([]string, error) {
	all, err := r.All(ctx)
	var addresses []string
	for _, p := range all {
		addresses = append(addresses, p.PublicDomain, p.UploadDomain)
		if p.UploadDomain == "" && (p.Redirect || p.UploadMode == "presigned") {
			addresses = append(addresses, p.origin())
		}
	}
	return addresses, err
}

// origin is where the bucket of a store without a domain is reached: at its endpoint, or at a host
// of its own there.
func (p Provider) origin() string {
	if p.Type == PathStyle {
		return p.Endpoint
	}
	return strings.Replace(p.Endpoint, "://", "://"+p.Bucket+".", 1)
}

// ReachableByClients reports whether clients, wherever they are, can be given addresses of the
// provider's store: an administrator says so by an uploadDomain or by redirect, or its endpoint
// is a public address. One that lies in the service's own network, by a name or an address, is
// for the service alone.
func (r *Registry) ReachableByClients(ctx context.Context, p Provider) bool {
	if !p.Presigns() {
		return false
	}
	if p.UploadDomain != "" || p.Redirect {
		return true
	}
	endpoint, err := egress.ParseEndpoint(p.Endpoint)
	if err != nil {
		return false
	}
	public := egress.Policy{Resolver: r.cfg.Egress.Resolver}
	return public.Check(ctx, endpoint) == nil
}
