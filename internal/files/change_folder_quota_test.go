package files_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// setFolderRoom sets a user's quota so that the user may create that many more folders and have at
// most 500 files.
func (f *fixture) setFolderRoom(user string, folders int64) {
	f.t.Helper()
	var used, reserved int64
	f.must(f.db.Read(f.t.Context()).QueryRow("SELECT used_folders, reserved_folders FROM quotas WHERE user_id = $1",
		user).Scan(&used, &reserved))
	count := int64(500)
	f.write(func(tx *db.Tx) error {
		if err := quota.SetLimits(tx, user, nil, &count); err != nil {
			return err
		}
		if err := quota.ReleaseFolders(tx, user, reserved); err != nil {
			return err
		}
		return quota.ReserveFolders(tx, user, 1000-used-folders)
	})
}

// countFolders returns the number of folders that a user's quota counts.
func (f *fixture) countFolders(user string) int64 {
	f.t.Helper()
	return f.queryInt("SELECT used_folders FROM quotas WHERE user_id = $1", user)
}

// checkFolderCounts checks that each quota counts the folders of its user (abuse case C93).
func (f *fixture) checkFolderCounts() {
	f.t.Helper()
	n := f.queryInt(`
		WITH RECURSIVE apart (id) AS (
			SELECT id FROM entries WHERE id IN ('graveyard', 'staging', 'trash')
			UNION ALL
			SELECT e.id FROM apart a JOIN entries e ON e.parent_id = a.id)
		SELECT COUNT(*)
		FROM quotas q
		WHERE used_folders <> (SELECT COUNT(*) FROM entries e WHERE e.owner_id = q.user_id AND e.kind = 0 AND e.id NOT IN (SELECT id FROM apart))`)
	if n != 0 {
		f.t.Errorf("%d quotas have a wrong count of folders", n)
	}
}

// Every operation that creates a folder counts it, and none exceeds the limit.
func TestFoldersCountAgainstTheQuota(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		home := w.countFolders("ann") // with the root of the fixture's mounts
		w.setFolderRoom("ann", 5)
		w.createFolder(w.ann, "/home/ann/a")
		w.createFolder(w.ann, "/home/ann/a/b")
		w.mustUpload(w.ann, "/home/ann/a/b/c/d/f", "content") // two more
		if got := w.countFolders("ann") - home; got != 4 {
			t.Errorf("%d folders count, want 4", got)
		}
		used, files := w.usage("ann")
		_, err := w.upload(w.ann, "/home/ann/x/y/f", "content", "")
		w.wantFault("an upload that makes two folders", err, fault.QuotaExceeded)
		_, err = w.tree.Copy(t.Context(), w.ann, w.idAtPath("/home/ann/a/b"), mustParsePath("/home/ann"), nil)
		w.wantFault("a copy of three folders", err, fault.QuotaExceeded)
		if now, nowFiles := w.usage("ann"); now != used || nowFiles != files {
			t.Errorf("a refused upload is charged: %d bytes in %d files", now-used, nowFiles-files)
		}
		_, err = w.tree.Copy(t.Context(), w.ann, w.idAtPath("/home/ann/a/b/c/d"), mustParsePath("/home/ann"), nil)
		w.must(err)
		_, err = w.tree.CreateFolder(t.Context(), w.ann, mustParsePath("/home/ann"), "last")
		w.wantFault("one more", err, fault.QuotaExceeded)
		_, err = w.tree.CreateFolder(t.Context(), w.ann, mustParsePath("/home/ann"), "a")
		w.wantFault("a name that is taken", err, fault.AlreadyExists)
		w.mustUpload(w.ann, "/home/ann/a/g", "a file needs no room for folders")
		w.checkFolderCounts()

		w.write(func(tx *db.Tx) error { // folders that the service creates for a user are never refused, and count
			_, err := w.tree.InsertFolder(tx, w.ann.HomeID, "given", "ann")
			return err
		})
		_, _, err = w.tree.Delete(t.Context(), w.ann, w.idAtPath("/home/ann/a"))
		w.must(err)
		if got := w.countFolders("ann") - home; got != 2 {
			t.Errorf("%d folders count after a deletion, want 2", got)
		}
		w.checkFolderCounts()
		w.collect()
		w.checkFolderCounts()
		for i := range 3 {
			w.createFolder(w.ann, fmt.Sprint("/home/ann/again", i))
		}
		_, err = w.tree.CreateFolder(t.Context(), w.ann, mustParsePath("/home/ann"), "beyond")
		w.wantFault("beyond the released folders", err, fault.QuotaExceeded)
		unlimited := int64(quota.Unlimited)
		w.write(func(tx *db.Tx) error { return quota.SetLimits(tx, "ann", nil, &unlimited) })
		w.createFolder(w.ann, "/home/ann/beyond")
		w.checkFolderCounts()
	})
}

// A deleted folder that belongs to another owner is released to that owner's quota. So is a folder
// that a copy replaces.
func TestDeletedFoldersReleaseOwnersQuota(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		before := [2]int64{w.countFolders("ann"), w.countFolders("bob")}
		w.createFolder(w.ann, "/team/a")
		w.createFolder(w.bob, "/team/a/b")
		w.createFolder(w.ann, "/team/a/b/c")
		w.createFolder(w.bob, "/team/over")
		if got := [2]int64{w.countFolders("ann"), w.countFolders("bob")}; got != [2]int64{before[0] + 2,
			before[1] + 2} {
			t.Errorf("folders of two owners: %v, before %v", got, before)
		}
		_, err := w.tree.CopyWithOptions(t.Context(), w.admin, w.idAtPath("/team/a"), mustParsePath("/team"), "over",
			files.CopyMoveOptions{Replace: true})
		w.must(err)
		w.checkFolderCounts()
		_, _, err = w.tree.Delete(t.Context(), w.admin, w.idAtPath("/team/a"))
		w.must(err)
		w.checkFolderCounts()
		if got := [2]int64{w.countFolders("ann"), w.countFolders("bob")}; got != before {
			t.Errorf("folders after everything was deleted: %v, before %v", got, before)
		}
	})
}

