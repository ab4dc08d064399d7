package files

import (
	"strings"

	"larder/internal/access"
	"larder/internal/vpath"
)

// Verdicts on what lies in a folder are written as two characters, for its files and its folders: 0
// for none, 1 for the actor's own, 2 for all, ? for what Shows has to be asked about. What lies
// deeper inherits them, unless it has its own.
const (
	codeEach      = "??"
	codeNone      = "00" // but perhaps below, in folders that have their own
	codeNoneBelow = "xx" // nothing at any depth
)

// start is where a search goes down from: the folder searched, or the root of a mount below it.
type searchRoot struct {
	node
	code          string
	needsPassword bool // what lies in it, for want of a password
}

// searcher is one search.
type searcher struct {
	*lister
	text             string // folded
	startFolders     []searchRoot
	ownCodes         []string // `id=code` of folders that have verdicts of their own
	except           []string // ids of what was judged by itself
	exceptionEntries [2][]visibleEntry
	checkEach        bool // there is something that Shows has to be asked about
	folders          int  // with a verdict of their own
}

// maxFolderCodes is how many folders have a verdict of their own in one search; what lies in others
// is judged one by one.
const maxFolderCodes = 1000

// search takes what lies below a folder apart into regions of one verdict each, which a query can
// tell, and what is judged by itself: what rules name, mounts and virtual folders.
func (l *lister) search(f listedFolder, n *node, text string) ([]listPortion, error) {
	s := searcher{lister: l, text: vpath.Fold(text)}
	if f.id != "" {
		if err := s.addStart(f, *n); err != nil {
			return nil, err
		}
	}
	if err := s.addMounts(f); err != nil {
		return nil, err
	}
	var parts []listPortion
	for _, kind := range []int{folderKind, fileKind} {
		if l.kind < 0 || l.kind == kind {
			parts = append(parts, listPortion{source: &searchPortion{searcher: &s, kind: kind},
				exceptions: s.exceptionEntries[kind]})
		}
	}
	return parts, nil
}

// addMountOn adds the mounts below the folder that is searched, and the virtual folders on
// the way to them.
func (s *searcher) addMounts(f listedFolder) error {
	seen := map[vpath.Path]bool{f.facts.Path: true}
	for _, m := range s.mounts {
		seen[m.Path] = true
	}
	for _, m := range s.mounts {
		root := s.mountEntry(m)
		s.judge(root)
		if err := s.addStart(listedFolder{id: root.row.id, facts: root.target}, s.roots[m.ID]); err != nil {
			return err
		}
		for p := m.Path.Parent(); !seen[p]; p = p.Parent() {
			seen[p] = true
			above, _, err := s.find(s.q, p)
			if err != nil {
				return err
			}
			if !above.exists() {
				s.judge(virtualEntry(above.virtualTarget(s.Actor, p)))
			}
		}
	}
	return nil
}

// judge adds an entry that is judged by itself.
func (s *searcher) judge(e visibleEntry) {
	if strings.Contains(vpath.Fold(e.row.name), s.text) && s.Shows(e.target, e.row.folder) {
		kind := kindOf(e.row.folder)
		s.exceptionEntries[kind] = append(s.exceptionEntries[kind], e)
	}
}

// addStart adds a place to go down from.
func (s *searcher) addStart(f listedFolder, n node) error {
	code, err := s.folderCode(f)
	if err != nil {
		return err
	}
	s.startFolders = append(s.startFolders, searchRoot{node: n, code: code,
		needsPassword: s.NeedsPasswordToList(f.facts.Password)})
	return nil
}

// folderCode returns the code for f, and adds those of folders below it that have their own.
// Passwords of entries are left to the query.
func (s *searcher) folderCode(f listedFolder) (string, error) {
	in := s.inside(f.facts)
	code := s.code(&in)
	s.folders++
	if code == codeEach || s.folders > maxFolderCodes || len(in.Exceptions) > maxExceptions {
		s.checkEach = true
		return codeEach, nil
	}
	if !in.SameBelow {
		below := s.inside(s.SampleChild(f.facts))
		if !in.FolderNamesIrrelevant || !below.SameBelow || s.code(&below) != code {
			s.checkEach = true
			return codeEach, nil
		}
	}
	spots, err := s.exceptions(f, in.Exceptions)
	if err != nil {
		return "", err
	}
	if len(spots) == 0 && code == codeNone {
		return codeNoneBelow, nil
	}
	for _, at := range spots {
		switch {
		case at.row.id == "":
			continue
		case at.mount == nil:
			e := s.exceptionEntry(f, at)
			s.judge(e)
			if at.row.folder {
				own, err := s.folderCode(listedFolder{id: at.row.id, facts: e.target})
				if err != nil {
					return "", err
				}
				s.ownCodes = append(s.ownCodes, at.row.id+"="+own)
			}
		case at.row.folder: // it lies in the shadow of the mount
			s.ownCodes = append(s.ownCodes, at.row.id+"="+codeNoneBelow)
		}
		s.except = append(s.except, at.row.id)
	}
	return code, nil
}

