package app

import (
	"context"
	"errors"

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

// BackupSource returns the options for reading the backup at a place: a directory, or a bucket as
// for BackupBucket.
func (a *App) BackupSource(ctx context.Context, place, named string) (backup.SourceOptions, error) {
	o := backup.SourceOptions{Dir: place, DataDir: a.Config.DataDir, Now: a.deps.Now, Log: a.deps.Log}
	if !IsBucketAddress(place) {
		return o, nil
	}
	bucket, err := a.BackupBucket(ctx, place, named)
	o.Dir, o.Bucket = "", &bucket
	return o, err
}

// scrubBackup opens the backup from which the scrub of the server heals. It returns nil when none
// is set.
func (a *App) scrubBackup() func(context.Context) (fsck.Backup, error) {
	place := a.Config.ScrubBackup
	if place == "" {
		return nil
	}
	return func(ctx context.Context) (fsck.Backup, error) {
		o, err := a.BackupSource(ctx, place, "")
		if err != nil {
			return nil, err
		}
		source, err := backup.OpenSource(ctx, o)
		if err != nil {
			return nil, err
		}
		return source, nil
	}
}
