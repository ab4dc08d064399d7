package fsck_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/fsck"
	"larder/internal/provider"
)

// sweep runs Sweep and then the collector on every replica.
func (f *fixture) sweep() {
	f.t.Helper()
	for _, a := range f.l.Apps {
		f.must(a.Fsck.Sweep(context.Background()))
	}
	f.l.Sweep()
}

func (f *fixture) exists(key string) bool {
	_, err := os.Stat(f.file(key))
	return err == nil
}

func (f *fixture) garbage() int64 {
	return f.number("SELECT count(*) FROM garbage WHERE key LIKE 'ab/%'")
}

const day = 24 * time.Hour

// Abuse cases C96 and C97: a sweep removes what a crash left, and nothing else.
func TestSweepRemovesUnreferencedObjects(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		stray := s.putUnreferenced(1, 72*time.Hour)
		s.sweep()
		if s.garbage() != 0 {
			t.Fatal("the first sweep ran immediately after the start")
		}
		s.l.Clock.Advance(day)
		young := s.putUnreferenced(2, time.Hour)
		alice := s.l.SignIn(t, "alice", "password of alice")
		open := alice.Post("/api/files/upload-session",
			apptest.M{"path": "/home/alice", "fileName": "b", "fileSize": 3}).OK(200).Text("sessionId")
		etag := alice.Put("/api/files/upload/raw/"+open, []byte("abc")).OK(200).Text("etag")
		old := s.l.Clock.Now().Add(-72 * time.Hour)
		s.must(filepath.WalkDir(s.objects, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && path != s.file(young) && !strings.Contains(path, ".larder") {
				return os.Chtimes(path, old, old) // objects in use may be old
			}
			return err
		}))
		s.sweep()
		if s.garbage() != 1 || !s.exists(stray) {
			t.Fatalf("%d keys on the list after the first day, want the stray one's", s.garbage())
		}
		s.l.Clock.Advance(s.l.Apps[0].Config.GarbageGrace / 2)
		alice.Post("/api/files/upload-complete", apptest.M{"sessionId": open, "etag": etag}).OK(200)
		s.sweep()
		s.l.Clock.Advance(s.l.Apps[0].Config.GarbageGrace / 2)
		s.sweep()
		if s.exists(stray) || !s.exists(young) || !s.exists(s.key) {
			t.Errorf("stray %v, young %v, in use %v", s.exists(stray), s.exists(young), s.exists(s.key))
		}
		s.wantFindings(deep, "")
		if got := alice.Get("/home/alice/b").OK(200); string(got.Body) != "abc" {
			t.Errorf("completed after the sweep: %q", got.Body)
		}
	})
}

// The clocks of replicas may differ by an hour, and a shared directory has its own clock. With
// replicas an object must be two days old.
func TestTheAgeOfLeftoversAllowsForClocksThatDiffer(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.sweep()
		s.l.Clock.Advance(day)
		younger, older := s.putUnreferenced(1, 23*time.Hour), s.putUnreferenced(2, 25*time.Hour)
		alone := len(s.l.Apps) == 1
		if !alone {
			younger, older = s.putUnreferenced(3, 47*time.Hour), s.putUnreferenced(4, 49*time.Hour)
			s.must(os.Remove(s.file("ab/00000000000000000000000000000001")))
			s.must(os.Remove(s.file("ab/00000000000000000000000000000002")))
		}
		s.sweep()
		if s.number("SELECT count(*) FROM garbage WHERE key = $1", older) != 1 ||
			s.number("SELECT count(*) FROM garbage WHERE key = $1", younger) != 0 {
			t.Errorf("%d on the list; want the older one only", s.garbage())
		}
	})
}

func TestOneReplicaSweepsOnceADay(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.sweep()
		for i := range 3 {
			s.l.Clock.Advance(day)
			s.putUnreferenced(2*i, 72*time.Hour)
			s.sweep()
			if n := s.garbage(); n != int64(i+1) {
				t.Fatalf("day %d: %d on the list, want %d", i, n, i+1)
			}
			s.putUnreferenced(2*i+1, 72*time.Hour)
			s.l.Clock.Advance(time.Second)
			s.sweep()
			if n := s.garbage(); n != int64(i+1) {
				t.Fatalf("day %d: swept twice", i)
			}
			s.must(os.Remove(s.file(keyed(2*i + 1))))
			s.exec("UPDATE garbage SET after = after + 864000000") // the collector must not run here
		}
		s.l.Clock.Advance(-30 * day) // abuse case C129: a clock that was set back does not delay a sweep
		s.putUnreferenced(100, 72*time.Hour)
		s.sweep()
		if n := s.garbage(); n != 4 {
			t.Errorf("after the clock went back: %d on the list", n)
		}
	})
}

