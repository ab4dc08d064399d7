package upload_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/fault"
)

// storePartDirectly puts a part into the store without the service, like a part that a connection
// cut off and that the server took for whole.
func (f *fixture) storePartDirectly(id string, number int, content string) {
	f.t.Helper()
	u := blob.Upload{PartSize: partLength}
	err := f.db.Read(ctx).QueryRow("SELECT object_key, upload_id, file_size FROM upload_sessions WHERE id = $1", id).
		Scan(&u.Key, &u.ID, &u.Size)
	if err == nil {
		_, err = f.store.PutPart(ctx, u, number, strings.NewReader(content))
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// makeUnrecorded changes a session to one that began before parts were recorded.
func (f *fixture) makeUnrecorded(id string) {
	f.t.Helper()
	f.exec("UPDATE upload_sessions SET parts_recorded = FALSE WHERE id = $1", id)
	f.exec("DELETE FROM upload_parts WHERE session_id = $1", id)
}

// halfZeroed is a part whose second half never came.
func halfZeroed(part string) string {
	return part[:len(part)/2] + strings.Repeat("\x00", len(part)-len(part)/2)
}

// wantMissing checks that a session does not complete and reports the missing parts.
func (f *fixture) wantMissing(id, numbers string) {
	f.t.Helper()
	_, _, err := f.up.Complete(ctx, f.ann, id, "")
	f.wantFault(err, fault.Unverified, "completing")
	if told := new(fault.Error); !errors.As(err, &told) ||
		!strings.HasSuffix(told.Message, "been received yet: "+numbers+".") {
		f.t.Errorf("got %v, want parts %s", err, numbers)
	}
}

// Acknowledged parts are assembled. Another part in the place of one counts as missing and has to
// be sent again.
func TestPartReplacedInTheStoreIsMissing(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		content := distinctBytes(2500)
		id := w.beginParts("", 1, 2, 3)
		w.storePartDirectly(id, 1, halfZeroed(partOf(content, 1)))
		w.storePartDirectly(id, 3, halfZeroed(partOf(content, 3)))
		w.wantParts(w.ann, id, []int{2}, []int{1, 3})
		w.wantMissing(id, "1, 3")
		w.wantReserved(w.ann, 2500, 1)
		w.putParts(w.ann, id, content, 1, 3)
		w.storePartDirectly(id, 2, partOf(content, 2)) // the same bytes once more
		w.wantParts(w.ann, id, []int{1, 2, 3}, nil)
		if w.content(w.ann, w.complete(w.ann, id, "").ID) != content {
			t.Error("other bytes")
		}
	})
}

// A part does not count when the client was told that it failed, even though the store has it.
func TestUnacknowledgedPartDoesNotCount(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		content := distinctBytes(1500)
		id := w.create(w.ann, inParts("f", 1500, "")).ID
		w.store.QueueFaults(blobtest.PutPart, storeDown(true))
		_, err := w.up.PutPart(ctx, w.ann, id, 1, strings.NewReader(strings.Repeat("x", partLength)), -1)
		w.wantFault(err, fault.Unavailable, "a part whose answer is lost")
		w.putParts(w.ann, id, content, 2)
		w.wantParts(w.ann, id, []int{2}, []int{1})
		w.wantMissing(id, "1")
		w.putParts(w.ann, id, content, 1)
		if w.content(w.ann, w.complete(w.ann, id, "").ID) != content {
			t.Error("other bytes")
		}
	})
}

// Where parts may go directly to the store, the parts that it lists count, however each came, and
// nothing is recorded. This also holds when a later session takes the parts over, whatever its mode
// is.
func TestDirectPartsCountAsListed(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		content := distinctBytes(2500)
		w.signAddresses()
		id := w.beginParts("k", 1, 2)
		w.storePartDirectly(id, 1, strings.Repeat("y", partLength))
		w.storePartDirectly(id, 3, partOf(content, 3))
		if parts, err := w.up.Parts(ctx, w.ann, id); err != nil || parts.Mode != "presigned" ||
			len(parts.Received) != 3 || len(parts.Missing) != 0 {
			t.Errorf("parts: %+v, %v", parts, err)
		}
		w.putParts(w.ann, id, content, 1)
		w.advance(time.Hour)
		w.sweep()
		again := inParts("f", 2500, "k")
		again.Mode = "worker"
		session := w.create(w.ann, again)
		if w.wantParts(w.ann, session.ID, []int{1, 2, 3}, nil); session.ID == id {
			t.Error("the session that has expired goes on")
		}
		if n := w.queryInt("SELECT count(*) FROM upload_parts"); n != 0 {
			t.Errorf("%d parts are recorded", n)
		}
		if w.content(w.ann, w.complete(w.ann, session.ID, "").ID) != content {
			t.Error("other bytes")
		}
	})
}

