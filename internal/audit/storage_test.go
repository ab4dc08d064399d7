package audit_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"larder/internal/audit"
)

func TestStorageByTheDay(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		const day = 24 * time.Hour
		w.advance(day - start.Sub(start.Truncate(day))) // the beginning of a day
		first := w.clock().UnixMilli()
		asked := 0
		record := func(l *audit.Log, bytes int64) {
			t.Helper()
			err := l.RecordStorage(t.Context(), func(context.Context) ([]audit.StorageUse, error) {
				asked++
				return []audit.StorageUse{{ProviderID: "p2", Bytes: 7, Files: 1},
					{ProviderID: "p1", Bytes: bytes, Files: 2}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		expect := func(what string, days int64, want ...audit.StorageUse) {
			t.Helper()
			got, err := w.StorageHistory(t.Context(), days)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v (%v)", what, got, want, err)
			}
		}
		use := func(on int64, id string, bytes, files int64) audit.StorageUse {
			return audit.StorageUse{Day: on, ProviderID: id, Bytes: bytes, Files: files}
		}
		expect("at first", 400)
		record(w.Log, 10)
		w.advance(day - time.Millisecond)
		record(w.replica(w.open(), nil), 20) // on the same day
		if asked != 1 {
			t.Errorf("the use was counted %d times on one day", asked)
		}
		today := []audit.StorageUse{use(first, "p1", 10, 2), use(first, "p2", 7, 1)}
		expect("one day", 1, today...)
		w.advance(time.Millisecond)
		expect("a day without figures", 1)
		record(w.Log, 30)
		second := first + day.Milliseconds()
		expect("the next day", 1, use(second, "p1", 30, 2), use(second, "p2", 7, 1))
		expect("two days", 2, append(today, use(second, "p1", 30, 2), use(second, "p2", 7, 1))...)

		w.advance(398 * day) // the first day is the 400th from the running one
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect("the 400th day", 400, append(today, use(second, "p1", 30, 2), use(second, "p2", 7, 1))...)
		w.advance(day)
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect("swept", 10_000, use(second, "p1", 30, 2), use(second, "p2", 7, 1))
	})
}
