package access_test

import (
	"slices"
	"testing"

	"larder/internal/access"
	"larder/internal/vpath"
)

func TestAllowed(t *testing.T) {
	t.Parallel()
	p := access.NewPolicy(seedRules, true)
	g := &access.EntryPassword{ID: "e1", OwnerID: "bob"}
	for _, c := range []struct {
		name   string
		actor  access.Actor
		target access.Target
		want   access.Set
	}{
		{"a visitor in public", visitor, targetAt("/public/x"), permissionSet(read, dl)},
		{"a visitor elsewhere", visitor, targetAt("/x"), 0},
		{"a user in uploads", alice, targetAt("/uploads/x"), permissionSet(write)},
		{"an owner", alice, ownedTarget(targetAt("/x")).of("alice"), access.All},
		{"an owner in public", alice, ownedTarget(targetAt("/public/x")).of("alice"),
			access.All},
		{"a protected entry", visitor, behindPasswords(targetAt("/public/x"), g, nil), permissionSet(read)},
		{"the contents of a protected entry", visitor, behindPasswords(targetAt("/public/x"), g, g), 0},
		{"an administrator, protected entry",
			root, behindPasswords(targetAt("/x"), g, g), access.All &^ permissionSet(dl)},
		{"a key in its root", withKey(root, access.Key{Permissions: permissionSet(read, dl, write, update),
			Root: targetAt("/uploads").Path}), targetAt("/uploads/x"), permissionSet(read, write, update, dl)},
		{"a key outside its root", withKey(root, access.Key{Permissions: permissionSet(read, dl, write, update),
			Root: targetAt("/uploads").Path}), targetAt("/x"), permissionSet(read, dl)},
	} {
		if got := p.Allowed(c.actor, c.target); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got.Names(), c.want.Names())
		}
	}
}

