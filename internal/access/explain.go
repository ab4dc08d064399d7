package access

// Step is one step of the trace that Explain returns.
type Step struct {
	RuleID  string // "" for a step without a rule: the key's permissions, ownership, an entry's password
	Matched bool   // subject, mount, path, address and permission match, whether or not the rule decided
	Reason  Reason
}

// Reason names the reason for the outcome of a step. Clients translate it: its values are stable.
type Reason string

// The reasons.
const (
	ReasonAllows         Reason = "allows"
	ReasonDenies         Reason = "denies"
	ReasonPassword       Reason = "password"
	ReasonPermission     Reason = "permission"
	ReasonMount          Reason = "mount"
	ReasonPath           Reason = "path"
	ReasonAddress        Reason = "address"
	ReasonSubject        Reason = "subject"
	ReasonLate           Reason = "late"
	ReasonNotEvaluated   Reason = "notEvaluated"
	ReasonGuestAccessOff Reason = "guestAccessOff"
	ReasonKeyLacks       Reason = "keyLacks"
	ReasonAsOwner        Reason = "asOwner"
	ReasonWithKeyRules   Reason = "withKeyRules"
	ReasonAdministrator  Reason = "administrator"
	ReasonOwner          Reason = "owner"
	ReasonHome           Reason = "home"
	ReasonEntryPassword  Reason = "entryPassword"
)

var sentences = map[Reason]string{
	ReasonAllows:         "It decides: allowed.",
	ReasonDenies:         "It decides: denied.",
	ReasonPassword:       "It would allow this, but its password was not given, so it is skipped.",
	ReasonPermission:     "It does not name this permission.",
	ReasonMount:          "It is for another mount.",
	ReasonPath:           "Its pattern does not cover the path.",
	ReasonAddress:        "It does not apply to this address.",
	ReasonSubject:        "It is for another role, user or key.",
	ReasonLate:           "It matches, but an earlier rule or ownership has decided.",
	ReasonNotEvaluated:   "Not evaluated.",
	ReasonGuestAccessOff: "Guest access is off.",
	ReasonKeyLacks:       "The key does not have this permission, or not on this path.",
	ReasonAsOwner:        "As the key's owner:",
	ReasonWithKeyRules:   "With the key's own rules:",
	ReasonAdministrator:  "No rule decides, and administrators may do everything.",
	ReasonOwner:          "No rule decides, and the caller is the owner.",
	ReasonHome:           "No rule decides, and it is in the caller's home.",
	ReasonEntryPassword:  "The password of an entry is required.",
}

// Sentence returns the reason as an English sentence about a rule or the caller, for a person.
func (r Reason) Sentence() string { return sentences[r] }

// Explain decides as Decide does and returns the steps of the decision, for administrators who ask
// why something is allowed or refused. The steps come in the order of evaluation, followed by the
// rules that were not evaluated. Each rule of the policy appears. The owner's rules appear twice
// when a key has rules of its own, since there are two verdicts then.
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
			n.add(r.ID, false, ReasonNotEvaluated)
		case p.appliesWithGuestAccess(&a, r):
			n.add(r.ID, false, ReasonGuestAccessOff)
		default:
			n.add(r.ID, false, ReasonSubject)
		}
	}
	return v, n.steps
}

// appliesWithGuestAccess reports whether r is a rule for guests that only the switched-off guest
// access keeps from applying to the caller.
func (p *Policy) appliesWithGuestAccess(a *Actor, r *rule) bool {
	return !p.guestAccess && r.subject == forRole && r.Role == Guest
}

// trace records the steps of an evaluation. A nil *trace records nothing.
type trace struct {
	permission Permission
	steps      []Step
	seen       map[*rule]bool
}

// add records a step about the rule with that id, "" for none.
func (t *trace) add(id string, matched bool, reason Reason) {
	t.steps = append(t.steps, Step{RuleID: id, Matched: matched, Reason: reason})
}

// note records a step without a rule, such as ownership. A nil trace records nothing.
func (t *trace) note(reason Reason) {
	if t != nil {
		t.add("", true, reason)
	}
}

// noteGrant records why an actor is allowed without a rule; by is one of the By constants.
func (t *trace) noteGrant(by string) {
	if t == nil {
		return
	}
	switch by {
	case ByAdministrator:
		t.note(ReasonAdministrator)
	case ByOwner:
		t.note(ReasonOwner)
	case ByHome:
		t.note(ReasonHome)
	}
}

// noteRule records a rule that was evaluated, and how it matched.
func (t *trace) noteRule(r *rule, f ruleFit) {
	if t == nil {
		return
	}
	t.seen[r] = true
	t.add(r.ID, f == decides || f == passedOver, f.reason(r))
}

// noteAfterDecision records a rule that comes after the one that decided: one that matches is late,
// any other has the reason of its mismatch.
func (t *trace) noteAfterDecision(r *rule, f ruleFit) {
	if f == decides || f == passedOver {
		t.seen[r] = true
		t.add(r.ID, true, ReasonLate)
		return
	}
	t.noteRule(r, f)
}

// reason returns the reason that a trace gives for a rule that matched in the way f.
func (f ruleFit) reason(r *rule) Reason {
	switch f {
	case passedOver:
		return ReasonPassword
	case otherPermission:
		return ReasonPermission
	case otherMount:
		return ReasonMount
	case otherPath:
		return ReasonPath
	case otherAddress:
		return ReasonAddress
	}
	if r.allows() {
		return ReasonAllows
	}
	return ReasonDenies
}
