package files_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/files"
	"larder/internal/job"
)

// evacuate queues an evacuation as a job of ann's, runs it as long as one is due, and returns it.
func (f *storesFixture) evacuate(how files.Evacuation) job.Job {
	f.t.Helper()
	id := f.ids.UUID()
	f.write(func(tx *db.Tx) error {
		return job.Insert(tx, job.Spec{ID: id, Type: "evacuate", OwnerID: "ann", CreatedAt: f.clock().UnixMilli()})
	})
	r := f.newJobRunner()
	r.Handle("evacuate", func(ctx context.Context, run *job.Run) error { return f.tree.Evacuate(ctx, run, how) })
	for range 100 {
		if ran, err := r.RunNext(f.t.Context()); err != nil || !ran {
			f.must(err)
			if f.job(id).Status != "pending" {
				break
			}
			f.advance(time.Minute) // the next attempt
		}
	}
	return f.job(id)
}

// Every object is copied once, however often an attempt ends in between and however many files have
// it, and all files stay readable under their ETags.
func TestEvacuateIsInterrupted(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g := w.uploadTree("/home/ann/box", sampleFiles())
		w.exec("UPDATE objects SET sha256 = NULL") // as for uploads in parts
		_, err := w.tree.Copy(t.Context(), w.ann, g.ids["a.txt"], mustParsePath("/home/ann"), nil)
		w.must(err)
		stored := 0
		w.setHook(func(n int, op, provider string) error {
			if op == "stored" {
				stored++
			}
			if n%5 == 0 {
				return errors.New("the store is away")
			}
			return nil
		})
		j := w.evacuate(files.Evacuation{From: "local", To: "vault"})
		w.setHook(nil)
		if j.Status != "completed" || w.countObjects("local") != 0 || w.countObjects("vault") != len(g.content) {
			t.Errorf("job %+v; objects: %d in the old provider, %d in the new one", j, w.countObjects("local"),
				w.countObjects("vault"))
		}
		if stored > 2*len(g.content) {
			t.Errorf("%d copies of %d objects", stored, len(g.content))
		}
		w.checkReadableBelow(g, "/home/ann/box", "/vault/box")
		if got, err := w.readPath(w.ann, "/home/ann/a.txt"); err != nil || got != g.content["a.txt"] {
			t.Errorf("the copy is %.20q (%v)", got, err)
		}
		w.advance(3 * time.Hour)
		w.collect()
		if n := w.countStored("local"); n != 0 {
			t.Errorf("%d old objects are left after the grace period", n)
		}
	})
}

// A copy that differs from the record ends the job. The source stays, and the copy is removed.
func TestEvacuateRefusesOtherContent(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUpload(w.ann, "/home/ann/a.txt", "as it is recorded")
		w.wrapObject = func(o blob.Object) blob.Object { return &changedObject{Object: o} }
		j := w.evacuate(files.Evacuation{From: "local", To: "vault"})
		w.wrapObject = nil
		if j.Status != "failed" || !strings.Contains(*j.ErrorMessage, "differs from what is recorded") {
			t.Errorf("job %+v", j)
		}
		if got, err := w.readPath(w.ann, "/home/ann/a.txt"); err != nil || got != "as it is recorded" {
			t.Errorf("the file is %q (%v)", got, err)
		}
		w.advance(time.Second)
		w.collect()
		if n := w.countStored("vault"); n != 0 || w.countObjects("local") != 1 {
			t.Errorf("%d copies are left, %d objects in the old provider", n, w.countObjects("local"))
		}

		w.exec("UPDATE objects SET key = 'ab/" + strings.Repeat("0", 32) + "'")
		j = w.evacuate(files.Evacuation{From: "local", To: "vault"})
		if j.Status != "failed" || !strings.Contains(*j.ErrorMessage, "is not in its storage") {
			t.Errorf("job %+v of a missing object", j)
		}
	})
}

// changedObject is an object of which a bit has changed.
type changedObject struct{ blob.Object }

func (o *changedObject) Read(b []byte) (int, error) {
	n, err := o.Object.Read(b)
	if n > 0 {
		b[0] ^= 1
	}
	return n, err
}

// A rate limit holds for all bytes together, by the clock, and old objects stay as long as asked.
func TestEvacuateIsSlow(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		for _, name := range []string{"a", "b", "c"} {
			w.mustUpload(w.ann, "/home/ann/"+name, strings.Repeat(name, 100_000))
		}
		begun := w.clock()
		w.tree.Sleep = func(_ context.Context, d time.Duration) error {
			if d > time.Second {
				t.Errorf("it sleeps for %v", d)
			}
			w.advance(d)
			return nil
		}
		j := w.evacuate(files.Evacuation{From: "local", To: "vault", BytesPerSecond: 10_000, KeepFor: 48 * time.Hour})
		if took := w.clock().Sub(begun); j.Status != "completed" || took < 29*time.Second || took > 31*time.Second {
			t.Errorf("300,000 bytes took %v at 10,000 a second; job %+v", took, j)
		}
		w.advance(47 * time.Hour)
		w.collect()
		if n := w.countStored("local"); n != 3 {
			t.Errorf("%d old objects are there, want 3", n)
		}
		w.advance(time.Hour)
		w.collect()
		if n := w.countStored("local"); n != 0 {
			t.Errorf("%d old objects are left", n)
		}
	})
}
