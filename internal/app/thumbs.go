package app

import (
	"context"
	"runtime"

	"larder/internal/config"
	"larder/internal/thumb"
)

// thumbs makes thumbnails by processes of this very program, whatever file lies in its place meanwhile.
func (a *App) thumbs() *thumb.Maker {
	if a.Config.Thumbnails == config.ThumbnailsOff {
		return nil
	}
	return thumb.New(thumb.Config{
		Dir: a.Config.ThumbnailDir(), Child: []string{"/proc/self/exe"}, Vips: a.findVips, Spool: a.spool, Room: a.spoolRoom, Slots: runtime.GOMAXPROCS(0),
		Now: a.deps.Now, Log: a.deps.Log,
	})
}

func (a *App) findVips() string {
	if a.Config.Thumbnails == config.ThumbnailsBuiltIn {
		return ""
	}
	path := thumb.FindVips()
	a.deps.Log.Info("thumbnails", "vipsthumbnail", path)
	return path
}

// sweepThumbs takes away the thumbnails of what was deleted; each replica has its own.
func (a *App) sweepThumbs(ctx context.Context) error {
	if a.Thumbs == nil {
		return nil
	}
	return a.Thumbs.Sweep(ctx, a.Tree.Existing)
}
