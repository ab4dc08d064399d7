package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	chaosTime     = 40 * time.Second // unless LARDER_TEST_CHAOS sets another
	chaosInterval = 10 * time.Second // between two kills
	chaosWriters  = 4                // for each of the two mounts
	chaosFiles    = 30               // quota of the account that fills it
	chaosAhead    = "2 * time.Hour"  // by how much the clock of the second replica is ahead
)

// chaos is a service of two replicas whose processes and servers end and start again under load.
type chaos struct {
	t         *testing.T
	services  *ownServices
	sites     [2]*site
	processes [2]*process
	bases     []string
	seed      uint64
	over      atomic.Bool
	answers   atomic.Int64 // of any replica, without those of 5xx
	refusals  atomic.Int64 // requests without an answer, or with 5xx
	sharing   *sharing
	locking   *locking
	filling   *filling
	uploaders []*uploader
}

// Two replicas, whose clocks are two hours apart, serve while one of them is killed every ten
// seconds and PostgreSQL, Redis and the S3 server stop and start. Clients send a request to the
// replicas in turn until it is answered. At the end everything acknowledged is there, no limit was
// exceeded, and the check of the whole service finds nothing.
func TestChaos(t *testing.T) {
	t.Parallel()
	c := &chaos{t: t, seed: crashSeed(t), services: startServices(t)}
	t.Logf("LARDER_TEST_SEED=%d repeats the choices", c.seed)
	lasts := chaosTime
	if text := os.Getenv("LARDER_TEST_CHAOS"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatalf("LARDER_TEST_CHAOS: %v", err)
		}
	}
	c.start()
	var load sync.WaitGroup
	t.Cleanup(func() { // of a test that has failed
		c.over.Store(true)
		load.Wait()
	})
	for _, work := range c.work() {
		load.Go(func() {
			for !c.over.Load() {
				if err := work(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	c.injectFailures(lasts)
	c.over.Store(true)
	load.Wait()
	c.check()
}

// start starts both replicas on the services and creates what the load needs.
func (c *chaos) start() {
	t := c.t
	shifted := shiftedProgram(t)
	first := newSite(t)
	first.set(reachable...)
	first.set("LARDER_REDIS_URL", c.services.redis.URL, "LARDER_DATABASE_URL", c.services.databaseURL(),
		"LARDER_GARBAGE_GRACE", "2s", "LARDER_OBJECT_DIR", filepath.Join(filepath.Dir(first.dir), "objects"),
		"LARDER_SECRET_KEY", secretKey(first.dir))
	first.keepPort(t)
	first.set("LARDER_BASE_URL", "http://"+first.env["LARDER_LISTEN"])
	second := newSite(t)
	for name, value := range first.env {
		if name != "LARDER_DATA_DIR" {
			second.env[name] = value
		}
	}
	second.keepPort(t)
	second.program = shifted
	c.sites = [2]*site{first, second}
	for i, s := range c.sites {
		c.processes[i] = s.start(t)
		c.bases = append(c.bases, c.processes[i].url)
	}
	p := c.processes[0]

	admin := p.admin(t)
	var list struct{ Mounts []struct{ ID string } }
	admin.do(t, "GET", "/api/admin/mounts", nil).data(t, 200, &list)
	// clients send the bytes for one mount to the store, those for the other to the service
	direct := admin.createProvider(t, bucketProvider(c.services.bucket, object{"pathPrefix": "direct"}))
	admin.do(t, "PUT", "/api/admin/mounts/"+list.Mounts[0].ID, object{"providerId": direct}).want(t, 200)
	admin.mount(t, "/relayed", admin.createProvider(t, bucketProvider(c.services.bucket,
		object{"name": "relayed", "pathPrefix": "relayed", "uploadMode": "worker"})))
	key := admin.createKey(t, object{"name": "load", "permissions": []string{"read", "write", "delete"},
		"protocols": []string{"api", "webdav"}, "uploadPath": "/"})
	id, secret, _ := strings.Cut(key, ".")
	random := rand.New(rand.NewPCG(c.seed, 0))
	for i := range 2 * chaosWriters {
		top := []string{"/uploads", "/relayed"}[i%2]
		name := fmt.Sprintf("w%d", i)
		admin.mkdir(t, top, name)
		for _, folder := range []string{"a", "b"} {
			admin.mkdir(t, top+"/"+name, folder)
		}
		c.uploaders = append(c.uploaders, &uploader{chaos: c, root: top + "/" + name, client: withKey(key, c.bases...),
			drive:  (&davKey{id, secret}).client(c.bases...),
			random: rand.New(rand.NewPCG(random.Uint64(), 0)), sent: map[string]bool{}})
	}
	c.locking = newLocking(c, admin)
	c.sharing = newSharing(c, withKey(key, p.url))
	c.filling = newFilling(c, admin)
}

// work returns the functions that the load consists of, each of which is repeated by one goroutine.
func (c *chaos) work() (all []func() error) {
	for _, u := range c.uploaders {
		all = append(all, u.step)
	}
	for i := range c.locking.clients {
		all = append(all, func() error { return c.locking.step(i) })
	}
	return append(all, c.sharing.step, c.filling.step, c.filling.step)
}

// injectFailures kills a replica in each interval, starts it again, and in between stops one of the
// services, until the time is over.
func (c *chaos) injectFailures(lasts time.Duration) {
	t := c.t
	end := time.After(lasts)
	tick := time.NewTicker(chaosInterval)
	defer tick.Stop()
	var killed [2]int
	var outages [3]int
	for i := 0; ; i++ {
		which := i % len(c.sites)
		c.processes[which].kill()
		c.progress("served by one replica", 30)
		killed[which]++
		c.processes[which] = c.sites[which].start(t)
		c.progress("served by both replicas", 30)

		outage := i % len(outages)
		outages[outage]++
		switch outage {
		case 0:
			c.services.stop(c.services.postgres)
			c.fails("without PostgreSQL")
			c.services.startPostgres()
		case 1:
			c.services.redis.Stop()
			c.progress("served without Redis", 30)
			c.services.redis.Start()
		case 2:
			c.services.stop(c.services.s3)
			c.fails("without the S3 server")
			c.services.startS3()
		}
		c.progress("served after an outage", 30)
		if t.Failed() {
			t.FailNow()
		}
		select {
		case <-end:
			if i < len(outages) {
				end = time.After(0) // every kind of outage happens once
				continue
			}
			t.Logf("%d and %d kills, outages of PostgreSQL, Redis and S3: %v; %d answers, %d attempts without",
				killed[0], killed[1], outages, c.answers.Load(), c.refusals.Load())
			return
		case <-tick.C:
		}
	}
}

// progress waits for more answers to the load.
func (c *chaos) progress(what string, n int64) {
	c.t.Helper()
	before := c.answers.Load()
	c.await(what, func() bool { return c.answers.Load() >= before+n })
}

// fails waits for some attempts that fail.
func (c *chaos) fails(what string) {
	c.t.Helper()
	before := c.refusals.Load()
	c.await("failing "+what, func() bool { return c.refusals.Load() >= before+20 })
}

func (c *chaos) await(what string, condition func() bool) {
	c.t.Helper()
	until(c.t, what, func() bool { return c.t.Failed() || condition() })
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// shiftedProgram builds the program with a clock that is two hours ahead.
func shiftedProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source, err := filepath.Abs("../cmd/larder/commands.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	changed := replaceOnce(t, source, string(text), "Now: time.Now,",
		"Now: func() time.Time { return time.Now().Add("+chaosAhead+") },")
	writeFile(t, []byte(changed), dir, "commands.go")
	overlay, err := json.Marshal(object{"Replace": object{source: filepath.Join(dir, "commands.go")}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, overlay, dir, "overlay.json")
	program := filepath.Join(dir, "larder")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-overlay", filepath.Join(dir, "overlay.json"),
		"-ldflags", "-s -w -X main.version="+builtVersion+"-shifted", "-o", program, "larder/cmd/larder")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build with a clock that is ahead: %v\n%s", err, out)
	}
	return program
}

// ask sends a request to the replicas in turn until one of them answers, as a client behind a
// balancer does. attempts says how many it took: the earlier ones may have been carried out.
func (c *chaos) ask(by *client, method, path string, body any, headers ...string) (r reply, attempts int, err error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); ; <-tick.C {
		attempts++
		r, err = by.send(method, path, body, headers...)
		if err == nil && r.status < 500 {
			c.answers.Add(1)
			return r, attempts, nil
		}
		c.refusals.Add(1)
		if time.Since(begin) > 2*patience {
			return r, attempts, fmt.Errorf("%s %s was not answered in %d attempts: %d %s %v", method, path, attempts,
				r.status, tail(string(r.body), 300), err)
		}
	}
}

// signedIn returns a client that is signed in at one replica, whichever answers.
func (c *chaos) signedIn(username, password string) (*client, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	begin := time.Now()
	for i := 0; ; i++ {
		<-tick.C
		by := newClient(c.bases[i%2])
		r, err := by.send("POST", "/api/auth/login", object{"username": username, "password": password})
		if err == nil && r.status == 200 {
			var csrf struct{ Token string }
			if r, err = by.send("GET", "/api/auth/csrf-token", nil); err == nil && r.decode(&csrf) == nil {
				by.header.Set("X-CSRF-Token", csrf.Token)
				return by, nil
			}
		}
		if time.Since(begin) > 2*patience {
			return nil, fmt.Errorf("the sign-in of %s got no answer: %d %s %v", username, r.status, r.body, err)
		}
	}
}

// check compares the service at rest with everything acknowledged.
func (c *chaos) check() {
	t := c.t
	for i := range c.bases {
		c.await("ready", func() bool { return c.processes[i].probe("/api/public/health/ready") == 200 })
	}
	for _, base := range c.bases {
		admin := login(t, "admin", adminPassword, base)
		for _, u := range c.uploaders {
			u.check(t, admin)
		}
		c.locking.check(t, admin)
		c.sharing.check(t, admin)
		c.filling.check(t, admin)
		var size, files int64
		for _, top := range []string{"/uploads", "/relayed", "/public"} {
			for _, file := range admin.walk(t, top) {
				size, files = size+file.Size, files+1
			}
		}
		if usedSize, usedFiles := admin.usage(t); usedSize != size || usedFiles != files {
			t.Errorf("the quota says %d bytes in %d files, the listings %d in %d", usedSize, usedFiles, size, files)
		}
	}
	c.sites[0].fsck(t)
	for i := range c.sites {
		c.processes[i].stop(t)
	}
	if t.Failed() {
		return
	}
	var kept, changes, direct int
	for _, u := range c.uploaders {
		kept, changes, direct = kept+len(u.files), changes+u.serial, direct+u.direct
	}
	t.Logf("%d files are as acknowledged, of %d changes; %d requests of bytes to the store; %s; %s; %s", kept, changes,
		direct, c.locking, c.sharing, c.filling)
	if direct == 0 || c.locking.locked.Load() == 0 || len(c.sharing.shares) == 0 || c.filling.full.Load() == 0 {
		t.Error("a part of the load did nothing")
	}
}
