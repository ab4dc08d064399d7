package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"larder/internal/blob"
)

const (
	partsPath     = tempName + "/parts"
	journalSuffix = "-journal" // no key ends like that

	// beyond all parts: its lock is held by who gives the data file its name, another one, or none
	nameLockOffset = 1 << 62
	pollMin        = time.Millisecond
	pollMax        = 64 * time.Millisecond
)

// partUpload is an upload in parts with its two files open.
type partUpload struct {
	dir           *os.File // tmp/parts
	name          string   // of the data file
	data, journal *os.File // journal is nil when there is none
}

// openPartUpload opens the files called name in dir, which is closed with them; flags complete
// those of the data file. Error: syscall.ENOENT for a missing data file; a missing journal is none.
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

// openJournal opens the journal, where there is one by now.
func (p *partUpload) openJournal() error {
	journal, _, err := openRegularFlags(p.dir, p.name+journalSuffix, syscall.O_RDWR)
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return err
	}
	p.journal = journal
	return nil
}

// partUpload returns upload u, to be closed. Errors: blob.ErrNotFound, blob.ErrUnavailable.
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

// close gives up the locks as well. Whatever counts was synced before.
func (p *partUpload) close() {
	unlock(p.data)
	for _, f := range []*os.File{p.data, p.journal, p.dir} {
		if f != nil {
			f.Close()
		}
	}
}

// checkJournal makes sure that these are the files of u. Errors:
// blob.ErrNotFound, blob.ErrUnavailable.
func (p *partUpload) checkJournal(u blob.Upload) error {
	if p.journal == nil {
		return fmt.Errorf("read journal of upload: %w", blob.ErrNotFound)
	}
	return checkHeader(p.journal, u)
}

// parts lists the parts of u that are there.
func (p *partUpload) parts(u blob.Upload) ([]blob.Part, error) {
	size, err := p.size()
	if err != nil {
		return nil, err
	}
	return readParts(p.journal, u, size)
}

// hasPartLines reports whether the journal has lines of parts, which one beside an empty data file
// has only when that is not its own.
func (p *partUpload) hasPartLines() bool {
	st, err := p.journal.Stat()
	return err != nil || st.Size() > headerLength
}

// size returns the bytes of the data file, holes included.
func (p *partUpload) size() (int64, error) {
	st, err := p.data.Stat()
	if err != nil {
		return 0, storeError("look at upload", err)
	}
	return st.Size(), nil
}

// lock waits until nobody else has a lock on length bytes of the data file from start.
// Errors: the context's, blob.ErrUnavailable.
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

// isCurrent reports whether the open files are those of an upload that is neither finished nor
// aborted: both lie under their names, and the data file has no other name, which it has when a
// crash came between giving it that of the object and taking this one away.
func (p *partUpload) isCurrent() (bool, error) {
	here, links, err := p.isNamed(p.data, p.name)
	if !here || links != 1 || err != nil || p.journal == nil {
		return here && links == 1, err
	}
	here, _, err = p.isNamed(p.journal, p.name+journalSuffix)
	return here, err
}

// isNamed reports whether the open file f is still what name in tmp/parts means, and how
// many names it has.
func (p *partUpload) isNamed(f *os.File, name string) (here bool, links uint64, err error) {
	var open syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &open); err != nil {
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
	return named.Dev == open.Dev && named.Ino == open.Ino, uint64(named.Nlink), nil
}

// removeUpload takes away the names of an upload's files. What was removed does not come back after
// a crash, since nobody might come for it again. Both names may be absent.
func removeUpload(dir *os.File, name string) error {
	removed, err := removeNames(dir, name)
	if err != nil || !removed {
		return err
	}
	return syncDirectory(dir)
}

// removeNames is removeUpload as far as no crash comes. First goes the name that says that
// there is an upload.
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
