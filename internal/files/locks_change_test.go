package files_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// lockTree is a folder of ann's with entries at the relative paths dir, dir/f, dir/sub, dir/sub/g,
// out and out/o. Its files have no bytes in a store.
type lockTree struct {
	*fixture
	root vpath.Path
	ids  map[string]string // by relative path; "" is the folder itself
}

func (f *fixture) newLockTree(n int) *lockTree {
	f.t.Helper()
	at := mustParsePath(fmt.Sprintf("/home/ann/scene%d", n))
	s := &lockTree{f, at, map[string]string{}}
	f.write(func(tx *db.Tx) (err error) {
		s.ids[""], err = f.tree.InsertFolder(tx, f.ann.HomeID, at.Base(), "ann")
		for _, c := range []struct{ in, name string }{{"", "dir"}, {"dir", "sub"}, {"", "out"}} {
			if err == nil {
				s.ids[joinPath(c.in, c.name)], err = f.tree.InsertFolder(tx, s.ids[c.in], vpath.Name(c.name), "ann")
			}
		}
		for _, c := range []struct{ in, name string }{{"dir", "f"}, {"dir/sub", "g"}, {"out", "o"}} {
			id := f.ids.UUID()
			s.ids[joinPath(c.in, c.name)] = id
			if err == nil {
				_, err = tx.Exec(
					"INSERT INTO objects (id, provider_id, key, size, etag, refs, created_at) VALUES ($1, 'local', "+
						"$2, 1, '', 1, 0)", id, id)
			}
			if err == nil {
				err = f.insertEntry(tx, treeEntry{id: id, parent: s.ids[c.in], name: c.name, owner: "ann", size: 1,
					object: id})
			}
		}
		if err == nil {
			_, err = tx.Exec(
				"UPDATE quotas SET used_storage = used_storage + 3, used_files = used_files + 3 WHERE user_id = 'ann'")
		}
		return err
	})
	return s
}

func joinPath(in, name string) string {
	if in == "" {
		return name
	}
	return in + "/" + name
}

// putFile puts a file there. The file needs no bytes.
func (t *lockTree) putFile(a access.Actor, in string, name vpath.Name, c files.Conflict) error {
	dir := t.root
	for _, part := range mustParsePath("/" + in).Names() {
		dir = dir.Child(part)
	}
	dest, err := t.tree.ResolveDestination(t.t.Context(), a, dir, name, c)
	if err != nil {
		return err
	}
	key, _, err := t.tree.Objects.Keys.DiscardedKey(t.t.Context(), dest.ProviderID)
	t.must(err)
	_, err = t.putEntry(a, dest, files.StoredObject{Key: key, Size: 2, SHA256: "sum", MimeType: "text/plain"})
	return err
}

func (t *lockTree) update(a access.Actor, what string, c files.Change) error {
	_, err := t.tree.Update(t.t.Context(), a, t.ids[what], c)
	return err
}

func (t *lockTree) move(a access.Actor, what, to string) error {
	_, err := t.tree.Move(t.t.Context(), a, t.ids[what], t.path(to), nil)
	return err
}

func (t *lockTree) path(what string) vpath.Path { return mustParsePath(t.root.String() + "/" + what) }

func (t *lockTree) rename(a access.Actor, what string) error {
	_, err := t.tree.Rename(t.t.Context(), a, t.ids[what], "new")
	return err
}

func (t *lockTree) delete(a access.Actor, what string) error {
	_, _, err := t.tree.Delete(t.t.Context(), a, t.ids[what])
	return err
}

// firstErr returns the error of the only outcome of a batch.
func firstErr(outcomes []files.Outcome, err error) error {
	if err == nil {
		err = outcomes[0].Err
	}
	return err
}

// change is an operation that changes entries.
type change struct {
	do func(s *lockTree, a access.Actor) error
	// The entries whose state changes (RFC 4918, sections 7.1 to 7.5): files with their content and
	// properties, folders with their own properties and with the members that they gain or lose.
	lockedBy []string
	removes  string // removed with everything below; "" for nothing
}

