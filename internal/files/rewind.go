package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
	"larder/internal/vpath"
)

// A rewind brings a folder, with everything in it, back to an earlier time: it restores entries
// from the trash, moves entries back, restores versions, and moves to the trash what came later.
// Each of these is an ordinary change, decided on like one that the actor makes, and part of the
// history: a rewind can be rewound. The plan is the difference between then and now, so a rewind
// that was interrupted goes on where it was, and one that is done finds nothing to do.

// RewindJob is the type of the job that rewinds a folder; RunRewind runs it.
const RewindJob = "rewind"

// rewindPaths is the maximal number of paths that a plan names of each kind.
const rewindPaths = 100

// RewindStep is one kind of change in a plan.
type RewindStep struct {
	Count int
	Paths []string // of the first 100: after the rewind, for ToTrash the present ones
}

// add counts one change, and names its path among the first rewindPaths.
func (s *RewindStep) add(path vpath.Path) {
	s.Count++
	if len(s.Paths) < rewindPaths {
		s.Paths = append(s.Paths, path.String())
	}
}

// BlockedRewind is an entry that a rewind leaves as it is.
type BlockedRewind struct {
	Path string
	Why  string // a sentence
}

// RewindPlan is what a rewind changes. An entry that is moved and gets other content is counted
// twice.
type RewindPlan struct {
	ComeBack     RewindStep // from the trash
	MoveBack     RewindStep
	Revert       RewindStep // get the content that they had
	ToTrash      RewindStep
	Blocked      []BlockedRewind // the first 100
	BlockedCount int
}

// block counts an entry that the rewind leaves as it is because of err, and names it among the
// first rewindPaths.
func (p *RewindPlan) block(path vpath.Path, err error) {
	p.BlockedCount++
	if len(p.Blocked) < rewindPaths {
		p.Blocked = append(p.Blocked, BlockedRewind{path.String(), sentenceOf(err)})
	}
}

// sentenceOf returns the message for people of a fault, and the text of any other error.
func sentenceOf(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}

// PlanRewind returns what a rewind of a folder to a time (ms) would change, as far as that is known
// before: a quota, a lock or another change may still stop a part of it. The actor needs what
// ListPast needs, for the folder and each folder in it. Faults: those of ListPast; Conflict when
// the rewind is refused as a whole, because it would go through more than 100,000 entries or would
// move more bytes to the trash than the trash of an owner may have.
func (t *Tree) PlanRewind(ctx context.Context, a access.Actor, folderID string, at int64) (RewindPlan, error) {
	w := rewinder{Tree: t, actor: a, at: at, root: folderID, dry: true}
	err := w.run(ctx)
	if err == nil {
		err = w.checkKept(ctx)
	}
	return w.plan, err
}

// Rewind queues the job that rewinds a folder to a time (ms). Faults: those of ListPast; Forbidden
// for an actor who may not write in the folder; Conflict for too many open jobs.
func (t *Tree) Rewind(ctx context.Context, a access.Actor, folderID string, at int64) (job.Job, error) {
	l, err := t.openPast(ctx, a, PastQuery{FolderID: folderID, At: at})
	if err != nil {
		return job.Job{}, err
	}
	if l.now == nil {
		return job.Job{}, noFolder()
	}
	if err := l.allow(a, l.now.ForChildren(), access.Write); err != nil {
		return job.Job{}, err
	}
	name := l.now.Path.Base()
	payload := rewindPayload{jobRequest: requestOf(a), Folder: folderID, At: at, Target: l.now.Path.Parent().String(),
		Name: &name}
	payload.Unlocked = a.Unlocked
	var made job.Job
	err = t.DB.Write(ctx, func(tx *db.Tx) (err error) {
		m := moveOperation{Tree: t, tx: tx, actor: a}
		if err := m.mayQueue(); err != nil {
			return err
		}
		made, err = m.queue(job.Spec{ID: t.IDs.UUID(), Type: RewindJob, Payload: payload.encode()})
		return err
	})
	return made, err
}

