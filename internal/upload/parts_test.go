package upload_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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

// partLength is the length of a part in the fixtures of eachInParts, instead of 8 MiB.
const partLength = 1000

func eachInParts(t *testing.T, test func(t *testing.T, w *fixture)) {
	t.Helper()
	each(t, func(t *testing.T, w *fixture) {
		w.up.SetPartSize(partLength)
		test(t, w)
	})
}

// inParts is a session in parts for a file in ann's home.
func inParts(name string, size int64, key string) upload.NewSession {
	n, two := keyed(name, size, key), int64(2)
	n.PartCount = &two
	return n
}

// distinctBytes is content in which no two parts are equal.
func distinctBytes(size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "%07d\n", b.Len())
	}
	return b.String()[:size]
}

// partOf returns part number of a content.
func partOf(content string, number int) string {
	return content[(number-1)*partLength : min(number*partLength, len(content))]
}

func (f *fixture) putPart(a access.Actor, id string, number int, content string) string {
	f.t.Helper()
	etag, err := f.up.PutPart(ctx, a, id, number, strings.NewReader(content), int64(len(content)))
	if err != nil || etag == "" {
		f.t.Fatalf("part %d: etag %q, %v", number, etag, err)
	}
	return etag
}

// putParts sends the parts with these numbers, or all of them.
func (f *fixture) putParts(a access.Actor, id, content string, numbers ...int) {
	f.t.Helper()
	if numbers == nil {
		for n := 1; (n-1)*partLength < len(content); n++ {
			numbers = append(numbers, n)
		}
	}
	for _, n := range numbers {
		f.putPart(a, id, n, partOf(content, n))
	}
}

// wantParts checks which parts are listed as received and which as missing.
func (f *fixture) wantParts(a access.Actor, id string, received, missing []int) upload.Parts {
	f.t.Helper()
	parts, err := f.up.Parts(ctx, a, id)
	var got []int
	for _, p := range parts.Received {
		got = append(got, p.Number)
	}
	if err != nil || !slices.Equal(got, received) || !slices.Equal(parts.Missing, missing) ||
		parts.Total != len(received)+len(missing) || parts.Mode != "worker" {
		f.t.Errorf("parts: %+v, %v", parts, err)
	}
	return parts
}

func (f *fixture) wantReserved(a access.Actor, storage, count int64) {
	f.t.Helper()
	if s, n := f.reserved(a); s != storage || n != count {
		f.t.Errorf("reserved %d bytes and %d files, want %d and %d", s, n, storage, count)
	}
}

func (f *fixture) wantUsed(a access.Actor, storage, count int64) {
	f.t.Helper()
	if s, n := f.used(a); s != storage || n != count {
		f.t.Errorf("used %d bytes and %d files, want %d and %d", s, n, storage, count)
	}
}

// wantOnlyFileObjects runs the collector, and checks that the store has only the objects of files.
func (f *fixture) wantOnlyFileObjects(when string) {
	f.t.Helper()
	f.sweepAndCollect()
	if stored, known := f.storedKeys(), f.queryInt("SELECT count(*) FROM objects"); int64(len(stored)) != known {
		f.t.Errorf("%s: the store holds %q, %d objects are known", when, stored, known)
	}
}

