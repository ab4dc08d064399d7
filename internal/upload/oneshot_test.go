package upload_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/upload"
)

// letterBytes is n bytes that are not all the same.
func letterBytes(n int) string { return strings.Repeat("abcdefghijklmnopqrstuvwxyz012345", n/32+1)[:n] }

func TestOneShotKeepsEveryByte(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		var total, count int64
		for _, size := range []int{0, 1, 4095, 4096, 4097, 256<<10 - 1, 256 << 10, 256<<10 + 1, mebibyte + 7} {
			for _, announced := range []int64{int64(size), -1} {
				content := letterBytes(size)
				name := fmt.Sprint(size, announced)
				result, err := w.up.Put(ctx, w.ann, oneShot(name, content, announced))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				total, count = total+int64(size), count+1
				if got := result.File; got.Name != name || got.Size != int64(size) || got.OwnerID != w.ann.UserID ||
					result.Link != nil {
					t.Errorf("%s: %+v", name, got)
				}
				if w.content(w.ann, result.File.ID) != content {
					t.Errorf("%s: other bytes", name)
				}
				if w.queryInt("SELECT count(*) FROM objects WHERE sha256 = $1", sha(content)) == 0 {
					t.Errorf("%s: no object has its SHA-256", name)
				}
				if storage, files := w.used(w.ann); storage != total || files != count {
					t.Errorf("%s: used %d bytes, %d files", name, storage, files)
				}
			}
		}
		if n := w.queryInt("SELECT count(*) FROM upload_sessions"); n != 0 {
			t.Errorf("%d rows stay behind", n)
		}
	})
}

// Abuse cases C94 and C124.
func TestOneShotThatFailsChangesNothing(t *testing.T) {
	broken := func(s string) io.Reader {
		return io.MultiReader(strings.NewReader(s), iotest.ErrReader(io.ErrUnexpectedEOF))
	}
	large := letterBytes(300 << 10)
	cases := []struct {
		name   string
		change func(o *upload.OneShot)
		want   fault.Kind
	}{
		{"small, longer", func(o *upload.OneShot) { o.Size, o.Body = 3, strings.NewReader("abcd") }, fault.Unverified},
		{"small, shorter", func(o *upload.OneShot) { o.Size, o.Body = 3, strings.NewReader("ab") }, fault.Unverified},
		{"small, interrupted", func(o *upload.OneShot) { o.Body = broken("ab") }, fault.Unverified},
		{"small, interrupted at the announced length", func(o *upload.OneShot) { o.Size, o.Body = 2, broken("ab") },
			fault.Unverified},
		{"large, longer", func(o *upload.OneShot) { o.Size, o.Body = 300<<10, strings.NewReader(large+"!") },
			fault.Unverified},
		{"large, shorter", func(o *upload.OneShot) { o.Size, o.Body = 300<<10+1, strings.NewReader(large) },
			fault.Unverified},
		{"announced large, sent small", func(o *upload.OneShot) { o.Size, o.Body = 300<<10, strings.NewReader("abc") },
			fault.Unverified},
		{"large, broken off", func(o *upload.OneShot) { o.Body = broken(large) }, fault.Unverified},
		{"large, broken off, of announced size", func(o *upload.OneShot) { o.Size, o.Body = 400<<10, broken(large) },
			fault.Unverified},
		{"more than the quota", func(o *upload.OneShot) { o.Size, o.Conflict = 11*mebibyte, files.RenameNew },
			fault.QuotaExceeded},
		{"more than 20 GiB", func(o *upload.OneShot) { o.Size = 20<<30 + 1 }, fault.TooLarge},
		{"no right", func(o *upload.OneShot) { o.Dir = path("/home/ben") }, fault.Forbidden},
		{"an invalid conflict", func(o *upload.OneShot) { o.Conflict = "x" }, fault.Invalid},
		{"a name that is taken", func(o *upload.OneShot) { o.Conflict = files.Fail }, fault.AlreadyExists},
	}
	each(t, func(t *testing.T, w *fixture) {
		old := w.put("f", "old")
		objects := len(w.storedKeys())
		for _, c := range cases {
			o := oneShot("f", "new", -1)
			o.Conflict = files.Replace
			c.change(&o)
			_, err := w.up.Put(ctx, w.ann, o)
			w.wantFault(err, c.want, c.name)
			if got := len(w.storedKeys()); got != objects {
				t.Errorf("%s: %d objects are kept", c.name, got-objects)
			}
			if w.content(w.ann, old.ID) != "old" {
				t.Errorf("%s: the old bytes are gone", c.name)
			}
			w.checkInvariants()
		}
		if storage, count := w.used(w.ann); storage != 3 || count != 1 {
			t.Errorf("used %d bytes, %d files", storage, count)
		}
		_, err := w.up.Put(ctx, access.Actor{Role: access.Guest}, oneShot("f", "new", 3))
		w.wantFault(err, fault.Unauthorized, "a visitor")
	})
}

