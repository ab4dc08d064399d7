package upload_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/fault"
)

// storeDown is a failure of the store: before it does anything, or after.
func storeDown(late bool) blobtest.Fault {
	return blobtest.Fault{Err: blob.Unavailable("use store", errors.New("EIO")), AnswerLost: late}
}

// Abuse cases C125 and C128 for parts: whatever the store does, nothing is lost, charged twice or
// left over.
func TestFailingStoreOfParts(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		content := distinctBytes(2500)
		for _, late := range []bool{false, true} {
			what := fmt.Sprintf("late: %v, ", late)
			w.store.QueueFaults(blobtest.Begin, storeDown(late))
			_, err := w.up.Create(ctx, w.ann, inParts("f", 2500, ""))
			w.wantFault(err, fault.Unavailable, what+"begin")
			w.wantReserved(w.ann, 0, 0)

			id := w.create(w.ann, inParts("f", 2500, "")).ID
			w.putParts(w.ann, id, content, 1, 3)
			w.store.QueueFaults(blobtest.PutPart, storeDown(late))
			_, err = w.up.PutPart(ctx, w.ann, id, 2, strings.NewReader(partOf(content, 2)), -1)
			w.wantFault(err, fault.Unavailable, what+"part")
			w.store.QueueFaults(blobtest.Parts, storeDown(late))
			_, err = w.up.Parts(ctx, w.ann, id)
			w.wantFault(err, fault.Unavailable, what+"parts")
			w.putPart(w.ann, id, 2, partOf(content, 2))
			w.store.QueueFaults(blobtest.Finish, storeDown(late))
			_, _, err = w.up.Complete(ctx, w.ann, id, "")
			w.wantFault(err, fault.Unavailable, what+"finish")
			w.wantReserved(w.ann, 2500, 1)
			w.checkInvariants()

			w.wantParts(w.ann, id, []int{1, 2, 3}, nil)
			if late { // the object is complete and does not change
				_, err = w.up.PutPart(ctx, w.ann, id, 2, strings.NewReader(strings.Repeat("x", partLength)), -1)
				w.wantFault(err, fault.Conflict, "a part of an object that is being assembled")
			}
			w.store.QueueFaults(blobtest.Stat, storeDown(late))
			_, _, err = w.up.Complete(ctx, w.ann, id, "")
			w.wantFault(err, fault.Unavailable, what+"stat")
			w.store.QueueFaults(blobtest.Open, storeDown(late))
			_, _, err = w.up.Complete(ctx, w.ann, id, "")
			w.wantFault(err, fault.Unavailable, what+"a look at the first bytes")
			entry := w.complete(w.ann, id, "")
			if w.content(w.ann, entry.ID) != content {
				t.Error("other bytes")
			}
			if _, _, err := w.tree.Delete(ctx, w.ann, entry.ID); err != nil {
				t.Fatal(err)
			}
			w.wantUsed(w.ann, 0, 0)
		}
		w.advance(3 * time.Hour)
		w.wantOnlyFileObjects("in the end")
	})
}

func TestPartStoredInPartIsRefused(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.beginParts("", 1, 2, 3)
		w.store.QueueFaults(blobtest.PutPart,
			blobtest.Fault{Err: blob.NoSpace("write", errors.New("ENOSPC")), FailAfter: 10})
		_, err := w.up.PutPart(ctx, w.ann, id, 2, strings.NewReader(strings.Repeat("x", partLength)), -1)
		w.wantFault(err, fault.Unavailable, "a full store")
		if w.content(w.ann, w.complete(w.ann, id, "").ID) != distinctBytes(2500) {
			t.Error("other bytes")
		}
	})
}

func TestCompletionWaitsAMomentForABusyStore(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.beginParts("", 1, 2, 3)
		busy := blobtest.Fault{Err: blob.ErrBusy}
		w.store.QueueFaults(blobtest.Finish, busy, busy, busy)
		w.complete(w.ann, id, "")
		id = w.beginParts("", 1, 2, 3)
		for range 100 {
			w.store.QueueFaults(blobtest.Finish, busy)
		}
		_, _, err := w.up.Complete(ctx, w.ann, id, "")
		w.wantFault(err, fault.Conflict, "a store that stays busy")
	})
}

// No file is made of other bytes than those received.
func TestCompletionChecksTheAssembledObject(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.beginParts("", 1, 2, 3)
		w.store.QueueFaults(blobtest.Stat, blobtest.Fault{Err: blob.ErrNotFound}, blobtest.Fault{Err: blob.ErrNotFound})
		_, _, err := w.up.Complete(ctx, w.ann, id, "")
		w.wantFault(err, fault.Conflict, "an object that is not there")
		w.wantUsed(w.ann, 0, 0)
		w.complete(w.ann, id, "")
	})
}

