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

// namesPerRead is how many names of a directory are in memory at once.
const namesPerRead = 1000

// SweepTemp removes what crashes left below tmp/ and counts it: files last written before
// olderThan. That must lie further back than any body may pause, since an upload whose file is
// taken away fails. Error: blob.ErrUnavailable.
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
			return nil // became an object meanwhile
		}
		if err != nil {
			return storeError("look at temporary file", err)
		}
		f.Close()
		if !time.Unix(st.Mtim.Unix()).Before(olderThan) {
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

// Walk calls fn for every object, in no order, with its size in bytes and the time it was written.
// Objects that come or go meanwhile may be seen or not; names that are no keys are passed over. An
// error of fn ends the walk and is returned as it is. Error: blob.ErrUnavailable.
func (s *Store) Walk(ctx context.Context, fn func(key blob.Key, size int64, written time.Time) error) error {
	v, err := s.acquire()
	if err != nil {
		return err
	}
	defer v.release()
	return walk(ctx, v.root, "", fn)
}

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
			return nil // deleted meanwhile
		}
		if err != nil {
			return storeError("walk objects", err)
		}
		f.Close()
		return fn(key, st.Size, time.Unix(st.Mtim.Unix()))
	})
}

// eachName reads dir through a descriptor of its own, a batch at a time.
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
