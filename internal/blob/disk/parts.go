package disk

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"larder/internal/blob"
)

// An upload in parts consists of two files below tmp/parts/: a data file named like the object,
// into which every part is written at its offset, so that Finish is a rename, and its journal. A
// part counts as stored when its bytes are synced and after them its line of the journal. Before
// the bytes of a stored part are overwritten, its line is changed to record that the part is
// missing, and synced. A crash in between therefore leaves the part missing. So does a body that
// fails after more of it has arrived than fits into one buffer; if less has arrived, the earlier
// part stays.
//
// The writer of a part holds a lock on its bytes, and Finish holds a lock on the whole file. Both
// check afterwards that the file still has its name, so that a late part cannot change an object.
// The locks are valid between processes and end with the process.

// Begin implements blob.PartStore. A second Begin with the same sizes returns the same upload. With
// other sizes it deletes the existing parts.
func (s *Store) Begin(ctx context.Context, key blob.Key, size, partSize int64, _ string) (blob.Upload, error) {
	_, name := key.Split()
	u := blob.Upload{Key: key, ID: name, Size: size, PartSize: partSize}
	v, err := s.acquireForUpload(ctx, u)
	if err != nil {
		return blob.Upload{}, err
	}
	defer v.release()
	if err := s.space.check(v.root, size); err != nil {
		return blob.Upload{}, err
	}
	if _, err := v.statObject(key); !errors.Is(err, blob.ErrNotFound) {
		if err == nil {
			err = fmt.Errorf("begin upload: %w", blob.ErrExists)
		}
		return blob.Upload{}, err
	}
	for range tempTries {
		if done, err := v.begin(ctx, u); done || err != nil {
			return u, err
		}
	}
	return blob.Upload{}, blob.Unavailable("begin upload", errors.New("other calls keep beginning or aborting it"))
}

// acquireForUpload returns the verified volume, which the caller releases, for an operation on u.
// Errors: blob.ErrKey, blob.ErrPart, blob.ErrUnavailable, the context's.
func (s *Store) acquireForUpload(ctx context.Context, u blob.Upload) (*volume, error) {
	if err := u.Check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("use upload: %w", err)
	}
	return s.acquire()
}

// statObject returns the size of an object. Errors: blob.ErrNotFound, blob.ErrUnavailable.
func (v *volume) statObject(key blob.Key) (int64, error) {
	dirPath, name := key.Split()
	dir, err := v.openDir(dirPath)
	if err != nil {
		return 0, notFoundOr("open directory of object", err)
	}
	defer dir.Close()
	f, st, err := openRegular(dir, name)
	if err != nil {
		return 0, notFoundOr("open object", err)
	}
	f.Close()
	return st.size, nil
}

// begin creates the files of u, or opens the existing ones. It returns false when it removed
// outdated files or another call has removed the files, and must be called again.
func (v *volume) begin(ctx context.Context, u blob.Upload) (done bool, err error) {
	dir, err := v.makeDir(partsPath)
	if err != nil {
		return false, storeError("open directory of uploads", err)
	}
	_, name := u.Key.Split()
	p, err := openPartUpload(dir, name, syscall.O_CREAT)
	if err != nil {
		dir.Close()
		return false, storeError("begin upload", err)
	}
	defer p.close()
	if err := p.lock(ctx, nameLockOffset, 1); err != nil {
		return false, err
	}
	if p.journal == nil { // the previous holder of the lock may have created it
		if err := p.openJournal(); err != nil {
			return false, storeError("begin upload", err)
		}
	}
	if here, err := p.isCurrent(); err != nil || !here {
		return false, err
	}
	err = p.checkJournal(u)
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		return false, err
	}
	empty := err == nil && !p.hasPartLines()
	ours := err == nil
	// The size is read after the lines, because PutPart stores the bytes of a part before its line.
	size, err := p.size()
	if err != nil {
		return false, err
	}
	switch {
	case ours && (empty || size > 0): // begun earlier
		return true, syncDirectory(p.dir)
	case p.journal != nil ||
		// a journal for other sizes or of another file; the data file is removed as well, since
		// another call may be writing to it
		size > 0:
		return false, removeUpload(p.dir, p.name)
	}
	if err := p.createJournal(u); err != nil {
		_, _ = removeNames(p.dir, p.name)
		return false, err
	}
	return true, nil
}

// createJournal writes the journal of an upload that has none and makes both names durable.
func (p *partUpload) createJournal(u blob.Upload) (err error) {
	if p.journal, _, err = openRegularFlags(p.dir, p.name+journalSuffix,
		syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL); err != nil {
		return storeError("make journal of upload", err)
	}
	if err := writeLine(p.journal, headerLine(u), 0); err != nil {
		return err
	}
	return syncDirectory(p.dir)
}

