package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
	"larder/internal/vpath"
)

// MoveJob is the type of the job that moves an entry between providers; RunMove runs it.
const MoveJob = "move"

const (
	// maxOpenJobs is the maximal number of open moves and copies of one account.
	maxOpenJobs = 100
	// maxRounds is the maximal number of times that one attempt of a move looks for content that
	// came into its folder meanwhile.
	maxRounds = 10
)

// movePayload is the payload of a move: the request, and the progress of the job.
type movePayload struct {
	jobRequest
	Entry    string // what is to be moved
	Folder   string // the target: this folder, as long as it has the path Target
	Target   string
	Name     *vpath.Name // nil keeps the name
	Over     bool        // replaces the entry that has the name
	Moved    bool        // the entry is at the target by now; content that came into it meanwhile is still to be copied
	Provider string      // of the target, once moved
}

// jobRequest is the part of a payload that tells who asked for a job.
type jobRequest struct {
	Key      string   // API key of the request, "" for a session
	IP       string   // address of the request
	Unlocked []string // passwords that the request had
	Locks    []string // lock tokens of the request
}

// requestOf describes who makes a request, for the payload of a job that decides by their rights
// later. Passwords that were given are added by callers whose jobs use them.
func requestOf(a access.Actor) jobRequest {
	r := jobRequest{IP: a.IP.String(), Locks: a.Locks}
	if a.Key != nil {
		r.Key = a.Key.ID
	}
	return r
}

// enqueue queues the job of a move between providers that authorize has allowed. Faults:
// Unauthorized without an account, Conflict (the name is taken, too many jobs are open).
func (m *moveOperation) enqueue(target vpath.Path, newName *vpath.Name) (job.Job, error) {
	if m.actor.UserID == "" {
		return job.Job{}, fault.New(fault.Unauthorized, "Sign in to do this.")
	}
	there, err := childNamed(m.tx, m.dest.id, m.name)
	if err != nil {
		return job.Job{}, err
	}
	if there.id != "" && !m.replace {
		return job.Job{}, targetExists()
	}
	if err := m.mayQueue(); err != nil {
		return job.Job{}, err
	}
	o := m.newPayload(target, newName)
	o.Unlocked = m.actor.Unlocked
	return m.queue(job.Spec{ID: m.IDs.UUID(), Type: MoveJob, Payload: o.encode()})
}

// mayQueue refuses another job to an actor who has maxOpenJobs unfinished ones. Fault: Conflict.
func (m *moveOperation) mayQueue() error {
	open, err := job.CountOpen(m.tx, m.actor.UserID)
	if err != nil {
		return err
	}
	if open >= maxOpenJobs {
		return fault.Newf(fault.Conflict, "You have %d unfinished jobs. Wait until some of them are done.", maxOpenJobs)
	}
	return nil
}

// newPayload returns the payload of a move of the source to the folder at target, as the actor asks
// for it, without the passwords that they have given.
func (m *moveOperation) newPayload(target vpath.Path, newName *vpath.Name) movePayload {
	return movePayload{jobRequest: requestOf(m.actor), Entry: m.source.id, Folder: m.dest.id,
		Target: target.String(), Name: newName, Over: m.replace}
}

// queue inserts the job n, which the actor owns from now on, and wakes the job runner after the
// commit. It returns the job as pending.
func (m *moveOperation) queue(n job.Spec) (job.Job, error) {
	n.OwnerID, n.CreatedAt = m.actor.UserID, m.nowMs()
	err := job.Insert(m.tx, n)
	if err == nil && m.Wake != nil {
		m.tx.AfterCommit(m.Wake)
	}
	return job.Job{ID: n.ID, Type: n.Type, OwnerID: n.OwnerID, Status: job.Pending, CreatedAt: n.CreatedAt}, err
}

// encode returns the payload in JSON, as the job's row stores it.
func (p movePayload) encode() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and a bool
	}
	return string(text)
}

// RunMove runs a move between providers. It copies and verifies every object and switches its row
// over in a transaction of its own, while the entry stays where it is. Then one transaction decides
// about the move again, by the present rights of the actor, and gives the entry its new parent. At
// the end it copies content that was put into the entry meanwhile. So every file can be read at
// exactly one path at any time, and the job continues after a crash at any line. When the move
// fails, copied content stays where it is: the files can be read at the old path, in two providers,
// and a second attempt has less to do.
//
// Faults: those of Move, and Unverified for content that is not what was stored; its copy becomes
// garbage. It skips files that vanish or change meanwhile.
func (t *Tree) RunMove(ctx context.Context, run *job.Run) error {
	x := transfer{Tree: t, run: run}
	if err := json.Unmarshal([]byte(run.Payload), &x.payload); err != nil {
		return fmt.Errorf("read the payload of a move: %w", err)
	}
	if !x.payload.Moved {
		if err := x.copyThenMove(ctx); err != nil {
			return err
		}
	}
	if err := x.copyRemaining(ctx); err != nil {
		return err
	}
	crash.Point("move.cleaned")
	return x.countFiles(ctx)
}

