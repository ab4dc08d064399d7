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

// operation is the signature of the package's functions, for tables.
type operation func(tx *db.Tx, userID string, bytes, files int64) error

func write(t *testing.T, d *db.DB, fn func(tx *db.Tx) error) {
	t.Helper()
	if err := d.Write(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

// try runs one change in a transaction of its own.
func try(d *db.DB, change operation, user string, bytes, files int64) error {
	return d.Write(context.Background(), func(tx *db.Tx) error { return change(tx, user, bytes, files) })
}

func get(t *testing.T, d *db.DB, user string) quota.Quota {
	t.Helper()
	got, err := quota.Get(d.Read(context.Background()), user)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// remaining is the result of quota.Remaining.
type remaining struct{ bytes, files int64 }

func remainingOf(t *testing.T, d *db.DB, user string) remaining {
	t.Helper()
	bytes, files, err := quota.Remaining(d.Read(context.Background()), user)
	if err != nil {
		t.Fatal(err)
	}
	return remaining{bytes, files}
}

func TestReserveAndChargeStopAtTheLimit(t *testing.T) {
	t.Parallel()
	const all = math.MaxInt64
	cases := []struct {
		name                 string
		maxStorage, maxFiles int64
		used, usedFiles      int64
		reserved, resFiles   int64
		bytes, files         int64
		want                 bool
	}{
		{"fills the storage", 100, 10, 60, 1, 0, 0, 40, 1, true},
		{"one byte too many", 100, 10, 60, 1, 0, 0, 41, 1, false},
		{"reserved bytes count as used", 100, 10, 50, 1, 10, 1, 40, 1, true},
		{"reserved bytes count as used, one too many", 100, 10, 50, 1, 10, 1, 41, 1, false},
		{"fills the number of files", 100, 3, 1, 1, 1, 1, 1, 1, true},
		{"one file too many", 100, 2, 1, 1, 1, 1, 1, 1, false},
		{"unlimited storage", -1, 10, 60, 1, 0, 0, 1 << 50, 1, true},
		{"unlimited files", 100, -1, 60, 1 << 40, 0, 0, 1, 1 << 40, true},
		{"unlimited does not overflow", -1, -1, 60, 1, 0, 0, all, 1, false},
		{"the largest limit does not overflow", all, -1, 60, 1, 0, 0, all, 1, false},
		{"no storage at all", 0, 10, 0, 0, 0, 0, 1, 1, false},
		{"no storage, not even an empty file", 0, 10, 0, 0, 0, 0, 0, 1, false},
		{"no files at all", 100, 0, 0, 0, 0, 0, 1, 1, false},
		{"an empty file when the storage is just full", 100, 10, 100, 1, 0, 0, 0, 1, true},
		{"a replacement grows without another file", 100, 1, 60, 1, 0, 0, 40, 0, true},
		{"adding nothing always succeeds", 0, 0, 0, 0, 0, 0, 0, 0, true},
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for i, c := range cases {
			for name, change := range map[string]operation{"reserve": quota.Reserve, "charge": quota.Charge} {
				user := fmt.Sprint("user", i, name)
				write(t, d, func(tx *db.Tx) error {
					return errors.Join(
						quota.Create(tx, user, -1, -1),
						quota.Charge(tx, user, c.used, c.usedFiles),
						quota.Reserve(tx, user, c.reserved, c.resFiles),
						quota.SetLimits(tx, user, &c.maxStorage, &c.maxFiles))
				})
				err := try(d, change, user, c.bytes, c.files)
				if c.want && err != nil || !c.want && !fault.Is(err, fault.QuotaExceeded) {
					t.Errorf("%s, %s: got %v", c.name, name, err)
				}
				want := quota.Quota{MaxStorage: c.maxStorage, UsedStorage: c.used, MaxFiles: c.maxFiles,
					UsedFiles: c.usedFiles}
				if c.want && name == "charge" {
					want.UsedStorage, want.UsedFiles = c.used+c.bytes, c.usedFiles+c.files
				}
				if got := get(t, d, user); got != want {
					t.Errorf("%s, %s: quota is now %+v, want %+v", c.name, name, got, want)
				}
			}
		}
	})
}

// Abuse case C98.
func TestLoweredLimitRefusesOnlyGrowth(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		low := int64(50)
		write(t, d, func(tx *db.Tx) error {
			return errors.Join(quota.Create(tx, "u", 100, 10), quota.Charge(tx, "u", 80, 4),
				quota.SetLimits(tx, "u", &low, nil))
		})
		if got, want := get(t, d, "u"), (quota.Quota{MaxStorage: 50, UsedStorage: 80, MaxFiles: 10,
			UsedFiles: 4}); got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		if got := remainingOf(t, d, "u"); got != (remaining{0, 6}) {
			t.Errorf("left: %+v", got)
		}
		for _, step := range []struct {
			name         string
			change       operation
			bytes, files int64
			want         bool
		}{
			{"a new file", quota.Charge, 1, 1, false},
			{"a new empty file", quota.Reserve, 0, 1, false},
			{"a larger replacement", quota.Charge, 1, 0, false},
			{"a smaller replacement", quota.Charge, -5, 0, true},
			{"a delete", quota.Credit, 20, 1, true},
			{"a new file, still above the limit", quota.Charge, 1, 1, false},
			{"another delete", quota.Credit, 10, 1, true},
			{"a new file that fits", quota.Charge, 5, 1, true},
		} {
			err := try(d, step.change, "u", step.bytes, step.files)
			if step.want && err != nil || !step.want && !fault.Is(err, fault.QuotaExceeded) {
				t.Errorf("%s: got %v", step.name, err)
			}
		}
		if got, want := get(t, d, "u"), (quota.Quota{MaxStorage: 50, UsedStorage: 50, MaxFiles: 10,
			UsedFiles: 3}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// Abuse case C97.
func TestReplacingCountsTheDifference(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const mega = 1 << 20
		write(t, d, func(tx *db.Tx) error {
			return errors.Join(quota.Create(tx, "u", 20*mega, 5), quota.Charge(tx, "u", 10*mega, 1))
		})
		if err := try(d, quota.Charge, "u", -9*mega, 0); err != nil {
			t.Fatal(err)
		}
		if got := get(t, d, "u"); got.UsedStorage != mega || got.UsedFiles != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestReservationIsHiddenAndReleased(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		write(t, d, func(tx *db.Tx) error { return quota.Create(tx, "u", 100, 2) })
		if err := try(d, quota.Reserve, "u", 70, 1); err != nil {
			t.Fatal(err)
		}
		if got := get(t, d, "u"); got.UsedStorage != 0 || got.UsedFiles != 0 {
			t.Errorf("a reservation shows: %+v", got)
		}
		if got := remainingOf(t, d, "u"); got != (remaining{30, 1}) {
			t.Errorf("left with a reservation: %+v", got)
		}
		write(t, d, func(tx *db.Tx) error {
			return errors.Join(quota.Release(tx, "u", 70, 1), quota.Charge(tx, "u", 100, 1))
		})
		if got := remainingOf(t, d, "u"); got != (remaining{0, 1}) {
			t.Errorf("left after the commit: %+v", got)
		}
	})
}

// Copies continue in a restored database and keep their reservations; running uploads do not.
func TestAfterRestoreKeepsReservationsOfCopies(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		write(t, d, func(tx *db.Tx) error {
			_, err := tx.Exec(
				"INSERT INTO copies VALUES ('j1', 'e1', 'u', 30, 2, 0, 0, 0), ('j2', 'e2', 'u', 7, 1, 0, 0, 0), " +
					"('j3', 'e3', 'v', 1, 1, 0, 0, 0)")
			return errors.Join(err, quota.Create(tx, "u", 100, 10), quota.Reserve(tx, "u", 90, 9),
				quota.Create(tx, "w", 100, 10), quota.Reserve(tx, "w", 90, 9))
		})
		write(t, d, quota.AfterRestore)
		if got := remainingOf(t, d, "u"); got != (remaining{63, 7}) {
			t.Errorf("remaining for the user who copies: %+v", got)
		}
		if got := remainingOf(t, d, "w"); got != (remaining{100, 10}) {
			t.Errorf("remaining for the user who uploaded: %+v", got)
		}
	})
}

func TestAmountsNeverFallBelowZero(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		write(t, d, func(tx *db.Tx) error {
			return errors.Join(quota.Create(tx, "u", 100, 10), quota.Charge(tx, "u", 10, 1),
				quota.Reserve(tx, "u", 10, 1))
		})
		for name, change := range map[string]operation{"release": quota.Release, "credit": quota.Credit} {
			if err := try(d, change, "u", 11, 2); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := try(d, quota.Charge, "u", -1, -1); err != nil {
			t.Error(err)
		}
		if got := remainingOf(t, d, "u"); got != (remaining{100, 10}) {
			t.Errorf("left: %+v", got)
		}
		for name, change := range map[string]operation{"release": quota.Release, "reserve": quota.Reserve} {
			if err := try(d, change, "u", -1, 0); err == nil {
				t.Errorf("%s takes negative bytes", name)
			}
			if err := try(d, change, "u", 0, -1); err == nil {
				t.Errorf("%s takes negative files", name)
			}
		}
	})
}

func TestFilesThatChangeHandsAreNeverRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		write(t, d, func(tx *db.Tx) error {
			return errors.Join(quota.Create(tx, "u", 100, 1), quota.Credit(tx, "u", -150, -3))
		})
		if got := get(t, d, "u"); got.UsedStorage != 150 || got.UsedFiles != 3 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestLimitsAreCheckedAndChangedOneByOne(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		write(t, d, func(tx *db.Tx) error { return quota.Create(tx, "u", 100, 10) })
		set := func(maxStorage, maxFiles *int64) error {
			return d.Write(context.Background(),
				func(tx *db.Tx) error { return quota.SetLimits(tx, "u", maxStorage, maxFiles) })
		}
		none, zero, below := int64(-1), int64(0), int64(-2)
		if err := errors.Join(set(nil, &zero), set(&none, nil), set(nil, nil)); err != nil {
			t.Fatal(err)
		}
		if got, want := get(t, d, "u"), (quota.Quota{MaxStorage: -1, MaxFiles: 0}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got := remainingOf(t, d, "u"); got != (remaining{math.MaxInt64, 0}) {
			t.Errorf("left: %+v", got)
		}
		for name, err := range map[string]error{
			"storage": set(&below, nil),
			"files":   set(nil, &below),
			"create":  try(d, quota.Create, "other", -2, 0),
		} {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%s below -1: got %v", name, err)
			}
		}
	})
}

