// Package thumb makes and caches thumbnails. It does not check permissions: the caller of Get does,
// for each request.
//
// A child process, `larder thumb` (package picture), makes each thumbnail, so that a hostile,
// broken or too large picture ends only that process (abuse case C104). As many children run at a
// time as there are processors. Waiting requests take turns by account or address, so that a large
// gallery does not delay other users, and their number is limited. Requests for the same thumbnail
// share one child, which is stopped when the last of them is cancelled. Failures are remembered for
// a while, so that repeated requests start no child.
//
// Thumbnails are kept in files (cache.go). A lost file is made again.
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
	// MaxSource is the largest picture in bytes: 50 megapixels without compression.
	MaxSource = 200 << 20
	// childTimeout is how long one child may run, and backgroundTimeout how long one in the
	// background.
	childTimeout      = 10 * time.Second
	backgroundTimeout = time.Minute
	// fetchTimeout is how long the transfer of a picture from its store may take.
	fetchTimeout = 30 * time.Second
	// queueTimeout is how long a request may wait for its turn.
	queueTimeout = 20 * time.Second
	// failureTTL is how long a content without a thumbnail is remembered.
	failureTTL  = 15 * time.Minute
	maxFailures = 10_000
	// maxBusy is the number of builds that may end with ErrBusy until the content counts as one
	// without a thumbnail. Two costly pictures at once on one processor look like a busy machine.
	maxBusy = 3
)

// Config holds the settings of a Maker.
type Config struct {
	Dir   string   // directory of the cache; created when needed
	Child []string // the program that makes a thumbnail, and its first arguments
	// Vips returns the path of vipsthumbnail, "" to use only Go's decoders. It is called until it
	// returns no error.
	Vips         func(ctx context.Context) (string, error)
	Spool        func() (*os.File, error) // opens a temporary file without a name
	CheckSpace   func() error             // returns an error when the disk of Dir and Spool is nearly full
	Slots        int                      // children that run at a time
	ChildTimeout time.Duration            // for one child; 0 for 10 s
	// BackgroundTimeout is for one child that a request does not wait for; 0 for a minute.
	BackgroundTimeout time.Duration
	FetchTimeout      time.Duration // for the transfer of a picture from its store; 0 for 30 s
	QueueTimeout      time.Duration // how long a request waits for its turn; 0 for 20 s
	Now               func() time.Time
	Log               *slog.Logger
}

// Maker makes thumbnails. It is safe for concurrent use.
type Maker struct {
	Config
	vips    vipsFinder
	cache   *cache
	queue   *queue
	slots   chan struct{}
	ctx     context.Context // of all builds
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	closed bool
	builds map[buildKey]*build
	busy   map[string]int       // by id of the content: builds that ended with ErrBusy
	failed map[string]time.Time // contents without a thumbnail, by id, with the time at which the entry expires
}

