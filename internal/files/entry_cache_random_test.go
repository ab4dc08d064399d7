package files_test

import (
	"cmp"
	"database/sql"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

var (
	cacheChanges = flag.Int64("cache.changes", 500, "random changes of TestCachedEntriesAgainstRandomChanges")
	cacheSeed    = flag.Uint64("cache.seed", 0, "seed of TestCachedEntriesAgainstRandomChanges; 0 takes the time")
)

// corner is a folder that one goroutine changes and others read: it has two folders, which hold a
// few files. A file is known by its size, since each content of a corner has a size of its own.
type corner struct {
	*fixture
	tree   *files.Tree // through which it is changed
	random *rand.Rand
	path   string
	rule   string // id of the rule that denies bob all reads, "" for none
	size   int64  // of the newest content

	mu     sync.RWMutex
	states []cornerState // after each change; the last change may not have returned yet
	acked  int           // index of the state after the last change that has returned
}

// cornerState is the content of a corner.
type cornerState struct {
	denied  bool
	folders [2]cornerEntry
	files   []cornerEntry
}

type cornerEntry struct {
	id, name, link string // id and link are "" until the change that makes them has returned
	locked         bool
	folder         int   // of a file: index of its folder
	size           int64 // of a file
}

// question is a look-up by "path", "id" or "link".
type question struct{ by, what string }

const (
	answerMissing  = "missing"
	answerRefused  = "refused"
	answerPassword = "a password is required"
)

// answer is the answer to a question that the state calls for: bob asks by path and by id, and a
// visitor by link.
func (s *cornerState) answer(q question) string {
	if s.denied && q.by == "path" { // existing or not
		return answerRefused
	}
	for _, f := range s.files {
		folder := s.folders[f.folder]
		protected := f.locked || folder.locked
		switch {
		case q.what != map[string]string{"path": folder.name + "/" + f.name, "id": f.id, "link": f.link}[q.by]:
		case s.denied && q.by == "id":
			return answerRefused
		case protected && q.by == "link":
			return answerMissing
		case protected:
			return answerPassword
		default:
			return fmt.Sprint(f.size)
		}
	}
	for _, folder := range s.folders {
		if q.by == "path" && folder.locked && strings.HasPrefix(q.what, folder.name+"/") {
			return answerPassword
		}
	}
	return answerMissing
}

// ask asks the service.
func (c *corner) ask(q question) string {
	var content files.Content
	var err error
	switch q.by {
	case "path":
		content, err = c.fixture.tree.ByPath(c.t.Context(), c.bob, mustParsePath(c.path+"/"+q.what))
	case "id":
		content, err = c.fixture.tree.ByID(c.t.Context(), c.bob, q.what)
	default:
		content, err = c.fixture.tree.ByLink(c.t.Context(), q.what)
	}
	switch {
	case fault.Is(err, fault.NotFound):
		return answerMissing
	case fault.Is(err, fault.Forbidden):
		return answerRefused
	case fault.Is(err, fault.PasswordRequired):
		return answerPassword
	case err != nil:
		return err.Error()
	}
	return fmt.Sprint(content.Entry.Size)
}

// randomQuestion returns a question about a recent state, and the oldest state that may answer it.
func (c *corner) randomQuestion(random *rand.Rand) (q question, oldest int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := c.states[max(0, c.acked-random.IntN(4))]
	f := s.files[random.IntN(len(s.files))]
	switch way := random.IntN(4); {
	case way == 0 && f.id != "":
		return question{"id", f.id}, c.acked
	case way == 1 && f.link != "":
		return question{"link", f.link}, c.acked
	}
	return question{"path", s.folders[f.folder].name + "/" + f.name}, c.acked
}

// wantAnswer checks that an answer belongs to one of the states from oldest on.
func (c *corner) wantAnswer(q question, got string, oldest int) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var want []string
	for i := range c.states[oldest:] {
		want = append(want, c.states[oldest+i].answer(q))
	}
	if !slices.Contains(want, got) {
		c.t.Errorf("%s %q: %s; since the last change that has returned it was %q", q.by, q.what, got, want)
		return false
	}
	return true
}

