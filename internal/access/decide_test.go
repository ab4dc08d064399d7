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

func set(p ...access.Permission) (s access.Set) {
	for _, one := range p {
		s |= access.Set(one)
	}
	return s
}

// from returns a as calling from an address.
func from(a access.Actor, ip string) access.Actor {
	a.IP = netip.MustParseAddr(ip)
	return a
}

// holding returns a with the passwords of these rules and entries given.
func holding(a access.Actor, ids ...string) access.Actor {
	a.Unlocked = ids
	return a
}

// through returns a acting through a key.
func through(a access.Actor, k access.Key) access.Actor {
	a.Key = &k
	return a
}

// at returns a target that belongs to nobody.
func at(s string) access.Target {
	p, err := vpath.Parse(s)
	if err != nil {
		panic(err)
	}
	return access.Target{Path: p, MountID: "m1"}
}

func (o owned) of(owner string) access.Target {
	t := access.Target(o)
	t.OwnerID = owner
	return t
}

type owned access.Target

func inHome(t access.Target) access.Target {
	t.InHome = true
	return t
}

func behind(t access.Target, guard, above *access.Guard) access.Target {
	t.Guard, t.Above = guard, above
	return t
}

// rule makes a rule whose subject is given as "role:user", "user:alice" or "key:k1".
func rule(id, subject string, effect access.Effect, pattern string, permissions ...access.Permission) access.Rule {
	r := access.Rule{ID: id, Pattern: pattern, Effect: effect, Permissions: set(permissions...)}
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

func withPassword(r access.Rule) access.Rule     { r.RequirePassword = true; return r }
func ranked(r access.Rule, p int) access.Rule    { r.Priority = p; return r }
func made(r access.Rule, at int64) access.Rule   { r.CreatedAt = at; return r }
func on(r access.Rule, mount string) access.Rule { r.MountID = mount; return r }
func where(r access.Rule, prefixes ...string) access.Rule {
	for _, p := range prefixes {
		r.AllowedIPs = append(r.AllowedIPs, netip.MustParsePrefix(p))
	}
	return r
}

// The rules of a fresh installation.
var seeded = []access.Rule{
	rule("g", "role:guest", access.Allow, "/public/**", read, dl),
	rule("u", "role:user", access.Allow, "/public/**", read, dl),
	rule("w", "role:user", access.Allow, "/uploads/**", write),
}

type question struct {
	name   string
	rules  []access.Rule
	closed bool // guest access off
	actor  access.Actor
	target access.Target
	may    access.Permission
	want   access.Outcome
	by     string
	asks   []string
}

const (
	yes    = access.Allowed
	no     = access.Denied
	locked = access.NeedsPassword
)

func runQuestions(t *testing.T, table []question) {
	t.Helper()
	for _, q := range table {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			v := access.NewPolicy(q.rules, !q.closed).Decide(q.actor, q.target, q.may)
			if v.Outcome != q.want || v.DecidedBy != q.by || !slices.Equal(v.Asks, q.asks) {
				t.Errorf("got %v by %q asking %q; want %v by %q asking %q", v.Outcome, v.DecidedBy, v.Asks, q.want, q.by, q.asks)
			}
		})
	}
}

