package access_test

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"larder/internal/access"
	"larder/internal/vpath"
)

var (
	everyOne   = []access.Permission{read, write, update, del, share, dl}
	worldNames = []string{"a", "b", "ab"}
	owners     = []string{"", "alice", "bob", "gus", "root"}
	addresses  = []netip.Addr{{}, netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.1"),
		netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}
	prefixes = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("0.0.0.0/0")}
	patterns = []string{"/", "/**", "/*", "/a", "/a/**", "/a/*", "/a/b", "/a/b/**", "/**/b", "/**/b/**", "/?", "/a*",
		"/a**", "/*/b", "/b/**/a", "/ab", "/ab/*b", "/a/**/*"}
	subjects = []string{"role:guest", "role:user", "role:admin", "user:alice", "user:bob", "user:gus", "user:root",
		"key:k1", "key:k2"}
)

func drawRule(id string) *rapid.Generator[access.Rule] {
	return rapid.Custom(func(t *rapid.T) access.Rule {
		r := rule(id, rapid.SampledFrom(subjects).Draw(t, "subject"), access.Allow,
			rapid.SampledFrom(patterns).Draw(t, "pattern"))
		if rapid.Bool().Draw(t, "deny") {
			r.Effect = access.Deny
		} else {
			r.RequirePassword = rapid.IntRange(0, 4).Draw(t, "password") == 0
		}
		if rapid.Bool().Draw(t, "some") {
			r.Permissions = access.Set(rapid.IntRange(1, 63).Draw(t, "permissions"))
		}
		if rapid.IntRange(0, 3).Draw(t, "addresses") == 0 {
			r.AllowedIPs = rapid.SliceOfN(rapid.SampledFrom(prefixes), 1, 2).Draw(t, "allowedIPs")
		}
		r.MountID = rapid.SampledFrom([]string{"", "", "", "m1", "m2"}).Draw(t, "mount")
		r.Priority = rapid.IntRange(0, 2).Draw(t, "priority")
		r.CreatedAt = int64(rapid.IntRange(0, 2).Draw(t, "created"))
		return r
	})
}

func drawRules(t *rapid.T) []access.Rule {
	rules := make([]access.Rule, rapid.IntRange(0, 8).Draw(t, "rules"))
	for i := range rules {
		rules[i] = drawRule("r"+strconv.Itoa(i)).Draw(t, "rule")
	}
	return rules
}

func drawActor(t *rapid.T) access.Actor {
	a := rapid.SampledFrom([]access.Actor{visitor, alice, alice, bob, gus, root}).Draw(t, "actor")
	a.IP = rapid.SampledFrom(addresses).Draw(t, "ip")
	a.Unlocked = rapid.SliceOfN(rapid.SampledFrom([]string{"r0", "r1", "r2", "e1", "e2"}), 0, 3).Draw(t, "unlocked")
	if a.UserID != "" && rapid.IntRange(0, 2).Draw(t, "key") == 0 {
		p := rapid.SampledFrom([]access.Set{access.All, permissionSet(read, dl), permissionSet(write, update),
			permissionSet(read, dl, write, update, del)}).Draw(t, "key permissions")
		a.Key = &access.Key{ID: "k1", Permissions: p,
			Root: targetAt(rapid.SampledFrom([]string{"/", "/a", "/a/b"}).Draw(t, "key root")).Path}
		a.Key.RootOnly = rapid.Bool().Draw(t, "root only")
	}
	return a
}

