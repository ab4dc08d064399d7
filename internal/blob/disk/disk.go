// Package disk keeps objects as files below one directory, `[prefix/]ab/<32 hex>[.ext]`, mode 0600
// in directories of mode 0700.
//
// Durability. Put writes a temporary file below `tmp/`, then: fsync of the file, rename to its key,
// fsync of the directory, and on the first use of a directory also of the one that holds it; only
// then it returns. Puts side by side in one directory share its fsync. A file or directory whose
// fsync failed is given up, never synced again: the kernel reports such a loss once, and a second
// try would succeed over missing bytes. What a crash leaves below `tmp/` is removed by SweepTemp.
//
// The right disk. The directory holds a marker file with the store's id. Every operation looks at
// it first, and answers blob.ErrUnavailable and touches nothing when it is missing or names another
// store: a disk that is not mounted. When it is back, so is the store. Everything below is reached
// from an open descriptor of that directory, name by name and without following symbolic links.
//
// It fails, with nothing readable, on a file system that cannot sync directories. Linux only.
// Specification: Providers; abuse cases C126 and C128.
package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"larder/internal/blob"
)

// Options are the settings of a store.
type Options struct {
	MinFree int64            // bytes of free space below which Put refuses with blob.ErrNoSpace; 0 or less: no floor
	Now     func() time.Time // the clock, required
}

// Store is a blob.Store on a directory. Safe for concurrent use, also by several
// processes on one directory.
type Store struct {
	dir, id string
	space   *freeSpace

	mu     sync.Mutex
	volume *volume // the directory as last verified, nil when it was missing then
	closed bool
}

var (
	_ blob.Store  = (*Store)(nil)
	_ blob.Walker = (*Store)(nil)
)

// Open returns the store with that id in dir. The disk is not touched: a store that is missing now
// works from the moment it is there.
func Open(dir, id string, opts Options) (*Store, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if dir == "" || opts.Now == nil {
		return nil, errors.New("open store: a directory and a clock are required")
	}
	return &Store{dir: dir, id: id, space: &freeSpace{minFree: opts.MinFree, now: opts.Now, query: freeBytes}}, nil
}

// Close gives up the directory once the operations under way are done.
// Later ones answer blob.ErrUnavailable.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.dropVolume()
	return nil
}

// acquireFor returns the verified volume, to be released, and the two parts of key.
func (s *Store) acquireFor(key blob.Key) (v *volume, dir, name string, err error) {
	if _, err := blob.ParseKey(string(key)); err != nil {
		return nil, "", "", err
	}
	if v, err = s.acquire(); err != nil {
		return nil, "", "", err
	}
	dir, name = key.Split()
	return v, dir, name, nil
}

// object is an open file; it shows the *os.File so that net/http can use sendfile.
type object struct {
	*osFile
	size int64
}

type osFile = os.File // so that the embedded field leaves the name File to the method

var _ blob.FileBacked = object{}

func (o object) Size() int64    { return o.size }
func (o object) File() *os.File { return o.osFile }

// Open opens an object; the result is a blob.FileBacked. Errors:
// blob.ErrNotFound, blob.ErrUnavailable.
func (s *Store) Open(ctx context.Context, key blob.Key) (blob.Object, error) {
	f, size, err := s.open(ctx, key)
	if err != nil {
		return nil, err
	}
	return object{f, size}, nil
}

// Stat tells the size of an object; its hash is not known here. Errors:
// blob.ErrNotFound, blob.ErrUnavailable.
func (s *Store) Stat(ctx context.Context, key blob.Key) (blob.Info, error) {
	f, size, err := s.open(ctx, key)
	if err != nil {
		return blob.Info{}, err
	}
	f.Close() // opened to read: there is nothing to lose
	return blob.Info{Size: size}, nil
}

func (s *Store) open(ctx context.Context, key blob.Key) (*os.File, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("open object: %w", err)
	}
	v, dirPath, name, err := s.acquireFor(key)
	if err != nil {
		return nil, 0, err
	}
	defer v.release()
	dir, err := v.openDir(dirPath)
	if err != nil {
		return nil, 0, notFoundOr("open directory of object", err)
	}
	defer dir.Close()
	f, st, err := openRegular(dir, name)
	if err != nil {
		return nil, 0, notFoundOr("open object", err)
	}
	return f, st.Size, nil
}

// Delete removes an object, and what came in parts for its key; absent is
// success. Error: blob.ErrUnavailable.
func (s *Store) Delete(ctx context.Context, key blob.Key) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete object: %w", err)
	}
	v, dirPath, name, err := s.acquireFor(key)
	if err != nil {
		return err
	}
	defer v.release()
	if err := v.abort(ctx, key); err != nil {
		return err
	}
	dir, err := v.openDir(dirPath)
	if err == nil {
		defer dir.Close()
		err = removeAt(dir, name)
	}
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return storeError("delete object", err)
	}
	return nil
}

// Check verifies the marker and that a file can be made, written and removed. Errors:
// blob.ErrUnavailable, blob.ErrNoSpace (the disk is full; the floor of free space alone is no
// reason, since reading goes on).
func (s *Store) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("check store: %w", err)
	}
	v, err := s.acquire()
	if err != nil {
		return err
	}
	defer v.release()
	t, err := newTempFile(v, "check")
	if err != nil {
		return err
	}
	defer t.discard()
	if _, err := io.WriteString(t.file, s.id); err != nil {
		return storeError("write to store", err)
	}
	return nil
}

// storeError maps an error of the operating system to what a caller can tell apart. "Not found"
// never comes out of here.
func storeError(doing string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return blob.NoSpace(doing, err)
	}
	return blob.Unavailable(doing, err)
}

// notFoundOr is failed, for the places where a missing name means a missing object: below a
// directory whose marker was seen.
func notFoundOr(doing string, err error) error {
	if errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("%s: %w", doing, blob.ErrNotFound)
	}
	return storeError(doing, err)
}
