package access_test

import (
	"net/netip"
	"slices"
	"testing"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/vpath"
)

const (
	read, write, update = access.Read, access.Write, access.Update
	del, share, dl      = access.Delete, access.Share, access.Download
)

var (
	visitor = access.Actor{}
	alice   = access.Actor{UserID: "alice", Role: access.User}
	bob     = access.Actor{UserID: "bob", Role: access.User}
	gus     = access.Actor{UserID: "gus", Role: access.Guest}
	root    = access.Actor{UserID: "root", Role: access.Admin}
)

func permissionSet(p ...access.Permission) (s access.Set) {
	for _, one := range p {
		s |= access.Set(one)
	}
	return s
}

// calledFrom returns a with an address.
func calledFrom(a access.Actor, ip string) access.Actor {
	a.IP = netip.MustParseAddr(ip)
	return a
}

// withPasswords returns a with the passwords of these rules and entries given.
func withPasswords(a access.Actor, ids ...string) access.Actor {
	a.Unlocked = ids
	return a
}

// withKey returns a acting through a key.
func withKey(a access.Actor, k access.Key) access.Actor {
	a.Key = &k
	return a
}

// targetAt returns a target without an owner.
func targetAt(s string) access.Target {
	p, err := vpath.Parse(s)
	if err != nil {
		panic(err)
	}
	return access.Target{Path: p, MountID: "m1"}
}

func (o ownedTarget) of(owner string) access.Target {
	t := access.Target(o)
	t.OwnerID = owner
	return t
}

type ownedTarget access.Target

func inHome(t access.Target) access.Target {
	t.InHome = true
	return t
}

func behindPasswords(t access.Target, guard, above *access.EntryPassword) access.Target {
	t.Password, t.PasswordAbove = guard, above
	return t
}

// rule returns a rule whose subject is given as "role:user", "user:alice" or "key:k1".
func rule(id, subject string, effect access.Effect, pattern string, permissions ...access.Permission) access.Rule {
	r := access.Rule{ID: id, Pattern: pattern, Effect: effect, Permissions: permissionSet(permissions...)}
	switch kind, name := subject[:4], subject[4:]; kind {
	case "role":
		r.Role = access.Role(name[1:])
	case "user":
		r.UserID = name[1:]
	case "key:":
		r.KeyID = name
	}
	return r
}

func withPassword(r access.Rule) access.Rule          { r.RequirePassword = true; return r }
func withPriority(r access.Rule, p int) access.Rule   { r.Priority = p; return r }
func createdAt(r access.Rule, at int64) access.Rule   { r.CreatedAt = at; return r }
func onMount(r access.Rule, mount string) access.Rule { r.MountID = mount; return r }
func fromAddresses(r access.Rule, prefixes ...string) access.Rule {
	for _, p := range prefixes {
		r.AllowedIPs = append(r.AllowedIPs, netip.MustParsePrefix(p))
	}
	return r
}

// The rules of a new installation.
var seedRules = []access.Rule{
	rule("g", "role:guest", access.Allow, "/public/**", read, dl),
	rule("u", "role:user", access.Allow, "/public/**", read, dl),
	rule("w", "role:user", access.Allow, "/uploads/**", write),
}

type decideCase struct {
	name        string
	rules       []access.Rule
	noGuests    bool // guest access off
	actor       access.Actor
	target      access.Target
	permission  access.Permission
	want        access.Outcome
	by          string
	passwordIDs []string
}

const (
	yes           = access.Allowed
	no            = access.Denied
	needsPassword = access.NeedsPassword
)

func runDecideCases(t *testing.T, table []decideCase) {
	t.Helper()
	for _, q := range table {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			v := access.NewPolicy(q.rules, !q.noGuests).Decide(q.actor, q.target, q.permission)
			if v.Outcome != q.want || v.DecidedBy != q.by || !slices.Equal(v.PasswordIDs, q.passwordIDs) {
				t.Errorf("got %v by %q asking %q; want %v by %q asking %q", v.Outcome, v.DecidedBy, v.PasswordIDs,
					q.want, q.by, q.passwordIDs)
			}
		})
	}
}

