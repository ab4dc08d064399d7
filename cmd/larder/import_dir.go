package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"time"

	"larder/internal/account"
	"larder/internal/app"
	"larder/internal/dirimport"
	"larder/internal/vpath"
)

// errInterrupted means that a signal has ended a command. The command has printed its summary.
var errInterrupted = errors.New("interrupted")

// exitInterrupted is the exit code of a command that a signal has ended, as in a shell.
const exitInterrupted = 130

// importDir is the command `larder import dir`: it stores the files of a directory as files of an
// account. It prints a line for each entry that it leaves out, and a summary. Errors: errFindings
// when it leaves out any, errInterrupted.
func importDir(ctx context.Context, args, environ []string, out, errs io.Writer) (err error) {
	own := flag.NewFlagSet("import dir", flag.ContinueOnError)
	name := own.String("user", "", "name of the account that gets the files")
	into := own.String("into", "", "folder that gets the contents of the directory (default: the home of the account)")
	dryRun := own.Bool("dry-run", false, "print what would be imported, and change nothing")
	replace := own.Bool("replace", false, "replace files of the account that differ; their content becomes a version")
	a, dir, err := openForName(ctx, args, environ, own, out, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if *name == "" {
		return fmt.Errorf("larder: --user NAME is missing: %w", errUsage)
	}
	user, err := accountNamed(ctx, a, *name)
	if err != nil {
		return err
	}
	if user.Status != account.Active {
		return fmt.Errorf("the account %q is %s, and gets no files", *name, user.Status)
	}
	target, err := importTarget(ctx, a, user, *into)
	if err != nil {
		return err
	}
	options := dirimport.Options{Dir: dir, UserID: user.ID, Into: target, Replace: *replace,
		Report: func(dirimport.Finding) {}}
	report := func(f dirimport.Finding) { fmt.Fprintf(out, "%-8s %q: %s\n", f.Kind, f.Path, f.Reason) }
	if *dryRun {
		options.Report = report
	}
	plan, err := a.Imports.Plan(ctx, options)
	if err != nil {
		return interruptedOr(ctx, err)
	}
	printPlan(out, plan, target, *name)
	if *dryRun {
		if !plan.Fits() || leftOut(plan.LeftOut) > 0 {
			return errFindings
		}
		return nil
	}
	options.Report = report
	if isTerminal(errs) {
		options.Progress = importProgress(errs, plan, time.Now)
	}
	begin := time.Now()
	sum, err := a.Imports.Import(ctx, options)
	return summariseImport(ctx, out, sum, time.Since(begin), err)
}

// importTarget returns the folder that gets the files: the path into, or the home of user if into
// is "". Error: errUsage.
func importTarget(ctx context.Context, a *app.App, user account.User, into string) (vpath.Path, error) {
	if into != "" {
		target, err := vpath.Parse(into)
		if err != nil {
			err = fmt.Errorf("larder: --into %q: %w: %w", into, err, errUsage)
		}
		return target, err
	}
	if user.HomeID == "" {
		return vpath.Path{}, fmt.Errorf("larder: the account %q has no home: name a folder with --into: %w",
			user.Username, errUsage)
	}
	return a.Tree.PathOf(ctx, user.HomeID)
}

// interruptedOr returns errInterrupted when a signal has ended ctx, and err otherwise.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// printPlan prints what an import would do, and whether the quota of the account has room for it.
func printPlan(out io.Writer, p dirimport.Plan, into vpath.Path, user string) {
	fmt.Fprintf(out, "To import into %q: %d files with %d bytes, and %d new folders. %d files are there already, "+
		"%d differ, %d other entries are left out.\n", into, p.Files, p.Bytes, p.Folders, p.Present,
		p.LeftOut[dirimport.Differs], leftOut(p.LeftOut)-p.LeftOut[dirimport.Differs])
	verdict := "That is enough."
	if !p.Fits() {
		verdict = fmt.Sprintf("That is not enough: the import needs %d bytes and %d files.", p.NeedsBytes, p.NeedsFiles)
	}
	fmt.Fprintf(out, "The quota of %s has room for %s bytes and %s files. %s\n", user, limit(p.RoomBytes),
		limit(p.RoomFiles), verdict)
}

// limit returns the text of an amount. math.MaxInt64 stands for no limit.
func limit(n int64) string {
	if n == math.MaxInt64 {
		return "any number of"
	}
	return fmt.Sprint(n)
}

// leftOut returns the number of all entries that were left out, of every kind.
func leftOut(byKind map[dirimport.Kind]int64) (n int64) {
	for _, count := range byKind {
		n += count
	}
	return n
}

// summariseImport prints the numbers of an import that took the time took and ended with err, which
// may be nil. It returns the error of the command: errInterrupted, errFindings, or err.
func summariseImport(ctx context.Context, out io.Writer, sum dirimport.Summary, took time.Duration, err error) error {
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(out, "Interrupted. Run the same command again to continue.")
	}
	fmt.Fprintf(out, "Imported %d files with %d bytes in %v, and made %d folders. %d files replaced others; %d files "+
		"were there already.\n", sum.Files, sum.Bytes, took.Round(100*time.Millisecond), sum.Folders, sum.Replaced,
		sum.Present)
	if n := leftOut(sum.LeftOut); n > 0 {
		fmt.Fprintf(out, "Left out %d: %d differ, %d skipped, %d refused, %d failed.\n", n,
			sum.LeftOut[dirimport.Differs], sum.LeftOut[dirimport.Skipped], sum.LeftOut[dirimport.Refused],
			sum.LeftOut[dirimport.Failed])
		if err == nil {
			err = errFindings
		}
	}
	if err != nil {
		err = interruptedOr(ctx, err)
	}
	return err
}

// importProgress returns a function that prints the progress of an import to errs every five
// seconds.
func importProgress(errs io.Writer, plan dirimport.Plan, now func() time.Time) func(dirimport.Progress) {
	const pause = 5 * time.Second
	told := now()
	return func(p dirimport.Progress) {
		if at := now(); at.Sub(told) >= pause {
			told = at
			fmt.Fprintf(errs, "%d of %d files, %d of %d MiB\n", p.Files, plan.Files, p.Bytes>>20, plan.Bytes>>20)
		}
	}
}
