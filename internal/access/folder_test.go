package access_test

import (
	"slices"
	"testing"

	"larder/internal/access"
	"larder/internal/vpath"
)

func TestAllowed(t *testing.T) {
	t.Parallel()
	p := access.NewPolicy(seeded, true)
	g := &access.Guard{ID: "e1", OwnerID: "bob"}
	for _, c := range []struct {
		name   string
		actor  access.Actor
		target access.Target
		want   access.Set
	}{
		{"a visitor in public", visitor, at("/public/x"), set(read, dl)},
		{"a visitor elsewhere", visitor, at("/x"), 0},
		{"a user in uploads", alice, at("/uploads/x"), set(write)},
		{"an owner", alice, owned(at("/x")).of("alice"), access.All},
		{"an owner in public has what the rules leave open", alice, owned(at("/public/x")).of("alice"), access.All},
		{"a protected entry", visitor, behind(at("/public/x"), g, nil), set(read)},
		{"what is in it", visitor, behind(at("/public/x"), g, g), 0},
		{"an administrator before it", root, behind(at("/x"), g, g), access.All &^ set(dl)},
		{"a key in its root", through(root, access.Key{Permissions: set(read, dl, write, update), Root: at("/uploads").Path}), at("/uploads/x"), set(read, write, update, dl)},
		{"a key outside", through(root, access.Key{Permissions: set(read, dl, write, update), Root: at("/uploads").Path}), at("/x"), set(read, dl)},
	} {
		if got := p.Allowed(c.actor, c.target); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got.Names(), c.want.Names())
		}
	}
}