func TestPartsInAnyOrderBecomeTheFile(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		content := distinctBytes(2500)
		session := w.create(w.ann, inParts("f.txt", 2500, ""))
		if session.Mode != "worker" || session.TotalParts == nil || *session.TotalParts != 3 ||
			session.ExpiresAt != w.clock.Load()+3_600_000 {
			t.Fatalf("created %+v", session)
		}
		w.wantReserved(w.ann, 2500, 1)
		w.wantParts(w.ann, session.ID, nil, []int{1, 2, 3})
		third := w.putPart(w.ann, session.ID, 3, partOf(content, 3))
		w.putPart(w.ann, session.ID, 1, strings.Repeat("x", partLength)) // and again below
		w.wantParts(w.ann, session.ID, []int{1, 3}, []int{2})
		w.putPart(w.ann, session.ID, 2, partOf(content, 2))
		first := w.putPart(w.ann, session.ID, 1, partOf(content, 1))
		parts := w.wantParts(w.ann, session.ID, []int{1, 2, 3}, nil)
		if parts.Received[0].ETag != first || parts.Received[2].ETag != third || parts.Received[2].Size != 500 {
			t.Errorf("parts %+v", parts.Received)
		}

		// abuse case C100: the store's record decides
		entry, already, err := w.up.Complete(ctx, w.ann, session.ID, "forged")
		if err != nil || already || entry.Name != "f.txt" || entry.Size != 2500 ||
			w.content(w.ann, entry.ID) != content {
			t.Fatalf("completed: %+v, %v, %v", entry, already, err)
		}
		if again, already, err := w.up.Complete(ctx, w.ann, session.ID, ""); err != nil || !already ||
			again.ID != entry.ID {
			t.Errorf("again: %+v, %v, %v", again, already, err)
		}
		w.wantReserved(w.ann, 0, 0)
		w.wantUsed(w.ann, 2500, 1)
		// A job of the service computes the hash later.
		if n := w.queryInt(`SELECT count(*) FROM objects o JOIN jobs j ON j.payload = o.id
			WHERE o.sha256 IS NULL AND j.type = 'checksum' AND j.owner_id = '' AND j.status = 'pending' AND j.total_bytes = 2500`); n != 1 {
			t.Errorf("%d objects wait for their hash", n)
		}
		w.wantOnlyFileObjects("after the completion")
	})
}

func TestTypeOfAFileInParts(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + distinctBytes(1500)
		for _, c := range []struct{ name, claim, want string }{{"a", "", "image/png"}, {"b.pdf", "", "application/pdf"},
			{"c", "video/mp4", "video/mp4"}} {
			n := inParts(c.name, int64(len(png)), "")
			n.MimeType = c.claim
			id := w.create(w.ann, n).ID
			w.putParts(w.ann, id, png)
			if entry := w.complete(w.ann, id, ""); entry.MimeType != c.want {
				t.Errorf("%s: %s", c.name, entry.MimeType)
			}
		}
	})
}

// unboundedStore is a store that begins an upload of any size.
type unboundedStore struct{ blob.Store }

func (unboundedStore) Begin(_ context.Context, key blob.Key, size, partSize int64, _ string) (blob.Upload, error) {
	return blob.Upload{Key: key, ID: "vast", Size: size, PartSize: partSize}, nil
}

func TestWhichSizesComeInParts(t *testing.T) {
	count := func(n int64) *int64 { return &n }
	each(t, func(t *testing.T, w *fixture) {
		w.up.WrapStores(func(inner blob.Store) blob.Store { return unboundedStore{inner} })
		if err := w.setLimits(w.ann, -1, -1); err != nil {
			t.Fatal(err)
		}
		for i, c := range []struct {
			size  int64
			count *int64
			parts int64 // 0: one piece
		}{
			{100 << 20, nil, 0}, {100<<20 + 1, nil, 13}, {100<<20 + 1, count(1), 13}, {20 << 30, nil, 2560},
			{20 << 30, count(2560), 2560},
			{1, count(2), 1}, {1, count(1), 0}, {0, count(2), 0}, {8 << 20, count(2560), 1}, {8<<20 + 1, count(2), 2},
			{8<<20 - 1, count(2), 1},
		} {
			n := file(fmt.Sprint("f", i), c.size)
			n.PartCount = c.count
			session := w.create(w.ann, n)
			if (session.TotalParts == nil) != (c.parts == 0) || session.TotalParts != nil &&
				*session.TotalParts != c.parts {
				t.Errorf("%d bytes: %+v", c.size, session)
			}
		}
	})
}

