package files_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

var (
	pastChanges = flag.Int("past.changes", 400, "random changes of TestPastOfRandomChanges on each engine")
	pastMoments = flag.Int("past.moments", 50, "moments at which TestPastOfRandomChanges compares every folder")
	pastSeed    = flag.Uint64("past.seed", 0, "seed of TestPastOfRandomChanges; 0 takes the time")
)

// pastModel is what the tree below /home/ann was after each of a sequence of random changes.
type pastModel struct {
	*storesFixture
	replicas []*files.Tree // on the database: two on PostgreSQL
	random   *rand.Rand
	live     map[string]modelEntry // by id; the home is "home"
	trashed  map[string][]string   // by id of the item: the ids in it, itself included
	dead     map[string]bool       // ids of entries that are deleted for good
	forGood  bool                  // changes may delete for good
	left     map[string]leaving    // by folder id and entry id: the last time at which it left the folder
	contents map[string]string     // by id, of files that exist or are in the trash
	moments  []moment
	made     int

	asked, refused int // listings of earlier times, and those that the service refused
}

type modelEntry struct {
	parent, name, path, content string
	folder                      bool
}

type leaving map[string]time.Time

// moment is the tree at a time.
type moment struct {
	at   time.Time
	live map[string]modelEntry
}

// readTree reads the tree from the service, since it names the entries that it makes and restores.
func (m *pastModel) readTree() {
	m.live = map[string]modelEntry{m.idAtPath("/home/ann"): {path: "/home/ann", folder: true}}
	for open := []string{m.idAtPath("/home/ann")}; len(open) > 0; open = open[1:] {
		folder := m.live[open[0]]
		listing, err := m.tree.List(m.t.Context(), m.ann, files.ListQuery{Path: mustParsePath(folder.path), Page: 1,
			Limit: 1000})
		m.must(err)
		for _, e := range listing.Items {
			m.live[e.ID] = modelEntry{open[0], e.Name, folder.path + "/" + e.Name, m.contents[e.ID], e.Folder}
			if e.Folder {
				open = append(open, e.ID)
			}
		}
	}
}

// recordLeft records which entries have left their folders since the tree was before.
func (m *pastModel) recordLeft(before map[string]modelEntry) {
	for id, e := range before {
		if now, there := m.live[id]; e.parent == "" || there && now.parent == e.parent && now.name == e.name {
			continue
		}
		if m.left[e.parent] == nil {
			m.left[e.parent] = leaving{}
		}
		m.left[e.parent][id] = m.clock()
	}
}

// knownSince is the earliest time at which the folder has only entries that are not deleted for
// good.
func (m *pastModel) knownSince(folder string) (since time.Time) {
	for id, at := range m.left[folder] {
		if m.dead[id] && at.After(since) {
			since = at
		}
	}
	return since
}

// below returns the ids of an entry and everything in it.
func (m *pastModel) below(id string) []string {
	ids := []string{id}
	for i := 0; i < len(ids); i++ {
		for child, e := range m.live {
			if e.parent == ids[i] {
				ids = append(ids, child)
			}
		}
	}
	return ids
}

func (m *pastModel) kill(ids []string) {
	for _, id := range ids {
		m.dead[id] = true
	}
}

// pick returns the id of a random entry, "" when there is none.
func (m *pastModel) pick(fits func(e modelEntry) bool) string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(m.live)) {
		if fits(m.live[id]) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return ids[m.random.IntN(len(ids))]
}

// visit selects a random replica for the next calls.
func (m *pastModel) visit() { m.tree = m.replicas[m.random.IntN(len(m.replicas))] }

func isFile(e modelEntry) bool   { return !e.folder }
func isInHome(e modelEntry) bool { return e.parent != "" }

// mayHaveEntries reports whether an entry is a folder above the lowest level that a path may have.
func mayHaveEntries(e modelEntry) bool {
	return e.folder && mustParsePath(e.path).Depth() < vpath.MaxDepth
}

