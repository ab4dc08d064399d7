package backup_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/backup"
	"larder/internal/blob/s3"
	"larder/internal/blob/s3/s3test"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/ident"
)

// away is a fixture whose backups go into a bucket, below the prefix `nightly`.
type away struct {
	*fixture
	bucket s3test.Bucket
}

// eachAway runs test with a fixture on each engine.
func eachAway(t *testing.T, test func(t *testing.T, s *away)) {
	t.Helper()
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, &away{newFixture(t, engine, apptest.ReachLoopback), s3test.New(t)})
		})
	}
}

// options returns the options of the bucket, reached at its own address or by a proxy.
func (s *away) options(at s3test.Bucket) *s3.Options {
	return &s3.Options{Endpoint: at.Endpoint, Bucket: at.Name, Prefix: "nightly", AccessKey: at.AccessKey,
		SecretKey: at.SecretKey, PathStyle: true, Egress: s3test.Egress(), IDs: ident.New(rand.Reader),
		Limits: s3.Limits{RetryPause: time.Millisecond}}
}

// into makes a backup go into the bucket.
func (s *away) into(o *backup.Options) { o.Dir, o.Bucket = "", s.options(s.bucket) }

func (s *away) save(change ...func(*backup.Options)) backup.Summary {
	s.t.Helper()
	return s.mustBackUp(append([]func(*backup.Options){s.into}, change...)...)
}

// from makes a restore read the bucket.
func (s *away) from(o *backup.RestoreOptions) { o.Dir, o.Bucket = "", s.options(s.bucket) }

// stored lists the names below a prefix of the backup.
func (s *away) stored(under string) (names []string) {
	s.t.Helper()
	for _, key := range s.bucket.Keys(s.t) {
		if rest, found := strings.CutPrefix(key, "nightly/"+under); found {
			names = append(names, rest)
		}
	}
	return names
}

// snapshots lists the snapshots that have a manifest.
func (s *away) snapshots() (names []string) {
	for _, name := range s.stored("snapshots/") {
		if snapshot, found := strings.CutSuffix(name, "/manifest.json"); found {
			names = append(names, snapshot)
		}
	}
	return names
}

// objectName returns the name of an object of the local disk in the bucket.
func (s *away) objectName(key string) string {
	s.t.Helper()
	for _, name := range s.bucket.Keys(s.t) {
		if strings.HasPrefix(name, "nightly/objects/") && strings.HasSuffix(name, "/"+key) {
			return name
		}
	}
	return ""
}

func (s *away) put(name, content string) {
	s.t.Helper()
	_, err := s.bucket.SDK(s.t).PutObject(context.Background(),
		&sdk.PutObjectInput{Bucket: &s.bucket.Name, Key: &name, Body: strings.NewReader(content)})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *away) remove(name string) {
	s.t.Helper()
	_, err := s.bucket.SDK(s.t).DeleteObject(context.Background(),
		&sdk.DeleteObjectInput{Bucket: &s.bucket.Name, Key: &name})
	if err != nil {
		s.t.Fatal(err)
	}
}

