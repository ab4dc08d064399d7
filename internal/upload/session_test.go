package upload_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/upload"
	"larder/internal/vpath"
)

// Abuse case C36 for the rows of somebody else.
func TestEveryCallInEveryState(t *testing.T) {
	type calls struct{ raw, complete, abort fault.Kind }
	states := []struct {
		name string
		by   func(w *fixture) access.Actor
		make func(w *fixture) string
		want calls
	}{
		{"pending without bytes", nil, func(w *fixture) string { return w.create(w.ann, file("f", 3)).ID },
			calls{noFault, fault.Unverified, noFault}},
		{"pending with bytes", nil, func(w *fixture) string {
			id := w.create(w.ann, file("f", 3)).ID
			w.putRaw(w.ann, id, "abc")
			return id
		}, calls{noFault, noFault, noFault}},
		{"completed", nil, func(w *fixture) string {
			id := w.create(w.ann, file("f", 3)).ID
			w.complete(w.ann, id, w.putRaw(w.ann, id, "abc"))
			return id
		}, calls{fault.Conflict, noFault, fault.Conflict}},
		{"completed, after the hour", nil, func(w *fixture) string {
			id := w.create(w.ann, file("f", 3)).ID
			w.complete(w.ann, id, w.putRaw(w.ann, id, "abc"))
			w.advance(2 * time.Hour)
			return id
		}, calls{fault.Conflict, noFault, fault.Conflict}},
		{"aborted", nil, func(w *fixture) string {
			id := w.create(w.ann, file("f", 3)).ID
			w.putRaw(w.ann, id, "abc")
			if err := w.up.Abort(ctx, w.ann, id); err != nil {
				w.t.Fatal(err)
			}
			return id
		}, calls{fault.Conflict, fault.Conflict, noFault}},
		{"expired, not swept", nil, func(w *fixture) string {
			id := w.create(w.ann, file("f", 3)).ID
			w.putRaw(w.ann, id, "abc")
			w.advance(time.Hour)
			return id
		}, calls{fault.UploadExpired, fault.UploadExpired, noFault}},
		{"expired and swept", nil, func(w *fixture) string {
			id := w.create(w.ann, file("f", 3)).ID
			w.putRaw(w.ann, id, "abc")
			w.advance(time.Hour)
			if err := w.up.Sweep(ctx); err != nil {
				w.t.Fatal(err)
			}
			return id
		}, calls{fault.UploadExpired, fault.UploadExpired, noFault}},
		{"a millisecond before its end", nil, func(w *fixture) string {
			id := w.create(w.ann, file("f", 3)).ID
			w.putRaw(w.ann, id, "abc")
			w.advance(time.Hour - time.Millisecond)
			if err := w.up.Sweep(ctx); err != nil {
				w.t.Fatal(err)
			}
			return id
		}, calls{noFault, noFault, noFault}},
		{"somebody else's", func(w *fixture) access.Actor { return w.ben }, func(w *fixture) string {
			id := w.create(w.ann, file("f", 3)).ID
			w.putRaw(w.ann, id, "abc")
			return id
		}, calls{fault.NotFound, fault.NotFound, fault.NotFound}},
		{"somebody else's, for an administrator", func(w *fixture) access.Actor { return w.admin },
			func(w *fixture) string {
				return w.create(w.ann, file("f", 3)).ID
			}, calls{fault.NotFound, fault.NotFound, fault.NotFound}},
		{"unknown", nil, func(*fixture) string { return "5a1f3c1e-0000-4000-8000-000000000000" },
			calls{fault.NotFound, fault.NotFound, fault.NotFound}},
	}
	each(t, func(t *testing.T, w *fixture) {
		for _, state := range states {
			actor := w.ann
			if state.by != nil {
				actor = state.by(w)
			}
			var got calls
			_, _, err := w.up.PutRaw(ctx, actor, state.make(w), strings.NewReader("abc"), 3, "")
			got.raw = kindOf(err)
			_, _, err = w.up.Complete(ctx, actor, state.make(w), sha("abc"))
			got.complete = kindOf(err)
			got.abort = kindOf(w.up.Abort(ctx, actor, state.make(w)))
			if got != state.want {
				t.Errorf("%s: got %+v, want %+v", state.name, got, state.want)
			}
			w.checkInvariants()
		}
	})
}

