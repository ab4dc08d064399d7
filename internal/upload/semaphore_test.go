package upload

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"larder/internal/fault"
)

func TestSemaphoreLimitsCallersOfAUser(t *testing.T) {
	t.Parallel()
	var ts userSemaphore
	var leave []func()
	for range copiesPerUser {
		gone, err := ts.acquire(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, gone)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ts.acquire(ended, "ann"); !errors.Is(err, context.Canceled) {
		t.Errorf("one caller too many: %v", err)
	}
	other, err := ts.acquire(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	other()
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		gone, err := ts.acquire(context.Background(), "ann")
		if err != nil {
			t.Error(err)
			return
		}
		gone()
	}()
	leave[0]()
	<-waiting
	for _, gone := range leave[1:] {
		gone()
	}
	if len(ts.byUser) != 0 {
		t.Errorf("%d users are remembered", len(ts.byUser))
	}
}

func TestWaitersAreLimitedPerUserAndInAll(t *testing.T) {
	t.Parallel()
	var w waiterLimit
	var leave []func()
	enter := func(userID string, want bool) {
		t.Helper()
		gone, err := w.enter(userID)
		if (err == nil) != want || err != nil && !fault.Is(err, fault.RateLimited) {
			t.Fatalf("%s, beside %d: %v", userID, len(leave), err)
		}
		if err == nil {
			leave = append(leave, gone)
		}
	}
	for i := range maxWaiters / maxWaitersPerUser {
		user := strconv.Itoa(i)
		for range maxWaitersPerUser {
			enter(user, true)
		}
		enter(user, false)
	}
	enter("another", false)
	leave[0]()
	leave = leave[1:]
	enter("another", true)
	for _, gone := range leave {
		gone()
	}
	if len(w.byUser) != 0 || w.all != 0 {
		t.Errorf("%d users and %d calls are remembered", len(w.byUser), w.all)
	}
}
