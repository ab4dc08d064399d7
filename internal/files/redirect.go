package files

import (
	"context"
	"strings"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/provider"
)

// redirectLifetime is how long the address lasts that a request is sent on to (docs/decisions.md:
// Stores that clients reach).
const redirectLifetime = 5 * time.Minute

// RedirectTerms says on what terms bytes may come from where they are stored, past the service.
type RedirectTerms struct {
	Type, Disposition string // that the answer must have
	// it may do without: whatever headers somebody else's server gives these
	// bytes, they are harmless
	AnyHeaders bool
	HTTPSOnly  bool // by https only, since that is how the page came which asks
}

func (o RedirectTerms) accepts(address string) bool {
	return !o.HTTPSOnly || strings.HasPrefix(address, "https://")
}

func (o RedirectTerms) getOptions(lasts time.Duration) blob.GetOptions {
	return blob.GetOptions{TTL: lasts, ContentType: o.Type, Disposition: o.Disposition}
}

// RedirectAddress is where who may have the content is sent for it: the address of what is public
// under the publicDomain of its provider, else one that the store lets anybody use for some
// minutes. It is "" where the service sends the bytes itself: unless the provider's flag redirect
// is on. The store was asked whether it has the content, save for a publicDomain, which answers
// also while the store does not. Fault: Unavailable.
func (o contentHandle) RedirectAddress(ctx context.Context, terms RedirectTerms) (string, error) {
	p, err := o.tree.Providers.ByIDAt(ctx, o.version, o.provider)
	if fault.Is(err, fault.NotFound) {
		return "", nil // which is told when it is opened
	}
	if err != nil || !p.Redirect || !p.Presigns() {
		return "", err
	}
	if address := p.PublicAddress(o.key); address != "" && o.guestReadable && terms.AnyHeaders &&
		terms.accepts(address) {
		return address, nil
	}
	address, err := o.presign(ctx, p, terms, redirectLifetime)
	if err != nil || address == "" {
		return "", err
	}
	return address, o.Check(ctx)
}

// presign is an address of the store's own, "" when it gives none on these terms. The key of what
// not everybody may have is not shown to anybody where a publicDomain answers whoever knows it:
// what ends after minutes, or after one use, would not end.
func (o contentHandle) presign(ctx context.Context, p provider.Provider, terms RedirectTerms,
	lasts time.Duration) (string, error) {
	if p.PublicDomain != "" && !o.guestReadable {
		return "", nil
	}
	store, err := o.store(ctx)
	if err != nil {
		return "", err
	}
	presigner, ok := store.(blob.Presigner)
	if !ok {
		return "", nil
	}
	address, err := presigner.PresignGet(ctx, o.key, terms.getOptions(lasts))
	if err != nil || !terms.accepts(address) {
		return "", provider.Fault(err)
	}
	return address, nil
}

// Presigner makes pre-signed addresses of what CopyLinks has judged, for one request: what it
// learned of a provider it does not ask again.
type Presigner struct {
	tree      *Tree
	reachable map[string]bool // by provider: clients can be sent there
}

// Presigner returns one.
func (t *Tree) Presigner() *Presigner { return &Presigner{tree: t, reachable: map[string]bool{}} }

// Address returns an address by which the store gives out the file of a link to anybody for as long
// as it lasts, "" where that is not possible or not right: no store of the kind, none that clients
// reach, a password or an address rule that covers the file. Nobody can end it before its time.
func (s *Presigner) Address(ctx context.Context, link CopyLink, terms RedirectTerms,
	lasts time.Duration) (string, error) {
	o := link.handle
	if o.tree == nil || link.NeedsPassword || link.Entry.Folder {
		return "", nil
	}
	p, err := s.tree.Providers.ByIDAt(ctx, o.version, o.provider)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	reaches, known := s.reachable[o.provider]
	if !known {
		reaches = s.tree.Providers.ReachableByClients(ctx, p)
		s.reachable[o.provider] = reaches
	}
	if !reaches {
		return "", nil
	}
	address, err := o.presign(ctx, p, terms, lasts)
	if fault.Is(err, fault.Unavailable) { // the gateway will say so to who comes
		return "", nil
	}
	return address, err
}
