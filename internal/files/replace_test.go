package files_test

import (
	"fmt"
	"slices"
	"testing"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/vpath"
)

// overwrite is a move or a copy over an existing entry.
type overwrite struct {
	move    bool
	shallow bool
}

func (o overwrite) String() string { return map[bool]string{true: "move", false: "copy"}[o.move] }

// run requests it and runs the due jobs.
func (o overwrite) run(w *storesFixture, a access.Actor, from, to string) error {
	w.t.Helper()
	_, err := o.request(w, a, from, to)
	w.runJobs()
	return err
}

func (o overwrite) request(w *storesFixture, a access.Actor, from, to string) (job.Job, error) {
	w.t.Helper()
	id, target, name := w.idAtPath(from), mustParsePath(to).Parent(), mustParsePath(to).Base()
	if o.move {
		return w.tree.MoveWithOptions(w.t.Context(), a, id, target, name, files.CopyMoveOptions{Replace: true})
	}
	return w.tree.CopyWithOptions(w.t.Context(), a, id, target, name,
		files.CopyMoveOptions{Replace: true, Shallow: o.shallow})
}

// eachOverwrite runs a test with moves and with copies.
func eachOverwrite(t *testing.T, test func(t *testing.T, w *storesFixture, how overwrite)) {
	t.Helper()
	for _, how := range []overwrite{{move: true}, {}} {
		t.Run(how.String(), func(t *testing.T) {
			eachStoresFixture(t, func(t *testing.T, w *storesFixture) { test(t, w, how) })
		})
	}
}

// allowAllUsers lets every account do everything in a folder of the administrator's.
func (f *storesFixture) allowAllUsers(p string) {
	f.t.Helper()
	f.addRule(access.Rule{Pattern: p + "/**", Effect: access.Allow, Role: access.User})
	f.createFolder(f.admin, p)
}

func (f *storesFixture) passwordOf(id string) (password string) {
	f.t.Helper()
	f.must(f.db.Read(f.t.Context()).QueryRow(
		"SELECT COALESCE(password_id, '') || COALESCE(' ' || password_hash, '') FROM entries WHERE id = $1", id).
		Scan(&password))
	return password
}

