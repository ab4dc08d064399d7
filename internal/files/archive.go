package files

import (
	"context"
	"errors"
	"io"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/object"
	"larder/internal/vpath"
)

// ArchiveQuery asks for an archive of files and folders.
type ArchiveQuery struct {
	IDs []string // ids that do not exist, or that the caller may not have, are left out
	// ActorAt returns the caller with the rights of a config version. The walk calls it again after
	// each change of that version. Its error ends the walk.
	ActorAt func(ctx context.Context, version int64) (access.Actor, error)
	// ReloadActor calls ActorAt before every decision, for callers whose rights depend on more than
	// the config.
	ReloadActor bool
	// Shared says that the archive is made for the visitors of a share; see access.Viewer.
	Shared bool
	// Within is the id of the shared folder that the selected entries are files of, "" for none.
	// Entries that are no files, are elsewhere, or are not visible there are left out.
	Within string
	// Limits on the number of files and on their bytes; 0 for no limit.
	MaxFiles, MaxBytes int64
}

// contains reports whether the entry n may be selected: Within is "", or n is the folder Within or
// below it.
func (q *ArchiveQuery) contains(n *node) bool { return q.Within == "" || n.within(q.Within) }

// Archive is a walk over files and folders and everything below them, in pages. Its memory does not
// grow with the number of entries, and it holds nothing in the database between two calls. Not for
// concurrent use.
//
// The walk decides about each entry when it reaches it, and about a folder again for each of its
// pages. A file is in the archive when it is visible and may be downloaded at that time, a folder
// when it may be listed and no password is on it that the caller has not given. The walk silently
// leaves out entries that the caller may not have, that are gone, or that have left the selected
// folder. Mounts below a folder are treated as in listings.
type Archive struct {
	tree     *Tree
	query    ArchiveQuery
	selected []candidate // the selected entries that the caller may have
	title    string
	names    nameOrder // kept to the end, so that no entry is lost or repeated

	measured bool
	walk     archiveWalk
}

// ArchiveEntry is a file or a folder in an archive.
type ArchiveEntry struct {
	Name     string // path in the archive: segments with slashes between them
	Modified time.Time
	// Body is the content of a file, nil for a folder. Reading returns an error instead of io.EOF
	// unless the bytes were exactly those that had been stored. The caller closes it.
	Body io.ReadCloser
}

// Archive begins an archive. For a single selected folder, the archive holds the content of that
// folder. Of several selected entries each has its own name at the top, with a number where two
// names are equal. Faults: NotFound when nothing is left; those of ActorAt.
func (t *Tree) Archive(ctx context.Context, q ArchiveQuery) (*Archive, error) {
	order, err := t.nameOrderNow(ctx)
	if err != nil {
		return nil, err
	}
	a := &Archive{tree: t, query: q, names: order}
	a.walk = archiveWalk{Archive: a}
	names := map[string]bool{}
	for _, id := range q.IDs {
		top, found, err := a.walk.findSelected(ctx, id)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		name := top.name
		for number := 1; names[top.name]; number++ {
			top.name = string(numbered(vpath.Name(name), number))
		}
		names[top.name] = true
		a.selected = append(a.selected, top)
	}
	switch len(a.selected) {
	case 0:
		return nil, fault.New(fault.NotFound, "This contains nothing that you may download.")
	case 1:
		a.title = a.selected[0].name
	default:
		a.title = commonParent(a.selected)
	}
	if len(q.IDs) == 1 && a.selected[0].folder {
		a.selected[0].name = ""
	}
	a.walk.pending = a.selected
	return a, nil
}

// commonParent returns the name of the folder that all selected entries are in; "" where they are
// in several folders, or in the root of the tree.
func commonParent(selected []candidate) string {
	for _, c := range selected {
		if c.parent != selected[0].parent {
			return ""
		}
	}
	if parent := selected[0].parent; !parent.IsRoot() {
		return string(parent.Base())
	}
	return ""
}

// Title is the name from which the archive's file name is made: that of the only selected file or
// folder, or of the folder that all selected entries are in; "" where there is none.
func (a *Archive) Title() string { return a.title }

// Next returns the next entry; there is false after the last one. The entry's Body, if any, is open
// and must be closed by the caller. Faults: TooLarge when the archive has more files or bytes than
// the query allows, normally before the first entry, since Next counts first; Unavailable when a
// store fails; those of ActorAt.
func (a *Archive) Next(ctx context.Context) (e ArchiveEntry, there bool, err error) {
	if !a.measured && (a.query.MaxFiles > 0 || a.query.MaxBytes > 0) {
		if _, _, err := a.Measure(ctx); err != nil {
			return ArchiveEntry{}, false, err
		}
	}
	a.measured = true
	return a.walk.next(ctx)
}

