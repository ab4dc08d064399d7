package access

import (
	"slices"

	"larder/internal/vpath"
)

// Viewer decides which entries an actor sees in listings and searches.
type Viewer struct {
	Policy  *Policy
	Actor   Actor
	Home    vpath.Path // the path of the actor's home
	HasHome bool
	// Shared says that the actor shows the contents to others, by a share for example. Then no
	// folder shows because the actor may write in it.
	Shared bool
}

// showsFolder reports whether the actor sees a folder because of contents that the actor may read,
// download or, except in a share, write; see ShowsFolder.
func (v *Viewer) showsFolder(path vpath.Path) bool {
	if v.Shared {
		return v.Policy.showsFolderForReading(v.Actor, path, v.Home, v.HasHome)
	}
	return v.Policy.ShowsFolder(v.Actor, path, v.Home, v.HasHome)
}

// showsForWriting reports whether a folder shows because the actor may create entries in it, never
// for the viewers of a share.
func (v *Viewer) showsForWriting(t *Target) bool { return !v.Shared && v.allowed(t, Write) }

// Shows reports whether the actor sees an entry in listings and searches: the actor may read it, or
// it is a folder that the actor may write in, or it is a folder with visible contents. folder tells
// whether it is one. Nothing shows behind a password that the actor still has to give.
func (v *Viewer) Shows(t Target, folder bool) bool {
	if v.Actor.lacksPassword(t.PasswordAbove, Read) {
		return false
	}
	return v.allowed(&t, Read) || folder && (v.showsForWriting(&t) || v.showsFolder(t.Path))
}

// DecideListing decides whether the actor may list a folder. The listing contains the entries for
// which Shows is true.
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

// NeedsPasswordToList reports whether the actor must give the password g of a folder to see its
// contents.
func (v *Viewer) NeedsPasswordToList(g *EntryPassword) bool { return v.Actor.lacksPassword(g, Read) }

// NeedsPasswordToDownload reports whether the actor must give the password g of an entry to
// download it or its contents. Everybody must give it, including actors who may list the contents.
func (v *Viewer) NeedsPasswordToDownload(g *EntryPassword) bool {
	return v.Actor.lacksPassword(g, Download)
}

// ReadImpliesDownload reports whether no rule that may match in a folder treats reading and
// downloading differently. Then everybody who sees a file there may download it, passwords of
// entries aside. It is always false for a key, which has rules of its own.
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

// allowed reports whether Decide allows the actor p on t.
func (v *Viewer) allowed(t *Target, p Permission) bool {
	return v.Policy.decide(&v.Actor, t, p, nil).Outcome == Allowed
}

// ShownEntries says which of many entries show.
type ShownEntries uint8

// The values, the fewest entries first.
const (
	ShownNone   ShownEntries = iota // none of them
	ShownOwn                        // those that the actor owns
	ShownAll                        // every one
	ShownByName                     // depends on the names: call Shows for each
)

// ListingFilter says which entries of a folder show, for all names except a few.
type ListingFilter struct {
	Exceptions []vpath.Name // call Shows for entries with these names
	Globs      []Glob       // for other files: the first glob that matches the name decides, before Files
	Files      ShownEntries // for other files
	Folders    ShownEntries // for other folders

	SameBelow             bool // Files and Folders apply at any depth below the folder, passwords of entries aside
	FolderNamesIrrelevant bool // for other subfolders, the result below them does not depend on their names
}

// Glob is a decision for the files whose names match one of Names, in which `*` stands for any
// characters and `?` for one.
type Glob struct {
	Names []string
	Files ShownEntries
}

// unmatchableName is a name that no entry can have, so no literal of a pattern matches it.
const unmatchableName = vpath.Name("\x00")

// SampleChild returns the target for a child folder of folder that has no owner and a name that no
// rule contains.
func (v *Viewer) SampleChild(folder Target) Target {
	t := folder.ForChildren()
	t.Path, t.OwnerID = t.Path.Child(unmatchableName), ""
	return t
}

