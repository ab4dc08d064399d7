package upload_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/upload"
	"larder/internal/vpath"
)

// randomClient does random operations in a folder of its own and records the results.
type randomClient struct {
	*fixture
	actor access.Actor
	dir   vpath.Path
	r     *rand.Rand
	// possible holds, by name, what a file may contain now; "" stands for no file. There is more
	// than one content after an outcome that is unknown.
	possible map[string][]string
	ids      map[string]string
}

// Abuse cases C93, C123 and C125 together: whatever fails in between, acknowledged files exist,
// deleted ones are gone, quotas are the sums of the files, each object belongs to a file or is on
// the garbage list, and in the end nothing is left over.
func TestRandomSequencesKeepWhatWasAcknowledged(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		if err := errors.Join(w.setLimits(w.ann, 4*mebibyte, 20), w.setLimits(w.ben, 4*mebibyte, 20)); err != nil {
			t.Fatal(err)
		}
		var workers []*randomClient
		for i := range 4 {
			k := &randomClient{fixture: w, actor: w.ann, r: rand.New(rand.NewPCG(seed, uint64(i))),
				possible: map[string][]string{}, ids: map[string]string{}}
			home := "/home/ann"
			if i%2 == 1 {
				k.actor, home = w.ben, "/home/ben"
			}
			k.dir = path(fmt.Sprintf("%s/w%d", home, i))
			workers = append(workers, k)
		}
		for range 4 {
			var working, maintenance sync.WaitGroup
			done := make(chan struct{})
			maintenance.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					w.advance(time.Minute)
					w.sweepAndCollect()
				}
			})
			for _, k := range workers {
				working.Go(func() {
					for range 25 {
						k.step()
					}
				})
			}
			working.Wait()
			close(done)
			maintenance.Wait()
			w.sweepAndCollect()
			w.checkInvariants()
			for _, k := range workers {
				k.check()
			}
		}
		w.advance(72 * time.Hour)
		w.sweepAndCollect()
		w.advance(72 * time.Hour)
		w.sweepAndCollect()
		if n := w.queryInt("SELECT (SELECT count(*) FROM garbage) + (SELECT count(*) FROM upload_sessions)"); n != 0 {
			t.Errorf("%d keys and sessions left over", n)
		}
		if objects, n := w.storedKeys(), w.queryInt("SELECT count(*) FROM objects"); int64(len(objects)) != n {
			t.Errorf("%d objects in the store, %d known", len(objects), n)
		}
		if n := w.queryInt(
			"SELECT count(*) FROM objects o WHERE refs <> (SELECT count(*) FROM entries e WHERE e.object_id = " +
				"o.id)"); n != 0 {
			t.Errorf("%d objects have a wrong number of references", n)
		}
	})
}

func (c *randomClient) step() {
	name := fmt.Sprint("f", c.r.IntN(4))
	if c.r.IntN(4) == 0 { // the next Put fails, of this client or another
		op := []blobtest.Op{blobtest.Put, blobtest.Put, blobtest.Begin, blobtest.PutPart, blobtest.Parts,
			blobtest.Finish}[c.r.IntN(6)]
		c.store.QueueFaults(op, []blobtest.Fault{
			{Err: blob.Unavailable("put", errors.New("down"))},
			{Err: blob.Unavailable("put", errors.New("its answer was lost")), AnswerLost: true},
			{Err: blob.NoSpace("put", errors.New("full")), FailAfter: 100},
		}[c.r.IntN(3)])
	}
	switch c.r.IntN(11) {
	case 0, 1, 2:
		c.putOnce(name, 1+c.r.IntN(2000))
	case 3:
		c.putOnce(name, 256<<10+c.r.IntN(mebibyte))
	case 4, 5:
		c.session(name)
	case 6:
		c.delete(name)
	case 7:
		c.move(name)
	case 8, 9, 10:
		c.inParts(name)
	}
}

func (c *randomClient) content(size int) string {
	unit := fmt.Sprintf("%016x", c.r.Uint64())
	return strings.Repeat(unit, size/len(unit)+1)[:size]
}

// context ends at a random time in one call of four.
func (c *randomClient) context() (context.Context, context.CancelFunc) {
	if c.r.IntN(4) > 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(c.r.IntN(20))*time.Millisecond)
}

// record records the possible outcomes of changing name to content. Only a fault proves that
// nothing was changed.
func (c *randomClient) record(name, content, id string, err error) {
	switch {
	case err == nil:
		c.possible[name], c.ids[name] = []string{content}, id
	case fault.KindOf(err) == fault.Internal:
		c.possible[name] = append(c.possibleNow(name), content)
	}
}

func (c *randomClient) possibleNow(name string) []string {
	if may := c.possible[name]; may != nil {
		return may
	}
	return []string{""}
}

