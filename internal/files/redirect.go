package files

import (
	"context"
	"strings"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/provider"
)

// redirectLifetime is the validity of the address that a request is redirected to
// (docs/decisions.md: Stores that clients reach).
const redirectLifetime = 5 * time.Minute

// RedirectTerms are the conditions under which a store may deliver bytes to a client directly.
type RedirectTerms struct {
	Type, Disposition string // headers of the response
	// AnyHeaders says that any headers of the other server are harmless for these bytes.
	AnyHeaders bool
	HTTPSOnly  bool // only by https, since the page that asks came by https
}

// accepts reports whether a client may be sent to address by these terms: to any, or to https only.
func (t RedirectTerms) accepts(address string) bool {
	return !t.HTTPSOnly || strings.HasPrefix(address, "https://")
}

// getOptions returns the options for an address that the store signs: valid for lasts, answered
// with the type and disposition of the terms.
func (t RedirectTerms) getOptions(lasts time.Duration) blob.GetOptions {
	return blob.GetOptions{TTL: lasts, ContentType: t.Type, Disposition: t.Disposition}
}

// RedirectAddress returns the address to which a client that may have the content is redirected.
// For public content that is its address under the publicDomain of the provider, else an address
// that the store signs for some minutes. It returns "" where the service sends the bytes itself,
// which is always so unless the provider's flag redirect is on. It checks that the store has the
// content, except for a publicDomain, which may answer while the store does not. Faults: Damaged,
// Unavailable.
func (h *ContentHandle) RedirectAddress(ctx context.Context, terms RedirectTerms) (string, error) {
	if err := h.checkUndamaged(); err != nil {
		return "", err
	}
	p, err := h.tree.Providers.ByIDAt(ctx, h.version, h.provider)
	if fault.Is(err, fault.NotFound) {
		return "", nil // reported when the content is opened
	}
	if err != nil || !p.Redirect || !p.Presigns() {
		return "", err
	}
	if address := p.PublicAddress(h.key); address != "" && h.guestReadable && terms.AnyHeaders &&
		terms.accepts(address) {
		return address, nil
	}
	address, err := h.presign(ctx, p, terms, redirectLifetime)
	if err != nil || address == "" {
		return "", err
	}
	return address, h.Check(ctx)
}

// presign returns an address signed by the store of the provider p that is valid for lasts, "" when
// the store signs none on these terms. It never shows the key of content that is not public where a
// publicDomain serves every key: access that should end after minutes, or after one use, would not
// end.
func (h *ContentHandle) presign(ctx context.Context, p provider.Provider, terms RedirectTerms,
	lasts time.Duration) (string, error) {
	if p.PublicDomain != "" && !h.guestReadable {
		return "", nil
	}
	store, err := h.store(ctx)
	if err != nil {
		return "", err
	}
	presigner, ok := store.(blob.Presigner)
	if !ok {
		return "", nil
	}
	address, err := presigner.PresignGet(ctx, h.key, terms.getOptions(lasts))
	if err != nil || !terms.accepts(address) {
		return "", provider.Fault(err)
	}
	return address, nil
}

// Presigner makes pre-signed addresses for the entries that CopyLinks has authorized, for one
// request: it asks about each provider once.
type Presigner struct {
	tree      *Tree
	reachable map[string]bool // by provider: clients can reach it
}

// Presigner returns a Presigner for one request that makes addresses for copied links.
func (t *Tree) Presigner() *Presigner { return &Presigner{tree: t, reachable: map[string]bool{}} }

// Address returns an address at which the store gives the file of a link to anybody until lasts is
// over. It is "" where that is not possible or not allowed: the store signs no addresses, clients
// cannot reach it, or a password or an address rule covers the file. Such an address cannot be
// revoked.
func (ps *Presigner) Address(ctx context.Context, link CopyLink, terms RedirectTerms,
	lasts time.Duration) (string, error) {
	o := link.handle
	if o.tree == nil || link.NeedsPassword || link.Entry.Folder {
		return "", nil
	}
	p, err := ps.tree.Providers.ByIDAt(ctx, o.version, o.provider)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	reaches, known := ps.reachable[o.provider]
	if !known {
		reaches = ps.tree.Providers.ReachableByClients(ctx, p)
		ps.reachable[o.provider] = reaches
	}
	if !reaches {
		return "", nil
	}
	address, err := o.presign(ctx, p, terms, lasts)
	if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Damaged) { // the gateway reports it to the visitor
		return "", nil
	}
	return address, err
}
