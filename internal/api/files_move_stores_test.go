package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
)

// location is a folder of alice's, with a function that counts the objects of its store below its
// prefix.
type location struct {
	path    string
	objects func(t *testing.T) int
}

// moveFixture is alice with the two locations of a move.
type moveFixture struct {
	t      *testing.T
	l      *apptest.Larder
	admin  *apptest.Client
	alice  *apptest.Client
	serial int
}

func newMoveFixture(t *testing.T, l *apptest.Larder) *moveFixture {
	return &moveFixture{t: t, l: l, admin: l.Admin(t), alice: l.User(t, "alice")}
}

// disk returns alice's home, on the local disk.
func (f *moveFixture) disk() location {
	return location{"/home/alice", func(t *testing.T) int { return len(bucketObjects(t, f.l, "default")) }}
}

// bucket mounts a bucket in which everybody may do everything: a new one, or that of extra.
func (f *moveFixture) bucket(t *testing.T, extra M) (location, s3test.Bucket) {
	t.Helper()
	f.serial++
	path, fields := fmt.Sprintf("/bucket%d", f.serial), M{"uploadMode": "worker"}.With(extra)
	_, bucket := f.l.S3Mount(t, path, fields)
	addRule(f.admin, M{"pathPattern": path + "/**", "effect": "allow", "role": "user"})
	if name, given := fields["bucket"].(string); given {
		bucket.Name = name
	}
	prefix, _ := fields["pathPrefix"].(string)
	return location{path, func(t *testing.T) int { return len(keysBelow(t, bucket, prefix)) }}, bucket
}

// movedFolder is a folder with files and the addresses of each.
type movedFolder struct {
	fixture *moveFixture
	id      string
	content map[string]string
	ids     map[string]string
	links   map[string]string // addresses that always answer everybody with the content
	etags   map[string]string
	bytes   int64
}

// pseudoRandom returns text without repetitions.
func pseudoRandom(seed string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%s %d;", seed, i*i)
	}
	return b.String()[:size]
}

// filesOfAllSizes returns files of no byte, one byte, one part of an upload and several parts.
func filesOfAllSizes() map[string]string {
	return map[string]string{
		"empty": "", "one": "1", "sub/shared": pseudoRandom("six", 6<<20),
		"sub/deep/large.bin": pseudoRandom("seventeen", 17<<20+1), "locked": "behind a password",
	}
}

func smallFiles() map[string]string {
	return map[string]string{"empty": "", "one": "1", "sub/shared": "for two", "sub/deep/large.bin": "not so large",
		"locked": "behind a password"}
}

// newFolder makes a folder `box` at a location and fills it. One of the files has a password, and
// one shares its object with a copy.
func (f *moveFixture) newFolder(t *testing.T, in location, content map[string]string) *movedFolder {
	t.Helper()
	m := &movedFolder{fixture: f, ids: map[string]string{}, links: map[string]string{}, etags: map[string]string{},
		content: content}
	m.id = mkdir(f.alice, in.path, "box")
	mkdir(f.alice, in.path+"/box", "sub")
	mkdir(f.alice, in.path+"/box/sub", "deep")
	for name, text := range m.content {
		dir, file := in.path+"/box", name
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			dir, file = dir+"/"+name[:i], name[i+1:]
		}
		m.ids[name] = f.alice.Upload(dir, file, []byte(text), M{"mimeType": "application/x-test"})
	}
	m.content["twin"] = m.content["sub/shared"]
	f.alice.Post("/api/files/"+m.ids["sub/shared"]+"/copy", M{"targetPath": in.path + "/box", "newName": "twin"}).
		OK(200)
	for _, item := range listFolder(f.alice, in.path+"/box").OK(200).Value("items").([]any) {
		if item := item.(map[string]any); item["name"] == "twin" {
			m.ids["twin"] = item["id"].(string)
		}
	}
	for name, text := range m.content {
		m.bytes += int64(len(text))
		if name == "locked" {
			setAccessPassword(f.alice, m.ids[name], "open sesame")
			m.links[name] = verifyPassword(f.alice, m.ids[name], "open sesame", M{"purpose": "preview"}).OK(200).
				Text("url")
			continue
		}
		m.links[name] = f.alice.Post("/api/files/"+m.ids[name]+"/link", nil).OK(200).Text("link.url")
		if len(text) == 1 {
			m.links[name+" (signed)"] = signedLink(f.alice, m.ids[name])
		}
	}
	for how, link := range m.links {
		r := f.l.Client(t).Get(link)
		if r.Status != 200 || string(r.Body) != m.content[m.fileOf(how)] {
			t.Fatalf("%s before: %d, %d bytes", how, r.Status, len(r.Body))
		}
		m.etags[how] = r.Header.Get("ETag")
	}
	return m
}

