package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
)

func isCopy(r *http.Request) bool { return r.Header.Get("X-Amz-Copy-Source") != "" }

// Whatever the store answers at completion, a file is made of the announced bytes, or no file is
// made and the session continues.
func TestDirectUploadWithFailingStore(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		proxy, bucket := rootBehindProxy(t, l)
		alice := l.User(t, "alice")
		const home = "/home/alice"
		fails := func(r *apptest.Reply) {
			t.Helper()
			if r.Status < 500 {
				t.Errorf("a failing store is reported as %d: %s", r.Status, r.Body)
			}
		}
		id, _, etag := beginAndSend(t, alice, home, "down", "12345")
		for name, hook := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
			"down": func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			},
			"no copies": func(w http.ResponseWriter, r *http.Request) bool {
				if isCopy(r) {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				return isCopy(r)
			},
			"200 with an error in it": func(w http.ResponseWriter, r *http.Request) bool {
				if isCopy(r) {
					fmt.Fprint(w,
						`<?xml version="1.0" encoding="UTF-8"?><Error><Code>InternalError</Code><Message>no</Message></Error>`)
				}
				return isCopy(r)
			},
		} {
			proxy.SetBefore(hook)
			t.Log(name)
			fails(completeUpload(alice, id, etag))
			wantReserved(t, l, 5, 1)
			wantUsed(t, alice, 0, 0)
		}
		proxy.SetBefore(nil)
		completeUpload(alice, id, etag).OK(200)
		wantBody(t, alice.Get(home+"/down").OK(200), "12345")

		// The copy is made and its answer is lost: the store has a complete copy.
		id, _, etag = beginAndSend(t, alice, home, "lost", "12345")
		proxy.SetAfter(func(answer *http.Response) {
			if isCopy(answer.Request) {
				answer.StatusCode = http.StatusInternalServerError
				answer.Header, answer.Body = http.Header{}, http.NoBody
			}
		})
		if r := completeUpload(alice, id, etag); r.Status != 200 {
			fails(r)
			proxy.SetAfter(nil)
			completeUpload(alice, id, etag).OK(200)
		}
		proxy.SetAfter(nil)
		wantBody(t, alice.Get(home+"/lost").OK(200), "12345")

		// Other bytes arrive after the check: before the second check by the copy, and afterwards.
		id, address, etag := beginAndSend(t, alice, home, "changed", "first")
		key := keyOfAddress(t, bucket, address)
		for _, late := range []bool{false, true} {
			mustPutToAddress(t, address, []byte("first"))
			var looks atomic.Int32
			proxy.SetBefore(func(_ http.ResponseWriter, r *http.Request) bool {
				if late && isCopy(r) || !late && r.Method == http.MethodHead && strings.HasSuffix(r.URL.Path, key) &&
					looks.Add(1) == 2 {
					if _, err := bucket.SDK(t).
						PutObject(t.Context(),
							&s3.PutObjectInput{Bucket: &bucket.Name, Key: &key,
								Body: strings.NewReader("other")}); err != nil {
						t.Error(err)
					}
				}
				return false
			})
			completeUpload(alice, id, etag).Fails(422, "OPERATION_FAILED")
			proxy.SetBefore(nil)
			completeUpload(alice, id, etag).Fails(422, "OPERATION_FAILED")
			wantReserved(t, l, 5, 1)
		}
		etag = mustPutToAddress(t, address, []byte("third"))
		completeUpload(alice, id, etag).OK(200)
		wantBody(t, alice.Get(home+"/changed").OK(200), "third")

		// The bytes disappear before the check and after it.
		id, address, etag = beginAndSend(t, alice, home, "gone", "12345")
		key = keyOfAddress(t, bucket, address)
		remove := func() {
			if _, err := bucket.SDK(t).DeleteObject(t.Context(),
				&s3.DeleteObjectInput{Bucket: &bucket.Name, Key: &key}); err != nil {
				t.Error(err)
			}
		}
		proxy.SetBefore(func(_ http.ResponseWriter, r *http.Request) bool {
			if isCopy(r) {
				remove()
			}
			return false
		})
		if r := completeUpload(alice, id, etag); r.Status != 422 && r.Status < 500 {
			t.Errorf("after the bytes disappeared: %d %s", r.Status, r.Body)
		}
		proxy.SetBefore(nil)
		completeUpload(alice, id, etag).Fails(422, "OPERATION_FAILED")
		// An object of another length, which our addresses do not permit.
		putObject(t, bucket, key, "123456")
		head, err := bucket.SDK(t).HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket.Name, Key: &key})
		if err != nil {
			t.Fatal(err)
		}
		completeUpload(alice, id, *head.ETag).Fails(422, "OPERATION_FAILED")
		wantReserved(t, l, 5, 1)
		wantUsed(t, alice, 15, 3)
		l.Clock.Advance(4 * time.Hour)
		l.Sweep()
		wantReserved(t, l, 0, 0)
		wantBucketObjects(t, "the end", bucket, 3)
	}, apptest.ReachLoopback)
}