// change makes a change. next describes the state after it. do makes it, and adds new ids to the
// state.
func (c *corner) change(next cornerState, do func(s *cornerState) error) {
	c.t.Helper()
	c.mu.Lock()
	c.states = append(c.states, next)
	c.mu.Unlock()
	done := next
	done.files = slices.Clone(next.files)
	c.must(do(&done))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked = len(c.states) - 1
	c.states[c.acked] = done
}

// randomChange makes one change.
func (c *corner) randomChange() {
	c.t.Helper()
	s := c.states[c.acked]
	s.files = slices.Clone(s.files)
	i := c.random.IntN(len(s.files))
	f, ctx := &s.files[i], c.t.Context()
	at := func(f *cornerEntry) string { return c.path + "/" + s.folders[f.folder].name + "/" + f.name }
	taken := func(name string, folder int) bool {
		return slices.ContainsFunc(s.files, func(e cornerEntry) bool { return e.name == name && e.folder == folder })
	}
	name, folder := fmt.Sprint("file", c.random.IntN(6)), c.random.IntN(2)
	switch way := c.random.IntN(10); {
	case way == 0 && len(s.files) < 5 && !taken(name, folder):
		c.size++
		s.files = append(s.files, cornerEntry{name: name, folder: folder, size: c.size})
		c.change(s, func(s *cornerState) error {
			made, err := c.upload(c.ann, at(&s.files[len(s.files)-1]), strings.Repeat("x", int(c.size)), files.Fail)
			s.files[len(s.files)-1].id = made.ID
			return err
		})
	case way == 1 && len(s.files) > 2:
		id := f.id
		s.files = slices.Delete(s.files, i, i+1)
		c.change(s, func(*cornerState) error {
			_, _, err := c.tree.Delete(ctx, c.ann, id)
			return err
		})
	case way == 2:
		c.size++
		f.size = c.size
		c.change(s, func(*cornerState) error {
			_, err := c.upload(c.ann, at(f), strings.Repeat("x", int(c.size)), files.Replace)
			return err
		})
	case way == 3 && !taken(name, f.folder):
		f.name = name
		c.change(s, func(*cornerState) error {
			_, err := c.tree.Rename(ctx, c.ann, f.id, vpath.Name(name))
			return err
		})
	case way == 4 && folder != f.folder && !taken(f.name, folder):
		f.folder = folder
		c.change(s, func(*cornerState) error {
			_, err := c.tree.Move(ctx, c.ann, f.id, mustParsePath(c.path+"/"+s.folders[folder].name), nil)
			return err
		})
	case way == 5:
		f.locked = !f.locked
		c.change(s, func(*cornerState) error { return c.lock(f.id, f.locked) })
	case way == 6:
		s.folders[folder].locked = !s.folders[folder].locked
		c.change(s, func(*cornerState) error { return c.lock(s.folders[folder].id, s.folders[folder].locked) })
	case way == 7:
		name := fmt.Sprint("folder", c.random.IntN(4))
		if name == s.folders[1-folder].name {
			return
		}
		s.folders[folder].name = name
		c.change(s, func(*cornerState) error {
			_, err := c.tree.Rename(ctx, c.ann, s.folders[folder].id, vpath.Name(name))
			return err
		})
	case way == 8 && (f.locked || s.folders[f.folder].locked): // even the owner needs the password for this
	case way == 8 && f.link == "":
		c.change(s, func(s *cornerState) error {
			link, err := c.tree.Link(ctx, c.ann, s.files[i].id)
			s.files[i].link = link.ID
			return err
		})
	case way == 8:
		f.link = ""
		c.change(s, func(*cornerState) error { return c.tree.Unlink(ctx, c.ann, f.id) })
	case way == 9:
		s.denied = !s.denied
		c.change(s, func(*cornerState) error { return c.deny(s.denied) })
	}
}

