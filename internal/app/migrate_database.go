package app

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"larder/internal/audit"
	"larder/internal/backup"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/secret"
)

// SQLite names the database in the data directory for MigrateDatabase.
const SQLite = "sqlite"

// MigratedDatabase is the result of MigrateDatabase.
type MigratedDatabase struct {
	Metadata, AccessLog []db.TableSum
	// Key is the generated secret key in base64, which replicas need; "" if the settings have a
	// key.
	Key string
}

// unfinishedSuffix ends the names of SQLite databases that are not complete yet.
const unfinishedSuffix = ".migrating"

// MigrateDatabase copies the database that cfg names to the other engine: from SQLite to the
// address of an empty PostgreSQL database, or from PostgreSQL to SQLite. No server may run. It
// compares all rows of both before the copy can be used. From the first copied row on, the original
// is marked, so that no server starts on it (ErrMoved). After an interruption the same call begins
// anew.
func MigrateDatabase(ctx context.Context, cfg config.Config, deps Deps, to string) (m MigratedDatabase, err error) {
	if cfg.Postgres() != (to == SQLite) {
		return m, errors.New("the database is copied from SQLite to PostgreSQL or from PostgreSQL to sqlite; " +
			"PostgreSQL's own programs copy it to another PostgreSQL")
	}
	unlock, err := lockDir(cfg.DataDir)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := checkDatabaseExists(cfg); err != nil {
		return m, err
	}
	a, err := open(ctx, cfg, deps, false)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.prepareOriginal(ctx); err != nil {
		return m, err
	}
	if to == SQLite {
		err = a.copyToSQLite(ctx, &m)
	} else {
		err = a.copyToPostgres(ctx, to, &m)
	}
	if err == nil && cfg.SecretKey == "" {
		var key []byte
		key, err = secret.Load(cfg.KeyFile())
		m.Key = base64.StdEncoding.EncodeToString(key)
	}
	return m, err
}

// prepareOriginal brings the schema of the database that is to be copied up to date, as a start
// does, and opens the access log. It fails while a server runs, a step of the schema is incomplete,
// or the master key is another one.
func (a *App) prepareOriginal(ctx context.Context) error {
	if err := a.DB.Migrate(ctx); err != nil {
		return err
	}
	if all, err := a.DB.RunSteps(ctx, "migrate-database"); err != nil || !all {
		return errors.Join(
			errors.New("a step of the schema is not complete: start this version once, and let it run"), err)
	}
	if err := a.checkKey(ctx); err != nil {
		return err
	}
	if err := a.openAudit(ctx); err != nil {
		return err
	}
	return a.checkAlone(ctx)
}

// markOriginal marks the database that is to be copied as moved (db.SetMoved), when the destination
// is known to be usable. It fails, without a new mark, while a server runs.
func (a *App) markOriginal(ctx context.Context) error {
	mark, err := a.DB.MovedAt(ctx)
	if err == nil && mark == 0 { // not begun before
		err = a.DB.SetMoved(ctx, a.deps.Now().UnixMilli())
	}
	if err != nil {
		return err
	}
	if err := a.checkAlone(ctx); err != nil {
		if mark == 0 {
			err = errors.Join(err, a.DB.SetMoved(ctx, 0))
		}
		return err
	}
	return nil
}

// checkAlone fails while a server runs on the database. On SQLite it deletes the rows of servers,
// which were killed. A server that starts now either sees the mark of markOriginal, which it looks
// for after it has joined, or is seen here.
func (a *App) checkAlone(ctx context.Context) error {
	if !a.Config.Postgres() { // the data directory is locked: rows belong to servers that were killed
		return a.DB.ClearReplicas(ctx)
	}
	running, err := a.DB.Replicas(ctx, db.AliveFor)
	if err == nil && len(running) > 0 {
		err = fmt.Errorf("the replica %s was seen within the last five minutes: stop all servers; after one that was "+
			"killed wait until five minutes have passed", running[0].ID)
	}
	return err
}