// A file over a file gives its content and properties to the existing entry. The entry keeps its id
// and its owner.
func TestFileOverFile(t *testing.T) {
	eachOverwrite(t, func(t *testing.T, w *storesFixture, how overwrite) {
		w.allowAllUsers("/team")
		there, source := w.mustUpload(w.bob, "/team/there", "123"), w.mustUpload(w.ann, "/team/source", "12345678")
		link, err := w.tree.Link(t.Context(), w.bob, there.ID)
		w.must(err)
		old, err := w.tree.Link(t.Context(), w.ann, source.ID)
		w.must(err)
		was, err := w.tree.ByID(t.Context(), w.ann, source.ID)
		w.must(err)
		w.setProperty(source.ID, "of", "the source")
		w.setProperty(there.ID, "of", "what is there")
		w.setProperty(there.ID, "goes", "away")
		var key string
		w.must(w.db.Read(t.Context()).QueryRow(
			"SELECT o.key FROM objects o JOIN entries e ON e.object_id = o.id WHERE e.id = $1", there.ID).Scan(&key))
		w.advance(1000)
		w.must(how.run(w, w.ann, "/team/source", "/team/there"))
		c, err := w.tree.ByID(t.Context(), w.bob, there.ID)
		w.must(err)
		if e := w.entryAtPath("/team/there"); e.ID != there.ID || e.OwnerID != "bob" || e.Size != 8 ||
			e.CreatedAt != there.CreatedAt || e.UpdatedAt != w.clock().UnixMilli() || c.ETag != was.ETag {
			t.Errorf("the path has %+v with the ETag %s, want that of %+v with %s", e, c.ETag, there, was.ETag)
		}
		byLink, err := w.tree.ByLink(t.Context(), link.ID)
		w.must(err)
		if got := w.readContent(byLink); got != "12345678" || w.readContent(c) != got {
			t.Errorf("by the link there is %q", got)
		}
		w.wantProperties("what is there", there.ID, "of=the source")
		w.checkUsage("bob pays", "bob", 8, 1, 0, 0)
		if how.move {
			w.checkContents("/team", "there=12345678")
			_, err = w.tree.ByLink(t.Context(), old.ID)
			w.wantFault("the link of a deleted entry", err, fault.NotFound)
			w.checkUsage("ann has nothing", "ann", 0, 0, 0, 0)
			if n := w.countRows("properties"); n != 1 {
				t.Errorf("%d properties, want 1", n)
			}
		} else {
			w.checkContents("/team", "there=12345678", "source=12345678")
			w.wantProperties("the source", source.ID, "of=the source")
			w.checkUsage("ann's quota is unchanged", "ann", 8, 1, 0, 0)
			if _, err = w.tree.ByLink(t.Context(), old.ID); err != nil {
				t.Errorf("the source's link: %v", err)
			}
		}
		garbage := w.queryInt("SELECT COUNT(*) FROM garbage WHERE key = $1 AND after = $2", key,
			w.clock().Add(grace).UnixMilli())
		if objects := w.countRows("objects"); objects != 1 || garbage != 1 {
			t.Errorf("%d objects, and %d garbage rows of the replaced object; want one of each", objects, garbage)
		}
		// With shorter content, and with the content that the target has by now.
		w.mustUpload(w.ann, "/team/short", "1")
		w.must(how.run(w, w.ann, "/team/short", "/team/there"))
		w.checkUsage("given back", "bob", 1, 1, 0, 0)
		w.mustCopy(w.ann, w.idAtPath("/team/there"), "/team", "twin")
		w.must(how.run(w, w.ann, "/team/twin", "/team/there"))
		w.checkUsage("the same again", "bob", 1, 1, 0, 0)
		w.must(how.run(w, w.ann, "/team/there", "/team/new")) // to a free name
		if got := w.entryAtPath("/team/new"); got.OwnerID != map[bool]string{true: "bob", false: "ann"}[how.move] {
			t.Errorf("the free name has %+v", got)
		}
		w.collect()
		w.checkChargesMatchOwnership()
		w.checkObjects()
	})
}

// The owner of the existing file pays the difference, exact to the byte. If one byte is missing,
// nothing changes.
func TestReplacingKeepsToTheQuota(t *testing.T) {
	eachOverwrite(t, func(t *testing.T, w *storesFixture, how overwrite) {
		w.allowAllUsers("/team")
		w.mustUpload(w.bob, "/team/there", "123")
		w.mustUpload(w.ann, "/team/source", "12345678")
		w.setProperty(w.idAtPath("/team/source"), "of", "source")
		w.setQuota("bob", 7, 1)
		w.wantFault("a byte too few", how.run(w, w.ann, "/team/source", "/team/there"), fault.QuotaExceeded)
		w.checkContents("/team", "source=12345678", "there=123")
		w.checkUsage("refused", "bob", 3, 1, 0, 0)
		w.checkUsage("refused", "ann", 8, 1, 0, 0)
		w.wantProperties("refused", w.idAtPath("/team/source"), "of=source")
		w.wantProperties("refused", w.idAtPath("/team/there"))
		w.setQuota("bob", 8, 1)
		w.setQuota("ann", 0, 0) // is charged nothing
		w.must(how.run(w, w.ann, "/team/source", "/team/there"))

		w.setQuota("ann", -1, -1)
		w.mustUpload(w.ann, "/home/ann/a", "12345678")
		w.mustUpload(w.ann, "/home/ann/b", "123")
		_, count := w.usage("ann")
		bytes, _ := w.usage("ann")
		most := bytes // the source is removed
		if !how.move {
			most = bytes + 5
			w.setQuota("ann", most-1, count)
			w.wantFault("one's own, a byte too few", how.run(w, w.ann, "/home/ann/a", "/home/ann/b"),
				fault.QuotaExceeded)
		}
		w.setQuota("ann", most, count)
		w.must(how.run(w, w.ann, "/home/ann/a", "/home/ann/b"))

		w.setQuota("ann", -1, -1) // a replaced folder is released before the new one is charged
		w.uploadTree("/home/ann/old", map[string]string{"x": "1234567890", "sub/y": "12345"})
		w.uploadTree("/home/ann/new", map[string]string{"x": "123456789012345", "y": ""})
		bytes, count = w.usage("ann")
		w.setQuota("ann", bytes, count)
		w.must(how.run(w, w.ann, "/home/ann/new", "/home/ann/old"))
		w.checkContents("/home/ann/old", "x=123456789012345", "y=")
		w.collect()
		w.checkChargesMatchOwnership()
		w.checkObjects()
	})
}

