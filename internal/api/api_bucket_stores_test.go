package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// waitUntil waits for a condition.
func waitUntil(t *testing.T, what string, met func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for !met() {
		select {
		case <-deadline:
			t.Fatalf("it does not come to this: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// A store goes down in the middle of a move. Everything can be read where it was; the job waits,
// goes on when the store is back, and copies nothing twice. When the store stays away the job fails
// with a sentence, and a second try completes.
func TestMoveIntoAStoreThatGoesDown(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		h := newMoveFixture(t, l)
		own, bucket := h.bucket(t, nil)
		server := newStoreProxy(t, bucket)
		target, _ := h.bucket(t, m{"endpoint": server.address})
		onDisk := h.disk()
		goods := h.newFolder(t, onDisk, smallFiles())
		made := 0
		server.set(func() {
			server.onResponse = func(r *http.Request, status int) {
				server.set(func() {
					if r.Method == "PUT" && status == 200 {
						if made++; made == 3 {
							server.down = true
						}
					}
				})
			}
		})
		job := goods.startMove(target)
		waitUntil(t, "the job is tried again later",
			func() bool { return strings.Contains(l.Log.String(), "a job is tried again later") })
		goods.checkLocation(t, onDisk)
		copied := target.objects
		if n := copied(t); n < 2 || n > 3 { // the answer to the third was on its way
			t.Errorf("%d objects are copied", n)
		}
		server.set(func() { server.down, server.onResponse = false, nil })
		server.takeCounts()
		l.Clock.Advance(time.Minute)
		l.Apps[0].Jobs.Wake()
		goods.checkJobEnded(t, job, "")
		goods.checkLocation(t, target)
		goods.checkLinks(t, l.Client(t))

		// The other way, until the job is given up: nothing but what was copied in time can be read
		// while the store is down.
		server.set(func() { server.down = true })
		job = goods.startMove(own)
		for tries := 1; tries <= 12; tries++ {
			waitUntil(t, "another try", func() bool {
				r := h.alice.Get("/api/files/jobs/" + job).OK(200)
				return r.Text("job.status") == "failed" ||
					strings.Count(l.Log.String(), "a job is tried again later") > tries
			})
			l.Clock.Advance(10 * time.Minute)
			l.Apps[0].Jobs.Wake()
		}
		h.admin, h.alice = l.Admin(t), l.SignIn(t, "alice", "password of alice")
		goods.checkJobEnded(t, job, "not available")
		for how, link := range goods.links {
			if !strings.HasSuffix(how, "(signed)") && how != "locked" { // whose time is over
				wantStatus(t, how, l.Client(t).Get(link), 500, "INTERNAL_ERROR")
			}
		}
		goods.checkLocation(t, target)
		server.set(func() { server.down = false })
		goods.checkJobEnded(t, goods.startMove(own), "")
		goods.checkLocation(t, own)
		delete(goods.links, "one (signed)")
		delete(goods.links, "locked")
		goods.checkLinks(t, l.Client(t))
		h.sweepAfterGrace()
		if n := target.objects(t); n != 0 {
			t.Errorf("%d objects are left in the old store", n)
		}
	}, apptest.ReachLoopback)
}

// While a folder goes to a bucket it is renamed, a file in it is deleted, and others come; then a
// folder that is on its way is deleted.
func TestFolderChangesWhileItMovesToABucket(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		h := newMoveFixture(t, l)
		_, bucket := h.bucket(t, nil)
		server := newStoreProxy(t, bucket)
		target, _ := h.bucket(t, m{"endpoint": server.address})
		onDisk := h.disk()
		// hold has the first object that is made wait until do is done.
		hold := func(do func()) {
			first := true
			met, goOn := make(chan struct{}), make(chan struct{})
			server.set(func() {
				server.instead = func(_ http.ResponseWriter, r *http.Request) bool {
					mine := false
					server.set(func() { mine, first = first && r.Method == "PUT", first && r.Method != "PUT" })
					if mine {
						close(met)
						<-goOn
					}
					return false
				}
			})
			t.Cleanup(func() { server.set(func() { server.instead = nil }) })
			go func() { // ends with the move, or the test does
				<-met
				do()
				close(goOn)
			}()
		}
		goods := h.newFolder(t, onDisk, smallFiles())
		alice := h.alice.Fork()
		hold(func() {
			alice.Put("/api/files/"+goods.id, m{"name": "crate"}).OK(200)
			alice.Delete("/api/files/" + goods.ids["one"]).OK(200)
			goods.ids["late"] = alice.Upload("/home/alice/crate", "late", []byte("it came late"))
		})
		goods.checkJobEnded(t, goods.startMove(target), "")
		delete(goods.ids, "one")
		for name, id := range goods.ids {
			if at := h.alice.Get("/api/files/"+id).OK(200).
				Text("file.path") + "/"; !strings.HasPrefix(at, target.path+"/crate/") {
				t.Errorf("%s lies in %s", name, at)
			}
		}
		wantBody(t, h.alice.Get(target.path+"/crate/late").OK(200), "it came late")
		h.sweepAfterGrace()
		if n := onDisk.objects(t); n != 0 {
			t.Errorf("%d objects are left in the old store", n)
		}
		if n := target.objects(t); n != len(goods.ids) {
			t.Errorf("%d objects lie in the bucket for %d files", n, len(goods.ids))
		}

		doomed := h.newFolder(t, onDisk, smallFiles())
		alice = h.alice.Fork()
		hold(func() { alice.Delete("/api/files/" + doomed.id).OK(200) })
		job := doomed.startMove(target)
		if r := waitForJob(t, h.alice, job); r.Text("job.status") != "failed" {
			t.Errorf("the job of what was deleted: %s", r.Body)
		}
		h.sweepAfterGrace()
		if disk, s3 := onDisk.objects(t), target.objects(t); disk != 0 || s3 != len(goods.ids) {
			t.Errorf("%d objects are left on the disk and %d in the bucket, of a folder that was deleted", disk, s3)
		}
	}, apptest.ReachLoopback)
}