// A service is backed up into a bucket and restored from it on both engines. The second backup
// sends the new objects only. The bucket has neither the secret key nor anything else than the
// backup.
func TestBackupIntoABucket(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		large := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // 16 MiB, in two parts
		s.alice.Upload("/home/alice", "a.txt", []byte("first"))
		s.alice.Upload("/home/alice", "large.bin", large)
		s.alice.Upload("/home/alice", "empty", nil)
		if sum := s.save(); sum.Objects != 3 || sum.Copied != 3 || sum.Added != 5+16<<20 {
			t.Errorf("the first backup: %+v", sum)
		}
		last, err := db.LastCommandResult(s.a.DB.Read(t.Context()), backup.Command)
		if err != nil || last.EndedAt != s.l.Clock.Now().UnixMilli() || last.Problems != 0 {
			t.Errorf("the last backup is %+v, %v", last, err)
		}
		s.alice.Upload("/home/alice", "b.txt", []byte("second"))
		sum := s.save()
		if sum.Objects != 4 || sum.Copied != 1 || sum.Added != 6 {
			t.Errorf("the second backup: %+v", sum)
		}
		want := []string{"audit.db", "elsewhere.jsonl", "larder.db", "manifest.json"}
		if s.engine == "postgres" { // its access log is in the database
			want = want[1:]
		}
		for i := range want {
			want[i] = "snapshots/" + sum.Snapshot + "/" + want[i]
		}
		var others []string
		for _, name := range s.stored("") {
			if !strings.HasPrefix(name, "objects/") {
				others = append(others, name)
			}
		}
		if want = append([]string{"larder-backup.json"}, want...); !slices.Equal(others, want) ||
			len(s.stored("objects/")) != 4 {
			t.Errorf("the bucket has %q and %q, want %q", others, s.stored("objects/"), want)
		}
		if left, err := os.ReadDir(filepath.Join(s.a.Config.DataDir, "backup")); err != nil || len(left) != 1 {
			t.Errorf("left in the data directory: %v, %v", left, err)
		}
		for _, engine := range dbtest.Engines {
			l := s.restored(t, engine, s.from)
			alice := l.SignIn(t, "alice", "password of alice")
			wantContent(t, alice, "/home/alice/a.txt", "first")
			wantContent(t, alice, "/home/alice/b.txt", "second")
			wantContent(t, alice, "/home/alice/empty", "")
			wantContent(t, alice, "/home/alice/large.bin", string(large))
			wantSound(t, l)
		}
	})
}

// A service that made its key itself leaves it out of a bucket, and says so. A restore needs the
// key, as a setting or as a file.
func TestBucketHasNoKey(t *testing.T) {
	t.Parallel()
	s := &away{newFixture(t, "sqlite", apptest.ReachLoopback,
		func(c *config.Config) { c.SecretKey = "" }), s3test.New(t)}
	s.alice.Upload("/home/alice", "a.txt", []byte("content"))
	keyFile := s.a.Config.KeyFile()
	if sum := s.save(); sum.KeyFile != keyFile {
		t.Errorf("the key is said to be in %q, want %s", sum.KeyFile, keyFile)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range s.bucket.Keys(t) {
		got, err := s.bucket.SDK(t).GetObject(t.Context(), &sdk.GetObjectInput{Bucket: &s.bucket.Name, Key: &name})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(got.Body)
		if err != nil || bytes.Contains(text, bytes.TrimSpace(key)) || strings.HasSuffix(name, "secret.key") {
			t.Errorf("%s has the key, %v", name, err)
		}
	}
	cfg := s.emptyDestination(t, "sqlite")
	_, _, err = restore(cfg, "", s.from)
	wantError(t, "without the key", err, "LARDER_SECRET_KEY", "secret.key")
	wantUntouched(t, cfg)
	cfg.SecretKey = keyFingerprint("another")
	_, _, err = restore(cfg, "", s.from)
	wantError(t, "with another key", err, "not the one of this backup")
	cfg.SecretKey = ""
	write(t, cfg.KeyFile(), string(key))
	if sum, _, err := restore(cfg, "", s.from); err != nil || sum.Objects != 1 {
		t.Errorf("with the key file: %+v, %v", sum, err)
	}
}

// Snapshots beyond the number to keep are removed, and with them the objects that no other snapshot
// names. Every snapshot that is left can be restored.
func TestPruneInABucket(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		keep := func(o *backup.Options) { o.Keep = 2 }
		var names []string
		var keys []string
		last := ""
		for _, content := range []string{"one", "two", "three"} {
			if last != "" {
				s.alice.Delete("/api/files/" + last).OK(200)
			}
			last = s.alice.Upload("/home/alice", content+".txt", []byte(content))
			keys = append(keys, s.object(last))
			sum := s.save(keep)
			names = append(names, sum.Snapshot)
			if want := map[string]int64{"three": 1}[content]; sum.Pruned != want {
				t.Errorf("after %q %d objects were pruned, want %d", content, sum.Pruned, want)
			}
			s.l.Clock.Advance(time.Minute)
			s.l.Sweep()
		}
		if got := s.snapshots(); !slices.Equal(got, names[1:]) {
			t.Errorf("the snapshots are %q, want %q", got, names[1:])
		}
		for i, want := range []bool{false, true, true} {
			if there := s.objectName(keys[i]) != ""; there != want {
				t.Errorf("object %d is there: %t, want %t", i, there, want)
			}
		}
		if files := s.stored("snapshots/" + names[0]); len(files) > 0 {
			t.Errorf("of the old snapshot these are left: %q", files)
		}
		for i, content := range []string{"two", "three"} {
			l := s.restored(t, "sqlite", s.from, func(o *backup.RestoreOptions) { o.Snapshot = names[i+1] })
			wantContent(t, l.SignIn(t, "alice", "password of alice"), "/home/alice/"+content+".txt", content)
			wantSound(t, l)
		}
	})
}