// fileOf returns the file that a link leads to.
func (m *movedFolder) fileOf(how string) string { return strings.TrimSuffix(how, " (signed)") }

// checkLinks requests every link once. Each must answer with the same content and ETag as before.
func (m *movedFolder) checkLinks(t *testing.T, visitor *apptest.Client) {
	t.Helper()
	for how, link := range m.links {
		r := visitor.Get(link)
		if r.Err != nil || r.Status != 200 || string(r.Body) != m.content[m.fileOf(how)] ||
			r.Header.Get("ETag") != m.etags[how] {
			t.Errorf("%s: status %d, %d bytes of %d, ETag %s, was %s: %v", how, r.Status, len(r.Body),
				len(m.content[m.fileOf(how)]), r.Header.Get("ETag"), m.etags[how], r.Err)
		}
	}
}

// startReading requests the links repeatedly until stop, which returns the number of rounds.
func (m *movedFolder) startReading(t *testing.T) (stop func() int) {
	visitor, done, rounds := m.fixture.l.Client(t), make(chan struct{}), 0
	var loop sync.WaitGroup
	loop.Go(func() {
		for {
			m.checkLinks(t, visitor)
			rounds++
			select {
			case <-done:
				return
			default:
			}
		}
	})
	return func() int {
		close(done)
		loop.Wait()
		return rounds
	}
}

// startMove starts to move the folder to a location.
func (m *movedFolder) startMove(to location) (job string) {
	r := m.fixture.alice.Post("/api/files/"+m.id+"/move", M{"targetPath": to.path}).OK(200)
	return r.Text("jobId")
}

// checkJobEnded waits for the job's end and checks it: completed if words is "", otherwise failed
// with a sentence that contains words.
func (m *movedFolder) checkJobEnded(t *testing.T, job, words string) {
	t.Helper()
	r := waitForJob(t, m.fixture.alice.In(t), job)
	status := "completed"
	if words != "" {
		status = "failed"
	}
	message, _ := r.Value("job.errorMessage").(string)
	if r.Text("job.status") != status || !strings.Contains(message, words) {
		t.Fatalf("the job ended: %s, want %s %q", r.Body, status, words)
	}
}

// checkLocation checks that everything is listed at one location.
func (m *movedFolder) checkLocation(t *testing.T, in location) {
	t.Helper()
	for name, id := range m.ids {
		r := m.fixture.alice.In(t).Get("/api/files/" + id).OK(200)
		if at := r.Text("file.path") + "/" + r.Text("file.name"); at != in.path+"/box/"+name {
			t.Errorf("%s is at %s, not in %s", name, at, in.path)
		}
	}
}

// sweepAfterGrace lets the grace period pass and sweeps garbage. Sessions end meanwhile, so it
// signs in again.
func (f *moveFixture) sweepAfterGrace() {
	f.l.Sweep() // first the rows; the grace period of their objects begins then
	f.l.Clock.Advance(3 * time.Hour)
	f.l.Sweep()
	f.admin, f.alice = f.l.Admin(f.t), f.l.SignIn(f.t, "alice", "password of alice")
}

