package upload

import (
	"errors"
	"mime"
	"path"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"larder/internal/vpath"
)

// octetStream is the type of unknown bytes.
const octetStream = "application/octet-stream"

// decideType returns the MIME type of a file called name: the first claim that is not empty, else
// the type of its extension, else that of its first bytes, head. All claims have gone through
// cleanType.
func decideType(name vpath.Name, head []byte, claims ...string) string {
	if t := typeBeforeBytes(name, claims...); t != "" {
		return t
	}
	return sniff(head)
}

// typeBeforeBytes is the MIME type that decideType chooses by claims and extension, "" when it
// needs the bytes.
func typeBeforeBytes(name vpath.Name, claims ...string) string {
	for _, c := range claims {
		if c != "" {
			return c
		}
	}
	return typeByExtension[strings.ToLower(strings.TrimPrefix(path.Ext(string(name)), "."))]
}

// cleanType returns the MIME type that a client claims in lower case, without parameters except the
// charset of text. It is "" for a claim that tells no type: none, an invalid one, the type of
// unknown bytes, and the types that clients send by default (a form, and what curl adds to any raw
// body).
func cleanType(s string) string {
	if len(s) > 255 || strings.ContainsAny(s, "\r\n\x00") {
		return ""
	}
	t, params, err := mime.ParseMediaType(s)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	kind, sub, found := strings.Cut(t, "/")
	switch {
	case !found || kind == "" || sub == "" || strings.Contains(t, "*"):
		return ""
	case t == octetStream || t == "application/x-www-form-urlencoded" || kind == "multipart":
		return ""
	case kind == "text" && isCharset(params["charset"]):
		return t + "; charset=" + strings.ToLower(params["charset"])
	case typeAliases[t] != "":
		return typeAliases[t]
	}
	return t
}

// typeAliases maps names of picture types that no browser asks for to those that they use.
var typeAliases = map[string]string{
	"image/jpg":                "image/jpeg",
	"image/pjpeg":              "image/jpeg",
	"image/x-png":              "image/png",
	"image/x-ms-bmp":           "image/bmp",
	"image/vnd.mozilla.apng":   "image/png", // an animated PNG is a PNG
	"image/vnd.microsoft.icon": "image/x-icon",
}

// isCharset reports whether s can be stored as a charset of text: at most 40 letters, digits and
// some signs.
func isCharset(s string) bool {
	return s != "" && len(s) <= 40 && strings.Trim(strings.ToLower(s),
		"abcdefghijklmnopqrstuvwxyz0123456789-_.:+") == ""
}

// sniff detects the MIME type by the first bytes of a file; application/octet-stream for unknown
// bytes.
func sniff(head []byte) string {
	t := mimetype.Detect(head).String()
	if named := typeAliases[t]; named != "" {
		return named
	}
	return t
}

// isRaster reports whether the MIME type t is that of a picture made of pixels, which runs no
// script wherever it is shown.
func isRaster(t string) bool {
	switch t {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/x-icon", "image/tiff",
		"image/heic", "image/heif", "image/heic-sequence", "image/heif-sequence":
		return true
	}
	return false
}

// typeByExtension maps extensions to types. It is part of the program, so that a file has the same
// type on every machine.
var typeByExtension = map[string]string{
	"apng": "image/png", "avif": "image/avif", "bmp": "image/bmp", "gif": "image/gif", "heic": "image/heic",
	"heif": "image/heif",
	"ico":  "image/x-icon", "jfif": "image/jpeg", "jpe": "image/jpeg", "jpeg": "image/jpeg", "jpg": "image/jpeg",
	"jxl": "image/jxl",
	"png": "image/png", "psd": "image/vnd.adobe.photoshop", "svg": "image/svg+xml", "tif": "image/tiff",
	"tiff": "image/tiff",
	"webp": "image/webp",

	"3gp": "video/3gpp", "avi": "video/x-msvideo", "flv": "video/x-flv", "m4v": "video/x-m4v",
	"mkv": "video/x-matroska",
	"mov": "video/quicktime", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg", "ogv": "video/ogg",
	"webm": "video/webm",
	"wmv":  "video/x-ms-wmv",

	"aac": "audio/aac", "aif": "audio/aiff", "aiff": "audio/aiff", "flac": "audio/flac", "m4a": "audio/mp4",
	"mid":  "audio/midi",
	"midi": "audio/midi", "mp3": "audio/mpeg", "oga": "audio/ogg", "ogg": "audio/ogg", "opus": "audio/ogg",
	"wav":  "audio/wav",
	"weba": "audio/webm", "wma": "audio/x-ms-wma",

	"c": "text/x-c", "conf": "text/plain", "css": "text/css", "csv": "text/csv", "go": "text/x-go", "h": "text/x-c",
	"htm":  "text/html",
	"html": "text/html", "ics": "text/calendar", "ini": "text/plain", "java": "text/x-java", "js": "text/javascript",
	"log": "text/plain",
	"md":  "text/markdown", "mjs": "text/javascript", "py": "text/x-python", "rs": "text/x-rust",
	"sh":  "application/x-sh",
	"srt": "application/x-subrip", "tsv": "text/tab-separated-values", "txt": "text/plain", "vcf": "text/vcard",
	"vtt":   "text/vtt",
	"xhtml": "application/xhtml+xml", "xml": "application/xml", "yaml": "application/yaml", "yml": "application/yaml",

	"7z": "application/x-7z-compressed", "apk": "application/vnd.android.package-archive", "bz2": "application/x-bzip2",
	"deb": "application/vnd.debian.binary-package", "dmg": "application/x-apple-diskimage", "doc": "application/msword",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"eot":  "application/vnd.ms-fontobject",
	"epub": "application/epub+zip", "exe": "application/vnd.microsoft.portable-executable", "gz": "application/gzip",
	"iso": "application/x-iso9660-image", "jar": "application/java-archive", "json": "application/json",
	"mobi": "application/x-mobipocket-ebook",
	"odp":  "application/vnd.oasis.opendocument.presentation", "ods": "application/vnd.oasis.opendocument.spreadsheet",
	"odt": "application/vnd.oasis.opendocument.text", "otf": "font/otf", "pdf": "application/pdf",
	"ppt":  "application/vnd.ms-powerpoint",
	"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation", "rar": "application/vnd.rar",
	"rtf": "application/rtf", "sql": "application/sql", "sqlite": "application/vnd.sqlite3", "tar": "application/x-tar",
	"tgz": "application/gzip", "toml": "application/toml", "torrent": "application/x-bittorrent", "ttf": "font/ttf",
	"wasm": "application/wasm", "woff": "font/woff", "woff2": "font/woff2", "xls": "application/vnd.ms-excel",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xz": "application/x-xz",
	"zip": "application/zip",
	"zst": "application/zstd",
}
