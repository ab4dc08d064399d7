package disk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/fault"
)

// wantRefused fails the test unless every operation of s returns ErrUnavailable and changes nothing
// below dir.
func wantRefused(t *testing.T, s *Store, dir string, key blob.Key) {
	t.Helper()
	before := listTree(t, dir)
	_, errPut := s.Put(t.Context(), blobtest.NewKey(), strings.NewReader("x"), blob.PutOptions{Size: 1})
	_, errOpen := s.Open(t.Context(), key)
	_, errStat := s.Stat(t.Context(), key)
	_, errSweep := s.SweepTemp(time.Unix(1<<40, 0))
	errWalk := s.Walk(t.Context(), func(blob.Key, int64, time.Time) error { return nil })
	for op, err := range map[string]error{
		"Put": errPut, "Open": errOpen, "Stat": errStat, "Delete": s.Delete(t.Context(), key),
		"Check":     s.Check(t.Context()),
		"SweepTemp": errSweep, "Walk": errWalk,
	} {
		if !errors.Is(err, blob.ErrUnavailable) || errors.Is(err, blob.ErrNotFound) ||
			!fault.Is(err, fault.Unavailable) {
			t.Errorf("%s = %v, want ErrUnavailable as a fault, and never not found", op, err)
		}
	}
	if after := listTree(t, dir); !slices.Equal(before, after) {
		t.Errorf("something was written: %v, before: %v", after, before)
	}
}

func TestMissingStoreIsUnavailableUntilItIsBack(t *testing.T) { // abuse case C126
	t.Parallel()
	s, dir := newStore(t)
	key := blobtest.NewKey()
	mustPut(t, s, key, "object")
	marker, away := filepath.Join(dir, markerName), dir+".away"
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	works := func() {
		t.Helper()
		if got := string(blobtest.Content(t, s, key)); got != "object" {
			t.Errorf("object is %q", got)
		}
		mustPut(t, s, blobtest.NewKey(), "new")
	}

	must(os.Rename(marker, marker+".away"))
	wantRefused(t, s, dir, key)
	must(os.Rename(marker+".away", marker))
	works()

	must(os.Rename(dir, away), os.Mkdir(dir, 0o700)) // as for a disk that is not mounted
	wantRefused(t, s, dir, key)
	must(os.Remove(dir))
	must(os.Mkdir(dir+".other", 0o700), os.Rename(dir+".other", dir),
		os.WriteFile(marker, []byte("another-id\n"), 0o600))
	wantRefused(t, s, dir, key)
	must(os.RemoveAll(dir), os.Rename(away, dir))
	works()

	must(os.WriteFile(marker, []byte("another-id\n"), 0o600)) // the same file with other content
	wantRefused(t, s, dir, key)
	must(os.WriteFile(marker, []byte(storeID+"\n"), 0o600))
	works()

	must(os.Rename(marker, marker+".away"), os.Symlink(marker+".away", marker))
	wantRefused(t, s, dir, key)
	must(os.Remove(marker), os.Rename(marker+".away", marker))
	works()
	must(s.Close())
	wantRefused(t, s, dir, key)
}

func TestStoreOpensBeforeItsDiskIsThere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "later")
	s := openStore(t, dir, Options{Now: fixedClock})
	if err := s.Check(t.Context()); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Check without the directory = %v, want ErrUnavailable", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
	if err := Create(dir, storeID); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check with the directory = %v", err)
	}
}

func TestPutUnderWayGoesToTheDiskItBeganOn(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t)
	key, away := blobtest.NewKey(), dir+".away"
	swap := readerFunc(func([]byte) (int, error) {
		if err := errors.Join(os.Rename(dir, away), os.Mkdir(dir, 0o700)); err != nil {
			t.Error(err)
		}
		if err := s.Check(t.Context()); !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("Check while the disk is away = %v", err)
		}
		return 0, io.EOF
	})
	body := io.MultiReader(bytes.NewReader(make([]byte, 300_000)), swap)
	if _, err := s.Put(t.Context(), key, body, blob.PutOptions{Size: 300_000}); err != nil {
		t.Fatalf("Put: %v", err)
	}
	if left := listTree(t, dir); len(left) > 0 {
		t.Errorf("written to the wrong directory: %v", left)
	}
	if st, err := os.Stat(filepath.Join(away, string(key))); err != nil || st.Size() != 300_000 {
		t.Errorf("object on its disk: %v, %v", st, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestCreate(t *testing.T) {
	t.Parallel()
	write := func(dir, name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		prepare func(dir string)
		id      string
		ok      bool
	}{
		"empty_directory_becomes_a_store": {func(string) {}, storeID, true},
		"twice_with_one_id_is_success":    {func(dir string) { Create(dir, storeID) }, storeID, true},
		"another_store_is_refused":        {func(dir string) { Create(dir, "other") }, storeID, false},
		"foreign_files_are_refused":       {func(dir string) { write(dir, "letter.txt", "dear") }, storeID, false},
		"new_disk_is_accepted": {func(dir string) { os.Mkdir(filepath.Join(dir, "lost+found"), 0o700) },
			storeID, true},
		"attempt_that_crashed_is_carried_on": {func(dir string) {
			write(dir, markerNewName, "0b9d")
			os.Mkdir(filepath.Join(dir, tempName), 0o700)
		}, storeID, true},
		"id_with_a_line_break_is_refused":    {func(string) {}, "a\nb", false},
		"empty_id_is_refused":                {func(string) {}, "", false},
		"id_longer_than_a_marker_is_refused": {func(string) {}, strings.Repeat("a", 129), false},
		"longest_id_is_accepted":             {func(string) {}, strings.Repeat("a", 128), true},
		"directory_that_is_a_file_is_refused": {func(dir string) { os.Remove(dir); os.WriteFile(dir, nil, 0o600) },
			storeID, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.prepare(dir)
			if err := Create(dir, c.id); (err == nil) != c.ok {
				t.Fatalf("Create = %v, want success: %t", err, c.ok)
			}
			if !c.ok {
				return
			}
			s, err := Open(dir, c.id, Options{Now: fixedClock})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Check(t.Context()); err != nil {
				t.Errorf("Check of a new store = %v", err)
			}
		})
	}
}

func TestCreateMakesNoParents(t *testing.T) { // a missing mount point must not be created as a directory
	t.Parallel()
	dir := t.TempDir()
	if err := Create(filepath.Join(dir, "mnt", "objects"), storeID); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Create below a missing directory = %v", err)
	}
	if left := listTree(t, dir); len(left) > 0 {
		t.Errorf("made %v", left)
	}
}

func TestMakeDir(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "a", "b")
	for range 2 {
		if err := MakeDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, made := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(made); err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: %v, %v", made, info, err)
		}
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakeDir(file); err == nil {
		t.Error("a file was taken for a directory")
	}
	if err := MakeDir(filepath.Join(file, "below")); err == nil {
		t.Error("made a directory below a file")
	}
}