func TestDecideWithoutRule(t *testing.T) {
	t.Parallel()
	mine, other := owned(at("/x/f")).of("alice"), owned(at("/x/f")).of("bob")
	var table []question
	for _, p := range []access.Permission{read, write, update, del, share, dl} {
		table = append(table,
			question{name: "administrators may " + p.String(), actor: root, target: other, may: p, want: yes, by: "administrator"},
			question{name: "owners may " + p.String(), actor: alice, target: mine, may: p, want: yes, by: "owner"},
			question{name: "others may not " + p.String(), actor: alice, target: other, may: p, want: no, by: "default"},
			question{name: "at home one may " + p.String(), actor: alice, target: inHome(other), may: p, want: yes, by: "home"},
			question{name: "visitors may not " + p.String(), actor: visitor, target: at("/x/f"), may: p, want: no, by: "default"},
		)
	}
	table = append(table,
		question{name: "the home of a guest rests", actor: gus, target: inHome(at("/home/gus/f")), may: read, want: no, by: "default"},
		question{name: "a guest account has what it owns", actor: gus, target: owned(at("/x")).of("gus"), may: del, want: yes, by: "owner"},
		question{name: "a visitor does not own what nobody owns", actor: visitor, target: inHome(at("/x")), may: read, want: no, by: "default"},
		question{name: "a visitor has no role", actor: access.Actor{Role: access.Admin}, target: at("/x"), may: read, want: no, by: "default"},
		question{name: "an unknown role gives no home", actor: access.Actor{UserID: "x", Role: "boss"}, target: inHome(at("/x")), may: read, want: no, by: "default"},
		question{name: "no permission is refused", actor: root, target: at("/x"), may: 0, want: no, by: "default"},
		question{name: "two at once are refused", actor: root, target: at("/x"), may: read | dl, want: no, by: "default"},
		question{name: "one that does not exist is refused", actor: root, target: at("/x"), may: 64, want: no, by: "default"},
	)
	runQuestions(t, table)
}

func TestDecideSeededRules(t *testing.T) {
	t.Parallel()
	runQuestions(t, []question{
		{"visitors read /public", seeded, false, visitor, at("/public/a/b"), read, yes, "g", nil},
		{"and /public itself", seeded, false, visitor, at("/public"), read, yes, "g", nil},
		{"and download there", seeded, false, visitor, at("/public/a"), dl, yes, "g", nil},
		{"and write nothing", seeded, false, visitor, at("/public/a"), write, no, "default", nil},
		{"C33: /publicity is something else", seeded, false, visitor, at("/publicity"), read, no, "default", nil},
		{"no guests, no visitors", seeded, true, visitor, at("/public/a"), read, no, "default", nil},
		{"users read without guest access", seeded, true, alice, at("/public/a"), read, yes, "u", nil},
		{"users write in /uploads", seeded, false, alice, at("/uploads/x"), write, yes, "w", nil},
		{"and see what is theirs", seeded, false, alice, owned(at("/uploads/x")).of("alice"), read, yes, "owner", nil},
		{"and nothing of others", seeded, false, alice, owned(at("/uploads/x")).of("bob"), read, no, "default", nil},
		{"visitors do not write there", seeded, false, visitor, at("/uploads/x"), write, no, "default", nil},
		{"rules for users are not for administrators", seeded, false, root, at("/public/a"), read, yes, "administrator", nil},
		{"nor for guests' accounts", seeded, false, gus, at("/uploads/x"), write, no, "default", nil},
		{"a guest's account reads /public", seeded, false, gus, at("/public/x"), read, yes, "g", nil},
		{"also when visitors may not", seeded, true, gus, at("/public/x"), read, yes, "g", nil},
	})
}

func TestDecideGuestFallback(t *testing.T) {
	t.Parallel()
	guests := []access.Rule{rule("g", "role:guest", access.Allow, "/open/**", read)}
	deny := append(slices.Clone(guests), rule("d", "role:user", access.Deny, "/open/x"))
	denyGuests := []access.Rule{rule("gd", "role:guest", access.Deny, "/**"), rule("u", "role:user", access.Allow, "/u/**")}
	runQuestions(t, []question{
		{"signing in takes nothing away", guests, false, alice, at("/open/x"), read, yes, "g", nil},
		{"but for what a rule says", deny, false, alice, at("/open/x"), read, no, "d", nil},
		{"which concerns users only", deny, false, visitor, at("/open/x"), read, yes, "g", nil},
		{"no fallback without guest access", guests, true, alice, at("/open/x"), read, no, "default", nil},
		{"ownership comes before guests' denies", denyGuests, false, alice, owned(at("/x")).of("alice"), read, yes, "owner", nil},
		{"home too", denyGuests, false, alice, inHome(at("/x")), read, yes, "home", nil},
		{"and rules of users", denyGuests, false, alice, at("/u/x"), read, yes, "u", nil},
		{"else a guest's deny decides", denyGuests, false, alice, at("/x"), read, no, "gd", nil},
		{"administrators are no guests", denyGuests, false, root, at("/x"), read, yes, "administrator", nil},
		{"a deny for guests comes before what a guest's account owns", denyGuests, false, gus, owned(at("/x")).of("gus"), read, no, "gd", nil},
	})
}

