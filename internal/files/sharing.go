package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/db"
)

// SharePermissions says what the actor may do to share an entry with others.
type SharePermissions struct {
	Entry    Entry                 // with the actor's permissions
	Password *access.EntryPassword // password that covers the content, nil for none
	Read     access.Outcome        // what the actor may do
	Share    access.Outcome
	Download access.Outcome
}

// sharingRequires are the permissions that a share needs.
var sharingRequires = []access.Permission{access.Read, access.Share, access.Download}

// Denied reports whether the actor may not read or may not share the entry, whatever passwords they
// give. An entry that they may not see cannot be shared.
func (s *SharePermissions) Denied() bool { return s.Read == access.Denied || s.Share == access.Denied }

// NeedsPassword reports whether a password that the actor has not given keeps them from sharing the
// content. The password of an entry is required from its owner as well, since visitors use the
// share.
func (s *SharePermissions) NeedsPassword(a access.Actor) bool {
	for _, outcome := range []access.Outcome{s.Read, s.Share, s.Download} {
		if outcome == access.NeedsPassword {
			return true
		}
	}
	return s.Password != nil && !a.HasUnlocked(s.Password.ID)
}

// SharePermissions returns what the actor may do with the entry, with the outcome of each
// permission that a share needs. Fault: NotFound.
func (f *FoundEntry) SharePermissions(a access.Actor) (SharePermissions, error) {
	if !f.node.exists() {
		return SharePermissions{}, noEntry()
	}
	return f.rules.sharePermissions(a, &f.node), nil
}

// SharePasswords returns the passwords that visitors of a share would need if the actor a, its
// creator, had given none: that of the nearest entry and those of rules. Fault: NotFound.
func (f *FoundEntry) SharePasswords(ctx context.Context, a access.Actor) ([]RequiredPassword, error) {
	if !f.node.exists() {
		return nil, noEntry()
	}
	return f.tree.passwordsFor(ctx, f.rules, a, &f.node, f.node.existingTarget(a), sharingRequires)
}

// RequireShareable decides whether the actor may share the entry, and returns what they may do with
// it; a password may still be needed. Faults: NotFound, Forbidden, PasswordRequired when the actor
// may not even see it without a password.
func (f *FoundEntry) RequireShareable(a access.Actor) (SharePermissions, error) {
	if !f.node.exists() {
		return SharePermissions{}, noEntry()
	}
	return f.rules.checkShareable(a, &f.node)
}

// RequireShareableTx decides inside a transaction whether the actor may share the entry id, as
// RequireShareable does. Faults: NotFound, Forbidden, PasswordRequired.
func (t *Tree) RequireShareableTx(tx *db.Tx, a access.Actor, id string) (SharePermissions, error) {
	n, v, err := t.lookUpTx(tx, id)
	if err != nil {
		return SharePermissions{}, err
	}
	return v.checkShareable(a, &n)
}

// checkShareable returns what the actor may do to share n, unless they may not read it or may not
// share it. Faults: those of RequireShareable.
func (rs *ruleset) checkShareable(a access.Actor, n *node) (SharePermissions, error) {
	if err := rs.allow(a, n.existingTarget(a), access.Read); err != nil {
		return SharePermissions{}, err
	}
	s := rs.sharePermissions(a, n)
	if s.Denied() {
		return SharePermissions{}, forbidden()
	}
	return s, nil
}

// sharePermissions returns what the actor may do to share the entry n, without refusing anything.
func (rs *ruleset) sharePermissions(a access.Actor, n *node) SharePermissions {
	target := n.existingTarget(a)
	outcome := func(p access.Permission) access.Outcome { return rs.policy.Decide(a, target, p).Outcome }
	return SharePermissions{
		Entry: rs.entry(a, &n.row, target), Password: target.Password,
		Read: outcome(access.Read), Share: outcome(access.Share), Download: outcome(access.Download),
	}
}

// MissingEntries returns those of the ids that no row of the database has. Entries in the trash or
// the graveyard are not missing. The sweep of shares ends shares of missing entries.
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
