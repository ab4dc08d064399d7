package api_test

import (
	"strings"
	"testing"

	"larder/internal/apptest"
)

// docs/decisions.md, Quota: an account has at most max(1,000, 2 × maxFiles) folders. Beyond that,
// each protocol answers QUOTA_EXCEEDED in its own form.
func TestFolderQuota(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, key := davHome(t, l, "alice", M{"maxFiles": 10})
		images := alice.Key(M{"uploadPath": "/home/alice"})
		box := mkdir(alice, "/home/alice", "box")
		mkdir(alice, "/home/alice/box", "in")
		// room for one more
		execAndRaiseVersion(t, l, "UPDATE quotas SET reserved_folders = 1000 - used_folders - 1 WHERE max_files = 10")
		copyTo(alice, box, "/home/alice", "copy").Fails(413, "QUOTA_EXCEEDED")
		wantDAVStatus(t, "a copy of two folders",
			dav(key, "COPY", "/home/alice/box", nil, "Destination", "/webdav/home/alice/copy"), 507)
		dav(key, "MKCOL", "/home/alice/last", nil).OK(201)
		r := dav(key, "MKCOL", "/home/alice/more", nil)
		wantDAVStatus(t, "one more", r, 507)
		if !strings.Contains(string(r.Body), "quota-not-exceeded") { // RFC 4331, section 6
			t.Errorf("one more: %s", r.Body)
		}
		wantDAVStatus(t, "a name that is taken", dav(key, "MKCOL", "/home/alice/last", nil), 405)
		alice.Post("/api/files/folder", M{"path": "/home/alice", "name": "more"}).Fails(413, "QUOTA_EXCEEDED")
		alice.Post("/api/files/folder", M{"path": "/home/alice", "name": "last"}).Fails(409, "ALREADY_EXISTS")
		images.Post("/api/upload", "content", "X-File-Name", "f.txt", "X-Path", "new").Fails(413, "QUOTA_EXCEEDED")
		id := newUploadSession(alice, "/home/alice/new", "f.txt", 7)
		completeUpload(alice, id, putRaw(alice, id, "content").OK(200).Text("etag")).Fails(413, "QUOTA_EXCEEDED")
		wantUsed(t, alice, 0, 0)

		alice.Delete("/api/files/" + box).OK(200)
		completeUpload(alice, id, putRaw(alice, id, "content").OK(200).Text("etag")).OK(200)
		mkdir(alice, "/home/alice", "more")
		wantUsed(t, alice, 7, 1)
		l.User(t, "carol", M{"maxFiles": 0}) // gets a home
		execAndRaiseVersion(t, l, "UPDATE quotas SET reserved_folders = 0 WHERE max_files = 10")
		checkOwnershipAndCharges(t, l, "after refusals")
	})
}
