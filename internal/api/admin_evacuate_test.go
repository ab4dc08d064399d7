package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
)

// evacuation is the evacuation of the first provider, on which alice has a file with a copy and a
// version, and a file in the trash.
type evacuation struct {
	t            *testing.T
	l            *apptest.Larder
	admin, alice *apptest.Client
	from, to     string            // providers
	contents     map[string]string // of files, by id
	etags        map[string]string // likewise
	version      string            // path of the version
	trashed      string            // entry in the trash
}

// newEvacuation puts files on the first provider. The provider to has none, and no mount.
func newEvacuation(t *testing.T, l *apptest.Larder) *evacuation {
	t.Helper()
	e := &evacuation{t: t, l: l, admin: l.Admin(t), alice: l.User(t, "alice"), contents: map[string]string{},
		etags: map[string]string{}}
	e.from = e.admin.Get(providersPath).OK(200).Text("providers.0.id")
	e.to = addProvider(e.admin, "vault")
	id := e.upload("a.txt", "the first version")
	l.Clock.Advance(time.Minute)
	e.alice.Upload("/home/alice", "a.txt", []byte("the second version"), M{"conflict": "replace"})
	e.contents[id] = "the second version"
	list := e.alice.Get("/api/files/" + id + "/versions").OK(200)
	e.version = fmt.Sprint("/api/files/", id, "/versions/", list.Int("versions.0.until"))
	e.alice.Post("/api/files/"+id+"/copy", M{"targetPath": "/home/alice", "newName": "copy.txt"}).OK(200)
	e.contents[entryIDOf(e.alice, "/home/alice", "copy.txt")] = "the second version"
	e.trashed = e.alice.Upload("/home/alice", "trash.txt", []byte("in the trash"))
	e.alice.Delete("/api/files/" + e.trashed + "?trash=true").OK(200)
	e.upload("b.txt", strings.Repeat("another file", 50))
	for id := range e.contents {
		e.etags[id] = e.read(id).Header.Get("ETag")
	}
	return e
}

func (e *evacuation) upload(name, content string) (id string) {
	e.t.Helper()
	id = e.alice.Upload("/home/alice", name, []byte(content))
	e.contents[id] = content
	return id
}

func (e *evacuation) read(id string) *apptest.Reply {
	e.t.Helper()
	return e.alice.Get("/api/files/"+id+"/download", "Sec-Fetch-Dest", "image").OK(200)
}

// checkReadable checks that every file has its content and its ETag.
func (e *evacuation) checkReadable(when string) {
	e.t.Helper()
	for id, content := range e.contents {
		r := e.read(id)
		if string(r.Body) != content || e.etags[id] != "" && r.Header.Get("ETag") != e.etags[id] {
			e.t.Errorf("%s: file %s is %.30q, ETag %s, want %.30q, %s", when, id, r.Body, r.Header.Get("ETag"), content,
				e.etags[id])
		}
	}
}

// start requests the evacuation and returns the path of its job.
func (e *evacuation) start(body M) (job string) {
	e.t.Helper()
	body["targetProviderId"] = e.to
	return "/api/files/jobs/" + e.admin.Post(providersPath+"/"+e.from+"/evacuate", body).OK(202).Text("jobId")
}

// holdJobs occupies the job slots of the administrator. release frees them.
func (e *evacuation) holdJobs() (release func()) {
	e.t.Helper()
	return (&accountArtifacts{l: e.l, id: callerID(e.admin), name: "admin"}).blockJobs(e.t)
}

func (e *evacuation) mountedOn() string {
	e.t.Helper()
	return e.admin.Get(mountsPath).OK(200).Text("mounts.0.providerId")
}

// finish lets time pass until the old objects are gone and the job has ended.
func (e *evacuation) finish(job string) {
	e.t.Helper()
	waitUntil(e.t, "the mount is on the target", func() bool { return e.mountedOn() == e.to })
	e.l.Clock.Advance(time.Hour)
	e.l.Sweep()
	e.l.Clock.Advance(time.Minute)
	var end *apptest.Reply
	waitUntil(e.t, "the end of the evacuation", func() bool {
		end = e.admin.Get(job).OK(200)
		return jobEnded(end.Text("job.status"))
	})
	if end.Text("job.status") != "completed" || end.Int("job.progress") != 100 || end.Text("job.type") != "evacuate" {
		e.t.Errorf("job %s", end.Body)
	}
	e.admin.CSRF = e.admin.Get("/api/auth/csrf-token").OK(200).Text("token")
	e.alice = e.l.SignIn(e.t, "alice", "password of alice")
}

