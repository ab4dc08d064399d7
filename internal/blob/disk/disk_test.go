package disk

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/fault"
	"larder/internal/ident"
)

const storeID = "0b9d6a52-6a3c-4f43-9a55-2c1a4f1f2f10"

func fixedClock() time.Time { return time.Unix(1_700_000_000, 0) }

// newStore returns a fresh store and its directory.
func newStore(t *testing.T) (*Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "objects")
	if err := Create(dir, storeID); err != nil {
		t.Fatal(err)
	}
	return openStore(t, dir, Options{Now: fixedClock}), dir
}

func openStore(t *testing.T, dir string, opts Options) *Store {
	t.Helper()
	s, err := Open(dir, storeID, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustPut(t *testing.T, s *Store, key blob.Key, body string) {
	t.Helper()
	if _, err := s.Put(t.Context(), key, strings.NewReader(body), blob.PutOptions{Size: int64(len(body))}); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

// listTree lists everything below dir with its mode, sorted; directories end in a slash.
func listTree(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			rel += "/"
		}
		names = append(names, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// wantNoTempFiles fails the test when a temporary file or a file of an upload in parts is left.
func wantNoTempFiles(t *testing.T, dir string) {
	t.Helper()
	if left := listTree(t, filepath.Join(dir, tempName)); len(left) > 0 && !slices.Equal(left, []string{"parts/"}) {
		t.Errorf("temporary files left: %v", left)
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store {
		s, dir := newStore(t)
		t.Cleanup(func() { wantNoTempFiles(t, dir) })
		return s
	})
}

func TestPutBelowPrefix(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t)
	const key = "default/photos/0a/00112233445566778899aabbccddeeff.jpg"
	mustPut(t, s, key, "jpeg")
	if got, err := os.ReadFile(filepath.Join(dir, key)); err != nil || string(got) != "jpeg" {
		t.Errorf("file of the key = %q, %v", got, err)
	}
}

func TestModesArePrivate(t *testing.T) { // abuse case C118
	t.Parallel()
	s, dir := newStore(t)
	mustPut(t, s, "p/0a/00112233445566778899aabbccddeeff", "x")
	for path, want := range map[string]fs.FileMode{
		".": 0o700, tempName: 0o700, markerName: 0o600, "p": 0o700, "p/0a": 0o700,
		"p/0a/00112233445566778899aabbccddeeff": 0o600,
	} {
		st, err := os.Stat(filepath.Join(dir, path))
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v, want %v", path, st.Mode().Perm(), err, want)
		}
	}
}

func TestOpenReturnsTheFile(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	key := blobtest.NewKey()
	mustPut(t, s, key, "bytes")
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	backed, ok := o.(blob.FileBacked)
	if !ok {
		t.Fatalf("%T is not a blob.FileBacked", o)
	}
	if st, err := backed.File().Stat(); err != nil || st.Size() != 5 {
		t.Errorf("File().Stat() = %v, %v", st, err)
	}
}

func TestDeleteLeavesOpenReadersAlone(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	key := blobtest.NewKey()
	mustPut(t, s, key, "still here")
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := s.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := got.ReadFrom(o); err != nil || got.String() != "still here" {
		t.Errorf("read after delete = %q, %v", got.String(), err)
	}
}

func TestSymbolicLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t)
	outside := t.TempDir()
	const name = "00112233445566778899aabbccddeeff"
	secret := filepath.Join(outside, name)
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := blob.Key("cc/" + name)
	mustPut(t, s, inside, "inside")
	for link, target := range map[string]string{"aa": outside, "dd": "cc", "bb/" + name: secret,
		"ee/" + name: "../cc/" + name} {
		link = filepath.Join(dir, link)
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink(target, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, shard := range []string{"aa", "bb", "dd", "ee"} {
		key := blob.Key(shard + "/" + name)
		if _, err := s.Open(t.Context(), key); !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("Open through a link at %s = %v, want ErrUnavailable", shard, err)
		}
		if _, err := s.Put(t.Context(), key, strings.NewReader("new"), blob.PutOptions{Size: 3}); err == nil {
			t.Errorf("Put through a link at %s succeeded", shard)
		}
		if err := s.Delete(t.Context(), key); err != nil && !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("Delete at %s = %v", shard, err)
		}
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
		t.Errorf("the file outside = %q, %v", got, err)
	}
	if got := string(blobtest.Content(t, s, inside)); got != "inside" {
		t.Errorf("the object behind links = %q", got)
	}
	wantNoTempFiles(t, dir)
}

