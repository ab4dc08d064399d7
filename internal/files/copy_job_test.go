package files_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
)

// runBeforeTransaction calls do between two transactions of the running copy: before batch n,
// counted from 1, or before the transaction after the last batch.
func (f *storesFixture) runBeforeTransaction(n int, do func()) {
	f.t.Helper()
	pieces := 0
	f.onOwner = func() {
		if pieces++; pieces == n {
			do()
		}
	}
	f.runJobs()
	f.onOwner = nil
	if pieces < n {
		f.t.Errorf("the copy took %d transactions", pieces)
	}
}

// startLargeCopy uploads content into a folder of ann's and starts a copy to the folder `to`, two
// entries in a transaction.
func (f *storesFixture) startLargeCopy(a access.Actor, from, to string,
	content map[string]string) (g uploadedFiles, jobID string) {
	f.t.Helper()
	f.tree.SetCopyBatchSize(2)
	g = f.uploadTree(from, content)
	f.createFolder(f.ann, to)
	j, err := f.requestCopy(a, f.idAtPath(from), to, "copy")
	f.must(err)
	if j.Status != "pending" {
		f.t.Fatalf("the copy is not a job: %+v", j)
	}
	return g, j.ID
}

// checkCopyOf checks that a copy has the same contents as the uploaded files, under other ids.
func (f *storesFixture) checkCopyOf(folder string, g uploadedFiles) {
	f.t.Helper()
	for name, want := range g.content {
		if got, err := f.readPath(f.ann, folder+"/"+name); err != nil || got != want {
			f.t.Errorf("%s/%s: %.20q, %v; want %.20q", folder, name, got, err, want)
			continue
		}
		if f.idAtPath(folder+"/"+name) == g.ids[name] {
			f.t.Errorf("%s/%s is the original, not a copy", folder, name)
		}
	}
}

// A large folder is copied in batches. The copy is invisible until it is complete, and its cost is
// reserved.
func TestCopyOfALargeFolder(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g, id := w.startLargeCopy(w.ann, "/home/ann/box", "/home/ann/to", sampleFiles())
		bytes, count := w.usage("ann")
		last := -1
		w.onOwner = func() {
			w.checkContents("/home/ann/to")
			w.checkUsage("under way", "ann", bytes, count, bytes, count)
			if found := w.listNames(w.admin, files.ListQuery{Path: mustParsePath("/"), Search: "a.txt",
				Type: "file"}); len(found) != 1 {
				t.Errorf("a search finds %q", found)
			}
			var staged string
			w.must(w.db.Read(t.Context()).QueryRow("SELECT id FROM entries WHERE parent_id = 'staging'").Scan(&staged))
			_, _, err := w.tree.Details(t.Context(), w.admin, staged)
			w.wantFault("an unfinished copy", err, fault.NotFound)
			w.collect() // does not touch the copy
			j := w.job(id)
			if j.Status != "running" || j.Progress < last || j.Progress > 99 {
				t.Errorf("job %+v after %d percent", j, last)
			}
			last = j.Progress
		}
		w.runJobs()
		w.onOwner = nil
		w.checkJobEnded(id, "")
		w.checkCopyOf("/home/ann/to/copy", g)
		w.checkReadableBelow(g, "/home/ann/box")
		w.checkUsage("copied", "ann", 2*bytes, 2*count, 0, 0)
		w.checkNothingStaged()
		w.checkAccounting()
	})
}

// Abuse case C127: a copy that stops between any two of its transactions resumes there. Nothing is
// copied twice.
func TestCopyResumesAfterStop(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		for stopped := 1; ; stopped++ {
			from := fmt.Sprintf("/home/ann/box%d", stopped)
			g, id := w.startLargeCopy(w.ann, from, from+"-to", sampleFiles())
			before := w.countRows("entries")
			ctx, stop := context.WithCancel(t.Context())
			pieces := 0
			w.onOwner = func() {
				if pieces++; pieces == stopped {
					stop()
				}
			}
			for range 2 { // the last claim of a stopping runner may be lost
				_, err := w.newJobRunner().RunNext(ctx)
				if ctx.Err() == nil {
					w.must(err)
				}
			}
			w.onOwner = nil
			if ctx.Err() == nil {
				if stopped < 6 {
					t.Errorf("the copy took %d transactions", stopped-1)
				}
				stop()
				break
			}
			if j := w.job(id); j.Status != "pending" {
				t.Errorf("stopped at %d: %+v", stopped, j)
			}
			w.checkContents(from + "-to")
			w.runJobs()
			w.checkJobEnded(id, "")
			w.checkCopyOf(from+"-to/copy", g)
			if n := w.countRows("entries"); n != before+len(sampleFiles())+4 {
				t.Errorf("stopped at %d: %d entries were made, want %d", stopped, n-before, len(sampleFiles())+4)
			}
		}
		w.runJobs()
		w.checkNothingStaged()
		w.checkAccounting()
	})
}

