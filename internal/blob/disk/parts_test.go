package disk

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
)

// A disk accepts parts of any size, so these tests use small ones.
const partLength = 1000

func mustBegin(t *testing.T, s *Store, size int64) blob.Upload {
	t.Helper()
	u, err := s.Begin(t.Context(), blobtest.NewKey(), size, partLength, "")
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	return u
}

// mustPart puts a part filled with letter.
func mustPart(t *testing.T, s *Store, u blob.Upload, number int, letter byte) (blob.Part, []byte) {
	t.Helper()
	body := bytes.Repeat([]byte{letter}, int(u.PartLength(number)))
	p, err := s.PutPart(t.Context(), u, number, bytes.NewReader(body))
	if err != nil {
		t.Fatalf("PutPart %d: %v", number, err)
	}
	return p, body
}

func wantParts(t *testing.T, s *Store, u blob.Upload, want ...blob.Part) {
	t.Helper()
	if got, err := s.Parts(t.Context(), u); err != nil || !slices.Equal(got, want) {
		t.Errorf("Parts = %+v, %v, want %+v", got, err, want)
	}
}

func mustFinish(t *testing.T, s *Store, u blob.Upload, want ...[]byte) {
	t.Helper()
	if info, err := blobtest.FinishListed(t.Context(), s, u); err != nil || info.Size != u.Size {
		t.Fatalf("Finish = %+v, %v", info, err)
	}
	if !bytes.Equal(blobtest.Content(t, s, u.Key), slices.Concat(want...)) {
		t.Error("the object has other bytes")
	}
}

// uploadFiles returns the paths of the data file and the journal.
func uploadFiles(dir string, u blob.Upload) (data, journal string) {
	_, name := u.Key.Split()
	data = filepath.Join(dir, tempName, "parts", name)
	return data, data + "-journal"
}

// openAfterCrash returns the store in the state after a crash at this moment.
func openAfterCrash(t *testing.T, dir string) *Store {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	if err := os.CopyFS(image, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return openStore(t, image, Options{Now: fixedClock})
}

func TestUploadsContinueInReopenedStore(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t)
	blobtest.RunResumedUpload(t, s, openStore(t, dir, Options{Now: fixedClock}))
	wantNoTempFiles(t, dir)
}

func TestJournalTornAtAnyByteLosesOnlyTheTornPart(t *testing.T) { // abuse case C123
	t.Parallel()
	s, dir := newStore(t)
	u := mustBegin(t, s, 2*partLength+10)
	p3, _ := mustPart(t, s, u, 3, 'c')
	p1, _ := mustPart(t, s, u, 1, 'a')
	_, path := uploadFiles(dir, u)
	whole, err := os.ReadFile(path)
	if err != nil || len(whole) != headerLength+3*lineLength {
		t.Fatalf("journal of %d bytes, %v", len(whole), err)
	}
	check := func(what string, at int, journal []byte, want ...blob.Part) {
		t.Helper()
		if err := os.WriteFile(path, journal, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := s.Parts(t.Context(), u)
		if want == nil && !errors.Is(err, blob.ErrNotFound) || want != nil && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%s at byte %d: Parts = %v, %v, want %v", what, at, got, err, want)
		}
		if _, err := blobtest.FinishListed(t.Context(), s, u); err == nil {
			t.Fatalf("%s at byte %d: finished without part 2", what, at)
		}
	}
	for at := range whole {
		want := []blob.Part(nil)
		if at >= headerLength {
			want = []blob.Part{}
		}
		if at >= headerLength+lineLength {
			want = append(want, p1)
		}
		check("cut", at, whole[:at], want...)

		flipped := bytes.Clone(whole)
		flipped[at] ^= 1
		switch {
		case at < headerLength:
			want = nil
		case at < headerLength+lineLength:
			want = []blob.Part{p3}
		case at < headerLength+2*lineLength:
			want = []blob.Part{p1, p3}
		default:
			want = []blob.Part{p1}
		}
		check("flipped", at, flipped, want...)
	}
	if err := os.WriteFile(path, whole[:headerLength+lineLength/2], 0o600); err != nil {
		t.Fatal(err)
	}
	_, b1 := mustPart(t, s, u, 1, 'x')
	_, b2 := mustPart(t, s, u, 2, 'y')
	_, b3 := mustPart(t, s, u, 3, 'z')
	mustFinish(t, s, u, b1, b2, b3)
}

