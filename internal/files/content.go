package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/vpath"
)

// Content is a file that is about to be served. It is not opened yet.
type Content struct {
	Entry    Entry  // without Permissions
	Public   bool   // anybody may have it, so every cache may keep it
	ID       string // of the content: it changes with the content and stays when the content is moved
	ETag     string // strong, quoted, derived from ID
	Modified time.Time

	*ContentHandle
}

// ContentHandle opens a content that the caller may download.
type ContentHandle struct {
	tree          *Tree
	version       int64 // config version at which it was found
	provider      string
	key           blob.Key
	size          int64 // bytes
	guestReadable bool  // a guest may download it by its path
	damaged       bool  // the object is marked as damaged, so it is never opened
}

// FoundEntry is an entry that was looked up by path, id or permanent link, before the actor is
// known. The entry cache keeps FoundEntries, and a request decides with ContentFor.
type FoundEntry struct {
	tree   *Tree
	rules  *ruleset
	node   node
	byPath bool
	// prepared is the content of a file in the entry cache, made once for all requests; else nil
	prepared *Content
}

// FindPath looks up a path, in the entry cache first. A path without an entry is no error:
// ContentFor reports it to an actor who may know. It checks no permission.
func (t *Tree) FindPath(ctx context.Context, p vpath.Path) (*FoundEntry, error) {
	return t.findEntry(ctx, entryKey{byPathKey, p.String()},
		func(v *ruleset, q db.Querier) (node, int64, error) { return v.find(q, p) })
}

// FindID looks up an entry by its id, in the entry cache first. An unknown id is no error:
// ContentFor reports it. It checks no permission.
func (t *Tree) FindID(ctx context.Context, id string) (*FoundEntry, error) {
	return t.findEntry(ctx, entryKey{byIDKey, id},
		func(v *ruleset, q db.Querier) (node, int64, error) { return v.findID(q, id) })
}

// findEntry returns the answer of the entry cache to key, or else looks it up with ask under the
// rules of the present config version. ask also returns the config version that it read.
func (t *Tree) findEntry(ctx context.Context, key entryKey,
	ask func(v *ruleset, q db.Querier) (n node, version int64, err error),
) (*FoundEntry, error) {
	return t.EntryCache.find(key, func() (*FoundEntry, error) {
		f := &FoundEntry{tree: t, byPath: key.by == byPathKey}
		var err error
		f.rules, err = t.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
			f.node, version, err = ask(v, t.DB.Read(ctx))
			return version, err
		})
		return f, err
	})
}

// Version is the config version of the rules by which ContentFor decides. The caller loads the
// actor at the same version. It is 0 when no version was read because there is no such id.
func (f *FoundEntry) Version() int64 {
	if !f.byPath && f.node.id == "" {
		return 0
	}
	return f.rules.version
}

// Path is the path of the entry, for the access log only: no permission is checked. exists is false
// when there is no entry.
func (f *FoundEntry) Path() (p vpath.Path, exists bool) { return f.node.path, f.node.exists() }

// IsFile reports whether the entry exists and is a file.
func (f *FoundEntry) IsFile() bool { return f.node.exists() && !f.node.folder }

// PathOf returns the path of an entry, for the access log only: no permission is checked. Fault:
// NotFound.
func (t *Tree) PathOf(ctx context.Context, id string) (vpath.Path, error) {
	n, _, err := t.lookUp(ctx, id)
	return n.path, err
}

// ContentFor decides whether the actor may download the file. Faults: NotFound (no such file, a
// folder), Forbidden, PasswordRequired. By path also NotFound where no mount covers it, and
// Unauthorized for a visitor at every path that is not public, whether or not it exists.
func (f *FoundEntry) ContentFor(a access.Actor) (Content, error) {
	if f.byPath {
		return f.contentAtPath(a)
	}
	if !f.node.exists() {
		return Content{}, noEntry()
	}
	target := f.node.existingTarget(a)
	if err := f.rules.allow(a, target, access.Download); err != nil {
		return Content{}, err
	}
	if f.node.folder {
		return Content{}, fault.New(fault.NotFound, "A folder cannot be downloaded as a file.")
	}
	return f.content(), nil
}

