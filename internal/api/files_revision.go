package api

import "larder/internal/vpath"

type folderRevisionInput struct {
	Path *string `query:"path" json:"-" default:"/"`
}

type folderRevisionReply struct {
	Revision string `json:"revision" required:"true" description:"Changes with each change that the caller can see in the listing."`
	Total    int    `json:"total" required:"true" description:"Number of entries in the listing."`
}

func (a *API) folderRevision(c *call, in folderRevisionInput) (folderRevisionReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return folderRevisionReply{}, err
	}
	path, err := vpath.Parse(valueOr(in.Path, "/"))
	if err != nil {
		return folderRevisionReply{}, err
	}
	revision, err := a.Tree.Revision(c.ctx(), c.actor, path)
	return folderRevisionReply{Revision: revision.ID, Total: revision.Total}, err
}
