package db

import (
	"context"
	"strings"
)

// CoverPicture is the SQL condition for files with pictures that can be covers of their folder,
// with the table entries as c. There are no thumbnails of drawings (SVG).
const CoverPicture = "c.kind = 1 AND substr(c.mime_type, 1, 6) = 'image/' AND c.mime_type <> 'image/svg+xml'"

const stepCovers = "index the pictures of each folder"

// coverSteps build an index over the pictures in each folder, in the order of their names. Listings
// read the first pictures of many folders by it. A folder without pictures costs one lookup.
var coverSteps = []Step{{Name: stepCovers, After: 28, Index: Index{Name: "entries_covers",
	On: "entries (parent_id, sort_key, name) WHERE " + strings.ReplaceAll(CoverPicture, "c.", "")}}}

// HasCovers reports whether the index over the pictures of each folder is complete.
func (d *DB) HasCovers(ctx context.Context) (bool, error) { return d.Completed(ctx, stepCovers) }
