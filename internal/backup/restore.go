package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"larder/internal/account"
	"larder/internal/blob"
	"larder/internal/blob/s3"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/download"
	"larder/internal/freemode"
	"larder/internal/fsck"
	"larder/internal/job"
	"larder/internal/object"
	"larder/internal/osfile"
	"larder/internal/provider"
	"larder/internal/quota"
	"larder/internal/secret"
	"larder/internal/upload"
)

// Destination is the empty directories and the empty database that a service is restored into. No
// other process may use it during the restore.
type Destination struct {
	DataDir, ObjectDir string
	DatabaseFile       string          // of SQLite, in DataDir
	DatabaseURL        secret.Text     // of PostgreSQL, "" for SQLite
	KeyFile            string          // where the key of the backup is written
	Key                *secret.Keyring // the key given to this service, nil for none
	MinFree            int64           // bytes of free space to leave
	Now                func() time.Time
	Log                *slog.Logger
}

// RestoreOptions select what is restored.
type RestoreOptions struct {
	Dir        string       // the directory of the backup
	Bucket     *s3.Options  // the bucket of the backup, instead of a directory; nil for none
	Snapshot   string       // its name, "" for the newest
	Incomplete bool         // continue without missing or damaged objects
	Report     func(string) // called with each of them
	Progress   func(Progress)
}

// Restored is the result of a restore.
type Restored struct {
	Manifest       Manifest
	Snapshot       string
	Objects, Bytes int64 // on the local disk
	Wrong          int64 // objects missing or damaged in the backup, besides those that it never had
}

// restore is one restore in progress.
type restore struct {
	Destination
	RestoreOptions
	from       source
	manifest   Manifest
	keyInPlace bool   // the right key is in its file already
	rows       *db.DB // the database being restored
	stores     *provider.Registry
	pools      map[string]objectReader // by local provider

	mu      sync.Mutex // guards the fields below, and calls of Report and Progress
	summary Restored
	total   Progress
}

// ErrIncomplete ends a restore that found missing or damaged objects without
// RestoreOptions.Incomplete.
var ErrIncomplete = errors.New("the backup is damaged")

// Restore makes a service at to from the backup that o names: objects first, then the key, the
// database last. An interrupted restore leaves no service, and continues when it is started again
// with the same snapshot. Error: ErrIncomplete for missing or damaged objects without o.Incomplete.
func Restore(ctx context.Context, to Destination, o RestoreOptions) (sum Restored, err error) {
	r := &restore{Destination: to, RestoreOptions: o, pools: map[string]objectReader{}}
	if r.from, err = openSource(o.Dir, o.Bucket); err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, r.from.close()) }()
	unlock, err := r.lock()
	if err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	done, err := r.begin(ctx)
	if err == nil && !done {
		err = r.restoreAll(ctx)
	}
	if err == nil {
		err = r.finish()
	}
	r.summary.Snapshot, r.summary.Manifest = r.Snapshot, r.manifest
	return r.summary, err
}

// openSource opens the backup in a directory, or in a bucket unless that is nil, for reading.
func openSource(dir string, bucket *s3.Options) (source, error) {
	if bucket != nil {
		return openBucketSource(*bucket)
	}
	return directorySource{dir}, nil
}

// lock prevents backups into the directory during the restore. A backup that cannot be opened for
// writing needs no lock. A bucket has none: a restore from it that a backup overtakes misses
// objects, and says so.
func (r *restore) lock() (unlock func() error, err error) {
	if r.Bucket != nil {
		return func() error { return nil }, nil
	}
	file, err := os.Open(filepath.Join(r.Dir, lockName))
	if err != nil {
		return func() error { return nil }, nil
	}
	if err := osfile.Lock(file, false); errors.Is(err, osfile.ErrLocked) {
		return nil, errors.Join(fmt.Errorf("a backup into %s is under way: wait until it is done", r.Dir), file.Close())
	}
	return file.Close, nil
}

