package thumb

import (
	"context"
	"fmt"
	"io"
	"os"

	"larder/internal/fault"
)

// Make returns a smaller version of a picture, made as Get makes it but without the cache: the
// bytes and their MIME type. in holds the picture and stays open. who is the account or address in
// whose lane the request waits; edge is the longest edge in pixels. Faults: NotFound (in is not a
// picture, or cannot or must not be decoded), RateLimited, Unavailable.
func (m *Maker) Make(ctx context.Context, who string, in *os.File, edge int) (content []byte, mimeType string,
	err error) {
	ctx, end, err := m.begin(ctx)
	if err != nil {
		return nil, "", err
	}
	defer end()
	if err := m.enter(ctx, who); err != nil {
		return nil, "", err
	}
	defer m.queue.leave()
	out, err := m.Spool()
	if err != nil {
		return nil, "", fmt.Errorf("make a smaller picture: %w", err)
	}
	defer out.Close() // the file has no name: closing it frees its space
	if err := m.decode(ctx, foreground, in, out, edge); err != nil {
		return nil, "", err
	}
	ext, size, err := extensionOf(out)
	if err != nil {
		return nil, "", noThumbnail(err)
	}
	content = make([]byte, size)
	if _, err := out.ReadAt(content, 0); err != nil && err != io.EOF {
		return nil, "", fmt.Errorf("read a smaller picture: %w", err)
	}
	return content, types[ext], nil
}

// begin returns a context that also ends when the Maker is closed. The caller calls end when it is
// done; Close waits for that. Fault: Unavailable after Close.
func (m *Maker) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, nil, fault.New(fault.Unavailable, "The service is stopping.")
	}
	m.running.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(m.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		m.running.Done()
	}, nil
}
