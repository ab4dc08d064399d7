// Package thumb makes thumbnails and keeps them. Who may see one is not asked here: whoever calls
// Get has judged it, each time.
//
// A thumbnail is made by a child process, `larder thumb` (package picture): a picture that is
// hostile, broken or too large ends that and nothing else (abuse case C104). There are as many
// children at a time as processors; who waits is let in by turns, so that nobody's gallery holds
// another's up, and there is a bound to those who wait. Requests for the same thumbnail share one
// child, which is stopped when the last of them has gone. What can't be made is remembered for a
// while, so that it costs no child a request.
//
// What was made lies in files (cache.go). They can be lost at any time: they are made again.
package thumb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/thumb/picture"
)

const (
	// MaxSource is how long a picture may be, in bytes: 50 megapixels without compression.
	MaxSource = 200 << 20
	// childTimeout is how long one child may take.
	childTimeout = 10 * time.Second
	// fetchTimeout is how long a picture that lies elsewhere may take to come.
	fetchTimeout = 30 * time.Second
	// queueTimeout is how long somebody waits for their turn.
	queueTimeout = 20 * time.Second
	// failureTTL is how long it is remembered that there is no thumbnail of a content.
	failureTTL  = 15 * time.Minute
	maxFailures = 10_000
)

// Config is what a Maker needs.
type Config struct {
	Dir          string                   // where thumbnails are kept; made when it is needed
	Child        []string                 // the program that makes one, and its first arguments
	Vips         func() string            // the path of vipsthumbnail, "" to do without; asked once
	Spool        func() (*os.File, error) // opens a temporary file without a name
	CheckSpace   func() error             // refuses when the disk of both is nearly full
	Slots        int                      // children at a time
	ChildTimeout time.Duration            // with one child, 0 for 10 s
	Now          func() time.Time
	Log          *slog.Logger
}

// Maker makes thumbnails. Safe for concurrent use.
type Maker struct {
	Config
	vips    func() string
	cache   *cache
	queue   *queue
	slots   chan struct{}
	ctx     context.Context // of all flights
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex // guards the rest
	closed bool
	builds map[key]*build
	failed map[string]time.Time // until when there is no thumbnail, by id of the content
}

// New returns a Maker; nothing is started or read yet.
func New(cfg Config) *Maker {
	cfg.ChildTimeout = cmp.Or(cfg.ChildTimeout, childTimeout)
	m := &Maker{
		Config: cfg, vips: sync.OnceValue(cfg.Vips), cache: &cache{dir: cfg.Dir, now: cfg.Now, limit: maxBytes},
		builds: map[key]*build{}, failed: map[string]time.Time{},
		queue: newQueue(4 * cfg.Slots), slots: make(chan struct{}, cfg.Slots), // some fetch what the others decode
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// CacheSize tells how many thumbnails this process knows to be in the cache, and how
// many bytes they take.
func (m *Maker) CacheSize() (files int, bytes int64) { return m.cache.size() }

// Close stops what is under way and waits for its end. Later calls of Get fail.
func (m *Maker) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.running.Wait()
}

// Source is a picture.
type Source struct {
	ID   string // of the content: another one for other content
	Size int64  // bytes
	Open func(ctx context.Context) (blob.Object, error)
}

// key names a thumbnail.
type key struct {
	content string
	edge    int // the longest, in pixels
}

// build is a thumbnail that is being made.
type build struct {
	done    chan struct{}
	err     error // read after done
	waiting int   // guarded by Maker.mu
	cancel  context.CancelFunc
}

// Get returns the thumbnail of a picture, open, to be closed; its longest edge is at most edge. who
// is whose turn it takes. Faults: NotFound (there is none: it is no picture, or can't or mustn't be
// decoded), RateLimited (too many wait), and those of Open.
func (m *Maker) Get(ctx context.Context, who string, from Source, edge int) (Thumbnail, error) {
	k := key{from.ID, edge}
	for range 2 { // it may be thrown out just when it was made
		t, found, err := m.cache.open(k)
		if found || err != nil {
			return t, err
		}
		if err := m.awaitBuild(ctx, who, from, k); err != nil {
			return Thumbnail{}, err
		}
	}
	return Thumbnail{}, errors.New("a thumbnail was made and lost at once")
}

// awaitBuild waits until the thumbnail has been made, by this call or another.
func (m *Maker) awaitBuild(ctx context.Context, who string, from Source, k key) error {
	f, err := m.joinBuild(who, from, k)
	if err != nil {
		return err
	}
	defer m.leaveBuild(k, f)
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Maker) joinBuild(who string, from Source, k key) (*build, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fault.New(fault.Unavailable, "The service is stopping.")
	}
	if until, known := m.failed[k.content]; known && m.Now().Before(until) || from.Size > MaxSource {
		return nil, noThumbnail(nil)
	}
	f := m.builds[k]
	if f == nil {
		ctx, cancel := context.WithCancel(m.ctx)
		f = &build{done: make(chan struct{}), cancel: cancel}
		m.builds[k] = f
		m.running.Go(func() { m.runBuild(ctx, f, who, from, k) })
	}
	f.waiting++
	return f, nil
}

