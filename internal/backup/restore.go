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
	"syscall"
	"time"

	"larder/internal/account"
	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/download"
	"larder/internal/freemode"
	"larder/internal/fsck"
	"larder/internal/job"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/quota"
	"larder/internal/secret"
	"larder/internal/upload"
)

// Destination is the empty place that a service is restored to. Nobody else may use it meanwhile.
type Destination struct {
	DataDir, ObjectDir string
	DatabaseFile       string          // of SQLite, in DataDir
	DatabaseURL        secret.Text     // of PostgreSQL, "" for SQLite
	KeyFile            string          // where a key goes that came with the backup
	Key                *secret.Keyring // as it was given to this service, nil for none
	MinFree            int64           // bytes of free space to be left
	Now                func() time.Time
	Log                *slog.Logger
}

// RestoreOptions say what is to be restored.
type RestoreOptions struct {
	Dir        string
	Snapshot   string       // its name, "" for the newest
	Incomplete bool         // go on without objects that are missing or damaged
	Report     func(string) // called for each of them
	Progress   func(Progress)
}

// AfterRestore is what came of it.
type Restored struct {
	Manifest       Manifest
	Snapshot       string
	Objects, Bytes int64 // on the local disk by now
	Wrong          int64 // objects that are missing or damaged in the backup, beside those that it never had
}

// restore is one restore.
type restore struct {
	Destination
	RestoreOptions
	manifest Manifest
	keyThere bool   // the right key lies in its file already
	rows     *db.DB // the database to come
	stores   *provider.Registry
	pools    map[string]*os.Root // of local providers; nil for one that has no object

	mu  sync.Mutex // guards what follows, Report and Progress
	sum Restored
	all Progress
}

// ErrIncomplete ends a restore that found objects missing or damaged and was not told to
// go on without them.
var ErrIncomplete = errors.New("the backup is damaged")

// Restore makes a service of a backup: objects first, then the key, the database last. What is
// interrupted is no service, and goes on when it is begun again with the same snapshot.
func Restore(ctx context.Context, to Destination, o RestoreOptions) (sum Restored, err error) {
	r := &restore{Destination: to, RestoreOptions: o, pools: map[string]*os.Root{}}
	unlock, err := r.lock()
	if err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	done, err := r.begin(ctx)
	if err == nil && !done {
		err = r.fill(ctx)
	}
	if err == nil {
		err = r.end()
	}
	r.sum.Snapshot, r.sum.Manifest = r.Snapshot, r.manifest
	return r.sum, err
}

// lock keeps a backup from changing what is restored from. A backup that can't be written
// to needs no lock.
func (r *restore) lock() (unlock func() error, err error) {
	file, err := os.Open(filepath.Join(r.Dir, lockName))
	if err != nil {
		return func() error { return nil }, nil
	}
	if err := flock(file, syscall.LOCK_SH); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("a backup into %s is under way: wait until it is done", r.Dir), file.Close())
	}
	return file.Close, nil
}

// begin chooses the snapshot, and makes sure of the key and of an empty place. done says that an
// earlier restore got to its end but for the last step.
func (r *restore) begin(ctx context.Context) (done bool, err error) {
	id, err := readIdentity(r.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("there is no backup in %s", r.Dir)
	}
	if err != nil {
		return false, err
	}
	names, err := snapshots(r.Dir)
	if err != nil {
		return false, err
	}
	if len(names) == 0 {
		return false, fmt.Errorf("the backup in %s was never finished: it has no snapshot", r.Dir)
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
				"a restore of another snapshot (%s) into %s was not finished, or one with another object directory (%s): "+
					"go on with that, or empty both directories", begun.Snapshot, r.DataDir, begun.ObjectDir)
	}
	if !slices.Contains(names, r.Snapshot) {
		return false, fmt.Errorf("the backup has no snapshot %q, but: %s", r.Snapshot, strings.Join(names, ", "))
	}
	if r.manifest, err = readManifest(r.Dir, r.Snapshot); err != nil {
		return false, err
	}
	if r.manifest.Fingerprint != id.Fingerprint {
		return false, errors.New("the snapshot is of another installation than the rest of the backup")
	}
	if err := r.key(); err != nil {
		return false, err
	}
	if begun != nil {
		return r.finished(ctx)
	}
	if err := r.vacant(ctx); err != nil {
		return false, err
	}
	if err := writeJSON(r.DataDir, markerName,
		marker{Snapshot: r.Snapshot, Fingerprint: id.Fingerprint, ObjectDir: r.ObjectDir}); err != nil {
		return false, fmt.Errorf("begin the restore: %w", err)
	}
	crash.Point("restore.begun")
	return false, nil
}

