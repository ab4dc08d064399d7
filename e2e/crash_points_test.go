package e2e

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/blob/s3/s3test"
)

// crashPoint is a named crash point with a scenario that reaches it. A new point is one line here.
type crashPoint struct {
	point    string
	scenario func(t *testing.T, w *crashFixture) crashAttempt
	postgres bool // tested on PostgreSQL in every run; a soak tests all points on both engines
}

var crashPoints = []crashPoint{
	{"upload.noted", putBeforeStored(small), false},
	{"upload.stored", putBeforeStored(small), true},
	{"upload.committed", published(small), true},
	{"large.noted", putBeforeStored(large), false},
	{"large.stored", putBeforeStored(large), true},
	{"large.committed", published(large), false},
	{"raw.stored", rawStored, false},
	{"replace.committed", replaceCommitted, true},
	{"parts.begun", partsBegun, false},
	{"parts.stored", partsStored, true},
	{"parts.acknowledged", partsAcknowledged, true},
	{"complete.finished", completeFinished, true},
	{"complete.committed", completeCommitted, false},
	{"direct.copied", directCopied, true},
	{"delete.committed", deleteCommitted, false},
	{"delete.committed", trashCommitted(oneFile), true},
	{"delete.committed", trashCommitted(folderOfFiles), true},
	{"delete.committed", trashBatchCommitted, true},
	{"trash.restored", trashRestored(oneFile), true},
	{"trash.restored", trashRestored(folderOfFiles), true},
	{"trash.purged", trashPurged(oneFile), false},
	{"trash.purged", trashPurged(folderOfFiles), true},
	{"version.restored", versionRestored, true},
	{"rewind.step", rewinding, true},
	{"move.committed", moveCommitted, false},
	{"move.noted", moving, false},
	{"move.copied", moving, true},
	{"move.switched", moving, false},
	{"move.reparented", moving, false},
	{"move.cleaned", moving, false},
	{"move.noted", movingToBucket, false},
	{"move.copied", movingToBucket, true},
	{"move.switched", movingToBucket, false},
	{"move.copied", movingInBucket, true},
	{"move.switched", movingInBucket, false},
	{"move.cleaned", movingInBucket, false},
	{"copy.committed", copyCommitted, true},
	{"copy.staged", copying, true},
	{"copy.published", copying, true},
	{"collect.rows", collecting, true},
	{"collect.claimed", collecting, false},
	{"collect.deleted", collecting, true},
	{"leave.committed", deletingAccount, true},
	{"leave.committed", deletingLargeAccount, false},
	{"legacy.piece", deletingLargeAccount, true},
	{"register.committed", registering(1), true},
	{"verification.noted", registering(1), false},
	{"verification.sent", registering(2), true},
	{"reset.noted", forgetting(1), true},
	{"reset.sent", forgetting(2), false},
	{"download.consumed", redeeming, true},
	{"upload.stored", davPut(small, true, false), true},
	{"upload.committed", davPut(small, false, true), false},
	{"replace.committed", davPut(small, true, true), true},
	{"large.stored", davPut(large, true, false), false},
	{"large.committed", davPut(large, false, true), false},
	{"folder.committed", davMkcol, true},
	{"delete.committed", davDelete, true},
	{"move.replaced", davOver("MOVE", "/uploads", "/uploads"), true},
	{"move.committed", davFolderOver("MOVE"), true},
	{"move.copied", davOver("MOVE", "/uploads", otherMount), false},
	{"move.switched", davOver("MOVE", "/uploads", otherMount), false},
	{"move.replaced", davOver("MOVE", "/uploads", otherMount), false},
	{"move.reparented", davOver("MOVE", "/uploads", otherMount), false},
	{"copy.committed", davOver("COPY", "/uploads", "/uploads"), true},
	{"copy.committed", davFolderOver("COPY"), false},
	{"move.copied", davOver("COPY", "/uploads", otherMount), false},
	{"move.switched", davOver("COPY", "/uploads", otherMount), false},
	{"lock.committed", davLock, true},
	{"upload.committed", davLockNothing, false},
	{"lock.refreshed", davRefresh, false},
	{"lock.ended", davUnlock, true},
	{"properties.committed", davProppatch, true},
}

// crashAttempt is a request during which the process dies.
type crashAttempt struct {
	run func() (reply, error)
	// may lists the allowed contents of paths afterwards, "" for an absent file. Other paths are
	// unchanged.
	may map[string][]string
	// first checks the state while jobs continue, nil without jobs.
	first func(t *testing.T)
	// again repeats the request with a running process and returns the state; nil when it cannot be
	// repeated.
	again func(t *testing.T)
}

