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

// StoredObject is content that is durable in a store.
type StoredObject struct {
	Key  blob.Key
	Size int64 // bytes
	// SHA256 is hexadecimal; "" when the service has not hashed the bytes: a checksum job fills it
	// in.
	SHA256   string
	ETag     string // of the store
	MimeType string
}

// Put makes the file inside tx. It decides again by the present place of the folder, makes missing
// folders, settles the name conflict, and charges the quota; the caller has released its
// reservation in the same tx. It takes s.Key off the garbage list, and puts the key of a replaced
// object on it. s.Key must have been on the list since before its bytes were stored, or anybody
// could delete them. Call Put before anything else in tx that locks rows. Faults: those of
// ResolveDestination, Conflict when the folder is gone or the collector has claimed s.Key,
// QuotaExceeded. It may ask for a new transaction (db.RetryError): return its error as it is, or
// wrapped.
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

// maxTries bounds the attempts of a change when other transactions are faster; each time another
// one has succeeded.
const maxTries = 20

// putInto puts the file into the folder n, or into the missing folders below it, and settles a name
// conflict as the Destination says. It tries again when another transaction changes the names
// meanwhile, up to maxTries times. Faults: those of Put.
func (p *putOperation) putInto(n *node) (Entry, error) {
	for range maxTries {
		dir, err := n.requestedPath().Append() // the folder may have moved to where the path is too long
		if err != nil {
			return Entry{}, err
		}
		if p.rules.hiddenByMount(n.mount.ID, dir) { // by a mount that is on a missing folder by now
			return Entry{}, fault.New(fault.Conflict,
				"The target folder is in another mount now.")
		}
		path, err := checkedNewPath(p.actor, dir, p.dest.Name)
		if err != nil {
			return Entry{}, err
		}
		var there row
		if len(n.missing) == 0 {
			if there, err = childNamed(p.tx, n.id, p.dest.Name); err != nil {
				return Entry{}, err
			}
		}
		if err := p.rules.authorizeDestination(p.actor, n, path, &there, p.dest.Conflict); err != nil {
			return Entry{}, err
		}
		if err := p.checkPrecondition(&there); err != nil {
			return Entry{}, err
		}
		if err := p.checkUnlocked(p.tx, p.actor, p.changedTrail(n, &there)); err != nil {
			return Entry{}, err
		}
		if err := p.makeMissingFolders(n); err != nil {
			return Entry{}, err
		}
		name := p.dest.Name
		switch {
		case there.id != "" && !there.folder && p.dest.Conflict == Replace:
			if e, done, err := p.replace(n, there); done || err != nil {
				return e, err
			}
			continue
		case there.id != "" || p.rules.occupied(n, path):
			if name, err = p.freeNumberedName(n); err != nil {
				return Entry{}, err
			}
		}
		if e, done, err := p.insert(n, name); done || err != nil {
			return e, err
		}
	}
	return Entry{}, errors.New("the names in this folder change too often to put a file there")
}

// checkPrecondition asks the caller of Put whether the existing entry, by its ETag, is the one that
// they expect; there has no id for none. Fault: that of the precondition.
func (p *putOperation) checkPrecondition(there *row) error {
	if p.dest.Precondition == nil {
		return nil
	}
	return p.dest.Precondition(etag(there.content))
}

// changedTrail is the trail to the entry that the put changes, whose locks count: the file whose
// content is replaced, or else the folder n that gets a new member.
func (p *putOperation) changedTrail(n *node, there *row) []trailEntry {
	if there.id != "" && !there.folder && p.dest.Conflict == Replace {
		return append(slices.Clip(n.trail), trailEntry{id: there.id})
	}
	return n.trail
}

// makeMissingFolders makes the missing folders below n for the actor, and moves n down to the last
// of them. Faults: QuotaExceeded, NotFound when a file has one of the names.
func (p *putOperation) makeMissingFolders(n *node) error {
	for len(n.missing) > 0 {
		if err := p.makeFolder(p.tx, n, p.actor.UserID); err != nil {
			return err
		}
	}
	return nil
}

// makeFolder makes the first missing folder below n and charges owner for it, unless another
// transaction has made it by now, and moves n down to it. Faults: QuotaExceeded, NotFound when a
// file has the name.
func (t *Tree) makeFolder(tx *db.Tx, n *node, owner string) error {
	name := n.missing[0]
	made := row{id: t.IDs.UUID(), parent: n.id, name: string(name), folder: true, owner: owner}
	if err := quota.ChargeFolders(tx, made.owner, 1); err != nil {
		return err
	}
	done, err := t.insertEntry(tx, &made)
	if err != nil {
		return err
	}
	if !done { // another transaction was faster
		if err := quota.CreditFolders(tx, made.owner, 1); err != nil {
			return err
		}
		if made, err = childNamed(tx, n.id, name); err != nil {
			return err
		}
		if !made.folder {
			return fault.New(fault.NotFound, "A name in this path belongs to a file, not to a folder.")
		}
	}
	n.row, n.path, n.missing = made, n.path.Child(name), n.missing[1:]
	n.trail = append(n.trail[:len(n.trail):len(n.trail)],
		trailEntry{id: made.id, owner: made.owner, password: made.password})
	return nil
}

