package files

import (
	"context"
	"io"
	"sync"
	"time"
)

// Pace is a rate limit for the bytes that one job reads. Safe for concurrent use; nil limits
// nothing.
type Pace struct {
	perSecond int64 // bytes, at least 1
	now       func() time.Time
	sleep     func(ctx context.Context, d time.Duration) error

	mu   sync.Mutex
	next time.Time // before then nothing is read
}

// NewPace returns a Pace of a number of bytes a second, nil when perSecond is 0.
func (t *Tree) NewPace(perSecond int64) *Pace {
	if perSecond <= 0 {
		return nil
	}
	return &Pace{perSecond: perSecond, now: t.Now, sleep: t.Sleep}
}

// Read reads from a reader no faster than the pace, until ctx ends.
func (p *Pace) Read(ctx context.Context, from io.Reader, b []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	b, err := p.wait(ctx, b)
	if err != nil {
		return 0, err
	}
	n, err := from.Read(b)
	p.Spend(n)
	return n, err
}

// wait waits until bytes may be read, and returns the beginning of b that may be read at once. It
// waits a second at most, also after the clock went back. Error: that of ctx.
func (p *Pace) wait(ctx context.Context, b []byte) ([]byte, error) {
	if p == nil {
		return b, nil
	}
	p.mu.Lock()
	pause := p.next.Sub(p.now())
	p.mu.Unlock()
	if pause > 0 { // a clock that went back makes nobody wait for long
		if err := p.sleep(ctx, min(pause, time.Second)); err != nil {
			return nil, err
		}
	}
	return b[:min(int64(len(b)), max(p.perSecond/4, 1))], nil
}

// Spend counts bytes as read.
func (p *Pace) Spend(n int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	from := p.now()
	if p.next.After(from) && p.next.Sub(from) <= time.Second {
		from = p.next
	}
	p.next = from.Add(time.Duration(float64(n) / float64(p.perSecond) * float64(time.Second)))
}

// sleep waits for d on the real clock, or until ctx ends, and returns the error of ctx then. It is
// the default of Config.Sleep.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
