package disk

import "sync"

// groupSync lets callers share a sync: whoever comes while one runs waits for the next, which
// begins after all of them came.
type groupSync struct {
	do      func() error
	running chan struct{} // holds one value while a sync runs

	mu      sync.Mutex
	next    *round // the round that has not begun, nil when nobody waits
	failure error  // of the sync that failed
}

// round is one sync and those who wait for it.
type round struct {
	done chan struct{} // closed when err is set
	err  error
}

func newGroupSync(do func() error) *groupSync {
	return &groupSync{do: do, running: make(chan struct{}, 1)}
}

// wait returns the outcome of a sync that began after the call. Once one has failed there is no
// other: all that follow fail alike.
func (g *groupSync) wait() error {
	g.mu.Lock()
	r := g.next
	if r != nil {
		g.mu.Unlock()
		<-r.done
		return r.err
	}
	r = &round{done: make(chan struct{})}
	g.next = r
	g.mu.Unlock()

	g.running <- struct{}{}
	r.err = g.run()
	<-g.running
	close(r.done)
	return r.err
}

func (g *groupSync) run() error {
	g.mu.Lock()
	g.next = nil // whoever comes from here on is too late for this round
	broken := g.failure
	g.mu.Unlock()
	if broken != nil {
		return broken
	}
	err := g.do()
	if err != nil {
		g.mu.Lock()
		g.failure = err
		g.mu.Unlock()
	}
	return err
}