// A run removes the unfinished files of an interrupted run, and uses the objects that it has sent.
func TestInterruptedBackupIntoABucket(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		first := s.alice.Upload("/home/alice", "a.txt", []byte("content"))
		ctx, stop := context.WithCancel(t.Context())
		_, err := s.a.Backup(ctx, "test", backup.Options{Keep: 1, Bucket: s.options(s.bucket),
			Progress: func(backup.Progress) { stop() }})
		if !errors.Is(err, context.Canceled) || s.objectName(s.object(first)) == "" {
			t.Fatalf("got %v, the object is at %q", err, s.objectName(s.object(first)))
		}
		_, _, err = restore(s.emptyDestination(t, "sqlite"), "", s.from)
		wantError(t, "a restore of an unfinished backup", err, "incomplete")
		s.put("nightly/snapshots/20200101T000000.000Z/larder.db", "cut")
		unfinished := "nightly/objects/x/00/00000000000000000000000000000001"
		if _, err := s.bucket.SDK(t).CreateMultipartUpload(t.Context(),
			&sdk.CreateMultipartUploadInput{Bucket: &s.bucket.Name, Key: &unfinished}); err != nil {
			t.Fatal(err)
		}
		if sum := s.save(); sum.Objects != 1 || sum.Copied != 0 {
			t.Errorf("the next one: %+v", sum)
		}
		if names := s.stored("snapshots/2020"); len(names) > 0 {
			t.Errorf("of the unfinished snapshot are left %q", names)
		}
		uploads, err := s.bucket.SDK(t).ListMultipartUploads(t.Context(),
			&sdk.ListMultipartUploadsInput{Bucket: &s.bucket.Name})
		if err != nil || len(uploads.Uploads) > 0 {
			t.Errorf("unfinished uploads: %v, %v", uploads, err)
		}
		wantSound(t, s.restored(t, s.engine, s.from))
	})
}

// An object that was cut, changed or removed in the bucket is reported by a restore. The next
// backup sends a cut or removed object again; with Verify also a changed one.
func TestDamagedObjectsInABucket(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		var keys []string
		for _, name := range []string{"cut", "changed", "removed", "sound"} {
			keys = append(keys, s.object(s.alice.Upload("/home/alice", name, []byte("content of "+name))))
		}
		damage := func() {
			s.put(s.objectName(keys[0]), "content")
			s.put(s.objectName(keys[1]), "CONTENT of changed")
			s.remove(s.objectName(keys[2]))
		}
		s.save()
		damage()
		cfg := s.emptyDestination(t, "sqlite")
		sum, said, err := restore(cfg, "", s.from)
		if !errors.Is(err, backup.ErrIncomplete) || sum.Wrong != 3 {
			t.Errorf("a restore: %+v, %v", sum, err)
		}
		for _, key := range keys[:3] {
			if !strings.Contains(strings.Join(said, "\n"), key) {
				t.Errorf("%s is not in %q", key, said)
			}
		}
		if sum := s.save(); sum.Copied != 2 {
			t.Errorf("a backup: %+v", sum)
		}
		repaired, said, err := s.backUp(s.into, func(o *backup.Options) { o.Verify = true })
		if err != nil || repaired.Copied != 1 || len(said) != 1 || !strings.Contains(said[0], keys[1]) {
			t.Errorf("a backup with Verify: %+v, %q, %v", repaired, said, err)
		}
		if sum, said, err := restore(s.emptyDestination(t, "sqlite"), "", s.from); err != nil || sum.Objects != 4 {
			t.Errorf("a restore: %+v, %q, %v", sum, said, err)
		}
	})
}