// Replacing an entry removes no protection: the existing entry keeps its password or gets the
// source's.
func TestReplacingKeepsPasswords(t *testing.T) {
	eachOverwrite(t, func(t *testing.T, w *storesFixture, how overwrite) {
		w.allowAllUsers("/team")
		with := func(ids ...string) access.Actor { a := w.ann; a.Unlocked = ids; return a }
		for what, c := range map[string]struct{ source, there, want string }{
			"neither": {}, "the source": {"p1", "", "p1 hash of p1"}, "what is there": {"", "p2", "p2 hash of p2"},
			"both": {"p1", "p2", "p2 hash of p2"},
		} {
			w.mustUpload(w.ann, "/team/source", "source")
			there := w.mustUpload(w.bob, "/team/there", "there")
			if c.source != "" {
				w.setPassword(w.idAtPath("/team/source"), c.source)
			}
			if c.there != "" {
				w.setPassword(there.ID, c.there)
				w.wantFault(what+", not given", how.run(w, with("p1"), "/team/source", "/team/there"),
					fault.PasswordRequired)
			}
			w.must(how.run(w, with("p1", "p2"), "/team/source", "/team/there"))
			if got := w.passwordOf(there.ID); got != c.want {
				t.Errorf("%s: the existing entry has the password %q, want %q", what, got, c.want)
			}
			for _, e := range []string{"/team/source", "/team/there"} {
				if s, err := w.tree.ResourceAt(t.Context(), mustParsePath(e)); err != nil || !s.Exists() {
					continue
				}
				_, _, err := w.tree.Delete(t.Context(), w.admin, w.idAtPath(e))
				w.must(err)
			}
		}
		w.collect()
		w.checkChargesMatchOwnership()
		w.checkObjects()
	})
}

// A file over a file requires the permission to write at the path and to update the existing file.
// Every other replacement requires the permission to delete the existing entry and everything in
// it.
func TestReplaceRequiresPermissions(t *testing.T) {
	eachOverwrite(t, func(t *testing.T, w *storesFixture, how overwrite) {
		n := 0
		for _, c := range []struct {
			has          access.Set
			source, over string
			may          bool
		}{
			{access.Set(access.Read | access.Write | access.Update), "file", "file", true},
			{access.Set(access.Read | access.Update), "file", "file", false},
			{access.Set(access.Read | access.Write), "file", "file", false},
			{access.Set(access.Read | access.Write | access.Delete), "file", "file", false},
			{access.Set(access.Read | access.Write | access.Update), "file", "folder", false},
			{access.Set(access.Read | access.Write | access.Update), "folder", "file", false},
			{access.Set(access.Read | access.Write | access.Update), "folder", "folder", false},
			{access.Set(access.Read | access.Update | access.Delete), "folder", "folder", false},
			{access.Set(access.Read | access.Write | access.Delete), "file", "folder", true},
			{access.Set(access.Read | access.Write | access.Delete), "folder", "file", true},
			{access.Set(access.Read | access.Write | access.Delete), "folder", "folder", true},
		} {
			n++
			drop, own := fmt.Sprintf("/drop%d", n), fmt.Sprintf("/home/bob/box%d", n)
			w.createFolder(w.admin, drop)
			w.mustUpload(w.admin, drop+"/file", "there")
			w.mustUpload(w.admin, drop+"/folder/sub/g", "there")
			w.mustUpload(w.bob, own+"/file", "new")
			w.mustUpload(w.bob, own+"/folder/h", "new")
			w.addRule(access.Rule{Pattern: drop + "/**", Effect: access.Allow, UserID: "bob", Permissions: c.has})
			before := w.contentsBelow(drop)
			err := how.run(w, w.bob, own+"/"+c.source, drop+"/"+c.over)
			if c.may != (err == nil) {
				t.Errorf("%s over %s with %v: %v", c.source, c.over, c.has, err)
			}
			if !c.may {
				w.wantFault(fmt.Sprintf("%s over %s with %v", c.source, c.over, c.has), err, fault.Forbidden)
				if after := w.contentsBelow(drop); !slices.Equal(before, after) {
					t.Errorf("the folder has %q, had %q", after, before)
				}
			}
		}
		w.createFolder(w.admin, "/drop")
		w.mustUpload(w.admin, "/drop/there/sub/kept", "1")
		w.mustUpload(w.bob, "/home/bob/f", "1")
		w.addRule(access.Rule{Pattern: "/drop/**", Effect: access.Allow, UserID: "bob"})
		w.addRule(access.Rule{Pattern: "/drop/there/sub/**", Effect: access.Deny, UserID: "bob",
			Permissions: access.Set(access.Delete)})
		w.wantFault("an entry in it may not be deleted", how.run(w, w.bob, "/home/bob/f", "/drop/there"),
			fault.Forbidden)
		w.checkContents("/drop", "there/", "there/sub/", "there/sub/kept=1")
		w.collect()
		w.checkChargesMatchOwnership()
		w.checkObjects()
	})
}

