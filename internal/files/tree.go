// Package files holds the tree: folders and files, their links, the destinations of uploads and the
// content that is served.
//
// An entry knows its parent and its name, not its path. One query resolves a path, beginning at the
// mount that covers it and then name by name. One query walks up from an id; an entry does not
// exist unless it reaches the root of a mount that covers its path. So renaming and moving change
// one row however large the folder is, and a deleted folder is one row moved below the graveyard
// until the collector has deleted its rows.
//
// Every operation takes the actor and decides about permissions itself, by package access and by
// what the database says at that moment; a change decides inside its transaction. Rules and mounts
// come from memory under the config version, which each of these queries reads along: when it
// differs from the version of the rules in memory, the query runs again. Rules are never loaded
// inside a transaction.
//
// On PostgreSQL transactions that change single entries share a lock on the tree. Transactions that
// move, rename, replace or delete a folder hold it exclusively: they begin with the shared lock and
// run again when they find a folder (writeUpgradable).
//
// Files refer to objects, which package object counts and collects. Specification: File endpoints,
// Public path serving, Limits.
package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/ident"
	"larder/internal/mount"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/vpath"
)

// Config is the configuration of a Tree.
type Config struct {
	DB        *db.DB
	Policies  *access.Store
	Mounts    *mount.Store
	Providers *provider.Registry
	IDs       *ident.Source
	Objects   *object.Registry
	Now       func() time.Time
	Log       *slog.Logger
	// Owner returns an account as an actor, without key, address or given passwords, and whether it
	// is active. Permanent links and jobs use it.
	Owner func(ctx context.Context, version int64, userID string) (access.Actor, bool, error)
	// Key returns the rights of an API key, and whether it can be used from that address now. Jobs
	// that were requested with a key use it.
	Key func(ctx context.Context, version int64, keyID string, ip netip.Addr) (*access.Key, bool, error)
	// Active reports whether there is an active account of that id. Every change that makes entries
	// calls it in its transaction. Nil stands for always.
	Active func(q db.Querier, userID string) (bool, error)
	// Successor returns the account to which the entries of a deleted account are still being
	// handed over, none for any other account. Nil stands for none.
	Successor func(q db.Querier, userID string) (Successor, error)
	// Trash returns the settings of the trash. Nil stands for none.
	Trash      func(ctx context.Context) (TrashSettings, error)
	EntryCache *EntryCache // of files that are served, nil for none
	// Wake is called when a job has been inserted; it may be nil.
	Wake func()
	// Sleep waits for d, or until ctx ends, which is an error; nil for a timer.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Tree is the tree of all mounts. Its methods are safe for concurrent use.
type Tree struct {
	Config
	lastRules atomic.Pointer[ruleset]

	copyBatchSize int // maximal number of entries that one transaction copies
	usageCache    usageCache
	sampleSize    int64 // number of deleted files that Usage looks at
	rewindLimit   int64 // see rewindLimit
}

// New returns the Tree in cfg.DB.
func New(cfg Config) *Tree {
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	t := &Tree{Config: cfg, copyBatchSize: entriesPerPiece, sampleSize: sampleSize, rewindLimit: rewindLimit}
	t.usageCache.counting = make(chan struct{}, 1)
	return t
}

// ruleset is the rules and mounts of one config version, by which decisions are made.
type ruleset struct {
	version int64
	policy  *access.Policy
	mounts  *mount.Table
	trash   TrashSettings
}

// currentRules returns rules, mounts and trash settings of the present config version, from memory
// if they are loaded. Do not call it inside a transaction.
func (t *Tree) currentRules(ctx context.Context) (*ruleset, error) {
	version, err := db.ConfigVersion(t.DB.Read(ctx))
	if err != nil {
		return nil, fmt.Errorf("read the config version: %w", err)
	}
	return t.rulesAt(ctx, version)
}

// rulesAt returns the rules of a config version that was read outside of any transaction. It loads
// them if the rules in memory are of another version, and keeps them there.
func (t *Tree) rulesAt(ctx context.Context, version int64) (*ruleset, error) {
	if v := t.lastRules.Load(); v != nil && v.version == version {
		return v, nil
	}
	policy, err := t.Policies.Policy(ctx, version)
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	mounts, err := t.Mounts.Table(ctx, version)
	if err != nil {
		return nil, err
	}
	trash, err := t.trashSettings(ctx)
	if err != nil {
		return nil, err
	}
	v := &ruleset{version: version, policy: policy.WithMounts(mountLookup{mounts}), mounts: mounts, trash: trash}
	t.lastRules.Store(v)
	return v, nil
}

// mountLookup gives the policy access to the mounts.
type mountLookup struct{ table *mount.Table }

// Covering implements access.Mounts: it returns the id of the mount that covers the path, "" for
// none.
func (l mountLookup) Covering(path vpath.Path) string {
	m, _ := l.table.Resolve(path)
	return m.ID
}

// Below implements access.Mounts: it returns the paths of the mounts below path, by their ids.
func (l mountLookup) Below(path vpath.Path) map[string]vpath.Path {
	below := map[string]vpath.Path{}
	for _, m := range l.table.Below(path) {
		below[m.ID] = m.Path
	}
	return below
}

// versionedRead is a read from the database by rules v, which returns the config version that the
// same query read along. Its answer counts only if that is v.version.
type versionedRead func(v *ruleset) (version int64, err error)

// readConsistent runs a read outside of a transaction, again with newer rules until the config
// version that the read reports is that of the rules, and returns those rules. So no decision mixes
// rules and data of different times.
func (t *Tree) readConsistent(ctx context.Context, question versionedRead) (*ruleset, error) {
	v := t.lastRules.Load()
	if v == nil {
		var err error
		if v, err = t.currentRules(ctx); err != nil {
			return nil, err
		}
	}
	for range db.MaxTries {
		version, err := question(v)
		if err != nil {
			return nil, err
		}
		if version == v.version {
			return v, nil
		}
		if v, err = t.rulesAt(ctx, version); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the configuration changes too often to decide anything by it")
}

// readConsistentTx runs a read inside a transaction under the rules in memory, and returns them if
// the read reports the same config version. Otherwise it returns a db.RetryError, which loads the
// present rules outside and runs the transaction again.
func (t *Tree) readConsistentTx(question versionedRead) (*ruleset, error) {
	again := &db.RetryError{Prepare: func(ctx context.Context) error {
		_, err := t.currentRules(ctx)
		return err
	}}
	v := t.lastRules.Load()
	if v == nil {
		return nil, again
	}
	version, err := question(v)
	if err != nil {
		return nil, err
	}
	if version != v.version {
		return nil, again
	}
	return v, nil
}

// nowMs is the present time in milliseconds.
func (t *Tree) nowMs() int64 { return t.Now().UnixMilli() }

// writeLocked runs fn in a write transaction that holds the lock of the tree: shared, for a change
// of single entries, or exclusive, so that nothing else changes the tree meanwhile.
func (t *Tree) writeLocked(ctx context.Context, exclusive bool, fn func(tx *db.Tx) error) error {
	return t.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockTree(exclusive); err != nil {
			return fmt.Errorf("lock the tree: %w", err)
		}
		return fn(tx)
	})
}

