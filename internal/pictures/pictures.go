// Package pictures reads the properties of stored pictures in the background: width and height,
// orientation, the time at which they were taken, and a blurred preview.
//
// An Examiner looks for files with pictures that were not examined (files.Tree.Unexamined), the
// newest first: new uploads, replaced contents, copies, and after an upgrade all pictures. It reads
// one picture at a time, in a child process (package thumb), and records what it has read. It reads
// nothing again of a content whose properties are recorded. Of a large picture in a bucket it reads
// only the first bytes, because most vendors charge for reads: such a picture has no preview.
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
	"larder/internal/thumb/picture"
)

const (
	// interval is how often an Examiner looks for pictures, and retryInterval how long it waits
	// after a store has failed, or when all pictures that are left have failed.
	interval      = 2 * time.Second
	retryInterval = time.Minute
	// turn is how long an Examiner works before it looks for newer pictures.
	turn = 10 * time.Second
	// page is the number of pictures that are recorded in one transaction.
	page = 20
	// lease is how long other replicas leave the work to this one after the beginning of a page. If
	// a page takes longer, two replicas may read the same pictures, and record the same.
	lease = 2 * time.Minute

	// failurePause is the pause before the next try of a picture that could not be read. A picture
	// counts as one that cannot be read when its child has died maxFailures times. busyPause is the
	// first pause after a try for which the machine was too busy. This pause doubles with each such
	// try, up to failurePause.
	failurePause = 15 * time.Minute
	busyPause    = time.Minute
	maxFailures  = 3
	// maxFailed is the number of failed pictures that an Examiner remembers.
	maxFailed = 10_000
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
	failed   map[string]failure // by id of the content
	swept    string             // position of the sweep
	leaseEnd int64              // ms; the end of the lease that this process took, 0 for none
}

// failure describes the failed tries to read a picture.
type failure struct {
	next  time.Time     // the time of the next try
	tries int           // number of tries in which the child died
	away  int           // number of tries in which the store was unavailable
	pause time.Duration // after the last try for which the machine was too busy
}

// New returns an Examiner.
func New(cfg Config) *Examiner { return &Examiner{Config: cfg, failed: map[string]failure{}} }

// Run examines pictures until ctx ends, or until it learns that this system cannot confine the
// processes that read them.
func (e *Examiner) Run(ctx context.Context) {
	for {
		wait, err := e.Examine(ctx)
		if errors.Is(err, picture.ErrUnconfined) {
			e.Log.Warn("pictures are not examined", "error", err)
			return
		}
		if err != nil && ctx.Err() == nil {
			e.Log.Error("examine pictures", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// Examine examines the pictures that were not examined, the newest first, and returns how long the
// caller waits before the next call. It ends after a turn, so that the next call begins with the
// pictures that were stored meanwhile. It does nothing while another replica holds the lease.
// Error: picture.ErrUnconfined.
func (e *Examiner) Examine(ctx context.Context) (wait time.Duration, err error) {
	begun, after := e.Now(), files.FirstExaminePosition
	pass := &pass{failed: map[string]bool{}}
	for {
		found, err := e.Tree.Unexamined(ctx, after, page)
		if err != nil {
			return retryInterval, err
		}
		if len(found) == 0 {
			return pass.wait(), e.endLease(ctx)
		}
		if mine, err := e.takeLease(ctx); err != nil || !mine {
			return interval, err
		}
		after = found[len(found)-1].Position
		recorded, err := e.examinePage(ctx, pass, found)
		if err != nil {
			return retryInterval, err
		}
		if recorded > 0 && e.Now().Sub(begun) >= turn {
			return 0, nil // still with the lease
		}
	}
}

// pass is the state of one call of Examine.
type pass struct {
	failed   map[string]bool // providers
	recorded int             // pictures
	left     int             // pictures that were passed over
}

// wait returns how long to wait after the pass.
func (p *pass) wait() time.Duration {
	if len(p.failed) > 0 || p.left > 0 && p.recorded == 0 {
		return retryInterval
	}
	return interval
}

// examinePage examines the pictures of a page, records their properties, and returns the number of
// these pictures. It passes over the pictures of providers that have failed in this pass.
func (e *Examiner) examinePage(ctx context.Context, pass *pass, found []files.UnexaminedPicture) (int, error) {
	var examined []files.ExaminedPicture
	for _, p := range found {
		if !p.Known && (pass.failed[p.Provider] || e.Now().Before(e.failed[p.Content].next)) {
			pass.left++
			continue
		}
		properties, err := e.examine(ctx, p)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if errors.Is(err, picture.ErrUnconfined) {
			return 0, err
		}
		if err == nil || e.fail(pass, p, err) {
			examined = append(examined, files.ExaminedPicture{UnexaminedPicture: p, Picture: properties})
			delete(e.failed, p.Content)
		}
	}
	pass.recorded += len(examined)
	if len(examined) == 0 {
		return 0, nil
	}
	return len(examined), e.Tree.RecordExamined(ctx, examined)
}

// fail notes that a picture could not be examined because of err. It reports whether the picture
// counts as one that cannot be read.
func (e *Examiner) fail(pass *pass, p files.UnexaminedPicture, err error) bool {
	e.Log.Debug("a picture cannot be examined now", "content", p.Content, "provider", p.Provider, "error", err)
	pass.left++
	f, remembered := e.failed[p.Content]
	pause := failurePause
	switch { // a lost object, and errors of the database or the disk, do not count as tries
	case errors.Is(err, blob.ErrUnavailable):
		e.Log.Warn("pictures of a store cannot be examined now", "provider", p.Provider, "error", err)
		pass.failed[p.Provider] = true
		// if the store cannot deliver this object alone, the next pass examines the others
		pause = min(time.Duration(f.away)*busyPause, failurePause)
		f.away++
	case errors.Is(err, thumb.ErrChildDied):
		f.tries++
	case errors.Is(err, thumb.ErrStarved), fault.Is(err, fault.RateLimited): // the machine is busy
		f.pause = min(max(busyPause, 2*f.pause), failurePause)
		pause = f.pause
	}
	if f.tries == maxFailures {
		return true
	}
	if f.next = e.Now().Add(pause); remembered || len(e.failed) < maxFailed {
		e.failed[p.Content] = f
	}
	return false
}

// examine reads the properties of a picture; nil if they are known or it cannot be read. Fault:
// Unavailable, around blob.ErrUnavailable if the whole store is. Other errors: those of
// thumb.Maker.Examine.
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
