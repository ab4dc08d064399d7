package api

import (
	"larder/internal/audit"
	"larder/internal/files"
)

type deleteFileReply struct {
	Deleted int64   `json:"deleted" required:"true" description:"Number of deleted files and folders, the entry itself included."`
	Size    int64   `json:"size" required:"true" description:"Bytes."`
	TrashID *string `json:"trashId,omitempty" description:"An addition: the id of the item in the trash; absent after a deletion for good."`
}

type deleteFileInput struct {
	ID    string `path:"id" json:"-"`
	Trash *bool  `query:"trash" json:"-" description:"An addition: true deletes into the trash, false for good, which is for the owner and administrators where the setting trashAll is on. Without it that setting decides."`
}

// disposalOf translates the parameter trash of a deletion: true deletes into the trash, false for
// good, and without it the setting trashAll decides.
func disposalOf(trash *bool) files.Disposal {
	switch {
	case trash == nil:
		return files.AsSet
	case *trash:
		return files.ToTrash
	}
	return files.ForGood
}

// deleteFile handles DELETE /api/files/{id}: it deletes an entry, with a folder everything below
// it, into the trash or for good.
func (a *API) deleteFile(c *call, in deleteFileInput) (deleteFileReply, error) {
	if err := c.requirePermission("delete"); err != nil {
		return deleteFileReply{}, err
	}
	c.auditEntry(audit.Delete, in.ID)
	gone, err := a.Tree.DeleteTo(c.ctx(), c.actor, in.ID, disposalOf(in.Trash))
	reply := deleteFileReply{Deleted: gone.Rows, Size: gone.Bytes}
	if gone.InTrash {
		reply.TrashID = &in.ID
	}
	return reply, err
}
