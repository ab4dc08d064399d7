package files

import (
	"slices"

	"larder/internal/access"
	"larder/internal/db"
)

// permissions are all six, one by one.
var permissions = [...]access.Permission{access.Read, access.Write, access.Update, access.Delete, access.Share,
	access.Download}

// affectsVisibility reports whether a rule about p keeps something from being seen.
func affectsVisibility(p access.Permission) bool { return p == access.Read || p == access.Download }

// checkRulesKept refuses a new place or name that would shed a rule (abuse case C26): whoever may
// take something away need not be allowed to see it, and must not get to see it by taking it to
// where they may. to are the facts at the new place. Fault: Forbidden.
//
// A key is held against its owner's rights too, since it is the owner who finds the thing at the
// new place; no password that was given counts for a key. Passwords of entries are for mayUncover.
func (v *ruleset) checkRulesKept(tx *db.Tx, a access.Actor, n *node, from, to access.Target) error {
	from.Password, from.PasswordAbove, to.Password, to.PasswordAbove = nil, nil, nil, nil
	to.OwnerID = n.owner
	owner := a
	if a.Key != nil {
		owner.Key, owner.Unlocked = nil, nil
	}
	for _, p := range permissions {
		if err := v.checkRuleKept(tx, owner, n, from, to, p); err != nil {
			return err
		}
		if a.Key != nil && a.Key.Permissions.Has(p) {
			if err := v.checkRuleKept(tx, a, n, from, to, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// widens reports whether what was decided after lets in somebody who was kept out before: with no
// password, or with another one of a rule.
func widens(before, after access.Verdict) bool {
	switch {
	case before.Outcome == access.Allowed || after.Outcome == access.Denied:
		return false
	case before.Outcome == access.Denied || after.Outcome == access.Allowed:
		return true
	}
	return slices.ContainsFunc(after.PasswordIDs,
		func(id string) bool { return !slices.Contains(before.PasswordIDs, id) })
}

// checkRuleKept is keeps for one permission. A file must not gain what hides, even by a rule's
// password, nor anything that a rule withholds. Of a folder all must be open to the actor,
// whatever the new place is like, since it can be like the old one in part; and what a rule
// withholds in it must stay withheld.
func (v *ruleset) checkRuleKept(tx *db.Tx, a access.Actor, n *node, from, to access.Target, p access.Permission) error {
	if !n.folder {
		before, after := v.policy.Decide(a, from, p), v.policy.Decide(a, to, p)
		switch {
		case affectsVisibility(p) && widens(before, after) && before.Outcome == access.NeedsPassword:
			return passwordNeeded()
		case affectsVisibility(p) && widens(before, after):
			return forbidden()
		case before.Outcome != access.Allowed && after.Outcome == access.Allowed &&
			before.DecidedBy != access.ByDefault:
			return forbidden()
		}
		return nil
	}
	switch before := v.policy.DecideTree(a, from, p); {
	case before == access.TreeAllowed:
		return nil
	case affectsVisibility(p) && before == access.TreeOwnOnly:
		return forbidIfFound(tx, foreignBelow, n.id, a.UserID)
	case before == access.TreeDenied && (affectsVisibility(p) || v.policy.DecideTree(a, to, p) != access.TreeDenied):
		return forbidden()
	}
	return nil
}