// A copy into a bucket shares no object with its original: its content is brought there by a job,
// and the original stays where it is.
func TestCopyIntoABucket(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		h := newMoveFixture(t, l)
		target, _ := h.bucket(t, nil)
		onDisk := h.disk()
		goods := h.newFolder(t, onDisk, map[string]string{"one": "1", "sub/shared": pseudoRandom("shared", 6<<20)})
		bytes, files := usedQuota(h.alice)
		r := h.alice.Post("/api/files/"+goods.id+"/copy", m{"targetPath": target.path}).OK(200)
		wantUsed(t, h.alice, 2*bytes, 2*files) // at once
		goods.checkJobEnded(t, r.Text("jobId"), "")
		goods.checkLocation(t, onDisk)
		goods.checkLinks(t, l.Client(t))
		h.sweepAfterGrace()
		if n := target.objects(t); n != 3 {
			t.Errorf("%d objects lie in the bucket for three files", n)
		}
		if n := onDisk.objects(t); n != 2 {
			t.Errorf("%d objects lie on the disk for three files of which two are copies", n)
		}
		h.alice.Delete("/api/files/" + goods.id).OK(200)
		h.sweepAfterGrace()
		for name, text := range goods.content {
			wantBody(t, h.alice.Get(target.path+"/box/"+name).OK(200), text)
		}
		if n := onDisk.objects(t); n != 0 {
			t.Errorf("%d objects are left on the disk", n)
		}
	}, apptest.ReachLoopback)
}

// A mount gets another provider. What is stored from then on goes there, what was there before
// stays, and both are listed, read, replaced, copied and deleted alike.
func TestMountWithNewProvider(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		h := newMoveFixture(t, l)
		onDisk := h.disk()
		alice := h.alice
		old, kept := alice.Upload("/home/alice", "old", []byte("on the disk")), alice.Upload("/home/alice", "kept",
			[]byte("stays there"))
		bucket := l.RootOnS3(t, m{"uploadMode": "worker"})
		alice.Upload("/home/alice", "new", []byte("in the bucket"))
		count := func(disk, s3 int) {
			t.Helper()
			if d, s := onDisk.objects(t), len(keysBelow(t, bucket, "")); d != disk || s != s3 {
				t.Errorf("%d objects on the disk and %d in the bucket, want %d and %d", d, s, disk, s3)
			}
		}
		count(2, 1)
		wantStrings(t, "the folder", listNames(alice, "/home/alice"), "kept", "new", "old")
		wantBody(t, alice.Get("/home/alice/old").OK(200), "on the disk")
		wantBody(t, alice.Get("/home/alice/new").OK(200), "in the bucket")

		if id := alice.Upload("/home/alice", "old", []byte("replaced"), m{"conflict": "replace"}); id != old {
			t.Error("replaced under another id")
		}
		wantBody(t, alice.Get("/home/alice/old").OK(200), "replaced")
		r := alice.Post("/api/files/"+kept+"/copy", m{"targetPath": "/home/alice", "newName": "copy"}).OK(200)
		waitForJob(t, alice, r.Text("jobId"))
		wantBody(t, alice.Get("/home/alice/copy").OK(200), "stays there")
		h.sweepAfterGrace()
		count(1, 3) // the copy is brought to where new content goes
		alice = h.alice
		wantUsed(t, alice, 8+13+11+11, 4)

		alice.Delete("/api/files/" + kept).OK(200)
		alice.Delete("/api/files/" + old).OK(200)
		h.sweepAfterGrace()
		count(0, 2)
		wantBody(t, h.alice.Get("/home/alice/copy").OK(200), "stays there")
	}, apptest.ReachLoopback)
}

