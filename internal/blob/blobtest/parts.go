package blobtest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"larder/internal/blob"
)

// partSize is the smallest part that S3 accepts, except for the last part. lastSize gives the last
// part an odd length.
const (
	partSize = 5 << 20
	lastSize = 70_001
)

// partTests are the tests of uploads in parts.
var partTests = map[string]func(*testing.T, blob.Store){
	"parts_in_any_order_make_the_object":                   partsInAnyOrder,
	"parts_side_by_side_make_the_object":                   partsInParallel,
	"one_part_suffices":                                    singlePart,
	"of_ten_bodies_for_one_part_one_counts":                parallelBodiesOfOnePart,
	"part_put_again_replaces_the_first":                    partsReplaced,
	"part_replaced_since_it_was_named_is_not_put_together": partsReplacedSinceListed,
	"part_with_a_wrong_body_is_missing_or_as_it_was":       partsWrongBodies,
	"part_whose_body_panics_is_missing_or_as_it_was":       partsPanic,
	"part_numbers_out_of_range_are_refused":                partsOutOfRange,
	"uploads_that_cannot_be_are_refused":                   partsBadBegin,
	"upload_with_a_part_missing_is_not_finished":           partsMissing,
	"finished_upload_takes_nothing_more":                   partsAfterFinish,
	"part_under_way_while_finishing_changes_no_object":     partsDuringFinish,
	"aborted_upload_is_gone":                               partsAborted,
	"part_under_way_while_aborting_is_dropped":             partsDuringAbort,
	"abort_leaves_a_finished_object":                       partsAbortFinished,
	"upload_that_was_never_begun_is_not_found":             unknownUpload,
	"deleted_key_has_no_parts":                             partsDeleted,
	"key_begun_again_is_finished_without_the_other":        partsBegunAgain,
	"uploads_of_two_keys_keep_their_parts_apart":           partsOfTwoKeys,
	"cancelled_operations_on_uploads_say_so":               partsCancelled,
	"object_put_at_the_key_meanwhile_is_never_replaced":    partsNeverReplace,
}

// seededContent returns n test bytes that differ at every offset from those of any other seed.
func seededContent(n int, seed byte) []byte {
	b := pattern(n)
	for i := range b {
		b[i] ^= seed
	}
	return b
}

// beginUpload begins an upload under a fresh key: whole parts of partSize bytes, then a last part
// of last bytes.
func beginUpload(t *testing.T, s blob.Store, whole int, last int64) blob.Upload {
	t.Helper()
	u, err := s.Begin(t.Context(), NewKey(), int64(whole)*partSize+last, partSize, "")
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	return u
}

// mustPutPart puts a part of the required length, filled from seed, and returns the part and its
// bytes. It ends the test on an error.
func mustPutPart(t *testing.T, s blob.Store, u blob.Upload, number int, seed byte) (blob.Part, []byte) {
	t.Helper()
	body := seededContent(int(u.PartLength(number)), seed)
	p, err := s.PutPart(t.Context(), u, number, bytes.NewReader(body))
	if err != nil {
		t.Fatalf("PutPart %d: %v", number, err)
	}
	if p.Number != number || p.Size != int64(len(body)) || p.ETag == "" {
		t.Errorf("PutPart %d = %+v, want its number, %d bytes and an ETag", number, p, len(body))
	}
	return p, body
}

// wantParts fails the test unless the store lists exactly these parts.
func wantParts(t *testing.T, s blob.Store, u blob.Upload, want ...blob.Part) {
	t.Helper()
	got, err := s.Parts(t.Context(), u)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Parts = %+v, %v, want %+v", got, err, want)
	}
}

// FinishListed finishes an upload with the parts that the store lists, none if the store does not
// know the upload. It returns what Finish returns.
func FinishListed(ctx context.Context, s blob.PartStore, u blob.Upload) (blob.Info, error) {
	parts, err := s.Parts(ctx, u)
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		return blob.Info{}, err
	}
	return s.Finish(ctx, u, parts)
}

