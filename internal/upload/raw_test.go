package upload_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/mount"
	"larder/internal/provider"
	"larder/internal/upload"
)

// Abuse cases C94 and C92 (an empty file).
func TestBodiesOfAnotherSizeAreRefused(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		broken := func(s string) io.Reader {
			return io.MultiReader(strings.NewReader(s), iotest.ErrReader(io.ErrUnexpectedEOF))
		}
		cases := []struct {
			name   string
			size   int64
			body   io.Reader
			length int64
			want   fault.Kind
		}{
			{"as announced", 5, strings.NewReader("hello"), 5, noFault},
			{"as announced, chunked", 5, iotest.OneByteReader(strings.NewReader("hello")), -1, noFault},
			{"empty", 0, strings.NewReader(""), 0, noFault},
			{"empty, chunked", 0, strings.NewReader(""), -1, noFault},
			{"longer", 5, strings.NewReader("hello!"), 6, fault.Unverified},
			{"shorter", 5, strings.NewReader("hell"), 4, fault.Unverified},
			{"longer, chunked", 5, strings.NewReader("hello!"), -1, fault.Unverified},
			{"shorter, chunked", 5, strings.NewReader("hell"), -1, fault.Unverified},
			{"longer than its length says", 5, strings.NewReader("hello!"), 5, fault.Unverified},
			{"shorter than its length says", 5, strings.NewReader("hell"), 5, fault.Unverified},
			{"broken off", 5, broken("hel"), 5, fault.Unverified},
			{"broken off at the very end", 5, broken("hello"), -1, fault.Unverified},
			{"a byte instead of none", 0, strings.NewReader("x"), -1, fault.Unverified},
		}
		for i, c := range cases {
			objects := len(w.storedKeys())
			session := w.create(w.ann, file(fmt.Sprint("f", i), c.size))
			etag, size, err := w.up.PutRaw(ctx, w.ann, session.ID, c.body, c.length, "")
			if kindOf(err) != c.want {
				t.Errorf("%s: got %v, want fault %d", c.name, err, c.want)
			}
			if err == nil {
				if size != c.size {
					t.Errorf("%s: size %d", c.name, size)
				}
				w.complete(w.ann, session.ID, etag)
				continue
			}
			if got := len(w.storedKeys()); got != objects {
				t.Errorf("%s: %d objects are kept", c.name, got-objects)
			}
			_, _, err = w.up.Complete(ctx, w.ann, session.ID, sha("hello"))
			w.wantFault(err, fault.Unverified, c.name+", completed")
		}
		if storage, count := w.used(w.ann); storage != 10 || count != 4 {
			t.Errorf("used %d bytes, %d files", storage, count)
		}
	})
}

func TestRawBytesMayBeSentAgain(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		session := w.create(w.ann, file("f", 5))
		first := w.putRaw(w.ann, session.ID, "first")
		_, _, err := w.up.PutRaw(ctx, w.ann, session.ID, strings.NewReader("cut"), -1, "")
		w.wantFault(err, fault.Unverified, "a body cut short")
		second := w.putRaw(w.ann, session.ID, "later")
		// the first body, and the one cut short
		if due := w.queryInt("SELECT count(*) FROM garbage WHERE after <= $1", w.clock.Load()); due != 2 {
			t.Errorf("%d keys are garbage now, want 2", due)
		}
		_, _, err = w.up.Complete(ctx, w.ann, session.ID, first)
		w.wantFault(err, fault.Unverified, "the etag of bytes that were replaced")
		for _, etag := range []string{second, `"` + second + `"`, `W/"` + second + `"`} {
			entry := w.complete(w.ann, session.ID, etag)
			if got := w.content(w.ann, entry.ID); got != "later" {
				t.Errorf("content %q", got)
			}
		}
	})
}

func TestParallelBodiesOfOneSession(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		session := w.create(w.ann, file("f", 2))
		got := parallel(12, func(i int) error {
			_, _, err := w.up.PutRaw(ctx, w.ann, session.ID, strings.NewReader(fmt.Sprintf("%02d", i)), 2, "")
			return err
		})
		if got[noFault] != 12 {
			t.Fatalf("outcomes %v", got)
		}
		won := 0
		for i := range 12 {
			entry, _, err := w.up.Complete(ctx, w.ann, session.ID, sha(fmt.Sprintf("%02d", i)))
			if err == nil && w.content(w.ann, entry.ID) == fmt.Sprintf("%02d", i) {
				won++
				break
			}
		}
		if won != 1 {
			t.Error("no body of the session is whole")
		}
	})
}

