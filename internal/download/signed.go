package download

import (
	"context"
	"fmt"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
)

// Shortest and longest lifetime of a signed link (specification: Limits).
const (
	MinSignedLifetime = time.Minute
	MaxSignedLifetime = 7 * 24 * time.Hour
)

// maxSignedLinks is how many signed links of an account may be valid at a time.
const maxSignedLinks = 10_000

// SignedLink is a requested link, or the fault why there is none (CopyLink.Err).
type SignedLink struct {
	files.CopyLink
	Address string // pre-signed, of the file's store; "" when the gateway serves the link
	// of the gateway, if Address is "". Both are "" for a folder, for which only the address of its
	// page can be given out
	Token string
}

// Sign creates signed links to files that the actor may download, passwords aside, in the order of
// entryIDs. A link is a pre-signed address of the file's store when that store pre-signs on the
// terms for the file and no password or address rule covers the file; else it is a token for the
// gateway. With nil for terms, all links are the gateway's. Both kinds serve any number of times. A
// gateway link carries no proof of passwords, follows its file when it is moved, and ends with the
// content and with the actor's rights. A store's address lasts until it expires. Fault: Conflict
// when the account has too many gateway links; the faults of single entries are in their links.
func (s *Service) Sign(ctx context.Context, a access.Actor, entryIDs []string, lifetime time.Duration,
	terms func(files.Entry) files.RedirectTerms) ([]SignedLink, error) {
	copyLinks, err := s.tree.CopyLinks(ctx, a, entryIDs, true)
	if err != nil {
		return nil, fmt.Errorf("sign links: %w", err)
	}
	now, presigner := s.now(), s.tree.Presigner()
	links, rows := make([]SignedLink, len(copyLinks)), map[string]row{}
	for i, link := range copyLinks {
		links[i].CopyLink = link
		if link.Err != nil || link.Entry.Folder {
			continue
		}
		if terms != nil {
			if links[i].Address, err = presigner.Address(ctx, link, terms(link.Entry), lifetime); err != nil {
				return nil, fmt.Errorf("sign links: %w", err)
			}
		}
		if links[i].Address != "" {
			continue
		}
		token := s.ids.Base62(tokenLength)
		r := row{entryID: entryIDs[i], userID: a.UserID, purpose: Signed, content: link.Content,
			expiresAt: now.Add(lifetime).UnixMilli()}
		if a.Key != nil {
			r.keyID = a.Key.ID
		}
		links[i].Token, rows[hash(token)] = token, r
	}
	if len(rows) == 0 {
		return links, nil
	}
	return links, s.db.Write(ctx, func(tx *db.Tx) error { return insertSigned(tx, a.UserID, now.UnixMilli(), rows) })
}

// insertSigned stores signed links of an account, keyed by the hashes of their tokens; now is in
// ms. Fault: Conflict when the account would have more than maxSignedLinks valid ones.
func insertSigned(tx *db.Tx, userID string, now int64, rows map[string]row) error {
	valid, err := countSigned(tx, userID, now, maxSignedLinks)
	if err != nil {
		return fmt.Errorf("count signed links: %w", err)
	}
	if valid+len(rows) > maxSignedLinks {
		return fault.Newf(fault.Conflict, "At most %d signed links of an account can be valid at a time.",
			maxSignedLinks)
	}
	for hash, r := range rows {
		if err := insertToken(tx, hash, r); err != nil {
			return fmt.Errorf("record a signed link: %w", err)
		}
	}
	return nil
}
