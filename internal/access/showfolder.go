package access

import (
	"net/netip"

	"larder/internal/vpath"
)

// ShowsFolder reports whether the actor sees a folder because of its contents: an allow rule for
// the actor (or for guests) that grants reading, downloading or writing may match at or below path,
// or the actor's home (home, if hasHome) lies there, and no deny rule removes all of it. Call it
// after Decide has refused to read the folder and to write in it; of the rights of administrators
// and of a home, only those below path count. Such a folder lists only the contents that the actor
// may see. Ownership shows no folder.
//
// A rule whose password was not given shows nothing. A rule for one mount counts where that mount
// lies: an allow rule if the mount lies at or below the folder, a deny rule if no other mount does.
func (p *Policy) ShowsFolder(a Actor, path vpath.Path, home vpath.Path, hasHome bool) bool {
	return p.showsFolderForReading(a, path, home, hasHome) ||
		p.showsFolderFor(a, path, home, hasHome, Set(Write), a.Key != nil)
}

// showsFolderForReading reports whether the actor sees a folder because of contents that the actor
// may read or download; see ShowsFolder, which also counts contents to write.
func (p *Policy) showsFolderForReading(a Actor, path vpath.Path, home vpath.Path, hasHome bool) bool {
	return p.showsFolderFor(a, path, home, hasHome, Set(Read|Download), a.Key != nil && a.Key.RootOnly)
}

// showsFolderFor reports whether the actor sees a folder because of contents for which the actor
// has one of the permissions in want; see ShowsFolder. With confined, a key has them only in its
// upload root.
func (p *Policy) showsFolderFor(
	a Actor, path vpath.Path, home vpath.Path, hasHome bool, want Set, confined bool,
) bool {
	v := folderQuery{policy: p, actor: &a, ip: a.address(), folder: path, home: home, hasHome: hasHome &&
		a.UserID != ""}
	region := path
	if confined {
		region = longerPath(path, a.Key.Root)
		if !region.Within(path) || !region.Within(a.Key.Root) {
			return false
		}
	}
	if a.Key != nil {
		want &= a.Key.Permissions
	}
	return want != 0 && v.anyVisible(region, want, false)
}

// folderQuery holds the question of ShowsFolder.
type folderQuery struct {
	policy  *Policy
	actor   *Actor
	ip      netip.Addr
	folder  vpath.Path // the folder itself, which Decide has refused
	home    vpath.Path
	hasHome bool
}

// longerPath returns the deeper one of two paths if one contains the other, else the second.
func longerPath(a, b vpath.Path) vpath.Path {
	if a.Within(b) {
		return a
	}
	return b
}

// anyVisible reports whether one set of rules (withKey those of the key included), or ownership and
// home where the rules do not decide, grants some of want at or below region. If a key has rules of
// its own, both sets must grant it: the second set is evaluated where the first grants something.
func (fq *folderQuery) anyVisible(region vpath.Path, want Set, withKey bool) bool {
	agreed := func(at vpath.Path, given Set) bool {
		return given != 0 && (withKey || !fq.policy.keyHasRules(fq.actor) || fq.anyVisible(at, given, true))
	}
	own := fq.policy.rulesOf(fq.actor, withKey)
	if fq.anyGranted(own, ruleQueue{}, region, want, agreed) {
		return true
	}
	switch {
	case fq.actor.UserID != "" && fq.actor.Role == Admin:
		if agreed(region, fq.remaining(own, region, want)) {
			return true
		}
	case fq.hasHome && fq.actor.Role == User && (fq.home.Within(region) || region.Within(fq.home)):
		at := longerPath(region, fq.home)
		if agreed(at, fq.remaining(own, at, want)) {
			return true
		}
	}
	return fq.anyGranted(fq.policy.guestRules(fq.actor), own, region, want, agreed)
}

// anyGranted reports whether an allow rule of q grants some of want at or below region, when the
// rules of before are evaluated first. For each such rule it asks agreed, with the narrowest region
// that the rule's pattern gives and the granted permissions, whether the grant counts.
func (fq *folderQuery) anyGranted(q, before ruleQueue, region vpath.Path, want Set,
	agreed func(vpath.Path, Set) bool) bool {
	all := q
	for r := q.next(); r != nil; r = q.next() {
		if !r.allows() || r.Permissions&want == 0 || !r.appliesFrom(fq.ip) || r.needsPassword(fq.actor) ||
			!r.pattern.MayMatchWithin(region) {
			continue
		}
		at := region
		if r.pattern.base.Within(region) {
			at = r.pattern.base
		}
		at, there := fq.policy.partInMount(at, r.MountID)
		if !there || !r.pattern.MayMatchWithin(at) {
			continue
		}
		earlier := fq.deniedThroughout(before, nil, at, r)
		given := r.Permissions & want &^ earlier &^ fq.deniedThroughout(all, r, at, r)
		// If a rule hides names, permission to download by name does not make them visible.
		if !given.Has(Read) && (earlier | fq.deniedThroughout(all, nil, at, r)).Has(Read) {
			given &^= Set(Download)
		}
		if agreed(at, given) {
			return true
		}
	}
	return false
}

