package thumb

// Queued returns the number of requests that wait for a slot of the queue, and of free slots.
func (m *Maker) Queued() (waiting, free int) {
	m.queue.mu.Lock()
	defer m.queue.mu.Unlock()
	return m.queue.waiting, m.queue.free
}
