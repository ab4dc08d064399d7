package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/db"
)

// Sharing is an entry as somebody stands before it who shares it with others.
type Sharing struct {
	Entry    Entry          // with the actor's permissions
	Guard    *access.Guard  // whose password stands before the content, nil for none
	Read     access.Outcome // what the actor may do
	Share    access.Outcome
	Download access.Outcome
}

// needs is what a share is made of.
var needs = []access.Permission{access.Read, access.Share, access.Download}

// Denied reports whether the actor may not share the entry, whatever passwords they give: what they may not even see they cannot show.
func (s *Sharing) Denied() bool { return s.Read == access.Denied || s.Share == access.Denied }

// Asks reports whether a password stands between the actor and what they would show. That of an entry asks its owner as well: it is others who
// come through a share.
func (s *Sharing) Asks(a access.Actor) bool {
	for _, outcome := range []access.Outcome{s.Read, s.Share, s.Download} {
		if outcome == access.NeedsPassword {
			return true
		}
	}
	return s.Guard != nil && !a.Has(s.Guard.ID)
}

// Sharing looks at what was found as the actor stands before it. Fault: NotFound.
func (f *Found) Sharing(a access.Actor) (Sharing, error) {
	if !f.node.exists() {
		return Sharing{}, noEntry()
	}
	return f.view.sharing(a, &f.node), nil
}

// SharingLocks returns the passwords that would ask the visitors of a share of the actor's, given or not. Fault: NotFound.
func (f *Found) SharingLocks(ctx context.Context, a access.Actor) ([]Lock, error) {
	if !f.node.exists() {
		return nil, noEntry()
	}
	return f.tree.locks(ctx, f.view, a, &f.node, f.node.facts(a), needs)
}

// ForSharing is Sharing for somebody who is about to share it. Faults: NotFound, Forbidden, PasswordRequired when they may not even see it without
// one.
func (f *Found) ForSharing(a access.Actor) (Sharing, error) {
	if !f.node.exists() {
		return Sharing{}, noEntry()
	}
	return f.view.forSharing(a, &f.node)
}

// SharingInside is ForSharing inside a transaction. Faults: as ForSharing.
func (t *Tree) SharingInside(tx *db.Tx, a access.Actor, id string) (Sharing, error) {
	n, v, err := t.lookUpInside(tx, id)
	if err != nil {
		return Sharing{}, err
	}
	return v.forSharing(a, &n)
}

func (v *view) forSharing(a access.Actor, n *node) (Sharing, error) {
	if err := v.allow(a, n.facts(a), access.Read); err != nil {
		return Sharing{}, err
	}
	s := v.sharing(a, n)
	if s.Denied() {
		return Sharing{}, forbidden()
	}
	return s, nil
}

func (v *view) sharing(a access.Actor, n *node) Sharing {
	facts := n.facts(a)
	outcome := func(p access.Permission) access.Outcome { return v.policy.Decide(a, facts, p).Outcome }
	return Sharing{
		Entry: v.entry(a, &n.row, facts), Guard: facts.Guard,
		Read: outcome(access.Read), Share: outcome(access.Share), Download: outcome(access.Download),
	}
}

// Missing returns those of some ids that no entry has.
func (t *Tree) Missing(ctx context.Context, ids []string) ([]string, error) {
	there, err := existing(t.DB.Read(ctx), ids)
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
