package access

import (
	"slices"

	"larder/internal/vpath"
)

// Viewer decides what shows to an actor in listings and searches.
type Viewer struct {
	Policy  *Policy
	Actor   Actor
	Home    vpath.Path // where the actor's home lies
	HasHome bool
	// ForOthers says that the actor shows it to others, as by a share: then nothing shows because the
	// actor may write in it.
	ForOthers bool
}

// reveals reports whether a folder shows to the actor for what lies in it.
func (v *Viewer) reveals(path vpath.Path) bool {
	if v.ForOthers {
		return v.Policy.revealsForReading(v.Actor, path, v.Home, v.HasHome)
	}
	return v.Policy.Reveals(v.Actor, path, v.Home, v.HasHome)
}

// writes reports whether a folder shows because the actor may write in it.
func (v *Viewer) writes(t *Target) bool { return !v.ForOthers && v.may(t, Write) }

// Shows reports whether an entry shows: to whoever may read it, and a folder also to whoever may write in it or has something to see below it.
// What lies behind a password that the actor would have to give shows to nobody.
func (v *Viewer) Shows(t Target, folder bool) bool {
	if v.Actor.barred(t.Above, Read) {
		return false
	}
	return v.may(&t, Read) || folder && (v.writes(&t) || v.reveals(t.Path))
}

// Enter decides whether a folder may be listed; it then lists what Shows says.
func (v *Viewer) Enter(folder Target) Outcome {
	in := folder.Inside()
	outcome := v.Policy.Decide(v.Actor, in, Read).Outcome
	switch {
	case outcome == Allowed || v.writes(&in):
		return Allowed
	case !v.reveals(in.Path):
		return outcome
	case v.Actor.barred(in.Above, Read):
		return NeedsPassword
	}
	return Allowed
}

// Barred reports whether a password stands between the actor and what is inside the entry that g is about.
func (v *Viewer) Barred(g *Guard) bool { return v.Actor.barred(g, Read) }

// Sealed reports whether the password that g is about stands between the actor and the bytes inside the entry: it asks everybody who has not
// given it, whoever may list them.
func (v *Viewer) Sealed(g *Guard) bool { return v.Actor.barred(g, Download) }

// Undivided reports whether no rule that may match in a folder tells reading from downloading. Then whoever is shown a file there may download it too, passwords
// of entries aside. It is for accounts, whose keys have rules of their own.
func (v *Viewer) Undivided(folder Target) bool {
	if v.Actor.Key != nil {
		return false
	}
	for _, q := range []queue{v.Policy.rulesOf(&v.Actor, false), v.Policy.guestRules(&v.Actor)} {
		for r := q.next(); r != nil; r = q.next() {
			if r.Permissions.Has(Read) != r.Permissions.Has(Download) && r.pattern.MayMatchWithin(folder.Path) {
				return false
			}
		}
	}
	return true
}

func (v *Viewer) may(t *Target, p Permission) bool {
	return v.Policy.decide(&v.Actor, t, p, nil).Outcome == Allowed
}

// Children says which of many entries show, judged at once.
type Children uint8

// The verdicts, the least first.
const (
	ChildrenNone  Children = iota // none of them
	ChildrenOwn                   // those that the actor owns
	ChildrenAll                   // every one
	ChildrenMixed                 // their names matter: ask Shows about each
)

// Inside says what shows in a folder, for all names but a few at once.
type Inside struct {
	Names   []vpath.Name // ask Shows about entries of these names
	Globs   []Glob       // about other files: the first that is like the name decides, before Files
	Files   Children     // about other files
	Folders Children     // about other folders

	Settled bool // Files and Folders go for all that lies below, at any depth, passwords of entries aside
	Alike   bool // what lies below other folders of the folder does not depend on their names
}

// Glob is a verdict on the files whose names are like one of Names, in which `*` stands for any characters and `?` for one.
type Glob struct {
	Names []string
	Files Children
}

// nameless is a name that no entry can have, so that no pattern's characters are in it.
const nameless = vpath.Name("\x00")

// Fresh returns the facts about a folder in folder that is nobody's, by a name that no rule has.
func (v *Viewer) Fresh(folder Target) Target {
	t := folder.Inside()
	t.Path, t.OwnerID = t.Path.Child(nameless), ""
	return t
}

// Inside returns what shows in a folder. It is what Shows says about each entry there, arrived at without asking about each: names that no rule
// tells apart get the verdict of one of them.
func (v *Viewer) Inside(folder Target) Inside {
	read := v.readers(&folder)
	in := Inside{Names: read.names, Files: ChildrenMixed, Folders: ChildrenMixed, Settled: read.settled, Alike: !read.wild}
	switch {
	case !read.wild:
		in.Files = v.sample(folder, false)
	case !v.Policy.ownRules(&v.Actor):
		in.Files, in.Globs = v.globs(&folder)
	}
	if all := v.Fresh(folder); !read.wild && v.may(&all, Read) {
		in.Folders = ChildrenAll
	}
	if in.Folders != ChildrenAll || !in.Settled { // further down it may be what they reveal that makes folders show
		wide := v.revealers(&folder)
		in.Names = append(in.Names, wide.names...)
		in.Settled = in.Settled && wide.settled
		in.Alike = in.Alike && !wide.wild
		if in.Alike && in.Folders != ChildrenAll {
			in.Folders = v.sample(folder, true)
		}
	}
	if v.Actor.Key != nil {
		in.cut(folder.Path, v.Actor.Key.Root)
	}
	if v.HasHome {
		in.cut(folder.Path, v.Home)
	}
	slices.Sort(in.Names)
	in.Names = slices.Compact(in.Names)
	return in
}