func TestDecideOrder(t *testing.T) {
	t.Parallel()
	allow, deny := access.Allow, access.Deny
	x := at("/a/b")
	pair := func(first, second access.Rule) []access.Rule { return []access.Rule{second, first} } // listed the wrong way round
	runQuestions(t, []question{
		{"priority comes first", pair(ranked(rule("1", "role:user", allow, "/**"), 2), ranked(rule("2", "user:alice", deny, "/a/b"), 1)), false, alice, x, read, yes, "1", nil},
		{"also below zero", pair(rule("1", "role:user", allow, "/**"), ranked(rule("2", "user:alice", deny, "/a/b"), -1)), false, alice, x, read, yes, "1", nil},
		{"then users before roles", pair(rule("1", "user:alice", allow, "/**"), rule("2", "role:user", deny, "/a/b")), false, alice, x, read, yes, "1", nil},
		{"then characters before the first wildcard", pair(rule("1", "role:user", allow, "/a/**"), rule("2", "role:user", deny, "/**/b")), false, alice, x, read, yes, "1", nil},
		{"then characters in all", pair(rule("1", "role:user", allow, "/*/b"), rule("2", "role:user", deny, "/*")), false, alice, x, read, yes, "1", nil},
		{"here both count", pair(rule("1", "role:user", allow, "/**/b"), rule("2", "role:user", deny, "/**")), false, alice, x, read, yes, "1", nil},
		{"then fewer double stars", pair(rule("1", "role:user", allow, "/a/*"), rule("2", "role:user", deny, "/a/**")), false, alice, x, read, yes, "1", nil},
		{"a single character is a wildcard", pair(rule("1", "role:user", allow, "/a/**"), rule("2", "role:user", deny, "/?/b")), false, alice, x, read, yes, "1", nil},
		{"characters are not bytes", pair(rule("1", "role:user", allow, "/*bb"), rule("2", "role:user", deny, "/*é*")), false, alice, at("/xébb"), read, yes, "1", nil},
		{"then deny", pair(made(rule("1", "role:user", deny, "/a/*"), 9), made(rule("2", "role:user", allow, "/a/*"), 1)), false, alice, x, read, no, "1", nil},
		{"then the older", pair(made(rule("2", "role:user", allow, "/a/*"), 1), made(rule("1", "role:user", allow, "/a/*"), 2)), false, alice, x, read, yes, "2", nil},
		{"ids settle the rest", pair(rule("1", "role:user", allow, "/a/*"), rule("2", "role:user", allow, "/a/*")), false, alice, x, read, yes, "1", nil},
		{"a rule that does not name it decides nothing", pair(ranked(rule("1", "role:user", deny, "/a/b", write), 5), rule("2", "role:user", allow, "/a/b")), false, alice, x, read, yes, "2", nil},
		{"no permissions mean all six", pair(rule("1", "role:user", deny, "/a/b"), rule("2", "role:user", allow, "/**")), false, alice, x, share, no, "1", nil},
		{"another user's rule is not asked", pair(rule("1", "user:bob", deny, "/a/b"), rule("2", "role:user", allow, "/**")), false, alice, x, read, yes, "2", nil},
		{"another mount's rule is not asked", pair(on(rule("1", "role:user", deny, "/a/b"), "m2"), on(rule("2", "role:user", allow, "/**"), "m1")), false, alice, x, read, yes, "2", nil},
		{"a rule binds owners", []access.Rule{rule("1", "role:user", deny, "/a/**", del)}, false, alice, owned(x).of("alice"), del, no, "1", nil},
		{"a rule binds at home", []access.Rule{rule("1", "user:alice", deny, "/a/**", del)}, false, alice, inHome(x), del, no, "1", nil},
		{"a rule binds administrators", []access.Rule{rule("1", "role:admin", deny, "/a/**")}, false, root, x, read, no, "1", nil},
		{"by name as well", []access.Rule{rule("1", "user:root", deny, "/a/**")}, false, root, x, read, no, "1", nil},
		{"rules for guests leave administrators alone", []access.Rule{rule("1", "role:guest", deny, "/a/**")}, false, root, x, read, yes, "administrator", nil},
	})
}

