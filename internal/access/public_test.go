package access_test

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"larder/internal/access"
)

// The conditions of a signed link, and whether a password is reported as required.
func TestConditionalAndAsksPassword(t *testing.T) {
	t.Parallel()
	allow, deny := access.Allow, access.Deny
	here := func(id, subject string, e access.Effect, p ...access.Permission) access.Rule {
		return rule(id, subject, e, "/x/**", p...)
	}
	office := func(r access.Rule) access.Rule { return fromAddresses(r, "10.0.0.0/8") }
	g := &access.EntryPassword{ID: "e1", OwnerID: "alice"}
	alices := ownedTarget(targetAt("/x/f")).of("alice")
	key := access.Key{ID: "k1", Permissions: permissionSet(read, dl), Root: targetAt("/").Path}
	for _, c := range []struct {
		name              string
		rules             []access.Rule
		actor             access.Actor
		target            access.Target
		conditional, asks bool
	}{
		{"the owner's file", nil, alice, alices, false, false},
		{"nobody's file", nil, alice, targetAt("/x/f"), false, false},
		{"a password on it", nil, alice, behindPasswords(alices, g, nil), true, true},
		{"a password above it", nil, alice, behindPasswords(alices, g, g), true, true},
		{"a password that was given", nil, withPasswords(alice, "e1"), behindPasswords(alices, g, nil), true, true},
		{"a rule with a password", []access.Rule{withPassword(here("a", "role:user", allow))}, bob, targetAt("/x/f"),
			true, true},
		{"a rule with a password that was given",
			[]access.Rule{withPassword(here("a", "role:user", allow))}, withPasswords(bob, "a"),
			targetAt("/x/f"), true, true},
		{"a rule with a password, but one's own", []access.Rule{withPassword(here("a", "role:user", allow))}, alice,
			alices, false, false},
		{"a password for reading only", []access.Rule{withPassword(here("a", "role:user", allow, read))}, bob,
			targetAt("/x/f"), false, false},
		{"with a password, or without", []access.Rule{withPriority(withPassword(here("a", "role:user", allow)), 1),
			here("b", "role:user", allow)}, bob, targetAt("/x/f"), false, false},
		{"with a password, else denied", []access.Rule{withPriority(withPassword(here("a", "role:user", allow)), 1),
			here("b", "role:user", deny)}, bob, targetAt("/x/f"), true, true},
		{"a guest's rule with a password, for a user", []access.Rule{withPassword(here("a", "role:guest", allow))}, bob,
			targetAt("/x/f"), true, true},
		{"a guest's rule with a password, for the owner", []access.Rule{withPassword(here("a", "role:guest", allow))},
			alice, alices, false, true},
		{"a guest's rule with a password, for an administrator",
			[]access.Rule{withPassword(here("a", "role:guest", allow))}, root, targetAt("/x/f"), false, true},
		{"from the office", []access.Rule{office(here("a", "role:user", allow))}, bob, targetAt("/x/f"), true, false},
		{"from the office, and there", []access.Rule{office(here("a", "role:user", allow))},
			calledFrom(bob, "10.0.0.1"), targetAt("/x/f"), true, false},
		{"from the office, or anywhere", []access.Rule{withPriority(office(here("a", "role:user", allow)), 1),
			here("b", "role:guest", allow)}, bob, targetAt("/x/f"), false, false},
		{"denied except from the office",
			[]access.Rule{office(here("a", "role:user", deny))}, alice, alices, true, false},
		{"denied except from the office, at lower priority",
			[]access.Rule{office(here("a", "role:user", deny)), withPriority(here("b", "role:user", allow), 1)}, alice,
			alices, false, false},
		{"a condition in another mount", []access.Rule{onMount(office(here("a", "role:user", deny)), "m2")}, alice,
			alices, false, false},
		{"a condition elsewhere", []access.Rule{office(rule("a", "role:user", deny, "/y/**"))}, alice, alices, false,
			false},
		{"a key's own condition", []access.Rule{office(here("a", "key:k1", deny))}, withKey(alice, key), alices, true,
			false},
		{"another key's", []access.Rule{office(here("a", "key:k2", deny))}, withKey(alice, key), alices, false, false},
		{"the condition of a key's owner", []access.Rule{office(here("a", "user:alice", deny)),
			here("b", "key:k1", allow)}, withKey(alice, key), alices, true, false},
	} {
		p := access.NewPolicy(c.rules, true)
		if got := p.DownloadConditional(c.actor, c.target); got != c.conditional {
			t.Errorf("%s: conditional %v", c.name, got)
		}
		if got := p.AsksPassword(c.actor, c.target, dl); got != c.asks {
			t.Errorf("%s: asks for a password: %v", c.name, got)
		}
	}
	shut := access.NewPolicy([]access.Rule{withPassword(here("a", "role:guest", allow))}, false)
	if shut.DownloadConditional(visitor, targetAt("/x/f")) || shut.AsksPassword(bob, targetAt("/x/f"), dl) ||
		shut.GuestAccess() || !access.NewPolicy(nil, true).GuestAccess() {
		t.Error("rules for guests count without guest access")
	}
	folder := behindPasswords(targetAt("/x"), g, nil) // its name can be read without a password, its contents cannot
	if p := access.NewPolicy(nil, true); p.AsksPassword(root, folder, read) ||
		!p.AsksPassword(root, folder.ForChildren(), read) {
		t.Error("the password of a folder covers what is in it, and not the folder")
	}
}

// If nothing is conditional, a download has the same verdict from every address and with every
// password.
func TestUnconditionalDownloadIsTheSameForAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules, target, a := drawRules(t), drawTarget(t), drawActor(t)
		p := access.NewPolicy(rules, rapid.Bool().Draw(t, "guests"))
		if p.DownloadConditional(a, target) {
			return
		}
		outcomes := map[access.Outcome][]netip.Addr{}
		for _, ip := range addresses {
			for _, ids := range [][]string{nil, {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"}} {
				a.IP, a.Unlocked = ip, ids
				v := p.Decide(a, target, dl)
				outcomes[v.Outcome] = append(outcomes[v.Outcome], ip)
			}
		}
		if len(outcomes) > 1 || outcomes[access.NeedsPassword] != nil {
			t.Fatalf("not conditional, but %v", outcomes)
		}
	})
}
