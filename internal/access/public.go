package access

// Public reports whether anybody, from any address and without a password or an account, may download the target.
func (p *Policy) Public(t Target) bool {
	// An address that is not known lies in no prefix: an allow for certain addresses does not help it, a deny except for some hits it.
	return p.Decide(Actor{Role: Guest}, t, Download).Outcome == Allowed
}

// LinkOpen reports whether a permanent link to the target works as far as guests are concerned: they are let in, no entry asks for a password,
// and no rule makes a guest's download here depend on a password or an address. What no rule opens is fine, and so is what one plainly
// denies: the link is what publishes the file. A condition does no harm either where the next rule allows those who do not meet it.
func (p *Policy) LinkOpen(t Target) bool {
	if !p.guestAccess || t.Guard != nil {
		return false
	}
	conditions := false
	for _, r := range p.byRole[Guest] {
		if !r.Permissions.Has(Download) || r.MountID != "" && r.MountID != t.MountID || !r.pattern.Match(t.Path) {
			continue
		}
		switch {
		case r.conditional() && !r.allows():
			return false
		case r.conditional():
			conditions = true
		default:
			return r.allows() || !conditions
		}
	}
	return !conditions
}
