package files

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// TimelineQuery selects the media of a timeline: the actor's own ones, or with Below all media at
// any depth below a folder; of these, those that the actor sees and may download. Their times and
// proportions are a part of their contents.
type TimelineQuery struct {
	Types TypeGroup // ImageTypes, VideoTypes, or "" for both
	Below *vpath.Path
}

// TimelineMonth is a month of a timeline.
type TimelineMonth struct {
	Month  string // UTC, such as 2025-07
	Ratios []int  // of each file, the newest first: width divided by height in hundredths; 0 for not known
}

// TimelinePage is a page of a timeline, the newest first.
type TimelinePage struct {
	Items []Entry
	Next  string // the cursor of the next page, "" for the last page
}

// TimelinePosition selects a page of a timeline.
type TimelinePosition struct {
	Month  string // only this month, such as 2025-07; "" for all
	Cursor string // TimelinePage.Next of the page before; "" for the first page
	Offset int    // the number of media to skip from there
	Limit  int
}

// medium is a picture or a video in a timeline.
type medium struct {
	time       int64 // ms, when it was taken, else created
	updated    int64 // ms, the last change of the entry; 0 in what mediaBelow finds by a search
	id, parent string
	ratio      int // width divided by height in hundredths; 0 for not known
}

// timelinePosition is a position in a timeline.
type timelinePosition struct {
	time int64 // ms
	id   string
}

// newest is before all media.
var newest = timelinePosition{time: math.MaxInt64}

// mediaChunk is the number of media that are read and judged at once.
const mediaChunk = 10_000

// Timeline returns the months of a timeline that have media, the newest first. The time of a medium
// is when it was taken, in UTC where the picture does not state the zone, else when it was created.
// Faults: those of List for the folder Below.
func (t *Tree) Timeline(ctx context.Context, a access.Actor, q TimelineQuery) (months []TimelineMonth, err error) {
	err = t.eachVisibleMedium(ctx, a, q, newest, math.MinInt64, mediaChunk, func(m medium) bool {
		month := monthOf(m.time)
		if len(months) == 0 || months[len(months)-1].Month != month {
			months = append(months, TimelineMonth{Month: month})
		}
		last := &months[len(months)-1]
		last.Ratios = append(last.Ratios, m.ratio)
		return true
	})
	return months, err
}

// TimelineEntries returns a page of a timeline. Faults: Invalid for a month or a cursor; those of
// List for the folder Below.
func (t *Tree) TimelineEntries(ctx context.Context, a access.Actor, q TimelineQuery, p TimelinePosition) (
	page TimelinePage, err error) {
	after, oldest := newest, int64(math.MinInt64)
	if p.Month != "" {
		begin, err := time.Parse(monthLayout, p.Month)
		if err != nil {
			return TimelinePage{}, fault.InvalidField("month", "A month is given as 2025-07.")
		}
		after, oldest = timelinePosition{time: begin.AddDate(0, 1, 0).UnixMilli()}, begin.UnixMilli()
	}
	if p.Cursor != "" {
		var last timelinePosition
		if last.time, last.id, err = parseTimeCursor(p.Cursor); err != nil {
			return TimelinePage{}, err
		}
		if last.after(after) {
			after = last
		}
	}
	var ids []string
	var last medium
	skip, first := p.Offset, min(mediaChunk, p.Offset+p.Limit+1)
	err = t.eachVisibleMedium(ctx, a, q, after, oldest, first, func(m medium) bool {
		switch {
		case skip > 0:
			skip--
			return true
		case len(ids) == p.Limit:
			page.Next = timeCursor(last.time, last.id)
			return false
		}
		ids, last = append(ids, m.id), m
		return true
	})
	if err != nil {
		return TimelinePage{}, err
	}
	page.Items, err = t.visibleEntries(ctx, a, ids, p.Limit)
	return page, err
}

// after reports whether a position comes after another one in the timeline, whose order is from
// newer to older times.
func (p timelinePosition) after(other timelinePosition) bool {
	return p.time < other.time || p.time == other.time && p.id < other.id
}

const monthLayout = "2006-01"

// monthOf returns the month of a time (ms) in UTC.
func monthOf(ms int64) string { return time.UnixMilli(ms).UTC().Format(monthLayout) }

// eachVisibleMedium calls visit for the media of a timeline, from newer to older ones, until it
// returns false: for those that come after a position and are not older than oldest (ms). first is
// the number of media that it reads at first.
func (t *Tree) eachVisibleMedium(ctx context.Context, a access.Actor, q TimelineQuery, after timelinePosition,
	oldest int64, first int, visit func(medium) bool) error {
	if q.Below != nil {
		found, err := t.mediaBelow(ctx, a, *q.Below, q.Types)
		if err != nil {
			return err
		}
		for _, m := range found {
			if at := (timelinePosition{m.time, m.id}); at.after(after) && m.time >= oldest && !visit(m) {
				return nil
			}
		}
		return nil
	}
	viewer := timelineViewer{tree: t, actor: a}
	for limit := first; ; limit = mediaChunk {
		found, err := mediaOf(t.DB.Read(ctx), a.UserID, cmp.Or(q.Types, mediaTypes), after, oldest, limit)
		if err != nil {
			return err
		}
		seen, err := viewer.visible(ctx, found)
		if err != nil {
			return err
		}
		for _, m := range seen {
			if !visit(m) {
				return nil
			}
		}
		if len(found) < limit {
			return nil
		}
		after = timelinePosition{found[limit-1].time, found[limit-1].id}
	}
}

// mediaBelow lists the media at any depth below a folder that the actor sees and may download, from
// newer to older ones. It costs as much as a search that finds all of them. Faults: NotFound,
// Forbidden, PasswordRequired.
func (t *Tree) mediaBelow(ctx context.Context, a access.Actor, path vpath.Path, types TypeGroup) ([]medium, error) {
	l, n, f, err := t.openFolder(ctx, a, path, "")
	if err != nil {
		return nil, err
	}
	l.kind, l.order.key = fileKind, "name"
	if l.order.names, err = t.nameOrderNow(ctx); err != nil {
		return nil, err
	}
	s := searcher{lister: l, filter: SearchFilter{Types: cmp.Or(types, mediaTypes)}}
	if err := s.addFolders(f, n); err != nil {
		return nil, err
	}
	var exceptions []string
	for _, e := range s.exceptionEntries[fileKind] {
		if s.showsContent(e.target) {
			exceptions = append(exceptions, e.row.id)
		}
	}
	found, err := mediaAmong(t.DB.Read(ctx), exceptions)
	if err != nil {
		return nil, err
	}
	portion := searchPortion{searcher: &s, kind: fileKind}
	err = portion.each(func(e visibleEntry, m *match) {
		if s.showsContent(e.target) {
			found = append(found, medium{time: m.time, id: m.row.id, parent: m.row.parent, ratio: m.ratio})
		}
	})
	slices.SortFunc(found, func(a, b medium) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(b.id, a.id))
	})
	same := func(a, b medium) bool { return a.id == b.id } // a folder may be mounted twice
	return slices.CompactFunc(found, same), err
}
