package apikey_test

import (
	"context"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"larder/internal/apikey"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
)

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		k, token := w.create("ann", newKey(func(n *apikey.NewKey) { n.AllowedIPs = []string{"192.0.2.0/24"} }))
		_, other := w.create("bob", newKey())
		for range 2 { // from the database, then from the cache
			got, err := w.Authenticate(ctx, w.version(), token)
			if err != nil || !reflect.DeepEqual(got, k) {
				t.Errorf("got %+v, %v, want %+v", got, err, k)
			}
		}
		id, half, _ := strings.Cut(token, ".")
		_, otherHalf, _ := strings.Cut(other, ".")
		flipped := half[:len(half)-1] + "A"
		if flipped == half {
			flipped = half[:len(half)-1] + "B"
		}
		for name, bad := range map[string]string{
			"empty":                "",
			"the id alone":         id,
			"the secret alone":     half,
			"id and dot":           id + ".",
			"somebody's secret":    id + "." + otherHalf,
			"one character off":    id + "." + flipped,
			"one character short":  token[:len(token)-1],
			"one character more":   token + "A",
			"a blank after":        token + " ",
			"two dots":             id + ".." + half,
			"halves exchanged":     half + "." + id,
			"an unknown id":        "pk_" + strings.Repeat("a", 24) + "." + half,
			"NUL in the id":        "pk_" + strings.Repeat("a", 23) + "\x00." + half,
			"SQL in the id":        "pk_' OR '1'='1' --aaaaaaaa." + half,
			"the hash":             w.tokenHash(k.ID),
			"the hash as a secret": id + ".sk_" + w.tokenHash(k.ID)[:48],
			"a megabyte":           id + "." + strings.Repeat("A", 1<<20),
			"the id in other case": "PK_" + id[3:] + "." + half,
			"only the prefixes":    "pk_.sk_",
		} {
			_, err := w.Authenticate(ctx, w.version(), bad)
			wantKind(t, name, err, fault.InvalidToken)
		}
	})
}

func TestRevokedKeyEndsAtOnceInAllReplicas(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		other := w.replica()
		revoked, revokedToken := w.create("ann", newKey())
		expiring, expiringToken := w.create("ann", newKey(func(n *apikey.NewKey) { n.ExpiresIn = ptr(int64(60)) }))
		check := func(what, token string, alive bool) {
			t.Helper()
			_, err := other.Authenticate(ctx, w.version(), token)
			if alive && err != nil || !alive && !fault.Is(err, fault.InvalidToken) {
				t.Errorf("%s: got %v", what, err)
			}
		}
		check("before it is revoked", revokedToken, true)
		if err := w.Revoke(ctx, "ann", revoked.ID); err != nil {
			t.Fatal(err)
		}
		check("revoked", revokedToken, false)

		w.advance(time.Minute - time.Millisecond)
		check("a millisecond before it expires", expiringToken, true)
		if got := w.list("ann")[expiring.ID].Status(w.time()); got != "active" {
			t.Errorf("it is %s", got)
		}
		w.advance(time.Millisecond)
		check("expired", expiringToken, false)
		keys := w.list("ann")
		if a, b := keys[expiring.ID].Status(w.time()), keys[revoked.ID].Status(w.time()); a != "expired" ||
			b != "revoked" {
			t.Errorf("they are %s and %s", a, b)
		}

		at := keys[revoked.ID].RevokedAt
		if err := w.Revoke(ctx, "ann", revoked.ID); err != nil {
			t.Errorf("revoking twice: %v", err)
		}
		if again := w.list("ann")[revoked.ID].RevokedAt; at == nil || again == nil || *again != *at ||
			*at != start.UnixMilli() {
			t.Errorf("revoked at %v, then at %v", at, again)
		}
	})
}

// Abuse case C36.
func TestKeysOfOthersDoNotExist(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		anns, token := w.create("ann", newKey())
		for name, id := range map[string]string{"ann's": anns.ID, "unknown": "pk_" + strings.Repeat("a", 24),
			"empty": "", "NUL": "pk_\x00", "the token": token} {
			wantKind(t, "revoke "+name, w.Revoke(ctx, "bob", id), fault.NotFound)
			_, err := w.Change(ctx, "bob", id, apikey.Change{Name: ptr("mine")})
			wantKind(t, "change "+name, err, fault.NotFound)
			if name != "ann's" {
				_, err := w.ByID(ctx, w.version(), id)
				wantKind(t, "by id, "+name, err, fault.NotFound)
			}
		}
		if got := w.list("ann")[anns.ID]; !reflect.DeepEqual(got, anns) {
			t.Errorf("it is now %+v", got)
		}
		if got, err := w.ByID(ctx, w.version(), anns.ID); err != nil || !reflect.DeepEqual(got, anns) {
			t.Errorf("by id: %+v, %v", got, err)
		}
	})
}

