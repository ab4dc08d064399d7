// Package backup copies a running service into a directory, and makes a service of
// such a directory again.
//
// A backup has two halves. `objects/` is a pool: every object of the local stores under its
// provider and key. Objects never change, so a further backup copies what is new. `snapshots/`
// holds one directory for each backup that is kept: the database as it was at one moment (a SQLite
// file, whichever engine the service runs on), what the pool has to hold for it, and, if the
// service made its key itself, that key. docs/adr/0006 has it in full.
//
// What makes it consistent: a hold keeps the collector from deleting anything, then the snapshot is
// taken, then what the snapshot names is copied. A backup that lost its hold fails. A snapshot gets
// its name when all is durable; what is older goes after that. So whatever is interrupted leaves
// the previous backup as it was, and the next run goes on with what is in the pool already.
//
// A restore begins with an empty place and ends with the database, so that what is interrupted
// never looks like a service. It can be begun again.
//
// Abuse cases C114, C116, C118 and C132.
package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/disk"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/object"
	"larder/internal/provider"
)

// Config is what a Service works with.
type Config struct {
	DB        *db.DB
	Objects   *object.Registry
	Providers *provider.Registry
	Now       func() time.Time
	Log       *slog.Logger

	DataDir, ObjectDir string
	Fingerprint        string        // of the master key
	KeyFile            string        // where the service has made its key, "" for a key that was given to it
	BaseURL, Larder    string        // address and version, for the manifest
	RenewEvery         time.Duration // how often the hold is renewed, 0 for a minute
}

// Service takes backups.
type Service struct{ Config }

// New returns a Service.
func New(cfg Config) *Service {
	if cfg.RenewEvery == 0 {
		cfg.RenewEvery = time.Minute
	}
	return &Service{cfg}
}

// Options say what is wanted of one backup.
type Options struct {
	Dir      string
	Keep     int          // how many snapshots stay, at least 1
	Verify   bool         // read what the pool has already, too
	Report   func(string) // called for each thing that is wrong
	Progress func(Progress)
}

// Progress is how far a backup or a restore is.
type Progress struct {
	Objects, Bytes       int64 // done
	AllObjects, AllBytes int64
}

// Summary is what came of a backup.
type Summary struct {
	Snapshot       string // its name
	Objects, Bytes int64  // on the local disk
	Copied, Added  int64  // those of them that were new to the pool, and their bytes
	Elsewhere      int64  // objects that are only listed
	Unhashed       int64  // objects that have no SHA-256 to compare with yet
	Wrong          int64  // objects, or the access log, that could not be had as they should be: the backup lacks them
	Pruned         int64  // objects that left the pool
	Spared         int64  // snapshots that stay because their databases are newer
}

// Command is the name under which Run records its outcome, see db.LastOutcome.
const Command = "backup"

// backupRun is one backup.
type backupRun struct {
	*Service
	Options
	dir  *directory
	hold *renewedHold
	rows *db.DB // the snapshot's

	sources  map[string]blob.Store  // of local providers
	pools    map[string]*disk.Store // of the same
	manifest Manifest
	taken    time.Time // when the snapshot was begun

	mu      sync.Mutex // guards what follows, Report and Progress
	summary Summary
	total   Progress
}

// Run takes a backup. An error means that there is no new one, and that those of before are as they
// were; what is wrong with single objects is reported and counted.
func (s *Service) Run(ctx context.Context, o Options) (sum Summary, err error) {
	if o.Keep < 1 {
		return Summary{}, errors.New("at least one snapshot must be kept")
	}
	if err := s.checkApart(ctx, o.Dir); err != nil {
		return Summary{}, err
	}
	dir, err := openDirectory(o.Dir, s.Fingerprint)
	if err != nil {
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, dir.close()) }()
	if err := dir.removeLeftovers(); err != nil {
		return Summary{}, err
	}
	held, err := s.holdCollector(ctx)
	if err != nil {
		return Summary{}, err
	}
	crash.Point("backup.held")
	r := &backupRun{Service: s, Options: o, dir: dir, hold: held, sources: map[string]blob.Store{},
		pools: map[string]*disk.Store{}}
	err = r.takeSnapshot(held.ctx)
	if lost := context.Cause(held.ctx); errors.Is(lost, object.ErrHoldLost) {
		err = lost
	}
	if err = errors.Join(err, held.release()); err != nil {
		return r.summary, err
	}
	noted := s.DB.Write(ctx, func(tx *db.Tx) error {
		return tx.SetCommandResult(Command, db.CommandResult{EndedAt: s.Now().UnixMilli(), Problems: r.summary.Wrong})
	})
	if noted != nil {
		noted = fmt.Errorf("the new backup is complete, but its outcome could not be noted: %w", noted)
	}
	if err := r.prune(ctx); err != nil {
		return r.summary, fmt.Errorf("the new backup is complete, but what is old could not be removed: %w", err)
	}
	crash.Point("backup.pruned")
	return r.summary, noted
}

