package postgres

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/kv"
)

// bucket holds the parameters of one Take.
type bucket struct {
	key  string
	now  *int64 // µs since 1970, nil for the clock of the database
	gcra kv.GCRA
}

// clock is the SQL expression for the time in µs since 1970: the parameter $1, or the start of the
// statement if $1 is NULL.
const clock = `COALESCE($1::BIGINT, (EXTRACT(EPOCH FROM statement_timestamp()) * 1000000)::BIGINT)`

// level reads the level of the bucket in µs: the time until it is full. It is 0 or less for a full
// or unknown bucket.
func (b bucket) level(q db.Querier) (level int64, err error) {
	err = q.QueryRow("SELECT full_at - "+clock+" FROM guesses WHERE target = $2", b.now, b.key).Scan(&level)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	return level, err
}

// take takes b.gcra.Increment from the bucket and returns its level in µs afterwards. taken is
// false if the bucket has too few units, and nothing has changed then. It is kv.GCRA.Take in SQL,
// for a cost above 0 and up to the limit.
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

// giveBack applies a negative cost to the bucket, which fills it up to its limit at most, and
// returns the level in µs afterwards. It deletes a full bucket, which carries no information and
// would look empty after the clock is put back.
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

// clamp sets the level of the bucket to that of an empty one if it is higher, which means that the
// clock was put back.
func (b bucket) clamp(tx *db.Tx) error {
	_, err := tx.Exec(`
		UPDATE guesses
		SET full_at = `+clock+` + $3::BIGINT
		WHERE target = $2 AND full_at > `+clock+` + $3::BIGINT`, b.now, b.key, b.gcra.Burst)
	return err
}

// sweep deletes the buckets that are full at the time now (µs), nil for the clock of the database.
func sweep(tx *db.Tx, now *int64) error {
	if _, err := tx.Exec("DELETE FROM guesses WHERE full_at <= "+clock, now); err != nil {
		return fmt.Errorf("delete counts: %w", err)
	}
	return nil
}
