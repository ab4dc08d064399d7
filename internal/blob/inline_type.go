package blob

import (
	"mime"
	"strings"
)

// rasterTypes are the image types that can't carry script.
var rasterTypes = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/avif": true, "image/bmp": true,
	"image/apng":   true,
	"image/x-icon": true, "image/vnd.microsoft.icon": true, "image/heic": true, "image/heif": true, "image/tiff": true,
	"image/jxl": true,
}

// InlineType decides which types a browser may show of what users have stored: raster images,
// audio, video, PDF and plain text. Everything else could run as a page of whoever serves it,
// and must come as an attachment (abuse case C67). media is the type to serve it with; one
// that is none becomes application/octet-stream (C69).
func InlineType(mimeType string) (media string, shown bool) {
	base, params, err := mime.ParseMediaType(mimeType)
	if err != nil || strings.Count(base, "/") != 1 || len(mimeType) > 255 {
		return octetStream, false
	}
	top, _, _ := strings.Cut(base, "/")
	switch {
	case rasterTypes[base], (top == "audio" || top == "video") && !strings.HasSuffix(base, "+xml"),
		base == "application/pdf":
		return base, true
	case base == "text/plain":
		if params["charset"] == "" {
			return "text/plain; charset=utf-8", true
		}
		return mime.FormatMediaType(base, map[string]string{"charset": params["charset"]}), true
	}
	return base, false
}

const octetStream = "application/octet-stream"

// StoredType is the type that a store is to keep beside an object of some type, "" for none.
// Whoever gets at the object past the service, by a domain that serves the bucket to anybody, sees
// it without the headers that keep it harmless here: so only what may be shown keeps its type.
func StoredType(mimeType string) string {
	if mimeType == "" {
		return ""
	}
	if media, shown := InlineType(mimeType); shown {
		return media
	}
	return octetStream
}