// checkApart refuses a directory inside what it is to be a copy of, and the reverse.
func (s *Service) checkApart(ctx context.Context, dir string) error {
	of := []string{s.DataDir, s.ObjectDir}
	all, err := s.Providers.All(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.Type == provider.BuiltIn {
			of = append(of, filepath.Join(s.ObjectDir, p.Bucket)) // may be a symbolic link to another disk
		}
	}
	here, err := resolve(dir)
	if err != nil {
		return err
	}
	for _, path := range of {
		there, err := resolve(path)
		if err != nil {
			return err
		}
		if inside(here, there) || inside(there, here) {
			return fmt.Errorf(
				"a backup can't lie in what it is a copy of, nor around it: choose a directory apart from %s", path)
		}
	}
	return nil
}

// hold is a hold that is looked after.
type renewedHold struct {
	*object.Hold
	ctx      context.Context // ends with the hold, because of object.ErrHoldLost
	cancel   context.CancelCauseFunc
	renewing sync.WaitGroup
}

// holdCollector keeps the collector back until release.
func (s *Service) holdCollector(ctx context.Context) (*renewedHold, error) {
	hold, err := s.Objects.Hold(ctx)
	if err != nil {
		return nil, err
	}
	h := &renewedHold{Hold: hold}
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	h.renewing.Go(func() {
		tick := time.NewTicker(s.RenewEvery)
		defer tick.Stop()
		for {
			select {
			case <-h.ctx.Done():
				return
			case <-tick.C:
			}
			switch err := h.Renew(h.ctx); {
			case errors.Is(err, object.ErrHoldLost):
				h.cancel(err)
			case err != nil && h.ctx.Err() == nil: // the next time will tell whether it was too late
				s.Log.Warn("renew the hold of a backup", "error", err)
			}
		}
	})
	return h, nil
}

func (h *renewedHold) release() error {
	h.cancel(nil)
	h.renewing.Wait()
	return h.Release(context.WithoutCancel(h.ctx))
}

// takeSnapshot makes the new snapshot, up to its name.
func (r *backupRun) takeSnapshot(ctx context.Context) error {
	if err := os.Mkdir(r.dir.newSnapshotPath(), 0o700); err != nil {
		return fmt.Errorf("begin a snapshot: %w", err)
	}
	path := filepath.Join(r.dir.newSnapshotPath(), databaseName)
	r.taken = r.Now() // before it begins: what came later may be missing in it
	if err := r.DB.Snapshot(ctx, path, secretTables...); err != nil {
		return err
	}
	crash.Point("backup.snapshot")
	var err error
	if r.rows, err = db.OpenSnapshot(ctx, path, r.Log); err != nil {
		return err
	}
	defer r.rows.Close() // opened to read
	if err := r.openStores(ctx); err != nil {
		return err
	}
	defer r.closePools()
	if err := r.copyObjects(ctx); err != nil {
		return err
	}
	crash.Point("backup.copied")
	if err := r.describe(ctx); err != nil {
		return err
	}
	crash.Point("backup.described")
	if err := r.hold.Renew(ctx); err != nil { // up to here all that the snapshot names was there
		return err
	}
	if err := r.dir.publish(r.summary.Snapshot); err != nil {
		return err
	}
	crash.Point("backup.published")
	return nil
}