func TestChange(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		other := w.replica()
		k, token := w.create("ann", newKey(func(n *apikey.NewKey) { n.AllowedIPs = []string{"192.0.2.7"} }))
		change := func(what string, c apikey.Change, edit func(want *apikey.Key)) {
			t.Helper()
			edit(&k)
			got, err := w.Change(ctx, "ann", k.ID, c)
			if err != nil || !reflect.DeepEqual(got, k) {
				t.Errorf("%s: got %+v, %v, want %+v", what, got, err, k)
			}
			if seen, err := other.Authenticate(ctx, w.version(), token); err != nil || !reflect.DeepEqual(seen, k) {
				t.Errorf("%s: the other replica sees %+v, %v", what, seen, err)
			}
		}
		change("nothing", apikey.Change{}, func(*apikey.Key) {})
		change("name", apikey.Change{Name: ptr(" new ")}, func(k *apikey.Key) { k.Name = "new" })
		change("permissions", apikey.Change{Permissions: &[]string{"write", "read"}},
			func(k *apikey.Key) { k.Permissions = []string{"read", "write"} })
		change("addresses", apikey.Change{AllowedIPs: &[]string{"2001:db8::/32"}}, func(k *apikey.Key) {
			k.AllowedIPs = []netip.Prefix{netip.MustParsePrefix("2001:db8::/32")}
		})
		change("any address", apikey.Change{AllowedIPs: &[]string{}}, func(k *apikey.Key) { k.AllowedIPs = nil })
		w.advance(time.Second)
		change("expiry", apikey.Change{ExpiresIn: ptr(ptr(int64(60)))},
			func(k *apikey.Key) { k.ExpiresAt = ptr(start.UnixMilli() + 61_000) })
		change("expiry stays", apikey.Change{RootOnly: ptr(true)}, func(k *apikey.Key) { k.RootOnly = true })
		change("no expiry", apikey.Change{ExpiresIn: ptr((*int64)(nil))}, func(k *apikey.Key) { k.ExpiresAt = nil })
		change("links", apikey.Change{PublicLinks: ptr("all")}, func(k *apikey.Key) { k.PublicLinks = "all" })

		before := w.version()
		for name, c := range map[string]apikey.Change{
			"name":        {Name: ptr("")},
			"permissions": {Name: ptr("x"), Permissions: &[]string{}},
			"permission":  {Permissions: &[]string{"admin"}},
			"addresses":   {AllowedIPs: &[]string{"x"}},
			"59 seconds":  {ExpiresIn: ptr(ptr(int64(59)))},
			"links":       {PublicLinks: ptr("")},
		} {
			_, err := w.Change(ctx, "ann", k.ID, c)
			wantKind(t, name, err, fault.Invalid)
		}
		if got := w.list("ann")[k.ID]; !reflect.DeepEqual(got, k) || w.version() != before {
			t.Errorf("a refused change left %+v", got)
		}
		if err := w.Revoke(ctx, "ann", k.ID); err != nil {
			t.Fatal(err)
		}
		_, err := w.Change(ctx, "ann", k.ID, apikey.Change{Name: ptr("x")})
		wantKind(t, "a revoked one", err, fault.Conflict)
	})
}

