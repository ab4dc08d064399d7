package files

import (
	"context"
	"strings"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/provider"
)

// redirectLasts is how long the address lasts that a request is sent on to (docs/decisions.md: Stores that clients reach).
const redirectLasts = 5 * time.Minute

// Outside says on what terms bytes may come from where they are stored, past the service.
type Outside struct {
	Type, Disposition string // that the answer must have
	Bare              bool   // it may do without: whatever headers somebody else's server gives these bytes, they are harmless
	Secure            bool   // by https only, since that is how the page came which asks
}

func (o Outside) takes(address string) bool {
	return !o.Secure || strings.HasPrefix(address, "https://")
}

func (o Outside) signed(lasts time.Duration) blob.GetOptions {
	return blob.GetOptions{Lasts: lasts, Type: o.Type, Disposition: o.Disposition}
}

// Elsewhere is where who may have the content is sent for it: the address of what is public under the publicDomain of its provider, else one that
// the store lets anybody use for some minutes. It is "" where the service sends the bytes itself: unless the provider's flag redirect is on. The store was asked
// whether it has the content, save for a publicDomain, which answers also while the store does not. Fault: Unavailable.
func (o origin) Elsewhere(ctx context.Context, terms Outside) (string, error) {
	p, err := o.tree.Providers.At(ctx, o.version, o.provider)
	if fault.Is(err, fault.NotFound) {
		return "", nil // which is told when it is opened
	}
	if err != nil || !p.Redirect || !p.Presigns() {
		return "", err
	}
	if address := p.PublicAddress(o.key); address != "" && o.free && terms.Bare && terms.takes(address) {
		return address, nil
	}
	address, err := o.presign(ctx, p, terms, redirectLasts)
	if err != nil || address == "" {
		return "", err
	}
	return address, o.Check(ctx)
}

// presign is an address of the store's own, "" when it gives none on these terms. The key of what not everybody may have is not shown to anybody where a
// publicDomain answers whoever knows it: what ends after minutes, or after one use, would not end.
func (o origin) presign(ctx context.Context, p provider.Provider, terms Outside, lasts time.Duration) (string, error) {
	if p.PublicDomain != "" && !o.free {
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
	address, err := presigner.PresignGet(ctx, o.key, terms.signed(lasts))
	if err != nil || !terms.takes(address) {
		return "", provider.Fault(err)
	}
	return address, nil
}

// Presigner makes pre-signed addresses of what CopyLinks has judged, for one request: what it learned of a provider it does not ask again.
type Presigner struct {
	tree    *Tree
	reaches map[string]bool // by provider: clients can be sent there
}

// Presigner returns one.
func (t *Tree) Presigner() *Presigner { return &Presigner{tree: t, reaches: map[string]bool{}} }

// Address returns an address by which the store gives out the file of a link to anybody for as long as it lasts, "" where that is not possible or not
// right: no store of the kind, none that clients reach, a password or an address rule that covers the file. Nobody can end it before its time.
func (s *Presigner) Address(ctx context.Context, link CopyLink, terms Outside, lasts time.Duration) (string, error) {
	o := link.origin
	if o.tree == nil || link.NeedsPassword || link.Entry.Folder {
		return "", nil
	}
	p, err := s.tree.Providers.At(ctx, o.version, o.provider)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	reaches, known := s.reaches[o.provider]
	if !known {
		reaches = s.tree.Providers.Reachable(ctx, p)
		s.reaches[o.provider] = reaches
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