// changes are all methods of Tree that change an entry.
var changes = map[string]change{
	"put over a file": {func(s *lockTree, a access.Actor) error { return s.putFile(a, "dir", "f", files.Replace) },
		[]string{"dir/f"}, ""},
	"put a new file": {func(s *lockTree, a access.Actor) error { return s.putFile(a, "dir", "n", files.Fail) },
		[]string{"dir"}, ""},
	"put beside a file": {func(s *lockTree, a access.Actor) error {
		return s.putFile(a, "dir", "f", files.RenameNew)
	}, []string{"dir"}, ""},
	"put below a missing folder": {func(s *lockTree, a access.Actor) error {
		return s.putFile(a, "dir/x/y", "n", files.Fail)
	}, []string{"dir"}, ""},
	"make a folder": {func(s *lockTree, a access.Actor) error {
		_, err := s.tree.CreateFolder(s.t.Context(), a, s.path("dir"), "n")
		return err
	}, []string{"dir"}, ""},
	"make a folder below a missing one": {func(s *lockTree, a access.Actor) error {
		return s.putFile(a, "dir/sub/x", "n", files.RenameNew)
	}, []string{"dir/sub"}, ""},
	"metadata of a file": {func(s *lockTree, a access.Actor) error {
		return s.update(a, "dir/f", files.Change{Color: files.Field[string]{Given: true}})
	}, []string{"dir/f"}, ""},
	"metadata of a folder": {func(s *lockTree, a access.Actor) error {
		return s.update(a, "dir", files.Change{Position: files.Field[int64]{Given: true}})
	}, []string{"dir"}, ""},
	"properties of a file": {func(s *lockTree, a access.Actor) error { return s.setProperty(a, "dir/f") },
		[]string{"dir/f"}, ""},
	"properties of a folder": {func(s *lockTree, a access.Actor) error { return s.setProperty(a, "dir") },
		[]string{"dir"}, ""},
	"rename a file": {func(s *lockTree, a access.Actor) error { return s.rename(a, "dir/f") }, []string{"dir"},
		"dir/f"},
	"rename a folder": {func(s *lockTree, a access.Actor) error { return s.rename(a, "dir") }, []string{""},
		"dir"},
	"move a file": {func(s *lockTree, a access.Actor) error { return s.move(a, "dir/f", "out") },
		[]string{"dir", "out"}, "dir/f"},
	"move a folder": {func(s *lockTree, a access.Actor) error { return s.move(a, "dir", "out") },
		[]string{"", "out"}, "dir"},
	"move into a folder": {func(s *lockTree, a access.Actor) error { return s.move(a, "out/o", "dir/sub") },
		[]string{"out", "dir/sub"}, "out/o"},
	"move some": {func(s *lockTree, a access.Actor) error {
		return firstErr(s.tree.MoveEach(s.t.Context(), a, []string{s.ids["dir/sub"]}, s.path("out"), nil))
	}, []string{"dir", "out"}, "dir/sub"},
	"delete a file": {func(s *lockTree, a access.Actor) error { return s.delete(a, "dir/f") }, []string{"dir"},
		"dir/f"},
	"delete a folder": {func(s *lockTree, a access.Actor) error { return s.delete(a, "dir") }, []string{""}, "dir"},
	"delete some": {func(s *lockTree, a access.Actor) error {
		return firstErr(s.tree.DeleteEach(s.t.Context(), a, []string{s.ids["dir"], s.ids["dir/f"]}, files.AsSet))
	}, []string{""}, "dir"},
	"copy a file": {func(s *lockTree, a access.Actor) error {
		_, err := s.tree.Copy(s.t.Context(), a, s.ids["out/o"], s.path("dir"), nil)
		return err
	}, []string{"dir"}, ""},
	"copy a folder": {func(s *lockTree, a access.Actor) error {
		_, err := s.tree.Copy(s.t.Context(), a, s.ids["dir"], s.path("out"), nil)
		return err
	}, []string{"out"}, ""},
	"move over a file": {func(s *lockTree, a access.Actor) error {
		_, err := s.tree.MoveWithOptions(s.t.Context(), a, s.ids["out/o"], s.path("dir"), "f",
			files.CopyMoveOptions{Replace: true})
		return err
	}, []string{"out", "dir/f"}, "out/o"},
	"copy over a file": {func(s *lockTree, a access.Actor) error {
		_, err := s.tree.CopyWithOptions(s.t.Context(), a, s.ids["out/o"], s.path("dir"), "f",
			files.CopyMoveOptions{Replace: true})
		return err
	}, []string{"dir/f"}, ""},
	"move over a folder": {func(s *lockTree, a access.Actor) error {
		_, err := s.tree.MoveWithOptions(s.t.Context(), a, s.ids["out/o"], s.root, "dir",
			files.CopyMoveOptions{Replace: true})
		return err
	}, []string{"out", "", "out/o"}, "dir"},
	"copy over a folder": {func(s *lockTree, a access.Actor) error {
		_, err := s.tree.CopyWithOptions(s.t.Context(), a, s.ids["out"], s.root, "dir",
			files.CopyMoveOptions{Replace: true})
		return err
	}, []string{""}, "dir"},
	"copy a folder alone over a file": {func(s *lockTree, a access.Actor) error {
		_, err := s.tree.CopyWithOptions(s.t.Context(), a, s.ids["out"], s.path("dir"), "f",
			files.CopyMoveOptions{Replace: true, Shallow: true})
		return err
	}, []string{"dir"}, "dir/f"},
}

