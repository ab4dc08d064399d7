package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/db/dbtest"
)

const (
	crashLanes   = 2 // sites per engine
	crashTrials  = 10
	crashWorkers = 4
	crashDrives  = 2 // additional workers that use WebDAV
	// crashOpenUploads is the number of uploads that kills may leave open; an account can have 100
	crashOpenUploads = 50
)

// crashSeed returns the seed, which is random unless LARDER_TEST_SEED sets it.
func crashSeed(t *testing.T) uint64 {
	t.Helper()
	if text := os.Getenv("LARDER_TEST_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("LARDER_TEST_SEED: %v", err)
		}
		return seed
	}
	return rand.Uint64()
}

// Abuse case C123: SIGKILL during uploads, replacements, renames, moves and deletions, and during
// all changes by WebDAV, with readers in parallel. 40 trials: on each engine two sites are killed
// ten times, so that each crash meets the remains of the previous ones.
func TestCrash(t *testing.T) {
	t.Parallel()
	seed := crashSeed(t)
	t.Logf("LARDER_TEST_SEED=%d repeats the choices", seed)
	for _, engine := range dbtest.Engines {
		for lane := range crashLanes {
			t.Run(fmt.Sprintf("%s/%d", engine, lane), func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				s.env["LARDER_RATE_LIMIT_ENABLED"] = "false"
				if engine == "postgres" {
					s.onPostgres(t)
				}
				newCrasher(t, s, rand.New(rand.NewPCG(seed, uint64(lane)))).run(t)
			})
		}
	}
}

// onPostgres moves the metadata of the site to its own database.
func (s *site) onPostgres(t testing.TB) {
	t.Helper()
	s.env["LARDER_DATABASE_URL"] = dbtest.URL(t)
	s.env["LARDER_SECRET_KEY"] = secretKey(s.dir)
	s.env["LARDER_OBJECT_DIR"] = filepath.Join(filepath.Dir(s.dir), "objects")
}

// secretKey returns a secret key for a site, which looks random.
func secretKey(dir string) string {
	key := sha256.Sum256([]byte(dir))
	return base64.StdEncoding.EncodeToString(key[:])
}

type crasher struct {
	site    *site
	random  *rand.Rand
	token   string
	drive   davKey
	admin   *client // of the processes that the workers use
	sent    *sent
	ledgers []*ledger
	drives  []*davLedger
}

// worker executes one operation after another, or reads.
type worker interface {
	step() (acknowledged bool, err error)
	readOne(random *rand.Rand) (acknowledged bool, err error)
}

func (c *crasher) workers() (all []worker) {
	for _, l := range c.ledgers {
		all = append(all, l)
	}
	for _, d := range c.drives {
		all = append(all, d)
	}
	return all
}

// newCrasher creates the folders and ledgers of all workers.
func newCrasher(t *testing.T, s *site, random *rand.Rand) *crasher {
	t.Helper()
	p := s.start(t)
	c := newCrasherAt(t, s, random, p.admin(t))
	p.kill()
	return c
}

// newCrasherAt is newCrasher for a running service.
func newCrasherAt(t *testing.T, s *site, random *rand.Rand, admin *client) *crasher {
	t.Helper()
	c := &crasher{site: s, random: random, sent: &sent{hashes: map[string]bool{}}}
	c.token = s.key(t, "admin")
	for i := range crashWorkers {
		l := &ledger{
			root: fmt.Sprintf("/uploads/w%d", i), random: rand.New(rand.NewPCG(random.Uint64(), 0)), sent: c.sent,
			before: tree{}, after: tree{},
		}
		admin.mkdir(t, "/uploads", fmt.Sprintf("w%d", i))
		for j, name := range []string{"a", "b"} {
			l.folders[j] = entry{ID: admin.mkdir(t, l.root, name), Name: name}
		}
		c.ledgers = append(c.ledgers, l)
	}
	c.drive = driveKey(t, admin)
	c.sent.add(hash(nil))
	for i := range crashDrives {
		d := &davLedger{root: fmt.Sprintf("/uploads/d%d", i), random: rand.New(rand.NewPCG(random.Uint64(), 0)),
			sent: c.sent}
		admin.mkdir(t, "/uploads", fmt.Sprintf("d%d", i))
		d.before = davTree{"": {folder: true}}
		d.after = d.before
		c.drives = append(c.drives, d)
	}
	return c
}

// run repeats: start the workers, kill the service, restart it and compare.
func (c *crasher) run(t *testing.T) {
	acknowledged := int64(0)
	p := c.site.start(t)
	trials := crashTrials * pointTrials(t)
	c.connect(p.admin(t))
	for trial := range trials {
		n, faults := c.stream(p)
		for _, err := range faults {
			t.Errorf("trial %d: %v", trial, err)
		}
		acknowledged += n
		p = c.site.start(t)
		c.connect(p.admin(t))
		c.compare(t, trial)
		if t.Failed() {
			return
		}
		c.abortUploads(t)
	}
	p.stop(t)
	if acknowledged < int64(trials)*crashWorkers {
		t.Errorf("%d operations were acknowledged in %d trials, too few for a test", acknowledged, trials)
	}
	t.Logf("%d trials, %d operations acknowledged", trials, acknowledged)
}