// Abuse case C87.
func TestParallelCompletionsMakeOneFile(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		session := w.create(w.ann, file("f", 5))
		etag := w.putRaw(w.ann, session.ID, "hello")
		type outcome struct {
			id      string
			already bool
		}
		outcomes := make(chan outcome, 20)
		got := parallel(20, func(int) error {
			entry, already, err := w.up.Complete(ctx, w.ann, session.ID, etag)
			outcomes <- outcome{entry.ID, already}
			return err
		})
		if got[noFault] != 20 {
			t.Fatalf("outcomes %v", got)
		}
		ids, firsts := map[string]bool{}, 0
		for range 20 {
			o := <-outcomes
			ids[o.id] = true
			if !o.already {
				firsts++
			}
		}
		if len(ids) != 1 || firsts != 1 {
			t.Errorf("%d files, %d calls that made one", len(ids), firsts)
		}
		if storage, count := w.used(w.ann); storage != 5 || count != 1 {
			t.Errorf("used %d bytes, %d files", storage, count)
		}
	})
}

func TestAbortAgainstComplete(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		for i := range 10 {
			session := w.create(w.ann, file(fmt.Sprint("f", i), 5))
			etag := w.putRaw(w.ann, session.ID, "hello")
			got := parallel(2, func(i int) error {
				if i == 0 {
					return w.up.Abort(ctx, w.ann, session.ID)
				}
				_, _, err := w.up.Complete(ctx, w.ann, session.ID, etag)
				return err
			})
			if got[noFault] != 1 || got[fault.Conflict] != 1 {
				t.Errorf("outcomes %v", got)
			}
			w.checkInvariants()
		}
	})
}

// Abuse case C95.
func TestWrongEtagsChangeNothing(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		session := w.create(w.ann, file("f", 5))
		etag := w.putRaw(w.ann, session.ID, "hello")
		for i := range 100 {
			_, _, err := w.up.Complete(ctx, w.ann, session.ID, sha(fmt.Sprint(i)))
			w.wantFault(err, fault.Unverified, "a wrong etag")
		}
		for _, empty := range []string{"", `""`, " ", `W/""`} {
			_, _, err := w.up.Complete(ctx, w.ann, session.ID, empty)
			w.wantFault(err, fault.Invalid, "no etag")
		}
		if storage, count := w.reserved(w.ann); storage != 5 || count != 1 {
			t.Errorf("reserved %d bytes, %d files", storage, count)
		}
		w.complete(w.ann, session.ID, etag)
	})
}

func TestCompletingAgainWorksForADay(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		session := w.create(w.ann, file("f", 5))
		etag := w.putRaw(w.ann, session.ID, "hello")
		made := w.complete(w.ann, session.ID, etag)
		w.advance(24*time.Hour - time.Millisecond)
		if err := w.up.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		again, already, err := w.up.Complete(ctx, w.ann, session.ID, etag)
		if err != nil || !already || again.ID != made.ID {
			t.Errorf("got %+v, %v, %v", again, already, err)
		}
		w.advance(time.Millisecond)
		_, _, err = w.up.Complete(ctx, w.ann, session.ID, etag)
		w.wantFault(err, fault.NotFound, "a day later")
		w.advance(24 * time.Hour)
		if err := w.up.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		if n := w.queryInt("SELECT count(*) FROM upload_sessions"); n != 0 {
			t.Errorf("%d old rows stay", n)
		}
	})
}

// Abuse case C96.
func TestExpiryWhileBytesAreComingIn(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		session := w.create(w.ann, file("f", 4))
		objects := len(w.storedKeys())
		body := io.MultiReader(strings.NewReader("ab"), readFunc(func(p []byte) (int, error) {
			w.advance(time.Hour)
			if err := w.up.Sweep(ctx); err != nil {
				t.Error(err)
			}
			return copy(p, "cd"), io.EOF
		}))
		_, _, err := w.up.PutRaw(ctx, w.ann, session.ID, body, -1, "")
		w.wantFault(err, fault.UploadExpired, "bytes after the end")
		if got := len(w.storedKeys()); got > objects &&
			w.queryInt("SELECT count(*) FROM garbage WHERE after <= $1", w.clock.Load()) == 0 {
			t.Error("late bytes are kept")
		}
		if storage, count := w.reserved(w.ann); storage != 0 || count != 0 {
			t.Errorf("reserved %d bytes, %d files", storage, count)
		}
	})
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// Abuse case C31.
func TestRightsAreCheckedAgainOnCompletion(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		session := w.create(w.ann, upload.NewSession{Dir: path("/uploads/new"), Name: "f", Size: 5})
		etag := w.putRaw(w.ann, session.ID, "hello")
		rule := access.StoredRule{Rule: access.Rule{
			ID: "7d3f9a52-0000-4000-8000-000000000000", Pattern: "/uploads/**", Effect: access.Deny,
			UserID: w.ann.UserID, Priority: 5,
		}}
		if err := w.db.Write(ctx, func(tx *db.Tx) error { return w.policies.Insert(tx, rule) }); err != nil {
			t.Fatal(err)
		}
		_, _, err := w.up.Complete(ctx, w.ann, session.ID, etag)
		w.wantFault(err, fault.Forbidden, "the right is gone")
		if storage, count := w.reserved(w.ann); storage != 5 || count != 1 {
			t.Errorf("reserved %d bytes, %d files", storage, count)
		}
		if err := w.db.Write(ctx, func(tx *db.Tx) error { return w.policies.Delete(tx, rule.ID) }); err != nil {
			t.Fatal(err)
		}
		if entry := w.complete(w.ann, session.ID, etag); entry.Dir != path("/uploads/new") {
			t.Errorf("got %+v", entry)
		}
	})
}