// change makes one random change. A change that the service refuses, such as a move to a name that
// is taken, changes nothing.
func (m *pastModel) change() {
	m.visit()
	m.made++
	content := fmt.Sprint("content ", m.made*m.made)
	name := string(rune('a' + m.random.IntN(6)))
	folder := m.live[m.pick(mayHaveEntries)].path
	entry, file := m.pick(isInHome), m.pick(isFile)
	switch action := m.random.IntN(22); {
	case action < 5:
		if e, err := m.upload(m.ann, folder+"/"+name, content, files.Fail); m.allowRefusal(err) {
			m.contents[e.ID] = content
		}
	case action < 7:
		_, err := m.tree.CreateFolder(m.t.Context(), m.ann, mustParsePath(folder), mustParsePath("/"+name).Base())
		m.allowRefusal(err)
	case entry == "":
	case action < 11:
		m.allowRefusal(m.moveTo(m.ann, m.live[entry].path, folder+"/"+name, false))
	case action < 14:
		ids := m.below(entry)
		m.toTrash(m.ann, m.live[entry].path)
		m.trashed[entry] = ids
	case action < 16 && len(m.trashed) > 0:
		item := slices.Sorted(maps.Keys(m.trashed))[m.random.IntN(len(m.trashed))]
		if _, err := m.restore(m.ann, item, files.RestoreOptions{Conflict: files.RenameNew}); m.allowRefusal(err) {
			delete(m.trashed, item)
		}
	case action == 16 && m.forGood:
		_, _, err := m.tree.Delete(m.t.Context(), m.ann, entry)
		m.must(err)
		m.kill(m.below(entry))
	case action == 17 && m.forGood && len(m.trashed) > 0:
		item := slices.Sorted(maps.Keys(m.trashed))[m.random.IntN(len(m.trashed))]
		_, err := m.tree.Purge(m.t.Context(), m.ann, item)
		m.must(err)
		m.kill(m.trashed[item])
		delete(m.trashed, item)
	case file == "":
	case action == 18 && m.forGood:
		other := m.pick(isFile)
		if other != file {
			m.must(m.moveTo(m.ann, m.live[file].path, m.live[other].path, true))
			m.contents[other] = m.contents[file]
			m.kill([]string{file})
			break
		}
		fallthrough
	default:
		m.replace(m.ann, m.live[file].path, content)
		m.contents[file] = content
	}
}

// allowRefusal reports whether a change was made.
func (m *pastModel) allowRefusal(err error) bool {
	m.t.Helper()
	if err == nil {
		return true
	}
	tooDeep := fault.Is(err, fault.Invalid) && strings.Contains(err.Error(), "64 levels")
	if tooDeep || fault.Is(err, fault.Conflict) || fault.Is(err, fault.AlreadyExists) {
		return false
	}
	m.t.Fatal(err)
	return false
}

