package api_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// docs/decisions.md, Quota: an account has at most 16 uploads in one request at a time. The 17th is
// told to wait, in the form of its protocol.
func TestOneRequestUploadLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, key := davHome(t, l, "alice")
		images := alice.Key(M{"uploadPath": "/home/alice/img"})
		large := strings.Repeat("x", 300<<10)
		done := make(chan int, 16)
		var bodies []*io.PipeWriter
		for i := range 16 {
			body, writer := io.Pipe()
			bodies = append(bodies, writer)
			go func() { done <- dav(key.Fork(), "PUT", fmt.Sprint("/home/alice/f", i), body).Status }()
			go func() { _, _ = io.WriteString(writer, large) }()
		}
		waitUntil(t, "16 are under way",
			func() bool { return queryInt(t, l, "SELECT COUNT(*) FROM upload_sessions WHERE one_shot") == 16 })

		r := dav(key, "PUT", "/home/alice/more", large)
		wantDAVStatus(t, "the 17th by WebDAV", r, 429)
		wantRetryAfter := func(r *apptest.Reply) {
			t.Helper()
			var wait int
			if _, err := fmt.Sscan(r.Header.Get("Retry-After"), &wait); err != nil || wait < 1 || wait > 60 {
				t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
			}
		}
		wantRetryAfter(r)
		wantRetryAfter(images.Post("/api/upload", large, "X-File-Name", "more.bin").Fails(429, "RATE_LIMIT_EXCEEDED"))
		body, contentType := form(filePart("more.bin", strings.Repeat("x", 1<<20+1)))
		r = images.Post("/api/upload", body, "Content-Type", contentType).Fails(429, "RATE_LIMIT_EXCEEDED")
		wantRetryAfter(r)
		topMessage(t, r)
		bob, bobs := davHome(t, l, "bob")
		dav(bobs, "PUT", "/home/bob/f", large).OK(201)
		wantUsed(t, bob, int64(len(large)), 1)

		for _, writer := range bodies {
			_ = writer.Close()
		}
		for range bodies {
			if status := <-done; status != 201 {
				t.Errorf("one of the 16: %d", status)
			}
		}
		dav(key, "PUT", "/home/alice/more", large).OK(201)
		images.Post("/api/upload", body, "Content-Type", contentType).OK(200)
	})
}

// A form whose path comes after its file waits with its quota reserved. Waiting forms together
// reserve no more than the quota.
func TestWaitingFormsReserveQuota(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice", M{"maxStorage": 5 << 20})
		key := alice.Key(M{"uploadPath": "/home/alice/img"})
		whole, contentType := form(filePart("a.bin", strings.Repeat("x", 3<<20)), part{name: "path", body: "sub"})
		body, writer := io.Pipe()
		first := make(chan *apptest.Reply, 1)
		go func() { first <- key.Fork().Post("/api/upload", body, "Content-Type", contentType) }()
		if _, err := io.WriteString(writer, whole[:len(whole)-200]); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "the first one's room", func() bool {
			return queryInt(t, l,
				"SELECT COUNT(*) FROM quotas WHERE reserved_storage >= 3000000 AND reserved_files = 1") == 1
		})
		key.Post("/api/upload", whole, "Content-Type", contentType).Fails(413, "QUOTA_EXCEEDED")
		if _, err := io.WriteString(writer, whole[len(whole)-200:]); err != nil {
			t.Fatal(err)
		}
		_ = writer.Close()
		(<-first).OK(200)
		wantUsed(t, alice, 3<<20, 1)
		waitUntil(t, "nothing stays reserved", func() bool {
			return queryInt(t, l, "SELECT COUNT(*) FROM quotas WHERE reserved_storage <> 0 OR reserved_files <> 0") == 0
		})
	})
}

// Ten replacements leave at most twice the quota on the disk, without a sweep and long before the
// grace period ends.
func TestReplacementsDoNotFillTheDisk(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		const quota = 2 << 20
		alice, key := davHome(t, l, "alice", M{"maxStorage": quota})
		before := len(bucketObjects(t, l, "default"))
		for i := range 10 {
			r := dav(key, "PUT", "/home/alice/f.bin", strings.Repeat(fmt.Sprint(i), quota*19/20))
			if r.Status != 201 && r.Status != 204 {
				t.Fatalf("replacement %d: %d %s", i, r.Status, r.Body)
			}
		}
		waitUntil(t, "the file and one before it",
			func() bool { return len(bucketObjects(t, l, "default")) <= before+2 })
		wantBody(t, dav(key, "GET", "/home/alice/f.bin", nil).OK(200), strings.Repeat("9", quota*19/20))
		wantUsed(t, alice, quota*19/20, 1)
	})
}
