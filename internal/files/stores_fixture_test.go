package files_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/blob/disk"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/mount"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/vpath"
)

// storesFixture is a fixture with a second provider, `vault`, mounted at /vault and owned by ann,
// and a third, `twin`, that shares the directory of the first and is mounted at /twin. Store
// operations of moves call the hooks.
type storesFixture struct {
	*fixture
	mu         sync.Mutex
	calls      int // number of calls of the hook
	hook       func(n int, op, provider string) error
	wrapObject func(o blob.Object) blob.Object
}

func eachStoresFixture(t *testing.T, test func(t *testing.T, w *storesFixture)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(t, newStoresFixture(t, d)) })
}

func newStoresFixture(t *testing.T, d *db.DB) *storesFixture {
	w := &storesFixture{fixture: newFixture(t, d)}
	w.must(w.reg.Prepare("vault", "vault-marker"))
	mounts := mount.New(d)
	w.write(func(tx *db.Tx) error {
		for _, p := range []provider.Provider{
			{ID: "vault", Name: "vault", Type: provider.BuiltIn, Bucket: "vault", Marker: "vault-marker"},
			{ID: "twin", Name: "twin", Type: provider.BuiltIn, Bucket: "default", Marker: "marker"},
		} {
			if err := w.reg.Insert(tx, p); err != nil {
				return err
			}
			root, err := w.tree.InsertRoot(tx, "ann", p.Name)
			if err != nil {
				return err
			}
			at := vpath.Root.Child(vpath.Name(p.Name))
			err = mounts.Insert(tx, mount.Mount{ID: p.Name, ProviderID: p.ID, RootID: root, Path: at, Name: p.Name,
				SortBy: "name", SortOrder: "asc"}, 0)
			if err != nil {
				return err
			}
		}
		return nil
	})
	w.tree.WrapStores(func(id string, s blob.Store) blob.Store { return &hookedStore{s, id, w} })
	return w
}

// hookedStore is a store that calls the fixture's hook before each operation.
type hookedStore struct {
	blob.Store
	id      string
	fixture *storesFixture
}

func (h *hookedStore) callHook(op string) error {
	w := h.fixture
	w.mu.Lock()
	w.calls++
	n, hook := w.calls, w.hook
	w.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(n, op, h.id)
}

func (h *hookedStore) Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (blob.Info, error) {
	if err := h.callHook("put"); err != nil {
		return blob.Info{}, err
	}
	info, err := h.Store.Put(ctx, key, body, opts)
	if err == nil {
		err = h.callHook("stored")
	}
	return info, err
}

func (h *hookedStore) Open(ctx context.Context, key blob.Key) (blob.Object, error) {
	if err := h.callHook("open"); err != nil {
		return nil, err
	}
	o, err := h.Store.Open(ctx, key)
	if err == nil && h.fixture.wrapObject != nil {
		o = h.fixture.wrapObject(o)
	}
	return o, err
}

func (h *hookedStore) Stat(ctx context.Context, key blob.Key) (blob.Info, error) {
	if err := h.callHook("stat"); err != nil {
		return blob.Info{}, err
	}
	return h.Store.Stat(ctx, key)
}