func TestDecideAddresses(t *testing.T) {
	t.Parallel()
	allow := []access.Rule{where(rule("a", "role:user", access.Allow, "/x"), "10.0.0.0/8", "2001:db8::/32")}
	deny := []access.Rule{where(rule("d", "role:user", access.Deny, "/x"), "10.0.0.0/8"), rule("a", "role:user", access.Allow, "/x")}
	mapped := []access.Rule{where(rule("a", "role:user", access.Allow, "/x"), "::ffff:10.0.0.0/104")}
	runQuestions(t, []question{
		{"an allow matches from there", allow, false, from(alice, "10.1.2.3"), at("/x"), read, yes, "a", nil},
		{"from any of its networks", allow, false, from(alice, "2001:db8::1"), at("/x"), read, yes, "a", nil},
		{"C59: also mapped into IPv6", allow, false, from(alice, "::ffff:10.1.2.3"), at("/x"), read, yes, "a", nil},
		{"with a zone", allow, false, from(alice, "2001:db8::1%eth0"), at("/x"), read, yes, "a", nil},
		{"C59: a mapped network", mapped, false, from(alice, "10.1.2.3"), at("/x"), read, yes, "a", nil},
		{"and no further", mapped, false, from(alice, "11.1.2.3"), at("/x"), read, no, "default", nil},
		{"not from elsewhere", allow, false, from(alice, "11.1.2.3"), at("/x"), read, no, "default", nil},
		{"not from an unknown address", allow, false, alice, at("/x"), read, no, "default", nil},
		{"a deny spares those who come from there", deny, false, from(alice, "10.1.2.3"), at("/x"), read, yes, "a", nil},
		{"it hits the others", deny, false, from(alice, "11.1.2.3"), at("/x"), read, no, "d", nil},
		{"and unknown addresses", deny, false, alice, at("/x"), read, no, "d", nil},
	})
}

func TestDecideRulePassword(t *testing.T) {
	t.Parallel()
	p := withPassword(rule("p", "role:user", access.Allow, "/v/**", read))
	q := withPassword(rule("q", "role:guest", access.Allow, "/v/**", read))
	deny := ranked(rule("d", "role:user", access.Deny, "/v/**"), -1)
	far := where(withPassword(rule("f", "role:user", access.Allow, "/v/**")), "10.0.0.0/8")
	v := at("/v/x")
	runQuestions(t, []question{
		{"it is asked for", []access.Rule{p}, false, alice, v, read, locked, "p", []string{"p"}},
		{"given, it opens", []access.Rule{p}, false, holding(alice, "z", "p"), v, read, yes, "p", nil},
		{"another's does not", []access.Rule{p}, false, holding(alice, "z"), v, read, locked, "p", []string{"p"}},
		{"where the rest denies too", []access.Rule{p, deny}, false, alice, v, read, locked, "p", []string{"p"}},
		{"not after a deny", []access.Rule{p, ranked(deny, 1)}, false, alice, v, read, no, "d", nil},
		{"not when the rest allows", []access.Rule{p, ranked(rule("a", "role:user", access.Allow, "/v/**"), -1)}, false, alice, v, read, yes, "a", nil},
		{"nor when ownership does", []access.Rule{p}, false, alice, owned(v).of("alice"), read, yes, "owner", nil},
		{"not for another permission", []access.Rule{p}, false, alice, v, dl, no, "default", nil},
		{"guests' rules ask too", []access.Rule{p, q}, false, alice, v, read, locked, "p", []string{"p", "q"}},
		{"of visitors", []access.Rule{p, q}, false, visitor, v, read, locked, "q", []string{"q"}},
		{"of guests' accounts, once", []access.Rule{p, q}, false, gus, v, read, locked, "q", []string{"q"}},
		{"one of two is enough", []access.Rule{p, q}, false, holding(alice, "q"), v, read, yes, "q", nil},
		{"nothing is asked from elsewhere", []access.Rule{far}, false, from(alice, "11.0.0.1"), v, read, no, "default", nil},
		{"a deny has no password", []access.Rule{withPassword(deny)}, false, alice, v, read, no, "d", nil},
	})
}

