package s3

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// Limits are how long the server may take. Connecting has limits of its own, those of package
// egress. What is zero is as it says here.
//
// Only the time that is spent waiting for the server counts: a client that sends a part slowly, or
// reads an object slowly, is not the server's fault, and is limited elsewhere.
type Limits struct {
	// Stall is how long a body may wait, in either direction, beyond what the bytes that moved are
	// worth: 30 seconds. A connection that has died without a word is noticed by it.
	Stall time.Duration
	// Rate is what bytes are worth, in bytes a second: 1 KiB. What moved fast
	// gains nothing for later.
	MinRate int64
	// Answer is how long an answer may take once the request is out: a minute. Of one without an
	// object it counts until its end.
	Answer time.Duration
	// Making is Answer for calls that have the server make an object out of others, whose
	// bytes it may have to copy: 15 minutes, in which the largest copy of one call (5 GiB)
	// needs 6 MB a second.
	Assembly time.Duration
	// Pause is how long the first repetition of a call waits: 100 milliseconds. Each one after it
	// waits twice as long.
	RetryPause time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Stall = cmp.Or(l.Stall, 30*time.Second)
	l.MinRate = cmp.Or(l.MinRate, 1<<10)
	l.Answer = cmp.Or(l.Answer, time.Minute)
	l.Assembly = cmp.Or(l.Assembly, 15*time.Minute)
	l.RetryPause = cmp.Or(l.RetryPause, 100*time.Millisecond)
	return l
}

// errTooSlow ends a call that ran into one of the limits. It is not tried again: that
// would double the wait.
var errTooSlow = errors.New("the server is too slow")

// limitedTransport is an http.RoundTripper with limits.
type limitedTransport struct {
	inner  http.RoundTripper
	limits Limits
}

// CloseIdleConnections serves http.Client.
func (l *limitedTransport) CloseIdleConnections() {
	(&http.Client{Transport: l.inner}).CloseIdleConnections()
}

// RoundTrip implements http.RoundTripper. The answer to whatever is no GET is
// small, and comes whole.
func (l *limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	w := newWatch(l.limits, answerLimit(l.limits, r), cancel)
	out := r.WithContext(ctx)
	if r.Body == nil || r.Body == http.NoBody {
		w.sent()
	} else {
		out.Body, out.GetBody = &requestBody{ReadCloser: r.Body, watch: w}, nil
	}
	resp, err := l.inner.RoundTrip(out)
	if err == nil && r.Method != http.MethodGet && r.Method != http.MethodHead {
		err = readWholeAnswer(resp)
	}
	if err != nil {
		w.stop()
		if context.Cause(ctx) == errTooSlow {
			err = errTooSlow
		}
		return nil, err
	}
	w.answered()
	resp.Body = &answerBody{ReadCloser: resp.Body, ctx: ctx, watch: w}
	return resp, nil
}

// answerLimit is how long the answer to r may take.
func answerLimit(limits Limits, r *http.Request) time.Duration {
	if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") || r.Header.Get("X-Amz-Copy-Source") != "" {
		return limits.Assembly
	}
	return limits.Answer
}

// watchdog ends a call whose server lets it wait too long. It looks at regular times whether
// somebody waits, rather than reading a clock.
type watchdog struct {
	limits      Limits
	answerLimit time.Duration
	cancel      context.CancelCauseFunc

	mu      sync.Mutex
	phase   phase
	waiting bool          // for the server
	debt    time.Duration // waited, less what has moved meanwhile
	timer   *time.Timer
}

type phase int

const (
	sending        phase = iota // the body of the request
	awaitingAnswer              // for the answer
	receiving                   // the body of the answer
	ended
)

// checksPerStall is how often a watch looks within one Stall.
const checksPerStall = 30

func newWatch(limits Limits, answer time.Duration, cancel context.CancelCauseFunc) *watchdog {
	w := &watchdog{limits: limits, answerLimit: answer, cancel: cancel, waiting: true}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.interval(), w.check)
	return w
}

func (w *watchdog) interval() time.Duration {
	return max(w.limits.Stall/checksPerStall, time.Millisecond)
}

func (w *watchdog) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.phase == ended {
		return
	}
	limit := w.limits.Stall
	if w.phase == awaitingAnswer {
		limit = w.answerLimit
	}
	if w.waiting {
		w.debt += w.interval()
	}
	if w.debt > limit {
		w.cancel(errTooSlow)
		return
	}
	w.timer.Reset(w.interval())
}

// setWaiting tells that the server is waited for from now on, or is not.
func (w *watchdog) setWaiting(waiting bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = waiting
}

// moved tells that bytes were taken, by the server or from it.
func (w *watchdog) moved(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.debt = max(0, w.debt-time.Duration(n)*time.Second/time.Duration(w.limits.MinRate))
}

func (w *watchdog) enterPhase(next phase, waiting bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.phase < next {
		w.phase, w.waiting, w.debt = next, waiting, 0
	}
}

// sent tells that the request is out as far as its sender knows.
func (w *watchdog) sent() { w.enterPhase(awaitingAnswer, true) }

// answered tells that the answer has begun.
func (w *watchdog) answered() { w.enterPhase(receiving, false) }

// stop ends the call; whatever of it still goes on is cut.
func (w *watchdog) stop() {
	w.enterPhase(ended, false)
	w.timer.Stop()
	w.cancel(nil)
}

// requestBody is the body of a request: the time between two reads is the server's.
type requestBody struct {
	io.ReadCloser
	watch *watchdog
	last  int // bytes of the last read
}

func (o *requestBody) Read(p []byte) (int, error) {
	o.watch.moved(o.last)
	o.watch.setWaiting(false)
	n, err := o.ReadCloser.Read(p)
	o.last = n
	o.watch.setWaiting(true)
	if err == io.EOF {
		o.watch.sent()
	}
	return n, err
}

// answerBody is the body of an answer: the time of a read is the server's.
type answerBody struct {
	io.ReadCloser
	ctx   context.Context
	watch *watchdog
}

func (i *answerBody) Read(p []byte) (int, error) {
	i.watch.setWaiting(true)
	n, err := i.ReadCloser.Read(p)
	i.watch.setWaiting(false)
	i.watch.moved(n)
	if err != nil && err != io.EOF && context.Cause(i.ctx) == errTooSlow {
		err = errTooSlow
	}
	return n, err
}

func (i *answerBody) Close() error {
	defer i.watch.stop()
	return i.ReadCloser.Close()
}
