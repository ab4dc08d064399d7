package account

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"larder/internal/fault"
)

// mustStart enqueues a hash and fails the test unless it gets a slot at once.
func mustStart(t *testing.T, q *hashQueue, source Source) *ticket {
	t.Helper()
	k := mustEnqueue(t, q, source)
	if !hasSlot(k) {
		t.Fatalf("%v has to wait", source)
	}
	return k
}

// mustEnqueue enqueues a hash.
func mustEnqueue(t *testing.T, q *hashQueue, source Source) *ticket {
	t.Helper()
	k, err := q.enqueue(source)
	if err != nil {
		t.Fatalf("%v: %v", source, err)
	}
	return k
}

// hasSlot reports whether a ticket has got its slot.
func hasSlot(k *ticket) bool {
	select {
	case <-k.done:
		return k.err == nil
	default:
		return false
	}
}

// wasRefused reports whether a ticket was removed from its queue.
func wasRefused(k *ticket) bool {
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

// Sources take turns, however many hashes each of them has waiting. So do accounts and addresses.
func TestSourcesTakeTurnsAtHashing(t *testing.T) {
	t.Parallel()
	q := newHashQueue(maxQueueWait)
	now := mustStart(t, q, AccountSource("ann"))
	names := map[*ticket]string{}
	for i := range 3 {
		names[mustEnqueue(t, q, AccountSource("ann"))] = fmt.Sprint("ann ", i)
	}
	for i := range 3 {
		names[mustEnqueue(t, q, AddressSource("a"))] = fmt.Sprint("a ", i)
	}
	names[mustEnqueue(t, q, AccountSource("bob"))] = "bob 0"
	names[mustEnqueue(t, q, AddressSource("b"))] = "b 0"
	for _, want := range []string{"a 0", "ann 0", "b 0", "bob 0", "a 1", "ann 1", "a 2", "ann 2"} {
		q.release(now)
		now = nil
		for k, name := range names {
			if hasSlot(k) {
				if name != want {
					t.Errorf("the next turn is that of %s, want %s", name, want)
				}
				now = k
				delete(names, k)
			}
		}
		if now == nil {
			t.Fatalf("no source has the turn of %s", want)
		}
	}
}

// One slot is for logins only. Logins get both slots while nothing else waits.
func TestLoginsHaveASlotOfTheirOwn(t *testing.T) {
	t.Parallel()
	q, login := newHashQueue(maxQueueWait), AddressSource("a").login()
	other := mustStart(t, q, AddressSource("a"))
	for range 50 {
		mustEnqueue(t, q, AddressSource("a"))
		mustEnqueue(t, q, AccountSource("ann"))
	}
	first := mustStart(t, q, login) // however many other hashes wait
	second := mustEnqueue(t, q, login)
	if hasSlot(second) {
		t.Error("three hashes run")
	}
	q.release(other) // frees the other slot for the next hash
	if hasSlot(second) {
		t.Error("a login has the slot of other hashes while they wait")
	}
	q.release(first)
	if !hasSlot(second) {
		t.Error("another hash got the slot of logins")
	}

	q = newHashQueue(maxQueueWait)
	first, second = mustStart(t, q, login), mustStart(t, q, login)
	third, other := mustEnqueue(t, q, login), mustEnqueue(t, q, AddressSource("a"))
	q.release(first)
	if hasSlot(third) || !hasSlot(other) {
		t.Error("other hashes get no slot beside logins")
	}
	q.release(second)
	if !hasSlot(third) {
		t.Error("the next login waits for other hashes")
	}
}

func TestHashingQueueIsBounded(t *testing.T) {
	t.Parallel()
	q := newHashQueue(maxQueueWait)
	mustStart(t, q, AccountSource("ann"))
	var anns []*ticket
	for range maxQueuedPerSource {
		anns = append(anns, mustEnqueue(t, q, AccountSource("ann")))
	}
	_, err := q.enqueue(AccountSource("ann"))
	wantRetry(t, "one more of a source", err)

	// In a full queue the source with the most tickets loses its last one to a source with few.
	filled := maxQueuedPerSource
	for n := 0; filled < maxQueuedPerKind; n++ {
		for range min(maxQueuedPerSource-1, maxQueuedPerKind-filled) {
			mustEnqueue(t, q, AccountSource(fmt.Sprint(n)))
			filled++
		}
	}
	last := anns[len(anns)-1]
	bob := mustEnqueue(t, q, AccountSource("bob"))
	if !wasRefused(last) || wasRefused(anns[0]) {
		t.Error("bob does not replace the last hash of ann")
	}
	wantRetry(t, "a hash that was replaced", last.err)
	_, err = q.enqueue(AccountSource("0"))
	wantRetry(t, "one more of a source with as many as any other", err)
	if hasSlot(bob) || wasRefused(bob) || q.byKind[accountKind].waiting != maxQueuedPerKind {
		t.Errorf("%d wait, want %d and bob among them", q.byKind[accountKind].waiting, maxQueuedPerKind)
	}
	mustEnqueue(t, q, AddressSource("a")) // the other queues have room
	mustStart(t, q, AddressSource("a").login())

	// No hash waits longer than maxWait.
	q.maxWait = time.Millisecond
	_, err = q.acquire(t.Context(), AddressSource("a"))
	wantRetry(t, "a hash that waited too long", err)
	if q.byKind[addressKind].waiting != 1 { // the ticket enqueued above
		t.Errorf("%d wait after one was cancelled", q.byKind[addressKind].waiting)
	}

	// If each source has one ticket, the next one is refused.
	q = newHashQueue(maxQueueWait)
	mustStart(t, q, AddressSource("first"))
	for n := range maxQueuedPerKind {
		mustEnqueue(t, q, AddressSource(fmt.Sprint(n)))
	}
	_, err = q.enqueue(AddressSource("one more"))
	wantRetry(t, "one more source", err)
}
