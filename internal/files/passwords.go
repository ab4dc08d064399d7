package files

import (
	"context"
	"slices"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// RequiredPassword is a password that protects an entry: the entry's own, or that of a rule.
type RequiredPassword struct {
	ID       string // id in Actor.Unlocked once the password was given
	Hash     string
	Settable bool // the actor may set and remove it: the owner of its entry, and administrators
}

// PasswordGate is a file to download, or a folder to list, with the passwords that protect it.
type PasswordGate struct {
	ID      string // of the entry, "" for none and for a virtual folder
	Path    vpath.Path
	Folder  bool
	Exists  bool
	Outcome access.Outcome // of the actor with the passwords given so far
	// Passwords are those that the actor or others need: that of the nearest entry, and those of
	// rules.
	Passwords []RequiredPassword
}

// PasswordGateOf returns the passwords that protect an entry and whether the actor passes them,
// before a visitor is asked for one. Fault: NotFound.
func (t *Tree) PasswordGateOf(ctx context.Context, a access.Actor, id string) (PasswordGate, error) {
	n, v, err := t.lookUp(ctx, id)
	if err != nil {
		return PasswordGate{}, err
	}
	return t.passwordGate(ctx, v, a, &n, n.existingTarget(a), n.folder)
}

// PasswordGateAt returns the gate of a path for the actor, whether or not the path exists. A
// missing entry has the passwords that it would have, so that neither the passwords nor the time to
// check them reveal whether it exists. A virtual folder exists.
func (t *Tree) PasswordGateAt(ctx context.Context, a access.Actor, p vpath.Path) (PasswordGate, error) {
	var n node
	v, err := t.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
		n, version, err = v.find(t.DB.Read(ctx), p)
		return version, err
	})
	if err != nil {
		return PasswordGate{}, err
	}
	if !n.exists() && (p.IsRoot() || len(v.mounts.Below(p)) > 0) {
		return t.passwordGate(ctx, v, a, &n, n.virtualTarget(a, p), true)
	}
	if !n.mounted() {
		return PasswordGate{Path: p}, nil
	}
	return t.passwordGate(ctx, v, a, &n, n.target(a), n.isFolder())
}

// passwordGate returns the gate of the entry n with the given target for the actor. folder says
// that the gate is that of a listing, else that of a download.
func (t *Tree) passwordGate(ctx context.Context, v *ruleset, a access.Actor, n *node, target access.Target,
	folder bool) (PasswordGate, error) {
	d := PasswordGate{Path: target.Path, Folder: folder, Exists: folder || n.exists()}
	if n.exists() {
		d.ID = n.id
	}
	if folder {
		e, err := t.viewerOf(ctx, v, a)
		if err != nil {
			return PasswordGate{}, err
		}
		d.Outcome = e.DecideListing(target)
		if d.Outcome == access.Denied && v.policy.Decide(a, target.ForChildren(), access.Write).
			Outcome == access.NeedsPassword {
			d.Outcome = access.NeedsPassword // an actor who may upload to the folder sees their own files there
		}
	} else {
		d.Outcome = v.policy.Decide(a, target, access.Download).Outcome
	}
	var err error
	// a password for a folder also allows uploads to it
	d.Passwords, err = t.passwordsFor(ctx, v, a, n, target, permissions[:])
	for i := range d.Passwords {
		entrys := i == 0 && target.Password != nil && d.Passwords[i].ID == target.Password.ID
		d.Passwords[i].Settable = entrys && a.ControlsPassword(*target.Password) || a.UserID != "" &&
			a.Role == access.Admin
	}
	return d, err
}

