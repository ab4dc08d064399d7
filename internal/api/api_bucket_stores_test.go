package api_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
)

// A store goes down during a move. Everything stays readable at its old path. The job waits,
// continues when the store is back, and copies nothing twice. If the store stays down the job fails
// with a sentence, and a second attempt completes.
func TestMoveIntoAStoreThatGoesDown(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMoveFixture(t, l)
		own, bucket := f.bucket(t, nil)
		server := s3test.NewProxy(t, bucket)
		target, _ := f.bucket(t, M{"endpoint": server.Endpoint})
		onDisk := f.disk()
		moved := f.newFolder(t, onDisk, smallFiles())
		var stored atomic.Int32
		server.SetAfter(func(answer *http.Response) {
			if answer.Request.Method == "PUT" && answer.StatusCode == 200 && stored.Add(1) == 3 {
				server.Down()
			}
		})
		job := moved.startMove(target)
		waitUntil(t, "the job is tried again later",
			func() bool { return strings.Contains(l.Log.String(), "a job will be retried") })
		moved.checkLocation(t, onDisk)
		copied := target.objects
		if n := copied(t); n < 2 || n > 3 { // the answer to the third was under way
			t.Errorf("%d objects are copied", n)
		}
		server.SetAfter(nil)
		server.Restore()
		l.Clock.Advance(time.Minute)
		l.Apps[0].Jobs.Wake()
		moved.checkJobEnded(t, job, "")
		moved.checkLocation(t, target)
		moved.checkLinks(t, l.Client(t))

		// The other direction, until the job gives up: while the store is down, only files that
		// were copied before are readable.
		server.Down()
		job = moved.startMove(own)
		for tries := 1; tries <= 12; tries++ {
			waitUntil(t, "another try", func() bool {
				r := f.alice.Get("/api/files/jobs/" + job).OK(200)
				return r.Text("job.status") == "failed" ||
					strings.Count(l.Log.String(), "a job will be retried") > tries
			})
			l.Clock.Advance(10 * time.Minute)
			l.Apps[0].Jobs.Wake()
		}
		f.admin, f.alice = l.Admin(t), l.SignIn(t, "alice", "password of alice")
		moved.checkJobEnded(t, job, "not available")
		for how, link := range moved.links {
			if !strings.HasSuffix(how, "(signed)") && how != "locked" { // which have expired
				wantStatus(t, how, l.Client(t).Get(link), 500, "INTERNAL_ERROR")
			}
		}
		moved.checkLocation(t, target)
		server.Restore()
		moved.checkJobEnded(t, moved.startMove(own), "")
		moved.checkLocation(t, own)
		delete(moved.links, "one (signed)")
		delete(moved.links, "locked")
		moved.checkLinks(t, l.Client(t))
		f.sweepAfterGrace()
		if n := target.objects(t); n != 0 {
			t.Errorf("%d objects are left in the old store", n)
		}
	}, apptest.ReachLoopback, apptest.WithoutObjectCache)
}

// During its move to a bucket, a folder is renamed, a file in it is deleted and others are added.
// Then a folder is deleted during its move.
func TestFolderChangesWhileItMovesToABucket(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMoveFixture(t, l)
		_, bucket := f.bucket(t, nil)
		server := s3test.NewProxy(t, bucket)
		target, _ := f.bucket(t, M{"endpoint": server.Endpoint})
		onDisk := f.disk()
		// hold makes the first stored object wait until do returns.
		hold := func(do func()) {
			var held atomic.Bool
			met, goOn := make(chan struct{}), make(chan struct{})
			server.SetBefore(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == "PUT" && held.CompareAndSwap(false, true) {
					close(met)
					<-goOn
				}
				return false
			})
			t.Cleanup(func() { server.SetBefore(nil) })
			go func() { // ends with the move or with the test
				<-met
				do()
				close(goOn)
			}()
		}
		moved := f.newFolder(t, onDisk, smallFiles())
		alice := f.alice.Fork()
		hold(func() {
			alice.Put("/api/files/"+moved.id, M{"name": "crate"}).OK(200)
			alice.Delete("/api/files/" + moved.ids["one"]).OK(200)
			moved.ids["late"] = alice.Upload("/home/alice/crate", "late", []byte("it arrived late"))
		})
		moved.checkJobEnded(t, moved.startMove(target), "")
		delete(moved.ids, "one")
		for name, id := range moved.ids {
			if at := f.alice.Get("/api/files/"+id).OK(200).
				Text("file.path") + "/"; !strings.HasPrefix(at, target.path+"/crate/") {
				t.Errorf("%s is in %s", name, at)
			}
		}
		wantBody(t, f.alice.Get(target.path+"/crate/late").OK(200), "it arrived late")
		f.sweepAfterGrace()
		if n := onDisk.objects(t); n != 0 {
			t.Errorf("%d objects are left in the old store", n)
		}
		if n := target.objects(t); n != len(moved.ids) {
			t.Errorf("the bucket has %d objects for %d files", n, len(moved.ids))
		}

		deleted := f.newFolder(t, onDisk, smallFiles())
		alice = f.alice.Fork()
		hold(func() { alice.Delete("/api/files/" + deleted.id).OK(200) })
		job := deleted.startMove(target)
		if r := waitForJob(t, f.alice, job); r.Text("job.status") != "failed" {
			t.Errorf("the job of a deleted entry: %s", r.Body)
		}
		f.sweepAfterGrace()
		if disk, s3 := onDisk.objects(t), target.objects(t); disk != 0 || s3 != len(moved.ids) {
			t.Errorf("%d objects are left on the disk and %d in the bucket, of a folder that was deleted", disk, s3)
		}
	}, apptest.ReachLoopback)
}

