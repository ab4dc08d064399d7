package api

import (
	"context"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

type folderRevisionInput struct {
	Path *string `query:"path" json:"-" default:"/"`
}

type folderRevisionReply struct {
	Revision string `json:"revision" required:"true" description:"Changes with each change that the caller can see in the listing."`
	Total    int    `json:"total" required:"true" description:"Number of entries in the listing."`
}

// folderRevision handles GET /api/files/revision, by which an open page notices changes of a
// folder's listing: the revision is another text after each change that the caller can see.
func (a *API) folderRevision(c *call, in folderRevisionInput) (folderRevisionReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return folderRevisionReply{}, err
	}
	return c.revision(in, a.Tree.Revision)
}

// publicFolderRevision handles GET /api/public/files/revision: folderRevision of the listing that a
// visitor without an account sees.
func (a *API) publicFolderRevision(c *call, in folderRevisionInput) (folderRevisionReply, error) {
	return c.revision(in, a.Tree.RevisionPublic)
}

// revision answers the revision of the folder that a request names; read is Tree.Revision, or
// Tree.RevisionPublic for visitors.
func (c *call) revision(in folderRevisionInput,
	read func(context.Context, access.Actor, vpath.Path) (files.Revision, error)) (folderRevisionReply, error) {
	path, err := vpath.Parse(valueOr(in.Path, "/"))
	if err != nil {
		return folderRevisionReply{}, err
	}
	revision, err := read(c.ctx(), c.actor, path)
	return folderRevisionReply{Revision: revision.ID, Total: revision.Total}, err
}

type shareRevisionInput struct {
	ID   string  `path:"id" json:"-"`
	Path *string `query:"path" json:"-" default:"/" description:"Path of the folder, relative to the shared folder; / for a shared file."`
}

type shareRevisionReply struct {
	Revision string `json:"revision" required:"true" description:"Changes with each change that visitors can see in the listing; empty for a shared file."`
	Total    int    `json:"total" required:"true" description:"Number of entries in the listing; 1 for a shared file."`

	DownloadCount int64 `json:"downloadCount" required:"true" description:"Downloads that the share has counted."`

	Title           string `json:"title" required:"true"`
	ExpiresAt       *int64 `json:"expiresAt" required:"true"`
	MaxDownloads    *int64 `json:"maxDownloads" required:"true"`
	AllowPreview    bool   `json:"allowPreview" required:"true"`
	AllowDownload   bool   `json:"allowDownload" required:"true"`
	AccessExpiresIn *int64 `json:"accessExpiresIn" required:"true" description:"Milliseconds until the visitor has to enter a password again; null when no password is needed."`
}

// shareRevision handles GET /api/shares/{id}/revision: it tells an open page of a share whether the
// share still works, whether a folder in it has changed, how many downloads were counted, and the
// values that its creator can change. It counts no view: a share whose views are used up works on
// for the pages that show it.
func (a *API) shareRevision(c *call, in shareRevisionInput) (shareRevisionReply, error) {
	inside, err := vpath.Parse(valueOr(in.Path, "/"))
	if err != nil {
		return shareRevisionReply{}, err
	}
	visit, err := a.Shares.Visit(c.ctx(), in.ID, c.visitor(in.ID))
	switch {
	case err != nil:
		return shareRevisionReply{}, err
	case !visit.Authorized:
		return shareRevisionReply{}, fault.New(fault.InvalidPassword, "Enter the password first.")
	}
	reply := shareRevisionReply{
		DownloadCount: visit.DownloadCount, Title: shareTitle(visit.Title, &visit.Entry), ExpiresAt: visit.ExpiresAt,
		MaxDownloads: visit.MaxDownloads, AllowPreview: visit.AllowPreview, AllowDownload: visit.AllowDownload,
		AccessExpiresIn: c.accessExpiresIn(&visit),
	}
	if !visit.Entry.Folder && inside.IsRoot() {
		reply.Total = 1
		return reply, nil
	}
	revision, err := a.Tree.RevisionShared(c.ctx(), visit.Creator, visit.EntryID, inside)
	reply.Revision, reply.Total = revision.ID, revision.Total
	return reply, err
}
