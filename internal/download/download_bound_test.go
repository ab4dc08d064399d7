package download_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/download"
	"larder/internal/share"
)

// storeTokens adds n tokens of a purpose. The first expires after lasting, each further one a
// millisecond later.
func (f *fixture) storeTokens(n int, name, userID, shareID, entryID, purpose string, lasting time.Duration) {
	f.t.Helper()
	const rows = `
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO download_tokens (hash, entry_id, user_id, share_id, purpose, object_id, expires_at)
		SELECT CAST($2 AS TEXT) || i, CAST($3 AS TEXT), NULLIF(CAST($4 AS TEXT), ''), NULLIF(CAST($5 AS TEXT), ''), CAST($6 AS TEXT), 'o', CAST($7 AS BIGINT) + i FROM n`
	if err := f.db.Write(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(rows, n, name, entryID, userID, shareID, purpose, f.now().Add(lasting).UnixMilli())
		return err
	}); err != nil {
		f.t.Fatal(err)
	}
}

// countTokens counts the tokens whose hashes begin with name.
func (f *fixture) countTokens(name string) int {
	return f.count("SELECT count(*) FROM download_tokens WHERE hash LIKE $1", name+"%")
}

// An account has at most 1,000 valid tokens. Further ones end the oldest of that account only.
func TestTokenLimitOfAccount(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		w.storeTokens(600, "save", w.ann.UserID, "", "e", "download", 5*time.Minute)
		w.storeTokens(398, "preview", w.ann.UserID, "", "e", "preview", 10*time.Minute)
		w.storeTokens(50, "signed", w.ann.UserID, "", "e", "signed", time.Minute)
		w.storeTokens(50, "expired", w.ann.UserID, "", "e", "download", -time.Minute)
		w.storeTokens(50, "used", w.ann.UserID, "", "e", "download", time.Minute)
		w.storeTokens(50, "other", "somebody", "", "e", "download", time.Minute)
		w.storeTokens(50, "share", "", "s", "e", "download", time.Minute)
		w.storeTokens(50, "visitor", "", "", w.file.ID, "download", time.Minute)
		if err := w.db.Write(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE download_tokens SET consumed_at = 1 WHERE hash LIKE 'used%'")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		first, second := w.issue(w.ann, w.file.ID), w.issue(w.ann, w.file.ID)
		if n := w.countTokens("save"); n != 600 {
			t.Errorf("%d of the oldest tokens are left when 1,000 are valid", n)
		}
		third := w.issue(w.ann, w.file.ID)
		if saves, oldest, next := w.countTokens("save"), w.count(
			"SELECT count(*) FROM download_tokens WHERE hash = 'save1'"), w.count(
			"SELECT count(*) FROM download_tokens WHERE hash = 'save2'"); saves != 599 || oldest != 0 || next != 1 {
			t.Errorf("after one more token: %d of the oldest are left; the very oldest: %d, the next: %d", saves,
				oldest, next)
		}
		for _, token := range []string{first, second, third} {
			w.requireUsable(token, "new")
		}
		preview, _, err := w.tokens.Issue(ctx, w.ann, nil, w.file.ID, download.Preview)
		if _, missing := w.resolve(preview); err != nil || missing != nil {
			t.Errorf("a preview: %v, %v", err, missing)
		}
		for name, want := range map[string]int{"save": 598, "preview": 398, "signed": 50, "expired": 50, "used": 50,
			"other": 50, "share": 50, "visitor": 50} {
			if n := w.countTokens(name); n != want {
				t.Errorf("%s: %d tokens are left, want %d", name, n, want)
			}
		}
		w.clock.Add((6 * time.Minute).Milliseconds()) // the first ones expire
		w.issue(w.ann, w.file.ID)
		if n := w.countTokens("preview"); n != 398 {
			t.Errorf("%d tokens are left, although few are valid", n)
		}
	})
}

// Tokens issued at the same moment over all connections leave at most 1,000, the new ones among
// them.
func TestTokenLimitIsExactUnderConcurrency(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		w.storeTokens(995, "old", w.ann.UserID, "", "e", "download", time.Minute)
		tokens, errs := make([]string, 24), make([]error, 24)
		var running sync.WaitGroup
		for i := range tokens {
			running.Go(func() { tokens[i], _, errs[i] = w.tokens.Issue(ctx, w.ann, nil, w.file.ID, download.Save) })
		}
		running.Wait()
		for i, token := range tokens {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			w.requireUsable(token, fmt.Sprint("token ", i))
		}
		if n, old := w.count("SELECT count(*) FROM download_tokens"), w.countTokens("old"); n != 1000 || old != 976 {
			t.Errorf("%d tokens are left, %d of them old", n, old)
		}
	})
}

// Visitors share one bound for each share and for each public file.
func TestTokenLimitOfVisitors(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		shared, err := w.shares.Create(ctx, w.ann,
			share.Draft{EntryID: w.file.ID, AllowDownload: true, AllowPreview: true})
		if err != nil {
			t.Fatal(err)
		}
		w.storeTokens(1000, "mine", "", shared.ID, w.file.ID, "download", time.Minute)
		w.storeTokens(1000, "other", "", "another share", w.file.ID, "download", time.Minute)
		visit, err := w.shares.Visit(ctx, shared.ID, share.Visitor{})
		if err != nil {
			t.Fatal(err)
		}
		token, err := w.tokens.IssueShared(ctx, visit, nil, download.Shared{EntryID: w.file.ID})
		if err != nil {
			t.Fatal(err)
		}
		w.requireUsable(token, "a share's token")
		if mine, other := w.countTokens("mine"), w.countTokens("other"); mine != 999 || other != 1000 {
			t.Errorf("%d tokens of the share are left, %d of another share", mine, other)
		}

		admin, err := w.accounts.ByName(w.db.Read(ctx), "admin")
		if err != nil {
			t.Fatal(err)
		}
		public := w.put(access.Actor{UserID: admin.ID, Role: access.Admin}, "/public", "open.txt")
		w.storeTokens(1000, "visitor", "", "", public.ID, "download", time.Minute)
		w.storeTokens(1000, "file", "", "", "another", "download", time.Minute)
		w.requireUsable(w.issue(access.Actor{Role: access.Guest}, public.ID), "a public file's token")
		if visitors, file := w.countTokens("visitor"), w.countTokens("file"); visitors != 999 || file != 1000 {
			t.Errorf("%d tokens of the file are left, %d of another file", visitors, file)
		}
	})
}
