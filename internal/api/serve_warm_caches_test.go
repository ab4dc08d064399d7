package api_test

import (
	"fmt"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
)

// warmFile is a file that several clients read, each in its own way, while another client changes
// something.
type warmFile struct {
	t            *testing.T
	l            *apptest.Larder
	admin, owner *apptest.Client // they make the changes
	visitor      *apptest.Client
	session      *apptest.Client
	key, davKey  *apptest.Client
	name         string // of the account
	home         string
	dir          string // of the file, two folders below home, or below a mount
	path         string
	id, link     string
	content      string
	rule         string // allows guests the download
	bucket       string // directory of the provider that has the file, for a file in a mount of its own
}

// warmWays are the ways to read a file, in the order of the statuses in warmChanges.
var warmWays = []struct {
	name string
	read func(w *warmFile) *apptest.Reply
}{
	{"public path", func(w *warmFile) *apptest.Reply { return w.visitor.Get(w.path, "Accept", "image/*") }},
	{"permanent link", func(w *warmFile) *apptest.Reply { return w.visitor.Get(w.link, "Accept", "image/*") }},
	{"session", func(w *warmFile) *apptest.Reply {
		// an answer may clear the cookie, which the next request sends again
		r := w.session.Fork().Get("/api/files/" + w.id + "/download")
		if r.Status != 200 {
			return r
		}
		return w.visitor.Get(r.Text("url"))
	}},
	{"API key", func(w *warmFile) *apptest.Reply { return w.key.Get(w.path) }},
	{"WebDAV key", func(w *warmFile) *apptest.Reply { return dav(w.davKey, "GET", w.path, nil) }},
}

// served are the statuses of a file that everybody may read, in the order of warmWays.
const served = "200 200 200 200 200"

// want reads the file in each way, on each replica.
func (w *warmFile) want(when, statuses string) {
	w.t.Helper()
	for i, want := range strings.Fields(statuses) {
		for range w.l.Apps {
			r := warmWays[i].read(w)
			if got := fmt.Sprint(r.Status); r.Err != nil || got != want {
				w.t.Errorf("%s, %s of %s: status %s, want %s: %.200s (%v)", when, warmWays[i].name, w.path, got, want,
					r.Body, r.Err)
			} else if want == "200" {
				wantBody(w.t, r, w.content)
			}
		}
	}
}

// In returns the file for a subtest.
func (w *warmFile) In(t *testing.T) *warmFile {
	f := *w
	f.t = t
	for _, c := range []**apptest.Client{&f.admin, &f.owner, &f.visitor, &f.session, &f.key, &f.davKey} {
		*c = (*c).In(t)
	}
	return &f
}

// at returns the file at another path.
func (w *warmFile) at(path string) *warmFile {
	moved := *w
	moved.path = path
	return &moved
}

// newWarmFile makes an account with its credentials and a file in two folders, which guests may
// download, and a neighbour of it.
func newWarmFile(t *testing.T, l *apptest.Larder, admin *apptest.Client, name string, row *warmChange) (
	file, neighbour *warmFile,
) {
	t.Helper()
	owner := l.User(t, name, row.account)
	w := &warmFile{t: t, l: l, admin: admin.In(t), owner: owner, visitor: l.Client(t), name: name,
		home: "/home/" + name, content: onePixel}
	w.session = l.SignIn(t, name, "password of "+name)
	w.key = owner.Key(M{})
	w.davKey = davKey(owner, M{})
	top := w.home
	if row.mount != "" {
		top = strings.ReplaceAll(row.mount, "NAME", name)
		addMount(w.admin, addProvider(w.admin, name), top)
		addRule(w.admin, M{"pathPattern": top + "/**", "effect": "allow", "userId": callerID(owner)})
		w.bucket = l.Apps[0].Config.ObjectDir + "/" + name
	}
	w.rule = addRule(w.admin, M{"pathPattern": top + "/**", "effect": "allow", "role": "guest",
		"permissions": []string{"download"}})
	w.dir = top + "/top/dir"
	w.addFile(w.dir, "f.png")
	beside := *w
	beside.addFile(w.home, "neighbour.png")
	if row.mount != "" { // guests may download below the mount only
		addRule(w.admin, M{"pathPattern": w.home + "/**", "effect": "allow", "role": "guest",
			"permissions": []string{"download"}})
	}
	if row.before != nil {
		row.before(w)
	}
	return w, &beside
}

