package api

import (
	"larder/internal/files"
	"larder/internal/vpath"
)

// timelineInput selects the pictures and videos of a timeline.
type timelineInput struct {
	Kind *string `query:"kind" json:"-" enum:"image,video" description:"Without it both."`
	Path *string `query:"path" json:"-" description:"All that the caller may see at any depth below this folder, which costs as much as a search that finds all of them; without it the caller's own files, wherever they are."`
}

// query translates the parameters.
func (in timelineInput) query() (files.TimelineQuery, error) {
	q := files.TimelineQuery{Types: files.TypeGroup(valueOr(in.Kind, ""))}
	if in.Path == nil {
		return q, nil
	}
	path, err := vpath.Parse(*in.Path)
	q.Below = &path
	return q, err
}

type timelineReply struct {
	Months []timelineMonthReply `json:"months" required:"true" description:"Those with files, newest first."`
}

type timelineMonthReply struct {
	Month  string    `json:"month" required:"true" description:"Of takenAt, else of createdAt, in UTC: 2025-07."`
	Count  int       `json:"count" required:"true"`
	Ratios []float64 `json:"ratios" required:"true" description:"Of each file, newest first: width divided by height, rounded to hundredths; 0 if it is not known."`
}

// timeline handles GET /api/files/timeline: the number of pictures and videos in each month, and
// their proportions.
func (a *API) timeline(c *call, in timelineInput) (timelineReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return timelineReply{}, err
	}
	q, err := in.query()
	if err != nil {
		return timelineReply{}, err
	}
	months, err := a.Tree.Timeline(c.ctx(), c.actor, q)
	if err != nil {
		return timelineReply{}, err
	}
	reply := timelineReply{make([]timelineMonthReply, len(months))}
	for i, m := range months {
		ratios := make([]float64, len(m.Ratios))
		for j, ratio := range m.Ratios {
			ratios[j] = float64(ratio) / 100
		}
		reply.Months[i] = timelineMonthReply{m.Month, len(ratios), ratios}
	}
	return reply, nil
}

type timelineRevisionInput struct {
	Kind *string `query:"kind" json:"-" enum:"image,video" description:"Without it both."`
}

type timelineRevisionReply struct {
	Revision string `json:"revision" required:"true" description:"Text that changes when a file is added, removed, renamed, moved to another folder or gets new content, and when its time or proportions change."`
	Total    int    `json:"total" required:"true" description:"Number of pictures and videos."`
}

// timelineRevision handles GET /api/files/timeline/revision, by which an open page notices changes
// of the timeline of the caller's own files.
func (a *API) timelineRevision(c *call, in timelineRevisionInput) (timelineRevisionReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return timelineRevisionReply{}, err
	}
	r, err := a.Tree.TimelineRevision(c.ctx(), c.actor, files.TypeGroup(valueOr(in.Kind, "")))
	return timelineRevisionReply{Revision: r.ID, Total: r.Total}, err
}

type timelineEntriesInput struct {
	timelineInput
	Month  *string `query:"month" json:"-" pattern:"^[0-9]{4}-(0[1-9]|1[0-2])$" description:"Only this month, such as 2025-07."`
	Cursor *string `query:"cursor" json:"-" maxLength:"100" description:"Cursor from the previous page."`
	Offset *int64  `query:"offset" json:"-" minimum:"0" maximum:"10000000" default:"0" description:"Number of files to skip: from the newest one, of the month, or after the cursor."`
	Limit  *int64  `query:"limit" json:"-" minimum:"1" maximum:"1000" default:"200"`
}

type timelineEntriesReply struct {
	Items  []entryReply `json:"items" required:"true" description:"Newest first."`
	Cursor *string      `json:"cursor" required:"true" description:"For the next page; null after the last one."`
}

// timelineEntries handles GET /api/files/timeline/entries: a page of the pictures and videos.
func (a *API) timelineEntries(c *call, in timelineEntriesInput) (timelineEntriesReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return timelineEntriesReply{}, err
	}
	q, err := in.query()
	if err != nil {
		return timelineEntriesReply{}, err
	}
	page, err := a.Tree.TimelineEntries(c.ctx(), c.actor, q, files.TimelinePosition{Month: valueOr(in.Month, ""),
		Cursor: valueOr(in.Cursor, ""), Offset: int(valueOr(in.Offset, 0)), Limit: int(valueOr(in.Limit, 200))})
	if err != nil {
		return timelineEntriesReply{}, err
	}
	reply := timelineEntriesReply{Items: make([]entryReply, len(page.Items))}
	for i, entry := range page.Items {
		reply.Items[i] = viewEntry(entry)
	}
	if page.Next != "" {
		reply.Cursor = &page.Next
	}
	return reply, c.markFavourites(len(reply.Items), func(i int) *entryReply { return &reply.Items[i] })
}
