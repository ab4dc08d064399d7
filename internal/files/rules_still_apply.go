package files

import (
	"slices"

	"larder/internal/access"
	"larder/internal/db"
)

// permissions are all six permissions.
var permissions = [...]access.Permission{access.Read, access.Write, access.Update, access.Delete, access.Share,
	access.Download}

// affectsVisibility reports whether a rule about the permission p can hide an entry or its content.
func affectsVisibility(p access.Permission) bool { return p == access.Read || p == access.Download }

// checkRulesStillApply refuses a new path or name for n at which a rule would lose its effect
// (abuse case C26). An actor may have the permission to move an entry without the permission to see
// it, and must not gain the latter by moving it. from is the target at the present path, to that at
// the new one. Faults: Forbidden, PasswordRequired.
//
// For a key it also checks the rights of the owner, who finds the entry at the new path; passwords
// that were given do not count for a key. mayUncover handles passwords of entries.
func (rs *ruleset) checkRulesStillApply(tx *db.Tx, a access.Actor, n *node, from, to access.Target) error {
	from.Password, from.PasswordAbove, to.Password, to.PasswordAbove = nil, nil, nil, nil
	to.OwnerID = n.owner
	owner := a
	if a.Key != nil {
		owner.Key, owner.Unlocked = nil, nil
	}
	for _, p := range permissions {
		if err := rs.checkRuleStillApplies(tx, owner, n, from, to, p); err != nil {
			return err
		}
		if a.Key != nil && a.Key.Permissions.Has(p) {
			if err := rs.checkRuleStillApplies(tx, a, n, from, to, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// widens reports whether the verdict after admits an actor whom the verdict before kept out:
// without a password, or with a password of another rule.
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

// checkRuleStillApplies refuses a new path for n, from the target from to the target to, at which
// rules about the permission p would lose their effect for the actor. A file must not gain a
// permission to see it, not even by a rule's password, nor any permission that a rule withholds. In
// a folder the actor needs permissions on everything, whatever the new path is like, since part of
// it can be like the old one; and permissions that a rule withholds in it must stay withheld.
// Faults: Forbidden, PasswordRequired.
func (rs *ruleset) checkRuleStillApplies(tx *db.Tx, a access.Actor, n *node, from, to access.Target,
	p access.Permission) error {
	if !n.folder {
		before, after := rs.policy.Decide(a, from, p), rs.policy.Decide(a, to, p)
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
	switch before := rs.policy.DecideTree(a, from, p); {
	case before == access.TreeAllowed:
		return nil
	case affectsVisibility(p) && before == access.TreeOwnOnly:
		return forbidIfFound(tx, foreignBelow, n.id, a.UserID)
	case before == access.TreeDenied && (affectsVisibility(p) || rs.policy.DecideTree(a, to, p) != access.TreeDenied):
		return forbidden()
	}
	return nil
}
