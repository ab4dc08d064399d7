package blobtest_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/blob/disk"
)

func newFailing(t *testing.T) *blobtest.FaultyStore {
	t.Helper()
	dir := t.TempDir()
	if err := disk.Create(dir, "failing"); err != nil {
		t.Fatal(err)
	}
	s, err := disk.Open(dir, "failing", disk.Options{Now: func() time.Time { return time.Unix(1_700_000_000, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return blobtest.NewFaultyStore(s)
}

func TestFailingWithoutCommandKeepsTheContract(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store { return newFailing(t) })
}

var errTold = errors.New("as told")

func TestFailing(t *testing.T) {
	t.Parallel()
	s := newFailing(t)
	put := func(key blob.Key) error {
		_, err := s.Put(t.Context(), key, strings.NewReader("0123456789"), blob.PutOptions{Size: 10})
		return err
	}
	before, short, late, fine := blobtest.NewKey(), blobtest.NewKey(), blobtest.NewKey(), blobtest.NewKey()
	s.QueueFaults(blobtest.Put, blobtest.Fault{Err: errTold}, blobtest.Fault{Err: errTold, FailAfter: 4},
		blobtest.Fault{Err: errTold, AnswerLost: true})
	for _, key := range []blob.Key{before, short} {
		if err := put(key); err != errTold {
			t.Errorf("Put told to fail = %v", err)
		}
		blobtest.WantAbsent(t, s, key)
	}
	if err := put(late); err != errTold || string(blobtest.Content(t, s, late)) != "0123456789" {
		t.Errorf("Put whose answer is lost = %v, and the object must be there", err)
	}
	if err := put(fine); err != nil || s.Calls(blobtest.Put) != 4 {
		t.Errorf("Put without a fault = %v, call %d", err, s.Calls(blobtest.Put))
	}

	s.QueueFaults(blobtest.Open, blobtest.Fault{Err: errTold, FailAfter: 4})
	o, err := s.Open(t.Context(), fine)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if got, err := io.ReadAll(o); err != errTold || string(got) != "0123" {
		t.Errorf("object that fails after 4 bytes = %q, %v", got, err)
	}

	s.QueueFaults(blobtest.Delete, blobtest.Fault{Err: errTold}, blobtest.Fault{Err: errTold, AnswerLost: true})
	if err := s.Delete(t.Context(), fine); err != errTold || len(blobtest.Content(t, s, fine)) != 10 {
		t.Errorf("Delete told to fail = %v, and the object must stay", err)
	}
	if err := s.Delete(t.Context(), fine); err != errTold {
		t.Errorf("Delete whose answer is lost = %v", err)
	}
	blobtest.WantAbsent(t, s, fine)

	s.SetDown(errTold)
	if err := s.Check(t.Context()); !errors.Is(err, blob.ErrUnavailable) || !errors.Is(err, errTold) {
		t.Errorf("Check of a store that is down = %v", err)
	}
	s.SetDown(nil)
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check of a store that is up again = %v", err)
	}
}

func TestFailingSlowly(t *testing.T) {
	t.Parallel()
	s := newFailing(t)
	synctest.Test(t, func(t *testing.T) {
		gate, done := make(chan struct{}), make(chan error, 1)
		s.QueueFaults(blobtest.Check, blobtest.Fault{WaitFor: gate}, blobtest.Fault{WaitFor: gate})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- s.Check(ctx) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("Check did not wait: %v", err)
		default:
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled Check = %v", err)
		}
		go func() { done <- s.Check(t.Context()) }()
		synctest.Wait()
		close(gate)
		if err := <-done; err != nil {
			t.Errorf("slow Check = %v", err)
		}
	})
}
