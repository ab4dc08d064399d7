package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"larder/internal/db/dbtest"
)

const (
	backupWorkers = 3
	backupRuns    = 3
)

// Abuse case C132: clients upload, replace, rename, move and delete while three backups are made
// into one directory. Each snapshot is restored on this engine and on the other. It has every file
// that was acknowledged before and not changed since, and returns the same bytes for every earlier
// permanent link. Users can sign in with their passwords, and old sessions are invalid. fsck finds
// nothing.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	seed := crashSeed(t)
	t.Logf("LARDER_TEST_SEED=%d repeats the choices", seed)
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.env["LARDER_RATE_LIMIT_ENABLED"] = "false"
			s.env["LARDER_GARBAGE_GRACE"] = "1ms" // without a hold the collector would delete objects during the backup
			if engine == "postgres" {
				s.onPostgres(t)
			}
			c := newCrasher(t, s, rand.New(rand.NewPCG(seed, 7)))
			c.ledgers = c.ledgers[:backupWorkers]
			p := s.start(t)
			c.connect(p.admin(t))
			old := uploadFixedContent(t, p)
			dir := filepath.Join(t.TempDir(), "backup")
			load := c.load()
			for i := range backupRuns {
				load.await(t, p, int64(20*(i+1)))
				said := s.mustRun(t, "backup", dir, "--keep", fmt.Sprint(backupRuns))
				if !strings.HasPrefix(said, "Snapshot 2") || strings.Contains(said, "lacks") {
					t.Errorf("backup %d said %s", i, said)
				}
			}
			load.stop(t)
			p.stop(t)
			names := snapshotNames(t, dir)
			if len(names) != backupRuns {
				t.Fatalf("snapshots %q", names)
			}
			wantPrivate(t, dir, c.token)
			for i, name := range names {
				for _, to := range dbtest.Engines {
					if to != engine && i != 1 { // the other engine once, since all snapshots have the same format
						continue
					}
					t.Run(fmt.Sprintf("%d to %s", i, to), func(t *testing.T) {
						r := s.emptied(t, to)
						r.mustRun(t, "restore", dir, "--snapshot", name)
						r.fsck(t)
						old.wantPresent(t, r.start(t))
					})
				}
			}
		})
	}
}

// emptied returns an empty site with the key of s on an engine.
func (s *site) emptied(t *testing.T, engine string) *site {
	t.Helper()
	r := newSite(t)
	r.program = s.program
	r.env["LARDER_RATE_LIMIT_ENABLED"] = "false"
	delete(r.env, "LARDER_ADMIN_PASSWORD") // no account is seeded
	if engine == "postgres" {
		r.onPostgres(t)
	}
	if key := s.env["LARDER_SECRET_KEY"]; key != "" {
		r.env["LARDER_SECRET_KEY"] = key
	} else if engine == "postgres" {
		key, err := os.ReadFile(filepath.Join(s.dir, "secret.key"))
		if err != nil {
			t.Fatal(err)
		}
		r.env["LARDER_SECRET_KEY"] = strings.TrimSpace(string(key))
	}
	return r
}

func snapshotNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// wantPrivate fails the test when a backup contains readable secrets (abuse case C114).
func wantPrivate(t *testing.T, dir, token string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		seen++
		text, err := os.ReadFile(path)
		for _, word := range []string{adminPassword, token, token[strings.Index(token, ".")+1:]} {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s holds a secret in the clear", path)
			}
		}
		return err
	})
	if err != nil || seen < 10 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// load is a workload that runs until it is stopped.
type load struct {
	done   atomic.Int64 // operations
	ending atomic.Bool
	all    sync.WaitGroup
	faults faultList
}

func (c *crasher) load() *load {
	l := &load{}
	for _, ledger := range c.ledgers {
		l.all.Go(func() {
			for !l.ending.Load() {
				acknowledged, err := ledger.step()
				if err == nil && !acknowledged {
					err = fmt.Errorf("%s got no answer", ledger.root)
				}
				if err != nil {
					l.faults.add(err)
					return
				}
				l.done.Add(1)
			}
		})
	}
	return l
}

// await waits until that many operations are done.
func (l *load) await(t *testing.T, p *process, enough int64) {
	t.Helper()
	p.await(t, fmt.Sprintf("%d operations done", enough), func() bool { return l.done.Load() >= enough || l.failed() })
}

func (l *load) failed() bool {
	l.faults.mu.Lock()
	defer l.faults.mu.Unlock()
	return len(l.faults.errs) > 0
}

func (l *load) stop(t *testing.T) {
	t.Helper()
	l.ending.Store(true)
	l.all.Wait()
	for _, err := range l.faults.errs {
		t.Error(err)
	}
}

