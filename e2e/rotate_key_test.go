package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"larder/internal/blob/s3/s3test"
	"larder/internal/db/dbtest"
)

// rotatePoints are the crash points of `larder rotate-key` with a key file; with the key in the
// settings those about the file are not reached. See TestRotateKey.
var rotatePoints = []string{"rotate.written", "rotate.sealed", "rotate.committed", "rotate.placed"}

// keyStory is a service whose key is replaced, with values that the old key has sealed or signed.
type keyStory struct {
	*site
	post    *mailServer
	old     *client // a session
	guest   *client // has given the password of a share
	visitor *client // in free mode
	share   string
	opened  map[string]string // contents by address
	once    string            // a download address that serves "in the bucket" once
}

// newKey makes a key as an operator does.
func newKey(t *testing.T) string {
	t.Helper()
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(key)
}

// rotate runs the command; a site with its key in the settings has the new one afterwards.
func (s *keyStory) rotate(t *testing.T, next, says string) {
	t.Helper()
	given := s.env["LARDER_SECRET_KEY"] != ""
	if given {
		s.env["LARDER_NEW_SECRET_KEY"] = next
	}
	if said := s.mustRun(t, "rotate-key"); !strings.Contains(said, says) || strings.Contains(said, next) {
		t.Errorf("the command printed %s", said)
	}
	delete(s.env, "LARDER_NEW_SECRET_KEY")
	if given {
		s.env["LARDER_SECRET_KEY"] = next
	}
}

// crash runs the command until a crash point.
func (s *keyStory) crash(t *testing.T, next, point string) {
	t.Helper()
	if s.env["LARDER_SECRET_KEY"] != "" {
		s.env["LARDER_NEW_SECRET_KEY"] = next
		defer delete(s.env, "LARDER_NEW_SECRET_KEY")
	}
	s.runUntilCrash(t, point, "rotate-key")
}

// prepareKeyStory makes a service whose key seals and signs values of each kind.
func prepareKeyStory(t *testing.T, engine string) (*keyStory, *process) {
	t.Helper()
	s := &keyStory{site: newSite(t), post: newMailServer(t), opened: map[string]string{}}
	var err error
	if s.program, err = crashing(); err != nil {
		t.Fatal(err)
	}
	s.set(reachable...)
	s.keepPort(t)
	s.env["SSL_CERT_FILE"] = mailRoots(t)
	s.env["LARDER_SMTP_ALLOW_PRIVATE"] = "127.0.0.0/8"
	if engine == "postgres" {
		s.onPostgres(t)
	}
	p := s.start(t)
	s.old = p.admin(t)
	bucket := s3test.New(t)
	s.old.mount(t, "/cloud", s.old.createProvider(t, bucketProvider(bucket, object{"uploadMode": "worker"})))
	s.old.do(t, "PATCH", "/api/admin/settings", s.post.settings(t)).want(t, 200)
	file := s.old.upload(t, "/cloud", "kept.txt", []byte("in the bucket"), nil)
	s.opened[at(t, s.old.permanentLink(t, file.ID))] = "in the bucket"
	var links struct{ Formats struct{ Direct string } }
	s.old.do(t, "GET", "/api/files/"+file.ID+"/copy-links?signed=true&expiresIn=3600", nil).data(t, 200, &links)
	s.opened[at(t, links.Formats.Direct)] = "in the bucket"
	s.once = at(t, s.old.downloadAddress(t, "/api/files/"+file.ID+"/download"))

	s.share = "/api/shares/" + s.old.share(t, object{"fileId": s.old.mkdir(t, "/cloud", "shared"),
		"password": sharePassword})
	s.guest, s.visitor = newClient(p.url), newClient(p.url)
	s.guest.do(t, "POST", s.share+"/verify", object{"password": sharePassword}).want(t, 200)
	s.visitor.do(t, "POST", "/api/free-mode/init", object{"type": "store_b", "endpoint": bucket.Endpoint,
		"bucket": bucket.Name, "accessKeyId": bucket.AccessKey, "secretAccessKey": bucket.SecretKey}).want(t, 201)
	return s, p
}

// wantRotated checks a server with the new key: sealed values are readable, sessions have ended,
// and addresses from before are valid. The clients know the server by its fixed address.
func (s *keyStory) wantRotated(t *testing.T, p *process) {
	t.Helper()
	s.old.do(t, "GET", "/api/auth/me", nil).fails(t, 401, "INVALID_TOKEN")
	for address, content := range s.opened {
		if r := newClient(p.url).do(t, "GET", address, nil).want(t, 200); string(r.body) != content {
			t.Errorf("an address from before gives %q", r.body)
		}
	}
	admin := p.admin(t)
	var mine struct{ Sessions []struct{ ID string } }
	admin.do(t, "GET", "/api/users/me/sessions", nil).data(t, 200, &mine)
	if len(mine.Sessions) != 1 {
		t.Errorf("the sessions are %+v, want the new one alone", mine.Sessions)
	}
	admin.reads(t, "/cloud/kept.txt", []byte("in the bucket"))
	admin.do(t, "POST", "/api/admin/settings/test-email", object{"to": "operator@example.org"}).want(t, 200)
	s.post.mail(t, "operator@example.org")
	s.visitor.do(t, "GET", "/api/free-mode/files?path=/", nil).want(t, 200)
}