func TestCrashWhileAPartIsOverwritten(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t)
	const length = 1_000_000 // several buffers
	u, err := s.Begin(t.Context(), blobtest.NewKey(), 2*length, length, "")
	if err != nil {
		t.Fatal(err)
	}
	p1, b1 := mustPart(t, s, u, 1, 'a')
	p2, _ := mustPart(t, s, u, 2, 'b')
	var before, amid, end *Store
	body := io.MultiReader(
		hookReader(func() { before = openAfterCrash(t, dir) }), strings.NewReader(strings.Repeat("c", length*3/4)),
		hookReader(func() { amid = openAfterCrash(t, dir) }), strings.NewReader(strings.Repeat("c", length/4)),
		hookReader(func() { end = openAfterCrash(t, dir) }))
	p3, err := s.PutPart(t.Context(), u, 2, body)
	if err != nil {
		t.Fatal(err)
	}
	wantParts(t, before, u, p1, p2)
	mustFinish(t, before, u, b1, bytes.Repeat([]byte("b"), length))
	for _, torn := range []*Store{amid, end} {
		wantParts(t, torn, u, p1)
		if _, err := blobtest.FinishListed(t.Context(), torn, u); !errors.Is(err, blob.ErrPart) {
			t.Errorf("Finish over a torn part = %v, want ErrPart", err)
		}
		_, again := mustPart(t, torn, u, 2, 'd')
		mustFinish(t, torn, u, b1, again)
	}
	after := openAfterCrash(t, dir)
	wantParts(t, after, u, p1, p3)
	mustFinish(t, after, u, b1, bytes.Repeat([]byte("c"), length))
}

// hookReader is an empty reader that calls f.
type hookReader func()

func (r hookReader) Read([]byte) (int, error) { r(); return 0, io.EOF }

func TestCrashWhileFinishing(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t)
	u := mustBegin(t, s, partLength)
	_, body := mustPart(t, s, u, 1, 'a')
	data, journal := uploadFiles(dir, u)
	object := filepath.Join(dir, string(u.Key))
	lines, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}

	// On a file system without an atomic rename the process ends while the file has two names.
	if err := errors.Join(os.Mkdir(filepath.Dir(object), 0o700), os.Link(data, object)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutPart(t.Context(), u, 1, bytes.NewReader(make([]byte, partLength))); !errors.Is(err,
		blob.ErrNotFound) {
		t.Errorf("PutPart into a file that is an object already = %v, want ErrNotFound", err)
	}
	mustFinish(t, s, u, body)
	wantNoTempFiles(t, dir)

	// The object has its name, and the process ends before the journal is removed.
	if err := os.WriteFile(journal, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Parts(t.Context(), u); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Parts = %v, want ErrNotFound", err)
	}
	mustFinish(t, s, u, body)
	wantNoTempFiles(t, dir)

	// The journal is back, and another upload of the same key exists beside it.
	if err := errors.Join(os.Remove(object), os.WriteFile(journal, lines, 0o600)); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Begin(t.Context(), u.Key, u.Size, u.PartSize, ""); err != nil || again != u {
		t.Fatalf("Begin = %+v, %v", again, err)
	}
	wantParts(t, s, u)
	if err := os.Truncate(data, partLength); err != nil { // as after another part
		t.Fatal(err)
	}
	wantParts(t, s, u)
	_, body = mustPart(t, s, u, 1, 'b')
	mustFinish(t, s, u, body)
}