// Every replacement except a file over a file deletes the existing entry with its links, its quota
// and everything in it.
func TestReplacingDeletesWhatIsThere(t *testing.T) {
	eachOverwrite(t, func(t *testing.T, w *storesFixture, how overwrite) {
		w.allowAllUsers("/team")
		for _, c := range []struct {
			source, over string
			want         []string
		}{
			{"file", "folder", []string{"folder=new"}},
			{"folder", "file", []string{"file/", "file/h=in", "file/sub/", "file/sub/i=deep"}},
			{"folder", "folder", []string{"folder/", "folder/h=in", "folder/sub/", "folder/sub/i=deep"}},
		} {
			what := c.source + " over " + c.over
			w.createFolder(w.admin, "/team/to")
			f, g := w.mustUpload(w.bob, "/team/to/file", "there"), w.mustUpload(w.bob, "/team/to/folder/sub/g",
				"there too")
			links := map[string]string{}
			for over, id := range map[string]string{"file": f.ID, "folder": g.ID} {
				link, err := w.tree.Link(t.Context(), w.bob, id)
				w.must(err)
				links[over] = link.ID
				w.setProperty(id, "of", over)
			}
			w.mustUpload(w.ann, "/team/box/file", "new")
			w.mustUpload(w.ann, "/team/box/folder/h", "in")
			w.mustUpload(w.ann, "/team/box/folder/sub/i", "deep")
			source, there := w.idAtPath("/team/box/"+c.source), w.idAtPath("/team/to/"+c.over)
			w.setProperty(source, "of", "source")
			w.must(how.run(w, w.ann, "/team/box/"+c.source, "/team/to/"+c.over))
			now := w.entryAtPath("/team/to/" + c.over)
			if now.ID == there || (now.ID == source) != how.move || now.OwnerID != "ann" {
				t.Errorf("%s: there is %+v", what, now)
			}
			w.wantProperties(what, now.ID, "of=source")
			other := map[string]string{"file": "folder", "folder": "file"}[c.over]
			_, _, err := w.tree.Delete(t.Context(), w.admin, w.idAtPath("/team/to/"+other))
			w.must(err)
			w.checkContents("/team/to", c.want...)
			_, err = w.tree.ByLink(t.Context(), links[c.over])
			w.wantFault(what+": the link of the replaced entry", err, fault.NotFound)
			w.checkUsage(what, "bob", 0, 0, 0, 0)
			w.collect()
			w.checkChargesMatchOwnership()
			for _, p := range []string{"/team/to", "/team/box"} {
				_, _, err := w.tree.Delete(t.Context(), w.admin, w.idAtPath(p))
				w.must(err)
			}
			w.collect()
			if n := w.countRows("properties") + w.countRows("links") + w.countRows("objects"); n != 0 {
				t.Errorf("%s: %d properties, links and objects are left", what, n)
			}
		}
		w.collect()
		w.checkChargesMatchOwnership()
		w.checkObjects()
	})
}

