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

// calledFrom returns a as calling from an address.
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

// targetAt returns a target that belongs to nobody.
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

// noteRule makes a rule whose subject is given as "role:user", "user:alice" or "key:k1".
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

// The rules of a fresh installation.
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
			decideCase{name: "at home one may " + p.String(), actor: alice, target: inHome(other), permission: p,
				want: yes, by: "home"},
			decideCase{name: "visitors may not " + p.String(), actor: visitor, target: targetAt("/x/f"), permission: p,
				want: no, by: "default"},
		)
	}
	table = append(table,
		decideCase{name: "the home of a guest rests", actor: gus, target: inHome(targetAt("/home/gus/f")),
			permission: read, want: no, by: "default"},
		decideCase{name: "a guest account has what it owns", actor: gus, target: ownedTarget(targetAt("/x")).of("gus"),
			permission: del, want: yes, by: "owner"},
		decideCase{name: "a visitor does not own what nobody owns", actor: visitor, target: inHome(targetAt("/x")),
			permission: read, want: no, by: "default"},
		decideCase{name: "a visitor has no role", actor: access.Actor{Role: access.Admin}, target: targetAt("/x"),
			permission: read, want: no, by: "default"},
		decideCase{name: "an unknown role gives no home", actor: access.Actor{UserID: "x", Role: "boss"},
			target: inHome(targetAt("/x")), permission: read, want: no, by: "default"},
		decideCase{name: "no permission is refused", actor: root, target: targetAt("/x"), permission: 0, want: no,
			by: "default"},
		decideCase{name: "two at once are refused", actor: root, target: targetAt("/x"), permission: read | dl,
			want: no, by: "default"},
		decideCase{name: "one that does not exist is refused", actor: root, target: targetAt("/x"), permission: 64,
			want: no, by: "default"},
	)
	runDecideCases(t, table)
}

func TestDecideSeededRules(t *testing.T) {
	t.Parallel()
	runDecideCases(t, []decideCase{
		{"visitors read /public", seedRules, false, visitor, targetAt("/public/a/b"), read, yes, "g", nil},
		{"and /public itself", seedRules, false, visitor, targetAt("/public"), read, yes, "g", nil},
		{"and download there", seedRules, false, visitor, targetAt("/public/a"), dl, yes, "g", nil},
		{"and write nothing", seedRules, false, visitor, targetAt("/public/a"), write, no, "default", nil},
		{"C33: /publicity is something else", seedRules, false, visitor, targetAt("/publicity"), read, no, "default",
			nil},
		{"no guests, no visitors", seedRules, true, visitor, targetAt("/public/a"), read, no, "default", nil},
		{"users read without guest access", seedRules, true, alice, targetAt("/public/a"), read, yes, "u", nil},
		{"users write in /uploads", seedRules, false, alice, targetAt("/uploads/x"), write, yes, "w", nil},
		{"and see what is theirs", seedRules, false, alice, ownedTarget(targetAt("/uploads/x")).of("alice"), read, yes,
			"owner", nil},
		{"and nothing of others", seedRules, false, alice, ownedTarget(targetAt("/uploads/x")).of("bob"), read, no,
			"default", nil},
		{"visitors do not write there", seedRules, false, visitor, targetAt("/uploads/x"), write, no, "default", nil},
		{"rules for users are not for administrators", seedRules, false, root, targetAt("/public/a"), read, yes,
			"administrator", nil},
		{"nor for guests' accounts", seedRules, false, gus, targetAt("/uploads/x"), write, no, "default", nil},
		{"a guest's account reads /public", seedRules, false, gus, targetAt("/public/x"), read, yes, "g", nil},
		{"also when visitors may not", seedRules, true, gus, targetAt("/public/x"), read, yes, "g", nil},
	})
}

