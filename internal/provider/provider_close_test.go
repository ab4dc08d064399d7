package provider

import (
	"testing"
	"testing/synctest"
	"time"
)

// A disk that hangs during a status check does not delay a stop.
func TestCloseDoesNotWaitForAHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{Now: time.Now})
		hangs := make(chan struct{})
		r.checking.Go(func() { <-hangs })
		began := time.Now()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != StatusTimeout {
			t.Errorf("closed after %v, want %v", took, StatusTimeout)
		}
		close(hangs)
	})
}
