package object

import "time"

// SetPatience bounds how long the deletion of an object may take.
func (r *Registry) SetPatience(d time.Duration) { r.patience = d }

// SetBudget bounds how long a piece of deletions may take at one store.
func (r *Registry) SetBudget(d time.Duration) { r.budget = d }