// A file gets the time that the caller names as that of its last change, but none in the future.
func TestOneShotKeepsTime(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		before := w.now()
		old := before.Add(-48 * time.Hour)
		for _, c := range []struct {
			name           string
			modified, want time.Time
		}{
			{"none", time.Time{}, before}, {"old", old, old}, {"of 1970", time.UnixMilli(0), time.UnixMilli(0)},
			{"before 1970", time.UnixMilli(-5), time.UnixMilli(-5)}, {"future", before.Add(time.Hour), before},
		} {
			for _, size := range []int{0, 300 << 10} {
				o := oneShot(c.name, letterBytes(size), int64(size))
				o.Modified, o.Conflict = c.modified, files.Replace // the second one replaces the first
				result, err := w.up.Put(ctx, w.ann, o)
				if err != nil {
					t.Fatal(err)
				}
				file, _, err := w.tree.Details(ctx, w.ann, result.File.ID)
				if err != nil {
					t.Fatal(err)
				}
				if file.UpdatedAt != c.want.UnixMilli() || result.File.UpdatedAt != file.UpdatedAt ||
					file.CreatedAt != before.UnixMilli() {
					t.Errorf("%s: updated at %d, created at %d", c.name, file.UpdatedAt, file.CreatedAt)
				}
			}
		}
	})
}

// Abuse case C97.
func TestReplacingGivesTheDifferenceBack(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		old := w.put("f", letterBytes(10*mebibyte))
		replace := func(content string, size int64) (upload.Result, error) {
			o := oneShot("f", content, size)
			o.Conflict = files.Replace
			return w.up.Put(ctx, w.ann, o)
		}
		w.store.QueueFaults(blobtest.Put, blobtest.Fault{Err: blob.NoSpace("write", errors.New("ENOSPC"))})
		_, err := replace(letterBytes(1000), 1000)
		w.wantFault(err, fault.Unavailable, "a full disk")
		if storage, _ := w.used(w.ann); storage != 10*mebibyte || w.content(w.ann, old.ID) != letterBytes(10*mebibyte) {
			t.Error("a failed replacement changed something")
		}
		result, err := replace(letterBytes(1000), 1000)
		if err != nil || result.File.ID != old.ID {
			t.Fatalf("got %+v, %v", result.File, err)
		}
		if storage, count := w.used(w.ann); storage != 1000 || count != 1 {
			t.Errorf("used %d bytes, %d files", storage, count)
		}
		if result, err = replace(letterBytes(mebibyte), -1); err != nil || result.File.ID != old.ID {
			t.Fatalf("got %+v, %v", result.File, err)
		}
		if storage, count := w.used(w.ann); storage != mebibyte || count != 1 {
			t.Errorf("used %d bytes, %d files", storage, count)
		}
	})
}

func TestBodyOfUnknownLengthStopsAtTheQuota(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		read := 0
		o := oneShot("f", "", -1)
		o.Body = readFunc(func(p []byte) (int, error) {
			read += len(p)
			return len(p), nil
		})
		_, err := w.up.Put(ctx, w.ann, o)
		w.wantFault(err, fault.QuotaExceeded, "an endless body")
		if read > 12*mebibyte {
			t.Errorf("%d bytes were read", read)
		}
		if _, err := w.up.Put(ctx, w.ann, oneShot("f", letterBytes(10*mebibyte), -1)); err != nil {
			t.Errorf("a body that fits exactly: %v", err)
		}
		_, err = w.up.Put(ctx, w.ann, oneShot("g", "x", -1))
		w.wantFault(err, fault.QuotaExceeded, "a byte more")
	})
}

// Abuse case C88 for uploads in one request, small and large: as many as an account may have at a
// time.
func TestParallelOneShotsNeverOvercommitTheQuota(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		for _, size := range []int{6000, 600 << 10} {
			limit := int64(size) * 10 / 6
			storage, _ := w.used(w.ann)
			if err := w.setLimits(w.ann, storage+limit, 200); err != nil {
				t.Fatal(err)
			}
			got := parallel(16, func(i int) error {
				_, err := w.up.Put(ctx, w.ann, oneShot("f", letterBytes(size), int64(size)))
				return err
			})
			if got[noFault] != 1 || got[fault.QuotaExceeded] != 15 {
				t.Errorf("%d bytes: outcomes %v", size, got)
			}
		}
	})
}

