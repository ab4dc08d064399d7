package files_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
)

func (f *fixture) plan(a access.Actor, path string, at time.Time) files.RewindPlan {
	f.t.Helper()
	plan, err := f.tree.PlanRewind(f.t.Context(), a, f.idAtPath(path), at.UnixMilli())
	f.must(err)
	return plan
}

// rewind rewinds the folder at a path and returns the status of the job and its message.
func (f *storesFixture) rewind(a access.Actor, path string, at time.Time) string {
	f.t.Helper()
	j, err := f.tree.Rewind(f.t.Context(), a, f.idAtPath(path), at.UnixMilli())
	f.must(err)
	f.runJobs()
	j, err = job.ByID(f.db.Read(f.t.Context()), a.UserID, j.ID)
	f.must(err)
	if j.ErrorMessage == nil {
		return string(j.Status)
	}
	return fmt.Sprint(j.Status, ": ", *j.ErrorMessage)
}

func steps(paths ...string) files.RewindStep {
	return files.RewindStep{Count: len(paths), Paths: paths}
}

// A rewind does what its plan says, and the folder is what it was.
func TestRewind(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		const in = "/home/ann/trip/"
		w.mustUpload(w.ann, in+"swap1", "1")
		w.mustUpload(w.ann, in+"swap2", "22")
		replaced := w.mustUpload(w.ann, in+"replaced", "333").ID
		link, err := w.tree.Link(t.Context(), w.ann, replaced)
		w.must(err)
		w.mustUpload(w.ann, in+"moved", "4444")
		w.mustUpload(w.ann, in+"sub/deep", "deep")
		w.mustUpload(w.ann, in+"sub/out", "out")
		w.mustUpload(w.ann, in+"deleted", "666666")
		w.mustUpload(w.ann, in+"same", "same")
		w.advance(time.Hour)
		then := w.clock()
		w.advance(time.Hour)

		w.must(w.moveTo(w.ann, in+"swap1", in+"x", false))
		w.must(w.moveTo(w.ann, in+"swap2", in+"swap1", false))
		w.must(w.moveTo(w.ann, in+"x", in+"swap2", false))
		w.replace(w.ann, in+"replaced", "later")
		w.must(w.moveTo(w.ann, in+"moved", "/home/ann/elsewhere", false))
		w.mustUpload(w.ann, in+"moved", "another")
		w.createFolder(w.ann, in+"new")
		w.must(w.moveTo(w.ann, in+"sub/out", in+"new/out", false))
		w.mustUpload(w.ann, in+"sub/later", "later")
		w.toTrash(w.ann, in+"sub")
		w.toTrash(w.ann, in+"deleted")
		w.mustUpload(w.ann, in+"deleted", "again")
		w.advance(time.Hour)
		before := w.clock()
		w.advance(time.Hour)

		plan := w.plan(w.ann, "/home/ann/trip", then)
		want := files.RewindPlan{ComeBack: steps(in+"sub", in+"deleted"),
			MoveBack: steps(in+"moved", in+"swap1", in+"swap2", in+"sub/out"), Revert: steps(in + "replaced"),
			ToTrash: steps(in+"new", in+"deleted", in+"moved", in+"sub/later")}
		if !reflect.DeepEqual(plan, want) {
			t.Errorf("the plan is\n%+v, want\n%+v", plan, want)
		}
		if got := w.rewind(w.ann, "/home/ann/trip", then); got != "completed" {
			t.Fatal(got)
		}
		check := func() {
			t.Helper()
			for path, want := range map[string]string{"swap1": "1", "swap2": "22", "replaced": "333", "moved": "4444",
				"sub/deep": "deep", "sub/out": "out", "deleted": "666666", "same": "same"} {
				if got, err := w.readPath(w.ann, in+path); got != want || err != nil {
					t.Errorf("%s is %q, %v", path, got, err)
				}
			}
			if got := w.listNames(w.ann, files.ListQuery{Path: mustParsePath("/home/ann/trip"), Page: 1, Limit: 100}); len(
				got) != 7 {
				t.Errorf("the folder has %q", got)
			}
		}
		check()
		if c, err := w.tree.ByLink(t.Context(), link.ID); err != nil || w.readContent(c) != "333" {
			t.Errorf("the link: %v", err)
		}
		page, err := w.tree.ListTrash(t.Context(), w.ann, files.TrashFilter{Limit: 100})
		w.must(err)
		for _, item := range page.Items {
			if item.Reason != files.TrashRewound {
				t.Errorf("%s is in the trash by %s", item.Path, item.Reason)
			}
		}
		if plan := w.plan(w.ann, "/home/ann/trip", then); !reflect.DeepEqual(plan, files.RewindPlan{}) {
			t.Errorf("afterwards there is still to do: %+v", plan)
		}
		w.advance(time.Hour)
		if got := w.rewind(w.ann, "/home/ann/trip", before); got != "completed" {
			t.Fatal(got)
		}
		if got, err := w.readPath(w.ann, in+"moved"); got != "another" || err != nil {
			t.Errorf("after a rewind of the rewind, moved is %q, %v", got, err)
		}
		if got := w.rewind(w.ann, "/home/ann/trip", then); got != "completed" {
			t.Fatal(got)
		}
		check()
		w.checkAccounting()
	})
}

