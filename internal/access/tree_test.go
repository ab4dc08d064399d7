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
		{"an owner in public has what the rules leave open", alice, ownedTarget(targetAt("/public/x")).of("alice"),
			access.All},
		{"a protected entry", visitor, behindPasswords(targetAt("/public/x"), g, nil), permissionSet(read)},
		{"what is in it", visitor, behindPasswords(targetAt("/public/x"), g, g), 0},
		{"an administrator before it", root, behindPasswords(targetAt("/x"), g, g), access.All &^ permissionSet(dl)},
		{"a key in its root", withKey(root, access.Key{Permissions: permissionSet(read, dl, write, update),
			Root: targetAt("/uploads").Path}), targetAt("/uploads/x"), permissionSet(read, write, update, dl)},
		{"a key outside", withKey(root, access.Key{Permissions: permissionSet(read, dl, write, update),
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
		{"at home, in what one owns", seedRules, alice, inHome(ownedTarget(targetAt("/home/alice/x")).of("alice")),
			access.TreeAllowed},
		{"a guest's home rests", seedRules, gus, home, access.TreeOwnOnly},
		{"an administrator", seedRules, root, targetAt("/x"), access.TreeAllowed},
		{"elsewhere", seedRules, alice, ownedTarget(targetAt("/x")).of("alice"), access.TreeOwnOnly},
		{"a visitor", seedRules, visitor, targetAt("/x"), access.TreeDenied},
		{"an allow that covers all", []access.Rule{all}, alice, targetAt("/x"), access.TreeAllowed},
		{"for visitors too", []access.Rule{rule("g", "role:guest", allow, "/x/**")}, visitor, targetAt("/x"),
			access.TreeAllowed},
		{"and users by the guests' rule", []access.Rule{rule("g", "role:guest", allow, "/x/**")}, alice, targetAt("/x"),
			access.TreeAllowed},
		{"an allow of part", []access.Rule{rule("a", "role:user", allow, "/x/*")}, alice, targetAt("/x"),
			access.TreeOwnOnly},
		{"a deny below", []access.Rule{rule("d", "role:user", deny, "/home/alice/x/y/**")}, alice, home,
			access.TreeDenied},
		{"a deny that some name could meet", []access.Rule{rule("d", "role:user", deny, "/**/secret")}, alice, home,
			access.TreeDenied},
		{"a deny beside", []access.Rule{rule("d", "role:user", deny, "/home/alice/xx/**")}, alice, home,
			access.TreeAllowed},
		{"a deny of something else", []access.Rule{rule("d", "role:user", deny, "/**", read)}, alice, home,
			access.TreeAllowed},
		{"a deny for others", []access.Rule{rule("d", "user:bob", deny, "/**")}, alice, home, access.TreeAllowed},
		{"a deny in another mount", []access.Rule{onMount(rule("d", "role:user", deny, "/**"), "m2")}, alice, home,
			access.TreeAllowed},
		{"a deny below binds administrators it is for", []access.Rule{rule("d", "role:admin", deny, "/x/y")}, root,
			targetAt("/x"), access.TreeDenied},
		{"a deny below an allow of higher rank never decides",
			[]access.Rule{withPriority(all, 1), rule("d", "role:user", deny, "/x/y")}, alice, targetAt("/x"),
			access.TreeAllowed},
		{"one of higher rank does", []access.Rule{all, rule("d", "role:user", deny, "/x/y")}, alice, targetAt("/x"),
			access.TreeDenied},
		{"guests' denies do not reach what one owns", []access.Rule{rule("d", "role:guest", deny, "/x/y")}, alice,
			targetAt("/x"), access.TreeOwnOnly},
		{"but outrank guests' allows", []access.Rule{rule("d", "role:guest", deny, "/x/y"),
			rule("g", "role:guest", allow, "/x/**")}, alice, targetAt("/x"), access.TreeOwnOnly},
		{"a password rule below", []access.Rule{withPassword(rule("p", "role:user", allow, "/home/alice/x/v/**"))},
			alice, home, access.TreeDenied},
		{"unlocked it still is for a part only",
			[]access.Rule{withPassword(rule("p", "role:user", allow, "/home/alice/x/v/**"))}, withPasswords(alice, "p"),
			home, access.TreeDenied},
		{"a password rule over all", []access.Rule{withPassword(rule("p", "role:user", allow, "/x/**"))}, alice,
			targetAt("/x"), access.TreeDenied},
		{"unlocked", []access.Rule{withPassword(rule("p", "role:user", allow, "/x/**"))}, withPasswords(alice, "p"),
			targetAt("/x"), access.TreeAllowed},
		{"an address rule below", []access.Rule{office(rule("i", "role:user", allow, "/home/alice/x/v/**"))}, in, home,
			access.TreeDenied},
		{"an address rule over all, from there", []access.Rule{office(rule("i", "role:user", allow, "/x/**"))}, in,
			targetAt("/x"), access.TreeAllowed},
		{"from elsewhere", []access.Rule{office(rule("i", "role:user", allow, "/x/**"))}, alice, targetAt("/x"),
			access.TreeOwnOnly},
		{"a deny except from there, from there", []access.Rule{office(rule("i", "role:user", deny, "/home/**"))}, in,
			home, access.TreeAllowed},
		{"from elsewhere it denies", []access.Rule{office(rule("i", "role:user", deny, "/home/**"))}, alice, home,
			access.TreeDenied},
		{"for a part only it stands in the way", []access.Rule{office(rule("i", "role:user", deny, "/home/alice/x/v"))},
			in, home, access.TreeDenied},
		{"a protected folder of another", []access.Rule{all}, alice, behindPasswords(targetAt("/x"), g, nil),
			access.TreeDenied},
		{"one's own", []access.Rule{all}, bob, behindPasswords(targetAt("/x"), g, nil), access.TreeAllowed},
		{"a key in its root", nil, withKey(alice, key), home, access.TreeAllowed},
		{"a key outside", []access.Rule{all}, withKey(alice, key), targetAt("/x"), access.TreeDenied},
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
		t.Errorf("reading all of what another protects: %v, want %v", got, access.TreeDenied)
	}
	outer := &access.EntryPassword{ID: "e0", OwnerID: "root"}
	if got := p.DecideTree(bob, behindPasswords(targetAt("/x"), g, outer), read); got != access.TreeDenied {
		t.Errorf("reading what lies in another's protected folder: %v, want %v", got, access.TreeDenied)
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
		{"the root, for what lies deep", deep, alice, "/", "", true},
		{"the way there", deep, alice, "/a/b", "", true},
		{"the place", deep, alice, "/a/b/c", "", true},
		{"below it", deep, alice, "/a/b/c/d", "", true},
		{"beside the way", deep, alice, "/a/x", "", false},
		{"not to others", deep, visitor, "/a", "", false},
		{"a guest's rule to visitors", seedRules, visitor, "/", "", true},
		{"a guest's rule to users", []access.Rule{rule("g", "role:guest", allow, "/g/**", read)}, alice, "/g", "",
			true},
		{"to guests' accounts", []access.Rule{rule("g", "role:guest", allow, "/g/**", read)}, gus, "/", "", true},
		{"folders that one may write in", seedRules, alice, "/uploads/x", "", true},
		{"what gives neither reading nor writing",
			[]access.Rule{rule("s", "role:user", allow, "/s/**", share, del, update)}, alice, "/s", "", false},
		{"downloads", []access.Rule{rule("s", "role:user", allow, "/s/**", dl)}, alice, "/s", "", true},
		{"C28: not what a deny hides", hidden, alice, "/a/secret", "", false},
		{"nor anything in it", hidden, alice, "/a/secret/x", "", false},
		{"its folder", hidden, alice, "/a", "", true},
		{"an allow inside the hidden", append(slices.Clone(hidden),
			rule("b", "role:user", allow, "/a/secret/open/**", read)), alice, "/a/secret", "", true},
		{"of lower rank it reveals nothing", append(slices.Clone(hidden),
			withPriority(rule("b", "role:user", allow, "/a/secret/open/**", read), -1)), alice, "/a/secret", "", false},
		{"one place both allowed and denied",
			[]access.Rule{rule("b", "role:user", allow, "/a/b"), rule("d", "role:user", deny, "/a/b")}, alice, "/a", "",
			false},
		{"one place and a pattern that denies it",
			[]access.Rule{rule("b", "role:user", allow, "/a/b"), withPriority(rule("d", "role:user", deny, "/a/*"), 1)},
			alice, "/a", "", false},
		{"deep below what a deny covers", []access.Rule{rule("b", "role:user", allow, "/a/b/c/*", read),
			withPriority(rule("d", "role:user", deny, "/a/b/**"), 1)}, alice, "/a", "", false},
		{"a deny for users takes guests' rules too",
			[]access.Rule{rule("d", "role:user", deny, "/g/**"), rule("g", "role:guest", allow, "/g/**", read)}, alice,
			"/g", "", false},
		{"a deny in one mount leaves others",
			[]access.Rule{onMount(withPriority(rule("d", "role:user", deny, "/a/**"), 1), "m2"),
				rule("a", "role:user", allow, "/a/**", read)}, alice, "/a", "", true},
		{"a locked rule", []access.Rule{withPassword(rule("a", "role:user", allow, "/v/**", read))}, alice, "/v", "",
			false},
		{"unlocked", []access.Rule{withPassword(rule("a", "role:user", allow, "/v/**", read))},
			withPasswords(alice, "a"), "/v", "", true},
		{"from the wrong address", []access.Rule{fromAddresses(rule("a", "role:user", allow, "/v/**", read),
			"10.0.0.0/8")}, calledFrom(alice, "11.0.0.1"), "/v", "", false},
		{"from the right one", []access.Rule{fromAddresses(rule("a", "role:user", allow, "/v/**", read), "10.0.0.0/8")},
			calledFrom(alice, "10.0.0.1"), "/v", "", true},
		{"the way home", nil, alice, "/home", "/home/alice", true},
		{"home", nil, alice, "/home/alice", "/home/alice", true},
		{"not the neighbour's", nil, alice, "/home/bob", "/home/alice", false},
		{"not to a guest, whose home rests", nil, gus, "/home", "/home/gus", false},
		{"not to a visitor", nil, visitor, "/home", "/home/alice", false},
		{"a denied home", []access.Rule{rule("d", "role:user", deny, "/home/**")}, alice, "/home", "/home/alice",
			false},
		{"a home that may be written", []access.Rule{rule("d", "role:user", deny, "/home/**", read)}, alice, "/home",
			"/home/alice", true},
		{"a home of which only bytes are left", []access.Rule{rule("d", "role:user", deny, "/home/**", read, write)},
			alice, "/home", "/home/alice", false},
		{"a home denied by itself, for what lies below it", []access.Rule{rule("d", "role:user", deny, "/home/alice")},
			alice, "/home/alice", "/home/alice", true},
		{"and the way to it", []access.Rule{rule("d", "role:user", deny, "/home/alice")}, alice, "/home", "/home/alice",
			true},
		{"a home denied with all below it", []access.Rule{rule("d", "role:user", deny, "/home/alice/**")}, alice,
			"/home/alice", "/home/alice", false},
		{"denied by one rule, what lies below it by another", homeInTwo, alice, "/home/alice", "/home/alice", false},
		{"nor the way to it", homeInTwo, alice, "/home", "/home/alice", false},
		{"nor a folder in it", homeInTwo, alice, "/home/alice/x", "/home/alice", false},
		{"the way to a home in which everything is denied",
			[]access.Rule{rule("d", "role:user", deny, "/home/alice/**/*")}, alice, "/home", "/home/alice", true},
		{"a home denied level by level", []access.Rule{
			rule("d0", "role:user", deny, "/home/*"), rule("d1", "role:user", deny, "/home/*/*"),
			rule("d2", "role:user", deny, "/home/**/*/*/*"),
		}, alice, "/home", "/home/alice", false},
		{"of which one level is left out", []access.Rule{
			rule("d0", "role:user", deny, "/home/*"), rule("d1", "role:user", deny, "/home/*/*"),
			rule("d2", "role:user", deny, "/home/*/*/*/*/**"),
		}, alice, "/home", "/home/alice", true},
		{"a home that only some names are denied in", []access.Rule{
			rule("d0", "role:user", deny, "/home/alice"), rule("d1", "role:user", deny, "/home/alice/a*/**"),
			rule("d2", "role:user", deny, "/home/alice/?/**"),
		}, alice, "/home/alice", "/home/alice", true},
		{"a home that one rule leaves to read and another to write", []access.Rule{
			rule("d0", "role:user", deny, "/home/alice/**", read),
			rule("d1", "role:user", deny, "/home/alice/**/*", write),
		}, alice, "/home/alice", "/home/alice", false},
		{"a visitor's role counts for nothing", nil, access.Actor{Role: access.User}, "/home", "/home/alice", false},
		{"a deny that spares this address", []access.Rule{fromAddresses(rule("d", "role:user", deny, "/a/**"),
			"10.0.0.0/8"), rule("a", "role:user", allow, "/a/**")}, calledFrom(alice, "10.0.0.1"), "/a", "", true},
		{"one pattern both allowed and denied",
			[]access.Rule{rule("d", "role:user", deny, "/a/*"), rule("a", "role:user", allow, "/a/*")}, alice, "/a", "",
			false},
		{"ownership reveals nothing", nil, alice, "/x", "", false},
		{"all to administrators", nil, root, "/x", "", true},
		{"an administrator's key on the way to its root", nil, withKey(root, upper), "/a", "", true},
		{"whose own rule denies all of its root", []access.Rule{rule("d", "key:k1", deny, "/a/**/*")},
			withKey(root, upper), "/a", "", false},
		{"or the root alone", []access.Rule{rule("d", "key:k1", deny, "/a/up")}, withKey(root, upper), "/a", "", true},
		{"but what is denied them", []access.Rule{rule("d", "role:admin", deny, "/x/**")}, root, "/x/y", "", false},
		{"a key, as its owner", deep, key(false, read, dl), "/a", "", true},
		{"a key that does not read", deep, key(false, write, update), "/a", "", false},
		{"a key on the way to its root", []access.Rule{rule("a", "role:user", allow, "/a/**", write)},
			key(false, write), "/a", "", true},
		{"beside it", []access.Rule{rule("a", "role:user", allow, "/a/**", write)}, key(false, write), "/a/x", "",
			false},
		{"a confined key", deep, key(true, read, dl), "/a", "", false},
		{"on its way", []access.Rule{rule("a", "role:user", allow, "/a/**", read)}, key(true, read, dl), "/a", "",
			true},
		{"on its way through its owner's home", nil, key(true, read, dl), "/a", "/a", true},
		{"in its root", []access.Rule{rule("a", "role:user", allow, "/a/**", read)}, key(true, read, dl), "/a/up/x", "",
			true},
		{"a key's own allow alone", []access.Rule{rule("a", "key:k1", allow, "/x/**")}, key(false, read, dl), "/x", "",
			false},
		{"a key's own deny", []access.Rule{rule("a", "role:user", allow, "/x/**"), rule("d", "key:k1", deny, "/x/**")},
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
		t.Error("something shows to visitors although guest access is off")
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
		{"nothing said", nil, false, targetAt("/x/f"), false, true},
		{"allowed", []access.Rule{guest("a", allow)}, false, targetAt("/x/f"), true, true},
		{"without guest access", []access.Rule{guest("a", allow)}, true, targetAt("/x/f"), false, false},
		{"reading alone", []access.Rule{guest("a", allow, read)}, false, targetAt("/x/f"), false, true},
		{"allowed to users", []access.Rule{rule("a", "role:user", allow, "/x/**")}, false, targetAt("/x/f"), false,
			true},
		{"denied", []access.Rule{guest("a", deny)}, false, targetAt("/x/f"), false, true},
		{"protected", []access.Rule{guest("a", allow)}, false, behindPasswords(targetAt("/x/f"), g, nil), false, false},
		{"protected above", []access.Rule{guest("a", allow)}, false, behindPasswords(targetAt("/x/f"), g, g), false,
			false},
		{"from the office", []access.Rule{office(guest("a", allow))}, false, targetAt("/x/f"), false, false},
		{"from the office or anywhere", []access.Rule{withPriority(office(guest("a", allow)), 1), guest("b", allow)},
			false, targetAt("/x/f"), true, true},
		{"from the office, else denied", []access.Rule{withPriority(office(guest("a", allow)), 1), guest("b", deny)},
			false, targetAt("/x/f"), false, false},
		{"not but from the office", []access.Rule{withPriority(office(guest("a", deny)), 1), guest("b", allow)}, false,
			targetAt("/x/f"), false, false},
		{"an outranked condition", []access.Rule{office(guest("a", deny)), withPriority(guest("b", allow), 1)}, false,
			targetAt("/x/f"), true, true},
		{"with a password", []access.Rule{withPassword(guest("a", allow))}, false, targetAt("/x/f"), false, false},
		{"with a password, or without", []access.Rule{withPriority(withPassword(guest("a", allow)), 1),
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