// drawTarget draws a consistent target: the password above an entry is also the nearest one, unless
// the entry has a password itself.
func drawTarget(t *rapid.T) access.Target {
	names := rapid.SliceOfN(rapid.SampledFrom(worldNames), 0, 3).Draw(t, "names")
	target := access.Target{MountID: rapid.SampledFrom([]string{"m1", "m2"}).Draw(t, "mount")}
	for _, name := range names {
		target.Path = target.Path.Child(vpath.Name(name))
	}
	target.OwnerID = rapid.SampledFrom(owners).Draw(t, "owner")
	target.InHome = rapid.IntRange(0, 3).Draw(t, "home") == 0
	if rapid.IntRange(0, 3).Draw(t, "above") == 0 {
		target.PasswordAbove = &access.EntryPassword{ID: "e1", OwnerID: rapid.SampledFrom(owners).Draw(t, "guard")}
		target.Password = target.PasswordAbove
	}
	if rapid.IntRange(0, 3).Draw(t, "protected") == 0 {
		target.Password = &access.EntryPassword{ID: "e2", OwnerID: target.OwnerID}
	}
	return target
}

// refFirst returns the rule that decides, and the ids of the skipped rules. It compares every rule
// with every other instead of sorting.
func refFirst(rules []access.Rule, concerns func(access.Rule) bool, a access.Actor, target access.Target,
	p access.Permission) (*access.Rule, []string) {
	var best *access.Rule
	for i := range rules {
		r := &rules[i]
		if !concerns(*r) || r.Permissions != 0 && !r.Permissions.Has(p) || r.MountID != "" &&
			r.MountID != target.MountID {
			continue
		}
		parsed, err := access.ParsePattern(r.Pattern)
		if err != nil || !refMatchPath(parsed, target.Path) {
			continue
		}
		inside := slices.ContainsFunc(r.AllowedIPs,
			func(prefix netip.Prefix) bool { return prefix.Contains(a.IP.Unmap()) })
		if len(r.AllowedIPs) > 0 && inside != (r.Effect == access.Allow) {
			continue
		}
		if best == nil || refBefore(*r, *best) {
			best = r
		}
	}
	if best == nil || !best.RequirePassword || a.Key == nil && slices.Contains(a.Unlocked, best.ID) {
		return best, nil
	}
	passed := best.ID
	found, asks := refFirst(rules, func(r access.Rule) bool { return concerns(r) && r.ID != passed }, a, target, p)
	return found, append([]string{passed}, asks...)
}

func refBefore(a, b access.Rule) bool {
	kind := func(r access.Rule) int {
		switch {
		case r.KeyID != "":
			return 0
		case r.UserID != "":
			return 1
		}
		return 2
	}
	lead := func(s string) int { // all patterns here are ASCII
		for i, c := range s {
			if c == '*' || c == '?' {
				return i
			}
		}
		return len(s)
	}
	literals, globs := func(s string) (n int) {
		for _, c := range s {
			if c != '*' && c != '?' {
				n++
			}
		}
		return n
	}, func(s string) (n int) {
		for i := 0; i+1 < len(s); i++ {
			if s[i:i+2] == "**" {
				n++
			}
		}
		return n
	}
	switch {
	case a.Priority != b.Priority:
		return a.Priority > b.Priority
	case kind(a) != kind(b):
		return kind(a) < kind(b)
	case lead(a.Pattern) != lead(b.Pattern):
		return lead(a.Pattern) > lead(b.Pattern)
	case literals(a.Pattern) != literals(b.Pattern):
		return literals(a.Pattern) > literals(b.Pattern)
	case globs(a.Pattern) != globs(b.Pattern):
		return globs(a.Pattern) < globs(b.Pattern)
	case a.Effect != b.Effect:
		return a.Effect == access.Deny
	case a.CreatedAt != b.CreatedAt:
		return a.CreatedAt < b.CreatedAt
	}
	return a.ID < b.ID
}

