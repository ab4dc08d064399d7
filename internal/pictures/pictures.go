// Package pictures reads the properties of stored pictures in the background: width and height,
// orientation, the time at which they were taken, and a blurred preview.
//
// An Examiner looks for files with pictures that were not examined (files.Tree.Unexamined), the
// newest first: new uploads, replaced contents, copies, and after an upgrade all pictures. It reads
// one picture at a time, in a child process (package thumb), and records what it has read. It reads
// nothing again of a content whose properties are recorded. Of a picture in a bucket it reads only
// the first bytes, because most vendors charge for what is read: such a picture has no preview.
//
// Of several replicas one examines at a time. It holds a lease, which another one takes over after
// it has ended.
package pictures

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/thumb"
)

const (
	// interval is how often an Examiner looks for pictures, and patience how long it waits after a
	// store has failed.
	interval = 2 * time.Second
	patience = time.Minute
	// lostTTL is how long a content that its store has lost is passed over.
	lostTTL = 15 * time.Minute
	maxLost = 10_000
	// page is the number of pictures that are recorded in one transaction.
	page = 20
	// lease is how long other replicas leave the work to this one after the beginning of a page. If
	// a page takes longer, two replicas may read the same pictures, and record the same.
	lease = 2 * time.Minute
)

// Config is the configuration of an Examiner.
type Config struct {
	DB     *db.DB
	Tree   *files.Tree
	Thumbs *thumb.Maker
	Now    func() time.Time
	Log    *slog.Logger
}

// Examiner reads the properties of pictures. Only one call of Examine, and one of Sweep, may run at
// a time.
type Examiner struct {
	Config
	lost  map[string]time.Time // contents that are passed over, by id, with the time of their next try
	swept string               // position of the sweep
}

// New returns an Examiner.
func New(cfg Config) *Examiner { return &Examiner{Config: cfg, lost: map[string]time.Time{}} }

// Run examines pictures until ctx ends.
func (e *Examiner) Run(ctx context.Context) {
	for {
		wait := interval
		complete, err := e.Examine(ctx)
		if err != nil && ctx.Err() == nil {
			e.Log.Error("examine pictures", "error", err)
		}
		if !complete {
			wait = patience
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// Examine examines all pictures that were not examined, once. complete is false if a store failed:
// its pictures stay for a later call, and those that it has lost for one after lostTTL. It does
// nothing while another replica holds the lease.
func (e *Examiner) Examine(ctx context.Context) (complete bool, err error) {
	after := files.FirstExaminePosition
	failed := map[string]bool{} // by provider
	for held := false; ; held = true {
		found, err := e.Tree.Unexamined(ctx, after, page)
		if err != nil {
			return false, err
		}
		if len(found) == 0 {
			return len(failed) == 0, e.endLease(ctx, held)
		}
		if mine, err := e.takeLease(ctx, held); err != nil || !mine {
			return err == nil, err
		}
		after = found[len(found)-1].Position
		if err := e.examinePage(ctx, found, failed); err != nil {
			return false, err
		}
	}
}

// examinePage examines the pictures of a page and records their properties. It adds providers that
// fail to failed, and passes over the pictures there.
func (e *Examiner) examinePage(ctx context.Context, found []files.UnexaminedPicture, failed map[string]bool) error {
	var examined []files.ExaminedPicture
	for _, p := range found {
		if !p.Known && (failed[p.Provider] || e.Now().Before(e.lost[p.Content])) {
			continue
		}
		picture, err := e.examine(ctx, p)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, blob.ErrNotFound): // which a scrub reports
			e.rest(p.Content)
		case err != nil:
			failed[p.Provider] = true
			e.Log.Warn("a picture cannot be examined now", "content", p.Content, "provider", p.Provider, "error", err)
		default:
			examined = append(examined, files.ExaminedPicture{UnexaminedPicture: p, Picture: picture})
		}
	}
	if len(examined) == 0 {
		return nil
	}
	return e.Tree.RecordExamined(ctx, examined)
}

// rest makes the next calls pass over a content for lostTTL.
func (e *Examiner) rest(content string) {
	if len(e.lost) >= maxLost {
		clear(e.lost)
	}
	e.lost[content] = e.Now().Add(lostTTL)
}

// examine reads the properties of a picture; nil if they are known or it cannot be read. Faults:
// those of the store and of package thumb, except NotFound.
func (e *Examiner) examine(ctx context.Context, p files.UnexaminedPicture) (*files.Picture, error) {
	if p.Known {
		return nil, nil
	}
	open, whole, err := e.Tree.PictureSource(ctx, p)
	if err != nil {
		return nil, err
	}
	read, err := e.Thumbs.Examine(ctx, thumb.Source{ID: p.Content, Size: p.Size, Open: open}, whole)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &files.Picture{Width: read.Width, Height: read.Height, Orientation: read.Orientation,
		TakenAt: read.TakenAt, ThumbHash: read.ThumbHash}, nil
}

// Sweep deletes the properties of deleted contents, some of them in each call.
func (e *Examiner) Sweep(ctx context.Context) (err error) {
	e.swept, err = e.Tree.SweepPictures(ctx, e.swept)
	return err
}
