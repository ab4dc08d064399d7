package upload_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/upload"
)

// openUpload is an upload in one request whose body is being sent.
type openUpload struct {
	t    *testing.T
	body *io.PipeWriter
	done chan error
}

// beginOneShot begins an upload of unknown length by up, and sends its first bytes; the caller
// sends more.
func (f *fixture) beginOneShot(up *upload.Service, name string, conflict files.Conflict, arrived int) *openUpload {
	f.t.Helper()
	reader, writer := io.Pipe()
	u := &openUpload{t: f.t, body: writer, done: make(chan error, 1)}
	go func() {
		o := oneShot(name, "", -1)
		o.Conflict, o.Body = conflict, reader
		_, err := up.Put(ctx, f.ann, o)
		_ = reader.CloseWithError(errors.New("refused"))
		u.done <- err
	}()
	u.send(arrived)
	return u
}

// send sends more bytes, and reports whether they were read.
func (u *openUpload) send(bytes int) bool {
	_, err := u.body.Write([]byte(letterBytes(bytes)))
	return err == nil
}

func (u *openUpload) end() error {
	_ = u.body.Close()
	return <-u.done
}

func (u *openUpload) breakOff() error {
	_ = u.body.CloseWithError(io.ErrUnexpectedEOF)
	return <-u.done
}

// replica is another process on the same database and store.
func (f *fixture) replica() *upload.Service {
	return upload.New(upload.Config{DB: f.db, Tree: f.tree, Objects: f.tree.Objects, Providers: f.providers,
		IDs: ident.New(rand.Reader), Now: f.now, Log: slog.New(slog.DiscardHandler)})
}

// An account has at most 16 uploads in one request at a time (docs/decisions.md, Quota).
func TestSixteenOneShotsAtATime(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		if err := w.setLimits(w.ann, 100*mebibyte, 200); err != nil {
			t.Fatal(err)
		}
		var under []*openUpload
		for i := range 16 {
			// half of them have sent nothing yet
			under = append(under, w.beginOneShot(w.up, fmt.Sprint("f", i), "", i%2*(300<<10)))
		}
		for _, u := range under {
			u.send(1) // makes sure that it has begun
		}
		w.up.SetSlotTimeout(0)
		_, err := w.up.Put(ctx, w.ann, oneShot("one more", "x", 1))
		w.wantFault(err, fault.RateLimited, "the 17th")
		var f *fault.Error
		if !errors.As(err, &f) || f.RetryAfter <= 0 {
			t.Errorf("no time to wait: %v", err)
		}
		_, err = w.up.BeginBuffered(ctx, w.ann)
		w.wantFault(err, fault.RateLimited, "the 17th, buffered")
		if _, err := w.up.Put(ctx, w.ben, upload.OneShot{Dir: path("/home/ben"), Name: "f", Size: 1,
			Body: strings.NewReader("x")}); err != nil {
			t.Errorf("another account: %v", err)
		}
		if err := under[0].breakOff(); !fault.Is(err, fault.Unverified) {
			t.Errorf("broken off: %v", err)
		}
		w.put("instead", "x")
		for _, u := range under[1:] {
			if err := u.end(); err != nil {
				t.Errorf("one of 16: %v", err)
			}
		}
		w.up.SetSlotTimeout(time.Minute)
		parallel(40, func(i int) error { // small ones take turns
			_, err := w.up.Put(ctx, w.ann, oneShot(fmt.Sprint("again", i), "x", 1))
			if err != nil {
				t.Errorf("after all have ended: %v", err)
			}
			return err
		})
	})
}

// Uploads by any replica count while they come in; rows of a dead process do not count for long.
func TestSixteenOneShotsOverReplicas(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		if w.db.Dialect() == "sqlite" {
			return // there are no replicas
		}
		if err := w.setLimits(w.ann, 100*mebibyte, 200); err != nil {
			t.Fatal(err)
		}
		var under []*openUpload
		for i := range 16 {
			u := w.beginOneShot(w.up, fmt.Sprint("f", i), "", 300<<10)
			u.send(1) // makes sure that the row exists: its reader asks for more
			under = append(under, u)
		}
		other := w.replica()
		large := func() error {
			_, err := other.Put(ctx, w.ann, oneShot("large", letterBytes(300<<10), 300<<10))
			return err
		}
		w.wantFault(large(), fault.RateLimited, "the 17th by another replica")
		waiting, err := other.BeginBuffered(ctx, w.ann)
		if err != nil {
			t.Fatal(err)
		}
		_, err = waiting.Body(ctx, strings.NewReader("x"))
		w.wantFault(err, fault.RateLimited, "the 17th, buffered in another replica")
		waiting.End(ctx)
		w.advance(11 * time.Second)
		for _, u := range under[1:] {
			u.send(1) // renews the row
			u.send(1)
		}
		w.advance(25 * time.Second)
		if err := large(); err != nil {
			t.Errorf("a body that pauses does not count in other replicas any more: %v", err)
		}
		for _, u := range under {
			if err := u.end(); err != nil {
				t.Errorf("one of 16: %v", err)
			}
		}
	})
}

