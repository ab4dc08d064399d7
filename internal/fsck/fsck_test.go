package fsck_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/db"
	"larder/internal/fsck"
	"larder/internal/provider"
)

// fixture is a service with some files of alice.
type fixture struct {
	t       *testing.T
	l       *apptest.Larder
	objects string // the directory of the built-in store
	photo   string // a file of alice
	key     string // of its object
}

// each runs test with its own fixture on both set-ups.
func each(t *testing.T, test func(t *testing.T, s *fixture)) {
	t.Helper()
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		s := &fixture{t: t, l: l, objects: filepath.Join(l.Apps[0].Config.ObjectDir, "default")}
		for _, a := range l.Apps {
			a.Fsck.Pause = time.Millisecond
		}
		alice := l.User(t, "alice")
		s.photo = alice.Upload("/home/alice", "photo.jpg", []byte("a photograph"))
		alice.Upload("/home/alice/deep/down", "letter.txt", []byte("dear reader"))
		alice.Post("/api/files/"+s.photo+"/link", nil)
		s.key = s.text("SELECT o.key FROM objects o JOIN entries e ON e.object_id = o.id WHERE e.id = $1", s.photo)
		test(t, s)
	})
}

func (f *fixture) exec(query string, args ...any) {
	f.t.Helper()
	err := f.l.Apps[0].DB.Write(context.Background(), func(tx *db.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
	if err != nil {
		f.t.Fatalf("%s: %v", query, err)
	}
}

func (f *fixture) text(query string, args ...any) (v string) {
	f.t.Helper()
	if err := f.l.Apps[0].DB.Read(context.Background()).QueryRow(query, args...).Scan(&v); err != nil {
		f.t.Fatalf("%s: %v", query, err)
	}
	return v
}

func (f *fixture) number(query string, args ...any) (n int64) {
	f.t.Helper()
	if err := f.l.Apps[0].DB.Read(context.Background()).QueryRow(query, args...).Scan(&n); err != nil {
		f.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// check runs a check and returns one line per finding.
func (f *fixture) check(o fsck.Options) (lines []string, sum fsck.Summary) {
	f.t.Helper()
	o.Report = recordFindings(&lines, " mended")
	sum, err := f.l.Apps[0].Fsck.Check(context.Background(), o)
	f.must(err)
	if int(sum.Findings) != len(lines) {
		f.t.Errorf("%d findings told, %d counted", len(lines), sum.Findings)
	}
	return lines, sum
}

// recordFindings returns a function that appends a line for each finding, which ends with repaired
// if the finding was repaired.
func recordFindings(lines *[]string, repaired string) func(fsck.Finding) {
	return func(finding fsck.Finding) {
		line := string(finding.Kind) + " " + finding.Text
		if finding.Repaired {
			line += repaired
		}
		*lines = append(*lines, line)
	}
}

// wantFindings fails the test unless a check reports exactly these kinds, each in a line that names
// the subject.
func (f *fixture) wantFindings(o fsck.Options, about string, kinds ...fsck.Kind) {
	f.t.Helper()
	lines, _ := f.check(o)
	var got, want []string
	for _, line := range lines {
		kind, _, _ := strings.Cut(line, " ")
		got = append(got, kind)
		if !strings.Contains(line, about) {
			f.t.Errorf("%q does not name %q", line, about)
		}
	}
	for _, kind := range kinds {
		want = append(want, string(kind))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		f.t.Errorf("found %q\nwant %q", lines, want)
	}
}

// file returns the path of an object on the disk.
func (f *fixture) file(key string) string { return filepath.Join(f.objects, filepath.FromSlash(key)) }

// putUnreferenced writes an unreferenced object of a given age.
func (f *fixture) putUnreferenced(number int, age time.Duration) (key string) {
	f.t.Helper()
	key = fmt.Sprintf("ab/%032x", number)
	f.must(os.MkdirAll(filepath.Dir(f.file(key)), 0o700))
	f.must(os.WriteFile(f.file(key), []byte("stray"), 0o600))
	written := f.l.Clock.Now().Add(-age)
	f.must(os.Chtimes(f.file(key), written, written))
	return key
}

var deep = fsck.Options{Deep: true}

func TestCheckOfConsistentDataFindsNothing(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		alice := s.l.SignIn(t, "alice", "password of alice")
		alice.Upload("/home/alice", "photo.jpg", []byte("another one"), apptest.M{"conflict": "replace"})
		alice.Upload("/home/alice/gone", "a.txt", []byte("a"))
		folder := s.text("SELECT id FROM entries WHERE name = 'gone'")
		// the folder is below the graveyard: no longer in the quota, and not yet collected
		alice.Delete("/api/files/" + folder).OK(200)
		alice.Post("/api/files/upload-session", apptest.M{"path": "/home/alice", "fileName": "b", "fileSize": 7}).
			OK(200)
		s.wantFindings(deep, "")
		s.l.Sweep()
		_, sum := s.check(deep)
		if sum.Objects != 2 || sum.Bytes != int64(len("another one")+len("dear reader")) || sum.Unhashed != 0 ||
			sum.Entries < 8 {
			t.Errorf("looked at %+v", sum)
		}
	})
}

// Abuse cases C93 and C128: each problem is reported with its kind, and no others.
func TestCheckFindsInconsistencies(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		object := s.text("SELECT object_id FROM entries WHERE id = $1", s.photo)
		alice := s.text("SELECT id FROM users WHERE username = 'alice'")
		content := []byte("a photograph")
		rewrite := func(text string) func() {
			return func() { s.must(os.WriteFile(s.file(s.key), []byte(text), 0o600)) }
		}
		sql := func(query string, args ...any) func() { return func() { s.exec(query, args...) } }
		away, back := filepath.Join(s.objects, ".larder-store"), filepath.Join(s.objects, ".put-by")
		rename := func(from, to string) func() { return func() { s.must(os.Rename(from, to)) } }
		for _, c := range []struct {
			name        string
			breaks      func()
			heals       func()
			options     fsck.Options
			about       string
			want, still []fsck.Kind // still: the findings of a check without Deep
		}{
			{"bytes that are gone", func() { s.must(os.Remove(s.file(s.key))) }, rewrite(string(content)), deep,
				"/home/alice/photo.jpg",
				[]fsck.Kind{fsck.Missing}, []fsck.Kind{fsck.Missing}},
			{"too few bytes", rewrite("a photo"), rewrite(string(content)), deep, "/home/alice/photo.jpg",
				[]fsck.Kind{fsck.WrongSize}, []fsck.Kind{fsck.WrongSize}},
			{"other bytes", rewrite("a photogralh"), rewrite(string(content)), deep, "/home/alice/photo.jpg",
				[]fsck.Kind{fsck.WrongHash}, nil},
			{"a store that is not there", rename(away, back), rename(back, away), deep, "local",
				[]fsck.Kind{fsck.StoreUnavailable}, []fsck.Kind{fsck.StoreUnavailable}},
			{"a provider that is gone", sql("UPDATE objects SET provider_id = 'nobody' WHERE id = $1", object),
				sql("UPDATE objects SET provider_id = (SELECT id FROM providers) WHERE id = $1", object), deep,
				"nobody", []fsck.Kind{fsck.StoreUnavailable}, []fsck.Kind{fsck.StoreUnavailable}},
			{"a count of files", sql("UPDATE objects SET refs = 2 WHERE id = $1", object),
				sql("UPDATE objects SET refs = 1 WHERE id = $1", object), deep, object,
				[]fsck.Kind{fsck.WrongRefs}, []fsck.Kind{fsck.WrongRefs}},
			{"an object to be deleted",
				sql(
					"INSERT INTO garbage (provider_id, key, after) SELECT provider_id, key, 1 FROM objects WHERE id "+
						"= $1", object),
				sql("DELETE FROM garbage WHERE key = $1", s.key), deep, object, []fsck.Kind{fsck.OnGarbageList},
				[]fsck.Kind{fsck.OnGarbageList}},
			{"a file of another size", sql("UPDATE entries SET size = size + 1 WHERE id = $1", s.photo),
				sql("UPDATE entries SET size = size - 1 WHERE id = $1", s.photo), deep, "alice",
				[]fsck.Kind{fsck.WrongSize, fsck.WrongQuota}, []fsck.Kind{fsck.WrongSize, fsck.WrongQuota}},
			{"used bytes", sql("UPDATE quotas SET used_storage = used_storage + 1 WHERE user_id = $1", alice),
				sql("UPDATE quotas SET used_storage = used_storage - 1 WHERE user_id = $1", alice), deep, "alice",
				[]fsck.Kind{fsck.WrongQuota}, []fsck.Kind{fsck.WrongQuota}},
			{"reserved files", sql("UPDATE quotas SET reserved_files = 1 WHERE user_id = $1", alice),
				sql("UPDATE quotas SET reserved_files = 0 WHERE user_id = $1", alice), deep, "alice",
				[]fsck.Kind{fsck.WrongQuota}, []fsck.Kind{fsck.WrongQuota}},
			{"used folders", sql("UPDATE quotas SET used_folders = used_folders + 1 WHERE user_id = $1", alice),
				sql("UPDATE quotas SET used_folders = used_folders - 1 WHERE user_id = $1", alice), deep, "alice",
				[]fsck.Kind{fsck.WrongQuota}, []fsck.Kind{fsck.WrongQuota}},
			{"reserved folders", sql("UPDATE quotas SET reserved_folders = 1 WHERE user_id = $1", alice),
				sql("UPDATE quotas SET reserved_folders = 0 WHERE user_id = $1", alice), deep, "alice",
				[]fsck.Kind{fsck.WrongQuota}, []fsck.Kind{fsck.WrongQuota}},
			{"a link of nothing", sql("UPDATE links SET entry_id = 'nothing'"),
				sql("UPDATE links SET entry_id = $1", s.photo), deep, "nothing",
				[]fsck.Kind{fsck.BrokenLink}, []fsck.Kind{fsck.BrokenLink}},
			{"an entry below nothing", sql("UPDATE entries SET parent_id = 'nowhere' WHERE name = 'deep'"),
				sql(
					"UPDATE entries SET parent_id = (SELECT id FROM entries e WHERE e.name = 'alice') WHERE name = " +
						"'deep'"), deep, "deep",
				[]fsck.Kind{fsck.Unreachable}, []fsck.Kind{fsck.Unreachable}},
			{"a root that no mount has", sql("UPDATE entries SET parent_id = NULL WHERE name = 'deep'"),
				sql(
					"UPDATE entries SET parent_id = (SELECT id FROM entries e WHERE e.name = 'alice') WHERE name = " +
						"'deep'"), deep, "deep",
				[]fsck.Kind{fsck.Unreachable}, []fsck.Kind{fsck.Unreachable}},
			{"a circle",
				sql(
					"UPDATE entries SET parent_id = (SELECT id FROM entries e WHERE e.name = 'down') WHERE name = " +
						"'deep'"),
				sql(
					"UPDATE entries SET parent_id = (SELECT id FROM entries e WHERE e.name = 'alice') WHERE name = " +
						"'deep'"), deep, "of owner " + alice,
				[]fsck.Kind{fsck.Unreachable, fsck.Unreachable}, []fsck.Kind{fsck.Unreachable, fsck.Unreachable}},
			{"the order of a name", sql("UPDATE entries SET sort_key = 'elsewhere' WHERE id = $1", s.photo),
				sql("UPDATE entries SET sort_key = 'photo.jpg' WHERE id = $1", s.photo), deep, s.photo,
				[]fsck.Kind{fsck.WrongSortKey}, []fsck.Kind{fsck.WrongSortKey}},
			{"a file without content", sql("UPDATE entries SET object_id = 'none' WHERE id = $1", s.photo),
				sql("UPDATE entries SET object_id = $1 WHERE id = $2", object, s.photo), deep, "",
				[]fsck.Kind{fsck.NoObject, fsck.WrongRefs}, []fsck.Kind{fsck.NoObject, fsck.WrongRefs}},
		} {
			c.breaks()
			s.wantFindings(c.options, c.about, c.want...)
			s.wantFindings(fsck.Options{}, c.about, c.still...)
			c.heals()
			if lines, _ := s.check(deep); len(lines) > 0 {
				t.Fatalf("%s: after it was healed %q", c.name, lines)
			}
		}
		if _, err := os.Stat(s.file(s.key)); err != nil {
			t.Error(err)
		}
	})
}

