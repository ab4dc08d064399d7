package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"larder/internal/fsck"
)

// errFindings means that a command has found problems, which it has already printed.
var errFindings = errors.New("problems found")

// runFsck is the command `larder fsck`: it compares the database with the stores and prints a line
// for each problem, and a summary. Error: errFindings when there is any problem.
func runFsck(ctx context.Context, args, environ []string, out, errs io.Writer) (err error) {
	own := flag.NewFlagSet("fsck", flag.ContinueOnError)
	deep := own.Bool("deep", false, "read every object and compare its SHA-256")
	repair := own.String("repair", "", "what to repair: orphans, quota, refs, hashes, sorting, trash, separated by commas")
	a, _, err := openForWords(ctx, args, environ, own, 0, out, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	repairs, wrong := fsck.ParseRepairs(*repair)
	if wrong == nil && repairs.Hashes && !*deep {
		wrong = errors.New("--repair hashes needs --deep, which reads the objects")
	}
	if wrong != nil {
		return fmt.Errorf("larder: %w: %w", wrong, errUsage)
	}
	sum, err := a.Fsck.Check(ctx,
		fsck.Options{Deep: *deep, Repair: repairs, Report: findingPrinter(out, " - repaired", "")})
	if err != nil {
		return err
	}
	return summarise(out, sum, *deep)
}

// findingPrinter returns a function that prints a line for each finding to out. The line ends with
// repaired for a finding that was repaired, else with open.
func findingPrinter(out io.Writer, repaired, open string) func(fsck.Finding) {
	return func(f fsck.Finding) {
		end := open
		if f.Repaired {
			end = repaired
		}
		fmt.Fprintf(out, "%-11s %s%s\n", f.Kind, f.Text, end)
	}
}

// summarise prints the summary of a check; deep says whether it read the objects. Error:
// errFindings when there is any problem.
func summarise(out io.Writer, sum fsck.Summary, deep bool) error {
	fmt.Fprintf(out, "Checked %d entries, %d objects, and %d objects in the stores.\n", sum.Entries, sum.Objects,
		sum.Stored)
	if deep {
		fmt.Fprintf(out, "Read %d bytes; %d objects have no SHA-256 to compare with.\n", sum.Bytes, sum.Unhashed)
	}
	if sum.TooYoung > 0 {
		fmt.Fprintf(out, "Skipped %d new objects without a reference: an upload may still need them.\n",
			sum.TooYoung)
	}
	if sum.Unchecked > 0 {
		fmt.Fprintf(out, "Did not check %d objects whose store is not available.\n", sum.Unchecked)
	}
	if sum.Unlisted > 0 {
		fmt.Fprintf(out, "Did not search for orphans in %d stores, which cannot be listed.\n", sum.Unlisted)
	}
	if sum.Repaired > 0 {
		fmt.Fprintf(out, "Repairs made: %d.\n", sum.Repaired)
	}
	if sum.Findings == 0 {
		_, err := fmt.Fprintln(out, "No problems found.")
		return err
	}
	if sum.Findings == 1 {
		fmt.Fprintln(out, "1 problem found.")
	} else {
		fmt.Fprintf(out, "%d problems found.\n", sum.Findings)
	}
	return errFindings
}