func TestDecideGuestFallback(t *testing.T) {
	t.Parallel()
	guests := []access.Rule{rule("g", "role:guest", access.Allow, "/open/**", read)}
	deny := append(slices.Clone(guests), rule("d", "role:user", access.Deny, "/open/x"))
	denyGuests := []access.Rule{rule("gd", "role:guest", access.Deny, "/**"),
		rule("u", "role:user", access.Allow, "/u/**")}
	runDecideCases(t, []decideCase{
		{"signing in takes nothing away", guests, false, alice, targetAt("/open/x"), read, yes, "g", nil},
		{"but for what a rule says", deny, false, alice, targetAt("/open/x"), read, no, "d", nil},
		{"which concerns users only", deny, false, visitor, targetAt("/open/x"), read, yes, "g", nil},
		{"no fallback without guest access", guests, true, alice, targetAt("/open/x"), read, no, "default", nil},
		{"ownership comes before guests' denies", denyGuests, false, alice, ownedTarget(targetAt("/x")).of("alice"),
			read, yes, "owner", nil},
		{"home too", denyGuests, false, alice, inHome(targetAt("/x")), read, yes, "home", nil},
		{"and rules of users", denyGuests, false, alice, targetAt("/u/x"), read, yes, "u", nil},
		{"else a guest's deny decides", denyGuests, false, alice, targetAt("/x"), read, no, "gd", nil},
		{"administrators are no guests", denyGuests, false, root, targetAt("/x"), read, yes, "administrator", nil},
		{"a deny for guests comes before what a guest's account owns", denyGuests, false, gus,
			ownedTarget(targetAt("/x")).of("gus"), read, no, "gd", nil},
	})
}

