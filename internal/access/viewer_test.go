package access_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"larder/internal/access"
	"larder/internal/vpath"
)

func TestListingFilter(t *testing.T) {
	t.Parallel()
	allow, deny := access.Allow, access.Deny
	g := &access.EntryPassword{ID: "e1", OwnerID: "bob"}
	key := func(a access.Actor, rootOnly bool) access.Actor {
		return withKey(a, access.Key{ID: "k1", Permissions: permissionSet(read, dl, write, update),
			Root: targetAt("/a/up").Path, RootOnly: rootOnly})
	}
	const none, own, all, mixed = access.ShownNone, access.ShownOwn, access.ShownAll, access.ShownByName
	for _, c := range []struct {
		name           string
		rules          []access.Rule
		actor          access.Actor
		folder         access.Target
		files, folders access.ShownEntries
		names          string
		settled        bool
	}{
		{"visitors in public", seedRules, visitor, targetAt("/public"), all, all, "[]", true},
		{"visitors elsewhere", seedRules, visitor, targetAt("/a"), none, none, "[]", true},
		{"visitors at the root", seedRules, visitor, targetAt("/"), none, none, "[public]", false},
		// folders show to users who may write in them
		{"users in uploads", seedRules, alice, targetAt("/uploads"), own, all, "[]", true},
		{"users in public", seedRules, alice, targetAt("/public/x"), all, all, "[]", true},
		{"users at home", seedRules, alice, inHome(targetAt("/home/alice")), all, all, "[]", true},
		{"users at the root", seedRules, alice, targetAt("/"), own, own, "[public uploads]", false},
		{"guests' accounts at home", seedRules, gus, inHome(targetAt("/home/gus")), own, own, "[]", true},
		{"administrators", seedRules, root, targetAt("/a"), all, all, "[]", true},
		{"owning a folder does not show its contents", nil, alice, ownedTarget(targetAt("/a")).of("alice"), own,
			own, "[]", true},
		{"a deny on its direct entries", []access.Rule{rule("d", "role:user", deny, "/a/*")}, alice, targetAt("/a"),
			none, none, "[]", false},
		{"a deny on the folder alone", []access.Rule{rule("d", "role:user", deny, "/a")}, alice, inHome(targetAt("/a")),
			all, all, "[]", true},
		{"a deny on one name", []access.Rule{rule("d", "role:user", deny, "/a/b")}, alice, inHome(targetAt("/a")), all,
			all, "[b]", false},
		{"a deny further down", []access.Rule{rule("d", "role:user", deny, "/a/b/**/c")}, alice, inHome(targetAt("/a")),
			all, all, "[b]", false},
		{"a deny at any depth", []access.Rule{rule("d", "role:user", deny, "/**/c")}, alice, inHome(targetAt("/a")),
			all, all, "[c]", false},
		{"an allow on some", []access.Rule{rule("a", "role:user", allow, "/a/*.jpg")}, alice, targetAt("/a"), own,
			mixed, "[]", false},
		{"an allow on some of a deny on all that comes first",
			[]access.Rule{rule("a", "role:user", allow, "/a/*.jpg"),
				withPriority(rule("d", "role:user", deny, "/a/**"), 1)}, alice, targetAt("/a"), none, mixed, "[]",
			false},
		{"another mount's deny", []access.Rule{onMount(rule("d", "role:user", deny, "/a/*"), "m2")}, alice,
			inHome(targetAt("/a")), all, all, "[]", true},
		{"a locked rule", []access.Rule{withPassword(rule("a", "role:user", allow, "/a/**"))}, alice, targetAt("/a"),
			own, own, "[]", true},
		{"unlocked", []access.Rule{withPassword(rule("a", "role:user", allow, "/a/**"))}, withPasswords(alice, "a"),
			targetAt("/a"), all, all, "[]", true},
		{"a protected folder", []access.Rule{rule("a", "role:user", allow, "/**")}, alice,
			behindPasswords(targetAt("/a"), g, nil), none, none, "[]", true},
		{"to its owner", []access.Rule{rule("a", "role:user", allow, "/**")}, bob,
			behindPasswords(targetAt("/a"), g, nil), all, all, "[]", true},
		{"to a key of another", []access.Rule{rule("a", "role:user", allow, "/**")}, key(alice, false),
			behindPasswords(targetAt("/a"), g, nil), none, none, "[up]", false},
		{"to a key of its owner", []access.Rule{rule("a", "role:user", allow, "/**")}, key(bob, false),
			behindPasswords(targetAt("/a"), g, nil), all, all, "[up]", false},
		{"a key that is confined, above its root", nil, key(root, true), targetAt("/a"), none, none, "[up]", false},
		{"outside the upload root", nil, key(root, true), targetAt("/b"), none, none, "[]", true},
		{"a key in its root", nil, key(root, true), targetAt("/a/up"), all, all, "[]", true},
		{"a key with a deny of its own", []access.Rule{rule("d", "key:k1", deny, "/a/**")}, key(alice, false),
			targetAt("/a"), none, none, "[up]", false},
		{"a key with an allow of its own", []access.Rule{rule("a", "key:k1", allow, "/a/**")}, key(alice, false),
			targetAt("/a"), own, own, "[up]", false},
		{"from elsewhere", []access.Rule{fromAddresses(rule("a", "role:user", allow, "/a/**"), "10.0.0.0/8")},
			calledFrom(alice, "192.0.2.1"), targetAt("/a"), own, own, "[]", true},
		{"from there", []access.Rule{fromAddresses(rule("a", "role:user", allow, "/a/**"), "10.0.0.0/8")},
			calledFrom(alice, "10.0.0.1"), targetAt("/a"), all, all, "[]", true},
	} {
		v := access.Viewer{Policy: access.NewPolicy(c.rules, true), Actor: c.actor}
		in := v.ListingFilter(c.folder)
		if in.Files != c.files || in.Folders != c.folders || fmt.Sprint(in.Exceptions) != c.names ||
			in.SameBelow != c.settled {
			t.Errorf("%s: files %v, folders %v, but for %v, settled %v; want %v, %v, %s, %v", c.name, in.Files,
				in.Folders, in.Exceptions, in.SameBelow, c.files, c.folders, c.names, c.settled)
		}
	}
	v := access.Viewer{Actor: alice, Policy: access.NewPolicy([]access.Rule{
		rule("1", "role:user", deny, "/a/*.raw"), withPriority(rule("2", "role:user", allow, "/a/x?.*"), 1),
		rule("3", "role:guest", allow, "/a/*.jpg"), rule("4", "role:guest", deny, "/a/*"),
	}, true)}
	want := []access.Glob{{Names: []string{"x?.*"}, Files: all}, {Names: []string{"*.raw"}, Files: none},
		{Names: []string{"*.jpg"}, Files: all}}
	if in := v.ListingFilter(targetAt("/a")); !slices.EqualFunc(in.Globs, want,
		func(a, b access.Glob) bool { return a.Files == b.Files && slices.Equal(a.Names, b.Names) }) ||
		in.Files != own {
		t.Errorf("patterns of names: %+v", in)
	}
}