func TestDecideWithoutRule(t *testing.T) {
	t.Parallel()
	mine, other := ownedTarget(targetAt("/x/f")).of("alice"), ownedTarget(targetAt("/x/f")).of("bob")
	var table []decideCase
	for _, p := range []access.Permission{read, write, update, del, share, dl} {
		table = append(table,
			decideCase{name: "administrators may " + p.String(), actor: root, target: other, permission: p, want: yes,
				by: "administrator"},
			decideCase{name: "owners may " + p.String(), actor: alice, target: mine, permission: p, want: yes,
				by: "owner"},
			decideCase{name: "others may not " + p.String(), actor: alice, target: other, permission: p, want: no,
				by: "default"},
			decideCase{name: "users in their home may " + p.String(),
				actor: alice, target: inHome(other), permission: p,
				want: yes, by: "home"},
			decideCase{name: "visitors may not " + p.String(), actor: visitor, target: targetAt("/x/f"), permission: p,
				want: no, by: "default"},
		)
	}
	table = append(table,
		decideCase{name: "a guest account gets nothing from its home",
			actor: gus, target: inHome(targetAt("/home/gus/f")),
			permission: read, want: no, by: "default"},
		decideCase{name: "a guest account may delete what it owns",
			actor: gus, target: ownedTarget(targetAt("/x")).of("gus"),
			permission: del, want: yes, by: "owner"},
		decideCase{name: "a visitor does not own entries without an owner",
			actor: visitor, target: inHome(targetAt("/x")),
			permission: read, want: no, by: "default"},
		decideCase{name: "the role of a visitor is ignored",
			actor: access.Actor{Role: access.Admin}, target: targetAt("/x"),
			permission: read, want: no, by: "default"},
		decideCase{name: "an account of unknown role gets nothing from its home",
			actor:  access.Actor{UserID: "x", Role: "boss"},
			target: inHome(targetAt("/x")), permission: read, want: no, by: "default"},
		decideCase{name: "an empty permission is refused", actor: root, target: targetAt("/x"), permission: 0, want: no,
			by: "default"},
		decideCase{name: "two permissions at once are refused",
			actor: root, target: targetAt("/x"), permission: read | dl,
			want: no, by: "default"},
		decideCase{name: "an unknown permission is refused", actor: root, target: targetAt("/x"), permission: 64,
			want: no, by: "default"},
	)
	runDecideCases(t, table)
}

// For a command of the operator of the machine neither rules nor passwords count.
func TestDecideOperator(t *testing.T) {
	t.Parallel()
	policy := access.NewPolicy([]access.Rule{{ID: "no", Pattern: "/**", Permissions: access.All, Effect: access.Deny,
		Role: access.User}}, true)
	target := targetAt("/home/bob/x")
	target.Password = &access.EntryPassword{ID: "p", OwnerID: "bob"}
	operator := alice
	operator.Operator = true
	for _, permission := range []access.Permission{read, write, update, del, share, dl} {
		if v := policy.Decide(alice, target, permission); v.Outcome != access.Denied {
			t.Errorf("alice: %v for %v", v, permission)
		}
		if v := policy.Decide(operator, target, permission); v.Outcome != access.Allowed {
			t.Errorf("the operator: %v for %v", v, permission)
		}
	}
	if set := policy.Allowed(operator, target); set != access.All {
		t.Errorf("the operator is allowed %v", set.Names())
	}
	if v := policy.Decide(operator, target, read|write); v.Outcome != access.Denied {
		t.Errorf("two permissions at once: %v", v)
	}
}

