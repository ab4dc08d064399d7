// Package disk keeps objects as files below one directory, named `[prefix/]ab/<32 hex>[.ext]`, mode
// 0600 in directories of mode 0700.
//
// Durability. Put writes a temporary file below `tmp/`, syncs it, renames it to its key and syncs
// the directory; on the first use of a directory Put also syncs the parent directory. Put returns
// only after these steps. Parallel Puts into one directory share its sync. After a failed fsync the
// package never syncs the same descriptor again: the kernel reports lost writes once, and a second
// fsync would succeed although bytes are missing. SweepTemp removes the files that a crash leaves
// below `tmp/`.
//
// The right disk. The directory holds a marker file with the store's id. Every operation checks the
// marker first. When the marker is missing or names another store, which is how a disk that is not
// mounted looks, the operation returns blob.ErrUnavailable and changes nothing. When the disk is
// back, the store works again. All files are opened relative to an open descriptor of that
// directory, one path segment at a time, without following symbolic links.
//
// On a file system that cannot sync directories every Put fails, and nothing becomes readable.
// Specification: Providers; abuse cases C126 and C128.
package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"larder/internal/blob"
)

// Options are the settings of a store.
type Options struct {
	MinFree int64            // bytes of free space below which Put refuses with blob.ErrNoSpace; 0 or less: no minimum
	Now     func() time.Time // the clock, required
	Observe Observer         // measures the operations; nil for none
}

// Store is a blob.Store in a directory. It is safe for concurrent use, also by several processes.
type Store struct {
	dir, id string
	marker  string // path of the marker
	space   *freeSpace
	now     func() time.Time
	watch   Observer // nil for none

	mu     sync.Mutex
	volume *volume // the directory as last verified, nil when it was missing at that time
	closed bool
}

var (
	_ blob.Store  = (*Store)(nil)
	_ blob.Walker = (*Store)(nil)
)

// Open returns the store with that id in dir. id must equal the one in the directory's marker file,
// which every operation checks. Open does not access the disk: a store that is missing now works as
// soon as its disk is mounted.
func Open(dir, id string, opts Options) (*Store, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if dir == "" || opts.Now == nil {
		return nil, errors.New("open store: a directory and a clock are required")
	}
	space := &freeSpace{minFree: opts.MinFree, now: opts.Now, query: freeBytes}
	return &Store{dir: dir, id: id, marker: filepath.Join(dir, markerName), space: space, now: opts.Now,
		watch: opts.Observe}, nil
}

// Close closes the directory after the operations in progress have ended. Later operations return
// blob.ErrUnavailable.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.dropVolume()
	return nil
}

// acquireFor returns the verified volume, which the caller releases, and the directory (relative to
// the store's root) and the file name of key. Errors: blob.ErrKey, blob.ErrUnavailable.
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

// object is an open file. It exposes the *os.File so that net/http can use sendfile.
type object struct {
	*osFile
	size int64
}

type osFile = os.File // keeps the name File free for the method

var (
	_ blob.FileBacked = object{}
	_ blob.Cached     = object{}
	_ blob.Verifier   = (*Store)(nil)
)

func (o object) Size() int64    { return o.size }
func (o object) File() *os.File { return o.osFile }
func (o object) DropCache()     { dropCache(o.osFile) }

// Open opens an object; the result is a blob.FileBacked. Errors:
// blob.ErrNotFound, blob.ErrUnavailable.
func (s *Store) Open(ctx context.Context, key blob.Key) (blob.Object, error) {
	began := s.begin()
	f, size, err := s.open(ctx, key)
	s.observe(OpenOperation, began, err)
	if err != nil {
		return nil, err
	}
	return object{f, size}, nil
}

// Stat returns the size of an object; it does not know the hash. Errors: blob.ErrNotFound,
// blob.ErrUnavailable.
func (s *Store) Stat(ctx context.Context, key blob.Key) (blob.Info, error) {
	f, size, err := s.open(ctx, key)
	if err != nil {
		return blob.Info{}, err
	}
	f.Close() // opened for reading: there is nothing to lose
	return blob.Info{Size: size}, nil
}

// open opens the file of an object, which the caller closes, and returns its size in bytes. Errors:
// blob.ErrNotFound, blob.ErrKey, blob.ErrUnavailable, the context's.
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
	return f, st.size, nil
}

// Delete removes an object and the unfinished uploads in parts for its key. Deleting an absent
// object succeeds. Error: blob.ErrUnavailable.
func (s *Store) Delete(ctx context.Context, key blob.Key) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete object: %w", err)
	}
	began := s.begin()
	defer func() { s.observe(DeleteOperation, began, err) }()
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

// Verify returns blob.ErrUnavailable unless the marker of this store is in its directory. It costs
// one lstat while nothing has changed.
func (s *Store) Verify() error {
	v, err := s.acquire()
	if err == nil {
		v.release()
	}
	return err
}

// Check verifies the marker and creates, writes and removes a file. Errors: blob.ErrUnavailable,
// blob.ErrNoSpace when the disk is full. Free space below MinFree is no error here, since reading
// still works.
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

// storeError maps an error of the operating system to blob.ErrNoSpace for a full disk or an
// exceeded disk quota, and to blob.ErrUnavailable otherwise, never to blob.ErrNotFound. doing names
// the failed step, such as "sync object".
func storeError(doing string, err error) error {
	if isFull(err) {
		return blob.NoSpace(doing, err)
	}
	return blob.Unavailable(doing, err)
}

// notFoundOr is storeError, but maps ENOENT to blob.ErrNotFound. It is for places where a missing
// name means a missing object: below a directory whose marker was verified.
func notFoundOr(doing string, err error) error {
	if errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("%s: %w", doing, blob.ErrNotFound)
	}
	return storeError(doing, err)
}
