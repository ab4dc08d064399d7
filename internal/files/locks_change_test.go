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

// scene is a folder of ann's with some in it, by path below it: dir, dir/f, dir/sub, dir/sub/g, out, out/o. Nothing lies in a store.
type scene struct {
	*house
	at  vpath.Path
	ids map[string]string // "" is the scene itself
}

func (h *house) scene(n int) *scene {
	h.t.Helper()
	at := path(fmt.Sprintf("/home/ann/scene%d", n))
	s := &scene{h, at, map[string]string{}}
	h.write(func(tx *db.Tx) (err error) {
		s.ids[""], err = h.tree.InsertFolder(tx, h.ann.HomeID, at.Base(), "ann")
		for _, c := range []struct{ in, name string }{{"", "dir"}, {"dir", "sub"}, {"", "out"}} {
			if err == nil {
				s.ids[below(c.in, c.name)], err = h.tree.InsertFolder(tx, s.ids[c.in], vpath.Name(c.name), "ann")
			}
		}
		for _, c := range []struct{ in, name string }{{"dir", "f"}, {"dir/sub", "g"}, {"out", "o"}} {
			id := h.ids.UUID()
			s.ids[below(c.in, c.name)] = id
			if err == nil {
				_, err = tx.Exec("INSERT INTO objects (id, provider_id, key, size, etag, refs, created_at) VALUES ($1, 'local', $2, 1, '', 1, 0)", id, id)
			}
			if err == nil {
				_, err = tx.Exec(`
					INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at)
					VALUES ($1, $2, $3, $3, 1, 1, '', 'ann', $1, 0, 0)`, id, s.ids[c.in], c.name)
			}
		}
		if err == nil {
			_, err = tx.Exec("UPDATE quotas SET used_storage = used_storage + 3, used_files = used_files + 3 WHERE user_id = 'ann'")
		}
		return err
	})
	return s
}

func below(in, name string) string {
	if in == "" {
		return name
	}
	return in + "/" + name
}

// put puts a file there, which needs no bytes.
func (s *scene) put(a access.Actor, in string, name vpath.Name, c files.Conflict) error {
	dir := s.at
	for _, part := range path("/" + in).Names() {
		dir = dir.Child(part)
	}
	place, err := s.tree.Place(s.t.Context(), a, dir, name, c)
	if err != nil {
		return err
	}
	key, _, err := s.tree.Objects.Keys.Take(s.t.Context(), place.ProviderID)
	s.must(err)
	_, err = s.commit(a, place, files.Stored{Key: key, Size: 2, SHA256: "sum", MimeType: "text/plain"})
	return err
}

func (s *scene) update(a access.Actor, what string, c files.Change) error {
	_, err := s.tree.Update(s.t.Context(), a, s.ids[what], c)
	return err
}

func (s *scene) move(a access.Actor, what, to string) error {
	_, err := s.tree.Move(s.t.Context(), a, s.ids[what], s.path(to), nil)
	return err
}

func (s *scene) path(what string) vpath.Path { return path(s.at.String() + "/" + what) }

func (s *scene) rename(a access.Actor, what string) error {
	_, err := s.tree.Rename(s.t.Context(), a, s.ids[what], "new")
	return err
}

func (s *scene) delete(a access.Actor, what string) error {
	_, _, err := s.tree.Delete(s.t.Context(), a, s.ids[what])
	return err
}

// first is the error of the one outcome of a batch.
func first(outcomes []files.Outcome, err error) error {
	if err == nil {
		err = outcomes[0].Err
	}
	return err
}

// alteration is a change of entries.
type alteration struct {
	do func(s *scene, a access.Actor) error
	// What becomes another (RFC 4918, sections 7.1 to 7.5): files with content and properties, folders with their own and with what comes or goes in them.
	touches []string
	gone    string // with all that is below; "" for nothing
}

