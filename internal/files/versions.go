package files

import (
	"context"
	"errors"
	"math"
	"time"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
)

// When the content of a file is replaced, the former content stays as a version for as long as an
// entry stays in the trash: a row of the table past takes over the reference to its object. Its
// bytes are counted as kept of the owner (quota.Kept), and never refuse an upload: a version that
// is larger than the bound is not kept, and the sweep removes the oldest ones above it. Versions
// belong to the file: they go with it into the trash and come back with it, and end with its
// deletion for good. docs/adr/0015-versions.md.

// maxVersions is the maximal number of versions of a file.
const maxVersions = 100

// versionSchema is the first version of the schema with versions.
const versionSchema = 21

// Version is content that a file had.
type Version struct {
	Since, Until   int64 // ms; Until is its id among the versions of the file
	Size           int64 // bytes
	MimeType       string
	SHA256         string // hexadecimal; "" when it is not known yet
	ReplacedBy     string // account that replaced it, "" for a visitor
	ReplacedByName string // "" for a deleted account
	ExpiresAt      int64  // ms
}

// changeContent gives the file before the content of after (size, type, object), and reports false
// if the file has changed meanwhile. The former content becomes a version while the trash is on, or
// its reference is released. It sets the time from which the file has its content, which never goes
// back, even when the clock does.
func (t *Tree) changeContent(tx *db.Tx, v *ruleset, a access.Actor, before, after *row) (changed bool, err error) {
	keep, same := v.trash.Days > 0, false
	if keep {
		if same, err = sameContent(tx, before.object, after.object); err != nil {
			return false, err
		}
		keep = !same
	}
	after.contentSince = before.contentSince
	if !same {
		after.contentSince = max(t.nowMs(), before.contentFrom()+1)
	}
	if changed, err = updateContent(tx, after, before); err != nil || !changed {
		return false, err
	}
	if keep {
		if keep, err = t.keepVersion(tx, a, before, after.contentSince); err != nil {
			return false, err
		}
	}
	if !keep {
		err = t.Objects.Release(tx, before.object, before.owner)
	}
	return true, err
}

// contentFrom is the time (ms) from which the file has its present content.
func (r *row) contentFrom() int64 {
	if r.contentSince > 0 {
		return r.contentSince
	}
	return r.created
}

// keepVersion makes the content that the file before had until a time (ms) a version, which takes
// over the reference to the object, and counts its bytes as kept. It reports false for content that
// is not kept: beside a replica that knows no versions, and when it is larger than the owner may
// keep.
func (t *Tree) keepVersion(tx *db.Tx, a access.Actor, before *row, until int64) (bool, error) {
	if err := CheckVersions(t.DB, tx); fault.Is(err, fault.Conflict) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	bound, err := quota.KeptOf(tx, before.owner)
	if err != nil {
		return false, err
	}
	if bound.Max != quota.Unlimited && before.size > bound.Max {
		return false, addGaps(tx, []gap{{id: before.id, until: until}})
	}
	oldest, err := deleteVersionsBeyond(tx, before.id, maxVersions-1)
	if err != nil {
		return false, err
	}
	if err := t.droppedEarly(tx, oldest); err != nil {
		return false, err
	}
	byKey := ""
	if a.Key != nil {
		byKey = a.Key.ID
	}
	if err := insertVersion(tx, before, until, a.UserID, byKey); err != nil {
		return false, err
	}
	return true, quota.AddKept(tx, before.owner, before.size)
}

// CheckVersions refuses to use versions while a replica runs that knows none: it could neither
// serve nor release them. Fault: Conflict.
func CheckVersions(d *db.DB, tx *db.Tx) error {
	err := d.RequireSchema(tx, versionSchema)
	if errors.Is(err, db.ErrOlderReplica) {
		return fault.New(fault.Conflict, "Versions can be used when all servers have been upgraded.").WithCause(err)
	}
	return err
}

