package files

import (
	"context"
	"fmt"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
)

// CopyLink is what there is to say of an entry whose address is about to be handed out.
type CopyLink struct {
	Entry Entry
	// whoever opens the address may be asked for a password, or be at the wrong
	// address of their own
	NeedsPassword bool
	Content       string // Content.ID, for an address that is bound to it; "" for a folder
	Err           error  // why there is nothing to say: NotFound, Forbidden or PasswordRequired

	handle contentHandle // of a file
}

// CopyLinks judges whether addresses of entries may be handed out, each by itself and in the order
// of ids. The path of an entry is told to whoever may read it: the answer carries the name. A
// signed link, of which there is none to a folder, also takes the right to download; a password in
// the way of that is no obstacle, since whoever opens the link meets it again.
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

func (t *Tree) copyLink(ctx context.Context, a access.Actor, id string, signed bool) (CopyLink, error) {
	n, v, err := t.lookUp(ctx, id)
	if err != nil {
		return CopyLink{}, err
	}
	facts := n.facts(a)
	if err := v.allow(a, facts, access.Read); err != nil {
		return CopyLink{}, err
	}
	link := CopyLink{Entry: v.entry(a, &n.row, facts), Content: n.content}
	if !n.folder {
		link.handle = t.handleOf(v, &n)
	}
	switch {
	case n.folder:
		link.NeedsPassword = v.policy.AsksPassword(a, facts.ForChildren(), access.Read)
	case !signed:
		link.NeedsPassword = v.policy.AsksPassword(a, facts, access.Download)
	case v.policy.Decide(a, facts, access.Download).Outcome == access.Denied:
		return CopyLink{}, forbidden()
	default:
		link.NeedsPassword = v.policy.DownloadConditional(a, facts) ||
			v.policy.DownloadConditional(access.Actor{Role: access.Guest}, facts)
	}
	return link, nil
}

// AccessMode is by what way the bytes of a file come (specification: File details).
type AccessMode string

// The ways.
const (
	PublicCDN      AccessMode = "public_cdn"
	SignedRedirect AccessMode = "signed_redirect"
	PrivateGateway AccessMode = "private_gateway"
)

// AccessMode tells by what way the bytes of an entry come.
func (t *Tree) AccessMode(ctx context.Context, e Entry) (AccessMode, error) {
	if e.Folder {
		return PrivateGateway, nil // a zip is made by the service
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
