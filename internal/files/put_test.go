package files_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/quota"
	"larder/internal/vpath"
)

func TestPutSettlesConflicts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		first := h.file(h.ann, "/home/ann/cat.jpg", "one")
		link, err := h.tree.Link(t.Context(), h.ann, first.ID)
		h.must(err)

		second, err := h.put(h.ann, "/home/ann/cat.jpg", "two", files.RenameNew)
		h.must(err)
		third, err := h.put(h.ann, "/home/ann/cat.jpg", "three", files.RenameNew)
		h.must(err)
		if second.Name != "cat (1).jpg" || third.Name != "cat (2).jpg" {
			t.Errorf("renamed to %q and %q", second.Name, third.Name)
		}
		_, err = h.put(h.ann, "/home/ann/cat.jpg", "x", files.Fail)
		h.wantFault("fail", err, fault.AlreadyExists)

		before, err := h.tree.ByID(t.Context(), h.ann, first.ID)
		h.must(err)
		replaced, err := h.put(h.ann, "/home/ann/cat.jpg", "replaced", files.Replace)
		h.must(err)
		after, err := h.tree.ByID(t.Context(), h.ann, first.ID)
		h.must(err)
		if replaced.ID != first.ID || replaced.OwnerID != "ann" || replaced.Size != 8 || h.bytes(after) != "replaced" {
			t.Errorf("replaced: %+v", replaced)
		}
		if before.ETag == after.ETag || !strings.HasPrefix(after.ETag, `"`) {
			t.Errorf("the ETag was %s and is %s", before.ETag, after.ETag)
		}
		if first.ETag != before.ETag || replaced.ETag != after.ETag {
			t.Errorf("who put it was told the ETags %s and %s, want %s and %s", first.ETag, replaced.ETag, before.ETag, after.ETag)
		}
		if c, err := h.tree.ByLink(t.Context(), link.ID); err != nil || h.bytes(c) != "replaced" {
			t.Errorf("the link after a replacement: %v", err)
		}
		if bytes, count := h.used("ann"); bytes != 8+3+5 || count != 3 {
			t.Errorf("charged %d bytes and %d files, want 16 and 3", bytes, count)
		}

		h.folder(h.ann, "/home/ann/dir")
		_, err = h.put(h.ann, "/home/ann/dir", "x", files.Replace)
		h.wantFault("replace a folder", err, fault.AlreadyExists)
		beside, err := h.put(h.ann, "/home/ann/dir", "x", files.RenameNew)
		h.must(err)
		if beside.Name != "dir (1)" {
			t.Errorf("beside a folder: %q", beside.Name)
		}
	})
}

func TestNumberedNamesStayNames(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		long := strings.Repeat("漢", 251)
		for name, want := range map[string]string{
			".profile":       ".profile (1)",
			"a.tar.gz":       "a.tar (1).gz",
			"no extension":   "no extension (1)",
			long + ".png":    strings.Repeat("漢", 247) + " (1).png", // 255 characters in all
			long + "漢漢漢漢":    long + " (1)",
			"e\u0301te.jpg":  "\u00e9te (1).jpg",
			"ends with a .x": "ends with a (1).x",
		} {
			h.file(h.ann, "/home/ann/"+name, "1")
			e, err := h.put(h.ann, "/home/ann/"+name, "2", files.RenameNew)
			h.must(err)
			if e.Name != want {
				t.Errorf("beside %q: %q, want %q", name, e.Name, want)
			}
		}
	})
}

func TestManyFilesOfOneName(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var got []string
		stored := make([]files.Stored, 40)
		for i := range stored {
			stored[i] = h.store("x")
		}
		place, err := h.tree.Place(t.Context(), h.ann, path("/home/ann/new/er"), "image.png", files.RenameNew)
		h.must(err)
		for _, s := range stored {
			wg.Go(func() {
				e, err := h.commit(h.ann, place, s)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				got = append(got, e.Name)
			})
		}
		wg.Wait()
		slices.Sort(got)
		if got = slices.Compact(got); len(got) != 40 {
			t.Errorf("%d names for 40 files: %q", len(got), got)
		}
		if _, count := h.used("ann"); count != 40 {
			t.Errorf("%d files charged", count)
		}
		if got := h.list(h.ann, "/home/ann/new"); !slices.Equal(got, []string{"er/"}) {
			t.Errorf("folders made: %q", got)
		}
	})
}

