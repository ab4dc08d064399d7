package files

import (
	"context"
	"fmt"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
)

// CopyLink is the outcome for one entry whose address the actor wants to hand out.
type CopyLink struct {
	Entry Entry
	// NeedsPassword says that visitors may be asked for a password, or come from an address that a
	// rule excludes.
	NeedsPassword bool
	Content       string // Content.ID, for an address that is bound to it; "" for a folder
	Err           error  // NotFound, Forbidden or PasswordRequired where no address may be handed out

	handle *ContentHandle // of a file, nil for a folder
}

// CopyLinks decides for each entry whether its address may be handed out, in the order of ids. An
// actor who may read the entry learns its path, since the address contains the name. A signed link,
// which folders do not have, also needs the permission to download. A password on the file does not
// prevent a signed link, since it asks the visitor again.
func (t *Tree) CopyLinks(ctx context.Context, a access.Actor, ids []string, signed bool) ([]CopyLink, error) {
	links := make([]CopyLink, len(ids))
	for i, id := range ids {
		link, err := t.copyLink(ctx, a, id, signed)
		switch fault.KindOf(err) {
		case fault.NotFound, fault.Forbidden, fault.PasswordRequired:
			link.Err = err
		default:
			if err != nil {
				return nil, err
			}
		}
		links[i] = link
	}
	return links, nil
}

// copyLink decides about one entry for CopyLinks. Faults: NotFound, Forbidden, PasswordRequired.
func (t *Tree) copyLink(ctx context.Context, a access.Actor, id string, signed bool) (CopyLink, error) {
	n, v, err := t.lookUp(ctx, id)
	if err != nil {
		return CopyLink{}, err
	}
	target := n.existingTarget(a)
	if err := v.allow(a, target, access.Read); err != nil {
		return CopyLink{}, err
	}
	link := CopyLink{Entry: v.entry(a, &n.row, target), Content: n.content}
	if !n.folder {
		link.handle = t.handleOf(v, &n, v.public(n.existingTarget(access.Actor{Role: access.Guest})))
	}
	switch {
	case n.folder:
		link.NeedsPassword = v.policy.AsksPassword(a, target.ForChildren(), access.Read)
	case !signed:
		link.NeedsPassword = v.policy.AsksPassword(a, target, access.Download)
	case v.policy.Decide(a, target, access.Download).Outcome == access.Denied:
		return CopyLink{}, forbidden()
	default:
		link.NeedsPassword = v.policy.DownloadConditional(a, target) ||
			v.policy.DownloadConditional(access.Actor{Role: access.Guest}, target)
	}
	return link, nil
}

// AccessMode says how the bytes of a file are delivered (specification: File details).
type AccessMode string

// The modes.
const (
	PublicCDN      AccessMode = "public_cdn"
	SignedRedirect AccessMode = "signed_redirect"
	PrivateGateway AccessMode = "private_gateway"
)

// AccessMode returns how the bytes of the entry e are delivered: from the provider's public domain,
// by a redirect to a signed address of the store, or by this service.
func (t *Tree) AccessMode(ctx context.Context, e Entry) (AccessMode, error) {
	if e.Folder {
		return PrivateGateway, nil // the service makes the ZIP file
	}
	version, err := db.ConfigVersion(t.DB.Read(ctx))
	if err != nil {
		return "", fmt.Errorf("read the config version: %w", err)
	}
	p, err := t.Providers.ByIDAt(ctx, version, e.provider)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return "", err
	}
	switch {
	case e.Public && p.PublicDomain != "":
		return PublicCDN, nil
	case p.Presigns():
		return SignedRedirect, nil
	}
	return PrivateGateway, nil
}
