package access

import (
	"net/netip"
	"slices"
)

// Decide decides whether the actor may use one permission on the target: allowed, denied, or a
// password is needed. The bounds of the actor's key, the rules, ownership and the home, and the
// passwords of entries decide, in the order of the package comment. It refuses a value that is not
// exactly one permission.
func (p *Policy) Decide(a Actor, t Target, permission Permission) Verdict {
	return p.decide(&a, &t, permission, nil)
}

// Allowed returns the permissions for which Decide answers Allowed, at the cost of about one
// Decide. Listings show it for each entry.
func (p *Policy) Allowed(a Actor, t Target) Set {
	if a.Operator {
		return All
	}
	out := p.evaluate(&a, &t, a.limitToKey(t.Path, All), nil).allowed
	for rest := out; rest != 0; rest &= rest - 1 {
		permission := Permission(rest & -rest)
		if a.lacksPassword(t.passwordFor(permission), permission) {
			out &^= Set(permission)
		}
	}
	return out
}

// decide decides whether the actor may use one permission on the target, and records its steps in
// trace unless that is nil.
func (p *Policy) decide(a *Actor, t *Target, permission Permission, trace *trace) Verdict {
	if a.Operator && permission.single() {
		return Verdict{Outcome: Allowed, DecidedBy: ByOperator}
	}
	if !permission.single() || a.limitToKey(t.Path, Set(permission)) == 0 {
		trace.note(ReasonKeyLacks)
		return Verdict{Outcome: Denied, DecidedBy: ByDefault}
	}
	j := p.evaluate(a, t, Set(permission), trace)
	v := Verdict{Outcome: Denied, DecidedBy: j.decidedBy}
	switch {
	case j.allowed != 0:
		v.Outcome = Allowed
	case j.needPassword != 0:
		v.Outcome, v.DecidedBy, v.PasswordIDs = NeedsPassword, j.passwordRules[0], j.passwordRules
	default:
		return v
	}
	if guard := t.passwordFor(permission); a.lacksPassword(guard, permission) {
		trace.note(ReasonEntryPassword)
		v.Outcome, v.PasswordIDs = NeedsPassword, append([]string{guard.ID}, v.PasswordIDs...)
	}
	return v
}

// evaluation is the result of rules, ownership and home, before the passwords of entries.
type evaluation struct {
	allowed       Set
	needPassword  Set      // refused only because a password of a rule was not given
	decidedBy     string   // the last reason; meaningful for a single permission
	passwordRules []string // the rules that were skipped, in order
}

// evaluate returns which permissions of want the actor has by rules, ownership and home. For a key
// with rules of its own it combines the verdict of the owner and the verdict with the key's rules:
// both must allow.
func (p *Policy) evaluate(a *Actor, t *Target, want Set, trace *trace) evaluation {
	if !p.keyHasRules(a) {
		return p.evaluateRuleSet(a, t, want, false, trace)
	}
	trace.note(ReasonAsOwner)
	j := p.evaluateRuleSet(a, t, want, false, trace)
	trace.note(ReasonWithKeyRules)
	k := p.evaluateRuleSet(a, t, want, true, trace)
	reachable := (j.allowed | j.needPassword) & (k.allowed | k.needPassword)
	both := evaluation{allowed: j.allowed & k.allowed, decidedBy: k.decidedBy}
	both.needPassword = reachable &^ both.allowed
	if j.allowed|j.needPassword == 0 { // a refusal of the owner comes before the key's rules
		both.decidedBy = j.decidedBy
	}
	both.passwordRules = slices.Clip(j.passwordRules)
	for _, id := range k.passwordRules {
		if !slices.Contains(both.passwordRules, id) {
			both.passwordRules = append(both.passwordRules, id)
		}
	}
	return both
}

// evaluateRuleSet returns the verdict of one set of rules: those of the account and its role,
// withKey also those of the key, then ownership and home, then the rules of guests. Each decides
// only the permissions that the ones before left open.
func (p *Policy) evaluateRuleSet(a *Actor, t *Target, want Set, withKey bool, trace *trace) evaluation {
	j := evaluation{decidedBy: ByDefault}
	open := p.applyRules(p.rulesOf(a, withKey), a, t, want, &j, trace)
	if by := a.grantWithoutRule(t); open != 0 && by != "" {
		j.allowed |= open
		j.decidedBy = by
		open = 0
		trace.noteGrant(by)
	}
	p.applyRules(p.guestRules(a), a, t, open, &j, trace)
	j.needPassword &^= j.allowed
	if j.needPassword == 0 {
		j.passwordRules = nil
	}
	return j
}

// applyRules evaluates the rules of q in order for the permissions in open, adds what they decide
// to j, and returns the permissions that no rule decided.
func (p *Policy) applyRules(q ruleQueue, a *Actor, t *Target, open Set, j *evaluation, trace *trace) Set {
	ip, path := a.address(), matchText(t.Path)
	for open != 0 || trace != nil {
		r := q.next()
		if r == nil {
			break
		}
		if open == 0 {
			trace.noteAfterDecision(r, r.fit(a, t, path, ip, Set(trace.permission)))
			continue
		}
		fit := r.fit(a, t, path, ip, open)
		trace.noteRule(r, fit)
		switch fit {
		case passedOver:
			j.needPassword |= r.Permissions & open
			j.passwordRules = append(j.passwordRules, r.ID)
		case decides:
			if r.allows() {
				j.allowed |= r.Permissions & open
			}
			open &^= r.Permissions
			j.decidedBy = r.ID
		}
	}
	return open
}

// ruleFit is the result of matching a rule.
type ruleFit uint8

const (
	decides ruleFit = iota
	passedOver
	otherPermission
	otherMount
	otherPath
	otherAddress
)

// fit returns how r matches a question about any permission in open: r decides, is passed over
// because its password was not given, or is for another permission, mount, path or address. The
// caller must be the subject of r. path is the matchText of the target's path, ip the caller's
// address.
func (r *rule) fit(a *Actor, t *Target, path string, ip netip.Addr, open Set) ruleFit {
	switch {
	case r.Permissions&open == 0:
		return otherPermission
	case r.MountID != "" && r.MountID != t.MountID:
		return otherMount
	case !r.pattern.match(path):
		return otherPath
	case !r.appliesFrom(ip):
		return otherAddress
	case r.needsPassword(a):
		return passedOver
	}
	return decides
}