func TestUserWithoutQuota(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		limit := int64(1)
		_, getErr := quota.Get(d.Read(context.Background()), "nobody")
		_, _, leftErr := quota.Remaining(d.Read(context.Background()), "nobody")
		setErr := d.Write(context.Background(),
			func(tx *db.Tx) error { return quota.SetLimits(tx, "nobody", &limit, nil) })
		for name, err := range map[string]error{"get": getErr, "left": leftErr, "set": setErr} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		for name, change := range map[string]operation{"reserve": quota.Reserve, "charge": quota.Charge} {
			if err := try(d, change, "nobody", 1, 1); !fault.Is(err, fault.QuotaExceeded) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if err := errors.Join(try(d, quota.Release, "nobody", 1, 1), try(d, quota.Credit, "nobody", 1, 1)); err != nil {
			t.Errorf("giving back: %v", err)
		}
	})
}

// Abuse case C88: of 50 concurrent uploads that need 60 % of the quota each, one is admitted.
func TestParallelReservationsNeverExceedTheLimit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		write(t, d, func(tx *db.Tx) error {
			return errors.Join(quota.Create(tx, "big", 100, -1), quota.Create(tx, "many", -1, 7))
		})
		var big, many atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for user, won := range map[string]*atomic.Int64{"big": &big, "many": &many} {
					switch err := try(d, quota.Reserve, user, 60, 1); {
					case err == nil:
						won.Add(1)
					case !fault.Is(err, fault.QuotaExceeded):
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if big.Load() != 1 || many.Load() != 7 {
			t.Errorf("%d of 1 and %d of 7 were admitted", big.Load(), many.Load())
		}
	})
}

