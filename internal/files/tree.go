// Package files is the tree: folders and files, their links, where uploads go and where
// content is served from.
//
// An entry knows its parent and its name, nothing of its path. A path is resolved by the mount that
// covers it and then name by name in one query; an id walks up in one query, and what does not
// reach the root of a mount that covers its path does not exist. So renaming and moving touch one
// row however large the folder, and a deleted folder is one row re-parented under the graveyard
// until the collector has taken the rows away.
//
// Every operation takes the actor and decides itself, by package access, on what the database
// says at that moment; what changes the tree is decided inside its transaction. Rules and mounts
// come from memory under the config version, which each of the queries above reads along: when
// it is another than that of the rules at hand, the question is asked again. Rules are never
// loaded inside a transaction.
//
// On PostgreSQL transactions that change single entries share a lock on the tree, and those that
// move, rename or delete a folder hold it alone.
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

// Config is what a Tree needs.
type Config struct {
	DB        *db.DB
	Policies  *access.Store
	Mounts    *mount.Store
	Providers *provider.Registry
	IDs       *ident.Source
	Objects   *object.Registry
	Now       func() time.Time
	Log       *slog.Logger
	// Owner returns an account as an actor, without key, address or passwords given, and whether it
	// is active; permanent links and jobs ask.
	Owner func(ctx context.Context, version int64, userID string) (access.Actor, bool, error)
	// Key returns what an API key may do, and whether it can be used from that address now; jobs
	// that were asked for with one ask.
	Key func(ctx context.Context, version int64, keyID string, ip netip.Addr) (*access.Key, bool, error)
	// Active reports whether there is an active account of that id; whatever makes entries asks,
	// inside its transaction. Nil for always.
	Active func(q db.Querier, userID string) (bool, error)
	// Heir returns to whom the entries of an account that was deleted are still being handed over,
	// nobody for any other. Nil for nobody.
	Successor func(q db.Querier, userID string) (Successor, error)
	// Wake is called when a job has been inserted; nil for nobody.
	Wake func()
}

// Tree is the tree of all mounts. All methods are safe for concurrent use.
type Tree struct {
	Config
	lastRules atomic.Pointer[ruleset]

	copyBatchSize int // how many entries one transaction copies at most
	usageCache    usageCache
	sampleSize    int64 // how many deleted files Usage looks at
}

// Spec returns the Tree in cfg.DB.
func New(cfg Config) *Tree {
	t := &Tree{Config: cfg, copyBatchSize: entriesPerPiece, sampleSize: sampleSize}
	t.usageCache.counting = make(chan struct{}, 1)
	return t
}

// ruleset is what a question is decided by: the rules and mounts of one config version.
type ruleset struct {
	version int64
	policy  *access.Policy
	mounts  *mount.Table
}

// currentRules reads the present config version and returns its view. Never call
// it inside a transaction.
func (t *Tree) currentRules(ctx context.Context) (*ruleset, error) {
	version, err := db.ConfigVersion(t.DB.Read(ctx))
	if err != nil {
		return nil, fmt.Errorf("read the config version: %w", err)
	}
	return t.rulesAt(ctx, version)
}

// rulesAt returns the view of a version that was read outside of any transaction.
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
	v := &ruleset{version: version, policy: policy.WithMounts(mountLookup{mounts}), mounts: mounts}
	t.lastRules.Store(v)
	return v, nil
}

// mountLookup shows the mounts to the policy.
type mountLookup struct{ table *mount.Table }

// Covering implements access.Mounts.
func (p mountLookup) Covering(path vpath.Path) string {
	m, _ := p.table.Resolve(path)
	return m.ID
}

// RelativeTo implements access.Mounts.
func (p mountLookup) Below(path vpath.Path) map[string]vpath.Path {
	below := map[string]vpath.Path{}
	for _, m := range p.table.Below(path) {
		below[m.ID] = m.Path
	}
	return below
}

// versionedRead is a question to the database under a view; it returns the config version that the
// answer was read with.
type versionedRead func(v *ruleset) (version int64, err error)

// readConsistent asks outside of a transaction, until the answer is of the version that it was
// asked under, and returns that view.
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

// readConsistentTx asks inside a transaction. What it lacks it has loaded outside,
// by way of db.Again.
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

// nowMs is the time in milliseconds.
func (t *Tree) nowMs() int64 { return t.Now().UnixMilli() }

// writeLocked runs fn in a transaction that holds the tree's lock, alone when a
// folder changes its place.
func (t *Tree) writeLocked(ctx context.Context, alone bool, fn func(tx *db.Tx) error) error {
	return t.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockTree(alone); err != nil {
			return fmt.Errorf("lock the tree: %w", err)
		}
		return fn(tx)
	})
}

// allow asks for one permission. Faults: Forbidden, PasswordRequired.
func (v *ruleset) allow(a access.Actor, target access.Target, p access.Permission) error {
	switch v.policy.Decide(a, target, p).Outcome {
	case access.Allowed:
		return nil
	case access.NeedsPassword:
		return fault.New(fault.PasswordRequired, "A password is required.")
	}
	return forbidden()
}

func forbidden() error {
	return fault.New(fault.Forbidden, "You do not have the permission to do this here.")
}

func noEntry() error { return fault.New(fault.NotFound, "There is no such file or folder.") }

func noMount() error { return fault.New(fault.NotFound, "Nothing is mounted at this path.") }

func nameTaken() error {
	return fault.New(fault.AlreadyExists, "A file or folder of this name exists there already.")
}
