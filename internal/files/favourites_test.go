package files_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

func (f *fixture) star(a access.Actor, id string) {
	f.t.Helper()
	f.advance(time.Millisecond)
	f.must(f.tree.AddFavourite(f.t.Context(), a, id))
}

// wantFavourites compares the paths of an actor's favourites, the newest first.
func (f *fixture) wantFavourites(what string, a access.Actor, want ...string) {
	f.t.Helper()
	page, err := f.tree.ListFavourites(f.t.Context(), a, 1, 100)
	f.must(err)
	if got := pathsOf(page.Items); !slices.Equal(got, want) || page.Total != len(want) {
		f.t.Errorf("%s: favourites %v of %d, want %v", what, got, page.Total, want)
	}
}

func pathsOf(entries []files.Entry) (paths []string) {
	for _, e := range entries {
		paths = append(paths, e.Path().String())
	}
	return paths
}

// Each account has its own favourites, which follow a move and a rename. Those that it may no
// longer read, or that are in the trash, are not listed.
func TestFavourites(t *testing.T) {
	eachTrashFixture(t, func(t *testing.T, h *fixture) {
		folder := h.createFolder(h.ann, "/home/ann/trip")
		picture := h.mustUpload(h.ann, "/home/ann/trip/lake.jpg", "lake")
		public := h.mustUpload(h.admin, "/public/sea.jpg", "sea")
		for _, id := range []string{picture.ID, public.ID, folder.ID, picture.ID} {
			h.star(h.ann, id)
		}
		h.star(h.bob, public.ID)
		h.wantFavourites("ann", h.ann, "/home/ann/trip", "/public/sea.jpg", "/home/ann/trip/lake.jpg")
		h.wantFavourites("bob", h.bob, "/public/sea.jpg")
		starred, err := h.tree.FavouritesAmong(t.Context(), h.bob, []string{picture.ID, public.ID, "absent"})
		if err != nil || len(starred) != 1 || !starred[public.ID] {
			t.Errorf("bob's favourites among three: %v, %v", starred, err)
		}

		for what, id := range map[string]string{"another account's file": picture.ID, "no file": "absent",
			"the graveyard": "graveyard", "a virtual folder": "virtual:/x"} {
			h.wantFault(what, h.tree.AddFavourite(t.Context(), h.bob, id), fault.NotFound)
		}
		h.wantFault("bob removes what he does not see", h.tree.RemoveFavourite(t.Context(), h.bob, picture.ID),
			fault.NotFound)
		h.wantFavourites("ann after bob's removal", h.ann, "/home/ann/trip", "/public/sea.jpg", "/home/ann/trip/lake.jpg")

		journey := vpath.Name("journey")
		_, err = h.tree.Move(t.Context(), h.ann, folder.ID, mustParsePath("/home/ann"), &journey)
		h.must(err)
		h.wantFavourites("after a move", h.ann, "/home/ann/journey", "/public/sea.jpg", "/home/ann/journey/lake.jpg")
		rule := h.addRule(access.Rule{Pattern: "/public/**", Effect: access.Deny, Role: access.User, Priority: 9,
			Permissions: access.Set(access.Read)})
		h.wantFavourites("without the right", h.bob)
		h.write(func(tx *db.Tx) error { return h.rules.Delete(tx, rule) })
		h.wantFavourites("with the right again", h.bob, "/public/sea.jpg")

		id := h.toTrash(h.ann, "/home/ann/journey")
		h.wantFavourites("in the trash", h.ann, "/public/sea.jpg")
		h.wantFault("in the trash", h.tree.AddFavourite(t.Context(), h.ann, picture.ID), fault.NotFound)
		h.wantRestored("the folder", h.ann, id, files.RestoreOptions{}, "/home/ann/journey")
		h.wantFavourites("restored", h.ann, "/home/ann/journey", "/public/sea.jpg", "/home/ann/journey/lake.jpg")

		page, err := h.tree.ListFavourites(t.Context(), h.ann, 2, 2)
		h.must(err)
		if got := pathsOf(page.Items); !slices.Equal(got, []string{"/home/ann/journey/lake.jpg"}) || page.Total != 3 {
			t.Errorf("the second page: %v of %d", got, page.Total)
		}
		if page, err := h.tree.ListFavourites(t.Context(), h.ann, 9, 2); err != nil || len(page.Items) > 0 {
			t.Errorf("a page beyond the last: %v, %v", page.Items, err)
		}
		h.must(h.tree.RemoveFavourite(t.Context(), h.ann, public.ID))
		h.must(h.tree.RemoveFavourite(t.Context(), h.ann, public.ID))
		h.wantFavourites("removed", h.ann, "/home/ann/journey", "/home/ann/journey/lake.jpg")
	})
}

