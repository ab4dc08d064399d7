// Package fsck compares the database with itself and with the object stores, sweeps objects without
// references from the stores, and scrubs the stores: it reads every object in the background and
// heals those that are damaged.
//
// It works beside running servers. The database's own consistency is checked range by range, each
// range in one statement, so that it sees no transaction half done. A difference between a store
// and the database is a finding if it is there again after a pause, with the row read again. Only
// one range of rows is in memory at a time, whatever the number of files.
//
// An object without references never gets one later: a key is on the garbage list before its bytes
// are written, and files are only created from keys on that list. Therefore the sweep cannot remove
// an object that an upload is about to use. The minimum age of swept objects is an additional
// protection against cases that were not foreseen.
//
// The package reads the tables of all packages, since it compares them, and changes them only
// through the owning packages. It repairs nothing without being asked, and never a file whose bytes
// are missing.
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

// Kind is the kind of a finding.
type Kind string

// The kinds of finding.
const (
	StoreUnavailable Kind = "store"       // the store of a provider is unavailable; its objects were not checked
	Missing          Kind = "missing"     // the bytes of an object are not in its store
	Unreadable       Kind = "unreadable"  // the bytes are there, and the store cannot read them
	WrongSize        Kind = "size"        // the sizes of the store, the object and the file differ
	WrongHash        Kind = "hash"        // the bytes differ from those that were stored
	Orphaned         Kind = "orphaned"    // an object in a store without any reference
	NoObject         Kind = "no-object"   // a file without content
	WrongRefs        Kind = "refs"        // the reference count of an object is wrong
	OnGarbageList    Kind = "doomed"      // the object of a file is on the garbage list
	Unreachable      Kind = "unreachable" // an entry without a parent, or a folder that contains itself
	WrongQuota       Kind = "quota"       // a counter of a user differs from the sum
	BrokenLink       Kind = "link"        // a permanent link to a missing file
	LeftoverCopy     Kind = "copy"        // the remains of a copy that no job continues
	WrongSortKey     Kind = "sort-key"    // an entry is listed in a wrong place
	WrongTrash       Kind = "trash"       // the trash, its records, or the counts of its bytes differ
)

// Finding is one inconsistency.
type Finding struct {
	Kind     Kind
	Text     string // the subject and the problem, for a person
	Repaired bool
}

// Repairs selects what a check repairs.
type Repairs struct {
	// put unreferenced objects on the garbage list, and delete copies that no job continues
	Orphans bool
	Quota   bool // set the counters to the sums
	Refs    bool // recount the references of objects, and take objects that files need off the garbage list
	Hashes  bool // fill in missing SHA-256s; needs Deep
	Sorting bool // compute wrong sort keys anew
	Trash   bool // record unrecorded entries, drop records without entries, set the counts to the sums
}

// ParseRepairs parses a list such as "orphans,quota" from the command line; "" selects nothing.
// Error: an unknown word.
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
		case "sorting":
			m.Sorting = true
		case "trash":
			m.Trash = true
		default:
			return Repairs{}, fmt.Errorf("%q can't be repaired: choose from orphans, quota, refs, hashes, "+
				"sorting and trash", word)
		}
	}
	return m, nil
}

// Options are the options of a check.
type Options struct {
	Deep   bool // read every object and compare its SHA-256
	Repair Repairs
	Report func(Finding) // called with each finding as it is found
}

// Summary counts what a check has examined.
type Summary struct {
	Entries, Objects, Stored int64 // rows of entries and objects; objects seen in stores
	Bytes                    int64 // read because of Deep
	TooYoung                 int64 // unreferenced objects below the minimum age
	Unhashed                 int64 // objects still without SHA-256
	Unchecked                int64 // objects whose store was unavailable
	Unlisted                 int64 // locations whose objects cannot be listed
	Findings, Repaired       int64
}

// Config holds the dependencies and settings of a Service.
type Config struct {
	DB        *db.DB
	Tree      *files.Tree
	Objects   *object.Registry
	Providers *provider.Registry
	Now       func() time.Time
	Log       *slog.Logger
	Pause     time.Duration // before an apparent problem is checked again, 0 for half a second

	ScrubRate    int64  // bytes that a scrub in the background reads a second, 0 for no scrub
	ScrubBuckets bool   // a scrub reads buckets, too
	WakeScrub    func() // is called when a scrub has been queued; nil for none
	// OpenBackup opens the backup from which a scrub in the background heals; nil for none
	OpenBackup func(ctx context.Context) (Backup, error)
}

// Service checks and sweeps. Its methods are safe for concurrent use.
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
	namedObjects int                    // objects whose files were looked up

	scrub *scrub // the pass that this check belongs to, nil for none
}

// Command is the name under which Check records its result, see db.LastCommandResult.
const Command = "fsck"

// Check examines the database and all stores and reports its findings. It returns an error when it
// could not continue; a failing store is a finding and not an error.
func (s *Service) Check(ctx context.Context, o Options) (Summary, error) {
	c := &check{Service: s, Options: o, ctx: ctx, stores: map[string]*storeState{}}
	locations, err := s.Providers.StoreLocations(ctx)
	if err != nil {
		return c.Summary, err
	}
	if err := c.openStores(locations); err != nil {
		return c.Summary, err
	}
	for _, step := range []struct {
		doing string
		run   func() error
	}{
		{"check the tree", c.checkEntries},
		{"check the order of names", c.checkSortKeys},
		{"check the links", c.checkLinks},
		{"check the copies under way", c.checkCopies},
		{"check the references", c.checkReferences},
		{"check the quotas", c.checkQuotas},
		{"check the trash", c.checkTrash},
		{"check the objects", c.checkObjects},
	} {
		if err := step.run(); err != nil {
			return c.Summary, fmt.Errorf("%s: %w", step.doing, err)
		}
	}
	for _, p := range locations {
		if err := c.checkLeftovers(p); err != nil {
			return c.Summary, fmt.Errorf("look for leftovers: %w", err)
		}
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		return tx.SetCommandResult(Command, db.CommandResult{EndedAt: s.Now().UnixMilli(), Problems: int64(c.Findings)})
	})
	if err != nil {
		err = fmt.Errorf("the check is complete, but its outcome could not be recorded: %w", err)
	}
	return c.Summary, err
}

// addFinding counts and reports a finding; format and args describe it. When repair is not nil
// addFinding calls it first, and marks the finding as repaired. Error: that of repair, which ends
// the check.
func (c *check) addFinding(kind Kind, repair func() error, format string, args ...any) error {
	f := Finding{Kind: kind, Text: fmt.Sprintf(format, args...)}
	if repair != nil {
		if err := repair(); err != nil {
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

// wait waits for Config.Pause before a second check.
func (c *check) wait() error {
	select {
	case <-c.ctx.Done():
		return c.ctx.Err()
	case <-time.After(c.Pause):
		return nil
	}
}