// Each change of a rewind needs its permission: entries that the actor may not change stay as they
// are, and the plan names them as blocked.
func TestRewindIsDecided(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		w.mustUpload(w.ann, "/team/box/locked", "1")
		w.mustUpload(w.ann, "/team/box/free", "1")
		w.mustUpload(w.ann, "/team/box/taken", "1")
		w.advance(time.Hour)
		then := w.clock()
		w.advance(time.Hour)
		w.replace(w.ann, "/team/box/locked", "22")
		w.replace(w.ann, "/team/box/free", "22")
		w.must(w.moveTo(w.ann, "/team/box/taken", "/home/ann/taken", false))
		w.mustUpload(w.ann, "/team/box/kept", "1")
		for _, name := range []string{"locked", "kept"} {
			w.addRule(access.Rule{Pattern: "/team/box/" + name, Effect: access.Deny, UserID: "bob",
				Permissions: access.Set(access.Update) | access.Set(access.Delete)})
		}
		plan := w.plan(w.bob, "/team/box", then)
		blocked := []files.BlockedRewind{{Path: "/team/box/locked", Why: "You do not have the permission to do this here."},
			{Path: "/team/box/kept", Why: "You do not have the permission to do this here."}}
		if !slices.Equal(plan.Blocked, blocked) || plan.BlockedCount != 2 ||
			!reflect.DeepEqual(plan.Revert, steps("/team/box/free")) || plan.MoveBack.Count+plan.ToTrash.Count != 0 {
			t.Errorf("the plan is %+v", plan)
		}
		const want = `failed: 2 entries could not be brought back. The first is "/team/box/locked": ` +
			"You do not have the permission to do this here."
		if got := w.rewind(w.bob, "/team/box", then); got != want {
			t.Errorf("the job is %q, want %q", got, want)
		}
		for path, want := range map[string]string{"locked": "22", "free": "1", "kept": "1"} {
			if got, err := w.readPath(w.ann, "/team/box/"+path); got != want || err != nil {
				t.Errorf("%s is %q, %v; want %q", path, got, err, want)
			}
		}

		rewind := func(a access.Actor, id string, at time.Time) error {
			_, err := w.tree.Rewind(t.Context(), a, id, at.UnixMilli())
			return err
		}
		home := w.idAtPath("/home/ann")
		w.wantFault("somebody's home", rewind(w.bob, home, then), fault.Forbidden)
		w.wantFault("an unknown folder", rewind(w.ann, "none", then), fault.NotFound)
		w.wantFault("the future", rewind(w.ann, home, w.clock().Add(time.Second)), fault.Invalid)
		w.addRule(access.Rule{Pattern: "/home/ann/**", Effect: access.Allow, UserID: "bob",
			Permissions: access.Set(access.Read)})
		w.wantFault("a folder that bob only reads", rewind(w.bob, home, then), fault.Forbidden)
		f := w.createFolder(w.ann, "/home/ann/gone").ID
		w.toTrash(w.ann, "/home/ann/gone")
		w.wantFault("a folder in the trash", rewind(w.ann, f, w.clock()), fault.NotFound)
		id := w.idAtPath("/team/box/free")
		w.wantFault("a file", rewind(w.ann, id, then), fault.NotFound)
	})
}

