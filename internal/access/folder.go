package access

// Children is the verdict for all direct children of a folder at once.
type Children uint8

// The verdicts, the least first.
const (
	ChildrenNone  Children = iota // none of them
	ChildrenOwn                   // exactly those that the actor owns
	ChildrenAll                   // every one
	ChildrenMixed                 // their names matter: ask Decide about each
)

// Children returns for which direct children of folder Decide answers Allowed, whatever their names and owners. It speaks of children that lie in
// the folder's mount, have no password of their own and are not the actor's home; those few are to be asked about one by one (a password of
// its own does not matter for Read).
func (p *Policy) Children(a Actor, folder Target, permission Permission) Children {
	if !permission.one() || a.barred(folder.Guard, permission) {
		return ChildrenNone
	}
	found := p.childrenAs(&a, &folder, Set(permission), false)
	if p.ownRules(&a) {
		found = found.least(p.childrenAs(&a, &folder, Set(permission), true))
	}
	return found.least(a.childrenScope(&folder, permission)).sum()
}

// outcomes is the set of Children verdicts, ChildrenMixed excepted, that some child may meet with, one bit each.
type outcomes uint8

func only(c Children) outcomes { return 1 << c }

// sum returns the one outcome, or ChildrenMixed.
func (o outcomes) sum() Children {
	for _, c := range []Children{ChildrenNone, ChildrenOwn, ChildrenAll} {
		if o == only(c) {
			return c
		}
	}
	return ChildrenMixed
}

// least returns the outcomes of a child that has to satisfy both o and other. Which outcomes of the two go together is not known, so all may.
func (o outcomes) least(other outcomes) outcomes {
	var both outcomes
	for a := ChildrenNone; a <= ChildrenAll; a++ {
		for b := ChildrenNone; b <= ChildrenAll; b++ {
			if o&only(a) != 0 && other&only(b) != 0 {
				both |= only(min(a, b))
			}
		}
	}
	return both
}

// childrenScope returns what the key's scope leaves of the children.
func (a *Actor) childrenScope(folder *Target, permission Permission) outcomes {
	switch {
	case a.scope(folder.Path, Set(permission)) != 0:
		return only(ChildrenAll)
	case a.Key.Root.Parent() == folder.Path && a.scope(a.Key.Root, Set(permission)) != 0: // one name is in scope: the upload root's
		return only(ChildrenNone) | only(ChildrenAll)
	}
	return only(ChildrenNone)
}

// childrenAs returns the outcomes by one set of rules and what holds where they are silent.
func (p *Policy) childrenAs(a *Actor, folder *Target, want Set, withKey bool) outcomes {
	found, done := p.askChildren(p.rulesOf(a, withKey), a, folder, want)
	if done {
		return found
	}
	nobodys := *folder
	nobodys.OwnerID = ""
	switch a.standing(&nobodys) {
	case ByAdministrator, ByHome:
		return found | only(ChildrenAll)
	}
	guests, done := p.askChildren(p.guestRules(a), a, folder, want)
	if !done {
		guests |= only(ChildrenNone)
	}
	if a.UserID == "" {
		return found | guests
	}
	if guests&only(ChildrenNone) != 0 { // ownership comes before guests' rules
		guests = guests&^only(ChildrenNone) | only(ChildrenOwn)
	}
	return found | guests
}

// askChildren returns the outcomes that the rules of q bring about, and whether they leave no child without a decision.
func (p *Policy) askChildren(q queue, a *Actor, folder *Target, want Set) (found outcomes, done bool) {
	ip := a.address()
	for r := q.next(); r != nil; r = q.next() {
		if r.Permissions&want == 0 || r.MountID != "" && r.MountID != folder.MountID || !r.here(ip) || r.locked(a) {
			continue
		}
		reach := r.pattern.ReachesChildren(folder.Path)
		if reach == ReachesNone {
			continue
		}
		if r.allows() {
			found |= only(ChildrenAll)
		} else {
			found |= only(ChildrenNone)
		}
		if reach == ReachesAll {
			return found, true
		}
	}
	return found, false
}

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