// New returns a Maker. It starts and reads nothing.
func New(cfg Config) *Maker {
	cfg.ChildTimeout = cmp.Or(cfg.ChildTimeout, childTimeout)
	cfg.BackgroundTimeout = cmp.Or(cfg.BackgroundTimeout, backgroundTimeout)
	cfg.QueueTimeout = cmp.Or(cfg.QueueTimeout, queueTimeout)
	cfg.FetchTimeout = cmp.Or(cfg.FetchTimeout, fetchTimeout)
	m := &Maker{
		Config: cfg, cache: &cache{dir: cfg.Dir, now: cfg.Now, limit: maxBytes},
		// time for a search and for a test picture
		vips: vipsFinder{search: cfg.Vips, timeout: 2 * cfg.ChildTimeout, now: cfg.Now, log: cfg.Log,
			lock: make(chan struct{}, 1)},
		builds: map[buildKey]*build{}, failed: map[string]time.Time{}, busy: map[string]int{},
		// some requests fetch their picture while others decode
		queue: newQueue(4 * cfg.Slots), slots: make(chan struct{}, cfg.Slots),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// CacheSize returns the number of thumbnails in the cache that this process knows, and their bytes.
func (m *Maker) CacheSize() (files int, bytes int64) { return m.cache.size() }

// Close stops the builds and waits for their end. Later calls of Get fail.
func (m *Maker) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.running.Wait()
}

// Source is a picture to make a thumbnail of.
type Source struct {
	ID   string // of the content; differs for other content
	Size int64  // bytes
	Open func(ctx context.Context) (blob.Object, error)

	priority priority // of the children
}

// key identifies a thumbnail.
type key struct {
	content string
	edge    int // the longest edge in pixels
}

// buildKey identifies a build. A request does not wait for a build in the background, which can
// take long.
type buildKey struct {
	key
	priority priority
}

// build is a thumbnail that is being made for one or more requests.
type build struct {
	done    chan struct{}
	err     error // valid after done is closed
	waiting int   // guarded by Maker.mu
	cancel  context.CancelFunc
}

// Get returns the open thumbnail of a picture, whose longest edge has at most edge pixels. The
// caller closes it. who is the account or address in whose lane the request waits. Faults: NotFound
// (the content is not a picture, or cannot or must not be decoded), RateLimited (too many requests
// wait, or the machine is too busy), and those of Source.Open.
func (m *Maker) Get(ctx context.Context, who string, from Source, edge int) (Thumbnail, error) {
	k := key{from.ID, edge}
	for range 2 { // the cache may remove it right after it was made
		t, found, err := m.cache.open(k)
		if found || err != nil {
			return t, err
		}
		if err := m.awaitBuild(ctx, who, from, k); err != nil {
			return Thumbnail{}, err
		}
	}
	return Thumbnail{}, errors.New("a thumbnail disappeared right after it was made")
}

// awaitBuild waits until the thumbnail k of from has been made, by this or another request, and
// returns the error of that.
func (m *Maker) awaitBuild(ctx context.Context, who string, from Source, k key) error {
	f, err := m.joinBuild(who, from, k)
	if err != nil {
		return err
	}
	defer m.leaveBuild(buildKey{k, from.priority}, f)
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// joinBuild returns the build that makes the thumbnail k, after starting it if there is none, and
// counts the caller among its waiters. Faults: Unavailable after Close; NotFound at once for a
// picture that is too large or has failed lately.
func (m *Maker) joinBuild(who string, from Source, k key) (*build, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fault.New(fault.Unavailable, "The service is stopping.")
	}
	until, known := m.failed[k.content]
	known = known && from.priority == foreground // a request may have failed because of a busy machine
	if known && m.Now().Before(until) || from.Size > MaxSource {
		return nil, noThumbnail(nil)
	}
	f := m.builds[buildKey{k, from.priority}]
	if f == nil {
		ctx, cancel := context.WithCancel(m.ctx)
		f = &build{done: make(chan struct{}), cancel: cancel}
		m.builds[buildKey{k, from.priority}] = f
		m.running.Go(func() { m.runBuild(ctx, f, who, from, k) })
	}
	f.waiting++
	return f, nil
}

// leaveBuild ends the caller's wait for a build, and stops a build for which no request waits any
// more.
func (m *Maker) leaveBuild(k buildKey, f *build) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.waiting--; f.waiting > 0 {
		return
	}
	f.cancel()
	m.removeBuild(k, f)
}

// removeBuild removes a build, so that the next request starts a new one. The caller holds m.mu.
func (m *Maker) removeBuild(k buildKey, f *build) {
	if m.builds[k] == f {
		delete(m.builds, k)
	}
}

// runBuild makes the thumbnail k of from, remembers a picture that has none, and gives the result
// to the requests that wait for f.
func (m *Maker) runBuild(ctx context.Context, f *build, who string, from Source, k key) {
	f.err = m.makeAndCache(ctx, who, from, k)
	m.mu.Lock()
	defer m.mu.Unlock()
	if fault.Is(f.err, fault.NotFound) || m.countBusy(k.content, f.err) {
		if len(m.failed) >= maxFailures {
			m.failed = map[string]time.Time{}
		}
		m.failed[k.content] = m.Now().Add(failureTTL)
		m.Log.Debug("there is no thumbnail", "content", k.content, "edge", k.edge, "error", f.err)
	}
	m.removeBuild(buildKey{k, from.priority}, f)
	close(f.done)
}

