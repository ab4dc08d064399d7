package files_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// timelineNames returns the names on all pages of a timeline.
func (f *fixture) timelineNames(a access.Actor, q files.TimelineQuery, p files.TimelinePosition) (names []string) {
	f.t.Helper()
	for {
		page, err := f.tree.TimelineEntries(f.t.Context(), a, q, p)
		f.must(err)
		for _, e := range page.Items {
			names = append(names, e.Name)
		}
		if len(page.Items) > p.Limit {
			f.t.Errorf("%d entries on a page, want at most %d", len(page.Items), p.Limit)
		}
		if p.Cursor, p.Offset = page.Next, 0; p.Cursor == "" {
			return names
		}
	}
}

var ownMedia = files.TimelineQuery{}

// takenPicture uploads a picture that was taken at a time, with a size in pixels.
func (f *fixture) takenPicture(a access.Actor, p, content string, at time.Time, width, height int) files.Entry {
	f.t.Helper()
	e := f.picture(a, p, content)
	if n := f.examine(&files.Picture{Width: width, Height: height, Orientation: 1, TakenAt: at.UnixMilli()}); n != 1 {
		f.t.Fatalf("%d pictures were to be examined, want 1", n)
	}
	return e
}

// wantTimeline compares the names on all pages of a timeline with names, and their number with that
// of its months.
func (f *fixture) wantTimeline(what string, a access.Actor, p files.TimelinePosition, names string) {
	f.t.Helper()
	if got := strings.Join(f.timelineNames(a, ownMedia, p), " "); got != names {
		f.t.Errorf("%s: %s, want %s", what, got, names)
	}
	n := 0
	months, err := f.tree.Timeline(f.t.Context(), a, ownMedia)
	f.must(err)
	for _, m := range months {
		if p.Month == "" || m.Month == p.Month {
			n += len(m.Ratios)
		}
	}
	if n != len(strings.Fields(names)) {
		f.t.Errorf("%s: the months count %d, want %s", what, n, names)
	}
}

// A timeline has the months of the pictures, by the time at which they were taken in UTC, with
// their proportions, from the newest picture to the oldest one.
func TestTimeline(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		now := h.clock().UTC()
		h.takenPicture(h.ann, "/home/ann/last.jpg", "last", time.Date(2025, 7, 31, 23, 59, 59, 999e6, time.UTC), 4000, 3000)
		h.takenPicture(h.ann, "/home/ann/next.jpg", "next", time.Date(2025, 8, 1, 0, 0, 0, 0, time.UTC), 3000, 4000)
		h.takenPicture(h.ann, "/home/ann/thin.jpg", "thin", time.Date(2025, 7, 1, 0, 0, 0, 0, time.UTC), 1, 1000)
		h.takenPicture(h.ann, "/home/ann/odd.jpg", "odd", time.Date(2025, 7, 1, 0, 0, 1, 0, time.UTC), 1999, 1000)
		h.takenPicture(h.bob, "/home/bob/bobs.jpg", "bobs", time.Date(2025, 7, 2, 0, 0, 0, 0, time.UTC), 1, 1)
		h.picture(h.ann, "/home/ann/new.jpg", "new")
		h.mustUpload(h.ann, "/home/ann/notes.txt", "notes")

		months, err := h.tree.Timeline(t.Context(), h.ann, ownMedia)
		h.must(err)
		want := []files.TimelineMonth{{Month: now.Format("2006-01"), Ratios: []int{0}},
			{Month: "2025-08", Ratios: []int{75}}, {Month: "2025-07", Ratios: []int{133, 200, 1}}}
		if !slices.EqualFunc(months, want, func(a, b files.TimelineMonth) bool {
			return a.Month == b.Month && slices.Equal(a.Ratios, b.Ratios)
		}) {
			t.Errorf("the months are %v, want %v", months, want)
		}
		all := "new.jpg next.jpg last.jpg odd.jpg thin.jpg"
		for _, limit := range []int{1, 2, 4, 5, 6, 1000} {
			got := h.timelineNames(h.ann, ownMedia, files.TimelinePosition{Limit: limit})
			if strings.Join(got, " ") != all {
				t.Errorf("in pages of %d: %q, want %s", limit, got, all)
			}
		}
		for month, want := range map[string]string{"2025-07": "last.jpg odd.jpg thin.jpg", "2025-08": "next.jpg",
			"2025-06": ""} {
			for _, limit := range []int{1, 3} {
				got := h.timelineNames(h.ann, ownMedia, files.TimelinePosition{Month: month, Limit: limit})
				if strings.Join(got, " ") != want {
					t.Errorf("%s in pages of %d: %q, want %s", month, limit, got, want)
				}
			}
		}
		for offset, want := range map[int]string{0: "last.jpg odd.jpg thin.jpg", 1: "odd.jpg thin.jpg", 2: "thin.jpg",
			3: "", 20_000: ""} {
			p := files.TimelinePosition{Month: "2025-07", Offset: offset, Limit: 1}
			if got := strings.Join(h.timelineNames(h.ann, ownMedia, p), " "); got != want {
				t.Errorf("July from the file %d on: %q, want %s", offset, got, want)
			}
		}
		for name, p := range map[string]files.TimelinePosition{"month 13": {Month: "2025-13", Limit: 1},
			"a day": {Month: "2025-07-01", Limit: 1}, "cursor without an id": {Cursor: "17", Limit: 1},
			"cursor without a time": {Cursor: "x.y", Limit: 1}} {
			_, err := h.tree.TimelineEntries(t.Context(), h.ann, ownMedia, p)
			h.wantFault(name, err, fault.Invalid)
		}
	})
}