// A large copy reserves its folders before it begins, charges them at its end, and releases them
// when it fails.
func TestLargeCopiesReserveTheirFolders(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.tree.SetCopyBatchSize(3)
		w.createFolder(w.ann, "/home/ann/a")
		for i := range 6 {
			w.createFolder(w.ann, fmt.Sprint("/home/ann/a/", i))
			w.mustUpload(w.ann, fmt.Sprintf("/home/ann/a/%d/f", i), "content")
		}
		copyTo := func(name vpath.Name) (job.Job, error) {
			return w.tree.Copy(t.Context(), w.ann, w.idAtPath("/home/ann/a"), mustParsePath("/home/ann"), &name)
		}
		w.setFolderRoom("ann", 6)
		_, err := copyTo("refused")
		w.wantFault("a copy of seven folders", err, fault.QuotaExceeded)
		w.setFolderRoom("ann", 13)
		reserved := func() int64 { return w.queryInt("SELECT reserved_folders FROM quotas WHERE user_id = 'ann'") }
		before := reserved()
		_, err = copyTo("b")
		w.must(err)
		if got := reserved() - before; got != 7 {
			t.Errorf("%d folders are reserved, want 7", got)
		}
		_, err = copyTo("beside")
		w.wantFault("a second one", err, fault.QuotaExceeded)
		w.runJobs()
		if got := reserved(); got != before {
			t.Errorf("%d folders stay reserved", got-before)
		}
		w.checkFolderCounts()

		w.setFolderRoom("ann", 7)
		before = reserved()
		_, err = copyTo("c")
		w.must(err)
		w.createFolder(w.bob, "/home/bob/in the way")
		w.write(func(tx *db.Tx) error { return w.tree.DropCopies(tx, "ann") })
		if got := reserved(); got != before {
			t.Errorf("%d folders stay reserved after the copy was dropped", got-before)
		}
		w.runJobs()
		w.checkFolderCounts()
	})
}

// Concurrent requests create as many folders as the quota allows.
func TestParallelFoldersStopAtTheLimit(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.setFolderRoom("ann", 5)
		var busy sync.WaitGroup
		for i := range 12 {
			busy.Go(func() {
				var err error
				if name := vpath.Name(fmt.Sprint("f", i/2)); i%2 == 0 {
					_, err = h.tree.CreateFolder(t.Context(), h.ann, mustParsePath("/home/ann"), name)
				} else {
					_, err = h.upload(h.ann, "/home/ann/"+string(name)+"/file", "content", "")
				}
				if err != nil && !fault.Is(err, fault.QuotaExceeded) && !fault.Is(err, fault.AlreadyExists) {
					t.Error(err)
				}
			})
		}
		busy.Wait()
		if n := h.queryInt(
			"SELECT COUNT(*) FROM entries WHERE kind = 0 AND name LIKE 'f%' AND owner_id = 'ann'"); n != 5 {
			t.Errorf("%d folders were made, want 5", n)
		}
		h.checkFolderCounts()
	})
}

// Abuse case C93 for folders: random operations of two accounts in one folder leave every count
// exact.
func TestRandomOperationsCountFolders(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		w.allowAllUsers("/team")
		w.tree.SetCopyBatchSize(4)
		w.setFolderRoom("bob", 20)
		var busy sync.WaitGroup
		for i, actor := range []struct{ a, b string }{{"ann", "bob"}, {"bob", "ann"}} {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			who := w.ann
			if actor.a == "bob" {
				who = w.bob
			}
			busy.Go(func() {
				at := func() vpath.Path {
					p := mustParsePath("/team")
					for range r.IntN(4) {
						p = p.Child(vpath.Name(fmt.Sprint(r.IntN(3))))
					}
					return p
				}
				for range 60 {
					from, to := at(), at()
					switch r.IntN(5) {
					case 0:
						_, _ = w.tree.CreateFolder(t.Context(), who, to, vpath.Name(fmt.Sprint(r.IntN(3))))
					case 1:
						if dest, err := w.tree.ResolveDestination(t.Context(), who, to, "file",
							files.RenameNew); err == nil {
							_, _ = w.putEntry(who, dest, w.storeContent("content"))
						}
					default:
						there, err := w.tree.ResourceAt(t.Context(), from)
						if err != nil || !there.Exists() || from == mustParsePath("/team") {
							continue
						}
						id := there.ID()
						switch name := vpath.Name(fmt.Sprint(r.IntN(3))); r.IntN(3) {
						case 0:
							_, _ = w.tree.CopyWithOptions(t.Context(), who, id, to, name,
								files.CopyMoveOptions{Replace: r.IntN(2) == 0, Shallow: r.IntN(3) == 0})
						case 1:
							_, _ = w.tree.MoveWithOptions(t.Context(), who, id, to, name,
								files.CopyMoveOptions{Replace: r.IntN(2) == 0})
						case 2:
							_, _, _ = w.tree.Delete(t.Context(), who, id)
						}
					}
				}
			})
		}
		busy.Wait()
		w.runJobs()
		w.checkFolderCounts()
		w.collect()
		w.checkFolderCounts()
	})
}
