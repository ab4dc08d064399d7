package api

import (
	"net/http"
	"time"

	"larder/internal/download"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// listPast lists a folder as it was at the time in.At, for listFiles. in.FolderID names the folder;
// without it path does, as files.Tree.ListPast describes. The state of an entry in the answer says
// how the entry has changed since that time. Faults: Invalid for a search or a filter, and those of
// files.Tree.ListPast.
func (a *API) listPast(c *call, in filteredListInput, path vpath.Path) (listFilesReply, error) {
	if in.Search != nil && *in.Search != "" {
		return listFilesReply{}, fault.InvalidField("search", "An earlier time cannot be searched.")
	}
	if in.filter() != (files.SearchFilter{}) {
		return listFilesReply{}, fault.InvalidField("at", "An earlier time cannot be filtered.")
	}
	q := files.PastQuery{ListQuery: in.query(path), FolderID: valueOr(in.FolderID, ""), At: *in.At}
	listing, err := a.Tree.ListPast(c.ctx(), c.actor, q)
	if err != nil {
		return listFilesReply{}, err
	}
	folder := viewEntry(listing.Folder)
	reply := listFilesReply{Items: []listedReply{}, Mount: viewMount(listing.Mount), Folder: &folder,
		Pagination:    paginate(int64(listing.Total), valueOr(in.Page, 1), valueOr(in.Limit, 100)),
		CompleteSince: listing.CompleteSince, KnownSince: listing.KnownSince}
	for _, gap := range listing.Gaps {
		reply.Gaps = append(reply.Gaps, gapReply(gap))
	}
	for _, entry := range listing.Items {
		reply.Items = append(reply.Items, listedReply{viewEntry(entry.Entry), string(entry.State)})
	}
	return reply, nil
}

type fileDownloadInput struct {
	ID string `path:"id" json:"-"`
	At *int64 `query:"at" json:"-" minimum:"0" description:"ms; the content that the file had at that time."`
}

// pastDownload answers a download of the content that a file had at the time `at` (ms), by a
// session or key: with the bytes for an embed, otherwise with a single-use address. Faults:
// Invalid, and those of files.FoundEntry.ContentAt.
func (a *API) pastDownload(c *call) error {
	in, err := bindInput[fileDownloadInput](c)
	if err != nil {
		return err
	}
	if in.At == nil {
		return fault.InvalidField("at", "at is a time in milliseconds.")
	}
	found, err := c.lookUp()
	if err != nil {
		return err
	}
	c.auditFound(found)
	content, until, err := found.ContentAt(c.ctx(), c.actor, *in.At)
	switch {
	case err != nil:
		return err
	case isEmbed(c.r):
		return c.serveContent(content, serveOptions{})
	case c.omitBodyForHead():
		c.answer(http.StatusOK, nil)
		return nil
	}
	var token string
	var expires time.Time
	if until == 0 {
		token, expires, err = a.Downloads.Issue(c.ctx(), c.actor, c.session, in.ID, download.Save)
	} else {
		token, expires, err = a.Downloads.IssueVersion(c.ctx(), c.actor, c.session, in.ID, until, download.Save)
	}
	if err != nil {
		return err
	}
	c.answer(http.StatusOK, downloadReply{c.url("/api/gateway/download/" + token), expires.UnixMilli()})
	return nil
}
