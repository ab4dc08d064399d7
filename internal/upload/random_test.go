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
			var working, chores sync.WaitGroup
			done := make(chan struct{})
			chores.Go(func() {
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
			chores.Wait()
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
			"SELECT count(*) FROM objects o WHERE refs <> (SELECT count(*) FROM entries e WHERE e.object_id = o.id)"); n != 0 {
			t.Errorf("%d objects have a wrong number of references", n)
		}
	})
}

func (k *randomClient) step() {
	name := fmt.Sprint("f", k.r.IntN(4))
	if k.r.IntN(4) == 0 { // the next Put fails, of this client or another
		op := []blobtest.Op{blobtest.Put, blobtest.Put, blobtest.Begin, blobtest.PutPart, blobtest.Parts,
			blobtest.Finish}[k.r.IntN(6)]
		k.store.QueueFaults(op, []blobtest.Fault{
			{Err: blob.Unavailable("put", errors.New("down"))},
			{Err: blob.Unavailable("put", errors.New("its answer was lost")), AnswerLost: true},
			{Err: blob.NoSpace("put", errors.New("full")), FailAfter: 100},
		}[k.r.IntN(3)])
	}
	switch k.r.IntN(11) {
	case 0, 1, 2:
		k.putOnce(name, 1+k.r.IntN(2000))
	case 3:
		k.putOnce(name, 256<<10+k.r.IntN(mebibyte))
	case 4, 5:
		k.session(name)
	case 6:
		k.delete(name)
	case 7:
		k.move(name)
	case 8, 9, 10:
		k.inParts(name)
	}
}

func (k *randomClient) content(size int) string {
	unit := fmt.Sprintf("%016x", k.r.Uint64())
	return strings.Repeat(unit, size/len(unit)+1)[:size]
}

// context ends at a random time in one call of four.
func (k *randomClient) context() (context.Context, context.CancelFunc) {
	if k.r.IntN(4) > 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(k.r.IntN(20))*time.Millisecond)
}

// record records the possible outcomes of changing name to content. Only a fault proves that
// nothing was changed.
func (k *randomClient) record(name, content, id string, err error) {
	switch {
	case err == nil:
		k.possible[name], k.ids[name] = []string{content}, id
	case fault.KindOf(err) == fault.Internal:
		k.possible[name] = append(k.possibleNow(name), content)
	}
}

func (k *randomClient) possibleNow(name string) []string {
	if may := k.possible[name]; may != nil {
		return may
	}
	return []string{""}
}

func (k *randomClient) putOnce(name string, size int) {
	ctx, cancel := k.context()
	defer cancel()
	content := k.content(size)
	o := upload.OneShot{Dir: k.dir, Name: vpath.Name(name), Size: int64(size), Conflict: files.Replace,
		Body: strings.NewReader(content)}
	switch k.r.IntN(6) {
	case 0:
		o.Body = io.MultiReader(strings.NewReader(content[:size/2]), iotest.ErrReader(io.ErrUnexpectedEOF)) // the client disconnects
	case 1:
		o.Size = -1
	}
	result, err := k.up.Put(ctx, k.actor, o)
	k.record(name, content, result.File.ID, err)
}

func (k *randomClient) session(name string) {
	ctx, cancel := k.context()
	defer cancel()
	content := k.content(1 + k.r.IntN(3000))
	session, err := k.up.Create(ctx, k.actor,
		upload.NewSession{Dir: k.dir, Name: vpath.Name(name), Size: int64(len(content)), Conflict: files.Replace})
	if err != nil {
		return
	}
	var etag string
	for range 1 + k.r.IntN(2) {
		if etag, _, err = k.up.PutRaw(ctx, k.actor, session.ID, strings.NewReader(content), -1, ""); err != nil &&
			k.r.IntN(2) == 0 {
			return // left to the sweep
		}
	}
	if k.r.IntN(3) == 0 {
		_ = k.up.Abort(ctx, k.actor, session.ID) // also when it fails: the sweep does it then
		return
	}
	if err == nil {
		file, _, err := k.up.Complete(ctx, k.actor, session.ID, etag)
		k.record(name, content, file.ID, err)
	}
}

// inParts sends a file in parts, in any order, some of them twice, or only some. Under an
// idempotency key it continues the same content.
func (k *randomClient) inParts(name string) {
	ctx, cancel := k.context()
	defer cancel()
	n, content := inParts(name, int64(1+k.r.IntN(4000)), ""), ""
	n.Dir, n.Conflict = k.dir, files.Replace
	if variant := k.r.IntN(4); variant > 0 {
		n.IdempotencyKey, n.Size = fmt.Sprint(k.dir, name, variant), int64(1300*variant)
		content = strings.Repeat(fmt.Sprintf("%-40s", n.IdempotencyKey), 100)[:n.Size]
	} else {
		content = k.content(int(n.Size))
	}
	session, err := k.up.Create(ctx, k.actor, n)
	if err != nil || session.AlreadyCompleted {
		return
	}
	total := int(*session.TotalParts)
	for _, i := range append(k.r.Perm(total), k.r.IntN(total)) {
		// a part that fails is missing in the end
		_, _ = k.up.PutPart(ctx, k.actor, session.ID, i+1, strings.NewReader(partOf(content, i+1)), -1)
		if k.r.IntN(8) == 0 {
			return // left to the sweep, or to the next session
		}
	}
	if k.r.IntN(6) == 0 {
		_ = k.up.Abort(ctx, k.actor, session.ID)
		return
	}
	file, already, err := k.up.Complete(ctx, k.actor, session.ID, "")
	if !already { // the content of a completed file may have changed since
		k.record(name, content, file.ID, err)
	}
}

func (k *randomClient) delete(name string) {
	id := k.ids[name]
	if id == "" {
		return
	}
	ctx, cancel := k.context()
	defer cancel()
	_, _, err := k.tree.Delete(ctx, k.actor, id)
	k.record(name, "", "", err)
}

// move renames a file to another of the names.
func (k *randomClient) move(name string) {
	id, other := k.ids[name], vpath.Name(fmt.Sprint("f", k.r.IntN(4)))
	if id == "" {
		return
	}
	if _, err := k.tree.Move(ctx, k.actor, id, k.dir, &other); err == nil {
		k.possible[string(other)], k.ids[string(other)] = k.possibleNow(name), id
		k.possible[name], k.ids[name] = nil, ""
	}
}

// check compares the files with the records, and makes uncertain records certain.
func (k *randomClient) check() {
	k.t.Helper()
	found := map[string]string{}
	list, err := k.tree.List(ctx, k.actor, files.ListQuery{Path: k.dir, Page: 1, Limit: 100})
	if err != nil && !fault.Is(err, fault.NotFound) {
		k.t.Fatal(err)
	}
	for _, e := range list.Items {
		found[e.Name] = k.fixture.content(k.actor, e.ID)
		k.ids[e.Name] = e.ID
		if k.possible[e.Name] == nil {
			k.t.Errorf("%s: a file that should not be there", e.Name)
		}
	}
	for name, may := range k.possible {
		if may == nil {
			continue
		}
		fits := false
		for _, content := range may {
			fits = fits || found[name] == content
		}
		if !fits {
			k.t.Errorf("%s: %d bytes that are none of the %d it may have", name, len(found[name]), len(may))
		}
		k.possible[name] = []string{found[name]}
		if found[name] == "" {
			k.ids[name] = ""
		}
	}
}
