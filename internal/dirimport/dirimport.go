// Package dirimport stores the files of a directory of this machine as files of an account. It uses
// the code of uploads: quota, hash, object, one transaction for each file. So no file is visible
// before it is complete, and an interruption leaves only whole files. A repeated import skips the
// files that are there already.
//
// The import never follows a symbolic link and never leaves the directory, even when somebody
// changes the directory meanwhile. It reports each entry that it leaves out. It stops with an error
// when no other file could be stored either: the store or the database fails, or the account is not
// active any more. docs/adr/0019-import-writes-objects.md.
package dirimport

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/files"
	"larder/internal/quota"
	"larder/internal/upload"
	"larder/internal/vpath"
)

// Config is the configuration of a Service.
type Config struct {
	DB      *db.DB
	Tree    *files.Tree
	Uploads *upload.Service
	Now     func() time.Time
	// Own are the directories of this installation, which are never imported.
	Own []string
	// CheckUsable returns an error when this process must not write to the database any more. It is
	// called before each folder, and in the transaction of each file.
	CheckUsable func(ctx context.Context) error
}

// Service imports directories.
type Service struct{ Config }

// New returns a Service.
func New(cfg Config) *Service { return &Service{cfg} }

// Options are the options of an import.
type Options struct {
	Dir     string     // directory of this machine
	UserID  string     // account that owns the files and pays for them
	Into    vpath.Path // folder that gets the contents of Dir; it is made if it is missing
	Replace bool       // replaces files of other content, instead of reporting them
	// Report is called for each entry that is left out.
	Report func(Finding)
	// Progress, unless it is nil, is called after each read of a file.
	Progress func(Progress)
}

// Kind says why an entry is left out.
type Kind string

// The kinds.
const (
	Differs Kind = "differs" // the account has another file of this name
	Skipped Kind = "skipped" // neither a file nor a directory
	Refused Kind = "refused" // no file of an account can be like this
	Failed  Kind = "failed"  // could be imported by another try
)

// Finding is an entry that is left out, with everything in it.
type Finding struct {
	Kind   Kind
	Path   string // relative to the directory; need not be UTF-8
	Reason string // a sentence, or the error of the machine
}

// Plan is what an import has to do.
type Plan struct {
	Folders int64 // folders to make
	Files   int64 // files to store
	Bytes   int64 // in these files
	Present int64 // files that are there already
	LeftOut map[Kind]int64

	NeedsBytes, NeedsFiles int64 // what the quota of the account must have room for
	RoomBytes, RoomFiles   int64 // its room, math.MaxInt64 for no limit
}

// Fits reports whether the quota of the account has room for everything that the import would
// store.
func (p Plan) Fits() bool { return p.NeedsBytes <= p.RoomBytes && p.NeedsFiles <= p.RoomFiles }

// Progress is the progress of an import.
type Progress struct {
	Files int64 // stored
	Bytes int64 // read
}

// Summary is what an import did.
type Summary struct {
	Folders  int64 // made
	Files    int64 // stored
	Bytes    int64 // in these files
	Replaced int64 // of Files
	Present  int64 // files that were there already
	LeftOut  map[Kind]int64
}

// Plan finds out what Import would do, and changes nothing. It reports the entries that Import
// would leave out, as far as that is known beforehand. Errors: those of Import.
func (s *Service) Plan(ctx context.Context, o Options) (Plan, error) {
	r, err := s.begin(o)
	if err != nil {
		return Plan{}, err
	}
	defer r.root.Close() // opened for reading
	r.plan = &Plan{LeftOut: map[Kind]int64{}}
	r.leftOut = r.plan.LeftOut
	p := r.plan
	if p.RoomBytes, p.RoomFiles, err = quota.Remaining(s.DB.Read(ctx), o.UserID); err != nil {
		return Plan{}, fmt.Errorf("read the quota: %w", err)
	}
	err = r.all(ctx)
	return *p, err
}

// Import stores the files of o.Dir that the account does not have yet. The Summary is valid with an
// error, too. Errors: ErrOwn; ErrInto; that of ctx when it has ended; others when no file can be
// stored.
func (s *Service) Import(ctx context.Context, o Options) (Summary, error) {
	r, err := s.begin(o)
	if err != nil {
		return Summary{}, err
	}
	defer r.root.Close() // opened for reading
	r.leftOut = map[Kind]int64{}
	r.sum.LeftOut = r.leftOut
	err = r.all(ctx)
	return r.sum, err
}

// begin opens the directory of an import, as the root that the run cannot leave. The caller closes
// it. Error: ErrOwn.
func (s *Service) begin(o Options) (*run, error) {
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := s.checkNotOwn(o.Dir); err != nil {
		_ = root.Close() // opened for reading
		return nil, err
	}
	return &run{Service: s, Options: o, root: root, actor: access.Actor{UserID: o.UserID, Operator: true}}, nil
}

// checkNotOwn returns ErrOwn for a directory that holds a directory of this installation, or is
// inside of one.
func (s *Service) checkNotOwn(dir string) error {
	for _, own := range s.Own {
		for _, pair := range [][2]string{{own, dir}, {dir, own}} {
			in, err := isWithin(pair[0], pair[1])
			if err != nil {
				return err
			}
			if in {
				return fmt.Errorf("%w: %s and %s", ErrOwn, dir, own)
			}
		}
	}
	return nil
}

// isWithin reports whether the directory inner is outer or below it. It compares the files
// themselves, so that links and mounts do not deceive it. A missing directory is in none.
func isWithin(inner, outer string) (bool, error) {
	at, err := filepath.EvalSymlinks(inner)
	if err == nil {
		at, err = filepath.Abs(at)
	}
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	want, err := os.Stat(outer)
	if os.IsNotExist(err) {
		return false, nil
	}
	for err == nil {
		var here os.FileInfo
		if here, err = os.Stat(at); err != nil {
			break
		}
		parent := filepath.Dir(at)
		if os.SameFile(here, want) || parent == at {
			return os.SameFile(here, want), nil
		}
		at = parent
	}
	return false, err
}
