package dirimport

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/upload"
	"larder/internal/vpath"
)

// file imports the file at path, relative to the directory, as the file at in the account, unless
// it is there already with the same size and time. It reports a file that it leaves out. An error
// ends the import.
func (r *run) file(ctx context.Context, path string, at vpath.Path) error {
	file, info, err := r.open(path, fs.FileMode.IsRegular)
	if err != nil {
		r.leaveOut(Failed, path, reason(err))
		return nil
	}
	defer file.Close() // opened for reading
	if info.Size() > upload.MaxFileSize {
		r.leaveOut(Refused, path, "A file has at most 20 GiB.")
		return nil
	}
	there, err := r.Tree.ResourceAt(ctx, at)
	if err != nil {
		return err
	}
	switch {
	case there.Exists() && !there.IsFile():
		r.leaveOut(Refused, path, "The account has a folder of this name.")
		return nil
	case there.Exists() && there.Size() == info.Size() && r.sameTime(info.ModTime(), there.UpdatedAt()):
		r.present()
		return nil
	case there.Exists() && !r.Replace:
		r.leaveOut(Differs, path, fmt.Sprintf("The account has %d bytes of %s, the directory %d bytes of %s.",
			there.Size(), inUTC(time.UnixMilli(there.UpdatedAt())), info.Size(), inUTC(info.ModTime())))
		return nil
	case r.plan != nil:
		return r.planFile(ctx, path, at, info.Size(), there)
	}
	source := &sourceFile{run: r, file: file, info: info}
	if err := r.put(ctx, at, source, there); err != nil {
		if changed := source.checkUnchanged(); source.err == nil && fault.Is(err, fault.Unverified) {
			source.err = changed // as for a file that has grown
		}
		if source.err != nil { // the upload knows only that the body ended
			err = fault.New(fault.Unverified, reason(source.err)).WithCause(err)
		}
		return r.failed(ctx, path, err)
	}
	r.sum.Files++
	r.sum.Bytes += info.Size()
	if there.Exists() {
		r.sum.Replaced++
	}
	r.reportProgress()
	return nil
}

// inUTC returns a time as text in UTC, to the millisecond.
func inUTC(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// sameTime reports whether a file of the account, of the time updatedAt (ms), has the time of a
// file of the machine, modified. A time in the future became that of its import, which cannot be
// compared, so it counts as the same.
func (r *run) sameTime(modified time.Time, updatedAt int64) bool {
	return modified.UnixMilli() == updatedAt || modified.After(r.Now())
}

// present counts, in the plan or the summary, a file that the account has already.
func (r *run) present() {
	if r.plan != nil {
		r.plan.Present++
	} else {
		r.sum.Present++
	}
}

// planFile counts a file of size bytes that Import would store at the path at, and what the quota
// needs for it. there is what the account has at that path. It reports a file that could not be
// stored.
func (r *run) planFile(ctx context.Context, path string, at vpath.Path, size int64, there *files.Resource) error {
	if !there.Exists() {
		if _, err := r.Tree.ResolveDestination(ctx, r.actor, at.Parent(), at.Base(), files.Fail); err != nil {
			return r.failed(ctx, path, err)
		}
	}
	r.plan.Files++
	r.plan.Bytes += size
	switch {
	case !there.Exists():
		r.plan.NeedsFiles++
		r.plan.NeedsBytes += size
	case there.OwnerID() == r.UserID:
		r.plan.NeedsBytes += size - there.Size()
	}
	return nil
}

// put stores a file at the path at, in place of there if that exists. Faults: those of upload.Put;
// Conflict when the account's file has changed; Unverified when the source has changed.
func (r *run) put(ctx context.Context, at vpath.Path, source *sourceFile, there *files.Resource) error {
	conflict := files.Fail
	if there.Exists() {
		conflict = files.Replace
	}
	_, err := r.Uploads.Put(ctx, r.actor, upload.OneShot{
		Dir: at.Parent(), Name: at.Base(), Size: source.info.Size(), Conflict: conflict, Body: source,
		Modified: source.info.ModTime(),
		Precondition: func(etag string) error {
			if etag != there.ETag() {
				return fault.New(fault.Conflict, "The file in the account changed meanwhile.")
			}
			if err := r.CheckUsable(ctx); err != nil {
				return err
			}
			source.err = source.checkUnchanged()
			return source.err
		},
	})
	return err
}

// sourceFile reads a file of the directory.
type sourceFile struct {
	run  *run
	file *os.File
	info os.FileInfo // before the first byte was read
	err  error       // of reading, also that the file changed
}

// Read implements io.Reader. It keeps the error for the report and counts the bytes. Fault:
// Unverified at the end of a file that has changed.
func (s *sourceFile) Read(p []byte) (int, error) {
	n, err := s.file.Read(p)
	s.run.read += int64(n)
	s.run.reportProgress()
	switch {
	case err == io.EOF: // a file that ends too early has changed
		if s.err = s.checkUnchanged(); s.err != nil {
			return n, s.err
		}
	case err != nil:
		s.err = err
	}
	return n, err
}

// checkUnchanged returns the fault Unverified when size or time differ from those before the file
// was read.
func (s *sourceFile) checkUnchanged() error {
	info, err := s.file.Stat()
	if err == nil && (info.Size() != s.info.Size() || !info.ModTime().Equal(s.info.ModTime())) {
		err = fault.New(fault.Unverified, "The file changed while it was read.")
	}
	return err
}

// reportProgress reports the progress to Options.Progress.
func (r *run) reportProgress() {
	if r.Progress != nil {
		r.Progress(Progress{Files: r.sum.Files, Bytes: r.read})
	}
}