// Places that a backup must not use are refused, and nothing is changed in them.
func TestBackupRefusesBuckets(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		s.l.S3Provider(t)
		_, taken := s.l.S3Provider(t, M{"pathPrefix": "files/larder"})
		at := func(change func(o *s3.Options)) error {
			_, _, err := s.backUp(s.into, func(o *backup.Options) { change(o.Bucket) })
			return err
		}
		for _, prefix := range []string{"", "files", "files/larder", "files/larder/backup"} {
			wantError(t, "the provider's prefix "+prefix,
				at(func(o *s3.Options) { o.Bucket, o.Prefix = taken.Name, prefix }), "inside nor around")
		}
		if keys := taken.Keys(t); len(keys) > 0 {
			t.Errorf("the refused backups left %q", keys)
		}
		if err := at(func(o *s3.Options) { o.Bucket, o.Prefix = taken.Name, "files/larder2" }); err != nil {
			t.Errorf("another prefix of the bucket: %v", err)
		}
		wantError(t, "a bucket that does not exist", at(func(o *s3.Options) { o.Bucket = "larder-none" }),
			"s3://larder-none/nightly", "NoSuchBucket")
		wantError(t, "wrong credentials", at(func(o *s3.Options) { o.SecretKey = "wrong" }), "credentials")
		s.put("nightly/thesis.txt", "")
		wantError(t, "a prefix with something else", at(func(*s3.Options) {}), "thesis.txt")
		s.remove("nightly/thesis.txt")
		s.save()
		for prefix, want := range map[string]string{"nightly/inner": `inside the backup s3://` + s.bucket.Name + `/nightly:`,
			"nightly/a/b": "inside the backup", "": `it contains "nightly/`} {
			wantError(t, "another backup's prefix "+prefix, at(func(o *s3.Options) { o.Prefix = prefix }), want)
		}
		if names := s.stored("inner"); len(names) > 0 {
			t.Errorf("the refused backup left %q", names)
		}
		if err := at(func(o *s3.Options) { o.Prefix = "nightly2" }); err != nil {
			t.Errorf("a prefix that only begins like that of a backup: %v", err)
		}

		other := &away{newFixture(t, s.engine, apptest.ReachLoopback,
			func(c *config.Config) { c.SecretKey = keyFingerprint("another") }), s.bucket}
		_, _, err := other.backUp(other.into)
		wantError(t, "another installation's", err, "another installation with another secret key")
		wantError(t, "nothing there", func() error {
			_, _, err := restore(s.emptyDestination(t, "sqlite"), "", s.from,
				func(o *backup.RestoreOptions) { o.Bucket.Prefix = "none" })
			return err
		}(), "no backup in s3://"+s.bucket.Name+"/none")
		s.save()
	})
}

// Credentials that may read nothing above the prefix are enough for a backup. A backup does not
// begin while the server fails there, since it could be inside another one.
func TestBackupWithRightsBelowItsPrefix(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		proxy := s3test.NewProxy(t, s.bucket)
		var refused, status atomic.Int64
		proxy.SetBefore(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, s.bucket.Name+"/larder-backup.json") {
				return false
			}
			refused.Add(1)
			w.WriteHeader(int(status.Load()))
			return true
		})
		within := func(o *backup.Options) { o.Bucket = s.options(proxy.Bucket()) }
		status.Store(http.StatusInternalServerError)
		_, _, err := s.backUp(s.into, within)
		wantError(t, "a server that fails", err, "can't be used")
		status.Store(http.StatusForbidden)
		s.save(within)
		if refused.Load() == 0 {
			t.Error("the backup did not look above its prefix")
		}
	})
}