// syncDirectory syncs a directory through a new descriptor: after a failed sync a descriptor is
// never synced again.
func syncDirectory(dir *os.File) error {
	again, err := openAt(dir, ".", openDirectory, 0)
	if err == nil {
		err = errors.Join(again.Sync(), again.Close())
	}
	if err != nil {
		return storeError("sync directory of uploads", err)
	}
	return nil
}

// PutPart implements blob.PartStore. The ETag is the SHA-256 of the part in hexadecimal. Bodies for
// the same part wait for each other; the last one stored becomes the part.
func (s *Store) PutPart(ctx context.Context, u blob.Upload, number int, body io.Reader) (part blob.Part, err error) {
	began := s.begin()
	defer func() { s.observe(PartOperation, began, err) }()
	v, err := s.acquireForUpload(ctx, u)
	if err != nil {
		return blob.Part{}, err
	}
	defer v.release()
	length, offset := u.PartLength(number), int64(number-1)*u.PartSize
	if length == 0 {
		return blob.Part{}, fmt.Errorf("%w: part %d of %d", blob.ErrPart, number, u.Parts())
	}
	counted, err := blob.NewBody(ctx, body, blob.PutOptions{Size: length})
	if err != nil {
		return blob.Part{}, fmt.Errorf("put part: %w", err)
	}
	p, err := v.openUpload(u)
	if err != nil {
		return blob.Part{}, err
	}
	defer p.close()
	if err := p.lock(ctx, offset, length); err != nil {
		return blob.Part{}, err
	}
	if err := p.requireCurrent(); err != nil {
		return blob.Part{}, err
	}
	if err := s.space.check(v.root, length); err != nil {
		return blob.Part{}, err
	}
	sum, err := p.writePart(v, number, offset, counted, length)
	if err != nil {
		return blob.Part{}, fmt.Errorf("put part: %w", err)
	}
	began = s.begin() // the body takes as long as its sender
	if err := p.data.Sync(); err != nil {
		return blob.Part{}, storeError("sync part", err)
	}
	if err := ctx.Err(); err != nil { // the last moment to cancel: the next step stores the part
		return blob.Part{}, fmt.Errorf("put part: %w", err)
	}
	part = blob.Part{Number: number, Size: length, ETag: hex.EncodeToString(sum)}
	if err := writeLine(p.journal, partLine(number, part.ETag), lineOffset(number)); err != nil {
		return blob.Part{}, err
	}
	return part, p.requireCurrent() // Abort does not wait for parts
}

// requireCurrent returns blob.ErrNotFound when the upload was finished or aborted since its files
// were opened.
func (p *partUpload) requireCurrent() error {
	here, err := p.isCurrent()
	if err == nil && !here {
		err = fmt.Errorf("put part: %w", blob.ErrNotFound)
	}
	return err
}

// writePart writes the body of a part, length bytes, at its offset in the data file and returns its
// SHA-256. Before the first byte it records in the journal that the part is missing. The caller
// records the new part.
func (p *partUpload) writePart(v *volume, number int, offset int64, body io.Reader, length int64) ([]byte, error) {
	dropped := false
	return hashAndWrite(body, length, func(b []byte) error {
		if !dropped {
			if err := p.clearPart(number); err != nil {
				return err
			}
			if _, err := p.data.Seek(offset, io.SeekStart); err != nil {
				return storeError("write part", err)
			}
			dropped = true
		}
		return v.write(p.data, b)
	})
}

// clearPart records durably that a part is missing. It writes the line even when the line says so
// already, since the sync of the earlier write may have failed.
func (p *partUpload) clearPart(number int) error {
	if fresh, err := isUnwritten(p.journal, number); fresh || err != nil {
		return err
	}
	return writeLine(p.journal, partLine(number, ""), lineOffset(number))
}

// Parts implements blob.PartStore.
func (s *Store) Parts(ctx context.Context, u blob.Upload) ([]blob.Part, error) {
	v, err := s.acquireForUpload(ctx, u)
	if err != nil {
		return nil, err
	}
	defer v.release()
	p, err := v.openUpload(u)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.parts(u)
}