// A store that is away keeps its garbage until it is back; meanwhile the others are tidied, and
// what a bucket holds besides is left alone.
func TestBucketGarbageCollection(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		h := newMoveFixture(t, l)
		near, bucket := h.bucket(t, nil)
		server := newStoreProxy(t, bucket)
		far, there := h.bucket(t, m{"endpoint": server.address, "pathPrefix": "ours"})
		foreign := []string{"holiday.jpg", "ours/ab/readme.txt", "theirs/ab/00112233445566778899aabbccddeeff",
			"ab/00112233445566778899aabbccddeeff.png"}
		for _, key := range foreign {
			putDirectly(t, there, key, "somebody else's")
		}
		onDisk := h.disk()
		for _, in := range []location{near, far, onDisk} {
			h.alice.Delete("/api/files/" + h.newFolder(t, in, smallFiles()).id).OK(200)
		}
		server.set(func() { server.down = true })
		h.sweepAfterGrace()
		if near, far, disk := near.objects(t), far.objects(t), onDisk.objects(t); near != 0 || far != 5 || disk != 0 {
			t.Errorf("left while a store is away: %d in the other bucket, %d in its own, %d on the disk", near, far,
				disk)
		}
		server.set(func() { server.down = false })
		h.sweepAfterGrace()
		if n := far.objects(t); n != 0 {
			t.Errorf("%d objects are left after it is back", n)
		}
		for range 3 { // days
			l.Clock.Advance(24*time.Hour + time.Minute)
			for _, a := range l.Apps {
				if err := a.Fsck.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			l.Sweep()
		}
		for _, key := range foreign {
			if text := getDirectly(t, there, key); text != "somebody else's" {
				t.Errorf("%s: %q", key, text)
			}
		}
	}, apptest.ReachLoopback)
}

// Abuse case C126: whatever a store says, no row changes because of it. One that denies
// having anything answers 5xx to whoever wants the bytes; the files stay listed, and are
// there again when it is.
func TestStoreThatLostEverything(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		h := newMoveFixture(t, l)
		_, bucket := h.bucket(t, nil)
		server := newStoreProxy(t, bucket)
		in, _ := h.bucket(t, m{"endpoint": server.address})
		goods := h.newFolder(t, in, smallFiles())
		bytes, files := usedQuota(h.alice)
		listed := listNames(h.alice, in.path+"/box")
		answerNoSuchKey := func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(404)
			if r.Method != "HEAD" {
				_, _ = w.Write(
					[]byte(
						`<?xml version="1.0" encoding="UTF-8"?><Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>`))
			}
			return true
		}
		server.set(func() { server.instead = answerNoSuchKey })
		for how, link := range goods.links {
			wantStatus(t, how, l.Client(t).Get(link), 500, "INTERNAL_ERROR")
		}
		goods.checkJobEnded(t, goods.startMove(h.disk()), "nothing was moved")
		for range 2 {
			h.sweepAfterGrace()
		}
		wantStrings(t, "the folder", listNames(h.alice, in.path+"/box"), listed...)
		wantUsed(t, h.alice, bytes, files)
		goods.checkLocation(t, in)
		server.set(func() { server.instead = nil })
		delete(goods.links, "one (signed)")
		delete(goods.links, "locked")
		goods.checkLinks(t, l.Client(t))
	}, apptest.ReachLoopback)
}