// content returns the content of the file, which the caller has authorized.
func (f *FoundEntry) content() Content {
	if f.prepared != nil {
		return *f.prepared
	}
	return f.tree.content(f.rules, &f.node)
}

// IsFolder reports whether the entry is a folder.
func (f *FoundEntry) IsFolder() bool { return f.node.isFolder() }

// AuthorizeFolder decides whether the actor may download the folder as an archive, with those files
// in it that they may download. Faults: NotFound (no such folder), Forbidden, PasswordRequired.
func (f *FoundEntry) AuthorizeFolder(a access.Actor) error {
	if !f.node.isFolder() {
		return noEntry()
	}
	return f.rules.allow(a, f.node.existingTarget(a), access.Download)
}

// contentAtPath decides whether the actor may download the file that was looked up by its path, and
// returns its content, unopened. Faults: NotFound (no mount, no file), Forbidden, PasswordRequired;
// a visitor gets Unauthorized instead of Forbidden, so that they can sign in.
func (f *FoundEntry) contentAtPath(a access.Actor) (Content, error) {
	n, v := &f.node, f.rules
	if !n.mounted() {
		return Content{}, noMount()
	}
	target := n.target(a)
	if err := v.allow(a, target, access.Download); err != nil {
		if a.UserID == "" && fault.Is(err, fault.Forbidden) {
			return Content{}, signIn()
		}
		return Content{}, err
	}
	if !n.exists() || n.folder {
		return Content{}, noEntry()
	}
	return f.content(), nil
}

// ByID returns the content of a file by its id, to be downloaded. Faults: NotFound (also for a
// folder), Forbidden, PasswordRequired.
func (t *Tree) ByID(ctx context.Context, a access.Actor, id string) (Content, error) {
	f, err := t.FindID(ctx, id)
	if err != nil {
		return Content{}, err
	}
	return f.ContentFor(a)
}

// lookUp looks up an entry by its id outside of a transaction, without the cache, and returns it
// with the rules of the config version that it was read at. It checks no permission. Fault:
// NotFound.
func (t *Tree) lookUp(ctx context.Context, id string) (n node, v *ruleset, err error) {
	v, err = t.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
		n, version, err = v.findID(t.DB.Read(ctx), id)
		return version, err
	})
	if err == nil && !n.exists() {
		err = noEntry()
	}
	return n, v, err
}

// ByLink returns the content of a file by its permanent link. It is NotFound when there is no such
// link, when a password is on the file or above it, when a rule would ask a guest for a password
// or an address, when there is no guest access, or when the owner is not active or may not share
// and download the file. Every call checks these conditions, so the link works again when the
// obstacle is gone.
func (t *Tree) ByLink(ctx context.Context, linkID string) (Content, error) {
	if len(linkID) != linkLength {
		return Content{}, noLink()
	}
	f, err := t.findEntry(ctx, entryKey{byLinkKey, linkID},
		func(v *ruleset, q db.Querier) (node, int64, error) { return v.findByLink(q, linkID) })
	if err != nil {
		return Content{}, err
	}
	open, err := t.linkOpen(ctx, f.rules, &f.node)
	if err != nil {
		return Content{}, err
	}
	if !open {
		return Content{}, noLink()
	}
	c := f.content()
	c.Public, c.Entry.Public = true, true
	return c, nil
}

// etag returns the ETag for a content id: the id in quotes, and "" for "", as folders have it.
func etag(content string) string {
	if content == "" {
		return ""
	}
	return `"` + content + `"`
}

// content returns the file n, which the caller has authorized, as Content to be served.
func (t *Tree) content(v *ruleset, n *node) Content {
	target := n.existingTarget(access.Actor{Role: access.Guest})
	at := t.handleOf(v, n, v.public(target))
	e := plainEntry(&n.row, target)
	e.Public = at.guestReadable
	return Content{Entry: e, Public: at.guestReadable, ID: n.content, ETag: e.ETag,
		Modified: time.UnixMilli(n.updated), ContentHandle: at}
}