// Finish implements blob.PartStore. It also returns blob.ErrExists, when another object has the
// key.
func (s *Store) Finish(ctx context.Context, u blob.Upload, parts []blob.Part) (_ blob.Info, err error) {
	began := s.begin()
	defer func() { s.observe(FinishOperation, began, err) }()
	v, err := s.acquireForUpload(ctx, u)
	if err != nil {
		return blob.Info{}, err
	}
	defer v.release()
	p, err := v.openUpload(u)
	if errors.Is(err, blob.ErrNotFound) {
		return v.finishedInfo(u)
	}
	if err != nil {
		return blob.Info{}, err
	}
	defer p.close()
	switch whole, err := tryLock(p.data, 0, 0); {
	case err != nil:
		return blob.Info{}, storeError("lock upload", err)
	case !whole:
		return blob.Info{}, fmt.Errorf("finish upload: %w", blob.ErrBusy)
	}
	here, err := p.isCurrent()
	if err != nil {
		return blob.Info{}, err
	}
	if !here {
		return v.finishedInfo(u)
	}
	if err := p.verifyComplete(u, parts); err != nil {
		return blob.Info{}, err
	}
	dir, name := u.Key.Split()
	err = v.publish(p.dir, p.name, dir, name, func(dir *os.File) {
		_ = renameNoReplace(dir, name, p.dir, p.name) // so that the next Finish publishes it again
	})
	if err != nil {
		return blob.Info{}, fmt.Errorf("finish upload: %w", err)
	}
	return blob.Info{Size: u.Size}, removeUpload(p.dir, p.name)
}

// verifyComplete checks that parts lists all parts of u as they are stored, and makes their bytes
// durable. Errors: blob.ErrPart when a part is missing or differs, blob.ErrUnavailable.
func (p *partUpload) verifyComplete(u blob.Upload, parts []blob.Part) error {
	listed, err := p.parts(u)
	if err != nil {
		return err
	}
	if err := u.CheckParts(parts, listed); err != nil {
		return fmt.Errorf("finish upload: %w", err)
	}
	size, err := p.size()
	if err != nil {
		return err
	}
	if size != u.Size {
		return fmt.Errorf("finish upload: %w: %d bytes of %d are stored", blob.ErrPart, size, u.Size)
	}
	if err := p.data.Sync(); err != nil {
		return storeError("sync upload", err)
	}
	return nil
}

// finishedInfo answers Finish for an upload that has no files in tmp/parts any more. An object of
// the upload's size is the result of an earlier Finish. That call may have been interrupted before
// the object's name was durable and the remaining files were removed, so finishedInfo repeats both
// steps.
func (v *volume) finishedInfo(u blob.Upload) (blob.Info, error) {
	size, err := v.statObject(u.Key)
	if err == nil && size != u.Size {
		err = fmt.Errorf("object has %d bytes, not %d: %w", size, u.Size, blob.ErrNotFound)
	}
	if err != nil {
		return blob.Info{}, fmt.Errorf("finish upload: %w", err)
	}
	dirPath, name := u.Key.Split()
	dir, err := v.enterDir(dirPath)
	if err != nil {
		return blob.Info{}, storeError("open directory of object", err)
	}
	defer v.leaveDir(dir)
	if err := dir.sync.wait(); err != nil {
		v.abandonDir(dir)
		return blob.Info{}, storeError("sync directory of object", err)
	}
	parts, err := v.openDir(partsPath)
	if errors.Is(err, syscall.ENOENT) {
		return blob.Info{Size: size}, nil
	}
	if err != nil {
		return blob.Info{}, storeError("open directory of uploads", err)
	}
	defer parts.Close()
	return blob.Info{Size: size}, removeUpload(parts, name)
}

// Abort implements blob.PartStore. It does not wait for parts; a part in progress is deleted.
func (s *Store) Abort(ctx context.Context, u blob.Upload) error {
	v, err := s.acquireForUpload(ctx, u)
	if err != nil {
		return err
	}
	defer v.release()
	return v.abort(ctx, u.Key)
}

// abort removes the files of the upload for key, if there are any. It waits for a Finish in
// progress. Errors: the context's, blob.ErrUnavailable.
func (v *volume) abort(ctx context.Context, key blob.Key) error {
	_, name := key.Split()
	for range tempTries {
		dir, err := v.openDir(partsPath)
		if errors.Is(err, syscall.ENOENT) {
			return nil
		}
		if err != nil {
			return storeError("open directory of uploads", err)
		}
		p, err := openPartUpload(dir, name, 0)
		if errors.Is(err, syscall.ENOENT) {
			defer dir.Close()
			return removeUpload(dir, name)
		}
		if err != nil {
			dir.Close()
			return storeError("open upload", err)
		}
		if done, err := p.abort(ctx); done || err != nil {
			return err
		}
	}
	return blob.Unavailable("abort upload", errors.New("other calls keep beginning it"))
}

// abort is volume.abort for opened files, which it closes. done is false when other files have
// taken their names meanwhile: the caller opens those and tries again.
func (p *partUpload) abort(ctx context.Context) (done bool, err error) {
	defer p.close()
	if err := p.lock(ctx, nameLockOffset, 1); err != nil {
		return false, err
	}
	if here, _, err := p.isNamed(p.data, p.name); err != nil || !here {
		return false, err
	}
	return true, removeUpload(p.dir, p.name)
}