// transfer is one call of RunMove, or the part of RunCopy that copies content between providers.
type transfer struct {
	*Tree
	run     *job.Run
	payload movePayload
}

// copyThenMove copies the content of the entry to the target's provider, and then gives the entry
// its new parent in one transaction, which saves that in the payload. Faults: those of RunMove.
func (t *transfer) copyThenMove(ctx context.Context) error {
	err := t.inAuthorizedTx(ctx, func(m *moveOperation) error {
		t.payload.Provider = m.dest.mount.ProviderID
		return nil
	})
	if err != nil {
		return err
	}
	if err := t.copyAll(ctx); err != nil {
		return err
	}
	done := t.payload
	done.Moved = true
	err = t.inAuthorizedTx(ctx, func(m *moveOperation) error {
		if m.dest.mount.ProviderID != t.payload.Provider {
			return errors.New("the target's provider is another one by now") // the next attempt goes to that provider
		}
		if done.Entry = m.source.id; m.replacesContent() { // the entry that has the content then
			done.Entry = m.existing.id
		}
		if err := m.apply(); err != nil {
			return m.translateTaken(err)
		}
		return t.run.SavePayload(m.tx, done.encode())
	})
	if err != nil {
		return err
	}
	t.payload = done
	crash.Point("move.reparented")
	return nil
}

// copyRemaining copies content that came into the entry after its folder was walked, until none is
// left. It ends without an error when the entry was deleted, or moved to yet another provider,
// whose job does the same.
func (t *transfer) copyRemaining(ctx context.Context) error {
	for range maxRounds {
		n, _, err := t.lookUp(ctx, t.payload.Entry)
		switch {
		case fault.Is(err, fault.NotFound):
			return nil
		case err != nil:
			return err
		case n.mount.ProviderID != t.payload.Provider:
			return nil
		}
		left := n.provider != t.payload.Provider
		if n.folder {
			if left, err = anyForeignContent(t.DB.Read(ctx), n.id, t.payload.Provider); err != nil {
				return err
			}
		}
		if !left {
			return nil
		}
		if err := t.copyAll(ctx); err != nil {
			return err
		}
	}
	return errors.New("files are added to the folder faster than they can be copied")
}

// inAuthorizedTx runs fn inside a transaction that has looked up the move again and decided about
// it by the present rules and rights of the actor. Faults: those of Move; Conflict when the target
// folder is another one by now.
func (t *transfer) inAuthorizedTx(ctx context.Context, fn func(m *moveOperation) error) error {
	target, err := vpath.Parse(t.payload.Target)
	if err != nil {
		return err
	}
	actor, version, err := t.actor(ctx)
	if err != nil {
		return err
	}
	return t.writeUpgradable(ctx, func(tx *db.Tx, lock *treeLock) error {
		m := moveOperation{Tree: t.Tree, tx: tx, lock: lock, actor: actor, replace: t.payload.Over}
		if err := m.findToMove(t.payload.Entry, target, t.payload.Name); err != nil {
			return err
		}
		if m.rules.version != version {
			return &db.RetryError{Prepare: func(ctx context.Context) (err error) {
				actor, version, err = t.actor(ctx)
				return err
			}}
		}
		if err := m.authorize(target); err != nil {
			return err
		}
		if m.dest.id != t.payload.Folder {
			return fault.New(fault.Conflict, "The target folder has been moved or replaced meanwhile.")
		}
		return fn(&m)
	})
}

// actor returns the account that asked for the job, with its present rights, and the config version
// of these. Fault: Forbidden when the account or its key has ended.
func (t *transfer) actor(ctx context.Context) (a access.Actor, version int64, err error) {
	return t.requester(ctx, t.payload.jobRequest, t.run.OwnerID)
}

// requester returns the account ownerID as the actor that made the request r, with its present
// rights, the key, address, passwords and lock tokens of the request, and the config version of the
// rights. Fault: Forbidden when the account is not active or the key cannot be used.
func (t *Tree) requester(ctx context.Context, r jobRequest, ownerID string) (a access.Actor, version int64, err error) {
	version, err = db.ConfigVersion(t.DB.Read(ctx))
	if err != nil {
		return access.Actor{}, 0, fmt.Errorf("read the config version: %w", err)
	}
	a, active, err := t.Owner(ctx, version, ownerID)
	if err != nil {
		return access.Actor{}, 0, err
	}
	if !active {
		return access.Actor{}, 0, fault.New(fault.Forbidden, "The account that started this is no longer active.")
	}
	if a.IP, err = netip.ParseAddr(r.IP); err != nil {
		a.IP = netip.Addr{} // an address in no prefix
	}
	a.Unlocked, a.Locks = r.Unlocked, r.Locks
	if r.Key == "" {
		return a, version, nil
	}
	key, usable, err := t.Key(ctx, version, r.Key, a.IP)
	if err != nil {
		return access.Actor{}, 0, err
	}
	if !usable {
		return access.Actor{}, 0, fault.New(fault.Forbidden, "The API key that started this is no longer valid.")
	}
	a.Key = key
	return a, version, nil
}