// alterations are all methods of Tree that change an entry.
var alterations = map[string]alteration{
	"put over a file": {func(s *scene, a access.Actor) error { return s.put(a, "dir", "f", files.Replace) }, []string{"dir/f"}, ""},
	"put a new file":  {func(s *scene, a access.Actor) error { return s.put(a, "dir", "n", files.Fail) }, []string{"dir"}, ""},
	"put beside a file": {func(s *scene, a access.Actor) error {
		return s.put(a, "dir", "f", files.RenameNew)
	}, []string{"dir"}, ""},
	"put below what is missing": {func(s *scene, a access.Actor) error { return s.put(a, "dir/x/y", "n", files.Fail) }, []string{"dir"}, ""},
	"make a folder": {func(s *scene, a access.Actor) error {
		_, err := s.tree.CreateFolder(s.t.Context(), a, s.path("dir"), "n")
		return err
	}, []string{"dir"}, ""},
	"make a folder below what is missing": {func(s *scene, a access.Actor) error {
		return s.put(a, "dir/sub/x", "n", files.RenameNew)
	}, []string{"dir/sub"}, ""},
	"metadata of a file": {func(s *scene, a access.Actor) error {
		return s.update(a, "dir/f", files.Change{Color: files.Field[string]{Given: true}})
	}, []string{"dir/f"}, ""},
	"metadata of a folder": {func(s *scene, a access.Actor) error {
		return s.update(a, "dir", files.Change{Position: files.Field[int64]{Given: true}})
	}, []string{"dir"}, ""},
	"properties of a file":   {func(s *scene, a access.Actor) error { return s.property(a, "dir/f") }, []string{"dir/f"}, ""},
	"properties of a folder": {func(s *scene, a access.Actor) error { return s.property(a, "dir") }, []string{"dir"}, ""},
	"rename a file":          {func(s *scene, a access.Actor) error { return s.rename(a, "dir/f") }, []string{"dir"}, "dir/f"},
	"rename a folder":        {func(s *scene, a access.Actor) error { return s.rename(a, "dir") }, []string{""}, "dir"},
	"move a file":            {func(s *scene, a access.Actor) error { return s.move(a, "dir/f", "out") }, []string{"dir", "out"}, "dir/f"},
	"move a folder":          {func(s *scene, a access.Actor) error { return s.move(a, "dir", "out") }, []string{"", "out"}, "dir"},
	"move into a folder":     {func(s *scene, a access.Actor) error { return s.move(a, "out/o", "dir/sub") }, []string{"out", "dir/sub"}, "out/o"},
	"move some": {func(s *scene, a access.Actor) error {
		return first(s.tree.MoveEach(s.t.Context(), a, []string{s.ids["dir/sub"]}, s.path("out")))
	}, []string{"dir", "out"}, "dir/sub"},
	"delete a file":   {func(s *scene, a access.Actor) error { return s.delete(a, "dir/f") }, []string{"dir"}, "dir/f"},
	"delete a folder": {func(s *scene, a access.Actor) error { return s.delete(a, "dir") }, []string{""}, "dir"},
	"delete some": {func(s *scene, a access.Actor) error {
		return first(s.tree.DeleteEach(s.t.Context(), a, []string{s.ids["dir"], s.ids["dir/f"]}))
	}, []string{""}, "dir"},
	"copy a file": {func(s *scene, a access.Actor) error {
		_, err := s.tree.Copy(s.t.Context(), a, s.ids["out/o"], s.path("dir"), nil)
		return err
	}, []string{"dir"}, ""},
	"copy a folder": {func(s *scene, a access.Actor) error {
		_, err := s.tree.Copy(s.t.Context(), a, s.ids["dir"], s.path("out"), nil)
		return err
	}, []string{"out"}, ""},
	"move over a file": {func(s *scene, a access.Actor) error {
		_, err := s.tree.MoveOver(s.t.Context(), a, s.ids["out/o"], s.path("dir"), "f", files.Manner{Over: true})
		return err
	}, []string{"out", "dir/f"}, "out/o"},
	"copy over a file": {func(s *scene, a access.Actor) error {
		_, err := s.tree.CopyOver(s.t.Context(), a, s.ids["out/o"], s.path("dir"), "f", files.Manner{Over: true})
		return err
	}, []string{"dir/f"}, ""},
	"move over a folder": {func(s *scene, a access.Actor) error {
		_, err := s.tree.MoveOver(s.t.Context(), a, s.ids["out/o"], s.at, "dir", files.Manner{Over: true})
		return err
	}, []string{"out", "", "out/o"}, "dir"},
	"copy over a folder": {func(s *scene, a access.Actor) error {
		_, err := s.tree.CopyOver(s.t.Context(), a, s.ids["out"], s.at, "dir", files.Manner{Over: true})
		return err
	}, []string{""}, "dir"},
	"copy a folder alone over a file": {func(s *scene, a access.Actor) error {
		_, err := s.tree.CopyOver(s.t.Context(), a, s.ids["out"], s.path("dir"), "f", files.Manner{Over: true, Shallow: true})
		return err
	}, []string{"dir"}, "dir/f"},
}

