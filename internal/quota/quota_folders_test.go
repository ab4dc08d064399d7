package quota_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/quota"
)

// folderCounts reads the numbers of used and reserved folders.
func folderCounts(t testing.TB, q db.Querier, user string) (used, reserved int64) {
	t.Helper()
	err := q.QueryRow("SELECT used_folders, reserved_folders FROM quotas WHERE user_id = $1", user).
		Scan(&used, &reserved)
	if err != nil {
		t.Fatal(err)
	}
	return used, reserved
}

// docs/decisions.md, Quota: an account has at most max(1,000, 2 × maxFiles) folders.
func TestFoldersStopAtTheLimit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for maxFiles, limit := range map[int64]int64{
			0: 1000, 1: 1000, 499: 1000, 500: 1000, 501: 1002, 100_000: 200_000,
			quota.Unlimited: math.MaxInt64, math.MaxInt64: math.MaxInt64,
		} {
			for name, more := range map[string]func(*db.Tx, string, int64) error{
				"charge": quota.ChargeFolders, "reserve": quota.ReserveFolders,
			} {
				user := fmt.Sprint(name, maxFiles)
				do := func(fn func(*db.Tx, string, int64) error, n int64) error {
					return d.Write(t.Context(), func(tx *db.Tx) error { return fn(tx, user, n) })
				}
				write(t, d, func(tx *db.Tx) error { return quota.Create(tx, user, 0, maxFiles) }) // needs no bytes
				if err := errors.Join(do(quota.ChargeFolders, 400), do(quota.ReserveFolders, 300),
					do(more, limit-700)); err != nil {
					t.Errorf("%s of up to %d folders, %d files allowed: %v", name, limit, maxFiles, err)
				}
				if limit < math.MaxInt64 {
					if err := do(more, 1); !fault.Is(err, fault.QuotaExceeded) {
						t.Errorf("%s of one more than %d: %v", name, limit, err)
					}
				}
				if err := errors.Join(do(more, 0), do(quota.CreditFolders, -5),
					do(quota.CreditFolders, 6)); err != nil && limit < math.MaxInt64 {
					t.Errorf("a change that is never refused: %v", err)
				}
			}
		}
		for name, more := range map[string]func(*db.Tx, string, int64) error{"charge": quota.ChargeFolders,
			"reserve": quota.ReserveFolders} {
			if err := d.Write(t.Context(), func(tx *db.Tx) error { return more(tx, "nobody", 1) }); !fault.Is(err,
				fault.QuotaExceeded) {
				t.Errorf("%s without a quota: %v", name, err)
			}
		}
	})
}

func TestParallelFoldersStopAtTheLimit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		write(t, d, func(tx *db.Tx) error {
			return errors.Join(quota.Create(tx, "u", 0, 0), quota.ChargeFolders(tx, "u", 990))
		})
		var in atomic.Int64
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				err := d.Write(context.Background(), func(tx *db.Tx) error {
					if i%2 == 0 {
						return quota.ReserveFolders(tx, "u", 1)
					}
					return quota.ChargeFolders(tx, "u", 1)
				})
				switch {
				case err == nil:
					in.Add(1)
				case !fault.Is(err, fault.QuotaExceeded):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if used, reserved := folderCounts(t, d.Read(t.Context()), "u"); in.Load() != 10 || used+reserved != 1000 {
			t.Errorf("%d of 10 were admitted: %d used, %d reserved", in.Load(), used, reserved)
		}
	})
}

// TestAnyHistoryOfFoldersKeepsTheInvariants compares random histories with the same arithmetic in
// plain Go.
func TestAnyHistoryOfFoldersKeepsTheInvariants(t *testing.T) {
	t.Parallel()
	ops := map[string]func(*db.Tx, string, int64) error{
		"charge": quota.ChargeFolders, "credit": quota.CreditFolders, "reserve": quota.ReserveFolders,
		"release": quota.ReleaseFolders,
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var serial atomic.Int64
		rapid.Check(t, func(rt *rapid.T) {
			user := fmt.Sprint("user", serial.Add(1))
			maxFiles := rapid.Int64Range(490, 510).Draw(rt, "maxFiles")
			limit := max(1000, 2*maxFiles)
			names := rapid.SliceOfN(rapid.SampledFrom([]string{"charge", "credit", "reserve", "release"}), 1, 20).
				Draw(rt, "ops")
			var used, reserved int64
			err := d.Write(context.Background(), func(tx *db.Tx) error {
				if err := quota.Create(tx, user, 0, maxFiles); err != nil {
					return err
				}
				for _, name := range names {
					n := rapid.Int64Range(0, 600).Draw(rt, "folders")
					fits := n == 0 || used+reserved+n <= limit
					switch err := ops[name](tx, user, n); {
					case name == "credit":
						used, fits = max(0, used-n), true
						fallthrough
					case name == "release":
						if name == "release" {
							reserved, fits = max(0, reserved-n), true
						}
						fallthrough
					default:
						if fits && err != nil || !fits && !fault.Is(err, fault.QuotaExceeded) {
							return fmt.Errorf("%s %d beside %d and %d of %d: %w", name, n, used, reserved, limit, err)
						}
					}
					if fits && name == "charge" {
						used += n
					}
					if fits && name == "reserve" {
						reserved += n
					}
					if gotUsed, gotReserved := folderCounts(t, tx, user); gotUsed != used || gotReserved != reserved {
						return fmt.Errorf("after %s %d: %d used and %d reserved, want %d and %d", name, n, gotUsed,
							gotReserved, used, reserved)
					}
				}
				return nil
			})
			if err != nil {
				rt.Fatal(err)
			}
		})
	})
}
