package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/api"
	"larder/internal/app"
	"larder/internal/config"
	"larder/internal/fault"
	"larder/internal/lifecycle"
	"larder/internal/site"
)

// deps returns what package app needs to run a command: out receives messages, errs the log.
func deps(cfg config.Config, out, errs io.Writer) app.Deps {
	return depsWithLog(out, newLog(cfg, errs, isTerminal(errs)))
}

// depsWithLog is deps with a given log.
func depsWithLog(out io.Writer, log *slog.Logger) app.Deps {
	return app.Deps{Version: version, Now: time.Now, Random: rand.Reader, Log: log, Out: out}
}

// newLog returns a log that is written to lines, in the format of the settings. terminal says
// whether a person reads it at a terminal.
func newLog(cfg config.Config, lines io.Writer, terminal bool) *slog.Logger {
	text := cfg.LogFormat == config.LogText || cfg.LogFormat == config.LogAuto && terminal
	return slog.New(app.NewLogHandler(lines, cfg.LogLevel, text))
}

// isTerminal reports whether w is a terminal, or another character device.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// serve is the command `larder serve`: it runs the service until ctx ends. It writes the log to
// errs and the address to out.
func serve(ctx context.Context, args, environ []string, out, errs io.Writer) error {
	cfg, err := config.Load(args, environ)
	if err != nil {
		return err
	}
	lines := app.NewLogWriter(errs)
	defer lines.Close()
	terminal := isTerminal(errs)
	lines.LostLine = func(dropped int) []byte {
		var line bytes.Buffer
		newLog(cfg, &line, terminal).Warn("log lines were lost, since their reader does not keep up", "lines", dropped)
		return line.Bytes()
	}
	a, err := app.New(ctx, cfg, depsWithLog(out, newLog(cfg, lines, terminal)))
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// printDocument prints the OpenAPI document, from which clients and the web UI make their types.
func printDocument(out io.Writer) error {
	document, err := api.Document()
	if err == nil {
		_, err = out.Write(document)
	}
	return err
}

// openForName opens the service for a command that takes one argument, such as a user name, which
// it returns. own holds the flags of the command, nil for none. The caller closes the App.
func openForName(ctx context.Context, args, environ []string, own *flag.FlagSet, out,
	errs io.Writer) (*app.App, string, error) {
	a, words, err := openForWords(ctx, args, environ, own, 1, out, errs)
	if err != nil {
		return nil, "", err
	}
	return a, words[0], nil
}

// openForWords opens the service for a command other than serve, which takes number arguments
// besides flags, and returns these. own holds the flags of the command, nil for none. Such commands
// can run beside a server. It refuses a database that is missing or has another schema version.
// Error: errUsage for another number of arguments.
func openForWords(ctx context.Context, args, environ []string, own *flag.FlagSet, number int, out,
	errs io.Writer) (*app.App, []string, error) {
	cfg, words, err := config.LoadCommand(args, environ, own)
	if err != nil {
		return nil, nil, err
	}
	if len(words) != number {
		return nil, nil, fmt.Errorf("larder: got %d arguments instead of %d, %q: %w", len(words), number, words,
			errUsage)
	}
	if _, err := os.Stat(cfg.DatabaseFile()); !cfg.Postgres() && err != nil {
		return nil, nil, fmt.Errorf("there is no database in %s: start `larder serve` with it once", cfg.DataDir)
	}
	a, err := app.Open(ctx, cfg, deps(cfg, out, errs))
	if err != nil {
		return nil, nil, err
	}
	if err := a.DB.CheckSchema(ctx); err != nil {
		_ = a.Close()
		return nil, nil, err
	}
	return a, words, nil
}

// accountNamed returns the account with a user name; an unknown name is an error for the operator.
func accountNamed(ctx context.Context, a *app.App, username string) (account.User, error) {
	user, err := a.Accounts.ByName(a.DB.Read(ctx), username)
	if fault.Is(err, fault.NotFound) {
		err = fmt.Errorf("there is no account %q", username)
	}
	return user, err
}

// adminCreate is the command `larder admin create`: it creates an account and prints its random
// password.
func adminCreate(ctx context.Context, args, environ []string, out, errs io.Writer) (err error) {
	own := flag.NewFlagSet("admin create", flag.ContinueOnError)
	role := own.String("role", "admin", "admin, user or guest")
	email := own.String("email", "", "email address (default NAME@localhost)")
	a, name, err := openForName(ctx, args, environ, own, out, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	parsed, err := access.ParseRole(*role)
	if err != nil {
		return err
	}
	if *email == "" {
		*email = name + "@localhost"
	}
	password := a.Lifecycle.RandomPassword()
	user, err := a.Lifecycle.CreateUser(ctx, lifecycle.NewUser{NewUser: account.NewUser{Username: name, Email: *email,
		Password: password, Role: parsed, EmailVerified: true}})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Created %s (%s) with the password %s\n", user.Username, user.Role, password.Reveal())
	return err
}

// adminResetPassword is the command `larder admin reset-password`: it sets a random password and
// prints it.
func adminResetPassword(ctx context.Context, args, environ []string, out, errs io.Writer) (err error) {
	a, name, err := openForName(ctx, args, environ, nil, out, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	password, err := a.Lifecycle.ResetPassword(ctx, name, "")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "The new password of %s is %s; every session of the account has ended.\n", name,
		password.Reveal())
	return err
}

// adminDisableCaptcha is the command `larder admin disable-captcha`: it switches the bot check off,
// for administrators who cannot sign in because the verify address does not answer.
func adminDisableCaptcha(ctx context.Context, args, environ []string, out, errs io.Writer) (err error) {
	a, _, err := openForWords(ctx, args, environ, nil, 0, out, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if _, err := a.Site.Update(ctx, func(s *site.Settings) error { s.EnableCaptcha = false; return nil }); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out,
		"The bot check is off. Its site key is kept; switch enableCaptcha on again in the site settings.")
	return err
}
