package files_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// coversIn returns the covers of each folder that a query lists, as `folder: name name`.
func (f *fixture) coversIn(a access.Actor, q files.ListQuery) (found []string) {
	f.t.Helper()
	q.Page, q.Limit = 1, 1000
	listing, err := f.tree.List(f.t.Context(), a, q)
	f.must(err)
	return f.coversOf(listing.Items)
}

// coversOf is coversIn for entries.
func (f *fixture) coversOf(entries []files.Entry) (found []string) {
	f.t.Helper()
	for _, e := range entries {
		if !e.Folder {
			if e.Covers != nil {
				f.t.Errorf("the file %s has covers: %v", e.Name, e.Covers)
			}
			continue
		}
		names := []string{}
		for _, id := range e.Covers {
			picture, _, err := f.tree.Details(f.t.Context(), f.admin, id)
			f.must(err)
			names = append(names, picture.Name)
		}
		found = append(found, e.Name+": "+strings.Join(names, " "))
	}
	return found
}

// wantCovers compares the covers of the folders in a folder.
func (f *fixture) wantCovers(what string, a access.Actor, dir string, want ...string) {
	f.t.Helper()
	if got := f.coversIn(a, files.ListQuery{Path: mustParsePath(dir)}); !slices.Equal(got, want) {
		f.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// The covers of a folder are the first four pictures directly in it, in the natural order of their
// names, unless its cover was chosen.
func TestCovers(t *testing.T) {
	eachTrashFixture(t, func(t *testing.T, h *fixture) {
		for _, dir := range []string{"album", "album/inner", "chosen", "docs", "empty"} {
			h.createFolder(h.ann, "/home/ann/"+dir)
		}
		for _, name := range []string{"album/10.jpg", "album/2.jpg", "album/1, a!b;c.jpg", "album/30.jpg",
			"album/4.jpg", "album/inner/0.jpg", "chosen/1.jpg"} {
			h.picture(h.ann, "/home/ann/"+name, name)
		}
		h.typedFile(h.ann, "/home/ann/album/0.svg", "x", "image/svg+xml")
		h.typedFile(h.ann, "/home/ann/album/0.mp4", "x", "video/mp4")
		h.typedFile(h.ann, "/home/ann/docs/0.txt", "x", "text/plain")
		cover := "https://example.com/x.jpg"
		_, err := h.tree.Update(t.Context(), h.ann, h.idAtPath("/home/ann/chosen"),
			files.Change{Cover: files.Field[string]{Given: true, Value: &cover}})
		h.must(err)

		all := []string{"album: 1, a!b;c.jpg 2.jpg 4.jpg 10.jpg", "chosen: ", "docs: ", "empty: "}
		h.wantCovers("the owner", h.ann, "/home/ann", all...)
		h.wantCovers("an administrator", h.admin, "/home/ann", all...)
		h.wantCovers("the inner folder", h.ann, "/home/ann/album", "inner: 0.jpg")

		h.toTrash(h.ann, "/home/ann/album/2.jpg")
		first := vpath.Name("1.jpg")
		_, err = h.tree.Rename(t.Context(), h.ann, h.idAtPath("/home/ann/album/30.jpg"), first)
		h.must(err)
		h.wantCovers("after changes", h.ann, "/home/ann", "album: 1, a!b;c.jpg 1.jpg 4.jpg 10.jpg", "chosen: ", "docs: ",
			"empty: ")
	})
}

// Searches and favourites contain the covers of the folders that they list. The listing of a share
// contains no covers.
func TestCoversInOtherListings(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		album := h.createFolder(h.ann, "/home/ann/album")
		inner := h.createFolder(h.ann, "/home/ann/album/inner")
		picture := h.picture(h.ann, "/home/ann/album/a.jpg", "a")
		h.picture(h.ann, "/home/ann/album/inner/b.jpg", "b")

		got := h.coversIn(h.ann, files.ListQuery{Path: vpath.Root, Search: "n"})
		if want := []string{"ann: ", "inner: b.jpg"}; !slices.Equal(got, want) {
			t.Errorf("a search: %q, want %q", got, want)
		}
		for _, id := range []string{album.ID, inner.ID, picture.ID} {
			h.star(h.ann, id)
		}
		favourites, err := h.tree.ListFavourites(t.Context(), h.ann, 1, 9)
		h.must(err)
		got = h.coversOf(favourites.Items)
		if want := []string{"inner: b.jpg", "album: a.jpg"}; !slices.Equal(got, want) {
			t.Errorf("favourites: %q, want %q", got, want)
		}
		shared, err := h.tree.ListShared(t.Context(), h.ann, album.ID, vpath.Root, files.ListQuery{Page: 1, Limit: 9})
		h.must(err)
		if got, want := h.coversOf(shared.Items), []string{"inner: "}; !slices.Equal(got, want) {
			t.Errorf("a share: %q, want %q", got, want)
		}
	})
}

