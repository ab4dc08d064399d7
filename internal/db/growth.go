package db

import "sync"

// kindColumn is the number of the column of entries that holds the kind, counted from 0.
const kindColumn = 4

// Members are the entries of one kind directly in a folder.
type Members struct {
	Folder string // id
	Kind   int    // the value of entries.kind
}

// growth is a change of the number of members.
type growth struct {
	members Members
	by      int64
	unknown bool   // by may count rows whose change was undone
	commit  uint64 // number of the commit; of a committed growth
}

const (
	// maxGrowths bounds the growths that a transaction collects.
	maxGrowths = 512
	// maxKeptGrowths bounds the growths that are kept of past commits.
	maxKeptGrowths = 2048
)

// transactionGrowths are the growths of a transaction.
type transactionGrowths struct {
	all    []growth
	before int  // how many of all belong to callers that have ended
	lost   bool // there were more than maxGrowths
}

// add adds a growth by the present caller.
func (g *transactionGrowths) add(members Members, by int64) {
	for i := len(g.all) - 1; i >= g.before; i-- {
		if g.all[i].members == members {
			g.all[i].by += by
			return
		}
	}
	if len(g.all) >= maxGrowths {
		g.lost = true
		return
	}
	g.all = append(g.all, growth{members: members, by: by})
}

// endCaller ends the present caller. undone says that its changes were undone. failed says that
// one of its statements has failed: SQLite undoes the changes that such a statement has already
// made, and the caller may have gone on.
func (g *transactionGrowths) endCaller(undone, failed bool) {
	if undone {
		g.all = g.all[:g.before]
	}
	for i := g.before; failed && i < len(g.all); i++ {
		g.all[i].unknown = true
	}
	g.before = len(g.all)
}

// growthLog keeps the growths of the latest commits. The methods are safe for concurrent use.
type growthLog struct {
	mu   sync.Mutex
	kept []growth // in the order of their commits
	lost uint64   // number of the last commit with a growth that is not kept, 0 for none
}

// add adds the growths of a commit. nextNumber takes its number; no reader of the log sees the one
// without the other.
func (l *growthLog) add(of *transactionGrowths, nextNumber func() uint64) (number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	number = nextNumber()
	if of.lost {
		l.kept, l.lost = nil, number
		return number
	}
	for _, g := range of.all {
		if g.by == 0 && !g.unknown {
			continue
		}
		if len(l.kept) >= maxKeptGrowths {
			half := len(l.kept) / 2
			l.lost = max(l.lost, l.kept[half-1].commit)
			l.kept = append(l.kept[:0], l.kept[half:]...)
		}
		g.commit = number
		l.kept = append(l.kept, g)
	}
	return number
}

// forget drops all growths when record records that any row may have changed.
func (l *growthLog) forget(record func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = nil
	record()
}

// Growth returns by how many entries the members have grown from a moment until now. ok is false
// when that is not known: another process has committed, or too much has changed since. A number of
// members that was right at the moment is right at now with the growth added to it. Growth notices
// the same commits as Unchanged.
func (c *Changes) Growth(members Members, since Moment) (by int64, now Moment, ok bool) {
	if !c.allRecorded() {
		return 0, 0, false
	}
	c.growths.mu.Lock()
	defer c.growths.mu.Unlock()
	if Moment(c.all.Load()) > since || Moment(c.growths.lost) > since {
		return 0, 0, false
	}
	for i := len(c.growths.kept) - 1; i >= 0; i-- {
		g := &c.growths.kept[i]
		switch {
		case Moment(g.commit) <= since:
			return by, c.Now(), true
		case g.members != members:
		case g.unknown:
			return 0, 0, false
		default:
			by += g.by
		}
	}
	return by, c.Now(), true
}
