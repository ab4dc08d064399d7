package access

import (
	"net/netip"
	"slices"
)

// Decide answers whether the actor may do that one thing to the target; what is not exactly
// one permission is refused.
func (p *Policy) Decide(a Actor, t Target, permission Permission) Verdict {
	return p.decide(&a, &t, permission, nil)
}

// Allowed returns the permissions for which Decide answers Allowed, for listings.
func (p *Policy) Allowed(a Actor, t Target) Set {
	out := p.judge(&a, &t, a.limitToKey(t.Path, All), nil).allowed
	for rest := out; rest != 0; rest &= rest - 1 {
		permission := Permission(rest & -rest)
		if a.lacksPassword(t.passwordFor(permission), permission) {
			out &^= Set(permission)
		}
	}
	return out
}

// decide is Decide; it tells notes, when there are any, what it looks at.
func (p *Policy) decide(a *Actor, t *Target, permission Permission, trace *trace) Verdict {
	if !permission.single() || a.limitToKey(t.Path, Set(permission)) == 0 {
		trace.note("The key does not carry this permission, or not here.")
		return Verdict{Outcome: Denied, DecidedBy: ByDefault}
	}
	j := p.judge(a, t, Set(permission), trace)
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
		trace.note("The password of an entry is asked for.")
		v.Outcome, v.PasswordIDs = NeedsPassword, append([]string{guard.ID}, v.PasswordIDs...)
	}
	return v
}

// judgement is what rules, ownership and home say, before entries' passwords.
type judgement struct {
	allowed       Set
	needPassword  Set      // not allowed, but only for want of a rule's password
	decidedBy     string   // what decided last; of use when one permission was asked about
	passwordRules []string // the rules that were passed over, in order
}

// judge returns what the actor may do of want: for a key, what its owner's verdict and the one with
// the key's own rules both allow.
func (p *Policy) judge(a *Actor, t *Target, want Set, trace *trace) judgement {
	if !p.keyHasRules(a) {
		return p.judgeAs(a, t, want, false, trace)
	}
	trace.note("What the key's owner may do:")
	j := p.judgeAs(a, t, want, false, trace)
	trace.note("What the key's own rules leave of it:")
	k := p.judgeAs(a, t, want, true, trace)
	reachable := (j.allowed | j.needPassword) & (k.allowed | k.needPassword)
	both := judgement{allowed: j.allowed & k.allowed, decidedBy: k.decidedBy}
	both.needPassword = reachable &^ both.allowed
	if j.allowed|j.needPassword == 0 { // the owner's own no comes before what the key's rules say
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

// judgeAs returns the verdict of one set of rules and of what holds where they are silent.
func (p *Policy) judgeAs(a *Actor, t *Target, want Set, withKey bool, trace *trace) judgement {
	j := judgement{decidedBy: ByDefault}
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

// applyRules lets the rules of q decide about open, in order, and returns what they leave open.
func (p *Policy) applyRules(q ruleQueue, a *Actor, t *Target, open Set, j *judgement, trace *trace) Set {
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

// ruleFit says how a rule suits a question.
type ruleFit uint8

const (
	decides ruleFit = iota
	passedOver
	otherPermission
	otherMount
	otherPath
	otherAddress
)

// ruleFit returns how r, whose subject the caller is, suits a question about any of open; path is
// the target's in the form that patterns read.
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
