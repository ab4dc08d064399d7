package db

import (
	"context"
	"strings"
)

// Unexamined is the SQL condition for files with pictures, with the table entries as e, whose
// properties have not been read.
const Unexamined = "e.kind = 1 AND substr(e.mime_type, 1, 6) = 'image/' AND " +
	"(e.ratio IS NULL OR e.examined_object <> e.object_id)"

// Media is the SQL condition for media, of the table entries.
const Media = "kind = 1 AND substr(mime_type, 1, 6) IN ('image/', 'video/')"

// TimelineTime is the SQL expression for the time (ms) of a picture or a video in a timeline.
const TimelineTime = "COALESCE(taken_at, created_at)"

const stepUnexamined = "index the pictures without known properties"

// pictureSteps build two indexes: over the pictures that files.Tree.Unexamined lists, the newest
// first, with few rows except after an upgrade; and over the pictures and videos of each owner, the
// newest first, for files.Tree.Timeline. The latter index contains every column of that query and
// of its conditions, so that the query reads no row of the table.
var pictureSteps = []Step{
	{Name: stepUnexamined, After: 28, Index: Index{Name: "entries_to_examine",
		On: "entries (created_at, id) WHERE " + strings.ReplaceAll(Unexamined, "e.", "")}},
	{Name: "index the pictures and videos of each owner", After: 28, Index: Index{Name: "entries_timeline",
		On: "entries (owner_id, (" + TimelineTime + "), id, parent_id, ratio, kind, mime_type, taken_at, created_at, " +
			"updated_at) WHERE " + Media}},
	// Replicas of schema 27, which is in no release, list the pictures by the former index.
	{Name: "drop the former index of pictures without known properties", After: 28,
		Drop: Drop{Index: "entries_unexamined", While: "SELECT EXISTS (SELECT 1 FROM replicas WHERE schema < 28)"}},
}

// HasUnexamined reports whether the index over unexamined pictures is complete.
func (d *DB) HasUnexamined(ctx context.Context) (bool, error) {
	return d.Completed(ctx, stepUnexamined)
}
