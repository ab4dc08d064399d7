package disk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/iotest"
	"time"

	"larder/internal/blob"
)

// observed is an operation that a store has reported.
type observed struct {
	op     Operation
	took   time.Duration
	failed bool
}

// slowBody is a body whose sender takes an hour.
type slowBody struct {
	io.Reader
	pass func(time.Duration)
}

func (b slowBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.pass(time.Hour)
	}
	return n, err
}

// A store reports completed operations with their time, without that of the body, and operations
// that the disk made fail. It reports no operation that ends because of its key or its body.
func TestOperationsAreObserved(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "store")
	if err := Create(dir, storeID); err != nil {
		t.Fatal(err)
	}
	now := fixedClock()
	var all []observed
	s, err := Open(dir, storeID, Options{
		Now: func() time.Time { now = now.Add(time.Second); return now },
		Observe: func(op Operation, took time.Duration, failed bool) {
			all = append(all, observed{op, took, failed})
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	slow := func(text string) io.Reader {
		return slowBody{bytes.NewReader([]byte(text)), func(d time.Duration) { now = now.Add(d) }}
	}
	reported := func(doing string, want ...observed) {
		t.Helper()
		if !reflect.DeepEqual(all, want) {
			t.Errorf("%s: reported %v, want %v", doing, all, want)
		}
		all = nil
	}
	put := func(at blob.Key, body io.Reader) error {
		_, err := s.Put(ctx, at, body, blob.PutOptions{Size: -1, Max: -1})
		return err
	}
	get := func(at blob.Key) error {
		o, err := s.Open(ctx, at)
		if err == nil {
			err = o.Close()
		}
		return err
	}

	const key, partsKey, otherKey blob.Key = "0a/00112233445566778899aabbccddeeff.bin",
		"0b/00112233445566778899aabbccddeeff.bin", "0c/00112233445566778899aabbccddeeff.bin"
	if err := errors.Join(put(key, slow("text")), get(key)); err != nil {
		t.Fatal(err)
	}
	reported("put and open", observed{PutOperation, time.Second, false}, observed{OpenOperation, time.Second, false})

	u, err := s.Begin(ctx, partsKey, 4, 4, "")
	if err != nil {
		t.Fatal(err)
	}
	part, err := s.PutPart(ctx, u, 1, slow("text"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(ctx, u, []blob.Part{part}); err != nil {
		t.Fatal(err)
	}
	reported("an upload in parts", observed{PartOperation, time.Second, false},
		observed{FinishOperation, time.Second, false})

	otherStore := blob.Unavailable("read", errors.New("gone"))
	if put(key, slow("text")) == nil || put(otherKey, io.MultiReader(slow("a"), iotest.ErrReader(otherStore))) == nil ||
		get(otherKey) == nil {
		t.Error("a taken key, a broken body or an absent object is no error")
	}
	reported("a taken key, a broken body and an absent object")

	if err := s.Delete(ctx, key); err != nil {
		t.Fatal(err)
	}
	reported("delete", observed{DeleteOperation, time.Second, false})

	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	if put(key, slow("text")) == nil || get(key) == nil || s.Delete(ctx, key) == nil {
		t.Error("a missing disk is no error")
	}
	reported("a missing disk", observed{PutOperation, time.Second, true}, observed{OpenOperation, time.Second, true},
		observed{DeleteOperation, time.Second, true})
}
