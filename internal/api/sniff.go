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
	sniffBytes = 3072  // of a file that its type is detected from
	maxSniffed = 10000 // contents whose types are cached
)

// sniffer detects the types of files from their first bytes. It caches them, so that HEAD,
// conditions and ranges of a video don't read the bytes again. A content never changes, so the
// cache is never out of date. The zero value is ready to use.
type sniffer struct {
	mu    sync.Mutex
	types map[string]string // type by id of the content
}

// previewType decides how a file is shown to visitors who don't know its owner: media is the type
// to serve, shown is false for a file that is not shown. It uses the type detected from the bytes
// rather than the declared type (abuse case C70). A file whose declared type is never displayed is
// not shown, whatever its content, and text is shown as text only if declared so or undeclared.
// Fault: Unavailable when the store does not answer.
func (s *sniffer) previewType(ctx context.Context, content files.Content) (media string, shown bool, err error) {
	detected, err := s.typeOf(ctx, content)
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

// sandboxedType returns the type of a text or drawing that previewType does not show, for a page
// that shows the file itself: serveBytes sends each of these types as an attachment in a sandbox.
// text is false for all other contents. Fault: Unavailable.
func (s *sniffer) sandboxedType(ctx context.Context, content files.Content) (media string, text bool, err error) {
	detected, err := s.typeOf(ctx, content)
	if err != nil || !isText(detected) {
		return "", false, err
	}
	if declared, displayable := blob.InlineType(content.Entry.MimeType); !displayable {
		return declared, true, nil
	}
	return "application/octet-stream", true, nil
}

// isText reports whether a detected type is text or a kind of text, such as HTML.
func isText(detected string) bool {
	for t := mimetype.Lookup(detected); t != nil; t = t.Parent() {
		if t.Is("text/plain") {
			return true
		}
	}
	return false
}

// typeOf returns the type detected from the first bytes of a content, from the cache if it was
// detected before. The type is text/plain for text that no browser could interpret as a page or a
// program. Faults: those of files.Content.OpenRange.
func (s *sniffer) typeOf(ctx context.Context, content files.Content) (string, error) {
	s.mu.Lock()
	detected, known := s.types[content.ID]
	s.mu.Unlock()
	if known {
		return detected, nil
	}
	head, err := firstBytes(ctx, content)
	if err != nil {
		return "", err
	}
	detected = detectedType(mimetype.Detect(head))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.types == nil || len(s.types) >= maxSniffed {
		s.types = map[string]string{}
	}
	s.types[content.ID] = detected
	return detected, nil
}

// firstBytes reads the first sniffBytes bytes of a content, or all if it is shorter.
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

// detectedType maps a detected type to one that the service serves: the kinds of text that browsers
// don't run become text/plain, Ogg becomes audio/ogg, all others stay.
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

// isAudioOrVideo reports whether a media type is one that a <video> or <audio> may play.
func isAudioOrVideo(media string) bool {
	return strings.HasPrefix(media, "audio/") || strings.HasPrefix(media, "video/")
}