// A rewind goes through a number of entries at most: those that the folder had at any depth, and
// those that came later.
func TestRewindHasABound(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/trip/a", "1")
		w.mustUpload(w.ann, "/home/ann/trip/sub/b", "1")
		w.mustUpload(w.ann, "/home/ann/trip/sub/moved", "1")
		w.advance(time.Hour)
		then := w.clock()
		w.advance(time.Hour)
		w.must(w.moveTo(w.ann, "/home/ann/trip/sub/moved", "/home/ann/moved", false))
		w.mustUpload(w.ann, "/home/ann/trip/later", "1")
		w.mustUpload(w.ann, "/home/ann/trip/folder/1", "1") // the file does not count
		plan := func() error {
			_, err := w.tree.PlanRewind(t.Context(), w.ann, w.idAtPath("/home/ann/trip"), then.UnixMilli())
			return err
		}
		for most, refused := range map[int64]bool{3: true, 5: true, 6: false} {
			w.tree.SetRewindLimit(most)
			if err := plan(); refused && !fault.Is(err, fault.Conflict) || !refused && err != nil {
				t.Errorf("a plan of 6 entries, where %d are the most: %v", most, err)
			}
		}
		w.tree.SetRewindLimit(5)
		const want = "failed: A rewind goes through at most 5 entries, and this folder has more. " +
			"Rewind the folders in it one by one."
		if got := w.rewind(w.ann, "/home/ann/trip", then); got != want {
			t.Errorf("the job is %q, want %q", got, want)
		}
		for _, path := range []string{"/home/ann/moved", "/home/ann/trip/later", "/home/ann/trip/folder/1"} {
			if _, err := w.readPath(w.ann, path); err != nil {
				t.Errorf("%s after a rewind that was refused: %v", path, err)
			}
		}
		_, err := w.tree.PlanRewind(t.Context(), w.bob, w.idAtPath("/home/ann/trip"), then.UnixMilli())
		w.wantFault("a large folder in somebody's home", err, fault.Forbidden)
		w.tree.SetRewindLimit(6)
		if got := w.rewind(w.ann, "/home/ann/trip", then); got != "completed" {
			t.Error(got)
		}
	})
}

// The bound is 100,000 entries, and they are read in pages.
func TestRewindOfManyEntries(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		box := w.createFolder(w.ann, "/home/ann/box").ID
		w.createFolder(w.ann, "/home/ann/box/sub")
		moved := w.mustUpload(w.ann, "/home/ann/box/sub/moved", "1")
		w.advance(time.Hour)
		then := w.clock()
		w.advance(time.Hour)
		w.must(w.moveTo(w.ann, "/home/ann/box/sub/moved", "/home/ann/box/photo 5000", false))
		insert := func(from, to int) {
			w.write(func(tx *db.Tx) error {
				_, err := tx.Exec(`
					INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at,
						updated_at, sort_key)
					WITH RECURSIVE n (i) AS (SELECT CAST($1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i < $2)
					SELECT 'f' || n.i, $3, 'photo ' || (100000 + n.i), 'photo ' || (100000 + n.i), 1, 1, '', 'ann',
						e.object_id, CAST($4 AS BIGINT), 0, 'photo'
					FROM n CROSS JOIN entries e
					WHERE e.id = $5`, from, to, box, w.clock().UnixMilli(), moved.ID)
				return err
			})
		}
		insert(1, 99_998) // with sub and moved: 100,000
		plan := w.plan(w.ann, "/home/ann/box", then)
		if plan.ToTrash.Count != 99_998 || plan.MoveBack.Count != 1 || plan.BlockedCount != 0 {
			t.Errorf("the plan has %d later entries, %d to move, %d blocked", plan.ToTrash.Count, plan.MoveBack.Count,
				plan.BlockedCount)
		}
		insert(99_999, 99_999)
		_, err := w.tree.PlanRewind(t.Context(), w.ann, box, then.UnixMilli())
		w.wantFault("one more", err, fault.Conflict)
		w.exec("DELETE FROM entries WHERE parent_id = $1 AND name LIKE 'photo 1_____' AND name > 'photo 101111'", box)
		w.exec("UPDATE objects SET refs = refs + 1111 WHERE id = (SELECT object_id FROM entries WHERE id = $1)",
			moved.ID)
		w.exec(`UPDATE quotas SET used_files = used_files + 1111, used_storage = used_storage + 1111
			WHERE user_id = 'ann'`)
		if got := w.rewind(w.ann, "/home/ann/box", then); got != "completed" {
			t.Fatal(got)
		}
		if n := w.countRows("trash"); n != 1_111 {
			t.Errorf("%d entries are in the trash", n)
		}
		if got := w.listFolder(w.ann, "/home/ann/box"); !slices.Equal(got, []string{"sub/"}) {
			t.Errorf("the folder has %q", got)
		}
		w.checkAccounting()
	})
}

