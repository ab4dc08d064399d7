package files_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/quota"
	"larder/internal/vpath"
)

func TestPutResolvesNameConflicts(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		first := h.mustUpload(h.ann, "/home/ann/cat.jpg", "one")
		link, err := h.tree.Link(t.Context(), h.ann, first.ID)
		h.must(err)

		second, err := h.upload(h.ann, "/home/ann/cat.jpg", "two", files.RenameNew)
		h.must(err)
		third, err := h.upload(h.ann, "/home/ann/cat.jpg", "three", files.RenameNew)
		h.must(err)
		if second.Name != "cat (1).jpg" || third.Name != "cat (2).jpg" {
			t.Errorf("renamed to %q and %q", second.Name, third.Name)
		}
		_, err = h.upload(h.ann, "/home/ann/cat.jpg", "x", files.Fail)
		h.wantFault("fail", err, fault.AlreadyExists)

		before, err := h.tree.ByID(t.Context(), h.ann, first.ID)
		h.must(err)
		replaced, err := h.upload(h.ann, "/home/ann/cat.jpg", "replaced", files.Replace)
		h.must(err)
		after, err := h.tree.ByID(t.Context(), h.ann, first.ID)
		h.must(err)
		if replaced.ID != first.ID || replaced.OwnerID != "ann" || replaced.Size != 8 ||
			h.readContent(after) != "replaced" {
			t.Errorf("replaced: %+v", replaced)
		}
		if before.ETag == after.ETag || !strings.HasPrefix(after.ETag, `"`) {
			t.Errorf("the ETag was %s and is %s", before.ETag, after.ETag)
		}
		if first.ETag != before.ETag || replaced.ETag != after.ETag {
			t.Errorf("the uploads returned the ETags %s and %s, want %s and %s", first.ETag, replaced.ETag, before.ETag,
				after.ETag)
		}
		if c, err := h.tree.ByLink(t.Context(), link.ID); err != nil || h.readContent(c) != "replaced" {
			t.Errorf("the link after a replacement: %v", err)
		}
		if bytes, count := h.usage("ann"); bytes != 8+3+5 || count != 3 {
			t.Errorf("charged %d bytes and %d files, want 16 and 3", bytes, count)
		}

		h.createFolder(h.ann, "/home/ann/dir")
		_, err = h.upload(h.ann, "/home/ann/dir", "x", files.Replace)
		h.wantFault("replace a folder", err, fault.AlreadyExists)
		beside, err := h.upload(h.ann, "/home/ann/dir", "x", files.RenameNew)
		h.must(err)
		if beside.Name != "dir (1)" {
			t.Errorf("a file with the name of a folder: %q", beside.Name)
		}
	})
}

func TestNumberedNamesStayValid(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
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
			h.mustUpload(h.ann, "/home/ann/"+name, "1")
			e, err := h.upload(h.ann, "/home/ann/"+name, "2", files.RenameNew)
			h.must(err)
			if e.Name != want {
				t.Errorf("beside %q: %q, want %q", name, e.Name, want)
			}
		}
	})
}

func TestManyFilesOfOneName(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var got []string
		stored := make([]files.StoredObject, 40)
		for i := range stored {
			stored[i] = h.storeContent("x")
		}
		dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann/new/er"), "image.png",
			files.RenameNew)
		h.must(err)
		for _, s := range stored {
			wg.Go(func() {
				e, err := h.putEntry(h.ann, dest, s)
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
		if _, count := h.usage("ann"); count != 40 {
			t.Errorf("%d files charged", count)
		}
		if got := h.listFolder(h.ann, "/home/ann/new"); !slices.Equal(got, []string{"er/"}) {
			t.Errorf("folders made: %q", got)
		}
	})
}

