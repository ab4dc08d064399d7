package files

import (
	"context"
	"errors"
	"mime"
	"path"
	"strings"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// linkLength is the length of the id of a permanent link: 22 of 62 characters, 131 bits.
const linkLength = 22

// Link is a permanent link to a file.
type Link struct {
	ID        string
	Ext       string // without its dot; for display only, never changed
	CreatedAt int64  // milliseconds
}

// Link returns the permanent link of a file and makes it when there is none. Faults: NotFound,
// Invalid for a folder, Forbidden and PasswordRequired without the permissions to share and to
// download.
func (t *Tree) Link(ctx context.Context, a access.Actor, id string) (Link, error) {
	var link Link
	err := t.writeLocked(ctx, false, func(tx *db.Tx) error {
		for range maxTries {
			n, err := t.linkable(tx, a, id)
			if err != nil {
				return err
			}
			// a handover may have deleted the link
			if claimed, err := t.lockOwner(tx, &n.row); err != nil {
				return err
			} else if !claimed {
				continue
			}
			if there, err := lockEntry(tx, id); err != nil {
				return err
			} else if !there { // deleted meanwhile, together with its link
				return noEntry()
			}
			link, err = t.insertLink(tx, &n.row)
			return err
		}
		return errors.New("the file changes too often to make a link of it")
	})
	return link, err
}

// linkable looks up a file and decides whether the actor may make a permanent link to it: they need
// the permissions to share and to download. Faults: as of Link.
func (t *Tree) linkable(tx *db.Tx, a access.Actor, id string) (node, error) {
	n, v, err := t.lookUpTx(tx, id)
	if err != nil {
		return node{}, err
	}
	for _, p := range []access.Permission{access.Share, access.Download} {
		if err := v.allow(a, n.existingTarget(a), p); err != nil {
			return node{}, err
		}
	}
	if n.folder {
		return node{}, fault.New(fault.Invalid, "Only a file can have a permanent link.")
	}
	return n, nil
}

// LinkTx returns the permanent link of a file, and makes it where there is none, inside tx and
// without checking permissions. Uploads whose key asks for a link call it right after they have
// stored the file. Fault: NotFound.
func (t *Tree) LinkTx(tx *db.Tx, entryID string) (Link, error) {
	n, _, err := t.lookUpTx(tx, entryID)
	if err != nil {
		return Link{}, err
	}
	return t.insertLink(tx, &n.row)
}

// lookUpTx looks up an entry by its id inside a transaction, and returns it with the rules it was
// read under. It checks no permission. It may return a db.RetryError, which runs the transaction
// again once the present rules are loaded. Fault: NotFound.
func (t *Tree) lookUpTx(tx *db.Tx, id string) (n node, v *ruleset, err error) {
	v, err = t.readConsistentTx(func(v *ruleset) (version int64, err error) {
		n, version, err = v.findID(tx, id)
		return version, err
	})
	if err == nil && !n.exists() {
		err = noEntry()
	}
	return n, v, err
}

// Unlink revokes the permanent link to a file, if there is one; its address never works again. It
// is for actors who may share the file, and for administrators. Faults: NotFound, Forbidden,
// PasswordRequired.
func (t *Tree) Unlink(ctx context.Context, a access.Actor, id string) error {
	return t.writeLocked(ctx, false, func(tx *db.Tx) error {
		n, v, err := t.lookUpTx(tx, id)
		if err != nil {
			return err
		}
		if a.Role != access.Admin || a.Key != nil {
			if err := v.allow(a, n.existingTarget(a), access.Share); err != nil {
				return err
			}
		}
		return deleteLink(tx, id)
	})
}

// PublicAccess says where a file can be read without signing in; both fields are nil when nowhere.
type PublicAccess struct {
	Link *Link       // permanent link, if it works
	Path *vpath.Path // else the path, if the file is public
}

// PublicAccess returns where a visitor can read a file at present without signing in: by its
// permanent link or its path. It checks no permission of a caller. Fault: NotFound, also for a
// folder.
func (t *Tree) PublicAccess(ctx context.Context, id string) (PublicAccess, error) {
	n, v, err := t.lookUp(ctx, id)
	if err != nil {
		return PublicAccess{}, err
	}
	if n.folder {
		return PublicAccess{}, noEntry()
	}
	link, found, err := linkOf(t.DB.Read(ctx), id)
	if err != nil {
		return PublicAccess{}, err
	}
	if found {
		open, err := t.linkOpen(ctx, v, &n)
		if err != nil {
			return PublicAccess{}, err
		}
		if open {
			return PublicAccess{Link: &link}, nil
		}
	}
	if v.public(n.existingTarget(access.Actor{})) {
		return PublicAccess{Path: &n.path}, nil
	}
	return PublicAccess{}, nil
}

// linkOpen reports whether the permanent link to the file n works now: no password is on the file
// or above, no rule asks a guest for a password or an address, guest access is on, and the owner,
// or the successor during a handover, is active and may share and download the file.
func (t *Tree) linkOpen(ctx context.Context, v *ruleset, n *node) (bool, error) {
	if !n.exists() || n.folder {
		return false, nil
	}
	target := n.existingTarget(access.Actor{})
	if target.Password != nil || !v.policy.LinkAllowed(target) {
		return false, nil
	}
	owner, active, err := t.Owner(ctx, v.version, n.owner)
	if err == nil && !active { // the owner may be deleted and the file about to be handed over
		var heir Successor
		if heir, err = t.successorOf(t.DB.Read(ctx), n.owner); err == nil && heir.ID != "" && !heir.DropLinks {
			owner, active, err = t.Owner(ctx, v.version, heir.ID)
		}
	}
	if err != nil || !active {
		return false, err
	}
	own := n.existingTarget(owner)
	own.OwnerID = owner.UserID // as if the successor owned it already
	allowed := v.policy.Allowed(owner, own)
	return allowed.Has(access.Share) && allowed.Has(access.Download), nil
}

// noLink is the fault NotFound for a permanent link that does not exist or does not work now.
func noLink() error { return fault.New(fault.NotFound, "There is no such link.") }

// usualExtension is the extension for types that have several, so that the choice does not depend
// on the machine.
var usualExtension = map[string]string{
	"application/gzip": "gz", "application/json": "json", "application/pdf": "pdf", "application/zip": "zip",
	"audio/flac": "flac",
	"audio/mpeg": "mp3", "audio/ogg": "ogg", "audio/wav": "wav", "image/avif": "avif", "image/bmp": "bmp",
	"image/gif":  "gif",
	"image/heic": "heic", "image/jpeg": "jpg", "image/jxl": "jxl", "image/png": "png", "image/svg+xml": "svg",
	"image/tiff": "tiff",
	"image/webp": "webp", "image/x-icon": "ico", "text/csv": "csv", "text/html": "html", "text/markdown": "md",
	"text/plain": "txt",
	"video/mp4":  "mp4", "video/quicktime": "mov", "video/webm": "webm",
}

// linkExt returns the extension at the end of a permanent link, without its dot: that of the file's
// name in lower case, else the usual one of the MIME type, else bin.
func linkExt(name, mimeType string) string {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	if len(ext) >= 1 && len(ext) <= 10 && strings.Trim(ext, "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
		return ext
	}
	essence, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return "bin"
	}
	if ext := usualExtension[essence]; ext != "" {
		return ext
	}
	return "bin"
}