// rewindPayload is the payload of a RewindJob.
type rewindPayload struct {
	jobRequest
	Folder string
	At     int64       // ms
	Target string      // the folder above it, for the notification
	Name   *vpath.Name // its name, for the notification
}

// encode returns the payload in JSON, as the job's row stores it.
func (p rewindPayload) encode() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and a number
	}
	return string(text)
}

// RunRewind runs a RewindJob. It continues after a crash at any line. Before the first change it
// makes the plan, which may refuse the rewind. Faults: those of PlanRewind; Conflict, with the
// first path and its reason, when a part of the folder is left as it is.
func (t *Tree) RunRewind(ctx context.Context, run *job.Run) error {
	var p rewindPayload
	if err := json.Unmarshal([]byte(run.Payload), &p); err != nil {
		return fmt.Errorf("read the payload of a rewind: %w", err)
	}
	planned := rewinder{Tree: t, root: p.Folder, at: p.At, job: run, request: p.jobRequest, dry: true}
	w := planned
	w.dry = false
	if err := planned.run(ctx); err != nil {
		return err
	}
	if err := planned.checkKept(ctx); err != nil {
		return err
	}
	if err := w.run(ctx); err != nil {
		return err
	}
	if w.plan.BlockedCount > 0 {
		first := w.plan.Blocked[0]
		return fault.Newf(fault.Conflict, "%d entries could not be brought back. The first is %q: %s",
			w.plan.BlockedCount, first.Path, first.Why)
	}
	return nil
}

// rewinder is one run over the folders of an earlier time: a rewind, or its plan (dry), which makes
// the same decisions and changes nothing.
type rewinder struct {
	*Tree
	actor access.Actor
	root  string // the folder
	at    int64  // ms
	dry   bool   // changes nothing
	plan  RewindPlan

	restored map[string]bool // ids of the entries of the trash that come back
	blocked  map[string]bool // ids of the folders that are left as they are
	inside   map[string]bool // of former folders: whether they were in the rewound folder
	job      *job.Run        // nil for PlanRewind
	request  jobRequest

	// only of a plan
	counting bool             // in this pass
	seen     int64            // entries that the rewind goes through
	moved    []movedEntry     // that leave their folders
	kept     map[string]int64 // bytes by account that go to the trash or become versions

	leaving map[string]map[string]int64 // see leavingBytes
}

// run goes through the folders of the earlier time three times, from the top down: it restores what
// is in the trash, puts every entry in its place with its content, and removes what came later. The
// order matters, since what is restored and what came later may contain entries that have to be
// moved back.
func (w *rewinder) run(ctx context.Context) error {
	w.restored, w.blocked, w.inside = map[string]bool{}, map[string]bool{}, map[string]bool{}
	w.kept = map[string]int64{}
	for pass, visit := range []func(context.Context, *pastFolder) error{w.restoreEntries, w.putBack, w.removeLater} {
		w.counting = w.dry && pass == 0
		for open := []string{w.root}; len(open) > 0; open = open[1:] {
			f, err := w.open(ctx, open[0])
			if err != nil {
				return err
			}
			if f == nil {
				continue
			}
			if err := visit(ctx, f); err != nil {
				return err
			}
			for i := range f.entries {
				if f.entries[i].folder {
					open = append(open, f.entries[i].id)
				}
			}
		}
	}
	return nil
}

// pastFolder is a folder with the entries that it had.
type pastFolder struct {
	*pastLister
	target  access.Target // of the folder now; as it was, for one in the trash
	entries []pastChild
}

// pastChild is an entry that a folder had.
type pastChild struct {
	pastRow
	state PastState
	here  presence // only of an entry that has left the folder
}

// isItem reports whether an entry is an item of the trash by itself, not in a folder that is one.
func (c *pastChild) isItem() bool { return c.state == PastTrashed && c.left && c.here.item == c.id }

