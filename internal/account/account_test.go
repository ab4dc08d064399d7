package account_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/ident"
	"larder/internal/secret"
)

// fixture holds the accounts of a database and a clock that moves only when told to.
type fixture struct {
	*account.Service
	t    *testing.T
	db   *db.DB
	keys *secret.Keyring
	now  *atomic.Int64 // ms
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testSource is the source of hashes in these tests.
var testSource = account.AddressSource("192.0.2.1")

func newFixture(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	master := sha256.Sum256([]byte("a master key for tests"))
	keys, err := secret.New(master[:])
	if err != nil {
		t.Fatal(err)
	}
	now := new(atomic.Int64)
	now.Store(start.UnixMilli())
	return &fixture{
		Service: account.New(account.Config{
			DB:     d,
			IDs:    ident.New(rand.Reader),
			Random: rand.Reader,
			Keys:   keys,
			Now:    func() time.Time { return time.UnixMilli(now.Load()) },
			Log:    slog.New(slog.DiscardHandler),
		}),
		t: t, db: d, keys: keys, now: now,
	}
}

func (f *fixture) advance(d time.Duration) { f.now.Add(d.Milliseconds()) }

func (f *fixture) version() int64 {
	f.t.Helper()
	v, err := db.ConfigVersion(f.db.Read(context.Background()))
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

func (f *fixture) mustWrite(fn func(tx *db.Tx) error) {
	f.t.Helper()
	if err := f.db.Write(context.Background(), fn); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) hash(password secret.Text) string {
	f.t.Helper()
	h, err := f.HashPassword(context.Background(), testSource, password)
	if err != nil {
		f.t.Fatal(err)
	}
	return h
}

// cheapHash is the hash of "password" at a low cost: 64 KiB, one pass, as published in
// golang.org/x/crypto/argon2.
const cheapHash = "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$ZVrRXqxlLcWfcXCnMyv0m4Rpvh/bnCi7"

// addUser creates a user with the password "password".
func (f *fixture) addUser(name string, change ...func(n *account.NewUser)) account.User {
	f.t.Helper()
	n := account.NewUser{Username: name, Email: name + "@example.org", Role: access.User, EmailVerified: true}
	for _, c := range change {
		c(&n)
	}
	var u account.User
	f.mustWrite(func(tx *db.Tx) (err error) {
		u, err = f.Insert(tx, n, cheapHash)
		return err
	})
	return u
}

func wantKind(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: got %v, want kind %d", what, err, kind)
	}
}

func TestNewUserIsStoredAsGiven(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		before := w.version()
		u := w.addUser("Ann_1", func(n *account.NewUser) {
			n.Email, n.Role, n.EmailVerified = "Ann@Example.org", access.Guest, false
			n.DefaultPath, n.HomeID, n.Locale = "/home/Ann_1", "entry", "zh-CN"
		})
		if len(u.ID) != 36 || w.version() == before {
			t.Errorf("id %q, config version %d after %d", u.ID, w.version(), before)
		}
		want := account.User{
			ID: u.ID, Username: "Ann_1", Email: "Ann@Example.org", Role: access.Guest, Status: account.Active,
			DefaultPath: "/home/Ann_1",
			HomeID:      "entry", Locale: "zh-CN", Theme: "system", AccentColor: "#3b6cf6", EnableBlur: true,
			RoleVersion:    1,
			SessionVersion: 1,
			CreatedAt:      start.UnixMilli(), UpdatedAt: start.UnixMilli(),
		}
		if u != want {
			t.Errorf("inserted %+v, want %+v", u, want)
		}
		for _, name := range []string{"Ann_1", "ann_1", "ANN@EXAMPLE.ORG"} {
			if got, err := w.ByName(d.Read(context.Background()), name); err != nil || got != want {
				t.Errorf("by name %s: %+v, %v", name, got, err)
			}
		}
		if got, err := w.ByID(d.Read(context.Background()), u.ID); err != nil || got != want {
			t.Errorf("by id: %+v, %v", got, err)
		}
		defaults := w.addUser("plain")
		if defaults.DefaultPath != "/" || defaults.HomeID != "" || defaults.Locale != "en-US" {
			t.Errorf("defaults: %+v", defaults)
		}
	})
}

func TestUnknownUserIsNotFound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		for _, name := range []string{"", "nobody", "nobody@example.org", "nul\x00", "bad\xffutf8", "not a name",
			strings.Repeat("x", 1<<20)} {
			_, err := w.ByName(d.Read(context.Background()), name)
			wantKind(t, "by name", err, fault.NotFound)
			_, err = w.ByID(d.Read(context.Background()), name)
			wantKind(t, "by id", err, fault.NotFound)
			_, err = w.Cached(context.Background(), w.version(), name)
			wantKind(t, "cached", err, fault.NotFound)
		}
		for name, change := range map[string]func(tx *db.Tx) error{
			"home":     func(tx *db.Tx) error { return w.SetHome(tx, "nobody", "", "/") },
			"password": func(tx *db.Tx) error { return w.SetPassword(tx, "nobody", cheapHash) },
			"status":   func(tx *db.Tx) error { return w.SetStatus(tx, "nobody", account.Banned) },
			"role":     func(tx *db.Tx) error { return w.SetRole(tx, "nobody", access.Admin) },
		} {
			wantKind(t, name, d.Write(context.Background(), change), fault.NotFound)
		}
	})
}