// A rewind whose trash is larger than that of an owner may be is refused before its first change,
// and its plan says so. Entries of the folder that are in a later folder do not go to the trash.
func TestRewindFitsTheTrash(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		w.createFolder(w.admin, "/team/box")
		w.mustUpload(w.ann, "/team/box/replaced", "1")
		w.mustUpload(w.ann, "/team/box/moved", "a long content")
		w.mustUpload(w.ann, "/team/box/folder/in", "another long content")
		w.advance(time.Hour)
		then := w.clock()
		w.advance(time.Hour)
		w.replace(w.ann, "/team/box/replaced", "333") // 3 become a version
		w.mustUpload(w.ann, "/team/box/later", "55555")
		w.mustUpload(w.ann, "/team/box/new/deep/later", "4444")
		w.mustUpload(w.bob, "/team/box/new/deep/his", "22")
		w.must(w.moveTo(w.ann, "/team/box/folder", "/team/box/new/deep/folder", false))
		w.must(w.moveTo(w.ann, "/team/box/moved", "/team/box/new/deep/folder/moved", false))
		w.must(w.moveTo(w.ann, "/team/box/new/deep/folder/in", "/team/box/new/deep/in", false))
		w.mustUpload(w.ann, "/team/box/new/deep/folder/too", "1") // goes to the trash out of folder
		refused := func(what string) {
			t.Helper()
			_, err := w.tree.PlanRewind(t.Context(), w.admin, w.idAtPath("/team/box"), then.UnixMilli())
			w.wantFault("a plan "+what, err, fault.Conflict)
			const want = "failed: This would move more to the trash than the trash of an owner may have. " +
				"Delete for good what came later, or rewind the folders in it one by one."
			if got := w.rewind(w.admin, "/team/box", then); got != want {
				t.Errorf("%s: the job is %q, want %q", what, got, want)
			}
			for path, content := range map[string]string{"replaced": "333", "later": "55555", "new/deep/later": "4444",
				"new/deep/his": "22", "new/deep/folder/moved": "a long content"} {
				if got, err := w.readPath(w.admin, "/team/box/"+path); got != content || err != nil {
					t.Errorf("%s: %s is %q, %v", what, path, got, err)
				}
			}
		}
		w.exec("UPDATE quotas SET max_kept = 12 WHERE user_id = 'ann'") // 13 are 3 + 5 + 4 + 1
		w.exec("UPDATE quotas SET max_kept = 2 WHERE user_id = 'bob'")
		refused("above the bound of ann")
		w.exec("UPDATE quotas SET max_kept = 13 WHERE user_id = 'ann'")
		w.exec("UPDATE quotas SET max_kept = 1 WHERE user_id = 'bob'")
		refused("above the bound of bob")
		w.exec("UPDATE quotas SET max_kept = 2 WHERE user_id = 'bob'")
		if got := w.rewind(w.admin, "/team/box", then); got != "completed" {
			t.Fatal(got)
		}
		if ann, bob := w.kept("ann"), w.kept("bob"); ann != 13+1 || bob != 2 { // with the version that was restored
			t.Errorf("kept: %d and %d bytes", ann, bob)
		}
		w.checkAccounting()
	})
}

// The plan of a rewind names a file whose former content the user may not read: the job leaves it
// as it is.
func TestRewindPlansNoRefusedContent(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		w.addRule(access.Rule{Pattern: "/home/ann/**", Effect: access.Allow, UserID: "bob",
			Permissions: access.Set(access.Read) | access.Set(access.Write) | access.Set(access.Update) |
				access.Set(access.Delete)}) // not to download
		w.mustUpload(w.ann, "/home/ann/box/a", "old")
		w.advance(time.Hour)
		then := w.clock()
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/box/a", "new")
		plan := w.plan(w.bob, "/home/ann/box", then)
		const why = "There is no such version of this file."
		if want := []files.BlockedRewind{{Path: "/home/ann/box/a", Why: why}}; !slices.Equal(plan.Blocked, want) ||
			plan.Revert.Count != 0 {
			t.Errorf("the plan reverts %d and blocks %+v", plan.Revert.Count, plan.Blocked)
		}
		const want = `failed: 1 entries could not be brought back. The first is "/home/ann/box/a": ` + why
		if got := w.rewind(w.bob, "/home/ann/box", then); got != want {
			t.Errorf("the job is %q", got)
		}
	})
}