// Changes of the source during the copy do not fail it: a batch copies the entries that it finds.
func TestCopyFollowsConcurrentChanges(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.tree.SetCopyBatchSize(2)
		g := w.uploadTree("/home/ann/box", map[string]string{"a": "1", "b": "22", "c": "333", "d": "4444", "e": "e",
			"gone/f": "f", "late/g": "g", "out/h": "h"})
		w.createFolder(w.ann, "/home/ann/to")
		j, err := w.requestCopy(w.ann, w.idAtPath("/home/ann/box"), "/home/ann/to", "copy")
		w.must(err)
		remove := func(name string) {
			_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath("/home/ann/box/"+name))
			w.must(err)
		}
		w.runBeforeTransaction(2, func() { // a and b are copied
			remove("a")
			_, err := w.upload(w.ann, "/home/ann/box/b", "too late", files.Replace)
			w.must(err)
			_, err = w.upload(w.ann, "/home/ann/box/d", "replaced", files.Replace)
			w.must(err)
			w.mustUpload(w.ann, "/home/ann/box/A/x", "a folder where a file was") // `a` stays in the copy, `A` comes
			// of exactly the same name: the file was copied first
			w.mustUpload(w.ann, "/home/ann/box/a/x", "likewise")
			remove("c")
			remove("gone")
			_, err = w.tree.Move(t.Context(), w.ann, g.ids["out/h"], mustParsePath("/home/ann"), nil)
			w.must(err)
			w.mustUpload(w.ann, "/home/ann/box/late/new", "new")
			_, err = w.tree.Rename(t.Context(), w.ann, w.idAtPath("/home/ann/box"), "renamed")
			w.must(err)
		})
		w.checkJobEnded(j.ID, "")
		w.checkContents("/home/ann/to/copy", "a=1", "b=22", "d=replaced", "e=e", "A/", "A/x=a folder where a file was",
			"late/", "late/g=g", "late/new=new", "out/")
		w.checkNothingStaged()
		w.collect()
		w.checkChargesMatchOwnership()
		w.checkAccounting()
	})
}

// A folder that is moved out of the source during the copy is not copied any further, and neither
// is a deleted one.
func TestCopySkipsFolderMovedOutOfSource(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.tree.SetCopyBatchSize(2)
		w.uploadTree("/home/ann/box", map[string]string{"sub/1": "1", "sub/2": "2", "sub/3": "3", "sub/4": "4",
			"sub/5": "5", "z/6": "6"})
		for i, leave := range map[string]func(id string){
			"moved": func(id string) {
				_, err := w.tree.Move(t.Context(), w.ann, id, mustParsePath("/home/ann/away"), nil)
				w.must(err)
			},
			"deleted": func(id string) { _, _, err := w.tree.Delete(t.Context(), w.ann, id); w.must(err) },
		} {
			to := "/home/ann/to-" + i
			w.createFolder(w.ann, to)
			if i == "moved" {
				w.createFolder(w.ann, "/home/ann/away")
			}
			j, err := w.requestCopy(w.ann, w.idAtPath("/home/ann/box"), to, "copy")
			w.must(err)
			w.runBeforeTransaction(4, func() { leave(w.idAtPath("/home/ann/box/sub")) })
			w.checkJobEnded(j.ID, "")
			found := strings.Join(w.contentsBelow(to+"/copy"), " ")
			if !strings.HasPrefix(found, "sub/ sub/1=1") || strings.Contains(found, "5=") ||
				!strings.HasSuffix(found, " z/ z/6=6") {
				t.Errorf("%s: copied %q", i, found)
			}
			if i == "moved" {
				_, err = w.tree.Move(t.Context(), w.ann, w.idAtPath("/home/ann/away/sub"),
					mustParsePath("/home/ann/box"), nil)
				w.must(err)
			} else {
				w.uploadTree("/home/ann/box",
					map[string]string{"sub/1": "1", "sub/2": "2", "sub/3": "3", "sub/4": "4", "sub/5": "5"})
			}
		}
		w.checkAccounting()
	})
}

