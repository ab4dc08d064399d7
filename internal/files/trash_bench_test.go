package files_test

import (
	"flag"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/files"
)

var (
	trashMost = flag.Duration("trash.most", 0,
		"BenchmarkTrashMillion fails when the median deletion or restore takes longer; 0 for no bound")
	trashPageMost = flag.Duration("trash.page", 0,
		"BenchmarkTrashPage fails when the median first page takes longer; 0 for no bound")
)

// eachTrash runs a benchmark on each engine, with the files of newLargeFixture, a trash for all
// deletions, and no bound on what it keeps.
func eachTrash(b *testing.B, flat, folders int, run func(b *testing.B, h *fixture, d *db.DB)) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			d := dbtest.Open(b, engine)
			h := newLargeFixture(b, d, flat, folders)
			h.exec("UPDATE quotas SET max_kept = -1, max_storage = -1, max_files = -1")
			h.setTrash(files.TrashSettings{Days: 30})
			run(b, h, d)
		})
	}
}

// BenchmarkTrashMillion measures how long a folder of a million files takes to go to the trash and
// to come back, with all files in one folder and in a thousand.
func BenchmarkTrashMillion(b *testing.B) {
	eachTrash(b, 1_000_000, 1_000, func(b *testing.B, h *fixture, d *db.DB) {
		vacuumPostgres(b, d)
		for _, folder := range []string{"flat", "deep"} {
			b.Run(folder, func(b *testing.B) { benchmarkTrash(b, h, h.idAtPath("/public/"+folder)) })
		}
	})
}

// benchmarkTrash reports the mean, median and shortest times: the mean depends on what else runs.
func benchmarkTrash(b *testing.B, h *fixture, id string) {
	var deleting, restoring []time.Duration
	for b.Loop() {
		begin := time.Now()
		if _, err := h.tree.DeleteTo(b.Context(), h.admin, id, files.ToTrash); err != nil {
			b.Fatal(err)
		}
		deleting = append(deleting, time.Since(begin))
		begin = time.Now()
		if _, err := h.tree.Restore(b.Context(), h.admin, id, files.RestoreOptions{}); err != nil {
			b.Fatal(err)
		}
		restoring = append(restoring, time.Since(begin))
	}
	for unit, took := range map[string][]time.Duration{"delete": deleting, "restore": restoring} {
		var sum time.Duration
		for _, d := range took {
			sum += d
		}
		b.ReportMetric(float64(sum.Milliseconds())/float64(len(took)), "ms/"+unit)
		slices.Sort(took)
		median := took[len(took)/2]
		b.ReportMetric(float64(took[0].Microseconds())/1000, "least-ms/"+unit)
		b.ReportMetric(float64(median.Microseconds())/1000, "median-ms/"+unit)
		if *trashMost > 0 && median > *trashMost {
			b.Errorf("the median %s takes %v, more than %v", unit, median, *trashMost)
		}
	}
}

// BenchmarkTrashPage measures the first page of a trash with a million entries. Half of them belong
// to the account that lists them, and this account deleted all of them.
func BenchmarkTrashPage(b *testing.B) {
	eachTrash(b, 1_000_000, 1, func(b *testing.B, h *fixture, d *db.DB) {
		h.write(func(tx *db.Tx) error {
			_, err := tx.Exec(`
				INSERT INTO trash (entry_id, owner_id, deleted_by, deleted_at, reason, name, name_fold, parent_id, parents,
					mount_id, provider_id, path, files, folders, size)
				SELECT id, owner_id, 'ann', $1 + updated_at, 'deleted', name, name_fold, parent_id, '[]', 'm', 'p',
					'/public/flat/' || name, 1, 0, size
				FROM entries WHERE id LIKE 'flat%'`, h.clock().UnixMilli())
			if err != nil {
				return err
			}
			_, err = tx.Exec("UPDATE entries SET parent_id = 'trash', name = id, name_fold = id WHERE id LIKE 'flat%'")
			return err
		})
		vacuumPostgres(b, d)
		var took []time.Duration
		for b.Loop() {
			begin := time.Now()
			page, err := h.tree.ListTrash(b.Context(), h.ann, files.TrashFilter{Limit: 100})
			took = append(took, time.Since(begin))
			if err != nil || len(page.Items) != 100 || page.Next == "" {
				b.Fatalf("%d items, next %q, %v", len(page.Items), page.Next, err)
			}
		}
		slices.Sort(took)
		median := took[len(took)/2]
		b.ReportMetric(float64(median.Microseconds())/1000, "median-ms")
		if *trashPageMost > 0 && median > *trashPageMost {
			b.Errorf("the median page takes %v, more than %v", median, *trashPageMost)
		}
	})
}

// BenchmarkTrashDeletions measures how many files a second are deleted, to the trash and for good:
// each by a request of its own, 64 at once, and in batches of 100 of one folder, two at once.
func BenchmarkTrashDeletions(b *testing.B) {
	const folders, each, batch = 250, 1_000, 100
	eachTrash(b, 1, folders, func(b *testing.B, h *fixture, d *db.DB) {
		vacuumPostgres(b, d)
		var next atomic.Int64 // the files of a folder follow each other
		nextID := func() string {
			n := next.Add(1) - 1
			return fmt.Sprintf("deepd%d-%d", n/each+1, n%each+1)
		}
		measure := func(name string, parallelism int, deleteOne func(pb *testing.PB) error) {
			b.Run(name, func(b *testing.B) {
				b.SetParallelism(parallelism) // for each of two processors
				b.RunParallel(func(pb *testing.PB) {
					if err := deleteOne(pb); err != nil {
						b.Error(err)
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deletions/s")
			})
		}
		for _, to := range []files.Disposal{files.ToTrash, files.ForGood} {
			name := map[files.Disposal]string{files.ToTrash: "to the trash", files.ForGood: "for good"}[to]
			measure(name, 32, func(pb *testing.PB) error {
				for pb.Next() {
					if _, err := h.tree.DeleteTo(b.Context(), h.admin, nextID(), to); err != nil {
						return err
					}
				}
				return nil
			})
			measure(name+", in batches", 1, func(pb *testing.PB) error {
				for more := true; more; {
					var ids []string
					for len(ids) < batch {
						if more = pb.Next(); !more {
							break
						}
						ids = append(ids, nextID())
					}
					if len(ids) == 0 {
						break
					}
					outcomes, err := h.tree.DeleteEach(b.Context(), h.admin, ids, to)
					if err != nil {
						return err
					}
					for _, o := range outcomes {
						if o.Err != nil {
							return o.Err
						}
					}
				}
				return nil
			})
		}
	})
}