// A replacement is refused over itself, over a folder that contains the source, into itself, over a
// mount, and over a folder above a mount.
func TestReplacingIsRefused(t *testing.T) {
	for _, how := range []overwrite{{move: true}, {}, {shallow: true}} {
		t.Run(fmt.Sprint(how, how.shallow), func(t *testing.T) {
			eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
				w.mustUpload(w.ann, "/home/ann/a/b/f", "content")
				w.mustUpload(w.ann, "/home/ann/g", "other")
				w.createFolder(w.ann, "/home/ann/m")
				w.createFolder(w.ann, "/home/ann/m/disk")
				w.addMount("/home/ann/m/disk")
				w.setProperty(w.idAtPath("/home/ann/g"), "n", "v")
				before := w.contentsBelow("/home/ann")
				for what, c := range map[string][2]string{
					"a file over itself":                   {"/home/ann/g", "/home/ann/g"},
					"a folder over itself":                 {"/home/ann/a", "/home/ann/a"},
					"a file over its parent folder":        {"/home/ann/a/b/f", "/home/ann/a/b"},
					"a file further up":                    {"/home/ann/a/b/f", "/home/ann/a"},
					"a folder over its parent folder":      {"/home/ann/a/b", "/home/ann/a"},
					"a folder into itself":                 {"/home/ann/a", "/home/ann/a/b"},
					"a folder over a file in it":           {"/home/ann/a", "/home/ann/a/b/f"},
					"a file over a mount":                  {"/home/ann/g", "/home/ann/m/disk"},
					"a folder over a mount":                {"/home/ann/a", "/home/ann/m/disk"},
					"a file over a folder above a mount":   {"/home/ann/g", "/home/ann/m"},
					"a folder over a folder above a mount": {"/home/ann/a", "/home/ann/m"},
				} {
					w.wantFault(what, how.run(w, w.ann, c[0], c[1]), fault.Conflict)
				}
				w.wantFault("where no folder is", how.run(w, w.ann, "/home/ann/g", "/home/ann/absent/g"),
					fault.NotFound)
				if after := w.contentsBelow("/home/ann"); !slices.Equal(before, after) {
					t.Errorf("the folder has %q, had %q", after, before)
				}
				w.wantProperties("refused", w.idAtPath("/home/ann/g"), "n=v")
				name := vpath.Name("g")
				_, err := w.tree.CopyWithOptions(t.Context(), w.ann, w.idAtPath("/home/ann/a/b/f"),
					mustParsePath("/home/ann"), name, files.CopyMoveOptions{Shallow: how.shallow})
				w.wantFault("a name that is taken, not over it", err, fault.Conflict)
				w.collect()
				w.checkChargesMatchOwnership()
				w.checkObjects()
			})
		})
	}
}

// A shallow copy of a folder has the folder's metadata, properties and password, and none of its
// contents (RFC 4918, section 9.8.3).
func TestShallowCopy(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, _ bool) {
		w.uploadTree("/home/ann/box", map[string]string{"a": "1", "b": "22", "sub/c": "333"})
		w.uploadTree("/home/ann/there", map[string]string{"old": "4444"})
		w.setProperty(w.idAtPath("/home/ann/box"), "n", "v")
		w.setProperty(w.idAtPath("/home/ann/there"), "goes", "away")
		bytes, count := w.usage("ann")
		shallow := overwrite{shallow: true}
		w.must(shallow.run(w, w.ann, "/home/ann/box", "/home/ann/new"))
		w.must(shallow.run(w, w.ann, "/home/ann/box", "/vault/new"))
		w.checkContents("/home/ann/new")
		w.checkContents("/vault/new")
		w.checkUsage("two folders", "ann", bytes, count, 0, 0)
		w.must(shallow.run(w, w.ann, "/home/ann/box", "/home/ann/there"))
		w.checkContents("/home/ann/there")
		w.checkUsage("the replaced entry is released", "ann", bytes-4, count-1, 0, 0)
		for _, p := range []string{"/home/ann/new", "/vault/new", "/home/ann/there"} {
			w.wantProperties(p, w.idAtPath(p), "n=v")
		}
		w.must(shallow.run(w, w.ann, "/home/ann/box/a", "/home/ann/there")) // a file is copied as usual
		if got, err := w.readPath(w.ann, "/home/ann/there"); got != "1" || err != nil {
			t.Errorf("the copy of a file: %q, %v", got, err)
		}
		w.checkContents("/home/ann/box", "a=1", "b=22", "sub/", "sub/c=333")
		w.setPassword(w.idAtPath("/home/ann/box"), "p1")
		a := w.ann
		a.Unlocked = []string{"p1"}
		w.must(shallow.run(w, a, "/home/ann/box", "/home/ann/closed"))
		if got := w.passwordOf(w.idAtPath("/home/ann/closed")); got != "p1 hash of p1" {
			t.Errorf("the copy has the password %q", got)
		}
		w.checkNothingStaged()
		w.checkAccounting()
	})
}