// ListingFilter returns which entries of a folder show. The result agrees with Shows for each
// entry, but does not need a call for each: all names that no rule distinguishes get the verdict of
// one sample.
func (v *Viewer) ListingFilter(folder Target) ListingFilter {
	read := v.readingMatch(&folder)
	in := ListingFilter{Exceptions: read.names, Files: ShownByName, Folders: ShownByName, SameBelow: read.sameBelow,
		FolderNamesIrrelevant: !read.byWildcard}
	switch {
	case !read.byWildcard:
		in.Files = v.decideSample(folder, false)
	case !v.Policy.keyHasRules(&v.Actor):
		in.Files, in.Globs = v.compileGlobs(&folder)
	}
	if all := v.SampleChild(folder); !read.byWildcard && v.allowed(&all, Read) {
		in.Folders = ShownAll
	}
	if in.Folders != ShownAll || !in.SameBelow { // folders further down may show because of their contents
		wide := v.showingMatch(&folder)
		in.Exceptions = append(in.Exceptions, wide.names...)
		in.SameBelow = in.SameBelow && wide.sameBelow
		in.FolderNamesIrrelevant = in.FolderNamesIrrelevant && !wide.byWildcard
		if in.FolderNamesIrrelevant && in.Folders != ShownAll {
			in.Folders = v.decideSample(folder, true)
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

// addException adds an exception, a name for which Shows must be asked: the child of folder on the
// way to the path `to`, where something (a home, an upload root) has a verdict of its own.
func (f *ListingFilter) addException(folder, to vpath.Path) {
	if names, below := to.RelativeTo(folder); below && len(names) > 0 {
		f.Exceptions = append(f.Exceptions, names[0])
		f.SameBelow = false
	}
}

// decideSample decides which of the files (or, with folders, the folders) in folder show, by
// samples with and without an owner whose names no rule contains. It is right for all names that no
// rule contains.
func (v *Viewer) decideSample(folder Target, folders bool) ShownEntries {
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

// readingMatch returns how the rules about reading match the names in folder, all rules together.
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

// addRules adds to sum how the rules of q that name a permission of want match the names in folder.
// It reports whether one of them decides for everything in the folder, so that later rules don't
// count.
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

// add adds the match of another pattern to m, so that m describes how both together match.
func (m *folderMatch) add(other folderMatch) {
	m.names = append(m.names, other.names...)
	m.byWildcard = m.byWildcard || other.byWildcard
	m.sameBelow = m.sameBelow && other.sameBelow
}

// showingMatch returns how the rules that can make a folder show match the names in folder. Rules
// for other mounts count (see ShowsFolder).
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

// compileGlobs compiles the rules about reading, in order, into decisions for the files of folder:
// globs with a decision each, and rest for all other names. It leaves out the names that are
// literal in a rule, which ListingFilter lists as exceptions.
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
		if a.UserID != "" { // ownership comes before the rules of guests
			own = ShownOwn
		}
		rest, _ = v.appendGlobs(&globs, p.guestRules(a), folder, own)
	}
	for len(globs) > 0 && globs[len(globs)-1].Files == rest {
		globs = globs[:len(globs)-1]
	}
	return rest, globs
}

// appendGlobs appends the decisions of the rules in q about reading files of folder. It returns the
// decision for all other names, and whether a rule made it. denied is the decision that a refusing
// rule makes: ShownOwn where ownership comes first.
func (v *Viewer) appendGlobs(globs *[]Glob, q ruleQueue, folder *Target,
	denied ShownEntries) (rest ShownEntries, done bool) {
	ip := v.Actor.address()
	for r := q.next(); r != nil; r = q.next() {
		if !r.Permissions.Has(Read) || r.MountID != "" && r.MountID != folder.MountID || !r.appliesFrom(ip) ||
			r.needsPassword(&v.Actor) {
			continue
		}
		verdict := denied
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
	return denied, false
}