// dropped releases the objects of versions whose rows were deleted in tx, and subtracts their bytes
// from the kept bytes of their owners.
func (t *Tree) dropped(tx *db.Tx, gone []version) error {
	freed := map[string]int64{}
	contents := make([]row, len(gone))
	for i, v := range gone {
		contents[i] = row{object: v.object, owner: v.owner}
		if v.size > 0 {
			freed[v.owner] += v.size
		}
	}
	if err := t.releaseContents(tx, contents); err != nil {
		return err
	}
	return subtractKept(tx, freed)
}

// forgetHistoryOf deletes the versions and the former places of files that are deleted for good.
// This leaves gaps in the history of their former folders.
func (t *Tree) forgetHistoryOf(tx *db.Tx, files []string) error {
	if err := t.dropVersionsOf(tx, files); err != nil {
		return err
	}
	return deletePlacesOf(tx, files)
}

// dropVersionsOf deletes all versions of files that are deleted for good, and releases their
// objects.
func (t *Tree) dropVersionsOf(tx *db.Tx, entries []string) error {
	gone, err := deleteVersionsOf(tx, entries)
	if err != nil {
		return err
	}
	return t.dropped(tx, gone)
}

// droppedEarly releases the objects of versions whose rows were deleted before the end of their
// time, subtracts their kept bytes, and records the gaps that this leaves in the history of their
// files, up to the ends of these versions.
func (t *Tree) droppedEarly(tx *db.Tx, gone []version) error {
	gaps := make([]gap, len(gone))
	for i, v := range gone {
		gaps[i] = gap{id: v.entry, until: v.until}
	}
	if err := addGaps(tx, gaps); err != nil {
		return err
	}
	return t.dropped(tx, gone)
}

// dropVersions deletes versions before the end of their time, which leaves gaps in the history of
// their files, and releases their objects. Versions that do not exist any more are left out.
func (t *Tree) dropVersions(tx *db.Tx, versions []version) error {
	var all []version
	for _, v := range versions {
		gone, err := deleteVersion(tx, v.entry, v.until)
		if err != nil {
			return err
		}
		all = append(all, gone...)
	}
	return t.droppedEarly(tx, all)
}

// DropVersionsOf deletes all versions of a file that does not exist. For fsck.
func (t *Tree) DropVersionsOf(tx *db.Tx, id string) error { return t.dropVersionsOf(tx, []string{id}) }