func keyed(number int) string { return "ab/" + strings.Repeat("0", 31) + string(rune('0'+number)) }

// Abuse case C126: when a store is unavailable at its turn, nothing is lost, and its next turn is a
// day later.
func TestAStoreThatIsDownIsSweptTheNextDay(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.putUnreferenced(1, 72*time.Hour)
		s.sweep()
		s.l.Clock.Advance(day)
		s.must(os.Rename(s.objects, s.objects+"-away"))
		for _, a := range s.l.Apps {
			s.must(a.Fsck.Sweep(t.Context()))
		}
		s.must(os.Rename(s.objects+"-away", s.objects))
		s.sweep()
		if s.garbage() != 0 {
			t.Error("swept twice on one day")
		}
		s.l.Clock.Advance(day)
		s.sweep()
		if s.garbage() != 1 {
			t.Error("not swept the next day")
		}
		s.wantFindings(deep, "")
	})
}

// When an old database is brought back, the objects stored after it must not be swept.
func TestSweepRefusesLargePartOfStore(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.sweep()
		s.l.Clock.Advance(day)
		for i := range 101 {
			s.putUnreferenced(i, 72*time.Hour)
		}
		s.sweep()
		if s.garbage() != 0 {
			t.Errorf("%d of 103 objects were put on the list", s.garbage())
		}
		if !strings.Contains(s.l.Log.String(), "a large part of a store has no references") {
			t.Error("the log says nothing about it")
		}
		_, sum := s.check(fsck.Options{Repair: fsck.Repairs{Orphans: true}})
		if sum.Findings != 101 || sum.Repaired != 101 || s.garbage() != 101 {
			t.Errorf("asked to, it mended %d of %d", sum.Repaired, sum.Findings)
		}
	})
}

// The collector checks the references again and keeps an object on the garbage list that is in use.
func TestTheCollectorPassesOverWhatAFileRefersTo(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.exec("INSERT INTO garbage (provider_id, key, after) SELECT provider_id, key, 1 FROM objects")
		for range 3 {
			s.l.Clock.Advance(time.Hour)
			s.l.Sweep()
		}
		s.wantFindings(deep, "", fsck.OnGarbageList, fsck.OnGarbageList)
	})
}

// A check beside a busy service reports nothing that is only in progress.
func TestACheckBesideUploadsFindsNothing(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		for _, a := range s.l.Apps {
			a.Objects.Grace = 0
		}
		done := make(chan struct{})
		finished := make(chan error, 2)
		for i := range 2 {
			alice := s.l.SignIn(t, "alice", "password of alice")
			go func() {
				dir := "/home/alice/load" + string(rune('0'+i))
				for {
					select {
					case <-done:
						finished <- nil
						return
					default:
					}
					id := alice.Upload(dir, "a", []byte("first"))
					alice.Upload(dir, "a", []byte("second"), apptest.M{"conflict": "replace"})
					alice.Upload(dir+"/sub", "b", []byte("third"))
					alice.Delete("/api/files/" + id)
					alice.Delete("/api/files/" +
						s.text(
							"SELECT id FROM entries WHERE name = 'sub' AND parent_id = (SELECT id FROM entries WHERE "+
								"name = $1)", "load"+string(rune('0'+i))))
					if err := s.l.Apps[0].Sweep(context.Background()); err != nil {
						finished <- err
						return
					}
				}
			}()
		}
		for range 8 {
			if lines, _ := s.check(deep); len(lines) > 0 {
				t.Errorf("%q", lines)
			}
		}
		close(done)
		for range 2 {
			s.must(<-finished)
		}
	})
}

