package access

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"larder/internal/vpath"
)

// Filter selects rules of a list. Its zero value selects all of them.
type Filter struct {
	Search  string // part of the pattern, in any case, or a path that the pattern covers
	Effect  Effect // "" for both
	Subject string // the name of a role, SubjectAccount or SubjectKey; "" for all
	UserID  string // the account that the rule is for; "" for all
}

// The subjects that a filter selects besides the roles.
const (
	SubjectAccount = "account"
	SubjectKey     = "key"
)

// listed is a rule of a list. compiled is nil for a rule that can never decide.
type listed struct {
	stored   StoredRule
	compiled *rule
}

// List returns at most limit of the rules that f selects, without the first offset ones, in the
// order of evaluation, and the number of all rules that f selects. Rules that can never decide come
// last, in the order of All.
func (s *Store) List(ctx context.Context, f Filter, limit, offset int) ([]StoredRule, int, error) {
	stored, err := s.All(ctx)
	if err != nil {
		return nil, 0, err
	}
	var rules []listed
	for _, r := range stored {
		if one := (listed{r, compileRule(r.Rule)}); f.selects(one) {
			rules = append(rules, one)
		}
	}
	slices.SortStableFunc(rules, compareListed)
	total := len(rules)
	var page []StoredRule
	for _, r := range rules[min(offset, total):min(offset+limit, total)] {
		page = append(page, r.stored)
	}
	return page, total, nil
}

// compareListed orders rules of a list by their evaluation; those that can never decide come last.
func compareListed(a, b listed) int {
	switch {
	case a.compiled != nil && b.compiled != nil:
		return compareRules(a.compiled, b.compiled)
	case a.compiled != nil:
		return -1
	case b.compiled != nil:
		return 1
	}
	return 0
}

// selects reports whether a rule fits all fields of the filter that are set.
func (f Filter) selects(r listed) bool {
	return cmp.Or(f.Effect, r.stored.Effect) == r.stored.Effect &&
		cmp.Or(f.Subject, r.stored.subjectName()) == r.stored.subjectName() &&
		cmp.Or(f.UserID, r.stored.UserID) == r.stored.UserID &&
		(strings.Contains(strings.ToLower(r.stored.Pattern), strings.ToLower(f.Search)) || r.covers(f.Search))
}

// covers reports whether text is a path that the rule's pattern covers, so that a search for a path
// finds its rules.
func (r listed) covers(text string) bool {
	path, err := vpath.Parse(text)
	return err == nil && r.compiled != nil && r.compiled.pattern.Match(path)
}

// subjectName returns the value of Filter.Subject that selects r: the kind of its subject, or the
// role.
func (r Rule) subjectName() string {
	switch {
	case r.KeyID != "":
		return SubjectKey
	case r.UserID != "":
		return SubjectAccount
	}
	return string(r.Role)
}