// insert makes the new file in the folder n and charges the actor. done is false when the name was
// taken meanwhile. Faults: Forbidden and PasswordRequired for a numbered name, QuotaExceeded.
func (p *putOperation) insert(n *node, name vpath.Name) (e Entry, done bool, err error) {
	target := n.newTarget(p.actor, n.path.Child(name))
	if name != p.dest.Name { // the numbered name may be denied where the requested one was not
		if err := p.rules.allow(p.actor, target, access.Write); err != nil {
			return Entry{}, false, err
		}
	}
	now := p.nowMs()
	r := row{id: p.IDs.UUID(), parent: n.id, name: string(name), size: p.stored.Size, mimeType: p.stored.MimeType,
		owner: p.actor.UserID, object: p.object, content: p.object, created: now, updated: p.modified(now)}
	if done, err := insertTimedEntry(p.tx, &r); !done || err != nil {
		return Entry{}, false, err
	}
	if err := quota.Charge(p.tx, r.owner, r.size, 1); err != nil {
		return Entry{}, false, err
	}
	p.Objects.NoteGrowth(p.tx, r.owner, r.size)
	return p.rules.entry(p.actor, &r, childTarget(n.existingTarget(p.actor), p.actor, &r)), true, nil
}

// replace gives the existing file there, in the folder n, the new content, and charges its owner
// the difference. done is false when the file has changed meanwhile. Fault: QuotaExceeded.
func (p *putOperation) replace(n *node, there row) (e Entry, done bool, err error) {
	if there.owner != p.actor.UserID { // else the quota row is locked already
		if claimed, err := p.lockOwner(p.tx, &there); err != nil || !claimed {
			return Entry{}, false, err
		}
	}
	r := there
	r.size, r.mimeType, r.object, r.content = p.stored.Size, p.stored.MimeType, p.object, p.object
	r.updated = p.modified(p.nowMs())
	if changed, err := p.changeContent(p.tx, p.rules, p.actor, &there, &r); err != nil || !changed {
		return Entry{}, false, err
	}
	if err := quota.Charge(p.tx, r.owner, r.size-there.size, 0); err != nil {
		return Entry{}, false, err
	}
	p.tx.AfterCommit(func() { crash.Point("replace.committed") })
	return p.rules.entry(p.actor, &r, childTarget(n.existingTarget(p.actor), p.actor, &r)), true, nil
}

// modified returns the time that the file gets as that of its last change, in ms, where now is the
// present time: that of the Destination, else now. It is never in the future, since a backup takes
// the newest time of all entries as the age of the database.
func (p *putOperation) modified(now int64) int64 {
	if p.dest.Modified.IsZero() {
		return now
	}
	return min(p.dest.Modified.UnixMilli(), now)
}

// freeNumberedName returns a name with a number that is free in the folder n: it doubles the number
// until one is free, and then bisects down to the lowest free one. With gaps in the numbers the
// result need not be the lowest of all, but the search stays cheap among thousands of files of one
// name. It locks n, so that concurrent uploads take turns.
func (p *putOperation) freeNumberedName(n *node) (vpath.Name, error) {
	// else concurrent uploads would try the same numbers again and again
	if _, err := lockEntry(p.tx, n.id); err != nil {
		return "", err
	}
	taken := func(number int) (bool, error) {
		name := numbered(p.dest.Name, number)
		r, err := childNamed(p.tx, n.id, name)
		return r.id != "" || p.rules.occupied(n, n.path.Child(name)), err
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
	return numbered(p.dest.Name, high), nil
}

// numbered puts a number before the extension of a name: `cat (1).jpg`. It shortens the part before
// the extension when the name would be too long.
func numbered(name vpath.Name, number int) vpath.Name {
	ext := path.Ext(string(name))
	stem := strings.TrimSuffix(string(name), ext)
	// `.profile` has no extension, and neither has a sentence with a dot
	if stem == "" || utf8.RuneCountInString(ext) > 32 {
		stem, ext = string(name), ""
	}
	suffix := fmt.Sprintf(" (%d)", number)
	runes := []rune(stem)
	if room := vpath.MaxNameRunes - utf8.RuneCountInString(suffix+ext); len(runes) > room {
		stem = string(runes[:room])
	}
	out, err := vpath.ParseName(strings.TrimRight(stem, " ") + suffix + ext)
	if err != nil { // a shortened name may not be a valid name
		return vpath.Name("file" + suffix)
	}
	return out
}