// contents holds the content of files by path.
type contents map[string]string

// pointTrials returns the number of trials of each point.
func pointTrials(t *testing.T) int { return envNumber(t, "LARDER_TEST_TRIALS", 1, math.MaxInt) }

// envNumber returns a number from the environment, from 1 to most.
func envNumber(t *testing.T, name string, fallback, most int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		t.Fatalf("%s: %q is not a number from 1 to %d", name, text, most)
	}
	return n
}

// crashFixture is a site that is killed repeatedly, with the acknowledged operations on it.
type crashFixture struct {
	site   *site
	admin  *client // the session survives restarts
	keyed  *client
	dav    *client
	random *rand.Rand
	serial int
	bucket s3test.Bucket // set when a scenario uses it
	kept   contents      // acknowledged contents
}

// Abuse case C123, at the lines between which a crash could lose data: the process kills itself at
// each named point. Acknowledged content is complete, other content exists completely or not at
// all, the quota equals the sum, fsck finds nothing, and the repeated request succeeds.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	times := pointTrials(t)
	seed := crashSeed(t)
	t.Logf("LARDER_TEST_SEED=%d repeats the choices", seed)
	for lane, engine := range []string{"sqlite", "sqlite", "postgres"} {
		t.Run(fmt.Sprintf("%s/%d", engine, lane), func(t *testing.T) {
			t.Parallel()
			w := newCrashFixture(t, engine, rand.New(rand.NewPCG(seed, uint64(lane))))
			for i, c := range crashPoints {
				if engine == "sqlite" && i%2 != lane || engine == "postgres" && !c.postgres && times == 1 {
					continue
				}
				for n := range times {
					t.Run(fmt.Sprintf("%s/%d", c.point, n), func(t *testing.T) { w.try(t, c) })
					if t.Failed() {
						return
					}
				}
			}
		})
	}
}

// Every crash point in the source has a trial, and every trial a crash point.
func TestEveryCrashPointIsTried(t *testing.T) {
	t.Parallel()
	call, named := regexp.MustCompile(`\bcrash\.Point\(`), regexp.MustCompile(`\bcrash\.Point\("([a-z]+\.[a-z]+)"\)`)
	points := map[string]bool{}
	err := filepath.WalkDir("../internal", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found := named.FindAllSubmatch(text, -1)
		if len(found) != len(call.FindAll(text, -1)) {
			t.Errorf("%s: a crash point's name is not written out, or not as operation.done", path)
		}
		for _, m := range found {
			points[string(m[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	// see TestKilledBackupAndRestore, TestRotateKey and TestScrubCommand
	for _, point := range slices.Concat(backupPoints, bucketPoints, restorePoints, rotatePoints, scrubPoints) {
		tried[point] = true
	}
	for _, c := range crashPoints {
		tried[c.point] = true
	}
	for point := range tried {
		if !points[point] {
			t.Errorf("%s is in the test but not in the source", point)
		}
	}
	for _, point := range slices.Sorted(maps.Keys(points)) {
		if !tried[point] {
			t.Errorf("%s has no trial", point)
		}
	}
}

// crashing is the binary with crash points, built when the first test needs it.
var crashing = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(binary), "larder-crashing")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "crashpoints", "-o", path,
		"larder/cmd/larder")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary with crash points: %w\n%s", err, out)
	}
	return path, nil
})

func newCrashFixture(t *testing.T, engine string, random *rand.Rand) *crashFixture {
	t.Helper()
	w := &crashFixture{site: newSite(t), random: random, kept: contents{}}
	var err error
	if w.site.program, err = crashing(); err != nil {
		t.Fatal(err)
	}
	w.site.env["LARDER_GARBAGE_GRACE"] = "1ms"
	w.site.env["LARDER_RATE_LIMIT_ENABLED"] = "false"
	w.site.env["LARDER_ALLOW_PRIVATE_ENDPOINTS"] = s3test.Loopback.String()
	w.site.env["SSL_CERT_FILE"] = mailRoots(t)
	if engine == "postgres" {
		w.site.onPostgres(t)
	}
	p := w.site.start(t)
	w.admin, w.keyed = p.admin(t), withKey(w.site.key(t, "admin"), p.url)
	w.dav = driveKey(t, w.admin).client(p.url)
	p.kill()
	return w
}