// An entry behind a password that the actor has not given is no favourite.
func TestFavouritesBehindPassword(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.createFolder(h.admin, "/public/box")
		file := h.mustUpload(h.admin, "/public/box/a.txt", "a")
		h.star(h.ann, file.ID)
		h.protectEntry(h.idAtPath("/public/box"))
		h.wantFavourites("behind a password", h.ann)
		h.wantFault("behind a password", h.tree.AddFavourite(t.Context(), h.bob, file.ID), fault.NotFound)
		unlocked := h.ann
		unlocked.Unlocked = []string{h.idAtPath("/public/box")}
		h.wantFavourites("with the password", unlocked, "/public/box/a.txt")
	})
}

// The favourites of an entry end when it is deleted for good: alone, in a folder, from the trash,
// or by a move over another file.
func TestFavouritesEndWithEntry(t *testing.T) {
	eachTrashFixture(t, func(t *testing.T, h *fixture) {
		left := func(what string, want int) {
			t.Helper()
			h.collect()
			if n := h.countRows("favourites"); n != want {
				t.Errorf("%s: %d favourites are left, want %d", what, n, want)
			}
		}
		for _, p := range []string{"/home/ann/one.txt", "/home/ann/box/two.txt", "/home/ann/bin/three.txt",
			"/home/ann/four.txt", "/home/ann/five.txt"} {
			h.star(h.ann, h.mustUpload(h.ann, p, p).ID)
		}
		h.star(h.ann, h.idAtPath("/home/ann/box"))
		h.star(h.ann, h.idAtPath("/home/ann/bin"))
		left("at first", 7)
		forGood := func(p string) {
			t.Helper()
			_, err := h.tree.DeleteTo(t.Context(), h.ann, h.idAtPath(p), files.ForGood)
			h.must(err)
		}
		forGood("/home/ann/one.txt")
		left("a file", 6)
		forGood("/home/ann/box")
		left("a folder", 4)
		bin, file := h.toTrash(h.ann, "/home/ann/bin"), h.toTrash(h.ann, "/home/ann/four.txt")
		left("in the trash", 4)
		for _, id := range []string{bin, file} {
			_, err := h.tree.Purge(t.Context(), h.ann, id)
			h.must(err)
		}
		left("purged", 1)
		h.mustUpload(h.ann, "/home/ann/six.txt", "six")
		_, err := h.tree.MoveWithOptions(t.Context(), h.ann, h.idAtPath("/home/ann/five.txt"), mustParsePath("/home/ann"),
			"six.txt", files.CopyMoveOptions{Replace: true})
		h.must(err)
		left("replaced", 0)
	})
}

