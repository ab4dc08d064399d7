package app

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/backup"
	"larder/internal/config"
	"larder/internal/secret"
)

// Backup writes a backup into the directory that o names. larder is the version of this program,
// which the backup records. It can run beside a server. Error: lifecycle.ErrWrongKey when the
// settings have another master key than the database.
func (a *App) Backup(ctx context.Context, larder string, o backup.Options) (backup.Summary, error) {
	if err := a.checkKey(ctx); err != nil {
		return backup.Summary{}, err
	}
	cfg := backup.Config{
		DB: a.DB, Objects: a.Objects, Providers: a.Providers, Now: a.deps.Now, Log: a.deps.Log,
		DataDir: a.Config.DataDir, ObjectDir: a.Config.ObjectDir,
		Fingerprint: a.masterKey.Fingerprint(), BaseURL: a.BaseURL, Larder: larder,
	}
	if a.Config.SecretKey == "" {
		cfg.KeyFile = a.Config.KeyFile()
	}
	return backup.New(cfg).Run(ctx, o)
}

// Restore restores a backup into an empty installation. It creates only what the backup contains:
// no key, no first administrator.
func Restore(ctx context.Context, cfg config.Config, deps Deps,
	o backup.RestoreOptions) (sum backup.Restored, err error) {
	to := backup.Destination{
		DataDir: cfg.DataDir, ObjectDir: cfg.ObjectDir, DatabaseFile: cfg.DatabaseFile(), DatabaseURL: cfg.DatabaseURL,
		KeyFile: cfg.KeyFile(),
		MinFree: cfg.MinFree, Now: deps.Now, Log: deps.Log,
	}
	if cfg.SecretKey != "" {
		if to.Key, err = secret.New([]byte(cfg.SecretKey.Reveal())); err != nil {
			return backup.Restored{}, err
		}
	}
	if err := makePrivateDir(cfg.DataDir); err != nil {
		return backup.Restored{}, err
	}
	unlock, err := lockDir(cfg.DataDir)
	if err != nil {
		return backup.Restored{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return backup.Restore(ctx, to, o)
}

// checkRestoreFinished returns an error for a data directory into which a restore was begun and not
// finished.
func checkRestoreFinished(dir string) error {
	unfinished, err := backup.Unfinished(dir)
	if err == nil && unfinished {
		err = fmt.Errorf("a restore into %s was not finished: run `larder restore` again", dir)
	}
	return err
}
