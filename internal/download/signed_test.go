package download_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/download"
	"larder/internal/fault"
	"larder/internal/upload"
	"larder/internal/vpath"
)

// sign creates signed links and returns them.
func (f *fixture) sign(a access.Actor, lifetime time.Duration, ids ...string) []download.SignedLink {
	f.t.Helper()
	links, err := f.tokens.Sign(ctx, a, ids, lifetime, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return links
}

func TestSignedLinksAreAuthorizedSeparately(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		other := w.put(w.ann, "/home/ann/sub", "g.txt")
		links := w.sign(w.ann, time.Minute, "no-such-id", w.file.ID, w.ann.HomeID, other.ID)
		w.wantFault(links[0].Err, fault.NotFound, "no such file")
		if links[0].Token != "" || links[2].Token != "" || links[2].Err != nil || !links[2].Entry.Folder {
			t.Errorf("links to a missing entry and to a folder: %+v, %+v", links[0], links[2])
		}
		for _, link := range []download.SignedLink{links[1], links[3]} {
			if link.Err != nil || link.NeedsPassword {
				t.Errorf("got %+v", link)
			}
			redemption, err := w.resolve(link.Token)
			if err != nil || redemption.Purpose != download.Signed || redemption.Content.Entry.ID != link.Entry.ID {
				t.Errorf("%+v, %v", redemption, err)
			}
			w.wantFault(w.tokens.Consume(ctx, link.Token), fault.InvalidToken, "consuming a signed link")
		}
		links = w.sign(access.Actor{UserID: "somebody", Role: access.User}, time.Minute, w.file.ID)
		w.wantFault(links[0].Err, fault.Forbidden, "somebody else")
		if n := w.count("SELECT COUNT(*) FROM download_tokens"); n != 2 {
			t.Errorf("%d tokens are stored", n)
		}
	})
}

// A signed link carries no proof of passwords: a password on the file stops it, even if the issuer
// has given that password, or if it was removed and set again.
func TestSignedLinkCarriesNoProof(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		guard := func(hash any) {
			t.Helper()
			if err := w.db.Write(ctx, func(tx *db.Tx) error {
				_, err := tx.Exec("UPDATE entries SET password_hash = $1 WHERE id = $2", hash, w.file.ID)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		guard("hash")
		given := w.ann
		given.Unlocked = []string{w.file.ID}
		link := w.sign(given, time.Minute, w.file.ID)[0]
		if link.Err != nil || !link.NeedsPassword {
			t.Errorf("got %+v", link)
		}
		_, err := w.resolve(link.Token)
		w.wantFault(err, fault.PasswordRequired, "with a password that its issuer has given")
		guard(nil)
		if _, err := w.resolve(link.Token); err != nil {
			t.Errorf("without the password: %v", err)
		}
	})
}

func TestSignedLinkEndsWithTheContent(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		link := w.sign(w.ann, time.Minute, w.file.ID)[0]
		if _, err := w.resolve(link.Token); err != nil {
			t.Fatal(err)
		}
		_, err := w.uploads.Put(ctx, w.ann, upload.OneShot{
			Dir: vpath.Root.Child("home").Child("ann"), Name: "f.txt", Size: -1, Body: strings.NewReader("hello"),
			Conflict: "replace",
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.resolve(link.Token)
		w.wantFault(err, fault.InvalidToken, "after the file was replaced by the same bytes")
		link = w.sign(w.ann, time.Minute, w.file.ID)[0]
		if _, _, err := w.tree.Delete(ctx, w.ann, w.file.ID); err != nil {
			t.Fatal(err)
		}
		_, err = w.resolve(link.Token)
		w.wantFault(err, fault.InvalidToken, "deleted")
	})
}

// An account has at most 10,000 valid signed links. Expired ones and other tokens do not count.
func TestSignedLinkLimitOfAccount(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		const already = `
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
			INSERT INTO download_tokens (hash, entry_id, user_id, purpose, object_id, expires_at)
			SELECT CAST($2 AS TEXT) || i, 'e', CAST($3 AS TEXT), CAST($4 AS TEXT), 'o', CAST($5 AS BIGINT) FROM n`
		now := w.now().UnixMilli()
		if err := w.db.Write(ctx, func(tx *db.Tx) error {
			for _, row := range [][]any{
				{9998, "valid", w.ann.UserID, "signed", now + 60_000}, {100, "expired", w.ann.UserID, "signed", now},
				{100, "other", w.ann.UserID, "download", now + 60_000},
				{100, "somebody's", "somebody", "signed", now + 60_000},
			} {
				if _, err := tx.Exec(already, row...); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		other := w.put(w.ann, "/home/ann", "g.txt")
		third := w.put(w.ann, "/home/ann", "h.txt")
		_, err := w.tokens.Sign(ctx, w.ann, []string{w.file.ID, other.ID, third.ID}, time.Hour, nil)
		w.wantFault(err, fault.Conflict, "10,001")
		w.sign(w.ann, time.Hour, w.file.ID, other.ID)
		_, err = w.tokens.Sign(ctx, w.ann, []string{third.ID}, time.Hour, nil)
		w.wantFault(err, fault.Conflict, "one more than 10,000")
		w.clock.Add(60_000) // the first ones expire
		w.sign(w.ann, time.Hour, third.ID)
	})
}
