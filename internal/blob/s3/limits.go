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

// Limits are the time limits of calls to the server. Connecting has the limits of package egress. A
// zero field has the default that its comment states.
//
// Only the time spent waiting for the server counts. A client that sends or reads slowly is limited
// elsewhere.
type Limits struct {
	// Stall is how long a body may wait, in either direction, beyond the time that the transferred
	// bytes are worth at MinRate; default 30 seconds. It detects dead connections.
	Stall time.Duration
	// MinRate is the slowest accepted rate of a body in bytes per second; default 1 KiB. Bytes that
	// moved faster give no credit for later.
	MinRate int64
	// Answer is how long an answer may take after the request was sent; default 1 minute. For a
	// call without an object in its answer, the time runs until the end of the answer.
	Answer time.Duration
	// Assembly is Answer for calls that make the server create an object from others, whose bytes
	// it may have to copy; default 15 minutes. The largest single copy (5 GiB) then needs 6 MB per
	// second.
	Assembly time.Duration
	// RetryPause is the wait before the first retry of a call; default 100 milliseconds. It doubles
	// with each retry.
	RetryPause time.Duration
}

// withDefaults returns l with the defaults in place of its zero fields.
func (l Limits) withDefaults() Limits {
	l.Stall = cmp.Or(l.Stall, 30*time.Second)
	l.MinRate = cmp.Or(l.MinRate, 1<<10)
	l.Answer = cmp.Or(l.Answer, time.Minute)
	l.Assembly = cmp.Or(l.Assembly, 15*time.Minute)
	l.RetryPause = cmp.Or(l.RetryPause, 100*time.Millisecond)
	return l
}

// errTooSlow ends a call that exceeded a limit. Such a call is not retried, since that would double
// the wait.
var errTooSlow = errors.New("the server is too slow")

// limitedTransport is an http.RoundTripper that enforces Limits.
type limitedTransport struct {
	inner  http.RoundTripper
	limits Limits
}

// CloseIdleConnections passes the call of the same name by http.Client to the inner transport.
func (l *limitedTransport) CloseIdleConnections() {
	(&http.Client{Transport: l.inner}).CloseIdleConnections()
}

// RoundTrip sends r under the limits, whose violation ends the call with errTooSlow. Answers to
// methods other than GET and HEAD are small, and RoundTrip reads them whole.
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

// answerLimit returns how long the answer to r may take: Limits.Assembly for a copy or the
// completion of an upload in parts, Limits.Answer otherwise.
func answerLimit(limits Limits, r *http.Request) time.Duration {
	if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") || r.Header.Get("X-Amz-Copy-Source") != "" {
		return limits.Assembly
	}
	return limits.Answer
}

// watchdog ends a call that waits too long for the server. Instead of reading a clock, it checks at
// regular intervals whether the call waits.
type watchdog struct {
	limits      Limits
	answerLimit time.Duration
	cancel      context.CancelCauseFunc

	mu      sync.Mutex
	phase   phase
	waiting bool          // for the server
	debt    time.Duration // time waited, less the worth of the bytes that moved
	timer   *time.Timer
}

type phase int

const (
	sending        phase = iota // the body of the request
	awaitingAnswer              // the call waits for the answer
	receiving                   // the body of the answer
	ended
)

// checksPerStall is the number of checks within Limits.Stall.
const checksPerStall = 30

// newWatch starts the watchdog of a call, which begins by sending. answer is the limit of its
// answer; cancel ends the call with the cause errTooSlow.
func newWatch(limits Limits, answer time.Duration, cancel context.CancelCauseFunc) *watchdog {
	w := &watchdog{limits: limits, answerLimit: answer, cancel: cancel, waiting: true}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.interval(), w.check)
	return w
}

// interval returns the time between two checks of the watchdog.
func (w *watchdog) interval() time.Duration {
	return max(w.limits.Stall/checksPerStall, time.Millisecond)
}

// check runs at each interval: it adds the interval to the waited time if the call waits for the
// server, and cancels the call beyond the limit of its phase.
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

// setWaiting records whether the call waits for the server from now on.
func (w *watchdog) setWaiting(waiting bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = waiting
}

// moved records that n bytes were sent or received, and forgives the waited time that they are
// worth at Limits.MinRate.
func (w *watchdog) moved(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.debt = max(0, w.debt-time.Duration(n)*time.Second/time.Duration(w.limits.MinRate))
}

// enterPhase begins the next phase with no time waited; waiting is whether the call waits for the
// server from the start. It does nothing when the call is in that phase or a later one.
func (w *watchdog) enterPhase(next phase, waiting bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.phase < next {
		w.phase, w.waiting, w.debt = next, waiting, 0
	}
}

// sent records that the request has been sent.
func (w *watchdog) sent() { w.enterPhase(awaitingAnswer, true) }

// answered records that the head of the answer has arrived.
func (w *watchdog) answered() { w.enterPhase(receiving, false) }

// stop ends the watchdog and cancels what remains of the call. The body of an answer calls it when
// it is closed.
func (w *watchdog) stop() {
	w.enterPhase(ended, false)
	w.timer.Stop()
	w.cancel(nil)
}

// requestBody is the body of a request. The time between two reads counts as waiting for the
// server.
type requestBody struct {
	io.ReadCloser
	watch *watchdog
	last  int // bytes of the last read
}

// Read implements io.Reader. It tells the watchdog that the call does not wait for the server while
// the client's bytes are read, and waits for it from then on.
func (b *requestBody) Read(p []byte) (int, error) {
	b.watch.moved(b.last)
	b.watch.setWaiting(false)
	n, err := b.ReadCloser.Read(p)
	b.last = n
	b.watch.setWaiting(true)
	if err == io.EOF {
		b.watch.sent()
	}
	return n, err
}

// answerBody is the body of an answer. The time of a read counts as waiting for the server.
type answerBody struct {
	io.ReadCloser
	ctx   context.Context
	watch *watchdog
}

// Read implements io.Reader. It tells the watchdog that the call waits for the server meanwhile.
// Error: errTooSlow when the watchdog has ended the call.
func (b *answerBody) Read(p []byte) (int, error) {
	b.watch.setWaiting(true)
	n, err := b.ReadCloser.Read(p)
	b.watch.setWaiting(false)
	b.watch.moved(n)
	if err != nil && err != io.EOF && context.Cause(b.ctx) == errTooSlow {
		err = errTooSlow
	}
	return n, err
}

// Close closes the body and stops the watchdog, which ends the call.
func (b *answerBody) Close() error {
	defer b.watch.stop()
	return b.ReadCloser.Close()
}