// The folder that an upload began in is kept by its id.
func TestPutFollowsItsFolder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		dir := h.folder(h.ann, "/home/ann/a")
		place, err := h.tree.Place(t.Context(), h.ann, path("/home/ann/a/b"), "f.txt", files.RenameNew)
		h.must(err)
		_, err = h.tree.Rename(t.Context(), h.ann, dir.ID, "renamed")
		h.must(err)
		e, err := h.commit(h.ann, place, h.store("x"))
		h.must(err)
		if e.Path().String() != "/home/ann/renamed/b/f.txt" {
			t.Errorf("the file lies at %s", e.Path())
		}

		_, _, err = h.tree.Delete(t.Context(), h.ann, dir.ID)
		h.must(err)
		_, err = h.commit(h.ann, place, h.store("x"))
		h.wantFault("the folder is gone", err, fault.Conflict)
		if bytes, count := h.used("ann"); bytes != 0 || count != 0 {
			t.Errorf("charged %d bytes and %d files for what is gone", bytes, count)
		}

		// Abuse case C31: judged again when it is put.
		place, err = h.tree.Place(t.Context(), h.bob, path("/uploads"), "f.txt", files.RenameNew)
		h.must(err)
		h.rule(access.Rule{Pattern: "/uploads/**", Effect: access.Deny, UserID: "bob", Permissions: access.Set(access.Write)})
		_, err = h.commit(h.bob, place, h.store("x"))
		h.wantFault("no longer permitted", err, fault.Forbidden)
	})
}

func TestPlaceRefuses(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.file(h.ann, "/home/ann/file", "x")
		deep := path("/home/ann" + strings.Repeat("/d", 62))
		for _, c := range []struct {
			who  access.Actor
			dir  vpath.Path
			name vpath.Name
			kind fault.Kind
		}{
			{h.bob, path("/home/ann"), "x", fault.Forbidden},
			{h.bob, path("/home/ann/absent"), "x", fault.Forbidden},
			{h.bob, path("/home/ann/file"), "x", fault.Forbidden},
			{h.ann, path("/home/ann/file"), "x", fault.NotFound},
			{h.ann, path("/home/ann/file/deeper"), "x", fault.NotFound},
			{h.admin, vpath.Root, "Robots.TXT", fault.Invalid},
			{h.admin, path("/API"), "x", fault.Invalid},
			{h.ann, deep, "x", fault.Invalid},
			{h.visitor, path("/public"), "x", fault.Unauthorized},
		} {
			_, err := h.tree.Place(t.Context(), c.who, c.dir, c.name, files.RenameNew)
			h.wantFault(c.who.UserID+" puts into "+c.dir.String(), err, c.kind)
		}
		if _, err := h.put(h.ann, deep.Parent().String()+"/x", "deep", files.Fail); err != nil {
			t.Errorf("64 levels: %v", err)
		}
		if got, err := h.read(h.ann, deep.Parent().String()+"/x"); got != "deep" || err != nil {
			t.Errorf("64 levels down: %q, %v", got, err)
		}
	})
}

func TestPutChargesTheQuota(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		most, count := int64(10), int64(2)
		h.write(func(tx *db.Tx) error { return quota.SetLimits(tx, "ann", &most, &count) })
		h.file(h.ann, "/home/ann/a", "12345678")
		_, err := h.put(h.ann, "/home/ann/b", "123", files.Fail)
		h.wantFault("too many bytes", err, fault.QuotaExceeded)
		h.file(h.ann, "/home/ann/b", "12")
		_, err = h.put(h.ann, "/home/ann/c", "", files.Fail)
		h.wantFault("too many files", err, fault.QuotaExceeded)
		if _, err := h.put(h.ann, "/home/ann/a", "1234", files.Replace); err != nil {
			t.Errorf("a smaller replacement: %v", err)
		}
		// Somebody else's replacement is charged to the owner.
		h.rule(access.Rule{Pattern: "/home/ann/a", Effect: access.Allow, UserID: "bob", Permissions: access.Set(access.Update)})
		_, err = h.put(h.bob, "/home/ann/a", "123456789", files.Replace)
		h.wantFault("over the owner's quota", err, fault.QuotaExceeded)
		e, err := h.put(h.bob, "/home/ann/a", "12345678", files.Replace)
		h.must(err)
		if bytes, count := h.used("ann"); bytes != 10 || count != 2 || e.OwnerID != "ann" {
			t.Errorf("%d bytes and %d files, owner %s", bytes, count, e.OwnerID)
		}
		if bytes, count := h.used("bob"); bytes != 0 || count != 0 {
			t.Errorf("bob pays for %d bytes and %d files", bytes, count)
		}
	})
}