// A move to another provider replaces the existing entry when it is complete, not before, and not
// when it fails.
func TestMoveJobReplacesAtTheEnd(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		how := overwrite{move: true}
		n := 0
		for _, c := range []struct{ source, there string }{{"f", "f"}, {"f", "dir"}, {"dir", "f"}, {"dir", "dir"}} {
			n++
			from, to := fmt.Sprintf("/home/ann/box%d", n), fmt.Sprintf("/vault/to%d", n)
			w.uploadTree(from, map[string]string{"f": "new", "dir/g": "new too", "dir/h": "and this"})
			old := w.uploadTree(to, map[string]string{"f": "there", "dir/old": "there too"})
			ask := func() job.Job {
				t.Helper()
				j, err := how.request(w, w.ann, from+"/"+c.source, to+"/"+c.there)
				w.must(err)
				if j.Status != "pending" {
					t.Errorf("%v is not a job: %+v", c, j)
				}
				return j
			}
			j := ask()
			w.setHook(func(_ int, op, _ string) error {
				if op == "open" {
					return blob.ErrNotFound
				}
				return nil
			})
			w.runJobs()
			w.setHook(nil)
			w.checkJobEnded(j.ID, "nothing was moved")
			w.checkReadableBelow(old, to)
			j = ask()
			w.setHook(func(_ int, op, _ string) error {
				if op == "stored" {
					w.checkReadableBelow(old, to)
				}
				return nil
			})
			w.runJobs()
			w.setHook(nil)
			w.checkJobEnded(j.ID, "")
			if c.source == "f" {
				w.checkContents(from, "dir/", "dir/g=new too", "dir/h=and this")
				if got, err := w.readPath(w.ann, to+"/"+c.there); got != "new" || err != nil {
					t.Errorf("%v: %q, %v", c, got, err)
				}
			} else {
				w.checkContents(from, "f=new")
				w.checkContents(to+"/"+c.there, "g=new too", "h=and this")
			}
			if same := w.idAtPath(to+"/"+c.there) == old.ids["f"]; same != (c.source == "f" && c.there == "f") {
				t.Errorf("%v: the existing entry kept its id: %v", c, same)
			}
		}
		// An actor who may not delete the existing entry any more by then replaces nothing.
		w.uploadTree("/home/ann/last", map[string]string{"a": "1", "b": "2"})
		old := w.uploadTree("/vault/last", map[string]string{"c": "3"})
		j, err := how.request(w, w.ann, "/home/ann/last", "/vault/last")
		w.must(err)
		w.runDuringCopy(func() {
			w.addRule(access.Rule{Pattern: "/vault/last/c", Effect: access.Deny, UserID: "ann",
				Permissions: access.Set(access.Delete)})
		})
		w.checkJobEnded(j.ID, "permission")
		w.checkReadableBelow(old, "/vault/last")
		w.checkAccounting()
	})
}

