package access

import (
	"cmp"
	"net/netip"
	"slices"

	"larder/internal/fault"
)

// Effect is the effect of a rule.
type Effect string

// The effects.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// Rule is a path permission rule. Exactly one of Role, UserID and KeyID is set. If stored data
// violates this, KeyID counts before UserID, and UserID before Role.
type Rule struct {
	ID              string
	Pattern         string
	Effect          Effect
	MountID         string // "" for all mounts
	Role            Role
	UserID          string
	KeyID           string
	Permissions     Set  // empty for all six
	RequirePassword bool // allow only: the rule is skipped until the password was given
	// the id that Actor.Unlocked holds once the password was given; changes with each password; ""
	// for ID
	PasswordID string
	AllowedIPs []netip.Prefix // an allow rule applies to these addresses only, a deny rule to all others
	Priority   int            // highest first
	CreatedAt  int64          // oldest first, in any unit
}

// Validate returns nil for a rule that can be stored, else the fault with the reason: a bad
// pattern, effect or permission, not exactly one subject, or a password on a deny rule. The caller
// checks that a required password exists. Fault: Invalid.
func (r Rule) Validate() error {
	if _, err := ParsePattern(r.Pattern); err != nil {
		return err
	}
	subjects := 0
	for _, set := range []bool{r.Role != "", r.UserID != "", r.KeyID != ""} {
		if set {
			subjects++
		}
	}
	switch {
	case r.Effect != Allow && r.Effect != Deny:
		return fault.New(fault.Invalid, "A rule's effect is allow or deny.")
	case subjects != 1:
		return fault.New(fault.Invalid, "A rule is for exactly one of a role, a user and an API key.")
	case r.Effect == Deny && r.RequirePassword:
		return fault.New(fault.Invalid, "Only a rule that allows can require a password.")
	case r.Permissions&^All != 0:
		return fault.New(fault.Invalid, "A rule names permissions that do not exist.")
	}
	if r.Role != "" {
		if _, err := ParseRole(string(r.Role)); err != nil {
			return err
		}
	}
	return nil
}

// Policy is a set of compiled rules and the setting of guest access. It is immutable and safe for
// concurrent use.
type Policy struct {
	guestAccess bool
	mounts      Mounts  // nil if unknown
	rules       []*rule // in order of evaluation
	byKey       map[string][]*rule
	byUser      map[string][]*rule
	byRole      map[Role][]*rule
}

// rule is a compiled Rule.
type rule struct {
	Rule
	pattern Pattern
	subject subject
	order   int // index in Policy.rules
}

// subject is the kind of subject, which orders rules of the same priority.
type subject uint8

const (
	forKey subject = iota
	forUser
	forRole
)

// NewPolicy compiles rules, which may come in any order, into a policy, and sorts them by
// evaluation. guestAccess tells whether the rules for guests apply to everybody. It keeps no
// reference to rules.
func NewPolicy(rules []Rule, guestAccess bool) *Policy {
	p := &Policy{
		guestAccess: guestAccess,
		rules:       make([]*rule, 0, len(rules)),
		byKey:       map[string][]*rule{},
		byUser:      map[string][]*rule{},
		byRole:      map[Role][]*rule{},
	}
	for _, r := range rules {
		if ready := compileRule(r); ready != nil {
			p.rules = append(p.rules, ready)
		}
	}
	slices.SortFunc(p.rules, compareRules)
	for i, r := range p.rules {
		r.order = i
		switch r.subject {
		case forKey:
			p.byKey[r.KeyID] = append(p.byKey[r.KeyID], r)
		case forUser:
			p.byUser[r.UserID] = append(p.byUser[r.UserID], r)
		case forRole:
			p.byRole[r.Role] = append(p.byRole[r.Role], r)
		}
	}
	return p
}

// compileRule parses the pattern of r and puts its addresses into the form that callers' addresses
// have. It returns nil for a rule that can never decide: one without a subject, and an allow rule
// whose pattern can't be parsed. A deny rule with such a pattern covers all paths.
func compileRule(r Rule) *rule {
	pattern, err := ParsePattern(r.Pattern)
	if err != nil {
		if r.Effect == Allow {
			return nil
		}
		pattern = matchAll
	}
	if r.Permissions == 0 {
		r.Permissions = All
	}
	ready := &rule{Rule: r, pattern: pattern, subject: forRole}
	switch {
	case r.KeyID == "" && r.UserID == "" && r.Role == "":
		return nil // without a subject
	case r.KeyID != "":
		ready.subject = forKey
	case r.UserID != "":
		ready.subject = forUser
	}
	ready.AllowedIPs = make([]netip.Prefix, len(r.AllowedIPs))
	for i, prefix := range r.AllowedIPs {
		ready.AllowedIPs[i] = unmapped(prefix)
	}
	return ready
}