// A timeline follows changes of its files: in the trash they are not in it, after their restoration
// they are, and a picture with a new content has its time and proportions again once that content
// was examined. A copy has those of its original.
func TestTimelineAfterChanges(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.setTrash(files.TrashSettings{Days: 30})
		h.createFolder(h.ann, "/home/ann/trip")
		july := time.Date(2025, 7, 4, 0, 0, 0, 0, time.UTC)
		lake := h.takenPicture(h.ann, "/home/ann/trip/lake.jpg", "lake", july, 3, 2)
		inJuly := files.TimelinePosition{Month: "2025-07", Limit: 9}
		for _, p := range []string{"/home/ann/trip/lake.jpg", "/home/ann/trip"} {
			id := h.toTrash(h.ann, p)
			h.wantTimeline("in the trash", h.ann, inJuly, "")
			_, err := h.restore(h.ann, id, files.RestoreOptions{Conflict: files.RenameNew})
			h.must(err)
			h.wantTimeline("restored", h.ann, inJuly, "lake.jpg")
		}
		name := vpath.Name("copy.jpg")
		_, err := h.tree.Copy(t.Context(), h.ann, lake.ID, mustParsePath("/home/ann"), &name)
		h.must(err)
		names := h.timelineNames(h.ann, ownMedia, inJuly)
		slices.Sort(names) // their times are equal
		if !slices.Equal(names, []string{"copy.jpg", "lake.jpg"}) {
			t.Errorf("with a copy: %q", names)
		}
		h.picture(h.ann, "/home/ann/trip/lake.jpg", "another lake")
		h.wantTimeline("replaced and not examined", h.ann, inJuly, "copy.jpg")
		h.examine(&files.Picture{Width: 2, Height: 3, Orientation: 1, TakenAt: july.UnixMilli()})
		if names = h.timelineNames(h.ann, ownMedia, inJuly); len(names) != 2 {
			t.Errorf("examined again: %q", names)
		}
		h.typedFile(h.ann, "/home/ann/trip/lake.jpg", "film", "video/mp4")
		h.wantTimeline("replaced by a video", h.ann, inJuly, "copy.jpg")
	})
}

// A replica of the version before, which does not know the proportions, leaves a picture to be
// examined again.
func TestPictureExaminedByAnOlderReplica(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		lake := h.picture(h.ann, "/home/ann/lake.jpg", "lake")
		h.exec("UPDATE entries SET examined_object = object_id WHERE id = $1", lake.ID)
		if n := h.examine(&files.Picture{Width: 3, Height: 2, Orientation: 1}); n != 1 {
			t.Errorf("%d pictures are to be examined, want 1", n)
		}
		if n := h.examine(nil); n != 0 {
			t.Errorf("%d pictures are to be examined again, want 0", n)
		}
	})
}