// addFile uploads a file and makes its permanent link.
func (w *warmFile) addFile(dir, name string) {
	w.id = w.owner.Upload(dir, name, []byte(w.content))
	w.path = dir + "/" + name
	w.link = w.owner.Post("/api/files/"+w.id+"/link", nil).OK(200).Text("link.url")
}

// folder returns the id of the folder above the folder of the file.
func (w *warmFile) folder() string {
	top := strings.TrimSuffix(w.dir, "/dir")
	above := strings.TrimSuffix(top, "/top")
	return entryIDOf(w.owner, above, "top")
}

// A change counts at the next request, also when the file, its bytes, the credentials and the rules
// are in memory on each replica. It does not concern other files.
func TestChangesCountWithWarmCaches(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		if len(warmChanges) < 25 {
			t.Errorf("only %d changes", len(warmChanges))
		}
		admin := l.Admin(t)
		stranger, _ := newWarmFile(t, l, admin, "stranger", &warmChange{})
		// The rows run one after the other, because each new rule or account makes the cached
		// answers about all files outdated.
		for i := range warmChanges {
			row := &warmChanges[i]
			t.Run(row.name, func(t *testing.T) {
				w, neighbour := newWarmFile(t, l, admin, fmt.Sprintf("w%02d", i), row)
				row.test(w, neighbour, stranger.In(t))
			})
		}
	}, withTrash)
}

func (row *warmChange) test(w, neighbour, stranger *warmFile) {
	all := []*warmFile{w, neighbour, stranger}
	for _, f := range all {
		f.want("before", served)
	}
	// of each file: twice by path, once by link, once by id for a session, twice at the gateway
	wantHits(w.t, w.l, 3*6, func() {
		for _, f := range all {
			f.want("before, with warm caches", served)
		}
	})
	before := w.content
	undo := row.change(w)
	if row.content != "" {
		w.content = row.content
	}
	w.want("after the change", row.want)
	neighbour.want("after the change", orServed(row.neighbour))
	stranger.want("after the change", orServed(row.strangers))
	if row.movedTo != "" {
		w.at(strings.TrimSuffix(w.dir, "/top/dir")+row.movedTo).want("after the change", served)
	}
	if undo == nil {
		return
	}
	undo()
	w.content = before
	for _, f := range all {
		want := served
		if f != stranger {
			want = orServed(row.undone)
		}
		f.want("after the way back", want)
	}
}

func orServed(statuses string) string {
	if statuses == "" {
		return served
	}
	return statuses
}

// wantHits checks that reads take exactly that many found files from memory, and look up none, on
// SQLite. It reads again when a look-up met a commit of the server's own, during which nothing is
// taken from memory.
func wantHits(t *testing.T, l *apptest.Larder, want uint64, reads func()) {
	t.Helper()
	if len(l.Apps) > 1 { // on PostgreSQL
		want = 0
	}
	var hits, misses uint64
	for range 5 {
		before := l.Apps[0].Tree.EntryCache.Stats()
		reads()
		after := l.Apps[0].Tree.EntryCache.Stats()
		if hits, misses = after.Hits-before.Hits, after.Misses-before.Misses; hits == want && misses == 0 {
			return
		}
	}
	t.Errorf("%d files were found in memory and %d in the database, want %d and 0", hits, misses, want)
}

// Without the caches of found files and of bytes, changes count as well.
func TestChangesCountWithoutCaches(t *testing.T) {
	t.Parallel()
	row := warmChange{}
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		w, _ := newWarmFile(t, l, l.Admin(t), "alice", &row)
		w.want("at first", served)
		if stats := l.Apps[0].Tree.EntryCache.Stats(); stats.Hits+stats.Misses != 0 {
			t.Errorf("the cache that is off was used: %+v", stats)
		}
		w.owner.Put("/api/files/"+w.id, M{"name": "g.png"}).OK(200)
		w.want("after the renaming", "404 200 200 404 404")
		w.at(w.dir+"/g.png").want("after the renaming", served)
	}, func(c *config.Config) { c.EntryCache, c.ObjectCache = 0, 0 })
}