// wantNotice checks the newest notification of the administrator, who started the evacuation, and
// that alice has none.
func (e *evacuation) wantNotice(fields M) {
	e.t.Helper()
	newest := e.admin.Get(myNotifications).OK(200)
	want := M{"kind": "job", "jobType": "evacuate", "path": ""}.With(fields)
	for name, value := range want {
		wantJSON(e.t, "the notification's "+name, newest.Value("notifications.0."+name), value)
	}
	wantJSON(e.t, "the notifications of alice", e.alice.Get(myNotifications).OK(200).Value("notifications"), []any{})
}

// Addition: an evacuation moves files, versions and the trash, each object once, while everything
// stays readable and new files go to the target. Its provider can be deleted afterwards.
func TestEvacuation(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		e := newEvacuation(t, l)
		begun := newUploadSession(e.alice, "/home/alice", "late.txt", 4)
		release := e.holdJobs()
		job := e.start(M{})
		if on := e.mountedOn(); on != e.from {
			t.Errorf("the mount is on %s before the end", on)
		}
		e.upload("new.txt", "came meanwhile")
		if n := len(bucketObjects(t, l, "vault")); n != 1 {
			t.Errorf("%d objects in the target, want the new one", n)
		}
		e.admin.Put(mountsPath+"/"+e.admin.Get(mountsPath).OK(200).Text("mounts.0.id"), M{"name": "Renamed"}).OK(200)
		e.upload("new2.txt", "came after a change of the mount")
		e.alice.Post(e.version+"/restore", nil).OK(200)
		for id, content := range e.contents {
			if content == "the second version" && e.alice.Get("/api/files/"+id).OK(200).Text("file.name") == "a.txt" {
				e.contents[id], e.etags[id] = "the first version", ""
			}
		}
		e.checkReadable("before the job")
		release()
		waitUntil(t, "the mount is on the target", func() bool { return e.mountedOn() == e.to })
		e.checkReadable("after the job")
		if n := len(bucketObjects(t, l, "vault")); n != 6 {
			t.Errorf("%d objects in the target, want 6", n)
		}

		// A session that began before ends in the old provider. Its object is moved too.
		etag := putRaw(e.alice, begun, []byte("late")).OK(200).Text("etag")
		e.contents[e.alice.Post("/api/files/upload-complete", M{"sessionId": begun, "etag": etag}).OK(200).
			Text("file.id")] = "late"
		if n := queryInt(t, l, "SELECT COUNT(*) FROM objects WHERE provider_id = $1", e.from); n != 1 {
			t.Errorf("%d objects in the old provider, want that of the session", n)
		}
		l.Clock.Advance(time.Minute)
		waitUntil(t, "the object of the session is moved", func() bool {
			return queryInt(t, l, "SELECT COUNT(*) FROM objects WHERE provider_id = $1", e.from) == 0
		})
		e.finish(job)
		e.wantNotice(M{"status": "completed", "name": "local", "target": "vault"})
		e.checkReadable("at the end")
		// to another mount of the target
		addMount(e.admin, e.to, "/other")
		addRule(e.admin, M{"pathPattern": "/other/**", "effect": "allow", "role": "user"})
		e.alice.Post("/api/trash/"+e.trashed+"/restore", M{"targetPath": "/other"}).OK(200)
		e.contents[e.trashed] = "in the trash"
		e.checkReadable("after the restore")
		if n := len(bucketObjects(t, l, "default")); n != 0 {
			t.Errorf("%d objects are left", n)
		}
		e.admin.Delete(providersPath + "/" + e.from).OK(200)
		checkFsckClean(t, l, "after the evacuation")
		e.checkReadable("without the old provider")
	}, withTrash)
}