func TestSweepTempRemovesOnlyWhatIsOld(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t)
	key := blobtest.NewKey()
	mustPut(t, s, key, "object")
	limit := fixedClock()
	for name, written := range map[string]time.Time{"old-0": limit.Add(-time.Second), "same-0": limit,
		"new-0": limit.Add(time.Second)} {
		path := filepath.Join(dir, tempName, name)
		if err := errors.Join(os.WriteFile(path, []byte("part"), 0o600),
			os.Chtimes(path, written, written)); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := s.SweepTemp(limit)
	if err != nil || removed != 1 {
		t.Errorf("SweepTemp = %d, %v, want 1 removed", removed, err)
	}
	if left := listTree(t, filepath.Join(dir, tempName)); !slices.Equal(left, []string{"new-0", "same-0"}) {
		t.Errorf("left: %v", left)
	}
	if got := string(blobtest.Content(t, s, key)); got != "object" {
		t.Errorf("object is %q", got)
	}
}

func TestWalkVisitsEveryObject(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t)
	ids := ident.New(rand.Reader)
	prefixed, err := blob.NewShard("default", fixedClock)
	if err != nil {
		t.Fatal(err)
	}
	want := map[blob.Key]int64{}
	for i := range 40 {
		shard := (*blob.Shard)(nil)
		if i%2 == 0 {
			shard = prefixed
		}
		key := blob.NewKey(ids, shard, "txt")
		mustPut(t, s, key, strings.Repeat("x", i))
		want[key] = int64(i)
	}
	// names that are not keys
	for _, name := range []string{"README", "tmp/00112233445566778899aabbccddeeff-0", "default/notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("foreign"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written := fixedClock().Add(-time.Hour)
	for key := range want {
		if err := os.Chtimes(filepath.Join(dir, string(key)), written, written); err != nil {
			t.Fatal(err)
		}
	}
	err = s.Walk(t.Context(), func(key blob.Key, size int64, at time.Time) error {
		if wanted, ok := want[key]; !ok || size != wanted || !at.Equal(written) {
			t.Errorf("walked to %s, %d bytes, %v", key, size, at)
		}
		delete(want, key)
		return nil
	})
	if err != nil || len(want) > 0 {
		t.Errorf("Walk = %v, not visited: %v", err, want)
	}
	stop := errors.New("enough")
	if err := s.Walk(t.Context(), func(blob.Key, int64, time.Time) error { return stop }); err != stop {
		t.Errorf("Walk whose function fails = %v, want that very error", err)
	}
}

func TestFreeSpaceFloor(t *testing.T) { // the disk becomes full during bodies
	t.Parallel()
	_, dir := newStore(t)
	now, asked, free := fixedClock(), 0, int64(1_000_000)
	s := openStore(t, dir, Options{MinFree: 400_000, Now: func() time.Time { return now }})
	s.space.query = func(*os.File) (int64, error) { asked++; return free, nil }
	put := func(size int, opts blob.PutOptions) error {
		key := blobtest.NewKey()
		_, err := s.Put(t.Context(), key, bytes.NewReader(make([]byte, size)), opts)
		if err != nil {
			blobtest.WantAbsent(t, s, key)
		}
		return err
	}
	kept := blobtest.NewKey()
	mustPut(t, s, kept, "kept")

	if err := put(600_000, blob.PutOptions{Size: 600_000}); !errors.Is(err, blob.ErrNoSpace) ||
		!fault.Is(err, fault.Unavailable) {
		t.Errorf("announced body that would end 4 bytes below the floor: %v, want ErrNoSpace as a fault", err)
	}
	if err := put(599_996, blob.PutOptions{Size: -1, Max: -1}); err != nil {
		t.Errorf("body that ends at the floor: %v", err)
	}
	if err := put(1, blob.PutOptions{Size: -1, Max: -1}); !errors.Is(err, blob.ErrNoSpace) {
		t.Errorf("one byte more: %v, want ErrNoSpace", err)
	}
	if asked != 1 {
		t.Errorf("the file system was asked %d times within a second, want once", asked)
	}
	now = now.Add(time.Second)
	if err := put(2_000_000, blob.PutOptions{Size: -1, Max: -1}); !errors.Is(err, blob.ErrNoSpace) {
		t.Errorf("body without announced size that runs into the floor: %v, want ErrNoSpace", err)
	}
	wantNoTempFiles(t, dir)
	free = 0
	now = now.Add(time.Second)
	if err := put(0, blob.PutOptions{Size: 0}); !errors.Is(err, blob.ErrNoSpace) {
		t.Errorf("empty body on a full disk: %v, want ErrNoSpace", err)
	}
	if err := s.Delete(t.Context(), kept); err != nil {
		t.Errorf("Delete below the floor: %v", err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check below the floor: %v", err)
	}
}