func (s *scene) property(a access.Actor, what string) error {
	return s.tree.SetProperties(s.t.Context(), a, s.ids[what], []files.PropertyChange{{Property: files.Property{Name: "n"}}})
}

// A lock refuses each change of what it covers to everybody but its own key with its token, and no other change; whichever door it comes through.
func TestLocksForbidChanges(t *testing.T) {
	for name, l := range map[string]files.WriteLock{"deep": deep, "alone": exclusive} {
		t.Run(name, func(t *testing.T) {
			eachHouse(t, func(t *testing.T, h *house) {
				n := 0
				for what, c := range alterations {
					for _, on := range []string{"", "dir", "dir/f", "dir/sub", "dir/sub/g", "out", "out/o"} {
						n++
						s := h.scene(n)
						refused := false
						for _, touched := range c.touches {
							refused = refused || touched == on || l.Deep && s.path(touched).Within(s.path(on))
						}
						refused = refused || c.gone != "" && (s.path(on).Within(s.path(c.gone)) || l.Deep && s.path(c.gone).Within(s.path(on)))
						what := fmt.Sprintf("%s, a lock on %q", what, on)
						made := h.lock("one", s.ids[on], l)
						if refused {
							h.wantLocked(what+", a session", c.do(s, h.ann), s.path(on).String())
							h.wantLocked(what+", no token", c.do(s, by(h.ann, "one")), s.path(on).String())
							h.wantLocked(what+", another key", c.do(s, by(h.ann, "two", made.Token)), s.path(on).String())
							session := h.ann
							session.Locks = []string{made.Token}
							h.wantLocked(what+", a session with the token", c.do(s, session), s.path(on).String())
							h.wantLocked(what+", an administrator", c.do(s, h.admin), s.path(on).String())
							if err := c.do(s, by(h.ann, "one", "other", made.Token)); err != nil {
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

// A lock forbids nobody to read, nor what is said about an entry beside it: its password, its link.
func TestLocksForbidNoReading(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		f := h.file(h.ann, "/home/ann/dir/f", "content")
		dir, err := h.tree.At(t.Context(), path("/home/ann/dir"))
		h.must(err)
		h.lock("one", dir.ID(), files.WriteLock{Deep: true})
		h.lock("one", f.ID, shared)
		if got, err := h.read(h.ann, "/home/ann/dir/f"); got != "content" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		if got := h.list(h.ann, "/home/ann/dir"); len(got) != 1 {
			t.Errorf("listed %q", got)
		}
		_, err = h.tree.Copy(t.Context(), h.ann, f.ID, path("/home/ann"), nil)
		h.must(err)
		same := vpath.Name("f")
		hash := func(context.Context) (string, error) { return "hash", nil }
		for i, c := range []files.Change{{Password: &files.NewPassword{Hash: hash}}, {Name: &same}, {}, {Name: &same, Password: &files.NewPassword{}}} {
			if _, err := h.tree.Update(t.Context(), h.ann, f.ID, c); err != nil {
				t.Errorf("no change, %d: %v", i, err)
			}
		}
		_, err = h.tree.Update(t.Context(), h.ann, f.ID, files.Change{Color: files.Field[string]{Given: true}, Password: &files.NewPassword{}})
		h.wantFault("a password and a colour", err, fault.Locked)
		_, err = h.tree.Link(t.Context(), h.ann, f.ID)
		h.must(err)
		h.must(h.tree.Unlink(t.Context(), h.ann, f.ID))
		h.write(func(tx *db.Tx) error { _, err := h.tree.SharingInside(tx, h.ann, f.ID); return err })
	})
}

// Of several locks, which are shared, the token of one will do for what they cover; each of what goes with a folder needs one.
func TestOneOfSharedLocksWillDo(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		s := h.scene(1)
		one, two := h.lock("one", s.ids["dir/f"], shared), h.lock("two", s.ids["dir/f"], shared)
		over := h.lock("one", s.ids["dir"], files.WriteLock{Deep: true})
		for _, a := range []access.Actor{by(h.ann, "one", one.Token), by(h.ann, "two", two.Token), by(h.ann, "one", over.Token)} {
			h.must(s.property(a, "dir/f"))
		}
		h.wantFault("no token", s.property(by(h.ann, "one"), "dir/f"), fault.Locked)
		h.wantFault("the other's", s.property(by(h.ann, "one", two.Token), "dir/f"), fault.Locked)
		h.wantLocked("the folder by the file's token", s.property(by(h.ann, "one", one.Token), "dir"), s.path("dir").String())
		h.wantLocked("out of the folder by the file's token", s.delete(by(h.ann, "one", one.Token), "dir/f"), s.path("dir").String())
		h.wantLocked("out of the folder by the other's token", s.delete(by(h.ann, "two", two.Token), "dir/f"), s.path("dir").String())

		g := h.lock("two", s.ids["dir/sub/g"], shared)
		h.wantFault("the folder with something of the other's", s.delete(by(h.ann, "one", over.Token), "dir"), fault.Locked)
		h.must(h.tree.Unlock(t.Context(), by(h.ann, "two"), s.ids["dir/sub/g"], g.Token))
		h.wantFault("the folder without the file's", s.delete(by(h.ann, "one", over.Token), "dir"), fault.Locked)
		h.must(s.delete(by(h.ann, "one", over.Token, one.Token), "dir"))
		if n := h.count("locks"); n != 0 {
			t.Errorf("%d locks are left", n)
		}
	})
}

// Who may not do it is told that, not that it is locked.
func TestLocksAreToldToWhoMayChange(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		n := 0
		for what, c := range alterations {
			n++
			s := h.scene(n)
			h.lock("one", s.ids[""], deep)
			h.wantFault(what, c.do(s, h.bob), fault.Forbidden)
		}
	})
}

// Locks of mounts: what covers the way to a mount covers what is in it.
func TestLocksReachIntoMounts(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		s := h.scene(1)
		h.mount(s.path("dir/sub/disk").String())
		f := h.file(h.ann, s.path("dir/sub/disk/f").String(), "x")
		title := func(a access.Actor) error {
			_, err := h.tree.Update(t.Context(), a, f.ID, files.Change{Color: files.Field[string]{Given: true}})
			return err
		}
		flat := h.lock("one", s.ids["dir/sub"], exclusive)
		h.must(title(h.ann))
		h.must(h.tree.Unlock(t.Context(), by(h.ann, "one"), s.ids["dir/sub"], flat.Token))
		l := h.lock("one", s.ids["dir"], deep)
		h.wantLocked("from above", title(h.ann), s.path("dir").String())
		_, _, err := h.tree.Delete(t.Context(), h.ann, f.ID)
		h.wantLocked("deleted", err, s.path("dir").String())
		h.must(title(by(h.ann, "one", l.Token)))
		again, err := h.tree.Refresh(t.Context(), by(h.ann, "one", l.Token), f.ID, time.Hour)
		if err != nil || again.Token != l.Token || again.Path != s.path("dir") {
			t.Errorf("refreshed from within: %+v, %v", again, err)
		}
		h.must(h.tree.Unlock(t.Context(), by(h.ann, "one"), f.ID, l.Token))
		h.must(title(h.ann))
	})
}

// A file that is put on a condition is not put when that does not hold, and the condition sees what lies there.
func TestPutOnACondition(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		no := errors.New("no")
		h.file(h.ann, "/home/ann/dir/f", "before")
		s, err := h.tree.At(t.Context(), path("/home/ann/dir/f"))
		h.must(err)
		for name, want := range map[vpath.Name]string{"f": s.ETag(), "new": ""} {
			place, err := h.tree.Place(t.Context(), h.ann, path("/home/ann/dir"), name, files.Replace)
			h.must(err)
			var seen []string
			place.Expect = func(etag string) error { seen = append(seen, etag); return no }
			if _, err := h.commit(h.ann, place, h.store("after")); !errors.Is(err, no) {
				t.Errorf("%s: %v", name, err)
			}
			if len(seen) != 1 || seen[0] != want {
				t.Errorf("%s: seen %q, want %q", name, seen, want)
			}
		}
		if got, err := h.read(h.ann, "/home/ann/dir/f"); got != "before" || err != nil || s.ETag() == "" {
			t.Errorf("there is %q, %v, with the ETag %q", got, err, s.ETag())
		}
		if got := h.list(h.ann, "/home/ann/dir"); len(got) != 1 {
			t.Errorf("there lie %q", got)
		}
	})
}