// refEvaluate is a reference for one of the two verdicts of a key, and for the only verdict of
// other actors.
func refEvaluate(rules []access.Rule, guests bool, a access.Actor, withKey bool, target access.Target,
	p access.Permission) (access.Outcome, []string) {
	account := a.UserID != ""
	first, asks := refFirst(rules, func(r access.Rule) bool {
		return account && (r.UserID == a.UserID || r.Role == a.Role && r.Role != "" || withKey && r.KeyID != "" &&
			r.KeyID == a.Key.ID)
	}, a, target, p)
	yes := first != nil && first.Effect == access.Allow
	if first == nil && account {
		yes = a.Role == access.Admin || target.OwnerID == a.UserID || target.InHome && a.Role == access.User
	}
	if first == nil && !yes && guests && !(account && a.Role == access.Guest) {
		guest, more := refFirst(rules, func(r access.Rule) bool { return r.Role == access.Guest }, a, target, p)
		yes = guest != nil && guest.Effect == access.Allow
		asks = append(asks, more...)
	}
	switch {
	case yes:
		return access.Allowed, nil
	case len(asks) > 0:
		return access.NeedsPassword, asks
	}
	return access.Denied, nil
}

// refDecide is a second, independent implementation of Decide, written from the specified steps.
func refDecide(rules []access.Rule, guests bool, a access.Actor, target access.Target,
	p access.Permission) access.Outcome {
	if k := a.Key; k != nil {
		inRoot := target.Path.Within(k.Root)
		if p == share || !k.Permissions.Has(p) || !inRoot && (k.RootOnly || p == write || p == update || p == del) {
			return access.Denied
		}
	}
	outcome, _ := refEvaluate(rules, guests, a, false, target, p)
	if a.Key != nil {
		second, _ := refEvaluate(rules, guests, a, true, target, p)
		switch {
		case outcome == access.Denied || second == access.Denied:
			outcome = access.Denied
		case second == access.NeedsPassword:
			outcome = second
		}
	}
	guard := target.Password
	if p == read {
		guard = target.PasswordAbove
	}
	if outcome == access.Denied || guard == nil {
		return outcome
	}
	given := a.Key == nil && slices.Contains(a.Unlocked, guard.ID)
	trusted := p != dl && a.UserID != "" && (a.Role == access.Admin || a.UserID == guard.OwnerID)
	if given || trusted {
		return outcome
	}
	return access.NeedsPassword
}

func TestDecideAgreesWithReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules, guests, a, target := drawRules(t), rapid.Bool().Draw(t, "guests"), drawActor(t), drawTarget(t)
		p := access.NewPolicy(rules, guests)
		var allowed access.Set
		for _, one := range everyOne {
			v := p.Decide(a, target, one)
			if want := refDecide(rules, guests, a, target, one); v.Outcome != want {
				t.Fatalf("Decide %v: %v by %s, want %v", one, v.Outcome, v.DecidedBy, want)
			}
			if (v.Outcome == access.NeedsPassword) != (len(v.PasswordIDs) > 0) {
				t.Fatalf("Decide %v: %v asks %q", one, v.Outcome, v.PasswordIDs)
			}
			if v.Outcome == access.Allowed {
				allowed |= permissionSet(one)
			}
			explained, steps := p.Explain(a, target, one)
			if explained.Outcome != v.Outcome || explained.DecidedBy != v.DecidedBy ||
				!slices.Equal(explained.PasswordIDs, v.PasswordIDs) {
				t.Fatalf("Explain %v: %+v, but Decide %+v", one, explained, v)
			}
			for _, r := range rules {
				if !slices.ContainsFunc(steps, func(s access.Step) bool { return s.RuleID == r.ID }) {
					t.Fatalf("Explain %v does not mention %s", one, r.ID)
				}
			}
		}
		if got := p.Allowed(a, target); got != allowed {
			t.Fatalf("Allowed %q, want %q", got.Names(), allowed.Names())
		}
	})
}

func TestRuleOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules, a, target := drawRules(t), drawActor(t), drawTarget(t)
		one := rapid.SampledFrom(everyOne).Draw(t, "permission")
		v := access.NewPolicy(rules, true).Decide(a, target, one)
		shuffled := access.NewPolicy(rapid.Permutation(rules).Draw(t, "order"), true).Decide(a, target, one)
		if v.Outcome != shuffled.Outcome || v.DecidedBy != shuffled.DecidedBy ||
			!slices.Equal(v.PasswordIDs, shuffled.PasswordIDs) {
			t.Fatalf("%+v, in another order %+v", v, shuffled)
		}
	})
}

