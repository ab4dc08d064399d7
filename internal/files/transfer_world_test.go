package files_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"slices"
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

// depot is a house with a second provider, `vault`, mounted at /vault, which ann owns, and a third, `twin`, that lies in the directory of the first
// and is mounted at /twin. What moves read and write passes the hooks.
type depot struct {
	*house
	mu    sync.Mutex
	calls int // of the hook
	hook  func(n int, op, provider string) error
	open  func(o blob.Object) blob.Object
}

func eachDepot(t *testing.T, test func(t *testing.T, w *depot)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(t, newDepot(t, d)) })
}

func newDepot(t *testing.T, d *db.DB) *depot {
	w := &depot{house: newHouse(t, d)}
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
			err = mounts.Insert(tx, mount.Mount{ID: p.Name, ProviderID: p.ID, RootID: root, Path: at, Name: p.Name, SortBy: "name", SortOrder: "asc"}, 0)
			if err != nil {
				return err
			}
		}
		return nil
	})
	w.tree.WrapStores(func(id string, s blob.Store) blob.Store { return &hooked{s, id, w} })
	return w
}

// hooked is a store whose operations ask the depot first.
type hooked struct {
	blob.Store
	id    string
	depot *depot
}

func (h *hooked) ask(op string) error {
	w := h.depot
	w.mu.Lock()
	w.calls++
	n, hook := w.calls, w.hook
	w.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(n, op, h.id)
}

func (h *hooked) Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (blob.Info, error) {
	if err := h.ask("put"); err != nil {
		return blob.Info{}, err
	}
	info, err := h.Store.Put(ctx, key, body, opts)
	if err == nil {
		err = h.ask("stored")
	}
	return info, err
}

func (h *hooked) Open(ctx context.Context, key blob.Key) (blob.Object, error) {
	if err := h.ask("open"); err != nil {
		return nil, err
	}
	o, err := h.Store.Open(ctx, key)
	if err == nil && h.depot.open != nil {
		o = h.depot.open(o)
	}
	return o, err
}

func (h *hooked) Stat(ctx context.Context, key blob.Key) (blob.Info, error) {
	if err := h.ask("stat"); err != nil {
		return blob.Info{}, err
	}
	return h.Store.Stat(ctx, key)
}

// on sets what happens at the store operations to come, counted from 1.
func (w *depot) on(hook func(n int, op, provider string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls, w.hook = 0, hook
}

// runner is a replica's.
func (w *depot) runner() *job.Runner {
	r := job.NewRunner(job.Config{DB: w.db, IDs: w.ids, Now: w.clock, Log: slog.New(slog.DiscardHandler)})
	r.Handle(files.MoveJob, w.tree.RunMove)
	r.Handle(files.CopyJob, w.tree.RunCopy)
	r.Undo(files.CopyJob, func(tx *db.Tx, run *job.Run) error { return w.tree.DropCopy(tx, run.ID) })
	r.Handle(object.ChecksumJob, w.tree.Objects.RunChecksum)
	return r
}

// work runs jobs until nothing is due.
func (w *depot) work() {
	w.t.Helper()
	for r := w.runner(); ; {
		ran, err := r.Once(w.t.Context())
		w.must(err)
		if !ran {
			return
		}
	}
}

// move asks for a move that has to copy.
func (w *depot) move(a access.Actor, id, target string) job.Job {
	w.t.Helper()
	j, err := w.tree.Move(w.t.Context(), a, id, path(target), nil)
	w.must(err)
	if j.Status != "pending" || w.job(j.ID).Status != "pending" {
		w.t.Fatalf("the move is not a job: %+v", j)
	}
	return j
}

func (w *depot) job(id string) job.Job {
	w.t.Helper()
	j, err := job.ByID(w.db.Read(w.t.Context()), "ann", id)
	w.must(err)
	return j
}

// ended checks how a job ended; message is part of what a failed one says, "" for a completed one.
func (w *depot) ended(id, message string) {
	w.t.Helper()
	j := w.job(id)
	switch {
	case message == "" && (j.Status != "completed" || j.Progress != 100 || j.ErrorMessage != nil):
		w.t.Errorf("job %+v, want it completed", j)
	case message != "" && (j.Status != "failed" || j.ErrorMessage == nil || !strings.Contains(*j.ErrorMessage, message)):
		w.t.Errorf("job %+v, want it failed with %q", j, message)
	}
	if j.Status == "failed" && j.ErrorMessage != nil {
		w.t.Logf("failed with %q", *j.ErrorMessage)
	}
}

// goods are files with their content, by path below a folder, and how else they are reached.
type goods struct {
	content map[string]string
	ids     map[string]string
	links   map[string]string
	etags   map[string]string
}

// put uploads content to where the place's provider has it.
func (w *depot) put(a access.Actor, p, content string, c files.Conflict) (files.Entry, error) {
	w.t.Helper()
	place, err := w.tree.Place(w.t.Context(), a, path(p).Parent(), path(p).Base(), c)
	if err != nil {
		return files.Entry{}, err
	}
	store, err := w.reg.Store(w.t.Context(), place.ProviderID)
	w.must(err)
	key, _, err := w.tree.Objects.Keys.Take(w.t.Context(), place.ProviderID)
	w.must(err)
	_, err = store.Put(w.t.Context(), key, strings.NewReader(content), blob.PutOptions{Size: int64(len(content))})
	w.must(err)
	sum := sha256.Sum256([]byte(content))
	return w.commit(a, place, files.Stored{Key: key, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), MimeType: "text/plain"})
}

