package files_test

import (
	"testing"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// revision is the state of a folder for an actor.
func (f *fixture) revision(a access.Actor, p string) files.Revision {
	f.t.Helper()
	r, err := f.tree.Revision(f.t.Context(), a, mustParsePath(p))
	f.must(err)
	return r
}

func TestRevisionFollowsEachChange(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		ctx := t.Context()
		h.createFolder(h.admin, "/public/trip")
		first := h.mustUpload(h.admin, "/public/trip/a.jpg", "1")
		inner := h.createFolder(h.admin, "/public/trip/inner")
		below := h.mustUpload(h.admin, "/public/trip/inner/deep.jpg", "1")
		name, words, red := vpath.Name("b.jpg"), "A title", "#ff0000"
		title, color := files.Field[string]{Given: true, Value: &words}, files.Field[string]{Given: true, Value: &red}
		for _, step := range []struct {
			name    string
			change  func() error
			changes bool
			total   int
		}{
			{"nothing", func() error { return nil }, false, 2},
			{"a file in a folder below", func() error {
				_, err := h.upload(h.admin, "/public/trip/inner/other.jpg", "2", files.Fail)
				return err
			}, false, 2},
			{"a title below", func() error {
				_, err := h.tree.Update(ctx, h.admin, below.ID, files.Change{Title: title})
				return err
			}, false, 2},
			{"a file beside the folder", func() error {
				_, err := h.upload(h.admin, "/public/beside.jpg", "2", files.Fail)
				return err
			}, false, 2},
			{"a new file", func() error {
				_, err := h.upload(h.admin, "/public/trip/new.jpg", "2", files.Fail)
				return err
			}, true, 3},
			{"new content", func() error {
				_, err := h.upload(h.admin, "/public/trip/new.jpg", "two", files.Replace)
				return err
			}, true, 3},
			{"a name", func() error {
				_, err := h.tree.Update(ctx, h.admin, first.ID, files.Change{Name: &name})
				return err
			}, true, 3},
			{"a title", func() error {
				_, err := h.tree.Update(ctx, h.admin, first.ID, files.Change{Title: title})
				return err
			}, true, 3},
			{"a colour of a folder", func() error {
				_, err := h.tree.Update(ctx, h.admin, inner.ID, files.Change{Color: color})
				return err
			}, true, 3},
			{"a move out", func() error {
				_, err := h.tree.Move(ctx, h.admin, first.ID, mustParsePath("/public"), nil)
				return err
			}, true, 2},
			{"a move in", func() error {
				_, err := h.tree.Move(ctx, h.admin, first.ID, mustParsePath("/public/trip"), nil)
				return err
			}, true, 3},
			{"a deletion", func() error {
				_, _, err := h.tree.Delete(ctx, h.admin, first.ID)
				return err
			}, true, 2},
			{"a new rule", func() error {
				h.addRule(access.Rule{Pattern: "/public/trip/*.raw", Effect: access.Deny, Role: access.User,
					Permissions: access.Set(access.Read)})
				return nil
			}, true, 2},
			{"a mount in the folder", func() error { h.addMount("/public/trip/mounted"); return nil }, true, 3},
		} {
			before, annBefore := h.revision(h.admin, "/public/trip"), h.revision(h.ann, "/public/trip")
			h.must(step.change())
			after, annAfter := h.revision(h.admin, "/public/trip"), h.revision(h.ann, "/public/trip")
			if changed := after.ID != before.ID; changed != step.changes {
				t.Errorf("%s: the administrator's revision changed: %t, want %t", step.name, changed, step.changes)
			}
			if changed := annAfter.ID != annBefore.ID; changed != step.changes {
				t.Errorf("%s: ann's revision changed: %t, want %t", step.name, changed, step.changes)
			}
			if after.Total != step.total {
				t.Errorf("%s: %d entries, want %d", step.name, after.Total, step.total)
			}
		}
	})
}

// A change that the actor can't see leaves the revision as it is, whichever way rules hide it.
func TestRevisionHidesTheHidden(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.createFolder(h.admin, "/shots")
		h.createFolder(h.admin, "/names")
		read := access.Set(access.Read)
		for _, p := range []string{"/shots", "/names"} {
			h.addRule(access.Rule{Pattern: p + "/**", Effect: access.Allow, Role: access.User, Permissions: read})
			h.addRule(access.Rule{Pattern: p + "/*.raw", Effect: access.Deny, Role: access.User, Permissions: read,
				Priority: 1})
		}
		for i := range 40 { // more patterns than a query has: each name gets a decision of its own
			h.addRule(access.Rule{Pattern: "/names/*" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ".tmp",
				Effect: access.Deny, Role: access.User, Permissions: read, Priority: 1})
		}
		for _, dir := range []string{"/uploads", "/shots", "/names"} {
			h.mustUpload(h.bob, "/uploads/bobs.txt"+dir[1:], "x")
			before := h.revision(h.ann, dir)
			h.advance(1)
			h.mustUpload(h.admin, dir+"/hidden.raw", "x")
			if after := h.revision(h.ann, dir); after != before {
				t.Errorf("%s: %v before and %v after a hidden file", dir, before, after)
			}
			h.exec("UPDATE entries SET owner_id = 'ann' WHERE name = 'hidden.raw'")
			shown := "/shown.jpg"
			h.mustUpload(h.ann, "/uploads"+shown+dir[1:], "x")
			if dir != "/uploads" {
				h.mustUpload(h.admin, dir+shown, "x")
			}
			if after := h.revision(h.ann, dir); after.ID == before.ID {
				t.Errorf("%s: %v before and %v after a visible file", dir, before, after)
			}
		}
	})
}

func TestRevisionIsJudged(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.ann, "/home/ann/secret.txt", "3")
		locked := h.createFolder(h.admin, "/public/locked")
		h.setPassword(locked.ID, "p")
		for _, c := range []struct {
			who  access.Actor
			path string
			kind fault.Kind
		}{
			{h.bob, "/home/ann", fault.Forbidden},
			{h.bob, "/home/ann/absent", fault.Forbidden},
			{h.visitor, "/uploads", fault.Forbidden},
			{h.ann, "/home/ann/absent", fault.NotFound},
			{h.ann, "/home/ann/secret.txt", fault.NotFound},
			{h.bob, "/public/locked", fault.PasswordRequired},
		} {
			_, err := h.tree.Revision(t.Context(), c.who, mustParsePath(c.path))
			h.wantFault(c.who.UserID+" asks for "+c.path, err, c.kind)
		}
		if a, b := h.revision(h.admin, "/"), h.revision(h.ann, "/"); a.Total != 3 || b.Total != 3 {
			t.Errorf("the root has %d and %d entries, want 3", a.Total, b.Total)
		}
	})
}