// mustFinish finishes the upload and fails the test unless the object has the bytes want.
func mustFinish(t *testing.T, s blob.Store, u blob.Upload, want []byte) {
	t.Helper()
	info, err := FinishListed(t.Context(), s, u)
	if err != nil || info.Size != u.Size || info.SHA256 != nil {
		t.Fatalf("Finish = %+v, %v, want %d bytes and no hash", info, err, u.Size)
	}
	wantContent(t, s, u.Key, want)
}

// wantContent fails the test unless the object at key has exactly the bytes want.
func wantContent(t *testing.T, s blob.Store, key blob.Key, want []byte) {
	t.Helper()
	if got := Content(t, s, key); !bytes.Equal(got, want) {
		t.Errorf("the object has %d bytes, want %d; equal up to %d", len(got), len(want), commonPrefix(got, want))
	}
}

// commonPrefix returns the number of equal bytes at the start of a and b.
func commonPrefix(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// wantNoUpload fails the test unless Parts and PutPart return ErrNotFound for the upload.
func wantNoUpload(t *testing.T, s blob.Store, u blob.Upload) {
	t.Helper()
	if parts, err := s.Parts(t.Context(), u); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Parts = %v, %v, want ErrNotFound", parts, err)
	}
	if _, err := s.PutPart(t.Context(), u, 1, bytes.NewReader(seededContent(int(u.PartLength(1)), 9))); !errors.Is(err,
		blob.ErrNotFound) {
		t.Errorf("PutPart = %v, want ErrNotFound", err)
	}
}

// partsInAnyOrder checks that parts put as 3, 1, 2 are listed by number and assembled in order, and
// that the object is absent before Finish.
func partsInAnyOrder(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 2, lastSize)
	wantParts(t, s, u)
	WantAbsent(t, s, u.Key)
	p3, b3 := mustPutPart(t, s, u, 3, 3)
	wantParts(t, s, u, p3)
	p1, b1 := mustPutPart(t, s, u, 1, 1)
	p2, b2 := mustPutPart(t, s, u, 2, 2)
	wantParts(t, s, u, p1, p2, p3)
	WantAbsent(t, s, u.Key) // all parts are stored, and the object still cannot be read
	mustFinish(t, s, u, slices.Concat(b1, b2, b3))
	if info, err := s.Stat(t.Context(), u.Key); err != nil || info.Size != u.Size {
		t.Errorf("Stat = %+v, %v", info, err)
	}
}

