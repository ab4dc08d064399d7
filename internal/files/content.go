package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/provider"
	"larder/internal/vpath"
)

// Content is a file about to be served; nothing is opened yet.
type Content struct {
	Entry    Entry  // without Permissions
	Public   bool   // anybody may have it, so that anybody may cache it
	ID       string // of the content: another one for other content, the same wherever it lies
	ETag     string // strong, quoted, made of ID
	Modified time.Time
	// Open opens the content. Fault: Unavailable; that a store fails or has lost an object is never told as NotFound.
	Open func(ctx context.Context) (blob.Object, error)

	origin
}

// origin is where a content lies.
type origin struct {
	tree     *Tree
	version  int64 // the config version by which it was found
	provider string
	key      blob.Key
	size     int64 // bytes
	free     bool  // anybody may have it from anywhere, by its path
}

// Found is what one query tells about a file, before it is known who asks for it.
type Found struct {
	tree   *Tree
	view   *view
	node   node
	byPath bool
}

// FindPath looks for what lies at a path.
func (t *Tree) FindPath(ctx context.Context, p vpath.Path) (*Found, error) {
	f := &Found{tree: t, byPath: true}
	var err error
	f.view, err = t.ask(ctx, func(v *view) (version int64, err error) {
		f.node, version, err = v.find(t.DB.Read(ctx), p)
		return version, err
	})
	return f, err
}

// FindID looks for an entry.
func (t *Tree) FindID(ctx context.Context, id string) (*Found, error) {
	f := &Found{tree: t}
	var err error
	f.view, err = t.ask(ctx, func(v *view) (version int64, err error) {
		f.node, version, err = v.findID(t.DB.Read(ctx), id)
		return version, err
	})
	return f, err
}

// Version is the config version that was read along, by which For decides; whoever asks is to be known by the same. It is 0 where none was read:
// there is no such id.
func (f *Found) Version() int64 {
	if !f.byPath && f.node.id == "" {
		return 0
	}
	return f.view.version
}

// Path is where the entry lies, for the access log and nobody else: it was not asked who may know. False when there is none.
func (f *Found) Path() (p vpath.Path, exists bool) { return f.node.path, f.node.exists() }

// PathOf is where an entry lies, for the access log and nobody else: it is not asked who may know. Fault: NotFound.
func (t *Tree) PathOf(ctx context.Context, id string) (vpath.Path, error) {
	n, _, err := t.lookUp(ctx, id)
	return n.path, err
}

// For decides whether the actor may download the file. Faults: NotFound (no such file, a folder), Forbidden, PasswordRequired; by path also
// NotFound under no mount, and Unauthorized for a visitor, whatever is not public, existing or not.
func (f *Found) For(a access.Actor) (Content, error) {
	if f.byPath {
		return f.atPath(a)
	}
	if !f.node.exists() {
		return Content{}, noEntry()
	}
	target := f.node.facts(a)
	if err := f.view.allow(a, target, access.Download); err != nil {
		return Content{}, err
	}
	if f.node.folder {
		return Content{}, fault.New(fault.NotFound, "A folder has no content of its own.")
	}
	return f.tree.content(f.view, &f.node, target, f.view.public(target)), nil
}

// Folder reports whether it is a folder.
func (f *Found) Folder() bool { return f.node.isFolder() }

// FolderFor decides whether the actor may download the folder, with what they may download of what is in it. Faults: NotFound (no such folder),
// Forbidden, PasswordRequired.
func (f *Found) FolderFor(a access.Actor) error {
	if !f.node.isFolder() {
		return noEntry()
	}
	return f.view.allow(a, f.node.facts(a), access.Download)
}

func (f *Found) atPath(a access.Actor) (Content, error) {
	n, v := &f.node, f.view
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
	return f.tree.content(v, n, target, v.public(target)), nil
}

// ByID finds a file by its id, to be downloaded. Faults: NotFound (also for a folder), Forbidden, PasswordRequired.
func (t *Tree) ByID(ctx context.Context, a access.Actor, id string) (Content, error) {
	f, err := t.FindID(ctx, id)
	if err != nil {
		return Content{}, err
	}
	return f.For(a)
}