// Abuse case C87: of many concurrent completions, one makes the file.
func TestDirectUploadIsCompletedOnce(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t)
		alice := l.User(t, "alice")
		id, _, etag := beginAndSend(t, alice, "/home/alice", "f", "12345")
		replies := make(chan *apptest.Reply, 20)
		for range cap(replies) {
			c := alice.Fork()
			go func() { replies <- completeUpload(c, id, etag) }()
		}
		first, ids := 0, map[string]bool{}
		for range cap(replies) {
			r := (<-replies).OK(200)
			ids[r.Text("file.id")] = true
			if r.Value("alreadyCompleted") != true {
				first++
			}
		}
		if first != 1 || len(ids) != 1 {
			t.Errorf("%d completions made %d files", first, len(ids))
		}
		wantUsed(t, alice, 5, 1)
		wantStrings(t, "home", listNames(alice, "/home/alice"), "f")
		l.Sweep() // unneeded copies are deleted immediately
		wantBucketObjects(t, "after the race", bucket, 2)
		l.Clock.Advance(2 * time.Hour)
		l.Sweep()
		wantBucketObjects(t, "the end", bucket, 1)
	}, apptest.ReachLoopback)
}

// Abuse case C96: the quota is released immediately. The bytes are deleted once no address works
// any more, and until then the session counts.
func TestDirectUploadAbortedOrExpired(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t)
		alice := l.User(t, "alice")
		const home = "/home/alice"
		id, address, etag := beginAndSend(t, alice, home, "aborted", "12345")
		abortUpload(alice, id).OK(200)
		wantReserved(t, l, 0, 0)
		abortUpload(alice, id).OK(200)
		completeUpload(alice, id, etag).Fails(409, "OPERATION_FAILED")
		putRaw(alice, id, "12345").Fails(409, "OPERATION_FAILED")
		mustPutToAddress(t, address, []byte("67890"))
		l.Sweep()
		wantBucketObjects(t, "aborted, the address still works", bucket, 1)

		gone, _, etag := beginAndSend(t, alice, home, "expired", "12345")
		l.Clock.Advance(time.Hour - time.Millisecond)
		l.Sweep()
		wantReserved(t, l, 5, 1)
		l.Clock.Advance(time.Millisecond)
		completeUpload(alice, gone, etag).Fails(410, "UPLOAD_SESSION_EXPIRED")
		putRaw(alice, gone, "12345").Fails(410, "UPLOAD_SESSION_EXPIRED")
		l.Sweep()
		wantReserved(t, l, 0, 0)
		wantBucketObjects(t, "expired", bucket, 2)
		l.Clock.Advance(50*time.Minute - time.Millisecond)
		l.Sweep()
		wantBucketObjects(t, "just before", bucket, 2)
		l.Clock.Advance(time.Millisecond)
		l.Sweep()
		wantBucketObjects(t, "swept", bucket, 0)

		alice = l.SignIn(t, "alice", "password of alice")
		many := func(n int, extra ...M) {
			t.Helper()
			for i := range n {
				abortUpload(alice, newUploadSession(alice, home, fmt.Sprint(i), 1, extra...)).OK(200)
			}
		}
		many(99)
		many(3, M{"uploadMode": "worker"})                        // these do not count
		many(3, M{"partCount": 2})                                // nor do sessions whose addresses end immediately
		open := newUploadSession(alice, home, "the hundredth", 1) // an open session counts as well
		postUploadSession(alice, home, "more", 1).Fails(409, "OPERATION_FAILED")
		postUploadSession(alice, home, "more", 1, M{"partCount": 2}).Fails(409, "OPERATION_FAILED")
		postUploadSession(l.User(t, "bob"), "/home/bob", "his", 1).OK(200)
		putRaw(alice, open, "x").OK(200) // its address works nevertheless
		abortUpload(alice, open).OK(200)
		postUploadSession(alice, home, "more", 1).Fails(409, "OPERATION_FAILED")
		l.Clock.Advance(time.Hour - time.Millisecond)
		postUploadSession(alice, home, "more", 1).Fails(409, "OPERATION_FAILED")
		l.Clock.Advance(time.Millisecond)
		abortUpload(alice, newUploadSession(alice, home, "more", 1)).OK(200)
		l.Clock.Advance(3 * time.Hour)
		l.Sweep()
		wantBucketObjects(t, "the end", bucket, 0)
		wantReserved(t, l, 0, 0)
	}, apptest.ReachLoopback)
}

