package racetest

import (
	"fmt"
	"slices"
	"testing"

	"larder/internal/apptest"
)

// nameContest is one round of oneName: four requests of each of five kinds for the name `cat` in a
// folder.
type nameContest struct {
	member
	t                        *testing.T
	dir                      string
	moved, renamed, sessions [4]string
	winners, completed       int
	want                     map[string]string // the expected ids by name
}

// oneName: of 20 requests for one name in a folder, of all kinds, one gets it. The others are
// refused without a change, or get another name (abuse case C90).
func oneName(t *testing.T, w *world) {
	fay := w.member(t, "fay")
	files := 0
	for round := range rounds {
		name := fmt.Sprint("dir", round)
		c := nameContest{member: fay, t: t, dir: fay.home + "/" + name, want: map[string]string{}}
		fay.mkdir(fay.home, name)
		replies := runAtOnce(t, c.prepare()...)
		listed := fay.listed(t, c.dir)
		for i, r := range replies {
			c.check(i, r)
		}
		for i := range 4 {
			from := fmt.Sprint("from", i)
			c.want[from] = listed[from]
		}
		if c.winners != 1 {
			t.Errorf("round %d: the name was given %d times", round, c.winners)
		}
		for name, id := range c.want {
			if id == "" || listed[name] != id {
				t.Errorf("round %d: %s is %q, want %q", round, name, listed[name], id)
			}
		}
		if len(listed) != len(c.want) {
			t.Errorf("round %d: %d entries, want %d", round, len(listed), len(c.want))
		}
		files += 12 + c.completed // moved, renamed and sent
	}
	if me := fay.Get("/api/auth/me").OK(200); me.Int("quota.usedFiles") != int64(files) {
		t.Errorf("charged %d files, want %d", me.Int("quota.usedFiles"), files)
	}
}

// The kinds of requests, in the order of prepare.
const (
	asFolder = iota
	byCompletion
	bySending
	byRenaming
	byMoving
	ways
)

// prepare creates the entries to rename, move and complete.
func (c *nameContest) prepare() (asks []call) {
	for i := range c.moved {
		session := c.begin(c.dir, "cat", "complete", "fail")
		c.sessions[i], _ = session["sessionId"].(string)
		c.moved[i] = c.put(fmt.Sprint(c.dir, "/from", i), "cat", "moved")
		c.renamed[i] = c.put(c.dir, fmt.Sprint("other", i), "renamed")
		asks = append(asks,
			func() *apptest.Reply { return c.Fork().Post("/api/files/folder", M{"path": c.dir, "name": "cat"}) },
			func() *apptest.Reply { return c.Fork().Post("/api/files/upload-complete", session) },
			func() *apptest.Reply { return member{key: c.key.Fork()}.send(c.dir, "cat", "sent") },
			func() *apptest.Reply { return c.Fork().Put("/api/files/"+c.renamed[i], M{"name": "cat"}) },
			func() *apptest.Reply { return c.Fork().Post("/api/files/"+c.moved[i]+"/move", M{"targetPath": c.dir}) },
		)
	}
	return asks
}

// check checks an answer by its kind and records the expected entry.
func (c *nameContest) check(request int, r *apptest.Reply) {
	i, way := request/ways, request%ways
	won := r.Status == 200 || r.Status == 201
	if way == bySending { // which chooses another name when this one is taken
		if r.OK(200).Text("filename") == "cat" {
			c.winners++
		}
		c.want[r.Text("filename")] = r.Text("fileId")
		return
	}
	if won {
		c.winners++
		id := c.moved[i]
		if way != byMoving {
			id = r.Text("file.id")
		}
		c.want["cat"] = id
		if way == byCompletion {
			c.completed++
		}
		return
	}
	code := "ALREADY_EXISTS"
	switch way {
	case byCompletion:
		c.Delete("/api/files/upload/multipart/" + c.sessions[i]).OK(200)
	case byRenaming:
		c.want[fmt.Sprint("other", i)] = c.renamed[i]
	case byMoving:
		code = "OPERATION_FAILED"
		if c.listed(c.t, fmt.Sprint(c.dir, "/from", i))["cat"] != c.moved[i] {
			c.t.Errorf("%s: a file is gone from where it was", c.dir)
		}
	}
	r.Fails(409, code)
}

// folderCrossing is one round of crossingFolders: folders a and b, in parents that may
// lie with two providers.
type folderCrossing struct {
	member
	t       *testing.T
	name    string // of both parents
	up      [2]string
	parent  string            // id of a's
	ids     [2]string         // of a and b
	deleted string            // id of a folder in b that is deleted with its file
	kept    map[string]string // content by id, of every file that was acknowledged
}