// A copy in progress is neither unreachable nor counted into the quota, and its reservation counts.
// The remains of a copy that no job continues are found, and deleted with Repairs.Orphans.
func TestCopiesUnderWayAndLeftOver(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		alice := s.text("SELECT id FROM users WHERE username = 'alice'")
		far := s.l.Clock.Now().Add(24 * time.Hour).UnixMilli()
		begin := func() {
			s.exec(
				`INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at, sort_key)
				VALUES ('half', 'staging', 'half', 'half', 0, 0, '', $1, 0, 0, 'half')`, alice)
			s.exec(
				`INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at, sort_key)
				SELECT 'copied', 'half', 'photo.jpg', 'photo.jpg', 1, size, mime_type, owner_id, object_id, 0, 0, 'photo.jpg' FROM entries WHERE id = $1`, s.photo)
			s.exec("UPDATE objects SET refs = refs + 1 WHERE key = $1", s.key)
			s.exec("UPDATE quotas SET reserved_storage = 100, reserved_files = 3 WHERE user_id = $1", alice)
			s.exec(
				"INSERT INTO copies (job_id, entry_id, user_id, reserved_storage, reserved_files, made_storage, "+
					"made_files) VALUES ('j', 'half', $1, 100, 3, 12, 1)", alice)
			s.exec(`INSERT INTO jobs (id, type, owner_id, status, progress, created_at, payload, due, holder)
				VALUES ('j', 'copy', $1, 'running', 0, 0, '{}', $2, 'somebody')`, alice, far)
		}
		repair := fsck.Options{Repair: fsck.Repairs{Orphans: true}}
		for name, lose := range map[string]func(){
			"a job that failed": func() {
				s.exec(
					"UPDATE jobs SET status = 'failed', completed_at = 1 WHERE id = 'j'")
			},
			"a job that is gone": func() {},
			"no record": func() {
				s.exec("DELETE FROM copies")
				s.exec("UPDATE quotas SET reserved_storage = 0, reserved_files = 0 WHERE user_id = $1", alice)
			},
		} {
			begin()
			s.wantFindings(repair, "") // while the job is running
			s.l.Sweep()
			s.wantFindings(deep, "")
			lose()
			if name != "a job that failed" {
				s.exec("DELETE FROM jobs")
			}
			s.wantFindings(deep, "half", fsck.LeftoverCopy)
			s.l.Sweep()
			s.wantFindings(repair, "half", fsck.LeftoverCopy)
			s.l.Sweep()
			s.wantFindings(deep, "")
			if n := s.number("SELECT COUNT(*) FROM entries WHERE id IN ('half', 'copied')") + s.number(
				"SELECT COUNT(*) FROM copies"); n != 0 {
				t.Errorf("%s: %d rows are left", name, n)
			}
			s.exec("DELETE FROM jobs")
		}
		s.exec("UPDATE quotas SET reserved_storage = 100, reserved_files = 3 WHERE user_id = $1", alice)
		s.exec("INSERT INTO copies (job_id, entry_id, user_id, reserved_storage, reserved_files, made_storage, "+
			"made_files) VALUES ('j', 'none', $1, 40, 1, 0, 0)", alice)
		s.exec(`INSERT INTO jobs (id, type, owner_id, status, progress, created_at, payload, due, holder)
			VALUES ('j', 'copy', $1, 'running', 0, 0, '{}', $2, 'somebody')`, alice, far)
		s.wantFindings(fsck.Options{Repair: fsck.Repairs{Quota: true}}, "alice", fsck.WrongQuota)
		if n := s.number("SELECT reserved_storage + reserved_files FROM quotas WHERE user_id = $1", alice); n != 41 {
			t.Errorf("reserved %d after the repair, want 40 bytes and a file", n)
		}
	})
}

