package lifecycle_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
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
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/lifecycle"
	"larder/internal/mount"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/quota"
	"larder/internal/secret"
	"larder/internal/site"
	"larder/internal/upload"
	"larder/internal/vpath"
)

var ctx = context.Background()

func now() time.Time { return time.UnixMilli(1_770_000_000_000).UTC() }

// replica is one process on a database, before its first start.
type replica struct {
	t        *testing.T
	db       *db.DB
	life     *lifecycle.Service
	accounts *account.Service
	policies *access.Store
	tree     *files.Tree
	site     *site.Store
	provider *provider.Registry
	uploads  *upload.Service
	log      *slog.Logger
}

func newReplica(t *testing.T, d *db.DB, objects string) *replica {
	t.Helper()
	ids, log := ident.New(rand.Reader), slog.New(slog.DiscardHandler)
	master, err := secret.New(ids.Bytes(32))
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{t: t, db: d, site: site.New(d, master), log: log}
	r.accounts = account.New(account.Config{DB: d, IDs: ids, Random: rand.Reader, Keys: master, Now: now, Log: log,
		HashMemory: 64})
	r.policies = access.NewStore(d, now, func(ctx context.Context, version int64) (bool, error) {
		current, err := r.site.Current(ctx, version)
		return current.AllowGuestAccess, err
	})
	r.provider = provider.New(provider.Config{DB: d, ObjectDir: objects, Now: now})
	t.Cleanup(func() {
		if err := r.provider.Close(); err != nil {
			t.Error(err)
		}
	})
	mounts := mount.New(d)
	stored := object.New(object.Config{DB: d, Providers: r.provider, IDs: ids, Now: now, Grace: time.Hour, Log: log})
	r.tree = files.New(files.Config{DB: d, Policies: r.policies, Mounts: mounts, Providers: r.provider, Objects: stored,
		IDs: ids, Now: now, Log: log,
		Active: r.accounts.IsActive, Successor: func(q db.Querier, userID string) (files.Successor, error) {
			return r.life.Successor(q, userID)
		},
		Owner: func(ctx context.Context, version int64, userID string) (access.Actor, bool, error) {
			u, err := r.accounts.Cached(ctx, version, userID)
			if fault.Is(err, fault.NotFound) {
				return access.Actor{}, false, nil
			}
			return access.Actor{UserID: u.ID, Role: u.Role, HomeID: u.HomeID}, u.Status == account.Active, err
		},
	})
	r.uploads = upload.New(upload.Config{DB: d, Tree: r.tree, Objects: stored, Providers: r.provider, IDs: ids,
		Now: now, Log: log})
	r.life = lifecycle.New(lifecycle.Config{
		DB: d, Accounts: r.accounts, Policies: r.policies, Providers: r.provider, Mounts: mounts, Tree: r.tree,
		Objects: stored, Site: r.site, IDs: ids, Now: now,
		Keys: apikey.New(d, ids, now), Uploads: r.uploads, HandoverPiece: 2,
		MaxStorage: 1000, MaxFiles: 10,
	})
	return r
}

func each(t *testing.T, test func(t *testing.T, d *db.DB, objects string)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(t, d, filepath.Join(t.TempDir(), "objects")) })
}

func firstStart() lifecycle.FirstStart {
	settings := site.Defaults()
	settings.AllowRegistration = true
	return lifecycle.FirstStart{Username: "root_1", Email: "admin@localhost", Password: "correct horse",
		Settings: settings}
}

func (r *replica) seed() {
	r.t.Helper()
	if made, err := r.life.Seed(ctx, firstStart()); err != nil || !made {
		r.t.Fatalf("seed: %v, %v", made, err)
	}
}

// wantStoreReady checks that the store of the first provider is available.
func (r *replica) wantStoreReady(ctx context.Context) {
	r.t.Helper()
	if all, err := r.provider.StoreStatuses(ctx, provider.StatusTimeout); err != nil || len(all) != 1 ||
		all[0].Err != nil {
		r.t.Errorf("the store is not ready: %+v, %v", all, err)
	}
}

