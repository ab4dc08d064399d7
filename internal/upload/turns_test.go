package upload

import (
	"context"
	"errors"
	"testing"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	var ts turns
	var leave []func()
	for range turnsAtOnce {
		gone, err := ts.wait(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, gone)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ts.wait(ended, "ann"); !errors.Is(err, context.Canceled) {
		t.Errorf("one more than may come in: %v", err)
	}
	other, err := ts.wait(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	other()
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		gone, err := ts.wait(context.Background(), "ann")
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
	if len(ts.now) != 0 {
		t.Errorf("%d users are remembered", len(ts.now))
	}
}