func TestDecideOrder(t *testing.T) {
	t.Parallel()
	allow, deny := access.Allow, access.Deny
	x := targetAt("/a/b")
	// listed the wrong way round
	pair := func(first, second access.Rule) []access.Rule { return []access.Rule{second, first} }
	runDecideCases(t, []decideCase{
		{"priority comes first", pair(withPriority(rule("1", "role:user", allow, "/**"), 2),
			withPriority(rule("2", "user:alice", deny, "/a/b"), 1)), false, alice, x, read, yes, "1", nil},
		{"also below zero", pair(rule("1", "role:user", allow, "/**"),
			withPriority(rule("2", "user:alice", deny, "/a/b"), -1)), false, alice, x, read, yes, "1", nil},
		{"then users before roles", pair(rule("1", "user:alice", allow, "/**"), rule("2", "role:user", deny, "/a/b")),
			false, alice, x, read, yes, "1", nil},
		{"then characters before the first wildcard",
			pair(rule("1", "role:user", allow, "/a/**"), rule("2", "role:user", deny, "/**/b")), false, alice, x, read,
			yes, "1", nil},
		{"then characters in all", pair(rule("1", "role:user", allow, "/*/b"), rule("2", "role:user", deny, "/*")),
			false, alice, x, read, yes, "1", nil},
		{"here both count", pair(rule("1", "role:user", allow, "/**/b"), rule("2", "role:user", deny, "/**")), false,
			alice, x, read, yes, "1", nil},
		{"then fewer double stars", pair(rule("1", "role:user", allow, "/a/*"), rule("2", "role:user", deny, "/a/**")),
			false, alice, x, read, yes, "1", nil},
		{"a single character is a wildcard", pair(rule("1", "role:user", allow, "/a/**"),
			rule("2", "role:user", deny, "/?/b")), false, alice, x, read, yes, "1", nil},
		{"characters are not bytes", pair(rule("1", "role:user", allow, "/*bb"), rule("2", "role:user", deny, "/*é*")),
			false, alice, targetAt("/xébb"), read, yes, "1", nil},
		{"then deny", pair(createdAt(rule("1", "role:user", deny, "/a/*"), 9),
			createdAt(rule("2", "role:user", allow, "/a/*"), 1)), false, alice, x, read, no, "1", nil},
		{"then the older", pair(createdAt(rule("2", "role:user", allow, "/a/*"), 1),
			createdAt(rule("1", "role:user", allow, "/a/*"), 2)), false, alice, x, read, yes, "2", nil},
		{"ids settle the rest", pair(rule("1", "role:user", allow, "/a/*"), rule("2", "role:user", allow, "/a/*")),
			false, alice, x, read, yes, "1", nil},
		{"a rule that does not name it decides nothing",
			pair(withPriority(rule("1", "role:user", deny, "/a/b", write), 5), rule("2", "role:user", allow, "/a/b")),
			false, alice, x, read, yes, "2", nil},
		{"no permissions mean all six", pair(rule("1", "role:user", deny, "/a/b"),
			rule("2", "role:user", allow, "/**")), false, alice, x, share, no, "1", nil},
		{"another user's rule is not asked", pair(rule("1", "user:bob", deny, "/a/b"),
			rule("2", "role:user", allow, "/**")), false, alice, x, read, yes, "2", nil},
		{"another mount's rule is not asked",
			pair(onMount(rule("1", "role:user", deny, "/a/b"), "m2"),
				onMount(rule("2", "role:user", allow, "/**"), "m1")), false, alice, x, read, yes, "2", nil},
		{"a rule binds owners", []access.Rule{rule("1", "role:user", deny, "/a/**", del)}, false, alice,
			ownedTarget(x).of("alice"), del, no, "1", nil},
		{"a rule binds at home", []access.Rule{rule("1", "user:alice", deny, "/a/**", del)}, false, alice, inHome(x),
			del, no, "1", nil},
		{"a rule binds administrators", []access.Rule{rule("1", "role:admin", deny, "/a/**")}, false, root, x, read, no,
			"1", nil},
		{"by name as well", []access.Rule{rule("1", "user:root", deny, "/a/**")}, false, root, x, read, no, "1", nil},
		{"rules for guests leave administrators alone", []access.Rule{rule("1", "role:guest", deny, "/a/**")}, false,
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
		{"an allow matches from there", allow, false, calledFrom(alice, "10.1.2.3"), targetAt("/x"), read, yes, "a",
			nil},
		{"from any of its networks", allow, false, calledFrom(alice, "2001:db8::1"), targetAt("/x"), read, yes, "a",
			nil},
		{"C59: also mapped into IPv6", allow, false, calledFrom(alice, "::ffff:10.1.2.3"), targetAt("/x"), read, yes,
			"a", nil},
		{"with a zone", allow, false, calledFrom(alice, "2001:db8::1%eth0"), targetAt("/x"), read, yes, "a", nil},
		{"C59: a mapped network", mapped, false, calledFrom(alice, "10.1.2.3"), targetAt("/x"), read, yes, "a", nil},
		{"and no further", mapped, false, calledFrom(alice, "11.1.2.3"), targetAt("/x"), read, no, "default", nil},
		{"not from elsewhere", allow, false, calledFrom(alice, "11.1.2.3"), targetAt("/x"), read, no, "default", nil},
		{"not from an unknown address", allow, false, alice, targetAt("/x"), read, no, "default", nil},
		{"a deny spares those who come from there", deny, false, calledFrom(alice, "10.1.2.3"), targetAt("/x"), read,
			yes, "a", nil},
		{"it hits the others", deny, false, calledFrom(alice, "11.1.2.3"), targetAt("/x"), read, no, "d", nil},
		{"and unknown addresses", deny, false, alice, targetAt("/x"), read, no, "d", nil},
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
		{"it is asked for", []access.Rule{p}, false, alice, v, read, needsPassword, "p", []string{"p"}},
		{"given, it opens", []access.Rule{p}, false, withPasswords(alice, "z", "p"), v, read, yes, "p", nil},
		{"another's does not", []access.Rule{p}, false, withPasswords(alice, "z"), v, read, needsPassword, "p",
			[]string{"p"}},
		{"where the rest denies too", []access.Rule{p, deny}, false, alice, v, read, needsPassword, "p", []string{"p"}},
		{"not after a deny", []access.Rule{p, withPriority(deny, 1)}, false, alice, v, read, no, "d", nil},
		{"not when the rest allows", []access.Rule{p, withPriority(rule("a", "role:user", access.Allow, "/v/**"), -1)},
			false, alice, v, read, yes, "a", nil},
		{"nor when ownership does", []access.Rule{p}, false, alice, ownedTarget(v).of("alice"), read, yes, "owner",
			nil},
		{"not for another permission", []access.Rule{p}, false, alice, v, dl, no, "default", nil},
		{"guests' rules ask too", []access.Rule{p, q}, false, alice, v, read, needsPassword, "p", []string{"p", "q"}},
		{"of visitors", []access.Rule{p, q}, false, visitor, v, read, needsPassword, "q", []string{"q"}},
		{"of guests' accounts, once", []access.Rule{p, q}, false, gus, v, read, needsPassword, "q", []string{"q"}},
		{"one of two is enough", []access.Rule{p, q}, false, withPasswords(alice, "q"), v, read, yes, "q", nil},
		{"nothing is asked from elsewhere", []access.Rule{far}, false, calledFrom(alice, "11.0.0.1"), v, read, no,
			"default", nil},
		{"a deny has no password", []access.Rule{withPassword(deny)}, false, alice, v, read, no, "d", nil},
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
		{"the folder itself shows", all, false, bob, folder, read, yes, "a", nil},
		{"listing it asks", all, false, bob, folder.ForChildren(), read, needsPassword, "a", needs},
		{"what is in it asks", all, false, bob, file, read, needsPassword, "a", needs},
		{"with the password it is open", all, false, withPasswords(bob, "e1"), file, read, yes, "a", nil},
		{"changing the folder asks", all, false, bob, folder, update, needsPassword, "a", needs},
		{"writing into it asks", all, false, bob, file, write, needsPassword, "a", needs},
		{"sharing asks", all, false, bob, file, share, needsPassword, "a", needs},
		{"its owner lists it", all, false, alice, folder.ForChildren(), read, yes, "a", nil},
		{"and changes it", all, false, alice, file, del, yes, "a", nil},
		{"administrators list it", all, false, root, folder.ForChildren(), read, yes, "administrator", nil},
		{"and change it", all, false, root, file, update, yes, "administrator", nil},
		{"C79: a download asks its owner", all, false, alice, ownedTarget(file).of("alice"), dl, needsPassword, "a",
			needs},
		{"C79: and administrators", all, false, root, file, dl, needsPassword, "administrator", needs},
		{"until they give it", all, false, withPasswords(root, "e1"), file, dl, yes, "administrator", nil},
		{"visitors are asked", all, false, visitor, file, dl, needsPassword, "g", needs},
		{"a visitor is not the owner of what nobody owns", all, false, visitor,
			behindPasswords(targetAt("/v"), &access.EntryPassword{ID: "e1"}, nil), update, needsPassword, "g", needs},
		{"of nested ones the nearest asks", all, false, withPasswords(bob, "e0"), nested, dl, needsPassword, "a",
			needs},
		{"it alone", all, false, withPasswords(bob, "e1"), nested, dl, yes, "a", nil},
		{"a nested folder shows with the outer password", all, false, withPasswords(bob, "e0"), nested, read, yes, "a",
			nil},
		{"a nested folder does not show without", all, false, withPasswords(bob, "e1"), nested, read, needsPassword,
			"a", []string{"e0"}},
		{"what is denied stays so", nil, false, bob, file, read, no, "default", nil},
		{"passwords of the entry and of a rule", []access.Rule{lock}, false, bob, file, read, needsPassword, "p",
			[]string{"e1", "p"}},
		{"the rule's is not enough", []access.Rule{lock}, false, withPasswords(bob, "p"), file, read, needsPassword,
			"p", needs},
		{"nor the entry's", []access.Rule{lock}, false, withPasswords(bob, "e1"), file, read, needsPassword, "p",
			[]string{"p"}},
		{"both are", []access.Rule{lock}, false, withPasswords(bob, "e1", "p"), file, read, yes, "p", nil},
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
		{"a key does what its owner may", nil, false, withKey(alice, k), mine("/uploads/x"), del, yes, "owner", nil},
		{"never more", nil, false, withKey(alice, k), targetAt("/uploads/x"), del, no, "default", nil},
		{"C32: a key that writes does not read", nil, false, withKey(alice, writeOnly), mine("/uploads/x"), dl, no,
			"default", nil},
		{"a key that reads does not write", nil, false, withKey(alice, readOnly), mine("/x"), write, no, "default",
			nil},
		{"an administrator's key is held to its scope", nil, false, withKey(root, writeOnly), targetAt("/uploads/x"),
			read, no, "default", nil},
		{"C15: writing outside the root", nil, false, withKey(alice, k), mine("/uploads-evil/x"), write, no, "default",
			nil},
		{"updating outside", nil, false, withKey(alice, k), mine("/x"), update, no, "default", nil},
		{"deleting outside", nil, false, withKey(alice, k), mine("/x"), del, no, "default", nil},
		{"the root itself is inside", nil, false, withKey(alice, k), mine("/uploads"), update, yes, "owner", nil},
		{"reading outside is free", nil, false, withKey(alice, k), mine("/x"), read, yes, "owner", nil},
		{"unless the key is confined", nil, false, withKey(alice, only), mine("/x"), read, no, "default", nil},
		{"as downloads are", nil, false, withKey(alice, only), mine("/x"), dl, no, "default", nil},
		{"inside it reads", nil, false, withKey(alice, only), mine("/uploads/x"), dl, yes, "owner", nil},
		{"a key never shares", nil, false, withKey(alice, greedy), mine("/x"), share, no, "default", nil},
		{"its own allow gives nothing that its owner lacks", []access.Rule{keyAllow}, false, withKey(alice, greedy),
			targetAt("/x"), read, no, "default", nil},
		{"its own deny takes away", []access.Rule{keyDeny}, false, withKey(alice, greedy), mine("/x/f"), read, no, "kd",
			nil},
		{"an owner's deny holds against its allow", []access.Rule{keyAllow, rule("d", "role:user", access.Deny, "/**")},
			false, withKey(alice, greedy), targetAt("/x"), read, no, "d", nil},
		{"both allow", []access.Rule{keyAllow, all[0]}, false, withKey(alice, greedy), targetAt("/x"), read, yes, "ka",
			nil},
		{"key before user before role", []access.Rule{keyAllow, rule("u", "user:alice", access.Allow, "/x/**")}, false,
			withKey(alice, greedy), targetAt("/x"), read, yes, "ka", nil},
		{"a key's rule is for that key", []access.Rule{rule("k2", "key:k2", access.Deny, "/**")}, false,
			withKey(alice, greedy), mine("/x"), read, yes, "owner", nil},
		{"nor for its owner without it", []access.Rule{keyDeny}, false, alice, mine("/x"), read, yes, "owner", nil},
		{"a key is a guest too", []access.Rule{rule("g", "role:guest", access.Allow, "/x")}, false,
			withKey(alice, greedy), targetAt("/x"), read, yes, "g", nil},
		{"a rule's password cannot be given", []access.Rule{p}, false, withPasswords(withKey(alice, greedy), "p"),
			targetAt("/x/f"), read, needsPassword, "p", []string{"p"}},
		{"two rules' cannot either", []access.Rule{p, kp}, false, withKey(alice, greedy), targetAt("/x/f"), read,
			needsPassword, "p", []string{"p", "kp"}},
		{"its own password rule alone, the owner allowed", []access.Rule{kp, withPriority(keyDeny, -1)}, false,
			withKey(alice, greedy), mine("/x/f"), read, needsPassword, "kp", []string{"kp"}},
		{"no password helps where the owner is denied", []access.Rule{kp}, false, withKey(alice, greedy),
			targetAt("/x/f"), read, no, "default", nil},
		{"nor where the key is", []access.Rule{p, withPriority(keyDeny, 1)}, false, withKey(alice, greedy),
			targetAt("/x/f"), read, no, "kd", nil},
		{"what the owner is asked for is not asked where something else lets them in",
			[]access.Rule{p, withPriority(all[0], -1), kp, withPriority(keyDeny, -1)}, false, withKey(alice, greedy),
			targetAt("/x/f"), read, needsPassword, "kp", []string{"kp", "p"}},
		{"a download of the protected cannot be had", all, false, withPasswords(withKey(bob, greedy), "e1"),
			behindPasswords(targetAt("/f"), g, nil), dl, needsPassword, "a", []string{"e1"}},
		{"nor listed, by a key of another than the entry's owner", all, false, withKey(alice, greedy),
			behindPasswords(targetAt("/f"), g, g), read, needsPassword, "a", []string{"e1"}},
		{"not even with the password, which no key can give", all, false, withPasswords(withKey(alice, greedy), "e1"),
			behindPasswords(targetAt("/f"), g, g), read, needsPassword, "a", []string{"e1"}},
		{"the key of the entry's owner lists it", all, false, withKey(bob, greedy),
			behindPasswords(targetAt("/f"), g, g), read, yes, "a", nil},
		{"and an administrator's", all, false, withKey(root, greedy), behindPasswords(targetAt("/f"), g, g), read, yes,
			"administrator", nil},
		{"changing what others protect cannot", all, false, withKey(alice, greedy),
			behindPasswords(targetAt("/f"), g, nil), update, needsPassword, "a", []string{"e1"}},
		{"changing one's own can", all, false, withKey(bob, greedy), behindPasswords(targetAt("/f"), g, nil), update,
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
		{"a rule for nobody is for nobody", []access.Rule{none}, false, access.Actor{UserID: "x"}, targetAt("/x"), read,
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