// While bytes of unknown length arrive, room is always reserved for them, and no more than fits is
// accepted.
func TestRoomIsReservedWhileBytesArrive(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) { // 10 MiB
		old := w.put("old", letterBytes(mebibyte))
		var under []*openUpload
		arrived := make([]int64, 12)
		for i := range arrived {
			under = append(under, w.beginOneShot(w.up, fmt.Sprint("f", i), "", 300<<10))
			arrived[i] = 300 << 10
		}
		for range 20 {
			for i, u := range under {
				if arrived[i] == 0 {
					continue
				}
				if arrived[i] += mebibyte/2 + 1; !u.send(mebibyte/2) || !u.send(1) {
					arrived[i] = 0 // refused: nothing of it is kept
				}
				var sum int64
				for _, bytes := range arrived {
					sum += bytes
				}
				storage, _ := w.used(w.ann)
				reserved, _ := w.reserved(w.ann)
				if storage+reserved > 10*mebibyte || sum > reserved {
					t.Fatalf("%d bytes are used and %d reserved of 10 MiB, and %d are under way", storage, reserved,
						sum)
				}
			}
		}
		for _, u := range under {
			if err := u.end(); err != nil && !fault.Is(err, fault.QuotaExceeded) {
				t.Errorf("ended: %v", err)
			}
		}
		if bytes, count := w.reserved(w.ann); bytes != 0 || count != 0 {
			t.Errorf("%d bytes and %d files stay reserved", bytes, count)
		}
		if w.content(w.ann, old.ID) != letterBytes(mebibyte) {
			t.Error("the existing file has changed")
		}
	})
}

// Two uploads that replace one file do not both use the room that it frees.
func TestReplacedBytesCountOnceWhileBytesArrive(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) { // 10 MiB
		w.put("f", letterBytes(9*mebibyte))
		first := w.beginOneShot(w.up, "f", files.Replace, 300<<10)
		if !first.send(8*mebibyte) || !first.send(1) {
			t.Error("the quota has no room for the replacement of the file")
		}
		second := w.beginOneShot(w.up, "f", files.Replace, 300<<10)
		if second.send(2*mebibyte) && second.send(1) {
			t.Error("the second upload has used the reservation of the first")
		}
		w.wantFault(second.end(), fault.QuotaExceeded, "the second one")
		if err := first.end(); err != nil {
			t.Errorf("the first one: %v", err)
		}
	})
}

// A buffered body has its room reserved, which Put takes over.
func TestBufferedBodyIsReserved(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		wait := func(size int) (*upload.BufferedUpload, string, error) {
			waiting, err := w.up.BeginBuffered(ctx, w.ann)
			if err != nil {
				t.Fatal(err)
			}
			body, err := waiting.Body(ctx, strings.NewReader(letterBytes(size)))
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(body)
			return waiting, string(content), err
		}
		first, content, err := wait(7 * mebibyte)
		if bytes, count := w.reserved(w.ann); err != nil || bytes < 7*mebibyte || count != 1 {
			t.Fatalf("%d bytes and %d files are reserved: %v", bytes, count, err)
		}
		second, _, err := wait(4 * mebibyte)
		w.wantFault(err, fault.QuotaExceeded, "a body that does not fit beside it")
		second.End(ctx)
		o := oneShot("f", content, int64(len(content)))
		o.Buffered = first
		if _, err := w.up.Put(ctx, w.ann, o); err != nil {
			t.Errorf("put the buffered body: %v", err)
		}
		first.End(ctx)
		third, _, err := wait(3 * mebibyte) // exactly what is left
		if err != nil {
			t.Errorf("a body that fits exactly: %v", err)
		}
		third.End(ctx)
		if bytes, count := w.reserved(w.ann); bytes != 0 || count != 0 {
			t.Errorf("%d bytes and %d files stay reserved", bytes, count)
		}
		lost, _, err := wait(mebibyte) // its process dies
		if err != nil {
			t.Fatal(err)
		}
		w.advance(2 * time.Hour)
		w.sweepAndCollect()
		if bytes, count := w.reserved(w.ann); bytes != 0 || count != 0 {
			t.Errorf("%d bytes and %d files stay reserved after a crash", bytes, count)
		}
		lost.End(ctx)
	})
}
