package access

// Public reports whether anybody, from any address and without a password or an account,
// may download the target.
func (p *Policy) Public(t Target) bool {
	// An address that is not known lies in no prefix: an allow for certain addresses does not help
	// it, a deny except for some hits it.
	return p.Decide(Actor{Role: Guest}, t, Download).Outcome == Allowed
}

// LinkAllowed reports whether a permanent link to the target works as far as guests are concerned:
// they are let in, no entry asks for a password, and no rule makes a guest's download here depend
// on a password or an address. What no rule opens is fine, and so is what one plainly denies: the
// link is what publishes the file. A condition does no harm either where the next rule allows those
// who do not meet it.
func (p *Policy) LinkAllowed(t Target) bool {
	return p.guestAccess && !p.DownloadConditional(Actor{Role: Guest}, t)
}

// DownloadConditional reports whether a download of the target in the name of a depends on a
// password or on the address that it is asked for from. What passwords a has given, and from where
// a asks, does not matter: it is whoever holds an address that will ask.
func (p *Policy) DownloadConditional(a Actor, t Target) bool {
	return t.Password != nil || p.downloadConditionalAs(&a, &t, false) || p.keyHasRules(&a) &&
		p.downloadConditionalAs(&a, &t, true)
}

// downloadConditionalAs is Conditional for one set of rules and what holds where they are silent.
func (p *Policy) downloadConditionalAs(a *Actor, t *Target, withKey bool) bool {
	conditions := false
	for _, q := range []ruleQueue{p.rulesOf(a, withKey), p.guestRules(a)} {
		for r := q.next(); r != nil; r = q.next() {
			if !r.Permissions.Has(Download) || r.MountID != "" && r.MountID != t.MountID || !r.pattern.Match(t.Path) {
				continue
			}
			switch {
			case r.conditional() && !r.allows():
				return true
			case r.conditional():
				conditions = true
			default: // it decides about those who meet no condition
				return conditions && !r.allows()
			}
		}
		if a.grantWithoutRule(t) != "" { // asked before the rules for guests
			return false
		}
	}
	return conditions
}

// AsksPassword reports whether somebody needs a password for that one thing: a, whatever passwords
// they have given, or a visitor at the same address.
func (p *Policy) AsksPassword(a Actor, t Target, permission Permission) bool {
	a.Unlocked = nil
	visitor := Actor{Role: Guest, IP: a.IP}
	return t.passwordFor(permission) != nil || p.Decide(a, t, permission).Outcome == NeedsPassword ||
		p.Decide(visitor, t, permission).Outcome == NeedsPassword
}

// GuestAccess reports whether visitors without an account are let in at all.
func (p *Policy) GuestAccess() bool { return p.guestAccess }
