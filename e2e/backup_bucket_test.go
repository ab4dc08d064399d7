package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob/s3/s3test"
	"larder/internal/db/dbtest"
)

// bucketPoints are the crash points of a backup into a bucket, besides backupPoints, in the order
// of their steps.
var bucketPoints = []string{"backup.claimed", "backup.stored", "backup.sent", "backup.ended"}

// atBucket gives a site the settings for backups into a bucket, whose address it returns.
func (s *site) atBucket(bucket s3test.Bucket) string {
	s.set("LARDER_BACKUP_ENDPOINT", bucket.Endpoint, "LARDER_BACKUP_ACCESS_KEY_ID", bucket.AccessKey,
		"LARDER_BACKUP_SECRET_ACCESS_KEY", bucket.SecretKey, "LARDER_ALLOW_PRIVATE_ENDPOINTS", "127.0.0.0/8")
	return "s3://" + bucket.Name + "/larder/nightly"
}

// emptiedWithKey is emptied, with the secret key that s keeps in a file as a setting.
func (s *site) emptiedWithKey(t *testing.T, engine string, bucket s3test.Bucket) *site {
	t.Helper()
	r := s.emptied(t, engine)
	if key, err := os.ReadFile(filepath.Join(s.dir, "secret.key")); err == nil {
		r.env["LARDER_SECRET_KEY"] = strings.TrimSpace(string(key))
	}
	r.atBucket(bucket)
	return r
}

// A service is backed up into a bucket every night. Its disk fails, and the backup is restored on
// an empty machine with the secret key: every link returns the same bytes, on either engine.
func TestNightlyBackupIntoABucket(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s, bucket := newSite(t), s3test.New(t)
			s.env["LARDER_RATE_LIMIT_ENABLED"] = "false"
			if engine == "postgres" {
				s.onPostgres(t)
			}
			to := s.atBucket(bucket)
			p := s.start(t)
			content := uploadFixedContent(t, p)
			admin := p.admin(t)
			large := contentOf("large", 20<<20)
			file := admin.upload(t, "/uploads/still", "large.bin", large, nil)
			content.files["/uploads/still/large.bin"] = string(large)
			content.ids["/uploads/still/large.bin"] = file.ID
			content.links[at(t, admin.permanentLink(t, file.ID))] = string(large)
			for night := range 3 {
				name := fmt.Sprintf("night %d", night)
				path := "/uploads/still/" + name
				content.files[path], content.ids[path] = name, admin.upload(t, "/uploads/still", name, []byte(name), nil).ID
				said := s.mustRun(t, "backup", to, "--keep", "2")
				want := fmt.Sprintf("%d objects", 14+night)
				if !strings.Contains(said, want) ||
					night > 0 && !strings.Contains(said, "of which 1 with 7 bytes are new") {
					t.Errorf("night %d: %s", night, said)
				}
				mentions := strings.Contains(said, filepath.Join(s.dir, "secret.key"))
				if mentions != (engine == "sqlite") {
					t.Errorf("night %d, about the key: %s", night, said)
				}
			}
			var system struct {
				LastBackup struct {
					EndedAt  int64
					Problems int64
				}
			}
			admin.do(t, "GET", "/api/admin/system", nil).data(t, 200, &system)
			if system.LastBackup.EndedAt == 0 || system.LastBackup.Problems != 0 {
				t.Errorf("the last backup is %+v", system.LastBackup)
			}
			r := s.emptiedWithKey(t, engine, bucket)
			p.stop(t)
			if err := os.RemoveAll(s.dir); err != nil { // the disk
				t.Fatal(err)
			}
			r.mustRun(t, "restore", to)
			r.fsck(t)
			content.wantPresent(t, r.start(t))
		})
	}
}

