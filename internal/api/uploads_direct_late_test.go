package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/apptest"
)

// startSlowPut starts to send content to an address and returns a function that sends the end of
// it.
func startSlowPut(t *testing.T, address string, content []byte) (end func()) {
	t.Helper()
	body, more := io.Pipe()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPut, address, body)
	if err != nil {
		t.Fatal(err)
	}
	request.ContentLength = int64(len(content))
	done := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err == nil && response.StatusCode != 200 {
			err = errors.New(response.Status)
		}
		if err == nil {
			err = response.Body.Close()
		}
		done <- err
	}()
	half := len(content) / 2
	if _, err := more.Write(content[:half]); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		_, err := more.Write(content[half:])
		if err = errors.Join(err, more.Close(), <-done); err != nil {
			t.Fatalf("the end of a slow body: %v", err)
		}
	}
}

// Bytes of an expired, aborted or completed session that arrive in the store after their key was
// swept are deleted too, up to three days later, if they began before their address expired.
func TestDirectUploadArrivingLateIsDeleted(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t)
		alice := l.User(t, "alice")
		const home = "/home/alice"
		content := bytes.Repeat([]byte("x"), 100_000)
		id, done, etag := beginAndSend(t, alice, home, "done", "12345")
		completeUpload(alice, id, etag).OK(200)
		gone, aborted, _ := beginAndSend(t, alice, home, "aborted", "12345")
		abortUpload(alice, gone).OK(200)
		expired := postUploadSession(alice, home, "expired", len(content)).OK(200).Text("uploadUrl")
		end := startSlowPut(t, expired, content)

		l.Clock.Advance(time.Hour + 50*time.Minute) // all addresses have expired
		l.Sweep()
		wantBucketObjects(t, "swept", bucket, 1)
		end()
		wantBucketObjects(t, "a body that ends late", bucket, 2)
		checkFsckClean(t, l, "a body that ends late")
		wantReserved(t, l, 0, 0)
		l.Clock.Advance(time.Hour)
		l.Sweep()
		wantBucketObjects(t, "an hour later", bucket, 1)

		address := func(i int) string { return []string{done, aborted}[i%2] }
		// minutes after the expiry, each twice the one before
		for i, age := range []int{220, 440, 880, 1760, 3520, 72 * 60} {
			mustPutToAddress(t, address(i), []byte("67890"))
			checkFsckClean(t, l, "later")
			l.Clock.Advance(time.Duration(age-[]int{110, 220, 440, 880, 1760, 3520}[i]) * time.Minute)
			l.Sweep()
			wantBucketObjects(t, "later", bucket, 1)
		}
		if n := queryInt(t, l, "SELECT COUNT(*) FROM garbage WHERE late_from IS NOT NULL"); n != 0 {
			t.Errorf("%d late keys are still listed after three days", n)
		}
		alice = l.SignIn(t, "alice", "password of alice")
		wantBody(t, alice.Get(home+"/done").OK(200), "12345")
		wantUsed(t, alice, 5, 1)
	}, apptest.ReachLoopback)
}

// Late objects of an ended session in parts are deleted too: a part, and the object of an earlier
// completion.
func TestDirectPartsArrivingLateAreDeleted(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		proxy, bucket := rootBehindProxy(t, l)
		alice := l.User(t, "alice")
		r := postUploadSession(alice, "/home/alice", "f", 5, M{"partCount": 2}).OK(200)
		address := partURL(t, r, "parts", 1)
		abortUpload(alice, r.Text("sessionId")).OK(200)
		l.Sweep()
		putToAddress(t, address, []byte("12345")) // with any answer of the store
		key := keyOfAddress(t, bucket, address)
		putObject(t, bucket, key, "12345")
		checkFsckClean(t, l, "an object that arrived late")
		var deleted, looked atomic.Int64
		proxy.SetBefore(func(_ http.ResponseWriter, r *http.Request) bool {
			switch object := strings.HasSuffix(r.URL.Path, key) && !r.URL.Query().Has("uploadId"); {
			case object && r.Method == http.MethodDelete:
				deleted.Add(1)
			case object && r.Method == http.MethodHead:
				looked.Add(1)
			}
			return false
		})
		l.Clock.Advance(time.Hour)
		l.Sweep()
		wantBucketObjects(t, "an hour later", bucket, 0)
		l.Clock.Advance(2 * time.Hour)
		l.Sweep()
		// In a bucket with versions, deleting a missing object would leave a delete marker.
		if deleted.Load() != 1 || looked.Load() != 2 {
			t.Errorf("looked %d times, deleted %d times; want 2 and 1", looked.Load(), deleted.Load())
		}
	}, apptest.ReachLoopback)
}

// A provider without objects can be deleted, even if late uploads could still arrive in its bucket.
func TestProviderDeletionIgnoresLateUploads(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		provider, bucket := l.S3Provider(t)
		admin := l.Admin(t)
		mount := addMount(admin, provider, "/m")
		id, _, _ := beginAndSend(t, admin, "/m", "f", "12345")
		abortUpload(admin, id).OK(200)
		abortUpload(admin, newUploadSession(admin, "/m", "g", 5, M{"partCount": 2})).OK(200)
		admin.Delete("/api/admin/mounts/" + mount).OK(200)
		admin.Delete("/api/admin/storage/providers/"+provider).Fails(409, "OPERATION_FAILED")
		l.Clock.Advance(2*time.Hour + 10*time.Minute)
		l.Sweep()
		wantBucketObjects(t, "swept", bucket, 0)
		admin = l.Admin(t)
		admin.Delete("/api/admin/storage/providers/" + provider).OK(200)
		if n := queryInt(t, l, "SELECT COUNT(*) FROM garbage WHERE provider_id = $1", provider); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	}, apptest.ReachLoopback)
}
