package api_test

import (
	"fmt"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/site"
)

// Abuse case C20, in a bucket: providers with equal and nested prefixes, one of them at another
// name of the server.
func TestProvidersShareABucketOfAServer(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		first, bucket := l.S3Provider(t, M{"pathPrefix": "a", "uploadMode": "worker"})
		more := func(prefix, endpoint string) string {
			return addBucketProvider(admin, bucket,
				M{"endpoint": endpoint, "pathPrefix": prefix, "uploadMode": "worker"})
		}
		all := []string{first, more("a", bucket.Endpoint), more("a/more", bucket.Endpoint),
			more("a", s3test.NewProxy(t, bucket).Endpoint)}
		for i, id := range all {
			addMount(admin, id, fmt.Sprint("/s", i))
			admin.Upload(fmt.Sprint("/s", i), "f", []byte(fmt.Sprint("body ", i)))
		}
		nested := 0
		for _, key := range bucket.Keys(t) {
			if !strings.HasPrefix(key, "a/") {
				t.Errorf("object %s", key)
			}
			if strings.HasPrefix(key, "a/more/") {
				nested++
			}
		}
		wantJSON(t, "below the nested prefix", nested, 1)
		for i := range all {
			to := (i + 1) % len(all)
			moved := admin.Post("/api/files/"+entryIDOf(admin, fmt.Sprint("/s", i), "f")+"/move",
				M{"targetPath": fmt.Sprint("/s", to), "newName": fmt.Sprint("from ", i)})
			if r := waitForJob(t, admin, moved.OK(200).Text("jobId")); r.Text("job.status") != "completed" {
				t.Errorf("job %s", r.Body)
			}
		}
		spare := admin.Upload("/s1", "spare", []byte("spare"))
		admin.Delete("/api/files/" + spare).OK(200)
		for range 3 {
			collectGarbage(l, admin)
			for _, a := range l.Apps {
				if err := a.Fsck.Sweep(t.Context()); err != nil {
					t.Error(err)
				}
			}
			for i := range all {
				wantBody(t, admin.Get(fmt.Sprintf("/s%d/from%%20%d", (i+1)%len(all), i)).OK(200),
					fmt.Sprint("body ", i))
			}
		}
		wantJSON(t, "objects", len(bucket.Keys(t)), len(all))
		for i, id := range all { // no provider deletes the objects of another
			wantStatus(t, "DELETE of a provider with objects", admin.Delete(providersPath+"/"+id), 409,
				"OPERATION_FAILED")
			admin.Delete("/api/files/" + entryIDOf(admin, fmt.Sprint("/s", (i+1)%len(all)), fmt.Sprint("from ", i))).
				OK(200)
		}
		collectGarbage(l, admin)
		wantBucketObjects(t, "in the end", bucket, 0)
	}, apptest.ReachLoopback)
}

// Abuse case C22, in a bucket: of a mount's deletion and an upload into it, exactly one succeeds,
// and nothing is left over.
func TestMountDeletionRacesUploadsToABucket(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.ChangeSettings(t, func(s *site.Settings) { s.RateLimitEnabled = false })
		admin := l.Admin(t)
		provider, bucket := l.S3Provider(t, M{"uploadMode": "worker"})
		for round := range 20 {
			path := fmt.Sprint("/race", round)
			id := addMount(admin, provider, path)
			begun := newUploadSession(admin, path+"/new", "f", 5)
			etag := putRaw(admin, begun, "hello").OK(200).Text("etag")
			replies := runConcurrently(t, admin, 2, func(c *apptest.Client, i int) *apptest.Reply {
				if i == round%2 {
					return c.Delete(mountsPath + "/" + id)
				}
				return completeUpload(c, begun, etag)
			})
			deleted, uploaded := replies[round%2], replies[1-round%2]
			switch fmt.Sprint(deleted.Status, " ", uploaded.Status) {
			case "200 404", "200 409":
				wantStatus(t, "the path", admin.Get(path+"/new/f"), 404, "NOT_FOUND")
				abortUpload(admin, begun).OK(200)
			case "409 200":
				wantBody(t, admin.Get(path+"/new/f").OK(200), "hello")
				admin.Delete("/api/files/" + uploaded.Text("file.id")).OK(200)
				admin.Delete(mountsPath + "/" + id).OK(200)
			default:
				t.Errorf("round %d: %s and %s", round, deleted.Body, uploaded.Body)
			}
		}
		collectGarbage(l, admin)
		l.Sweep()
		wantUsed(t, admin, 0, 0)
		wantJSON(t, "orphans", queryInt(t, l,
			"SELECT COUNT(*) FROM entries e WHERE e.parent_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM entries p "+
				"WHERE p.id = e.parent_id)"), 0)
		wantJSON(t, "objects", queryInt(t, l, "SELECT COUNT(*) FROM objects"), 0)
		wantJSON(t, "reserved", queryInt(t, l,
			"SELECT COALESCE(SUM(reserved_storage + reserved_files), 0) FROM quotas"), 0)
		wantBucketObjects(t, "in the end", bucket, 0)
	}, apptest.ReachLoopback)
}

// Abuse case C24, between a bucket and a disk: an upload session keeps the provider and the mount
// with which it began.
func TestUploadSessionsKeepTheirProvider(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		remote, bucket := l.S3Provider(t, M{"uploadMode": "worker"})
		disk := addProvider(admin, "disk")
		id := addMount(admin, remote, "/m")
		before, half := newUploadSession(admin, "/m", "before", 5), newUploadSession(admin, "/m", "half", 5)
		etag := putRaw(admin, half, "bytes").OK(200).Text("etag")
		admin.Put(mountsPath+"/"+id, M{"providerId": disk}).OK(200)
		completeUpload(admin, half, etag).OK(200)
		completeUpload(admin, before, putRaw(admin, before, "hello").OK(200).Text("etag")).OK(200)
		admin.Upload("/m", "new", []byte("new"))
		onDisk := newUploadSession(admin, "/m", "disk", 5)
		admin.Put(mountsPath+"/"+id, M{"providerId": remote}).OK(200)
		completeUpload(admin, onDisk, putRaw(admin, onDisk, "disks").OK(200).Text("etag")).OK(200)
		wantJSON(t, "objects in the bucket", len(bucket.Keys(t)), 2)
		wantJSON(t, "objects on the disk", len(bucketObjects(t, l, "disk")), 2)
		for _, body := range []M{{"type": "store_c"}, {"bucket": "another"}} {
			wantStatus(t, "the bucket is in use", admin.Put(providersPath+"/"+remote, body), 409, "OPERATION_FAILED")
		}

		kept := newUploadSession(admin, "/m", "kept", 5)
		etag = putRaw(admin, kept, "other").OK(200).Text("etag")
		over := addMount(admin, disk, "/m", M{"priority": 1})
		wantStatus(t, "a hidden mount gets no uploads", completeUpload(admin, kept, etag), 409, "OPERATION_FAILED")
		admin.Put(mountsPath+"/"+over, M{"priority": -1}).OK(200)
		completeUpload(admin, kept, etag).OK(200)
		wantJSON(t, "objects in the bucket", len(bucket.Keys(t)), 3)
		for range 2 {
			collectGarbage(l, admin)
			for name, body := range map[string]string{"half": "bytes", "before": "hello", "new": "new", "disk": "disks",
				"kept": "other"} {
				wantBody(t, admin.Get("/m/"+name).OK(200), body)
			}
		}
	}, apptest.ReachLoopback)
}