// Abuse case C24.
func TestASessionStaysWithItsMountAndProvider(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		session := w.create(w.admin, upload.NewSession{Dir: path("/public"), Name: "f", Size: 5})
		etag := w.putRaw(w.admin, session.ID, "hello")
		const id = "00000000-0000-4000-8000-00000000000a"
		if err := w.providers.Prepare("other", id); err != nil {
			t.Fatal(err)
		}
		err := w.db.Write(ctx, func(tx *db.Tx) error {
			if err := w.providers.Insert(tx, provider.Provider{ID: id, Name: "other", Type: "store_a", Bucket: "other",
				Marker: id}); err != nil {
				return err
			}
			root, err := w.tree.InsertRoot(tx, w.admin.UserID, "Other")
			if err != nil {
				return err
			}
			return w.mounts.Insert(tx, mount.Mount{
				ID: id, ProviderID: id, RootID: root, Path: path("/public"), Name: "Other", SortBy: "name",
				SortOrder: "asc", Priority: 9,
			}, w.clock.Load())
		})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = w.up.Complete(ctx, w.admin, session.ID, etag)
		w.wantFault(err, fault.Conflict, "the folder is in another mount now")
		w.exec("UPDATE mounts SET priority = -9, mount_path = '/elsewhere' WHERE id = $1", id)
		entry := w.complete(w.admin, session.ID, etag)
		if entry.MountID == id || w.content(w.admin, entry.ID) != "hello" {
			t.Errorf("got %+v", entry)
		}
	})
}

// Abuse case C128, and C125 for lost answers of a store.
func TestFailingStore(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		session := w.create(w.ann, file("f", 5))
		send := func() error {
			_, _, err := w.up.PutRaw(ctx, w.ann, session.ID, strings.NewReader("hello"), 5, "")
			return err
		}
		w.store.QueueFaults(blobtest.Put,
			blobtest.Fault{Err: blob.NoSpace("write", errors.New("ENOSPC"))},
			blobtest.Fault{Err: blob.Unavailable("sync", errors.New("EIO")), FailAfter: 3},
			blobtest.Fault{Err: blob.Unavailable("answer", errors.New("lost")), AnswerLost: true})
		for range 3 {
			w.wantFault(send(), fault.Unavailable, "a failing store")
			w.checkInvariants()
		}
		etag := w.putRaw(w.ann, session.ID, "hello")
		w.store.QueueFaults(blobtest.Stat, blobtest.Fault{Err: blob.Unavailable("stat", errors.New("EIO"))},
			blobtest.Fault{Err: blob.ErrNotFound})
		_, _, err := w.up.Complete(ctx, w.ann, session.ID, etag)
		w.wantFault(err, fault.Unavailable, "a store that does not answer")
		_, _, err = w.up.Complete(ctx, w.ann, session.ID, etag)
		w.wantFault(err, fault.Unverified, "bytes that are gone")
		if storage, count := w.used(w.ann); storage != 0 || count != 0 {
			t.Errorf("used %d bytes, %d files", storage, count)
		}
		entry := w.complete(w.ann, session.ID, etag)
		if w.content(w.ann, entry.ID) != "hello" {
			t.Error("other bytes")
		}
	})
}

// Other bytes may come between the check of the bytes and the commit: bytes that were not checked
// are not committed.
func TestBytesThatChangeDuringCompletion(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		session := w.create(w.ann, file("f", 5))
		first := w.putRaw(w.ann, session.ID, "first")
		asked, release := w.store.Calls(blobtest.Stat), make(chan struct{})
		w.store.QueueFaults(blobtest.Stat, blobtest.Fault{WaitFor: release})
		done := make(chan error)
		go func() {
			_, _, err := w.up.Complete(ctx, w.ann, session.ID, first)
			done <- err
		}()
		for w.store.Calls(blobtest.Stat) == asked {
			runtime.Gosched()
		}
		second := w.putRaw(w.ann, session.ID, "later")
		close(release)
		w.wantFault(<-done, fault.Unverified, "the first bytes, replaced meanwhile")
		entry := w.complete(w.ann, session.ID, second)
		if got := w.content(w.ann, entry.ID); got != "later" {
			t.Errorf("content %q", got)
		}
	})
}

func TestCompletionChecksTheObject(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		session := w.create(w.ann, file("f", 5))
		before := w.storedKeys()
		etag := w.putRaw(w.ann, session.ID, "hello")
		for _, key := range w.storedKeys() {
			if !slices.Contains(before, key) {
				if err := os.Truncate(filepath.Join(w.objects, "default", key), 4); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, _, err := w.up.Complete(ctx, w.ann, session.ID, etag)
		w.wantFault(err, fault.Unverified, "an object that lost a byte")
		etag = w.putRaw(w.ann, session.ID, "hello")
		w.complete(w.ann, session.ID, etag)
	})
}