// Parts that older versions received are not sent twice.
func TestPartsOfAnOlderVersionCountAsListed(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		content := distinctBytes(2500)
		id := w.beginParts("k", 1, 3)
		w.makeUnrecorded(id)
		w.wantParts(w.ann, id, []int{1, 3}, []int{2})
		w.advance(time.Hour)
		w.sweep()
		w.wantReserved(w.ann, 1500, 0)
		id = w.create(w.ann, inParts("f", 2500, "k")).ID
		w.wantParts(w.ann, id, []int{1, 3}, []int{2})
		w.putParts(w.ann, id, content, 2)
		if n := w.queryInt("SELECT count(*) FROM upload_parts"); n != 0 {
			t.Errorf("%d parts are recorded", n)
		}
		if w.content(w.ann, w.complete(w.ann, id, "").ID) != content {
			t.Error("other bytes")
		}
	})
}

// A session that takes parts over knows which of them were acknowledged, and reserves only those.
// The rows are deleted with their session.
func TestAcknowledgedPartsAreTakenOver(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		content := distinctBytes(2500)
		first := w.beginParts("k", 1, 2)
		w.storePartDirectly(first, 2, halfZeroed(partOf(content, 2)))
		w.storePartDirectly(first, 3, halfZeroed(partOf(content, 3)))
		w.advance(time.Hour)
		w.sweep()
		w.wantReserved(w.ann, partLength, 0)
		w.signAddresses() // with unacknowledged parts in the store, no parts may go directly to it
		session := w.create(w.ann, inParts("f", 2500, "k"))
		second := session.ID
		if session.Mode != "worker" {
			t.Errorf("mode %s", session.Mode)
		}
		w.wantParts(w.ann, second, []int{1}, []int{2, 3})
		w.wantMissing(second, "2, 3")
		w.storePartDirectly(second, 1, halfZeroed(partOf(content, 1)))
		w.wantParts(w.ann, second, nil, []int{1, 2, 3})
		w.putParts(w.ann, second, content)
		if n := w.queryInt("SELECT count(*) FROM upload_parts WHERE session_id <> $1", second); n != 0 {
			t.Errorf("%d parts of another session", n)
		}
		if w.content(w.ann, w.complete(w.ann, second, "").ID) != content {
			t.Error("other bytes")
		}
		w.advance(49 * time.Hour)
		w.sweep()
		if n := w.queryInt("SELECT count(*) FROM upload_parts"); n != 0 {
			t.Errorf("%d parts without a session", n)
		}
	})
}

// cancelingStore is a store whose caller disconnects as soon as a part is stored.
type cancelingStore struct {
	blob.Store
	leave func()
}

func (s cancelingStore) PutPart(ctx context.Context, u blob.Upload, number int, body io.Reader) (blob.Part, error) {
	part, err := s.Store.PutPart(ctx, u, number, body)
	s.leave()
	return part, err
}

// A client that disconnects after its last byte finds the part when it returns.
func TestPartIsAcknowledgedWhenTheClientLeaves(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.beginParts("")
		gone, leave := context.WithCancel(ctx)
		w.up.WrapStores(func(inner blob.Store) blob.Store { return cancelingStore{inner, leave} })
		if _, err := w.up.PutPart(gone, w.ann, id, 2, strings.NewReader(partOf(distinctBytes(2500), 2)),
			-1); err != nil {
			t.Errorf("got %v", err)
		}
		w.wantParts(w.ann, id, []int{2}, []int{1, 3})
	})
}

// While others complete the upload, several bodies for one part come: the file has one of them as a
// whole, and one that was acknowledged.
func TestPartsResentDuringCompletionStayWhole(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.create(w.ann, inParts("f", 1500, "")).ID
		w.putPart(w.ann, id, 2, strings.Repeat("z", 500))
		w.putPart(w.ann, id, 1, strings.Repeat("0", partLength))
		taken := make([]bool, 8)
		taken[0] = true
		parallel(8, func(i int) error {
			if i == 0 {
				_, _, err := w.up.Complete(ctx, w.ann, id, "")
				return err
			}
			_, err := w.up.PutPart(ctx, w.ann, id, 1, strings.NewReader(strings.Repeat(fmt.Sprint(i), partLength)), -1)
			taken[i] = err == nil
			return err
		})
		got := w.content(w.ann, w.complete(w.ann, id, "").ID)
		if n := int(got[0] - '0'); n < 0 || n > 7 || !taken[n] ||
			got != strings.Repeat(got[:1], partLength)+strings.Repeat("z", 500) {
			t.Errorf("the file begins with %.10s; acknowledged %v", got, taken)
		}
	})
}