// Abuse case C26.
func TestDecideTree(t *testing.T) {
	t.Parallel()
	allow, deny := access.Allow, access.Deny
	home := inHome(targetAt("/home/alice/x"))
	g := &access.EntryPassword{ID: "e1", OwnerID: "bob"}
	office := func(r access.Rule) access.Rule { return fromAddresses(r, "10.0.0.0/8") }
	in := calledFrom(alice, "10.0.0.1")
	all := rule("all", "role:user", allow, "/**")
	key := access.Key{ID: "k1", Permissions: permissionSet(del), Root: targetAt("/home").Path}
	for _, c := range []struct {
		name   string
		rules  []access.Rule
		actor  access.Actor
		folder access.Target
		want   access.TreeVerdict
	}{
		{"at home", seedRules, alice, home, access.TreeAllowed},
		{"at home, an own folder", seedRules, alice, inHome(ownedTarget(targetAt("/home/alice/x")).of("alice")),
			access.TreeAllowed},
		{"the home of a guest account", seedRules, gus, home, access.TreeOwnOnly},
		{"an administrator", seedRules, root, targetAt("/x"), access.TreeAllowed},
		{"elsewhere", seedRules, alice, ownedTarget(targetAt("/x")).of("alice"), access.TreeOwnOnly},
		{"a visitor", seedRules, visitor, targetAt("/x"), access.TreeDenied},
		{"an allow for the whole folder", []access.Rule{all}, alice, targetAt("/x"), access.TreeAllowed},
		{"an allow for guests, a visitor",
			[]access.Rule{rule("g", "role:guest", allow, "/x/**")}, visitor, targetAt("/x"),
			access.TreeAllowed},
		{"an allow for guests, a user", []access.Rule{rule("g", "role:guest", allow, "/x/**")}, alice, targetAt("/x"),
			access.TreeAllowed},
		{"an allow for a part of the folder",
			[]access.Rule{rule("a", "role:user", allow, "/x/*")}, alice, targetAt("/x"),
			access.TreeOwnOnly},
		{"a deny below", []access.Rule{rule("d", "role:user", deny, "/home/alice/x/y/**")}, alice, home,
			access.TreeDenied},
		{"a deny that matches some names", []access.Rule{rule("d", "role:user", deny, "/**/secret")}, alice, home,
			access.TreeDenied},
		{"a deny for a sibling", []access.Rule{rule("d", "role:user", deny, "/home/alice/xx/**")}, alice, home,
			access.TreeAllowed},
		{"a deny for another permission", []access.Rule{rule("d", "role:user", deny, "/**", read)}, alice, home,
			access.TreeAllowed},
		{"a deny for others", []access.Rule{rule("d", "user:bob", deny, "/**")}, alice, home, access.TreeAllowed},
		{"a deny in another mount", []access.Rule{onMount(rule("d", "role:user", deny, "/**"), "m2")}, alice, home,
			access.TreeAllowed},
		{"a deny for administrators below", []access.Rule{rule("d", "role:admin", deny, "/x/y")}, root,
			targetAt("/x"), access.TreeDenied},
		{"a deny below after an allow of higher priority",
			[]access.Rule{withPriority(all, 1), rule("d", "role:user", deny, "/x/y")}, alice, targetAt("/x"),
			access.TreeAllowed},
		{"a deny below before an allow",
			[]access.Rule{all, rule("d", "role:user", deny, "/x/y")}, alice, targetAt("/x"),
			access.TreeDenied},
		{"a deny for guests below an own folder", []access.Rule{rule("d", "role:guest", deny, "/x/y")}, alice,
			targetAt("/x"), access.TreeOwnOnly},
		{"a deny for guests before an allow for guests", []access.Rule{rule("d", "role:guest", deny, "/x/y"),
			rule("g", "role:guest", allow, "/x/**")}, alice, targetAt("/x"), access.TreeOwnOnly},
		{"a password rule below", []access.Rule{withPassword(rule("p", "role:user", allow, "/home/alice/x/v/**"))},
			alice, home, access.TreeDenied},
		{"a password rule below, with the password",
			[]access.Rule{withPassword(rule("p", "role:user", allow, "/home/alice/x/v/**"))}, withPasswords(alice, "p"),
			home, access.TreeDenied},
		{"a password rule for the whole folder",
			[]access.Rule{withPassword(rule("p", "role:user", allow, "/x/**"))}, alice,
			targetAt("/x"), access.TreeDenied},
		{"unlocked", []access.Rule{withPassword(rule("p", "role:user", allow, "/x/**"))}, withPasswords(alice, "p"),
			targetAt("/x"), access.TreeAllowed},
		{"an address rule below", []access.Rule{office(rule("i", "role:user", allow, "/home/alice/x/v/**"))}, in, home,
			access.TreeDenied},
		{"an address rule for the whole folder, from its address",
			[]access.Rule{office(rule("i", "role:user", allow, "/x/**"))}, in,
			targetAt("/x"), access.TreeAllowed},
		{"from elsewhere", []access.Rule{office(rule("i", "role:user", allow, "/x/**"))}, alice, targetAt("/x"),
			access.TreeOwnOnly},
		{"a deny except for an address, from that address",
			[]access.Rule{office(rule("i", "role:user", deny, "/home/**"))}, in,
			home, access.TreeAllowed},
		{"a deny except for an address, from another address",
			[]access.Rule{office(rule("i", "role:user", deny, "/home/**"))}, alice, home,
			access.TreeDenied},
		{"a deny below except for an address, from that address",
			[]access.Rule{office(rule("i", "role:user", deny, "/home/alice/x/v"))},
			in, home, access.TreeDenied},
		{"a protected folder of another", []access.Rule{all}, alice, behindPasswords(targetAt("/x"), g, nil),
			access.TreeDenied},
		{"a protected folder of the caller",
			[]access.Rule{all}, bob, behindPasswords(targetAt("/x"), g, nil), access.TreeAllowed},
		{"a key in its root", nil, withKey(alice, key), home, access.TreeAllowed},
		{"a key outside its root", []access.Rule{all}, withKey(alice, key), targetAt("/x"), access.TreeDenied},
		{"a key with a deny of its own below", []access.Rule{rule("d", "key:k1", deny, "/home/alice/x/y")},
			withKey(alice, key), home, access.TreeDenied},
		{"a key with an allow of its own", []access.Rule{rule("a", "key:k1", allow, "/**")}, withKey(bob, key),
			targetAt("/home/alice"), access.TreeOwnOnly},
	} {
		if got := access.NewPolicy(c.rules, true).DecideTree(c.actor, c.folder, del); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	p := access.NewPolicy([]access.Rule{all}, true)
	if got := p.DecideTree(alice, behindPasswords(targetAt("/x"), g, nil), read); got != access.TreeDenied {
		t.Errorf("reading everything below another user's password: %v, want %v", got, access.TreeDenied)
	}
	outer := &access.EntryPassword{ID: "e0", OwnerID: "root"}
	if got := p.DecideTree(bob, behindPasswords(targetAt("/x"), g, outer), read); got != access.TreeDenied {
		t.Errorf("reading an entry in another user's protected folder: %v, want %v", got, access.TreeDenied)
	}
	if got := p.DecideTree(root, targetAt("/x"), 0); got != access.TreeDenied {
		t.Errorf("no permission: %v, want %v", got, access.TreeDenied)
	}
}

func TestShowsFolder(t *testing.T) {
	t.Parallel()
	allow, deny := access.Allow, access.Deny
	deep := []access.Rule{rule("a", "role:user", allow, "/a/b/c/**", read)}
	hidden := []access.Rule{rule("d", "role:user", deny, "/a/secret/**", read),
		rule("a", "role:user", allow, "/a/**", read, dl)}
	key := func(rootOnly bool, p ...access.Permission) access.Actor {
		return withKey(alice, access.Key{ID: "k1", Permissions: permissionSet(p...), Root: targetAt("/a/up").Path,
			RootOnly: rootOnly})
	}
	upper := access.Key{ID: "k1", Permissions: permissionSet(write), Root: targetAt("/a/up").Path}
	homeInTwo := []access.Rule{rule("d0", "role:user", deny, "/home/alice"),
		rule("d1", "role:user", deny, "/home/alice/**/*")}
	for _, c := range []struct {
		name  string
		rules []access.Rule
		actor access.Actor
		path  string
		home  string // "" for none
		want  bool
	}{
		{"the root above a readable path", deep, alice, "/", "", true},
		{"a folder above a readable path", deep, alice, "/a/b", "", true},
		{"a readable path", deep, alice, "/a/b/c", "", true},
		{"below a readable path", deep, alice, "/a/b/c/d", "", true},
		{"beside a readable path", deep, alice, "/a/x", "", false},
		{"a readable path of others", deep, visitor, "/a", "", false},
		{"a guest rule, a visitor", seedRules, visitor, "/", "", true},
		{"a guest rule, a user", []access.Rule{rule("g", "role:guest", allow, "/g/**", read)}, alice, "/g", "",
			true},
		{"a guest rule, a guest account",
			[]access.Rule{rule("g", "role:guest", allow, "/g/**", read)}, gus, "/", "", true},
		{"a writable folder", seedRules, alice, "/uploads/x", "", true},
		{"permissions other than read, write and download",
			[]access.Rule{rule("s", "role:user", allow, "/s/**", share, del, update)}, alice, "/s", "", false},
		{"downloads", []access.Rule{rule("s", "role:user", allow, "/s/**", dl)}, alice, "/s", "", true},
		{"C28: a hidden folder", hidden, alice, "/a/secret", "", false},
		{"inside a hidden folder", hidden, alice, "/a/secret/x", "", false},
		{"the parent of a hidden folder", hidden, alice, "/a", "", true},
		{"an allow inside a hidden folder", append(slices.Clone(hidden),
			rule("b", "role:user", allow, "/a/secret/open/**", read)), alice, "/a/secret", "", true},
		{"an allow of lower priority inside a hidden folder", append(slices.Clone(hidden),
			withPriority(rule("b", "role:user", allow, "/a/secret/open/**", read), -1)), alice, "/a/secret", "", false},
		{"one path both allowed and denied",
			[]access.Rule{rule("b", "role:user", allow, "/a/b"), rule("d", "role:user", deny, "/a/b")}, alice, "/a", "",
			false},
		{"one path denied by a pattern",
			[]access.Rule{rule("b", "role:user", allow, "/a/b"), withPriority(rule("d", "role:user", deny, "/a/*"), 1)},
			alice, "/a", "", false},
		{"deep below a denied folder", []access.Rule{rule("b", "role:user", allow, "/a/b/c/*", read),
			withPriority(rule("d", "role:user", deny, "/a/b/**"), 1)}, alice, "/a", "", false},
		{"a deny for users before a guest rule",
			[]access.Rule{rule("d", "role:user", deny, "/g/**"), rule("g", "role:guest", allow, "/g/**", read)}, alice,
			"/g", "", false},
		{"a deny in another mount",
			[]access.Rule{onMount(withPriority(rule("d", "role:user", deny, "/a/**"), 1), "m2"),
				rule("a", "role:user", allow, "/a/**", read)}, alice, "/a", "", true},
		{"a rule whose password was not given",
			[]access.Rule{withPassword(rule("a", "role:user", allow, "/v/**", read))}, alice, "/v", "",
			false},
		{"unlocked", []access.Rule{withPassword(rule("a", "role:user", allow, "/v/**", read))},
			withPasswords(alice, "a"), "/v", "", true},
		{"a rule for other addresses", []access.Rule{fromAddresses(rule("a", "role:user", allow, "/v/**", read),
			"10.0.0.0/8")}, calledFrom(alice, "11.0.0.1"), "/v", "", false},
		{"a rule for the caller's address",
			[]access.Rule{fromAddresses(rule("a", "role:user", allow, "/v/**", read), "10.0.0.0/8")},
			calledFrom(alice, "10.0.0.1"), "/v", "", true},
		{"above the home", nil, alice, "/home", "/home/alice", true},
		{"home", nil, alice, "/home/alice", "/home/alice", true},
		{"the home of another user", nil, alice, "/home/bob", "/home/alice", false},
		{"above the home of a guest account", nil, gus, "/home", "/home/gus", false},
		{"above a home, a visitor", nil, visitor, "/home", "/home/alice", false},
		{"a denied home", []access.Rule{rule("d", "role:user", deny, "/home/**")}, alice, "/home", "/home/alice",
			false},
		{"a home with only write left", []access.Rule{rule("d", "role:user", deny, "/home/**", read)}, alice, "/home",
			"/home/alice", true},
		{"a home with only download left", []access.Rule{rule("d", "role:user", deny, "/home/**", read, write)},
			alice, "/home", "/home/alice", false},
		{"a home denied without its contents", []access.Rule{rule("d", "role:user", deny, "/home/alice")},
			alice, "/home/alice", "/home/alice", true},
		{"above a home denied without its contents",
			[]access.Rule{rule("d", "role:user", deny, "/home/alice")}, alice, "/home", "/home/alice",
			true},
		{"a home denied with its contents", []access.Rule{rule("d", "role:user", deny, "/home/alice/**")}, alice,
			"/home/alice", "/home/alice", false},
		{"a home and its contents denied by two rules", homeInTwo, alice, "/home/alice", "/home/alice", false},
		{"above a home denied by two rules", homeInTwo, alice, "/home", "/home/alice", false},
		{"in a home denied by two rules", homeInTwo, alice, "/home/alice/x", "/home/alice", false},
		{"above a home whose contents are denied",
			[]access.Rule{rule("d", "role:user", deny, "/home/alice/**/*")}, alice, "/home", "/home/alice", true},
		{"a home denied level by level", []access.Rule{
			rule("d0", "role:user", deny, "/home/*"), rule("d1", "role:user", deny, "/home/*/*"),
			rule("d2", "role:user", deny, "/home/**/*/*/*"),
		}, alice, "/home", "/home/alice", false},
		{"a home denied level by level, except one", []access.Rule{
			rule("d0", "role:user", deny, "/home/*"), rule("d1", "role:user", deny, "/home/*/*"),
			rule("d2", "role:user", deny, "/home/*/*/*/*/**"),
		}, alice, "/home", "/home/alice", true},
		{"a home with some names denied", []access.Rule{
			rule("d0", "role:user", deny, "/home/alice"), rule("d1", "role:user", deny, "/home/alice/a*/**"),
			rule("d2", "role:user", deny, "/home/alice/?/**"),
		}, alice, "/home/alice", "/home/alice", true},
		{"a home with read denied by one rule and write by another", []access.Rule{
			rule("d0", "role:user", deny, "/home/alice/**", read),
			rule("d1", "role:user", deny, "/home/alice/**/*", write),
		}, alice, "/home/alice", "/home/alice", false},
		{"a visitor with a role", nil, access.Actor{Role: access.User}, "/home", "/home/alice", false},
		{"a deny except for the caller's address", []access.Rule{fromAddresses(rule("d", "role:user", deny, "/a/**"),
			"10.0.0.0/8"), rule("a", "role:user", allow, "/a/**")}, calledFrom(alice, "10.0.0.1"), "/a", "", true},
		{"one pattern both allowed and denied",
			[]access.Rule{rule("d", "role:user", deny, "/a/*"), rule("a", "role:user", allow, "/a/*")}, alice, "/a", "",
			false},
		{"an owned folder", nil, alice, "/x", "", false},
		{"an administrator", nil, root, "/x", "", true},
		{"an administrator's key on the way to its root", nil, withKey(root, upper), "/a", "", true},
		{"the key of an administrator, its root denied with its contents",
			[]access.Rule{rule("d", "key:k1", deny, "/a/**/*")},
			withKey(root, upper), "/a", "", false},
		{"the key of an administrator, its root denied",
			[]access.Rule{rule("d", "key:k1", deny, "/a/up")}, withKey(root, upper), "/a", "", true},
		{"an administrator, denied", []access.Rule{rule("d", "role:admin", deny, "/x/**")}, root, "/x/y", "", false},
		{"a key for reading", deep, key(false, read, dl), "/a", "", true},
		{"a key for writing, readable path", deep, key(false, write, update), "/a", "", false},
		{"a key above its root", []access.Rule{rule("a", "role:user", allow, "/a/**", write)},
			key(false, write), "/a", "", true},
		{"a key beside its root",
			[]access.Rule{rule("a", "role:user", allow, "/a/**", write)}, key(false, write), "/a/x", "",
			false},
		{"a key with RootOnly, another path", deep, key(true, read, dl), "/a", "", false},
		{"a key with RootOnly, above its root",
			[]access.Rule{rule("a", "role:user", allow, "/a/**", read)}, key(true, read, dl), "/a", "",
			true},
		{"a key with RootOnly, in its owner's home above its root", nil, key(true, read, dl), "/a", "/a", true},
		{"a key with RootOnly, in its root",
			[]access.Rule{rule("a", "role:user", allow, "/a/**", read)}, key(true, read, dl), "/a/up/x", "",
			true},
		{"an allow for the key only",
			[]access.Rule{rule("a", "key:k1", allow, "/x/**")}, key(false, read, dl), "/x", "",
			false},
		{"a deny for the key",
			[]access.Rule{rule("a", "role:user", allow, "/x/**"), rule("d", "key:k1", deny, "/x/**")},
			key(false, read, dl), "/x", "", false},
	} {
		var home vpath.Path
		if c.home != "" {
			home = targetAt(c.home).Path
		}
		if got := access.NewPolicy(c.rules, true).
			ShowsFolder(c.actor, targetAt(c.path).Path, home, c.home != ""); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if access.NewPolicy(seedRules, false).ShowsFolder(visitor, vpath.Root, vpath.Root, false) {
		t.Error("a folder shows to visitors without guest access")
	}
}

func TestPublicAndLinkOpen(t *testing.T) {
	t.Parallel()
	guest := func(id string, e access.Effect, p ...access.Permission) access.Rule {
		return rule(id, "role:guest", e, "/x/**", p...)
	}
	allow, deny := access.Allow, access.Deny
	g := &access.EntryPassword{ID: "e1", OwnerID: "bob"}
	office := func(r access.Rule) access.Rule { return fromAddresses(r, "10.0.0.0/8") }
	for _, c := range []struct {
		name         string
		rules        []access.Rule
		closed       bool
		target       access.Target
		public, open bool
	}{
		{"without rules", nil, false, targetAt("/x/f"), false, true},
		{"allowed", []access.Rule{guest("a", allow)}, false, targetAt("/x/f"), true, true},
		{"without guest access", []access.Rule{guest("a", allow)}, true, targetAt("/x/f"), false, false},
		{"allowed to read only", []access.Rule{guest("a", allow, read)}, false, targetAt("/x/f"), false, true},
		{"allowed to users", []access.Rule{rule("a", "role:user", allow, "/x/**")}, false, targetAt("/x/f"), false,
			true},
		{"denied", []access.Rule{guest("a", deny)}, false, targetAt("/x/f"), false, true},
		{"protected", []access.Rule{guest("a", allow)}, false, behindPasswords(targetAt("/x/f"), g, nil), false, false},
		{"protected above", []access.Rule{guest("a", allow)}, false, behindPasswords(targetAt("/x/f"), g, g), false,
			false},
		{"allowed from the office", []access.Rule{office(guest("a", allow))}, false, targetAt("/x/f"), false, false},
		{"allowed from the office, then from anywhere",
			[]access.Rule{withPriority(office(guest("a", allow)), 1), guest("b", allow)},
			false, targetAt("/x/f"), true, true},
		{"allowed from the office, then denied",
			[]access.Rule{withPriority(office(guest("a", allow)), 1), guest("b", deny)},
			false, targetAt("/x/f"), false, false},
		{"denied except from the office",
			[]access.Rule{withPriority(office(guest("a", deny)), 1), guest("b", allow)}, false,
			targetAt("/x/f"), false, false},
		{"a condition of lower priority",
			[]access.Rule{office(guest("a", deny)), withPriority(guest("b", allow), 1)}, false,
			targetAt("/x/f"), true, true},
		{"allowed with a password",
			[]access.Rule{withPassword(guest("a", allow))}, false, targetAt("/x/f"), false, false},
		{"allowed with a password, then without", []access.Rule{withPriority(withPassword(guest("a", allow)), 1),
			guest("b", allow)}, false, targetAt("/x/f"), true, true},
		{"a password to read", []access.Rule{withPassword(guest("a", allow, read))}, false, targetAt("/x/f"), false,
			true},
		{"a condition elsewhere", []access.Rule{office(guest("a", allow))}, false, targetAt("/y"), false, true},
		{"a condition in another mount", []access.Rule{onMount(office(guest("a", allow)), "m2")}, false,
			targetAt("/x/f"), false, true},
		{"a condition for users", []access.Rule{office(rule("a", "role:user", allow, "/x/**"))}, false,
			targetAt("/x/f"), false, true},
	} {
		p := access.NewPolicy(c.rules, !c.closed)
		if p.Public(c.target) != c.public || p.LinkAllowed(c.target) != c.open {
			t.Errorf("%s: public %v, link open %v; want %v, %v", c.name, p.Public(c.target), p.LinkAllowed(c.target),
				c.public, c.open)
		}
	}
}
