package upload_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/upload"
)

// lateStore is a store whose answers to Put are lost, and which finishes the objects after the
// caller has gone.
type lateStore struct {
	blob.Store
	finish *[]func() error
}

func (l lateStore) Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (blob.Info, error) {
	sent, err := io.ReadAll(body)
	if err != nil {
		return blob.Info{}, err
	}
	*l.finish = append(*l.finish, func() error {
		_, err := l.Store.Put(context.WithoutCancel(ctx), key, bytes.NewReader(sent), opts)
		return err
	})
	return blob.Info{}, blob.Unavailable("put object", context.DeadlineExceeded)
}

// An object that a store finishes after its timeout is still on the garbage list, and is deleted in
// the end.
func TestObjectFinishedLateIsDeleted(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		w.advance(48 * time.Hour)
		w.wantOnlyFileObjects("before")
		before := len(w.storedKeys())
		session := w.create(w.ann, file("by session", 5))
		var finish []func() error
		w.up.WrapStores(func(inner blob.Store) blob.Store { return lateStore{inner, &finish} })
		for _, size := range []int{5, 300 << 10} {
			_, err := w.up.Put(ctx, w.ann, oneShot("f", strings.Repeat("x", size), int64(size)))
			w.wantFault(err, fault.Unavailable, "a Put without an answer")
		}
		_, _, err := w.up.PutRaw(ctx, w.ann, session.ID, strings.NewReader("hello"), 5, "")
		w.wantFault(err, fault.Unavailable, "bytes without an answer")
		w.wantReserved(w.ann, 5, 1) // those of the session; nothing else is reserved
		w.collect()
		if len(finish) != 3 {
			t.Fatalf("%d bodies were sent", len(finish))
		}
		for _, late := range finish {
			if err := late(); err != nil {
				t.Error(err)
			}
		}
		w.checkInvariants()
		w.advance(3 * time.Hour)
		w.sweepAndCollect()
		if now := len(w.storedKeys()); now != before {
			t.Errorf("%d objects are stored, want %d", now, before)
		}
	})
}

// silentStore is a store that never answers which parts came in.
type silentStore struct{ blob.Store }

func (silentStore) Parts(ctx context.Context, _ blob.Upload) ([]blob.Part, error) {
	<-ctx.Done()
	return nil, blob.Unavailable("list parts", ctx.Err())
}

// A store that does not answer which parts came in delays neither lists nor the sweep.
func TestSilentStoreDelaysNeitherListNorSweep(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		w.beginParts("k", 1)
		w.up.WrapStores(func(inner blob.Store) blob.Store { return silentStore{inner} })
		w.up.SetAnswerTime(10 * time.Millisecond)
		list, err := w.up.List(ctx, w.ann, upload.All)
		if err != nil || len(list) != 1 || list[0].Received != nil {
			t.Errorf("listed %+v, %v", list, err)
		}
		w.advance(time.Hour)
		w.sweep()
		w.wantReserved(w.ann, 2500, 1) // until the store answers
	})
}
