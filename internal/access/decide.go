package access

import (
	"net/netip"
	"slices"
)

// Decide answers whether the actor may do that one thing to the target; what is not exactly one permission is refused.
func (p *Policy) Decide(a Actor, t Target, permission Permission) Verdict {
	return p.decide(&a, &t, permission, nil)
}

// Allowed returns the permissions for which Decide answers Allowed, for listings.
func (p *Policy) Allowed(a Actor, t Target) Set {
	out := p.judge(&a, &t, a.scope(t.Path, All), nil).allowed
	for rest := out; rest != 0; rest &= rest - 1 {
		permission := Permission(rest & -rest)
		if a.barred(t.guardFor(permission), permission) {
			out &^= Set(permission)
		}
	}
	return out
}

// decide is Decide; it tells notes, when there are any, what it looks at.
func (p *Policy) decide(a *Actor, t *Target, permission Permission, notes *notes) Verdict {
	if !permission.one() || a.scope(t.Path, Set(permission)) == 0 {
		notes.say("The key does not carry this permission, or not here.")
		return Verdict{Outcome: Denied, DecidedBy: ByDefault}
	}
	j := p.judge(a, t, Set(permission), notes)
	v := Verdict{Outcome: Denied, DecidedBy: j.by}
	switch {
	case j.allowed != 0:
		v.Outcome = Allowed
	case j.locked != 0:
		v.Outcome, v.DecidedBy, v.Asks = NeedsPassword, j.asks[0], j.asks
	default:
		return v
	}
	if guard := t.guardFor(permission); a.barred(guard, permission) {
		notes.say("The password of an entry is asked for.")
		v.Outcome, v.Asks = NeedsPassword, append([]string{guard.ID}, v.Asks...)
	}
	return v
}

// judgement is what rules, ownership and home say, before entries' passwords.
type judgement struct {
	allowed Set
	locked  Set      // not allowed, but only for want of a rule's password
	by      string   // what decided last; of use when one permission was asked about
	asks    []string // the rules that were passed over, in order
}

// judge returns what the actor may do of want: for a key, what its owner's verdict and the one with the key's own rules both allow.
func (p *Policy) judge(a *Actor, t *Target, want Set, notes *notes) judgement {
	if !p.ownRules(a) {
		return p.judgeAs(a, t, want, false, notes)
	}
	notes.say("What the key's owner may do:")
	j := p.judgeAs(a, t, want, false, notes)
	notes.say("What the key's own rules leave of it:")
	k := p.judgeAs(a, t, want, true, notes)
	reachable := (j.allowed | j.locked) & (k.allowed | k.locked)
	both := judgement{allowed: j.allowed & k.allowed, by: k.by}
	both.locked = reachable &^ both.allowed
	if j.allowed|j.locked == 0 { // the owner's own no comes before what the key's rules say
		both.by = j.by
	}
	both.asks = slices.Clip(j.asks)
	for _, id := range k.asks {
		if !slices.Contains(both.asks, id) {
			both.asks = append(both.asks, id)
		}
	}
	return both
}

// judgeAs returns the verdict of one set of rules and of what holds where they are silent.
func (p *Policy) judgeAs(a *Actor, t *Target, want Set, withKey bool, notes *notes) judgement {
	j := judgement{by: ByDefault}
	open := p.ask(p.rulesOf(a, withKey), a, t, want, &j, notes)
	if by := a.standing(t); open != 0 && by != "" {
		j.allowed |= open
		j.by = by
		open = 0
		notes.standing(by)
	}
	p.ask(p.guestRules(a), a, t, open, &j, notes)
	j.locked &^= j.allowed
	if j.locked == 0 {
		j.asks = nil
	}
	return j
}

// ask lets the rules of q decide about open, in order, and returns what they leave open.
func (p *Policy) ask(q queue, a *Actor, t *Target, open Set, j *judgement, notes *notes) Set {
	ip, path := a.address(), bytesOf(t.Path)
	for open != 0 || notes != nil {
		r := q.next()
		if r == nil {
			break
		}
		if open == 0 {
			notes.late(r, r.fit(a, t, path, ip, Set(notes.permission)))
			continue
		}
		fit := r.fit(a, t, path, ip, open)
		notes.rule(r, fit)
		switch fit {
		case passedOver:
			j.locked |= r.Permissions & open
			j.asks = append(j.asks, r.ID)
		case decides:
			if r.allows() {
				j.allowed |= r.Permissions & open
			}
			open &^= r.Permissions
			j.by = r.ID
		}
	}
	return open
}

// fit says how a rule suits a question.
type fit uint8

const (
	decides fit = iota
	passedOver
	otherPermission
	otherMount
	otherPath
	otherAddress
)

// fit returns how r, whose subject the caller is, suits a question about any of open; path is the target's in the form that patterns read.
func (r *rule) fit(a *Actor, t *Target, path string, ip netip.Addr, open Set) fit {
	switch {
	case r.Permissions&open == 0:
		return otherPermission
	case r.MountID != "" && r.MountID != t.MountID:
		return otherMount
	case !r.pattern.match(path):
		return otherPath
	case !r.here(ip):
		return otherAddress
	case r.locked(a):
		return passedOver
	}
	return decides
}