func TestCrashWhileBeginning(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(data, journal string) error{
		"no_journal":    func(_, journal string) error { return os.Remove(journal) },
		"empty_journal": func(_, journal string) error { return os.Truncate(journal, 0) },
		"torn_journal":  func(_, journal string) error { return os.Truncate(journal, headerLength-1) },
		"no_data":       func(data, _ string) error { return os.Remove(data) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newStore(t)
			u := mustBegin(t, s, partLength)
			mustPart(t, s, u, 1, 'o')
			if err := leave(uploadFiles(dir, u)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Parts(t.Context(), u); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("Parts = %v, want ErrNotFound", err)
			}
			if _, err := s.Begin(t.Context(), u.Key, u.Size, u.PartSize, ""); err != nil {
				t.Fatalf("Begin again: %v", err)
			}
			wantParts(t, s, u)
			_, body := mustPart(t, s, u, 1, 'a')
			mustFinish(t, s, u, body)
			wantNoTempFiles(t, dir)

			u = mustBegin(t, s, partLength)
			if err := errors.Join(leave(uploadFiles(dir, u)), s.Abort(t.Context(), u)); err != nil {
				t.Errorf("Abort = %v", err)
			}
			wantNoTempFiles(t, dir)
		})
	}
}

func TestBeginAgainContinuesUpload(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	u := mustBegin(t, s, 2*partLength)
	p1, b1 := mustPart(t, s, u, 1, 'a')
	if again, err := s.Begin(t.Context(), u.Key, u.Size, u.PartSize, ""); err != nil || again != u {
		t.Fatalf("Begin again = %+v, %v, want the same upload", again, err)
	}
	wantParts(t, s, u, p1)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := s.Begin(t.Context(), u.Key, u.Size, u.PartSize, ""); err != nil {
				t.Errorf("Begin beside others = %v", err)
			}
		})
	}
	wg.Wait()
	_, b2 := mustPart(t, s, u, 2, 'b')
	mustFinish(t, s, u, b1, b2)
}

func TestBeginsOfOneKeySideBySideAreOneUpload(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	for range 20 {
		u := blob.Upload{Key: blobtest.NewKey(), Size: 8 * partLength, PartSize: partLength}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				begun, err := s.Begin(t.Context(), u.Key, u.Size, u.PartSize, "")
				if err == nil {
					_, err = s.PutPart(t.Context(), begun, i+1, bytes.NewReader(make([]byte, partLength)))
				}
				if err != nil {
					t.Errorf("Begin and PutPart beside others = %v", err)
				}
			})
		}
		wg.Wait()
		mustFinish(t, s, u, make([]byte, u.Size))
	}
}

func TestBeginWaitsForConcurrentBegin(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t)
	u := mustBegin(t, s, partLength)
	_, journal := uploadFiles(dir, u)
	v, err := s.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer v.release()
	p, err := v.openUpload(u)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tryLock(p.data, nameLockOffset, 1); !got || err != nil {
		t.Fatal(got, err)
	}
	if err := os.Rename(journal, journal+".later"); err != nil { // the other part has not reached it
		t.Fatal(err)
	}
	again, ctx := make(chan error, 1), signallingContext{t.Context(), &sync.Once{}, make(chan struct{})}
	go func() {
		_, err := s.Begin(ctx, u.Key, u.Size, u.PartSize, "")
		again <- err
	}()
	select {
	case <-ctx.told:
	case err := <-again:
		t.Fatalf("Begin = %v without waiting", err)
	}
	if err := os.Rename(journal+".later", journal); err != nil {
		t.Fatal(err)
	}
	_, body := mustPart(t, s, u, 1, 'a')
	p.close()
	if err := <-again; err != nil {
		t.Errorf("Begin = %v", err)
	}
	mustFinish(t, s, u, body)
}

// as in two processes, since locks belong to open files. Abuse case C100
func TestTwoStoresOnOneDirectory(t *testing.T) {
	t.Parallel()
	one, dir := newStore(t)
	two := openStore(t, dir, Options{Now: fixedClock})
	const length = 600_000
	u, err := one.Begin(t.Context(), blobtest.NewKey(), length, length, "")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	tags := make([]string, 10)
	for i := range tags {
		s := []*Store{one, two}[i%2]
		wg.Go(func() {
			p, err := s.PutPart(t.Context(), u, 1, strings.NewReader(strings.Repeat(string(rune('a'+i)), length)))
			if err != nil {
				t.Errorf("PutPart %d: %v", i, err)
			}
			tags[i] = p.ETag
		})
	}
	wg.Wait()
	parts, err := two.Parts(t.Context(), u)
	if err != nil || len(parts) != 1 || !slices.Contains(tags, parts[0].ETag) {
		t.Fatalf("Parts = %+v, %v", parts, err)
	}
	winner := string(rune('a' + slices.Index(tags, parts[0].ETag)))
	var busy error
	_, err = two.PutPart(t.Context(), u, 1, io.MultiReader(hookReader(func() {
		_, busy = blobtest.FinishListed(t.Context(), one, u)
	}), strings.NewReader("short")))
	if wrong := (blob.ErrSize{}); !errors.As(err, &wrong) || !errors.Is(busy, blob.ErrBusy) {
		t.Errorf("Finish in one store while the other takes a part = %v, the part = %v", busy, err)
	}
	mustFinish(t, one, u, bytes.Repeat([]byte(winner), length))
	mustFinish(t, two, u, bytes.Repeat([]byte(winner), length))
}

