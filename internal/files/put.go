package files

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
	"larder/internal/object"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// StoredObject is content that lies durable in a store.
type StoredObject struct {
	Key  blob.Key
	Size int64 // bytes
	// hexadecimal, "" when the service has not hashed the bytes itself: then a job of the type
	// checksum fills it in
	SHA256   string
	ETag     string // the store's
	MimeType string
}

// Put makes the file inside tx: it is judged again where its folder is by now, missing folders are
// made, the conflict is settled, the quota is charged (the caller has released its reservation in
// the same tx), s.Key leaves the garbage list, where it must be since before its bytes were stored
// (else they could be anybody's to delete), and a replaced object's key enters it. Call it before
// anything else in tx that locks rows. Faults: those of Place, Conflict when the folder is gone or
// the collector has taken s.Key already, QuotaExceeded. It may ask for a new transaction
// (db.Again): return its error as it is, or wrapped.
func (t *Tree) Put(ctx context.Context, tx *db.Tx, a access.Actor, p Destination, s StoredObject) (Entry, error) {
	if err := tx.LockTree(false); err != nil {
		return Entry{}, fmt.Errorf("lock the tree: %w", err)
	}
	if err := t.checkActive(tx, a); err != nil {
		return Entry{}, err
	}
	var n node
	v, err := t.readConsistentTx(func(v *ruleset) (version int64, err error) {
		n, version, err = v.destinationFolder(tx, p)
		return version, err
	})
	if err != nil {
		return Entry{}, err
	}
	if err := t.checkProviderExists(tx, p, n.mount.ProviderID); err != nil {
		return Entry{}, err
	}
	if err := object.Undiscard(tx, p.ProviderID, s.Key); err != nil {
		return Entry{}, err
	}
	id, err := t.Objects.Insert(tx, object.Record{Location: object.Location{Provider: p.ProviderID, Key: s.Key},
		Size: s.Size, SHA256: s.SHA256, ETag: s.ETag})
	if err != nil {
		return Entry{}, err
	}
	if s.SHA256 == "" {
		err := job.Insert(tx, job.Spec{ID: t.IDs.UUID(), Type: object.ChecksumJob, Payload: id, TotalBytes: s.Size,
			CreatedAt: t.nowMs()})
		if err != nil {
			return Entry{}, err
		}
	}
	w := putOperation{Tree: t, tx: tx, rules: v, actor: a, dest: p, stored: s, object: id}
	return w.putInto(&n)
}

// putOperation is one call of Put.
type putOperation struct {
	*Tree
	tx     *db.Tx
	rules  *ruleset
	actor  access.Actor
	dest   Destination
	stored StoredObject
	object string // the new object's id
}

// maxTries bounds how often a change is tried again after another transaction was faster; each time
// that other one has succeeded.
const maxTries = 20

// putInto puts the file into n, or into the folders that are missing below it.
func (w *putOperation) putInto(n *node) (Entry, error) {
	for range maxTries {
		dir, err := n.requestedPath().Append() // the folder may have moved to where the path is too long
		if err != nil {
			return Entry{}, err
		}
		if w.rules.covered(n, dir) { // by a mount that has come to lie on a folder that is missing
			return Entry{}, fault.New(fault.Conflict,
				"The folder that the file was meant for lies in another mount now.")
		}
		path, err := checkedNewPath(w.actor, dir, w.dest.Name)
		if err != nil {
			return Entry{}, err
		}
		var there row
		if len(n.missing) == 0 {
			if there, err = childNamed(w.tx, n.id, w.dest.Name); err != nil {
				return Entry{}, err
			}
		}
		if err := w.rules.judgeDestination(w.actor, n, path, &there, w.dest.Conflict); err != nil {
			return Entry{}, err
		}
		if err := w.checkPrecondition(&there); err != nil {
			return Entry{}, err
		}
		if err := w.checkUnlocked(w.tx, w.actor, w.changedTrail(n, &there)); err != nil {
			return Entry{}, err
		}
		if err := w.makeMissingFolders(n); err != nil {
			return Entry{}, err
		}
		name := w.dest.Name
		switch {
		case there.id != "" && !there.folder && w.dest.Conflict == Replace:
			if e, done, err := w.replace(n, there); done || err != nil {
				return e, err
			}
			continue
		case there.id != "" || w.rules.occupied(n, path):
			if name, err = w.freeNumberedName(n); err != nil {
				return Entry{}, err
			}
		}
		if e, done, err := w.insert(n, name); done || err != nil {
			return e, err
		}
	}
	return Entry{}, errors.New("the names in this folder change too often to put a file there")
}

// checkPrecondition asks whoever puts the file whether what is there is what
// they expect. Fault: Precondition.
func (w *putOperation) checkPrecondition(there *row) error {
	if w.dest.Precondition == nil {
		return nil
	}
	return w.dest.Precondition(etag(there.content))
}

// changedTrail is the way to what changes: the file whose content is replaced, or else the folder
// that gets one more.
func (w *putOperation) changedTrail(n *node, there *row) []trailEntry {
	if there.id != "" && !there.folder && w.dest.Conflict == Replace {
		return append(slices.Clip(n.trail), trailEntry{id: there.id})
	}
	return n.trail
}