// A copy into a bucket shares no object with its original. A job copies its content there, and the
// original stays in place.
func TestCopyIntoABucket(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMoveFixture(t, l)
		target, _ := f.bucket(t, nil)
		onDisk := f.disk()
		moved := f.newFolder(t, onDisk, map[string]string{"one": "1", "sub/shared": pseudoRandom("shared", 6<<20)})
		bytes, files := usedQuota(f.alice)
		r := f.alice.Post("/api/files/"+moved.id+"/copy", M{"targetPath": target.path}).OK(200)
		wantUsed(t, f.alice, 2*bytes, 2*files) // immediately
		moved.checkJobEnded(t, r.Text("jobId"), "")
		moved.checkLocation(t, onDisk)
		moved.checkLinks(t, l.Client(t))
		f.sweepAfterGrace()
		if n := target.objects(t); n != 3 {
			t.Errorf("the bucket has %d objects for three files", n)
		}
		if n := onDisk.objects(t); n != 2 {
			t.Errorf("the disk has %d objects for three files of which two are copies", n)
		}
		f.alice.Delete("/api/files/" + moved.id).OK(200)
		f.sweepAfterGrace()
		for name, text := range moved.content {
			wantBody(t, f.alice.Get(target.path+"/box/"+name).OK(200), text)
		}
		if n := onDisk.objects(t); n != 0 {
			t.Errorf("%d objects are left on the disk", n)
		}
	}, apptest.ReachLoopback)
}

// A mount gets another provider. New content goes there and old content stays. Both are listed,
// read, replaced, copied and deleted alike.
func TestMountWithNewProvider(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMoveFixture(t, l)
		onDisk := f.disk()
		alice := f.alice
		old, kept := alice.Upload("/home/alice", "old", []byte("on the disk")), alice.Upload("/home/alice", "kept",
			[]byte("stays there"))
		bucket := l.RootOnS3(t, M{"uploadMode": "worker"})
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

		if id := alice.Upload("/home/alice", "old", []byte("replaced"), M{"conflict": "replace"}); id != old {
			t.Error("replaced under another id")
		}
		wantBody(t, alice.Get("/home/alice/old").OK(200), "replaced")
		r := alice.Post("/api/files/"+kept+"/copy", M{"targetPath": "/home/alice", "newName": "copy"}).OK(200)
		waitForJob(t, alice, r.Text("jobId"))
		wantBody(t, alice.Get("/home/alice/copy").OK(200), "stays there")
		f.sweepAfterGrace()
		count(1, 3) // the copy is stored where new content goes
		alice = f.alice
		wantUsed(t, alice, 8+13+11+11, 4)

		alice.Delete("/api/files/" + kept).OK(200)
		alice.Delete("/api/files/" + old).OK(200)
		f.sweepAfterGrace()
		count(0, 2)
		wantBody(t, f.alice.Get("/home/alice/copy").OK(200), "stays there")
	}, apptest.ReachLoopback)
}

// The garbage of an unreachable store stays until the store is back. Meanwhile the other stores are
// collected. Other objects of a bucket are kept.
func TestBucketGarbageCollection(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMoveFixture(t, l)
		near, bucket := f.bucket(t, nil)
		server := s3test.NewProxy(t, bucket)
		far, there := f.bucket(t, M{"endpoint": server.Endpoint, "pathPrefix": "ours"})
		foreign := []string{"holiday.jpg", "ours/ab/readme.txt", "theirs/ab/00112233445566778899aabbccddeeff",
			"ab/00112233445566778899aabbccddeeff.png"}
		for _, key := range foreign {
			putObject(t, there, key, "somebody else's")
		}
		onDisk := f.disk()
		for _, in := range []location{near, far, onDisk} {
			f.alice.Delete("/api/files/" + f.newFolder(t, in, smallFiles()).id).OK(200)
		}
		server.Down()
		f.sweepAfterGrace()
		if near, far, disk := near.objects(t), far.objects(t), onDisk.objects(t); near != 0 || far != 5 || disk != 0 {
			t.Errorf("left while a store is unreachable: %d in the other bucket, %d in its own, %d on the disk", near,
				far,
				disk)
		}
		server.Restore()
		f.sweepAfterGrace()
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
			if text := getObject(t, there, key); text != "somebody else's" {
				t.Errorf("%s: %q", key, text)
			}
		}
	}, apptest.ReachLoopback)
}

// Abuse case C126: no answer of a store changes a row. A store that denies having any object causes
// a 5xx for requests of bytes. The files stay listed and are readable again when it recovers.
func TestStoreThatLostEverything(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMoveFixture(t, l)
		_, bucket := f.bucket(t, nil)
		server := s3test.NewProxy(t, bucket)
		in, _ := f.bucket(t, M{"endpoint": server.Endpoint})
		moved := f.newFolder(t, in, smallFiles())
		bytes, files := usedQuota(f.alice)
		listed := listNames(f.alice, in.path+"/box")
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
		server.SetBefore(answerNoSuchKey)
		for how, link := range moved.links {
			wantStatus(t, how, l.Client(t).Get(link), 500, "INTERNAL_ERROR")
		}
		moved.checkJobEnded(t, moved.startMove(f.disk()), "nothing was moved")
		for range 2 {
			f.sweepAfterGrace()
		}
		wantStrings(t, "the folder", listNames(f.alice, in.path+"/box"), listed...)
		wantUsed(t, f.alice, bytes, files)
		moved.checkLocation(t, in)
		server.SetBefore(nil)
		delete(moved.links, "one (signed)")
		delete(moved.links, "locked")
		moved.checkLinks(t, l.Client(t))
	}, apptest.ReachLoopback, apptest.WithoutObjectCache)
}
