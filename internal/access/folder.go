package access

// Uniformity says what acting on a folder with all that is in it comes to.
type Uniformity uint8

// The answers, the least first.
const (
	Refused    Uniformity = iota // something at or below the folder is denied, or hangs on a condition
	OwnOnly                      // only ownership can allow it: all that is below must be the caller's own
	Everything                   // whatever is below, whosever it is
)

// Uniform answers whether the actor may do something to a folder as a whole, such as moving, renaming or deleting it (abuse case C26). It goes
// by what patterns can match at or below the folder, not by what is there:
//
//   - an allow rule without a condition that covers all of it settles the matter, since what comes after it decides nothing there;
//   - a deny refuses, and so does a rule with a condition that the caller does not meet now, or that holds for part of the folder only;
//   - what covers all of it and leaves this caller alone (a deny except from here, an allow from elsewhere) is no reason to refuse.
//
// Passwords of entries below the folder are not known here.
func (p *Policy) Uniform(a Actor, folder Target, permission Permission) Uniformity {
	switch {
	case !permission.one() || a.scope(folder.Path, Set(permission)) == 0:
		return Refused
	case a.barred(folder.guardFor(permission), permission), a.barred(folder.Guard, permission): // the folder itself, and what is in it
		return Refused
	}
	found := p.uniformAs(&a, &folder, Set(permission), false)
	if p.ownRules(&a) {
		found = min(found, p.uniformAs(&a, &folder, Set(permission), true))
	}
	return found
}

// uniformAs returns the answer of one set of rules and of what holds where they are silent.
func (p *Policy) uniformAs(a *Actor, folder *Target, want Set, withKey bool) Uniformity {
	if answer, done := p.askUniform(p.rulesOf(a, withKey), a, folder, want); done {
		return answer
	}
	nobodys := *folder
	nobodys.OwnerID = ""
	if by := a.standing(&nobodys); by == ByAdministrator || by == ByHome {
		return Everything
	}
	if answer, done := p.askUniform(p.guestRules(a), a, folder, want); done && answer == Everything {
		return Everything
	}
	if a.UserID == "" {
		return Refused
	}
	return OwnOnly // ownership comes before what guests are denied
}

// askUniform returns the answer of the rules in q, if they have one.
func (p *Policy) askUniform(q queue, a *Actor, folder *Target, want Set) (answer Uniformity, done bool) {
	ip := a.address()
	for r := q.next(); r != nil; r = q.next() {
		if r.Permissions&want == 0 || r.MountID != "" && r.MountID != folder.MountID || !r.pattern.MayMatchWithin(folder.Path) {
			continue
		}
		whole := r.pattern.CoversWithin(folder.Path)
		switch {
		case r.conditional() && !whole, r.locked(a):
			return Refused, true
		case !r.here(ip):
			continue
		case !r.allows():
			return Refused, true
		case whole:
			return Everything, true
		}
	}
	return Refused, false
}
