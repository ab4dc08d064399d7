package access

// Public reports whether everybody may download the target, from any address and without a password
// or an account. Such files have public addresses.
func (p *Policy) Public(t Target) bool {
	// An unknown address is in no prefix: an allow rule for certain addresses does not apply to it,
	// and a deny rule except for some addresses does.
	return p.Decide(Actor{Role: Guest}, t, Download).Outcome == Allowed
}

// LinkAllowed reports whether a permanent link to the target works for guests: guest access is on,
// no entry requires a password, and no rule makes a guest's download depend on a password or an
// address. It also works where no rule allows the download, and where a rule denies it without a
// condition, because the link itself publishes the file. A condition does no harm if the next rule
// allows callers who do not meet it.
func (p *Policy) LinkAllowed(t Target) bool {
	return p.guestAccess && !p.DownloadConditional(Actor{Role: Guest}, t)
}

// DownloadConditional reports whether a download of the target on behalf of a depends on a password
// or on the address of the request. Then no address may be given out that works without these
// checks. It ignores the passwords that a has given and the address of a, since another client will
// send the request.
func (p *Policy) DownloadConditional(a Actor, t Target) bool {
	return t.Password != nil || p.downloadConditionalAs(&a, &t, false) || p.keyHasRules(&a) &&
		p.downloadConditionalAs(&a, &t, true)
}

// downloadConditionalAs reports, for one set of rules (withKey those of the key included), and for
// ownership and home where the rules do not decide, whether a download depends on a password of a
// rule or on the address of the request. An allow rule with a condition does not count if callers
// who don't meet it are allowed all the same: by the next rule or as the owner.
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
			default: // it decides for callers who meet no condition
				return conditions && !r.allows()
			}
		}
		if a.grantWithoutRule(t) != "" { // comes before the rules of guests
			return false
		}
	}
	return conditions
}

// AsksPassword reports whether a needs a password for one permission, ignoring the passwords that a
// has given, or whether a visitor at the same address needs one.
func (p *Policy) AsksPassword(a Actor, t Target, permission Permission) bool {
	a.Unlocked = nil
	visitor := Actor{Role: Guest, IP: a.IP}
	return t.passwordFor(permission) != nil || p.Decide(a, t, permission).Outcome == NeedsPassword ||
		p.Decide(visitor, t, permission).Outcome == NeedsPassword
}

// GuestAccess reports whether visitors without an account have access at all.
func (p *Policy) GuestAccess() bool { return p.guestAccess }