func (w *depot) file(a access.Actor, p, content string) files.Entry {
	w.t.Helper()
	e, err := w.put(a, p, content, files.Fail)
	w.must(err)
	return e
}

// stock puts files into a folder of ann's.
func (w *depot) stock(folder string, content map[string]string) goods {
	w.t.Helper()
	g := goods{content, map[string]string{}, map[string]string{}, map[string]string{}}
	for name, text := range content {
		e := w.file(w.ann, folder+"/"+name, text)
		link, err := w.tree.Link(w.t.Context(), w.ann, e.ID)
		w.must(err)
		c, err := w.tree.ByID(w.t.Context(), w.ann, e.ID)
		w.must(err)
		g.ids[name], g.links[name], g.etags[name] = e.ID, link.ID, c.ETag
	}
	return g
}

// some is content of all sizes, in folders.
func some() map[string]string {
	return map[string]string{
		"a.txt": "first", "B.txt": "", "sub/c": strings.Repeat("0123456789abcdef", 40_000), "sub/deep/er/d.txt": "deep", "sub/z": "last", "other/e": "e",
	}
}

// lies checks that every file can be read by path, id and link, with its content and its ETag, below one folder, and not below the others.
func (w *depot) lies(g goods, folder string, not ...string) {
	w.t.Helper()
	for name, want := range g.content {
		got, err := w.read(w.ann, folder+"/"+name)
		if err != nil || got != want {
			w.t.Errorf("%s/%s: %.20q, %v; want %.20q", folder, name, got, err, want)
		}
		for how, find := range map[string]func() (files.Content, error){
			"id":   func() (files.Content, error) { return w.tree.ByID(w.t.Context(), w.ann, g.ids[name]) },
			"link": func() (files.Content, error) { return w.tree.ByLink(w.t.Context(), g.links[name]) },
		} {
			c, err := find()
			if err != nil {
				w.t.Errorf("%s by %s: %v", name, how, err)
				continue
			}
			if got := w.bytes(c); got != want || c.Entry.Path().String() != folder+"/"+name || g.etags[name] != "" && c.ETag != g.etags[name] {
				w.t.Errorf("%s by %s: %.20q at %s with ETag %s, want %.20q below %s with %s", name, how, got, c.Entry.Path(), c.ETag, want, folder, g.etags[name])
			}
		}
		for _, elsewhere := range not {
			if _, err := w.read(w.ann, elsewhere+"/"+name); err == nil {
				w.t.Errorf("%s is at %s as well", name, elsewhere)
			}
		}
	}
}