func TestDecideEntryPassword(t *testing.T) {
	t.Parallel()
	g, outer := &access.Guard{ID: "e1", OwnerID: "alice"}, &access.Guard{ID: "e0", OwnerID: "root"}
	all := []access.Rule{rule("a", "role:user", access.Allow, "/**"), rule("g", "role:guest", access.Allow, "/**")}
	folder, file := behind(at("/v"), g, nil), behind(at("/v/f"), g, g)
	nested := behind(at("/o/v"), g, outer)
	lock := withPassword(rule("p", "user:bob", access.Allow, "/v/**"))
	needs := []string{"e1"}
	table := []question{
		{"the folder itself shows", all, false, bob, folder, read, yes, "a", nil},
		{"listing it asks", all, false, bob, folder.Inside(), read, locked, "a", needs},
		{"what is in it asks", all, false, bob, file, read, locked, "a", needs},
		{"with the password it is open", all, false, holding(bob, "e1"), file, read, yes, "a", nil},
		{"changing the folder asks", all, false, bob, folder, update, locked, "a", needs},
		{"writing into it asks", all, false, bob, file, write, locked, "a", needs},
		{"sharing asks", all, false, bob, file, share, locked, "a", needs},
		{"its owner lists it", all, false, alice, folder.Inside(), read, yes, "a", nil},
		{"and changes it", all, false, alice, file, del, yes, "a", nil},
		{"administrators list it", all, false, root, folder.Inside(), read, yes, "administrator", nil},
		{"and change it", all, false, root, file, update, yes, "administrator", nil},
		{"C79: a download asks its owner", all, false, alice, owned(file).of("alice"), dl, locked, "a", needs},
		{"C79: and administrators", all, false, root, file, dl, locked, "administrator", needs},
		{"until they give it", all, false, holding(root, "e1"), file, dl, yes, "administrator", nil},
		{"visitors are asked", all, false, visitor, file, dl, locked, "g", needs},
		{"a visitor is not the owner of what nobody owns", all, false, visitor, behind(at("/v"), &access.Guard{ID: "e1"}, nil), update, locked, "g", needs},
		{"of nested ones the nearest asks", all, false, holding(bob, "e0"), nested, dl, locked, "a", needs},
		{"it alone", all, false, holding(bob, "e1"), nested, dl, yes, "a", nil},
		{"a nested folder shows with the outer password", all, false, holding(bob, "e0"), nested, read, yes, "a", nil},
		{"a nested folder does not show without", all, false, holding(bob, "e1"), nested, read, locked, "a", []string{"e0"}},
		{"what is denied stays so", nil, false, bob, file, read, no, "default", nil},
		{"passwords of the entry and of a rule", []access.Rule{lock}, false, bob, file, read, locked, "p", []string{"e1", "p"}},
		{"the rule's is not enough", []access.Rule{lock}, false, holding(bob, "p"), file, read, locked, "p", needs},
		{"nor the entry's", []access.Rule{lock}, false, holding(bob, "e1"), file, read, locked, "p", []string{"p"}},
		{"both are", []access.Rule{lock}, false, holding(bob, "e1", "p"), file, read, yes, "p", nil},
	}
	runQuestions(t, table)
}

