package files

import (
	"strings"

	"larder/internal/access"
	"larder/internal/vpath"
)

// Verdicts on what lies in a folder are written as two characters, for its files and its folders: 0 for none, 1 for the actor's own, 2 for all,
// ? for what Shows has to be asked about. What lies deeper inherits them, unless it has its own.
const (
	askEach = "??"
	nothing = "00" // but perhaps below, in folders that have their own
	closed  = "xx" // nothing at any depth
)

// seed is where a search goes down from: the folder searched, or the root of a mount below it.
type seed struct {
	node
	code   string
	barred bool // what lies in it, for want of a password
}

// searcher is one search.
type searcher struct {
	*lister
	text    string // folded
	seeds   []seed
	changes []string // `id=code` of folders that have verdicts of their own
	except  []string // ids of what was judged by itself
	special [2][]sight
	asks    bool // there is something that Shows has to be asked about
	folders int  // with a verdict of their own
}

// maxVerdicts is how many folders have a verdict of their own in one search; what lies in others is judged one by one.
const maxVerdicts = 1000

// search takes what lies below a folder apart into regions of one verdict each, which a query can tell, and what is judged by itself: what rules
// name, mounts and virtual folders.
func (l *lister) search(f place, n *node, text string) ([]part, error) {
	s := searcher{lister: l, text: vpath.Fold(text)}
	if f.id != "" {
		if err := s.sow(f, *n); err != nil {
			return nil, err
		}
	}
	if err := s.mounted(f); err != nil {
		return nil, err
	}
	var parts []part
	for _, kind := range []int{folderKind, fileKind} {
		if l.kind < 0 || l.kind == kind {
			parts = append(parts, part{source: &searchPart{searcher: &s, kind: kind}, special: s.special[kind]})
		}
	}
	return parts, nil
}

// addMountOn adds the mounts below the folder that is searched, and the virtual folders on the way to them.
func (s *searcher) mounted(f place) error {
	seen := map[vpath.Path]bool{f.facts.Path: true}
	for _, m := range s.mounts {
		seen[m.Path] = true
	}
	for _, m := range s.mounts {
		root := s.root(m)
		s.judge(root)
		if err := s.sow(place{id: root.row.id, facts: root.target}, s.roots[m.ID]); err != nil {
			return err
		}
		for p := m.Path.Parent(); !seen[p]; p = p.Parent() {
			seen[p] = true
			above, _, err := s.find(s.q, p)
			if err != nil {
				return err
			}
			if !above.exists() {
				s.judge(virtual(above.virtual(s.Actor, p)))
			}
		}
	}
	return nil
}

// judge adds an entry that is judged by itself.
func (s *searcher) judge(e sight) {
	if strings.Contains(vpath.Fold(e.row.name), s.text) && s.Shows(e.target, e.row.folder) {
		kind := kindOf(e.row.folder)
		s.special[kind] = append(s.special[kind], e)
	}
}

// sow adds a place to go down from.
func (s *searcher) sow(f place, n node) error {
	code, err := s.verdict(f)
	if err != nil {
		return err
	}
	s.seeds = append(s.seeds, seed{node: n, code: code, barred: s.Barred(f.facts.Guard)})
	return nil
}

// verdict returns the code for f, and adds those of folders below it that have their own. Passwords of entries are left to the query.
func (s *searcher) verdict(f place) (string, error) {
	in := s.inside(f.facts)
	code := s.code(&in)
	s.folders++
	if code == askEach || s.folders > maxVerdicts || len(in.Names) > maxSpots {
		s.asks = true
		return askEach, nil
	}
	if !in.Settled {
		below := s.inside(s.Fresh(f.facts))
		if !in.Alike || !below.Settled || s.code(&below) != code {
			s.asks = true
			return askEach, nil
		}
	}
	spots, err := s.spots(f, in.Names)
	if err != nil {
		return "", err
	}
	if len(spots) == 0 && code == nothing {
		return closed, nil
	}
	for _, at := range spots {
		switch {
		case at.row.id == "":
			continue
		case at.mount == nil:
			e := s.at(f, at)
			s.judge(e)
			if at.row.folder {
				own, err := s.verdict(place{id: at.row.id, facts: e.target})
				if err != nil {
					return "", err
				}
				s.changes = append(s.changes, at.row.id+"="+own)
			}
		case at.row.folder: // it lies in the shadow of the mount
			s.changes = append(s.changes, at.row.id+"="+closed)
		}
		s.except = append(s.except, at.row.id)
	}
	return code, nil
}

// inside is Inside as if no entry had a password.
func (s *searcher) inside(facts access.Target) access.Inside {
	facts.Guard, facts.Above = nil, nil
	return s.Inside(facts)
}

func (s *searcher) code(in *access.Inside) string {
	codes := map[access.Children]string{access.ChildrenNone: "0", access.ChildrenOwn: "1", access.ChildrenAll: "2"}
	files, folders := codes[in.Files], codes[in.Folders]
	if files == "" || folders == "" || len(in.Globs) > 0 {
		return askEach
	}
	return files + folders
}

// bars reports whether passwords of entries can stand between the actor and names.
func (s *searcher) bars() bool {
	return s.Actor.UserID == "" || s.Actor.Role != access.Admin
}

// unlocked lists the ids of the passwords that the actor has given; among them may be those of rules.
func (l *lister) unlocked() []string {
	if l.Actor.Key != nil {
		return nil
	}
	return l.Actor.Unlocked
}

// searchPart is what a query tells of the files or of the folders below.
type searchPart struct {
	*searcher
	kind int
}

func (p *searchPart) page(offset, limit int64) (found []sight, total int64, err error) {
	if len(p.seeds) == 0 {
		return nil, 0, nil
	}
	query := matching{searcher: p.searcher, kind: p.kind}
	facts := known{searcher: p.searcher, of: map[folderOf]place{}}
	if p.asks {
		err = query.window(p.q, 0, everyRow, false, func(m match) {
			folder := facts.about(&m)
			target := child(folder.facts, p.Actor, &m.row)
			if p.covered(&p.seeds[m.seed].node, target.Path) || !p.Shows(target, m.row.folder) {
				return
			}
			if total >= offset && total-offset < limit {
				found = append(found, sight{row: m.row, target: target})
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
		found = append(found, sight{row: m.row, target: child(facts.about(m).facts, p.Actor, &m.row)})
	}
	return found, total, err
}

// match is an entry found below a seed, with the path and the trail of the folders between.
type match struct {
	row
	seed        int
	path, trail string
}

// known remembers the facts about folders that something was found in.
type known struct {
	*searcher
	of map[folderOf]place
}

type folderOf struct {
	seed int
	id   string
}

// maxKnown bounds what is remembered.
const maxKnown = 10000

// about returns the facts about the folder that m lies in.
func (k *known) about(m *match) place {
	key := folderOf{m.seed, m.parent}
	if f, there := k.of[key]; there {
		return f
	}
	n := k.seeds[m.seed].node
	n.trail = append(n.trail[:len(n.trail):len(n.trail)], parseTrail(m.trail)...)
	for _, name := range segments(m.path) {
		n.path = n.path.Child(name)
	}
	n.row = row{id: m.parent, folder: true, owner: n.trail[len(n.trail)-1].owner}
	f := place{id: n.id, facts: n.facts(k.Actor)}
	if len(k.of) == maxKnown {
		clear(k.of)
	}
	k.of[key] = f
	return f
}
