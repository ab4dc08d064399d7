package dirimport

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// ErrOwn refuses a directory with data of this installation.
var ErrOwn = errors.New("the directory contains data of this Larder, or lies in it")

// ErrInto refuses a target that is not a folder.
var ErrInto = errors.New("the target is a file, or lies in one")

// storeMarker is the name of the file that identifies the directory of a built-in store.
const storeMarker = ".larder-store"

// run is one call of Import or Plan.
type run struct {
	*Service
	Options
	root    *os.Root
	actor   access.Actor
	plan    *Plan // nil for Import
	leftOut map[Kind]int64
	sum     Summary
	read    int64 // bytes
}

// all imports, or plans, the whole directory: it makes the folder Into with those above it, and
// imports the contents. Errors: those of Import.
func (r *run) all(ctx context.Context) error {
	if r.Into.Reserved() {
		return reservedPath()
	}
	at := vpath.Root
	for _, name := range r.Into.Names() {
		at = at.Child(name)
		there, err := r.Tree.ResourceAt(ctx, at)
		if err != nil {
			return err
		}
		if there.IsFile() {
			return ErrInto
		}
		if err := r.makeFolder(ctx, there, at); err != nil {
			return err
		}
	}
	return r.folder(ctx, ".", r.Into)
}

// reservedPath returns the fault Invalid for a path below a name that the service uses itself.
func reservedPath() error {
	return fault.New(fault.Invalid, "The first segment of this path is reserved by the service.")
}

// makeFolder makes the folder at unless the account has it; there is what the account has at that
// path. In a plan it only counts the folder.
func (r *run) makeFolder(ctx context.Context, there *files.Resource, at vpath.Path) error {
	if there.Exists() || there.Virtual() {
		return nil
	}
	if r.plan != nil {
		r.plan.Folders++
		return nil
	}
	if err := r.CheckUsable(ctx); err != nil {
		return err
	}
	_, err := r.Tree.CreateFolder(ctx, r.actor, at.Parent(), at.Base())
	if err == nil {
		r.sum.Folders++
	}
	return err
}

// folder imports the contents of the directory path, relative to the root, into the folder into. It
// reports entries that it leaves out. An error ends the import.
func (r *run) folder(ctx context.Context, path string, into vpath.Path) error {
	entries, err := r.readDir(path)
	if err != nil {
		r.leaveOut(Failed, path, reason(err))
		return nil
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == storeMarker }) {
		r.leaveOut(Refused, path, "This is the directory of a store of Larder.")
		return nil
	}
	seen := make(map[vpath.Name]bool, len(entries))
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		below := entry.Name()
		if path != "." {
			below = path + "/" + below
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			r.leaveOut(Skipped, below, "Symbolic links are not followed.")
			continue
		}
		if !entry.IsDir() && !entry.Type().IsRegular() {
			r.leaveOut(Skipped, below, "This is neither a file nor a directory.")
			continue
		}
		at, err := childPath(into, entry.Name())
		if err != nil {
			r.leaveOut(Refused, below, reason(err))
			continue
		}
		if seen[at.Base()] {
			r.leaveOut(Refused, below, "Another name in this directory is the same in Unicode form NFC.")
			continue
		}
		seen[at.Base()] = true
		if entry.IsDir() {
			err = r.subfolder(ctx, below, at)
		} else {
			err = r.file(ctx, below, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// childPath returns the path of the name text inside a folder. Fault: Invalid when an account can
// have no such name or path.
func childPath(into vpath.Path, text string) (vpath.Path, error) {
	name, err := vpath.ParseName(text)
	if err != nil {
		return vpath.Path{}, err
	}
	return into.Append(name)
}

// readDir reads the entries of the directory path, ordered by name.
func (r *run) readDir(path string) ([]fs.DirEntry, error) {
	dir, _, err := r.open(path, fs.FileMode.IsDir)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // opened for reading
	entries, err := dir.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// errNotThat says that there is something else at a path than the directory has listed.
var errNotThat = errors.New("it was replaced meanwhile")

// open opens a file or directory for reading, but no symbolic link, not even one that was just
// made. isKind says which mode is expected. Error: errNotThat when something else has taken its
// place.
func (r *run) open(path string, isKind func(fs.FileMode) bool) (*os.File, os.FileInfo, error) {
	listed, err := r.root.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	file, err := r.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // else a pipe would wait for its writer
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && (!isKind(info.Mode()) || !os.SameFile(info, listed)) {
		err = errNotThat
	}
	if err != nil {
		_ = file.Close() // opened for reading
		return nil, nil, err
	}
	return file, info, nil
}

// subfolder imports the directory path into the folder at, which it makes if it is missing. An
// error ends the import.
func (r *run) subfolder(ctx context.Context, path string, at vpath.Path) error {
	if at.Reserved() {
		return r.failed(ctx, path, reservedPath())
	}
	there, err := r.Tree.ResourceAt(ctx, at)
	if err != nil {
		return err
	}
	if there.IsFile() {
		r.leaveOut(Refused, path, "The account has a file of this name.")
		return nil
	}
	switch err := r.makeFolder(ctx, there, at); {
	case fault.Is(err, fault.AlreadyExists): // made meanwhile; a file of that name refuses each file in it
	case err != nil:
		return r.failed(ctx, path, err)
	}
	return r.folder(ctx, path, at)
}

// leaveOut counts and reports an entry that is left out; reason is a sentence.
func (r *run) leaveOut(kind Kind, path, reason string) {
	r.leftOut[kind]++
	r.Report(Finding{Kind: kind, Path: path, Reason: reason})
}

// failed reports an entry that could not be stored because of err, and returns nil. It returns err
// if no other entry can be stored either, which ends the import.
func (r *run) failed(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch fault.KindOf(err) {
	case fault.QuotaExceeded:
		r.leaveOut(Failed, path, "The quota of the account has no room for this.")
	case fault.Invalid, fault.TooLarge, fault.AlreadyExists, fault.NotFound:
		r.leaveOut(Refused, path, reason(err))
	case fault.Conflict, fault.Locked, fault.Unverified, fault.UploadExpired, fault.RateLimited:
		r.leaveOut(Failed, path, reason(err))
	default:
		return err
	}
	return nil
}

// reason returns the text of an error for a report: the sentence of a fault, or an error of the
// machine without the path.
func reason(err error) string {
	var refused *fault.Error
	var machine *fs.PathError
	switch {
	case errors.As(err, &refused):
		return refused.Message
	case errors.As(err, &machine):
		return machine.Err.Error()
	}
	return err.Error()
}