// copyToPostgres copies the metadata and the access log to the PostgreSQL database at address,
// compares them, and stores the sums in m. It copies snapshots of the SQLite files, since other
// commands can write to the files.
func (a *App) copyToPostgres(ctx context.Context, address string, m *MigratedDatabase) (err error) {
	to, err := db.Open(ctx, db.Config{URL: address, Log: a.deps.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := a.emptyDestination(ctx, to); err != nil {
		return err
	}
	log, err := db.Open(ctx, db.Config{URL: address, Log: a.deps.Log, Schema: audit.Schema, Secondary: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if err := a.markOriginal(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		from, to *db.DB
		file     string
		sums     *[]db.TableSum
	}{{a.DB, to, a.Config.DatabaseFile(), &m.Metadata}, {a.auditDB, log, a.Config.AuditFile(), &m.AccessLog}} {
		if err := importFile(ctx, part.from, part.to, part.file+unfinishedSuffix, a.deps); err != nil {
			return err
		}
		if *part.sums, err = part.from.Compare(ctx, part.to); err != nil {
			return err
		}
	}
	return to.SetMoved(ctx, 0)
}

// emptyDestination makes sure that the PostgreSQL database to is empty: it removes the tables that
// an interrupted call has made, and fails for any others.
func (a *App) emptyDestination(ctx context.Context, to *db.DB) error {
	mark, err := a.DB.MovedAt(ctx)
	if err != nil {
		return err
	}
	if empty, err := to.IsEmpty(ctx); err != nil || empty {
		return err
	}
	if err := to.DropTables(ctx, mark); errors.Is(err, db.ErrNotEmpty) {
		return errors.New("the PostgreSQL database has tables that this command did not make: name an empty one")
	} else if err != nil {
		return err
	}
	return nil
}

// importFile copies the SQLite database from into the PostgreSQL database to. snapshot is the path
// of a temporary file that importFile makes and removes.
func importFile(ctx context.Context, from, to *db.DB, snapshot string, deps Deps) (err error) {
	if err := removeFile(snapshot); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeFile(snapshot)) }()
	if err := from.Snapshot(ctx, snapshot); err != nil {
		return err
	}
	rows, err := db.OpenSnapshot(ctx, snapshot, deps.Log)
	if err != nil {
		return err
	}
	return errors.Join(to.ImportFrom(ctx, rows), rows.Close())
}

// copyToSQLite writes metadata and access log into new SQLite files, compares them, stores the sums
// in m, and renames the files to their final names, the metadata last. Former databases that were
// moved away keep other names.
func (a *App) copyToSQLite(ctx context.Context, m *MigratedDatabase) error {
	if err := a.setAsideMoved(ctx); err != nil {
		return err
	}
	if err := a.markOriginal(ctx); err != nil {
		return err
	}
	files := []struct {
		from   *db.DB
		path   string
		schema db.Schema
		sums   *[]db.TableSum
	}{{a.auditDB, a.Config.AuditFile(), audit.Schema, &m.AccessLog},
		{a.DB, a.Config.DatabaseFile(), db.Schema{}, &m.Metadata}}
	for _, file := range files {
		path := file.path + unfinishedSuffix
		if err := removeFile(path); err != nil {
			return err
		}
		if err := file.from.Snapshot(ctx, path); err != nil {
			return err
		}
		to, err := db.Open(ctx, db.Config{Path: path, Log: a.deps.Log, Schema: file.schema})
		if err != nil {
			return err
		}
		*file.sums, err = file.from.Compare(ctx, to)
		if err == nil && file.from == a.DB {
			err = to.SetMoved(ctx, 0)
		}
		if err = errors.Join(err, to.Close()); err != nil {
			return err
		}
	}
	for _, file := range files {
		if err := backup.RenameDurably(file.path+unfinishedSuffix, file.path); err != nil {
			return fmt.Errorf("put the copy in place: %w", err)
		}
	}
	return nil
}

// setAsideMoved renames the SQLite databases of the data directory if they were moved to PostgreSQL
// before. It fails for a database without that mark, which would be lost.
func (a *App) setAsideMoved(ctx context.Context) error {
	path := a.Config.DatabaseFile()
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return a.setAside(a.Config.AuditFile()) // of an interrupted call
	}
	former, err := db.Open(ctx, db.Config{Path: path, Log: a.deps.Log})
	if err != nil {
		return err
	}
	mark, err := former.MovedAt(ctx)
	if err = errors.Join(err, former.Close()); err != nil {
		return err
	}
	if mark == 0 {
		return fmt.Errorf("%s already exists: move it away first", path)
	}
	return errors.Join(a.setAside(a.Config.AuditFile()), a.setAside(path))
}

// setAside renames a closed SQLite database, if there is one, to a name with the present time.
func (a *App) setAside(path string) error {
	name := path + ".moved-" + a.deps.Now().UTC().Format("20060102T150405.000Z")
	if err := renameDatabase(path, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set the former database aside: %w", err)
	}
	return nil
}

// removeFile removes the SQLite database at path, which is not open, and the files beside it.
// Missing files are no error.
func removeFile(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an incomplete copy: %w", err)
		}
	}
	return nil
}