// step is one change of a random history, with its results.
type step struct {
	op           string
	bytes, files int64

	err  error
	got  quota.Quota
	left remaining
}

func (s *step) run(tx *db.Tx, user string) error {
	switch s.op {
	case "reserve":
		s.err = quota.Reserve(tx, user, s.bytes, s.files)
	case "charge":
		s.err = quota.Charge(tx, user, s.bytes, s.files)
	case "release":
		s.err = quota.Release(tx, user, s.bytes, s.files)
	case "give back":
		s.err = quota.Charge(tx, user, -s.bytes, -s.files)
	case "credit":
		s.err = quota.Credit(tx, user, s.bytes, s.files)
	}
	var getErr, leftErr error
	s.got, getErr = quota.Get(tx, user)
	s.left.bytes, s.left.files, leftErr = quota.Remaining(tx, user)
	return errors.Join(getErr, leftErr)
}

// TestAnyHistoryKeepsTheInvariants compares random histories with the same arithmetic in plain Go.
func TestAnyHistoryKeepsTheInvariants(t *testing.T) {
	t.Parallel()
	history := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
		return step{
			op:    rapid.SampledFrom([]string{"reserve", "release", "charge", "give back", "credit"}).Draw(rt, "op"),
			bytes: rapid.Int64Range(0, 30).Draw(rt, "bytes"),
			files: rapid.Int64Range(0, 30).Draw(rt, "files"),
		}
	}), 1, 20)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var serial atomic.Int64
		rapid.Check(t, func(rt *rapid.T) {
			user := fmt.Sprint("user", serial.Add(1))
			limit := remaining{rapid.Int64Range(0, 60).Draw(rt, "maxStorage"),
				rapid.Int64Range(0, 60).Draw(rt, "maxFiles")}
			steps := history.Draw(rt, "steps")
			err := d.Write(context.Background(), func(tx *db.Tx) error {
				if err := quota.Create(tx, user, limit.bytes, limit.files); err != nil {
					return err
				}
				for i := range steps {
					if err := steps[i].run(tx, user); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				rt.Fatal(err)
			}
			var used, reserved remaining
			for _, s := range steps {
				rest := remaining{limit.bytes - used.bytes - reserved.bytes, limit.files - used.files - reserved.files}
				fits := s.bytes <= rest.bytes && s.files <= rest.files && (limit.bytes > 0 || s.files == 0)
				switch {
				case s.op == "release":
					reserved, fits = remaining{max(0, reserved.bytes-s.bytes), max(0, reserved.files-s.files)}, true
				case s.op == "give back" || s.op == "credit":
					used, fits = remaining{max(0, used.bytes-s.bytes), max(0, used.files-s.files)}, true
				case s.op == "reserve" && fits:
					reserved = remaining{reserved.bytes + s.bytes, reserved.files + s.files}
				case s.op == "charge" && fits:
					used = remaining{used.bytes + s.bytes, used.files + s.files}
				}
				if fits && s.err != nil || !fits && !fault.Is(s.err, fault.QuotaExceeded) {
					rt.Fatalf("%s %d, %d: fits %v, got %v", s.op, s.bytes, s.files, fits, s.err)
				}
				if want := (quota.Quota{MaxStorage: limit.bytes, UsedStorage: used.bytes, MaxFiles: limit.files,
					UsedFiles: used.files}); s.got != want {
					rt.Fatalf("%s %d, %d: quota is %+v, want %+v", s.op, s.bytes, s.files, s.got, want)
				}
				if want := (remaining{limit.bytes - used.bytes - reserved.bytes,
					limit.files - used.files - reserved.files}); s.left != want || want.bytes < 0 || want.files < 0 {
					rt.Fatalf("%s %d, %d: left is %+v, want %+v", s.op, s.bytes, s.files, s.left, want)
				}
			}
		})
	})
}
