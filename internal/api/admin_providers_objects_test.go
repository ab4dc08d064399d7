package api_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// putWithKey uploads a file in one request, below a key's root, and returns the id.
func putWithKey(key *apptest.Client, name, body string) string {
	return key.Post("/api/upload", body, "X-File-Name", name).OK(200).Text("fileId")
}

// A provider's bucket and prefix can change only while the store has no objects and no uploads
// under way. Its other fields can change at any time.
func TestProvidersWithObjects(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id := addProvider(admin, "one", M{"pathPrefix": "p"})
		mount := addMount(admin, id, "/one")
		key := admin.Key(M{"uploadPath": "/one"})
		path := providersPath + "/" + id
		moves := func(what string, want int) {
			t.Helper()
			code := map[int]string{409: "OPERATION_FAILED"}[want]
			for _, body := range []M{{"bucket": "two"}, {"pathPrefix": "q"}, {"pathPrefix": nil}} {
				wantStatus(t, fmt.Sprint(what, ", PUT of ", body), admin.Put(path, body), want, code)
			}
			wantStatus(t, what+", DELETE", admin.Delete(path), 409, "OPERATION_FAILED")
		}
		file := putWithKey(key, "small.txt", "small")
		moves("a file", 409)
		if _, err := os.Stat(filepath.Join(l.Apps[0].Config.ObjectDir, "two")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a refused change made a directory: %v", err)
		}
		wantJSON(t, "the name", admin.Put(path,
			M{"name": "N", "publicDomain": "cdn.example.org", "redirect": true, "uploadMode": "worker"}).OK(200).
			Value("provider.name"), "N")
		wantJSON(t, "the same bucket and prefix",
			admin.Put(path, M{"bucket": "one", "pathPrefix": "/p/", "type": "store_a"}).OK(200).
				Value("provider.pathPrefix"), "p")
		wantStatus(t, "another type", admin.Put(path, M{"type": "store_b"}), 400, "VALIDATION_ERROR")
		admin.Put(path, M{"redirect": false, "publicDomain": ""}).OK(200)

		admin.Delete("/api/files/" + file).OK(200)
		moves("garbage", 409)
		collectGarbage(l, admin)
		if left := bucketObjects(t, l, "one"); len(left) != 0 {
			t.Fatalf("objects left: %q", left)
		}
		session := newUploadSession(admin, "/one", "f", 5)
		moves("an open session", 409)
		putRaw(admin, session, "hello").OK(200)
		moves("a session with bytes", 409)
		abortUpload(admin, session).OK(200)
		moves("the bytes of an aborted session", 409)
		collectGarbage(l, admin)
		execAndRaiseVersion(t, l, "UPDATE upload_sessions SET kept_until = $1 WHERE id = $2",
			l.Clock.Now().UnixMilli()+1e9, session)
		moves("kept parts", 409)
		execAndRaiseVersion(t, l, "UPDATE upload_sessions SET kept_until = NULL WHERE id = $1", session)

		// Keys that uploads have recorded in advance do not count as objects.
		wantJSON(t, "bucket", admin.Put(path, M{"bucket": "two", "pathPrefix": "q/r"}).OK(200).Value("provider.bucket"),
			"two")
		for i := range 2 * len(l.Apps) {
			putWithKey(key, fmt.Sprintf("f%d", i), fmt.Sprint("body ", i))
			wantBody(t, admin.Get(fmt.Sprintf("/one/f%d", i)).OK(200), fmt.Sprint("body ", i))
		}
		large := strings.Repeat("x", 300<<10)
		putWithKey(key, "large", large)
		admin.Upload("/one", "by session", []byte("s"))
		wantBody(t, admin.Get("/one/large").OK(200), large)
		for _, object := range bucketObjects(t, l, "two") {
			if !strings.HasPrefix(object, "q/r/") {
				t.Errorf("the object %s has another prefix", object)
			}
		}
		if n, none := len(bucketObjects(t, l, "two")), len(bucketObjects(t, l, "one")); n != 2*len(l.Apps)+2 ||
			none != 0 {
			t.Errorf("%d objects in the new bucket, %d in the old one", n, none)
		}

		// An empty provider can be deleted even with recorded keys. With files left in it, it
		// cannot, even without a mount.
		wantStatus(t, "DELETE with a mount", admin.Delete(path), 409, "OPERATION_FAILED")
		other := addProvider(admin, "three")
		admin.Put(mountsPath+"/"+mount, M{"providerId": other}).OK(200)
		wantStatus(t, "DELETE with objects", admin.Delete(path), 409, "OPERATION_FAILED")
		for _, item := range listNames(admin, "/one") {
			admin.Delete("/api/files/" + entryIDOf(admin, "/one", item)).OK(200)
		}
		wantStatus(t, "DELETE with garbage", admin.Delete(path), 409, "OPERATION_FAILED")
		collectGarbage(l, admin)
		admin.Delete(path).OK(200)
		l.Sweep()
		wantJSON(t, "after it", admin.Get("/api/public/health/ready").Status, 200)
	})
}

