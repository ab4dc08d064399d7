package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"syscall"
	"time"

	"larder/internal/blob"
)

// namesPerRead is how many names of a directory are held in memory at once.
const namesPerRead = 1000

// SweepTemp removes the files below tmp/ that were last written before olderThan, which crashes
// have left, and returns their number. olderThan must be further in the past than the longest pause
// of a body, since an upload whose file is removed fails. Error: blob.ErrUnavailable.
func (s *Store) SweepTemp(olderThan time.Time) (removed int, err error) {
	v, err := s.acquire()
	if err != nil {
		return 0, err
	}
	defer v.release()
	err = eachName(context.Background(), v.tmp, func(dir *os.File, entry os.DirEntry) error {
		if !entry.Type().IsRegular() {
			return nil
		}
		f, st, err := openRegular(dir, entry.Name())
		if errors.Is(err, syscall.ENOENT) {
			return nil // it has become an object
		}
		if err != nil {
			return storeError("look at temporary file", err)
		}
		f.Close()
		if !st.written().Before(olderThan) {
			return nil
		}
		if err := removeAt(dir, entry.Name()); err != nil && !errors.Is(err, syscall.ENOENT) {
			return storeError("remove temporary file", err)
		}
		removed++
		return nil
	})
	return removed, err
}

// Walk implements blob.Walker. The time of an object is that of its last write.
func (s *Store) Walk(ctx context.Context, fn func(key blob.Key, size int64, written time.Time) error) error {
	v, err := s.acquire()
	if err != nil {
		return err
	}
	defer v.release()
	return walk(ctx, v.root, "", fn)
}

// walk calls fn for the objects in dir and in the directories below it, with key, size in bytes and
// time of the last write. below is the path of dir relative to the root, "" for the root. It skips
// tmp, lost+found and names that are no keys. An error of fn ends the walk.
func walk(ctx context.Context, dir *os.File, below string, fn func(blob.Key, int64, time.Time) error) error {
	return eachName(ctx, dir, func(dir *os.File, entry os.DirEntry) error {
		name := path.Join(below, entry.Name())
		if entry.IsDir() && name != tempName && entry.Name() != "lost+found" {
			sub, err := openAt(dir, entry.Name(), openDirectory, 0)
			if err != nil {
				return storeError("walk objects", err)
			}
			defer sub.Close()
			return walk(ctx, sub, name, fn)
		}
		key, err := blob.ParseKey(name)
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		f, st, err := openRegular(dir, entry.Name())
		if errors.Is(err, syscall.ENOENT) {
			return nil // deleted during the walk
		}
		if err != nil {
			return storeError("walk objects", err)
		}
		f.Close()
		return fn(key, st.size, st.written())
	})
}

// eachName calls fn for every entry of dir, in no particular order, until fn fails or ctx ends. It
// reads namesPerRead names at a time through a descriptor of its own, so that fn may use dir.
func eachName(ctx context.Context, dir *os.File, fn func(dir *os.File, entry os.DirEntry) error) error {
	list, err := openAt(dir, ".", openDirectory, 0)
	if err != nil {
		return storeError("list directory", err)
	}
	defer list.Close()
	for {
		entries, err := list.ReadDir(namesPerRead)
		if err != nil && !errors.Is(err, io.EOF) {
			return storeError("list directory", err)
		}
		for _, entry := range entries {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("list directory: %w", err)
			}
			if err := fn(dir, entry); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}
