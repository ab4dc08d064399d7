package postgres

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/kv"
)

// bucket is what one Take is about.
type bucket struct {
	key  string
	now  *int64 // µs since 1970, nil for the clock of the database
	gcra kv.GCRA
}

// clock is the SQL expression for the time in µs since 1970: the parameter $1, or where that is
// NULL the time at which the statement began.
const clock = `COALESCE($1::BIGINT, (EXTRACT(EPOCH FROM statement_timestamp()) * 1000000)::BIGINT)`

// level returns how far from full the bucket is, in µs; 0 or less for full.
func (b bucket) level(q db.Querier) (level int64, err error) {
	err = q.QueryRow("SELECT full_at - "+clock+" FROM guesses WHERE target = $2", b.now, b.key).Scan(&level)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	return level, err
}

// take spends from the bucket and returns the level afterwards. taken is false when the bucket has
// no room for the cost. It is kv.Spend.Take in SQL, for a cost above 0 and at most the limit.
func (b bucket) take(tx *db.Tx) (after int64, taken bool, err error) {
	const had = "LEAST(GREATEST(g.full_at - (excluded.full_at - $3::BIGINT), 0), $4::BIGINT)"
	err = tx.QueryRow(`
		INSERT INTO guesses AS g (target, full_at)
		VALUES ($2, `+clock+` + $3::BIGINT)
		ON CONFLICT (target) DO UPDATE
		SET full_at = excluded.full_at + `+had+`
		WHERE `+had+` + $3::BIGINT <= $4::BIGINT
		RETURNING g.full_at - `+clock, b.now, b.key, b.gcra.Increment, b.gcra.Burst).Scan(&after)
	if errors.Is(err, db.ErrNoRows) {
		return 0, false, nil
	}
	return after, err == nil, err
}

// giveBack returns a negative cost to the bucket, up to full, and returns the level
// afterwards. A full bucket is deleted: it is worth nothing, and a clock that is put back
// would make it look empty.
func (b bucket) giveBack(tx *db.Tx) (after int64, err error) {
	err = tx.QueryRow(`
		UPDATE guesses
		SET full_at = `+clock+` + GREATEST(LEAST(full_at - `+clock+`, $4::BIGINT) + $3::BIGINT, 0)
		WHERE target = $2
		RETURNING full_at - `+clock, b.now, b.key, b.gcra.Increment, b.gcra.Burst).Scan(&after)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	if err == nil && after <= 0 {
		_, err = tx.Exec("DELETE FROM guesses WHERE full_at <= "+clock+" AND target = $2", b.now, b.key)
	}
	return after, err
}

// clamp makes the bucket empty where it is further from full than that: the clock was put back.
func (b bucket) clamp(tx *db.Tx) error {
	_, err := tx.Exec(`
		UPDATE guesses
		SET full_at = `+clock+` + $3::BIGINT
		WHERE target = $2 AND full_at > `+clock+` + $3::BIGINT`, b.now, b.key, b.gcra.Burst)
	return err
}

func sweep(tx *db.Tx, now *int64) error {
	if _, err := tx.Exec("DELETE FROM guesses WHERE full_at <= "+clock, now); err != nil {
		return fmt.Errorf("delete counts: %w", err)
	}
	return nil
}