// A backup into a bucket that is killed at any step leaves the previous one unchanged, and the next
// run completes it or removes it. A backup that is killed again and again sends more objects each
// time until it is complete.
func TestKilledBackupIntoABucket(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			bucket := s3test.New(t)
			s, p, keyed := startCrashing(t, engine)
			to := s.atBucket(bucket)
			points := slices.Concat(bucketPoints, backupPoints)
			for i, point := range points {
				keyed.mustRaw(t, fmt.Sprintf("f%d.txt", i), "", "text/plain", fmt.Appendf(nil, "content %d", i))
				s.runUntilCrash(t, point, "backup", to)
				if i > 0 {
					s.emptiedWithKey(t, "sqlite", bucket).wantRestored(t, to, i)
				}
				out := s.mustRun(t, "backup", to)
				if !strings.Contains(out, fmt.Sprintf(": %d objects", i+1)) {
					t.Errorf("after a crash at %s: %s", point, out)
				}
				if names := backupFiles(t, bucket); len(names) != i+1+5-btoi(engine == "postgres") {
					t.Errorf("after a crash at %s the bucket has %q", point, names)
				}
			}
			const more = 20
			for i := range more {
				keyed.mustRaw(t, fmt.Sprintf("f%d.txt", len(points)+i), "", "text/plain",
					fmt.Appendf(nil, "content %d", len(points)+i))
			}
			s.env["LARDER_CRASH_AT"] = "backup.stored:3"
			runs := 1
			for ; ; runs++ {
				command := s.command("backup", to)
				out, err := command.CombinedOutput()
				if err == nil {
					break
				}
				if !wasKilled(command.ProcessState) || runs > more {
					t.Fatalf("run %d: %v, %s", runs, err, out)
				}
			}
			delete(s.env, "LARDER_CRASH_AT")
			if runs < 2 || runs > more/3+1 {
				t.Errorf("complete after %d runs", runs)
			}
			for _, point := range restorePoints {
				r := s.emptiedWithKey(t, engine, bucket)
				r.runUntilCrash(t, point, "restore", to)
				if _, stderr, code := r.run(t, "serve"); code != 1 || !strings.Contains(stderr, "larder restore") {
					t.Errorf("after a crash at %s a server starts: %d, %s", point, code, stderr)
				}
				r.wantRestored(t, to, len(points)+more)
			}
			p.stop(t)
			s.fsck(t)
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// backupFiles lists the names of everything in a bucket.
func backupFiles(t *testing.T, bucket s3test.Bucket) (names []string) {
	t.Helper()
	for name := range keysIn(t, bucket) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// The commands say what is wrong with a bucket, and what to do. A provider's server and credentials
// do as well as settings.
func TestBackupIntoABucketCommand(t *testing.T) {
	t.Parallel()
	s, bucket := newSite(t), s3test.New(t)
	s.set("LARDER_ALLOW_PRIVATE_ENDPOINTS", "127.0.0.0/8")
	p := s.start(t)
	admin := p.admin(t)
	withKey(s.key(t, "admin"), p.url).mustRaw(t, "a.txt", "", "text/plain", []byte("a letter"))
	to := "s3://" + bucket.Name + "/larder"
	refused := func(what, says string, wantCode int, args ...string) {
		t.Helper()
		stdout, stderr, code := s.run(t, args...)
		if code != wantCode || !strings.Contains(stderr, says) || strings.Contains(stderr, bucket.SecretKey) {
			t.Errorf("%s: exit code %d, %s%s", what, code, stdout, stderr)
		}
	}
	refused("without a server", "LARDER_BACKUP_ENDPOINT", 1, "backup", to)
	refused("a restore without a server", "LARDER_BACKUP_ENDPOINT", 1, "restore", to)
	refused("an unknown provider", `no provider "nowhere"`, 1, "backup", to, "--provider", "nowhere")
	refused("a provider for a directory", "--provider is for a bucket", 2, "backup", t.TempDir(), "--provider", "x")
	var list struct{ Mounts []struct{ ProviderID string } }
	admin.do(t, "GET", "/api/admin/mounts", nil).data(t, 200, &list)
	refused("the built-in store", "has no bucket", 1, "backup", to, "--provider", list.Mounts[0].ProviderID)
	refused("no bucket", "is not the address of a bucket", 1, "backup", "s3://", "--provider", "default")

	other := s3test.New(t)
	id := admin.createProvider(t, bucketProvider(other, object{"name": "warehouse"}))
	refused("inside a provider's bucket", "inside nor around", 1, "backup", "s3://"+other.Name+"/x", "--provider", id)
	for i, named := range []string{"warehouse", id} {
		out := s.mustRun(t, "backup", to, "--provider", named)
		if want := fmt.Sprintf("of which %d with %d bytes are new", 1-i, 8*(1-i)); !strings.Contains(out, want) {
			t.Errorf("with provider %s: %s", named, out)
		}
	}
	s.atBucket(bucket)
	refused("a bucket that does not exist", "NoSuchBucket", 1, "backup", "s3://larder-none/x")
	s.env["LARDER_BACKUP_SECRET_ACCESS_KEY"] = "wrong"
	refused("wrong credentials", "credentials", 1, "backup", to)
	s.atBucket(bucket)
	r := s.emptiedWithKey(t, "sqlite", bucket)
	r.env["LARDER_BACKUP_SECRET_ACCESS_KEY"] = "wrong"
	if _, stderr, code := r.run(t, "restore", to); code != 1 || !strings.Contains(stderr, "credentials") {
		t.Errorf("a restore with wrong credentials: %d, %s", code, stderr)
	}

	cut := ""
	for name := range keysIn(t, bucket) {
		if strings.HasPrefix(name, "larder/objects/") {
			cut = name
		}
	}
	_, err := bucket.SDK(t).PutObject(t.Context(),
		&s3.PutObjectInput{Bucket: &bucket.Name, Key: &cut, Body: strings.NewReader("a let")})
	if err != nil {
		t.Fatal(err)
	}
	r.atBucket(bucket)
	out, stderr, code := r.run(t, "restore", to)
	if code != 1 || !strings.Contains(out, filepath.Base(cut)) || !strings.Contains(stderr, "--incomplete") {
		t.Errorf("a restore with a cut object: %d, %s%s", code, out, stderr)
	}
	s.mustRun(t, "backup", to)
	s.emptiedWithKey(t, "sqlite", bucket).mustRun(t, "restore", to)
}
