package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/gabriel-vasile/mimetype"

	"larder/internal/blob"
	"larder/internal/files"
)

const (
	magicBytes = 3072  // of a file tell what it is
	maxMagic   = 10000 // contents of which it is remembered
)

// magic tells what files are by their first bytes, and remembers it, so that HEAD, conditions and ranges of a video don't read them again. A content never
// changes, so that nothing here can be out of date. Its zero value knows nothing yet.
type magic struct {
	mu    sync.Mutex
	known map[string]string // type by id of the content
}

// shown decides how a file is shown to who does not know its owner, by what it is and not by what it says it is (abuse case C70). media is what to serve it
// as. What says that it is something that is never shown isn't, whatever it is, and text has to say that it is text. Fault: Unavailable.
func (m *magic) shown(ctx context.Context, content files.Content) (media string, shown bool, err error) {
	is, err := m.of(ctx, content)
	if err != nil {
		return "", false, err
	}
	says, may := blob.Shown(content.Entry.MimeType)
	silent := content.Entry.MimeType == "" || says == "application/octet-stream"
	if !may && !silent {
		return "", false, nil
	}
	text, _, _ := strings.Cut(says, ";")
	switch {
	case is == "text/plain" && text == "text/plain":
		return says, true, nil
	case is == "text/plain":
		return is, silent, nil
	case !silent && played(is) && played(says):
		return says, true, nil
	}
	_, shown = blob.Shown(is)
	return is, shown, nil
}

// of tells the type of a content. For text that no browser could take for a page or a program it is text/plain.
func (m *magic) of(ctx context.Context, content files.Content) (string, error) {
	m.mu.Lock()
	is, known := m.known[content.ID]
	m.mu.Unlock()
	if known {
		return is, nil
	}
	head, err := headOf(ctx, content)
	if err != nil {
		return "", err
	}
	is = kindOf(mimetype.Detect(head))
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxMagic {
		m.known = map[string]string{}
	}
	m.known[content.ID] = is
	return is, nil
}

func headOf(ctx context.Context, content files.Content) ([]byte, error) {
	head := make([]byte, min(content.Entry.Size, magicBytes))
	if len(head) == 0 {
		return nil, nil
	}
	object, err := content.OpenRange(ctx, 0, int64(len(head)))
	if err != nil {
		return nil, err
	}
	_, err = io.ReadFull(object, head)
	if err = errors.Join(err, object.Close()); err != nil {
		return nil, fmt.Errorf("read the first bytes of a file: %w", err)
	}
	return head, nil
}

func kindOf(t *mimetype.MIME) string {
	found, _, _ := strings.Cut(t.String(), ";")
	for ; t != nil; t = t.Parent() {
		switch {
		case t.Is("text/html"), t.Is("text/xml"), t.Is("image/svg+xml"), t.Is("text/javascript"):
			return found
		case t.Is("text/plain"):
			return "text/plain"
		case t.Is("application/ogg"):
			return "audio/ogg"
		}
	}
	return found
}

// played reports what a <video> or <audio> takes.
func played(media string) bool {
	return strings.HasPrefix(media, "audio/") || strings.HasPrefix(media, "video/")
}