func TestDecideSeededRules(t *testing.T) {
	t.Parallel()
	runDecideCases(t, []decideCase{
		{"visitors read /public", seedRules, false, visitor, targetAt("/public/a/b"), read, yes, "g", nil},
		{"visitors read the folder /public itself",
			seedRules, false, visitor, targetAt("/public"), read, yes, "g", nil},
		{"visitors download in /public", seedRules, false, visitor, targetAt("/public/a"), dl, yes, "g", nil},
		{"visitors do not write in /public",
			seedRules, false, visitor, targetAt("/public/a"), write, no, "default", nil},
		{"C33: /publicity is not in /public", seedRules, false, visitor, targetAt("/publicity"), read, no, "default",
			nil},
		{"visitors read nothing without guest access",
			seedRules, true, visitor, targetAt("/public/a"), read, no, "default", nil},
		{"users read /public without guest access", seedRules, true, alice, targetAt("/public/a"), read, yes, "u", nil},
		{"users write in /uploads", seedRules, false, alice, targetAt("/uploads/x"), write, yes, "w", nil},
		{"users read their own entries in /uploads",
			seedRules, false, alice, ownedTarget(targetAt("/uploads/x")).of("alice"), read, yes,
			"owner", nil},
		{"users do not read the entries of others in /uploads",
			seedRules, false, alice, ownedTarget(targetAt("/uploads/x")).of("bob"), read, no,
			"default", nil},
		{"visitors do not write in /uploads",
			seedRules, false, visitor, targetAt("/uploads/x"), write, no, "default", nil},
		{"rules for users do not apply to administrators", seedRules, false, root, targetAt("/public/a"), read, yes,
			"administrator", nil},
		{"rules for users do not apply to guest accounts",
			seedRules, false, gus, targetAt("/uploads/x"), write, no, "default", nil},
		{"a guest account reads /public", seedRules, false, gus, targetAt("/public/x"), read, yes, "g", nil},
		{"a guest account reads /public without guest access",
			seedRules, true, gus, targetAt("/public/x"), read, yes, "g", nil},
	})
}

func TestDecideGuestFallback(t *testing.T) {
	t.Parallel()
	guests := []access.Rule{rule("g", "role:guest", access.Allow, "/open/**", read)}
	deny := append(slices.Clone(guests), rule("d", "role:user", access.Deny, "/open/x"))
	denyGuests := []access.Rule{rule("gd", "role:guest", access.Deny, "/**"),
		rule("u", "role:user", access.Allow, "/u/**")}
	runDecideCases(t, []decideCase{
		{"a user may do what guests may", guests, false, alice, targetAt("/open/x"), read, yes, "g", nil},
		{"a deny for users comes before guest rules", deny, false, alice, targetAt("/open/x"), read, no, "d", nil},
		{"a deny for users does not apply to visitors", deny, false, visitor, targetAt("/open/x"), read, yes, "g", nil},
		{"guest rules do not apply to users without guest access",
			guests, true, alice, targetAt("/open/x"), read, no, "default", nil},
		{"ownership comes before a deny for guests", denyGuests, false, alice, ownedTarget(targetAt("/x")).of("alice"),
			read, yes, "owner", nil},
		{"the home comes before a deny for guests",
			denyGuests, false, alice, inHome(targetAt("/x")), read, yes, "home", nil},
		{"rules for users come before a deny for guests",
			denyGuests, false, alice, targetAt("/u/x"), read, yes, "u", nil},
		{"a deny for guests applies to users otherwise", denyGuests, false, alice, targetAt("/x"), read, no, "gd", nil},
		{"a deny for guests does not apply to administrators",
			denyGuests, false, root, targetAt("/x"), read, yes, "administrator", nil},
		{"a deny for guests comes before the ownership of a guest account", denyGuests, false, gus,
			ownedTarget(targetAt("/x")).of("gus"), read, no, "gd", nil},
	})
}

