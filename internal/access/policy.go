package access

import (
	"cmp"
	"net/netip"
	"slices"

	"larder/internal/fault"
)

// Effect is what a rule does.
type Effect string

// The effects.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// Rule is one path permission rule. Exactly one of Role, UserID and KeyID is set; where stored data
// says otherwise, the key counts before the user and the user before the role.
type Rule struct {
	ID              string
	Pattern         string
	Effect          Effect
	MountID         string // "" for all mounts
	Role            Role
	UserID          string
	KeyID           string
	Permissions     Set  // empty for all six
	RequirePassword bool // allow only: passed over until the password was given
	// what Actor.Unlocked names once it was; another one with each password, "" for the ID
	PasswordID string
	AllowedIPs []netip.Prefix // an allow matches from there only; a deny denies everybody who is not there
	Priority   int            // high first
	CreatedAt  int64          // older first, in any unit
}

// Validate reports what keeps r from being stored. That a required password exists is for the
// caller to see to. Fault: Invalid.
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

// Policy is a set of rules ready to be asked, and whether guests are let in. It never changes and
// is safe for concurrent use.
type Policy struct {
	guestAccess bool
	mounts      Mounts  // nil when they are not known
	rules       []*rule // in order of evaluation
	byKey       map[string][]*rule
	byUser      map[string][]*rule
	byRole      map[Role][]*rule
}

// noteRule is a Rule made ready.
type rule struct {
	Rule
	pattern Pattern
	subject subject
	order   int // in Policy.rules
}

// subject orders rules of one priority.
type subject uint8

const (
	forKey subject = iota
	forUser
	forRole
)

// NewPolicy compiles and sorts rules, in whatever order they come. It keeps no reference to them.
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

// compileRule compiles r; nil for what can never decide.
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
		return nil // it concerns nobody
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

// unmapped returns a prefix of IPv4 addresses that are mapped into IPv6 as one of IPv4
// addresses (abuse case C59).
func unmapped(prefix netip.Prefix) netip.Prefix {
	if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
		return netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}
	return prefix
}

// compareRules orders rules: the one that is asked first is the smaller. Ids settle what nothing
// else does, so that equal sets of rules decide alike.
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

// severity puts deny before allow.
func (r *rule) severity() int {
	if r.allows() {
		return 1
	}
	return 0
}

// allows reports whether r grants; an effect that is unknown denies.
func (r *rule) allows() bool { return r.Effect == Allow }

// ruleQueue hands out the rules of one caller in order, from up to three lists that
// are in order themselves.
type ruleQueue [3][]*rule

// rulesOf returns the rules that have the caller as their subject. Those for guests in general are
// not among them, unless the caller's account is a guest's.
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

// guestRules returns the rules by which the caller is judged as a guest where nothing else decides;
// none while guest access is off, and none for accounts of guests, whom they concern anyway.
func (p *Policy) guestRules(a *Actor) ruleQueue {
	if !p.guestAccess || a.UserID != "" && a.Role == Guest {
		return ruleQueue{}
	}
	return ruleQueue{p.byRole[Guest]}
}

// next takes the first rule out of the queue, nil when there is none.
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

// keyHasRules reports whether the caller acts through a key that has rules of its own, so that
// there are two verdicts to agree.
func (p *Policy) keyHasRules(a *Actor) bool {
	return a.Key != nil && len(p.byKey[a.Key.ID]) > 0
}

// appliesFrom reports whether r applies to callers from ip.
func (r *rule) appliesFrom(ip netip.Addr) bool {
	if len(r.AllowedIPs) == 0 {
		return true
	}
	return r.contains(ip) == r.allows()
}

func (r *rule) contains(ip netip.Addr) bool {
	for _, prefix := range r.AllowedIPs {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}

// needsPassword reports whether r allows, but only to those who give a password that the
// caller has not given.
func (r *rule) needsPassword(a *Actor) bool {
	return r.RequirePassword && r.allows() && !a.knowsPassword(cmp.Or(r.PasswordID, r.ID))
}

// downloadConditionalAs reports whether r asks for more than a path: a password, or an address.
func (r *rule) conditional() bool {
	return len(r.AllowedIPs) > 0 || r.RequirePassword && r.allows()
}
