package files_test

import (
	"fmt"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/files"
)

// BenchmarkByPath measures the database query of a public GET: one query, four levels deep.
func BenchmarkByPath(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			h := newBenchFixture(b, dbtest.Open(b, engine))
			p := mustParsePath("/public/a/b/f.txt")
			for b.Loop() {
				if _, err := h.tree.ByPath(b.Context(), h.visitor, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// newBenchFixture makes a fixture with a folder of 10,000 entries.
func newBenchFixture(b *testing.B, d *db.DB) *fixture {
	b.Helper()
	h := newFixture(b, d)
	f := h.mustUpload(h.admin, "/public/a/b/f.txt", "x")
	h.exec(`
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at, sort_key)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
		SELECT 'bench' || i, e.parent_id, 'name ' || i, 'name ' || i, 1, i, '', 'ann', e.object_id, 0, i, 'name ' || length(CAST(i AS TEXT)) || i
		FROM n JOIN entries e ON e.id = $1`, f.ID)
	return h
}

// BenchmarkList measures the first page of a folder of 10,000 entries, for an actor who may see all
// of them and for an actor to whom a rule about names leaves some.
func BenchmarkList(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			h := newBenchFixture(b, dbtest.Open(b, engine))
			list := func(b *testing.B) {
				for b.Loop() {
					_, err := h.tree.List(b.Context(), h.ann,
						files.ListQuery{Path: mustParsePath("/public/a/b"), Page: 1, Limit: 100})
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.Run("all", list)
			h.addRule(access.Rule{Pattern: "/public/**/*7", Effect: access.Deny, Role: access.User})
			b.Run("mixed", list)
		})
	}
}

// BenchmarkListFolders measures a page of 200 folders, which are empty or contain 50 files each:
// texts or pictures.
func BenchmarkListFolders(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			h := newFixture(b, dbtest.Open(b, engine))
			f := h.mustUpload(h.admin, "/public/first.jpg", "x")
			insert := func(kind string, files int, mimeType string) {
				parent := h.createFolder(h.admin, "/public/"+kind)
				const columns = "INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, " +
					"owner_id, object_id, created_at, updated_at, sort_key)\n"
				const numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)\n"
				h.exec(columns + fmt.Sprintf(numbers, 200) + fmt.Sprintf(`
					SELECT '%[1]s' || n.i, CAST('%[2]s' AS TEXT), 'd' || n.i, 'd' || n.i, 0, 0, '', 'admin', NULL, 0, n.i,
						'd' || length(CAST(n.i AS TEXT)) || n.i
					FROM n`, kind, parent.ID))
				h.exec(columns+fmt.Sprintf(numbers, max(files, 1))+fmt.Sprintf(`
					SELECT e.id || '-' || n.i, e.id, 'f' || n.i, 'f' || n.i, 1, 0, '%s', 'admin', o.object_id, 0, n.i,
						'f' || length(CAST(n.i AS TEXT)) || n.i
					FROM n CROSS JOIN entries e CROSS JOIN entries o
					WHERE e.parent_id = $1 AND o.id = $2 AND n.i <= %d`, mimeType, files), parent.ID, f.ID)
			}
			insert("empty", 0, "text/plain")
			insert("texts", 50, "text/plain")
			insert("pictures", 50, "image/jpeg")
			vacuumPostgres(b, h.db)
			for _, kind := range []string{"empty", "texts", "pictures"} {
				b.Run(kind, func(b *testing.B) {
					q := files.ListQuery{Path: mustParsePath("/public/" + kind), Page: 1, Limit: 200}
					for b.Loop() {
						l, err := h.tree.List(b.Context(), h.ann, q)
						if err != nil || len(l.Items) != 200 {
							b.Fatal(len(l.Items), err)
						}
					}
				})
			}
		})
	}
}
