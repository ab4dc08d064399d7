package app

import "time"

// Now returns the time that the parts of the service use.
func (a *App) Now() time.Time { return a.deps.Now() }
