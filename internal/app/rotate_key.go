package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"larder/internal/api"
	"larder/internal/backup"
	"larder/internal/config"
	"larder/internal/crash"
	"larder/internal/lifecycle"
	"larder/internal/secret"
)

// NewKeyVariable is the environment variable with the new key of RotateKey.
const NewKeyVariable = "LARDER_NEW_SECRET_KEY"

// nextKeySuffix ends the name of the file that holds the new key until the database has it.
const nextKeySuffix = ".next"

// RotatedKey is the result of RotateKey.
type RotatedKey struct {
	Sealed     int  // values that were sealed anew
	Unreadable int  // values that the old key did not open; they stay unreadable
	Finished   bool // the database had the new key already, from an interrupted call
	InFile     bool // the new key is in the key file
}

// RotateKey replaces the master key of the database. No server may run. next is the new key
// (KeyBytes bytes) of an installation that has its key in the settings; "" for an installation with
// a key file, whose new key RotateKey makes itself.
//
// The new key is durable before the database has it: in the settings of the operator, or in a file
// beside the key file. One transaction of the database decides which key is valid. After a crash
// before it the old key is valid; after a crash behind it the new one, and the same call puts the
// file in place. Errors: lifecycle.ErrWrongKey, db.ErrReplicaRunning, and secret.ErrWeakKey.
func RotateKey(ctx context.Context, cfg config.Config, deps Deps, next secret.Text) (r RotatedKey, err error) {
	r.InFile = cfg.SecretKey == ""
	switch {
	case r.InFile && next != "":
		return r, fmt.Errorf("the key of this installation is the file %s, for which the command makes the new key: "+
			"run it without %s", cfg.KeyFile(), NewKeyVariable)
	case !r.InFile && next == "":
		return r, fmt.Errorf("the secret key is given in the settings: give a new one in the variable %s, as "+
			"`head -c 32 /dev/urandom | base64` makes it", NewKeyVariable)
	case !r.InFile && next == cfg.SecretKey:
		return r, fmt.Errorf("%s is the present key: make a new one", NewKeyVariable)
	}
	if _, err := os.Stat(cfg.DatabaseFile()); !cfg.Postgres() && err != nil {
		return r, fmt.Errorf("there is no database in %s", cfg.DataDir)
	}
	if err := makePrivateDir(cfg.DataDir); err != nil {
		return r, err
	}
	unlock, err := lockDir(cfg.DataDir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if r.InFile { // before open, which makes a key where none is
		if _, err := secret.Load(cfg.KeyFile()); err != nil {
			return r, err
		}
	}
	a, err := Open(ctx, cfg, deps)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.DB.CheckSchema(ctx); err != nil {
		return r, err
	}
	if !cfg.Postgres() { // the data directory is locked: rows belong to servers that were killed
		if err := a.DB.ClearReplicas(ctx); err != nil {
			return r, err
		}
	}
	err = a.rotateKey(ctx, next, &r)
	return r, err
}

// rotateKey does the work of RotateKey when it is known that no server runs, and fills in r.
func (a *App) rotateKey(ctx context.Context, next secret.Text, r *RotatedKey) error {
	rotation := secret.Rotation{From: a.masterKey}
	key, err := []byte(next.Reveal()), error(nil)
	if r.InFile { // a file of an interrupted call is used again: the database may have its key
		key, err = secret.LoadOrCreate(a.nextKeyFile(), a.deps.Random)
		crash.Point("rotate.written")
	}
	if err == nil {
		rotation.To, err = secret.New(key)
	}
	if err != nil {
		return err
	}
	rotated, err := a.Lifecycle.RotateKey(ctx, &rotation, api.FormerKeys(a.masterKey, a.deps.Now()))
	if err != nil {
		return err
	}
	crash.Point("rotate.committed")
	r.Sealed, r.Unreadable, r.Finished = rotation.Sealed, rotation.Unreadable, !rotated
	if !r.InFile {
		return nil
	}
	if err := backup.RenameDurably(a.nextKeyFile(), a.Config.KeyFile()); err != nil {
		return fmt.Errorf("put the new key in place: %w", err)
	}
	crash.Point("rotate.placed")
	return nil
}

// nextKeyFile returns the path of the file that holds the new key until the database has it.
func (a *App) nextKeyFile() string { return a.Config.KeyFile() + nextKeySuffix }

// checkKey returns lifecycle.ErrWrongKey when the master key of the settings is not the one with
// which the database's values are sealed; with advice when RotateKey was interrupted.
func (a *App) checkKey(ctx context.Context) error {
	err := a.Lifecycle.CheckKey(ctx, a.masterKey.Fingerprint())
	if !errors.Is(err, lifecycle.ErrWrongKey) || a.Config.SecretKey != "" {
		return err
	}
	if _, missing := os.Lstat(a.nextKeyFile()); errors.Is(missing, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("the replacement of the secret key was interrupted, run `larder rotate-key` again: %w", err)
}
