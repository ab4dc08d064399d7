package access

import (
	"net/netip"

	"larder/internal/vpath"
)

// Reveals reports whether a folder shows to the actor for what lies in it: an allow rule of theirs (a guest's included) that lets them read,
// download or write may match at or below path, or their home lies there, and no deny takes all of it back. It is meant to be asked after Decide
// refused to read the folder and to write in it, so that of what a home or an administrator's office gives only what lies below path counts.
// Such a folder lists just what may be seen in it. Ownership reveals nothing.
//
// A rule whose password was not given reveals nothing. A rule for one mount counts where that mount is: an allow where it lies at or below the
// folder, a deny when nothing else does.
func (p *Policy) Reveals(a Actor, path vpath.Path, home vpath.Path, hasHome bool) bool {
	return p.revealsForReading(a, path, home, hasHome) ||
		p.revealsFor(a, path, home, hasHome, Set(Write), a.Key != nil)
}

// revealsForReading is Reveals for what may be read or downloaded below path alone.
func (p *Policy) revealsForReading(a Actor, path vpath.Path, home vpath.Path, hasHome bool) bool {
	return p.revealsFor(a, path, home, hasHome, Set(Read|Download), a.Key != nil && a.Key.RootOnly)
}

// revealsFor is Reveals for some permissions, which a key has in its upload root only if confined.
func (p *Policy) revealsFor(
	a Actor, path vpath.Path, home vpath.Path, hasHome bool, want Set, confined bool,
) bool {
	v := view{policy: p, actor: &a, ip: a.address(), folder: path, home: home, hasHome: hasHome && a.UserID != ""}
	region := path
	if confined {
		region = longer(path, a.Key.Root)
		if !region.Within(path) || !region.Within(a.Key.Root) {
			return false
		}
	}
	if a.Key != nil {
		want &= a.Key.Permissions
	}
	return want != 0 && v.shows(region, want, false)
}

// view is what Reveals asks about.
type view struct {
	policy  *Policy
	actor   *Actor
	ip      netip.Addr
	folder  vpath.Path // refused itself
	home    vpath.Path
	hasHome bool
}

// longer returns the longer of two paths of which one holds the other; when neither does, the second.
func longer(a, b vpath.Path) vpath.Path {
	if a.Within(b) {
		return a
	}
	return b
}

// shows reports whether some of want may be had at or below region, by one set of rules and what holds where they are silent. A key with
// rules of its own must find the same in both sets: where the first gives something, the second is asked.
func (v *view) shows(region vpath.Path, want Set, withKey bool) bool {
	agreed := func(at vpath.Path, given Set) bool {
		return given != 0 && (withKey || !v.policy.ownRules(v.actor) || v.shows(at, given, true))
	}
	own := v.policy.rulesOf(v.actor, withKey)
	if v.granted(own, queue{}, region, want, agreed) {
		return true
	}
	switch {
	case v.actor.UserID != "" && v.actor.Role == Admin:
		if agreed(region, v.remains(own, region, want)) {
			return true
		}
	case v.hasHome && v.actor.Role == User && (v.home.Within(region) || region.Within(v.home)):
		at := longer(region, v.home)
		if agreed(at, v.remains(own, at, want)) {
			return true
		}
	}
	return v.granted(v.policy.guestRules(v.actor), own, region, want, agreed)
}

// granted reports whether an allow rule of q gives some of want at or below region, when the rules of before are asked first. It tells agreed
// where, as closely as the rule's pattern says.
func (v *view) granted(q, before queue, region vpath.Path, want Set, agreed func(vpath.Path, Set) bool) bool {
	all := q
	for r := q.next(); r != nil; r = q.next() {
		if !r.allows() || r.Permissions&want == 0 || !r.here(v.ip) || r.locked(v.actor) || !r.pattern.MayMatchWithin(region) {
			continue
		}
		at := region
		if r.pattern.base.Within(region) {
			at = r.pattern.base
		}
		at, there := v.policy.part(at, r.MountID)
		if !there || !r.pattern.MayMatchWithin(at) {
			continue
		}
		earlier := v.taken(before, nil, at, r)
		given := r.Permissions & want &^ earlier &^ v.taken(all, r, at, r)
		// Bytes that may be had by name do not make a name show that a rule hides.
		if !given.Has(Read) && (earlier | v.taken(all, nil, at, r)).Has(Read) {
			given &^= Set(Download)
		}
		if agreed(at, given) {
			return true
		}
	}
	return false
}

