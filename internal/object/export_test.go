package object

import "time"

// SetDeleteTimeout sets how long the deletion of an object may take.
func (r *Registry) SetDeleteTimeout(d time.Duration) { r.deleteTimeout = d }

// SetStoreBudget sets how long a piece of deletions may take at one store.
func (r *Registry) SetStoreBudget(d time.Duration) { r.storeBudget = d }