// Measure walks the whole archive without opening a file, and returns the number of its files and
// the sum of their bytes. Faults: those of Next.
func (a *Archive) Measure(ctx context.Context) (files, bytes int64, err error) {
	dry := archiveWalk{Archive: a, pending: a.selected, countOnly: true}
	for there := true; there; {
		if _, there, err = dry.next(ctx); err != nil {
			return 0, 0, err
		}
	}
	return dry.files, dry.bytes, nil
}

// archiveWalk is one pass over an archive. With countOnly it only counts and opens no file.
type archiveWalk struct {
	*Archive
	countOnly bool
	pending   []candidate     // of the selected entries
	topID     string          // id of the selected entry that the walk is in
	folders   []*folderCursor // from that entry down
	viewer    *entryViewer    // for the config version of the last decision
	files     int64
	bytes     int64
}

// next returns the next entry of the archive and skips candidates that the actor may not have.
// there is false at the end of the archive. The end is not io.EOF, so that an io.EOF of a store,
// which means that content is cut off, is never taken for it.
func (w *archiveWalk) next(ctx context.Context) (e ArchiveEntry, there bool, err error) {
	for !there {
		c, more, err := w.nextCandidate(ctx)
		if err != nil || !more {
			return ArchiveEntry{}, false, err
		}
		if c.folder {
			e, there, err = w.descend(ctx, c)
		} else {
			e, there, err = w.file(ctx, c)
		}
		if err != nil {
			return ArchiveEntry{}, false, err
		}
	}
	return e, there, nil
}

// nextCandidate returns the next entry to decide about, in depth-first order: from the innermost
// folder that is being walked, or else the next selected entry. It reads another page of the folder
// when all entries of the last page are done. more is false at the end of the walk.
func (w *archiveWalk) nextCandidate(ctx context.Context) (c candidate, more bool, err error) {
	for len(w.folders) > 0 {
		at := w.folders[len(w.folders)-1]
		if len(at.page) > 0 {
			c = at.page[0]
			at.page = at.page[1:]
			c.name = at.name + c.name
			return c, true, nil
		}
		if at.nextKind == childNone {
			w.folders = w.folders[:len(w.folders)-1]
			continue
		}
		if _, err := w.readPage(ctx, at); err != nil {
			return candidate{}, false, err
		}
	}
	if len(w.pending) == 0 {
		return candidate{}, false, nil
	}
	c = w.pending[0]
	w.pending, w.topID = w.pending[1:], c.id
	return c, true, nil
}

// descend decides about the folder c, and makes it the current folder of the walk. The bool is
// false when the archive gets no entry for the folder itself: the actor may not have it, it is
// gone, or it was selected alone, so that its content is at the top of the archive.
func (w *archiveWalk) descend(ctx context.Context, c candidate) (ArchiveEntry, bool, error) {
	at := &folderCursor{id: c.id, path: c.path, name: c.name}
	if c.name != "" {
		at.name += "/"
	}
	there, err := w.readPage(ctx, at)
	if err != nil || !there {
		return ArchiveEntry{}, false, err
	}
	w.folders = append(w.folders, at)
	return ArchiveEntry{Name: c.name, Modified: at.modified}, c.name != "", nil
}

// file decides about the file c by the present rules and opens it; with countOnly it only counts
// it. The bool is false when the actor may not have the file now or it is gone. It looks up the
// file again when its object was replaced between look-up and opening. Faults: TooLarge,
// Unavailable.
func (w *archiveWalk) file(ctx context.Context, c candidate) (ArchiveEntry, bool, error) {
	if w.countOnly {
		return ArchiveEntry{}, true, w.count(c.size)
	}
	refused := ""
	for {
		content, sum, err := w.content(ctx, c)
		if err != nil || content.ContentHandle == nil {
			return ArchiveEntry{}, false, err
		}
		object, err := content.Open(ctx)
		// the file has new content by now, or is gone
		if errors.Is(err, blob.ErrNotFound) && content.ETag != refused {
			refused = content.ETag
			continue
		}
		if err != nil {
			return ArchiveEntry{}, false, err
		}
		if err := w.count(content.Entry.Size); err != nil {
			return ArchiveEntry{}, false, errors.Join(err, object.Close())
		}
		return ArchiveEntry{Name: c.name, Modified: content.Modified,
			Body: verifyBody(object, content.Entry.Size, sum)}, true, nil
	}
}