// cut takes out the name that leads from folder down to something that has a verdict of its own.
func (in *Inside) cut(folder, to vpath.Path) {
	if names, below := to.Below(folder); below && len(names) > 0 {
		in.Names = append(in.Names, names[0])
		in.Settled = false
	}
}

// sample judges all files or folders in folder by what shows of some that no rule names.
func (v *Viewer) sample(folder Target, folders bool) Children {
	child := v.Fresh(folder)
	own := child
	own.OwnerID = v.Actor.UserID
	switch {
	case v.Shows(child, folders):
		return ChildrenAll
	case own.OwnerID != "" && v.Shows(own, folders):
		return ChildrenOwn
	}
	return ChildrenNone
}

// readers returns what the rules that have a say in reading do to the names in folder.
func (v *Viewer) readers(folder *Target) hold {
	p, a := v.Policy, &v.Actor
	sum := hold{settled: true}
	nobodys := *folder
	nobodys.OwnerID = ""
	for _, withKey := range []bool{false, true} {
		if withKey && !p.ownRules(a) {
			break
		}
		if v.gather(&sum, p.rulesOf(a, withKey), folder, Set(Read)) || a.standing(&nobodys) != "" {
			continue
		}
		v.gather(&sum, p.guestRules(a), folder, Set(Read))
	}
	return sum
}

// gather adds to sum what the rules of q do, and reports whether one of them decides about all that lies in the folder.
func (v *Viewer) gather(sum *hold, q queue, folder *Target, want Set) (done bool) {
	ip := v.Actor.address()
	for r := q.next(); r != nil; r = q.next() {
		if r.Permissions&want == 0 || r.MountID != "" && r.MountID != folder.MountID || !r.here(ip) || r.locked(&v.Actor) {
			continue
		}
		h := r.pattern.on(folder.Path)
		if h.settled && h.all {
			return true
		}
		sum.add(h)
	}
	return false
}

func (h *hold) add(other hold) {
	h.names = append(h.names, other.names...)
	h.wild = h.wild || other.wild
	h.settled = h.settled && other.settled
}

// revealers returns what the rules that can make a folder show do to the names in folder; those of other mounts count, see Reveals.
func (v *Viewer) revealers(folder *Target) hold {
	sum, ip := hold{settled: true}, v.Actor.address()
	for _, q := range []queue{v.Policy.rulesOf(&v.Actor, true), v.Policy.guestRules(&v.Actor)} {
		for r := q.next(); r != nil; r = q.next() {
			if r.Permissions&Set(Read|Write|Download) != 0 && r.here(ip) && !r.locked(&v.Actor) {
				sum.add(r.pattern.on(folder.Path))
			}
		}
	}
	return sum
}

// globs compiles the rules about reading, in order, into verdicts on the files of folder. Names that are literal in a rule are not among them.
func (v *Viewer) globs(folder *Target) (rest Children, globs []Glob) {
	p, a := v.Policy, &v.Actor
	if a.barred(folder.Guard, Read) || a.scope(folder.Path, Set(Read)) == 0 {
		return ChildrenNone, nil
	}
	nobodys := *folder
	nobodys.OwnerID = ""
	rest, done := v.compile(&globs, p.rulesOf(a, false), folder, ChildrenNone)
	if !done && a.standing(&nobodys) != "" {
		rest, done = ChildrenAll, true
	}
	if !done {
		own := ChildrenNone
		if a.UserID != "" { // ownership comes before guests' rules
			own = ChildrenOwn
		}
		rest, _ = v.compile(&globs, p.guestRules(a), folder, own)
	}
	for len(globs) > 0 && globs[len(globs)-1].Files == rest {
		globs = globs[:len(globs)-1]
	}
	return rest, globs
}

// compile appends the verdicts of q's rules, and returns the one on all names that are left, and whether a rule gave it; no is what a refusal
// comes to.
func (v *Viewer) compile(globs *[]Glob, q queue, folder *Target, no Children) (rest Children, done bool) {
	ip := v.Actor.address()
	for r := q.next(); r != nil; r = q.next() {
		if !r.Permissions.Has(Read) || r.MountID != "" && r.MountID != folder.MountID || !r.here(ip) || r.locked(&v.Actor) {
			continue
		}
		verdict := no
		if r.allows() {
			verdict = ChildrenAll
		}
		switch h := r.pattern.on(folder.Path); {
		case h.all:
			return verdict, true
		case len(h.globs) > 0:
			*globs = append(*globs, Glob{Names: h.globs, Files: verdict})
		}
	}
	return no, false
}