// try makes the process die at a point and checks the state that it left.
func (f *crashFixture) try(t *testing.T, c crashPoint) {
	calm := f.site.start(t)
	f.connect(calm)
	a := c.scenario(t, f)
	calm.kill()

	f.site.env["LARDER_CRASH_AT"] = c.point
	killed := f.site.launch(t)
	delete(f.site.env, "LARDER_CRASH_AT")
	if killed.readyOrDead(t) {
		f.connect(killed)
		if r, err := a.run(); err == nil {
			t.Fatalf("answered %d and did not crash: %s", r.status, r.body)
		}
	}
	killed.ended(t)
	if !wasKilled(killed.cmd.ProcessState) {
		t.Fatalf("the server ended by itself: %v\n%s", killed.cmd.ProcessState, killed.stderr)
	}

	after := f.site.start(t)
	f.connect(after)
	f.site.fsck(t)
	if a.first != nil {
		a.first(t)
	}
	f.finishJobs(t, after)
	f.wantState(t, a.may)
	f.site.fsck(t)
	if a.again != nil {
		a.again(t)
		f.wantState(t, nil)
	}
	after.kill()
}

func (f *crashFixture) connect(p *process) {
	for _, c := range []*client{f.admin, f.keyed, f.dav} {
		c.bases = []string{p.url}
	}
}

// untilDead sends requests until the process has died. r and err are the answer to the request that
// starts the work; an answer that refuses it is returned at once.
func (f *crashFixture) untilDead(r reply, err error) (reply, error) {
	for deadline := time.Now().Add(patience); err == nil && r.status < 300 && time.Now().Before(deadline); {
		r, err = f.admin.send("GET", "/api/auth/me", nil)
	}
	return r, err
}

// readyOrDead waits until the server answers or has ended, and reports whether it answers.
func (p *process) readyOrDead(t *testing.T) bool {
	t.Helper()
	return poll(t, p.exited, patience, "ready or dead", func() bool {
		m := servesLine.FindStringSubmatch(p.stdout.String())
		if m == nil {
			return false
		}
		p.url = m[1]
		return p.probe("/api/public/health/ready") == http.StatusOK
	})
}

// wantState compares everything below /uploads and the quota with the acknowledged state,
// and adopts the state.
func (f *crashFixture) wantState(t *testing.T, may map[string][]string) {
	t.Helper()
	seen := contents{}
	var size int64
	found := f.admin.walk(t, "/uploads")
	for _, mount := range []string{otherMount, bucketMount, besideMount} {
		if f.admin.do(t, "GET", "/api/files?path="+mount, nil).status == 200 {
			found = append(found, f.admin.walk(t, mount)...)
		}
	}
	for _, e := range found {
		if _, twice := seen[e.full()]; twice {
			continue // a mount may appear as a folder of the mount around it
		}
		body := f.admin.do(t, "GET", escaped(e.full()), nil).want(t, 200).body
		seen[e.full()], size = string(body), size+int64(len(body))
		if int64(len(body)) != e.Size {
			t.Errorf("%s is listed with %d bytes and has %d", e.full(), e.Size, len(body))
		}
	}
	paths := map[string]bool{}
	for _, known := range []map[string]string{f.kept, seen} {
		for path := range known {
			paths[path] = true
		}
	}
	for path := range may {
		paths[path] = true
	}
	for path := range paths {
		fits, named := may[path]
		if !named {
			fits = []string{f.kept[path]}
		}
		if !slices.Contains(fits, seen[path]) && !strings.HasPrefix(path, loopFolder) {
			t.Errorf("%s: hash %.8s of %d bytes is none of the %d allowed ones", path,
				hash([]byte(seen[path])), len(seen[path]), len(fits))
		}
	}
	f.kept = seen
	more, files := f.inherited(t)
	size, files = size+more, files+int64(len(seen))
	if used, usedFiles := f.admin.usage(t); used != size || usedFiles != files {
		t.Errorf("the quota says %d bytes in %d files, the listings %d in %d", used, usedFiles, size, files)
	}
}

// fsck fails the test when fsck has findings or reports unreferenced objects of any age.
func (s *site) fsck(t testing.TB) {
	t.Helper()
	out, stderr, code := s.run(t, "fsck", "--deep")
	if code != 0 || strings.Contains(out, "Skipped") {
		t.Errorf("fsck: exit code %d\n%s%s", code, out, stderr)
	}
}