// An upload that is acknowledged while its provider changes its bucket, or is deleted, can be read.
func TestProviderChangesAgainstUploads(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id := addProvider(admin, "a0")
		mount := addMount(admin, id, "/race")
		key := admin.Key(M{"uploadPath": "/race"})
		for round := range 25 {
			name := fmt.Sprint("f", round)
			replies := runConcurrently(t, admin, 3, func(c *apptest.Client, i int) *apptest.Reply {
				switch i {
				case 0:
					return key.In(t).Post("/api/upload", "body", "X-File-Name", name)
				case 1:
					return c.Put(providersPath+"/"+id, M{"bucket": fmt.Sprint("a", round%3+1)})
				}
				return c.Put(mountsPath+"/"+mount, M{"priority": round})
			})
			countStatuses(t, replies)
			if replies[0].Status != 200 {
				t.Errorf("upload: %d %s", replies[0].Status, replies[0].Body)
				continue
			}
			wantBody(t, admin.Get("/race/"+name).OK(200), "body")
			admin.Delete("/api/files/" + replies[0].Text("fileId")).OK(200)
			collectGarbage(l, admin)
		}
		for round := range 15 { // of a mount's creation and its provider's deletion, one succeeds
			other := addProvider(admin, "gone")
			replies := runConcurrently(t, admin, 2, func(c *apptest.Client, i int) *apptest.Reply {
				if i == 0 {
					return c.Delete(providersPath + "/" + other)
				}
				return c.Post(mountsPath, M{"providerId": other, "mountPath": fmt.Sprint("/m", round), "name": "M"})
			})
			countStatuses(t, replies)
			if deleted, mounted := replies[0].Status == 200, replies[1].Status == 201; deleted == mounted {
				t.Errorf("round %d: deleted %v, mounted %v", round, deleted, mounted)
			}
		}
	})
}

// Abuse case C20: providers on one bucket, with equal and nested prefixes.
func TestProvidersShareABucket(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		all := []string{addProvider(admin, "shared", M{"pathPrefix": "a"}),
			addProvider(admin, "shared", M{"pathPrefix": "a"}), addProvider(admin, "shared", M{"pathPrefix": "a/more"})}
		for i, id := range all {
			addMount(admin, id, fmt.Sprint("/s", i))
			admin.Upload(fmt.Sprint("/s", i), "f", []byte(fmt.Sprint("body ", i)))
		}
		nested := 0
		for _, object := range bucketObjects(t, l, "shared") {
			if !strings.HasPrefix(object, "a/") {
				t.Errorf("object %s", object)
			}
			if strings.HasPrefix(object, "a/more/") {
				nested++
			}
		}
		if nested != 1 {
			t.Errorf("%d objects below the nested prefix", nested)
		}
		moved := admin.Post("/api/files/"+entryIDOf(admin, "/s0", "f")+"/move",
			M{"targetPath": "/s2", "newName": "from s0"})
		if r := waitForJob(t, admin, moved.OK(200).Text("jobId")); r.Text("job.status") != "completed" {
			t.Errorf("job %s", r.Body)
		}
		const at = "/s2/from s0"
		spare := admin.Upload("/s1", "spare", []byte("spare"))
		admin.Delete("/api/files/" + spare).OK(200)
		for range 3 {
			collectGarbage(l, admin)
			wantBody(t, admin.Get(percentEncode(at)).OK(200), "body 0")
			wantBody(t, admin.Get("/s1/f").OK(200), "body 1")
			wantBody(t, admin.Get("/s2/f").OK(200), "body 2")
		}
		if _, err := os.Stat(filepath.Join(l.Apps[0].Config.ObjectDir, "shared", ".larder-store")); err != nil {
			t.Error(err)
		}
	})
}

// A provider whose directory is missing fails alone, and the readiness probe reports it. The others
// work, and nothing is written to the missing path.
func TestMissingStoreDirectory(t *testing.T) { // abuse case C126
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		l.Clock.Advance(1e9)
		id := addProvider(admin, "lost")
		addMount(admin, id, "/lost")
		admin.Upload("/lost", "f", []byte("in lost"))
		admin.Upload("/uploads", "f", []byte("in default"))
		begun := newUploadSession(admin, "/lost", "g", 5)
		here, away := filepath.Join(l.Apps[0].Config.ObjectDir, "lost"), filepath.Join(l.Apps[0].Config.ObjectDir,
			"away")
		if err := errors.Join(os.Rename(here, away), os.Mkdir(here, 0o700)); err != nil {
			t.Fatal(err)
		}
		for range 2 * len(l.Apps) {
			ready := admin.Get("/api/public/health/ready")
			if wantJSON(t, "ready", ready.Status, 503); ready.Object()["detail"] == "" {
				t.Error("no detail")
			}
			wantStatus(t, "its file", admin.Get("/lost/f"), 500, "INTERNAL_ERROR")
			wantStatus(t, "bytes", putRaw(admin, begun, "hello"), 500, "INTERNAL_ERROR")
			wantStatus(t, "another provider on its bucket", admin.Post(providersPath, newProvider(M{"bucket": "lost"})),
				500, "INTERNAL_ERROR")
			wantBody(t, admin.Get("/uploads/f").OK(200), "in default")
			admin.Upload("/uploads", "new", []byte("new"))
			list := admin.Get(providersPath).OK(200)
			wantJSON(t, "status", list.Value("providers.0.status"), "ok")
			wantJSON(t, "status of the lost one", list.Value("providers.1.status"), "unavailable")
			wantStrings(t, "listing", listNames(admin, "/lost"), "f")
		}
		l.Sweep()
		if entries, err := os.ReadDir(here); err != nil || len(entries) != 0 {
			t.Errorf("written to the missing directory: %v, %v", entries, err)
		}
		if err := errors.Join(os.Remove(here), os.Rename(away, here)); err != nil {
			t.Fatal(err)
		}
		for range len(l.Apps) {
			wantJSON(t, "ready", admin.Get("/api/public/health/ready").Status, 200)
			wantBody(t, admin.Get("/lost/f").OK(200), "in lost")
		}
		etag := putRaw(admin, begun, "hello").OK(200).Text("etag")
		completeUpload(admin, begun, etag).OK(200)
	})
}
