package api_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/db"
	"larder/internal/fault"
)

const publicSearchPath = "/api/public/files?path=/&search=seen"

// startWithSearchableFiles starts a service behind a proxy with 50 public files that a search for
// "seen" finds.
func startWithSearchableFiles(t *testing.T) *apptest.Larder {
	l := apptest.Start(t, "sqlite", apptest.TrustLoopback)
	admin := l.Admin(t)
	for i := range 50 {
		admin.Upload("/public", fmt.Sprintf("seen %d.png", i), []byte(onePixel))
	}
	return l
}

// Without an account, an address may make 20 searches a minute. Listings are not limited by that.
func TestVisitorSearchRateLimit(t *testing.T) {
	t.Parallel()
	l := startWithSearchableFiles(t)
	visitor := l.Client(t)
	from := func(address string) []string { return []string{"X-Forwarded-For", address} }
	for i := range 20 {
		r := visitor.Get(publicSearchPath, from(fmt.Sprintf("2001:db8:1:2::%x", i+1))...).OK(200) // all in one /64
		wantJSON(t, "found", r.Value("pagination.total"), 50.0)
	}
	refused := visitor.Get(publicSearchPath, from("2001:db8:1:2::99")...)
	refused.Fails(429, "RATE_LIMIT_EXCEEDED")
	wantHeader(t, refused, "Retry-After", "3")
	visitor.Get("/api/public/files?path=/public&limit=1", from("2001:db8:1:2::99")...).OK(200)
	// an empty search does not count
	visitor.Get("/api/public/files?path=/public&search=", from("2001:db8:1:2::99")...).OK(200)
	visitor.Get(publicSearchPath, from("2001:db8:1:3::1")...).OK(200)
	l.Clock.Advance(3*time.Second - time.Millisecond)
	visitor.Get(publicSearchPath, from("2001:db8:1:2::1")...).Fails(429, "RATE_LIMIT_EXCEEDED")
	l.Clock.Advance(time.Millisecond)
	visitor.Get(publicSearchPath, from("2001:db8:1:2::1")...).OK(200)
	user := l.User(t, "ann")
	for range 30 { // an account's searches are limited only by its requests
		user.Get("/api/files?path=/&search=seen", from("2001:db8:1:2::1")...).OK(200)
	}
}

// Of 600 concurrent searches from one address, 20 are accepted. Of one search from each of 100
// addresses, all are.
func TestVisitorSearchLoad(t *testing.T) {
	t.Parallel()
	l := startWithSearchableFiles(t)
	var all sync.WaitGroup
	var accepted, refused, other atomic.Int64
	search := func(address string, accepted, refused *atomic.Int64) {
		all.Go(func() {
			switch l.Client(t).Get(publicSearchPath, "X-Forwarded-For", address).Status {
			case 200:
				accepted.Add(1)
			case 429:
				refused.Add(1)
			default:
				other.Add(1)
			}
		})
	}
	var each, eachRefused atomic.Int64
	for i := range 500 {
		search("203.0.113.1", &accepted, &refused)
		if i%5 == 0 {
			search(fmt.Sprint("198.51.100.", i/5), &each, &eachRefused)
		}
	}
	all.Wait()
	if accepted.Load() != 20 || refused.Load() != 480 || other.Load() != 0 {
		t.Errorf("one address: %d accepted, %d refused, want 20 and 480; %d with another status", accepted.Load(),
			refused.Load(), other.Load())
	}
	if each.Load() != 100 || eachRefused.Load() != 0 {
		t.Errorf("100 addresses: %d accepted, %d refused, want all accepted", each.Load(), eachRefused.Load())
	}
}

// One search of an address and four of all visitors run at a time. The next waits at most 10
// seconds.
func TestConcurrentVisitorSearchLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		acquire := api.NewSearchLimit()
		var release []func()
		for i := range 4 {
			done, err := acquire(t.Context(), fmt.Sprint("address ", i))
			if err != nil {
				t.Fatalf("number %d: %v", i+1, err)
			}
			release = append(release, done)
		}
		for _, address := range []string{"address 5", "address 0"} {
			began := time.Now()
			if _, err := acquire(t.Context(), address); !fault.Is(err, fault.RateLimited) ||
				time.Since(began) != 10*time.Second {
				t.Errorf("%s: %v after %v", address, err, time.Since(began))
			}
		}
		release[1]()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := acquire(ctx, "address 0"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second search of an address: %v", err)
		}
		time.AfterFunc(2*time.Second, release[0])
		began := time.Now()
		if _, err := acquire(t.Context(), "address 0"); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("after its first has ended: %v after %v", err, time.Since(began))
		}
		if _, err := acquire(t.Context(), "address 5"); err != nil {
			t.Errorf("the fourth of all: %v", err)
		}
	})
}

// While the database does not answer queries on entries, each of two replicas has four waiting
// searches of visitors, however many are requested, and one of an address.
func TestVisitorSearchesWaitForDatabase(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "postgres", apptest.TrustLoopback)
	apart := l.AuditDB(t) // its own connections, because all others may be waiting
	waiting := func() (n int) {
		t.Helper()
		const query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type " +
			"= 'Lock'"
		if err := apart.Read(t.Context()).QueryRow(query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, c := range map[string]struct {
		address func(i int) string
		most    int // of both replicas
	}{
		"many addresses": {func(i int) string { return fmt.Sprint("198.51.100.", i) }, 8},
		"one address":    {func(int) string { return "203.0.113.1" }, 2},
	} {
		var all sync.WaitGroup
		if err := apart.Write(t.Context(), func(tx *db.Tx) error {
			if _, err := tx.Exec("LOCK TABLE entries IN ACCESS EXCLUSIVE MODE"); err != nil {
				return err
			}
			for i := range 20 {
				all.Go(func() {
					wantStatus(t, name, l.Client(t).Get(publicSearchPath, "X-Forwarded-For", c.address(i)), 200, "")
				})
			}
			for waiting() < c.most {
				runtime.Gosched()
			}
			for range 200 { // gives later searches time to arrive
				if n := waiting(); n > c.most {
					t.Errorf("%s: %d searches run, want %d at most", name, n, c.most)
					break
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		all.Wait()
	}
}