func TestDecideKey(t *testing.T) {
	t.Parallel()
	every := access.All &^ set(share)
	in := at("/uploads").Path
	k := access.Key{ID: "k1", Permissions: every, Root: in}
	only := k
	only.RootOnly = true
	readOnly, writeOnly := access.Key{ID: "k1", Permissions: set(read, dl)}, access.Key{ID: "k1", Permissions: set(write, update), Root: in}
	greedy := access.Key{ID: "k1", Permissions: access.All}
	mine := func(s string) access.Target { return owned(at(s)).of("alice") }
	keyAllow, keyDeny := rule("ka", "key:k1", access.Allow, "/x/**"), rule("kd", "key:k1", access.Deny, "/x/**")
	p := withPassword(rule("p", "role:user", access.Allow, "/x/**", read))
	kp := withPassword(rule("kp", "key:k1", access.Allow, "/x/**", read))
	g := &access.Guard{ID: "e1", OwnerID: "bob"}
	all := []access.Rule{rule("a", "role:user", access.Allow, "/**")}
	runQuestions(t, []question{
		{"a key does what its owner may", nil, false, through(alice, k), mine("/uploads/x"), del, yes, "owner", nil},
		{"never more", nil, false, through(alice, k), at("/uploads/x"), del, no, "default", nil},
		{"C32: a key that writes does not read", nil, false, through(alice, writeOnly), mine("/uploads/x"), dl, no, "default", nil},
		{"a key that reads does not write", nil, false, through(alice, readOnly), mine("/x"), write, no, "default", nil},
		{"an administrator's key is held to its scope", nil, false, through(root, writeOnly), at("/uploads/x"), read, no, "default", nil},
		{"C15: writing outside the root", nil, false, through(alice, k), mine("/uploads-evil/x"), write, no, "default", nil},
		{"updating outside", nil, false, through(alice, k), mine("/x"), update, no, "default", nil},
		{"deleting outside", nil, false, through(alice, k), mine("/x"), del, no, "default", nil},
		{"the root itself is inside", nil, false, through(alice, k), mine("/uploads"), update, yes, "owner", nil},
		{"reading outside is free", nil, false, through(alice, k), mine("/x"), read, yes, "owner", nil},
		{"unless the key is confined", nil, false, through(alice, only), mine("/x"), read, no, "default", nil},
		{"as downloads are", nil, false, through(alice, only), mine("/x"), dl, no, "default", nil},
		{"inside it reads", nil, false, through(alice, only), mine("/uploads/x"), dl, yes, "owner", nil},
		{"a key never shares", nil, false, through(alice, greedy), mine("/x"), share, no, "default", nil},
		{"its own allow gives nothing that its owner lacks", []access.Rule{keyAllow}, false, through(alice, greedy), at("/x"), read, no, "default", nil},
		{"its own deny takes away", []access.Rule{keyDeny}, false, through(alice, greedy), mine("/x/f"), read, no, "kd", nil},
		{"an owner's deny holds against its allow", []access.Rule{keyAllow, rule("d", "role:user", access.Deny, "/**")}, false, through(alice, greedy), at("/x"), read, no, "d", nil},
		{"both allow", []access.Rule{keyAllow, all[0]}, false, through(alice, greedy), at("/x"), read, yes, "ka", nil},
		{"key before user before role", []access.Rule{keyAllow, rule("u", "user:alice", access.Allow, "/x/**")}, false, through(alice, greedy), at("/x"), read, yes, "ka", nil},
		{"a key's rule is for that key", []access.Rule{rule("k2", "key:k2", access.Deny, "/**")}, false, through(alice, greedy), mine("/x"), read, yes, "owner", nil},
		{"nor for its owner without it", []access.Rule{keyDeny}, false, alice, mine("/x"), read, yes, "owner", nil},
		{"a key is a guest too", []access.Rule{rule("g", "role:guest", access.Allow, "/x")}, false, through(alice, greedy), at("/x"), read, yes, "g", nil},
		{"a rule's password cannot be given", []access.Rule{p}, false, holding(through(alice, greedy), "p"), at("/x/f"), read, locked, "p", []string{"p"}},
		{"two rules' cannot either", []access.Rule{p, kp}, false, through(alice, greedy), at("/x/f"), read, locked, "p", []string{"p", "kp"}},
		{"its own password rule alone, the owner allowed", []access.Rule{kp, ranked(keyDeny, -1)}, false, through(alice, greedy), mine("/x/f"), read, locked, "kp", []string{"kp"}},
		{"no password helps where the owner is denied", []access.Rule{kp}, false, through(alice, greedy), at("/x/f"), read, no, "default", nil},
		{"nor where the key is", []access.Rule{p, ranked(keyDeny, 1)}, false, through(alice, greedy), at("/x/f"), read, no, "kd", nil},
		{"what the owner is asked for is not asked where something else lets them in", []access.Rule{p, ranked(all[0], -1), kp, ranked(keyDeny, -1)}, false, through(alice, greedy), at("/x/f"), read, locked, "kp", []string{"kp", "p"}},
		{"a download of the protected cannot be had", all, false, holding(through(bob, greedy), "e1"), behind(at("/f"), g, nil), dl, locked, "a", []string{"e1"}},
		{"nor listed, by a key of another than the entry's owner", all, false, through(alice, greedy), behind(at("/f"), g, g), read, locked, "a", []string{"e1"}},
		{"not even with the password, which no key can give", all, false, holding(through(alice, greedy), "e1"), behind(at("/f"), g, g), read, locked, "a", []string{"e1"}},
		{"the key of the entry's owner lists it", all, false, through(bob, greedy), behind(at("/f"), g, g), read, yes, "a", nil},
		{"and an administrator's", all, false, through(root, greedy), behind(at("/f"), g, g), read, yes, "administrator", nil},
		{"changing what others protect cannot", all, false, through(alice, greedy), behind(at("/f"), g, nil), update, locked, "a", []string{"e1"}},
		{"changing one's own can", all, false, through(bob, greedy), behind(at("/f"), g, nil), update, yes, "a", nil},
	})
}