// A password hides everything behind it from users who must give it, even if a rule allows
// something below.
func TestPasswordsHideFolders(t *testing.T) {
	t.Parallel()
	p := access.NewPolicy(seedRules, true)
	g := &access.EntryPassword{ID: "e1", OwnerID: "bob"}
	inside, itself := behindPasswords(targetAt("/public/x/y"), g, g), behindPasswords(targetAt("/public/x"), g, nil)
	key := func(a access.Actor) access.Actor { return withKey(a, access.Key{ID: "k1", Permissions: access.All}) }
	for _, c := range []struct {
		name     string
		actor    access.Actor
		in, self bool
		enter    access.Outcome
	}{
		{"a visitor", visitor, false, true, access.NeedsPassword},
		{"a user who gave the password", withPasswords(visitor, "e1"), true, true, access.Allowed},
		{"its owner", bob, true, true, access.Allowed},
		{"an administrator", root, true, true, access.Allowed},
		{"another's key", withPasswords(key(alice), "e1"), false, true, access.NeedsPassword},
		{"its owner's key", key(bob), true, true, access.Allowed},
		{"an administrator's key", key(root), true, true, access.Allowed},
	} {
		v := access.Viewer{Policy: p, Actor: c.actor}
		if v.Shows(inside, true) != c.in || v.Shows(inside, false) != c.in || v.Shows(itself, true) != c.self ||
			v.DecideListing(itself) != c.enter {
			t.Errorf("%s: %v, %v, %v, %v", c.name, v.Shows(inside, true), v.Shows(inside, false), v.Shows(itself, true),
				v.DecideListing(itself))
		}
	}
	// If a rule denies everything but a path further down, the password still comes first.
	p = access.NewPolicy([]access.Rule{rule("a", "role:user", access.Allow, "/a/x/y/**")}, true)
	v := access.Viewer{Policy: p, Actor: alice}
	if got := v.DecideListing(behindPasswords(targetAt("/a/x"), g, g)); got != access.NeedsPassword {
		t.Errorf("a folder above: %v", got)
	}
	if got := v.DecideListing(targetAt("/a/x")); got != access.Allowed {
		t.Errorf("without a password: %v", got)
	}
}

