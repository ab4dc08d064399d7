package access

// Step is what Explain tells about one rule.
type Step struct {
	RuleID  string // "" for what is no rule: a key's scope, what stands in for rules, an entry's password
	Matched bool   // subject, mount, path, address and permission fit, whether or not the rule came to decide
	Reason  string // a sentence for a person
}

// Explain is Decide with a trace. Steps come in the order in which things were looked at, then the
// rules that were not: each rule of the policy appears, those of the owner twice when a key has
// rules of its own, since there are two verdicts then.
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
			n.add(r.ID, false, "Not asked.")
		case p.appliesWithGuestAccess(&a, r):
			n.add(r.ID, false, "Guest access is off.")
		default:
			n.add(r.ID, false, "It is for somebody else.")
		}
	}
	return v, n.steps
}

// appliesWithGuestAccess reports whether r would concern the caller as a guest,
// were guest access on.
func (p *Policy) appliesWithGuestAccess(a *Actor, r *rule) bool {
	return !p.guestAccess && r.subject == forRole && r.Role == Guest
}

// trace collects what an evaluation looks at. A nil *notes takes no notes.
type trace struct {
	permission Permission
	steps      []Step
	seen       map[*rule]bool
}

func (n *trace) add(id string, matched bool, reason string) {
	n.steps = append(n.steps, Step{RuleID: id, Matched: matched, Reason: reason})
}

// note notes something that is not a rule.
func (n *trace) note(reason string) {
	if n != nil {
		n.add("", true, reason)
	}
}

// noteGrant notes what decided where no rule did.
func (n *trace) noteGrant(by string) {
	if n == nil {
		return
	}
	switch by {
	case ByAdministrator:
		n.note("No rule decides, and administrators may do everything.")
	case ByOwner:
		n.note("No rule decides, and it is the caller's own.")
	case ByHome:
		n.note("No rule decides, and it lies in the caller's home.")
	}
}

// noteRule notes a rule that was asked.
func (n *trace) noteRule(r *rule, f ruleFit) {
	if n == nil {
		return
	}
	n.seen[r] = true
	n.add(r.ID, f == decides || f == passedOver, f.reason(r))
}

// noteAfterDecision notes a rule that came after the decision.
func (n *trace) noteAfterDecision(r *rule, f ruleFit) {
	if f == decides || f == passedOver {
		n.seen[r] = true
		n.add(r.ID, true, "It matches, but the decision had fallen before.")
		return
	}
	n.noteRule(r, f)
}

// reason returns the sentence for how r fits.
func (f ruleFit) reason(r *rule) string {
	switch f {
	case passedOver:
		return "It would allow this, but its password was not given: passed over."
	case otherPermission:
		return "It does not name this permission."
	case otherMount:
		return "It is for another mount."
	case otherPath:
		return "Its pattern does not cover the path."
	case otherAddress:
		if r.allows() {
			return "It allows from other addresses only."
		}
		return "It does not deny callers from this address."
	}
	if r.allows() {
		return "It decides: allowed."
	}
	return "It decides: denied."
}