func (r *replica) count(query string, args ...any) (n int) {
	r.t.Helper()
	if err := r.db.Read(ctx).QueryRow(query, args...).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

func newUser(name string) lifecycle.NewUser {
	return lifecycle.NewUser{NewUser: account.NewUser{
		Username: name, Email: strings.ToLower(name) + "@example.org", Password: "correct horse", Role: access.User,
		Locale: "en-US",
	}}
}

func (r *replica) list(a access.Actor, dir string) []string {
	r.t.Helper()
	at, err := vpath.Parse(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	listing, err := r.tree.List(ctx, a, files.ListQuery{Path: at, Page: 1, Limit: 100})
	if err != nil {
		r.t.Fatalf("list %s: %v", dir, err)
	}
	var names []string
	for _, item := range listing.Items {
		names = append(names, item.Name)
	}
	return names
}

func TestFirstStartMakesEverything(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		if done, err := r.life.Seeded(ctx); err != nil || done {
			t.Fatalf("seeded before: %v, %v", done, err)
		}
		r.seed()
		if done, err := r.life.Seeded(ctx); err != nil || !done {
			t.Fatalf("seeded after: %v, %v", done, err)
		}
		admin, err := r.accounts.Login(ctx, account.AddressSource("192.0.2.1"), "root_1", "correct horse", true)
		if err != nil || admin.Role != access.Admin || !admin.EmailVerified || admin.DefaultPath != "/" ||
			admin.HomeID != "" || admin.Email != "admin@localhost" {
			t.Errorf("administrator %+v, %v", admin, err)
		}
		if q, err := quota.Get(d.Read(ctx), admin.ID); err != nil || q != (quota.Quota{MaxStorage: -1, MaxFiles: -1}) {
			t.Errorf("quota %+v, %v", q, err)
		}
		if got := strings.Join(r.list(access.Actor{UserID: admin.ID, Role: access.Admin}, "/"),
			" "); got != "home public uploads" {
			t.Errorf("folders %q", got)
		}
		for query, want := range map[string]int{
			"SELECT count(*) FROM providers WHERE name = 'local' AND type = 'store_a' AND bucket = 'default' AND " +
				"marker <> ''": 1,
			"SELECT count(*) FROM mounts m JOIN providers p ON p.id = m.provider_id WHERE mount_path = '/' AND " +
				"m.name = 'Files' AND sort_by = 'name' AND sort_order = 'asc'": 1,
			"SELECT count(*) FROM rules":  3,
			"SELECT count(*) FROM users":  1,
			"SELECT count(*) FROM quotas": 1,
		} {
			if got := r.count(query); got != want {
				t.Errorf("%s: %d, want %d", query, got, want)
			}
		}
		r.wantStoreReady(ctx)
		version, err := db.ConfigVersion(d.Read(ctx))
		if err != nil {
			t.Fatal(err)
		}
		if settings, err := r.site.Current(ctx, version); err != nil || !settings.AllowRegistration {
			t.Errorf("settings %+v, %v", settings, err)
		}
		rules, total, err := r.policies.List(ctx, access.Filter{}, 10, 0)
		if err != nil || total != 3 {
			t.Fatalf("%d rules, %v", total, err)
		}
		got := map[string]bool{}
		for _, rule := range rules {
			got[string(rule.Role)+" "+string(rule.Effect)+" "+rule.Pattern+" "+strings.Join(rule.Permissions.Names(),
				",")] = true
		}
		for _, want := range []string{"guest allow /public/** read,download", "user allow /public/** read,download",
			"user allow /uploads/** write"} {
			if !got[want] {
				t.Errorf("no rule %q among %v", want, got)
			}
		}
	})
}

// Abuse case C53: no password signs in except the one that was given.
func TestFirstStartHasNoDefaultPassword(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		without := firstStart()
		without.Password = ""
		if _, err := r.life.Seed(ctx, without); !fault.Is(err, fault.Invalid) {
			t.Errorf("an empty password: %v", err)
		}
		if n := r.count("SELECT count(*) FROM users"); n != 0 {
			t.Errorf("%d users", n)
		}
		r.seed()
		for _, name := range []string{"root_1", "admin", "admin@localhost"} {
			for _, password := range []secret.Text{"", "admin", "password", "root_1"} {
				if _, err := r.accounts.Login(ctx, account.AddressSource("192.0.2.1"), name, password,
					false); !fault.Is(err, fault.BadCredentials) {
					t.Errorf("%s with %q: %v", name, password.Reveal(), err)
				}
			}
		}
	})
}

func TestSecondStartChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		if err := d.Write(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec("DELETE FROM rules")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		version, err := db.ConfigVersion(d.Read(ctx))
		if err != nil {
			t.Fatal(err)
		}
		again := firstStart()
		again.Username, again.Email = "other", "other@example.org"
		if made, err := newReplica(t, d, filepath.Join(t.TempDir(), "elsewhere")).life.Seed(ctx, again); err != nil ||
			made {
			t.Errorf("second start: %v, %v", made, err)
		}
		if users, rules := r.count("SELECT count(*) FROM users"), r.count("SELECT count(*) FROM rules"); users != 1 ||
			rules != 0 {
			t.Errorf("%d users, %d rules", users, rules)
		}
		if after, err := db.ConfigVersion(d.Read(ctx)); err != nil || after != version {
			t.Errorf("config version %d, was %d (%v)", after, version, err)
		}
	})
}

func TestReplicasThatStartAtOnce(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		var made atomic.Int64
		var wg sync.WaitGroup
		for range 5 {
			r := newReplica(t, d, objects)
			wg.Go(func() {
				did, err := r.life.Seed(ctx, firstStart())
				if err != nil {
					t.Error(err)
				}
				if did {
					made.Add(1)
				}
			})
		}
		wg.Wait()
		r := newReplica(t, d, objects)
		if users := r.count("SELECT count(*) FROM users"); made.Load() != 1 || users != 1 {
			t.Errorf("%d replicas did the first start, %d users", made.Load(), users)
		}
		r.wantStoreReady(ctx)
	})
}

// A first start that fails after making the directory of the store can be repeated.
func TestFirstStartThatBrokeOffIsRepeated(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		exec := func(text string) {
			t.Helper()
			if err := d.Write(ctx, func(tx *db.Tx) error { _, err := tx.Exec(text); return err }); err != nil {
				t.Fatal(err)
			}
		}
		exec("ALTER TABLE settings RENAME TO gone")
		if _, err := r.life.Seed(ctx, firstStart()); err == nil {
			t.Fatal("the first start succeeded without its tables")
		}
		if _, err := os.Stat(filepath.Join(objects, "default")); err != nil {
			t.Fatalf("the store was not made: %v", err)
		}
		if users := r.count("SELECT count(*) FROM users"); users != 0 {
			t.Errorf("%d users are left of it", users)
		}
		exec("ALTER TABLE gone RENAME TO settings")
		r = newReplica(t, d, objects)
		r.seed()
		r.wantStoreReady(ctx)
	})
}

func TestUserComesWithHomeAndQuota(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		ann, err := r.life.CreateUser(ctx, newUser("Ann"))
		if err != nil || ann.DefaultPath != "/home/Ann" || ann.HomeID == "" {
			t.Fatalf("got %+v, %v", ann, err)
		}
		if q, err := quota.Get(d.Read(ctx), ann.ID); err != nil || q != (quota.Quota{MaxStorage: 1000, MaxFiles: 10}) {
			t.Errorf("quota %+v, %v", q, err)
		}
		a := access.Actor{UserID: ann.ID, Role: ann.Role, HomeID: ann.HomeID}
		if got := strings.Join(r.list(a, "/home"), " "); got != "Ann" {
			t.Errorf("in /home: %q", got)
		}
		n := newUser("boss")
		storage, count := int64(-1), int64(0)
		n.Role, n.MaxStorage, n.MaxFiles = access.Admin, &storage, &count
		boss, err := r.life.CreateUser(ctx, n)
		if err != nil || boss.DefaultPath != "/home/boss" || boss.HomeID == "" {
			t.Errorf("got %+v, %v", boss, err)
		}
		if q, err := quota.Get(d.Read(ctx), boss.ID); err != nil || q != (quota.Quota{MaxStorage: -1, MaxFiles: 0}) {
			t.Errorf("quota %+v, %v", q, err)
		}
	})
}

func TestHomeIsNeverAnExistingFolder(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		admin, err := r.accounts.ByName(d.Read(ctx), "root_1")
		if err != nil {
			t.Fatal(err)
		}
		home, err := vpath.Parse("/home")
		if err != nil {
			t.Fatal(err)
		}
		taken, err := r.tree.CreateFolder(ctx, access.Actor{UserID: admin.ID, Role: access.Admin}, home, "ann")
		if err != nil {
			t.Fatal(err)
		}
		ann, err := r.life.CreateUser(ctx, newUser("ann"))
		if err != nil || ann.DefaultPath != "/home/ann-2" || ann.HomeID == taken.ID {
			t.Errorf("got %+v, %v", ann, err)
		}
	})
}

func TestUserThatCannotBeMadeLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		if _, err := r.life.CreateUser(ctx, newUser("ann")); err != nil {
			t.Fatal(err)
		}
		count := func() [3]int {
			return [3]int{r.count("SELECT count(*) FROM users"), r.count("SELECT count(*) FROM quotas"),
				r.count("SELECT count(*) FROM entries")}
		}
		before := count()
		below := int64(-2)
		for name, change := range map[string]struct {
			change func(n *lifecycle.NewUser)
			want   fault.Kind
		}{
			"name taken, without case": {func(n *lifecycle.NewUser) { n.Username = "ANN" }, fault.AlreadyExists},
			"address taken, without case": {func(n *lifecycle.NewUser) { n.Email = "Ann@Example.org" },
				fault.AlreadyExists},
			"name of two characters": {func(n *lifecycle.NewUser) { n.Username = "xy" }, fault.Invalid},
			"name that is a path":    {func(n *lifecycle.NewUser) { n.Username = "../x" }, fault.Invalid},
			"short password":         {func(n *lifecycle.NewUser) { n.Password = "1234567" }, fault.Invalid},
			// abuse case C107
			"password of a megabyte": {func(n *lifecycle.NewUser) {
				n.Password = secret.Text(strings.Repeat("x", 1<<20))
			}, fault.Invalid},
			"quota below -1": {func(n *lifecycle.NewUser) { n.MaxStorage = &below }, fault.Invalid},
		} {
			n := newUser("bob")
			change.change(&n)
			if _, err := r.life.CreateUser(ctx, n); !fault.Is(err, change.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := count(); after != before {
			t.Errorf("users, quotas, entries are %v, were %v", after, before)
		}
	})
}

func TestParallelUsersOfOneName(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		var won atomic.Int64
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				switch _, err := r.life.CreateUser(ctx, newUser("ann")); {
				case err == nil:
					won.Add(1)
				case !fault.Is(err, fault.AlreadyExists):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if homes := r.count("SELECT count(*) FROM entries WHERE name LIKE 'ann%'"); won.Load() != 1 || homes != 1 {
			t.Errorf("%d users, %d homes", won.Load(), homes)
		}
	})
}

func TestResetPasswordEndsSessions(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		ann, err := r.life.CreateUser(ctx, newUser("ann"))
		if err != nil {
			t.Fatal(err)
		}
		token, _, err := r.accounts.Issue(ctx, ann, account.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := r.life.ResetPassword(ctx, "ANN", "")
		if err != nil || !regexp.MustCompile(`^[0-9A-Za-z]{20}$`).MatchString(drawn.Reveal()) {
			t.Fatalf("got %q, %v", drawn.Reveal(), err)
		}
		if _, err := r.accounts.Login(ctx, account.AddressSource("192.0.2.1"), "ann", drawn, false); err != nil {
			t.Errorf("the new password: %v", err)
		}
		if _, err := r.accounts.Login(ctx, account.AddressSource("192.0.2.1"), "ann", "correct horse",
			false); !fault.Is(err, fault.BadCredentials) {
			t.Errorf("the old password: %v", err)
		}
		version, err := db.ConfigVersion(d.Read(ctx))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.accounts.Authenticate(ctx, version, token,
			account.Origin{}); !fault.Is(err, fault.SessionRevoked) {
			t.Errorf("the old session: %v", err)
		}
		if given, err := r.life.ResetPassword(ctx, "ann", "battery staple"); err != nil ||
			given.Reveal() != "battery staple" {
			t.Errorf("got %q, %v", given.Reveal(), err)
		}
		if _, err := r.life.ResetPassword(ctx, "ann", "short"); !fault.Is(err, fault.Invalid) {
			t.Errorf("a short password: %v", err)
		}
		if _, err := r.life.ResetPassword(ctx, "nobody", ""); !fault.Is(err, fault.NotFound) {
			t.Errorf("nobody: %v", err)
		}
	})
}