// Permissions and limits are checked again during the copy. When the copy is not allowed or not
// possible any more, the job fails with a sentence, returns its reservation and leaves nothing.
func TestCopyRechecksPermissions(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		content := map[string]string{"a.txt": "first", "sub/deep/d": "deep", "sub/z": "last"}
		_, first := w.startLargeCopy(w.ann, "/home/ann/probe", "/home/ann/probed", content)
		last := w.countTransactions(first)
		deny := func(p string, set access.Set) {
			w.addRule(access.Rule{Pattern: p, Effect: access.Deny, UserID: "ann", Permissions: set, Priority: 9})
		}
		n := 0
		for what, c := range map[string]struct {
			change  func(from, to string)
			message string
		}{
			// abuse case C31
			"the permission to write there is gone": {func(_, to string) { deny(to+"/**", access.Set(access.Write)) },
				"permission"},
			"a copied entry may not be downloaded": {func(from, _ string) {
				deny(from+"/a.txt", access.Set(access.Download))
			}, "permission"},
			"an entry not copied yet may not be read": {func(from, _ string) {
				deny(from+"/sub/z", access.Set(access.Read))
			},
				"permission"},
			"a password on a copied entry": {func(from, _ string) { w.protectEntry(w.idAtPath(from + "/a.txt")) },
				"permission"},
			"a password on an entry not copied yet": {func(from, _ string) {
				w.protectEntry(w.idAtPath(from + "/sub/deep"))
			}, "permission"},
			"a password on the source": {func(from, _ string) { w.protectEntry(w.idAtPath(from)) },
				"password"},
			"a mount in the source": {func(from, _ string) { w.addMount(from + "/sub/disk") }, "mount"},
			"the account is disabled": {func(string, string) {
				w.inactive["ann"] = true
				w.write(func(tx *db.Tx) error { return tx.BumpConfig() })
			}, "account"},
			"the source is deleted": {func(from, _ string) {
				_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath(from))
				w.must(err)
			}, "no such file"},
			"the target is deleted": {func(_, to string) {
				_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath(to))
				w.must(err)
			}, "target folder does not exist"},
			"the name is taken": {func(_, to string) { w.mustUpload(w.ann, to+"/copy", "x") },
				"already exists in the target folder"},
			"the quota is lowered": {func(string, string) { w.setQuota("ann", 10, 10) }, "quota"},
			"more comes than the quota holds": {func(from, _ string) {
				w.mustUpload(w.ann, from+"/sub/z2", "123456")
				w.setQuota("ann", w.usedAndReserved()+5, -1)
			}, "quota"},
			"more files than the quota holds": {func(from, _ string) {
				w.mustUpload(w.ann, from+"/sub/z2", "")
				w.setQuota("ann", -1, w.usedAndReservedFiles())
			}, "quota"},
			"the source is deeper": {func(from, _ string) {
				w.mustUpload(w.ann, from+"/z"+strings.Repeat("/d", 59)+"/x", "")
			}, "levels"},
			"the target is moved into the source": {func(from, to string) {
				_, err := w.tree.Move(t.Context(), w.ann, w.idAtPath(to), mustParsePath(from), nil)
				w.must(err)
			}, "target folder does not exist"},
			"another folder has the place": {func(_, to string) {
				_, err := w.tree.Rename(t.Context(), w.ann, w.idAtPath(to), "away-"+mustParsePath(to).Base())
				w.must(err)
				w.createFolder(w.ann, to)
			}, "moved or replaced"},
			"an entry of another owner is added": {func(from, _ string) {
				w.mustUpload(w.admin, from+"/sub/zz", "the administrator's")
			}, ""},
		} {
			for _, late := range []bool{false, true} {
				n++
				t.Logf("%s, late: %v", what, late)
				from, to := fmt.Sprintf("/home/ann/box%d", n), fmt.Sprintf("/home/ann/to%d", n)
				_, id := w.startLargeCopy(w.ann, from, to, content)
				at := 3
				if late {
					at = last
				}
				w.runBeforeTransaction(at, func() { c.change(from, to) })
				w.inactive["ann"] = false
				w.setQuota("ann", -1, -1)
				w.write(func(tx *db.Tx) error { return tx.BumpConfig() })
				// changes that came too late are not in the copy
				if late && (strings.HasPrefix(what, "more ") || strings.HasSuffix(what, "deeper")) {
					w.checkJobEnded(id, "")
				} else {
					w.checkJobEnded(id, c.message)
				}
				if j := w.job(id); j.Status == "failed" {
					w.checkNothingStaged()
				}
				w.write(func(tx *db.Tx) error {
					if _, err := tx.Exec("UPDATE entries SET password_hash = NULL"); err != nil {
						return err
					}
					_, err := tx.Exec("DELETE FROM mounts WHERE name = 'M'")
					return err
				})
			}
		}
		if bytes, count := w.reserved("ann"); bytes != 0 || count != 0 {
			t.Errorf("%d bytes and %d files are still reserved", bytes, count)
		}
		w.collect()
		w.checkChargesMatchOwnership()
	})
}

