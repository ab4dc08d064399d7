package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"larder/internal/access"
	"larder/internal/app"
	"larder/internal/audit"
	"larder/internal/files"
	"larder/internal/vpath"
)

// trashPage is the number of entries of the trash that are read at a time.
const trashPage = 200

// trashList is the command `larder trash list`: it prints the entries in the trash that an account
// owns or has deleted, newest first.
func trashList(ctx context.Context, args, environ []string, out, errs io.Writer) (err error) {
	a, username, err := openForName(ctx, args, environ, nil, out, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	actor, err := actorNamed(ctx, a, username)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tDELETED\tUNTIL\tFILES\tBYTES\tPATH")
	filter := files.TrashFilter{Limit: trashPage}
	for {
		page, err := a.Tree.ListTrash(ctx, actor, filter)
		if err != nil {
			return err
		}
		for _, i := range page.Items {
			path := i.Path
			if i.Folder {
				path += "/"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%q\n", i.ID, minute(i.DeletedAt), minute(i.ExpiresAt), i.Files, i.Size,
				path)
		}
		if page.Next == "" {
			return table.Flush()
		}
		filter.Cursor = page.Next
	}
}

// minute writes a time (ms) to the minute, in UTC.
func minute(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04Z") }

// trashRestore is the command `larder trash restore`: it brings an entry back from the trash with
// the rights of an account. A taken name gets a number.
func trashRestore(ctx context.Context, args, environ []string, out, errs io.Writer) (err error) {
	own := flag.NewFlagSet("trash restore", flag.ContinueOnError)
	to := own.String("to", "", "existing folder that takes the entry (default: the folder that it was in)")
	a, words, err := openForWords(ctx, args, environ, own, 2, out, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	options := files.RestoreOptions{Conflict: files.RenameNew}
	if *to != "" {
		target, err := vpath.Parse(*to)
		if err != nil {
			return fmt.Errorf("larder: --to %q: %w: %w", *to, err, errUsage)
		}
		options.Target = &target
	}
	actor, err := actorNamed(ctx, a, words[0])
	if err != nil {
		return err
	}
	back, err := a.Tree.Restore(ctx, actor, words[1], options)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Restored %q\n", back.Entry.Path())
	return a.RecordCommand(ctx, "larder trash restore",
		audit.Entry{UserID: actor.UserID, Action: audit.Restore, Path: back.Entry.Path().String()})
}

// trashEmpty is the command `larder trash empty`: it deletes the trash of an account for good; the
// server deletes the rest of a large one.
func trashEmpty(ctx context.Context, args, environ []string, out, errs io.Writer) (err error) {
	a, username, err := openForName(ctx, args, environ, nil, out, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	actor, err := actorNamed(ctx, a, username)
	if err != nil {
		return err
	}
	rest, err := a.Tree.EmptyTrash(ctx, actor, actor.UserID)
	if err != nil {
		return err
	}
	if rest != nil {
		fmt.Fprintf(out, "Deleted the newest entries in the trash of %s; the server deletes the others.\n", username)
	} else {
		fmt.Fprintf(out, "The trash of %s is empty.\n", username)
	}
	return a.RecordCommand(ctx, "larder trash empty",
		audit.Entry{UserID: actor.UserID, Action: audit.Purge, Path: vpath.Path{}.String()})
}

// actorNamed returns the account with a user name as an actor, whose rights then decide.
func actorNamed(ctx context.Context, a *app.App, username string) (access.Actor, error) {
	user, err := accountNamed(ctx, a, username)
	return access.Actor{UserID: user.ID, Role: user.Role, HomeID: user.HomeID}, err
}