func (t *lockTree) setProperty(a access.Actor, what string) error {
	return t.tree.SetProperties(t.t.Context(), a, t.ids[what],
		[]files.PropertyChange{{Property: files.Property{Name: "n"}}})
}

// A lock refuses each change of the entries that it covers, by every operation, to every actor
// except its own key with its token. It refuses no other change.
func TestLocksForbidChanges(t *testing.T) {
	for name, l := range map[string]files.WriteLock{"deep": deepLock, "alone": exclusiveLock} {
		t.Run(name, func(t *testing.T) {
			eachFixture(t, func(t *testing.T, h *fixture) {
				n := 0
				for what, c := range changes {
					for _, on := range []string{"", "dir", "dir/f", "dir/sub", "dir/sub/g", "out", "out/o"} {
						n++
						s := h.newLockTree(n)
						refused := false
						for _, touched := range c.lockedBy {
							refused = refused || touched == on || l.Deep && s.path(touched).Within(s.path(on))
						}
						refused = refused || c.removes != "" &&
							(s.path(on).Within(s.path(c.removes)) || l.Deep && s.path(c.removes).Within(s.path(on)))
						what := fmt.Sprintf("%s, a lock on %q", what, on)
						made := h.mustLock("one", s.ids[on], l)
						if refused {
							h.wantLocked(what+", a session", c.do(s, h.ann), s.path(on).String())
							h.wantLocked(what+", no token", c.do(s, viaKey(h.ann, "one")), s.path(on).String())
							h.wantLocked(what+", another key", c.do(s, viaKey(h.ann, "two", made.Token)),
								s.path(on).String())
							session := h.ann
							session.Locks = []string{made.Token}
							h.wantLocked(what+", a session with the token", c.do(s, session), s.path(on).String())
							h.wantLocked(what+", an administrator", c.do(s, h.admin), s.path(on).String())
							if err := c.do(s, viaKey(h.ann, "one", "other", made.Token)); err != nil {
								t.Errorf("%s, with its token: %v", what, err)
							}
						} else if err := c.do(s, h.ann); err != nil {
							t.Errorf("%s: %v", what, err)
						}
						h.write(func(tx *db.Tx) error { return h.tree.DropLocks(tx, "one") })
					}
				}
			})
		})
	}
}

// A lock does not refuse reading, nor changes of data beside the entry: its password and its link.
func TestLocksDoNotForbidReading(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		f := h.mustUpload(h.ann, "/home/ann/dir/f", "content")
		dir, err := h.tree.ResourceAt(t.Context(), mustParsePath("/home/ann/dir"))
		h.must(err)
		h.mustLock("one", dir.ID(), files.WriteLock{Deep: true})
		h.mustLock("one", f.ID, sharedLock)
		if got, err := h.readPath(h.ann, "/home/ann/dir/f"); got != "content" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		if got := h.listFolder(h.ann, "/home/ann/dir"); len(got) != 1 {
			t.Errorf("listed %q", got)
		}
		_, err = h.tree.Copy(t.Context(), h.ann, f.ID, mustParsePath("/home/ann"), nil)
		h.must(err)
		same := vpath.Name("f")
		hash := func(context.Context) (string, error) { return "hash", nil }
		for i, c := range []files.Change{{Password: &files.NewPassword{Hash: hash}}, {Name: &same}, {},
			{Name: &same, Password: &files.NewPassword{}}} {
			if _, err := h.tree.Update(t.Context(), h.ann, f.ID, c); err != nil {
				t.Errorf("no change, %d: %v", i, err)
			}
		}
		_, err = h.tree.Update(t.Context(), h.ann, f.ID,
			files.Change{Color: files.Field[string]{Given: true}, Password: &files.NewPassword{}})
		h.wantFault("a password and a colour", err, fault.Locked)
		_, err = h.tree.Link(t.Context(), h.ann, f.ID)
		h.must(err)
		h.must(h.tree.Unlink(t.Context(), h.ann, f.ID))
		h.write(func(tx *db.Tx) error { _, err := h.tree.RequireShareableTx(tx, h.ann, f.ID); return err })
	})
}