func (r *restore) file(name string) string {
	return filepath.Join(r.Dir, snapshotsName, r.Snapshot, name)
}

// fill puts everything in place, the database last.
func (r *restore) fill(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	err := r.bring(ctx)
	if err = errors.Join(err, r.rows.Close()); err != nil { // which leaves one file
		return err
	}
	if r.DatabaseURL == "" {
		err = place(r.loading(), r.DatabaseFile)
	} else {
		err = r.export(ctx)
	}
	if err != nil {
		return fmt.Errorf("put the database in place: %w", err)
	}
	crash.Point("restore.placed")
	return nil
}

// loading is where the database lies until it is complete.
func (r *restore) loading() string { return filepath.Join(r.DataDir, databaseName+".restoring") }

// load takes the database of the snapshot, in the schema of this binary, and makes it that of a
// service that has just been restored.
func (r *restore) load(ctx context.Context) error {
	path := r.loading()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what an interrupted restore left: %w", err)
		}
	}
	if err := r.copyFile(databaseName, path); err != nil {
		return err
	}
	var err error
	if r.rows, err = db.Open(ctx, db.Config{Path: path, Log: r.Log}); err != nil {
		return err
	}
	if err := r.rows.Migrate(ctx); err != nil {
		return errors.Join(err, r.rows.Close())
	}
	key, err := number(r.manifest.Fingerprint)
	if err == nil {
		var noted int64
		if noted, err = keyOf(r.rows.Read(ctx)); err == nil && noted != key {
			err = errors.New("the database of the backup was made with another secret key than its manifest says")
		}
	}
	var taken int64
	if err == nil {
		taken, err = r.manifest.moment()
	}
	if err == nil {
		err = r.rows.Write(ctx, func(tx *db.Tx) error { return renewed(tx, r.Now().UnixMilli(), taken) })
	}
	if err != nil {
		return errors.Join(err, r.rows.Close())
	}
	return nil
}

// renewed takes out of a database what ended with the original, or speaks of what no backup holds.
func renewed(tx *db.Tx, now, taken int64) error {
	for _, change := range []func(tx *db.Tx) error{
		object.AfterRestore, upload.AfterRestore, quota.AfterRestore, download.Restored, freemode.Restored,
		fsck.Restored,
		func(tx *db.Tx) error { return account.Restored(tx, now) },
		func(tx *db.Tx) error { return job.AfterRestore(tx, now, account.MailJobTypes()) },
		func(tx *db.Tx) error { return mark(tx, taken) },
	} {
		if err := change(tx); err != nil {
			return err
		}
	}
	return tx.BumpConfig()
}