// garbageOf counts what is on the list for a provider.
func (w *depot) garbageOf(provider string) (n int) {
	w.t.Helper()
	w.must(w.db.Read(w.t.Context()).QueryRow("SELECT COUNT(*) FROM garbage WHERE provider_id = $1", provider).Scan(&n))
	return n
}

// in counts the objects of a provider.
func (w *depot) in(provider string) (n int) {
	w.t.Helper()
	w.must(w.db.Read(w.t.Context()).QueryRow("SELECT COUNT(*) FROM objects WHERE provider_id = $1", provider).Scan(&n))
	return n
}

// accounted checks that nothing is charged but what is there, that references are counted, that each object lies in its store and each object in a
// store is known, and that after the grace period nothing is left but what is referred to.
func (w *depot) accounted() {
	w.t.Helper()
	w.collect() // rows of deleted folders
	if bytes, count := w.used("ann"); bytes != w.sum("size") || count != w.sum("1") {
		w.t.Errorf("charged %d bytes and %d files for %d and %d", bytes, count, w.sum("size"), w.sum("1"))
	}
	w.foldersCounted()
	w.kept()
}

// kept is accounted without what is charged.
func (w *depot) kept() {
	w.t.Helper()
	w.collect()
	var wrong int
	w.must(w.db.Read(w.t.Context()).QueryRow(`
		SELECT COUNT(*) FROM objects o WHERE o.refs <> (SELECT COUNT(*) FROM entries e WHERE e.object_id = o.id)`).Scan(&wrong))
	if wrong > 0 {
		w.t.Errorf("%d objects are miscounted", wrong)
	}
	unknown := func() (in []string) {
		for bucket, ids := range map[string][2]string{"local": {"local", "twin"}, "vault": {"vault", "vault"}} {
			store, err := w.reg.Store(w.t.Context(), bucket)
			w.must(err)
			w.must(store.(*disk.Store).Walk(w.t.Context(), func(key blob.Key, _ int64, _ time.Time) error {
				var known bool
				w.must(w.db.Read(w.t.Context()).QueryRow(`
					SELECT EXISTS (SELECT 1 FROM objects WHERE key = $1 AND provider_id IN ($2, $3))
						OR EXISTS (SELECT 1 FROM garbage WHERE key = $1 AND provider_id IN ($2, $3))`, string(key), ids[0], ids[1]).Scan(&known))
				if !known {
					in = append(in, bucket+" "+string(key))
				}
				return nil
			}))
		}
		return in
	}
	if lost := unknown(); len(lost) > 0 {
		w.t.Errorf("nobody knows of %q", lost)
	}
	w.pass(3 * time.Hour)
	w.collect()
	if n := w.count("garbage"); n != 0 {
		w.t.Errorf("%d keys are garbage still", n)
	}
	if lost := unknown(); len(lost) > 0 {
		w.t.Errorf("left after the grace period: %q", lost)
	}
	objects, err := w.db.Read(w.t.Context()).Query("SELECT provider_id, key, size FROM objects")
	w.must(err)
	defer objects.Close()
	for objects.Next() {
		var id, key string
		var size int64
		w.must(objects.Scan(&id, &key, &size))
		store, err := w.reg.Store(w.t.Context(), id)
		w.must(err)
		if info, err := store.Stat(w.t.Context(), blob.Key(key)); err != nil || info.Size != size {
			w.t.Errorf("object %s in %s: %+v, %v", key, id, info, err)
		}
	}
	w.must(objects.Err())
}

// folderOf returns the id of a folder of ann's.
func (w *depot) folderOf(p string) string {
	w.t.Helper()
	l, err := w.tree.List(w.t.Context(), w.ann, files.ListQuery{Path: path(p).Parent(), Page: 1, Limit: 1000})
	w.must(err)
	i := slices.IndexFunc(l.Items, func(e files.Entry) bool { return e.Path() == path(p) })
	if i < 0 {
		w.t.Fatalf("there is no %s", p)
	}
	return l.Items[i].ID
}
