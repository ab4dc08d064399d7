package app

import (
	"context"
	"errors"

	"larder/internal/backup"
	"larder/internal/fsck"
)

// Scrub reads every stored object once, heals damaged ones, also from the backup in a directory
// unless that is "", and marks the others. It can run beside a server.
func (a *App) Scrub(ctx context.Context, from string, report func(fsck.Finding)) (sum fsck.ScrubSummary, err error) {
	o := fsck.ScrubOptions{Report: report}
	if from != "" {
		source, err := backup.OpenSource(from, a.deps.Now)
		if err != nil {
			return fsck.ScrubSummary{}, err
		}
		defer func() { err = errors.Join(err, source.Close()) }()
		o.Backup = source.Store
	}
	return a.Fsck.Scrub(ctx, o)
}
