package provider

import (
	"context"
	"strings"

	"larder/internal/blob"
	"larder/internal/egress"
)

// PublicAddress returns the address of the object key under the provider's publicDomain, "" if the
// provider has none. The address never changes and belongs to one object.
func (p Provider) PublicAddress(key blob.Key) string {
	if p.PublicDomain == "" {
		return ""
	}
	base := strings.TrimRight(p.PublicDomain, "/")
	if !strings.Contains(base, "://") {
		base = "https://" + base
	}
	return base + "/" + string(key) // keys consist of letters, digits, dots, underscores, hyphens and slashes
}

// BrowserAddresses returns the addresses of all stores that browsers may be redirected to or upload
// to, as far as they are known without network access. https tells whether the site is reached by
// https: with the upload mode auto, browsers then upload to no store by http.
func (r *Registry) BrowserAddresses(ctx context.Context, https bool) ([]string, error) {
	all, err := r.All(ctx)
	var addresses []string
	for _, p := range all {
		addresses = append(addresses, p.PublicDomain, p.UploadDomain)
		if p.UploadDomain == "" && (p.Redirect || p.UploadMode == "presigned" || p.UploadMode == "auto" && !https) {
			addresses = append(addresses, p.origin())
		}
	}
	return addresses, err
}

// origin returns the address of the bucket that clients use without an upload domain: the endpoint,
// or a host of the bucket's own below it.
func (p Provider) origin() string {
	if p.Type == PathStyle {
		return p.Endpoint
	}
	return strings.Replace(p.Endpoint, "://", "://"+p.Bucket+".", 1)
}

// ReachableByClients reports whether clients anywhere can use addresses of the provider's store: an
// administrator has set an uploadDomain or redirect, or the endpoint is a public address. A store
// in the service's own network is used by the service only.
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
