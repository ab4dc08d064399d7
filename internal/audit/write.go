package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"larder/internal/db"
)

const (
	// batchSize is the number of entries that one transaction writes.
	batchSize = 1000
	// writeInterval is the time between two writes, unless a whole batch waits.
	writeInterval = time.Second
	// retryInterval is the time after a write that failed.
	retryInterval = 5 * time.Second
	// writeTimeout bounds how long a stop waits for a running write. A write that is abandoned may
	// still have succeeded, and would then be repeated.
	writeTimeout = 15 * time.Second
)

// Run writes recorded data about once a second until ctx ends. The caller calls Finish afterwards.
func (l *Log) Run(ctx context.Context) {
	for {
		wait, enough := writeInterval, l.batchReady
		if err := l.flushInTime(ctx); err != nil {
			l.logFailure(err)
			wait, enough = retryInterval, nil
		}
		l.logDropped(l.Now())
		select {
		case <-ctx.Done():
			return
		case <-enough:
		case <-time.After(wait):
		}
	}
}

// flushInTime is Flush with writeTimeout. It also writes when ctx has ended.
func (l *Log) flushInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return l.Flush(ctx)
}

// logFailure logs a failure of the database, at most once a minute.
func (l *Log) logFailure(err error) {
	now := l.Now()
	l.mu.Lock()
	again := now.Sub(l.failureLoggedAt).Abs() >= time.Minute
	if again {
		l.failureLoggedAt = now
	}
	waiting := len(l.waiting)
	l.mu.Unlock()
	if again {
		l.Log.Error("write the access log; the write will be retried", "error", err, "waiting", waiting)
	}
}

// Flush writes all recorded data, except the sums of the running hour and minute.
func (l *Log) Flush(ctx context.Context) error { return l.flush(ctx, false) }

// Finish writes all remaining data, once nothing more is recorded. Data that cannot be written in
// two tries before ctx ends is lost, and the loss is logged.
func (l *Log) Finish(ctx context.Context) {
	err := l.flush(ctx, true)
	if err != nil { // the connection may have died; the second try opens another
		err = l.flush(ctx, true)
	}
	l.mu.Lock()
	lost := l.dropped + int64(len(l.waiting)+len(l.reads)+len(l.sources.merged))
	l.mu.Unlock()
	if err != nil || lost > 0 {
		l.Log.Error("the last entries of the access log could not be written", "error", err, "entries", lost)
	}
}

// flush writes recorded data in batches until none is left; stopping includes the sums of the
// running hour and minute. After an error the data of the failed batch is kept.
func (l *Log) flush(ctx context.Context, stopping bool) error {
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	for {
		p := l.nextBatch(stopping)
		if p.empty() {
			return nil
		}
		err := l.DB.Write(ctx, func(tx *db.Tx) error { return p.write(tx) })
		l.finishBatch(p, err == nil)
		if err != nil {
			return err
		}
	}
}

// writeBatch is the data that one transaction writes.
type writeBatch struct {
	entries []Entry
	reads   sums[hourPath]
	merged  sums[mergeKey]
	minutes map[int64]requestCount
}

// empty reports whether there is nothing to write.
func (b writeBatch) empty() bool {
	return len(b.entries)+len(b.reads)+len(b.merged)+len(b.minutes) == 0
}

// nextBatch collects the data of the next transaction; stopping includes unfinished sums. The
// entries stay in l.waiting until finishBatch, so that they count towards the limit. Sums and
// minutes are removed.
func (l *Log) nextBatch(stopping bool) writeBatch {
	now := l.Now().UnixMilli()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), batchSize)
	p := writeBatch{entries: l.waiting[:n:n], reads: l.reads.takeFinished(now, stopping),
		merged: l.sources.merged.takeFinished(now, stopping), minutes: l.minutes}
	l.minutes = map[int64]requestCount{}
	return p
}

// finishBatch removes the entries of a batch that was written, or restores the sums of one that
// failed (written is false).
func (l *Log) finishBatch(p writeBatch, written bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if written {
		l.waiting = append([]Entry(nil), l.waiting[len(p.entries):]...)
		return
	}
	for at, s := range p.reads {
		l.reads.add(at, s)
	}
	for at, s := range p.merged {
		l.sources.merged.add(at, s)
	}
	for at, n := range p.minutes {
		l.minutes[at] = l.minutes[at].plus(n)
	}
}

// write inserts the entries and adds the minutes of the batch in tx.
func (b writeBatch) write(tx *db.Tx) error {
	entries := append(append(publicReadEntries(b.reads), mergedEntries(b.merged)...), b.entries...)
	if len(entries) > 0 {
		if err := insert(tx, entries); err != nil {
			return fmt.Errorf("insert into the access log: %w", err)
		}
	}
	if err := addMinutes(tx, b.minutes); err != nil {
		return fmt.Errorf("count requests: %w", err)
	}
	return nil
}

// sweepStep is the number of rows that one transaction deletes.
const sweepStep = 5000

// Sweep deletes entries older than the retention, the oldest beyond MaxRows, and the figures of
// minutes and days that no chart shows any more. It works in short transactions, so that no writer
// waits for long.
func (l *Log) Sweep(ctx context.Context) error {
	now := l.Now()
	before := now.Add(-l.Retention).UnixMilli()
	size, oldest, err := sizeAndOldest(l.DB.Read(ctx))
	if err == nil && size > 0 && oldest < before {
		err = l.inSteps(ctx, func(tx *db.Tx) (int64, error) { return deleteBefore(tx, before) })
	}
	if err == nil && size > l.MaxRows {
		err = l.inSteps(ctx, func(tx *db.Tx) (int64, error) { return deleteExcess(tx, l.MaxRows) })
	}
	if err == nil {
		err = l.DB.Write(ctx, func(tx *db.Tx) error {
			return errors.Join(deleteMinutes(tx, now.UnixMilli()/minute-requestWindow),
				deleteStorageDays(tx, now.UnixMilli()/day-storageDays))
		})
	}
	if err := errors.Join(err, l.DB.LimitWAL(ctx)); err != nil {
		return fmt.Errorf("sweep the access log: %w", err)
	}
	return nil
}

// inSteps runs step, each time in a transaction of its own, until it deletes fewer than sweepStep
// rows.
func (l *Log) inSteps(ctx context.Context, step func(tx *db.Tx) (int64, error)) error {
	for {
		var deleted int64
		if err := l.DB.Write(ctx, func(tx *db.Tx) (err error) { deleted, err = step(tx); return err }); err != nil {
			return err
		}
		if deleted < sweepStep {
			return nil
		}
	}
}
