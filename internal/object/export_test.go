package object

import "time"

// SetDeleteTimeout sets the timeout for the deletion of an object.
func (r *Registry) SetDeleteTimeout(d time.Duration) { r.deleteTimeout = d }

// SetStoreBudget sets the time budget for a batch of deletions in one store.
func (r *Registry) SetStoreBudget(d time.Duration) { r.storeBudget = d }