// Abuse case C90 as far as uploads go.
func TestParallelOneShotsOfOneName(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		got := parallel(16, func(i int) error {
			content := letterBytes(10 + i%2*(300<<10))
			_, err := w.up.Put(ctx, w.ann, oneShot("cat.jpg", content, int64(len(content))))
			return err
		})
		if got[noFault] != 16 {
			t.Fatalf("outcomes %v", got)
		}
		if n := w.queryInt("SELECT count(DISTINCT name) FROM entries WHERE owner_id = $1 AND kind = 1",
			w.ann.UserID); n != 16 {
			t.Errorf("%d names", n)
		}
		if n := w.queryInt("SELECT count(*) FROM entries WHERE name = 'cat.jpg'"); n != 1 {
			t.Errorf("%d files of the requested name", n)
		}
	})
}

func TestSlowBodyKeepsItsReservation(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		slow := func(pause time.Duration) upload.OneShot {
			left := 8
			o := oneShot("f", "", 8*100<<10)
			o.Body = io.LimitReader(readFunc(func(p []byte) (int, error) {
				w.advance(pause)
				if err := w.up.Sweep(ctx); err != nil {
					t.Error(err)
				}
				left--
				return copy(p, letterBytes(100<<10)), nil
			}), o.Size)
			return o
		}
		if _, err := w.up.Put(ctx, w.ann, slow(25*time.Minute)); err != nil {
			t.Errorf("a body that takes hours: %v", err)
		}
		_, err := w.up.Put(ctx, w.ann, slow(61*time.Minute))
		w.wantFault(err, fault.UploadExpired, "a body that pauses for longer than an hour")
		if storage, count := w.reserved(w.ann); storage != 0 || count != 0 {
			t.Errorf("reserved %d bytes, %d files", storage, count)
		}
	})
}

// A process that dies in the middle of a body leaves a row, which the sweep ends.
func TestAbandonedOneShotIsSwept(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		reading := make(chan struct{})
		release := make(chan struct{})
		first := true
		o := oneShot("f", "", mebibyte)
		o.Body = io.LimitReader(readFunc(func(p []byte) (int, error) {
			if len(p) > 4096 && first {
				first = false
				close(reading)
				<-release
			}
			return len(p), nil
		}), mebibyte)
		done := make(chan error)
		go func() {
			_, err := w.up.Put(ctx, w.ann, o)
			done <- err
		}()
		<-reading
		if storage, count := w.reserved(w.ann); storage != mebibyte || count != 1 {
			t.Errorf("reserved %d bytes, %d files", storage, count)
		}
		if list, err := w.up.List(ctx, w.ann, upload.All); err != nil || len(list) != 0 {
			t.Errorf("listed: %+v, %v", list, err)
		}
		w.advance(time.Hour)
		if err := w.up.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		if storage, count := w.reserved(w.ann); storage != 0 || count != 0 {
			t.Errorf("reserved after the sweep: %d bytes, %d files", storage, count)
		}
		close(release)
		w.wantFault(<-done, fault.UploadExpired, "a body whose row is gone")
	})
}

func TestLinksFollowTheKeySetting(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	each(t, func(t *testing.T, w *fixture) {
		for _, c := range []struct {
			links, name, mimeType, content, wantType string
			want                                     bool
		}{
			{"none", "a.png", "", png, "image/png", false},
			{"", "a.png", "", png, "image/png", false},
			{"images", "a.png", "image/png", png, "image/png", true},
			{"images", "upload", "application/octet-stream", png, "image/png", true},
			{"images", "big.png", "", png + letterBytes(300<<10), "image/png", true},
			{"images", "a.png", "image/png", "<!DOCTYPE html><script>", "image/png", false},
			{"images", "a.svg", "", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "image/svg+xml", false},
			{"images", "a.txt", "", "text", "text/plain", false},
			{"all", "a.txt", "text/plain; charset=UTF-8", "text", "text/plain; charset=utf-8", true},
		} {
			o := oneShot(c.name, c.content, int64(len(c.content)))
			o.Links, o.MimeType = c.links, c.mimeType
			result, err := w.up.Put(ctx, w.ann, o)
			if err != nil {
				t.Fatal(err)
			}
			if (result.Link != nil) != c.want || result.File.MimeType != c.wantType {
				t.Errorf("%+v: link %v, type %s", c, result.Link, result.File.MimeType)
			}
			if result.Link != nil {
				if _, err := w.tree.ByLink(ctx, result.Link.ID); err != nil {
					t.Errorf("%+v: the link does not work: %v", c, err)
				}
			}
		}
	})
}