// Versions lists the versions of a file, newest first, at most 100, without those whose content the
// file has now, and without those that wasReadable hides from the actor. It needs the permission to
// read. Faults: NotFound (also for a folder), Forbidden, PasswordRequired.
func (t *Tree) Versions(ctx context.Context, a access.Actor, id string) ([]Version, error) {
	n, v, err := t.lookUp(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := v.allow(a, n.existingTarget(a), access.Read); err != nil {
		return nil, err
	}
	if n.folder {
		return nil, noVersions()
	}
	q := t.DB.Read(ctx)
	found, err := versionsOf(q, id, nil)
	if err != nil {
		return nil, err
	}
	list := []Version{}
	shown, since := false, int64(math.MaxInt64) // since when the file had the place that shown is for
	for i := range found {
		if found[i].content == n.content {
			continue
		}
		if at := found[i].until - 1; at < since {
			if shown, since, err = v.wasReadableSince(q, a, &n, at, access.Read); err != nil {
				return nil, err
			}
		}
		if shown {
			list = append(list, found[i].view(v.trash))
		}
	}
	return list, nil
}

// wasReadable decides whether the actor may know content that a file had at a time (ms): by today's
// rules for a permission at the path that the file had then. So content from a private folder does
// not become known when the file moves to a shared one. The owner may know all of it, and
// administrators also content whose former path is unknown. A version counts for the path that the
// file had at the end of the version.
func (rs *ruleset) wasReadable(q db.Querier, a access.Actor, n *node, at int64, p access.Permission) (bool, error) {
	shown, _, err := rs.wasReadableSince(q, a, n, at, p)
	return shown, err
}

// wasReadableSince is wasReadable, with the time (ms) from which the file had the same path until
// at: for all times in between the decision is the same.
func (rs *ruleset) wasReadableSince(q db.Querier, a access.Actor, n *node, at int64, p access.Permission) (
	shown bool, since int64, err error,
) {
	if a.Key == nil && a.UserID != "" && a.UserID == n.owner {
		return true, 0, nil
	}
	since = at
	then, err := rs.findAt(q, n.id, at)
	if err == nil {
		if since, err = lastPlaceChange(q, trailIDs(then.trail), at); err == nil {
			err = rs.allow(a, then.existingTarget(a), p)
		}
	}
	switch fault.KindOf(err) {
	case fault.NotFound:
		return a.Key == nil && a.Role == access.Admin, since, nil
	case fault.Forbidden, fault.Unauthorized, fault.PasswordRequired:
		return false, since, nil
	}
	return err == nil, since, err
}

// view returns the version as the API shows it; the settings give the time of its end.
func (v *version) view(s TrashSettings) Version {
	return Version{Since: v.since, Until: v.until, Size: v.size, MimeType: v.mimeType, SHA256: v.sha256,
		ReplacedBy: v.byUser, ReplacedByName: v.byName, ExpiresAt: v.until + s.lifetime()}
}

// VersionFor decides whether the actor may download the version of the file that ended at until
// (ms, its id), as ContentFor does for the present content, and returns it. Faults: those of
// ContentFor; NotFound for the version, also for one that wasReadable hides.
func (f *FoundEntry) VersionFor(ctx context.Context, a access.Actor, until int64) (Content, error) {
	c, err := f.ContentFor(a)
	if err != nil {
		return Content{}, err
	}
	q := f.tree.DB.Read(ctx)
	found, err := versionsOf(q, f.node.id, &until)
	if err != nil {
		return Content{}, err
	}
	if len(found) == 0 {
		return Content{}, noVersion()
	}
	v := found[0]
	if shown, err := f.rules.wasReadable(q, a, &f.node, until-1, access.Download); err != nil {
		return Content{}, err
	} else if !shown {
		return Content{}, noVersion()
	}
	at := *c.ContentHandle
	at.provider, at.key, at.size, at.damaged = v.provider, v.key, v.size, v.damaged
	c.Entry.Size, c.Entry.MimeType = v.size, v.mimeType
	c.ID, c.ETag, c.Modified, c.Public = v.content, etag(v.content), time.UnixMilli(v.since), false
	c.ContentHandle = &at
	return c, nil
}

// ContentAt is ContentFor for the content that the file had at a time (ms). until identifies the
// version that it is, 0 for the present content. Faults: those of ContentFor, NotFound for content
// that is not kept, and for content that wasReadable hides at that time or as a version.
func (f *FoundEntry) ContentAt(ctx context.Context, a access.Actor, at int64) (c Content, until int64, err error) {
	if c, err = f.ContentFor(a); err != nil || f.node.contentFrom() <= at {
		return c, 0, err
	}
	q := f.tree.DB.Read(ctx)
	until, err = versionAt(q, f.node.id, at)
	if err != nil {
		return Content{}, 0, err
	}
	shown := until != 0
	if shown {
		if shown, err = f.rules.wasReadable(q, a, &f.node, at, access.Download); err != nil {
			return Content{}, 0, err
		}
	}
	if !shown {
		return Content{}, 0, noVersion()
	}
	c, err = f.VersionFor(ctx, a, until)
	return c, until, err
}

// RestoreVersion gives a file the content of one of its versions, which leaves the list of versions
// and stays in the history; the present content becomes a version. It needs the permission to
// update the file, and charges its owner the difference. Faults: NotFound, Forbidden,
// PasswordRequired, Locked, QuotaExceeded, Conflict for a version in another provider than that of
// the file.
func (t *Tree) RestoreVersion(ctx context.Context, a access.Actor, id string, until int64) (e Entry, err error) {
	err = t.writeLocked(ctx, false, func(tx *db.Tx) error {
		if err := t.checkActive(tx, a); err != nil {
			return err
		}
		n, v, err := t.lookUpTx(tx, id)
		if err != nil {
			return err
		}
		target := n.existingTarget(a)
		if err := v.allow(a, target, access.Update); err != nil {
			return err
		}
		if n.folder {
			return noVersions()
		}
		if err := t.checkUnlocked(tx, a, n.trail); err != nil {
			return err
		}
		old, err := v.restorable(tx, a, &n, until)
		if err != nil {
			return err
		}
		e, err = t.restoreVersion(tx, v, a, &n, &old)
		return err
	})
	if err != nil {
		return Entry{}, err
	}
	crash.Point("version.restored")
	return e, nil
}

// restorable returns the version of the file n that ended at until (ms), if the actor may restore
// it: one that wasReadable does not hide, in the provider of the file. The caller has decided about
// the permission to update the file. Faults: NotFound, Conflict for another provider.
func (rs *ruleset) restorable(q db.Querier, a access.Actor, n *node, until int64) (version, error) {
	found, err := versionsOf(q, n.id, &until)
	if err != nil {
		return version{}, err
	}
	if len(found) == 0 {
		return version{}, noVersion()
	}
	needed := access.Download
	if a.UserID == n.owner {
		needed = access.Update // a key of the owner that may write need not be able to read
	}
	if shown, err := rs.wasReadable(q, a, n, until-1, needed); err != nil {
		return version{}, err
	} else if !shown {
		return version{}, noVersion()
	}
	if p := found[0].provider; p != n.mount.ProviderID && p != n.mount.EvacuatedID {
		return version{}, fault.New(fault.Conflict,
			"This version is in another storage provider. Download it, and upload it again.")
	}
	return found[0], nil
}

// restoreVersion gives the file n the content of the version old, which stays a version, and
// charges the owner the difference. The caller has authorized that. Fault: QuotaExceeded.
func (t *Tree) restoreVersion(tx *db.Tx, v *ruleset, a access.Actor, n *node, old *version) (Entry, error) {
	before := n.row
	if done, err := t.lockOwner(tx, &before); err != nil || !done {
		if err == nil {
			err = retryTransaction()
		}
		return Entry{}, err
	}
	after := before
	after.size, after.mimeType, after.object, after.content, after.updated = old.size, old.mimeType, old.object,
		old.content, t.nowMs()
	more := refIncrements{}
	more.add(&after)
	if err := more.apply(tx); err != nil {
		return Entry{}, err
	}
	changed, err := t.changeContent(tx, v, a, &before, &after)
	if err == nil && !changed {
		err = retryTransaction()
	}
	if err != nil {
		return Entry{}, err
	}
	if err := quota.Charge(tx, after.owner, after.size-before.size, 0); err != nil {
		return Entry{}, err
	}
	return v.entry(a, &after, n.existingTarget(a)), nil
}

// DropVersion deletes the version of a file that ended at until (ms, its id). The owner of the file
// and administrators may, with the permission to delete the file. Faults: NotFound, Forbidden,
// PasswordRequired.
func (t *Tree) DropVersion(ctx context.Context, a access.Actor, id string, until int64) error {
	return t.writeLocked(ctx, false, func(tx *db.Tx) error {
		n, v, err := t.lookUpTx(tx, id)
		if err != nil {
			return err
		}
		if err := v.allow(a, n.existingTarget(a), access.Delete); err != nil {
			return err
		}
		if err := checkForGood(a, n.owner); err != nil {
			return err
		}
		gone, err := deleteVersion(tx, id, until)
		if err != nil {
			return err
		}
		if len(gone) == 0 {
			return noVersion()
		}
		return t.droppedEarly(tx, gone)
	})
}

// sweepVersions deletes the versions that ended before ended (ms), and releases their objects. The
// sweep calls it for those whose time is over.
func (t *Tree) sweepVersions(ctx context.Context, ended int64) error {
	for {
		n := 0
		err := t.DB.Write(ctx, func(tx *db.Tx) error {
			gone, err := deleteVersionsBefore(tx, ended, trashPiece)
			if err != nil {
				return err
			}
			n = len(gone)
			return t.dropped(tx, gone)
		})
		if err != nil || n < trashPiece {
			return err
		}
	}
}

// noVersion is the fault NotFound for a version that the file does not have.
func noVersion() error { return fault.New(fault.NotFound, "There is no such version of this file.") }

// noVersions is the fault NotFound for the versions of a folder.
func noVersions() error { return fault.New(fault.NotFound, "Only files have versions.") }
