package app

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// batches records the writes that it gets, and blocks while it is locked.
type batches struct {
	sync.Mutex
	writes []string
	at     []time.Duration // since the beginning
	began  time.Time
}

func (b *batches) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	b.writes = append(b.writes, string(p))
	b.at = append(b.at, time.Since(b.began))
	return len(p), nil
}

func (b *batches) want(t *testing.T, want ...string) {
	t.Helper()
	b.Lock()
	defer b.Unlock()
	var got []string
	for i, write := range b.writes {
		got = append(got, fmt.Sprint(b.at[i], " ", write))
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("the log is written as %q, want %q", got, want)
	}
}

// A line comes at once after a pause. Further lines come together, at most 100 ms late, in their
// order.
func TestLogLinesComeInBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &batches{began: time.Now()}
		w := NewLogWriter(out)
		write := func(line string) {
			if n, err := io.WriteString(w, line); n != len(line) || err != nil {
				t.Errorf("wrote %d bytes: %v", n, err)
			}
		}
		write("1\n")
		synctest.Wait()
		write("2\n")
		<-time.After(60 * time.Millisecond)
		write("3\n")
		<-time.After(time.Second)
		write("4\n")
		synctest.Wait()
		out.want(t, "0s 1\n", "100ms 2\n3\n", "1.06s 4\n")
		write("5\n")
		w.Close()
		out.want(t, "0s 1\n", "100ms 2\n3\n", "1.06s 4\n", "1.06s 5\n")
	})
}

// blockedOutput blocks in its first Write until it is released.
type blockedOutput struct {
	bytes.Buffer
	once              sync.Once
	entered, released chan struct{}
}

func (o *blockedOutput) Write(p []byte) (int, error) {
	o.once.Do(func() {
		close(o.entered)
		<-o.released
	})
	return o.Buffer.Write(p)
}

// While nobody reads the log, writers don't wait. A mebibyte of lines is kept, and the number of
// the others is reported when the log is read again.
func TestBlockedLogLosesLinesAndSaysSo(t *testing.T) {
	t.Parallel()
	out := &blockedOutput{entered: make(chan struct{}), released: make(chan struct{})}
	w := NewLogWriter(out)
	w.LostLine = func(dropped int) []byte { return fmt.Appendf(nil, "lost %d\n", dropped) }
	line := strings.Repeat("x", 1023) + "\n"
	io.WriteString(w, "first\n")
	<-out.entered
	for range 1024 + 7 {
		io.WriteString(w, line)
	}
	close(out.released)
	w.Close()
	if want := "first\n" + strings.Repeat(line, 1024) + "lost 7\n"; out.String() != want {
		t.Errorf("the log ends with %q after %d lines", out.String()[max(0, out.Len()-40):],
			strings.Count(out.String(), "\n"))
	}
}

// Close gives up after five seconds when nobody reads the log any more.
func TestCloseOfBlockedLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader, out := io.Pipe()
		w := NewLogWriter(out)
		io.WriteString(w, "nobody reads this\n")
		began := time.Now()
		if w.Close(); time.Since(began) != 5*time.Second {
			t.Errorf("Close took %v", time.Since(began))
		}
		reader.Close()
	})
}