// crossingFolders: two folders are moved into each other while one of them receives an upload and a
// deletion, and its parent is renamed. No cycle results, every acknowledged file exists at one
// path, and all jobs end (abuse case C91). In each fourth round the folders have two providers, so
// that the moves are jobs.
func crossingFolders(t *testing.T, w *world) {
	gus := w.member(t, "gus")
	provider := w.admin.In(t).Post("/api/admin/storage/providers",
		M{"name": "far", "type": "store_a", "bucket": "far"}).OK(201).Text("provider.id")
	w.admin.In(t).Post("/api/admin/mounts", M{"providerId": provider, "mountPath": "/far", "name": "far"}).OK(201)
	w.admin.In(t).Post("/api/admin/rules", M{"pathPattern": "/far/**", "effect": "allow", "role": "user"}).OK(201)
	bytes, files := int64(0), int64(0)
	for round := range rounds {
		c := folderCrossing{member: gus, t: t, name: fmt.Sprint("round", round), up: [2]string{gus.home, gus.home},
			kept: map[string]string{}}
		if round%4 == 3 {
			c.up[1] = "/far"
		}
		c.prepare()
		c.cross(round)
		for _, content := range c.kept {
			bytes += int64(len(content))
			files++
		}
	}
	gus.uses(t, bytes, files)
}

// dir returns the parent of folder i, 0 for a.
func (c *folderCrossing) dir(i int) string { return c.up[i] + "/" + c.name }

func (c *folderCrossing) prepare() {
	c.parent = c.mkdir(c.up[0], c.name)
	if c.up[0] != c.up[1] {
		c.mkdir(c.up[1], c.name)
	}
	for i, name := range []string{"a", "b"} {
		c.ids[i] = c.mkdir(c.dir(i), name)
		content := "in " + name + " of " + c.name
		c.kept[c.put(c.dir(i)+"/"+name, "file-kept-in-"+name, content)] = content
	}
	c.deleted = c.mkdir(c.dir(1)+"/b", "deleted")
	c.put(c.dir(1)+"/b/deleted", "file-gone", "gone")
}

func (c *folderCrossing) cross(round int) {
	session := c.begin(c.dir(1)+"/b", "file-completed", "completed of "+c.name, "rename")
	move := func(i int) call {
		target := c.dir(1-i) + "/" + []string{"b", "a"}[i]
		return func() *apptest.Reply {
			return c.Fork().Post("/api/files/"+c.ids[i]+"/move", M{"targetPath": target})
		}
	}
	asks := []call{
		move(0), move(1),
		func() *apptest.Reply { return c.Fork().Delete("/api/files/" + c.deleted) },
		func() *apptest.Reply { return c.Fork().Post("/api/files/upload-complete", session) },
		func() *apptest.Reply {
			return member{key: c.key.Fork()}.send(c.dir(0)+"/a", "file-sent", "sent of "+c.name)
		},
		func() *apptest.Reply {
			return c.Fork().Post("/api/files/folder", M{"path": c.dir(1) + "/b", "name": "made"})
		},
	}
	if round%2 == 1 {
		asks = append(asks, func() *apptest.Reply {
			return c.Fork().Put("/api/files/"+c.parent, M{"name": c.name + "-renamed"})
		})
	}
	replies := runAtOnce(c.t, asks...)
	for i, may := range [][]int{{200, 404, 409}, {200, 404, 409}, {200}, {200}, {200}, {201, 404}, {200}} {
		if i < len(replies) && !slices.Contains(may, replies[i].Status) {
			c.t.Errorf("round %d: request %d: status %d: %.300s", round, i, replies[i].Status, replies[i].Body)
		}
	}
	for _, r := range replies[:2] {
		if r.Status == 200 {
			c.awaitJob(c.t, r.Text("jobId"))
		}
	}
	c.kept[replies[3].OK(200).Text("file.id")] = "completed of " + c.name
	c.kept[replies[4].OK(200).Text("fileId")] = "sent of " + c.name
	c.check(round)
}

// check checks the tree after all jobs have ended.
func (c *folderCrossing) check(round int) {
	for _, id := range c.ids {
		c.Get("/api/files/" + id).OK(200) // a cycle would not reach the root
	}
	c.Get("/api/files/"+c.deleted).Fails(404, "NOT_FOUND")
	for id, content := range c.kept {
		details := c.Get("/api/files/" + id).OK(200)
		path := details.Text("file.path") + "/" + details.Text("file.name")
		if got := c.Get(path); got.Status != 200 || string(got.Body) != content {
			c.t.Errorf("round %d: %s: status %d: %.200s", round, path, got.Status, got.Body)
		}
	}
	// a request by path creates the first folder again if that has been renamed
	found, places := int64(0), []string{c.dir(0), c.dir(0) + "-renamed", c.dir(1)}
	for _, dir := range slices.Compact(slices.Sorted(slices.Values(places))) {
		if r := c.Get("/api/files?type=file&search=file-&path=" + dir); r.Status != 404 {
			found += r.OK(200).Int("pagination.total")
		}
	}
	if found != int64(len(c.kept)) {
		c.t.Errorf("round %d: %d files can be found, want %d", round, found, len(c.kept))
	}
}