// Abuse cases C22 and C24: a session is completed at the provider where it began, even if the mount
// gets another provider, and fails without its mount.
func TestDirectUploadWhileProvidersChange(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		mount, first := l.S3Mount(t, "/m")
		other, second := l.S3Provider(t)
		admin := l.Admin(t)
		id, _, etag := beginAndSend(t, admin, "/m", "pinned", "12345")
		split := postUploadSession(admin, "/m", "parts", 5, M{"partCount": 2}).OK(200)
		admin.Put("/api/admin/mounts/"+mount, M{"providerId": other}).OK(200)
		completeUpload(admin, id, etag).OK(200)
		mustPutToAddress(t, partURL(t, split, "parts", 1), []byte("67890"))
		admin.Post("/api/files/upload-complete", M{"sessionId": split.Text("sessionId")}).OK(200)
		wantBody(t, admin.Get("/m/pinned").OK(200), "12345")
		wantBody(t, admin.Get("/m/parts").OK(200), "67890")
		wantBucketObjects(t, "where it began", first, 3)
		wantBucketObjects(t, "elsewhere", second, 0)

		// A changed upload mode applies to later sessions only.
		id, _, etag = beginAndSend(t, admin, "/m", "before", "12345", M{"idempotencyKey": "k"})
		admin.Put("/api/admin/storage/providers/"+other, M{"uploadMode": "worker"}).OK(200)
		if r := postUploadSession(admin, "/m", "before", 5, M{"idempotencyKey": "k"}).
			OK(200); r.Text("sessionId") != id || r.Text("uploadMode") != "presigned" {
			t.Errorf("resumed: %s", r.Body)
		}
		if r := postUploadSession(admin, "/m", "later", 5).OK(200); r.Text("uploadMode") != "worker" {
			t.Errorf("later: %s", r.Body)
		}
		completeUpload(admin, id, etag).OK(200)

		// Without the mount the upload has no destination.
		admin.Put("/api/admin/storage/providers/"+other, M{"uploadMode": "auto"}).OK(200)
		gone := addMount(admin, other, "/gone")
		id, _, etag = beginAndSend(t, admin, "/gone", "f", "12345")
		admin.Delete("/api/admin/mounts/" + gone).OK(200)
		completeUpload(admin, id, etag).Fails(409, "OPERATION_FAILED")
		abortUpload(admin, id).OK(200)
		l.Clock.Advance(4 * time.Hour)
		l.Sweep()
		wantReserved(t, l, 0, 0)
		wantBucketObjects(t, "at the first provider", first, 2)
		wantBucketObjects(t, "at the second provider", second, 1)
	}, apptest.ReachLoopback)
}