// Permission is checked for each entry when it is copied, and unforeseen quota is reserved then. A
// denial at that moment ends the copy, even if the copy would be allowed again at the end.
func TestCopyChecksAndReservesEachEntry(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		content := map[string]string{"a.txt": "first", "sub/deep/d": "deep", "sub/z": "last"}
		_, id := w.startLargeCopy(w.ann, "/home/ann/box1", "/home/ann/to1", content)
		last := w.countTransactions(id)
		_, id = w.startLargeCopy(w.ann, "/home/ann/box2", "/home/ann/to2", content)
		pieces := 0
		w.onOwner = func() {
			switch pieces++; pieces {
			case 2:
				w.addRule(access.Rule{Pattern: "/home/ann/box2/sub/z", Effect: access.Deny, UserID: "ann",
					Permissions: access.Set(access.Download), Priority: 9})
			case last:
				w.write(func(tx *db.Tx) error {
					if _, err := tx.Exec("DELETE FROM rules WHERE effect = 'deny'"); err != nil {
						return err
					}
					return tx.BumpConfig()
				})
			}
		}
		w.runJobs()
		w.onOwner = nil
		w.checkJobEnded(id, "permission")
		w.checkNothingStaged()

		_, id = w.startLargeCopy(w.ann, "/home/ann/box3", "/home/ann/to3", content)
		w.runBeforeTransaction(2, func() { w.mustUpload(w.ann, "/home/ann/box3/sub/y", "123456") })
		w.checkJobEnded(id, "")
		_, id = w.startLargeCopy(w.ann, "/home/ann/box4", "/home/ann/to4", content)
		pieces = 0
		beyond := false
		w.onOwner = func() {
			if pieces++; pieces == 2 {
				w.mustUpload(w.ann, "/home/ann/box4/sub/y", "123456")
			}
			staged := w.queryInt("SELECT made_storage FROM copies")
			if bytes, _ := w.reserved("ann"); bytes != max(staged, 13) {
				t.Errorf("%d bytes are recorded as copied, %d as reserved", staged, bytes)
			}
			beyond = beyond || staged > 13
		}
		w.runJobs()
		w.onOwner = nil
		w.checkJobEnded(id, "")
		if !beyond {
			t.Error("the copy contains no unforeseen entry, so the test shows nothing")
		}
		w.collect()
		w.checkChargesMatchOwnership()
	})
}

// usedAndReserved returns the bytes that ann uses and has reserved, together.
func (f *storesFixture) usedAndReserved() int64 {
	bytes, _ := f.usage("ann")
	reserved, _ := f.reserved("ann")
	return bytes + reserved
}

func (f *storesFixture) usedAndReservedFiles() int64 {
	_, count := f.usage("ann")
	_, reserved := f.reserved("ann")
	return count + reserved
}

// countTransactions counts the transactions of a large copy, including the one that gives it its
// path.
func (f *storesFixture) countTransactions(jobID string) (n int) {
	f.t.Helper()
	f.onOwner = func() { n++ }
	f.runJobs()
	f.onOwner = nil
	f.checkJobEnded(jobID, "")
	return n
}

