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
	// Shared says that the actor shows it to others, as by a share: then nothing shows because the
	// actor may write in it.
	Shared bool
}

// showsFolder reports whether a folder shows to the actor for what lies in it.
func (v *Viewer) showsFolder(path vpath.Path) bool {
	if v.Shared {
		return v.Policy.showsFolderForReading(v.Actor, path, v.Home, v.HasHome)
	}
	return v.Policy.ShowsFolder(v.Actor, path, v.Home, v.HasHome)
}

// showsForWriting reports whether a folder shows because the actor may write in it.
func (v *Viewer) showsForWriting(t *Target) bool { return !v.Shared && v.allowed(t, Write) }

// Shows reports whether an entry shows: to whoever may read it, and a folder also to whoever may
// write in it or has something to see below it. What lies behind a password that the actor would
// have to give shows to nobody.
func (v *Viewer) Shows(t Target, folder bool) bool {
	if v.Actor.lacksPassword(t.PasswordAbove, Read) {
		return false
	}
	return v.allowed(&t, Read) || folder && (v.showsForWriting(&t) || v.showsFolder(t.Path))
}

// DecideListing decides whether a folder may be listed; it then lists what Shows says.
func (v *Viewer) DecideListing(folder Target) Outcome {
	in := folder.ForChildren()
	outcome := v.Policy.Decide(v.Actor, in, Read).Outcome
	switch {
	case outcome == Allowed || v.showsForWriting(&in):
		return Allowed
	case !v.showsFolder(in.Path):
		return outcome
	case v.Actor.lacksPassword(in.PasswordAbove, Read):
		return NeedsPassword
	}
	return Allowed
}

// NeedsPasswordToList reports whether a password stands between the actor and what is inside the
// entry that g is about.
func (v *Viewer) NeedsPasswordToList(g *EntryPassword) bool { return v.Actor.lacksPassword(g, Read) }

// NeedsPasswordToDownload reports whether the password that g is about stands between the actor and
// the bytes inside the entry: it asks everybody who has not given it, whoever may list them.
func (v *Viewer) NeedsPasswordToDownload(g *EntryPassword) bool {
	return v.Actor.lacksPassword(g, Download)
}

// ReadImpliesDownload reports whether no rule that may match in a folder tells reading from
// downloading. Then whoever is shown a file there may download it too, passwords of entries aside.
// It is for accounts, whose keys have rules of their own.
func (v *Viewer) ReadImpliesDownload(folder Target) bool {
	if v.Actor.Key != nil {
		return false
	}
	for _, q := range []ruleQueue{v.Policy.rulesOf(&v.Actor, false), v.Policy.guestRules(&v.Actor)} {
		for r := q.next(); r != nil; r = q.next() {
			if r.Permissions.Has(Read) != r.Permissions.Has(Download) && r.pattern.MayMatchWithin(folder.Path) {
				return false
			}
		}
	}
	return true
}

func (v *Viewer) allowed(t *Target, p Permission) bool {
	return v.Policy.decide(&v.Actor, t, p, nil).Outcome == Allowed
}

// ShownEntries says which of many entries show, judged at once.
type ShownEntries uint8

// The verdicts, the least first.
const (
	ShownNone   ShownEntries = iota // none of them
	ShownOwn                        // those that the actor owns
	ShownAll                        // every one
	ShownByName                     // their names matter: ask Shows about each
)

// ListingFilter says what shows in a folder, for all names but a few at once.
type ListingFilter struct {
	Exceptions []vpath.Name // ask Shows about entries of these names
	Globs      []Glob       // about other files: the first that is like the name decides, before Files
	Files      ShownEntries // about other files
	Folders    ShownEntries // about other folders

	SameBelow             bool // Files and Folders go for all that lies below, at any depth, passwords of entries aside
	FolderNamesIrrelevant bool // what lies below other folders of the folder does not depend on their names
}

// Glob is a verdict on the files whose names are like one of Names, in which `*` stands for any
// characters and `?` for one.
type Glob struct {
	Names []string
	Files ShownEntries
}

// unmatchableName is a name that no entry can have, so that no pattern's characters are in it.
const unmatchableName = vpath.Name("\x00")

// SampleChild returns the facts about a folder in folder that is nobody's, by a name
// that no rule has.
func (v *Viewer) SampleChild(folder Target) Target {
	t := folder.ForChildren()
	t.Path, t.OwnerID = t.Path.Child(unmatchableName), ""
	return t
}

// ListingFilter returns what shows in a folder. It is what Shows says about each entry
// there, arrived at without asking about each: names that no rule tells apart get the
// verdict of one of them.
func (v *Viewer) ListingFilter(folder Target) ListingFilter {
	read := v.readingMatch(&folder)
	in := ListingFilter{Exceptions: read.names, Files: ShownByName, Folders: ShownByName, SameBelow: read.sameBelow,
		FolderNamesIrrelevant: !read.byWildcard}
	switch {
	case !read.byWildcard:
		in.Files = v.judgeSample(folder, false)
	case !v.Policy.keyHasRules(&v.Actor):
		in.Files, in.Globs = v.compileGlobs(&folder)
	}
	if all := v.SampleChild(folder); !read.byWildcard && v.allowed(&all, Read) {
		in.Folders = ShownAll
	}
	if in.Folders != ShownAll || !in.SameBelow { // further down it may be what they reveal that makes folders show
		wide := v.showingMatch(&folder)
		in.Exceptions = append(in.Exceptions, wide.names...)
		in.SameBelow = in.SameBelow && wide.sameBelow
		in.FolderNamesIrrelevant = in.FolderNamesIrrelevant && !wide.byWildcard
		if in.FolderNamesIrrelevant && in.Folders != ShownAll {
			in.Folders = v.judgeSample(folder, true)
		}
	}
	if v.Actor.Key != nil {
		in.addException(folder.Path, v.Actor.Key.Root)
	}
	if v.HasHome {
		in.addException(folder.Path, v.Home)
	}
	slices.Sort(in.Exceptions)
	in.Exceptions = slices.Compact(in.Exceptions)
	return in
}