// Abuse case C26.
func TestUniform(t *testing.T) {
	t.Parallel()
	allow, deny := access.Allow, access.Deny
	home := inHome(at("/home/alice/x"))
	g := &access.Guard{ID: "e1", OwnerID: "bob"}
	office := func(r access.Rule) access.Rule { return where(r, "10.0.0.0/8") }
	in := from(alice, "10.0.0.1")
	all := rule("all", "role:user", allow, "/**")
	key := access.Key{ID: "k1", Permissions: set(del), Root: at("/home").Path}
	for _, c := range []struct {
		name   string
		rules  []access.Rule
		actor  access.Actor
		folder access.Target
		want   access.Uniformity
	}{
		{"at home", seeded, alice, home, access.Everything},
		{"at home, in what one owns", seeded, alice, inHome(owned(at("/home/alice/x")).of("alice")), access.Everything},
		{"a guest's home rests", seeded, gus, home, access.OwnOnly},
		{"an administrator", seeded, root, at("/x"), access.Everything},
		{"elsewhere", seeded, alice, owned(at("/x")).of("alice"), access.OwnOnly},
		{"a visitor", seeded, visitor, at("/x"), access.Refused},
		{"an allow that covers all", []access.Rule{all}, alice, at("/x"), access.Everything},
		{"for visitors too", []access.Rule{rule("g", "role:guest", allow, "/x/**")}, visitor, at("/x"), access.Everything},
		{"and users by the guests' rule", []access.Rule{rule("g", "role:guest", allow, "/x/**")}, alice, at("/x"), access.Everything},
		{"an allow of part", []access.Rule{rule("a", "role:user", allow, "/x/*")}, alice, at("/x"), access.OwnOnly},
		{"a deny below", []access.Rule{rule("d", "role:user", deny, "/home/alice/x/y/**")}, alice, home, access.Refused},
		{"a deny that some name could meet", []access.Rule{rule("d", "role:user", deny, "/**/secret")}, alice, home, access.Refused},
		{"a deny beside", []access.Rule{rule("d", "role:user", deny, "/home/alice/xx/**")}, alice, home, access.Everything},
		{"a deny of something else", []access.Rule{rule("d", "role:user", deny, "/**", read)}, alice, home, access.Everything},
		{"a deny for others", []access.Rule{rule("d", "user:bob", deny, "/**")}, alice, home, access.Everything},
		{"a deny in another mount", []access.Rule{on(rule("d", "role:user", deny, "/**"), "m2")}, alice, home, access.Everything},
		{"a deny below binds administrators it is for", []access.Rule{rule("d", "role:admin", deny, "/x/y")}, root, at("/x"), access.Refused},
		{"a deny below an allow of higher rank never decides", []access.Rule{ranked(all, 1), rule("d", "role:user", deny, "/x/y")}, alice, at("/x"), access.Everything},
		{"one of higher rank does", []access.Rule{all, rule("d", "role:user", deny, "/x/y")}, alice, at("/x"), access.Refused},
		{"guests' denies do not reach what one owns", []access.Rule{rule("d", "role:guest", deny, "/x/y")}, alice, at("/x"), access.OwnOnly},
		{"but outrank guests' allows", []access.Rule{rule("d", "role:guest", deny, "/x/y"), rule("g", "role:guest", allow, "/x/**")}, alice, at("/x"), access.OwnOnly},
		{"a password rule below", []access.Rule{withPassword(rule("p", "role:user", allow, "/home/alice/x/v/**"))}, alice, home, access.Refused},
		{"unlocked it still is for a part only", []access.Rule{withPassword(rule("p", "role:user", allow, "/home/alice/x/v/**"))}, holding(alice, "p"), home, access.Refused},
		{"a password rule over all", []access.Rule{withPassword(rule("p", "role:user", allow, "/x/**"))}, alice, at("/x"), access.Refused},
		{"unlocked", []access.Rule{withPassword(rule("p", "role:user", allow, "/x/**"))}, holding(alice, "p"), at("/x"), access.Everything},
		{"an address rule below", []access.Rule{office(rule("i", "role:user", allow, "/home/alice/x/v/**"))}, in, home, access.Refused},
		{"an address rule over all, from there", []access.Rule{office(rule("i", "role:user", allow, "/x/**"))}, in, at("/x"), access.Everything},
		{"from elsewhere", []access.Rule{office(rule("i", "role:user", allow, "/x/**"))}, alice, at("/x"), access.OwnOnly},
		{"a deny except from there, from there", []access.Rule{office(rule("i", "role:user", deny, "/home/**"))}, in, home, access.Everything},
		{"from elsewhere it denies", []access.Rule{office(rule("i", "role:user", deny, "/home/**"))}, alice, home, access.Refused},
		{"for a part only it stands in the way", []access.Rule{office(rule("i", "role:user", deny, "/home/alice/x/v"))}, in, home, access.Refused},
		{"a protected folder of another", []access.Rule{all}, alice, behind(at("/x"), g, nil), access.Refused},
		{"one's own", []access.Rule{all}, bob, behind(at("/x"), g, nil), access.Everything},
		{"a key in its root", nil, through(alice, key), home, access.Everything},
		{"a key outside", []access.Rule{all}, through(alice, key), at("/x"), access.Refused},
		{"a key with a deny of its own below", []access.Rule{rule("d", "key:k1", deny, "/home/alice/x/y")}, through(alice, key), home, access.Refused},
		{"a key with an allow of its own", []access.Rule{rule("a", "key:k1", allow, "/**")}, through(bob, key), at("/home/alice"), access.OwnOnly},
	} {
		if got := access.NewPolicy(c.rules, true).Uniform(c.actor, c.folder, del); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	p := access.NewPolicy([]access.Rule{all}, true)
	if got := p.Uniform(alice, behind(at("/x"), g, nil), read); got != access.Refused {
		t.Errorf("reading all of what another protects: %v, want %v", got, access.Refused)
	}
	outer := &access.Guard{ID: "e0", OwnerID: "root"}
	if got := p.Uniform(bob, behind(at("/x"), g, outer), read); got != access.Refused {
		t.Errorf("reading what lies in another's protected folder: %v, want %v", got, access.Refused)
	}
	if got := p.Uniform(root, at("/x"), 0); got != access.Refused {
		t.Errorf("no permission: %v, want %v", got, access.Refused)
	}
}

func TestReveals(t *testing.T) {
	t.Parallel()
	allow, deny := access.Allow, access.Deny
	deep := []access.Rule{rule("a", "role:user", allow, "/a/b/c/**", read)}
	hidden := []access.Rule{rule("d", "role:user", deny, "/a/secret/**", read), rule("a", "role:user", allow, "/a/**", read, dl)}
	key := func(rootOnly bool, p ...access.Permission) access.Actor {
		return through(alice, access.Key{ID: "k1", Permissions: set(p...), Root: at("/a/up").Path, RootOnly: rootOnly})
	}
	upper := access.Key{ID: "k1", Permissions: set(write), Root: at("/a/up").Path}
	homeInTwo := []access.Rule{rule("d0", "role:user", deny, "/home/alice"), rule("d1", "role:user", deny, "/home/alice/**/*")}
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
		{"a guest's rule to visitors", seeded, visitor, "/", "", true},
		{"a guest's rule to users", []access.Rule{rule("g", "role:guest", allow, "/g/**", read)}, alice, "/g", "", true},
		{"to guests' accounts", []access.Rule{rule("g", "role:guest", allow, "/g/**", read)}, gus, "/", "", true},
		{"folders that one may write in", seeded, alice, "/uploads/x", "", true},
		{"what gives neither reading nor writing", []access.Rule{rule("s", "role:user", allow, "/s/**", share, del, update)}, alice, "/s", "", false},
		{"downloads", []access.Rule{rule("s", "role:user", allow, "/s/**", dl)}, alice, "/s", "", true},
		{"C28: not what a deny hides", hidden, alice, "/a/secret", "", false},
		{"nor anything in it", hidden, alice, "/a/secret/x", "", false},
		{"its folder", hidden, alice, "/a", "", true},
		{"an allow inside the hidden", append(slices.Clone(hidden), rule("b", "role:user", allow, "/a/secret/open/**", read)), alice, "/a/secret", "", true},
		{"of lower rank it reveals nothing", append(slices.Clone(hidden), ranked(rule("b", "role:user", allow, "/a/secret/open/**", read), -1)), alice, "/a/secret", "", false},
		{"one place both allowed and denied", []access.Rule{rule("b", "role:user", allow, "/a/b"), rule("d", "role:user", deny, "/a/b")}, alice, "/a", "", false},
		{"one place and a pattern that denies it", []access.Rule{rule("b", "role:user", allow, "/a/b"), ranked(rule("d", "role:user", deny, "/a/*"), 1)}, alice, "/a", "", false},
		{"deep below what a deny covers", []access.Rule{rule("b", "role:user", allow, "/a/b/c/*", read), ranked(rule("d", "role:user", deny, "/a/b/**"), 1)}, alice, "/a", "", false},
		{"a deny for users takes guests' rules too", []access.Rule{rule("d", "role:user", deny, "/g/**"), rule("g", "role:guest", allow, "/g/**", read)}, alice, "/g", "", false},
		{"a deny in one mount leaves others", []access.Rule{on(ranked(rule("d", "role:user", deny, "/a/**"), 1), "m2"), rule("a", "role:user", allow, "/a/**", read)}, alice, "/a", "", true},
		{"a locked rule", []access.Rule{withPassword(rule("a", "role:user", allow, "/v/**", read))}, alice, "/v", "", false},
		{"unlocked", []access.Rule{withPassword(rule("a", "role:user", allow, "/v/**", read))}, holding(alice, "a"), "/v", "", true},
		{"from the wrong address", []access.Rule{where(rule("a", "role:user", allow, "/v/**", read), "10.0.0.0/8")}, from(alice, "11.0.0.1"), "/v", "", false},
		{"from the right one", []access.Rule{where(rule("a", "role:user", allow, "/v/**", read), "10.0.0.0/8")}, from(alice, "10.0.0.1"), "/v", "", true},
		{"the way home", nil, alice, "/home", "/home/alice", true},
		{"home", nil, alice, "/home/alice", "/home/alice", true},
		{"not the neighbour's", nil, alice, "/home/bob", "/home/alice", false},
		{"not to a guest, whose home rests", nil, gus, "/home", "/home/gus", false},
		{"not to a visitor", nil, visitor, "/home", "/home/alice", false},
		{"a denied home", []access.Rule{rule("d", "role:user", deny, "/home/**")}, alice, "/home", "/home/alice", false},
		{"a home that may be written", []access.Rule{rule("d", "role:user", deny, "/home/**", read)}, alice, "/home", "/home/alice", true},
		{"a home of which only bytes are left", []access.Rule{rule("d", "role:user", deny, "/home/**", read, write)}, alice, "/home", "/home/alice", false},
		{"a home denied by itself, for what lies below it", []access.Rule{rule("d", "role:user", deny, "/home/alice")}, alice, "/home/alice", "/home/alice", true},
		{"and the way to it", []access.Rule{rule("d", "role:user", deny, "/home/alice")}, alice, "/home", "/home/alice", true},
		{"a home denied with all below it", []access.Rule{rule("d", "role:user", deny, "/home/alice/**")}, alice, "/home/alice", "/home/alice", false},
		{"denied by one rule, what lies below it by another", homeInTwo, alice, "/home/alice", "/home/alice", false},
		{"nor the way to it", homeInTwo, alice, "/home", "/home/alice", false},
		{"nor a folder in it", homeInTwo, alice, "/home/alice/x", "/home/alice", false},
		{"the way to a home in which everything is denied", []access.Rule{rule("d", "role:user", deny, "/home/alice/**/*")}, alice, "/home", "/home/alice", true},
		{"a home denied level by level", []access.Rule{
			rule("d0", "role:user", deny, "/home/*"), rule("d1", "role:user", deny, "/home/*/*"), rule("d2", "role:user", deny, "/home/**/*/*/*"),
		}, alice, "/home", "/home/alice", false},
		{"of which one level is left out", []access.Rule{
			rule("d0", "role:user", deny, "/home/*"), rule("d1", "role:user", deny, "/home/*/*"), rule("d2", "role:user", deny, "/home/*/*/*/*/**"),
		}, alice, "/home", "/home/alice", true},
		{"a home that only some names are denied in", []access.Rule{
			rule("d0", "role:user", deny, "/home/alice"), rule("d1", "role:user", deny, "/home/alice/a*/**"), rule("d2", "role:user", deny, "/home/alice/?/**"),
		}, alice, "/home/alice", "/home/alice", true},
		{"a home that one rule leaves to read and another to write", []access.Rule{
			rule("d0", "role:user", deny, "/home/alice/**", read), rule("d1", "role:user", deny, "/home/alice/**/*", write),
		}, alice, "/home/alice", "/home/alice", false},
		{"a visitor's role counts for nothing", nil, access.Actor{Role: access.User}, "/home", "/home/alice", false},
		{"a deny that spares this address", []access.Rule{where(rule("d", "role:user", deny, "/a/**"), "10.0.0.0/8"), rule("a", "role:user", allow, "/a/**")}, from(alice, "10.0.0.1"), "/a", "", true},
		{"one pattern both allowed and denied", []access.Rule{rule("d", "role:user", deny, "/a/*"), rule("a", "role:user", allow, "/a/*")}, alice, "/a", "", false},
		{"ownership reveals nothing", nil, alice, "/x", "", false},
		{"all to administrators", nil, root, "/x", "", true},
		{"an administrator's key on the way to its root", nil, through(root, upper), "/a", "", true},
		{"whose own rule denies all of its root", []access.Rule{rule("d", "key:k1", deny, "/a/**/*")}, through(root, upper), "/a", "", false},
		{"or the root alone", []access.Rule{rule("d", "key:k1", deny, "/a/up")}, through(root, upper), "/a", "", true},
		{"but what is denied them", []access.Rule{rule("d", "role:admin", deny, "/x/**")}, root, "/x/y", "", false},
		{"a key, as its owner", deep, key(false, read, dl), "/a", "", true},
		{"a key that does not read", deep, key(false, write, update), "/a", "", false},
		{"a key on the way to its root", []access.Rule{rule("a", "role:user", allow, "/a/**", write)}, key(false, write), "/a", "", true},
		{"beside it", []access.Rule{rule("a", "role:user", allow, "/a/**", write)}, key(false, write), "/a/x", "", false},
		{"a confined key", deep, key(true, read, dl), "/a", "", false},
		{"on its way", []access.Rule{rule("a", "role:user", allow, "/a/**", read)}, key(true, read, dl), "/a", "", true},
		{"on its way through its owner's home", nil, key(true, read, dl), "/a", "/a", true},
		{"in its root", []access.Rule{rule("a", "role:user", allow, "/a/**", read)}, key(true, read, dl), "/a/up/x", "", true},
		{"a key's own allow alone", []access.Rule{rule("a", "key:k1", allow, "/x/**")}, key(false, read, dl), "/x", "", false},
		{"a key's own deny", []access.Rule{rule("a", "role:user", allow, "/x/**"), rule("d", "key:k1", deny, "/x/**")}, key(false, read, dl), "/x", "", false},
	} {
		var home vpath.Path
		if c.home != "" {
			home = at(c.home).Path
		}
		if got := access.NewPolicy(c.rules, true).Reveals(c.actor, at(c.path).Path, home, c.home != ""); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if access.NewPolicy(seeded, false).Reveals(visitor, vpath.Root, vpath.Root, false) {
		t.Error("something shows to visitors although guest access is off")
	}
}

func TestPublicAndLinkOpen(t *testing.T) {
	t.Parallel()
	guest := func(id string, e access.Effect, p ...access.Permission) access.Rule {
		return rule(id, "role:guest", e, "/x/**", p...)
	}
	allow, deny := access.Allow, access.Deny
	g := &access.Guard{ID: "e1", OwnerID: "bob"}
	office := func(r access.Rule) access.Rule { return where(r, "10.0.0.0/8") }
	for _, c := range []struct {
		name         string
		rules        []access.Rule
		closed       bool
		target       access.Target
		public, open bool
	}{
		{"nothing said", nil, false, at("/x/f"), false, true},
		{"allowed", []access.Rule{guest("a", allow)}, false, at("/x/f"), true, true},
		{"without guest access", []access.Rule{guest("a", allow)}, true, at("/x/f"), false, false},
		{"reading alone", []access.Rule{guest("a", allow, read)}, false, at("/x/f"), false, true},
		{"allowed to users", []access.Rule{rule("a", "role:user", allow, "/x/**")}, false, at("/x/f"), false, true},
		{"denied", []access.Rule{guest("a", deny)}, false, at("/x/f"), false, true},
		{"protected", []access.Rule{guest("a", allow)}, false, behind(at("/x/f"), g, nil), false, false},
		{"protected above", []access.Rule{guest("a", allow)}, false, behind(at("/x/f"), g, g), false, false},
		{"from the office", []access.Rule{office(guest("a", allow))}, false, at("/x/f"), false, false},
		{"from the office or anywhere", []access.Rule{ranked(office(guest("a", allow)), 1), guest("b", allow)}, false, at("/x/f"), true, true},
		{"from the office, else denied", []access.Rule{ranked(office(guest("a", allow)), 1), guest("b", deny)}, false, at("/x/f"), false, false},
		{"not but from the office", []access.Rule{ranked(office(guest("a", deny)), 1), guest("b", allow)}, false, at("/x/f"), false, false},
		{"an outranked condition", []access.Rule{office(guest("a", deny)), ranked(guest("b", allow), 1)}, false, at("/x/f"), true, true},
		{"with a password", []access.Rule{withPassword(guest("a", allow))}, false, at("/x/f"), false, false},
		{"with a password, or without", []access.Rule{ranked(withPassword(guest("a", allow)), 1), guest("b", allow)}, false, at("/x/f"), true, true},
		{"a password to read", []access.Rule{withPassword(guest("a", allow, read))}, false, at("/x/f"), false, true},
		{"a condition elsewhere", []access.Rule{office(guest("a", allow))}, false, at("/y"), false, true},
		{"a condition in another mount", []access.Rule{on(office(guest("a", allow)), "m2")}, false, at("/x/f"), false, true},
		{"a condition for users", []access.Rule{office(rule("a", "role:user", allow, "/x/**"))}, false, at("/x/f"), false, true},
	} {
		p := access.NewPolicy(c.rules, !c.closed)
		if p.Public(c.target) != c.public || p.LinkOpen(c.target) != c.open {
			t.Errorf("%s: public %v, link open %v; want %v, %v", c.name, p.Public(c.target), p.LinkOpen(c.target), c.public, c.open)
		}
	}
}