// insertFolders inserts that many folders into the home of ann, whose ids are prefix and a number
// from 0.
func (f *fixture) insertFolders(prefix string, number int) {
	f.t.Helper()
	f.write(func(tx *db.Tx) error {
		for n := range number {
			id := fmt.Sprint(prefix, n)
			err := f.insertEntry(tx, treeEntry{id: id, parent: f.ann.HomeID, name: id, owner: "ann", folder: true})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Of parallel requests, only as many succeed as the limit allows.
func TestFavouritesLimitAtOnce(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		const free, requests = 5, 20
		h.insertFolders("e", 1000-free)
		h.write(func(tx *db.Tx) error {
			_, err := tx.Exec("INSERT INTO favourites SELECT 'ann', id, 1 FROM entries WHERE parent_id = $1",
				h.ann.HomeID)
			return err
		})
		h.insertFolders("more", requests)
		for round := range 20 { // the requests of one round may come one after the other
			var starred atomic.Int64
			var all sync.WaitGroup
			for n := range requests {
				all.Go(func() {
					err := h.tree.AddFavourite(t.Context(), h.ann, fmt.Sprint("more", n))
					if err == nil {
						starred.Add(1)
					} else if !fault.Is(err, fault.Conflict) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			n := h.queryInt("SELECT COUNT(*) FROM favourites WHERE user_id = 'ann'")
			if starred.Load() != free || n != 1000 {
				t.Fatalf("round %d: %d requests of %d starred an entry, want %d; %d favourites", round, starred.Load(),
					requests, free, n)
			}
			h.exec("DELETE FROM favourites WHERE entry_id LIKE 'more%'")
		}
	})
}

// An account has at most 1,000 favourites. Those whose entries are gone do not count.
func TestFavouritesLimit(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		file, other := h.mustUpload(h.ann, "/home/ann/a.txt", "a"), h.mustUpload(h.ann, "/home/ann/b.txt", "b")
		add := func(user string, from, to int, entry string) {
			h.write(func(tx *db.Tx) error {
				for n := from; n < to; n++ {
					if _, err := tx.Exec("INSERT INTO favourites VALUES ($1, $2, $3)", user,
						strings.ReplaceAll(entry, "#", fmt.Sprint(n)), n); err != nil {
						return err
					}
				}
				return nil
			})
		}
		h.insertFolders("e", 999)
		add("ann", 0, 999, "e#")
		add("bob", 0, 1000, "gone#")
		h.star(h.ann, file.ID)
		h.wantFault("one more", h.tree.AddFavourite(t.Context(), h.ann, other.ID), fault.Conflict)
		h.star(h.ann, file.ID) // is one
		page, err := h.tree.ListFavourites(t.Context(), h.ann, 1, 1000)
		if err != nil || page.Total != 1000 || len(page.Items) != 1000 {
			t.Errorf("%d of %d favourites are listed: %v", len(page.Items), page.Total, err)
		}
		h.star(h.bob, h.mustUpload(h.admin, "/public/a.txt", "a").ID)
		h.wantFavourites("bob's others are gone", h.bob, "/public/a.txt")
		if n := h.queryInt("SELECT COUNT(*) FROM favourites WHERE user_id = 'bob'"); n != 1 {
			t.Errorf("%d favourites of bob", n)
		}
	})
}

// The recent files are the account's own, the last stored or changed first, without those that it
// may not read or that are in the trash. A time that a client gives a file does not count.
func TestRecentFiles(t *testing.T) {
	eachTrashFixture(t, func(t *testing.T, h *fixture) {
		want := func(what string, a access.Actor, limit int, want ...string) {
			t.Helper()
			found, err := h.tree.ListRecent(t.Context(), a, limit)
			h.must(err)
			if got := pathsOf(found); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		want("at first", h.ann, 10)
		h.addMount("/uploads/far")
		for _, p := range []string{"/home/ann/a.txt", "/home/ann/deep/b.txt", "/uploads/far/c.txt", "/home/ann/d.txt"} {
			h.advance(time.Second)
			h.mustUpload(h.ann, p, "x")
		}
		h.createFolder(h.ann, "/home/ann/folder")
		h.advance(time.Second)
		h.mustUpload(h.bob, "/home/bob/e.txt", "x")
		h.addRule(access.Rule{Pattern: "/uploads/**", Effect: access.Allow, Role: access.User,
			Permissions: access.Set(access.Read)})
		want("stored", h.ann, 10, "/home/ann/d.txt", "/uploads/far/c.txt", "/home/ann/deep/b.txt", "/home/ann/a.txt")
		want("two", h.ann, 2, "/home/ann/d.txt", "/uploads/far/c.txt")
		want("bob", h.bob, 10, "/home/bob/e.txt")
		h.addRule(access.Rule{Pattern: "/uploads/**", Effect: access.Deny, Role: access.User, Priority: 9,
			Permissions: access.Set(access.Read)})
		h.toTrash(h.ann, "/home/ann/d.txt")
		want("not readable, in the trash", h.ann, 10, "/home/ann/deep/b.txt", "/home/ann/a.txt")

		h.advance(time.Second)
		_, err := h.upload(h.ann, "/home/ann/a.txt", "new", files.Replace)
		h.must(err)
		want("replaced", h.ann, 10, "/home/ann/a.txt", "/home/ann/deep/b.txt")
		h.advance(time.Second)
		dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann"), "old.txt", files.Fail)
		h.must(err)
		dest.Modified = h.clock().AddDate(-3, 0, 0)
		_, err = h.putEntry(h.ann, dest, h.storeContent("old"))
		h.must(err)
		want("with an old time", h.ann, 10, "/home/ann/old.txt", "/home/ann/a.txt", "/home/ann/deep/b.txt")
		h.advance(time.Second)
		dest, err = h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann/deep"), "b.txt", files.Replace)
		h.must(err)
		dest.Modified = h.clock().AddDate(-3, 0, 0)
		_, err = h.putEntry(h.ann, dest, h.storeContent("older"))
		h.must(err)
		want("replaced by one with an old time", h.ann, 10, "/home/ann/deep/b.txt", "/home/ann/old.txt", "/home/ann/a.txt")
	})
}

// The newest files of an account come from an index, in its order.
func TestRecentFilesUseIndex(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.wantIndex("entries_recent", files.RecentQuery, "ann", 10)
	})
}
