package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"larder/internal/blob/disk"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/kv"
	"larder/internal/kv/memory"
	"larder/internal/kv/postgres"
	"larder/internal/kv/redis"
	"larder/internal/osfile"
	"larder/internal/secret"
)

// makePrivateDir creates the data directory, with missing parents, so that only its owner can read
// it. An existing directory keeps its mode, since it may be a mounted volume.
func makePrivateDir(dir string) error {
	if err := disk.MakeDir(dir); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	return nil
}

// lockDir locks the data directory against a second server or a command that needs it alone. It
// fails at once when the directory is locked. The lock ends with unlock or with the process.
func lockDir(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, "larder.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if err := osfile.Lock(file, true); err != nil {
		if errors.Is(err, osfile.ErrLocked) {
			err = fmt.Errorf("the data directory %s is in use by another Larder", dir)
		}
		return nil, errors.Join(err, file.Close())
	}
	return file.Close, nil
}

// masterKey returns the keys derived from the installation's master key: that of the settings, or
// of the key file, which it creates if it is missing.
func masterKey(cfg config.Config, random io.Reader) (*secret.Keyring, error) {
	if cfg.SecretKey != "" {
		return secret.New([]byte(cfg.SecretKey.Reveal()))
	}
	key, err := secret.LoadOrCreate(cfg.KeyFile(), random)
	if err != nil {
		return nil, err
	}
	return secret.New(key)
}

// openCounters opens the store that counts rate limits: in Redis if it is configured, else in
// memory.
func openCounters(cfg config.Config, deps Deps) (kv.Store, error) {
	if cfg.RedisURL != "" {
		return redis.New(cfg.RedisURL.Reveal(),
			redis.Options{Now: deps.Now, Log: deps.Log, Timeout: deps.RedisTimeout, OwnClock: deps.OwnClock})
	}
	return memory.New(deps.Now, 0), nil
}

// openGuesses opens the store that counts wrong passwords by target: in Redis if it is configured,
// else in PostgreSQL, else in memory. It shares no memory with the store of the other counters,
// whose names clients choose, and which could evict these counts.
func openGuesses(cfg config.Config, deps Deps, d *db.DB) (kv.Store, error) {
	switch {
	case cfg.RedisURL != "":
		return redis.New(cfg.RedisURL.Reveal(), redis.Options{
			Now: deps.Now, Log: deps.Log, Timeout: deps.RedisTimeout, Prefix: "larder:guesses:",
			OwnClock: deps.OwnClock,
		})
	case cfg.Postgres():
		var opts postgres.Options
		if deps.OwnClock {
			opts.Now = deps.Now
		}
		return postgres.New(d, opts), nil
	}
	return memory.New(deps.Now, 0), nil
}

// sweepGuesses deletes expired counts of wrong passwords, if PostgreSQL holds them; Redis and
// memory drop them by themselves.
func (a *App) sweepGuesses(ctx context.Context) error {
	if table, ok := a.guesses.(*postgres.Store); ok {
		return table.Sweep(ctx)
	}
	return nil
}
