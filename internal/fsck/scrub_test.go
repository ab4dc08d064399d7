package fsck_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/blob"
	"larder/internal/blob/disk"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fsck"
	"larder/internal/object"
)

var (
	scrubObjects = flag.Int("scrub.objects", 2000, "objects of TestScrubFindsAllDamage, a multiple of 4")
	scrubDamaged = flag.Int("scrub.damaged", 20, "damaged objects of TestScrubFindsAllDamage, a multiple of 4")
)

// manyObjects are files in the home of alice. Objects 2n and 2n+1 have the same content.
type manyObjects struct {
	*fixture
	number int
}

func (m *manyObjects) content(i int) []byte { return fmt.Appendf(nil, "content %07d", i/2) }
func (m *manyObjects) id(i int) string      { return fmt.Sprintf("object%07d", i) }
func (m *manyObjects) key(i int) string     { return fmt.Sprintf("ab/%032x", 1<<20+i) }
func (m *manyObjects) name(i int) string    { return fmt.Sprintf("f%07d", i) }

// newManyObjects writes the rows and the bytes of a number of files.
func newManyObjects(f *fixture, number int) *manyObjects {
	f.t.Helper()
	m := &manyObjects{f, number}
	home := f.text("SELECT parent_id FROM entries WHERE id = $1", f.photo)
	alice := f.text("SELECT id FROM users WHERE username = 'alice'")
	provider := f.text("SELECT provider_id FROM objects WHERE key = $1", f.key)
	f.must(os.MkdirAll(filepath.Dir(f.file(m.key(0))), 0o700))
	const batch = 1000
	for low := 0; low < number; low += batch {
		f.must(f.l.Apps[0].DB.Write(context.Background(), func(tx *db.Tx) error {
			for i := low; i < min(low+batch, number); i++ {
				content := m.content(i)
				f.must(os.WriteFile(f.file(m.key(i)), content, 0o600))
				sum := sha256.Sum256(content)
				_, err := tx.Exec(`
					INSERT INTO objects (id, provider_id, key, size, sha256, etag, refs, created_at)
					VALUES ($1, $2, $3, $4, $5, '', 1, 0)`, m.id(i), provider, m.key(i), len(content),
					hex.EncodeToString(sum[:]))
				if err != nil {
					return err
				}
				_, err = tx.Exec(`
					INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id,
						created_at, updated_at)
					VALUES ($1, $2, $3, $3, 1, $4, 'text/plain', $5, $6, 0, 0)`, "entry"+m.id(i), home, m.name(i),
					len(content), alice, m.id(i))
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	return m
}

// damage flips a byte of an object, cuts it, or removes it.
func (m *manyObjects) damage(i, how int) {
	m.t.Helper()
	path := m.file(m.key(i))
	switch how % 3 {
	case 0:
		content := m.content(i)
		content[len(content)/2] ^= 1
		m.must(os.WriteFile(path, content, 0o600))
	case 1:
		m.must(os.Truncate(path, int64(how%5)))
	case 2:
		m.must(os.Remove(path))
	}
}

// list returns the values of a query.
func (f *fixture) list(query string, args ...any) (all []string) {
	f.t.Helper()
	rows, err := f.l.Apps[0].DB.Read(context.Background()).Query(query, args...)
	f.must(err)
	defer rows.Close()
	for rows.Next() {
		var v string
		f.must(rows.Scan(&v))
		all = append(all, v)
	}
	f.must(rows.Err())
	return all
}

// otherStore returns a store with one object.
func (f *fixture) otherStore(key string, content []byte) blob.Store {
	f.t.Helper()
	dir := filepath.Join(f.t.TempDir(), "other")
	f.must(disk.Create(dir, "other"))
	store, err := disk.Open(dir, "other", disk.Options{Now: time.Now})
	f.must(err)
	f.t.Cleanup(func() { store.Close() })
	_, err = store.Put(context.Background(), blob.Key(key), bytes.NewReader(content),
		blob.PutOptions{Size: int64(len(content))})
	f.must(err)
	return store
}

func (f *fixture) marked() []string {
	f.t.Helper()
	return f.list("SELECT id FROM objects WHERE damaged_at IS NOT NULL ORDER BY id")
}

// scrub runs a pass of the command and returns one line per finding.
func (f *fixture) scrub(o fsck.ScrubOptions) (lines []string, sum fsck.ScrubSummary) {
	f.t.Helper()
	o.Report = recordFindings(&lines, " healed")
	sum, err := f.l.Apps[0].Fsck.Scrub(context.Background(), o)
	f.must(err)
	if int(sum.Findings) != len(lines) {
		f.t.Errorf("%d findings told, %d counted", len(lines), sum.Findings)
	}
	return lines, sum
}

// stored returns the bytes of an object on the disk, nil for none.
func (f *fixture) stored(object string) []byte {
	f.t.Helper()
	content, err := os.ReadFile(f.file(f.text("SELECT key FROM objects WHERE id = $1", object)))
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	return content
}

// One pass finds every flipped, cut and missing object. It heals those whose content another object
// has, under a new key, and marks the others. It touches no intact object. A later pass of intact
// bytes clears the marks.
func TestScrubFindsAllDamage(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		m := newManyObjects(s, *scrubObjects)
		var marked, healed []int
		step := *scrubObjects / *scrubDamaged
		for n := range *scrubDamaged {
			i := n * step / 2 * 2 // the first of a pair
			switch {
			case n%4 < 2: // its twin is intact
				healed = append(healed, i)
			case n%4 == 2: // both of the pair, instead of the next number
				marked = append(marked, i, i+1)
			}
		}
		for how, i := range slices.Concat(healed, marked) {
			m.damage(i, how)
		}
		begun := time.Now()
		lines, sum := s.scrub(fsck.ScrubOptions{})
		t.Logf("%d of %d objects were damaged; the pass took %v", *scrubDamaged, sum.Objects, time.Since(begun))
		if sum.Findings != int64(*scrubDamaged) || sum.Healed != int64(len(healed)) || sum.Unread != 0 ||
			sum.Objects < int64(*scrubObjects)+2 {
			t.Errorf("%+v, want %d findings, %d of them healed, in %d objects", sum, *scrubDamaged, len(healed),
				*scrubObjects+2)
		}
		var want []string
		for _, i := range marked {
			want = append(want, m.id(i))
		}
		slices.Sort(want)
		if got := s.marked(); !slices.Equal(got, want) {
			t.Errorf("marked are %q\nwant %q", got, want)
		}
		for _, i := range healed {
			if key := s.text("SELECT key FROM objects WHERE id = $1", m.id(i)); key == m.key(i) ||
				!bytes.Equal(s.stored(m.id(i)), m.content(i)) {
				t.Errorf("object %d has %q under %s", i, s.stored(m.id(i)), key)
			}
		}
		moved := s.number("SELECT COUNT(*) FROM objects WHERE id LIKE 'object%' AND key NOT LIKE 'ab/000000000000%'")
		if moved != int64(len(healed)) {
			t.Errorf("%d objects have new keys, want %d", moved, len(healed))
		}
		if !strings.Contains(strings.Join(lines, "\n"), "/home/alice/"+m.name(marked[0])) {
			t.Errorf("no finding names the file %s", m.name(marked[0]))
		}

		if _, sum := s.scrub(fsck.ScrubOptions{}); sum.Findings != int64(len(marked)) || sum.Healed != 0 {
			t.Errorf("a second pass: %+v", sum)
		}
		for _, i := range marked {
			s.must(os.WriteFile(s.file(m.key(i)), m.content(i), 0o600))
		}
		if lines, _ := s.scrub(fsck.ScrubOptions{}); len(lines) != 0 || len(s.marked()) != 0 {
			t.Errorf("intact bytes are back; found %q, marked %q", lines, s.marked())
		}
	})
}

// Objects without a SHA-256 are compared by their size, and never healed from another object.
func TestScrubOfUnhashedObjects(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		m := newManyObjects(s, 4)
		s.exec("UPDATE objects SET sha256 = NULL WHERE id IN ($1, $2)", m.id(0), m.id(2))
		m.damage(0, 1)
		m.damage(2, 0) // cannot be seen
		backup := s.otherStore(m.key(0), m.content(0))
		_, sum := s.scrub(fsck.ScrubOptions{Backup: oneStore{backup}})
		if got := s.marked(); sum.Unhashed != 2 || sum.Healed != 0 || !slices.Equal(got, []string{m.id(0)}) {
			t.Errorf("%+v, marked %q", sum, got)
		}
	})
}

// oneStore is a backup that has each object in one store, below its own key.
type oneStore struct{ blob.Store }

func (o oneStore) Copies(_ context.Context, of object.Record) iter.Seq2[object.Copy, error] {
	return func(yield func(object.Copy, error) bool) { yield(object.Copy{From: o, Key: of.Key}, nil) }
}

func (o oneStore) Close() error { return nil }

// fsck --deep removes the mark of an object that is intact again, and sets none.
func TestDeepCheckClearsMarks(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		m := newManyObjects(s, 2)
		m.damage(0, 2)
		m.damage(1, 2)
		if lines, _ := s.check(deep); len(lines) == 0 || len(s.marked()) != 0 {
			t.Errorf("fsck found %q and marked %q", lines, s.marked())
		}
		s.scrub(fsck.ScrubOptions{})
		s.must(os.WriteFile(s.file(m.key(1)), m.content(1), 0o600))
		if _, _ = s.check(fsck.Options{}); len(s.marked()) != 2 {
			t.Errorf("a check that reads nothing changed the marks to %q", s.marked())
		}
		if _, _ = s.check(deep); !slices.Equal(s.marked(), []string{m.id(0)}) {
			t.Errorf("marked are %q", s.marked())
		}
	})
}

