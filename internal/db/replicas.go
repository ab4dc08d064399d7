package db

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// AliveFor is how long a replica counts as running after it was last seen.
	AliveFor = 5 * time.Minute
	// lapse is AliveFor in milliseconds.
	lapse = int64(AliveFor / time.Millisecond)
)

// ErrOlderReplica means that a running replica does not know the schema that is needed.
var ErrOlderReplica = errors.New("an older replica is running")

// ErrReplicaRunning means that a server runs on the database.
var ErrReplicaRunning = errors.New("a server is running on this database")

// Replica is a process that serves on this database.
type Replica struct {
	ID          string // unique; readable for people
	Version     string // of the program
	Schema      int    // newest version of the metadata schema that it knows; set by Join and Heartbeat
	AuditSchema int    // the same for the access log
	Seen        int64  // ms; set by Replicas

	// Alone is set when no other process can use the database, as with SQLite, whose data directory
	// is locked. Join then removes all other rows: they belong to processes that were killed.
	Alone bool
}

// Join is Migrate for a process that is about to serve. It writes the row of r in the same
// transaction, so that from then on no migration runs on whose schema r cannot work. Errors:
// ErrOlderReplica, ErrTooOld.
func (d *DB) Join(ctx context.Context, r Replica) error {
	return d.migrateTo(ctx, migrationTo{replica: &r})
}

// Heartbeat records that r is still running. After a silence of 5 minutes r counted as stopped, and
// a migration may not have waited for it: then Heartbeat checks the schema again. Error: ErrTooOld,
// after which the process must not go on.
func (d *DB) Heartbeat(ctx context.Context, r Replica) error {
	newest, err := d.schema.Newest()
	if err != nil {
		return err
	}
	return d.Write(ctx, func(tx *Tx) error {
		now, err := d.clock(tx)
		if err != nil {
			return err
		}
		n, err := tx.Exec("UPDATE replicas SET seen = $1 WHERE id = $2 AND seen > $3", now, r.ID, now-lapse)
		if err != nil {
			return fmt.Errorf("write the row of this replica: %w", err)
		}
		if n == 1 {
			return nil
		}
		have, oldest, err := schemaVersion(tx)
		if err != nil {
			return err
		}
		if have > newest {
			if err := tolerated(tx, have, oldest, newest); err != nil {
				return err
			}
		}
		return insertReplica(tx, r, newest)
	})
}

// Leave deletes the row of a replica that stops, so that no migration waits for it.
func (d *DB) Leave(ctx context.Context, id string) error {
	return d.Write(ctx, func(tx *Tx) error {
		if _, err := tx.Exec("DELETE FROM replicas WHERE id = $1", id); err != nil {
			return fmt.Errorf("remove the row of this replica: %w", err)
		}
		return nil
	})
}

