// Package fsck compares what the database says with itself and with the object stores, and sweeps
// from the stores what nothing refers to.
//
// It works beside running servers. What the database says about itself is asked piece by piece,
// each piece in one statement: a snapshot that no transaction is half in, so that nothing under
// way looks wrong. What a store shows is compared with the database twice, the second time
// after a moment and with the row read anew. It is a piece at a time that is in memory,
// whatever the number of files.
//
// An object that nothing knows stays unknown for ever: a key is on the garbage list before
// its bytes are written, and a file is only ever made of a key that is on it. So the sweep
// can't take what an upload is about to use; the age that it asks for besides is for what it
// has not thought of.
//
// It reads the tables of all packages, since it holds them against each other, and changes
// them through their owners only. Nothing is mended unless it was asked for, and a file whose
// bytes are gone never.
package fsck

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"larder/internal/db"
	"larder/internal/files"
	"larder/internal/object"
	"larder/internal/provider"
)

// Kind is what a finding is about.
type Kind string

// The kinds of finding.
const (
	StoreUnavailable Kind = "store"       // a provider's store is not there; its objects were not looked at
	Missing          Kind = "missing"     // the bytes of an object are not in its store
	Unreadable       Kind = "unreadable"  // they are there, and the store can't read them
	WrongSize        Kind = "size"        // the store, the object or the file differ about the number of bytes
	WrongHash        Kind = "hash"        // the bytes are not those that were stored
	Orphaned         Kind = "orphaned"    // an object in a store that nothing refers to
	NoObject         Kind = "no-object"   // a file without content
	WrongRefs        Kind = "refs"        // an object counts its files wrongly
	OnGarbageList    Kind = "doomed"      // the collector is to delete the object of a file
	Unreachable      Kind = "unreachable" // an entry that hangs below nothing, or in a circle
	WrongQuota       Kind = "quota"       // a counter of a user is not the sum of what there is
	BrokenLink       Kind = "link"        // a permanent link of nothing
	LeftoverCopy     Kind = "copy"        // what is left of a copy that no job goes on with
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Kind     Kind
	Text     string // what it is about and what is wrong, for a person
	Repaired bool
}

// Repairs says what is to be put right.
type Repairs struct {
	// objects that nothing refers to go on the garbage list, and copies that no job goes on
	// with are taken down
	Orphans bool
	Quota   bool // counters become the sums
	Refs    bool // objects count their files anew, and are taken off the garbage list when a file needs them
	Hashes  bool // a SHA-256 that nobody has computed yet is filled in; takes Deep
}

// ParseRepairs reads a list such as "orphans,quota".
func ParseRepairs(list string) (Repairs, error) {
	var m Repairs
	for word := range strings.SplitSeq(list, ",") {
		switch strings.TrimSpace(word) {
		case "":
		case "orphans":
			m.Orphans = true
		case "quota":
			m.Quota = true
		case "refs":
			m.Refs = true
		case "hashes":
			m.Hashes = true
		default:
			return Repairs{}, fmt.Errorf("%q can't be repaired: there is orphans, quota, refs and hashes", word)
		}
	}
	return m, nil
}

// Options are what a check is asked for.
type Options struct {
	Deep   bool // read every object and compare its SHA-256
	Repair Repairs
	Report func(Finding) // called for each finding as it comes
}

// Summary is what was looked at.
type Summary struct {
	Entries, Objects, Stored int64 // rows of entries and objects; objects seen in stores
	Bytes                    int64 // read because of Deep
	TooYoung                 int64 // objects that nothing refers to, too young to judge
	Unhashed                 int64 // objects without SHA-256, after filling in
	Unchecked                int64 // objects whose store was not there
	Unlisted                 int64 // places that can't list what lies there
	Findings, Repaired       int64
}

// Config is what a Service works with.
type Config struct {
	DB        *db.DB
	Tree      *files.Tree
	Objects   *object.Registry
	Providers *provider.Registry
	Now       func() time.Time
	Log       *slog.Logger
	Pause     time.Duration // before the second look at what seems wrong, 0 for half a second
}

// Service checks and sweeps. All methods are safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(cfg Config) *Service {
	if cfg.Pause == 0 {
		cfg.Pause = 500 * time.Millisecond
	}
	return &Service{cfg}
}

// check is one run of Check.
type check struct {
	*Service
	Options
	Summary
	ctx          context.Context
	stores       map[string]*storeState // by provider
	namedObjects int                    // objects whose files were looked for
}

// Command is the name under which Check records its outcome, see db.LastOutcome.
const Command = "fsck"

// Check looks at everything and reports what it finds. An error means that it could not go on; what
// a store does not do is a finding.
func (s *Service) Check(ctx context.Context, o Options) (Summary, error) {
	c := &check{Service: s, Options: o, ctx: ctx, stores: map[string]*storeState{}}
	places, err := s.Providers.StoreLocations(ctx)
	if err != nil {
		return c.Summary, err
	}
	if err := c.openStores(places); err != nil {
		return c.Summary, err
	}
	for _, step := range []struct {
		doing string
		run   func() error
	}{
		{"check the tree", c.checkEntries},
		{"check the links", c.checkLinks},
		{"check the copies under way", c.checkCopies},
		{"check the references", c.checkReferences},
		{"check the quotas", c.checkQuotas},
		{"check the objects", c.checkObjects},
	} {
		if err := step.run(); err != nil {
			return c.Summary, fmt.Errorf("%s: %w", step.doing, err)
		}
	}
	for _, p := range places {
		if err := c.checkLeftovers(p); err != nil {
			return c.Summary, fmt.Errorf("look for leftovers: %w", err)
		}
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		return tx.SetCommandResult(Command, db.CommandResult{EndedAt: s.Now().UnixMilli(), Problems: int64(c.Findings)})
	})
	if err != nil {
		err = fmt.Errorf("the check is complete, but its outcome could not be noted: %w", err)
	}
	return c.Summary, err
}

// addFinding reports a finding, and mends it first when mend is not nil.
func (c *check) addFinding(kind Kind, mend func() error, format string, args ...any) error {
	f := Finding{Kind: kind, Text: fmt.Sprintf(format, args...)}
	if mend != nil {
		if err := mend(); err != nil {
			return fmt.Errorf("repair %s: %w", f.Text, err)
		}
		f.Repaired = true
		c.Repaired++
	}
	c.Findings++
	if c.Report != nil {
		c.Report(f)
	}
	return nil
}

// wait lets a moment pass before a second look.
func (c *check) wait() error {
	select {
	case <-c.ctx.Done():
		return c.ctx.Err()
	case <-time.After(c.Pause):
		return nil
	}
}