// Objects that the collector deletes between the listing and the query are not reported.
func TestObjectsCollectedDuringCheckAreNotReported(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		keys := []string{s.putUnreferenced(1, 72*time.Hour), s.putUnreferenced(2, 72*time.Hour)}
		var told []string
		_, err := s.l.Apps[0].Fsck.Check(t.Context(), fsck.Options{Report: func(f fsck.Finding) {
			told = append(told, f.Text)
			for _, key := range keys {
				if !strings.HasPrefix(f.Text, key) {
					os.Remove(s.file(key))
				}
			}
		}})
		s.must(err)
		if len(told) != 1 {
			t.Errorf("told %q, want one of them", told)
		}
	})
}

// When a provider joins a location during a check, the objects of the location's other providers
// are not reported.
func TestAProviderThatChangesItsBucketDuringACheckCostsNobodyAnything(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		lifecycle := s.l.Apps[0].Lifecycle
		spare, err := lifecycle.CreateProvider(t.Context(),
			provider.Provider{Name: "spare", Type: provider.BuiltIn, Bucket: "spare"})
		s.must(err)
		old := s.l.Clock.Now().Add(-72 * time.Hour)
		for _, key := range []string{s.key, s.text("SELECT max(key) FROM objects"),
			s.text("SELECT min(key) FROM objects")} {
			s.must(os.Chtimes(s.file(key), old, old))
		}
		// a finding that is reported before the stores are listed
		s.exec("UPDATE quotas SET reserved_files = 1 WHERE used_files > 0")
		moved := false
		_, err = s.l.Apps[0].Fsck.Check(t.Context(),
			fsck.Options{Repair: fsck.Repairs{Orphans: true}, Report: func(f fsck.Finding) {
				if f.Kind == fsck.Orphaned {
					t.Errorf("taken for left over: %s", f.Text)
				}
				if moved {
					return
				}
				moved = true
				_, err := lifecycle.UpdateProvider(t.Context(), spare.ID, func(p *provider.Provider) error {
					p.Bucket = "default"
					return nil
				})
				s.must(err)
			}})
		s.must(err)
		if !moved {
			t.Fatal("the provider was not moved")
		}
		s.l.Clock.Advance(s.l.Apps[0].Config.GarbageGrace)
		s.l.Sweep()
		if !s.exists(s.key) {
			t.Error("the collector has deleted the content of a file")
		}
	})
}

// An object stored after the provider moved to another bucket is looked for there.
func TestAProviderThatChangesItsBucketDuringACheckMissesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		lifecycle, admin := s.l.Apps[0].Lifecycle, s.l.Admin(t)
		spare, err := lifecycle.CreateProvider(t.Context(),
			provider.Provider{Name: "spare", Type: provider.BuiltIn, Bucket: "spare"})
		s.must(err)
		admin.Post("/api/admin/mounts", apptest.M{"name": "Spare", "mountPath": "/spare", "providerId": spare.ID}).
			OK(201)
		// a finding that is reported before the objects are compared
		s.exec("UPDATE quotas SET reserved_files = 1 WHERE used_files > 0")
		var kinds []fsck.Kind
		_, err = s.l.Apps[0].Fsck.Check(t.Context(), fsck.Options{Report: func(f fsck.Finding) {
			if kinds = append(kinds, f.Kind); len(kinds) > 1 {
				t.Errorf("found %s: %s", f.Kind, f.Text)
				return
			}
			_, err := lifecycle.UpdateProvider(t.Context(), spare.ID, func(p *provider.Provider) error {
				p.Bucket = "other"
				return nil
			})
			s.must(err)
			admin.Upload("/spare", "new.txt", []byte("new"))
		}})
		s.must(err)
		if len(kinds) != 1 || kinds[0] != fsck.WrongQuota {
			t.Errorf("found %q", kinds)
		}
	})
}

// A database from a backup does not know later files. They stay for at least a day, so that an
// administrator can notice.
func TestTheFirstSweepAfterALongPauseWaitsADay(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.sweep()
		s.l.Clock.Advance(3 * day)
		stray := s.putUnreferenced(1, 48*time.Hour+time.Minute)
		s.sweep()
		s.l.Clock.Advance(day - time.Second)
		s.sweep()
		if !s.exists(stray) || s.garbage() != 0 {
			t.Fatal("swept right after the pause")
		}
		s.l.Clock.Advance(time.Second)
		s.sweep()
		if s.garbage() != 1 {
			t.Error("not swept a day later")
		}
	})
}
