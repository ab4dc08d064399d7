package api_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

const evacuationsPath = "/api/admin/evacuations"

// Addition: administrators see how far an evacuation is, also one of another administrator, and
// pause and resume it.
func TestEvacuationIsShown(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		e := newEvacuation(t, l)
		wantJSON(t, "none", e.admin.Get(evacuationsPath).OK(200).Value("evacuations"), []any{})
		release := e.holdJobs()
		job := e.start(M{"bytesPerSecond": 1_000_000, "dropSigned": true})
		id := strings.TrimPrefix(job, "/api/files/jobs/")
		e.alice.Get(evacuationsPath).Fails(403, "FORBIDDEN")
		e.alice.Get(evacuationsPath+"/"+id).Fails(403, "FORBIDDEN")
		e.admin.Get(evacuationsPath+"/none").Fails(404, "NOT_FOUND")
		moved := e.alice.Post("/api/files/"+mkdir(e.alice, "/home/alice", "folder")+"/move",
			M{"targetPath": "/home/alice", "newName": "moved"}).OK(200).Text("jobId")
		e.admin.Get(evacuationsPath+"/"+moved).Fails(404, "NOT_FOUND")

		// another administrator
		e.admin.Post("/api/admin/users", M{"username": "bea", "password": "password of bea", "email": "bea@example.org",
			"role": "admin"}).OK(201)
		bea := l.SignIn(t, "bea", "password of bea")
		shown := bea.Get(evacuationsPath + "/" + id).OK(200).Value("evacuation").(map[string]any)
		wantJSON(t, "the list", bea.Get(evacuationsPath).OK(200).Value("evacuations"), []any{shown})
		// alice has two files, of which one shares its object with its copy, a version, and a file
		// in the trash
		wantJSON(t, "before the job", shown, M{"jobId": id, "providerId": e.from, "providerName": "local",
			"targetProviderId": e.to, "targetProviderName": "vault", "mountId": nil, "mountPath": "",
			"bytesPerSecond": 1_000_000, "dropSigned": true, "status": "pending", "paused": false, "progress": 0,
			"mounted": false, "totalObjects": nil, "leftObjects": 4, "doneBytes": 0,
			"leftBytes":     len("the first version") + len("the second version") + len("in the trash") + 50*len("another file"),
			"nextRemovalAt": nil, "reason": nil, "objectKey": "", "errorMessage": nil,
			"createdAt": l.Clock.Now().UnixMilli(), "completedAt": nil})
		wantJSON(t, "paused", bea.Post(job+"/pause", nil).OK(200).Value("job.paused"), true)
		wantJSON(t, "shown as paused", e.admin.Get(evacuationsPath+"/"+id).OK(200).Value("evacuation.paused"), true)
		bea.Get(job).Fails(404, "NOT_FOUND")
		wantJSON(t, "resumed", bea.Post(job+"/resume", nil).OK(200).Value("job.paused"), false)
		bea.Post("/api/files/jobs/"+moved+"/pause", nil).Fails(404, "NOT_FOUND")

		// the account that began it is no administrator any more
		me := "/api/admin/users/" + e.admin.Get("/api/auth/me").OK(200).Text("user.id")
		bea.Put(me, M{"role": "user"}).OK(200)
		former := l.SignIn(t, "admin", apptest.AdminPassword)
		former.Post(job+"/pause", nil).Fails(409, "OPERATION_FAILED")
		former.Post(job+"/resume", nil).Fails(409, "OPERATION_FAILED")
		wantJSON(t, "not paused", bea.Get(evacuationsPath+"/"+id).OK(200).Value("evacuation.paused"), false)
		bea.Put(me, M{"role": "admin"}).OK(200)
		e.admin = l.Admin(t)
		release()
		waitUntil(t, "all objects are moved", func() bool {
			return bea.Get(evacuationsPath+"/"+id).OK(200).Value("evacuation.mounted") == true
		})
		shown = bea.Get(evacuationsPath + "/" + id).OK(200).Value("evacuation").(map[string]any)
		wantJSON(t, "while old objects wait", M{"total": shown["totalObjects"], "left": shown["leftObjects"],
			"done": shown["doneBytes"], "leftBytes": shown["leftBytes"], "next": shown["nextRemovalAt"]},
			M{"total": 4, "left": 0, "done": 647, "leftBytes": 0, "next": l.Clock.Now().Add(time.Hour).UnixMilli()})
		e.finish(job)
		shown = e.admin.Get(evacuationsPath + "/" + id).OK(200).Value("evacuation").(map[string]any)
		wantJSON(t, "the end", M{"status": shown["status"], "left": shown["leftObjects"], "bytes": shown["leftBytes"],
			"next": shown["nextRemovalAt"], "reason": shown["reason"]},
			M{"status": "completed", "left": nil, "bytes": nil, "next": nil, "reason": nil})
		e.admin.Delete(providersPath + "/" + e.from).OK(200)
		wantJSON(t, "the name of a deleted provider",
			e.admin.Get(evacuationsPath+"/"+id).OK(200).Value("evacuation.providerName"), "")
	}, withTrash)
}

// The evacuation of a mount names the mount, and counts its objects alone.
func TestEvacuationOfAMountIsShown(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		e := newEvacuation(t, l)
		addMount(e.admin, e.from, "/other")
		e.admin.Upload("/other", "stays.txt", []byte("it stays"))
		mount := e.admin.Get(mountsPath).OK(200).Text("mounts.0.id")
		e.holdJobs()
		id := e.admin.Post(mountsPath+"/"+mount+"/evacuate", M{"targetProviderId": e.to}).OK(202).Text("jobId")
		shown := e.admin.Get(evacuationsPath + "/" + id).OK(200).Value("evacuation").(map[string]any)
		wantJSON(t, "the mount", M{"id": shown["mountId"], "path": shown["mountPath"], "limit": shown["bytesPerSecond"],
			"objects": shown["leftObjects"]}, M{"id": mount, "path": "/", "limit": nil, "objects": 4})
	}, withTrash)
}

// A failed evacuation says why: an object that is missing is named by its key.
func TestFailedEvacuationSaysWhy(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		e := newEvacuation(t, l)
		before := bucketObjects(t, l, "default")
		e.alice.Upload("/home/alice", "lost.txt", []byte("its bytes are lost"))
		var key string
		for _, name := range bucketObjects(t, l, "default") {
			if !slices.Contains(before, name) {
				key = filepath.ToSlash(name)
			}
		}
		if err := os.Remove(filepath.Join(l.Apps[0].Config.ObjectDir, "default", key)); err != nil {
			t.Fatal(err)
		}
		job := strings.TrimPrefix(e.start(M{}), "/api/files/jobs/")
		waitUntil(t, "the job fails", func() bool {
			return e.admin.Get(evacuationsPath+"/"+job).OK(200).Value("evacuation.status") == "failed"
		})
		reply := e.admin.Get(evacuationsPath + "/" + job).OK(200)
		wantJSON(t, "the reason", []any{reply.Value("evacuation.reason"), reply.Value("evacuation.objectKey")},
			[]any{"object_missing", key})
		if message := reply.Text("evacuation.errorMessage"); !strings.HasPrefix(message,
			"The object "+key+" is not in its storage.") {
			t.Errorf("the message %q", message)
		}
		e.wantNotice(M{"status": "failed", "name": "local", "target": "vault",
			"error": reply.Text("evacuation.errorMessage")})
	}, withTrash)
}
