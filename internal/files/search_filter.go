package files

import "larder/internal/fault"

// FileKind is a group of MIME types by which a search selects files.
type FileKind string

const (
	ImageFiles    FileKind = "image"
	VideoFiles    FileKind = "video"
	AudioFiles    FileKind = "audio"
	DocumentFiles FileKind = "document" // texts, tables, presentations
	ArchiveFiles  FileKind = "archive"

	mediaFiles FileKind = "media" // pictures and videos
)

// SearchFilter selects files in a search; the zero value selects all entries. A search with another
// filter finds no folders.
type SearchFilter struct {
	Kind    FileKind // "" for all
	From    *int64   // ms; the time when a picture was taken, as far as it is known, else UpdatedAt
	To      *int64   // ms, not included
	MinSize *int64   // bytes
	MaxSize *int64   // bytes
	OwnerID string   // "" for all
}

// empty reports whether the filter selects all entries.
func (f *SearchFilter) empty() bool { return *f == SearchFilter{} }

// check validates the bounds of a filter. Fault: Invalid.
func (f *SearchFilter) check() error {
	switch {
	case f.From != nil && f.To != nil && *f.From >= *f.To:
		return fault.InvalidField("to", "The end is after the beginning.")
	case f.MinSize != nil && f.MaxSize != nil && *f.MinSize > *f.MaxSize:
		return fault.InvalidField("maxSize", "The largest size is not below the smallest one.")
	}
	return nil
}
