package api

import "larder/internal/vpath"

// listPublicFiles lists what a visitor without an account sees, whoever asks. Whose the files are is not told.
func (a *API) listPublicFiles(c *call, in listFilesInput) (listFilesReply, error) {
	path, err := vpath.Parse(or(in.Path, "/"))
	if err != nil {
		return listFilesReply{}, err
	}
	listing, err := a.Tree.ListPublic(c.ctx(), c.actor, in.query(path))
	if err != nil {
		return listFilesReply{}, err
	}
	reply := viewListing(listing, in)
	for i := range reply.Items {
		reply.Items[i].OwnerID = ""
	}
	if reply.Folder != nil {
		reply.Folder.OwnerID = ""
	}
	return reply, nil
}
