package access_test

import (
	"slices"
	"testing"

	"larder/internal/access"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	rules := []access.Rule{
		rule("other", "user:bob", access.Allow, "/a/b"),
		rule("write", "user:alice", access.Allow, "/a/b", write),
		rule("path", "user:alice", access.Deny, "/a/c"),
		onMount(rule("mount", "user:alice", access.Deny, "/a/*"), "m2"),
		fromAddresses(rule("from", "user:alice", access.Allow, "/a/*"), "10.0.0.0/8"),
		withPassword(createdAt(rule("locked", "user:alice", access.Allow, "/a/*"), 1)),
		rule("deny", "role:user", access.Deny, "/a/*"),
		rule("late", "role:user", access.Allow, "/**"),
		rule("guest", "role:guest", access.Allow, "/**"),
	}
	v, steps := access.NewPolicy(rules, true).Explain(alice, targetAt("/a/b"), read)
	if v.Outcome != access.NeedsPassword || v.DecidedBy != "locked" ||
		!slices.Equal(v.PasswordIDs, []string{"locked"}) {
		t.Errorf("verdict %+v", v)
	}
	want := []access.Step{
		{"path", false, access.ReasonPath},
		{"write", false, access.ReasonPermission},
		{"mount", false, access.ReasonMount},
		{"from", false, access.ReasonAddress},
		{"locked", true, access.ReasonPassword},
		{"deny", true, access.ReasonDenies},
		{"late", true, access.ReasonLate},
		{"guest", true, access.ReasonLate},
		{"other", false, access.ReasonSubject},
	}
	if !slices.Equal(steps, want) {
		t.Errorf("steps %+v\nwant  %+v", steps, want)
	}
}

func TestExplainDecisionsWithoutRules(t *testing.T) {
	t.Parallel()
	g := rule("g", "role:guest", access.Allow, "/p/**")
	guard := &access.EntryPassword{ID: "e1", OwnerID: "bob"}
	k := access.Key{ID: "k1", Permissions: permissionSet(read)}
	for _, c := range []struct {
		name   string
		rules  []access.Rule
		closed bool
		actor  access.Actor
		target access.Target
		want   []access.Step
	}{
		{"a key's scope", []access.Rule{rule("u", "role:user", access.Allow, "/**")}, false,
			withKey(alice, access.Key{ID: "k1"}), targetAt("/p"), []access.Step{
				{"", true, access.ReasonKeyLacks},
				{"u", false, access.ReasonNotEvaluated},
			}},
		{"administrators", nil, false, root, targetAt("/p"),
			[]access.Step{{"", true, access.ReasonAdministrator}}},
		{"owners", []access.Rule{g}, false, alice, ownedTarget(targetAt("/p")).of("alice"), []access.Step{
			{"", true, access.ReasonOwner},
			{"g", true, access.ReasonLate},
		}},
		{"home", nil, false, alice, inHome(targetAt("/p")),
			[]access.Step{{"", true, access.ReasonHome}}},
		{"without guest access", []access.Rule{g}, true, alice, targetAt("/p"),
			[]access.Step{{"g", false, access.ReasonGuestAccessOff}}},
		{"an entry's password", []access.Rule{g}, false, visitor, behindPasswords(targetAt("/p/x"), guard, guard),
			[]access.Step{
				{"g", true, access.ReasonAllows},
				{"", true, access.ReasonEntryPassword},
			}},
		{"a key with rules of its own", []access.Rule{rule("k", "key:k1", access.Deny, "/**")}, false,
			withKey(alice, k), ownedTarget(targetAt("/p")).of("alice"), []access.Step{
				{"", true, access.ReasonAsOwner},
				{"", true, access.ReasonOwner},
				{"", true, access.ReasonWithKeyRules},
				{"k", true, access.ReasonDenies},
			}},
		{"a deny rule that does not apply to the address",
			[]access.Rule{fromAddresses(rule("d", "role:user", access.Deny, "/**"), "10.0.0.0/8")},
			false, calledFrom(alice, "10.0.0.1"), targetAt("/p"), []access.Step{
				{"d", false, access.ReasonAddress},
			}},
	} {
		if _, steps := access.NewPolicy(c.rules, !c.closed).
			Explain(c.actor, c.target, read); !slices.Equal(steps, c.want) {
			t.Errorf("%s: %+v\nwant %+v", c.name, steps, c.want)
		}
	}
}
