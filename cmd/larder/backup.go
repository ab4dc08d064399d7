package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"larder/internal/app"
	"larder/internal/backup"
	"larder/internal/config"
)

var errProviderNeedsBucket = fmt.Errorf("larder: --provider is for a bucket, as in s3://my-backups/larder: %w",
	errUsage)

// takeBackup is the command `larder backup`: it writes a backup beside the running service. It
// prints a line for each object that the backup lacks, and a summary, to out, and the progress to
// errs. Error: errFindings when objects are missing.
func takeBackup(ctx context.Context, args, environ []string, out, errs io.Writer) (err error) {
	own := flag.NewFlagSet("backup", flag.ContinueOnError)
	keep := own.Int("keep", 1, "how many snapshots to keep")
	named := own.String("provider", "", "for a bucket: the provider, by id or name, whose server and credentials it has "+
		"(default: the LARDER_BACKUP_ settings)")
	verify := own.Bool("verify", false, "read the existing objects of the backup, and copy damaged ones again")
	a, to, err := openForName(ctx, args, environ, own, out, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if *keep < 1 {
		return fmt.Errorf("larder: --keep %d: at least 1 snapshot must be kept: %w", *keep, errUsage)
	}
	o := backup.Options{Dir: to, Keep: *keep, Verify: *verify, Report: reporter(out), Progress: progress(errs)}
	if app.IsBucketAddress(to) {
		bucket, err := a.BackupBucket(ctx, to, *named)
		if err != nil {
			return err
		}
		o.Dir, o.Bucket = "", &bucket
	} else if *named != "" {
		return errProviderNeedsBucket
	}
	sum, err := a.Backup(ctx, version, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Snapshot %s in %s: %d objects with %d bytes, of which %d with %d bytes are new.\n", sum.Snapshot,
		to, sum.Objects, sum.Bytes, sum.Copied, sum.Added)
	if sum.Elsewhere > 0 {
		fmt.Fprintf(out, "%d objects are in remote stores. The snapshot lists them but has no copy of "+
			"them.\n", sum.Elsewhere)
	}
	if sum.Unhashed > 0 {
		fmt.Fprintf(out, "%d objects have no SHA-256 to compare with yet.\n", sum.Unhashed)
	}
	if sum.KeyFile != "" {
		fmt.Fprintf(out, "The secret key is not in the bucket, and no restore is possible without it: keep a copy of "+
			"%s elsewhere.\n", sum.KeyFile)
	}
	if sum.Pruned > 0 {
		fmt.Fprintf(out, "Removed %d objects that no snapshot needs any more.\n", sum.Pruned)
	}
	if sum.Spared > 0 {
		fmt.Fprintf(out, "Kept %d snapshots of newer databases, and their objects.\n", sum.Spared)
		err = errFindings
	}
	if sum.Wrong > 0 {
		fmt.Fprintf(out,
			"The backup lacks %d objects, which are missing or damaged: `larder fsck --deep` lists the files they "+
				"belong to.\n", sum.Wrong)
		return errFindings
	}
	return err
}

// restore is the command `larder restore`: it restores a backup into an empty installation. It
// prints a line for each object that cannot be restored, and a summary, to out, and the progress to
// errs. Error: errFindings when objects are missing.
func restore(ctx context.Context, args, environ []string, out, errs io.Writer) error {
	own := flag.NewFlagSet("restore", flag.ContinueOnError)
	snapshot := own.String("snapshot", "", "which snapshot (default: the newest)")
	incomplete := own.Bool("incomplete", false, "go on without objects that are missing or damaged in the backup")
	cfg, words, err := config.LoadCommand(args, environ, own)
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return fmt.Errorf("larder: one directory or bucket is expected, got %q: %w", words, errUsage)
	}
	d := deps(cfg, out, errs)
	o := backup.RestoreOptions{
		Dir: words[0], Snapshot: *snapshot, Incomplete: *incomplete, Report: reporter(out), Progress: progress(errs),
	}
	if app.IsBucketAddress(words[0]) {
		bucket, err := app.RestoreBucket(cfg, d, words[0])
		if err != nil {
			return err
		}
		o.Dir, o.Bucket = "", &bucket
	}
	sum, err := app.Restore(ctx, cfg, d, o)
	if err != nil {
		return err
	}
	m := sum.Manifest
	fmt.Fprintf(out, "Restored the snapshot %s of %s, taken by Larder %s: %d objects with %d bytes.\n",
		sum.Snapshot, cmp.Or(m.BaseURL, "a service without an address"), m.Larder, sum.Objects, sum.Bytes)
	if m.Elsewhere > 0 {
		fmt.Fprintf(out,
			"%d objects are in remote stores, and the restored service uses them there: read docs/operate.md before "+
				"you run both services.\n", m.Elsewhere)
	}
	fmt.Fprintln(out, "Every session has ended. Now run `larder fsck --deep`, then `larder serve`.")
	if sum.Wrong > 0 {
		fmt.Fprintf(out, "%d objects are missing: `larder fsck` lists the files they belong to.\n", sum.Wrong)
		return errFindings
	}
	return nil
}

// reporter returns a function that prints a line to out.
func reporter(out io.Writer) func(string) {
	return func(line string) { fmt.Fprintln(out, line) }
}

// progress returns a function that prints the progress of a long operation every ten seconds to
// errs.
func progress(errs io.Writer) func(backup.Progress) {
	const pause = 10 * time.Second
	told := time.Now()
	return func(p backup.Progress) {
		if now := time.Now(); now.Sub(told) >= pause {
			told = now
			fmt.Fprintf(errs, "%d of %d objects, %d of %d MiB\n", p.Objects, p.AllObjects, p.Bytes>>20, p.AllBytes>>20)
		}
	}
}
