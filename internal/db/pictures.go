package db

import (
	"context"
	"strings"
)

// Unexamined is the SQL condition for files with pictures, with the table entries as e, whose
// properties have not been read.
const Unexamined = "e.kind = 1 AND substr(e.mime_type, 1, 6) = 'image/' AND " +
	"(e.examined_object IS NULL OR e.examined_object <> e.object_id)"

const stepUnexamined = "index the pictures that were not examined"

// pictureSteps build the index over the pictures that files.Tree.Unexamined lists, the newest
// first. It has few rows, except after an upgrade.
var pictureSteps = []Step{{Name: stepUnexamined, After: 27, Index: Index{Name: "entries_unexamined",
	On: "entries (created_at, id) WHERE " + strings.ReplaceAll(Unexamined, "e.", "")}}}

// HasUnexamined reports whether the index over unexamined pictures is complete.
func (d *DB) HasUnexamined(ctx context.Context) (bool, error) {
	return d.Completed(ctx, stepUnexamined)
}