func TestDenyNeverWidens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules, guests, a, target := drawRules(t), rapid.Bool().Draw(t, "guests"), drawActor(t), drawTarget(t)
		deny := drawRule("deny").Draw(t, "deny")
		deny.Effect, deny.RequirePassword = access.Deny, false
		before := access.NewPolicy(rules, guests).Allowed(a, target)
		after := access.NewPolicy(append(rules, deny), guests).Allowed(a, target)
		if after&^before != 0 {
			t.Fatalf("a deny added %q", (after &^ before).Names())
		}
	})
}

// Abuse case C32. A key can do only one thing without its owner having given a password: read past
// the password of an entry that the owner controls.
func TestKeyNeverExceedsOwner(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, a, target := access.NewPolicy(drawRules(t), rapid.Bool().Draw(t, "guests")), drawActor(t), drawTarget(t)
		if a.Key == nil {
			return
		}
		owner := a
		owner.Key, owner.Unlocked = nil, nil
		if more := p.Allowed(a, target) &^ p.Allowed(owner, target); more != 0 {
			t.Fatalf("the key has %q more than its owner has without a password", more.Names())
		}
		with, without := access.Viewer{Policy: p, Actor: a}, access.Viewer{Policy: p, Actor: owner}
		for _, folder := range []bool{false, true} {
			if with.Shows(target, folder) && !without.Shows(target, folder) {
				t.Fatalf("it shows to the key and not to its owner (folder: %v)", folder)
			}
		}
		if with.DecideListing(target) == access.Allowed && without.DecideListing(target) != access.Allowed {
			t.Fatalf("the key lists it and its owner does not")
		}
	})
}

func TestUserMayDoWhatVisitorMay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t)
		for i := range rules {
			rules[i].UserID, rules[i].KeyID, rules[i].Role = "", "", access.Guest
		}
		p, target, a := access.NewPolicy(rules, true), drawTarget(t), drawActor(t)
		before := visitor
		before.IP, before.Unlocked = a.IP, a.Unlocked
		a.Key = nil
		if lost := p.Allowed(before, target) &^ p.Allowed(a, target); lost != 0 {
			t.Fatalf("%s may not do %q, which a visitor may", a.UserID, lost.Names())
		}
	})
}

func TestPublicIsOpenToEverybody(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules, target := drawRules(t), drawTarget(t)
		p := access.NewPolicy(rules, rapid.Bool().Draw(t, "guests"))
		if !p.Public(target) {
			return
		}
		for _, ip := range addresses {
			if v := p.Decide(access.Actor{IP: ip}, target, dl); v.Outcome != access.Allowed {
				t.Fatalf("public, but from %v the answer is %+v", ip, v)
			}
		}
		if !p.LinkAllowed(target) {
			t.Fatal("public, but the link is refused")
		}
	})
}

// If a link is refused, a guest's download depends on the address or on a password.
func TestLinkIsRefusedOnlyForACondition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules, target := drawRules(t), drawTarget(t)
		target.Password, target.PasswordAbove = nil, nil
		p := access.NewPolicy(rules, true)
		outcomes := map[access.Outcome]bool{}
		for _, ip := range addresses {
			for _, ids := range [][]string{nil, {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"}} {
				outcomes[p.Decide(access.Actor{IP: ip, Unlocked: ids}, target, dl).Outcome] = true
			}
		}
		if p.LinkAllowed(target) && len(outcomes) > 1 {
			t.Fatalf("the link is allowed, but guests get %v", outcomes)
		}
		if !p.LinkAllowed(target) && len(outcomes) == 1 && !slices.ContainsFunc(rules, func(r access.Rule) bool {
			return r.Role == access.Guest && (len(r.AllowedIPs) > 0 || r.RequirePassword)
		}) {
			t.Fatal("the link is refused without a condition")
		}
	})
}