// Providers that are part of an evacuation refuse mounts, other evacuations and deletions. Wrong
// requests change nothing.
func TestEvacuationRefuses(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		e := newEvacuation(t, l)
		third := addProvider(e.admin, "third")
		evacuate := func(c *apptest.Client, from string, body M) *apptest.Reply {
			return c.Post(providersPath+"/"+from+"/evacuate", body)
		}
		to := M{"targetProviderId": e.to}
		unchanged := watchTables(t, l)
		l.Client(t).Post(providersPath+"/"+e.from+"/evacuate", to).Fails(401, "UNAUTHORIZED")
		evacuate(e.alice, e.from, to).Fails(403, "FORBIDDEN")
		evacuate(e.admin, "none", to).Fails(404, "NOT_FOUND")
		for _, wrong := range []M{{}, {"targetProviderId": e.from}, {"targetProviderId": "none"},
			{"targetProviderId": e.to, "bytesPerSecond": 0}, {"targetProviderId": e.to, "bytesPerSecond": "fast"},
			{"targetProviderId": e.to, "dropSigned": 7}} {
			evacuate(e.admin, e.from, wrong).Fails(400, "VALIDATION_ERROR")
		}
		unchanged("refused evacuations")

		release := e.holdJobs()
		job := e.start(M{})
		mount := mountsPath + "/" + e.admin.Get(mountsPath).OK(200).Text("mounts.0.id")
		evacuate(e.admin, e.from, to).Fails(409, "OPERATION_FAILED")
		evacuate(e.admin, e.from, M{"targetProviderId": third}).Fails(409, "OPERATION_FAILED")
		evacuate(e.admin, e.to, M{"targetProviderId": third}).Fails(409, "OPERATION_FAILED")
		evacuate(e.admin, third, M{"targetProviderId": e.from}).Fails(409, "OPERATION_FAILED")
		e.admin.Post(mountsPath, M{"providerId": e.from, "mountPath": "/m", "name": "m"}).Fails(409, "OPERATION_FAILED")
		e.admin.Put(mount, M{"providerId": third}).Fails(409, "OPERATION_FAILED")
		e.admin.Put(mount, M{"providerId": e.from}).OK(200)
		for _, id := range []string{e.from, e.to} {
			e.admin.Delete(providersPath+"/"+id).Fails(409, "OPERATION_FAILED")
		}

		pause := e.admin.Post(job+"/pause", nil).OK(200)
		wantJSON(t, "paused", []any{pause.Value("job.status"), pause.Value("job.paused")}, []any{"pending", true})
		e.admin.Post(job+"/pause", nil).OK(200)
		for _, do := range []string{"/pause", "/resume"} {
			e.alice.Post(job+do, nil).Fails(404, "NOT_FOUND")
			e.admin.Post("/api/files/jobs/none"+do, nil).Fails(404, "NOT_FOUND")
			moved := e.alice.Post("/api/files/"+mkdir(e.alice, "/home/alice", "folder"+do[1:])+"/move",
				M{"targetPath": "/home/alice", "newName": "moved" + do[1:]}).OK(200).Text("jobId")
			e.alice.Post("/api/files/jobs/"+moved+do, nil).Fails(409, "OPERATION_FAILED")
		}
		release()
		l.Clock.Advance(time.Minute)
		wantJSON(t, "still paused", e.admin.Get(job).OK(200).Value("job.paused"), true)
		resumed := e.admin.Post(job+"/resume", nil).OK(200)
		wantJSON(t, "resumed", resumed.Value("job.paused"), false)
		e.finish(job)
		e.admin.Post(job+"/pause", nil).Fails(409, "OPERATION_FAILED")
		e.admin.Post(job+"/resume", nil).Fails(409, "OPERATION_FAILED")
		evacuate(e.admin, e.to, M{"targetProviderId": third}).OK(202)
	}, withTrash)
}

// Addition: the objects of one mount are moved, those of its versions and its trash too. Other
// mounts of the provider are left alone.
func TestEvacuationOfAMount(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		e := newEvacuation(t, l)
		root := mountsPath + "/" + e.admin.Get(mountsPath).OK(200).Text("mounts.0.id")
		addMount(e.admin, e.from, "/other")
		other := e.admin.Upload("/other", "stays.txt", []byte("it stays"))
		begun := newUploadSession(e.alice, "/home/alice", "late.txt", 4)
		to := M{"targetProviderId": e.to}
		e.alice.Post(root+"/evacuate", to).Fails(403, "FORBIDDEN")
		e.admin.Post(mountsPath+"/none/evacuate", to).Fails(404, "NOT_FOUND")
		for _, wrong := range []string{"none", e.from} {
			e.admin.Post(root+"/evacuate", M{"targetProviderId": wrong}).Fails(400, "VALIDATION_ERROR")
		}
		release := e.holdJobs()
		job := "/api/files/jobs/" + e.admin.Post(root+"/evacuate", to).OK(202).Text("jobId")
		e.admin.Post(root+"/evacuate", to).Fails(409, "OPERATION_FAILED")
		e.admin.Post(providersPath+"/"+e.from+"/evacuate", to).Fails(409, "OPERATION_FAILED")
		e.admin.Post(providersPath+"/"+e.to+"/evacuate", M{"targetProviderId": e.from}).Fails(409, "OPERATION_FAILED")
		e.upload("new.txt", "came meanwhile")
		if n := len(bucketObjects(t, l, "vault")); n != 1 {
			t.Errorf("%d objects in the target, want the new one", n)
		}
		e.alice.Post(e.version+"/restore", nil).OK(200)
		e.contents[entryIDOf(e.alice, "/home/alice", "a.txt")] = "the first version"
		e.etags = map[string]string{}
		release()
		waitUntil(t, "the mount is on the target", func() bool { return e.mountedOn() == e.to })
		etag := putRaw(e.alice, begun, []byte("late")).OK(200).Text("etag")
		e.contents[e.alice.Post("/api/files/upload-complete", M{"sessionId": begun, "etag": etag}).OK(200).
			Text("file.id")] = "late"
		l.Clock.Advance(time.Minute)
		end := waitForJob(t, e.admin, strings.TrimPrefix(job, "/api/files/jobs/"))
		wantJSON(t, "the job", []any{end.Value("job.status"), end.Value("job.progress")}, []any{"completed", 100})
		e.wantNotice(M{"status": "completed", "name": "/", "target": "vault"})
		e.checkReadable("at the end")
		inOld := queryInt(t, l, "SELECT COUNT(*) FROM objects WHERE provider_id = $1", e.from)
		if inOld != 1 {
			t.Errorf("%d objects are in the old provider, want that of the other mount", inOld)
		}
		wantBody(t, e.admin.Get("/api/files/"+other+"/download", "Sec-Fetch-Dest", "image").OK(200), "it stays")
		checkFsckClean(t, l, "after the evacuation")
	}, withTrash)
}

