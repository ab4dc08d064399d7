package upload_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/mount"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/upload"
)

// beginParts makes a session of 2500 bytes for the file f in ann's home, and sends those parts.
func (f *fixture) beginParts(key string, numbers ...int) string {
	f.t.Helper()
	id := f.create(f.ann, inParts("f", 2500, key)).ID
	f.putParts(f.ann, id, distinctBytes(2500), append([]int{}, numbers...)...)
	return id
}

// Abuse case C96: an expired session releases its reservation at once, except that of received
// parts with an idempotency key, which stay for a day.
func TestExpiryKeepsWhatCameInForADay(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		keyless, empty, kept := w.create(w.ann, inParts("a", 2500, "")).
			ID, w.create(w.ann, inParts("b", 2500, "no parts")).ID, w.beginParts("k", 1, 3)
		w.putParts(w.ann, keyless, distinctBytes(2500), 1, 2)
		w.wantReserved(w.ann, 7500, 3)
		w.advance(time.Hour - time.Millisecond)
		w.sweep()
		w.wantReserved(w.ann, 7500, 3)
		w.advance(time.Millisecond)
		w.sweep()
		w.wantReserved(w.ann, 1500, 0)
		w.checkInvariants()
		w.sweepAndCollect()
		if n := len(w.partFiles()); n != 2 {
			t.Errorf("%d files of uploads in parts, want those of one", n)
		}
		for _, id := range []string{keyless, empty, kept} {
			_, err := w.up.Parts(ctx, w.ann, id)
			w.wantFault(err, fault.UploadExpired, "parts of an expired session")
		}
		w.advance(24*time.Hour - time.Millisecond)
		w.sweepAndCollect()
		w.wantReserved(w.ann, 1500, 0)
		w.advance(time.Millisecond)
		w.sweep()
		w.wantReserved(w.ann, 0, 0)
		w.wantOnlyFileObjects("a day later")
		_, err := w.up.Parts(ctx, w.ann, kept)
		w.wantFault(err, fault.NotFound, "a session of the day before")
	})
}

// The day may end between two readings of the clock in one sweep.
func TestSweepForgetsOnlyDroppedParts(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		w.beginParts("k", 1)
		end := w.clock.Load() + (25 * time.Hour).Milliseconds()
		w.advance(time.Hour)
		w.sweep()
		for early := int64(6); early >= 0; early-- {
			w.clock.Store(end - early)
			w.clockStep.Store(1)
			w.sweep()
			w.clockStep.Store(0)
			w.checkInvariants()
		}
		w.wantReserved(w.ann, 0, 0)
		w.wantOnlyFileObjects("in the end")
	})
}

func TestKeptPartsAreTakenOverTheNextDay(t *testing.T) {
	for name, before := range map[string]func(w *fixture){
		"swept":        func(w *fixture) { w.sweep(); w.advance(24*time.Hour - 2*time.Millisecond) },
		"never swept":  func(w *fixture) { w.advance(24*time.Hour - 2*time.Millisecond) },
		"at once":      func(*fixture) {},
		"service down": func(w *fixture) { w.advance(20 * time.Hour); w.collect() }, // the collector comes first
	} {
		eachInPartsNamed(t, name, func(t *testing.T, w *fixture) {
			first := w.beginParts("k", 1, 3)
			w.advance(time.Hour)
			before(w)
			for _, n := range []upload.NewSession{inParts("f", 2501, "k"), inParts("g", 2500, "k")} {
				_, err := w.up.Create(ctx, w.ann, n)
				w.wantFault(err, fault.Invalid, "another target or size")
			}
			again := keyed("f", 2500, "k") // without a number of parts, which only selects parts
			begun := w.store.Calls(blobtest.Begin)
			second := w.create(w.ann, again)
			if second.ID == first || second.TotalParts == nil || *second.TotalParts != 3 ||
				second.Status != "pending" || second.ExpiresAt != w.clock.Load()+3_600_000 {
				t.Fatalf("%+v", second)
			}
			if w.store.Calls(blobtest.Begin) != begun {
				t.Error("another upload was begun")
			}
			w.wantReserved(w.ann, 2500, 1)
			w.wantParts(w.ann, second.ID, []int{1, 3}, []int{2})
			if err := w.up.Abort(ctx, w.ann, first); err != nil { // it has nothing to release any more
				t.Error(err)
			}
			w.sweepAndCollect()
			if resumed := w.create(w.ann, again); resumed.ID != second.ID {
				t.Errorf("resumed %+v", resumed)
			}
			_, err := w.up.Parts(ctx, w.ann, first)
			w.wantFault(err, fault.UploadExpired, "the former session")
			w.putParts(w.ann, second.ID, distinctBytes(2500), 2)
			if got := w.content(w.ann, w.complete(w.ann, second.ID, "").ID); got != distinctBytes(2500) {
				t.Errorf("content %.40q …", got)
			}
			w.wantUsed(w.ann, 2500, 1)
			w.wantReserved(w.ann, 0, 0)
			w.advance(48 * time.Hour)
			w.wantOnlyFileObjects("in the end")
		})
	}
}