// The objects of an unavailable store are not reported as missing.
func TestObjectsOfAStoreThatIsAwayAreNotCalledMissing(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.must(os.Rename(s.objects, s.objects+"-away"))
		s.must(os.Mkdir(s.objects, 0o700)) // as for a disk that is not mounted
		lines, sum := s.check(deep)
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "store ") || sum.Unchecked != 2 {
			t.Errorf("%q, %+v", lines, sum)
		}
		s.must(os.Remove(s.objects))
		s.must(os.Rename(s.objects+"-away", s.objects))
		s.wantFindings(deep, "")
	})
}

func TestOnlyRequestedRepairsAreMade(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		object := s.text("SELECT object_id FROM entries WHERE id = $1", s.photo)
		s.exec("UPDATE quotas SET used_storage = 1, used_files = 7, reserved_storage = 9, reserved_files = 3, " +
			"used_folders = 8, reserved_folders = 2")
		s.exec("UPDATE objects SET refs = 5, sha256 = NULL WHERE id = $1", object)
		s.exec("INSERT INTO garbage (provider_id, key, after) SELECT provider_id, key, -1 FROM objects WHERE id = $1",
			object)
		s.exec("INSERT INTO objects (id, provider_id, key, size, etag, refs, created_at) SELECT 'unused', id, " +
			"'ab/00000000000000000000000000000001', 5, '', 1, 0 FROM providers")
		unused, stray := s.putUnreferenced(1, 72*time.Hour), s.putUnreferenced(2, 72*time.Hour)
		s.exec("UPDATE entries SET sort_key = '' WHERE id = $1", s.photo)
		everything := []fsck.Kind{fsck.WrongQuota, fsck.WrongQuota, fsck.WrongRefs, fsck.WrongRefs, fsck.OnGarbageList,
			fsck.Orphaned, fsck.WrongSortKey}

		s.wantFindings(deep, "", everything...)
		s.wantFindings(deep, "", everything...) // the first check has repaired nothing
		if s.number("SELECT count(*) FROM objects WHERE sha256 IS NULL") != 2 {
			t.Error("a check filled a hash in")
		}
		for _, c := range []struct {
			repair fsck.Repairs
			fixes  []fsck.Kind
		}{
			{fsck.Repairs{Orphans: true}, []fsck.Kind{fsck.Orphaned}},
			{fsck.Repairs{Quota: true}, []fsck.Kind{fsck.WrongQuota, fsck.WrongQuota}},
			{fsck.Repairs{Refs: true}, []fsck.Kind{fsck.WrongRefs, fsck.WrongRefs, fsck.OnGarbageList}},
			{fsck.Repairs{Sorting: true}, []fsck.Kind{fsck.WrongSortKey}},
		} {
			s.wantFindings(fsck.Options{Repair: c.repair}, "", everything...)
			for _, kind := range c.fixes {
				i := slices.Index(everything, kind)
				everything = slices.Delete(everything, i, i+1)
			}
			s.wantFindings(deep, "", everything...)
		}
		_, sum := s.check(fsck.Options{Deep: true, Repair: fsck.Repairs{Hashes: true}})
		if sum.Unhashed != 0 || sum.Repaired != 1 ||
			s.number("SELECT count(*) FROM objects WHERE sha256 IS NULL") != 0 {
			t.Errorf("hashes: %+v", sum)
		}
		s.wantFindings(deep, "")
		alice := s.l.SignIn(t, "alice", "password of alice")
		if got := alice.Get("/api/auth/me").OK(200); got.Int("quota.usedStorage") != 23 ||
			got.Int("quota.usedFiles") != 2 {
			t.Errorf("the quota of alice: %s", got.Body)
		}

		s.l.Sweep()
		for _, key := range []string{unused, stray} {
			if _, err := os.Stat(s.file(key)); err != nil {
				t.Errorf("%s is gone before the grace is over", key)
			}
		}
		s.l.Clock.Advance(s.l.Apps[0].Config.GarbageGrace)
		s.l.Sweep()
		for _, key := range []string{unused, stray} {
			if _, err := os.Stat(s.file(key)); err == nil {
				t.Errorf("%s is still there", key)
			}
		}
		if got := alice.Get("/home/alice/photo.jpg").OK(200); string(got.Body) != "a photograph" {
			t.Errorf("the photograph is %q", got.Body)
		}
	})
}

// Two providers may keep their objects in one directory below different prefixes.
func TestObjectKnownToAnotherProviderIsNoLeftover(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.must(s.l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error {
			return s.l.Apps[0].Providers.Insert(tx, provider.Provider{
				ID: "aaa", Name: "neighbour", Type: provider.BuiltIn, Bucket: "default", PathPrefix: "n",
				Marker: s.text("SELECT marker FROM providers"),
			})
		}))
		s.wantFindings(deep, "")
		s.exec("UPDATE objects SET provider_id = 'aaa'")
		s.wantFindings(deep, "")
		key := "n/ab/00000000000000000000000000000001"
		s.must(os.MkdirAll(filepath.Dir(s.file(key)), 0o700))
		s.must(os.WriteFile(s.file(key), nil, 0o600))
		old := s.l.Clock.Now().Add(-72 * time.Hour)
		s.must(os.Chtimes(s.file(key), old, old))
		s.wantFindings(fsck.Options{Repair: fsck.Repairs{Orphans: true}}, "aaa", fsck.Orphaned)
		if owner := s.text("SELECT provider_id FROM garbage WHERE key = $1", key); owner != "aaa" {
			t.Errorf("the garbage of %s", owner)
		}
	})
}
