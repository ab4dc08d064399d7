package files_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"larder/internal/access"
	"larder/internal/files"
)

// naturalNames are names in the order of listings.
var naturalNames = []string{"(1)", "01", "1", "１", "2", "10", "99999999999999999999", "100000000000000000000",
	"IMG_9.jpg", "img_010.jpg", "lake", "lake 2", "Lake 3", "lake 10", "Ü 1", "ü 2", "第2章", "第10章"}

// uploadNatural uploads files of these names, in another order.
func (f *fixture) uploadNatural(dir string) {
	f.t.Helper()
	for i := range naturalNames {
		f.mustUpload(f.ann, dir+"/"+naturalNames[i*7%len(naturalNames)], "x")
	}
}

// postponeSortKeys makes a new database one whose keys are not complete.
func (f *fixture) postponeSortKeys() { f.exec("UPDATE schema_steps SET completed_at = NULL") }

func (f *fixture) completeSortKeys() { f.exec("UPDATE schema_steps SET completed_at = 1") }

func reversed(names []string) []string {
	names = slices.Clone(names)
	slices.Reverse(names)
	return names
}

// pagesOf lists a folder page by page.
func (f *fixture) pagesOf(q files.ListQuery) (names []string) {
	f.t.Helper()
	for q.Page = 1; ; q.Page++ {
		page := f.listNames(f.ann, q)
		if len(page) == 0 {
			return names
		}
		names = append(names, page...)
	}
}

// Names are listed as people count, in listings, searches and archives, and by WebDAV.
func TestNaturalOrder(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		const dir = "/home/ann/n"
		folder := h.createFolder(h.ann, dir)
		h.uploadNatural(dir)
		for limit := 1; limit <= len(naturalNames)+1; limit += 4 {
			for _, q := range []files.ListQuery{{Sort: "name"}, {Sort: "size"}, {Sort: "manual"}, {}} {
				q.Path, q.Limit = mustParsePath(dir), limit
				if got := h.pagesOf(q); !slices.Equal(got, naturalNames) {
					t.Errorf("%+v: %q, want %q", q, got, naturalNames)
				}
			}
			back := files.ListQuery{Path: mustParsePath(dir), Sort: "name", Order: "desc", Limit: limit}
			if got := h.pagesOf(back); !slices.Equal(got, reversed(naturalNames)) {
				t.Errorf("backwards, %d on a page: %q", limit, got)
			}
			search := files.ListQuery{Path: mustParsePath("/home/ann"), Search: "LAKE", Sort: "name", Limit: limit}
			if got, want := h.pagesOf(search), []string{"lake", "lake 2", "Lake 3", "lake 10"}; !slices.Equal(got, want) {
				t.Errorf("search, %d on a page: %q, want %q", limit, got, want)
			}
		}
		if got, err := h.listChildren(h.ann, dir, nil); err != nil || !slices.Equal(memberNames(got), naturalNames) {
			t.Errorf("members %q, %v", memberNames(got), err)
		}
		var want []string
		for _, name := range naturalNames {
			want = append(want, name+"=x")
		}
		h.checkArchive("archive", h.mustArchive(h.ann, folder.ID), want...)
	})
}

// Mounts, virtual folders and stored folders are in one order.
func TestNaturalOrderOfMounts(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for _, name := range []string{"lake 10", "lake 1", "Lake 020"} {
			h.createFolder(h.admin, "/public/"+name)
		}
		h.addMount("/public/lake 2")
		h.addMount("/public/Lake 9/inner") // makes Lake 9 a virtual folder
		h.addMount("/public/lake 100")
		want := []string{"lake 1/", "lake 2/", "Lake 9/", "lake 10/", "Lake 020/", "lake 100/"}
		for limit := 1; limit < 8; limit++ {
			q := files.ListQuery{Path: mustParsePath("/public"), Sort: "name", Limit: limit}
			if got := h.pagesOf(q); !slices.Equal(got, want) {
				t.Errorf("%d on a page: %q, want %q", limit, got, want)
			}
			q.Order = "desc"
			if got := h.pagesOf(q); !slices.Equal(got, reversed(want)) {
				t.Errorf("%d on a page, backwards: %q", limit, got)
			}
		}
	})
}