// Replicas returns the replicas whose last Heartbeat is not longer ago than within, ordered by id.
func (d *DB) Replicas(ctx context.Context, within time.Duration) ([]Replica, error) {
	q := d.Read(ctx)
	now, err := d.clock(q)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query("SELECT id, version, schema, audit_schema, seen FROM replicas WHERE seen > $1 ORDER BY id",
		now-within.Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("read the replicas: %w", err)
	}
	defer rows.Close()
	var all []Replica
	for rows.Next() {
		var r Replica
		if err := rows.Scan(&r.ID, &r.Version, &r.Schema, &r.AuditSchema, &r.Seen); err != nil {
			return nil, fmt.Errorf("read the replicas: %w", err)
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// SweepReplicas deletes the rows of replicas that count as stopped: those not seen for AliveFor.
func (d *DB) SweepReplicas(ctx context.Context) error {
	return d.Write(ctx, func(tx *Tx) error {
		now, err := d.clock(tx)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM replicas WHERE seen <= $1", now-lapse); err != nil {
			return fmt.Errorf("remove replicas that are gone: %w", err)
		}
		return nil
	})
}

// RequireSchema raises the oldest schema version that a replica must know to version: from this
// transaction on no replica that knows less can start. It is for rows that an older replica would
// misread or drop. Error: ErrOlderReplica while one is running.
func (t *Tx) RequireSchema(version int) error {
	var stated int // it never falls, so that no lock is needed when it is high enough
	if err := t.QueryRow("SELECT oldest FROM " + t.db.schema.Table).Scan(&stated); err != nil {
		return fmt.Errorf("require schema version %d: %w", version, err)
	}
	if stated >= version {
		return nil
	}
	_, oldest, err := schemaVersion(t) // takes the lock: no replica joins before this is committed
	if err != nil || oldest >= version {
		return err
	}
	older, err := olderReplica(t, version)
	if err != nil {
		return err
	}
	if older != nil {
		return fmt.Errorf("%w: %s (Larder %s) knows schema version %d, and %d is needed", ErrOlderReplica, older.ID,
			older.Version, older.Schema, version)
	}
	if _, err := t.Exec("UPDATE "+t.db.schema.Table+" SET oldest = $1", version); err != nil {
		return fmt.Errorf("require schema version %d: %w", version, err)
	}
	return nil
}

// replicasAllow returns ErrOlderReplica while a replica is running that knows less than version
// oldest. next is the version to which the caller wants to migrate, for the message.
func replicasAllow(tx *Tx, oldest, next int) error {
	if tx.db.schema.Replicas == "" {
		return nil
	}
	names, err := tables(tx.db.dialect, tx)
	if err != nil {
		return err
	}
	if !slices.Contains(names, "replicas") {
		if tx.db.dialect == postgres {
			tx.db.log.Warn(
				"replicas of the version that this database comes from do not register in it, so this start can't " +
					"check whether any is still running: stop them all")
		}
		return nil
	}
	older, err := olderReplica(tx, oldest)
	if err != nil || older == nil {
		return err
	}
	return fmt.Errorf(
		"%w: %s (Larder %s) can't work on schema version %d of %s, to which this start would migrate the database. "+
			"Stop that replica, "+
			"or upgrade it first to a Larder that knows version %d; one that was killed counts as running for 5 "+
			"minutes",
		ErrOlderReplica, older.ID, older.Version, next, tx.db.schema.Table, oldest)
}

// olderReplica returns a replica that was seen within AliveFor and knows less than version of the
// schema, nil for none.
func olderReplica(tx *Tx, version int) (*Replica, error) {
	now, err := tx.db.clock(tx)
	if err != nil {
		return nil, err
	}
	var r Replica
	err = tx.QueryRow("SELECT id, version, "+tx.db.schema.Replicas+" FROM replicas WHERE seen > $1 AND "+
		tx.db.schema.Replicas+" < $2 ORDER BY id LIMIT 1",
		now-lapse, version).Scan(&r.ID, &r.Version, &r.Schema)
	if errors.Is(err, ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for older replicas: %w", err)
	}
	return &r, nil
}

// insertReplica writes the row of r, seen now, with schema as the version that it knows; for an
// existing row it only renews the time.
func insertReplica(tx *Tx, r Replica, schema int) error {
	now, err := tx.db.clock(tx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`
		INSERT INTO replicas (id, version, schema, audit_schema, seen)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET seen = excluded.seen`, r.ID, r.Version, schema, r.AuditSchema, now); err != nil {
		return fmt.Errorf("write the row of this replica: %w", err)
	}
	return nil
}

// dropReplicas deletes the rows of all replicas, for a process that uses the database alone.
func dropReplicas(tx *Tx) error {
	names, err := tables(tx.db.dialect, tx)
	if err != nil || !slices.Contains(names, "replicas") {
		return err
	}
	if _, err := tx.Exec("DELETE FROM replicas"); err != nil {
		return fmt.Errorf("remove replicas that are gone: %w", err)
	}
	return nil
}

// Clock returns the time of the database, exact to a millisecond.
func (d *DB) Clock(ctx context.Context) (time.Time, error) {
	ms, err := d.clock(d.Read(ctx))
	return time.UnixMilli(ms), err
}

// clock returns the time in milliseconds since 1970, read through q from the database: replicas
// share its clock, since their own clocks may differ. Config.Now replaces it.
func (d *DB) clock(q Querier) (ms int64, err error) {
	if d.now != nil {
		return d.now().UnixMilli(), nil
	}
	if err := q.QueryRow("SELECT " + d.dialect.now()).Scan(&ms); err != nil {
		return 0, fmt.Errorf("read the clock of the database: %w", err)
	}
	return ms, nil
}

// RequireSchema returns ErrOlderReplica while a replica is running that knows less than version of
// the schema of d. Unlike Tx.RequireSchema it stores nothing. tx is a transaction on the metadata,
// which holds the replicas.
func (d *DB) RequireSchema(tx *Tx, version int) error {
	older, err := olderReplica(tx, version)
	if err != nil || older == nil {
		return err
	}
	return fmt.Errorf("%w: %s (Larder %s) knows no schema version %d", ErrOlderReplica, older.ID, older.Version,
		version)
}

// CheckNoReplica returns ErrReplicaRunning while a server was seen on the database within AliveFor.
func (t *Tx) CheckNoReplica() error {
	running, err := olderReplica(t, math.MaxInt32)
	if err != nil || running == nil {
		return err
	}
	return fmt.Errorf("%w: the replica %s was seen within the last five minutes. Stop all servers; after one that was "+
		"killed wait until five minutes have passed", ErrReplicaRunning, running.ID)
}

// ClearReplicas deletes the rows of all replicas, when the caller knows that none is running.
func (d *DB) ClearReplicas(ctx context.Context) error {
	return d.Write(ctx, func(tx *Tx) error {
		if _, err := tx.Exec("DELETE FROM replicas"); err != nil {
			return fmt.Errorf("remove replicas that are gone: %w", err)
		}
		return nil
	})
}