// Content that is replaced in the source while it moves over a file in another provider is moved to
// that provider as well.
func TestMoveOverFileUsesLatestContent(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/f", "first")
		there := w.mustUpload(w.ann, "/vault/f", "there")
		j, err := overwrite{move: true}.request(w, w.ann, "/home/ann/f", "/vault/f")
		w.must(err)
		asked := 0
		w.onOwner = func() {
			if asked++; asked == 2 { // the content was copied
				_, err := w.upload(w.ann, "/home/ann/f", "second", files.Replace)
				w.must(err)
			}
		}
		w.runJobs()
		w.onOwner = nil
		w.checkJobEnded(j.ID, "")
		if got, err := w.readPath(w.ann, "/vault/f"); got != "second" || err != nil ||
			w.idAtPath("/vault/f") != there.ID {
			t.Errorf("the path has %q, %v", got, err)
		}
		if n := w.countObjects("local"); n != 0 {
			t.Errorf("%d objects stayed with the old provider", n)
		}
		w.checkAccounting()
	})
}

// A copy by a job replaces the existing entry when it is complete, and not when it fails. Then it
// releases the quota of the replaced entry.
func TestCopyJobReplacesAtTheEnd(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.tree.SetCopyBatchSize(2)
		w.uploadTree("/home/ann/box", sampleFiles())
		bytes, count := w.usage("ann")
		for _, target := range []string{"/home/ann/old", "/vault/old"} {
			old := w.uploadTree(target, map[string]string{"a": "there", "sub/b": "there too"})
			oldBytes, oldCount := w.usage("ann")
			oldBytes, oldCount = oldBytes-bytes, oldCount-count
			ask := func() job.Job {
				t.Helper()
				j, err := overwrite{}.request(w, w.ann, "/home/ann/box", target)
				w.must(err)
				if j.Status != "pending" {
					t.Errorf("the copy is not a job: %+v", j)
				}
				return j
			}
			j := ask()
			var l files.WriteLock
			w.runBeforeTransaction(3, func() { l = w.mustLock("one", w.idAtPath(target+"/sub/b"), exclusiveLock) })
			w.checkJobEnded(j.ID, "locked")
			w.checkReadableBelow(old, target)
			w.checkNothingStaged()
			w.checkUsage("failed", "ann", bytes+oldBytes, count+oldCount, 0, 0)
			w.must(w.tree.Unlock(t.Context(), viaKey(w.ann, "one"), l.EntryID, l.Token))
			j = ask()
			w.runBeforeTransaction(3, func() { w.checkReadableBelow(old, target) })
			w.checkJobEnded(j.ID, "")
			w.checkNothingStaged()
			if a, b := w.contentsBelow("/home/ann/box"), w.contentsBelow(target); !slices.Equal(a, b) {
				t.Errorf("the copy has %.300q, the original %.300q", b, a)
			}
			w.checkUsage("copied", "ann", 2*bytes, 2*count, 0, 0)
			w.checkAccounting()
			_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath(target))
			w.must(err)
		}
	})
}

// A copy of a file over a file in another provider has its content immediately. A job copies the
// content to that provider, or leaves it readable in its old place.
func TestCopyOverAFileInAnotherProvider(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/f", "content")
		there := w.mustUpload(w.ann, "/vault/f", "there")
		for _, fails := range []bool{true, false} {
			j, err := overwrite{}.request(w, w.ann, "/home/ann/f", "/vault/f")
			w.must(err)
			if got, err := w.readPath(w.ann, "/vault/f"); got != "content" || err != nil {
				t.Errorf("immediately after the request: %q, %v", got, err)
			}
			w.setHook(func(_ int, op, _ string) error {
				if op == "stat" && fails {
					return blob.ErrNotFound
				}
				return nil
			})
			w.runJobs()
			w.setHook(nil)
			w.checkJobEnded(j.ID, map[bool]string{true: "the file stays in its current storage"}[fails])
			if got, err := w.readPath(w.ann, "/vault/f"); got != "content" || err != nil ||
				w.idAtPath("/vault/f") != there.ID {
				t.Errorf("in the end: %q, %v", got, err)
			}
			if n := w.countObjects("vault"); fails != (n == 0) {
				t.Errorf("%d objects in the vault", n)
			}
		}
		w.checkUsage("in the end", "ann", 14, 2, 0, 0)
		w.checkAccounting()
	})
}
