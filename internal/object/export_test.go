package object

import (
	"context"
	"time"
)

// SetDeleteTimeout sets the timeout for the deletion of an object.
func (r *Registry) SetDeleteTimeout(d time.Duration) { r.deleteTimeout = d }

// SetStoreBudget sets the time budget for a batch of deletions in one store.
func (r *Registry) SetStoreBudget(d time.Duration) { r.storeBudget = d }

// SetStartBudget sets the function that starts the time budget of each store.
func (r *Registry) SetStartBudget(start func(ctx context.Context, provider string, d time.Duration) (context.Context,
	context.CancelFunc)) {
	r.startBudget = start
}
