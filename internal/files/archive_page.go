package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/mount"
	"larder/internal/vpath"
)

// candidate is an entry that may come next in an archive. The walk decides about it when it gets
// there.
type candidate struct {
	id       string     // "" for a virtual folder
	path     vpath.Path // of a virtual folder
	parent   vpath.Path // of a selected entry
	name     string     // in the archive
	folder   bool
	size     int64  // of a file
	object   string // of a file; "" where it is not known
	checksum string // SHA-256 of the object, hexadecimal; "" where it is not known
}

// folderCursor is a folder on the path of the walk, with the position of the walk in it.
type folderCursor struct {
	id       string // "" for a virtual folder
	path     vpath.Path
	name     string // in the archive, ending in a slash; "" for a folder that was selected alone
	modified time.Time
	nextKind childKind
	after    namePosition // last entry of this kind that was read
	page     []candidate  // entries that were read and are still to come
}

// childKind says which kind of children of a folder is read next.
type childKind uint8

const (
	childFiles childKind = iota
	childFolders
	childMounts // and virtual folders that lead to mounts
	childNone
)

// Entries on a page. The walk holds a page of folders for each level of its depth.
const (
	filesOnPage   = 256
	foldersOnPage = 64
)

// readPage decides again about the folder at, and reads its next page that has candidates into
// at.page. Files come first, then folders, then mounts. there is false when the folder is not in
// the archive any more: it is gone, was moved away, or the actor may not enter it. The walk of the
// folder then ends.
func (w *archiveWalk) readPage(ctx context.Context, at *folderCursor) (there bool, err error) {
	q := w.tree.DB.Read(ctx)
	var n node
	e, err := w.readAsViewer(ctx, func(v *ruleset) (version int64, err error) {
		if at.id == "" {
			n, version, err = v.find(q, at.path)
		} else {
			n, version, err = v.findID(q, at.id)
		}
		return version, err
	})
	if err != nil {
		return false, err
	}
	target, there := w.checkFolder(e, at, &n)
	if !there {
		at.nextKind = childNone
		return false, nil
	}
	mounts := e.mounts.Below(target.Path)
	for full := false; len(at.page) == 0 && !full && at.nextKind != childNone; {
		switch {
		case at.nextKind == childMounts:
			at.page, err = w.mountsIn(ctx, at, target.Path, mounts)
			at.nextKind = childNone
		case at.id == "":
			at.nextKind = childMounts
		default:
			full, err = w.readRows(ctx, e, at, target, mounts)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// checkFolder returns the target, by which access decides, for the folder at that was looked up as
// n. there reports whether the folder is in the archive: it is the selected entry or below it, the
// actor sees it, and may enter it (mayEnter).
func (w *archiveWalk) checkFolder(e *entryViewer, at *folderCursor, n *node) (target access.Target, there bool) {
	switch {
	case !n.within(w.topID):
		return target, false
	case at.id != "":
		target, there = n.existingTarget(e.Actor), n.isFolder()
		at.modified = time.UnixMilli(n.updated)
	default:
		target, there = n.virtualTarget(e.Actor, at.path), !n.exists() && len(e.mounts.Below(at.path)) > 0
	}
	if !there || at.id != w.topID && !e.Shows(target, true) {
		return target, false
	}
	return target, e.mayEnter(target)
}

// readRows reads the next page of stored files or folders, according to at.nextKind, and appends
// those to at.page that the actor may have and that no mount hides. target is that of the folder,
// mounts are the mounts below it. full reports that the page had as many rows as fit, so that more
// may follow.
func (w *archiveWalk) readRows(ctx context.Context, e *entryViewer, at *folderCursor, target access.Target,
	mounts []mount.Mount) (full bool, err error) {
	kind, limit := fileKind, filesOnPage
	if at.nextKind == childFolders {
		kind, limit = folderKind, foldersOnPage
	}
	rows, err := w.pageOfFolder(ctx, at, kind, limit)
	if err != nil {
		return false, err
	}
	for i := range rows {
		r := &rows[i]
		target := childTarget(target, e.Actor, &r.row)
		at.after = namePosition{r.orderKey, r.name}
		if e.includes(&r.row, target) && !slices.ContainsFunc(mounts,
			func(m mount.Mount) bool { return m.Path == target.Path }) {
			at.page = append(at.page, candidate{id: r.id, name: r.name, folder: r.folder, size: r.size,
				object: r.object, checksum: r.checksum})
		}
	}
	if full = len(rows) == limit; !full {
		at.nextKind, at.after = at.nextKind+1, namePosition{}
	}
	return full, nil
}

// includes reports whether an archive contains the entry r, by its row and target: the actor sees
// it and may download the file, or enter the folder (mayEnter). A folder is decided about again
// when it is entered.
func (e *entryViewer) includes(r *row, target access.Target) bool {
	if !e.Shows(target, r.folder) {
		return false
	}
	if r.folder {
		return e.mayEnter(target)
	}
	return e.policy.Decide(e.Actor, target, access.Download).Outcome == access.Allowed
}

// mountsIn lists the roots of mounts directly in the folder at, and the virtual folders in it,
// which exist only because a mount is further below. path is that of the folder, mounts are all
// mounts below it. It leaves out a virtual folder where a stored entry has the name. There are few
// of them.
func (w *archiveWalk) mountsIn(ctx context.Context, at *folderCursor, path vpath.Path,
	mounts []mount.Mount) ([]candidate, error) {
	found := map[vpath.Name]candidate{}
	for _, m := range mounts {
		names, _ := m.Path.RelativeTo(path)
		name := names[0]
		if len(names) == 1 {
			found[name] = candidate{id: m.RootID, name: string(name), folder: true}
		} else if _, seen := found[name]; !seen {
			found[name] = candidate{path: path.Child(name), name: string(name), folder: true}
		}
	}
	names := slices.Sorted(maps.Keys(found))
	var stored map[vpath.Name]row
	if at.id != "" && len(names) > 0 {
		var err error
		if stored, err = childrenNamed(w.tree.DB.Read(ctx), at.id, names); err != nil {
			return nil, err
		}
	}
	var list []candidate
	for _, name := range names {
		if c := found[name]; c.id != "" || stored[name].id == "" { // a stored entry of this name was read before
			list = append(list, c)
		}
	}
	return list, nil
}

// verifyBody wraps an open object in a reader that returns an error unless it reads exactly size
// bytes with the SHA-256 sum (hexadecimal; "" where it is not known, so that only the size is
// checked).
func verifyBody(object blob.Object, size int64, sum string) io.ReadCloser {
	v := &verifyingReader{Object: object, remaining: size, checksum: sum}
	if sum != "" {
		v.hash = sha256.New()
	}
	return v
}

// verifyingReader reads an object and compares its bytes with those that were stored; see
// verifyBody.
type verifyingReader struct {
	blob.Object
	remaining int64
	checksum  string
	hash      hash.Hash // nil where no SHA-256 is known
}

// Read implements io.Reader. It returns an error as soon as the object is too long, and instead of
// io.EOF when the object is too short or its SHA-256 is not the expected one.
func (v *verifyingReader) Read(p []byte) (int, error) {
	n, err := v.Object.Read(p)
	v.remaining -= int64(n)
	if v.hash != nil {
		v.hash.Write(p[:n])
	}
	switch {
	case v.remaining < 0, err == io.EOF && v.remaining > 0:
		return 0, fmt.Errorf("a stored object has another length than when it was stored, by %d bytes", -v.remaining)
	case err == io.EOF && v.hash != nil && hex.EncodeToString(v.hash.Sum(nil)) != v.checksum:
		return 0, fmt.Errorf("a stored object has other bytes than when it was stored: their SHA-256 is not %s",
			v.checksum)
	}
	return n, err
}
