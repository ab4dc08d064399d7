package access_test

import (
	"context"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// newStore returns a Store with guest access as in guests, and a fixed clock.
func newStore(d *db.DB, guests *bool) *access.Store {
	return access.NewStore(d, func() time.Time { return time.UnixMilli(1000) },
		func(context.Context, int64) (bool, error) { return *guests, nil })
}

func TestRulesAreStoredAsGiven(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		guests := true
		s := newStore(d, &guests)
		full := access.StoredRule{
			Rule: access.Rule{
				ID: "full", Pattern: "/a/**", Effect: access.Allow, MountID: "m", UserID: "u",
				Permissions:     access.Set(access.Read | access.Download),
				RequirePassword: true, AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"),
					netip.MustParsePrefix("2001:db8::1/128")},
				Priority: 3, CreatedAt: 1000,
			},
			PasswordHash: "hash", UpdatedAt: 1000,
		}
		plain := access.StoredRule{Rule: access.Rule{ID: "plain", Pattern: "/b", Effect: access.Deny,
			Role: access.Guest, CreatedAt: 1000}, UpdatedAt: 1000}
		commit(t, d, func(tx *db.Tx) error { return s.Insert(tx, plain) })
		commit(t, d, func(tx *db.Tx) error { return s.Insert(tx, full) })
		got, total, err := s.List(t.Context(), access.Filter{}, 10, 0)
		full.PasswordID = got[0].PasswordID
		if len(full.PasswordID) != 32 {
			t.Errorf("the password's id is %q", full.PasswordID)
		}
		if err != nil || total != 2 || !reflect.DeepEqual(got, []access.StoredRule{full, plain}) {
			t.Errorf("listed %+v, %d, %v", got, total, err)
		}
		if got, total, err := s.List(t.Context(), access.Filter{}, 1, 1); err != nil || total != 2 || len(got) != 1 ||
			got[0].ID != "plain" {
			t.Errorf("second page: %+v, %d, %v", got, total, err)
		}
		changed := plain
		changed.Pattern, changed.Role, changed.KeyID = "/c", "", "k"
		commit(t, d, func(tx *db.Tx) error { return s.Replace(tx, changed) })
		lock := func(id string) (r access.StoredRule, err error) {
			err = d.Write(t.Context(), func(tx *db.Tx) (err error) {
				r, err = s.Lock(tx, id)
				return err
			})
			return r, err
		}
		if got, err := lock("plain"); err != nil || !reflect.DeepEqual(got, changed) {
			t.Errorf("replaced: %+v, %v", got, err)
		}
		commit(t, d, func(tx *db.Tx) error { return s.Delete(tx, "plain") })
		if _, err := lock("plain"); !fault.Is(err, fault.NotFound) {
			t.Errorf("deleted: %v", err)
		}
		for what, do := range map[string]func(tx *db.Tx) error{
			"replace": func(tx *db.Tx) error { return s.Replace(tx, plain) },
			"delete":  func(tx *db.Tx) error { return s.Delete(tx, "plain") },
		} {
			if err := d.Write(t.Context(), do); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s a deleted row: %v", what, err)
			}
		}
	})
}

func TestRulesAreChecked(t *testing.T) {
	for what, r := range map[string]access.StoredRule{
		"a password that is not there": {Rule: access.Rule{Pattern: "/a", Effect: access.Allow, Role: access.User,
			RequirePassword: true}},
		"no subject": {Rule: access.Rule{Pattern: "/a", Effect: access.Allow}},
		"two subjects": {Rule: access.Rule{Pattern: "/a", Effect: access.Allow, Role: access.User,
			UserID: "u"}},
		"no slash": {Rule: access.Rule{Pattern: "a", Effect: access.Allow, Role: access.User}},
	} {
		if err := r.Check(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ok := access.StoredRule{Rule: access.Rule{Pattern: "/a", Effect: access.Allow, Role: access.User,
		RequirePassword: true}, PasswordHash: "hash"}
	if err := ok.Check(); err != nil {
		t.Error(err)
	}
}

func TestPolicyFollowsTheConfigVersion(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		guests := true
		s := newStore(d, &guests)
		a, err := vpath.Parse("/a")
		if err != nil {
			t.Fatal(err)
		}
		public := func() bool {
			t.Helper()
			version, err := db.ConfigVersion(d.Read(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Policy(t.Context(), version)
			if err != nil {
				t.Fatal(err)
			}
			return p.Public(access.Target{Path: a})
		}
		if public() {
			t.Error("public without a rule")
		}
		commit(t, d, func(tx *db.Tx) error {
			return s.Insert(tx, access.StoredRule{Rule: access.Rule{ID: "r", Pattern: "/a", Effect: access.Allow,
				Role: access.Guest}})
		})
		if !public() {
			t.Error("not public with the rule")
		}
		guests = false
		commit(t, d, func(tx *db.Tx) error { return tx.BumpConfig() })
		if public() {
			t.Error("public without guest access")
		}
	})
}

func commit(t *testing.T, d *db.DB, fn func(tx *db.Tx) error) {
	t.Helper()
	if err := d.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// Rules that apply only at or below a path move along with it, compared by whole names. Rules that
// apply to more, or to other paths, stay.
func TestMovePatterns(t *testing.T) {
	const from, to = "/home/ann", "/home/ann.deleted-0123abcd"
	old, err := vpath.Parse(from)
	if err != nil {
		t.Fatal(err)
	}
	next := old.Parent().Child("ann.deleted-0123abcd")
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		guests := true
		s := newStore(d, &guests)
		for pattern, want := range map[string]string{
			"/home/ann":           to,
			"/home/ann/**":        to + "/**",
			"//home/ann//a*/?/":   to + "/a*/?",
			"/home/ann/b/secret":  to + "/b/secret",
			"/home/ann2/**":       "/home/ann2/**",
			"/home/ann*":          "/home/ann*",
			"/home/ann**":         "/home/ann**",
			"/home/an?/b":         "/home/an?/b",
			"/home/*/b":           "/home/*/b",
			"/home/Ann/b":         "/home/Ann/b",
			"/home":               "/home",
			"/**":                 "/**",
			"/other/home/ann/**":  "/other/home/ann/**",
			"/**/home/ann/secret": "/**/home/ann/secret",
		} {
			commit(t, d, func(tx *db.Tx) error {
				return s.Insert(tx, access.StoredRule{Rule: access.Rule{ID: want, Pattern: pattern, Effect: access.Deny,
					Role: access.User}})
			})
		}
		follow := func(tx *db.Tx) error { return s.MovePatterns(tx, old, next) }
		commit(t, d, follow)
		rules, err := s.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			if r.Pattern != r.ID {
				t.Errorf("%s is %s", r.ID, r.Pattern)
			}
		}

		// A pattern that would become one byte too long prevents the move.
		longest := from + "/*" + strings.Repeat("/"+strings.Repeat("x", 250), 16)
		longest += strings.Repeat("x", access.MaxPatternBytes-len(longest)-len(to)+len(from))
		long := access.StoredRule{Rule: access.Rule{ID: "long", Pattern: longest + "x", Effect: access.Deny,
			Role: access.User}}
		commit(t, d, func(tx *db.Tx) error { return s.Insert(tx, long) })
		if err := d.Write(t.Context(), follow); !fault.Is(err, fault.Invalid) {
			t.Errorf("too long: %v", err)
		}
		long.Pattern = longest
		commit(t, d, func(tx *db.Tx) error { return s.Replace(tx, long) })
		commit(t, d, follow)
	})
}
