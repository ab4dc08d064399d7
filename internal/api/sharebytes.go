package api

import (
	"context"
	"time"

	"larder/internal/access"
	"larder/internal/audit"
	"larder/internal/download"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

type sharePreviewInput struct {
	ID      string  `path:"id" json:"-"`
	File    *string `query:"file" json:"-" description:"The id of one file in a shared folder."`
	Sandbox *bool   `query:"sandbox" json:"-" default:"false" description:"An addition. Text and drawings (SVG) of all types are sent too, as attachments in a sandbox: for a page that shows them itself."`
}

type shareDownloadInput struct {
	ID    string  `path:"id" json:"-"`
	File  *string `query:"file" json:"-" description:"The id of one file in a shared folder; without it a folder is sent as a zip."`
	Files *string `query:"files" json:"-" maxLength:"4000" description:"An addition. Ids of 1 to 100 files in a shared folder, with commas: they are sent as one zip, which counts as one download."`
}

type shareDownloadReply struct {
	URL       string `json:"url" required:"true"`
	ExpiresIn int64  `json:"expiresIn" required:"true" description:"Seconds."`
}

// shareTokensPerAddress is the number of download addresses that one share issues to one address
// during their lifetime. Any visitor may request them, and each is a row.
const shareTokensPerAddress = 1000

// shareDownload handles GET /api/shares/{id}/download: it issues a download address for a share,
// for one file in it or for a selection. The download is counted when the address is used. Faults:
// RateLimited, Invalid, and those of share.Service.Visit and download.Service.IssueShared.
func (a *API) shareDownload(c *call, in shareDownloadInput) (shareDownloadReply, error) {
	selected, err := in.selected()
	if err != nil {
		return shareDownloadReply{}, err
	}
	visitor := c.visitor(in.ID)
	visit, err := a.Shares.Visit(c.ctx(), in.ID, visitor)
	if err != nil {
		return shareDownloadReply{}, err
	}
	wanted := download.Shared{EntryID: valueOr(in.File, visit.EntryID), Selected: selected}
	if selected != nil { // it looks up as many files as a zip
		release, err := acquireZip(a.zipLimit, addressSource+addressKey(c.ip))
		if err != nil {
			return shareDownloadReply{}, err
		}
		defer release()
	}
	if c.omitBodyForHead() {
		return shareDownloadReply{}, a.Downloads.CheckIssueShared(c.ctx(), visit, wanted)
	}
	room, err := a.Counters.Take(c.ctx(), "share tokens:"+visit.ID+":"+addressKey(c.ip), shareTokensPerAddress,
		download.Lifetime, 1)
	if err != nil {
		return shareDownloadReply{}, err
	}
	if !room.Allowed {
		return shareDownloadReply{}, &fault.Error{Kind: fault.RateLimited,
			Message: "Too many downloads of this share. Please wait a moment.", RetryAfter: room.RetryAfter}
	}
	token, err := a.Downloads.IssueShared(c.ctx(), visit, visitor.PasswordIDs, wanted)
	if err != nil {
		return shareDownloadReply{}, err
	}
	return shareDownloadReply{c.url("/api/gateway/download/" + token), int64(download.Lifetime / time.Second)}, nil
}

// selected returns the ids of the files that the parameter files selects, nil without it. Fault:
// Invalid, also when file is given as well.
func (in *shareDownloadInput) selected() ([]string, error) {
	switch {
	case in.Files == nil:
		return nil, nil
	case in.File != nil:
		return nil, fault.InvalidField("files", "Give file or files, not both.")
	}
	return splitIDs("files", []string{*in.Files})
}

type shareSizeReply struct {
	Files int64 `json:"files" required:"true"`
	Size  int64 `json:"size" required:"true" description:"Bytes."`
}

// shareSize handles GET /api/shares/{id}/size: the number and bytes of the files that a download of
// the whole share contains. It counts against the limit of zips that run at a time, because it
// reads as much of the tree as one. Faults: RateLimited, TooLarge, and those of shareDownload.
func (a *API) shareSize(c *call, in idInput) (shareSizeReply, error) {
	visit, err := a.Shares.Visit(c.ctx(), in.ID, c.visitor(in.ID))
	if err != nil {
		return shareSizeReply{}, err
	}
	if err := a.Downloads.CheckIssueShared(c.ctx(), visit, download.Shared{EntryID: visit.EntryID}); err != nil {
		return shareSizeReply{}, err
	}
	if !visit.Entry.Folder {
		return shareSizeReply{1, visit.Entry.Size}, nil
	}
	release, err := acquireZip(a.zipLimit, addressSource+addressKey(c.ip))
	if err != nil {
		return shareSizeReply{}, err
	}
	defer release()
	archive, err := a.Tree.Archive(c.ctx(), files.ArchiveQuery{
		IDs: []string{visit.EntryID}, Shared: true,
		MaxFiles: download.MaxSharedFiles, MaxBytes: download.MaxSharedBytes,
		ActorAt: func(context.Context, int64) (access.Actor, error) { return visit.Creator, nil },
	})
	if err != nil {
		return shareSizeReply{}, err
	}
	count, size, err := archive.Measure(c.ctx())
	return shareSizeReply{count, size}, err
}

// sharePreview handles GET /api/shares/{id}/preview: it shows a file of a share. Previews are not
// counted, so a share that has reached its limit of views still shows the image to visitors with
// its page open. All shares that are not active get the same answer. Faults: ShareExpired,
// NotFound, InvalidPassword, Forbidden for a type that is not shown, Invalid, Unavailable.
func (a *API) sharePreview(c *call) error {
	in, err := bindInput[sharePreviewInput](c)
	if err != nil {
		return err
	}
	content, err := c.previewContent(in.ID, in.File)
	if err != nil {
		return err
	}
	c.audit(audit.Preview, content.Entry.Path())
	media, shown, err := a.sniffer.previewType(c.ctx(), content)
	if err == nil && !shown && valueOr(in.Sandbox, false) {
		media, shown, err = a.sniffer.sandboxedType(c.ctx(), content)
	}
	if err != nil {
		return err
	}
	if !shown {
		return fault.New(fault.Forbidden, "There is no preview of this kind of file.")
	}
	return c.serveBytes(servedContent{content.Entry.Name, media, content.ETag, content.Entry.Size, content.Modified,
		content}, serveOptions{})
}

// previewContent finds the content that sharePreview and shareThumbnail show, of any type: the file
// with the id in file, or the shared file itself for nil. Faults: those of sharePreview.
func (c *call) previewContent(id string, file *string) (files.Content, error) {
	visit, err := c.a.Shares.Visit(c.ctx(), id, c.visitor(id))
	if fault.Is(err, fault.ShareRevoked) {
		err = fault.New(fault.ShareExpired, "This share no longer works.").WithCause(err)
	}
	if err != nil {
		return files.Content{}, err
	}
	return c.a.Downloads.PreviewShared(c.ctx(), visit, valueOr(file, visit.EntryID))
}

type listShareInput struct {
	ID    string  `path:"id" json:"-"`
	Path  *string `query:"path" json:"-" default:"/" description:"Path of the folder, relative to the shared folder."`
	Page  *int64  `query:"page" json:"-" minimum:"1" maximum:"1000000000" default:"1"`
	Limit *int64  `query:"limit" json:"-" minimum:"1" maximum:"1000" default:"100"`
	Sort  *string `query:"sort" json:"-" enum:"name,time,size,manual" description:"Default: as set for the mount."`
	Order *string `query:"order" json:"-" enum:"asc,desc"`
}

type shareItemReply struct {
	ID        string `json:"id" required:"true"`
	Name      string `json:"name" required:"true"`
	Path      string `json:"path" required:"true" description:"Path of the parent folder, relative to the shared folder."`
	Type      string `json:"type" required:"true" enum:"file,folder"`
	Size      int64  `json:"size" required:"true" description:"Bytes."`
	MimeType  string `json:"mimeType,omitempty"`
	CreatedAt int64  `json:"createdAt" required:"true"`
	UpdatedAt int64  `json:"updatedAt" required:"true"`
	Width     int    `json:"width,omitempty" description:"An addition. Pixels, as a viewer shows the picture. Only of a picture that was examined, in a share that allows previews or downloads."`
	Height    int    `json:"height,omitempty" description:"An addition. Pixels; as width."`
}

type listShareReply struct {
	Items      []shareItemReply `json:"items" required:"true"`
	Pagination pagination       `json:"pagination" required:"true"`
}

// listShare handles GET /api/shares/{id}/files: a page of a folder in a shared folder, with the
// entries that a zip of it would contain. The reply reveals neither the owner nor the path outside
// the share. Faults: InvalidPassword before the share's password is given, and those of
// share.Service.Visit.
func (a *API) listShare(c *call, in listShareInput) (listShareReply, error) {
	inside, err := vpath.Parse(valueOr(in.Path, "/"))
	if err != nil {
		return listShareReply{}, err
	}
	visit, err := a.Shares.Visit(c.ctx(), in.ID, c.visitor(in.ID))
	if err != nil {
		return listShareReply{}, err
	}
	if !visit.Authorized {
		return listShareReply{}, fault.New(fault.InvalidPassword, "Enter the password first.")
	}
	listing, err := a.Tree.ListShared(c.ctx(), visit.Creator, visit.EntryID, inside, files.ListQuery{
		Page: int(valueOr(in.Page, 1)), Limit: int(valueOr(in.Limit, 100)), Sort: valueOr(in.Sort, ""),
		Order: valueOr(in.Order, ""),
	})
	if err != nil {
		return listShareReply{}, err
	}
	reply := listShareReply{Items: []shareItemReply{},
		Pagination: paginate(int64(listing.Total), valueOr(in.Page, 1), valueOr(in.Limit, 100))}
	for _, e := range listing.Items {
		item := shareItemReply{
			ID: e.ID, Name: e.Name, Path: inside.String(), Type: "file", Size: e.Size, MimeType: e.MimeType,
			CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
		}
		if e.Folder {
			item.Type, item.MimeType = "folder", ""
		}
		if p := e.Picture; p != nil && visit.ShowsContent() {
			item.Width, item.Height = p.Width, p.Height
		}
		reply.Items = append(reply.Items, item)
	}
	return reply, nil
}