// treeLock is the lock of the tree that a transaction of writeUpgradable holds.
type treeLock struct{ exclusive bool }

// requireExclusive returns nil when the transaction holds the exclusive lock of the tree. Otherwise
// it returns the error that runs the transaction again with that lock.
func (l *treeLock) requireExclusive() error {
	if l.exclusive {
		return nil
	}
	return &db.RetryError{Prepare: func(context.Context) error {
		l.exclusive = true
		return nil
	}}
}

// writeUpgradable runs fn in a write transaction that needs the exclusive lock of the tree only
// when it finds a folder: fn begins with the shared lock, and calls lock.requireExclusive before it
// changes anything.
func (t *Tree) writeUpgradable(ctx context.Context, fn func(tx *db.Tx, lock *treeLock) error) error {
	lock := &treeLock{exclusive: t.DB.Dialect().SingleWriter()}
	return t.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockTree(lock.exclusive); err != nil {
			return fmt.Errorf("lock the tree: %w", err)
		}
		return fn(tx, lock)
	})
}

// allow decides whether the actor has the permission p on the entry that target describes, by
// rules, ownership, home, and passwords. Faults: Forbidden, PasswordRequired.
func (rs *ruleset) allow(a access.Actor, target access.Target, p access.Permission) error {
	switch rs.policy.Decide(a, target, p).Outcome {
	case access.Allowed:
		return nil
	case access.NeedsPassword:
		return fault.New(fault.PasswordRequired, "A password is required.")
	}
	return forbidden()
}

// forbidden is the fault Forbidden of an actor without the permission.
func forbidden() error {
	return fault.New(fault.Forbidden, "You do not have the permission to do this here.")
}

// noEntry is the fault NotFound for a path or id without an entry.
func noEntry() error { return fault.New(fault.NotFound, "There is no such file or folder.") }

// noMount is the fault NotFound for a path that no mount covers.
func noMount() error { return fault.New(fault.NotFound, "Nothing is mounted at this path.") }

// nameTaken is the fault AlreadyExists for a name that another entry in the folder, or a mount,
// has.
func nameTaken() error {
	return fault.New(fault.AlreadyExists, "A file or folder with this name already exists here.")
}
