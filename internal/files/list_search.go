package files

import (
	"strings"

	"larder/internal/access"
	"larder/internal/vpath"
)

// The verdict on the entries in a folder is coded as two characters, for its files and its folders:
// 0 none, 1 the actor's own, 2 all, ? each needs a decision by Shows. Deeper folders inherit the
// code, unless they have their own.
const (
	codeEach      = "??"
	codeNone      = "00" // but folders below may have their own code
	codeNoneBelow = "xx" // nothing at any depth
)

// searchRoot is a folder where a search starts: the searched folder, or the root of a mount below
// it.
type searchRoot struct {
	node
	code          string
	needsPassword bool // the content needs a password that was not given
}

// searcher is one search.
type searcher struct {
	*lister
	text             string // folded
	startFolders     []searchRoot
	ownCodes         []string // `id=code` of folders that have a code of their own
	except           []string // ids of entries with a decision of their own
	exceptionEntries [2][]visibleEntry
	checkEach        bool // some entries need a decision by Shows
	folders          int  // number of folders with a code of their own
}

// maxFolderCodes bounds the number of folders with a code of their own in one search. Entries in
// further folders are decided one by one.
const maxFolderCodes = 1000

// search divides everything below a folder into regions of one code each, which a query can select,
// and entries with a decision of their own: those that rules name, mounts, and virtual folders.
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

// addMounts adds the mounts below the searched folder, and the virtual folders that lead to them.
func (s *searcher) addMounts(f listedFolder) error {
	seen := map[vpath.Path]bool{f.target.Path: true}
	for _, m := range s.mounts {
		seen[m.Path] = true
	}
	for _, m := range s.mounts {
		root := s.mountEntry(m)
		s.addIfVisible(root)
		if err := s.addStart(listedFolder{id: root.row.id, target: root.target}, s.roots[m.ID]); err != nil {
			return err
		}
		for p := m.Path.Parent(); !seen[p]; p = p.Parent() {
			seen[p] = true
			above, _, err := s.find(s.q, p)
			if err != nil {
				return err
			}
			if !above.exists() {
				s.addIfVisible(virtualEntry(above.virtualTarget(s.Actor, p)))
			}
		}
	}
	return nil
}

// addIfVisible adds an entry that has a decision of its own, if it matches and is visible.
func (s *searcher) addIfVisible(e visibleEntry) {
	if strings.Contains(vpath.Fold(e.row.name), s.text) && s.Shows(e.target, e.row.folder) {
		kind := kindOf(e.row.folder)
		s.exceptionEntries[kind] = append(s.exceptionEntries[kind], e)
	}
}

// addStart adds a start folder.
func (s *searcher) addStart(f listedFolder, n node) error {
	code, err := s.folderCode(f)
	if err != nil {
		return err
	}
	s.startFolders = append(s.startFolders, searchRoot{node: n, code: code,
		needsPassword: s.NeedsPasswordToList(f.target.Password)})
	return nil
}

// folderCode returns the code for f, and adds the codes of folders below it that have their own.
// The query handles passwords of entries.
func (s *searcher) folderCode(f listedFolder) (string, error) {
	in := s.inside(f.target)
	code := s.code(&in)
	s.folders++
	if code == codeEach || s.folders > maxFolderCodes || len(in.Exceptions) > maxExceptions {
		s.checkEach = true
		return codeEach, nil
	}
	if !in.SameBelow {
		below := s.inside(s.SampleChild(f.target))
		if !in.FolderNamesIrrelevant || !below.SameBelow || s.code(&below) != code {
			s.checkEach = true
			return codeEach, nil
		}
	}
	exceptions, err := s.exceptions(f, in.Exceptions)
	if err != nil {
		return "", err
	}
	if len(exceptions) == 0 && code == codeNone {
		return codeNoneBelow, nil
	}
	for _, at := range exceptions {
		switch {
		case at.row.id == "":
			continue
		case at.mount == nil:
			e := s.exceptionEntry(f, at)
			s.addIfVisible(e)
			if at.row.folder {
				own, err := s.folderCode(listedFolder{id: at.row.id, target: e.target})
				if err != nil {
					return "", err
				}
				s.ownCodes = append(s.ownCodes, at.row.id+"="+own)
			}
		case at.row.folder: // hidden by the mount
			s.ownCodes = append(s.ownCodes, at.row.id+"="+codeNoneBelow)
		}
		s.except = append(s.except, at.row.id)
	}
	return code, nil
}

// inside is the listing filter as if no entry had a password.
func (s *searcher) inside(target access.Target) access.ListingFilter {
	target.Password, target.PasswordAbove = nil, nil
	return s.ListingFilter(target)
}

func (s *searcher) code(in *access.ListingFilter) string {
	codes := map[access.ShownEntries]string{access.ShownNone: "0", access.ShownOwn: "1", access.ShownAll: "2"}
	files, folders := codes[in.Files], codes[in.Folders]
	if files == "" || folders == "" || len(in.Globs) > 0 {
		return codeEach
	}
	return files + folders
}

// passwordsApply reports whether passwords of entries can hide names from the actor.
func (s *searcher) passwordsApply() bool {
	return s.Actor.UserID == "" || s.Actor.Role != access.Admin
}

// unlockedIDs lists the ids of the passwords that the actor has given, possibly with those of
// rules.
func (l *lister) unlockedIDs() []string {
	if l.Actor.Key != nil {
		return nil
	}
	return l.Actor.Unlocked
}

// searchPortion is the files or the folders below that a query selects.
type searchPortion struct {
	*searcher
	kind int
}

func (p *searchPortion) page(offset, limit int64) (found []visibleEntry, total int64, err error) {
	if len(p.startFolders) == 0 {
		return nil, 0, nil
	}
	query := searchQuery{searcher: p.searcher, kind: p.kind}
	cache := folderCache{searcher: p.searcher, byKey: map[folderKey]listedFolder{}}
	if p.checkEach {
		err = query.window(p.q, 0, noLimit, false, func(m match) {
			folder := cache.targetOf(&m)
			target := childTarget(folder.target, p.Actor, &m.row)
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
		found = append(found, visibleEntry{row: m.row, target: childTarget(cache.targetOf(m).target, p.Actor, &m.row)})
	}
	return found, total, err
}

// match is an entry found below a start folder, with the path and the trail of the folders between.
type match struct {
	row
	start       int
	path, trail string
}

// folderCache caches the targets of folders in which something was found.
type folderCache struct {
	*searcher
	byKey map[folderKey]listedFolder
}

type folderKey struct {
	start int
	id    string
}

// maxCachedFolders bounds the cache.
const maxCachedFolders = 10000

// targetOf returns the folder that m is in, with its target.
func (c *folderCache) targetOf(m *match) listedFolder {
	key := folderKey{m.start, m.parent}
	if f, there := c.byKey[key]; there {
		return f
	}
	n := c.startFolders[m.start].node
	n.trail = append(n.trail[:len(n.trail):len(n.trail)], parseTrail(m.trail)...)
	for _, name := range segments(m.path) {
		n.path = n.path.Child(name)
	}
	n.row = row{id: m.parent, folder: true, owner: n.trail[len(n.trail)-1].owner}
	f := listedFolder{id: n.id, target: n.existingTarget(c.Actor)}
	if len(c.byKey) == maxCachedFolders {
		clear(c.byKey)
	}
	c.byKey[key] = f
	return f
}