func TestBrokenRulesFailClosed(t *testing.T) {
	t.Parallel()
	deny, allow := rule("b", "role:user", access.Deny, "/[a"), rule("b", "role:user", access.Allow, "/[a")
	none := access.Rule{ID: "n", Pattern: "/**", Effect: access.Allow}
	runQuestions(t, []question{
		{"a deny covers everything", []access.Rule{deny, ranked(rule("a", "role:user", access.Allow, "/**"), -1)}, false, alice, at("/x"), read, no, "b", nil},
		{"an allow covers nothing", []access.Rule{allow}, false, alice, at("/[a"), read, no, "default", nil},
		{"an unknown effect denies", []access.Rule{rule("b", "role:user", "maybe", "/x")}, false, alice, owned(at("/x")).of("alice"), read, no, "b", nil},
		{"a rule for nobody is for nobody", []access.Rule{none}, false, access.Actor{UserID: "x"}, at("/x"), read, no, "default", nil},
	})
}

func TestRuleValidate(t *testing.T) {
	t.Parallel()
	good := rule("r", "role:user", access.Allow, "/a/**", read)
	for name, r := range map[string]access.Rule{"role": good, "user": rule("r", "user:u", access.Deny, "/"), "key with password": withPassword(rule("r", "key:k", access.Allow, "/**"))} {
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
