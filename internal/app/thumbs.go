package app

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"larder/internal/config"
	"larder/internal/thumb"
	"larder/internal/thumb/picture"
)

// selfCommand starts this program again, even if its file has been replaced.
var selfCommand = []string{"/proc/self/exe"}

// newThumbMaker returns the maker of thumbnails, which uses processes of this program. It returns
// nil if thumbnails are switched off.
func (a *App) newThumbMaker() *thumb.Maker {
	if a.Config.Thumbnails == config.ThumbnailsOff {
		return nil
	}
	return thumb.New(thumb.Config{
		Dir: a.Config.ThumbnailDir(), Child: selfCommand, Vips: a.findVips, Spool: a.spool,
		CheckSpace: a.checkSpoolSpace,
		Slots:      runtime.GOMAXPROCS(0), ChildTimeout: a.deps.ThumbTime, BackgroundTimeout: a.deps.ThumbTime,
		QueueTimeout: a.deps.QueueTime,
		Now:          a.deps.Now, Log: a.deps.Log,
	})
}

// findVips returns the path of vipsthumbnail, "" to work without it, as the setting for thumbnails
// says. It logs what that means for the operator. Error: that of ctx.
func (a *App) findVips(ctx context.Context) (string, error) {
	if a.Config.Thumbnails == config.ThumbnailsBuiltIn {
		return "", nil
	}
	path, err := thumb.FindVips(ctx)
	if err != nil {
		return "", err
	}
	if path != "" {
		err := thumb.CheckVips(ctx, selfCommand, path, a.spool)
		if ctx.Err() != nil {
			return "", fmt.Errorf("try libvips: %w", ctx.Err())
		}
		if err != nil {
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
	return path, nil
}

// sweepThumbs deletes the thumbnails of deleted contents from the cache of this replica, and the
// properties of deleted pictures from the database.
func (a *App) sweepThumbs(ctx context.Context) error {
	err := a.Pictures.Sweep(ctx)
	if a.Thumbs != nil {
		err = errors.Join(err, a.Thumbs.Sweep(ctx, a.Objects.ExistingContents))
	}
	return err
}
