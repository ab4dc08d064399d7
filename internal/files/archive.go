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
	IDs []string // what does not exist, or is not the caller's to have, is left out
	// Who tells who asks for it, as they are by a config version; it is asked again whenever that
	// has changed. Its error ends the walk.
	ActorAt func(ctx context.Context, version int64) (access.Actor, error)
	// Always has Who asked each time that something is judged, where what it answers hangs on
	// more than the config.
	ReloadActor bool
	// Shared says that who asks shows it to others: access.Viewer.
	Shared bool
	// Bounds on the files in it and on their bytes, 0 for none.
	MaxFiles, MaxBytes int64
}

// Archive is a walk over files and folders with all that lies below, in pages: memory does not grow
// with their number, and between two calls nothing in the database is held. Not for concurrent use.
//
// Everything is judged when its turn comes, a folder again for each page of it: a file is in the
// archive when it shows and may be downloaded by then, a folder when it may be listed and no
// password that was not given lies on it. What may not be had, what has gone and what has left the
// folder that was asked for is left out without a word. Mounts below count as in listings.
type Archive struct {
	tree     *Tree
	query    ArchiveQuery
	selected []candidate // what was asked for and is the caller's to have
	title    string

	measured bool
	walk     archiveWalk
}

// ArchiveEntry is a file or a folder in an archive.
type ArchiveEntry struct {
	Name     string // the path in the archive: segments with slashes between them
	Modified time.Time
	// Body is the content of a file, nil for a folder. Reading ends with an error unless it was, to
	// the last byte, what had been stored; it is to be closed.
	Body io.ReadCloser
}

// Archive begins an archive. A folder that is asked for alone gives what is in it; of several each
// lies under its own name, with a number where two have the same. Fault: NotFound when nothing is
// left; and those of Who.
func (t *Tree) Archive(ctx context.Context, q ArchiveQuery) (*Archive, error) {
	a := &Archive{tree: t, query: q}
	a.walk = archiveWalk{Archive: a}
	names := map[string]bool{}
	for _, id := range q.IDs {
		top, found, err := a.walk.judge(ctx, id)
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
		return nil, fault.New(fault.NotFound, "There is nothing here that you may download.")
	case 1:
		a.title = a.selected[0].name
	}
	if len(q.IDs) == 1 && a.selected[0].folder {
		a.selected[0].name = ""
	}
	a.walk.pending = a.selected
	return a, nil
}

// Title is the name of the only file or folder in it, "" where there are several.
func (a *Archive) Title() string { return a.title }

// Next returns the next entry; there is none after the last. Faults: TooLarge when it is more
// than was asked for at most, as a rule before the first entry; Unavailable when a store
// fails; those of Who.
func (a *Archive) Next(ctx context.Context) (e ArchiveEntry, there bool, err error) {
	if !a.measured && (a.query.MaxFiles > 0 || a.query.MaxBytes > 0) {
		dry := archiveWalk{Archive: a, pending: a.selected, countOnly: true}
		for there = true; there; {
			if _, there, err = dry.next(ctx); err != nil {
				return ArchiveEntry{}, false, err
			}
		}
	}
	a.measured = true
	return a.walk.next(ctx)
}

// archiveWalk is one way through an archive; dry for one that only counts, and opens nothing.
type archiveWalk struct {
	*Archive
	countOnly bool
	pending   []candidate     // of what was asked for
	topID     string          // id of the one that the walk is in
	folders   []*folderCursor // from there down
	viewer    *entryViewer    // of the actor, by the config version that was judged by last
	files     int64
	bytes     int64
}

// nextEntry returns the next entry. That there is none is no error, so that no end of a stream is
// ever taken for the end of the archive.
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

// nextCandidate takes what comes next out of the folder that the walk is in, or of
// what was asked for.
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

// descend goes on in a folder, if that still shows; the entry is its own, which a folder that was
// asked for alone does not have.
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

// mustUpload judges a file and opens it.
func (w *archiveWalk) file(ctx context.Context, c candidate) (ArchiveEntry, bool, error) {
	if w.countOnly {
		return ArchiveEntry{}, true, w.count(c.size)
	}
	refused := ""
	for {
		content, sum, err := w.content(ctx, c)
		if err != nil || content.Open == nil {
			return ArchiveEntry{}, false, err
		}
		object, err := content.Open(ctx)
		// other content has come in its place, or the file has gone
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

// entrySelect judges a file; there is nothing to open when it is not the caller's to have now.
func (w *archiveWalk) content(ctx context.Context, c candidate) (Content, string, error) {
	f, err := w.tree.FindID(ctx, c.id)
	if err != nil || !f.node.exists() || !f.node.within(w.topID) {
		return Content{}, "", err
	}
	e, err := w.viewerIn(ctx, f.rules)
	if err != nil {
		return Content{}, "", err
	}
	if c.id != w.topID && !e.Shows(f.node.facts(e.Actor), false) { // else whoever asked for it has its name
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

// countRows adds a file to what is in the archive. Fault: TooLarge.
func (w *archiveWalk) count(size int64) error {
	w.files++
	w.bytes += size
	switch {
	case w.query.MaxFiles > 0 && w.files > w.query.MaxFiles:
		return fault.Newf(fault.TooLarge, "An archive holds at most %d files here.", w.query.MaxFiles)
	case w.query.MaxBytes > 0 && w.bytes > w.query.MaxBytes:
		return fault.Newf(fault.TooLarge, "An archive holds at most %d bytes here.", w.query.MaxBytes)
	}
	return nil
}

// viewerIn returns the actor's eye under a view.
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

// readAsViewer is Tree.ask, with the actor's eye under the view of the answer.
func (w *archiveWalk) readAsViewer(ctx context.Context, question versionedRead) (*entryViewer, error) {
	v, err := w.tree.readConsistent(ctx, question)
	if err != nil {
		return nil, err
	}
	return w.viewerIn(ctx, v)
}

// mayEnter reports whether a folder is in the archive: it may be listed, and no password bars
// the bytes in it.
func (e *entryViewer) mayEnter(facts access.Target) bool {
	return e.DecideListing(facts) == access.Allowed && !e.NeedsPasswordToDownload(facts.Password)
}

// judge judges one of what was asked for, before the walk.
func (w *archiveWalk) judge(ctx context.Context, id string) (c candidate, found bool, err error) {
	var n node
	e, err := w.readAsViewer(ctx, func(v *ruleset) (version int64, err error) {
		n, version, err = v.findID(w.tree.DB.Read(ctx), id)
		return version, err
	})
	if err != nil || !n.exists() {
		return candidate{}, false, err
	}
	facts := n.facts(e.Actor)
	if n.folder {
		found = e.mayEnter(facts)
	} else {
		found = e.policy.Decide(e.Actor, facts, access.Download).Outcome == access.Allowed
	}
	return candidate{id: id, name: archiveName(&n), folder: n.folder, size: n.size}, found, nil
}

// archiveName is what an entry that was asked for is called; the root of the tree has no name of
// its own, but its mount does.
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