// partsInParallel checks that parts put in parallel are all kept.
func partsInParallel(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 3, lastSize)
	var wg sync.WaitGroup
	parts, bodies, errs := make([]blob.Part, 4), make([][]byte, 4), make([]error, 4)
	for i := range parts {
		bodies[i] = seededContent(int(u.PartLength(i+1)), byte(i))
		wg.Go(func() {
			parts[i], errs[i] = s.PutPart(t.Context(), u, i+1, iotest.HalfReader(bytes.NewReader(bodies[i])))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	wantParts(t, s, u, parts...)
	mustFinish(t, s, u, slices.Concat(bodies...))
}

// singlePart checks that an upload of one part makes its object, and that it refuses a second part.
func singlePart(t *testing.T, s blob.Store) {
	for _, size := range []int64{1, 20_000, lastSize, partSize} {
		u, err := s.Begin(t.Context(), NewKey(), size, partSize, "")
		if err != nil {
			t.Fatal(err)
		}
		p, body := mustPutPart(t, s, u, 1, 7)
		wantParts(t, s, u, p)
		if _, err := s.PutPart(t.Context(), u, 2, strings.NewReader("x")); !errors.Is(err, blob.ErrPart) {
			t.Errorf("part 2 of an upload of %d bytes = %v, want ErrPart", size, err)
		}
		mustFinish(t, s, u, body)
	}
}

// partsReplaced checks that a second body for a part replaces the first and changes the ETag.
func partsReplaced(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 1, lastSize)
	first, _ := mustPutPart(t, s, u, 1, 1)
	p2, b2 := mustPutPart(t, s, u, 2, 2)
	second, body := mustPutPart(t, s, u, 1, 3)
	if first.ETag == second.ETag {
		t.Errorf("two bodies have the ETag %q", first.ETag)
	}
	wantParts(t, s, u, second, p2)
	again, _ := mustPutPart(t, s, u, 1, 3)
	wantParts(t, s, u, again, p2)
	mustFinish(t, s, u, slices.Concat(body, b2))
}

// partsReplacedSinceListed checks that Finish returns ErrPart unless its list equals the stored
// parts in number, order, length and ETag.
func partsReplacedSinceListed(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 1, lastSize)
	first, _ := mustPutPart(t, s, u, 1, 1)
	p2, b2 := mustPutPart(t, s, u, 2, 2)
	second, body := mustPutPart(t, s, u, 1, 3)
	shorter, elsewhere := second, p2
	shorter.Size--
	elsewhere.Number = 3
	for what, named := range map[string][]blob.Part{
		"one that was replaced":  {first, p2},
		"one ETag for two parts": {second, {Number: 2, Size: p2.Size, ETag: second.ETag}},
		"none":                   nil, "the first alone": {second}, "the last alone": {p2},
		"one twice":       {second, second, p2},
		"the wrong order": {p2, second},
		"another length":  {shorter, p2}, "one that cannot be": {second, p2, elsewhere},
	} {
		if _, err := s.Finish(t.Context(), u, named); !errors.Is(err, blob.ErrPart) {
			t.Errorf("Finish with %s = %v, want ErrPart", what, err)
		}
		WantAbsent(t, s, u.Key)
	}
	wantParts(t, s, u, second, p2)
	if _, err := s.Finish(t.Context(), u, []blob.Part{second, p2}); err != nil {
		t.Fatalf("Finish with what is there = %v", err)
	}
	if _, err := s.Finish(t.Context(), u, []blob.Part{first, p2}); err != nil {
		t.Errorf("Finish again, with what was replaced = %v", err)
	}
	wantContent(t, s, u.Key, slices.Concat(body, b2))
}

// partsOutOfRange checks that PutPart refuses part numbers below 1 or beyond the last with ErrPart,
// and reads nothing of the body.
func partsOutOfRange(t *testing.T, s blob.Store) { // abuse case C100
	u := beginUpload(t, s, 1, lastSize)
	for _, number := range []int{0, -1, 3, 10_001, -1 << 62, 1 << 62} {
		var body endlessBody
		if _, err := s.PutPart(t.Context(), u, number, &body); !errors.Is(err, blob.ErrPart) || body.count != 0 {
			t.Errorf("part %d of 2 = %v after %d bytes, want ErrPart at once", number, err, body.count)
		}
	}
	wantParts(t, s, u)
	if err := s.Abort(t.Context(), u); err != nil {
		t.Error(err)
	}
}

// partsBadBegin checks that Begin refuses impossible sizes, an invalid key and a key that has an
// object.
func partsBadBegin(t *testing.T, s blob.Store) {
	for _, sizes := range [][2]int64{{0, partSize}, {-1, partSize}, {1, 0}, {1, -1}, {1 << 62, 1},
		{blob.MaxParts*partSize + 1, partSize}} {
		if _, err := s.Begin(t.Context(), NewKey(), sizes[0], sizes[1], ""); !errors.Is(err, blob.ErrPart) {
			t.Errorf("Begin of %d bytes in parts of %d = %v, want ErrPart", sizes[0], sizes[1], err)
		}
	}
	if _, err := s.Begin(t.Context(), "../ab/x", 1, 1, ""); !errors.Is(err, blob.ErrKey) {
		t.Errorf("Begin of no key = %v, want ErrKey", err)
	}
	if _, err := s.Begin(t.Context(), put(t, s, []byte("x")), 1, 1, ""); !errors.Is(err, blob.ErrExists) {
		t.Errorf("Begin of a key that has an object = %v, want ErrExists", err)
	}
}