// idsBelow is Inside as if no entry had a password.
func (s *searcher) inside(facts access.Target) access.ListingFilter {
	facts.Password, facts.PasswordAbove = nil, nil
	return s.ListingFilter(facts)
}

func (s *searcher) code(in *access.ListingFilter) string {
	codes := map[access.ShownEntries]string{access.ShownNone: "0", access.ShownOwn: "1", access.ShownAll: "2"}
	files, folders := codes[in.Files], codes[in.Folders]
	if files == "" || folders == "" || len(in.Globs) > 0 {
		return codeEach
	}
	return files + folders
}

// passwordsApply reports whether passwords of entries can stand between the actor and names.
func (s *searcher) passwordsApply() bool {
	return s.Actor.UserID == "" || s.Actor.Role != access.Admin
}

// unlockedIDs lists the ids of the passwords that the actor has given; among them may
// be those of rules.
func (l *lister) unlockedIDs() []string {
	if l.Actor.Key != nil {
		return nil
	}
	return l.Actor.Unlocked
}

// searchPortion is what a query tells of the files or of the folders below.
type searchPortion struct {
	*searcher
	kind int
}

func (p *searchPortion) page(offset, limit int64) (found []visibleEntry, total int64, err error) {
	if len(p.startFolders) == 0 {
		return nil, 0, nil
	}
	query := searchQuery{searcher: p.searcher, kind: p.kind}
	facts := folderCache{searcher: p.searcher, byKey: map[folderKey]listedFolder{}}
	if p.checkEach {
		err = query.window(p.q, 0, noLimit, false, func(m match) {
			folder := facts.targetOf(&m)
			target := childTarget(folder.facts, p.Actor, &m.row)
			if p.covered(&p.startFolders[m.start].node, target.Path) || !p.Shows(target, m.row.folder) {
				return
			}
			if total >= offset && total-offset < limit {
				found = append(found, visibleEntry{row: m.row, target: target})
			}
			total++
		})
		return found, total, err
	}
	matches, total, err := window(offset, limit, func() (int64, error) { return query.count(p.q) },
		func(offset, limit int64, reverse bool) (some []match, err error) {
			err = query.window(p.q, offset, limit, reverse, func(m match) { some = append(some, m) })
			return some, err
		})
	for i := range matches {
		m := &matches[i]
		found = append(found, visibleEntry{row: m.row, target: childTarget(facts.targetOf(m).facts, p.Actor, &m.row)})
	}
	return found, total, err
}

// match is an entry found below a seed, with the path and the trail of the folders between.
type match struct {
	row
	start       int
	path, trail string
}

// folderCache remembers the facts about folders that something was found in.
type folderCache struct {
	*searcher
	byKey map[folderKey]listedFolder
}

type folderKey struct {
	start int
	id    string
}

// maxCachedFolders bounds what is remembered.
const maxCachedFolders = 10000

// targetOf returns the facts about the folder that m lies in.
func (k *folderCache) targetOf(m *match) listedFolder {
	key := folderKey{m.start, m.parent}
	if f, there := k.byKey[key]; there {
		return f
	}
	n := k.startFolders[m.start].node
	n.trail = append(n.trail[:len(n.trail):len(n.trail)], parseTrail(m.trail)...)
	for _, name := range segments(m.path) {
		n.path = n.path.Child(name)
	}
	n.row = row{id: m.parent, folder: true, owner: n.trail[len(n.trail)-1].owner}
	f := listedFolder{id: n.id, facts: n.facts(k.Actor)}
	if len(k.byKey) == maxCachedFolders {
		clear(k.byKey)
	}
	k.byKey[key] = f
	return f
}
