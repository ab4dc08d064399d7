package app

import "context"

import "time"

// Now returns the time that the parts of the service use.
func (a *App) Now() time.Time { return a.deps.Now() }

// Seed makes the first account, the first provider and the first mount of an empty database.
func (a *App) Seed(ctx context.Context) error { return a.seed(ctx) }