// lookUp finds an entry by its id, outside of a transaction. Fault: NotFound.
func (t *Tree) lookUp(ctx context.Context, id string) (n node, v *view, err error) {
	v, err = t.ask(ctx, func(v *view) (version int64, err error) {
		n, version, err = v.findID(t.DB.Read(ctx), id)
		return version, err
	})
	if err == nil && !n.exists() {
		err = noEntry()
	}
	return n, v, err
}

// ByLink finds the file of a permanent link, for whoever holds it. Whatever is in the way is NotFound: no such link, a password on the file or
// above it, a rule that would ask a guest for a password or an address, no guest access, an owner who is not active or lacks the permission to
// share and download it. Each of them is asked anew, so that the link works again when the obstacle goes.
func (t *Tree) ByLink(ctx context.Context, linkID string) (Content, error) {
	if len(linkID) != linkLength {
		return Content{}, noLink()
	}
	var n node
	v, err := t.ask(ctx, func(v *view) (version int64, err error) {
		n, version, err = v.findLink(t.DB.Read(ctx), linkID)
		return version, err
	})
	if err != nil {
		return Content{}, err
	}
	open, err := t.linkOpen(ctx, v, &n)
	if err != nil {
		return Content{}, err
	}
	if !open {
		return Content{}, noLink()
	}
	return t.content(v, &n, n.facts(access.Actor{}), true), nil
}

// etag is what a content's ETag is, "" for none.
func etag(content string) string {
	if content == "" {
		return ""
	}
	return `"` + content + `"`
}

func (t *Tree) content(v *view, n *node, target access.Target, public bool) Content {
	e := plainEntry(&n.row, target)
	e.Public = public
	at := t.origin(v, n)
	return Content{
		Entry:    e,
		Public:   public,
		ID:       n.content,
		ETag:     etag(n.content),
		Modified: time.UnixMilli(n.updated),
		Open:     at.open,
		origin:   at,
	}
}

// origin is where the content of n lies.
func (t *Tree) origin(v *view, n *node) origin {
	return origin{
		tree: t, version: v.version, provider: n.provider, key: n.key, size: n.size,
		free: v.public(n.facts(access.Actor{Role: access.Guest})),
	}
}

func (o origin) open(ctx context.Context) (blob.Object, error) {
	store, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	object, err := store.Open(ctx, o.key)
	return object, o.lost(err)
}

// OpenRange is Open for a reader who wants length bytes from first on, and stands there. Fault: Unavailable, also when the store has the content in another size.
func (o origin) OpenRange(ctx context.Context, first, length int64) (blob.Object, error) {
	store, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	var object blob.Object
	if ranger, ok := store.(blob.Ranger); ok && length > 0 && length < o.size {
		object, err = ranger.OpenRange(ctx, o.key, o.size, first, length)
	} else {
		object, err = store.Open(ctx, o.key)
	}
	if err != nil {
		return nil, o.lost(err)
	}
	if object.Size() != o.size {
		err = o.otherwise(object.Size())
	} else {
		_, err = object.Seek(first, io.SeekStart)
	}
	if err != nil {
		object.Close() // opened to read: there is nothing to lose
		return nil, err
	}
	return object, nil
}

// Check reports whether the store has the content, without fetching it. Fault: Unavailable.
func (o origin) Check(ctx context.Context) error {
	store, err := o.store(ctx)
	if err != nil {
		return err
	}
	info, err := store.Stat(ctx, o.key)
	if err == nil && info.Size != o.size {
		err = o.otherwise(info.Size)
	}
	return o.lost(err)
}

func (o origin) store(ctx context.Context) (blob.Store, error) {
	return o.tree.Providers.StoreAt(ctx, o.version, o.provider)
}

// lost makes of an error of the store what is told: an object that is gone is the store's failure, not the file's absence.
func (o origin) lost(err error) error {
	if errors.Is(err, blob.ErrNotFound) {
		return unreadable(fmt.Errorf("open object %s of provider %s: %w", o.key, o.provider, err))
	}
	return provider.Fault(err)
}

func (o origin) otherwise(size int64) error {
	return unreadable(fmt.Errorf("object %s of provider %s has %d bytes instead of %d", o.key, o.provider, size, o.size))
}

func unreadable(cause error) error {
	return fault.New(fault.Unavailable, "The content of this file cannot be read.").Because(cause)
}