func TestDecideOrder(t *testing.T) {
	t.Parallel()
	allow, deny := access.Allow, access.Deny
	x := targetAt("/a/b")
	// listed in the wrong order
	pair := func(first, second access.Rule) []access.Rule { return []access.Rule{second, first} }
	runDecideCases(t, []decideCase{
		{"priority comes first", pair(withPriority(rule("1", "role:user", allow, "/**"), 2),
			withPriority(rule("2", "user:alice", deny, "/a/b"), 1)), false, alice, x, read, yes, "1", nil},
		{"a negative priority comes after zero", pair(rule("1", "role:user", allow, "/**"),
			withPriority(rule("2", "user:alice", deny, "/a/b"), -1)), false, alice, x, read, yes, "1", nil},
		{"then users before roles", pair(rule("1", "user:alice", allow, "/**"), rule("2", "role:user", deny, "/a/b")),
			false, alice, x, read, yes, "1", nil},
		{"then characters before the first wildcard",
			pair(rule("1", "role:user", allow, "/a/**"), rule("2", "role:user", deny, "/**/b")), false, alice, x, read,
			yes, "1", nil},
		{"then the number of literal characters",
			pair(rule("1", "role:user", allow, "/*/b"), rule("2", "role:user", deny, "/*")),
			false, alice, x, read, yes, "1", nil},
		{"characters before the first wildcard and in total",
			pair(rule("1", "role:user", allow, "/**/b"), rule("2", "role:user", deny, "/**")), false,
			alice, x, read, yes, "1", nil},
		{"then fewer double stars", pair(rule("1", "role:user", allow, "/a/*"), rule("2", "role:user", deny, "/a/**")),
			false, alice, x, read, yes, "1", nil},
		{"a question mark is a wildcard", pair(rule("1", "role:user", allow, "/a/**"),
			rule("2", "role:user", deny, "/?/b")), false, alice, x, read, yes, "1", nil},
		{"characters are counted, not bytes",
			pair(rule("1", "role:user", allow, "/*bb"), rule("2", "role:user", deny, "/*é*")),
			false, alice, targetAt("/xébb"), read, yes, "1", nil},
		{"then deny", pair(createdAt(rule("1", "role:user", deny, "/a/*"), 9),
			createdAt(rule("2", "role:user", allow, "/a/*"), 1)), false, alice, x, read, no, "1", nil},
		{"then the older rule", pair(createdAt(rule("2", "role:user", allow, "/a/*"), 1),
			createdAt(rule("1", "role:user", allow, "/a/*"), 2)), false, alice, x, read, yes, "2", nil},
		{"then the smaller id", pair(rule("1", "role:user", allow, "/a/*"), rule("2", "role:user", allow, "/a/*")),
			false, alice, x, read, yes, "1", nil},
		{"a rule without the permission does not decide",
			pair(withPriority(rule("1", "role:user", deny, "/a/b", write), 5), rule("2", "role:user", allow, "/a/b")),
			false, alice, x, read, yes, "2", nil},
		{"a rule without permissions names all six", pair(rule("1", "role:user", deny, "/a/b"),
			rule("2", "role:user", allow, "/**")), false, alice, x, share, no, "1", nil},
		{"a rule for another user does not apply", pair(rule("1", "user:bob", deny, "/a/b"),
			rule("2", "role:user", allow, "/**")), false, alice, x, read, yes, "2", nil},
		{"a rule for another mount does not apply",
			pair(onMount(rule("1", "role:user", deny, "/a/b"), "m2"),
				onMount(rule("2", "role:user", allow, "/**"), "m1")), false, alice, x, read, yes, "2", nil},
		{"a rule comes before ownership", []access.Rule{rule("1", "role:user", deny, "/a/**", del)}, false, alice,
			ownedTarget(x).of("alice"), del, no, "1", nil},
		{"a rule comes before the home",
			[]access.Rule{rule("1", "user:alice", deny, "/a/**", del)}, false, alice, inHome(x),
			del, no, "1", nil},
		{"a rule for the role admin applies to administrators",
			[]access.Rule{rule("1", "role:admin", deny, "/a/**")}, false, root, x, read, no,
			"1", nil},
		{"a rule for a user applies to an administrator",
			[]access.Rule{rule("1", "user:root", deny, "/a/**")}, false, root, x, read, no, "1", nil},
		{"rules for guests do not apply to administrators",
			[]access.Rule{rule("1", "role:guest", deny, "/a/**")}, false,
			root, x, read, yes, "administrator", nil},
	})
}