// ErrMoved refuses to use a database that MigrateDatabase has copied to another one.
var ErrMoved = errors.New("this database was moved")

// checkNotMoved returns ErrMoved for a database that was copied to another one, or is an incomplete
// copy.
func (a *App) checkNotMoved(ctx context.Context) error {
	mark, err := a.DB.MovedAt(ctx)
	if err != nil || mark == 0 {
		return err
	}
	other := "LARDER_DATABASE_URL names the new one"
	if a.Config.Postgres() {
		other = "LARDER_DATABASE_URL is not set any more"
	}
	return fmt.Errorf("%w by `larder migrate-database` on %s, or the command was interrupted: see that %s, or run the "+
		"command again. `larder migrate-database --reopen` lets this database be used again, as it is",
		ErrMoved, time.UnixMilli(mark).UTC().Format(time.RFC3339), other)
}

// checkUsable returns an error when the database was copied to another one (ErrMoved) or migrated
// to another schema version while a command ran. An import asks it before it goes on.
func (a *App) checkUsable(ctx context.Context) error {
	if err := a.checkNotMoved(ctx); err != nil {
		return err
	}
	return a.DB.CheckSchema(ctx)
}

// ReopenDatabase removes the mark of a database that MigrateDatabase has copied to another one, so
// that servers start on it again. Error: the database has no mark.
func ReopenDatabase(ctx context.Context, cfg config.Config, deps Deps) (err error) {
	if err := checkDatabaseExists(cfg); err != nil {
		return err
	}
	a, err := open(ctx, cfg, deps, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	mark, err := a.DB.MovedAt(ctx)
	if err == nil && mark == 0 {
		err = errors.New("the database was not moved")
	}
	if err == nil {
		err = a.DB.SetMoved(ctx, 0)
	}
	return err
}

// checkDatabaseExists fails if cfg names an SQLite database that does not exist: to open it would
// create it.
func checkDatabaseExists(cfg config.Config) error {
	if _, err := os.Stat(cfg.DatabaseFile()); !cfg.Postgres() && err != nil {
		return fmt.Errorf("there is no database in %s", cfg.DataDir)
	}
	return nil
}

// IsDatabase reports whether a word names a database for MigrateDatabase: an address of PostgreSQL,
// or SQLite.
func IsDatabase(name string) bool {
	return name == SQLite || strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// DatabaseURL returns config.Config.DatabaseURL for the database of that name, as in IsDatabase.
func DatabaseURL(name string) secret.Text {
	if name == SQLite {
		return ""
	}
	return secret.Text(name)
}
