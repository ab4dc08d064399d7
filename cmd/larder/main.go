// Command larder provides image hosting and file storage in one binary. `larder help` lists its
// commands.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/thumb/picture"
)

// version is set by the build.
var version = "development"

const usage = `Larder: image hosting and file storage.

  larder serve                                    run the service (larder serve --help lists every setting)
  larder health                                   print whether the running server is ready, and its problems; exit with 1 if it is not ready
  larder admin create NAME [--role user]          create an account (an administrator without --role) and print its password
  larder admin reset-password NAME                set a new random password and print it
  larder admin disable-captcha                    switch the bot check off when it keeps people from signing in
  larder key create USER [--for picgo|sharex|curl|webdav]
                                                  create an API key and print it, with the configuration of a client
  larder trash list USER                          list the trash of an account, with the id of each entry
  larder trash restore USER ID [--to FOLDER]      bring an entry back from the trash, with the rights of the account
  larder trash empty USER                         delete everything in the trash of an account for good
  larder import dir DIR --user NAME [--into PATH] [--replace] [--dry-run]
                                                  store the files of a directory of this machine as files of an account
  larder fsck [--deep] [--repair orphans,quota,refs,hashes,sorting,trash]
                                                  compare the database with the stores and report problems
  larder scrub --now [--from DIR|s3://BUCKET[/PREFIX]] [--provider NAME]
                                                  read every stored object once, and heal damaged ones from intact copies
  larder backup DIR [--keep N] [--verify]         copy database, key and files into a directory, beside the running service
  larder backup s3://BUCKET[/PREFIX] [--provider NAME] [--keep N] [--verify]
                                                  write a backup to a bucket, without the secret key
  larder restore DIR|s3://BUCKET[/PREFIX] [--snapshot TIME] [--incomplete]
                                                  restore a backup into an empty installation
  larder migrate-database --to postgres://…|sqlite [--from postgres://…|sqlite]
                                                  copy the database to the other engine, while no server runs
  larder rotate-key                               replace the secret key and re-encrypt all stored credentials, while no server runs
  larder openapi                                  print the description of the interface (OpenAPI 3.1)
  larder version [--json]                         print the version, and what the program was built with

Every command reads the same settings as serve: flags, LARDER_… variables, --config FILE.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run runs the command that args name and prints its error to errs. It returns the exit code: 0; 1
// for a failure or problems that were found; 2 for wrong arguments or settings; exitInterrupted;
// picture.Unconfined.
func run(ctx context.Context, args, environ []string, out, errs io.Writer) int {
	err := dispatch(ctx, args, environ, out, errs)
	var wrong *config.Error
	switch {
	case err == nil:
		return 0
	case errors.Is(err, config.ErrHelp):
		if err := config.Usage(out); err != nil {
			return 1
		}
		return 0
	case errors.As(err, &wrong), errors.Is(err, errUsage):
		fmt.Fprintln(errs, err)
		return 2
	case errors.Is(err, errFindings), errors.Is(err, errNotReady):
		return 1
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, picture.ErrUnconfined):
		fmt.Fprintln(errs, err)
		return picture.Unconfined
	}
	fmt.Fprintln(errs, "larder:", err)
	return 1
}

// errUsage marks an invalid command line.
var errUsage = errors.New("see `larder help`")

// twoWordCommands holds the commands whose names have two words.
var twoWordCommands = map[string]func(ctx context.Context, args, environ []string, out, errs io.Writer) error{
	"admin create":          adminCreate,
	"admin reset-password":  adminResetPassword,
	"admin disable-captcha": adminDisableCaptcha,
	"key create":            keyCreate,
	"trash list":            trashList,
	"trash restore":         trashRestore,
	"trash empty":           trashEmpty,
	"import dir":            importDir,
}

// dispatch calls the function of the command that args begin with. Error: errUsage for an unknown
// one.
func dispatch(ctx context.Context, args, environ []string, out, errs io.Writer) error {
	command := args
	if len(command) > 2 {
		command = command[:2]
	}
	switch {
	case len(args) == 0, args[0] == "help", args[0] == "--help", args[0] == "-h":
		_, err := io.WriteString(out, usage)
		return err
	case args[0] == "version", args[0] == "--version":
		return printVersion(args[1:], out)
	case args[0] == "openapi":
		return printDocument(out)
	case args[0] == picture.Command: // for the server only, which starts it for each picture
		return picture.Main(args[1:], os.Stdin, os.Stdout)
	case args[0] == "serve":
		return serve(ctx, args[1:], environ, out, errs)
	case args[0] == "health":
		return health(ctx, args[1:], environ, out)
	case args[0] == "fsck":
		return runFsck(ctx, args[1:], environ, out, errs)
	case args[0] == "scrub":
		return runScrub(ctx, args[1:], environ, out, errs)
	case args[0] == "backup":
		return takeBackup(ctx, args[1:], environ, out, errs)
	case args[0] == "migrate-database":
		return migrateDatabase(ctx, args[1:], environ, out, errs)
	case args[0] == "rotate-key":
		return rotateKey(ctx, args[1:], environ, out, errs)
	case args[0] == "restore":
		return restore(ctx, args[1:], environ, out, errs)
	}
	if run := twoWordCommands[strings.Join(command, " ")]; run != nil {
		return run(ctx, args[2:], environ, out, errs)
	}
	return fmt.Errorf("larder: unknown command %q: %w", command, errUsage)
}

// printVersion is the command `larder version`: it prints the version; with --json also the Go
// version, the system, and the newest schema of the database that this program knows.
func printVersion(args []string, out io.Writer) error {
	switch {
	case len(args) == 0:
		_, err := fmt.Fprintln(out, "larder", version)
		return err
	case len(args) > 1 || args[0] != "--json":
		return fmt.Errorf("larder: version %q: %w", args, errUsage)
	}
	schema, err := db.SchemaVersion()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(map[string]any{"version": version, "go": runtime.Version(),
		"os": runtime.GOOS, "arch": runtime.GOARCH, "schema": schema})
}
