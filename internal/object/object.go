// Package object keeps account of stored objects: the tables objects and garbage, the keys of
// objects to come, and the collector.
//
// An object is immutable and counts the files that refer to it. With the last reference its row
// goes, and its key is put on the garbage list. A key is on that list before anything is stored
// under it, too, so that the collector finds what an upload or a copy leaves behind. The collector
// alone deletes objects: those whose keys have been on the list until their time, as long as no
// hold is valid and no object has the key. What it has begun with cannot be taken off the list any
// more; whoever loses that race gets ErrCollected.
//
// Garbage that was the content of a file keeps its size and the owner of the file. Beyond an
// account's bound its oldest garbage is due at once.
//
// Functions that take a transaction belong to the caller's: they do nothing besides. Specification:
// Limits; docs/architecture.md, The life of an upload.
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

// Config is what a Registry needs.
type Config struct {
	DB        *db.DB
	Providers *provider.Registry
	IDs       *ident.Source
	Now       func() time.Time
	Grace     time.Duration // how long an object that nothing refers to is kept
	Log       *slog.Logger
	// Store opens the store of a provider to read, copy or delete objects; nil for Providers.Store.
	Store func(ctx context.Context, providerID string) (blob.Store, error)
	// TrimSoon is called when an account may have too much garbage, so that Trim is to be called
	// soon; nil for no call. It must not block.
	TrimSoon func()
	// Unreserved returns how many bytes of a user's uploads under way are not reserved, since they
	// are to replace others; nil for none.
	Unreserved func(q db.Querier, userID string) (bytes int64, err error)
}

// Registry is the record of all objects, in the database and in the stores. All methods are
// safe for concurrent use.
type Registry struct {
	Config
	Keys *KeySource // of the objects to come

	deleteTimeout time.Duration // how long a deletion may take
	storeBudget   time.Duration // how long a piece of them may take at one store
	paused        pausedProviders
	garbageWatch  garbageWatch
}

// New returns the Registry in cfg.DB.
func New(cfg Config) *Registry {
	if cfg.Store == nil {
		cfg.Store = cfg.Providers.Store
	}
	r := &Registry{Config: cfg, deleteTimeout: deleteTimeout, storeBudget: storeBudget}
	r.Keys = &KeySource{registry: r, byProvider: map[string]*providerKeys{}}
	return r
}

// Location names a stored object.
type Location struct {
	Provider string
	Key      blob.Key
}

// Record describes a stored object.
type Record struct {
	Location
	Size   int64  // bytes
	SHA256 string // hexadecimal, "" when nobody has read it yet
	ETag   string // the store's
}

// nowMs is the time in milliseconds.
func (r *Registry) nowMs() int64 { return r.Now().UnixMilli() }