// abortUploads aborts the uploads that kills have left open, if there are more than
// crashOpenUploads.
func (c *crasher) abortUploads(t *testing.T) {
	t.Helper()
	var open struct{ Sessions []struct{ SessionID string } }
	c.admin.do(t, "GET", "/api/files/upload-sessions?status=pending", nil).data(t, 200, &open)
	if len(open.Sessions) <= crashOpenUploads {
		return
	}
	for _, session := range open.Sessions {
		c.admin.do(t, "DELETE", "/api/files/upload/multipart/"+session.SessionID, nil).want(t, 200)
	}
}

// connect gives every worker clients of the processes of admin.
func (c *crasher) connect(admin *client) {
	keyed := withKey(c.token, admin.bases...)
	c.admin = admin
	for _, l := range c.ledgers {
		l.client, l.keyed = admin, keyed
	}
	for _, d := range c.drives {
		d.client = c.drive.client(admin.bases...)
	}
}

// stream works and reads until the process is killed, a moment after a random number of
// acknowledged operations. It returns their number and the wrong answers.
func (c *crasher) stream(p *process) (int64, []error) {
	var count atomic.Int64
	enough, jitter := int64(4+c.random.IntN(80)), time.Duration(c.random.IntN(20_000))*time.Microsecond
	var kill sync.Once
	dead := make(chan struct{})
	die := func() {
		kill.Do(func() {
			time.AfterFunc(jitter, func() {
				p.kill()
				close(dead)
			})
		})
	}
	var faults faultList
	var all sync.WaitGroup
	for _, l := range c.workers() {
		all.Go(func() {
			for {
				acknowledged, err := l.step()
				if err != nil {
					faults.add(err)
					die()
					return
				}
				if !acknowledged {
					die() // the restart detects a server that drops connections by itself
					return
				}
				if count.Add(1) >= enough {
					die()
				}
			}
		})
		readers := rand.New(rand.NewPCG(c.random.Uint64(), 1))
		all.Go(func() {
			for {
				acknowledged, err := l.readOne(readers)
				if err != nil {
					faults.add(err)
					die()
					return
				}
				if !acknowledged {
					return
				}
			}
		})
	}
	all.Wait()
	<-dead
	if !wasKilled(p.cmd.ProcessState) {
		faults.add(fmt.Errorf("the server ended by itself: %v", p.cmd.ProcessState))
	}
	return count.Load(), faults.errs
}

type faultList struct {
	mu   sync.Mutex // guards errs
	errs []error
}

func (f *faultList) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
}

// compare compares the service with every ledger, and the quota with the sums.
func (c *crasher) compare(t *testing.T, trial int) {
	t.Helper()
	admin := c.admin
	var size, files int64
	for _, l := range c.ledgers {
		seen := tree{}
		for _, folder := range admin.list(t, l.root) {
			known := false
			for i := range l.folders {
				if l.folders[i].ID == folder.ID {
					l.folders[i].Name, known = folder.Name, true
				}
			}
			if !known {
				t.Errorf("trial %d: %s appeared", trial, folder.full())
			}
			for _, file := range admin.list(t, folder.full()) {
				body := admin.do(t, "GET", escaped(file.full()), nil).want(t, 200).body
				if int64(len(body)) != file.Size {
					t.Errorf("trial %d: %s is listed with %d bytes and has %d", trial, file.full(), file.Size,
						len(body))
				}
				if !c.sent.has(hash(body)) {
					t.Errorf("trial %d: the content of %s was never sent", trial, file.full())
				}
				seen[strings.TrimPrefix(file.full(), l.root+"/")] = stored{id: file.ID, hash: hash(body),
					size: file.Size}
				size, files = size+file.Size, files+1
			}
		}
		for _, id := range l.deleted {
			admin.do(t, "GET", "/api/files/"+id, nil).fails(t, 404, "NOT_FOUND")
		}
		l.deleted = nil
		if err := l.settle(seen); err != nil {
			t.Errorf("trial %d: %v", trial, err)
		}
	}
	for _, d := range c.drives {
		moreSize, moreFiles := d.compare(t)
		size, files = size+moreSize, files+moreFiles
	}
	if out, stderr, code := c.site.run(t, "fsck"); code != 0 {
		t.Errorf("trial %d: fsck: exit code %d\n%s%s", trial, code, out, stderr)
	}
	if usedSize, usedFiles := admin.usage(t); usedSize != size || usedFiles != files {
		t.Errorf("trial %d: the quota says %d bytes in %d files, the listings %d in %d", trial, usedSize, usedFiles,
			size, files)
	}
}