// Providers of an evacuation are not deleted, even if they have neither mounts nor objects.
func TestEvacuatedProviderStays(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		e := &evacuation{t: t, l: l, admin: l.Admin(t)}
		e.from, e.to = addProvider(e.admin, "empty"), addProvider(e.admin, "vault")
		release := e.holdJobs()
		job := e.start(M{})
		for _, id := range []string{e.from, e.to} {
			e.admin.Delete(providersPath+"/"+id).Fails(409, "OPERATION_FAILED")
		}
		release()
		waitUntil(t, "the end of the evacuation",
			func() bool { return e.admin.Get(job).OK(200).Text("job.status") == "completed" })
		for _, id := range []string{e.from, e.to} {
			e.admin.Delete(providersPath + "/" + id).OK(200)
		}
	})
}

// A running job stops when it is paused, and moves nothing more.
func TestRunningEvacuationIsPaused(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		e := newEvacuation(t, l)
		job := e.start(M{"bytesPerSecond": 1})
		waitUntil(t, "the job runs", func() bool { return e.admin.Get(job).OK(200).Text("job.status") == "running" })
		pause := e.admin.Post(job+"/pause", nil).OK(200)
		wantJSON(t, "paused", []any{pause.Value("job.status"), pause.Value("job.paused")}, []any{"pending", true})
		waitUntil(t, "the job has stopped",
			func() bool { return strings.Contains(l.Log.String(), "another process took over a job") })
		if n := queryInt(t, l, "SELECT COUNT(*) FROM objects WHERE provider_id = $1", e.to); n != 0 {
			t.Errorf("%d objects were moved", n)
		}
		e.checkReadable("while it is paused")
	}, withTrash)
}

// The old objects in a bucket that signs addresses stay until the last address that it may have
// signed has ended, unless dropSigned is set.
func TestEvacuationKeepsSignedAddresses(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		var buckets [2]s3test.Bucket
		var jobs, from [2]string
		admin := l.Admin(t)
		for i := range 2 { // the second one drops signed addresses
			path := fmt.Sprint("/signed", i)
			from[i], buckets[i] = l.S3Provider(t, M{"uploadMode": "worker"})
			addMount(admin, from[i], path)
			admin.Upload(path, "a.txt", []byte("signed"))
			e := &evacuation{t: t, l: l, admin: admin, from: from[i], to: addProvider(admin, fmt.Sprint("vault", i))}
			jobs[i] = e.start(M{"dropSigned": i == 1})
		}
		check := func(when string, kept, dropped int) {
			t.Helper()
			l.Sweep()
			wantBucketObjects(t, when, buckets[0], kept)
			wantBucketObjects(t, when, buckets[1], dropped)
		}
		waitUntil(t, "the objects are moved", func() bool {
			return queryInt(t, l, "SELECT COUNT(*) FROM objects WHERE provider_id IN ($1, $2)", from[0], from[1]) == 0
		})
		l.Clock.Advance(time.Hour - time.Minute)
		check("within the grace period", 1, 1)
		l.Clock.Advance(time.Minute)
		check("after the grace period", 1, 0)
		l.Clock.Advance(7*24*time.Hour - 61*time.Minute)
		check("before the end of the addresses", 1, 0)
		l.Clock.Advance(time.Minute)
		check("after the end of the addresses", 0, 0)
		l.Clock.Advance(time.Minute)
		admin = l.Admin(t)
		for i, job := range jobs {
			waitUntil(t, "the end of the evacuation",
				func() bool { return admin.Get(job).OK(200).Text("job.status") == "completed" })
			admin.Delete(providersPath + "/" + from[i]).OK(200)
		}
	}, apptest.ReachLoopback)
}