func TestKeptPartsAreGoneAfterTheDay(t *testing.T) {
	for name, sweep := range map[string]bool{"swept": true, "never swept": false} {
		eachInPartsNamed(t, name, func(t *testing.T, w *fixture) {
			w.beginParts("k", 1, 3)
			w.advance(time.Hour)
			if sweep {
				w.sweep()
			}
			w.advance(24 * time.Hour)
			second := w.create(w.ann, inParts("other", 1500, "k")) // the key is free
			w.wantReserved(w.ann, 1500, 1)
			w.wantParts(w.ann, second.ID, nil, []int{1, 2})
			w.sweepAndCollect()
			if n := len(w.partFiles()); n != 2 {
				t.Errorf("%d files of uploads in parts", n)
			}
		})
	}
}

func TestParallelCreationsTakeOverPartsOnce(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		w.beginParts("k", 1)
		w.advance(2 * time.Hour)
		ids := make(chan string, 12)
		got := parallel(12, func(int) error {
			session, err := w.up.Create(ctx, w.ann, inParts("f", 2500, "k"))
			ids <- session.ID
			return err
		})
		seen := map[string]bool{}
		for range 12 {
			seen[<-ids] = true
		}
		if got[noFault] != 12 || len(seen) != 1 {
			t.Fatalf("outcomes %v, %d sessions", got, len(seen))
		}
		w.wantReserved(w.ann, 2500, 1)
		for id := range seen {
			w.wantParts(w.ann, id, []int{1}, []int{2, 3})
		}
	})
}

func TestKeptPartsCountAgainstTheQuota(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		if err := w.setLimits(w.ann, 3000, 1); err != nil {
			t.Fatal(err)
		}
		w.beginParts("k", 1, 2)
		w.advance(time.Hour)
		w.sweep()
		_, err := w.up.Create(ctx, w.ann, inParts("g", 1001, ""))
		w.wantFault(err, fault.QuotaExceeded, "beside 2000 bytes kept of 3000")
		other := w.create(w.ann, inParts("g", 1000, ""))
		_, err = w.up.Create(ctx, w.ann, inParts("f", 2500, "k"))
		w.wantFault(err, fault.QuotaExceeded, "continuing without room for the rest")
		w.wantReserved(w.ann, 3000, 1)
		if err := w.up.Abort(ctx, w.ann, other.ID); err != nil {
			t.Fatal(err)
		}
		w.wantParts(w.ann, w.create(w.ann, inParts("f", 2500, "k")).ID, []int{1, 2}, []int{3})
		w.wantReserved(w.ann, 2500, 1)
	})
}

func TestKeptPartsCanBeDropped(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.beginParts("k", 1, 2)
		w.advance(time.Hour)
		w.sweep()
		other := w.create(w.ann, file("other", 5000)) // its reservation would show a second release
		w.wantFault(w.up.Abort(ctx, w.ben, id), fault.NotFound, "by somebody else")
		w.wantReserved(w.ann, 7000, 1)
		for range 2 {
			if err := w.up.Abort(ctx, w.ann, id); err != nil {
				t.Fatal(err)
			}
			w.wantReserved(w.ann, 5000, 1)
		}
		if err := w.up.Abort(ctx, w.ann, other.ID); err != nil {
			t.Fatal(err)
		}
		w.wantOnlyFileObjects("after the abort")
		_, err := w.up.Parts(ctx, w.ann, id)
		w.wantFault(err, fault.UploadExpired, "it stays expired")
		w.wantParts(w.ann, w.create(w.ann, inParts("f", 2500, "k")).ID, nil, []int{1, 2, 3})
	})
}

