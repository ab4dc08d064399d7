package files_test

import (
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
