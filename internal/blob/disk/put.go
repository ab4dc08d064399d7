package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"larder/internal/blob"
)

const tempTries = 100

// Put writes body to a temporary file and renames it to its key when it is durable. Errors: those
// of blob.Store.
func (s *Store) Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (_ blob.Info,
	err error) {
	began := s.begin()
	defer func() { s.observe(PutOperation, began, err) }()
	counted, err := blob.NewBody(ctx, body, opts)
	if err != nil {
		return blob.Info{}, fmt.Errorf("put object: %w", err)
	}
	v, dir, name, err := s.acquireFor(key)
	if err != nil {
		return blob.Info{}, err
	}
	defer v.release()
	if err := s.space.check(v.root, max(opts.Size, 0)); err != nil {
		return blob.Info{}, err
	}
	t, err := newTempFile(v, name)
	if err != nil {
		return blob.Info{}, err
	}
	defer t.discard()
	sum, err := hashAndWrite(counted, opts.Size, func(p []byte) error { return v.write(t.file, p) })
	if err != nil {
		return blob.Info{}, fmt.Errorf("put object: %w", err)
	}
	began = s.begin() // the body takes as long as its sender
	if err := t.file.Sync(); err != nil {
		return blob.Info{}, storeError("sync object", err)
	}
	if err := ctx.Err(); err != nil { // the last moment to cancel: the next step stores the object
		return blob.Info{}, fmt.Errorf("put object: %w", err)
	}
	if err := t.publish(dir, name); err != nil {
		return blob.Info{}, err
	}
	return blob.Info{Size: counted.Count(), SHA256: sum}, nil
}

// tempFile is a file below tmp/ that becomes an object or is removed.
type tempFile struct {
	volume *volume
	file   *os.File
	name   string // in tmp/, "" after the file was renamed
}

// newTempFile creates an empty file in tmp/, named after the object with a number at its end, so
// that two replicas can store the same key at the same time. Error: blob.ErrUnavailable, also after
// tempTries numbers, or blob.ErrNoSpace.
func newTempFile(v *volume, object string) (*tempFile, error) {
	for i := range tempTries {
		name := object + "-" + strconv.Itoa(i)
		f, err := openAt(v.tmp, name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, 0o600)
		if err == nil {
			return &tempFile{volume: v, file: f, name: name}, nil
		}
		if !errors.Is(err, syscall.EEXIST) {
			return nil, storeError("make temporary file", err)
		}
	}
	return nil, storeError("make temporary file",
		fmt.Errorf("there are already %d for %s in %s", tempTries, object, v.tmp.Name()))
}

// discard closes the file, and removes it unless it has become an object. SweepTemp removes files
// for which this fails.
func (t *tempFile) discard() {
	t.file.Close() // synced before it was published
	if t.name != "" {
		_ = removeAt(t.volume.tmp, t.name)
	}
}

// publish makes the file, whose content is durable, the object with that name in dirPath, and
// returns when the name is durable. Errors: blob.ErrExists, blob.ErrUnavailable.
func (t *tempFile) publish(dirPath, name string) error {
	err := t.volume.publish(t.volume.tmp, t.name, dirPath, name, func(dir *os.File) {
		t.name = ""
		_ = removeAt(dir, name) // Put has not succeeded: at worst an object without references stays
	})
	if err == nil {
		t.name = ""
	}
	return err
}

// publish renames the file oldName in from, whose content is durable, to a free name in the
// directory dirPath below root, and returns when the name is durable. undo takes the name back when
// the rename succeeded and the sync failed. Errors: blob.ErrExists, blob.ErrUnavailable.
func (v *volume) publish(from *os.File, oldName, dirPath, name string, undo func(dir *os.File)) error {
	dir, err := v.enterDir(dirPath)
	if err != nil {
		return storeError("open directory of object", err)
	}
	defer v.leaveDir(dir)
	switch err := renameNoReplace(from, oldName, dir.file, name); {
	case errors.Is(err, syscall.EEXIST):
		return fmt.Errorf("put object: %w", blob.ErrExists)
	case err != nil:
		return storeError("rename object", err)
	}
	if err := dir.sync.wait(); err != nil {
		v.abandonDir(dir)
		undo(dir.file)
		return storeError("sync directory of object", err)
	}
	return nil
}
