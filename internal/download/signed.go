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

// How long a signed link may last (specification: Limits).
const (
	MinSignedLifetime = time.Minute
	MaxSignedLifetime = 7 * 24 * time.Hour
)

// maxSignedLinks is how many signed links of an account may be valid at a time.
const maxSignedLinks = 10_000

// SignedLink is a link that was asked for, or why there is none.
type SignedLink struct {
	files.CopyLink
	Address string // pre-signed, of the store that has the file; "" when it is the gateway's
	// of the gateway, else; both are "" for a folder, of which only the address of its page
	// can be handed out
	Token string
}

// Sign makes signed links to files that the actor may download, passwords aside, in the order of
// entryIDs: addresses of their stores where those pre-sign on the terms for the file and no
// password or address rule covers it, else the gateway's. Both serve any number of times. The
// gateway's carries no proof of passwords, follows its file wherever that goes, and ends with the
// content, and with what the actor may do; the store's lasts. With nil for terms all are the
// gateway's. Fault: Conflict when the account has too many of the gateway's; what is wrong with one
// entry is told in its link.
func (s *Service) Sign(ctx context.Context, a access.Actor, entryIDs []string, lifetime time.Duration,
	terms func(files.Entry) files.RedirectTerms) ([]SignedLink, error) {
	judged, err := s.tree.CopyLinks(ctx, a, entryIDs, true)
	if err != nil {
		return nil, fmt.Errorf("sign links: %w", err)
	}
	now, presigner := s.now(), s.tree.Presigner()
	links, rows := make([]SignedLink, len(judged)), map[string]row{}
	for i, link := range judged {
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

// insertSigned records signed links of an account by the hashes of their tokens.
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
