package osfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"larder/internal/osfile"
)

// openFile opens the file at path, which it creates if it is missing, until the test ends.
func openFile(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, second := openFile(t, path), openFile(t, path)
	if err := errors.Join(osfile.Lock(first, false), osfile.Lock(second, false)); err != nil {
		t.Fatalf("two shared locks: %v", err)
	}
	if err := osfile.Lock(openFile(t, path), true); !errors.Is(err, osfile.ErrLocked) {
		t.Errorf("an exclusive lock beside shared ones: %v, want ErrLocked", err)
	}
	first.Close()
	second.Close()
	if err := osfile.Lock(openFile(t, path), true); err != nil {
		t.Errorf("an exclusive lock after the others were released: %v", err)
	}
	if err := osfile.Lock(openFile(t, path), false); !errors.Is(err, osfile.ErrLocked) {
		t.Errorf("a shared lock beside an exclusive one: %v, want ErrLocked", err)
	}
}

func TestUnnamedFileLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	file, err := osfile.CreateUnnamed(dir, "spool-*")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("bytes"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := file.ReadAt(got, 0); err != nil || string(got) != "bytes" {
		t.Errorf("read %q, %v", got, err)
	}
	file.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestSync(t *testing.T) {
	file := openFile(t, filepath.Join(t.TempDir(), "file"))
	if err := errors.Join(osfile.Sync(file.Name()), osfile.Sync(filepath.Dir(file.Name()))); err != nil {
		t.Error(err)
	}
	if err := osfile.Sync(file.Name() + "-missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("sync of a missing file: %v, want os.ErrNotExist", err)
	}
}