func TestListIsNewestFirst(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		var want []string
		for range 3 {
			k, _ := w.create("ann", newKey())
			want = append([]string{k.ID}, want...)
			w.advance(time.Second)
		}
		keys, err := w.List(context.Background(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range keys {
			got = append(got, k.ID)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// Abuse cases C32 and C59.
func TestAllowsProtocolAndAddress(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		for _, c := range []struct {
			protocols []string
			allowed   []string
			protocol  string
			ip        string
			want      bool
		}{
			{[]string{"api"}, nil, "api", "192.0.2.7", true},
			{[]string{"api"}, nil, "webdav", "192.0.2.7", false},
			{[]string{"webdav"}, nil, "api", "192.0.2.7", false},
			{[]string{"webdav"}, nil, "webdav", "2001:db8::1", true},
			{[]string{"api"}, nil, "", "192.0.2.7", false},
			{[]string{"api"}, []string{}, "api", "192.0.2.7", true},
			{[]string{"api"}, []string{"192.0.2.7"}, "api", "192.0.2.7", true},
			{[]string{"api"}, []string{"192.0.2.7"}, "api", "::ffff:192.0.2.7", true},
			{[]string{"api"}, []string{"::ffff:192.0.2.7"}, "api", "192.0.2.7", true},
			{[]string{"api"}, []string{"::ffff:192.0.2.0/120"}, "api", "192.0.2.255", true},
			{[]string{"api"}, []string{"::ffff:192.0.2.0/120"}, "api", "192.0.3.0", false},
			{[]string{"api"}, []string{"192.0.2.7"}, "api", "192.0.2.8", false},
			{[]string{"api"}, []string{"192.0.2.7"}, "webdav", "192.0.2.7", false},
			{[]string{"api"}, []string{"192.0.2.128/25"}, "api", "192.0.2.128", true},
			{[]string{"api"}, []string{"192.0.2.128/25"}, "api", "192.0.2.127", false},
			{[]string{"api"}, []string{"192.0.2.200/25"}, "api", "192.0.2.129", true},
			{[]string{"api"}, []string{"198.51.100.1", "192.0.2.0/24"}, "api", "192.0.2.1", true},
			{[]string{"api"}, []string{"0.0.0.0/0"}, "api", "2001:db8::1", false},
			{[]string{"api"}, []string{"::/0"}, "api", "2001:db8::1", true},
			{[]string{"api"}, []string{"fe80::/10"}, "api", "fe80::1%eth0", true},
			{[]string{"api"}, []string{"0.0.0.0/0", "::/0"}, "api", "", false},
		} {
			k, token := w.create("ann", newKey(func(n *apikey.NewKey) {
				n.Protocols, n.AllowedIPs = c.protocols, c.allowed
			}))
			k, err := w.Authenticate(context.Background(), w.version(), token)
			if err != nil {
				t.Fatal(err)
			}
			var ip netip.Addr // the invalid address
			if c.ip != "" {
				ip = netip.MustParseAddr(c.ip)
			}
			if err := k.Allows(c.protocol, ip); c.want && err != nil || !c.want && !fault.Is(err, fault.Forbidden) {
				t.Errorf("%v %v, %s from %q: got %v", c.protocols, c.allowed, c.protocol, c.ip, err)
			}
			if err := w.Revoke(context.Background(), "ann", k.ID); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestLastUseIsWrittenInBatchesAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		one, _ := w.create("ann", newKey())
		two, _ := w.create("ann", newKey())
		before := w.version()
		used := func(what string, want1, want2 int64) {
			t.Helper()
			keys := w.list("ann")
			for id, want := range map[string]int64{one.ID: want1, two.ID: want2} {
				got := keys[id].LastUsedAt
				if want == 0 && got != nil || want != 0 && (got == nil || *got != start.UnixMilli()+want) {
					t.Errorf("%s: last use is %v, want %d after the start", what, got, want)
				}
			}
		}
		sweep := func() {
			t.Helper()
			if err := w.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
		}
		w.advance(time.Millisecond)
		w.Touch(one.ID)
		used("before the sweep", 1, 0)
		w.advance(time.Millisecond)
		w.Touch(one.ID)
		sweep()
		used("after the sweep", 2, 0)
		w.advance(59_999 * time.Millisecond)
		w.Touch(one.ID)
		w.Touch(two.ID)
		sweep()
		used("within the minute", 2, 60_001)
		w.advance(time.Millisecond)
		w.Touch(one.ID)

		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if err := w.Sweep(cancelled); err == nil {
			t.Error("a sweep that cannot write succeeded")
		}
		used("after a sweep that failed", 60_002, 60_001)
		sweep()
		used("after the next one", 60_002, 60_001)

		late := w.replica()
		w.advance(-time.Minute)
		late.Touch(one.ID)
		late.Touch("pk_gone")
		w.advance(time.Minute)
		if err := late.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		used("a replica that writes an older use", 60_002, 60_001)
		if w.version() != before {
			t.Error("using a key raised the config version")
		}
	})
}
