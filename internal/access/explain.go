package access

// Step is one step of the trace that Explain returns.
type Step struct {
	RuleID  string // "" for a step without a rule: the key's permissions, ownership, an entry's password
	Matched bool   // subject, mount, path, address and permission match, whether or not the rule decided
	Reason  string // a sentence for a person
}

// Explain is Decide with a trace. The steps come in the order of evaluation, followed by the rules
// that were not evaluated. Each rule of the policy appears. The owner's rules appear twice when a
// key has rules of its own, since there are two verdicts then.
func (p *Policy) Explain(a Actor, t Target, permission Permission) (Verdict, []Step) {
	n := &trace{permission: permission, seen: map[*rule]bool{}}
	v := p.decide(&a, &t, permission, n)
	mine := map[*rule]bool{}
	for _, q := range []ruleQueue{p.rulesOf(&a, true), p.guestRules(&a)} {
		for r := q.next(); r != nil; r = q.next() {
			mine[r] = true
		}
	}
	for _, r := range p.rules {
		switch {
		case n.seen[r]:
		case mine[r]:
			n.add(r.ID, false, "Not evaluated.")
		case p.appliesWithGuestAccess(&a, r):
			n.add(r.ID, false, "Guest access is off.")
		default:
			n.add(r.ID, false, "It is for another role, user or key.")
		}
	}
	return v, n.steps
}

// appliesWithGuestAccess reports whether r would apply to the caller as a guest if guest access
// were on.
func (p *Policy) appliesWithGuestAccess(a *Actor, r *rule) bool {
	return !p.guestAccess && r.subject == forRole && r.Role == Guest
}

// trace records the steps of an evaluation. A nil *trace records nothing.
type trace struct {
	permission Permission
	steps      []Step
	seen       map[*rule]bool
}

func (t *trace) add(id string, matched bool, reason string) {
	t.steps = append(t.steps, Step{RuleID: id, Matched: matched, Reason: reason})
}

// note records a step without a rule.
func (t *trace) note(reason string) {
	if t != nil {
		t.add("", true, reason)
	}
}

// noteGrant records why an actor is allowed without a rule.
func (t *trace) noteGrant(by string) {
	if t == nil {
		return
	}
	switch by {
	case ByAdministrator:
		t.note("No rule decides, and administrators may do everything.")
	case ByOwner:
		t.note("No rule decides, and the caller is the owner.")
	case ByHome:
		t.note("No rule decides, and it is in the caller's home.")
	}
}

// noteRule records a rule that was evaluated.
func (t *trace) noteRule(r *rule, f ruleFit) {
	if t == nil {
		return
	}
	t.seen[r] = true
	t.add(r.ID, f == decides || f == passedOver, f.reason(r))
}

// noteAfterDecision records a rule that comes after the one that decided.
func (t *trace) noteAfterDecision(r *rule, f ruleFit) {
	if f == decides || f == passedOver {
		t.seen[r] = true
		t.add(r.ID, true, "It matches, but an earlier rule or ownership has decided.")
		return
	}
	t.noteRule(r, f)
}

// reason returns a sentence for the way in which r matched.
func (f ruleFit) reason(r *rule) string {
	switch f {
	case passedOver:
		return "It would allow this, but its password was not given, so it is skipped."
	case otherPermission:
		return "It does not name this permission."
	case otherMount:
		return "It is for another mount."
	case otherPath:
		return "Its pattern does not cover the path."
	case otherAddress:
		if r.allows() {
			return "It allows requests from other addresses only."
		}
		return "It does not deny callers from this address."
	}
	if r.allows() {
		return "It decides: allowed."
	}
	return "It decides: denied."
}