// Abuse case C51, second half.
func TestNamesAndAddressesAreUniqueWithoutCase(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.addUser("Admin")
		w.mustWrite(func(tx *db.Tx) error {
			for _, c := range []struct{ name, email, says string }{
				{"Admin", "other@example.org", "username"},
				{"aDMIN", "other@example.org", "username"},
				{"admin", "admin@example.org", "username"},
				{"other", "ADMIN@example.ORG", "email"},
			} {
				_, err := w.Insert(tx, account.NewUser{Username: c.name, Email: c.email, Role: access.User}, cheapHash)
				wantKind(t, c.name+" "+c.email, err, fault.AlreadyExists)
				if err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s, %s: %v", c.name, c.email, err)
				}
			}
			_, err := w.Insert(tx, account.NewUser{Username: "other", Email: "other@example.org", Role: access.User},
				cheapHash)
			return err // the transaction continues after a refusal
		})
	})
}

func TestParallelRegistrationsOfOneName(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		var made atomic.Int64
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				n := account.NewUser{Username: []string{"Bob", "bob", "BOB"}[i%3], Email: "bob@example.org",
					Role: access.User}
				err := d.Write(context.Background(), func(tx *db.Tx) error {
					_, err := w.Insert(tx, n, cheapHash)
					return err
				})
				if err == nil {
					made.Add(1)
				} else if !fault.Is(err, fault.AlreadyExists) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if made.Load() != 1 {
			t.Errorf("%d accounts were made", made.Load())
		}
	})
}

func TestInsertRefusesInvalidUsersAndMalformedHashes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		good := account.NewUser{Username: "ann", Email: "ann@example.org", Role: access.User}
		bad := good
		bad.Username = "a"
		w.mustWrite(func(tx *db.Tx) error {
			_, err := w.Insert(tx, bad, cheapHash)
			wantKind(t, "short name", err, fault.Invalid)
			for _, hash := range []string{"", "password", cheapHash + "x"} {
				if _, err := w.Insert(tx, good, hash); err == nil || strings.Contains(err.Error(), "password\"") {
					t.Errorf("hash %q: got %v", hash, err)
				}
			}
			return nil
		})
	})
}

func TestCachedUserFollowsEveryChange(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, other := newFixture(t, d), newFixture(t, d)
		u := w.addUser("ann")
		ctx := context.Background()
		seen := func() account.User {
			t.Helper()
			got, err := other.Cached(ctx, other.version(), u.ID)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := seen(); got != u {
			t.Fatalf("got %+v, want %+v", got, u)
		}
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := other.Cached(cancelled, other.version(), u.ID); err != nil {
			t.Errorf("a known user is read again: %v", err)
		}
		w.advance(time.Second)
		w.mustWrite(func(tx *db.Tx) error { return w.SetHome(tx, u.ID, "home", "/home/ann") })
		if got := seen(); got.HomeID != "home" || got.DefaultPath != "/home/ann" || got.UpdatedAt != u.UpdatedAt+1000 ||
			got.SessionVersion != 1 {
			t.Errorf("after a new home: %+v", got)
		}
		w.mustWrite(func(tx *db.Tx) error { return w.SetHome(tx, u.ID, "", "/") })
		if got := seen(); got.HomeID != "" {
			t.Errorf("after no home: %+v", got)
		}
		w.mustWrite(func(tx *db.Tx) error { return w.SetRole(tx, u.ID, access.User) })
		if got := seen(); got.RoleVersion != 1 {
			t.Errorf("the same role again: %+v", got)
		}
		w.mustWrite(func(tx *db.Tx) error { return w.SetRole(tx, u.ID, access.Admin) })
		if got := seen(); got.Role != access.Admin || got.RoleVersion != 2 || got.SessionVersion != 1 {
			t.Errorf("after a new role: %+v", got)
		}
		for _, status := range []account.Status{account.Disabled, account.Banned} {
			w.mustWrite(func(tx *db.Tx) error { return w.SetStatus(tx, u.ID, status) })
			if got := seen(); got.Status != status {
				t.Errorf("got %+v, want it %s", got, status)
			}
		}
		w.mustWrite(func(tx *db.Tx) error { return w.SetStatus(tx, u.ID, account.Active) })
		if got := seen(); got.SessionVersion != 3 {
			t.Errorf("after disabling, banning and admitting again: %+v", got)
		}
	})
}
