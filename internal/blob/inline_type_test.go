package blob

import (
	"strings"
	"testing"
)

func TestTypeAtRest(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":          "",
		"image/png": "image/png", "IMAGE/JPEG": "image/jpeg", "image/webp; q=1": "image/webp", "video/mp4": "video/mp4",
		"audio/mpeg": "audio/mpeg", "application/pdf": "application/pdf",
		"text/plain": "text/plain; charset=utf-8", "text/plain; charset=iso-8859-1": "text/plain; charset=iso-8859-1",
		"text/html": "application/octet-stream", "TEXT/HTML": "application/octet-stream",
		"text/html; charset=utf-7": "application/octet-stream", "image/svg+xml": "application/octet-stream",
		"application/xhtml+xml": "application/octet-stream", "text/xml": "application/octet-stream",
		"text/javascript": "application/octet-stream", "video/x+xml": "application/octet-stream",
		"text/css": "application/octet-stream", "application/zip": "application/octet-stream",
		"nonsense": "application/octet-stream", "image/png,text/html": "application/octet-stream",
		"image/png/x": "application/octet-stream", "audio/" + strings.Repeat("a", 250): "application/octet-stream",
		"audio/" + strings.Repeat("a", 249): "audio/" + strings.Repeat("a", 249),
	} {
		if got := StoredType(given); got != want {
			t.Errorf("%.40q: %q, want %q", given, got, want)
		}
	}
}