// While the marker of a store is missing, nothing in it is read, found or marked, and afterwards
// all is.
func TestScrubNeedsTheStore(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		m := newManyObjects(s, 4)
		m.damage(0, 2)
		m.damage(1, 2)
		away, back := filepath.Join(s.objects, ".larder-store"), filepath.Join(s.objects, ".put-by")
		s.must(os.Rename(away, back))
		lines, sum := s.scrub(fsck.ScrubOptions{})
		if len(lines) != 0 || len(s.marked()) != 0 || sum.Objects != 0 || sum.Unread != 6 {
			t.Errorf("found %q, marked %q, %+v", lines, s.marked(), sum)
		}
		s.must(os.Rename(back, away))
		if lines, _ := s.scrub(fsck.ScrubOptions{}); len(lines) != 2 {
			t.Errorf("found %q", lines)
		}
	})
}

// Buckets are read by choice. A missing object in a bucket is healed from the disk.
func TestScrubOfBuckets(t *testing.T) {
	eachBucketFixture(t, func(t *testing.T, s *bucketFixture) {
		admin := s.l.Admin(t)
		admin.Upload("/", "same.jpg", []byte("a photograph"))
		s.drop(s.keys[1])
		if lines, _ := s.scrub(fsck.ScrubOptions{}); len(lines) != 0 {
			t.Errorf("found %q in buckets that are not read", lines)
		}
		s.l.Apps[0].Fsck.ScrubBuckets = true
		lines, sum := s.scrub(fsck.ScrubOptions{})
		if len(lines) != 1 || sum.Healed != 1 || !strings.Contains(lines[0], "/below/photo.jpg") {
			t.Errorf("found %q", lines)
		}
		if got := admin.Get("/below/photo.jpg"); got.Status != 200 || string(got.Body) != "a photograph" {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		admin.Get("/plain/photo.jpg").OK(200)
	})
}

// While clients replace, delete and move files, whose objects the collector removes at once, a
// scrub of intact stores finds nothing.
func TestScrubBesideChanges(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			l := apptest.Start(t, engine, apptest.CollectAtOnce)
			s := &fixture{t: t, l: l}
			for _, a := range l.Apps {
				a.Fsck.Pause = time.Millisecond
			}
			alice := l.User(t, "alice")
			over := make(chan struct{})
			go func() {
				defer close(over)
				for i := range 60 {
					name := fmt.Sprintf("f%d", i%7)
					id := alice.Upload("/home/alice", name, fmt.Appendf(nil, "version %d", i),
						apptest.M{"conflict": "replace"})
					if i%3 == 0 {
						alice.Delete("/api/files/" + id)
					}
					if err := l.Apps[0].Sweep(context.Background()); err != nil {
						t.Error(err)
					}
				}
			}()
			for passes := 0; ; passes++ {
				lines, sum := s.scrub(fsck.ScrubOptions{})
				if len(lines) != 0 || sum.Unread != 0 {
					t.Fatalf("pass %d found %q: %+v", passes, lines, sum)
				}
				select {
				case <-over:
					t.Logf("%d passes", passes)
					return
				default:
				}
			}
		})
	}
}

