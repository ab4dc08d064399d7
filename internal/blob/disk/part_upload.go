package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"larder/internal/blob"
)

const (
	partsPath     = tempName + "/parts"
	journalSuffix = "-journal" // no key ends with it

	// an offset beyond all parts; Begin, Finish and Abort lock it while they create, rename or
	// remove the data file
	nameLockOffset = 1 << 62
	pollMin        = time.Millisecond
	pollMax        = 64 * time.Millisecond
)

// partUpload is an upload in parts with its two open files.
type partUpload struct {
	dir           *os.File // tmp/parts
	name          string   // of the data file
	data, journal *os.File // journal is nil when the file does not exist
}

// openPartUpload opens the data file with that name in dir, which is tmp/parts, and its journal.
// Closing the partUpload closes dir as well. flags, such as O_CREAT, are added to those of the data
// file. Error: syscall.ENOENT for a missing data file. A missing journal is no error.
func openPartUpload(dir *os.File, name string, flags int) (*partUpload, error) {
	data, _, err := openRegularFlags(dir, name, syscall.O_RDWR|flags)
	if err != nil {
		return nil, err
	}
	p := &partUpload{dir: dir, name: name, data: data}
	if err := p.openJournal(); err != nil {
		data.Close()
		return nil, err
	}
	return p, nil
}

// openJournal opens the journal beside the data file; p.journal stays nil if there is none.
func (p *partUpload) openJournal() error {
	journal, _, err := openRegularFlags(p.dir, p.name+journalSuffix, syscall.O_RDWR)
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return err
	}
	p.journal = journal
	return nil
}

// openUpload opens the files of u, which the caller closes. Errors: blob.ErrNotFound when there are
// none or they belong to an upload with other sizes, blob.ErrUnavailable.
func (v *volume) openUpload(u blob.Upload) (*partUpload, error) {
	dir, err := v.openDir(partsPath)
	if err != nil {
		return nil, notFoundOr("open directory of uploads", err)
	}
	_, name := u.Key.Split()
	p, err := openPartUpload(dir, name, 0)
	if err != nil {
		dir.Close()
		return nil, notFoundOr("open upload", err)
	}
	if err := p.checkJournal(u); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// close releases the locks and closes the files. It loses nothing, since stored parts are synced
// before.
func (p *partUpload) close() {
	unlock(p.data)
	for _, f := range []*os.File{p.data, p.journal, p.dir} {
		if f != nil {
			f.Close()
		}
	}
}

// checkJournal returns blob.ErrNotFound unless the journal exists and is that of u, with the same
// key and sizes. Other error: blob.ErrUnavailable.
func (p *partUpload) checkJournal(u blob.Upload) error {
	if p.journal == nil {
		return fmt.Errorf("read journal of upload: %w", blob.ErrNotFound)
	}
	return checkHeader(p.journal, u)
}

// parts lists the stored parts of u by number, as blob.PartStore.Parts returns them. The journal
// must be open.
func (p *partUpload) parts(u blob.Upload) ([]blob.Part, error) {
	parts, err := readParts(p.journal, u)
	if err != nil {
		return nil, err
	}
	size, err := p.size() // read after the lines, because PutPart stores the bytes of a part before its line
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(parts, func(one blob.Part) bool {
		return int64(one.Number-1)*u.PartSize+one.Size > size
	}), nil
}

// hasPartLines reports whether the journal has lines of parts. A journal with such lines beside an
// empty data file belongs to another data file.
func (p *partUpload) hasPartLines() bool {
	st, err := p.journal.Stat()
	return err != nil || st.Size() > headerLength
}

// size returns the length of the data file in bytes, including holes.
func (p *partUpload) size() (int64, error) {
	st, err := p.data.Stat()
	if err != nil {
		return 0, storeError("look at upload", err)
	}
	return st.Size(), nil
}

// lock waits for an exclusive lock on length bytes of the data file from start, asking again every
// 1 to 64 milliseconds. close releases it. Errors: the context's, blob.ErrUnavailable.
func (p *partUpload) lock(ctx context.Context, start, length int64) error {
	for wait := pollMin; ; wait = min(2*wait, pollMax) {
		got, err := tryLock(p.data, start, length)
		if err != nil {
			return storeError("lock upload", err)
		}
		if got {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for upload: %w", ctx.Err())
		}
	}
}

// isCurrent reports whether the open files belong to an upload that is neither finished nor
// aborted. Both must still have their names, and the data file must have no second name. A second
// name means that a crash interrupted Finish between linking the object's name and removing this
// one.
func (p *partUpload) isCurrent() (bool, error) {
	here, links, err := p.isNamed(p.data, p.name)
	if !here || links != 1 || err != nil || p.journal == nil {
		return here && links == 1, err
	}
	here, _, err = p.isNamed(p.journal, p.name+journalSuffix)
	return here, err
}

// isNamed reports whether name in tmp/parts still refers to the open file f rather than to no file
// or to another one, and returns the number of f's hard links.
func (p *partUpload) isNamed(f *os.File, name string) (here bool, links uint64, err error) {
	open, err := statFile(f)
	if err != nil {
		return false, 0, storeError("look at upload", err)
	}
	again, named, err := openRegular(p.dir, name)
	if errors.Is(err, syscall.ENOENT) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, storeError("look at upload", err)
	}
	again.Close()
	return named.dev == open.dev && named.ino == open.ino, named.links, nil
}

// removeUpload removes the data file with that name and its journal, of which either may be absent,
// and syncs the directory: a crash must not bring them back, since nothing would remove them again.
// Error: blob.ErrUnavailable.
func removeUpload(dir *os.File, name string) error {
	removed, err := removeNames(dir, name)
	if err != nil || !removed {
		return err
	}
	return syncDirectory(dir)
}

// removeNames is removeUpload without the sync; removed reports whether there was a file to remove.
// The data file goes first, since the upload exists as long as that file does.
func removeNames(dir *os.File, name string) (removed bool, err error) {
	for _, name := range []string{name, name + journalSuffix} {
		err := removeAt(dir, name)
		if err != nil && !errors.Is(err, syscall.ENOENT) {
			return removed, storeError("remove upload", err)
		}
		removed = removed || err == nil
	}
	return removed, nil
}
