package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"larder/internal/backup"
	"larder/internal/fsck"
)

// Scrub reads every stored object once, heals damaged ones, also from a backup unless from is nil,
// and marks the others. It can run beside a server.
func (a *App) Scrub(ctx context.Context, from *backup.SourceOptions, report func(fsck.Finding)) (sum fsck.ScrubSummary,
	err error) {
	o := fsck.ScrubOptions{Report: report}
	if from != nil {
		source, err := backup.OpenSource(ctx, *from)
		if err != nil {
			return fsck.ScrubSummary{}, err
		}
		defer func() { err = errors.Join(err, source.Close()) }()
		o.Backup = source
	}
	return a.Fsck.Scrub(ctx, o)
}

// BackupSource returns the options for reading the backup at an address: a directory, or a bucket
// as for BackupBucket.
func (a *App) BackupSource(ctx context.Context, address, named string) (backup.SourceOptions, error) {
	o := backup.SourceOptions{Dir: address, DataDir: a.Config.DataDir, Now: a.deps.Now, Log: a.deps.Log}
	if !IsBucketAddress(address) {
		return o, nil
	}
	bucket, err := a.BackupBucket(ctx, address, named)
	o.Dir, o.Bucket = "", &bucket
	return o, err
}

// scrubBackup returns the function that opens the backup from which the scrub of the server heals,
// nil when none is set.
func (a *App) scrubBackup() func(context.Context) (fsck.Backup, error) {
	if a.Config.ScrubBackup == "" {
		return nil
	}
	return func(ctx context.Context) (fsck.Backup, error) {
		source, err := a.openScrubBackup(ctx)
		if err != nil {
			return nil, err
		}
		return source, nil
	}
}

// openScrubBackup opens the backup of LARDER_SCRUB_BACKUP.
func (a *App) openScrubBackup(ctx context.Context) (*backup.Source, error) {
	o, err := a.scrubBackupOptions(ctx)
	if err != nil {
		return nil, err
	}
	return backup.OpenSource(ctx, o)
}

// scrubBackupOptions returns the options for reading the backup of LARDER_SCRUB_BACKUP. It returns
// an error for an address that can't be one.
func (a *App) scrubBackupOptions(ctx context.Context) (backup.SourceOptions, error) {
	o, err := a.BackupSource(ctx, a.Config.ScrubBackup, "")
	if err != nil {
		err = fmt.Errorf("LARDER_SCRUB_BACKUP: %w", err)
	}
	return o, err
}

const (
	// scrubBackupInterval is how often the server checks that it can read that backup.
	scrubBackupInterval = time.Hour
	// scrubBackupTimeout bounds the check.
	scrubBackupTimeout = time.Minute
)

// checkScrubBackup opens the backup of LARDER_SCRUB_BACKUP, so that administrators learn of an
// absent one before an object is damaged. It logs why the backup can't be read.
func (a *App) checkScrubBackup(ctx context.Context) error {
	if a.Config.ScrubBackup == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, scrubBackupTimeout)
	defer cancel()
	source, err := a.openScrubBackup(ctx)
	a.scrubBackupMissing.Store(err != nil)
	if err != nil {
		a.deps.Log.Error("the backup of LARDER_SCRUB_BACKUP can't be read", "error", err)
		return nil
	}
	return source.Close()
}
