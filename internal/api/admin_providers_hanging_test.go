package api_test

import (
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
)

// countingStore is a store that counts its requests and can be made to hang.
type countingStore struct {
	writes, reads atomic.Int64 // reads of objects only, because sweeps list the bucket as well
	mu            sync.Mutex
	hanging       chan struct{} // nil while the store answers
}

func (s *countingStore) setHanging(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case yes:
		s.hanging = make(chan struct{})
	case s.hanging != nil:
		close(s.hanging)
		s.hanging = nil
	}
}

func (s *countingStore) intercept(_ http.ResponseWriter, r *http.Request) bool {
	switch query := r.URL.Query(); {
	case r.Method != "GET" && r.Method != "HEAD":
		s.writes.Add(1)
	case !query.Has("uploads") && !query.Has("list-type"):
		s.reads.Add(1)
	}
	s.mu.Lock()
	hanging := s.hanging
	s.mu.Unlock()
	if hanging == nil {
		return false
	}
	select {
	case <-hanging:
	case <-r.Context().Done():
	}
	return true
}

// A hanging bucket delays neither the list of providers nor the readiness probe. The probe writes
// to no bucket; a store that is down makes it degraded, and it recovers by itself (abuse cases
// C122, C126).
func TestStoresThatHang(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		store := &countingStore{}
		proxy := s3test.NewProxy(t, s3test.New(t))
		proxy.SetBefore(store.intercept)
		t.Cleanup(func() { store.setHanging(false) })
		l.Clock.Advance(time.Second) // makes the seeded provider the oldest
		const many = 3
		for i := range many {
			addBucketProvider(admin, proxy.Bucket(), M{"name": fmt.Sprint("p", i), "pathPrefix": fmt.Sprint("p", i)})
		}
		probe := func(path string) M { return M(admin.Get("/api/public/health" + path).Object()) }
		allWell := func(path string) func() bool { // at each replica
			return func() bool {
				for range len(l.Apps) {
					if !reflect.DeepEqual(probe(path), M{"service": "larder", "status": "ok", "ready": true, "detail": ""}) {
						return false
					}
				}
				return true
			}
		}
		for _, path := range []string{"", "/ready", "/live"} {
			waitUntil(t, path+" while all is well", allWell(path))
		}
		for range 20 {
			probe("/ready")
			admin.Get(providersPath).OK(200)
		}
		if writes, reads := store.writes.Load(), store.reads.Load(); writes != 0 || reads > int64(many*2*len(l.Apps)) {
			t.Errorf("%d writes and %d reads", writes, reads)
		}
		asked := store.reads.Load()
		l.Clock.Advance(9999 * time.Millisecond)
		probe("/ready")
		wantJSON(t, "asked within 10 seconds", store.reads.Load(), asked)
		l.Clock.Advance(time.Millisecond)
		waitUntil(t, "retried after 10 seconds", func() bool {
			probe("/ready")
			return store.reads.Load() != asked
		})
		waitUntil(t, "the end of these checks", allWell("/ready"))

		store.setHanging(true)
		l.Clock.Advance(11 * time.Second)
		for range 2 * len(l.Apps) {
			began := time.Now()
			ready := admin.Get("/api/public/health/ready")
			wantJSON(t, "status of a probe", ready.Status, 200)
			wantJSON(t, "degraded", ready.Object(),
				M{"service": "larder", "status": "degraded", "ready": true,
					"detail": "degraded: a storage provider does not answer"})
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("the probe took %v", took)
			}
		}
		wantJSON(t, "health", probe("")["status"], "degraded")
		wantJSON(t, "live", probe("/live")["status"], "ok")
		for range len(l.Apps) {
			began := time.Now()
			list := admin.Get(providersPath).OK(200)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("the list took %v", took)
			}
			for i, want := range []string{"ok", "unavailable", "unavailable", "unavailable"} {
				wantJSON(t, fmt.Sprint("status of ", i), list.Value(fmt.Sprintf("providers.%d.status", i)), want)
			}
		}
		wantJSON(t, "written meanwhile", store.writes.Load(), int64(0))
		wantStatus(t, "another name", admin.Put(providersPath+"/"+
			admin.Get(providersPath).OK(200).Text("providers.1.id"), M{"name": "P"}), 200, "")

		store.setHanging(false)
		for range len(l.Apps) { // each replica checks on its own
			waitUntil(t, "the probe recovers", func() bool { return probe("/ready")["status"] == "ok" })
		}
	}, apptest.ReachLoopback)
}