// "The key has leaked": a new one takes its place, on each engine, with the key in a file and in
// the settings. A crash at any point leaves a service that one of the two keys opens. Abuse case
// C116.
func TestRotateKey(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s, p := prepareKeyStory(t, engine)
			inFile := engine == "sqlite"
			next := newKey(t)
			running := "in use by another Larder"
			if !inFile {
				running = "Stop all servers"
				s.wantRefused(t, "give a new one in the variable LARDER_NEW_SECRET_KEY", "rotate-key")
			}
			s.env["LARDER_NEW_SECRET_KEY"] = next
			if inFile {
				s.wantRefused(t, "run it without LARDER_NEW_SECRET_KEY", "rotate-key")
				delete(s.env, "LARDER_NEW_SECRET_KEY")
			}
			s.wantRefused(t, running, "rotate-key")
			delete(s.env, "LARDER_NEW_SECRET_KEY")
			dir := filepath.Join(t.TempDir(), "backup")
			s.mustRun(t, "backup", dir)
			restored := s.emptied(t, "sqlite")
			p.stop(t)

			for _, point := range rotatePoints[:2] { // the old key with the old values
				if inFile || point != "rotate.written" {
					s.crash(t, next, point)
				}
			}
			p = s.start(t)
			s.old.do(t, "GET", "/api/auth/me", nil).want(t, 200)
			s.old.reads(t, "/cloud/kept.txt", []byte("in the bucket"))
			p.stop(t)
			s.crash(t, next, "rotate.committed")
			s.wantRefused(t, "rotate-key", "serve") // with the old key
			s.wantRefused(t, "rotate-key", "backup", filepath.Join(t.TempDir(), "backup"))
			s.rotate(t, next, "this run completed the rotation")

			p = s.start(t)
			s.wantRotated(t, p)
			s.guest.do(t, "GET", s.share+"/files", nil).want(t, 200) // the cookie of the given password
			if r := newClient(p.url).do(t, "GET", s.once, nil).want(t, 200); string(r.body) != "in the bucket" {
				t.Errorf("the download address gives %q", r.body)
			}
			s.wantRefused(t, "choose another directory", "backup", dir)
			s.mustRun(t, "backup", filepath.Join(t.TempDir(), "backup"))
			p.stop(t)

			second := newKey(t)
			if inFile {
				s.crash(t, second, "rotate.placed")
				wantOneKeyFile(t, s.dir)
			} else {
				s.rotate(t, second, "Re-encrypted values: 4.")
			}
			p = s.start(t)
			s.wantRotated(t, p)
			p.stop(t)
			s.fsck(t)

			restored.set(reachable...)
			restored.mustRun(t, "restore", dir)
			p = restored.start(t)
			p.admin(t).reads(t, "/cloud/kept.txt", []byte("in the bucket"))
		})
	}
}

// wantOneKeyFile checks that no key but the present one is left in a data directory.
func wantOneKeyFile(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*secret*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("key files %q, %v", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info, err)
	}
}

// A mistake in the command line or in the new key changes nothing.
func TestRotateKeyMistakes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.wantRefused(t, "there is no database", "rotate-key")
	s.start(t).stop(t)
	path := filepath.Join(s.dir, "secret.key")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, code := s.run(t, "rotate-key", "now"); code != 2 {
		t.Errorf("an argument: exit code %d, want 2", code)
	}
	s.env["LARDER_SECRET_KEY"] = strings.TrimSpace(string(before))
	for _, row := range []struct{ next, says string }{
		{"", "must be 32 random bytes"}, {"changeme", "must be 32 random bytes"},
		{s.env["LARDER_SECRET_KEY"], "is the present key"},
	} {
		s.env["LARDER_NEW_SECRET_KEY"] = row.next
		s.wantRefused(t, row.says, "rotate-key")
	}
	s.env["LARDER_SECRET_KEY"], s.env["LARDER_NEW_SECRET_KEY"] = newKey(t), newKey(t)
	s.wantRefused(t, "not the one of this database", "rotate-key")
	s.wantRefused(t, "LARDER_NEW_SECRET_KEY", "serve")
	delete(s.env, "LARDER_SECRET_KEY")
	delete(s.env, "LARDER_NEW_SECRET_KEY")
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the key file was changed, %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s.wantRefused(t, "read the secret key", "rotate-key")
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(t).stop(t)
}