// The result of each call in each state. Abuse cases C36 for rows of other users, and C100 for
// parts of sessions without parts.
func TestEveryCallOfPartsInEveryState(t *testing.T) {
	type calls struct{ part, parts, raw, renew, complete, abort fault.Kind }
	make3 := func(w *fixture, numbers ...int) string {
		id := w.create(w.ann, inParts("f", 2500,
			fmt.Sprint("key ", w.queryInt("SELECT count(*) FROM upload_sessions")))).ID
		w.putParts(w.ann, id, distinctBytes(2500), append([]int{}, numbers...)...)
		return id
	}
	swept := func(w *fixture, after time.Duration) {
		w.advance(after)
		if err := w.up.Sweep(ctx); err != nil {
			w.t.Fatal(err)
		}
	}
	over := calls{fault.UploadExpired, fault.UploadExpired, fault.Conflict, fault.UploadExpired, fault.UploadExpired,
		noFault}
	unknown := calls{fault.NotFound, fault.NotFound, fault.NotFound, fault.NotFound, fault.NotFound, fault.NotFound}
	states := []struct {
		name string
		by   func(w *fixture) access.Actor
		make func(w *fixture) string
		want calls
	}{
		{"without parts", nil, func(w *fixture) string { return make3(w) },
			calls{noFault, noFault, fault.Conflict, noFault, fault.Unverified, noFault}},
		{"a part is missing", nil, func(w *fixture) string { return make3(w, 1, 3) },
			calls{noFault, noFault, fault.Conflict, noFault, fault.Unverified, noFault}},
		{"all parts", nil, func(w *fixture) string { return make3(w, 1, 2, 3) },
			calls{noFault, noFault, fault.Conflict, noFault, noFault, noFault}},
		{"completed", nil, func(w *fixture) string {
			id := make3(w, 1, 2, 3)
			w.complete(w.ann, id, "")
			return id
		}, calls{fault.Conflict, fault.Conflict, fault.Conflict, fault.Conflict, noFault, fault.Conflict}},
		{"completed, after the hour", nil, func(w *fixture) string {
			id := make3(w, 1, 2, 3)
			w.complete(w.ann, id, "")
			swept(w, time.Hour)
			return id
		}, calls{fault.Conflict, fault.Conflict, fault.Conflict, fault.Conflict, noFault, fault.Conflict}},
		{"aborted", nil, func(w *fixture) string {
			id := make3(w, 1, 2, 3)
			if err := w.up.Abort(ctx, w.ann, id); err != nil {
				w.t.Fatal(err)
			}
			return id
		}, calls{fault.Conflict, fault.Conflict, fault.Conflict, fault.Conflict, fault.Conflict, noFault}},
		{"expired, not swept", nil, func(w *fixture) string {
			id := make3(w, 1, 2, 3)
			w.advance(time.Hour)
			return id
		}, over},
		{"expired, its parts kept", nil, func(w *fixture) string {
			id := make3(w, 1, 2, 3)
			swept(w, time.Hour)
			return id
		}, over},
		{"expired, nothing to keep", nil, func(w *fixture) string {
			id := make3(w)
			swept(w, time.Hour)
			return id
		}, over},
		{"a millisecond before its end", nil, func(w *fixture) string {
			id := make3(w, 1, 2, 3)
			swept(w, time.Hour-time.Millisecond)
			return id
		}, calls{noFault, noFault, fault.Conflict, noFault, noFault, noFault}},
		{"one piece", nil, func(w *fixture) string {
			return w.create(w.ann, file("f", 3)).ID
		}, calls{fault.Conflict, fault.Conflict, noFault, fault.Conflict, fault.Invalid, noFault}},
		{"one piece, expired", nil, func(w *fixture) string {
			id := w.create(w.ann, file("f", 3)).ID
			w.advance(time.Hour)
			return id
		}, calls{fault.Conflict, fault.Conflict, fault.UploadExpired, fault.Conflict, fault.Invalid, noFault}},
		{"somebody else's", func(w *fixture) access.Actor { return w.ben },
			func(w *fixture) string { return make3(w, 1, 2, 3) }, unknown},
		{"somebody else's, for an administrator", func(w *fixture) access.Actor { return w.admin },
			func(w *fixture) string { return make3(w, 1, 2, 3) }, unknown},
		{"unknown", nil, func(*fixture) string { return "5a1f3c1e-0000-4000-8000-000000000000" }, unknown},
	}
	eachInParts(t, func(t *testing.T, w *fixture) {
		for _, state := range states {
			actor := w.ann
			if state.by != nil {
				actor = state.by(w)
			}
			var got calls
			_, err := w.up.PutPart(ctx, actor, state.make(w), 2, strings.NewReader(partOf(distinctBytes(2500), 2)),
				partLength)
			got.part = kindOf(err)
			_, err = w.up.Parts(ctx, actor, state.make(w))
			got.parts = kindOf(err)
			_, _, err = w.up.PutRaw(ctx, actor, state.make(w), strings.NewReader("abc"), 3, "")
			got.raw = kindOf(err)
			_, err = w.up.Renew(ctx, actor, state.make(w))
			got.renew = kindOf(err)
			_, _, err = w.up.Complete(ctx, actor, state.make(w), "")
			got.complete = kindOf(err)
			got.abort = kindOf(w.up.Abort(ctx, actor, state.make(w)))
			if got != state.want {
				t.Errorf("%s: got %+v, want %+v", state.name, got, state.want)
			}
			w.checkInvariants()
		}
	})
}