// Abuse case C92.
func TestAnnouncementIsValidated(t *testing.T) {
	parts := func(n int64) *int64 { return &n }
	const limit = 100 * mebibyte
	cases := []struct {
		name   string
		change func(n *upload.NewSession)
		want   fault.Kind
	}{
		{"no bytes", func(n *upload.NewSession) { n.Size = 0 }, noFault},
		{"negative", func(n *upload.NewSession) { n.Size = -1 }, fault.Invalid},
		{"100 MiB", func(n *upload.NewSession) { n.Size = limit }, noFault},
		{"20 GiB and a byte", func(n *upload.NewSession) { n.Size = 20<<30 + 1 }, fault.Invalid},
		{"largest number", func(n *upload.NewSession) { n.Size = 1<<63 - 1 }, fault.Invalid},
		{"one part", func(n *upload.NewSession) { n.PartCount = parts(1) }, noFault},
		{"no part", func(n *upload.NewSession) { n.PartCount = parts(0) }, fault.Invalid},
		{"negative parts", func(n *upload.NewSession) { n.PartCount = parts(-1) }, fault.Invalid},
		{"two parts of nothing", func(n *upload.NewSession) { n.Size, n.PartCount = 0, parts(2) }, noFault},
		{"2,561 parts of nothing", func(n *upload.NewSession) { n.Size, n.PartCount = 0, parts(2561) }, fault.Invalid},
		{"invalid conflict", func(n *upload.NewSession) { n.Conflict = "overwrite" }, fault.Invalid},
		{"255 characters of key", func(n *upload.NewSession) { n.IdempotencyKey = strings.Repeat("é", 255) }, noFault},
		{"256 characters of key", func(n *upload.NewSession) { n.IdempotencyKey = strings.Repeat("k", 256) },
			fault.Invalid},
		{"NUL in the key", func(n *upload.NewSession) { n.IdempotencyKey = "a\x00b" }, fault.Invalid},
		{"no UTF-8 in the key", func(n *upload.NewSession) { n.IdempotencyKey = "a\xff" }, fault.Invalid},
		{"somebody else's home", func(n *upload.NewSession) { n.Dir = path("/home/ben") }, fault.Forbidden},
		{"the root", func(n *upload.NewSession) { n.Dir = vpath.Root }, fault.Forbidden},
		{"a folder to be made", func(n *upload.NewSession) { n.Dir = path("/home/ann/a/b") }, noFault},
	}
	each(t, func(t *testing.T, w *fixture) {
		if err := w.setLimits(w.ann, -1, -1); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			n := file("f", 5)
			c.change(&n)
			before := w.queryInt("SELECT count(*) FROM upload_sessions")
			session, err := w.up.Create(ctx, w.ann, n)
			if kindOf(err) != c.want {
				t.Errorf("%s: got %v, want fault %d", c.name, err, c.want)
			}
			if err != nil && w.queryInt("SELECT count(*) FROM upload_sessions") != before {
				t.Errorf("%s: a refused session is kept", c.name)
			}
			if err == nil && (session.Mode != "worker" || session.TotalParts != nil || session.Status != "pending" ||
				session.ExpiresAt != w.clock.Load()+3_600_000) {
				t.Errorf("%s: got %+v", c.name, session)
			}
		}
		_, err := w.up.Create(ctx, access.Actor{Role: access.Guest}, file("f", 5))
		w.wantFault(err, fault.Unauthorized, "a visitor")
	})
}