// matchAll covers all paths.
var matchAll = compilePattern("/**", []string{"**"})

// unmapped converts a range of IPv4 addresses that are written as IPv6 (::ffff:192.0.2.0/120) into
// the IPv4 range (abuse case C59); it returns others unchanged.
func unmapped(prefix netip.Prefix) netip.Prefix {
	if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
		return netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}
	return prefix
}

// compareRules orders rules by their evaluation: the smaller one is evaluated first. The id comes
// last, so that equal sets of rules always decide alike.
func compareRules(a, b *rule) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		cmp.Compare(a.subject, b.subject),
		cmp.Compare(b.pattern.rank.literalPrefix, a.pattern.rank.literalPrefix),
		cmp.Compare(b.pattern.rank.literals, a.pattern.rank.literals),
		cmp.Compare(a.pattern.rank.globs, b.pattern.rank.globs),
		cmp.Compare(a.severity(), b.severity()),
		cmp.Compare(a.CreatedAt, b.CreatedAt),
		cmp.Compare(a.ID, b.ID),
	)
}

// severity orders deny before allow among rules that are equal otherwise.
func (r *rule) severity() int {
	if r.allows() {
		return 1
	}
	return 0
}

// allows reports whether r grants permissions. An unknown effect denies.
func (r *rule) allows() bool { return r.Effect == Allow }

// ruleQueue returns the rules of one caller in order. It merges up to three sorted lists.
type ruleQueue [3][]*rule

// rulesOf returns the rules whose subject is the caller: those of the account and its role, and
// withKey those of its key. The rules of the role guest are included only for accounts of that
// role.
func (p *Policy) rulesOf(a *Actor, withKey bool) ruleQueue {
	var q ruleQueue
	if a.UserID == "" {
		return q
	}
	if withKey && a.Key != nil {
		q[0] = p.byKey[a.Key.ID]
	}
	q[1], q[2] = p.byUser[a.UserID], p.byRole[a.Role]
	return q
}

// guestRules returns the rules of the role guest, which apply to every caller when nothing else
// decides. It returns none while guest access is off, and none for accounts with the role guest,
// whose rules are in rulesOf.
func (p *Policy) guestRules(a *Actor) ruleQueue {
	if !p.guestAccess || a.UserID != "" && a.Role == Guest {
		return ruleQueue{}
	}
	return ruleQueue{p.byRole[Guest]}
}

// next removes and returns the first rule, nil when the queue is empty.
func (q *ruleQueue) next() *rule {
	best := -1
	for i, list := range q {
		if len(list) > 0 && (best < 0 || list[0].order < q[best][0].order) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	r := q[best][0]
	q[best] = q[best][1:]
	return r
}

// keyHasRules reports whether the caller uses a key that has rules of its own, so that two verdicts
// must agree.
func (p *Policy) keyHasRules(a *Actor) bool {
	return a.Key != nil && len(p.byKey[a.Key.ID]) > 0
}

// appliesFrom reports whether r applies to callers from ip: an allow rule with addresses to these,
// a deny rule with addresses to all others.
func (r *rule) appliesFrom(ip netip.Addr) bool {
	if len(r.AllowedIPs) == 0 {
		return true
	}
	return r.contains(ip) == r.allows()
}

// contains reports whether ip is in one of the rule's address ranges.
func (r *rule) contains(ip netip.Addr) bool {
	for _, prefix := range r.AllowedIPs {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}

// needsPassword reports whether r allows only with a password that the caller has not given.
func (r *rule) needsPassword(a *Actor) bool {
	return r.RequirePassword && r.allows() && !a.knowsPassword(cmp.Or(r.PasswordID, r.ID))
}

// conditional reports whether r depends on more than the path: on the address of the caller, or on
// a password.
func (r *rule) conditional() bool {
	return len(r.AllowedIPs) > 0 || r.RequirePassword && r.allows()
}