// partsMissing checks that Finish returns ErrPart until every part is stored.
func partsMissing(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 2, lastSize)
	var bodies [3][]byte
	for _, number := range []int{3, 1, 2} {
		if _, err := FinishListed(t.Context(), s, u); !errors.Is(err, blob.ErrPart) {
			t.Errorf("Finish before part %d = %v, want ErrPart", number, err)
		}
		WantAbsent(t, s, u.Key)
		_, bodies[number-1] = mustPutPart(t, s, u, number, byte(number))
	}
	mustFinish(t, s, u, slices.Concat(bodies[:]...))
}

// partsAfterFinish checks that Finish can be repeated, that a finished upload refuses parts, Put
// and Begin, and that it is unknown once its object is deleted.
func partsAfterFinish(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 1, lastSize)
	_, b1 := mustPutPart(t, s, u, 1, 1)
	_, b2 := mustPutPart(t, s, u, 2, 2)
	whole := slices.Concat(b1, b2)
	for range 3 {
		mustFinish(t, s, u, whole)
		wantNoUpload(t, s, u)
		wantContent(t, s, u.Key, whole)
	}
	if _, err := s.Put(t.Context(), u.Key, strings.NewReader("x"), unknownSize); !errors.Is(err, blob.ErrExists) {
		t.Errorf("Put over a finished object = %v, want ErrExists", err)
	}
	if _, err := s.Begin(t.Context(), u.Key, u.Size, u.PartSize, ""); !errors.Is(err, blob.ErrExists) {
		t.Errorf("Begin over a finished object = %v, want ErrExists", err)
	}
	if err := s.Delete(t.Context(), u.Key); err != nil {
		t.Error(err)
	}
	WantAbsent(t, s, u.Key)
	if _, err := FinishListed(t.Context(), s, u); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Finish of an object that was deleted = %v, want ErrNotFound", err)
	}
}

// partsAborted checks that Abort can be repeated and leaves neither upload nor object.
func partsAborted(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 1, lastSize)
	mustPutPart(t, s, u, 1, 1)
	for range 3 {
		if err := s.Abort(t.Context(), u); err != nil {
			t.Fatalf("Abort = %v", err)
		}
		wantNoUpload(t, s, u)
		if _, err := FinishListed(t.Context(), s, u); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("Finish of an aborted upload = %v, want ErrNotFound", err)
		}
		WantAbsent(t, s, u.Key)
	}
}

// partsAbortFinished checks that Abort of a finished upload succeeds and keeps the object.
func partsAbortFinished(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 0, lastSize)
	_, body := mustPutPart(t, s, u, 1, 1)
	mustFinish(t, s, u, body)
	for range 2 {
		if err := s.Abort(t.Context(), u); err != nil {
			t.Errorf("Abort after Finish = %v", err)
		}
		mustFinish(t, s, u, body)
	}
}

// unknownUpload checks that an upload which was never begun is ErrNotFound, and that aborting it
// succeeds without harm to another upload.
func unknownUpload(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 0, lastSize)
	stranger := u
	stranger.Key = NewKey()
	wantNoUpload(t, s, stranger)
	if _, err := FinishListed(t.Context(), s, stranger); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Finish = %v, want ErrNotFound", err)
	}
	if err := s.Abort(t.Context(), stranger); err != nil {
		t.Errorf("Abort = %v", err)
	}
	wantParts(t, s, u)
	if _, err := s.PutPart(t.Context(), blob.Upload{Key: u.Key}, 1, &endlessBody{}); !errors.Is(err, blob.ErrPart) {
		t.Errorf("PutPart into an upload without sizes = %v, want ErrPart", err)
	}
	if err := s.Abort(t.Context(), u); err != nil {
		t.Error(err)
	}
}

// partsDeleted checks that Delete of a key removes its unfinished upload.
func partsDeleted(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 1, lastSize)
	mustPutPart(t, s, u, 2, 1)
	if err := s.Delete(t.Context(), u.Key); err != nil {
		t.Fatalf("Delete = %v", err)
	}
	wantNoUpload(t, s, u)
	if _, err := FinishListed(t.Context(), s, u); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Finish = %v, want ErrNotFound", err)
	}
}

