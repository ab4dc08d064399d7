package app

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"larder/internal/db"
)

// clockTolerance is how far the clock of this machine may be from that of the database without
// being corrected.
const clockTolerance = 5 * time.Second

// databaseClock is the clock of this machine, corrected to that of the database, which all replicas
// share. Safe for concurrent use.
type databaseClock struct {
	own   func() time.Time
	ahead atomic.Int64 // ns that the database is ahead of own; 0 within the tolerance
}

// Now returns the time of the database.
func (c *databaseClock) Now() time.Time { return c.own().Add(time.Duration(c.ahead.Load())) }

// follow compares both clocks and changes the correction if they have moved against each other.
func (c *databaseClock) follow(ctx context.Context, d *db.DB, log *slog.Logger) error {
	begin := c.own()
	there, err := d.Clock(ctx)
	if err != nil {
		return err
	}
	half := c.own().Sub(begin) / 2 // the answer is from a moment between the two
	ahead, present := there.Sub(begin.Add(half)), time.Duration(c.ahead.Load())
	if (ahead - present).Abs() <= clockTolerance+half {
		return nil
	}
	if ahead.Abs() <= clockTolerance+half {
		ahead = 0
	}
	c.ahead.Store(int64(ahead))
	log.Warn("the clock of this machine is corrected to that of the database: set both by a time server",
		"database_ahead_by", ahead.Round(time.Second).String())
	return nil
}