// remains returns what the rules of q leave of want to one who may do everything at and below path where they are silent; at the folder itself
// that is asked about nothing is left. It goes down by names that no rule knows: what those are denied at some depth, all names there are.
func (v *view) remains(q queue, path vpath.Path, want Set) (left Set) {
	list := v.denials(q, path)
	if path == v.folder {
		deeper(list)
	}
	for range vpath.MaxDepth + 1 {
		taken := Set(0)
		for _, d := range list {
			if d.pattern.accepts(&d.at) {
				taken |= d.takes
			}
		}
		if taken.Has(Read) {
			taken |= Set(Download)
		}
		left |= want &^ taken
		if left == want || !deeper(list) {
			break
		}
	}
	return left
}

// denial is a rule that takes permissions from the names at some depth below a path, by how far they have come in its pattern.
type denial struct {
	takes   Set
	pattern *machine
	at      states
}

// denials returns the rules of q that deny the caller something at path or below it, whatever the mount.
func (v *view) denials(q queue, path vpath.Path) (list []*denial) {
	for r := q.next(); r != nil; r = q.next() {
		if !r.allows() && r.here(v.ip) && v.policy.alone(path, r.MountID) && r.pattern.MayMatchWithin(path) {
			list = append(list, &denial{r.Permissions, r.pattern.machine, r.pattern.machine.after(bytesOf(path))})
		}
	}
	return list
}

// deeper goes one level down, and reports whether anything is another there.
func deeper(list []*denial) (another bool) {
	for _, d := range list {
		before := d.at
		d.pattern.deeper(&d.at)
		another = another || d.at != before
	}
	return another
}

// taken returns the permissions that rules of q before until (all of them for nil) deny the caller at and below the whole of path, or in all
// that the allow rule given, unless it is nil, matches.
func (v *view) taken(q queue, until *rule, path vpath.Path, given *rule) Set {
	var out Set
	for r := q.next(); r != nil && r != until; r = q.next() {
		if r.allows() || !r.here(v.ip) || !v.policy.alone(path, r.MountID) && (given == nil || given.MountID != r.MountID) {
			continue
		}
		if r.pattern.CoversWithin(path) || given != nil && r.pattern.covers(given.pattern) {
			out |= r.Permissions
		}
	}
	return out
}

// Mounts tells where mounts lie.
type Mounts interface {
	Covering(vpath.Path) string             // the id of the mount that covers a path, "" for none
	Below(vpath.Path) map[string]vpath.Path // where the mounts strictly below a path lie, by id, those that are hidden excepted
}

// On returns the policy for a tree with these mounts. Without them Reveals takes a rule for one mount for one that allows everywhere and denies
// nowhere.
func (p *Policy) On(mounts Mounts) *Policy {
	on := *p
	on.mounts = mounts
	return &on
}

// part returns the part of a region that lies in a mount (all of it for ""), and whether there is one.
func (p *Policy) part(region vpath.Path, mountID string) (at vpath.Path, there bool) {
	if mountID == "" || p.mounts == nil || p.mounts.Covering(region) == mountID {
		return region, true
	}
	at, there = p.mounts.Below(region)[mountID]
	return at, there
}

// alone reports whether a region lies in that mount whole.
func (p *Policy) alone(region vpath.Path, mountID string) bool {
	return mountID == "" || p.mounts != nil && p.mounts.Covering(region) == mountID && len(p.mounts.Below(region)) == 0
}
