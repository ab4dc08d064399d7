package account

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"larder/internal/fault"
)

// enter joins the queue and has to get a place at once.
func enter(t *testing.T, q *queue, source Source) *ticket {
	t.Helper()
	k := wait(t, q, source)
	if !has(k) {
		t.Fatalf("%v has to wait", source)
	}
	return k
}

// wait joins the queue.
func wait(t *testing.T, q *queue, source Source) *ticket {
	t.Helper()
	k, err := q.join(source)
	if err != nil {
		t.Fatalf("%v: %v", source, err)
	}
	return k
}

// has reports whether a ticket has its place.
func has(k *ticket) bool {
	select {
	case <-k.done:
		return k.err == nil
	default:
		return false
	}
}

// refused reports whether a ticket was pushed out of its line.
func refused(k *ticket) bool {
	select {
	case <-k.done:
		return fault.Is(k.err, fault.RateLimited)
	default:
		return false
	}
}

func wantRetry(t *testing.T, what string, err error) {
	t.Helper()
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Kind != fault.RateLimited || refusal.RetryAfter <= 0 {
		t.Errorf("%s: %v, want RateLimited with a time", what, err)
	}
}

// Sources take turns, whatever each of them has waiting, and so do signed-in callers and the others.
func TestSourcesTakeTurnsAtHashing(t *testing.T) {
	t.Parallel()
	q := newQueue()
	now := enter(t, q, ByAccount("ann"))
	names := map[*ticket]string{}
	for i := range 3 {
		names[wait(t, q, ByAccount("ann"))] = fmt.Sprint("ann ", i)
	}
	for i := range 3 {
		names[wait(t, q, ByAddress("a"))] = fmt.Sprint("a ", i)
	}
	names[wait(t, q, ByAccount("bob"))] = "bob 0"
	names[wait(t, q, ByAddress("b"))] = "b 0"
	for _, want := range []string{"a 0", "ann 0", "b 0", "bob 0", "a 1", "ann 1", "a 2", "ann 2"} {
		q.leave(now)
		now = nil
		for k, name := range names {
			if has(k) {
				if name != want {
					t.Errorf("%s has the turn, want %s", name, want)
				}
				now = k
				delete(names, k)
			}
		}
		if now == nil {
			t.Fatalf("nobody has the turn of %s", want)
		}
	}
}

// One place is for logins alone. They have both while nothing else waits.
func TestLoginsHaveAPlaceOfTheirOwn(t *testing.T) {
	t.Parallel()
	q, login := newQueue(), ByAddress("a").login()
	other := enter(t, q, ByAddress("a"))
	for range 50 {
		wait(t, q, ByAddress("a"))
		wait(t, q, ByAccount("ann"))
	}
	first := enter(t, q, login) // however many others wait
	second := wait(t, q, login)
	if has(second) {
		t.Error("three hashes are under way")
	}
	q.leave(other) // a place for the next of the others
	if has(second) {
		t.Error("a login has the place of others while they wait")
	}
	q.leave(first)
	if !has(second) {
		t.Error("the login's own place went to somebody else")
	}

	q = newQueue()
	first, second = enter(t, q, login), enter(t, q, login)
	third, other := wait(t, q, login), wait(t, q, ByAddress("a"))
	q.leave(first)
	if has(third) || !has(other) {
		t.Error("others get no place beside logins")
	}
	q.leave(second)
	if !has(third) {
		t.Error("the next login waits for others")
	}
}

func TestHashingQueueIsBounded(t *testing.T) {
	t.Parallel()
	q := newQueue()
	enter(t, q, ByAccount("ann"))
	var anns []*ticket
	for range queuedEach {
		anns = append(anns, wait(t, q, ByAccount("ann")))
	}
	_, err := q.join(ByAccount("ann"))
	wantRetry(t, "one more of a source", err)

	// in a full line the source that has most loses its last ticket to one that has few
	filled := queuedEach
	for n := 0; filled < queuedInAll; n++ {
		for range min(queuedEach-1, queuedInAll-filled) {
			wait(t, q, ByAccount(fmt.Sprint(n)))
			filled++
		}
	}
	last := anns[len(anns)-1]
	bob := wait(t, q, ByAccount("bob"))
	if !refused(last) || refused(anns[0]) {
		t.Error("bob doesn't get in for the last of ann's")
	}
	wantRetry(t, "what was pushed out", last.err)
	_, err = q.join(ByAccount("0"))
	wantRetry(t, "one more of a source that has as many as any", err)
	if has(bob) || refused(bob) || q.lines[accounts].waiting != queuedInAll {
		t.Errorf("%d wait, want %d and bob among them", q.lines[accounts].waiting, queuedInAll)
	}
	wait(t, q, ByAddress("a")) // the other lines have room
	enter(t, q, ByAddress("a").login())

	// nobody waits longer than the longest time
	q.longest = time.Millisecond
	_, err = q.enter(t.Context(), ByAddress("a"))
	wantRetry(t, "a wait that is too long", err)
	if q.lines[addresses].waiting != 1 { // the one of above
		t.Errorf("%d wait after one has given up", q.lines[addresses].waiting)
	}

	// where each source has one, the next is refused
	q = newQueue()
	enter(t, q, ByAddress("first"))
	for n := range queuedInAll {
		wait(t, q, ByAddress(fmt.Sprint(n)))
	}
	_, err = q.join(ByAddress("one more"))
	wantRetry(t, "one more source", err)
}
