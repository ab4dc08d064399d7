package files

import (
	"slices"
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
	filter           SearchFilter
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

// search returns the entries at any depth below the folder f, found as n, whose names contain text
// without case and which the filter selects. It divides the folders below into regions in which one
// query can select the visible entries by a code (codeEach and so on), and entries with a decision
// of their own: those that rules name, mounts, and virtual folders.
func (l *lister) search(f listedFolder, n *node, text string, filter SearchFilter) ([]listPortion, error) {
	s := searcher{lister: l, text: vpath.Fold(text), filter: filter}
	if err := s.addFolders(f, n); err != nil {
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

// addFolders adds the searched folder f, found as n, and the mounts below it as start folders.
func (s *searcher) addFolders(f listedFolder, n *node) error {
	if f.id != "" {
		if err := s.addStart(f, *n); err != nil {
			return err
		}
	}
	if err := s.addMounts(f); err != nil {
		return err
	}
	return s.filterExceptions()
}

// filterExceptions drops the entries with a decision of their own that the filter does not select.
func (s *searcher) filterExceptions() error {
	if s.filter.empty() {
		return nil
	}
	files := s.exceptionEntries[fileKind]
	ids := make([]string, len(files))
	for i := range files {
		ids[i] = files[i].row.id
	}
	selected, err := s.filter.idsOf(s.q, ids)
	s.exceptionEntries[fileKind] = slices.DeleteFunc(files, func(e visibleEntry) bool {
		return !selected[e.row.id] || s.filter.timed() && !s.showsContent(e.target)
	})
	return err
}

// addMounts adds the mounts below the searched folder as start folders, and as results those mounts
// and virtual folders on the way to them whose names match.
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

// addIfVisible adds an entry that has a decision of its own to the results, if its name contains
// the text and the actor sees it.
func (s *searcher) addIfVisible(e visibleEntry) {
	if strings.Contains(vpath.Fold(e.row.name), s.text) && s.Shows(e.target, e.row.folder) {
		kind := kindOf(e.row.folder)
		s.exceptionEntries[kind] = append(s.exceptionEntries[kind], e)
	}
}

// addStart adds the folder f, found as n, to the folders from which the query walks down.
func (s *searcher) addStart(f listedFolder, n node) error {
	code, err := s.folderCode(f)
	if err != nil {
		return err
	}
	s.startFolders = append(s.startFolders, searchRoot{node: n, code: code,
		needsPassword: s.NeedsPasswordToList(f.target.Password)})
	return nil
}

// folderCode returns the code of the folder f, two characters that say which files and folders in
// it the actor sees. It records the codes of folders below that rules treat otherwise, and entries
// that rules name. It returns codeEach, so that each entry is decided by itself, where rules differ
// further down or too many folders have codes. Passwords of entries are left to the query.
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

// inside is the filter by which the rules show the entries in the folder of target, as if no entry
// had a password; the query handles these.
func (s *searcher) inside(target access.Target) access.ListingFilter {
	target.Password, target.PasswordAbove = nil, nil
	return s.ListingFilter(target)
}

// code returns the two characters for the filter of a folder: which of its files, and which of its
// folders, the actor sees. It is codeEach where one of the two depends on names.
func (s *searcher) code(in *access.ListingFilter) string {
	codes := map[access.ShownEntries]string{access.ShownNone: "0", access.ShownOwn: "1", access.ShownAll: "2"}
	files, folders := codes[in.Files], codes[in.Folders]
	if files == "" || folders == "" || len(in.Globs) > 0 {
		return codeEach
	}
	return files + folders
}

// passwordsApply reports whether passwords of entries can hide entries from the actor; from
// administrators they hide none.
func (s *searcher) passwordsApply() bool {
	return s.Actor.UserID == "" || s.Actor.Role != access.Admin
}

// unlockedIDs lists the ids of the passwords that the actor has given; among them may be those of
// rules. A key has none.
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

// page implements pageSource: it returns the matches from offset on, at most limit, and their total
// number. Where some entries need a decision of their own, it reads all matches.
func (p *searchPortion) page(offset, limit int64) (found []visibleEntry, total int64, err error) {
	if len(p.startFolders) == 0 {
		return nil, 0, nil
	}
	if p.checkEach || p.filter.timed() {
		err = p.each(func(e visibleEntry, _ *match) {
			if total >= offset && total-offset < limit {
				found = append(found, e)
			}
			total++
		})
		return found, total, err
	}
	query, cache := p.query()
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

// query returns the query of the portion, and a cache for the folders of its results.
func (p *searchPortion) query() (searchQuery, folderCache) {
	return searchQuery{searcher: p.searcher, kind: p.kind},
		folderCache{searcher: p.searcher, byKey: map[folderKey]listedFolder{}}
}

// each calls found for all matches that the actor sees, in order. It decides about each of them. If
// the filter is by time, it leaves out those that the actor may not download.
func (p *searchPortion) each(found func(visibleEntry, *match)) error {
	if len(p.startFolders) == 0 {
		return nil
	}
	query, cache := p.query()
	return query.window(p.q, 0, noLimit, false, func(m match) {
		target := childTarget(cache.targetOf(&m).target, p.Actor, &m.row)
		if p.filter.timed() && !p.showsContent(target) {
			return
		}
		if !p.hiddenByMount(p.startFolders[m.start].node.mount.ID, target.Path) && p.Shows(target, m.row.folder) {
			found(visibleEntry{row: m.row, target: target}, &m)
		}
	})
}

// match is an entry found below a start folder, with the path and the trail of the folders between.
type match struct {
	row
	start       int
	path, trail string
	time        int64 // see medium.time
	ratio       int   // see medium.ratio
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

// targetOf returns the folder that the match m is in, with its target, which needs the path and the
// passwords between the start folder and it.
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
