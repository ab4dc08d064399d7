package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/blob/s3/s3test"
)

// heldBucket is a bucket whose proxy passes on some objects and holds the next ones until release.
type heldBucket struct {
	proxy *s3test.Proxy

	mu       sync.Mutex
	passes   int           // objects that are still passed on while it holds
	released chan struct{} // nil unless it holds
}

// hold passes on n objects more, then none.
func (h *heldBucket) hold(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.passes, h.released = n, make(chan struct{})
}

// release lets held objects go.
func (h *heldBucket) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released != nil {
		close(h.released)
		h.released = nil
	}
}

// wait holds a call of the service, for s3test.Proxy.SetBefore.
func (h *heldBucket) wait(_ http.ResponseWriter, r *http.Request) (answered bool) {
	if r.Method != http.MethodPut {
		return false
	}
	h.mu.Lock()
	released := h.released
	if h.passes > 0 {
		h.passes--
		released = nil
	}
	h.mu.Unlock()
	if released != nil {
		select {
		case <-released:
		case <-r.Context().Done():
		}
	}
	return false
}

// movedStorage is a disk with a mount, and a bucket to move it to.
type movedStorage struct{ Disk, Bucket, Path string }

// createMove creates a disk that is mounted, and a bucket without a mount.
func (s *uiFixture) createMove(t *testing.T) movedStorage {
	t.Helper()
	s.moves++
	made := movedStorage{Disk: fmt.Sprint("disk", s.moves), Bucket: fmt.Sprint("bucket", s.moves),
		Path: fmt.Sprint("/moved", s.moves)}
	s.held = &heldBucket{proxy: s3test.NewProxy(t, s3test.New(t))}
	s.held.proxy.SetBefore(s.held.wait)
	t.Cleanup(s.held.release)
	admin := s.site.admin(t)
	admin.mount(t, made.Path, admin.createProvider(t, object{"name": made.Disk, "type": "store_a", "bucket": made.Disk}))
	admin.createProvider(t, bucketProvider(s.held.proxy.Bucket(), object{"name": made.Bucket, "uploadMode": "worker"}))
	return made
}

// loseObjects removes the objects of a disk behind the service's back.
func (s *uiFixture) loseObjects(t *testing.T, with json.RawMessage) {
	t.Helper()
	var disk string
	if err := json.Unmarshal(with, &disk); err != nil {
		t.Fatal(err)
	}
	lost := 0
	root := filepath.Join(s.site.site.dir, "objects", disk)
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		lost++
		return os.Remove(path)
	})
	if err != nil || lost == 0 {
		t.Fatalf("%d objects are lost, %v", lost, err)
	}
}

// startTrouble adds a replica of another version, and a storage of that name that does not answer.
// It returns the id of the storage.
func (s *uiFixture) startTrouble(t *testing.T, with json.RawMessage) string {
	t.Helper()
	var name string
	if err := json.Unmarshal(with, &name); err != nil {
		t.Fatal(err)
	}
	// replicas are listed for a minute; this one is listed until endTrouble
	s.exec(t, `
		INSERT INTO replicas (id, version, schema, audit_schema, seen)
		VALUES ('other-host-1', '0.9.0', 1, 1, ?)`, time.Now().Add(time.Hour).UnixMilli())
	proxy := s3test.NewProxy(t, s3test.New(t))
	id := s.site.admin(t).createProvider(t, bucketProvider(proxy.Bucket(), object{"name": name}))
	proxy.Down()
	return id
}

// endTrouble undoes startTrouble.
func (s *uiFixture) endTrouble(t *testing.T, with json.RawMessage) {
	t.Helper()
	var id string
	if err := json.Unmarshal(with, &id); err != nil {
		t.Fatal(err)
	}
	s.exec(t, "DELETE FROM replicas WHERE id = 'other-host-1'")
	s.site.admin(t).do(t, "DELETE", "/api/admin/storage/providers/"+id, nil).want(t, 200)
}
