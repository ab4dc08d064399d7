package download_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/apikey"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/download"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/lifecycle"
	"larder/internal/mount"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/secret"
	"larder/internal/share"
	"larder/internal/site"
	"larder/internal/upload"
	"larder/internal/vpath"
)

var ctx = context.Background()

// fixture is a service after its first start, with the user ann, who has one file.
type fixture struct {
	t        *testing.T
	db       *db.DB
	tree     *files.Tree
	accounts *account.Service
	keys     *apikey.Service
	rules    *access.Store
	tokens   *download.Service
	shares   *share.Service
	uploads  *upload.Service
	ann      access.Actor
	file     files.Entry
	clock    atomic.Int64 // ms
}

func (f *fixture) now() time.Time { return time.UnixMilli(f.clock.Load()).UTC() }

func eachEngine(t *testing.T, test func(t *testing.T, w *fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(t, newWorld(t, d)) })
}

func newWorld(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	w := &fixture{t: t, db: d}
	w.clock.Store(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC).UnixMilli())
	ids, log := ident.New(rand.Reader), slog.New(slog.DiscardHandler)
	master, err := secret.New(ids.Bytes(32))
	if err != nil {
		t.Fatal(err)
	}
	settings := site.New(d, master)
	w.accounts = account.New(account.Config{DB: d, IDs: ids, Random: rand.Reader, Keys: master, Now: w.now, Log: log,
		HashMemory: 64})
	w.keys = apikey.New(d, ids, w.now)
	w.rules = access.NewStore(d, w.now, func(ctx context.Context, version int64) (bool, error) {
		current, err := settings.Current(ctx, version)
		return current.AllowGuestAccess, err
	})
	providers := provider.New(provider.Config{DB: d, ObjectDir: filepath.Join(t.TempDir(), "objects"), Now: w.now})
	t.Cleanup(func() {
		if err := providers.Close(); err != nil {
			t.Error(err)
		}
	})
	mounts := mount.New(d)
	objects := object.New(object.Config{DB: d, Providers: providers, IDs: ids, Now: w.now, Grace: time.Hour, Log: log})
	w.tree = files.New(files.Config{DB: d, Policies: w.rules, Mounts: mounts, Providers: providers, Objects: objects,
		IDs: ids, Now: w.now, Log: log})
	w.uploads = upload.New(upload.Config{DB: d, Tree: w.tree, Objects: objects, Providers: providers, IDs: ids,
		Now: w.now, Log: log})
	w.shares = share.New(share.Config{DB: d, Tree: w.tree, Accounts: w.accounts, IDs: ids, Now: w.now})
	w.tokens = download.New(download.Config{DB: d, Tree: w.tree, Accounts: w.accounts, Keys: w.keys, Shares: w.shares,
		IDs: ids, Now: w.now})
	life := lifecycle.New(lifecycle.Config{
		DB: d, Accounts: w.accounts, Policies: w.rules, Providers: providers, Mounts: mounts, Tree: w.tree,
		Objects: objects, Site: settings, IDs: ids, Now: w.now,
		MaxStorage: -1, MaxFiles: -1,
	})
	first := lifecycle.FirstStart{Username: "admin", Email: "admin@localhost", Password: "correct horse",
		Settings: site.Defaults()}
	if _, err := life.Seed(ctx, first); err != nil {
		t.Fatal(err)
	}
	user, err := life.CreateUser(ctx, lifecycle.NewUser{NewUser: account.NewUser{
		Username: "ann", Email: "ann@example.org", Password: "correct horse", Role: access.User, EmailVerified: true,
		Locale: "en-US",
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.ann = access.Actor{UserID: user.ID, Role: user.Role, HomeID: user.HomeID}
	w.file = w.put(w.ann, "/home/ann", "f.txt")
	return w
}

func (f *fixture) put(a access.Actor, dir, name string) files.Entry {
	f.t.Helper()
	at, err := vpath.Parse(dir)
	if err != nil {
		f.t.Fatal(err)
	}
	result, err := f.uploads.Put(ctx, a, upload.OneShot{Dir: at, Name: vpath.Name(name), Size: -1,
		Body: strings.NewReader("hello")})
	if err != nil {
		f.t.Fatal(err)
	}
	return result.File
}

func (f *fixture) issue(a access.Actor, id string) string {
	f.t.Helper()
	token, expiresAt, err := f.tokens.Issue(ctx, a, nil, id, download.Save)
	if err != nil {
		f.t.Fatal(err)
	}
	if got := expiresAt.Sub(f.now()); got != 900*time.Second {
		f.t.Errorf("the token lasts %v", got)
	}
	return token
}

func (f *fixture) resolve(token string) (download.Redemption, error) {
	return f.tokens.Resolve(ctx, token, netip.MustParseAddr("203.0.113.7"))
}

func (f *fixture) wantFault(err error, kind fault.Kind, doing string) {
	f.t.Helper()
	if !fault.Is(err, kind) {
		f.t.Errorf("%s: got %v, want fault %d", doing, err, kind)
	}
}

// requireUsable fails the test unless the token gives the bytes of the file.
func (f *fixture) requireUsable(token, doing string) {
	f.t.Helper()
	redemption, err := f.resolve(token)
	if err != nil {
		f.t.Errorf("%s: %v", doing, err)
		return
	}
	object, err := redemption.Content.Open(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	defer object.Close()
	if content, err := io.ReadAll(object); err != nil || string(content) != "hello" ||
		redemption.Purpose != download.Save {
		f.t.Errorf("%s: %q, %v, %+v", doing, content, err, redemption)
	}
}

func TestTokenServesOnceAndForFifteenMinutes(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		token := w.issue(w.ann, w.file.ID)
		w.requireUsable(token, "new")
		w.requireUsable(token, "resolved before")
		if err := w.tokens.Consume(ctx, token); err != nil {
			t.Fatal(err)
		}
		_, err := w.resolve(token)
		w.wantFault(err, fault.InvalidToken, "used up")
		w.wantFault(w.tokens.Consume(ctx, token), fault.InvalidToken, "used up twice")

		old := w.issue(w.ann, w.file.ID)
		w.clock.Add(900_000 - 1)
		w.requireUsable(old, "a millisecond before it expires")
		w.clock.Add(1)
		_, err = w.resolve(old)
		w.wantFault(err, fault.InvalidToken, "expired")
		w.wantFault(w.tokens.Consume(ctx, old), fault.InvalidToken, "expired, used")
		if err := w.tokens.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		if n := w.count("SELECT count(*) FROM download_tokens"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

func (f *fixture) count(query string, args ...any) (n int) {
	f.t.Helper()
	if err := f.db.Read(ctx).QueryRow(query, args...).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

// Abuse case C39: a token has 256 bits, and only its SHA-256 is stored.
func TestTokenIsUnguessableAndStoredAsItsHash(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		token, other := w.issue(w.ann, w.file.ID), w.issue(w.ann, w.file.ID)
		if !regexp.MustCompile(`^[0-9A-Za-z]{43}$`).MatchString(token) || token == other {
			t.Errorf("tokens %q, %q", token, other)
		}
		sum := sha256.Sum256([]byte(token))
		if n := w.count("SELECT count(*) FROM download_tokens WHERE hash = $1", hex.EncodeToString(sum[:])); n != 1 {
			t.Errorf("%d rows under the hash", n)
		}
		for _, bad := range []string{"", "x", token[:42], token + "0", hex.EncodeToString(sum[:]),
			strings.Repeat("0", 43), strings.Repeat("x", 1<<20)} {
			_, err := w.resolve(bad)
			w.wantFault(err, fault.InvalidToken, "a token that was never issued")
			w.wantFault(w.tokens.Consume(ctx, bad), fault.InvalidToken, "consuming a token that was never issued")
		}
	})
}

// Abuse case C84.
func TestTokenIsConsumedOnceUnderConcurrency(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		token := w.issue(w.ann, w.file.ID)
		var won, lost atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				switch err := w.tokens.Consume(ctx, token); {
				case err == nil:
					won.Add(1)
				case fault.Is(err, fault.InvalidToken):
					lost.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 || lost.Load() != 49 {
			t.Errorf("%d callers used the token, %d got InvalidToken", won.Load(), lost.Load())
		}
	})
}

func TestIssueRequiresDownloadPermission(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		issue := func(a access.Actor, id string) error {
			_, _, err := w.tokens.Issue(ctx, a, nil, id, download.Save)
			return err
		}
		w.wantFault(issue(w.ann, "no-such-id"), fault.NotFound, "no such file")
		w.wantFault(issue(access.Actor{UserID: "somebody", Role: access.User}, w.file.ID), fault.Forbidden,
			"somebody else")
		if n := w.count("SELECT count(*) FROM download_tokens"); n != 0 {
			t.Errorf("%d tokens were issued", n)
		}
		admin, err := w.accounts.ByName(w.db.Read(ctx), "admin")
		if err != nil {
			t.Fatal(err)
		}
		public := w.put(access.Actor{UserID: admin.ID, Role: access.Admin}, "/public", "p.txt")
		w.requireUsable(w.issue(access.Actor{Role: access.Guest}, public.ID), "a visitor's token for a public file")
	})
}

// Abuse cases C31 and C86.
func TestTokenEndsWithTheRightsOfItsAccount(t *testing.T) {
	write := func(w *fixture, fn func(tx *db.Tx) error) {
		w.t.Helper()
		if err := w.db.Write(ctx, fn); err != nil {
			w.t.Fatal(err)
		}
	}
	const ruleID = "7d3f9a52-0000-4000-8000-000000000000"
	eachEngine(t, func(t *testing.T, w *fixture) {
		token := w.issue(w.ann, w.file.ID)
		write(w, func(tx *db.Tx) error { return w.accounts.SetStatus(tx, w.ann.UserID, account.Disabled) })
		_, err := w.resolve(token)
		w.wantFault(err, fault.InvalidToken, "account disabled")
		write(w, func(tx *db.Tx) error { return w.accounts.SetStatus(tx, w.ann.UserID, account.Active) })
		w.requireUsable(token, "account active again")

		write(w, func(tx *db.Tx) error {
			return w.rules.Insert(tx, access.StoredRule{Rule: access.Rule{
				ID: ruleID, Pattern: "/home/**", Effect: access.Deny, UserID: w.ann.UserID,
				Permissions: access.Set(access.Download), Priority: 1,
			}})
		})
		_, err = w.resolve(token)
		w.wantFault(err, fault.InvalidToken, "right revoked")
		write(w, func(tx *db.Tx) error { return w.rules.Delete(tx, ruleID) })
		w.requireUsable(token, "right back")

		if _, _, err := w.tree.Delete(ctx, w.ann, w.file.ID); err != nil {
			t.Fatal(err)
		}
		_, err = w.resolve(token)
		w.wantFault(err, fault.NotFound, "file deleted")
	})
}

// A token carries the passwords that its actor had given when it was issued, and no others.
func TestTokenCarriesProofOfPasswords(t *testing.T) {
	const ruleID = "7d3f9a52-0000-4000-8000-000000000001"
	eachEngine(t, func(t *testing.T, w *fixture) {
		err := w.db.Write(ctx, func(tx *db.Tx) error {
			if _, err := tx.Exec("UPDATE entries SET password_hash = 'hash' WHERE id = $1", w.file.ID); err != nil {
				return err
			}
			return w.rules.Insert(tx, access.StoredRule{PasswordHash: "hash", Rule: access.Rule{
				ID: ruleID, Pattern: "/home/ann/**", Effect: access.Allow, UserID: w.ann.UserID,
				Permissions: access.All, RequirePassword: true, Priority: 1,
			}})
		})
		if err != nil {
			t.Fatal(err)
		}
		rules, err := w.rules.All(ctx)
		if err != nil {
			t.Fatal(err)
		}
		given := w.ann
		for _, unlocked := range [][]string{nil, {rules[0].PasswordID}, {"another-entry"}} {
			given.Unlocked = unlocked
			_, _, err := w.tokens.Issue(ctx, given, nil, w.file.ID, download.Save)
			w.wantFault(err, fault.PasswordRequired, "a password of another file")
		}
		given.Unlocked = []string{rules[0].PasswordID, w.file.ID}
		token := w.issue(given, w.file.ID)
		w.requireUsable(token, "with proof")
		if err := w.db.Write(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE download_tokens SET proof = NULL")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		_, err = w.resolve(token)
		w.wantFault(err, fault.PasswordRequired, "without its proof")
	})
}

func TestTokenOfAKeyEndsWithTheKey(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		minute := int64(60)
		for name, end := range map[string]func(id string) error{
			"revoked": func(id string) error { return w.keys.Revoke(ctx, w.ann.UserID, id) },
			"expired": func(string) error { w.clock.Add(60_000); return nil },
		} {
			key, _, err := w.keys.Create(ctx, w.ann.UserID, apikey.NewKey{
				Name: name, Permissions: []string{"read"}, Protocols: []string{"api"}, ExpiresIn: &minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			a := w.ann
			a.Key = key.Scope()
			token := w.issue(a, w.file.ID)
			w.requireUsable(token, name+", before")
			if err := end(key.ID); err != nil {
				t.Fatal(err)
			}
			_, err = w.resolve(token)
			w.wantFault(err, fault.InvalidToken, name)
		}
	})
}