// setHook sets the hook of further store operations, which are counted from 1.
func (f *storesFixture) setHook(hook func(n int, op, provider string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.hook = 0, hook
}

// newJobRunner returns a job runner like a replica's.
func (f *storesFixture) newJobRunner() *job.Runner {
	r := job.NewRunner(job.Config{DB: f.db, IDs: f.ids, Now: f.clock, Log: slog.New(slog.DiscardHandler)})
	r.Handle(files.MoveJob, f.tree.RunMove)
	r.Handle(files.CopyJob, f.tree.RunCopy)
	r.OnFailure(files.CopyJob, func(tx *db.Tx, run *job.Run) error { return f.tree.DropCopy(tx, run.ID) })
	r.Handle(files.PurgeJob, f.tree.RunPurge)
	r.Handle(files.RewindJob, f.tree.RunRewind)
	r.Handle(object.ChecksumJob, f.tree.Objects.RunChecksum)
	return r
}

// runJobs runs jobs until none is due.
func (f *storesFixture) runJobs() {
	f.t.Helper()
	f.must(f.tryRunJobs())
}

// tryRunJobs runs jobs as a replica does, until none is due.
func (f *storesFixture) tryRunJobs() error {
	for r := f.newJobRunner(); ; {
		if ran, err := r.RunNext(f.t.Context()); err != nil || !ran {
			return err
		}
	}
}

// startMove requests a move that needs to copy content.
func (f *storesFixture) startMove(a access.Actor, id, target string) job.Job {
	f.t.Helper()
	j, err := f.tree.Move(f.t.Context(), a, id, mustParsePath(target), nil)
	f.must(err)
	if j.Status != "pending" || f.job(j.ID).Status != "pending" {
		f.t.Fatalf("the move is not a job: %+v", j)
	}
	return j
}

func (f *storesFixture) job(id string) job.Job {
	f.t.Helper()
	j, err := job.ByID(f.db.Read(f.t.Context()), "ann", id)
	f.must(err)
	return j
}

// checkJobEnded checks how a job ended: completed if message is "", otherwise failed with an error
// that contains message.
func (f *storesFixture) checkJobEnded(id, message string) {
	f.t.Helper()
	j := f.job(id)
	switch {
	case message == "" && (j.Status != "completed" || j.Progress != 100 || j.ErrorMessage != nil):
		f.t.Errorf("job %+v, want it completed", j)
	case message != "" && (j.Status != "failed" || j.ErrorMessage == nil ||
		!strings.Contains(*j.ErrorMessage, message)):
		f.t.Errorf("job %+v, want it failed with %q", j, message)
	}
	if j.Status == "failed" && j.ErrorMessage != nil {
		f.t.Logf("failed with %q", *j.ErrorMessage)
	}
}

// uploadedFiles are files with their content, by path below a folder, and with their ids, links and
// ETags.
type uploadedFiles struct {
	content map[string]string
	ids     map[string]string
	links   map[string]string
	etags   map[string]string
}

// uploadTree uploads files into a folder of ann's.
func (f *storesFixture) uploadTree(folder string, content map[string]string) uploadedFiles {
	f.t.Helper()
	g := uploadedFiles{content, map[string]string{}, map[string]string{}, map[string]string{}}
	for name, text := range content {
		e := f.mustUpload(f.ann, folder+"/"+name, text)
		link, err := f.tree.Link(f.t.Context(), f.ann, e.ID)
		f.must(err)
		c, err := f.tree.ByID(f.t.Context(), f.ann, e.ID)
		f.must(err)
		g.ids[name], g.links[name], g.etags[name] = e.ID, link.ID, c.ETag
	}
	return g
}

// sampleFiles returns content of different sizes in nested folders.
func sampleFiles() map[string]string {
	return map[string]string{
		"a.txt": "first", "B.txt": "", "sub/c": strings.Repeat("0123456789abcdef", 40_000), "sub/deep/er/d.txt": "deep",
		"sub/z": "last", "other/e": "e",
	}
}

// checkReadableBelow checks that every file is readable by path, id and link, with its content and
// its ETag, below one folder and not below the others.
func (f *storesFixture) checkReadableBelow(g uploadedFiles, folder string, not ...string) {
	f.t.Helper()
	for name, want := range g.content {
		got, err := f.readPath(f.ann, folder+"/"+name)
		if err != nil || got != want {
			f.t.Errorf("%s/%s: %.20q, %v; want %.20q", folder, name, got, err, want)
		}
		for how, find := range map[string]func() (files.Content, error){
			"id":   func() (files.Content, error) { return f.tree.ByID(f.t.Context(), f.ann, g.ids[name]) },
			"link": func() (files.Content, error) { return f.tree.ByLink(f.t.Context(), g.links[name]) },
		} {
			c, err := find()
			if err != nil {
				f.t.Errorf("%s by %s: %v", name, how, err)
				continue
			}
			if got := f.readContent(c); got != want || c.Entry.Path().String() != folder+"/"+name ||
				g.etags[name] != "" && c.ETag != g.etags[name] {
				f.t.Errorf("%s by %s: %.20q at %s with ETag %s, want %.20q below %s with %s", name, how, got,
					c.Entry.Path(), c.ETag, want, folder, g.etags[name])
			}
		}
		for _, elsewhere := range not {
			if _, err := f.readPath(f.ann, elsewhere+"/"+name); err == nil {
				f.t.Errorf("%s is at %s as well", name, elsewhere)
			}
		}
	}
}

// countObjects counts the objects of a provider.
func (f *storesFixture) countObjects(provider string) int {
	f.t.Helper()
	return int(f.queryInt("SELECT COUNT(*) FROM objects WHERE provider_id = $1", provider))
}

// checkAccounting checks the charges, the reference counts, and that the objects of the database
// and of the stores are the same. It then checks that only referenced objects are left after the
// grace period.
func (f *storesFixture) checkAccounting() {
	f.t.Helper()
	f.collect() // deletes the rows of deleted folders
	if bytes, count := f.usage("ann"); bytes != f.sumFiles("size") || count != f.sumFiles("1") {
		f.t.Errorf("%d bytes and %d files are charged, want %d and %d", bytes, count, f.sumFiles("size"),
			f.sumFiles("1"))
	}
	f.checkFolderCounts()
	f.checkObjects()
}

// checkObjects is checkAccounting without the charges.
func (f *storesFixture) checkObjects() {
	f.t.Helper()
	f.collect()
	wrong := f.queryInt(`
		SELECT COUNT(*)
		FROM objects o
		WHERE o.refs <> (SELECT COUNT(*) FROM entries e WHERE e.object_id = o.id)
			+ (SELECT COUNT(*) FROM past p WHERE p.object_id = o.id)`)
	if wrong > 0 {
		f.t.Errorf("%d objects have a wrong reference count", wrong)
	}
	unknown := func() (in []string) {
		for bucket, ids := range map[string][2]string{"local": {"local", "twin"}, "vault": {"vault", "vault"}} {
			store, err := f.reg.Store(f.t.Context(), bucket)
			f.must(err)
			f.must(store.(*disk.Store).Walk(f.t.Context(), func(key blob.Key, _ int64, _ time.Time) error {
				var known bool
				f.must(f.db.Read(f.t.Context()).QueryRow(`
					SELECT EXISTS (SELECT 1 FROM objects WHERE key = $1 AND provider_id IN ($2, $3))
						OR EXISTS (SELECT 1 FROM garbage WHERE key = $1 AND provider_id IN ($2, $3))`, string(key),
					ids[0], ids[1]).Scan(&known))
				if !known {
					in = append(in, bucket+" "+string(key))
				}
				return nil
			}))
		}
		return in
	}
	if lost := unknown(); len(lost) > 0 {
		f.t.Errorf("objects without a row: %q", lost)
	}
	f.advance(3 * time.Hour)
	f.collect()
	if n := f.countRows("garbage"); n != 0 {
		f.t.Errorf("%d keys are still garbage", n)
	}
	if lost := unknown(); len(lost) > 0 {
		f.t.Errorf("left after the grace period: %q", lost)
	}
	objects, err := f.db.Read(f.t.Context()).Query("SELECT provider_id, key, size FROM objects")
	f.must(err)
	defer objects.Close()
	for objects.Next() {
		var id, key string
		var size int64
		f.must(objects.Scan(&id, &key, &size))
		store, err := f.reg.Store(f.t.Context(), id)
		f.must(err)
		if info, err := store.Stat(f.t.Context(), blob.Key(key)); err != nil || info.Size != size {
			f.t.Errorf("object %s in %s: %+v, %v", key, id, info, err)
		}
	}
	f.must(objects.Err())
}