// Abuse case C128.
func TestOneShotIntoAFailingStore(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		for _, size := range []int{100, 300 << 10} {
			for _, broken := range []blobtest.Fault{
				{Err: blob.NoSpace("write", errors.New("ENOSPC"))},
				{Err: blob.Unavailable("sync", errors.New("EIO")), FailAfter: 50},
				{Err: blob.Unavailable("answer", errors.New("lost")), AnswerLost: true},
			} {
				w.store.QueueFaults(blobtest.Put, broken)
				_, err := w.up.Put(ctx, w.ann, oneShot("f", letterBytes(size), int64(size)))
				w.wantFault(err, fault.Unavailable, "a failing store")
				if storage, count := w.used(w.ann); storage != 0 || count != 0 {
					t.Errorf("used %d bytes, %d files", storage, count)
				}
				w.checkInvariants()
			}
		}
		w.advance(2 * time.Hour)  // until then a store may finish an object that it did not answer for
		for more := true; more; { // the objects of lost answers are deleted, those of files stay
			var err error
			if more, err = w.tree.Collect(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(w.storedKeys()); got != 1 {
			t.Errorf("%d objects, want the one of the first start", got)
		}
	})
}

// Keys are put on the garbage list before they are used; the collector must not delete those of
// files.
func TestObjectsOfFilesAreNeverCollected(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		small, large := w.put("small", "s"), w.put("large", letterBytes(300<<10))
		session := w.create(w.ann, file("session", 5))
		made := w.complete(w.ann, session.ID, w.putRaw(w.ann, session.ID, "hello"))
		w.advance(100 * time.Hour)
		for more := true; more; {
			if err := w.up.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
			var err error
			if more, err = w.tree.Collect(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := w.queryInt("SELECT count(*) FROM garbage"); n != 0 {
			t.Errorf("%d keys stay on the garbage list", n)
		}
		if w.content(w.ann, small.ID) != "s" || w.content(w.ann, large.ID) != letterBytes(300<<10) ||
			w.content(w.ann, made.ID) != "hello" {
			t.Error("bytes are gone")
		}
		if w.content(w.ann, w.put("next", "n").ID) != "n" {
			t.Error("the next upload has other bytes")
		}
	})
}

// A key can be used only until the collector claims it: a store that was suspended for too long
// must not make a file without content.
func TestSmallBodyStoredTooLateIsRefused(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		storing, release := w.store.Calls(blobtest.Put), make(chan struct{})
		w.store.QueueFaults(blobtest.Put, blobtest.Fault{WaitFor: release})
		done := make(chan error)
		go func() {
			_, err := w.up.Put(ctx, w.ann, oneShot("f", "hello", 5))
			done <- err
		}()
		for w.store.Calls(blobtest.Put) == storing {
			runtime.Gosched()
		}
		w.advance(time.Hour)
		close(release)
		w.wantFault(<-done, fault.UploadExpired, "an hour later")
		if storage, count := w.used(w.ann); storage != 0 || count != 0 {
			t.Errorf("used %d bytes, %d files", storage, count)
		}
	})
}

func TestLargeBodyWithAnExpiredRowIsRefused(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		for _, swept := range []bool{true, false} {
			left := mebibyte
			o := oneShot("f", "", mebibyte)
			o.Body = readFunc(func(p []byte) (int, error) {
				n := copy(p, letterBytes(min(left, len(p))))
				if left -= n; left > 0 {
					return n, nil
				}
				w.advance(time.Hour)
				if swept {
					if err := w.up.Sweep(ctx); err != nil {
						t.Error(err)
					}
				}
				return n, io.EOF
			})
			_, err := w.up.Put(ctx, w.ann, o)
			w.wantFault(err, fault.UploadExpired, fmt.Sprint("swept: ", swept))
			if storage, count := w.reserved(w.ann); storage != 0 || count != 0 {
				t.Errorf("reserved %d bytes, %d files", storage, count)
			}
			w.checkInvariants()
		}
	})
}
