package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/db"
)

// SharePermissions is an entry as somebody stands before it who shares it with others.
type SharePermissions struct {
	Entry    Entry                 // with the actor's permissions
	Password *access.EntryPassword // whose password stands before the content, nil for none
	Read     access.Outcome        // what the actor may do
	Share    access.Outcome
	Download access.Outcome
}

// sharingRequires is what a share is made of.
var sharingRequires = []access.Permission{access.Read, access.Share, access.Download}

// Denied reports whether the actor may not share the entry, whatever passwords they give: what they
// may not even see they cannot show.
func (s *SharePermissions) Denied() bool { return s.Read == access.Denied || s.Share == access.Denied }

// NeedsPassword reports whether a password stands between the actor and what they would show. That
// of an entry asks its owner as well: it is others who come through a share.
func (s *SharePermissions) NeedsPassword(a access.Actor) bool {
	for _, outcome := range []access.Outcome{s.Read, s.Share, s.Download} {
		if outcome == access.NeedsPassword {
			return true
		}
	}
	return s.Password != nil && !a.HasUnlocked(s.Password.ID)
}

// SharePermissions looks at what was found as the actor stands before it. Fault: NotFound.
func (f *FoundEntry) SharePermissions(a access.Actor) (SharePermissions, error) {
	if !f.node.exists() {
		return SharePermissions{}, noEntry()
	}
	return f.rules.judgeSharing(a, &f.node), nil
}

// SharePasswords returns the passwords that would ask the visitors of a share of the actor's, given
// or not. Fault: NotFound.
func (f *FoundEntry) SharePasswords(ctx context.Context, a access.Actor) ([]RequiredPassword, error) {
	if !f.node.exists() {
		return nil, noEntry()
	}
	return f.tree.passwordsFor(ctx, f.rules, a, &f.node, f.node.facts(a), sharingRequires)
}

// RequireShareable is Sharing for somebody who is about to share it. Faults: NotFound, Forbidden,
// PasswordRequired when they may not even see it without one.
func (f *FoundEntry) RequireShareable(a access.Actor) (SharePermissions, error) {
	if !f.node.exists() {
		return SharePermissions{}, noEntry()
	}
	return f.rules.checkShareable(a, &f.node)
}

// RequireShareableTx is RequireShareable inside a transaction. Faults: as RequireShareable.
func (t *Tree) RequireShareableTx(tx *db.Tx, a access.Actor, id string) (SharePermissions, error) {
	n, v, err := t.lookUpTx(tx, id)
	if err != nil {
		return SharePermissions{}, err
	}
	return v.checkShareable(a, &n)
}

func (v *ruleset) checkShareable(a access.Actor, n *node) (SharePermissions, error) {
	if err := v.allow(a, n.facts(a), access.Read); err != nil {
		return SharePermissions{}, err
	}
	s := v.judgeSharing(a, n)
	if s.Denied() {
		return SharePermissions{}, forbidden()
	}
	return s, nil
}

func (v *ruleset) judgeSharing(a access.Actor, n *node) SharePermissions {
	facts := n.facts(a)
	outcome := func(p access.Permission) access.Outcome { return v.policy.Decide(a, facts, p).Outcome }
	return SharePermissions{
		Entry: v.entry(a, &n.row, facts), Password: facts.Password,
		Read: outcome(access.Read), Share: outcome(access.Share), Download: outcome(access.Download),
	}
}

// MissingEntries returns those of some ids that no entry has.
func (t *Tree) MissingEntries(ctx context.Context, ids []string) ([]string, error) {
	there, err := existingEntries(t.DB.Read(ctx), ids)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, id := range ids {
		if !there[id] {
			missing = append(missing, id)
		}
	}
	return missing, nil
}