// A picture with a password of its own, or in a folder with one, is in the timeline of its owner
// once the owner has given the password.
func TestTimelineBehindPasswords(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.createFolder(h.ann, "/home/ann/in")
		h.picture(h.ann, "/home/ann/a.jpg", "a")
		h.advance(time.Millisecond)
		b := h.picture(h.ann, "/home/ann/b.jpg", "b")
		h.advance(time.Millisecond)
		h.picture(h.ann, "/home/ann/in/c.jpg", "c")
		all, folder := files.TimelinePosition{Limit: 9}, h.idAtPath("/home/ann/in")
		h.protectEntry(b.ID)
		h.wantTimeline("with a protected picture", h.ann, all, "c.jpg a.jpg")
		h.protectEntry(folder)
		h.wantTimeline("with a protected folder", h.ann, all, "a.jpg")
		unlocked := h.ann
		unlocked.Unlocked = []string{b.ID, folder}
		h.wantTimeline("with the passwords", unlocked, all, "c.jpg b.jpg a.jpg")
	})
}

// Rules about names, a mount in the place of a file, and the root of a key decide about each file
// of a timeline.
func TestTimelineByRules(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for _, name := range []string{"a.jpg", "b.jpg", "c.png"} {
			h.picture(h.ann, "/home/ann/"+name, name)
			h.advance(time.Millisecond)
		}
		h.createFolder(h.ann, "/home/ann/in")
		h.picture(h.ann, "/home/ann/in/d.jpg", "d")
		h.createFolder(h.ann, "/home/ann/out")
		h.advance(time.Millisecond)
		h.picture(h.ann, "/home/ann/out/e.jpg", "e")
		want := func(what string, a access.Actor, names string) {
			t.Helper()
			h.wantTimeline(what, a, files.TimelinePosition{Limit: 2}, names)
		}
		want("without rules", h.ann, "e.jpg d.jpg c.png b.jpg a.jpg")
		key := h.ann
		key.Key = &access.Key{ID: "k", Permissions: access.All, Root: mustParsePath("/home/ann/in"), RootOnly: true}
		want("a key", key, "d.jpg")
		deny := func(pattern string) {
			h.addRule(access.Rule{Pattern: pattern, Effect: access.Deny, Role: access.User, Priority: 9,
				Permissions: access.Set(access.Read | access.Download)})
		}
		deny("/home/ann/out/**")
		want("a folder", h.ann, "d.jpg c.png b.jpg a.jpg")
		deny("/home/ann/*.png")
		want("a pattern of names", h.ann, "d.jpg b.jpg a.jpg")
		h.advance(time.Millisecond)
		h.picture(h.ann, "/home/ann/in/f.png", "f")
		want("a folder without rules of its own", h.ann, "f.png d.jpg b.jpg a.jpg")
		deny("/home/ann/in/*.png")
		want("a pattern of names as the only rule", h.ann, "d.jpg b.jpg a.jpg")
		deny("/home/ann/in/d.jpg")
		want("a name", h.ann, "b.jpg a.jpg")
		if got := h.timelineNames(h.ann, ownMedia, files.TimelinePosition{Offset: 1, Limit: 9}); len(got) != 1 {
			t.Errorf("after the first visible file: %q, want a.jpg", got)
		}
		h.addMount("/home/ann/b.jpg")
		want("below a mount", h.ann, "a.jpg")
	})
}

// The media of an account, and the pictures that are to be examined, come from an index, in its
// order. The index of media contains all that a timeline reads, and all that its state depends on.
func TestTimelineUsesIndex(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for _, types := range []files.TypeGroup{files.ImageTypes, files.VideoTypes} {
			h.wantIndex("entries_timeline", files.MediaQuery(types), "ann", 1, 9, "x", 10)
			h.wantCoveringIndex("entries_timeline", files.MediaQuery(types), "ann", 1, 9, "x", 10)
			h.wantCoveringIndex("entries_timeline", files.MediaSumsQuery(types), "ann")
		}
		h.wantIndex("entries_to_examine", files.UnexaminedQuery, 9, "x", 10)
	})
}