// fixedContent is content from before the first backup that does not change.
type fixedContent struct {
	files  contents // by path
	links  contents // by address, without the host
	cookie *client  // a session
	ids    map[string]string
}

func uploadFixedContent(t *testing.T, p *process) *fixedContent {
	t.Helper()
	admin := p.admin(t)
	k := &fixedContent{files: contents{}, links: contents{}, cookie: admin, ids: map[string]string{}}
	folder := "/uploads/still"
	admin.mkdir(t, "/uploads", "still")
	for i := range 12 {
		name, content := fmt.Sprintf("ünï %d.txt", i), strings.Repeat(fmt.Sprintf("content %d ", i), 1+i*400)
		if i == 3 {
			content = ""
		}
		file := admin.upload(t, folder, name, []byte(content), nil)
		k.files[folder+"/"+name], k.ids[folder+"/"+name] = content, file.ID
		k.links[at(t, admin.permanentLink(t, file.ID))] = content
	}
	return k
}

// wantLinks checks that a visitor gets the content of each permanent link.
func (c *fixedContent) wantLinks(t *testing.T, p *process) {
	t.Helper()
	visitor := newClient(p.url)
	for path, content := range c.links {
		if body := visitor.do(t, "GET", path, nil).want(t, 200).body; string(body) != content {
			t.Errorf("a permanent link gives %d bytes, want %d", len(body), len(content))
		}
	}
}

// wantPresent checks all of it in a restored service.
func (c *fixedContent) wantPresent(t *testing.T, p *process) {
	t.Helper()
	c.cookie.bases = []string{p.url}
	if r := c.cookie.do(t, "GET", "/api/auth/me", nil); r.status != 401 {
		t.Errorf("an old session goes on: %d %s", r.status, r.body)
	}
	admin := p.admin(t) // with the earlier password
	for path, content := range c.files {
		if body := admin.do(t, "GET", escaped(path), nil).want(t, 200).
			body; string(body) != content {
			t.Errorf("%s has %d bytes, want %d", path, len(body), len(content))
		}
		admin.do(t, "GET", "/api/files/"+c.ids[path], nil).want(t, 200)
	}
	c.wantLinks(t, p)
	for _, e := range admin.walk(t, "/uploads") { // each file that was being uploaded is complete
		if body := admin.do(t, "GET", escaped(e.full()), nil).want(t, 200).
			body; int64(len(body)) != e.Size {
			t.Errorf("%s is listed with %d bytes and has %d", e.full(), e.Size, len(body))
		}
	}
}

// The commands exit with 2 for wrong arguments and with 1 when they fail.
func TestBackupCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dir := filepath.Join(t.TempDir(), "backup")
	if _, stderr, code := s.run(t, "backup", dir); code != 1 || !strings.Contains(stderr, "no database") {
		t.Errorf("without a service: %d, %s", code, stderr)
	}
	p := s.start(t)
	withKey(s.key(t, "admin"), p.url).mustRaw(t, "a.txt", "", "text/plain", []byte("a letter"))
	for _, args := range [][]string{{"backup"}, {"backup", dir, dir}, {"backup", dir, "--keep", "0"},
		{"backup", dir, "--fast"}, {"restore"}, {"restore", dir, dir}} {
		if stdout, stderr, code := s.run(t, args...); code != 2 || stderr == "" {
			t.Errorf("larder %v: exit code %d, stdout %q, stderr %q; want 2 and a sentence on stderr", args, code,
				stdout, stderr)
		}
	}
	if out := s.mustRun(t, "backup", dir); !strings.Contains(out,
		"1 objects with 8 bytes, of which 1 with 8 bytes are new") {
		t.Errorf("it says %s", out)
	}
	wrong := s.emptied(t, "sqlite")
	wrong.env["LARDER_SECRET_KEY"] = "kX0nB3uQ0Zb1d2T5y8w3Rr6uYp4sVn7mCq9aLf2eJhE="
	if _, stderr, code := wrong.run(t, "restore", dir); code != 1 || !strings.Contains(stderr, "LARDER_SECRET_KEY") {
		t.Errorf("with another key: %d, %s", code, stderr)
	}
	if _, stderr, code := s.run(t, "restore", dir); code != 1 || !strings.Contains(stderr, "in use") {
		t.Errorf("into the running service: %d, %s", code, stderr)
	}
	objects, err := filepath.Glob(filepath.Join(s.dir, "objects/default/??/*"))
	if err != nil || len(objects) != 1 {
		t.Fatalf("objects %q, %v", objects, err)
	}
	if err := os.Remove(objects[0]); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := s.run(t, "backup", dir+"-2")
	if code != 1 || !strings.Contains(out, filepath.Base(objects[0])) || !strings.Contains(out, "lacks 1 objects") ||
		strings.Contains(out, "a.txt") || stderr != "" {
		t.Errorf("with an object lost: %d, %s%s", code, out, stderr)
	}
	r := s.emptied(t, "sqlite")
	if _, stderr, code := r.run(t, "restore", dir+"-2"); code != 1 || !strings.Contains(stderr, "--incomplete") {
		t.Errorf("a restore of that: %d, %s", code, stderr)
	}
	if out, _, code := r.run(t, "restore", dir+"-2", "--incomplete"); code != 1 ||
		!strings.Contains(out, "1 objects are missing") {
		t.Errorf("a restore of that, told to go on: %d, %s", code, out)
	}
	if out := s.mustRun(t, "help"); !strings.Contains(out, "larder backup DIR") ||
		!strings.Contains(out, "larder restore DIR|s3://BUCKET") {
		t.Errorf("the help is %s", out)
	}
}

