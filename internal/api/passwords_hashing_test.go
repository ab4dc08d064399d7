package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"larder/internal/account"
	"larder/internal/apptest"
)

// hashGate makes every hash wait that does not belong to a login, once it is closed.
type hashGate struct {
	closed  atomic.Bool
	waiting chan account.Source // one source for each hash that has its turn
	proceed chan struct{}       // releases one hash; closing it releases all
}

func newHashGate() *hashGate {
	return &hashGate{waiting: make(chan account.Source, 1000), proceed: make(chan struct{})}
}

func (g *hashGate) wait(source account.Source) {
	if g.closed.Load() && !source.IsLogin() {
		g.waiting <- source
		<-g.proceed
	}
}

// Passwords tried by 250 strangers delay no login. A password set by a signed-in caller has the
// second turn.
func TestVisitorsDoNotDelayLogins(t *testing.T) {
	t.Parallel()
	g := newHashGate()
	l := apptest.StartWithHashHook(t, "sqlite", g.wait)
	alice := l.User(t, "alice")
	id := alice.Upload("/home/alice", "a.txt", []byte("x"))
	me := account.AccountSource(callerID(alice))
	g.closed.Store(true)
	var all sync.WaitGroup
	for i := range 250 {
		all.Go(func() {
			if got := unlockPath(l, fmt.Sprintf("203.0.113.%d:1", i), "/nothing", "x"); got != 401 {
				t.Errorf("a stranger's attempt gets status %d", got)
			}
		})
	}
	waitUntil(t, "the flood", func() bool { return l.Apps[0].Accounts.WaitingHashes() == 249 })
	for range 3 {
		l.SignIn(t, "alice", "password of alice")
	}
	wantStatus(t, "a wrong password", postLogin(l.Client(t), "alice", "wrong"), 401, "INVALID_CREDENTIALS")
	all.Go(func() { setAccessPassword(alice, id, "a password") })
	waitUntil(t, "alice", func() bool { return l.Apps[0].Accounts.WaitingHashes() == 250 })
	<-g.waiting // the first stranger's
	g.proceed <- struct{}{}
	if <-g.waiting != me {
		t.Error("the second turn is not the signed-in caller's")
	}
	close(g.proceed)
	all.Wait()
}

// One account that sets 500 passwords concurrently delays no login, and delays the password of
// another account by one turn. Requests beyond the limit are refused.
func TestOneAccountDoesNotDelayLogins(t *testing.T) {
	t.Parallel()
	g := newHashGate()
	l := apptest.StartWithHashHook(t, "sqlite", g.wait)
	alice, bob := l.User(t, "alice"), l.User(t, "bob")
	hers, his := alice.Upload("/home/alice", "a.txt", []byte("x")), bob.Upload("/home/bob", "b.txt", []byte("x"))
	me := account.AccountSource(callerID(alice))
	g.closed.Store(true)
	var all sync.WaitGroup
	var refused, done atomic.Int32
	for range 500 {
		all.Go(func() {
			reply := bob.Fork().Put("/api/files/"+his, M{"accessPassword": "a password"})
			switch reply.Status {
			case http.StatusOK:
				done.Add(1)
			default:
				refused.Add(1)
				wantStatus(t, "one too many", reply, 429, "RATE_LIMIT_EXCEEDED")
				if got := reply.Header.Get("Retry-After"); got == "" || strings.HasPrefix(got, "0") {
					t.Errorf("Retry-After %q", got)
				}
			}
		})
	}
	waitUntil(t, "the flood", func() bool { return refused.Load() == 500-65 }) // one hash runs, 64 wait
	l.SignIn(t, "bob", "password of bob")
	wantStatus(t, "a wrong password", postLogin(l.Client(t), "bob", "wrong"), 401, "INVALID_CREDENTIALS")
	waiting := l.Apps[0].Accounts.WaitingHashes()
	all.Go(func() { setAccessPassword(alice, hers, "a password") })
	waitUntil(t, "alice", func() bool { return l.Apps[0].Accounts.WaitingHashes() == waiting+1 })
	<-g.waiting
	g.proceed <- struct{}{}
	first := <-g.waiting
	g.proceed <- struct{}{}
	second := <-g.waiting
	if first != me && second != me {
		t.Error("the password of another account is not hashed within two turns")
	}
	close(g.proceed)
	all.Wait()
	wantJSON(t, "passwords that were set", done.Load(), int32(65))
}