// countFolders makes what is missing below n, and moves n down to the last of it.
func (w *putOperation) makeMissingFolders(n *node) error {
	for len(n.missing) > 0 {
		name := n.missing[0]
		made := row{id: w.IDs.UUID(), parent: n.id, name: string(name), folder: true, owner: w.actor.UserID}
		if err := quota.ChargeFolders(w.tx, made.owner, 1); err != nil {
			return err
		}
		done, err := w.insertEntry(w.tx, &made)
		if err != nil {
			return err
		}
		if !done { // somebody else was faster
			if err := quota.CreditFolders(w.tx, made.owner, 1); err != nil {
				return err
			}
			if made, err = childNamed(w.tx, n.id, name); err != nil {
				return err
			}
			if !made.folder {
				return fault.New(fault.NotFound, "A file lies where a folder is meant.")
			}
		}
		n.row, n.path, n.missing = made, n.path.Child(name), n.missing[1:]
		n.trail = append(n.trail[:len(n.trail):len(n.trail)],
			trailEntry{id: made.id, owner: made.owner, password: made.password})
	}
	return nil
}

// insert makes the new file, unless its name has been taken meanwhile.
func (w *putOperation) insert(n *node, name vpath.Name) (e Entry, done bool, err error) {
	target := n.newTarget(w.actor, n.path.Child(name))
	if name != w.dest.Name { // the name with a number may be denied where the other was not
		if err := w.rules.allow(w.actor, target, access.Write); err != nil {
			return Entry{}, false, err
		}
	}
	r := row{id: w.IDs.UUID(), parent: n.id, name: string(name), size: w.stored.Size, mimeType: w.stored.MimeType,
		owner: w.actor.UserID, object: w.object, content: w.object}
	if done, err := w.insertEntry(w.tx, &r); !done || err != nil {
		return Entry{}, false, err
	}
	if err := quota.Charge(w.tx, r.owner, r.size, 1); err != nil {
		return Entry{}, false, err
	}
	w.Objects.NoteGrowth(w.tx, r.owner, r.size)
	return w.rules.entry(w.actor, &r, childTarget(n.facts(w.actor), w.actor, &r)), true, nil
}

// replace gives the file there the new content, unless it has changed meanwhile. Its
// owner pays the difference.
func (w *putOperation) replace(n *node, there row) (e Entry, done bool, err error) {
	if there.owner != w.actor.UserID { // else the row of the quota is locked already
		if claimed, err := w.lockOwner(w.tx, &there); err != nil || !claimed {
			return Entry{}, false, err
		}
	}
	r := there
	r.size, r.mimeType, r.object, r.content, r.updated = w.stored.Size, w.stored.MimeType, w.object, w.object, w.nowMs()
	changed, err := updateContent(w.tx, &r, &there)
	if err != nil {
		return Entry{}, false, err
	}
	if !changed {
		return Entry{}, false, nil
	}
	if err := w.Objects.Release(w.tx, there.object, there.owner); err != nil {
		return Entry{}, false, err
	}
	if err := quota.Charge(w.tx, r.owner, r.size-there.size, 0); err != nil {
		return Entry{}, false, err
	}
	w.tx.AfterCommit(func() { crash.Point("replace.committed") })
	return w.rules.entry(w.actor, &r, childTarget(n.facts(w.actor), w.actor, &r)), true, nil
}

// freeNumberedName returns a name with a number that nothing has: the first that doubling finds
// free, then the lowest that halving back finds. With a gap in the numbers this need not be the
// lowest of all, but it stays cheap among thousands of files of one name.
func (w *putOperation) freeNumberedName(n *node) (vpath.Name, error) {
	if _, err := lockEntry(w.tx, n.id); err != nil { // or many at once would run after the same number again and again
		return "", err
	}
	taken := func(number int) (bool, error) {
		name := numbered(w.dest.Name, number)
		r, err := childNamed(w.tx, n.id, name)
		return r.id != "" || w.rules.occupied(n, n.path.Child(name)), err
	}
	low, high := 0, 1 // low is taken
	for {
		used, err := taken(high)
		if err != nil {
			return "", err
		}
		if !used {
			break
		}
		low, high = high, 2*high
	}
	for high-low > 1 {
		middle := (low + high) / 2
		used, err := taken(middle)
		if err != nil {
			return "", err
		}
		if used {
			low = middle
		} else {
			high = middle
		}
	}
	return numbered(w.dest.Name, high), nil
}

// freeNumberedName puts a number before the extension of a name: `cat (1).jpg`. A name that grows
// too long is shortened before it.
func numbered(name vpath.Name, number int) vpath.Name {
	ext := path.Ext(string(name))
	stem := strings.TrimSuffix(string(name), ext)
	if stem == "" || utf8.RuneCountInString(ext) > 32 { // `.profile` has no extension, nor has a sentence with a dot
		stem, ext = string(name), ""
	}
	suffix := fmt.Sprintf(" (%d)", number)
	runes := []rune(stem)
	if room := vpath.MaxNameRunes - utf8.RuneCountInString(suffix+ext); len(runes) > room {
		stem = string(runes[:room])
	}
	out, err := vpath.ParseName(strings.TrimRight(stem, " ") + suffix + ext)
	if err != nil { // cutting a name can leave what is not a name any more
		return vpath.Name("file" + suffix)
	}
	return out
}
