package api

import (
	"context"

	"larder/internal/concurrency"
	"larder/internal/files"
)

// TableRow is a row of the route table, for tests that must cover every route.
type TableRow struct {
	Method, Pattern string
	Addition        bool
	ServesContent   bool // may answer the content of files
}

// TableRows returns the route table.
func TableRows() []TableRow {
	var lines []TableRow
	for _, r := range (&API{}).routeTable() {
		lines = append(lines, TableRow{r.method, r.pattern, r.addition, r.find != nil || r.mediaType != "" &&
			r.mediaType != "application/json" && r.mediaType != "text/html"})
	}
	return lines
}

// CompressAt returns a function that compresses like the answers of the service, at a level.
func CompressAt(level int) func(text []byte) []byte { return newCompressor(level).compress }

// IsRaster reports whether a file of a type can have a thumbnail.
func IsRaster(mimeType string) bool { return isRaster(files.Entry{MimeType: mimeType}) }

// Disposition returns the Content-Disposition of a file.
func Disposition(inline bool, name string) string { return disposition(inline, name) }

// NewZipLimit returns a function that takes a slot in a new limit of zips.
func NewZipLimit() func(who string) (release func(), err error) {
	zips := concurrency.NewLimit(maxZips)
	return func(who string) (func(), error) { return acquireZip(zips, who) }
}

// NewSearchLimit returns a function that takes a slot for an address in a new limit of visitors'
// searches.
func NewSearchLimit() func(ctx context.Context, address string) (release func(), err error) {
	searches := concurrency.NewLimit(maxSearches)
	return func(ctx context.Context, address string) (func(), error) {
		return acquireSearch(ctx, searches, address, searchWait)
	}
}