func TestRenewalUpToADay(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id, begin := w.beginParts("k", 1), w.clock.Load()
		end := func(want time.Duration) {
			t.Helper()
			session, err := w.up.Renew(ctx, w.ann, id)
			if err != nil || session.ID != id || session.ExpiresAt != begin+want.Milliseconds() ||
				*session.TotalParts != 3 || session.Mode != "worker" {
				t.Fatalf("renewed: %+v, %v; want the end after %v", session, err, want)
			}
		}
		w.advance(time.Minute)
		end(61 * time.Minute)
		w.advance(-10 * time.Minute) // a replica whose clock is behind does not shorten it
		end(61 * time.Minute)
		w.advance(10 * time.Minute)
		for range 46 { // to 23:01
			w.advance(30 * time.Minute)
			w.sweepAndCollect()
			if _, err := w.up.Renew(ctx, w.ann, id); err != nil {
				t.Fatal(err)
			}
		}
		end(24 * time.Hour)
		w.advance(time.Duration(begin-w.clock.Load())*time.Millisecond + 24*time.Hour - time.Millisecond)
		end(24 * time.Hour)
		w.sweepAndCollect()
		w.putParts(w.ann, id, distinctBytes(2500), 2, 3)
		w.advance(time.Millisecond)
		_, err := w.up.Renew(ctx, w.ann, id)
		w.wantFault(err, fault.UploadExpired, "a day after it began")
		w.sweepAndCollect()
		second := w.create(w.ann, inParts("f", 2500, "k"))
		w.complete(w.ann, second.ID, "")
	})
}

// A part that is being sent continues when its session is renewed. When its session ends the part
// is cut off, and nothing of it stays.
func TestPartUnderWayEndsWithItsSession(t *testing.T) {
	type test struct {
		meanwhile func(w *fixture, id string)
		want      fault.Kind
	}
	for name, c := range map[string]test{
		"renewed": {func(w *fixture, id string) {
			w.advance(59 * time.Minute)
			if _, err := w.up.Renew(ctx, w.ann, id); err != nil {
				w.t.Error(err)
			}
			w.advance(59 * time.Minute)
		}, noFault},
		"expired": {func(w *fixture, id string) { w.advance(time.Hour) }, fault.UploadExpired},
		"expired and swept": {func(w *fixture, id string) {
			w.advance(time.Hour)
			w.sweepAndCollect()
		}, fault.UploadExpired},
		"aborted": {func(w *fixture, id string) { // abuse case C96
			if err := w.up.Abort(ctx, w.ann, id); err != nil {
				w.t.Error(err)
			}
			w.advance(5 * time.Second)
		}, fault.Conflict},
		"aborted and collected": {func(w *fixture, id string) {
			if err := w.up.Abort(ctx, w.ann, id); err != nil {
				w.t.Error(err)
			}
			w.sweepAndCollect()
			w.advance(5 * time.Second)
		}, fault.Conflict},
	} {
		eachInPartsNamed(t, name, func(t *testing.T, w *fixture) {
			id, reads := w.beginParts("", 3), 0
			body := io.MultiReader(strings.NewReader("begin"), readFunc(func(p []byte) (int, error) {
				if reads++; reads == 1 {
					c.meanwhile(w, id)
				}
				if reads == 1+partLength-len("begin") {
					return 0, io.EOF
				}
				return copy(p[:1], "-"), nil
			}))
			_, err := w.up.PutPart(ctx, w.ann, id, 1, body, -1)
			if kindOf(err) != c.want {
				t.Errorf("got %v", err)
			}
			if c.want != noFault && reads > 1 {
				t.Errorf("%d reads after the end", reads-1)
			}
			if c.want == noFault {
				w.wantParts(w.ann, id, []int{1, 3}, []int{2})
				return
			}
			w.sweep()
			w.wantReserved(w.ann, 0, 0)
			w.wantOnlyFileObjects("after the end")
		})
	}
}

// The session is aborted at the last moment, when the whole body has arrived.
func TestAPartIsNotAcknowledgedAfterTheAbort(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.beginParts("", 3)
		body := io.MultiReader(strings.NewReader(strings.Repeat("-", partLength)), readFunc(func([]byte) (int, error) {
			if err := w.up.Abort(ctx, w.ann, id); err != nil {
				t.Error(err)
			}
			return 0, io.EOF
		}))
		_, err := w.up.PutPart(ctx, w.ann, id, 1, body, -1)
		w.wantFault(err, fault.Conflict, "a part of an aborted session")
		w.wantOnlyFileObjects("after the abort")
	})
}