// passwordsFor returns the passwords that an actor with the rights of a would be asked for if they
// had given none, for any of the permissions what on the entry n or in it: that of the nearest
// entry, also for actors who do not need it, and then those of rules.
func (t *Tree) passwordsFor(ctx context.Context, v *ruleset, a access.Actor, n *node, target access.Target,
	what []access.Permission) ([]RequiredPassword, error) {
	a.Unlocked = nil
	var asking []string // rules; and entries further up, whose ids no rule has
	for _, tg := range []access.Target{target, target.ForChildren()} {
		for _, p := range what {
			for _, id := range v.policy.Decide(a, tg, p).PasswordIDs {
				if !slices.Contains(asking, id) {
					asking = append(asking, id)
				}
			}
		}
	}
	var required []RequiredPassword
	if at := nearestProtected(n.trail); target.Password != nil && at != "" {
		id, hash, err := passwordOf(t.DB.Read(ctx), at)
		if err != nil {
			return nil, err
		}
		if hash != "" {
			required = append(required, RequiredPassword{ID: id, Hash: hash})
		}
	}
	if len(asking) == 0 {
		return required, nil
	}
	rules, err := t.Policies.WithPassword(ctx, asking)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		required = append(required, RequiredPassword{ID: r.PasswordID, Hash: r.PasswordHash})
	}
	return required, nil
}

// nearestProtected returns the id of the last entry on a trail that has a password, "" for none.
func nearestProtected(trail []trailEntry) string {
	for _, l := range slices.Backward(trail) {
		if l.password != "" {
			return l.id
		}
	}
	return ""
}

// maySetPassword decides whether the actor may set the password of n (sets) or remove it (not
// sets): its owner and administrators may. A key may not, since it could then open what it can give
// no password for. Where a mount is below, only administrators may: otherwise the maker of a folder
// on the path to somebody else's mount could lock that mount, and the owner of the folder that
// protects a mount could open it. An owner cannot set a password over entries of others either,
// which would lock them out. Fault: Forbidden.
func (rs *ruleset) maySetPassword(tx *db.Tx, a access.Actor, n *node, sets bool) error {
	switch {
	case a.Key != nil:
		return fault.New(fault.Forbidden, "API keys cannot set or remove passwords.")
	case a.Role == access.Admin:
		return nil
	case a.UserID == "" || a.UserID != n.owner:
		return fault.New(fault.Forbidden, "Only the owner and administrators can set or remove a password.")
	case len(rs.mounts.Below(n.path)) > 0:
		return fault.New(fault.Forbidden,
			"Something is mounted below this folder. Only administrators can set or remove its password.")
	case sets && n.folder:
		if err := forbidIfFound(tx, foreignBelow, n.id, a.UserID); fault.Is(err, fault.Forbidden) {
			return fault.New(fault.Forbidden,
				"Something in this folder belongs to others. Only administrators can set its password.")
		} else if err != nil {
			return err
		}
	}
	return nil
}

// mayUncover decides whether the actor may move or copy an entry out of the reach of the password
// that protects it: that of the last entry on the trail that has one. The actor must have given it,
// or be allowed to remove it, so a key never may. Fault: PasswordRequired.
func (rs *ruleset) mayUncover(tx *db.Tx, a access.Actor, trail []trailEntry) error {
	n, _, err := rs.findID(tx, nearestProtected(trail))
	if err != nil || a.HasUnlocked(n.password) {
		return err
	}
	err = rs.maySetPassword(tx, a, &n, false)
	if fault.Is(err, fault.Forbidden) {
		return passwordNeeded()
	}
	return err
}

// passwordNeeded is the fault PasswordRequired for a move or copy that would take an entry from
// under a password.
func passwordNeeded() error {
	return fault.New(fault.PasswordRequired,
		"This is protected by a password. Enter the password before you move or copy it. API keys cannot enter "+
			"passwords.")
}

// MountPasswords returns, by mount id, the id of the password that covers the content of the mount:
// that of its root, or of the nearest folder above; "" for none. It does so for hidden mounts as
// well. A caller compares two of its answers to see whether a change of mounts uncovers content.
// The caller holds the tree exclusively.
func (t *Tree) MountPasswords(tx *db.Tx) (map[string]string, error) {
	mounts, err := t.Mounts.TableIn(tx)
	if err != nil {
		return nil, err
	}
	v := ruleset{mounts: mounts}
	guards := map[string]string{}
	for _, m := range mounts.All() {
		n, version, err := descend(tx, m.RootID, nil)
		if err != nil {
			return nil, err
		}
		n.mount, n.path = m, m.Path
		if err := v.addOuterTrail(tx, &n, &version); err != nil {
			return nil, err
		}
		guards[m.ID] = ""
		if guard := n.existingTarget(access.Actor{}).Password; guard != nil {
			guards[m.ID] = guard.ID
		}
	}
	return guards, nil
}
