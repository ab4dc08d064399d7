// Package object records stored objects: the tables objects and garbage, the keys of new objects,
// and the collector.
//
// An object is immutable and counts the files that refer to it. When the last reference is removed,
// its row is deleted and its key is put on the garbage list. A key is also on that list before
// anything is stored under it, so that the collector finds what an upload or a copy leaves behind.
// Only the collector deletes objects: those whose keys on the list are due, as long as no hold is
// valid and no object has the key. A key that the collector has claimed cannot be taken off the
// list any more; a caller who loses that race gets ErrCollected.
//
// Garbage that was the content of a file keeps its size and the owner of the file. Beyond an
// account's bound its oldest garbage is due at once.
//
// Functions that take a transaction change nothing outside of it. Specification: Limits;
// docs/architecture.md, The life of an upload.
package object

import (
	"context"
	"log/slog"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/ident"
	"larder/internal/provider"
)

// Config is the configuration of a Registry.
type Config struct {
	DB        *db.DB
	Providers *provider.Registry
	IDs       *ident.Source
	Now       func() time.Time
	Grace     time.Duration // how long an unreferenced object is kept
	Log       *slog.Logger
	Cache     *Cache // of small objects that are served, nil for none
	// Store opens the store of a provider to read, copy or delete objects; nil for Providers.Store.
	Store func(ctx context.Context, providerID string) (blob.Store, error)
	// TrimSoon is called when an account may have too much garbage, so that Trim should run soon;
	// it may be nil. It must not block.
	TrimSoon func()
	// Unreserved returns how many bytes of a user's running uploads are not reserved because they
	// replace other bytes; it may be nil.
	Unreserved func(q db.Querier, userID string) (bytes int64, err error)
}

// Registry records all objects, in the database and in the stores. Its methods are safe for
// concurrent use.
type Registry struct {
	Config
	Keys *KeySource // for new objects

	deleteTimeout time.Duration // of one deletion
	storeBudget   time.Duration // time for the deletions of a piece in one store
	startBudget   startBudget
	paused        pausedProviders
	garbageWatch  garbageWatch
}

// New returns the Registry in cfg.DB.
func New(cfg Config) *Registry {
	if cfg.Store == nil {
		cfg.Store = cfg.Providers.Store
	}
	r := &Registry{Config: cfg, deleteTimeout: deleteTimeout, storeBudget: storeBudget,
		startBudget: startTimer}
	r.Keys = &KeySource{registry: r, byProvider: map[string]*providerKeys{}}
	return r
}

// Location is the location of a stored object.
type Location struct {
	Provider string
	Key      blob.Key
}

// Record describes a stored object.
type Record struct {
	Location
	Size   int64  // bytes
	SHA256 string // hexadecimal; "" when it is not known yet
	ETag   string // of the store
}

// Copy is where the content of an object can be read, which may be damaged there.
type Copy struct {
	From blob.Opener
	Key  blob.Key
}

// nowMs is the present time in milliseconds.
func (r *Registry) nowMs() int64 { return r.Now().UnixMilli() }