func TestListOfSessions(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		kept := w.beginParts("kept", 1, 3)
		w.create(w.ann, inParts("dropped", 2500, "dropped"))
		w.advance(time.Hour)
		single := w.create(w.ann, keyed("single", 5, "s")).ID
		w.advance(time.Second)
		sent := w.create(w.ann, file("sent", 5)).ID
		w.putRaw(w.ann, sent, "hello")
		w.advance(time.Second)
		parts := w.create(w.ann, inParts("parts", 2500, "p")).ID
		w.putPart(w.ann, parts, 3, partOf(distinctBytes(2500), 3))
		w.create(w.ben, upload.NewSession{Dir: path("/home/ben"), Name: "f", Size: 7})
		gone := w.create(w.ann, file("gone", 5)).ID
		if err := w.up.Abort(ctx, w.ann, gone); err != nil {
			t.Fatal(err)
		}
		describe := func(status string) string {
			t.Helper()
			list, err := w.up.List(ctx, w.ann, status)
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]string{kept: "kept", single: "single", sent: "sent", parts: "parts"}
			var b strings.Builder
			for _, s := range list {
				received, until := "?", "-"
				if s.Received != nil {
					received = fmt.Sprint(*s.Received)
				}
				if s.KeptUntil != nil {
					until = fmt.Sprint((*s.KeptUntil - s.CreatedAt) / 3_600_000)
				}
				fmt.Fprintf(&b, "%s %s %s %s %d %s %s; ", names[s.ID], s.Status, s.Dir, s.IdempotencyKey, s.Size,
					received, until)
			}
			return b.String()
		}
		const open = "parts pending /home/ann p 2500 500 -; sent pending /home/ann  5 5 -; single pending /home/ann " +
			"s 5 0 -; "
		const old = "kept expired /home/ann kept 2500 1500 25; "
		for _, swept := range []bool{false, true} {
			if swept {
				w.sweep()
			}
			for status, want := range map[string]string{upload.All: open + old, upload.Pending: open,
				upload.Kept: old} {
				if got := describe(status); got != want {
					t.Errorf("swept: %v, status %q: got %s\nwant %s", swept, status, got, want)
				}
			}
		}
		w.store.QueueFaults(blobtest.Parts, blobtest.Fault{Err: blob.Unavailable("list", errors.New("EIO"))})
		if got, want := describe(upload.Pending), strings.Replace(open, "500 -", "? -", 1); got != want {
			t.Errorf("with a failing store: got %s\nwant %s", got, want)
		}
		for _, status := range []string{"completed", "aborted", "PENDING", "x"} {
			_, err := w.up.List(ctx, w.ann, status)
			w.wantFault(err, fault.Invalid, status)
		}
		_, err := w.up.List(ctx, access.Actor{Role: access.Guest}, upload.All)
		w.wantFault(err, fault.Unauthorized, "a visitor")
	})
}

const secondProviderID = "00000000-0000-4000-8000-00000000000b"

// secondProvider makes another local provider.
func (f *fixture) secondProvider() (id string) {
	f.t.Helper()
	id = secondProviderID
	err := f.providers.Prepare("second", id)
	if err == nil {
		err = f.db.Write(ctx, func(tx *db.Tx) error {
			return f.providers.Insert(tx, provider.Provider{ID: id, Name: "second", Type: "store_a", Bucket: "second",
				Marker: id})
		})
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return id
}

// Abuse case C24: a session stays with the provider that it began on, whatever provider its mount
// has by now. A new session does not take over parts in another provider.
func TestSessionKeepsItsProvider(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		single := w.create(w.ann, file("single", 5)).ID
		etag := w.putRaw(w.ann, single, "hello")
		pending := w.create(w.ann, inParts("pending", 2500, "")).ID
		w.putParts(w.ann, pending, distinctBytes(2500), 2)
		old := w.queryInt("SELECT count(*) FROM objects")
		w.exec("UPDATE mounts SET provider_id = $1", w.secondProvider())
		w.putParts(w.ann, pending, distinctBytes(2500), 1, 3)
		for id, want := range map[string]string{single: "hello", pending: distinctBytes(2500)} {
			if got := w.content(w.ann, w.complete(w.ann, id, etag).ID); got != want {
				t.Errorf("content %.40q …", got)
			}
		}
		if n := w.queryInt("SELECT count(*) FROM objects WHERE provider_id <> $1", secondProviderID); n != old+2 {
			t.Errorf("%d objects with the first provider, want %d", n, old+2)
		}
	})
}