// An upload stays bound to the id of the folder in which it began.
func TestPutFollowsRenamedFolder(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.ann, "/home/ann/a")
		dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann/a/b"), "f.txt",
			files.RenameNew)
		h.must(err)
		_, err = h.tree.Rename(t.Context(), h.ann, dir.ID, "renamed")
		h.must(err)
		e, err := h.putEntry(h.ann, dest, h.storeContent("x"))
		h.must(err)
		if e.Path().String() != "/home/ann/renamed/b/f.txt" {
			t.Errorf("the file is at %s", e.Path())
		}

		_, _, err = h.tree.Delete(t.Context(), h.ann, dir.ID)
		h.must(err)
		_, err = h.putEntry(h.ann, dest, h.storeContent("x"))
		h.wantFault("the folder was deleted", err, fault.Conflict)
		if bytes, count := h.usage("ann"); bytes != 0 || count != 0 {
			t.Errorf("%d bytes and %d files are charged for deleted entries", bytes, count)
		}

		// Abuse case C31: permission is checked again when the file is put.
		dest, err = h.tree.ResolveDestination(t.Context(), h.bob, mustParsePath("/uploads"), "f.txt", files.RenameNew)
		h.must(err)
		h.addRule(access.Rule{Pattern: "/uploads/**", Effect: access.Deny, UserID: "bob",
			Permissions: access.Set(access.Write)})
		_, err = h.putEntry(h.bob, dest, h.storeContent("x"))
		h.wantFault("no longer permitted", err, fault.Forbidden)
	})
}

func TestResolveDestinationRefuses(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.ann, "/home/ann/file", "x")
		deep := mustParsePath("/home/ann" + strings.Repeat("/d", 62))
		for _, c := range []struct {
			who  access.Actor
			dir  vpath.Path
			name vpath.Name
			kind fault.Kind
		}{
			{h.bob, mustParsePath("/home/ann"), "x", fault.Forbidden},
			{h.bob, mustParsePath("/home/ann/absent"), "x", fault.Forbidden},
			{h.bob, mustParsePath("/home/ann/file"), "x", fault.Forbidden},
			{h.ann, mustParsePath("/home/ann/file"), "x", fault.NotFound},
			{h.ann, mustParsePath("/home/ann/file/deeper"), "x", fault.NotFound},
			{h.admin, vpath.Root, "Robots.TXT", fault.Invalid},
			{h.admin, mustParsePath("/API"), "x", fault.Invalid},
			{h.ann, deep, "x", fault.Invalid},
			{h.visitor, mustParsePath("/public"), "x", fault.Unauthorized},
		} {
			_, err := h.tree.ResolveDestination(t.Context(), c.who, c.dir, c.name, files.RenameNew)
			h.wantFault(c.who.UserID+" puts into "+c.dir.String(), err, c.kind)
		}
		if _, err := h.upload(h.ann, deep.Parent().String()+"/x", "deep", files.Fail); err != nil {
			t.Errorf("64 levels: %v", err)
		}
		if got, err := h.readPath(h.ann, deep.Parent().String()+"/x"); got != "deep" || err != nil {
			t.Errorf("64 levels down: %q, %v", got, err)
		}
	})
}

func TestPutChargesTheQuota(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		most, count := int64(10), int64(2)
		h.write(func(tx *db.Tx) error { return quota.SetLimits(tx, "ann", &most, &count) })
		h.mustUpload(h.ann, "/home/ann/a", "12345678")
		_, err := h.upload(h.ann, "/home/ann/b", "123", files.Fail)
		h.wantFault("too many bytes", err, fault.QuotaExceeded)
		h.mustUpload(h.ann, "/home/ann/b", "12")
		_, err = h.upload(h.ann, "/home/ann/c", "", files.Fail)
		h.wantFault("too many files", err, fault.QuotaExceeded)
		if _, err := h.upload(h.ann, "/home/ann/a", "1234", files.Replace); err != nil {
			t.Errorf("a smaller replacement: %v", err)
		}
		// A replacement by another user is charged to the file's owner.
		h.addRule(access.Rule{Pattern: "/home/ann/a", Effect: access.Allow, UserID: "bob",
			Permissions: access.Set(access.Update)})
		_, err = h.upload(h.bob, "/home/ann/a", "123456789", files.Replace)
		h.wantFault("over the owner's quota", err, fault.QuotaExceeded)
		e, err := h.upload(h.bob, "/home/ann/a", "12345678", files.Replace)
		h.must(err)
		if bytes, count := h.usage("ann"); bytes != 10 || count != 2 || e.OwnerID != "ann" {
			t.Errorf("%d bytes and %d files, owner %s", bytes, count, e.OwnerID)
		}
		if bytes, count := h.usage("bob"); bytes != 0 || count != 0 {
			t.Errorf("bob pays for %d bytes and %d files", bytes, count)
		}
	})
}
