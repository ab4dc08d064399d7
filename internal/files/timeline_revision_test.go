package files_test

import (
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/files"
	"larder/internal/vpath"
)

// wantRevision returns the state of a timeline, and checks its number of media, and whether it
// differs from the state before.
func (f *fixture) wantRevision(what string, a access.Actor, before files.Revision, changed bool,
	total int) files.Revision {
	f.t.Helper()
	now, err := f.tree.TimelineRevision(f.t.Context(), a, "")
	f.must(err)
	if changed != (now.ID != before.ID) || now.Total != total || len(now.ID) != 32 {
		f.t.Errorf("%s: %+v after %+v, want a change: %t, and %d media", what, now, before, changed, total)
	}
	return now
}

// The state of a timeline changes with each change of its files, and not with other files.
func TestTimelineRevision(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.setTrash(files.TrashSettings{Days: 30})
		h.createFolder(h.ann, "/home/ann/trip")
		now := h.wantRevision("empty", h.ann, files.Revision{}, true, 0)
		now = h.wantRevision("empty again", h.ann, now, false, 0)
		lake := h.picture(h.ann, "/home/ann/trip/lake.jpg", "lake")
		now = h.wantRevision("uploaded", h.ann, now, true, 1)
		h.examine(&files.Picture{Width: 3, Height: 2, Orientation: 1, TakenAt: 1_700_000_000_123})
		now = h.wantRevision("examined", h.ann, now, true, 1)
		h.mustUpload(h.ann, "/home/ann/notes.txt", "notes")
		h.picture(h.admin, "/public/theirs.jpg", "theirs")
		h.advance(time.Second)
		now = h.wantRevision("other files", h.ann, now, false, 1)
		h.write(func(tx *db.Tx) error { return tx.BumpConfig() }) // as a sign-out of another account does
		now = h.wantRevision("another config version", h.ann, now, false, 1)
		name := vpath.Name("copy.jpg")
		_, err := h.tree.Copy(t.Context(), h.ann, lake.ID, mustParsePath("/home/ann"), &name)
		h.must(err)
		now = h.wantRevision("a copy", h.ann, now, true, 2)
		_, err = h.tree.Move(t.Context(), h.ann, h.idAtPath("/home/ann/copy.jpg"), mustParsePath("/home/ann/trip"), nil)
		h.must(err)
		now = h.wantRevision("moved", h.ann, now, true, 2)
		h.picture(h.ann, "/home/ann/trip/copy.jpg", "another lake")
		now = h.wantRevision("replaced", h.ann, now, true, 2)
		lakeAgain := &files.Picture{Width: 3, Height: 2, Orientation: 1, TakenAt: 1_700_000_000_123}
		h.examine(lakeAgain)
		now = h.wantRevision("examined again", h.ann, now, true, 2)
		h.advance(time.Second)
		h.picture(h.ann, "/home/ann/trip/copy.jpg", "a third lake")
		h.examine(lakeAgain)
		now = h.wantRevision("replaced by a picture of the same time and proportions", h.ann, now, true, 2)
		h.advance(time.Second)
		_, err = h.tree.Rename(t.Context(), h.ann, lake.ID, "sea.jpg")
		h.must(err)
		now = h.wantRevision("renamed", h.ann, now, true, 2)
		id := h.toTrash(h.ann, "/home/ann/trip/copy.jpg")
		now = h.wantRevision("in the trash", h.ann, now, true, 1)
		_, err = h.restore(h.ann, id, files.RestoreOptions{Conflict: files.RenameNew})
		h.must(err)
		now = h.wantRevision("restored", h.ann, now, true, 2)
		h.toTrash(h.ann, "/home/ann/trip")
		h.wantRevision("a folder in the trash", h.ann, now, true, 0)

		h.typedFile(h.ann, "/home/ann/film.mp4", "film", "video/mp4")
		for types, want := range map[files.TypeGroup]int{files.ImageTypes: 0, files.VideoTypes: 1} {
			if r, err := h.tree.TimelineRevision(t.Context(), h.ann, types); err != nil || r.Total != want {
				t.Errorf("%s: %d media, %v; want %d", types, r.Total, err, want)
			}
		}
	})
}

// If rules or passwords decide about single files, the state depends on the visible files only.
func TestTimelineRevisionByRules(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.createFolder(h.ann, "/home/ann/out")
		for _, name := range []string{"a.jpg", "b.png", "out/c.jpg"} {
			h.picture(h.ann, "/home/ann/"+name, name)
			h.advance(time.Millisecond)
		}
		now := h.wantRevision("without rules", h.ann, files.Revision{}, true, 3)
		deny := func(pattern string) {
			h.addRule(access.Rule{Pattern: pattern, Effect: access.Deny, Role: access.User, Priority: 9,
				Permissions: access.Set(access.Read | access.Download)})
		}
		deny("/home/ann/out/**")
		now = h.wantRevision("without a folder", h.ann, now, true, 2)
		h.picture(h.ann, "/home/ann/out/d.jpg", "d")
		now = h.wantRevision("an upload into it", h.ann, now, false, 2)
		deny("/home/ann/*.png")
		now = h.wantRevision("without a pattern of names", h.ann, now, true, 1)
		h.picture(h.ann, "/home/ann/d.png", "d")
		now = h.wantRevision("an upload of such a name", h.ann, now, false, 1)
		h.picture(h.ann, "/home/ann/d.jpg", "d")
		now = h.wantRevision("an upload of another name", h.ann, now, true, 2)
		h.advance(time.Second)
		_, err := h.tree.Rename(t.Context(), h.ann, h.idAtPath("/home/ann/a.jpg"), "e.jpg")
		h.must(err)
		now = h.wantRevision("a new name", h.ann, now, true, 2)
		h.picture(h.bob, "/home/bob/a.jpg", "theirs")
		h.mustUpload(h.ann, "/home/ann/notes.txt", "notes")
		now = h.wantRevision("other files", h.ann, now, false, 2)
		h.protectEntry(h.idAtPath("/home/ann/d.jpg"))
		now = h.wantRevision("a password", h.ann, now, true, 1)
		h.exec("UPDATE entries SET updated_at = updated_at + 7, ratio = 66 WHERE id = $1", h.idAtPath("/home/ann/d.jpg"))
		now = h.wantRevision("changes of the hidden file", h.ann, now, false, 1)

		h.createFolder(h.ann, "/home/ann/album")
		now = h.wantRevision("an empty folder", h.ann, now, false, 1)
		h.picture(h.ann, "/home/ann/album/f.jpg", "f")
		now = h.wantRevision("an upload into a folder without rules", h.ann, now, true, 2)
		h.advance(time.Second)
		_, err = h.tree.Rename(t.Context(), h.ann, h.idAtPath("/home/ann/album/f.jpg"), "g.jpg")
		h.must(err)
		h.wantRevision("a new name there", h.ann, now, true, 2)
	})
}