// content looks up the file c again and decides about it. It returns the content, unopened, and the
// SHA-256 of the content in hexadecimal, "" where it is not known yet. A Content without Open means
// that the actor may not have the file now, or that it is gone.
func (w *archiveWalk) content(ctx context.Context, c candidate) (Content, string, error) {
	f, err := w.tree.FindID(ctx, c.id)
	if err != nil || !f.node.exists() || !f.node.within(w.topID) || !w.query.contains(&f.node) {
		return Content{}, "", err
	}
	e, err := w.viewerIn(ctx, f.rules)
	if err != nil {
		return Content{}, "", err
	}
	// the caller knows the name of a selected entry already, unless it is selected in a share
	if (c.id != w.topID || w.query.Within != "") && !e.Shows(f.node.existingTarget(e.Actor), false) {
		return Content{}, "", nil
	}
	content, err := f.ContentFor(e.Actor)
	switch fault.KindOf(err) {
	case fault.NotFound, fault.Forbidden, fault.PasswordRequired:
		return Content{}, "", nil
	}
	if err != nil || c.object == f.node.object {
		return content, c.checksum, err
	}
	sum, err := object.SHA256(w.tree.DB.Read(ctx), f.node.object)
	return content, sum, err
}

// count adds one file of size bytes to the sums of the walk. Fault: TooLarge when the archive then
// has more files or bytes than the query allows.
func (w *archiveWalk) count(size int64) error {
	w.files++
	w.bytes += size
	switch {
	case w.query.MaxFiles > 0 && w.files > w.query.MaxFiles:
		return fault.Newf(fault.TooLarge, "An archive can contain at most %d files.", w.query.MaxFiles)
	case w.query.MaxBytes > 0 && w.bytes > w.query.MaxBytes:
		return fault.Newf(fault.TooLarge, "An archive can contain at most %d bytes.", w.query.MaxBytes)
	}
	return nil
}

// viewerIn returns what decides which entries the actor sees under the ruleset v. It keeps the last
// answer, and loads the actor again when the config version has changed or the query has
// ReloadActor.
func (w *archiveWalk) viewerIn(ctx context.Context, v *ruleset) (*entryViewer, error) {
	if w.viewer != nil && w.viewer.version == v.version && !w.query.ReloadActor {
		return w.viewer, nil
	}
	actor, err := w.query.ActorAt(ctx, v.version)
	if err != nil {
		return nil, err
	}
	if w.viewer, err = w.tree.viewerOf(ctx, v, actor); err != nil {
		return nil, err
	}
	w.viewer.Shared = w.query.Shared
	return w.viewer, nil
}

// readAsViewer runs a database read under the rules of the config version that the read itself
// reports, as Tree.readConsistent does, and returns the actor's entryViewer under those rules.
func (w *archiveWalk) readAsViewer(ctx context.Context, question versionedRead) (*entryViewer, error) {
	v, err := w.tree.readConsistent(ctx, question)
	if err != nil {
		return nil, err
	}
	return w.viewerIn(ctx, v)
}

// mayEnter reports whether the folder described by target is in an archive with its content: the
// actor may list it, and no password that the actor has not given protects downloads from it.
func (e *entryViewer) mayEnter(target access.Target) bool {
	return e.DecideListing(target) == access.Allowed && !e.NeedsPasswordToDownload(target.Password)
}

// findSelected looks up one selected entry and decides about it before the walk begins. found is
// false for an entry that does not exist, that the actor may not have, or that Within excludes.
func (w *archiveWalk) findSelected(ctx context.Context, id string) (c candidate, found bool, err error) {
	var n node
	e, err := w.readAsViewer(ctx, func(v *ruleset) (version int64, err error) {
		n, version, err = v.findID(w.tree.DB.Read(ctx), id)
		return version, err
	})
	if err != nil || !n.exists() || !w.query.contains(&n) {
		return candidate{}, false, err
	}
	target := n.existingTarget(e.Actor)
	switch {
	case w.query.Within != "" && (n.folder || !e.Shows(target, false)):
		return candidate{}, false, nil
	case n.folder:
		found = e.mayEnter(target)
	default:
		found = e.policy.Decide(e.Actor, target, access.Download).Outcome == access.Allowed
	}
	return candidate{id: id, parent: n.path.Parent(), name: archiveName(&n), folder: n.folder, size: n.size}, found, nil
}

// archiveName is the name of the selected entry n in the archive: its own name. The root of the
// tree has none and gets the name of its mount, or "files" where that is no valid file name.
func archiveName(n *node) string {
	if !n.path.IsRoot() {
		return string(n.path.Base())
	}
	name, err := vpath.ParseName(n.mount.Name)
	if err != nil {
		return "files"
	}
	return string(name)
}
