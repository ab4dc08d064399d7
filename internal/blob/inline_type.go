package blob

import (
	"mime"
	"strings"
)

// rasterTypes are the image types that cannot contain scripts.
var rasterTypes = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/avif": true, "image/bmp": true,
	"image/apng":   true,
	"image/x-icon": true, "image/vnd.microsoft.icon": true, "image/heic": true, "image/heif": true, "image/tiff": true,
	"image/jxl": true,
}

// InlineType decides whether a browser may display user content of a MIME type: raster images,
// audio, video, PDF and plain text. Any other type could run scripts as a page of the serving site,
// and must be sent as an attachment (shown is false; abuse case C67). media is the type to send:
// without parameters other than a charset of plain text, application/octet-stream for an invalid
// type (C69).
func InlineType(mimeType string) (media string, shown bool) {
	if rasterTypes[mimeType] {
		return mimeType, true
	}
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

// StoredType returns the type that a store records with an object, "" for none. A client that reads
// the object past the service, from a domain that serves the bucket publicly, receives this type
// without the protective headers of the service. Therefore only inline types are recorded.
func StoredType(mimeType string) string {
	if mimeType == "" {
		return ""
	}
	if media, shown := InlineType(mimeType); shown {
		return media
	}
	return octetStream
}