// partsBegunAgain checks that a second Begin for a key, with another size, starts without the parts
// of the first.
func partsBegunAgain(t *testing.T, s blob.Store) {
	first := beginUpload(t, s, 1, lastSize)
	mustPutPart(t, s, first, 1, 1)
	u, err := s.Begin(t.Context(), first.Key, 2*lastSize, partSize, "")
	if err != nil {
		t.Fatalf("Begin of the same key with another size: %v", err)
	}
	wantParts(t, s, u)
	_, body := mustPutPart(t, s, u, 1, 3)
	mustFinish(t, s, u, body)
	if err := s.Abort(t.Context(), first); err != nil {
		t.Error(err)
	}
	wantContent(t, s, u.Key, body)
}

// partsOfTwoKeys checks that uploads of two keys do not share parts.
func partsOfTwoKeys(t *testing.T, s blob.Store) {
	one, two := beginUpload(t, s, 0, lastSize), beginUpload(t, s, 0, lastSize)
	p1, b1 := mustPutPart(t, s, one, 1, 1)
	wantParts(t, s, two)
	p2, b2 := mustPutPart(t, s, two, 1, 2)
	wantParts(t, s, one, p1)
	wantParts(t, s, two, p2)
	mustFinish(t, s, one, b1)
	wantParts(t, s, two, p2)
	mustFinish(t, s, two, b2)
	wantContent(t, s, one.Key, b1)
}

// partsCancelled checks that every operation on uploads returns the context's error when the
// context has ended, and changes nothing.
func partsCancelled(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 0, lastSize)
	p, body := mustPutPart(t, s, u, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, beginErr := s.Begin(ctx, NewKey(), 1, 1, "")
	unread := &endlessBody{}
	_, putErr := s.PutPart(ctx, u, 1, unread)
	_, partsErr := s.Parts(ctx, u)
	_, finishErr := s.Finish(ctx, u, []blob.Part{p})
	for name, err := range map[string]error{"Begin": beginErr, "PutPart": putErr, "Parts": partsErr,
		"Finish": finishErr, "Abort": s.Abort(ctx, u)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want the context's error", name, err)
		}
	}
	if unread.count != 0 {
		t.Errorf("%d bytes were read of a body that came too late", unread.count)
	}
	wantParts(t, s, u, p)
	mustFinish(t, s, u, body)
}

// partsNeverReplace checks that Finish fails, and keeps the object, when a Put has stored another
// object at the key meanwhile.
func partsNeverReplace(t *testing.T, s blob.Store) {
	u := beginUpload(t, s, 0, lastSize)
	mustPutPart(t, s, u, 1, 1)
	if _, err := s.Put(t.Context(), u.Key, strings.NewReader("first"), unknownSize); err != nil {
		t.Fatal(err)
	}
	if _, err := FinishListed(t.Context(), s, u); err == nil {
		t.Error("Finish over another object succeeded")
	}
	wantContent(t, s, u.Key, []byte("first"))
	if err := s.Abort(t.Context(), u); err != nil {
		t.Error(err)
	}
	if _, err := FinishListed(t.Context(), s, u); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Finish when the object at the key is of another size = %v, want ErrNotFound", err)
	}
	wantContent(t, s, u.Key, []byte("first"))
}

// RunResumedUpload tests that an upload survives a restart of the process: s begins it, and again,
// the same store opened a second time, lists its parts, adds one and finishes it.
func RunResumedUpload(t *testing.T, s, again blob.Store) {
	u := beginUpload(t, s, 2, lastSize)
	p2, b2 := mustPutPart(t, s, u, 2, 2)
	p3, b3 := mustPutPart(t, s, u, 3, 3)
	wantParts(t, again, u, p2, p3)
	p1, b1 := mustPutPart(t, again, u, 1, 1)
	wantParts(t, s, u, p1, p2, p3)
	mustFinish(t, again, u, slices.Concat(b1, b2, b3))
	mustFinish(t, s, u, slices.Concat(b1, b2, b3))
	wantNoUpload(t, s, u)
}