func TestDecideAddresses(t *testing.T) {
	t.Parallel()
	allow := []access.Rule{fromAddresses(rule("a", "role:user", access.Allow, "/x"), "10.0.0.0/8", "2001:db8::/32")}
	deny := []access.Rule{fromAddresses(rule("d", "role:user", access.Deny, "/x"), "10.0.0.0/8"),
		rule("a", "role:user", access.Allow, "/x")}
	mapped := []access.Rule{fromAddresses(rule("a", "role:user", access.Allow, "/x"), "::ffff:10.0.0.0/104")}
	runDecideCases(t, []decideCase{
		{"an allow rule applies to its addresses",
			allow, false, calledFrom(alice, "10.1.2.3"), targetAt("/x"), read, yes, "a",
			nil},
		{"an allow rule applies to each of its networks",
			allow, false, calledFrom(alice, "2001:db8::1"), targetAt("/x"), read, yes, "a",
			nil},
		{"C59: an allow rule applies to an address mapped into IPv6",
			allow, false, calledFrom(alice, "::ffff:10.1.2.3"), targetAt("/x"), read, yes,
			"a", nil},
		{"an allow rule applies to an address with a zone",
			allow, false, calledFrom(alice, "2001:db8::1%eth0"), targetAt("/x"), read, yes, "a", nil},
		{"C59: a network mapped into IPv6 is an IPv4 network",
			mapped, false, calledFrom(alice, "10.1.2.3"), targetAt("/x"), read, yes, "a", nil},
		{"a mapped network does not contain other addresses",
			mapped, false, calledFrom(alice, "11.1.2.3"), targetAt("/x"), read, no, "default", nil},
		{"an allow rule does not apply to other addresses",
			allow, false, calledFrom(alice, "11.1.2.3"), targetAt("/x"), read, no, "default", nil},
		{"an allow rule does not apply to an unknown address",
			allow, false, alice, targetAt("/x"), read, no, "default", nil},
		{"a deny rule does not apply to its addresses",
			deny, false, calledFrom(alice, "10.1.2.3"), targetAt("/x"), read,
			yes, "a", nil},
		{"a deny rule applies to other addresses",
			deny, false, calledFrom(alice, "11.1.2.3"), targetAt("/x"), read, no, "d", nil},
		{"a deny rule applies to an unknown address", deny, false, alice, targetAt("/x"), read, no, "d", nil},
	})
}

func TestDecideRulePassword(t *testing.T) {
	t.Parallel()
	p := withPassword(rule("p", "role:user", access.Allow, "/v/**", read))
	q := withPassword(rule("q", "role:guest", access.Allow, "/v/**", read))
	deny := withPriority(rule("d", "role:user", access.Deny, "/v/**"), -1)
	far := fromAddresses(withPassword(rule("f", "role:user", access.Allow, "/v/**")), "10.0.0.0/8")
	v := targetAt("/v/x")
	runDecideCases(t, []decideCase{
		{"a rule needs its password", []access.Rule{p}, false, alice, v, read, needsPassword, "p", []string{"p"}},
		{"a rule applies once its password is given",
			[]access.Rule{p}, false, withPasswords(alice, "z", "p"), v, read, yes, "p", nil},
		{"a rule ignores the passwords of others",
			[]access.Rule{p}, false, withPasswords(alice, "z"), v, read, needsPassword, "p",
			[]string{"p"}},
		{"a password is required although a later rule denies",
			[]access.Rule{p, deny}, false, alice, v, read, needsPassword, "p", []string{"p"}},
		{"no password is required after a deny rule",
			[]access.Rule{p, withPriority(deny, 1)}, false, alice, v, read, no, "d", nil},
		{"no password is required if a later rule allows",
			[]access.Rule{p, withPriority(rule("a", "role:user", access.Allow, "/v/**"), -1)},
			false, alice, v, read, yes, "a", nil},
		{"no password is required if ownership allows",
			[]access.Rule{p}, false, alice, ownedTarget(v).of("alice"), read, yes, "owner",
			nil},
		{"no password is required for another permission", []access.Rule{p}, false, alice, v, dl, no, "default", nil},
		{"users may give the passwords of guest rules",
			[]access.Rule{p, q}, false, alice, v, read, needsPassword, "p", []string{"p", "q"}},
		{"visitors may give the passwords of guest rules",
			[]access.Rule{p, q}, false, visitor, v, read, needsPassword, "q", []string{"q"}},
		{"a guest rule is listed once for a guest account",
			[]access.Rule{p, q}, false, gus, v, read, needsPassword, "q", []string{"q"}},
		{"one of two passwords is enough",
			[]access.Rule{p, q}, false, withPasswords(alice, "q"), v, read, yes, "q", nil},
		{"no password is required from other addresses",
			[]access.Rule{far}, false, calledFrom(alice, "11.0.0.1"), v, read, no,
			"default", nil},
		{"the password of a deny rule is ignored",
			[]access.Rule{withPassword(deny)}, false, alice, v, read, no, "d", nil},
	})
}

