package disk

import "sync"

// groupSync lets parallel callers share syncs. Callers that arrive during a sync share the next
// one, which begins after their calls.
type groupSync struct {
	do      func() error
	running chan struct{} // holds one value while a sync runs

	mu      sync.Mutex
	next    *round // the round that has not begun, nil when no caller waits
	failure error  // the error of the sync that failed
}

// round is one sync with the callers that wait for it.
type round struct {
	done chan struct{} // closed when err is set
	err  error
}

// newGroupSync returns a groupSync whose syncs call do, the Sync of a directory.
func newGroupSync(do func() error) *groupSync {
	return &groupSync{do: do, running: make(chan struct{}, 1)}
}

// wait returns the result of a sync that began after the call. After a failed sync it runs no
// other, and all later calls return the same error.
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

// run performs the sync of the round that is next and returns its error, or the error of an earlier
// sync that failed. The caller holds running.
func (g *groupSync) run() error {
	g.mu.Lock()
	g.next = nil // later callers wait for the next round
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