// A store that does not answer is asked again later, and other sessions do not wait for it; after a
// day the session ends either way.
func TestExpiryWaitsForItsStore(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		w.beginParts("k", 1, 3)
		w.create(w.ann, inParts("g", 1000, ""))
		w.create(w.ann, file("h", 5))
		w.advance(time.Hour)
		w.store.SetDown(errors.New("EIO"))
		w.sweep()
		w.wantReserved(w.ann, 2500, 1)
		_, err := w.up.Create(ctx, w.ann, inParts("f", 2500, "k"))
		w.wantFault(err, fault.Unavailable, "continuing while the store is down")
		w.store.SetDown(nil)
		w.sweep()
		w.wantReserved(w.ann, 1500, 0)
		w.wantParts(w.ann, w.create(w.ann, inParts("f", 2500, "k")).ID, []int{1, 3}, []int{2})
		w.advance(time.Hour)
		w.store.SetDown(errors.New("EIO"))
		w.advance(24*time.Hour - time.Millisecond)
		w.sweep()
		w.wantReserved(w.ann, 2500, 1)
		w.advance(time.Millisecond)
		w.sweep()
		w.wantReserved(w.ann, 0, 0)
		w.store.SetDown(nil)
		w.wantOnlyFileObjects("in the end")
	})
}

// An object that an earlier completion has assembled is kept and taken over like parts.
func TestAssembledObjectIsKept(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.beginParts("k", 1, 2, 3)
		w.store.QueueFaults(blobtest.Finish, storeDown(true))
		_, _, err := w.up.Complete(ctx, w.ann, id, "")
		w.wantFault(err, fault.Unavailable, "the answer was lost")
		w.advance(time.Hour)
		w.sweep()
		w.wantReserved(w.ann, 2500, 0)
		second := w.create(w.ann, inParts("f", 2500, "k")).ID
		w.wantParts(w.ann, second, []int{1, 2, 3}, nil)
		if w.content(w.ann, w.complete(w.ann, second, "").ID) != distinctBytes(2500) {
			t.Error("other bytes")
		}
		w.advance(48 * time.Hour)
		w.wantOnlyFileObjects("in the end")
	})
}

// alteringStore is a store that alters what it reports about its objects.
type alteringStore struct {
	blob.Store
	finished, stat func(blob.Info) blob.Info
}

func (s alteringStore) Finish(ctx context.Context, u blob.Upload, parts []blob.Part) (blob.Info, error) {
	info, err := s.Store.Finish(ctx, u, parts)
	return s.finished(info), err
}

func (s alteringStore) Stat(ctx context.Context, key blob.Key) (blob.Info, error) {
	info, err := s.Store.Stat(ctx, key)
	return s.stat(info), err
}

// Abuse case C101: the store's ETag of the object is compared literally, and its size with the
// announced one.
func TestCompletionComparesSizeAndETag(t *testing.T) {
	tag := func(etag string) func(blob.Info) blob.Info {
		return func(info blob.Info) blob.Info { info.ETag = etag; return info }
	}
	shorter := func(info blob.Info) blob.Info { info.Size--; return info }
	same := func(info blob.Info) blob.Info { return info }
	for name, c := range map[string]struct {
		finished, stat func(blob.Info) blob.Info
		want           fault.Kind
	}{
		"the same": {tag(`"d41d8cd98f00b204e9800998ecf8427e-3"`), tag(`"d41d8cd98f00b204e9800998ecf8427e-3"`),
			noFault},
		"another etag": {tag(`"d41d8cd98f00b204e9800998ecf8427e-3"`), tag(`"d41d8cd98f00b204e9800998ecf8427e-2"`),
			fault.Unverified},
		"no quotes":        {tag(`"a-3"`), tag("a-3"), fault.Unverified},
		"one byte is gone": {same, shorter, fault.Unverified},
	} {
		eachInPartsNamed(t, name, func(t *testing.T, w *fixture) {
			w.up.WrapStores(func(inner blob.Store) blob.Store { return alteringStore{inner, c.finished, c.stat} })
			id := w.beginParts("", 1, 2, 3)
			if _, _, err := w.up.Complete(ctx, w.ann, id, `"a-3"`); kindOf(err) != c.want {
				t.Errorf("got %v", err)
			}
			if c.want != noFault {
				w.wantUsed(w.ann, 0, 0)
				w.wantReserved(w.ann, 2500, 1)
			}
		})
	}
}

// A completion that was overtaken by another one, and by the deletion of the file, reports the same
// as any later one.
func TestOvertakenCompletionFails(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id, release, done := w.beginParts("", 1, 2, 3), make(chan struct{}), make(chan error, 1)
		w.store.QueueFaults(blobtest.Finish, blobtest.Fault{WaitFor: release})
		go func() {
			_, _, err := w.up.Complete(ctx, w.ann, id, "")
			done <- err
		}()
		for w.store.Calls(blobtest.Finish) == 0 {
			runtime.Gosched()
		}
		w.advance(time.Minute) // the first process is suspended, and its lease expires
		entry := w.complete(w.ann, id, "")
		if _, _, err := w.tree.Delete(ctx, w.ann, entry.ID); err != nil {
			t.Fatal(err)
		}
		w.advance(2 * time.Hour)
		w.wantOnlyFileObjects("after the deletion")
		close(release)
		w.wantFault(<-done, fault.NotFound, "the file is gone")
		w.wantUsed(w.ann, 0, 0)
	})
}
