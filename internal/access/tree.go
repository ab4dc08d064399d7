package access

// TreeVerdict is the verdict on a folder together with all its contents.
type TreeVerdict uint8

// The verdicts, the most restrictive first.
const (
	TreeDenied  TreeVerdict = iota // something at or below the folder is denied, or depends on a condition
	TreeOwnOnly                    // only ownership can allow it: the caller must own everything below
	TreeAllowed                    // allowed for everything below, whoever owns it
)

// DecideTree decides whether the actor may do something to a folder with all its contents, such as
// moving, renaming or deleting it (abuse case C26). It considers every path that patterns could
// match at or below the folder, not the entries that exist:
//
//   - An allow rule without a condition that covers the whole folder decides, since no later rule
//     decides anything there.
//   - A deny rule refuses. So does a rule with a condition that the caller does not meet now, or
//     that covers only part of the folder.
//   - A rule that covers the whole folder but does not apply to this caller (a deny except from the
//     caller's address, an allow from other addresses) does not refuse.
//
// It does not know the passwords of entries below the folder.
func (p *Policy) DecideTree(a Actor, folder Target, permission Permission) TreeVerdict {
	switch {
	case !permission.single() || a.limitToKey(folder.Path, Set(permission)) == 0:
		return TreeDenied
	case a.lacksPassword(folder.passwordFor(permission), permission),
		a.lacksPassword(folder.Password, permission): // the password of the folder itself, and that of its contents
		return TreeDenied
	}
	found := p.decideTreeAs(&a, &folder, Set(permission), false)
	if p.keyHasRules(&a) {
		found = min(found, p.decideTreeAs(&a, &folder, Set(permission), true))
	}
	return found
}

// decideTreeAs returns the verdict of one set of rules (withKey those of the key included), and of
// ownership and home where the rules do not decide.
func (p *Policy) decideTreeAs(a *Actor, folder *Target, want Set, withKey bool) TreeVerdict {
	if answer, done := p.applyRulesToTree(p.rulesOf(a, withKey), a, folder, want); done {
		return answer
	}
	unowned := *folder
	unowned.OwnerID = ""
	if by := a.grantWithoutRule(&unowned); by == ByAdministrator || by == ByHome {
		return TreeAllowed
	}
	if answer, done := p.applyRulesToTree(p.guestRules(a), a, folder, want); done && answer == TreeAllowed {
		return TreeAllowed
	}
	if a.UserID == "" {
		return TreeDenied
	}
	return TreeOwnOnly // ownership comes before the deny rules of guests
}

// applyRulesToTree returns the verdict of the rules in q on want for the whole folder, and whether
// one of them decides.
func (p *Policy) applyRulesToTree(q ruleQueue, a *Actor, folder *Target, want Set) (answer TreeVerdict, done bool) {
	ip := a.address()
	for r := q.next(); r != nil; r = q.next() {
		if r.Permissions&want == 0 || r.MountID != "" && r.MountID != folder.MountID ||
			!r.pattern.MayMatchWithin(folder.Path) {
			continue
		}
		whole := r.pattern.CoversTree(folder.Path)
		switch {
		case r.conditional() && !whole, r.needsPassword(a):
			return TreeDenied, true
		case !r.appliesFrom(ip):
			continue
		case !r.allows():
			return TreeDenied, true
		case whole:
			return TreeAllowed, true
		}
	}
	return TreeDenied, false
}