// A copy by a key that has become unusable ends. A copy by a usable key is limited to the key's
// permissions.
func TestCopyByKeyNeedsTheKeyAtEachStep(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		rights := access.Set(access.Read | access.Download | access.Write)
		key := &access.Key{ID: "pk", Permissions: rights, Root: mustParsePath("/home/ann/to")}
		usable := true
		w.tree.Key = func(_ context.Context, _ int64, id string, ip netip.Addr) (*access.Key, bool, error) {
			if id != "pk" || ip != w.ann.IP {
				t.Errorf("asked for key %q at %s", id, ip)
			}
			return key, usable, nil
		}
		byKey := w.ann
		byKey.Key = key
		_, id := w.startLargeCopy(byKey, "/home/ann/box", "/home/ann/to", sampleFiles())
		w.runBeforeTransaction(2, func() { usable = false })
		w.checkJobEnded(id, "API key")
		usable = true
		for what, lesser := range map[string]*access.Key{
			"another root": {ID: "pk", Permissions: rights, Root: mustParsePath("/home/ann/box")},
			"no download":  {ID: "pk", Permissions: access.Set(access.Read | access.Write), Root: key.Root},
		} {
			j, err := w.requestCopy(byKey, w.idAtPath("/home/ann/box"), "/home/ann/to", "copy")
			w.must(err)
			good := key
			w.runBeforeTransaction(2, func() { key = lesser })
			t.Log(what)
			w.checkJobEnded(j.ID, "permission")
			key = good
		}
		j, err := w.requestCopy(byKey, w.idAtPath("/home/ann/box"), "/home/ann/to", "copy")
		w.must(err)
		w.runJobs()
		w.checkJobEnded(j.ID, "")
		w.checkAccounting()
	})
}

// A password that was given when the copy was requested still counts when a batch is copied, unless
// the password has changed.
func TestCopyKeepsPasswordsGivenAtRequest(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.tree.SetCopyBatchSize(2)
		g := w.uploadTree("/home/ann/vault/box", sampleFiles())
		w.createFolder(w.ann, "/home/ann/to")
		lock := func(password string) {
			w.exec("UPDATE entries SET password_hash = 'hash', password_id = $1 WHERE id = $2", password,
				w.idAtPath("/home/ann/vault"))
		}
		box := w.idAtPath("/home/ann/vault/box")
		lock("p1")
		given := w.ann
		given.Unlocked = []string{"p1"}
		_, err := w.requestCopy(w.ann, box, "/home/ann/to", "copy")
		w.wantFault("without the password", err, fault.PasswordRequired)
		j, err := w.requestCopy(given, box, "/home/ann/to", "copy")
		w.must(err)
		k, err := w.requestCopy(given, box, "/home/ann/to", "other")
		w.must(err)
		_, err = w.newJobRunner().RunNext(t.Context()) // one transaction
		w.must(err)
		lock("p2")
		w.runJobs()
		if a, b := w.job(j.ID), w.job(k.ID); a.Status == b.Status {
			t.Errorf("jobs %+v and %+v, want one that failed for its password", a, b)
		} else if a.Status == "completed" {
			w.checkJobEnded(k.ID, "password")
			w.checkCopyOf("/home/ann/to/copy", g)
		} else {
			w.checkJobEnded(j.ID, "password")
			w.checkCopyOf("/home/ann/to/other", g)
		}
		w.checkNothingStaged()
		w.checkAccounting()
	})
}

// A copy to another provider's mount gets its path at the same time as a copy inside a provider. A
// job then copies its content there; the originals stay in place.
func TestCopyToAnotherProvider(t *testing.T) {
	for name, batch := range map[string]int{"small": 1000, "large": 2} {
		t.Run(name, func(t *testing.T) {
			eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
				w.tree.SetCopyBatchSize(batch)
				g := w.uploadTree("/home/ann/box", sampleFiles())
				single := w.uploadTree("/home/ann", map[string]string{"single": "alone"})
				w.mustCopy(w.ann, single.ids["single"], "/home/ann/box", "shared") // one object for two files
				g.content["shared"] = "alone"
				bytes, count := w.usage("ann")
				j, err := w.requestCopy(w.ann, w.idAtPath("/home/ann/box"), "/vault")
				w.must(err)
				k, err := w.requestCopy(w.ann, single.ids["single"], "/vault")
				w.must(err)
				if j.Status != "pending" || k.Status != "pending" {
					t.Errorf("jobs %+v and %+v", j, k)
				}
				w.setHook(func(_ int, op, provider string) error {
					if op == "put" && provider != "vault" || op == "open" && provider != "local" {
						t.Errorf("%s in %s", op, provider)
					}
					return nil
				})
				w.runJobs()
				w.setHook(nil)
				w.checkJobEnded(j.ID, "")
				w.checkJobEnded(k.ID, "")
				w.checkCopyOf("/vault/box", g)
				w.checkCopyOf("/vault", single)
				w.checkReadableBelow(single, "/home/ann")
				w.checkUsage("copied", "ann", 2*bytes, 2*count, 0, 0)
				if w.countObjects("local") != len(g.content) || w.countObjects("vault") != len(g.content)+1 {
					t.Errorf("%d objects in one provider, %d in the other", w.countObjects("local"),
						w.countObjects("vault"))
				}
				w.checkNothingStaged()
				w.checkAccounting()
				w.checkCopyOf("/vault/box", g)
				w.checkReadableBelow(single, "/home/ann")
				// The copy back shares no object with the entries there.
				w.mustCopy(w.ann, w.idAtPath("/vault/box"), "/home/ann", "back")
				w.checkCopyOf("/home/ann/back", g)
				w.checkAccounting()
			})
		})
	}
}

