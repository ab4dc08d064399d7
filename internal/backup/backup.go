// Package backup copies a running service into a directory, and restores a service from such a
// directory.
//
// A backup has two parts. `objects/` is the pool: every object of the local stores, under its
// provider and key. Objects never change, so a later backup copies only new ones. `snapshots/`
// holds one directory for each kept backup: the database at one moment (a SQLite file, whichever
// engine the service uses), the list of objects that are not on the local disk, and the master key
// if the service made it itself. docs/adr/0006 describes the format.
//
// A backup is consistent because of its order: a hold stops the collector from deleting objects,
// then the database is copied, then the objects that the copy names. A backup that loses its hold
// fails. A snapshot gets its name when everything is durable, and older snapshots are removed after
// that. An interrupted run therefore leaves the previous backup unchanged, and the next run reuses
// the objects that are in the pool already.
//
// A restore requires an empty destination and puts the database in place last, so that an
// interrupted restore never looks like a service. It can be started again.
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
	"larder/internal/blob/s3"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/object"
	"larder/internal/provider"
)

// Config holds the dependencies and settings of a Service.
type Config struct {
	DB        *db.DB
	Objects   *object.Registry
	Providers *provider.Registry
	Now       func() time.Time
	Log       *slog.Logger

	DataDir, ObjectDir string
	Fingerprint        string        // of the master key
	KeyFile            string        // the key file that the service made, "" for a key that was given to it
	BaseURL, Larder    string        // address and version of the service, for the manifest
	RenewEvery         time.Duration // interval between renewals of the hold, 0 for a minute
}

// Service takes backups.
type Service struct{ Config }

// New returns a Service. It begins nothing.
func New(cfg Config) *Service {
	if cfg.RenewEvery == 0 {
		cfg.RenewEvery = time.Minute
	}
	return &Service{cfg}
}

// Options are the settings of one backup.
type Options struct {
	Dir      string       // the directory of the backup
	Bucket   *s3.Options  // the bucket of the backup, instead of a directory; nil for none
	Keep     int          // number of snapshots to keep, at least 1
	Verify   bool         // also verify the objects that are in the pool already
	Report   func(string) // called with each problem
	Progress func(Progress)
}

// Progress is the progress of a backup or a restore.
type Progress struct {
	Objects, Bytes       int64 // done
	AllObjects, AllBytes int64
}

// Summary is the result of a backup.
type Summary struct {
	Snapshot       string // its name
	Objects, Bytes int64  // on the local disk
	Copied, Added  int64  // objects that were new to the pool, and their bytes
	Elsewhere      int64  // objects that are not on the local disk and only listed
	Unhashed       int64  // objects without a SHA-256 to compare with
	// objects, or the access log, that could not be read correctly and are missing from the backup
	Wrong  int64
	Pruned int64 // objects removed from the pool
	// the key file, which is not in the backup and without which no restore is possible; "" when
	// the backup contains it, or the key was given to the service
	KeyFile string
	Spared  int64 // old snapshots kept because their databases are newer
}

// Command is the name under which Run records its result, see db.LastCommandResult.
const Command = "backup"

// backupRun is one backup in progress.
type backupRun struct {
	*Service
	Options
	at   target
	hold *renewedHold
	rows *db.DB // the database of the new snapshot

	sources  map[string]blob.Store // by local provider
	pools    map[string]pool       // by local provider
	manifest Manifest
	taken    time.Time // the time at which the snapshot was begun

	mu      sync.Mutex // guards the fields below, and calls of Report and Progress
	summary Summary
	total   Progress
}

// Run makes a backup into o.Dir: a new snapshot, and its objects in the pool. An error means that
// there is no new snapshot and that the earlier ones are unchanged, unless it says that the new
// backup is complete. Problems with single objects are reported and counted, and are not errors.
func (s *Service) Run(ctx context.Context, o Options) (sum Summary, err error) {
	if o.Keep < 1 {
		return Summary{}, errors.New("at least one snapshot must be kept")
	}
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	at, err := s.openTarget(ctx, o, lose)
	if err != nil {
		return Summary{}, err
	}
	defer func() {
		if lost := context.Cause(ctx); errors.Is(lost, errNotAlone) && err != nil {
			err = fmt.Errorf("%w (%v)", lost, err)
		}
		err = errors.Join(err, at.close())
	}()
	if err := at.removeLeftovers(ctx); err != nil {
		return Summary{}, err
	}
	held, err := s.holdCollector(ctx)
	if err != nil {
		return Summary{}, err
	}
	crash.Point("backup.held")
	r := &backupRun{Service: s, Options: o, at: at, hold: held, sources: map[string]blob.Store{},
		pools: map[string]pool{}}
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
		noted = fmt.Errorf("the new backup is complete, but its outcome could not be recorded: %w", noted)
	}
	if err := r.prune(ctx); err != nil {
		return r.summary, fmt.Errorf("the new backup is complete, but old snapshots or objects could not be removed: "+
			"%w", err)
	}
	crash.Point("backup.pruned")
	return r.summary, noted
}

// checkApart refuses a directory for the backup that lies inside the service's data or contains it:
// the backup would copy itself, or end with the disk of the data.
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
				"the directory of a backup must be neither inside nor around what it copies: choose a directory "+
					"apart from %s", path)
		}
	}
	return nil
}

// renewedHold is a hold that is renewed in the background.
type renewedHold struct {
	*object.Hold
	ctx      context.Context // ends when the hold is lost, with the cause object.ErrHoldLost
	cancel   context.CancelCauseFunc
	renewing sync.WaitGroup
}

// holdCollector takes a hold, which stops the collector from deleting objects, and renews it in the
// background until release.
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
			case err != nil && h.ctx.Err() == nil: // the next renewal shows whether the hold was lost
				s.Log.Warn("renew the hold of a backup", "error", err)
			}
		}
	})
	return h, nil
}

// release ends the renewals and the hold.
func (h *renewedHold) release() error {
	h.cancel(nil)
	h.renewing.Wait()
	return h.Release(context.WithoutCancel(h.ctx))
}

// takeSnapshot copies the database, the objects that it names and the other files, and then
// publishes the snapshot under its name. ctx ends when the hold is lost.
func (r *backupRun) takeSnapshot(ctx context.Context) error {
	if err := os.Mkdir(r.at.newSnapshotPath(), 0o700); err != nil {
		return fmt.Errorf("begin a snapshot: %w", err)
	}
	path := filepath.Join(r.at.newSnapshotPath(), databaseName)
	r.taken = r.Now() // before the copy begins, since later changes may be missing from it
	if err := r.DB.Snapshot(ctx, path, secretTables...); err != nil {
		return err
	}
	crash.Point("backup.snapshot")
	var err error
	if r.rows, err = db.OpenSnapshot(ctx, path, r.Log); err != nil {
		return err
	}
	defer r.rows.Close() // opened for reading
	if err := r.checkKeyOf(ctx, r.rows); err != nil {
		return err
	}
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
	// a successful renewal proves that no object of the snapshot was deleted before
	if err := r.hold.Renew(ctx); err != nil {
		return err
	}
	if err := r.at.publish(ctx, r.summary.Snapshot); err != nil {
		return err
	}
	crash.Point("backup.published")
	return nil
}