// signallingContext closes told when a caller waits for its end.
type signallingContext struct {
	context.Context
	once *sync.Once
	told chan struct{}
}

func (c signallingContext) Done() <-chan struct{} {
	c.once.Do(func() { close(c.told) })
	return c.Context.Done()
}

func TestPartThatGetsItsLockTooLateChangesNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, s *Store, v *volume, p *partUpload, u blob.Upload){
		// as Finish does while it holds the lock
		"finished": func(t *testing.T, _ *Store, v *volume, p *partUpload, u blob.Upload) {
			dir, name := u.Key.Split()
			if err := v.publish(p.dir, p.name, dir, name, nil); err != nil {
				t.Fatal(err)
			}
		},
		"aborted": func(t *testing.T, s *Store, _ *volume, _ *partUpload, u blob.Upload) {
			if err := s.Abort(t.Context(), u); err != nil {
				t.Fatal(err)
			}
		},
		"aborted_and_begun_again": func(t *testing.T, s *Store, _ *volume, _ *partUpload, u blob.Upload) {
			if err := s.Abort(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Begin(t.Context(), u.Key, u.Size, u.PartSize, ""); err != nil {
				t.Fatal(err)
			}
			mustPart(t, s, u, 1, 'n')
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newStore(t)
			u := mustBegin(t, s, partLength)
			_, old := mustPart(t, s, u, 1, 'o')
			v, err := s.acquire()
			if err != nil {
				t.Fatal(err)
			}
			defer v.release()
			p, err := v.openUpload(u)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.lock(t.Context(), 0, partLength); err != nil {
				t.Fatal(err)
			}
			late, ctx := make(chan error), signallingContext{t.Context(), &sync.Once{}, make(chan struct{})}
			go func() {
				_, err := s.PutPart(ctx, u, 1, bytes.NewReader(make([]byte, partLength)))
				late <- err
			}()
			<-ctx.told // the part has the file open and waits for the lock
			end(t, s, v, p, u)
			p.close()
			if err := <-late; !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("the late part = %v, want ErrNotFound", err)
			}
			switch name {
			case "finished":
				mustFinish(t, s, u, old)
			case "aborted":
				blobtest.WantAbsent(t, s, u.Key)
				wantNoTempFiles(t, dir)
			default:
				mustFinish(t, s, u, bytes.Repeat([]byte("n"), partLength))
			}
		})
	}
}

func TestUploadsKeepTheFloorOfFreeSpace(t *testing.T) {
	t.Parallel()
	_, dir := newStore(t)
	now, free := fixedClock(), int64(1_000_000)
	s := openStore(t, dir, Options{MinFree: 400_000, Now: func() time.Time { return now }})
	s.space.query = func(*os.File) (int64, error) { return free, nil }
	if _, err := s.Begin(t.Context(), blobtest.NewKey(), 600_001, partLength, ""); !errors.Is(err, blob.ErrNoSpace) {
		t.Errorf("Begin of an object that would end a byte below the floor = %v, want ErrNoSpace", err)
	}
	u := mustBegin(t, s, 2*partLength)
	p1, _ := mustPart(t, s, u, 1, 'a')
	free, now = 400_999, now.Add(time.Second)
	if _, err := s.PutPart(t.Context(), u, 2, bytes.NewReader(make([]byte, partLength))); !errors.Is(err,
		blob.ErrNoSpace) {
		t.Errorf("part that would end a byte below the floor = %v, want ErrNoSpace", err)
	}
	body := bytes.NewReader(make([]byte, partLength))
	if _, err := s.PutPart(t.Context(), u, 1, body); !errors.Is(err, blob.ErrNoSpace) || body.Len() != partLength {
		t.Errorf("part put again without space = %v, %d bytes of it left, want ErrNoSpace at once", err, body.Len())
	}
	wantParts(t, s, u, p1)
	if err := s.Abort(t.Context(), u); err != nil {
		t.Errorf("Abort below the floor = %v", err)
	}
	wantNoTempFiles(t, dir)
}