// bring puts objects, access log and key in place.
func (r *restore) bring(ctx context.Context) (err error) {
	r.stores = provider.New(provider.Config{DB: r.rows, ObjectDir: r.ObjectDir, MinFree: r.MinFree, Now: r.Now})
	defer func() { err = errors.Join(err, r.stores.Close()) }()
	if err := r.bringObjects(ctx); err != nil {
		return err
	}
	if r.sum.Wrong > 0 && !r.Incomplete {
		return fmt.Errorf(
			"%w: it lacks %d objects. Nothing is lost by this: bring the backup back as it was and run the same command again, "+
				"or go on without them by --incomplete", ErrIncomplete, r.sum.Wrong)
	}
	crash.Point("restore.objects")
	if _, there := r.manifest.Files[auditName]; there {
		path := filepath.Join(r.DataDir, auditName)
		if err := errors.Join(r.copyFile(auditName, path+newSuffix), place(path+newSuffix, path)); err != nil {
			return fmt.Errorf("bring back the access log: %w", err)
		}
	}
	if r.Key != nil || r.keyThere {
		return nil
	}
	key, err := os.ReadFile(r.file(keyName))
	if err == nil {
		err = writeFile(filepath.Dir(r.KeyFile), filepath.Base(r.KeyFile), key)
	}
	if err != nil {
		return fmt.Errorf("bring back the secret key: %w", err)
	}
	return nil
}

// bringObjects puts every object that the database names into its store.
func (r *restore) bringObjects(ctx context.Context) (err error) {
	all, err := r.stores.All(ctx)
	if err != nil {
		return err
	}
	local := map[string]bool{}
	defer func() {
		for _, root := range r.pools {
			if root != nil {
				_ = root.Close() // opened to read
			}
		}
	}()
	for _, p := range all {
		if p.Type != provider.BuiltIn {
			continue
		}
		local[p.ID] = true
		if err := errors.Join(providerName(p.ID), r.stores.Prepare(p.Bucket, p.Marker)); err != nil {
			return fmt.Errorf("make the store of provider %s (%s): %w", p.ID, p.Name, err)
		}
		root, err := os.OpenRoot(filepath.Join(r.Dir, objectsName, p.ID))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("open the objects of provider %s: %w", p.ID, err)
		}
		r.pools[p.ID] = root
	}
	if r.all.AllObjects, r.all.AllBytes, err = totals(r.rows.Read(ctx)); err != nil {
		return err
	}
	return eachObject(ctx, r.rows, func(o storedObject) (bool, error) {
		if !local[o.provider] {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.passed(o)
		}
		return local[o.provider], nil
	}, r.bringOne)
}

// passed tells how far things are. r.mu is held.
func (r *restore) passed(o storedObject) {
	r.all.Objects, r.all.Bytes = r.all.Objects+1, r.all.Bytes+o.size
	if r.Progress != nil {
		r.Progress(r.all)
	}
}

// bringOne has an object in its store. An error means that the restore can't go on.
func (r *restore) bringOne(ctx context.Context, o storedObject) error {
	store, err := r.stores.Store(ctx, o.provider)
	if err != nil {
		return err
	}
	info, err := store.Stat(ctx, o.key)
	if err == nil && info.Size == o.size { // an interrupted restore brought it
		r.right(o)
		return nil
	}
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	file, err := r.openKept(o)
	if err != nil {
		r.wrong(o, "%v", err)
		return nil
	}
	defer file.Close() // opened to read
	_, err = store.Put(ctx, o.key, newChecked(file, o), blob.PutOptions{Size: o.size})
	var size blob.ErrSize
	var reading blob.ErrReader
	switch {
	case err == nil:
		r.right(o)
	case errors.As(err, &size), errors.Is(err, errDiffers), errors.As(err, &reading):
		r.wrong(o, "%v", err)
	default:
		return fmt.Errorf("bring back %s: %w", o, err)
	}
	return nil
}

func (r *restore) openKept(o storedObject) (*os.File, error) {
	root := r.pools[o.provider]
	if root == nil {
		return nil, errors.New("it is missing from the backup")
	}
	file, err := root.Open(string(o.key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("it is missing from the backup")
	}
	return file, err
}

func (r *restore) right(o storedObject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sum.Objects, r.sum.Bytes = r.sum.Objects+1, r.sum.Bytes+o.size
	r.passed(o)
}

func (r *restore) wrong(o storedObject, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sum.Wrong++
	if r.Report != nil {
		r.Report(fmt.Sprintf("%s: %s", o, fmt.Sprintf(format, args...)))
	}
	r.passed(o)
}