func TestKeptPartsOfAnotherProviderAreDropped(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		w.beginParts("k", 1, 2, 3)
		w.advance(time.Hour)
		w.sweep()
		w.exec("UPDATE mounts SET provider_id = $1", w.secondProvider())
		fresh := w.create(w.ann, inParts("f", 2500, "k"))
		w.wantParts(w.ann, fresh.ID, nil, []int{1, 2, 3})
		w.wantReserved(w.ann, 2500, 1)
		w.sweepAndCollect()
		if n := len(w.partFiles()); n != 0 {
			t.Errorf("%d files are left with the first provider", n)
		}
		w.putParts(w.ann, fresh.ID, distinctBytes(2500))
		if got := w.content(w.ann, w.complete(w.ann, fresh.ID, "").ID); got != distinctBytes(2500) {
			t.Errorf("content %.40q …", got)
		}
	})
}

// Another mount of the same provider may have the folder by now.
func TestASessionGoesOnUnderAnotherMountOfItsProvider(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.create(w.admin, upload.NewSession{Dir: path("/public"), Name: "f", Size: 5}).ID
		etag := w.putRaw(w.admin, id, "hello")
		var mountID, providerID, root string
		if err := w.db.Read(ctx).QueryRow("SELECT id, provider_id, root_id FROM mounts").
			Scan(&mountID, &providerID, &root); err != nil {
			t.Fatal(err)
		}
		err := w.db.Write(ctx, func(tx *db.Tx) error {
			return w.mounts.Insert(tx, mount.Mount{
				ID: secondProviderID, ProviderID: providerID, RootID: root, Path: path("/"), Name: "Other",
				SortBy: "name", SortOrder: "asc", Priority: 9,
			}, w.clock.Load())
		})
		if err != nil {
			t.Fatal(err)
		}
		w.exec("DELETE FROM mounts WHERE id = $1", mountID)
		if entry := w.complete(w.admin, id, etag); entry.MountID != secondProviderID ||
			w.content(w.admin, entry.ID) != "hello" {
			t.Errorf("got %+v", entry)
		}
	})
}

// Keys that the collector has claimed are not taken back, neither by a renewal nor by a new
// session.
func TestClaimedPartsAreNotTakenBack(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		claim := func() {
			w.exec("UPDATE garbage SET after = $1 WHERE upload_id IS NOT NULL",
				-w.clock.Load()-time.Minute.Milliseconds())
		}
		id := w.beginParts("k", 1)
		claim()
		_, err := w.up.Renew(ctx, w.ann, id)
		w.wantFault(err, fault.Conflict, "a renewal")
		w.advance(time.Hour)
		w.sweep()
		w.wantParts(w.ann, w.create(w.ann, inParts("f", 2500, "k")).ID, nil, []int{1, 2, 3})
		w.wantReserved(w.ann, 2500, 1)
	})
}

// Abuse case C129: a wrong clock may cost parts, never a file, and the upload can be begun again.
func TestPartsCollectedTooEarlyCostNoFile(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		w.put("notes a batch of keys", "x")
		cfg := w.tree.Objects.Config
		ahead := 5 * time.Hour
		cfg.Now = func() time.Time { return w.now().Add(ahead) }
		other := object.New(cfg)
		early := func() {
			if _, err := other.Collect(ctx); err != nil {
				t.Error(err)
			}
		}
		early() // deletes the keys at hand
		pending := w.beginParts("k", 1, 2, 3)
		ahead = 50 * time.Hour
		early()
		_, err := w.up.Parts(ctx, w.ann, pending)
		w.wantFault(err, fault.Conflict, "parts that are gone")
		_, err = w.up.PutPart(ctx, w.ann, pending, 1, strings.NewReader(partOf(distinctBytes(2500), 1)), -1)
		w.wantFault(err, fault.Conflict, "a part for parts that are gone")
		_, _, err = w.up.Complete(ctx, w.ann, pending, "")
		w.wantFault(err, fault.Conflict, "a completion of parts that are gone")
		_, err = w.up.Renew(ctx, w.ann, pending)
		w.wantFault(err, fault.Conflict, "a renewal of parts that are gone")
		if err := w.up.Abort(ctx, w.ann, pending); err != nil {
			t.Error(err)
		}
		w.beginParts("k", 1, 2, 3)
		w.advance(time.Hour)
		w.sweep()
		early()
		w.wantReserved(w.ann, 2500, 0)
		fresh := w.create(w.ann, inParts("f", 2500, "k"))
		w.wantParts(w.ann, fresh.ID, nil, []int{1, 2, 3})
		w.wantReserved(w.ann, 2500, 1)
		w.putParts(w.ann, fresh.ID, distinctBytes(2500))
		w.complete(w.ann, fresh.ID, "")
		w.advance(100 * time.Hour)
		w.wantOnlyFileObjects("in the end")
	})
}