func TestUploadsArePrivateAndLeftAloneBySweepAndWalk(t *testing.T) { // abuse case C118
	t.Parallel()
	s, dir := newStore(t)
	u := mustBegin(t, s, partLength)
	p1, body := mustPart(t, s, u, 1, 'a')
	data, journal := uploadFiles(dir, u)
	for path, want := range map[string]fs.FileMode{data: 0o600, journal: 0o600,
		filepath.Dir(data): fs.ModeDir | 0o700} {
		if st, err := os.Stat(path); err != nil || st.Mode() != want {
			t.Errorf("%s: %v, %v, want mode %v", path, st.Mode(), err, want)
		}
		if err := os.Chtimes(path, fixedClock(), fixedClock()); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.SweepTemp(fixedClock().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("SweepTemp = %d, %v, want nothing removed", n, err)
	}
	err := s.Walk(t.Context(), func(key blob.Key, _ int64, _ time.Time) error {
		t.Errorf("Walk shows %s", key)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	wantParts(t, s, u, p1)
	// abuse case C126: as for a disk that is not mounted
	if err := os.Rename(filepath.Join(dir, markerName), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	_, beginErr := s.Begin(t.Context(), blobtest.NewKey(), 1, 1, "")
	_, putErr := s.PutPart(t.Context(), u, 1, bytes.NewReader(body))
	_, partsErr := s.Parts(t.Context(), u)
	_, finishErr := s.Finish(t.Context(), u, []blob.Part{p1})
	for name, err := range map[string]error{"Begin": beginErr, "PutPart": putErr, "Parts": partsErr,
		"Finish": finishErr, "Abort": s.Abort(t.Context(), u)} {
		if !errors.Is(err, blob.ErrUnavailable) || errors.Is(err, blob.ErrNotFound) {
			t.Errorf("%s without the marker = %v, want ErrUnavailable", name, err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, markerName)); err != nil {
		t.Fatal(err)
	}
	mustFinish(t, s, u, body)
}

// although a child process that is being started shares the file for a moment
func TestLocksEndWithTheirOperation(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t)
	u := mustBegin(t, s, partLength)
	_, body := mustPart(t, s, u, 1, 'a')
	v, err := s.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer v.release()
	p, err := v.openUpload(u)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.lock(t.Context(), 0, partLength); err != nil {
		t.Fatal(err)
	}
	child, err := syscall.Dup(int(p.data.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(child)
	p.close()
	mustFinish(t, s, u, body)
	wantNoTempFiles(t, dir)
}

func TestAbortWaitsForFinish(t *testing.T) { // otherwise it could remove the file of a later upload
	t.Parallel()
	s, dir := newStore(t)
	u := mustBegin(t, s, partLength)
	_, body := mustPart(t, s, u, 1, 'a')
	v, err := s.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer v.release()
	p, err := v.openUpload(u)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tryLock(p.data, 0, 0); !got || err != nil { // as Finish does
		t.Fatal(got, err)
	}
	aborted, ctx := make(chan error, 1), signallingContext{t.Context(), &sync.Once{}, make(chan struct{})}
	go func() { aborted <- s.Abort(ctx, u) }()
	select {
	case <-ctx.told:
	case err := <-aborted:
		t.Fatalf("Abort = %v without waiting", err)
	}
	shard, name := u.Key.Split()
	if err := v.publish(p.dir, p.name, shard, name, nil); err != nil {
		t.Fatal(err)
	}
	p.close()
	if err := <-aborted; err != nil {
		t.Errorf("Abort = %v", err)
	}
	mustFinish(t, s, u, body)
	wantNoTempFiles(t, dir)
}