// countBusy counts a build of a content that ended with err if that is ErrBusy. Any other end
// resets the count. limitReached reports that maxBusy builds in a row ended with ErrBusy; the count
// then begins anew. The caller holds m.mu.
func (m *Maker) countBusy(content string, err error) (limitReached bool) {
	if !errors.Is(err, ErrBusy) || m.busy[content]+1 == maxBusy {
		delete(m.busy, content)
		return errors.Is(err, ErrBusy)
	}
	if len(m.busy) >= maxFailures {
		m.busy = map[string]int{}
	}
	m.busy[content]++
	return false
}

// noThumbnail returns the fault NotFound for a picture that is known to have no thumbnail; cause is
// for the log.
func noThumbnail(cause error) error {
	return fault.New(fault.NotFound, "There is no thumbnail of this file.").WithCause(cause)
}

// makeAndCache makes the thumbnail k of from and stores it in the cache. who is the account or
// address in whose lane it waits. Faults: those of Get.
func (m *Maker) makeAndCache(ctx context.Context, who string, from Source, k key) error {
	if err := m.enter(ctx, who); err != nil {
		return err
	}
	defer m.queue.leave()
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
	if err := m.decode(ctx, from.priority, in, out.file, k.edge); err != nil {
		return err
	}
	return m.cache.store(k, out)
}

// enter waits up to QueueTimeout for the turn of an account or address, and checks that the disk
// has room. After a nil error the caller calls queue.leave. Faults: RateLimited, Unavailable.
func (m *Maker) enter(ctx context.Context, who string) error {
	patient, cancel := context.WithTimeout(ctx, m.QueueTimeout)
	defer cancel()
	if err := m.queue.enter(patient, who); err != nil {
		return queueError(ctx, err)
	}
	if err := m.CheckSpace(); err != nil {
		m.queue.leave()
		return err
	}
	return nil
}

// decode runs the decoders, for a request when fewer than Config.Slots children run. Faults: those
// of runDecoders.
func (m *Maker) decode(ctx context.Context, p priority, in, out *os.File, edge int) error {
	vips, unknown := m.vips.find(ctx)
	free, err := m.enterSlot(ctx, p)
	if err != nil {
		return err
	}
	defer free()
	return m.runDecoders(ctx, p, in, out, edge, vips, unknown)
}

// enterSlot waits until fewer than Config.Slots children run for requests. The caller calls free
// after its child has ended. A child in the background needs no slot: it may take long, and must
// not delay requests.
func (m *Maker) enterSlot(ctx context.Context, p priority) (free func(), err error) {
	if p == background {
		return func() {}, nil
	}
	select {
	case m.slots <- struct{}{}:
		return func() { <-m.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// queueError converts the end of queueTimeout to the fault RateLimited, and returns other errors as
// they are. ctx is the context of the request, without that timeout.
func queueError(ctx context.Context, err error) error {
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return tooManyWaiting()
	}
	return err
}

// fetch returns the picture as a file: the store's own, or a nameless copy. The caller calls done,
// which closes it. Faults: those of Source.Open, and Unavailable, around blob.ErrUnavailable, when
// the store is too slow.
func (m *Maker) fetch(ctx context.Context, from Source) (in *os.File, done func(), err error) {
	patient, cancel := context.WithTimeout(ctx, m.FetchTimeout)
	defer cancel()
	defer func() {
		if err != nil && patient.Err() != nil && ctx.Err() == nil {
			err = blob.Unavailable("fetch a picture in time", err)
		}
	}()
	object, err := from.Open(patient)
	if err != nil {
		return nil, nil, err
	}
	closeObject := func() { object.Close() } // opened for reading: there is nothing to lose
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

// Sweep removes from the cache the thumbnails of contents that were deleted. existing returns those
// of the given content ids that exist.
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

// Edges are the lengths of the longest edge, in pixels, that a request may ask for.
var Edges = picture.Edges