func TestDecideEntryPassword(t *testing.T) {
	t.Parallel()
	g, outer := &access.EntryPassword{ID: "e1", OwnerID: "alice"}, &access.EntryPassword{ID: "e0", OwnerID: "root"}
	all := []access.Rule{rule("a", "role:user", access.Allow, "/**"), rule("g", "role:guest", access.Allow, "/**")}
	folder, file := behindPasswords(targetAt("/v"), g, nil), behindPasswords(targetAt("/v/f"), g, g)
	nested := behindPasswords(targetAt("/o/v"), g, outer)
	lock := withPassword(rule("p", "user:bob", access.Allow, "/v/**"))
	needs := []string{"e1"}
	table := []decideCase{
		{"a folder with a password shows", all, false, bob, folder, read, yes, "a", nil},
		{"listing the folder needs the password",
			all, false, bob, folder.ForChildren(), read, needsPassword, "a", needs},
		{"reading its contents needs the password", all, false, bob, file, read, needsPassword, "a", needs},
		{"its contents can be read with the password", all, false, withPasswords(bob, "e1"), file, read, yes, "a", nil},
		{"updating the folder needs the password", all, false, bob, folder, update, needsPassword, "a", needs},
		{"writing into it needs the password", all, false, bob, file, write, needsPassword, "a", needs},
		{"sharing its contents needs the password", all, false, bob, file, share, needsPassword, "a", needs},
		{"its owner lists it without the password", all, false, alice, folder.ForChildren(), read, yes, "a", nil},
		{"its owner changes it without the password", all, false, alice, file, del, yes, "a", nil},
		{"administrators list it without the password",
			all, false, root, folder.ForChildren(), read, yes, "administrator", nil},
		{"administrators change it without the password", all, false, root, file, update, yes, "administrator", nil},
		{"C79: the owner needs the password to download",
			all, false, alice, ownedTarget(file).of("alice"), dl, needsPassword, "a",
			needs},
		{"C79: administrators need the password to download",
			all, false, root, file, dl, needsPassword, "administrator", needs},
		{"administrators download with the password",
			all, false, withPasswords(root, "e1"), file, dl, yes, "administrator", nil},
		{"visitors need the password to download", all, false, visitor, file, dl, needsPassword, "g", needs},
		{"a visitor needs the password of an entry without an owner", all, false, visitor,
			behindPasswords(targetAt("/v"), &access.EntryPassword{ID: "e1"}, nil), update, needsPassword, "g", needs},
		{"the nearest password is required to download",
			all, false, withPasswords(bob, "e0"), nested, dl, needsPassword, "a",
			needs},
		{"only the nearest password is required to download",
			all, false, withPasswords(bob, "e1"), nested, dl, yes, "a", nil},
		{"a nested folder shows with the outer password", all, false, withPasswords(bob, "e0"), nested, read, yes, "a",
			nil},
		{"a nested folder does not show without the outer password",
			all, false, withPasswords(bob, "e1"), nested, read, needsPassword,
			"a", []string{"e0"}},
		{"a refusal stays a refusal behind a password", nil, false, bob, file, read, no, "default", nil},
		{"the passwords of entry and rule are both required",
			[]access.Rule{lock}, false, bob, file, read, needsPassword, "p",
			[]string{"e1", "p"}},
		{"the password of the rule is not enough",
			[]access.Rule{lock}, false, withPasswords(bob, "p"), file, read, needsPassword,
			"p", needs},
		{"the password of the entry is not enough",
			[]access.Rule{lock}, false, withPasswords(bob, "e1"), file, read, needsPassword, "p",
			[]string{"p"}},
		{"both passwords are enough",
			[]access.Rule{lock}, false, withPasswords(bob, "e1", "p"), file, read, yes, "p", nil},
	}
	runDecideCases(t, table)
}

