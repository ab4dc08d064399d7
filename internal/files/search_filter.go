package files

import (
	"slices"
	"strings"

	"larder/internal/fault"
)

// TypeGroup is a group of MIME types by which a search selects files.
type TypeGroup string

const (
	ImageTypes    TypeGroup = "image"
	VideoTypes    TypeGroup = "video"
	AudioTypes    TypeGroup = "audio"
	DocumentTypes TypeGroup = "document" // texts, tables, presentations
	ArchiveTypes  TypeGroup = "archive"

	mediaTypes TypeGroup = "media" // of pictures and videos
)

// The MIME types of the groups that one prefix does not name.
var (
	documentPrefixes = []string{"text/", "application/vnd.openxmlformats-officedocument.",
		"application/vnd.oasis.opendocument."}
	documentTypes = []string{"application/pdf", "application/rtf", "application/msword", "application/epub+zip",
		"application/vnd.ms-excel", "application/vnd.ms-powerpoint"}
	archiveTypes = []string{"application/zip", "application/gzip", "application/x-gzip", "application/x-tar",
		"application/x-7z-compressed", "application/vnd.rar", "application/x-rar-compressed", "application/x-bzip2",
		"application/x-xz", "application/zstd", "application/java-archive"}
)

// GroupOf returns the group of a MIME type, "" for none.
func GroupOf(mimeType string) TypeGroup {
	for _, group := range []TypeGroup{ImageTypes, VideoTypes, AudioTypes} {
		if strings.HasPrefix(mimeType, string(group)+"/") {
			return group
		}
	}
	isDocument := func(prefix string) bool { return strings.HasPrefix(mimeType, prefix) }
	switch {
	case slices.ContainsFunc(documentPrefixes, isDocument), slices.Contains(documentTypes, mimeType):
		return DocumentTypes
	case slices.Contains(archiveTypes, mimeType):
		return ArchiveTypes
	}
	return ""
}

// SearchFilter selects files in a search; the zero value selects all entries. A search with another
// filter finds no folders.
type SearchFilter struct {
	Types   TypeGroup // "" for all
	From    *int64    // ms; the time when a picture was taken, as far as it is known, else UpdatedAt
	To      *int64    // ms, not included
	MinSize *int64    // bytes
	MaxSize *int64    // bytes
	OwnerID string    // "" for all
}

// timed reports whether the filter selects files by their times. Such a search finds only files
// that the actor may download: when a picture was taken is a part of its content.
func (f *SearchFilter) timed() bool { return f.From != nil || f.To != nil }

// empty reports whether the filter selects all entries.
func (f *SearchFilter) empty() bool { return *f == SearchFilter{} }

// check validates a filter. Fault: Invalid.
func (f *SearchFilter) check() error {
	switch {
	case f.Types != "" && typeConditions[f.Types] == "":
		return fault.InvalidField("kind", "This kind of files does not exist.")
	case f.From != nil && f.To != nil && *f.From >= *f.To:
		return fault.InvalidField("to", "`to` must be later than `from`.")
	case f.MinSize != nil && f.MaxSize != nil && *f.MinSize > *f.MaxSize:
		return fault.InvalidField("maxSize", "`maxSize` must be at least `minSize`.")
	}
	return nil
}
