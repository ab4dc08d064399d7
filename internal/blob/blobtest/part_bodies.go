package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/iotest"

	"larder/internal/blob"
)

// parallelBodiesOfOnePart checks that of ten parallel bodies for one part exactly one becomes the
// part, as a whole, and that Parts lists its ETag.
func parallelBodiesOfOnePart(t *testing.T, s blob.Store) { // abuse case C100
	u := beginUpload(t, s, 1, lastSize)
	_, last := mustPutPart(t, s, u, 2, 100)
	var wg sync.WaitGroup
	bodies, tags, errs := make([][]byte, 10), make([]string, 10), make([]error, 10)
	for i := range bodies {
		bodies[i] = seededContent(partSize, byte(i))
		wg.Go(func() {
			p, err := s.PutPart(t.Context(), u, 1, iotest.HalfReader(bytes.NewReader(bodies[i])))
			tags[i], errs[i] = p.ETag, err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	parts, err := s.Parts(t.Context(), u)
	if err != nil || len(parts) != 2 {
		t.Fatalf("Parts = %+v, %v, want two", parts, err)
	}
	winner := slices.Index(tags, parts[0].ETag)
	if winner < 0 {
		t.Fatalf("ETag %q was told to nobody: %q", parts[0].ETag, tags)
	}
	mustFinish(t, s, u, slices.Concat(bodies[winner], last))
}

// wrongBody is a body that PutPart must refuse.
type wrongBody struct {
	name string
	body func(cancel func()) io.Reader // cancel ends the context of the operation
	want func(error) bool
}

// wrongBodies returns the bodies that PutPart must refuse for a part of length bytes: too short,
// failing, cancelled, or one byte too long.
func wrongBodies(length int) (all []wrongBody) {
	short := func(err error) bool { return errors.As(err, new(blob.ErrSize)) }
	broken := func(err error) bool { return errors.As(err, new(blob.ErrReader)) && errors.Is(err, errBody) }
	over := func(err error) bool { return errors.Is(err, context.Canceled) }
	body := seededContent(length+1, 55)
	for _, n := range []int{0, 1, length / 2, length - 1} {
		all = append(all,
			wrongBody{fmt.Sprintf("%d_bytes", n), func(func()) io.Reader { return bytes.NewReader(body[:n]) }, short},
			wrongBody{fmt.Sprintf("broken_after_%d", n), func(func()) io.Reader {
				return io.MultiReader(bytes.NewReader(body[:n]), iotest.ErrReader(errBody))
			}, broken},
			wrongBody{fmt.Sprintf("cancelled_after_%d", n),
				func(cancel func()) io.Reader { return bodyWithHook(body[:length], n, cancel) }, over})
	}
	return append(all, wrongBody{"one_byte_more", func(func()) io.Reader { return bytes.NewReader(body) }, short})
}

// partsWrongBodies checks that a refused body leaves the part as it was or missing, never partly
// written.
func partsWrongBodies(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 1, lastSize)
	p1, b1 := mustPutPart(t, s, u, 1, 1)
	old, _ := mustPutPart(t, s, u, 2, 2)
	for _, wrong := range wrongBodies(lastSize) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.PutPart(ctx, u, 2, wrong.body(cancel))
		cancel()
		if !wrong.want(err) || errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("%s: PutPart = %v", wrong.name, err)
		}
		parts, err := s.Parts(t.Context(), u)
		if err != nil || !slices.Equal(parts, []blob.Part{p1, old}) && !slices.Equal(parts, []blob.Part{p1}) {
			t.Errorf("%s: Parts = %+v, %v, want part 2 as it was or missing", wrong.name, parts, err)
		}
		if len(parts) < 2 {
			if _, err := FinishListed(t.Context(), s, u); !errors.Is(err, blob.ErrPart) {
				t.Errorf("%s: Finish without the part = %v, want ErrPart", wrong.name, err)
			}
			old, _ = mustPutPart(t, s, u, 2, 2)
		}
	}
	var body endlessBody
	if _, err := s.PutPart(t.Context(), u, 2, &body); !errors.As(err, new(blob.ErrSize)) || body.count != lastSize+1 {
		t.Errorf("endless body = %v after %d bytes, want ErrSize after one more than the part has", err, body.count)
	}
	old, body2 := mustPutPart(t, s, u, 2, 2)
	wantParts(t, s, u, p1, old)
	mustFinish(t, s, u, slices.Concat(b1, body2))
}

// partsPanic checks that a panic of the body reaches the caller of PutPart, and that the part can
// be put afterwards.
func partsPanic(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 0, lastSize)
	for _, n := range []int{0, lastSize / 2, lastSize} {
		func() {
			defer func() {
				if recover() != "body" {
					t.Error("the panic of the body did not come through")
				}
			}()
			s.PutPart(t.Context(), u, 1, bodyWithHook(seededContent(lastSize, 8), n, func() { panic("body") }))
		}()
		wantParts(t, s, u)
	}
	_, body := mustPutPart(t, s, u, 1, 1) // the part is no longer locked
	mustFinish(t, s, u, body)
}

// putPartWithHook puts a part, calls then after half of its body was read, and returns PutPart's
// error. It ends the test when PutPart did not read that far.
func putPartWithHook(t *testing.T, s blob.Store, u blob.Upload, number int, body []byte, then func()) error {
	t.Helper()
	called := false
	_, err := s.PutPart(t.Context(), u, number, bodyWithHook(body, len(body)/2, func() { called = true; then() }))
	if !called {
		t.Fatalf("PutPart ended before half of the body: %v", err)
	}
	return err
}

// partsDuringFinish calls Finish while a part is being replaced: either Finish takes the earlier
// part and the late one is refused, or Finish returns ErrBusy.
func partsDuringFinish(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 1, lastSize)
	p1, b1 := mustPutPart(t, s, u, 1, 1)
	p2, b2 := mustPutPart(t, s, u, 2, 2)
	other := seededContent(partSize, 3)
	var finished error
	late := putPartWithHook(t, s, u, 1, other, func() { _, finished = s.Finish(t.Context(), u, []blob.Part{p1, p2}) })
	switch {
	case finished == nil: // with the earlier parts
		if late == nil {
			t.Error("a part was taken after Finish")
		}
		wantContent(t, s, u.Key, slices.Concat(b1, b2))
	case errors.Is(finished, blob.ErrBusy) && late == nil:
		mustFinish(t, s, u, slices.Concat(other, b2))
	default:
		t.Errorf("Finish while a part comes = %v, the part = %v", finished, late)
	}
	wantNoUpload(t, s, u)
}

// partsDuringAbort checks that a part in progress during Abort fails with ErrNotFound and leaves
// nothing.
func partsDuringAbort(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 0, partSize)
	late := putPartWithHook(t, s, u, 1, seededContent(partSize, 1), func() {
		if err := s.Abort(t.Context(), u); err != nil {
			t.Errorf("Abort while a part comes = %v", err)
		}
	})
	if !errors.Is(late, blob.ErrNotFound) {
		t.Errorf("the part that was under way = %v, want ErrNotFound", late)
	}
	wantNoUpload(t, s, u)
	WantAbsent(t, s, u.Key)
}