// A renamed, moved or copied entry is listed by its new name.
func TestNaturalOrderAfterChanges(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		const dir = "/home/ann/n"
		h.createFolder(h.ann, "/home/ann/other")
		h.createFolder(h.ann, dir)
		a, b := h.mustUpload(h.ann, dir+"/a 5", "x"), h.mustUpload(h.ann, "/home/ann/other/a 6", "x")
		h.mustUpload(h.ann, dir+"/a 20", "x")
		_, err := h.tree.Rename(t.Context(), h.ann, a.ID, "a 100")
		h.must(err)
		name := mustParsePath("/a 3").Base()
		_, err = h.tree.Move(t.Context(), h.ann, b.ID, mustParsePath(dir), &name)
		h.must(err)
		name = mustParsePath("/A 11").Base()
		_, err = h.tree.Copy(t.Context(), h.ann, b.ID, mustParsePath(dir), &name)
		h.must(err)
		want := []string{"a 3", "A 11", "a 20", "a 100"}
		if got := h.pagesOf(files.ListQuery{Path: mustParsePath(dir), Sort: "name", Limit: 3}); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// Until the keys are complete, listings have the former order. One stream keeps one order: when the
// keys become complete between two pages, no entry is lost or repeated.
func TestOrderUntilSortKeysAreComplete(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.postponeSortKeys()
		const dir = "/home/ann/n"
		folder := h.createFolder(h.ann, dir)
		const count = 700 // three pages
		var former, now []string
		for i := 1; i <= count; i++ {
			now = append(now, fmt.Sprint("n ", i))
		}
		former = slices.Sorted(slices.Values(now))
		h.insertMany(folder.ID, false, now...)
		h.exec("UPDATE entries SET sort_key = '' WHERE name LIKE 'n %'") // as an upgrade begins
		list := func() []string {
			return h.pagesOf(files.ListQuery{Path: mustParsePath(dir), Sort: "name", Limit: 350})
		}
		if got := list(); !slices.Equal(got, former) {
			t.Errorf("while there are no keys: %d names, first %q", len(got), got[:5])
		}
		turn := func() {
			for i, name := range now {
				h.exec("UPDATE entries SET sort_key = $1 WHERE parent_id = $2 AND name = $3",
					fmt.Sprintf("n %d%d", len(fmt.Sprint(i+1)), i+1), folder.ID, name)
			}
			h.completeSortKeys()
		}
		pages := 0
		got, err := h.listChildren(h.ann, dir, func() {
			if pages++; pages == 1 {
				turn()
			}
		})
		if err != nil || !slices.Equal(memberNames(got), former) {
			t.Errorf("members, %v: %d names, first %q", err, len(got), memberNames(got)[:5])
		}
		if got := list(); !slices.Equal(got, now) {
			t.Errorf("after that: %d names, first %q", len(got), got[:5])
		}
		if got, err := h.listChildren(h.ann, dir, nil); err != nil || !slices.Equal(memberNames(got), now) {
			t.Errorf("members after that, %v: %d names, first %q", err, len(got), memberNames(got)[:5])
		}
	})
}

// An archive that was begun before the keys are complete goes on in its order.
func TestArchiveKeepsItsOrder(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.postponeSortKeys()
		folder := h.createFolder(h.ann, "/home/ann/n")
		h.addManyFiles(folder.ID, 600)
		archive := h.mustArchive(h.ann, folder.ID)
		first := h.nextEntry(archive)
		h.completeSortKeys()
		var former []string
		for i := 1; i <= 600; i++ {
			former = append(former, fmt.Sprint("Photo ", i))
		}
		slices.Sort(former)
		for i := range former {
			former[i] += "=x"
		}
		if got := append([]string{first}, h.remainingEntries(archive)...); !slices.Equal(got, former) {
			t.Errorf("%d entries, first %q", len(got), got[:5])
		}
		names := h.remainingEntries(h.mustArchive(h.ann, folder.ID))
		if len(names) != 600 || !strings.HasPrefix(names[1], "Photo 2=") {
			t.Errorf("%d entries, first %q", len(names), names[:5])
		}
	})
}

