package e2e

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// replicas starts two servers at the same time on one database and one object directory, and
// returns them with their site. settings alternates names and values.
func replicas(t *testing.T, settings ...string) (*site, [2]*process) {
	t.Helper()
	s := newSite(t)
	s.set(settings...)
	s.onPostgres(t)
	s.keepPort(t)
	s.env["LARDER_BASE_URL"] = "http://" + s.env["LARDER_LISTEN"]
	other := newSite(t)
	other.set(settings...)
	other.keepPort(t)
	for _, name := range []string{"LARDER_DATABASE_URL", "LARDER_SECRET_KEY", "LARDER_OBJECT_DIR", "LARDER_BASE_URL"} {
		other.env[name] = s.env[name]
	}
	first, second := s.launch(t), other.launch(t) // both seed the database, and one succeeds
	for _, p := range []*process{first, second} {
		p.ready(t)
	}
	return s, [2]*process{first, second}
}

// No state may be kept in one process by mistake: every request goes to another replica than the
// one before.
func TestReplicas(t *testing.T) {
	t.Parallel()
	s, two := replicas(t)
	bases := []string{two[0].url, two[1].url}
	admin := login(t, "admin", adminPassword, bases...)
	token := s.key(t, "admin")
	keyed := withKey(token, bases...)
	anonymous := newClient(bases...)

	if root := admin.list(t, "/"); len(root) != 3 {
		t.Errorf("the root holds %+v, want what is seeded once", root)
	}
	picture := photograph(t)
	var ids []string
	for i := range 6 {
		u := keyed.mustRaw(t, fmt.Sprintf("p%d.jpg", i), "", "image/jpeg", picture)
		ids = append(ids, u.FileID)
		for range 2 { // the address names the first replica; both return the bytes
			path := u.DirectURL[len(s.env["LARDER_BASE_URL"]):]
			if got := anonymous.do(t, "GET", path, nil).want(t, 200); hash(got.body) != hash(picture) {
				t.Errorf("%s gives other bytes than were sent", path)
			}
		}
	}
	folder := admin.mkdir(t, "/", "inbox")
	for i, id := range ids {
		admin.do(t, "PUT", "/api/files/"+id, object{"name": fmt.Sprintf("q%d.jpg", i)}).want(t, 200)
		admin.do(t, "POST", "/api/files/"+id+"/move", object{"targetPath": "/inbox"}).want(t, 200)
		if got := admin.list(t, "/inbox"); len(got) != i+1 {
			t.Errorf("after move %d the folder lists %d files", i+1, len(got))
		}
	}
	admin.uploadTwice(t, "/inbox", "session.bin", []byte("through both replicas"))
	if size, files := admin.usage(t); size != int64(6*len(picture)+21) || files != 7 {
		t.Errorf("the quota says %d bytes in %d files, want %d in 7", size, files, 6*len(picture)+21)
	}
	var gone struct{ Deleted, Size int64 }
	admin.do(t, "DELETE", "/api/files/"+folder, nil).data(t, 200, &gone)
	if gone.Deleted != 8 || gone.Size != int64(6*len(picture)+21) {
		t.Errorf("delete answers %+v, want 8 rows and %d bytes", gone, 6*len(picture)+21)
	}
	for range 2 {
		if size, files := admin.usage(t); size != 0 || files != 0 {
			t.Errorf("the quota says %d bytes in %d files after the delete", size, files)
		}
	}

	keyID, _, _ := strings.Cut(token, ".")
	admin.do(t, "DELETE", "/api/keys/"+keyID, nil).want(t, 200)
	for range 2 {
		keyed.do(t, "POST", "/api/upload", []byte("x"), "X-File-Name", "late.txt").fails(t, 401, "INVALID_TOKEN")
	}
}

// A session that is ended on one replica is ended on the other.
func TestReplicasForgetSessions(t *testing.T) {
	t.Parallel()
	_, two := replicas(t)
	first, second := login(t, "admin", adminPassword, two[0].url), login(t, "admin", adminPassword, two[1].url)
	second.do(t, "GET", "/api/auth/me", nil).want(t, 200)
	first.do(t, "POST", "/api/auth/logout", nil).want(t, 200)
	second.do(t, "GET", "/api/auth/me", nil).fails(t, 401, "SESSION_REVOKED")
}

// Abuse case C84: of 40 requests with one download token, half to each replica, one gets the file.
func TestReplicasRedeemOnce(t *testing.T) {
	t.Parallel()
	s, two := replicas(t)
	bases := []string{two[0].url, two[1].url}
	admin := login(t, "admin", adminPassword, bases...)
	id := withKey(s.key(t, "admin"), bases...).mustRaw(t, "once.bin", "", "application/x-once", []byte("once")).FileID
	for round := range 10 {
		path := admin.downloadAddress(t, "/api/files/"+id+"/download")[len(s.env["LARDER_BASE_URL"]):]
		anonymous := newClient(bases...)
		var given atomic.Int64
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				r, err := anonymous.send("GET", path, nil)
				switch {
				case err != nil:
					t.Errorf("round %d: %v", round, err)
				case r.status == 200 && string(r.body) == "once":
					given.Add(1)
				case r.status != 401:
					t.Errorf("round %d: %d %s", round, r.status, r.body)
				}
			})
		}
		all.Wait()
		if given.Load() != 1 {
			t.Errorf("round %d: the file was given out %d times, want once", round, given.Load())
		}
	}
}

// uploadTwice uploads a file by an upload session and completes the session twice.
func (c *client) uploadTwice(t testing.TB, dir, name string, content []byte) {
	t.Helper()
	size := int64(len(content))
	completion := c.deliver(t, c.announce(t, dir, name, size, nil), size, bytesOf(content), 1)
	file, already := c.complete(t, completion)
	if already || file.Size != size {
		t.Errorf("complete answers %+v, already completed: %v", file, already)
	}
	if again, already := c.complete(t, completion); !already || again.ID != file.ID {
		t.Errorf("complete answers %+v the second time (already completed: %v), want the same file", again, already)
	}
}