func TestReservationIsHeldAndGivenBack(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		want := func(doing string, reservedBytes, reservedFiles, usedBytes, usedFiles int64) {
			t.Helper()
			rb, rf := w.reserved(w.ann)
			ub, uf := w.used(w.ann)
			if rb != reservedBytes || rf != reservedFiles || ub != usedBytes || uf != usedFiles {
				t.Errorf("%s: reserved %d bytes %d files, used %d and %d", doing, rb, rf, ub, uf)
			}
		}
		first := w.create(w.ann, file("a", 6*mebibyte))
		want("one session", 6*mebibyte, 1, 0, 0)
		_, err := w.up.Create(ctx, w.ann, file("b", 6*mebibyte))
		w.wantFault(err, fault.QuotaExceeded, "a second one that does not fit")
		if err := w.up.Abort(ctx, w.ann, first.ID); err != nil {
			t.Fatal(err)
		}
		want("aborted", 0, 0, 0, 0)
		if err := w.up.Abort(ctx, w.ann, first.ID); err != nil {
			t.Fatal(err)
		}
		want("aborted again", 0, 0, 0, 0)

		second := w.create(w.ann, file("b", 5))
		w.create(w.ann, file("c", 7))
		w.complete(w.ann, second.ID, w.putRaw(w.ann, second.ID, "hello"))
		want("one completed, one open", 7, 1, 5, 1)
		w.advance(time.Hour)
		for range 2 {
			if err := w.up.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
			want("swept", 0, 0, 5, 1)
		}
	})
}

// Abuse case C88.
func TestParallelSessionsNeverOvercommitTheQuota(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		got := parallel(50, func(i int) error {
			_, err := w.up.Create(ctx, w.ann, file(fmt.Sprint("f", i), 6*mebibyte))
			return err
		})
		if got[noFault] != 1 || got[fault.QuotaExceeded] != 49 {
			t.Errorf("outcomes %v", got)
		}
	})
}

// Abuse case C102.
func TestAtMost100SessionsAreOpen(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		got := parallel(120, func(i int) error {
			_, err := w.up.Create(ctx, w.ann, file(fmt.Sprint("f", i), 1))
			return err
		})
		if got[noFault] != 100 || got[fault.Conflict] != 20 {
			t.Errorf("outcomes %v", got)
		}
		list, err := w.up.List(ctx, w.ann, upload.All)
		if err != nil || len(list) != 100 {
			t.Fatalf("%d sessions, %v", len(list), err)
		}
		w.create(w.ben, upload.NewSession{Dir: path("/home/ben"), Name: "f", Size: 1})
		if err := w.up.Abort(ctx, w.ann, list[0].ID); err != nil {
			t.Fatal(err)
		}
		w.create(w.ann, file("one more", 1))
		w.advance(time.Hour)
		w.create(w.ann, file("after the others' time", 1))
		if list, err := w.up.List(ctx, w.ann, upload.All); err != nil || len(list) != 1 ||
			list[0].Name != "after the others' time" {
			t.Errorf("got %+v, %v", list, err)
		}
	})
}

func TestNameConflicts(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		old := w.put("cat.jpg", "old")
		with := func(how files.Conflict) upload.NewSession {
			n := file("cat.jpg", 3)
			n.Conflict = how
			return n
		}
		_, err := w.up.Create(ctx, w.ann, with("fail"))
		w.wantFault(err, fault.AlreadyExists, "fail on creation")

		n := file("dog.jpg", 3)
		n.Conflict = "fail"
		late := w.create(w.ann, n)
		w.put("dog.jpg", "first")
		_, _, err = w.up.Complete(ctx, w.ann, late.ID, w.putRaw(w.ann, late.ID, "new"))
		w.wantFault(err, fault.AlreadyExists, "fail on completion")
		w.checkInvariants()

		renamed := w.create(w.ann, with(""))
		if got := w.complete(w.ann, renamed.ID, w.putRaw(w.ann, renamed.ID, "new")); got.Name != "cat (1).jpg" ||
			got.ID == old.ID {
			t.Errorf("renamed: %+v", got)
		}
		replaced := w.create(w.ann, with("replace"))
		if got := w.complete(w.ann, replaced.ID, w.putRaw(w.ann, replaced.ID, "new")); got.Name != "cat.jpg" ||
			got.ID != old.ID {
			t.Errorf("replaced: %+v", got)
		}
		if got := w.content(w.ann, old.ID); got != "new" {
			t.Errorf("content %q", got)
		}
	})
}