// handleOf returns the handle of the content of the file n, at the config version of v.
// guestReadable says that a guest may download the file by its path.
func (t *Tree) handleOf(v *ruleset, n *node, guestReadable bool) *ContentHandle {
	return &ContentHandle{tree: t, version: v.version, provider: n.provider, key: n.key, size: n.size,
		guestReadable: guestReadable, damaged: n.damaged}
}

// Open opens the whole content. Faults: Damaged (the object is marked so); Unavailable, also for an
// object that the store has lost; never NotFound.
func (h *ContentHandle) Open(ctx context.Context) (blob.Object, error) {
	store, err := h.store(ctx)
	if err != nil {
		return nil, err
	}
	object, err := store.Open(ctx, h.key)
	return object, h.storeFault(err)
}

// OpenRange opens the content for reading length bytes from the offset first (bytes); the returned
// object is positioned there. Faults: Damaged; Unavailable, also when the store has the content in
// another size.
func (h *ContentHandle) OpenRange(ctx context.Context, first, length int64) (blob.Object, error) {
	store, err := h.store(ctx)
	if err != nil {
		return nil, err
	}
	object, err := h.openPart(ctx, store, first, length)
	if err != nil {
		return nil, h.storeFault(err)
	}
	if object.Size() != h.size {
		err = h.sizeMismatch(object.Size())
	} else {
		_, err = object.Seek(first, io.SeekStart)
	}
	if err != nil {
		object.Close() // opened for reading: nothing is lost
		return nil, err
	}
	return object, nil
}

// openPart opens the content for reading length bytes from the offset first (bytes): from memory if
// the whole content is small enough for the cache, else only that part from the store where it
// supports ranges. The caller seeks to first. It returns the errors of the store as they are.
func (h *ContentHandle) openPart(ctx context.Context, store blob.Store, first, length int64) (blob.Object, error) {
	if h.tree.Objects.Caches(h.size) {
		return h.tree.Objects.OpenCached(ctx, store, object.Location{Provider: h.provider, Key: h.key}, h.size)
	}
	if ranger, ok := store.(blob.RangeOpener); ok && length > 0 && length < h.size {
		return ranger.OpenRange(ctx, h.key, h.size, first, length)
	}
	return store.Open(ctx, h.key)
}

// Check checks that the store has the content in the recorded size, without fetching it. Faults:
// Damaged, Unavailable.
func (h *ContentHandle) Check(ctx context.Context) error {
	store, err := h.store(ctx)
	if err != nil {
		return err
	}
	info, err := store.Stat(ctx, h.key)
	if err == nil && info.Size != h.size {
		err = h.sizeMismatch(info.Size)
	}
	return h.storeFault(err)
}

// store returns the store that has the content. Faults: Damaged, Unavailable.
func (h *ContentHandle) store(ctx context.Context) (blob.Store, error) {
	if err := h.checkUndamaged(); err != nil {
		return nil, err
	}
	return h.tree.Providers.StoreAt(ctx, h.version, h.provider)
}

// checkUndamaged refuses an object that is marked as damaged. Fault: Damaged.
func (h *ContentHandle) checkUndamaged() error {
	if !h.damaged {
		return nil
	}
	return object.Damaged(fmt.Errorf("object %s of provider %s is marked as damaged: heal it from a backup by "+
		"`larder scrub --now --from BACKUP`, or replace its file", h.key, h.provider))
}

// storeFault translates an error of the store to a fault, and nil to nil. A missing object becomes
// Unavailable, not NotFound: the file exists, so the store has lost its object.
func (h *ContentHandle) storeFault(err error) error {
	if errors.Is(err, blob.ErrNotFound) {
		return unreadable(fmt.Errorf("open object %s of provider %s: %w", h.key, h.provider, err))
	}
	return provider.Fault(err)
}

// sizeMismatch is the fault Unavailable for an object of size bytes in the store, which differs
// from the recorded size.
func (h *ContentHandle) sizeMismatch(size int64) error {
	return unreadable(fmt.Errorf("object %s of provider %s has %d bytes instead of %d", h.key, h.provider, size,
		h.size))
}

// unreadable is the fault Unavailable for content that the store does not give back as it was
// stored; cause goes to the log.
func unreadable(cause error) error {
	return fault.New(fault.Unavailable, "The content of this file cannot be read.").WithCause(cause)
}