// remaining returns the permissions of want that the rules of q do not deny everywhere at and below
// path to an actor who may otherwise do everything there, such as an administrator. The folder of
// the query itself does not count. It descends by names that no rule contains: permissions denied
// to those at some depth are denied to all names there.
func (fq *folderQuery) remaining(q ruleQueue, path vpath.Path, want Set) (left Set) {
	list := fq.denialsAt(q, path)
	if path == fq.folder {
		descendAll(list)
	}
	for range vpath.MaxDepth + 1 {
		taken := Set(0)
		for _, d := range list {
			if d.pattern.accepts(&d.states) {
				taken |= d.permissions
			}
		}
		if taken.Has(Read) {
			taken |= Set(Download)
		}
		left |= want &^ taken
		if left == want || !descendAll(list) {
			break
		}
	}
	return left
}

// denial is a rule that denies permissions to the names at some depth below a path, with the states
// of its pattern at that depth.
type denial struct {
	permissions Set
	pattern     *machine
	states      states
}

// denialsAt returns the rules of q that deny the caller something at or below path, on any mount.
func (fq *folderQuery) denialsAt(q ruleQueue, path vpath.Path) (list []*denial) {
	for r := q.next(); r != nil; r = q.next() {
		if !r.allows() && r.appliesFrom(fq.ip) && fq.policy.whollyInMount(path, r.MountID) &&
			r.pattern.MayMatchWithin(path) {
			list = append(list, &denial{r.Permissions, r.pattern.machine,
				r.pattern.machine.statesAfter(matchText(path))})
		}
	}
	return list
}

// descendAll advances each denial by one name, one level down the tree, and reports whether any set
// of states has changed.
func descendAll(list []*denial) (another bool) {
	for _, d := range list {
		before := d.states
		d.pattern.descend(&d.states)
		another = another || d.states != before
	}
	return another
}

// deniedThroughout returns the permissions that deny rules take from the caller on all paths at and
// below path. It looks at the rules of q that come before the rule until (at all rules for nil). If
// given is not nil, a denial of all paths that this allow rule matches is enough.
func (fq *folderQuery) deniedThroughout(q ruleQueue, until *rule, path vpath.Path, given *rule) Set {
	var out Set
	for r := q.next(); r != nil && r != until; r = q.next() {
		if r.allows() || !r.appliesFrom(fq.ip) || !fq.policy.whollyInMount(path, r.MountID) &&
			(given == nil || given.MountID != r.MountID) {
			continue
		}
		if r.pattern.CoversTree(path) || given != nil && r.pattern.covers(given.pattern) {
			out |= r.Permissions
		}
	}
	return out
}

// Mounts gives the positions of mounts.
type Mounts interface {
	Covering(vpath.Path) string // the id of the mount that covers a path, "" for none
	// the paths of the mounts strictly below a path, by id, without hidden mounts
	Below(vpath.Path) map[string]vpath.Path
}

// WithMounts returns a copy of the policy that knows where mounts lie. Without them, ShowsFolder
// assumes that a rule for one mount allows everywhere and denies nowhere.
func (p *Policy) WithMounts(mounts Mounts) *Policy {
	on := *p
	on.mounts = mounts
	return &on
}

// partInMount returns the part of a region, a folder with everything below it, that lies in a mount
// (the whole region for ""), and whether there is such a part.
func (p *Policy) partInMount(region vpath.Path, mountID string) (at vpath.Path, there bool) {
	if mountID == "" || p.mounts == nil || p.mounts.Covering(region) == mountID {
		return region, true
	}
	at, there = p.mounts.Below(region)[mountID]
	return at, there
}

// whollyInMount reports whether the whole region, a folder with everything below it, lies in that
// mount.
func (p *Policy) whollyInMount(region vpath.Path, mountID string) bool {
	return mountID == "" || p.mounts != nil && p.mounts.Covering(region) == mountID && len(p.mounts.Below(region)) == 0
}