func TestDecideTreeAgreesWithDecide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules, guests, a, folder := drawRules(t), rapid.Bool().Draw(t, "guests"), drawActor(t), drawTarget(t)
		one := rapid.SampledFrom(everyOne).Draw(t, "permission")
		p := access.NewPolicy(rules, guests)
		answer, refusals := p.DecideTree(a, folder, one), 0
		for _, s := range allPaths(folder.Path, worldNames, 3) {
			for _, owner := range owners {
				entry := folder
				if s != folder.Path {
					entry = folder.ForChildren()
				}
				entry.Path, entry.OwnerID = s, owner
				v := p.Decide(a, entry, one)
				if v.Outcome == access.Allowed {
					continue
				}
				refusals++
				if answer == access.TreeAllowed || answer == access.TreeOwnOnly && owner != "" && owner == a.UserID {
					t.Fatalf("%v, but %s of %q: %+v", answer, s, owner, v)
				}
			}
		}
		conditional := slices.ContainsFunc(rules,
			func(r access.Rule) bool { return r.RequirePassword || len(r.AllowedIPs) > 0 })
		if answer == access.TreeDenied && refusals == 0 && !conditional && a.UserID != "" && !anyGlobAllow(rules) {
			t.Fatal("refused, but nothing below is, and there is no condition")
		}
	})
}

// anyGlobAllow reports whether an allow rule covers a folder with a pattern that does not end in
// `**`, which DecideTree cannot recognise.
func anyGlobAllow(rules []access.Rule) bool {
	return slices.ContainsFunc(rules, func(r access.Rule) bool {
		return r.Effect == access.Allow &&
			!strings.HasSuffix(r.Pattern, "**")
	})
}

// If ShowsFolder is false, only the owner can read or write anything below the folder, at any depth
// and in any mount.
func TestShowsFolderForEveryVisibleChild(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, a, folder := access.NewPolicy(drawRules(t), rapid.Bool().Draw(t, "guests")), drawActor(t), drawTarget(t)
		home, hasHome := drawTarget(t).Path, a.UserID != "" && rapid.Bool().Draw(t, "has home")
		if p.ShowsFolder(a, folder.Path, home, hasHome) {
			return
		}
		for _, s := range allPaths(folder.Path, worldNames, 3)[1:] {
			for _, mount := range []string{"m1", "m2"} {
				entry := access.Target{Path: s, MountID: mount, InHome: hasHome && s.Within(home)}
				if got := p.Allowed(a, entry) & permissionSet(read, write); got != 0 {
					t.Fatalf("%s does not show, but %s allows %q", folder.Path, s, got.Names())
				}
			}
		}
	})
}

// If ShowsFolder is true, the folder has visible contents, provided that no rule is for one mount
// and each pattern names a whole tree.
func TestShowsFolderOnlyForAVisibleChild(t *testing.T) {
	t.Parallel()
	trees := []string{"/**", "/a/**", "/a/b/**", "/b/**", "/ab/**", "/a/b/ab/**"}
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t)
		for i := range rules {
			rules[i].MountID, rules[i].Pattern = "", rapid.SampledFrom(trees).Draw(t, "tree")
		}
		p, a, folder := access.NewPolicy(rules, rapid.Bool().Draw(t, "guests")), drawActor(t), drawTarget(t)
		home, hasHome := drawTarget(t).Path, a.UserID != "" && rapid.Bool().Draw(t, "has home")
		if !p.ShowsFolder(a, folder.Path, home, hasHome) {
			return
		}
		for _, s := range allPaths(folder.Path, worldNames, 4) {
			entry := access.Target{Path: s, InHome: hasHome && s.Within(home)}
			if p.Allowed(a, entry)&permissionSet(read, write, dl) != 0 {
				return
			}
		}
		t.Fatalf("%s shows, but has no visible contents", folder.Path)
	})
}