func TestListingFilterAgreesWithShows(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "ab", "bb", "aab", "z", "zzz", "é", "a.b"}
	rapid.Check(t, func(t *rapid.T) {
		v := access.Viewer{Policy: access.NewPolicy(drawRules(t), rapid.Bool().Draw(t, "guests")), Actor: drawActor(t)}
		folder := drawTarget(t)
		v.HasHome = v.Actor.UserID != "" && v.Actor.Role == access.User && rapid.Bool().Draw(t, "has home")
		v.Home = drawTarget(t).Path
		folder.InHome = v.HasHome && folder.Path.Within(v.Home)
		in := v.ListingFilter(folder)
		agree := func(what string, in access.ListingFilter, folder access.Target) {
			for _, name := range names {
				for _, owner := range owners {
					for _, isFolder := range []bool{false, true} {
						for _, locked := range []bool{false, true} {
							child := folder.ForChildren()
							child.Path, child.OwnerID = folder.Path.Child(vpath.Name(name)), owner
							child.InHome = v.HasHome && child.Path.Within(v.Home)
							if slices.Contains(in.Exceptions, child.Path.Base()) {
								continue
							}
							if locked {
								child.Password = &access.EntryPassword{ID: "e9", OwnerID: owner}
							}
							verdict := in.Folders
							if !isFolder {
								verdict = filesVerdict(in, name)
							}
							mine := owner != "" && owner == v.Actor.UserID
							want := verdict == access.ShownAll || verdict == access.ShownOwn && mine
							if got := v.Shows(child, isFolder); verdict != access.ShownByName && got != want {
								t.Fatalf("%s %s: %+v, but %+v shows: %v", what, folder.Path, in, child, got)
							}
						}
					}
				}
			}
		}
		agree("in", in, folder)
		for _, s := range allPaths(folder.Path, names[:5], 2)[1:] {
			down, _ := s.RelativeTo(folder.Path)
			if slices.Contains(in.Exceptions, down[0]) {
				continue
			}
			below := folder.ForChildren()
			below.Path, below.OwnerID = s, ""
			below.InHome = v.HasHome && s.Within(v.Home)
			if in.SameBelow {
				agree("settled", access.ListingFilter{Files: in.Files, Folders: in.Folders}, below)
			} else if fresh := v.ListingFilter(v.SampleChild(folder)); in.FolderNamesIrrelevant && fresh.SameBelow {
				agree("alike", access.ListingFilter{Files: fresh.Files, Folders: fresh.Folders}, below)
			}
		}
	})
}

// filesVerdict returns the decision for files with a name.
func filesVerdict(in access.ListingFilter, name string) access.ShownEntries {
	for _, g := range in.Globs {
		for _, glob := range g.Names {
			if refMatch(glob, name) {
				return g.Files
			}
		}
	}
	return in.Files
}