func TestDecideKey(t *testing.T) {
	t.Parallel()
	every := access.All &^ permissionSet(share)
	in := targetAt("/uploads").Path
	k := access.Key{ID: "k1", Permissions: every, Root: in}
	only := k
	only.RootOnly = true
	readOnly, writeOnly := access.Key{ID: "k1", Permissions: permissionSet(read, dl)}, access.Key{ID: "k1",
		Permissions: permissionSet(write, update), Root: in}
	greedy := access.Key{ID: "k1", Permissions: access.All}
	mine := func(s string) access.Target { return ownedTarget(targetAt(s)).of("alice") }
	keyAllow, keyDeny := rule("ka", "key:k1", access.Allow, "/x/**"), rule("kd", "key:k1", access.Deny, "/x/**")
	p := withPassword(rule("p", "role:user", access.Allow, "/x/**", read))
	kp := withPassword(rule("kp", "key:k1", access.Allow, "/x/**", read))
	g := &access.EntryPassword{ID: "e1", OwnerID: "bob"}
	all := []access.Rule{rule("a", "role:user", access.Allow, "/**")}
	runDecideCases(t, []decideCase{
		{"a key may do what its owner may", nil, false, withKey(alice, k), mine("/uploads/x"), del, yes, "owner", nil},
		{"a key may do nothing that its owner may not",
			nil, false, withKey(alice, k), targetAt("/uploads/x"), del, no, "default", nil},
		{"C32: a key for writing does not download", nil, false, withKey(alice, writeOnly), mine("/uploads/x"), dl, no,
			"default", nil},
		{"a key for reading does not write", nil, false, withKey(alice, readOnly), mine("/x"), write, no, "default",
			nil},
		{"a key of an administrator has only its own permissions",
			nil, false, withKey(root, writeOnly), targetAt("/uploads/x"),
			read, no, "default", nil},
		{"C15: no writing outside the upload root",
			nil, false, withKey(alice, k), mine("/uploads-evil/x"), write, no, "default",
			nil},
		{"no updating outside the upload root", nil, false, withKey(alice, k), mine("/x"), update, no, "default", nil},
		{"no deleting outside the upload root", nil, false, withKey(alice, k), mine("/x"), del, no, "default", nil},
		{"the upload root itself may be updated",
			nil, false, withKey(alice, k), mine("/uploads"), update, yes, "owner", nil},
		{"a key reads outside its upload root", nil, false, withKey(alice, k), mine("/x"), read, yes, "owner", nil},
		{"a key with RootOnly does not read outside its upload root",
			nil, false, withKey(alice, only), mine("/x"), read, no, "default", nil},
		{"a key with RootOnly does not download outside its upload root",
			nil, false, withKey(alice, only), mine("/x"), dl, no, "default", nil},
		{"a key with RootOnly downloads inside its upload root",
			nil, false, withKey(alice, only), mine("/uploads/x"), dl, yes, "owner", nil},
		{"a key never shares", nil, false, withKey(alice, greedy), mine("/x"), share, no, "default", nil},
		{"an allow rule for a key does not exceed its owner", []access.Rule{keyAllow}, false, withKey(alice, greedy),
			targetAt("/x"), read, no, "default", nil},
		{"a deny rule for a key applies",
			[]access.Rule{keyDeny}, false, withKey(alice, greedy), mine("/x/f"), read, no, "kd",
			nil},
		{"a deny rule for the owner comes before an allow rule for the key",
			[]access.Rule{keyAllow, rule("d", "role:user", access.Deny, "/**")},
			false, withKey(alice, greedy), targetAt("/x"), read, no, "d", nil},
		{"allowed by a rule for the key and a rule for the owner",
			[]access.Rule{keyAllow, all[0]}, false, withKey(alice, greedy), targetAt("/x"), read, yes, "ka",
			nil},
		{"a rule for the key comes before a rule for the user",
			[]access.Rule{keyAllow, rule("u", "user:alice", access.Allow, "/x/**")}, false,
			withKey(alice, greedy), targetAt("/x"), read, yes, "ka", nil},
		{"a rule for another key does not apply", []access.Rule{rule("k2", "key:k2", access.Deny, "/**")}, false,
			withKey(alice, greedy), mine("/x"), read, yes, "owner", nil},
		{"a rule for a key does not apply to its owner",
			[]access.Rule{keyDeny}, false, alice, mine("/x"), read, yes, "owner", nil},
		{"guest rules apply to keys", []access.Rule{rule("g", "role:guest", access.Allow, "/x")}, false,
			withKey(alice, greedy), targetAt("/x"), read, yes, "g", nil},
		{"a key cannot give the password of a rule",
			[]access.Rule{p}, false, withPasswords(withKey(alice, greedy), "p"),
			targetAt("/x/f"), read, needsPassword, "p", []string{"p"}},
		{"a key cannot give the passwords of two rules",
			[]access.Rule{p, kp}, false, withKey(alice, greedy), targetAt("/x/f"), read,
			needsPassword, "p", []string{"p", "kp"}},
		{"a rule for the key with a password, the owner allowed", []access.Rule{kp, withPriority(keyDeny, -1)}, false,
			withKey(alice, greedy), mine("/x/f"), read, needsPassword, "kp", []string{"kp"}},
		{"no password is required if the owner is denied", []access.Rule{kp}, false, withKey(alice, greedy),
			targetAt("/x/f"), read, no, "default", nil},
		{"no password is required if the key is denied",
			[]access.Rule{p, withPriority(keyDeny, 1)}, false, withKey(alice, greedy),
			targetAt("/x/f"), read, no, "kd", nil},
		{"passwords of rules for the key and the owner",
			[]access.Rule{p, withPriority(all[0], -1), kp, withPriority(keyDeny, -1)}, false, withKey(alice, greedy),
			targetAt("/x/f"), read, needsPassword, "kp", []string{"kp", "p"}},
		{"a key cannot download behind a password", all, false, withPasswords(withKey(bob, greedy), "e1"),
			behindPasswords(targetAt("/f"), g, nil), dl, needsPassword, "a", []string{"e1"}},
		{"a key of another user cannot list behind a password", all, false, withKey(alice, greedy),
			behindPasswords(targetAt("/f"), g, g), read, needsPassword, "a", []string{"e1"}},
		{"a given password does not count for a key", all, false, withPasswords(withKey(alice, greedy), "e1"),
			behindPasswords(targetAt("/f"), g, g), read, needsPassword, "a", []string{"e1"}},
		{"a key of the owner lists behind a password", all, false, withKey(bob, greedy),
			behindPasswords(targetAt("/f"), g, g), read, yes, "a", nil},
		{"a key of an administrator lists behind a password",
			all, false, withKey(root, greedy), behindPasswords(targetAt("/f"), g, g), read, yes,
			"administrator", nil},
		{"a key cannot update an entry of others with a password", all, false, withKey(alice, greedy),
			behindPasswords(targetAt("/f"), g, nil), update, needsPassword, "a", []string{"e1"}},
		{"a key updates an entry of its owner with a password",
			all, false, withKey(bob, greedy), behindPasswords(targetAt("/f"), g, nil), update,
			yes, "a", nil},
	})
}

