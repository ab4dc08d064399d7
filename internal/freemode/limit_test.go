package freemode_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"larder/internal/egress"
	"larder/internal/fault"
	"larder/internal/freemode"
)

// At most two transfers of a session, six of an address, and fifty in total run at once.
func TestTransferLimits(t *testing.T) {
	t.Parallel()
	enter := freemode.TransferLimit()
	leave := map[string]func(){}
	for i := range 50 {
		session := fmt.Sprint("s", i/2)
		out, err := enter(session, fmt.Sprint("a", i/6))
		if err != nil {
			t.Fatalf("the %dth: %v", i, err)
		}
		leave[session] = out
	}
	if _, err := enter("another", "another"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("the 51st in total: %v", err)
	}
	leave["s0"]()
	if _, err := enter("s1", "another"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a third transfer of one session: %v", err)
	}
	if _, err := enter("another", "a1"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a seventh transfer of one address: %v", err)
	}
	out, err := enter("another", "another")
	if err != nil {
		t.Fatalf("after one transfer ended: %v", err)
	}
	out()
	if _, err := enter("s0", "a0"); err != nil {
		t.Errorf("a session with one transfer left: %v", err)
	}
}

// At most two other calls of a session, six of an address and sixteen in total run at once. Further
// calls wait for a limited time.
func TestCallsWaitForASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		await := freemode.CallLimit()
		var leave []func()
		for i := range 15 {
			out, err := await(t.Context(), fmt.Sprint("s", i/2), fmt.Sprint("a", i/6))
			if err != nil {
				t.Fatalf("the %dth: %v", i, err)
			}
			leave = append(leave, out)
		}
		for _, who := range [][2]string{{"s0", "a9"}, {"s9", "a0"}} {
			began := time.Now()
			if _, err := await(t.Context(), who[0], who[1]); !fault.Is(err, fault.RateLimited) ||
				time.Since(began) != 10*time.Second {
				t.Errorf("%s at %s: %v after %v", who[0], who[1], err, time.Since(began))
			}
		}
		if _, err := await(t.Context(), "s9", "a9"); err != nil {
			t.Errorf("the 16th: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := await(ctx, "s10", "a10"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the 17th, whose context ends: %v", err)
		}
		time.AfterFunc(3*time.Second, leave[0])
		began := time.Now()
		if _, err := await(t.Context(), "s10", "a10"); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("the 17th: %v after %v", err, time.Since(began))
		}
	})
}

// A transfer ends with its session, by the clock of the service.
func TestTransfersEndWithTheirSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.UnixMilli(1_700_000_000_000)
		s := freemode.New(freemode.Config{Egress: &egress.Policy{}, Now: func() time.Time { return now }})
		ctx, leave, err := s.Transfer(t.Context(), freemode.Session{ExpiresAt: now.Add(time.Hour).UnixMilli()})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-ctx.Done()
		if took := time.Since(began); took != time.Hour {
			t.Errorf("the transfer ended after %v", took)
		}
		leave()
	})
}