// A cover is a picture that the caller may download: rules about folders, names and permissions
// count, for the accounts, the visitors and the keys whom they concern.
func TestCoversByRules(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.createFolder(h.admin, "/public/album")
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			h.picture(h.admin, "/public/album/"+name+".jpg", name)
		}
		h.picture(h.bob, "/home/bob/mine.jpg", "mine")
		all := "album: a.jpg b.jpg c.jpg d.jpg"
		for what, a := range map[string]access.Actor{"a user": h.ann, "a visitor": h.visitor,
			"an administrator": h.admin} {
			h.wantCovers(what, a, "/public", all)
		}
		h.wantCovers("homes", h.ann, "/home", "ann: ")
		h.wantCovers("homes for an administrator", h.admin, "/home", "ann: ", "bob: mine.jpg")
		key := h.ann
		key.Key = &access.Key{ID: "k", Permissions: access.Set(access.Read), Root: vpath.Root}
		h.wantCovers("a key that may not download", key, "/public", "album: ")
		key.Key = &access.Key{ID: "k", Permissions: access.Set(access.Read | access.Download), Root: vpath.Root}
		h.wantCovers("a key that may download", key, "/public", all)

		deny := func(pattern string, permissions access.Set) string {
			return h.addRule(access.Rule{Pattern: pattern, Effect: access.Deny, UserID: "ann", Priority: 9,
				Permissions: permissions})
		}
		deny("/public/album/b.jpg", access.Set(access.Read))
		h.wantCovers("a name", h.ann, "/public", "album: a.jpg c.jpg d.jpg e.jpg")
		deny("/public/album/c*", access.Set(access.Download))
		h.wantCovers("a pattern about downloads", h.ann, "/public", "album: a.jpg d.jpg e.jpg")
		h.wantCovers("another account", h.bob, "/public", all)
		h.addMount("/public/album/d.jpg")
		h.wantCovers("below a mount", h.ann, "/public", "album: a.jpg e.jpg")
		h.addRule(access.Rule{Pattern: "/public/album/?.jpg", Effect: access.Allow, UserID: "ann", Priority: 10,
			Permissions: access.Set(access.Download), RequirePassword: true})
		deny("/public/album/?.jpg", access.Set(access.Download))
		h.wantCovers("a rule with a password", h.ann, "/public", "album: ")
		deny("/public/album/**", access.Set(access.Read))
		h.wantCovers("the whole folder", h.ann, "/public")
	})
}

// The first eight pictures of a folder are candidates. The ninth is no cover, even if the caller
// may not download the others.
func TestCoversAreAmongTheFirst(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.createFolder(h.admin, "/public/album")
		for n := 1; n <= 9; n++ {
			h.picture(h.admin, fmt.Sprintf("/public/album/%d.jpg", n), fmt.Sprint(n))
		}
		for n := 1; n <= 7; n++ {
			h.addRule(access.Rule{Pattern: fmt.Sprintf("/public/album/%d.jpg", n), Effect: access.Deny, Role: access.User,
				Priority: 9, Permissions: access.Set(access.Download)})
		}
		h.wantCovers("the eighth", h.ann, "/public", "album: 8.jpg")
	})
}

// A picture with a password is no cover, and neither is a picture in a folder with a password.
func TestCoversBehindPasswords(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.createFolder(h.ann, "/home/ann/album")
		h.createFolder(h.ann, "/home/ann/album/inner")
		h.createFolder(h.admin, "/public/box")
		for _, p := range []string{"/home/ann/album/a.jpg", "/home/ann/album/b.jpg", "/home/ann/album/inner/c.jpg"} {
			h.picture(h.ann, p, p)
		}
		box := h.picture(h.admin, "/public/box/a.jpg", "a")
		h.protectEntry(h.idAtPath("/home/ann/album/a.jpg"))
		h.wantCovers("a picture", h.ann, "/home/ann", "album: b.jpg")
		given := h.ann
		given.Unlocked = []string{h.idAtPath("/home/ann/album/a.jpg")}
		h.wantCovers("a picture whose password was given", given, "/home/ann", "album: b.jpg")

		album := h.idAtPath("/home/ann/album")
		h.protectEntry(album)
		h.protectEntry(h.idAtPath("/public/box"))
		h.wantCovers("a folder, for its owner", h.ann, "/home/ann", "album: ")
		h.wantCovers("a folder, for an administrator", h.admin, "/home/ann", "album: ")
		h.wantCovers("below a folder", h.ann, "/home/ann/album", "inner: ")
		for what, a := range map[string]access.Actor{"a user": h.ann, "a visitor": h.visitor} {
			h.wantCovers("a public folder, for "+what, a, "/public", "box: ")
			a.Unlocked = []string{album, h.idAtPath("/public/box")}
			h.wantCovers("a public folder with its password, for "+what, a, "/public", "box: a.jpg")
		}
		given.Unlocked = []string{album}
		h.wantCovers("a folder with its password", given, "/home/ann", "album: b.jpg")
		h.wantCovers("below a folder with its password", given, "/home/ann/album", "inner: c.jpg")
		if _, err := h.tree.List(t.Context(), h.visitor,
			files.ListQuery{Path: box.Dir, Page: 1, Limit: 9}); !fault.Is(err, fault.PasswordRequired) {
			t.Errorf("the folder with the password is open: %v", err)
		}
	})
}

// The first pictures of many folders come from an index, in its order.
func TestCoversUseIndex(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.wantIndex("entries_covers", files.CoverCandidatesOf("'a', 'b'"))
	})
}