func TestBrokenRulesFailClosed(t *testing.T) {
	t.Parallel()
	deny, allow := rule("b", "role:user", access.Deny, "/[a"), rule("b", "role:user", access.Allow, "/[a")
	none := access.Rule{ID: "n", Pattern: "/**", Effect: access.Allow}
	runDecideCases(t, []decideCase{
		{"a deny covers everything", []access.Rule{deny, withPriority(rule("a", "role:user", access.Allow, "/**"), -1)},
			false, alice, targetAt("/x"), read, no, "b", nil},
		{"an allow covers nothing", []access.Rule{allow}, false, alice, targetAt("/[a"), read, no, "default", nil},
		{"an unknown effect denies", []access.Rule{rule("b", "role:user", "maybe", "/x")}, false, alice,
			ownedTarget(targetAt("/x")).of("alice"), read, no, "b", nil},
		{"a rule without a subject applies to no caller",
			[]access.Rule{none}, false, access.Actor{UserID: "x"}, targetAt("/x"), read,
			no, "default", nil},
	})
}

func TestRuleValidate(t *testing.T) {
	t.Parallel()
	good := rule("r", "role:user", access.Allow, "/a/**", read)
	for name, r := range map[string]access.Rule{"role": good, "user": rule("r", "user:u", access.Deny, "/"),
		"key with password": withPassword(rule("r", "key:k", access.Allow, "/**"))} {
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	change := func(f func(*access.Rule)) access.Rule { r := good; f(&r); return r }
	for name, r := range map[string]access.Rule{
		"pattern":          change(func(r *access.Rule) { r.Pattern = "a" }),
		"effect":           change(func(r *access.Rule) { r.Effect = "ALLOW" }),
		"no subject":       change(func(r *access.Rule) { r.Role = "" }),
		"two subjects":     change(func(r *access.Rule) { r.UserID = "u" }),
		"three subjects":   change(func(r *access.Rule) { r.UserID, r.KeyID = "u", "k" }),
		"unknown role":     change(func(r *access.Rule) { r.Role = "boss" }),
		"unknown bits":     change(func(r *access.Rule) { r.Permissions = 64 }),
		"password on deny": change(func(r *access.Rule) { r.Effect, r.RequirePassword = access.Deny, true }),
	} {
		if err := r.Validate(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: Validate() = %v; want an Invalid fault", name, err)
		}
	}
}
