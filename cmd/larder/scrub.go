package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"larder/internal/app"
	"larder/internal/backup"
)

// runScrub reads every stored object once and prints a line for each damaged one, and a summary.
func runScrub(ctx context.Context, args, environ []string, out, errs io.Writer) (err error) {
	own := flag.NewFlagSet("scrub", flag.ContinueOnError)
	now := own.Bool("now", false, "run a pass now, without a limit of its rate")
	from := own.String("from", "", "backup from which damaged objects are healed: a directory or a bucket "+
		"(default: LARDER_SCRUB_BACKUP)")
	named := own.String("provider", "", "for a backup in a bucket: the provider, by id or name, whose server and "+
		"credentials it has (default: the LARDER_BACKUP_ settings)")
	a, _, err := openForWords(ctx, args, environ, own, 0, out, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if !*now {
		return fmt.Errorf("larder: the server scrubs by itself, see LARDER_SCRUB_RATE; --now runs a pass at once: %w",
			errUsage)
	}
	if *named != "" && !app.IsBucketAddress(*from) {
		return errProviderNeedsBucket
	}
	var source *backup.SourceOptions
	if address := cmp.Or(*from, a.Config.ScrubBackup); address != "" {
		o, err := a.BackupSource(ctx, address, *named)
		if err != nil {
			return err
		}
		source = &o
	}
	sum, err := a.Scrub(ctx, source, findingPrinter(out, " - healed", " - marked as damaged"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Read %d objects with %d bytes.\n", sum.Objects, sum.Bytes)
	if sum.Unhashed > 0 {
		fmt.Fprintf(out, "%d objects have no SHA-256: only their size was compared.\n", sum.Unhashed)
	}
	if sum.Unread > 0 {
		fmt.Fprintf(out, "Did not read %d objects: their stores did not return them. Run the command again later.\n",
			sum.Unread)
	}
	switch {
	case sum.Findings > 0:
	case sum.Unread > 0:
		return errFindings
	default:
		_, err := fmt.Fprintln(out, "No damaged objects found.")
		return err
	}
	fmt.Fprintf(out, "%d damaged: %d healed, %d marked. Check the disk.\n", sum.Findings, sum.Healed,
		sum.Findings-sum.Healed)
	return errFindings
}
