package api

import (
	"larder/internal/audit"
	"larder/internal/vpath"
)

type copyFileInput struct {
	ID         string  `path:"id" json:"-"`
	TargetPath *string `json:"targetPath" required:"true"`
	NewName    *string `json:"newName" maxLength:"255"`
	At         *int64  `json:"at" minimum:"0" description:"ms; copies the entry as it was at that time. A name that is taken gets a number."`
}

type copyFileReply struct {
	moveFileReply
	File *entryReply `json:"file,omitempty" description:"With at: the copy."`
}

// copyFile handles POST /api/files/{id}/copy: it copies an entry to a folder, with at as it was at
// an earlier time. It answers like moveFile: `pending`, even if the copy is complete already. The
// job has the actual status.
func (a *API) copyFile(c *call, in copyFileInput) (copyFileReply, error) {
	for _, permission := range []string{"read", "write"} {
		if err := c.requirePermission(permission); err != nil {
			return copyFileReply{}, err
		}
	}
	target, err := vpath.Parse(*in.TargetPath)
	if err != nil {
		return copyFileReply{}, err
	}
	var newName *vpath.Name
	if in.NewName != nil {
		name, err := vpath.ParseName(*in.NewName)
		if err != nil {
			return copyFileReply{}, err
		}
		newName = &name
	}
	c.audit(audit.Upload, target)
	if in.At == nil {
		made, err := a.Tree.Copy(c.ctx(), c.actor, in.ID, target, newName)
		return copyFileReply{moveFileReply{made.ID, "pending"}, nil}, err
	}
	made, copied, err := a.Tree.CopyPast(c.ctx(), c.actor, in.ID, *in.At, target, newName)
	if err != nil {
		return copyFileReply{}, err
	}
	view := viewEntry(copied)
	return copyFileReply{moveFileReply{made.ID, "pending"}, &view}, nil
}