// A disk that cannot read three objects in a row counts as unavailable: nothing is marked, and the
// objects that were not read are counted. Two in a row are damaged.
func TestScrubOfADiskThatReadsNothing(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const page = 100
		m := newManyObjects(f, page+50)
		unreadable := func(numbers ...int) {
			for _, i := range numbers {
				f.must(os.Remove(f.file(m.key(i))))
				f.must(os.Mkdir(f.file(m.key(i)), 0o700))
			}
		}
		unreadable(2, 3) // with the same content, so that neither is healed
		if _, sum := f.scrub(fsck.ScrubOptions{}); sum.Findings != 2 || sum.Unread != 0 {
			t.Errorf("two unreadable objects: %+v", sum)
		}
		marked := f.marked()
		if len(marked) != 2 {
			t.Errorf("marked: %q", marked)
		}
		unreadable(page+20, page+21, page+22)
		left := f.number("SELECT COUNT(*) FROM objects") - page
		if _, sum := f.scrub(fsck.ScrubOptions{}); sum.Findings != 2 || sum.Unread != left {
			t.Errorf("three unreadable objects after a page: %+v, want %d not read", sum, left)
		}
		if got := f.marked(); !slices.Equal(got, marked) {
			t.Errorf("marked: %q, want %q", got, marked)
		}
	})
}
