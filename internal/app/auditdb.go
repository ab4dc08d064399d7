package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"

	"larder/internal/audit"
	"larder/internal/db"
)

// openAudit opens the access log, which is separate from the metadata. It renames a malformed
// audit.db and begins a new one, since the service matters more than its log. It does not do that
// for a file that a newer Larder has migrated, nor for one that cannot be read: these are errors.
func (a *App) openAudit(ctx context.Context) error {
	err := a.openAuditDB(ctx)
	if errors.Is(err, db.ErrMalformed) {
		cause := err
		if a.damagedAuditFile, err = a.setAsideAuditFile(); err == nil {
			a.deps.Log.Error("the access log was malformed and has been set aside; a new one begins", "file",
				a.damagedAuditFile, "error", cause)
			err = a.openAuditDB(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("open the access log: %w", err)
	}
	a.Audit = a.newAudit()
	return nil
}

// newAudit returns the access log in the open database.
func (a *App) newAudit() *audit.Log {
	return audit.New(audit.Config{DB: a.auditDB, Now: a.deps.Now, Log: a.deps.Log, Retention: a.Config.LogRetention})
}

// RecordCommand writes an entry to the access log for a command that has acted with the rights of
// an account, also beside a running server. The request id of the entry is the command, since the
// account itself did nothing. A malformed log is an error, since a server may have it open.
func (a *App) RecordCommand(ctx context.Context, command string, e audit.Entry) error {
	if err := a.openAuditDB(ctx); err != nil {
		return fmt.Errorf("open the access log: %w", err)
	}
	e.RequestID, e.Status = command, http.StatusOK
	log := a.newAudit()
	log.Record(e)
	return log.Flush(ctx)
}

// auditCacheShares is the number of shares into which the memory for SQLite's page caches is
// divided; the access log gets one of them.
const auditCacheShares = 12

// openAuditDB opens and migrates the database of the access log, and reads the parts that are
// written and listed first, to detect damage (db.ErrMalformed).
func (a *App) openAuditDB(ctx context.Context) error {
	d, err := db.Open(ctx, db.Config{URL: a.Config.DatabaseURL.Reveal(), Path: a.Config.AuditFile(),
		Schema: audit.Schema, Secondary: true, Log: a.deps.Log,
		CacheBytes: a.Config.DatabaseCache / auditCacheShares})
	if err != nil {
		return err
	}
	err = d.Migrate(ctx)
	if err == nil {
		// other failures are handled as they are while running, and do not prevent the start
		if damage := audit.Check(d.Read(ctx)); errors.Is(damage, db.ErrMalformed) {
			err = damage
		}
	}
	if err != nil {
		return errors.Join(err, d.Close())
	}
	a.auditDB = d
	return nil
}

// setAsideAuditFile renames audit.db and the files beside it to a name with the present time, and
// returns the new name of audit.db.
func (a *App) setAsideAuditFile() (name string, err error) {
	path := a.Config.AuditFile()
	name = path + ".malformed-" + a.deps.Now().UTC().Format("20060102T150405.000Z")
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return "", errors.Join(fmt.Errorf("set %s aside: %s already exists", path, name), err)
	}
	if err := renameDatabase(path, name); err != nil {
		return "", fmt.Errorf("set a malformed access log aside: %w", err)
	}
	return name, nil
}

// renameDatabase renames a closed SQLite database from path to name, with the files beside it, the
// database last: after a crash in between, no journal of the old file is left beside a new one.
// Error: fs.ErrNotExist when there is no database.
func renameDatabase(path, name string) error {
	for _, part := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(path+part, name+part); err != nil && !(part != "" && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}
