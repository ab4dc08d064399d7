package app

import (
	"io"
	"sync"
	"time"
)

const (
	// logInterval is the shortest time between two writes of the log, and so the longest delay of a
	// line.
	logInterval = 100 * time.Millisecond
	// maxUnwrittenLog is the number of bytes that wait while the output is blocked.
	maxUnwrittenLog = 1 << 20
	// logCloseTimeout is how long Close waits for a blocked output.
	logCloseTimeout = 5 * time.Second
)

// LogWriter writes the lines of a log to an output in batches, since a system call for each line of
// a request would cost more than the line. It writes a line at once when it has written nothing for
// logInterval. Write never waits for the output: when too much waits to be written, it drops lines
// and counts them. It is safe for concurrent use. A crash of the process loses the last lines.
type LogWriter struct {
	// LostLine returns the line that stands for a number of dropped lines. It is set before the
	// first Write; nil for none. It must not call Write.
	LostLine func(dropped int) []byte

	out  io.Writer
	wake chan struct{} // holds a value while there are lines to write
	quit chan struct{}
	done chan struct{}

	mu    sync.Mutex
	lines []byte
	spare []byte // the former memory of lines, to be used again
	lost  int
}

// NewLogWriter returns a LogWriter to out. The caller closes it.
func NewLogWriter(out io.Writer) *LogWriter {
	w := &LogWriter{out: out, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

// Write implements io.Writer for whole lines. It never fails.
func (w *LogWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	if len(w.lines)+len(line) <= maxUnwrittenLog {
		w.lines = append(w.lines, line...)
	} else {
		w.lost++
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return len(line), nil
}

// Close writes the remaining lines. It gives up if the output is blocked. No Write may follow.
func (w *LogWriter) Close() {
	close(w.quit)
	select {
	case <-w.done:
	case <-time.After(logCloseTimeout):
	}
}

// run is the goroutine that writes: at once after a pause of logInterval, otherwise once in each
// logInterval, until Close.
func (w *LogWriter) run() {
	defer close(w.done)
	for {
		select {
		case <-w.wake:
			w.flush()
		case <-w.quit:
			w.flush()
			return
		}
		select {
		case <-time.After(logInterval):
		case <-w.quit:
			w.flush()
			return
		}
	}
}

// flush writes the lines that wait, and then the line that stands for those that were dropped. An
// error of the output is ignored.
func (w *LogWriter) flush() {
	w.mu.Lock()
	lines, lost := w.lines, w.lost
	w.lines, w.spare, w.lost = w.spare[:0], nil, 0
	w.mu.Unlock()
	if lost > 0 && w.LostLine != nil {
		lines = append(lines, w.LostLine(lost)...)
	}
	if len(lines) > 0 {
		_, _ = w.out.Write(lines) // there is nowhere else to report the error
	}
	w.mu.Lock()
	w.spare = lines
	w.mu.Unlock()
}