func (c *randomClient) putOnce(name string, size int) {
	ctx, cancel := c.context()
	defer cancel()
	content := c.content(size)
	o := upload.OneShot{Dir: c.dir, Name: vpath.Name(name), Size: int64(size), Conflict: files.Replace,
		Body: strings.NewReader(content)}
	switch c.r.IntN(6) {
	case 0:
		// the client disconnects
		o.Body = io.MultiReader(strings.NewReader(content[:size/2]), iotest.ErrReader(io.ErrUnexpectedEOF))
	case 1:
		o.Size = -1
	}
	result, err := c.up.Put(ctx, c.actor, o)
	c.record(name, content, result.File.ID, err)
}

func (c *randomClient) session(name string) {
	ctx, cancel := c.context()
	defer cancel()
	content := c.content(1 + c.r.IntN(3000))
	session, err := c.up.Create(ctx, c.actor,
		upload.NewSession{Dir: c.dir, Name: vpath.Name(name), Size: int64(len(content)), Conflict: files.Replace})
	if err != nil {
		return
	}
	var etag string
	for range 1 + c.r.IntN(2) {
		if etag, _, err = c.up.PutRaw(ctx, c.actor, session.ID, strings.NewReader(content), -1, ""); err != nil &&
			c.r.IntN(2) == 0 {
			return // left to the sweep
		}
	}
	if c.r.IntN(3) == 0 {
		_ = c.up.Abort(ctx, c.actor, session.ID) // also when it fails: the sweep does it then
		return
	}
	if err == nil {
		file, _, err := c.up.Complete(ctx, c.actor, session.ID, etag)
		c.record(name, content, file.ID, err)
	}
}

// inParts sends a file in parts, in any order, some of them twice, or only some. Under an
// idempotency key it continues the same content.
func (c *randomClient) inParts(name string) {
	ctx, cancel := c.context()
	defer cancel()
	n, content := inParts(name, int64(1+c.r.IntN(4000)), ""), ""
	n.Dir, n.Conflict = c.dir, files.Replace
	if variant := c.r.IntN(4); variant > 0 {
		n.IdempotencyKey, n.Size = fmt.Sprint(c.dir, name, variant), int64(1300*variant)
		content = strings.Repeat(fmt.Sprintf("%-40s", n.IdempotencyKey), 100)[:n.Size]
	} else {
		content = c.content(int(n.Size))
	}
	session, err := c.up.Create(ctx, c.actor, n)
	if err != nil || session.AlreadyCompleted {
		return
	}
	total := int(*session.TotalParts)
	for _, i := range append(c.r.Perm(total), c.r.IntN(total)) {
		// a part that fails is missing in the end
		_, _ = c.up.PutPart(ctx, c.actor, session.ID, i+1, strings.NewReader(partOf(content, i+1)), -1)
		if c.r.IntN(8) == 0 {
			return // left to the sweep, or to the next session
		}
	}
	if c.r.IntN(6) == 0 {
		_ = c.up.Abort(ctx, c.actor, session.ID)
		return
	}
	file, already, err := c.up.Complete(ctx, c.actor, session.ID, "")
	if !already { // the content of a completed file may have changed since
		c.record(name, content, file.ID, err)
	}
}

func (c *randomClient) delete(name string) {
	id := c.ids[name]
	if id == "" {
		return
	}
	ctx, cancel := c.context()
	defer cancel()
	_, _, err := c.tree.Delete(ctx, c.actor, id)
	c.record(name, "", "", err)
}

// move renames a file to another of the names.
func (c *randomClient) move(name string) {
	id, other := c.ids[name], vpath.Name(fmt.Sprint("f", c.r.IntN(4)))
	if id == "" {
		return
	}
	if _, err := c.tree.Move(ctx, c.actor, id, c.dir, &other); err == nil {
		c.possible[string(other)], c.ids[string(other)] = c.possibleNow(name), id
		c.possible[name], c.ids[name] = nil, ""
	}
}

// check compares the files with the records, and makes uncertain records certain.
func (c *randomClient) check() {
	c.t.Helper()
	found := map[string]string{}
	list, err := c.tree.List(ctx, c.actor, files.ListQuery{Path: c.dir, Page: 1, Limit: 100})
	if err != nil && !fault.Is(err, fault.NotFound) {
		c.t.Fatal(err)
	}
	for _, e := range list.Items {
		found[e.Name] = c.fixture.content(c.actor, e.ID)
		c.ids[e.Name] = e.ID
		if c.possible[e.Name] == nil {
			c.t.Errorf("%s: a file that should not be there", e.Name)
		}
	}
	for name, may := range c.possible {
		if may == nil {
			continue
		}
		fits := false
		for _, content := range may {
			fits = fits || found[name] == content
		}
		if !fits {
			c.t.Errorf("%s: the %d bytes are none of the %d allowed contents", name, len(found[name]), len(may))
		}
		c.possible[name] = []string{found[name]}
		if found[name] == "" {
			c.ids[name] = ""
		}
	}
}
