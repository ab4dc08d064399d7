package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// maxWALBytes is the size of SQLite's log in bytes above which LimitWAL empties it. Normally the
// log stays at about 4 MiB. But SQLite restarts it only when no reader uses it, and overlapping
// readers prevent that.
const maxWALBytes = 64 << 20

// LimitWAL empties SQLite's log (the WAL file) if it has more than maxWALBytes, so that it does not
// grow without limit. Call it regularly. It may delay writes for two seconds. It does nothing on
// PostgreSQL. Readers that are always active prevent it; this is logged and no error.
func (d *DB) LimitWAL(ctx context.Context) error { return d.truncateWAL(ctx, maxWALBytes) }

// truncateWAL is LimitWAL for a limit of most bytes.
func (d *DB) truncateWAL(ctx context.Context, most int64) error {
	if d.dialect != sqlite {
		return nil
	}
	info, err := os.Stat(d.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() <= most {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the database's log: %w", err)
	}
	conn, err := d.writePool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("empty the database's log: %w", translate(err))
	}
	defer discard(conn)
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 2000"); err != nil {
		return fmt.Errorf("empty the database's log: %w", translate(err))
	}
	// Readers that begin after everything is copied read the database file, so the checkpoint waits
	// only for the present readers. If they take longer, the next call tries again.
	var busy, frames, copied int64
	if err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &copied); err != nil {
		return fmt.Errorf("empty the database's log: %w", translate(err))
	}
	if busy != 0 {
		d.log.Warn("the database's log could not be emptied, since readers are always active", "bytes", info.Size())
	}
	return nil
}