// When the content cannot be copied to its provider, the copy stays, remains readable from the
// original's store, and is charged. The job reports that.
func TestCopyKeepsOriginalObjectWhenTransferFails(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g := w.uploadTree("/home/ann/box", map[string]string{"a": "1", "b": "22"})
		j, err := w.requestCopy(w.ann, w.idAtPath("/home/ann/box"), "/vault")
		w.must(err)
		w.setHook(func(_ int, op, _ string) error {
			if op == "stat" {
				return blob.ErrNotFound
			}
			return nil
		})
		w.runJobs()
		w.setHook(nil)
		w.checkJobEnded(j.ID, "the file stays in its current storage")
		w.checkCopyOf("/vault/box", g)
		w.checkUsage("copied", "ann", 6, 4, 0, 0)
		w.checkAccounting()
		w.checkCopyOf("/vault/box", g)
	})
}

// Abuse case C126: a copy whose store is unreachable waits for it and releases its reservation only
// once.
func TestCopyWaitsForAStore(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g, id := w.startLargeCopy(w.ann, "/home/ann/box", "/vault/to", sampleFiles())
		bytes, count := w.usage("ann")
		away := true
		w.setHook(func(int, string, string) error {
			if away {
				return blob.Unavailable("use store", context.DeadlineExceeded)
			}
			return nil
		})
		w.runJobs()
		w.checkUsage("waiting", "ann", 2*bytes, 2*count, 0, 0)
		w.checkCopyOf("/vault/to/copy", g)
		away = false
		w.advance(10 * time.Minute)
		w.runJobs()
		w.setHook(nil)
		w.checkJobEnded(id, "")
		w.checkCopyOf("/vault/to/copy", g)
		w.checkAccounting()
	})
}

// Abuse case C20: two providers in one directory. Copies between them share no object, and the
// collector deletes no object that either uses.
func TestCopyBetweenProvidersInOneDirectory(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, _ bool) {
		g := w.uploadTree("/home/ann/box", sampleFiles())
		w.mustCopy(w.ann, w.idAtPath("/home/ann/box"), "/twin")
		w.checkCopyOf("/twin/box", g)
		if w.countObjects("twin") != len(g.content) || w.countObjects("local") != len(g.content) {
			t.Errorf("%d objects in one, %d in the other", w.countObjects("twin"), w.countObjects("local"))
		}
		w.checkAccounting()
		_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath("/home/ann/box"))
		w.must(err)
		w.checkAccounting()
		w.checkCopyOf("/twin/box", g)
	})
}

// Two replicas hold one job after a pause longer than the lease. Only one of them takes effect, and
// nothing is copied twice.
func TestTwoReplicasHoldingOneCopyJob(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g, id := w.startLargeCopy(w.ann, "/home/ann/box", "/home/ann/to", sampleFiles())
		bytes, count := w.usage("ann")
		calls := 0
		w.onOwner = func() {
			if calls++; calls == 3 {
				w.exec("UPDATE jobs SET due = 0")
				w.runJobs() // the other replica finishes it
			}
		}
		_, err := w.newJobRunner().RunNext(t.Context())
		w.must(err)
		w.onOwner = nil
		w.checkJobEnded(id, "")
		w.checkCopyOf("/home/ann/to/copy", g)
		w.checkUsage("copied", "ann", 2*bytes, 2*count, 0, 0)
		w.checkNothingStaged()
		w.checkAccounting()
	})
}