// begin selects the snapshot, checks the key and the destination, and marks the data directory, so
// that no service starts in it. done reports that an earlier restore was interrupted before its
// last step only.
func (r *restore) begin(ctx context.Context) (done bool, err error) {
	id, err := r.from.identity(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("there is no backup in %s", r.from)
	}
	if err != nil {
		return false, err
	}
	names, err := r.from.snapshots(ctx)
	if err != nil {
		return false, err
	}
	if len(names) == 0 {
		return false, fmt.Errorf("the backup in %s is incomplete: it has no snapshot", r.from)
	}
	begun, err := readMarker(r.DataDir)
	if err != nil {
		return false, err
	}
	if begun != nil && r.Snapshot == "" {
		r.Snapshot = begun.Snapshot
	}
	if r.Snapshot == "" {
		r.Snapshot = names[len(names)-1]
	}
	if begun != nil && (begun.Snapshot != r.Snapshot || begun.Fingerprint != id.Fingerprint ||
		begun.ObjectDir != r.ObjectDir) {
		return false,
			fmt.Errorf(
				"an unfinished restore of snapshot %s into %s, with the object directory %s, differs from this one: "+
					"finish that restore, or empty both directories", begun.Snapshot, r.DataDir, begun.ObjectDir)
	}
	if !slices.Contains(names, r.Snapshot) {
		return false, fmt.Errorf("the backup has no snapshot %q; its snapshots are: "+
			"%s", r.Snapshot, strings.Join(names, ", "))
	}
	if r.manifest, err = readManifest(ctx, r.from, r.Snapshot); err != nil {
		return false, err
	}
	if r.manifest.Fingerprint != id.Fingerprint {
		return false, errors.New("the snapshot belongs to another installation than the rest of the backup")
	}
	if err := r.checkKey(ctx); err != nil {
		return false, err
	}
	if begun != nil {
		return r.isFinished(ctx)
	}
	if err := r.checkEmpty(ctx); err != nil {
		return false, err
	}
	if err := writeJSON(r.DataDir, markerName,
		restoreMarker{Snapshot: r.Snapshot, Fingerprint: id.Fingerprint, ObjectDir: r.ObjectDir}); err != nil {
		return false, fmt.Errorf("begin the restore: %w", err)
	}
	crash.Point("restore.begun")
	return false, nil
}

// restoreAll restores database, objects and files, and gives the database its final name, or copies
// it to PostgreSQL, last.
func (r *restore) restoreAll(ctx context.Context) error {
	if err := r.loadDatabase(ctx); err != nil {
		return err
	}
	err := r.restoreStores(ctx)
	if err = errors.Join(err, r.rows.Close()); err != nil { // which merges the WAL into one file
		return err
	}
	if r.DatabaseURL == "" {
		err = RenameDurably(r.loadingPath(), r.DatabaseFile)
	} else {
		err = r.exportToPostgres(ctx)
	}
	if err != nil {
		return fmt.Errorf("rename the database: %w", err)
	}
	crash.Point("restore.placed")
	return nil
}

// loadingPath is the path of the database until it is complete.
func (r *restore) loadingPath() string { return filepath.Join(r.DataDir, databaseName+".restoring") }

// loadDatabase copies the database of the snapshot, migrates it to the schema of this binary, and
// resets what a restored service must not keep.
func (r *restore) loadDatabase(ctx context.Context) error {
	path := r.loadingPath()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clean up after an interrupted restore: %w", err)
		}
	}
	if err := r.copyFile(ctx, databaseName, path); err != nil {
		return err
	}
	var err error
	if r.rows, err = db.Open(ctx, db.Config{Path: path, Log: r.Log}); err != nil {
		return err
	}
	err = r.rows.Migrate(ctx)
	if err == nil { // the rows of an older backup get here what the steps of an upgrade fill in
		_, err = r.rows.RunSteps(ctx, "restore")
	}
	if err != nil {
		return errors.Join(err, r.rows.Close())
	}
	key, err := fingerprintNumber(r.manifest.Fingerprint)
	if err == nil {
		var noted int64
		if noted, err = keyFingerprint(r.rows.Read(ctx)); err == nil && noted != key {
			err = errors.New("the database of the backup has another secret key than its manifest names")
		}
	}
	var taken int64
	if err == nil {
		taken, err = r.manifest.takenAt()
	}
	if err == nil {
		err = r.rows.Write(ctx, func(tx *db.Tx) error { return resetRestored(tx, r.Now().UnixMilli(), taken) })
	}
	if err != nil {
		return errors.Join(err, r.rows.Close())
	}
	return nil
}

// resetRestored removes from a restored database what ended with the original service, such as open
// uploads and tokens, or refers to data that no backup holds, and returns running jobs to the
// queue. now is the present time and taken that of the snapshot, in ms.
func resetRestored(tx *db.Tx, now, taken int64) error {
	for _, change := range []func(tx *db.Tx) error{
		object.AfterRestore, upload.AfterRestore, quota.AfterRestore, download.AfterRestore, freemode.AfterRestore,
		fsck.AfterRestore,
		func(tx *db.Tx) error { return account.AfterRestore(tx, now) },
		func(tx *db.Tx) error { return job.AfterRestore(tx, now, account.MailJobTypes()) },
		func(tx *db.Tx) error { return recordOrigin(tx, taken) },
	} {
		if err := change(tx); err != nil {
			return err
		}
	}
	return tx.BumpConfig()
}

