package files_test

import (
	"fmt"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/files"
	"larder/internal/vpath"
)

// newLargeFixture makes a fixture with files of ann's and bob's: flat ones in /public/flat, and a
// thousand in each of the folders of /public/deep.
func newLargeFixture(b *testing.B, d *db.DB, flat, folders int) *fixture {
	b.Helper()
	h := newFixture(b, d)
	f := h.mustUpload(h.admin, "/public/flat/first.jpg", "x")
	folder := h.createFolder(h.admin, "/public/deep")
	const columns = "INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, " +
		"object_id, manual_position, created_at, updated_at, sort_key)\n"
	const numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)\n"
	owner := "CASE WHEN n.i % 2 = 0 THEN 'ann' ELSE 'bob' END"
	h.write(func(tx *db.Tx) error {
		for _, insert := range []string{
			columns + fmt.Sprintf(numbers, flat) +
				"SELECT 'flat' || n.i, e.parent_id, 'Photo ' || (CAST(n.i AS BIGINT) * 7919 % 1000003) || '.jpg', " +
				"'photo ' || (CAST(n.i AS BIGINT) * 7919 % 1000003) || '.jpg', 1, n.i * 31 % 1000, 'image/jpeg', " +
				owner +
				", e.object_id, CASE WHEN n.i % 3 = 0 THEN n.i END, 0, n.i * 17 % 100003, 'photo ' || " +
				"length(CAST((CAST(n.i AS BIGINT) * 7919 % 1000003) AS TEXT)) || (CAST(n.i AS BIGINT) * 7919 % " +
				"1000003) || '.jpg' FROM n CROSS JOIN entries e WHERE e.id = $1",
			columns + fmt.Sprintf(numbers, folders) + "SELECT 'dir' || n.i, CAST('" + folder.ID +
				"' AS TEXT), 'd' || n.i, 'd' || n.i, 0, 0, '', 'admin', NULL, NULL, 0, n.i, 'd' || length(CAST(n.i " +
				"AS TEXT)) || n.i FROM n CROSS JOIN entries e WHERE e.id = $1",
			columns + fmt.Sprintf(numbers, 1_000) +
				"SELECT 'deep' || f.name || '-' || n.i, f.id, 'Photo ' || n.i || f.name, 'photo ' || n.i || f.name, " +
				"1, n.i, '', " + owner +
				", e.object_id, NULL, 0, n.i, 'photo ' || length(CAST(n.i AS TEXT)) || n.i || f.sort_key FROM n " +
				"CROSS JOIN entries e CROSS JOIN entries f WHERE e.id = $1 AND f.parent_id = '" + folder.ID + "'",
		} {
			if _, err := tx.Exec(insert, f.ID); err != nil {
				return err
			}
		}
		const refs = "UPDATE objects SET refs = refs + $1 WHERE id = (SELECT object_id FROM entries WHERE id = $2)"
		_, err := tx.Exec(refs, flat+folders*1_000, f.ID)
		return err
	})
	if fmt.Sprint(d.Dialect()) == "postgres" {
		h.exec("ANALYZE entries")
	}
	return h
}

// BenchmarkMillion measures pages, sorts and searches with a million entries in one folder and
// another million in a thousand.
func BenchmarkMillion(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			d := dbtest.Open(b, engine)
			h := newLargeFixture(b, d, 1_000_000, 1_000)
			vacuumPostgres(b, d)
			measure := func(name string, a access.Actor, q files.ListQuery, total int) {
				if q.Limit == 0 {
					q.Limit = 100
				}
				if q.Page == 0 {
					q.Page = 1
				}
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						l, err := h.tree.List(b.Context(), a, q)
						if err != nil {
							b.Fatal(err)
						}
						if l.Total != total {
							b.Fatalf("total %d, want %d", l.Total, total)
						}
					}
				})
			}
			flat, all := mustParsePath("/public/flat"), 1_000_001
			for _, sort := range []string{"name", "time", "size", "manual"} {
				for _, order := range []string{"asc", "desc"} {
					for _, page := range []int{1, 5000, 10001} {
						measure(fmt.Sprintf("%s/%s/%d", sort, order, page), h.ann,
							files.ListQuery{Path: flat, Sort: sort, Order: order, Page: page}, all)
					}
				}
			}
			b.Run("revision", func(b *testing.B) {
				for b.Loop() {
					r, err := h.tree.Revision(b.Context(), h.ann, flat)
					if err != nil || r.Total != all {
						b.Fatal(r, err)
					}
				}
			})
			measure("search/one", h.ann, files.ListQuery{Path: flat, Search: "Photo 123456."}, 1)
			measure("search/all", h.ann, files.ListQuery{Path: flat, Search: "o"}, 1_000_000)
			measure("search/all/time", h.ann, files.ListQuery{Path: flat, Search: "o", Sort: "time", Page: 5000},
				1_000_000)
			measure("search/root", h.admin, files.ListQuery{Path: vpath.Root, Search: "Photo 123456."}, 1)
			measure("search/deep", h.ann, files.ListQuery{Path: mustParsePath("/public/deep"), Search: "Photo 77d77"},
				11)
			measure("search/deep/all", h.ann, files.ListQuery{Path: mustParsePath("/public/deep"), Search: "o"},
				1_000_000)
			measure("search/percent", h.admin, files.ListQuery{Path: vpath.Root, Search: "%"}, 0)
			h.addRule(access.Rule{Pattern: "/public/flat/*7.jpg", Effect: access.Deny, Role: access.User,
				Permissions: access.Set(access.Read)})
			measure("glob", h.ann, files.ListQuery{Path: flat}, 900_001)
			measure("glob/search", h.ann, files.ListQuery{Path: flat, Search: "123456"}, 1)
			h.addRule(access.Rule{Pattern: "/public/flat/**", Effect: access.Deny, Role: access.User,
				Permissions: access.Set(access.Read), Priority: 1})
			h.addRule(access.Rule{Pattern: "/public/flat", Effect: access.Allow, Role: access.User,
				Permissions: access.Set(access.Read), Priority: 2})
			measure("none", h.ann, files.ListQuery{Path: flat}, 0)
		})
	}
}

// vacuumPostgres vacuums PostgreSQL so that it can answer from indexes alone, as autovacuum does
// some time after an insert.
func vacuumPostgres(b *testing.B, d *db.DB) {
	b.Helper()
	if fmt.Sprint(d.Dialect()) != "postgres" {
		return
	}
	rows, err := d.Read(b.Context()).Query("VACUUM ANALYZE entries")
	if err != nil {
		b.Fatal(err)
	}
	rows.Close()
}