// A copy that was begun in the former order goes on in it after an upgrade, and after a stop. Its
// payload is that of a Larder which did not know another order.
func TestCopyKeepsItsOrder(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) { w.copyAcrossSortKeys(true) })
}

// A copy that was requested before the keys are complete, and begins after that.
func TestCopyBeginsInThePresentOrder(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) { w.copyAcrossSortKeys(false) })
}

// copyAcrossSortKeys copies a folder. The keys become complete before or after the copy begins.
func (f *storesFixture) copyAcrossSortKeys(begun bool) {
	f.postponeSortKeys()
	content := map[string]string{}
	for i := 8; i <= 12; i++ {
		content[fmt.Sprint("a ", i)] = fmt.Sprint("content ", i)
		content[fmt.Sprintf("dir %d/b", i)] = fmt.Sprint("inner ", i)
	}
	g, id := f.startLargeCopy(f.ann, "/home/ann/box", "/home/ann/to", content)
	if begun {
		ctx, stop := context.WithCancel(f.t.Context())
		pieces := 0
		f.onOwner = func() {
			if pieces++; pieces == 3 { // `a 10`, `a 11`, `a 12` and `a 8` are copied
				stop()
			}
		}
		for range 2 { // the last claim of a stopping runner may be lost
			_, _ = f.newJobRunner().RunNext(ctx)
		}
		f.onOwner = nil
		f.exec("UPDATE jobs SET payload = REPLACE(payload, ',\"Names\":false', '') WHERE id = $1", id)
		if n := f.queryInt(`SELECT COUNT(*) FROM jobs WHERE id = $1 AND status = 'pending'
			AND payload LIKE '%"Fold":"a 8"%' AND payload NOT LIKE '%Names%'`, id); n != 1 {
			f.t.Fatal("the job is not that of an older version, half way")
		}
	}
	f.completeSortKeys()
	f.runJobs()
	f.checkJobEnded(id, "")
	f.checkCopyOf("/home/ann/to/copy", g)
	f.checkNothingStaged()
	f.checkAccounting()
}

// A wrong key, which only a stalled replica of an older version can leave, costs the entry its
// place in the order. No page loses or repeats an entry because of it.
func TestWrongSortKeyLosesNothing(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		folder := h.createFolder(h.admin, "/public/n")
		h.addManyFiles(folder.ID, 600)
		var want []string
		for i := 1; i <= 600; i++ {
			want = append(want, fmt.Sprint("Photo ", i))
		}
		slices.Sort(want)
		h.exec("UPDATE entries SET sort_key = 'zzz' WHERE name IN ('Photo 100', 'Photo 256', 'Photo 400')")
		h.exec("UPDATE entries SET sort_key = 'a' WHERE name IN ('Photo 300', 'Photo 550')")
		// ten of them, one of which is the last of the first page of a stream
		h.exec("UPDATE entries SET sort_key = 'photo 3258z' WHERE name LIKE 'Photo 1_'")
		// a mount and a file that are merged into the pages
		h.addMount("/public/n/photo 256")
		h.addRule(access.Rule{Pattern: "/public/n/Photo 77", Effect: access.Allow, Role: access.User})
		for _, limit := range []int{1, 7, 256, 1000} {
			got := h.pagesOf(files.ListQuery{Path: mustParsePath("/public/n"), Sort: "name", Limit: limit})
			got = slices.DeleteFunc(got, func(name string) bool { return name == "photo 256/" })
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%d on a page: %d names", limit, len(got))
			}
		}
		members, err := h.listChildren(h.admin, "/public/n", nil)
		got := slices.Sorted(slices.Values(memberNames(members)))
		if err != nil || !slices.Equal(got, append(want, "photo 256")) {
			t.Errorf("%d members, %v", len(got), err)
		}
		var archived []string
		for _, e := range h.remainingEntries(h.mustArchive(h.admin, folder.ID)) {
			if name, ok := strings.CutSuffix(e, "=x"); ok {
				archived = append(archived, name)
			}
		}
		if slices.Sort(archived); !slices.Equal(archived, want) {
			t.Errorf("%d files in an archive", len(archived))
		}
	})
}
