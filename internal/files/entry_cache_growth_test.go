package files_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/files"
)

// A kept number of all files in a folder follows changes without a query. A commit during the query
// that counts may be part of its result or not, so this result is not kept.
func TestKeptCountGrowsWithoutQuery(t *testing.T) {
	t.Parallel()
	h := newFixture(t, dbtest.Open(t, "sqlite"))
	folder := h.createFolder(h.ann, "/home/ann/big")
	members := db.Members{Folder: folder.ID, Kind: files.FileKind}
	queries := 0
	count := func(whole bool, query func() (int64, error)) int64 {
		t.Helper()
		n, err := h.tree.EntryCache.CountMembers(members, whole, func() (int64, error) { queries++; return query() })
		h.must(err)
		return n
	}
	want := func(what string, got, wanted int64, wantedQueries int) {
		t.Helper()
		if got != wanted || queries != wantedQueries {
			t.Errorf("%s: %d after %d queries, want %d after %d", what, got, queries, wanted, wantedQueries)
		}
	}
	answer := func(n int64) func() (int64, error) { return func() (int64, error) { return n, nil } }
	during := func() (int64, error) {
		h.mustUpload(h.ann, "/home/ann/big/during", "x")
		return 5001, nil
	}
	want("a commit during the query", count(true, during), 5001, 1)
	want("the next count", count(true, answer(5001)), 5001, 2)
	added := h.mustUpload(h.ann, "/home/ann/big/after", "x")
	want("an upload", count(true, answer(-1)), 5002, 2)
	h.createFolder(h.ann, "/home/ann/big/folder")
	want("a new folder", count(true, answer(-1)), 5002, 2)
	_, err := h.tree.Rename(t.Context(), h.ann, added.ID, "renamed")
	h.must(err)
	want("a rename", count(true, answer(-1)), 5002, 2)
	_, _, err = h.tree.Delete(t.Context(), h.ann, added.ID)
	h.must(err)
	want("a deletion", count(true, answer(-1)), 5001, 2)

	want("some of the files", count(false, answer(4000)), 4000, 3)
	want("some of the files, again", count(false, answer(-1)), 4000, 3)
	h.mustUpload(h.ann, "/home/ann/big/more", "x")
	want("some of the files, after an upload", count(false, answer(4001)), 4001, 4)
}

// While three goroutines and another process add files to a folder, remove them and fail at both, a
// listing never has a total that is older than the last change that had returned when it began. At
// the end the total is that of the database.
func TestKeptCountsAgainstRandomChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "larder.db")
	dbtest.WriteMigrated(t, path)
	open := func(track bool) *db.DB {
		d, err := db.Open(t.Context(), db.Config{Path: path, Log: slog.New(slog.DiscardHandler), TrackChanges: track})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	}
	h := newFixture(t, open(true))
	elsewhere := open(false)
	folder := h.createFolder(h.ann, "/home/ann/big").ID
	insert := func(tx *db.Tx, name string) error {
		return h.insertEntry(tx, treeEntry{id: name, parent: folder, name: name, owner: "ann"})
	}
	h.write(func(tx *db.Tx) error {
		for i := range 1200 {
			if err := insert(tx, fmt.Sprint("begin", i)); err != nil {
				return err
			}
		}
		return nil
	})
	var adding, added, removing, removed atomic.Int64 // changes that have begun, and that have returned
	total := func() int64 {
		got, err := h.tree.List(t.Context(), h.ann, files.ListQuery{Path: mustParsePath("/home/ann/big"), Page: 1,
			Limit: 1})
		h.must(err)
		return int64(got.Total)
	}
	refused := errors.New("refused")
	var changers, readers sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		d, changes := h.tree.DB, 40
		if i == 3 {
			d, changes = elsewhere, 8
		}
		changers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 7))
			made := 0
			write := func(fn func(tx *db.Tx) error) error { return d.Write(t.Context(), fn) }
			for range changes {
				var err error
				name := fmt.Sprintf("%d.%d", i, made)
				switch way := random.IntN(8); {
				case way < 3:
					made++
					adding.Add(1)
					err = write(func(tx *db.Tx) error { return insert(tx, name) })
					added.Add(1)
				case way < 5 && made > 0:
					made--
					removing.Add(1)
					err = write(func(tx *db.Tx) error {
						_, err := tx.Exec("DELETE FROM entries WHERE id = $1", fmt.Sprintf("%d.%d", i, made))
						return err
					})
					removed.Add(1)
				case way == 5:
					err = write(func(tx *db.Tx) error { return errors.Join(insert(tx, name), refused) })
				case way == 6: // SQLite moves files until a name is taken, and takes that back
					err = write(func(tx *db.Tx) error {
						_, err := tx.Exec(`
							UPDATE entries
							SET name = CASE WHEN id LIKE 'begin1%' THEN 'same' ELSE name END, parent_id = 'elsewhere'
							WHERE parent_id = $1`, folder)
						if err == nil {
							return errors.New("a name was given twice")
						}
						return nil
					})
				}
				if err != nil && !errors.Is(err, refused) {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				least, most := 1200+added.Load(), 1200-removed.Load()
				n := total()
				least, most = least-removing.Load(), most+adding.Load()
				if n < least || n > most {
					t.Errorf("a total of %d, want %d to %d", n, least, most)
					return
				}
			}
		})
	}
	changers.Wait()
	close(done)
	readers.Wait()
	if n, want := total(), 1200+added.Load()-removed.Load(); n != want {
		t.Errorf("%d files at the end, want %d", n, want)
	}
}
