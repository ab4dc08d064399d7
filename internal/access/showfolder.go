package access

import (
	"net/netip"

	"larder/internal/vpath"
)

// ShowsFolder reports whether a folder shows to the actor for what lies in it: an allow rule of
// theirs (a guest's included) that lets them read, download or write may match at or below path,
// or their home lies there, and no deny takes all of it back. It is meant to be asked after
// Decide refused to read the folder and to write in it, so that of what a home or an
// administrator's office gives only what lies below path counts. Such a folder lists just what
// may be seen in it. Ownership reveals nothing.
//
// A rule whose password was not given reveals nothing. A rule for one mount counts where that mount
// is: an allow where it lies at or below the folder, a deny when nothing else does.
func (p *Policy) ShowsFolder(a Actor, path vpath.Path, home vpath.Path, hasHome bool) bool {
	return p.showsFolderForReading(a, path, home, hasHome) ||
		p.showsFolderFor(a, path, home, hasHome, Set(Write), a.Key != nil)
}

// showsFolderForReading is Reveals for what may be read or downloaded below path alone.
func (p *Policy) showsFolderForReading(a Actor, path vpath.Path, home vpath.Path, hasHome bool) bool {
	return p.showsFolderFor(a, path, home, hasHome, Set(Read|Download), a.Key != nil && a.Key.RootOnly)
}

// showsFolderFor is Reveals for some permissions, which a key has in its upload
// root only if confined.
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

// folderQuery is what Reveals asks about.
type folderQuery struct {
	policy  *Policy
	actor   *Actor
	ip      netip.Addr
	folder  vpath.Path // refused itself
	home    vpath.Path
	hasHome bool
}

// longerPath returns the longer of two paths of which one holds the other; when
// neither does, the second.
func longerPath(a, b vpath.Path) vpath.Path {
	if a.Within(b) {
		return a
	}
	return b
}

// anyVisible reports whether some of want may be had at or below region, by one set of rules and
// what holds where they are silent. A key with rules of its own must find the same in both sets:
// where the first gives something, the second is asked.
func (v *folderQuery) anyVisible(region vpath.Path, want Set, withKey bool) bool {
	agreed := func(at vpath.Path, given Set) bool {
		return given != 0 && (withKey || !v.policy.keyHasRules(v.actor) || v.anyVisible(at, given, true))
	}
	own := v.policy.rulesOf(v.actor, withKey)
	if v.anyGranted(own, ruleQueue{}, region, want, agreed) {
		return true
	}
	switch {
	case v.actor.UserID != "" && v.actor.Role == Admin:
		if agreed(region, v.remaining(own, region, want)) {
			return true
		}
	case v.hasHome && v.actor.Role == User && (v.home.Within(region) || region.Within(v.home)):
		at := longerPath(region, v.home)
		if agreed(at, v.remaining(own, at, want)) {
			return true
		}
	}
	return v.anyGranted(v.policy.guestRules(v.actor), own, region, want, agreed)
}

// anyGranted reports whether an allow rule of q gives some of want at or below region, when the
// rules of before are asked first. It tells agreed where, as closely as the rule's pattern says.
func (v *folderQuery) anyGranted(q, before ruleQueue, region vpath.Path, want Set,
	agreed func(vpath.Path, Set) bool) bool {
	all := q
	for r := q.next(); r != nil; r = q.next() {
		if !r.allows() || r.Permissions&want == 0 || !r.appliesFrom(v.ip) || r.needsPassword(v.actor) ||
			!r.pattern.MayMatchWithin(region) {
			continue
		}
		at := region
		if r.pattern.base.Within(region) {
			at = r.pattern.base
		}
		at, there := v.policy.partInMount(at, r.MountID)
		if !there || !r.pattern.MayMatchWithin(at) {
			continue
		}
		earlier := v.deniedThroughout(before, nil, at, r)
		given := r.Permissions & want &^ earlier &^ v.deniedThroughout(all, r, at, r)
		// Bytes that may be had by name do not make a name show that a rule hides.
		if !given.Has(Read) && (earlier | v.deniedThroughout(all, nil, at, r)).Has(Read) {
			given &^= Set(Download)
		}
		if agreed(at, given) {
			return true
		}
	}
	return false
}

// remaining returns what the rules of q leave of want to one who may do everything at and below
// path where they are silent; at the folder itself that is asked about nothing is left. It goes
// down by names that no rule knows: what those are denied at some depth, all names there are.
func (v *folderQuery) remaining(q ruleQueue, path vpath.Path, want Set) (left Set) {
	list := v.denialsAt(q, path)
	if path == v.folder {
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

// denial is a rule that takes permissions from the names at some depth below a path, by how far
// they have come in its pattern.
type denial struct {
	permissions Set
	pattern     *machine
	states      states
}

// denialsAt returns the rules of q that deny the caller something at path or below
// it, whatever the mount.
func (v *folderQuery) denialsAt(q ruleQueue, path vpath.Path) (list []*denial) {
	for r := q.next(); r != nil; r = q.next() {
		if !r.allows() && r.appliesFrom(v.ip) && v.policy.whollyInMount(path, r.MountID) &&
			r.pattern.MayMatchWithin(path) {
			list = append(list, &denial{r.Permissions, r.pattern.machine,
				r.pattern.machine.statesAfter(matchText(path))})
		}
	}
	return list
}

// descend goes one level down, and reports whether anything is another there.
func descendAll(list []*denial) (another bool) {
	for _, d := range list {
		before := d.states
		d.pattern.descend(&d.states)
		another = another || d.states != before
	}
	return another
}

// deniedThroughout returns the permissions that rules of q before until (all of them for nil)
// deny the caller at and below the whole of path, or in all that the allow rule given, unless
// it is nil, matches.
func (v *folderQuery) deniedThroughout(q ruleQueue, until *rule, path vpath.Path, given *rule) Set {
	var out Set
	for r := q.next(); r != nil && r != until; r = q.next() {
		if r.allows() || !r.appliesFrom(v.ip) || !v.policy.whollyInMount(path, r.MountID) &&
			(given == nil || given.MountID != r.MountID) {
			continue
		}
		if r.pattern.CoversTree(path) || given != nil && r.pattern.covers(given.pattern) {
			out |= r.Permissions
		}
	}
	return out
}

// Mounts tells where mounts lie.
type Mounts interface {
	Covering(vpath.Path) string // the id of the mount that covers a path, "" for none
	// where the mounts strictly below a path lie, by id, those that are hidden excepted
	Below(vpath.Path) map[string]vpath.Path
}

// WithMounts returns the policy for a tree with these mounts. Without them Reveals takes a rule for
// one mount for one that allows everywhere and denies nowhere.
func (p *Policy) WithMounts(mounts Mounts) *Policy {
	on := *p
	on.mounts = mounts
	return &on
}

// partInMount returns the part of a region that lies in a mount (all of it for ""), and
// whether there is one.
func (p *Policy) partInMount(region vpath.Path, mountID string) (at vpath.Path, there bool) {
	if mountID == "" || p.mounts == nil || p.mounts.Covering(region) == mountID {
		return region, true
	}
	at, there = p.mounts.Below(region)[mountID]
	return at, there
}

// whollyInMount reports whether a region lies in that mount whole.
func (p *Policy) whollyInMount(region vpath.Path, mountID string) bool {
	return mountID == "" || p.mounts != nil && p.mounts.Covering(region) == mountID && len(p.mounts.Below(region)) == 0
}
