package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"larder/internal/app"
	"larder/internal/config"
	"larder/internal/db"
)

// migrateDatabase is the command `larder migrate-database`: it copies the database of the settings,
// or that of --from, to the other engine and prints a line for each table; with --reopen it lets a
// copied database be used again.
func migrateDatabase(ctx context.Context, args, environ []string, out, errs io.Writer) error {
	own := flag.NewFlagSet("migrate-database", flag.ContinueOnError)
	to := own.String("to", "", "the address of an empty PostgreSQL database, or sqlite")
	from := own.String("from", "", "the database instead of that of the settings: an address of PostgreSQL, or sqlite")
	reopen := own.Bool("reopen", false, "use the database again, although it was copied")
	cfg, words, err := config.LoadCommand(args, environ, own)
	if err != nil {
		return err
	}
	if len(words) != 0 || (*to == "") != *reopen || *to != "" && !app.IsDatabase(*to) ||
		*from != "" && !app.IsDatabase(*from) {
		return fmt.Errorf("larder: migrate-database needs --to postgres://…, --to sqlite or --reopen; "+
			"--from has one of the first two forms: %w", errUsage)
	}
	if *from != "" {
		cfg.DatabaseURL = app.DatabaseURL(*from)
		if cfg.Postgres() && cfg.SecretKey == "" {
			return errors.New("larder: migrate-database needs LARDER_SECRET_KEY, the key of the servers on it")
		}
	}
	if *reopen {
		if err := app.ReopenDatabase(ctx, cfg, deps(cfg, out, errs)); err != nil {
			return err
		}
		fmt.Fprintln(out, "The database can be used again. It does not contain changes made in the copy.")
		return nil
	}
	done, err := app.MigrateDatabase(ctx, cfg, deps(cfg, out, errs), *to)
	if errors.Is(err, db.ErrDifferent) {
		return fmt.Errorf("%w: something wrote to the database meanwhile; run the command again", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-24s %12s  %s\n", "table", "rows", "sum of the SHA-256 of all rows, the same in both")
	for _, sums := range [][]db.TableSum{done.Metadata, done.AccessLog} {
		for _, sum := range sums {
			fmt.Fprintf(out, "%-24s %12d  %s\n", sum.Table, sum.Rows, sum.Sum)
		}
	}
	if *to == app.SQLite {
		fmt.Fprintln(out, "The copy is complete. Start `larder serve` without LARDER_DATABASE_URL.")
	} else {
		fmt.Fprintln(out, "The copy is complete. Start `larder serve` with its address in LARDER_DATABASE_URL.")
	}
	if done.Key != "" {
		fmt.Fprintf(out, "Every server that uses the new database needs this key. Keep the key secret:\n"+
			"LARDER_SECRET_KEY=%s\n", done.Key)
	}
	return nil
}