// A restore ends with an error when the bucket fails in the middle. It never takes an object for
// missing because of that, even when told to go on without missing objects.
func TestRestoreWhileTheBucketFails(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		s.alice.Upload("/home/alice", "a", bytes.Repeat([]byte("a"), 1000))
		s.save()
		proxy := s3test.NewProxy(t, s.bucket)
		for _, fault := range []s3test.Fault{s3test.Internal, s3test.Refused} {
			cfg := s.emptyDestination(t, "sqlite")
			var began atomic.Bool
			try := func() (backup.Restored, error) {
				sum, _, err := restore(cfg, "", func(o *backup.RestoreOptions) {
					o.Dir, o.Bucket, o.Incomplete = "", s.options(proxy.Bucket()), true
				})
				return sum, err
			}
			proxy.SetBefore(func(_ http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/larder.db") { // the next read is that of the object
					began.Store(true)
					proxy.InjectFault(fault, s3test.Get, s3test.Always)
				}
				return false
			})
			sum, err := try()
			if err == nil || sum.Wrong > 0 || !began.Load() {
				t.Errorf("%s: %+v, %v", fault, sum, err)
			}
			proxy.SetBefore(nil)
			proxy.Restore()
			if sum, err := try(); err != nil || sum.Objects != 1 {
				t.Errorf("%s, again: %+v, %v", fault, sum, err)
			}
		}
	})
}

// A backup survives a write that fails for a moment.
func TestBackupRepeatsWrites(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		s.alice.Upload("/home/alice", "a", []byte("content"))
		proxy := s3test.NewProxy(t, s.bucket)
		for _, fault := range []s3test.Fault{s3test.SlowDown, s3test.Reset, s3test.Truncated} {
			began := false
			sum, said, err := s.backUp(func(o *backup.Options) {
				o.Bucket = s.options(proxy.Bucket())
				o.Bucket.Prefix = string(fault)[:3]
				o.Progress = func(backup.Progress) {
					if !began {
						began = true
						proxy.InjectFault(fault, s3test.Put, 2)
					}
				}
			})
			if err != nil || sum.Wrong > 0 || !began {
				t.Errorf("%s: %+v, %q, %v", fault, sum, said, err)
			}
		}
	})
}

// When a write finds another object of the same size under its name, as when the answer to an
// earlier write was lost, a backup compares the content and replaces an object that differs.
func TestBackupReplacesOtherContent(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		s.alice.Upload("/home/alice", "a", []byte("the content"))
		proxy := s3test.NewProxy(t, s.bucket)
		var before atomic.Bool
		proxy.SetBefore(func(_ http.ResponseWriter, r *http.Request) bool {
			name := strings.TrimPrefix(r.URL.Path, "/"+s.bucket.Name+"/")
			if r.Method == http.MethodPut && strings.HasPrefix(name, "nightly/objects/") && before.CompareAndSwap(false, true) {
				_, err := s.bucket.SDK(t).PutObject(context.Background(), &sdk.PutObjectInput{Bucket: &s.bucket.Name,
					Key: &name, Body: strings.NewReader("THE CONTENT")})
				if err != nil {
					t.Error(err)
				}
			}
			return false
		})
		sum := s.save(func(o *backup.Options) { o.Bucket = s.options(proxy.Bucket()) })
		if !before.Load() || sum.Copied != 1 || sum.Wrong > 0 {
			t.Errorf("%+v", sum)
		}
		l := s.restored(t, s.engine, s.from)
		wantContent(t, l.SignIn(t, "alice", "password of alice"), "/home/alice/a", "the content")
	})
}

// A backup removes its own local files alone, and refuses a link in place of their directory.
func TestLocalFilesOfABucket(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		s.alice.Upload("/home/alice", "a.txt", []byte("first"))
		local := filepath.Join(s.a.Config.DataDir, "backup")
		mine := filepath.Join(local, "my own copy.db")
		left := filepath.Join(local, "20260102T030405.678Z.db")
		if err := os.MkdirAll(local, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{mine, left} {
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.save()
		if _, err := os.Stat(mine); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(left); err == nil {
			t.Error("the copy of an interrupted run is still there")
		}
		elsewhere := t.TempDir()
		if err := errors.Join(os.RemoveAll(local), os.Symlink(elsewhere, local)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.backUp(s.into); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("a link: %v", err)
		}
	})
}