// A folder moves from each kind of store to each other. At every moment every link answers with the
// same bytes and ETag. The quota stays the same, and the old objects are swept after the grace
// period. A move between two providers on one server copies inside the server. Providers in one
// bucket never touch each other's objects (abuse case C20).
func TestMoveBetweenStores(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMoveFixture(t, l)
		first := s3test.New(t)
		server := s3test.NewProxy(t, first)
		ours := func(more M) M {
			more["endpoint"] = server.Endpoint
			return more
		}
		onDisk := f.disk()
		plain, _ := f.bucket(t, ours(M{}))
		other, bucket := f.bucket(t, ours(M{"pathPrefix": "some/where"}))
		// a key below this prefix could be the other provider's
		beside, _ := f.bucket(t, ours(M{"bucket": bucket.Name, "pathPrefix": "some"}))
		// the same server at another address
		apart, _ := f.bucket(t, M{})
		for _, c := range []struct {
			what     string
			from, to location
			copies   int // by the server
			sent     bool
		}{
			{"disk to bucket", onDisk, plain, 0, true},
			{"bucket to another bucket of the server", plain, other, 6, false},
			{"bucket to another prefix", other, beside, 6, false},
			{"bucket to another server", beside, apart, 0, false},
			{"another server to bucket", apart, plain, 0, true},
			{"bucket to disk", plain, onDisk, 0, false},
		} {
			t.Run(c.what, func(t *testing.T) {
				before := c.from.objects(t)
				bytes, files := usedQuota(f.alice)
				moved := f.newFolder(t, c.from, filesOfAllSizes())
				mkdir(f.alice.In(t), c.from.path+"/box", "nothing")
				earlier, sent := len(server.Calls()), server.Sent()
				stop := moved.startReading(t)
				moved.checkJobEnded(t, moved.startMove(c.to), "")
				if rounds := stop(); rounds == 0 {
					t.Error("no read ran during the move")
				}
				sent = server.Sent() - sent
				copies := 0
				for _, call := range server.Calls()[earlier:] {
					if call == s3test.Copy {
						copies++
					}
				}
				if copies != c.copies || c.sent != (sent >= moved.bytes) {
					t.Errorf("%d objects were copied by the server, %d bytes of %d sent to it", copies, sent,
						moved.bytes)
				}
				moved.checkLocation(t, c.to)
				moved.checkLinks(t, l.Client(t))
				wantUsed(t, f.alice.In(t), bytes+moved.bytes, files+int64(len(moved.content)))
				f.sweepAfterGrace()
				if n := c.from.objects(t); n != before {
					t.Errorf("%d objects are left in the old store, %d were there before", n, before)
				}
				if n := c.to.objects(t); n != 6 {
					t.Errorf("the new store has %d objects", n)
				}
				for how := range moved.links { // signed links and given passwords have expired by now
					if strings.HasSuffix(how, "(signed)") || how == "locked" {
						delete(moved.links, how)
					}
				}
				moved.checkLinks(t, l.Client(t))
				f.alice.Delete("/api/files/" + moved.id).OK(200)
				f.sweepAfterGrace()
				if n := c.to.objects(t); n != 0 {
					t.Errorf("%d objects of the deleted folder are left", n)
				}
				wantUsed(t, f.alice.In(t), bytes, files)
			})
		}
	}, apptest.ReachLoopback)
}

// Abuse case C127: the object in the target differs from the copied one. The job fails with a
// sentence, the source is unchanged, and the target is swept.
func TestMoveIntoCorruptingStore(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMoveFixture(t, l)
		from, bucket := f.bucket(t, nil)
		server := s3test.NewProxy(t, bucket)
		source, _ := f.bucket(t, M{"endpoint": server.Endpoint})
		target, there := f.bucket(t, M{"endpoint": server.Endpoint, "pathPrefix": "p"})
		sdk := there.SDK(t)
		for what, from := range map[string]location{"streamed": from, "copied by the server": source} {
			for lie, content := range map[string]string{"other bytes": "2", "fewer": "", "more": "11"} {
				if what == "copied by the server" && len(content) != 1 {
					// the store detects this itself and reports a failure, so the job retries
					continue
				}
				moved := f.newFolder(t, from, smallFiles())
				before := from.objects(t)
				server.SetAfter(func(answer *http.Response) {
					// Each object of one byte is replaced before the service gets the answer.
					key, inBucket := strings.CutPrefix(answer.Request.URL.Path, "/"+there.Name+"/")
					if answer.Request.Method == "PUT" && answer.StatusCode == 200 && inBucket {
						overwriteOneByteObject(t, sdk, there, key, content)
					}
				})
				job := moved.startMove(target)
				moved.checkJobEnded(t, job, "nothing was moved")
				server.WaitIdle()
				server.SetAfter(nil)
				t.Log(what, lie)
				moved.checkLocation(t, from)
				moved.checkLinks(t, l.Client(t))
				if n := from.objects(t); n < before-4 { // some of them were copied before and are in the target
					t.Errorf("%d objects are left in the source", n)
				}
				f.alice.Delete("/api/files/" + moved.id).OK(200)
				f.sweepAfterGrace()
				if n := target.objects(t) + from.objects(t); n != 0 {
					t.Errorf("%s, %s: %d objects are left", what, lie, n)
				}
			}
		}
	}, apptest.ReachLoopback)
}

// overwriteOneByteObject replaces the content of an object of one byte, directly in the bucket.
func overwriteOneByteObject(t *testing.T, sdk *s3.Client, b s3test.Bucket, key, content string) {
	head, err := sdk.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b.Name, Key: &key})
	if err != nil || head.ContentLength == nil || *head.ContentLength != 1 {
		return
	}
	_, err = sdk.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: strings.NewReader(content),
		Metadata: head.Metadata})
	if err != nil {
		t.Errorf("replace an object: %v", err)
	}
}
