package app

import (
	"context"
	"runtime"

	"larder/internal/config"
	"larder/internal/thumb"
	"larder/internal/thumb/picture"
)

// selfCommand is this very program, whatever file lies in its place meanwhile.
var selfCommand = []string{"/proc/self/exe"}

// newThumbMaker makes thumbnails by processes of this program.
func (a *App) newThumbMaker() *thumb.Maker {
	if a.Config.Thumbnails == config.ThumbnailsOff {
		return nil
	}
	return thumb.New(thumb.Config{
		Dir: a.Config.ThumbnailDir(), Child: selfCommand, Vips: a.findVips, Spool: a.spool,
		CheckSpace: a.checkSpoolSpace,
		Slots:      runtime.GOMAXPROCS(0),
		Now:        a.deps.Now, Log: a.deps.Log,
	})
}

// findVips returns the path of vipsthumbnail, "" to do without. The log tells what
// follows for the operator.
func (a *App) findVips() string {
	if a.Config.Thumbnails == config.ThumbnailsBuiltIn {
		return ""
	}
	path := thumb.FindVips()
	if path != "" {
		if err := thumb.CheckVips(selfCommand, path, a.spool); err != nil {
			a.deps.Log.Warn(
				"vipsthumbnail fails on a test picture; thumbnails that it does not make are made without it",
				"vipsthumbnail", path, "error", err)
		}
		if _, err := picture.Landlock(); err != nil {
			a.deps.Log.Warn(
				"the kernel has no Landlock: a decoder of libvips that is taken over could read files of this account",
				"error", err)
		}
	}
	a.deps.Log.Info("thumbnails", "vipsthumbnail", path)
	return path
}

// sweepThumbs takes away the thumbnails of what was deleted; each replica has its own.
func (a *App) sweepThumbs(ctx context.Context) error {
	if a.Thumbs == nil {
		return nil
	}
	return a.Thumbs.Sweep(ctx, a.Objects.ExistingContents)
}
