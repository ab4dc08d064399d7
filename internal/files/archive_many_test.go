package files_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/files"
	"larder/internal/vpath"
	"larder/internal/zipstream"
)

// addManyFiles inserts count files into a folder in one transaction. All share one object.
func (f *fixture) addManyFiles(folder string, count int) {
	f.t.Helper()
	first := f.mustUpload(f.ann, "/home/ann/shared", "x")
	f.exec(fmt.Sprintf(`
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at, sort_key)
		SELECT 'many' || n.i, CAST($1 AS TEXT), 'Photo ' || n.i, 'photo ' || n.i, 1, 1, 'text/plain', 'ann', e.object_id, 0, 0, 'photo ' || length(CAST(n.i AS TEXT)) || n.i
		FROM n CROSS JOIN entries e
		WHERE e.id = $2`, count), folder, first.ID)
}

// writeZip writes a whole archive to a file. It returns the names in the archive and the largest
// growth of the heap meanwhile, in bytes.
func (f *fixture) writeZip(archive *files.Archive) (names map[string]bool, grown int64) {
	f.t.Helper()
	dir := f.t.TempDir()
	open := func() (*os.File, error) { return os.CreateTemp(dir, "") }
	out, err := open()
	f.must(err)
	defer out.Close()
	w := zipstream.New(out, open)
	defer w.Close()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for written := 1; ; written++ {
		e, there, err := archive.Next(f.t.Context())
		f.must(err)
		if !there {
			break
		}
		body, err := w.File(e.Name, e.Modified)
		f.must(err)
		_, err = io.Copy(body, e.Body)
		f.must(errors.Join(err, e.Body.Close()))
		if written%20_000 == 0 {
			grown = max(grown, heap()-before)
		}
	}
	f.must(w.Finish())
	size, err := out.Seek(0, io.SeekEnd)
	f.must(err)
	r, err := zip.NewReader(out, size)
	f.must(err)
	names = map[string]bool{}
	for _, member := range r.File {
		names[member.Name] = true
	}
	if len(names) != len(r.File) {
		f.t.Errorf("%d names of %d entries", len(names), len(r.File))
	}
	return names, grown
}

// An archive may contain more files than a zip directory without zip64 can number, and memory use
// stays flat. The test runs on one engine, because it does not measure the database.
func TestArchiveOfManyFiles(t *testing.T) {
	h := newFixture(t, dbtest.Open(t, "sqlite"))
	folder := h.createFolder(h.ann, "/home/ann/many")
	h.addManyFiles(folder.ID, 66_000)
	names, grown := h.writeZip(h.mustArchive(h.ann, folder.ID))
	if len(names) != 66_000 || !names["Photo 1"] || !names["Photo 66000"] || grown > 8<<20 {
		t.Errorf("%d entries, the heap grew by %d bytes", len(names), grown)
	}
}

// Each entry appears exactly once where a page of the walk ends and the next begins.
func TestArchivePages(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		folder := h.createFolder(h.ann, "/home/ann/many")
		last := 0
		for _, count := range []int{255, 256, 257, 512, 513} {
			h.write(func(tx *db.Tx) error {
				for ; last < count; last++ {
					if _, err := h.tree.InsertFolder(tx, folder.ID, vpath.Name(fmt.Sprintf("folder %d", last)),
						"ann"); err != nil {
						return err
					}
				}
				_, err := tx.Exec("DELETE FROM entries WHERE parent_id = $1 AND kind = 1", folder.ID)
				return err
			})
			h.addManyFiles(folder.ID, count)
			h.exec("DELETE FROM entries WHERE name = 'shared'")
			got := h.remainingEntries(h.mustArchive(h.ann, folder.ID))
			slices.Sort(got)
			if len(got) != 2*count || len(slices.Compact(got)) != 2*count {
				t.Errorf("%d files and folders: %d entries", count, len(got))
			}
		}
	})
}

// BenchmarkArchive measures the time for one file of an archive.
func BenchmarkArchive(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			h := newFixture(b, dbtest.Open(b, engine))
			folder := h.createFolder(h.ann, "/home/ann/many")
			h.addManyFiles(folder.ID, 20_000)
			var archive *files.Archive
			for b.Loop() {
				if archive == nil {
					archive = h.mustArchive(h.ann, folder.ID)
				}
				e, there, err := archive.Next(b.Context())
				h.must(err)
				if !there {
					archive = nil
					continue
				}
				h.must(e.Body.Close())
			}
		})
	}
}
