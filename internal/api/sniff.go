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
	sniffBytes = 3072  // of a file tell what it is
	maxSniffed = 10000 // contents of which it is remembered
)

// sniffer tells what files are by their first bytes, and remembers it, so that HEAD, conditions and
// ranges of a video don't read them again. A content never changes, so that nothing here can be out
// of date. Its zero value knows nothing yet.
type sniffer struct {
	mu    sync.Mutex
	types map[string]string // type by id of the content
}

// previewType decides how a file is shown to who does not know its owner, by what it is
// and not by what it says it is (abuse case C70). media is what to serve it as. What says
// that it is something that is never shown isn't, whatever it is, and text has to say that
// it is text. Fault: Unavailable.
func (m *sniffer) previewType(ctx context.Context, content files.Content) (media string, shown bool, err error) {
	detected, err := m.typeOf(ctx, content)
	if err != nil {
		return "", false, err
	}
	declared, displayable := blob.InlineType(content.Entry.MimeType)
	undeclared := content.Entry.MimeType == "" || declared == "application/octet-stream"
	if !displayable && !undeclared {
		return "", false, nil
	}
	declaredType, _, _ := strings.Cut(declared, ";")
	switch {
	case detected == "text/plain" && declaredType == "text/plain":
		return declared, true, nil
	case detected == "text/plain":
		return detected, undeclared, nil
	case !undeclared && isAudioOrVideo(detected) && isAudioOrVideo(declared):
		return declared, true, nil
	}
	_, shown = blob.InlineType(detected)
	return detected, shown, nil
}

// typeOf tells the type of a content. For text that no browser could take for a page or a
// program it is text/plain.
func (m *sniffer) typeOf(ctx context.Context, content files.Content) (string, error) {
	m.mu.Lock()
	detected, known := m.types[content.ID]
	m.mu.Unlock()
	if known {
		return detected, nil
	}
	head, err := firstBytes(ctx, content)
	if err != nil {
		return "", err
	}
	detected = detectedType(mimetype.Detect(head))
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.types == nil || len(m.types) >= maxSniffed {
		m.types = map[string]string{}
	}
	m.types[content.ID] = detected
	return detected, nil
}

func firstBytes(ctx context.Context, content files.Content) ([]byte, error) {
	head := make([]byte, min(content.Entry.Size, sniffBytes))
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

func detectedType(t *mimetype.MIME) string {
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

// isAudioOrVideo reports what a <video> or <audio> takes.
func isAudioOrVideo(media string) bool {
	return strings.HasPrefix(media, "audio/") || strings.HasPrefix(media, "video/")
}
