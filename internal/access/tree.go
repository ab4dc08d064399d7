package access

// TreeVerdict says what acting on a folder with all that is in it comes to.
type TreeVerdict uint8

// The answers, the least first.
const (
	TreeDenied  TreeVerdict = iota // something at or below the folder is denied, or hangs on a condition
	TreeOwnOnly                    // only ownership can allow it: all that is below must be the caller's own
	TreeAllowed                    // whatever is below, whosever it is
)

// DecideTree answers whether the actor may do something to a folder as a whole, such as moving,
// renaming or deleting it (abuse case C26). It goes by what patterns can match at or below the
// folder, not by what is there:
//
//   - an allow rule without a condition that covers all of it settles the matter, since what comes after it decides nothing there;
//   - a deny refuses, and so does a rule with a condition that the caller does not meet now, or that holds for part of the folder only;
//   - what covers all of it and leaves this caller alone (a deny except from here, an allow from elsewhere) is no reason to refuse.
//
// Passwords of entries below the folder are not known here.
func (p *Policy) DecideTree(a Actor, folder Target, permission Permission) TreeVerdict {
	switch {
	case !permission.single() || a.limitToKey(folder.Path, Set(permission)) == 0:
		return TreeDenied
	case a.lacksPassword(folder.passwordFor(permission), permission),
		a.lacksPassword(folder.Password, permission): // the folder itself, and what is in it
		return TreeDenied
	}
	found := p.decideTreeAs(&a, &folder, Set(permission), false)
	if p.keyHasRules(&a) {
		found = min(found, p.decideTreeAs(&a, &folder, Set(permission), true))
	}
	return found
}

// decideTreeAs returns the answer of one set of rules and of what holds where they are silent.
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
	return TreeOwnOnly // ownership comes before what guests are denied
}

// applyRulesToTree returns the answer of the rules in q, if they have one.
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