// Abuse cases C94 and C100: a part has its number and its length, and nothing else is kept.
func TestInvalidPartsAreRefused(t *testing.T) {
	const kept = "the former content"
	content := distinctBytes(2500)
	for _, before := range []string{"", kept} {
		eachInPartsNamed(t, "before: "+before, func(t *testing.T, w *fixture) {
			id := w.create(w.ann, inParts("f", 2500, "")).ID
			if before != "" {
				w.putParts(w.ann, id, content)
			}
			for _, c := range []struct {
				number, length int
				announced      int64
				want           fault.Kind
			}{
				{0, partLength, partLength, fault.Invalid}, {-1, partLength, partLength, fault.Invalid},
				{4, 500, 500, fault.Invalid}, {10001, 500, -1, fault.Invalid},
				{1, partLength - 1, partLength - 1, fault.Unverified},
				{1, partLength + 1, partLength + 1, fault.Unverified}, {1, 0, 0, fault.Unverified},
				{1, partLength - 1, -1, fault.Unverified}, {1, partLength + 1, -1, fault.Unverified},
				{1, 0, -1, fault.Unverified},
				{1, partLength - 1, partLength, fault.Unverified}, {1, partLength + 1, partLength, fault.Unverified},
				{1, partLength, partLength + 1, fault.Unverified}, {1, partLength, 0, fault.Unverified},
				{3, 499, 499, fault.Unverified}, {3, 501, 501, fault.Unverified}, {3, 499, -1, fault.Unverified},
				{3, 501, -1, fault.Unverified}, {3, partLength, -1, fault.Unverified},
			} {
				_, err := w.up.PutPart(ctx, w.ann, id, c.number, strings.NewReader(strings.Repeat("-", c.length)),
					c.announced)
				w.wantFault(err, c.want, fmt.Sprintf("%+v", c))
			}
			half := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF))
			_, err := w.up.PutPart(ctx, w.ann, id, 2, half, -1)
			w.wantFault(err, fault.Unverified, "a body that breaks off")
			if before == "" {
				w.wantParts(w.ann, id, nil, []int{1, 2, 3})
				w.putParts(w.ann, id, content)
			}
			w.wantParts(w.ann, id, []int{1, 2, 3}, nil)
			if got := w.content(w.ann, w.complete(w.ann, id, "").ID); got != content {
				t.Errorf("content %.40q …", got)
			}
		})
	}
}

func eachInPartsNamed(t *testing.T, name string, test func(t *testing.T, w *fixture)) {
	t.Run(name, func(t *testing.T) { eachInParts(t, test) })
}

// Abuse case C100.
func TestParallelBodiesOfOnePart(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.create(w.ann, inParts("f", 1500, "")).ID
		w.putPart(w.ann, id, 2, strings.Repeat("z", 500))
		etags := make([]string, 10)
		body := func(i int) string { return strings.Repeat(fmt.Sprint(i), partLength) }
		got := parallel(10, func(i int) (err error) {
			etags[i], err = w.up.PutPart(ctx, w.ann, id, 1, strings.NewReader(body(i)), -1)
			return err
		})
		if got[noFault] != 10 {
			t.Fatalf("outcomes %v", got)
		}
		told := w.wantParts(w.ann, id, []int{1, 2}, nil).Received[0].ETag
		counts := slices.Index(etags, told)
		if content := w.content(w.ann, w.complete(w.ann, id, "").ID); counts < 0 ||
			content[:partLength] != body(counts) {
			t.Errorf("body %d counts by its etag, the file begins with %.10s", counts, content)
		}
	})
}

