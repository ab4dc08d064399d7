package files_test

import (
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/files"
)

// BenchmarkPast measures a page of a folder of 10,000 files as it was, with 60,000 former places
// and 1,000 files that have left the folder.
func BenchmarkPast(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			d := dbtest.Open(b, engine)
			h := newFixture(b, d)
			f := h.mustUpload(h.ann, "/home/ann/box/first.jpg", "x")
			h.createFolder(h.ann, "/home/ann/other")
			box, other := h.idAtPath("/home/ann/box"), h.idAtPath("/home/ann/other")
			now := h.clock().UnixMilli()
			const numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)\n"
			const spans = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)\n"
			h.write(func(tx *db.Tx) error {
				_, err := tx.Exec(`INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id,
						object_id, created_at, updated_at, sort_key, place_since)
					`+numbers+`SELECT 'f' || n.i, CASE WHEN n.i % 10 = 0 THEN $1 ELSE $2 END, 'photo ' || n.i,
						'photo ' || n.i, 1, 100, 'image/jpeg', 'ann', e.object_id, 0, 0, 'photo ' || n.i, CAST($3 AS BIGINT)
					FROM n CROSS JOIN entries e WHERE e.id = $4`, other, box, now-1000, f.ID)
				if err != nil {
					return err
				}
				_, err = tx.Exec(`INSERT INTO former_places (entry_id, since, until, parent_id, name, name_fold, sort_key, kind)
					`+spans+`SELECT 'f' || ((n.i - 1) / 6 + 1), CAST($1 AS BIGINT) + (n.i - 1) % 6 * 1000,
						CAST($1 AS BIGINT) + (n.i - 1) % 6 * 1000 + 1000, $2, 'was ' || n.i, 'was ' || n.i, 'was ' || n.i, 1
					FROM n`, now-7000, box)
				if err != nil {
					return err
				}
				_, err = tx.Exec("INSERT INTO history (id, since) VALUES (1, $1)", now-8000)
				return err
			})
			h.exec("UPDATE entries SET created_at = 0 WHERE kind = 0")
			h.setTrash(files.TrashSettings{Days: 30})
			if !d.Dialect().SingleWriter() {
				h.exec("ANALYZE")
			}
			list := func(name string, at int64, total int) {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						q := files.PastQuery{ListQuery: files.ListQuery{Path: mustParsePath("/home/ann/box"), Page: 1,
							Limit: 100, Sort: "name"}, At: at}
						l, err := h.tree.ListPast(b.Context(), h.ann, q)
						if err != nil || l.Total != total {
							b.Fatal(l.Total, err)
						}
					}
				})
			}
			list("now", now, 9001)
			list("then", now-3500, 10_000)
			b.Run("present listing", func(b *testing.B) {
				for b.Loop() {
					_, err := h.tree.List(b.Context(), h.ann, files.ListQuery{Path: mustParsePath("/home/ann/box"), Page: 1,
						Limit: 100, Sort: "name"})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