// lock sets a password on an entry, or removes it.
func (c *corner) lock(id string, on bool) error {
	return c.tree.DB.Write(c.t.Context(), func(tx *db.Tx) error {
		hash := sql.NullString{String: "hash", Valid: on}
		_, err := tx.Exec("UPDATE entries SET password_hash = $1 WHERE id = $2", hash, id)
		return err
	})
}

// deny adds or removes the rule that denies bob the corner.
func (c *corner) deny(on bool) error {
	return c.tree.DB.Write(c.t.Context(), func(tx *db.Tx) error {
		if !on {
			return c.rules.Delete(tx, c.rule)
		}
		c.rule = c.ids.UUID()
		return c.rules.Insert(tx, access.StoredRule{Rule: access.Rule{ID: c.rule, Pattern: c.path + "/**",
			Effect: access.Deny, UserID: "bob", Priority: 10}})
	})
}

// newCorner makes a corner with two files, which is changed through a tree.
func newCorner(h *fixture, tree *files.Tree, path string, seed uint64) *corner {
	c := &corner{fixture: h, tree: tree, random: rand.New(rand.NewPCG(seed, 1)), path: path, size: 2}
	h.createFolder(h.ann, path)
	var s cornerState
	for i := range s.folders {
		name := fmt.Sprint("folder", i)
		s.folders[i] = cornerEntry{name: name, id: h.createFolder(h.ann, path+"/"+name).ID}
		f := cornerEntry{name: "file0", folder: i, size: int64(i + 1)}
		f.id = h.mustUpload(h.ann, path+"/"+name+"/file0", strings.Repeat("x", i+1)).ID
		s.files = append(s.files, f)
	}
	c.states = []cornerState{s}
	return c
}

// While four goroutines and another process change files, folders, passwords, permanent links and
// rules at random, no read finds a state that is older than the last change that had returned when
// the read began.
func TestCachedEntriesAgainstRandomChanges(t *testing.T) {
	t.Parallel()
	seed := cmp.Or(*cacheSeed, uint64(time.Now().UnixNano()))
	t.Log("seed", seed)
	path := filepath.Join(t.TempDir(), "larder.db")
	dbtest.WriteMigrated(t, path)
	open := func(track bool) *db.DB {
		d, err := db.Open(t.Context(), db.Config{Path: path, Log: slog.New(slog.DiscardHandler), TrackChanges: track})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	}
	h := newFixture(t, open(true))
	h.addRule(access.Rule{Pattern: "/home/ann/**", Effect: access.Allow, UserID: "bob",
		Permissions: access.Set(access.Read | access.Download)})
	config := h.tree.Config
	config.DB, config.EntryCache = open(false), nil
	elsewhere := files.New(config)

	var corners []*corner
	for i := range uint64(5) {
		tree := h.tree
		if i == 4 {
			tree = elsewhere
		}
		corners = append(corners, newCorner(h, tree, fmt.Sprint("/home/ann/corner", i), seed+i))
	}
	var changes atomic.Int64
	var all sync.WaitGroup
	for i, c := range corners {
		all.Go(func() {
			for changes.Add(1) <= *cacheChanges && !t.Failed() {
				c.randomChange()
			}
		})
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i+2)))
			for changes.Load() < *cacheChanges && !t.Failed() {
				at := corners[random.IntN(len(corners))]
				q, oldest := at.randomQuestion(random)
				if !at.wantAnswer(q, at.ask(q), oldest) {
					return
				}
			}
		})
	}
	all.Wait()
	stats := h.tree.EntryCache.Stats()
	t.Log(stats)
	if stats.Hits == 0 || stats.Misses == 0 {
		t.Errorf("the cache has seen %+v", stats)
	}
}