// backupPoints and restorePoints are the crash points of a backup and a restore.
var (
	backupPoints = []string{"backup.held", "backup.snapshot", "backup.copied", "backup.described", "backup.published",
		"backup.pruned"}
	restorePoints = []string{"restore.begun", "restore.objects", "restore.placed"}
)

// A killed backup leaves the previous one unchanged, and a killed restore leaves nothing that
// starts. When repeated, both succeed.
func TestKilledBackupAndRestore(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s, p, keyed := startCrashing(t, engine)
			dir := filepath.Join(t.TempDir(), "backup")
			for i, point := range backupPoints {
				keyed.mustRaw(t, fmt.Sprintf("f%d.txt", i), "", "text/plain", fmt.Appendf(nil, "content %d", i))
				s.runUntilCrash(t, point, "backup", dir)
				if i > 0 {
					s.emptied(t, "sqlite").wantRestored(t, dir, i)
				}
				out := s.mustRun(t, "backup", dir)
				if names := snapshotNames(t, dir); len(names) != 1 {
					t.Errorf("after a crash at %s the snapshots are %q", point, names)
				}
				if !strings.Contains(out, fmt.Sprintf(": %d objects", i+1)) {
					t.Errorf("after a crash at %s: %s", point, out)
				}
			}
			for _, point := range restorePoints {
				r := s.emptied(t, engine)
				r.runUntilCrash(t, point, "restore", dir)
				if _, stderr, code := r.run(t, "serve"); code != 1 || !strings.Contains(stderr, "larder restore") {
					t.Errorf("after a crash at %s a server starts: %d, %s", point, code, stderr)
				}
				r.wantRestored(t, dir, len(backupPoints))
			}
			// The holds of killed backups expire, and later backups do not wait for them.
			p.stop(t)
			s.fsck(t)
		})
	}
}

// startCrashing starts a service whose commands can kill themselves at a crash point. It returns
// the site, the server, and a client with a key of the administrator.
func startCrashing(t *testing.T, engine string) (*site, *process, *client) {
	t.Helper()
	s := newSite(t)
	var err error
	if s.program, err = crashing(); err != nil {
		t.Fatal(err)
	}
	s.env["LARDER_RATE_LIMIT_ENABLED"] = "false"
	s.env["LARDER_GARBAGE_GRACE"] = "1ms"
	if engine == "postgres" {
		s.onPostgres(t)
	}
	p := s.start(t)
	return s, p, withKey(s.key(t, "admin"), p.url)
}

// runUntilCrash runs a command that kills itself at a crash point.
func (s *site) runUntilCrash(t *testing.T, point string, args ...string) {
	t.Helper()
	s.env["LARDER_CRASH_AT"] = point
	defer delete(s.env, "LARDER_CRASH_AT")
	cmd := s.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if !wasKilled(cmd.ProcessState) {
		t.Fatalf("larder %v was not killed at %s: %v\n%s", args, point, err, &out)
	}
}

// wantRestored restores, or continues a restore, and checks the first of at least that many files.
func (s *site) wantRestored(t *testing.T, dir string, files int) {
	t.Helper()
	s.mustRun(t, "restore", dir)
	s.fsck(t)
	p := s.start(t)
	admin := p.admin(t)
	found := admin.walk(t, "/uploads")
	if len(found) < files {
		t.Errorf("%d files were restored, want %d", len(found), files)
	}
	for i := range files {
		body := admin.do(t, "GET", fmt.Sprintf("/uploads/f%d.txt", i), nil).want(t, 200).body
		if string(body) != fmt.Sprintf("content %d", i) {
			t.Errorf("file %d is %q", i, body)
		}
	}
	p.stop(t)
}