// addException takes out the name that leads from folder down to something that has a
// verdict of its own.
func (in *ListingFilter) addException(folder, to vpath.Path) {
	if names, below := to.RelativeTo(folder); below && len(names) > 0 {
		in.Exceptions = append(in.Exceptions, names[0])
		in.SameBelow = false
	}
}

// judgeSample judges all files or folders in folder by what shows of some that no rule names.
func (v *Viewer) judgeSample(folder Target, folders bool) ShownEntries {
	child := v.SampleChild(folder)
	own := child
	own.OwnerID = v.Actor.UserID
	switch {
	case v.Shows(child, folders):
		return ShownAll
	case own.OwnerID != "" && v.Shows(own, folders):
		return ShownOwn
	}
	return ShownNone
}

// readingMatch returns what the rules that have a say in reading do to the names in folder.
func (v *Viewer) readingMatch(folder *Target) folderMatch {
	p, a := v.Policy, &v.Actor
	sum := folderMatch{sameBelow: true}
	unowned := *folder
	unowned.OwnerID = ""
	for _, withKey := range []bool{false, true} {
		if withKey && !p.keyHasRules(a) {
			break
		}
		if v.addRules(&sum, p.rulesOf(a, withKey), folder, Set(Read)) || a.grantWithoutRule(&unowned) != "" {
			continue
		}
		v.addRules(&sum, p.guestRules(a), folder, Set(Read))
	}
	return sum
}

// addRules adds to sum what the rules of q do, and reports whether one of them decides about all
// that lies in the folder.
func (v *Viewer) addRules(sum *folderMatch, q ruleQueue, folder *Target, want Set) (done bool) {
	ip := v.Actor.address()
	for r := q.next(); r != nil; r = q.next() {
		if r.Permissions&want == 0 || r.MountID != "" && r.MountID != folder.MountID || !r.appliesFrom(ip) ||
			r.needsPassword(&v.Actor) {
			continue
		}
		h := r.pattern.matchFolder(folder.Path)
		if h.sameBelow && h.matchesAll {
			return true
		}
		sum.add(h)
	}
	return false
}

func (h *folderMatch) add(other folderMatch) {
	h.names = append(h.names, other.names...)
	h.byWildcard = h.byWildcard || other.byWildcard
	h.sameBelow = h.sameBelow && other.sameBelow
}

// showingMatch returns what the rules that can make a folder show do to the names in folder; those
// of other mounts count, see Reveals.
func (v *Viewer) showingMatch(folder *Target) folderMatch {
	sum, ip := folderMatch{sameBelow: true}, v.Actor.address()
	for _, q := range []ruleQueue{v.Policy.rulesOf(&v.Actor, true), v.Policy.guestRules(&v.Actor)} {
		for r := q.next(); r != nil; r = q.next() {
			if r.Permissions&Set(Read|Write|Download) != 0 && r.appliesFrom(ip) && !r.needsPassword(&v.Actor) {
				sum.add(r.pattern.matchFolder(folder.Path))
			}
		}
	}
	return sum
}

// compileGlobs compiles the rules about reading, in order, into verdicts on the files of folder.
// Names that are literal in a rule are not among them.
func (v *Viewer) compileGlobs(folder *Target) (rest ShownEntries, globs []Glob) {
	p, a := v.Policy, &v.Actor
	if a.lacksPassword(folder.Password, Read) || a.limitToKey(folder.Path, Set(Read)) == 0 {
		return ShownNone, nil
	}
	unowned := *folder
	unowned.OwnerID = ""
	rest, done := v.appendGlobs(&globs, p.rulesOf(a, false), folder, ShownNone)
	if !done && a.grantWithoutRule(&unowned) != "" {
		rest, done = ShownAll, true
	}
	if !done {
		own := ShownNone
		if a.UserID != "" { // ownership comes before guests' rules
			own = ShownOwn
		}
		rest, _ = v.appendGlobs(&globs, p.guestRules(a), folder, own)
	}
	for len(globs) > 0 && globs[len(globs)-1].Files == rest {
		globs = globs[:len(globs)-1]
	}
	return rest, globs
}

// appendGlobs appends the verdicts of q's rules, and returns the one on all names that are left,
// and whether a rule gave it; no is what a refusal comes to.
func (v *Viewer) appendGlobs(globs *[]Glob, q ruleQueue, folder *Target,
	no ShownEntries) (rest ShownEntries, done bool) {
	ip := v.Actor.address()
	for r := q.next(); r != nil; r = q.next() {
		if !r.Permissions.Has(Read) || r.MountID != "" && r.MountID != folder.MountID || !r.appliesFrom(ip) ||
			r.needsPassword(&v.Actor) {
			continue
		}
		verdict := no
		if r.allows() {
			verdict = ShownAll
		}
		switch h := r.pattern.matchFolder(folder.Path); {
		case h.matchesAll:
			return verdict, true
		case len(h.globs) > 0:
			*globs = append(*globs, Glob{Names: h.globs, Files: verdict})
		}
	}
	return no, false
}