// check compares every folder of a moment with its listing by the service. The service lists all
// entries that the folder had, or refuses a time at which the folder had an entry that is deleted
// for good, or an earlier time.
func (m *pastModel) check(then moment) {
	m.t.Helper()
	m.visit()
	for _, id := range slices.Sorted(maps.Keys(then.live)) {
		folder := then.live[id]
		if !folder.folder || m.dead[id] {
			continue
		}
		var want, got []string
		for child, e := range then.live {
			if e.parent == id {
				want = append(want, fmt.Sprint(child, " ", e.path, " ", len(e.content), " ", e.folder))
			}
		}
		listing, err := m.tree.ListPast(m.t.Context(), m.ann, pastOfID(id, then.at))
		m.asked++
		if then.at.Before(m.knownSince(id)) && fault.Is(err, fault.Invalid) {
			m.refused++
			continue
		}
		if m.isBelowDead(then, id) {
			m.wantFault("a folder without a path", err, fault.NotFound)
			continue
		}
		if err != nil {
			m.t.Fatalf("%s at %d: %v", folder.path, then.at.UnixMilli(), err)
		}
		for _, e := range listing.Items {
			got = append(got, fmt.Sprint(e.ID, " ", e.Path(), " ", e.Size, " ", e.Folder))
			if _, exists := m.live[e.ID]; exists && !e.Folder {
				if content, err := m.readAt(m.ann, e.ID, then.at); content != then.live[e.ID].content || err != nil {
					m.t.Fatalf("%s at %d: content %q, %v; want %q", e.Path(), then.at.UnixMilli(), content, err,
						then.live[e.ID].content)
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			m.t.Fatalf("%s at %d:\n%q, want\n%q", folder.path, then.at.UnixMilli(), got, want)
		}
	}
}

// rewind brings the home back to a moment.
func (m *pastModel) rewind(then moment) {
	m.t.Helper()
	m.advance(time.Second)
	home := m.idAtPath("/home/ann")
	j, err := m.tree.Rewind(m.t.Context(), m.ann, home, then.at.UnixMilli())
	m.must(err)
	m.visit()
	m.runJobs()
	if j = m.job(j.ID); j.Status != "completed" {
		m.t.Fatalf("the rewind is %s: %v", j.Status, *j.ErrorMessage)
	}
	m.advance(time.Second)
	m.readTree()
	for id, e := range then.live {
		if m.dead[id] || m.isBelowDead(then, id) {
			continue
		}
		got := m.live[id]
		if got.path != e.path || got.folder != e.folder {
			m.t.Errorf("%s is at %q", e.path, got.path)
		} else if !e.folder {
			if content, err := m.readPath(m.ann, got.path); content != e.content || err != nil {
				m.t.Errorf("%s is %q, %v; want %q", e.path, content, err, e.content)
			}
		}
	}
	for id, e := range m.live {
		if _, existed := then.live[id]; !existed || m.isBelowDead(then, id) {
			m.t.Errorf("%s has no place at that time", e.path)
		}
	}
	plan, err := m.tree.PlanRewind(m.t.Context(), m.ann, home, then.at.UnixMilli())
	m.must(err)
	if plan.ComeBack.Count+plan.MoveBack.Count+plan.Revert.Count+plan.ToTrash.Count+plan.BlockedCount != 0 {
		m.t.Errorf("after the rewind there is more to do: %+v", plan)
	}
}

// isBelowDead reports whether a folder above an entry of a moment is deleted for good.
func (m *pastModel) isBelowDead(then moment, id string) bool {
	for above := then.live[id].parent; above != ""; above = then.live[above].parent {
		if m.dead[above] {
			return true
		}
	}
	return false
}

// After random changes, on PostgreSQL by two replicas in turn, the service lists any folder at any
// time as it was, or refuses the time because an entry is deleted for good. The first half of the
// changes delete for good.
func TestPastOfRandomChanges(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		seed := *pastSeed
		if seed == 0 {
			seed = uint64(time.Now().UnixNano())
		}
		t.Log("seed", seed)
		m := &pastModel{storesFixture: w, replicas: []*files.Tree{w.tree}, random: rand.New(rand.NewPCG(seed, 0)),
			trashed: map[string][]string{}, dead: map[string]bool{}, contents: map[string]string{},
			left: map[string]leaving{}}
		if !w.db.Dialect().SingleWriter() {
			w.openReplica()
			m.replicas = append(m.replicas, w.tree)
		}
		w.createFolder(w.ann, "/home/ann/first")
		m.readTree()
		// the moments are chosen before, since the trees of all of them would take too much memory
		chosen := map[int]bool{*pastChanges - 1: true}
		for len(chosen) < min(*pastMoments, *pastChanges) {
			chosen[m.random.IntN(*pastChanges)] = true
		}
		known := 0 // moments from here on are known of every folder
		for i := range *pastChanges {
			before := m.live
			m.forGood = i < *pastChanges/2
			m.change()
			m.readTree()
			m.recordLeft(before)
			if chosen[i] {
				m.moments = append(m.moments, moment{w.clock(), m.live})
			}
			if m.forGood {
				known = len(m.moments)
			}
			w.advance(time.Duration(1+m.random.IntN(1000)) * time.Millisecond)
		}
		for _, then := range m.moments {
			m.check(then)
		}
		if m.refused > m.asked*6/10 { // 20 to 25 % were measured
			t.Errorf("%d of %d listings were refused", m.refused, m.asked)
		}
		w.collect()
		m.check(m.moments[len(m.moments)/2])
		w.checkAccounting()
		last := m.moments[len(m.moments)-1]
		m.rewind(m.moments[known+m.random.IntN(len(m.moments)-known)])
		m.rewind(m.moments[known+m.random.IntN(len(m.moments)-known)])
		m.rewind(last) // the rewinds are rewound
		w.checkAccounting()
	})
}