// leaveBuild ends a flight that nobody waits for any more.
func (m *Maker) leaveBuild(k key, f *build) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.waiting--; f.waiting > 0 {
		return
	}
	f.cancel()
	m.removeBuild(k, f)
}

// removeBuild has the next request make the thumbnail anew. The lock is held.
func (m *Maker) removeBuild(k key, f *build) {
	if m.builds[k] == f {
		delete(m.builds, k)
	}
}

func (m *Maker) runBuild(ctx context.Context, f *build, who string, from Source, k key) {
	f.err = m.makeAndCache(ctx, who, from, k)
	m.mu.Lock()
	defer m.mu.Unlock()
	if fault.Is(f.err, fault.NotFound) {
		if len(m.failed) >= maxFailures {
			m.failed = map[string]time.Time{}
		}
		m.failed[k.content] = m.Now().Add(failureTTL)
		m.Log.Debug("there is no thumbnail", "content", k.content, "edge", k.edge, "error", f.err)
	}
	m.removeBuild(k, f)
	close(f.done)
}

// noThumbnail is the fault of a picture without a thumbnail.
func noThumbnail(cause error) error {
	return fault.New(fault.NotFound, "There is no thumbnail of this file.").WithCause(cause)
}

// makeAndCache makes the thumbnail and puts it into the cache.
func (m *Maker) makeAndCache(ctx context.Context, who string, from Source, k key) error {
	patient, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	if err := m.queue.enter(patient, who); err != nil {
		return queueError(ctx, err)
	}
	defer m.queue.leave()
	if err := m.CheckSpace(); err != nil {
		return err
	}
	in, closeIn, err := m.fetch(ctx, from)
	if err != nil {
		return err
	}
	defer closeIn()
	out, err := m.cache.createDraft()
	if err != nil {
		return err
	}
	defer out.discard()
	select {
	case m.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err = m.runDecoders(ctx, in, out.file, k.edge)
	<-m.slots
	if err != nil {
		return err
	}
	return m.cache.store(k, out)
}

// queueError tells whose turn did not come.
func queueError(ctx context.Context, err error) error {
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return tooManyWaiting()
	}
	return err
}

// fetch returns the picture as a file: its own where the store has one, else a copy without a name.
func (m *Maker) fetch(ctx context.Context, from Source) (in *os.File, done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	object, err := from.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	closeObject := func() { object.Close() } // opened to read: there is nothing to lose
	if local, ok := object.(blob.FileBacked); ok {
		return local.File(), closeObject, nil
	}
	defer closeObject()
	spool, err := m.Spool()
	if err != nil {
		return nil, nil, fmt.Errorf("fetch a picture: %w", err)
	}
	if _, err := io.Copy(spool, object); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("fetch a picture: %w", err), spool.Close())
	}
	return spool, func() { spool.Close() }, nil
}

// Sweep forgets the thumbnails of contents that do not exist any more; existing tells which
// of some ids do.
func (m *Maker) Sweep(ctx context.Context, existing func(ctx context.Context,
	ids []string) (map[string]bool, error)) error {
	ids, err := m.cache.contents()
	if err != nil || len(ids) == 0 {
		return err
	}
	there, err := existing(ctx, ids)
	if err != nil {
		return fmt.Errorf("sweep thumbnails: %w", err)
	}
	for _, id := range ids {
		if !there[id] {
			m.cache.removeContent(id)
		}
	}
	return nil
}

// Edges are the lengths of the longest edge that a thumbnail may be asked for with.
var Edges = picture.Edges