// isAway reports whether an entry is in another folder than it was, or will be once the items of
// the trash are restored, so that a move has to bring it back.
func (c *pastChild) isAway() bool {
	return c.left && (c.state == PastMoved || c.state == PastTrashed && !c.isItem())
}

// pathOf is the path that the entry c gets in the folder.
func (f *pastFolder) pathOf(c *pastChild) vpath.Path { return f.target.Path.Child(vpath.Name(c.name)) }

// open reads a folder, by its id, as it was at the time of the rewind, with the entries that the
// actor sees. It returns nil, and no error, for a folder that the rewind leaves as it is; the plan
// names that.
func (w *rewinder) open(ctx context.Context, id string) (*pastFolder, error) {
	if w.blocked[id] {
		return nil, nil
	}
	if err := w.extend(ctx); err != nil {
		return nil, err
	}
	l, err := w.openPast(ctx, w.actor, PastQuery{FolderID: id, At: w.at})
	if w.blockIfRefused(ctx, id, err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := &pastFolder{pastLister: l, target: l.then}
	switch {
	case l.now != nil:
		f.target = *l.now
	case id == w.root:
		return nil, noFolder()
	case !w.dry: // it could not be restored, which is in the plan
		return nil, nil
	}
	if w.counting {
		if err := w.countFolder(l); err != nil {
			return nil, err
		}
	}
	if err := l.findLeft(); w.blockIfRefused(ctx, id, err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	err = l.each(sortOrder{names: folded}, "", func(r *pastRow, e PastEntry) {
		f.entries = append(f.entries, pastChild{*r, e.State, l.left[r.id]})
	})
	return f, err
}

// blockIfRefused blocks a folder, by its id, if err refuses its rewind: the rewind leaves it as it
// is, and the plan names it. blocked reports whether it did. It never blocks the folder that the
// rewind is for.
func (w *rewinder) blockIfRefused(ctx context.Context, id string, err error) (blocked bool) {
	if id == w.root || !isRefusal(err) {
		return false
	}
	w.blocked[id] = true
	if n, _, lost := w.lookUp(ctx, id); lost == nil {
		w.plan.block(n.path, err)
	}
	return true
}

// extend loads the actor's rights anew and renews the lease of the job, so that a long rewind keeps
// both current. Fault: Forbidden when the account or the key has ended. It does nothing for
// PlanRewind.
func (w *rewinder) extend(ctx context.Context) (err error) {
	if w.job == nil {
		return nil
	}
	if w.actor, _, err = w.requester(ctx, w.request, w.job.OwnerID); err != nil {
		return err
	}
	return w.DB.Write(ctx, func(tx *db.Tx) error { return w.job.RecordBytes(tx, 0) })
}

// isRefusal reports whether an error concerns one entry alone, so that a rewind goes on without it:
// any fault but Unavailable.
func isRefusal(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Kind != fault.Unavailable
}

// do makes one change to the entry at path and counts it in step. In a plan change only decides and
// changes nothing. A refusal (isRefusal) is recorded in the plan, and is no error.
func (w *rewinder) do(step *RewindStep, path vpath.Path, change func() error) error {
	err := change()
	if isRefusal(err) {
		w.plan.block(path, err)
		return nil
	}
	if err == nil {
		step.add(path)
		if !w.dry {
			crash.Point("rewind.step")
		}
	}
	return err
}

// restoreEntries restores the entries of the folder f that are in the trash. For an entry in a
// folder that is in the trash it restores that folder; if that came later it goes to the trash
// again in the end.
func (w *rewinder) restoreEntries(ctx context.Context, f *pastFolder) error {
	for i := range f.entries {
		c := &f.entries[i]
		if c.state != PastTrashed || !c.left || w.restored[c.here.item] {
			continue
		}
		step := &w.plan.ComeBack
		if !c.isItem() {
			step = &RewindStep{} // it is moved back, which counts
		}
		err := w.do(step, f.pathOf(c), func() (err error) {
			if w.dry {
				err = f.allow(w.actor, childTarget(f.target, w.actor, &c.row), access.Write)
			} else {
				how := RestoreOptions{Target: &f.target.Path, Conflict: RenameNew}
				_, err = w.Restore(ctx, w.actor, c.here.item, how)
			}
			w.restored[c.here.item] = err == nil
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// putBack moves the entries that f had back into it, under their names, and gives files the content
// that they had.
func (w *rewinder) putBack(ctx context.Context, f *pastFolder) error {
	for i := range f.entries {
		c := &f.entries[i]
		path := f.pathOf(c)
		if c.state == PastTrashed && c.left && !w.restored[c.here.item] { // its restore is blocked
			continue
		}
		if c.isAway() {
			blocked := w.plan.BlockedCount
			if err := w.do(&w.plan.MoveBack, path, func() error { return w.moveBack(ctx, f, c) }); err != nil {
				return err
			}
			if w.plan.BlockedCount > blocked {
				continue
			}
			w.recordMoved(c)
		}
		if c.lost {
			w.plan.block(path, fault.New(fault.Conflict, "The content that this file had is not kept any more."))
		}
		if c.version == 0 {
			continue
		}
		err := w.do(&w.plan.Revert, path, func() error {
			if w.dry {
				err := w.checkRevert(f, c)
				if err == nil {
					w.kept[c.owner] += c.sizeNow
				}
				return err
			}
			_, err := w.RestoreVersion(ctx, w.actor, c.id, c.version)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRevert decides for a plan whether the file c in f can get the content that it had, as
// RestoreVersion decides it.
func (w *rewinder) checkRevert(f *pastFolder, c *pastChild) error {
	if err := f.allow(w.actor, childTarget(f.target, w.actor, &c.row), access.Update); err != nil {
		return err
	}
	n := node{row: c.row}
	n.mount, _ = f.mounts.Resolve(f.target.Path)
	_, err := f.restorable(f.q, w.actor, &n, c.version)
	return err
}

// moveBack moves the entry c to the place that it had in f. Another entry that has the name now
// makes way (makeWay). A dry run only decides.
func (w *rewinder) moveBack(ctx context.Context, f *pastFolder, c *pastChild) error {
	if w.dry {
		if c.here.item == "" {
			if err := f.allow(w.actor, c.here.node.existingTarget(w.actor), access.Delete); err != nil {
				return err
			}
		}
		return f.allow(w.actor, childTarget(f.target, w.actor, &c.row), access.Write)
	}
	move := func() error {
		_, err := w.MoveWithOptions(ctx, w.actor, c.id, f.target.Path, vpath.Name(c.name), CopyMoveOptions{})
		return err
	}
	err := move()
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	there, lost := childNamed(w.DB.Read(ctx), f.id, vpath.Name(c.name))
	if lost != nil {
		return lost
	}
	if there.id == "" || there.id == c.id {
		return err
	}
	if err := w.makeWay(ctx, f, &there); err != nil {
		return err
	}
	return move()
}

// makeWay takes the name from the entry there in f, which has the name of an entry to be moved
// back. A file that came later goes to the trash; any other gets another name until it is its turn,
// since a folder may contain what has to be moved back.
func (w *rewinder) makeWay(ctx context.Context, f *pastFolder, there *row) error {
	belonging, err := w.belonging(f, []string{there.id})
	if err != nil {
		return err
	}
	if !belonging[there.id] && !there.folder {
		return w.toTrash(ctx, there.id)
	}
	aside, err := vpath.ParseName(fmt.Sprintf("%s (%s)", there.name, w.IDs.Hex(4)))
	if err != nil { // too long
		aside = vpath.Name("rewind " + w.IDs.Hex(4))
	}
	_, err = w.MoveWithOptions(ctx, w.actor, there.id, f.target.Path, aside, CopyMoveOptions{})
	return err
}

// toTrash moves an entry that came later to the trash, with the reason TrashRewound.
func (w *rewinder) toTrash(ctx context.Context, id string) error {
	_, err := w.delete(ctx, w.actor, id, ToTrash, deleteOptions{reason: TrashRewound})
	return err
}