func TestCompletionNamesMissingParts(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.create(w.ann, inParts("f", 9500, "")).ID
		w.putParts(w.ann, id, distinctBytes(9500), 2, 4)
		for _, c := range []struct {
			send []int
			want string
		}{{nil, "been received yet: 1, 3, 5, 6, 7 and 3 " +
			"more."}, {[]int{1, 3, 5, 8, 9, 10}, "been received yet: 6, 7."}} {
			w.putParts(w.ann, id, distinctBytes(9500), append([]int{}, c.send...)...)
			_, _, err := w.up.Complete(ctx, w.ann, id, "")
			w.wantFault(err, fault.Unverified, "missing parts")
			if told := new(fault.Error); !errors.As(err, &told) || !strings.HasSuffix(told.Message, c.want) {
				t.Errorf("told %v", err)
			}
		}
		w.wantReserved(w.ann, 9500, 1)
		w.putParts(w.ann, id, distinctBytes(9500), 6, 7)
		w.complete(w.ann, id, "")
	})
}

// Abuse case C87.
func TestParallelCompletionsOfPartsMakeOneFile(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.create(w.ann, inParts("f", 2500, "")).ID
		w.putParts(w.ann, id, distinctBytes(2500))
		made := make(chan string, 20)
		got := parallel(20, func(int) error {
			entry, already, err := w.up.Complete(ctx, w.ann, id, "")
			if !already {
				made <- entry.ID
			}
			return err
		})
		if got[noFault] != 20 || len(made) != 1 {
			t.Errorf("outcomes %v, %d calls that made a file", got, len(made))
		}
		w.wantUsed(w.ann, 2500, 1)
		w.wantReserved(w.ann, 0, 0)
		w.wantOnlyFileObjects("after the completions")
	})
}

// Abuse case C88; refused sessions leave nothing in the store.
func TestParallelSessionsInPartsNeverOvercommitTheQuota(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		if err := w.setLimits(w.ann, 5000, 100); err != nil {
			t.Fatal(err)
		}
		got := parallel(50, func(i int) error {
			_, err := w.up.Create(ctx, w.ann, inParts(fmt.Sprint("f", i), 3000, ""))
			return err
		})
		if got[noFault] != 1 || got[fault.QuotaExceeded] != 49 {
			t.Errorf("outcomes %v", got)
		}
		w.wantReserved(w.ann, 3000, 1)
		w.sweepAndCollect()
		if n := len(w.partFiles()); n != 2 { // bytes and journal of one upload
			t.Errorf("%d files of uploads in parts", n)
		}
	})
}

// partFiles lists the store's files of uploads in parts.
func (f *fixture) partFiles() (found []string) {
	for _, key := range f.storedKeys() {
		if strings.Contains(key, "tmp/parts/") {
			found = append(found, key)
		}
	}
	return found
}

// A session that is refused does not reach the store.
func TestRefusedSessionsInPartsBeginNothing(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		foreign := inParts("f", 2500, "")
		foreign.Dir = path("/home/ben")
		taken := inParts("taken", 2500, "")
		taken.Conflict = files.Fail
		w.put("taken", "x")
		for name, c := range map[string]struct {
			n    upload.NewSession
			want fault.Kind
		}{
			"quota": {inParts("f", 10*mebibyte, ""), fault.QuotaExceeded}, "rights": {foreign, fault.Forbidden},
			"name": {taken, fault.AlreadyExists},
		} {
			_, err := w.up.Create(ctx, w.ann, c.n)
			w.wantFault(err, c.want, name)
		}
		for i := range 100 { // abuse case C102
			w.create(w.ann, inParts(fmt.Sprint("f", i), 1, ""))
		}
		begun := w.store.Calls(blobtest.Begin)
		_, err := w.up.Create(ctx, w.ann, inParts("f", 1, ""))
		w.wantFault(err, fault.Conflict, "the 101st session")
		if begun != 100 || w.store.Calls(blobtest.Begin) != 100 {
			t.Errorf("begun %d and %d times", begun, w.store.Calls(blobtest.Begin))
		}
	})
}
