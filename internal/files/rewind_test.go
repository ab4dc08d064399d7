package files_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"larder/internal/access"
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

// Every change of a rewind is decided on: what the actor may not change stays, and is told.
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