// Of several shared locks, the token of one is enough for the entries that they cover. An operation
// on a folder needs one token for each locked entry in it.
func TestOneSharedLockTokenSuffices(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		s := h.newLockTree(1)
		one, two := h.mustLock("one", s.ids["dir/f"], sharedLock), h.mustLock("two", s.ids["dir/f"], sharedLock)
		over := h.mustLock("one", s.ids["dir"], files.WriteLock{Deep: true})
		for _, a := range []access.Actor{viaKey(h.ann, "one", one.Token), viaKey(h.ann, "two", two.Token),
			viaKey(h.ann, "one", over.Token)} {
			h.must(s.setProperty(a, "dir/f"))
		}
		h.wantFault("no token", s.setProperty(viaKey(h.ann, "one"), "dir/f"), fault.Locked)
		h.wantFault("the other's", s.setProperty(viaKey(h.ann, "one", two.Token), "dir/f"), fault.Locked)
		h.wantLocked("the folder by the file's token", s.setProperty(viaKey(h.ann, "one", one.Token), "dir"),
			s.path("dir").String())
		h.wantLocked("out of the folder by the file's token", s.delete(viaKey(h.ann, "one", one.Token), "dir/f"),
			s.path("dir").String())
		h.wantLocked("out of the folder by the other's token", s.delete(viaKey(h.ann, "two", two.Token), "dir/f"),
			s.path("dir").String())

		g := h.mustLock("two", s.ids["dir/sub/g"], sharedLock)
		h.wantFault("the folder with something of the other's", s.delete(viaKey(h.ann, "one", over.Token), "dir"),
			fault.Locked)
		h.must(h.tree.Unlock(t.Context(), viaKey(h.ann, "two"), s.ids["dir/sub/g"], g.Token))
		h.wantFault("the folder without the file's", s.delete(viaKey(h.ann, "one", over.Token), "dir"), fault.Locked)
		h.must(s.delete(viaKey(h.ann, "one", over.Token, one.Token), "dir"))
		if n := h.countRows("locks"); n != 0 {
			t.Errorf("%d locks are left", n)
		}
	})
}

// An actor without the permission gets the fault for the permission, not for the lock.
func TestLockErrorNeedsPermission(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		n := 0
		for what, c := range changes {
			n++
			s := h.newLockTree(n)
			h.mustLock("one", s.ids[""], deepLock)
			h.wantFault(what, c.do(s, h.bob), fault.Forbidden)
		}
	})
}

// A lock on a folder on the way to a mount covers the entries in the mount.
func TestLocksCoverMounts(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		s := h.newLockTree(1)
		h.addMount(s.path("dir/sub/disk").String())
		f := h.mustUpload(h.ann, s.path("dir/sub/disk/f").String(), "x")
		title := func(a access.Actor) error {
			_, err := h.tree.Update(t.Context(), a, f.ID, files.Change{Color: files.Field[string]{Given: true}})
			return err
		}
		flat := h.mustLock("one", s.ids["dir/sub"], exclusiveLock)
		h.must(title(h.ann))
		h.must(h.tree.Unlock(t.Context(), viaKey(h.ann, "one"), s.ids["dir/sub"], flat.Token))
		l := h.mustLock("one", s.ids["dir"], deepLock)
		h.wantLocked("from above", title(h.ann), s.path("dir").String())
		_, _, err := h.tree.Delete(t.Context(), h.ann, f.ID)
		h.wantLocked("deleted", err, s.path("dir").String())
		h.must(title(viaKey(h.ann, "one", l.Token)))
		again, err := h.tree.Refresh(t.Context(), viaKey(h.ann, "one", l.Token), f.ID, time.Hour)
		if err != nil || again.Token != l.Token || again.Path != s.path("dir") {
			t.Errorf("refreshed from within: %+v, %v", again, err)
		}
		h.must(h.tree.Unlock(t.Context(), viaKey(h.ann, "one"), f.ID, l.Token))
		h.must(title(h.ann))
	})
}

// A file is put only when its precondition holds. The precondition is given the existing file.
func TestPutPreconditions(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		no := errors.New("no")
		h.mustUpload(h.ann, "/home/ann/dir/f", "before")
		s, err := h.tree.ResourceAt(t.Context(), mustParsePath("/home/ann/dir/f"))
		h.must(err)
		for name, want := range map[vpath.Name]string{"f": s.ETag(), "new": ""} {
			dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann/dir"), name,
				files.Replace)
			h.must(err)
			var seen []string
			dest.Precondition = func(etag string) error { seen = append(seen, etag); return no }
			if _, err := h.putEntry(h.ann, dest, h.storeContent("after")); !errors.Is(err, no) {
				t.Errorf("%s: %v", name, err)
			}
			if len(seen) != 1 || seen[0] != want {
				t.Errorf("%s: seen %q, want %q", name, seen, want)
			}
		}
		if got, err := h.readPath(h.ann, "/home/ann/dir/f"); got != "before" || err != nil || s.ETag() == "" {
			t.Errorf("the path has %q, %v, with the ETag %q", got, err, s.ETag())
		}
		if got := h.listFolder(h.ann, "/home/ann/dir"); len(got) != 1 {
			t.Errorf("the folder has %q", got)
		}
	})
}