// restoreStores restores the objects, then the access log and the key file. Error: ErrIncomplete.
func (r *restore) restoreStores(ctx context.Context) (err error) {
	r.stores = provider.New(provider.Config{DB: r.rows, ObjectDir: r.ObjectDir, MinFree: r.MinFree, Now: r.Now})
	defer func() { err = errors.Join(err, r.stores.Close()) }()
	if err := r.restoreObjects(ctx); err != nil {
		return err
	}
	if r.summary.Wrong > 0 && !r.Incomplete {
		return fmt.Errorf(
			"%w: %d objects are missing or damaged. Repair the backup and run the same command again, "+
				"or restore without them with --incomplete", ErrIncomplete, r.summary.Wrong)
	}
	crash.Point("restore.objects")
	if _, there := r.manifest.Files[auditName]; there {
		path := filepath.Join(r.DataDir, auditName)
		err := errors.Join(r.copyFile(ctx, auditName, path+newSuffix), RenameDurably(path+newSuffix, path))
		if err != nil {
			return fmt.Errorf("restore the access log: %w", err)
		}
	}
	if r.Key != nil || r.keyInPlace {
		return nil
	}
	key, err := r.readKey(ctx)
	if err == nil {
		err = writeFile(filepath.Dir(r.KeyFile), filepath.Base(r.KeyFile), key)
	}
	if err != nil {
		return fmt.Errorf("restore the secret key: %w", err)
	}
	return nil
}

// restoreObjects copies every object of a local provider that the database names into its store.
// Missing and damaged ones are reported.
func (r *restore) restoreObjects(ctx context.Context) (err error) {
	all, err := r.stores.All(ctx)
	if err != nil {
		return err
	}
	local := map[string]bool{}
	defer func() {
		for _, p := range r.pools {
			_ = p.Close() // opened for reading
		}
	}()
	for _, p := range all {
		if p.Type != provider.BuiltIn {
			continue
		}
		local[p.ID] = true
		if err := errors.Join(checkProviderName(p.ID), r.stores.Prepare(p.Bucket, p.Marker)); err != nil {
			return fmt.Errorf("make the store of provider %s (%s): %w", p.ID, p.Name, err)
		}
		objects, err := r.from.openObjects(ctx, p.ID)
		if err != nil {
			return fmt.Errorf("open the objects of provider %s: %w", p.ID, err)
		}
		r.pools[p.ID] = objects
	}
	if r.total.AllObjects, r.total.AllBytes, err = totals(r.rows.Read(ctx)); err != nil {
		return err
	}
	return eachObject(ctx, r.rows, func(o storedObject) (bool, error) {
		if !local[o.provider] {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.addProgress(o)
		}
		return local[o.provider], nil
	}, r.restoreObject)
}

// addProgress adds an object to the progress and reports it. The caller holds r.mu.
func (r *restore) addProgress(o storedObject) {
	r.total.Objects, r.total.Bytes = r.total.Objects+1, r.total.Bytes+o.size
	if r.Progress != nil {
		r.Progress(r.total)
	}
}

// restoreObject copies an object from the pool into its store, unless an interrupted restore has
// done so, and checks its size and SHA-256. A missing or damaged object is reported. An error ends
// the restore.
func (r *restore) restoreObject(ctx context.Context, o storedObject) error {
	store, err := r.stores.Store(ctx, o.provider)
	if err != nil {
		return err
	}
	info, err := store.Stat(ctx, o.key)
	if err == nil && info.Size == o.size { // restored before an interruption
		r.reportRestored(o)
		return nil
	}
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	file, err := r.pools[o.provider].Open(ctx, o.key)
	if errors.Is(err, blob.ErrNotFound) {
		err = errors.New("it is missing from the backup")
	}
	if ctx.Err() != nil || errors.Is(err, blob.ErrUnavailable) { // the bucket, not the object
		return fmt.Errorf("read the backup: %w", err)
	}
	if err != nil {
		r.reportWrong(o, "%v", err)
		return nil
	}
	defer file.Close() // opened for reading
	_, err = store.Put(ctx, o.key, newCheckedReader(file, o), blob.PutOptions{Size: o.size})
	var size blob.ErrSize
	var reading blob.ErrReader
	switch {
	case err == nil:
		r.reportRestored(o)
	case errors.Is(err, blob.ErrUnavailable): // of the bucket, or of the store
		return fmt.Errorf("restore %s: %w", o, err)
	case errors.As(err, &size), errors.Is(err, errWrongHash), errors.As(err, &reading):
		r.reportWrong(o, "%v", err)
	default:
		return fmt.Errorf("restore %s: %w", o, err)
	}
	return nil
}

func (r *restore) reportRestored(o storedObject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Objects, r.summary.Bytes = r.summary.Objects+1, r.summary.Bytes+o.size
	r.addProgress(o)
}

// reportWrong reports and counts an object that is missing or damaged in the backup; format and
// args give the reason.
func (r *restore) reportWrong(o storedObject, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Wrong++
	if r.Report != nil {
		r.Report(fmt.Sprintf("%s: %s", o, fmt.Sprintf(format, args...)))
	}
	r.addProgress(o)
}
