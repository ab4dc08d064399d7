package files_test

import (
	"fmt"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/files"
	"larder/internal/provider"
)

// BenchmarkUsage measures the counts of the dashboard with a million files, each with its own
// object: all in one provider, spread over two, and spread with half of them just deleted.
func BenchmarkUsage(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			d := dbtest.Open(b, engine)
			h := newFixture(b, d)
			var folders [2]string
			for i := range folders {
				folders[i] = h.createFolder(h.ann, fmt.Sprint("/home/ann/", i)).ID
			}
			h.write(func(tx *db.Tx) error {
				if err := h.reg.Insert(tx, provider.Provider{ID: "other", Name: "other", Type: provider.BuiltIn,
					Bucket: "other", Marker: "marker"}); err != nil {
					return err
				}
				const numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)\n"
				mixed := "CAST((CAST(n.i AS BIGINT) * 7919 % 1000003) AS TEXT)"
				for _, text := range []string{
					"INSERT INTO objects (id, provider_id, key, size, etag, refs, created_at)\n" + numbers +
						"SELECT 'o' || " + mixed + ", 'local', 'aa/0123456789abcdef' || " + mixed +
						", n.i % 1000, '', 1, n.i FROM n",
					"INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, " +
						"object_id, created_at, updated_at, sort_key)\n" + numbers +
						"SELECT 'e' || " + mixed + ", CASE WHEN n.i % 2 = 0 THEN '" + folders[0] + "' ELSE '" +
						folders[1] + "' END, 'f' || n.i, 'f' || n.i, 1, n.i % 1000, '', 'ann', 'o' || " + mixed +
						", n.i, n.i, 'f' || length(CAST(n.i AS TEXT)) || n.i FROM n",
					"UPDATE quotas SET used_files = 1000000, used_storage = 499500000 WHERE user_id = 'ann'",
				} {
					if _, err := tx.Exec(text); err != nil {
						return err
					}
				}
				return nil
			})
			vacuumPostgres(b, d)
			measure := func(name string, want map[string]files.Amount) {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						_, by, err := h.tree.Usage(b.Context(), []string{"local", "other"})
						if err != nil || by["local"].Files != want["local"].Files ||
							by["other"].Files != want["other"].Files {
							b.Fatalf("%v, %v", by, err)
						}
					}
				})
			}
			measure("one provider", map[string]files.Amount{"local": {Files: 1_000_000}})
			h.exec("UPDATE objects SET provider_id = 'other' WHERE id LIKE '%7'")
			measure("two providers", map[string]files.Amount{"local": {Files: 900_000}, "other": {Files: 100_000}})
			if _, _, err := h.tree.Delete(b.Context(), h.ann, folders[0]); err != nil {
				b.Fatal(err)
			}
			b.Run("half deleted", func(b *testing.B) {
				for b.Loop() {
					all, by, err := h.tree.Usage(b.Context(), []string{"local", "other"})
					if err != nil || all.Files != 500_000 || by["local"].Files+by["other"].Files != 500_000 {
						b.Fatalf("%v, %v, %v", all, by, err)
					}
				}
			})
		})
	}
}
