package api

import (
	"larder/internal/audit"
	"larder/internal/vpath"
)

type copyFileInput struct {
	ID         string  `path:"id" json:"-"`
	TargetPath *string `json:"targetPath" required:"true"`
	NewName    *string `json:"newName" maxLength:"255"`
}

// copyFile answers like moveFile: `pending`, even if the copy is complete already. The job has the
// actual status.
func (a *API) copyFile(c *call, in copyFileInput) (moveFileReply, error) {
	for _, permission := range []string{"read", "write"} {
		if err := c.requirePermission(permission); err != nil {
			return moveFileReply{}, err
		}
	}
	target, err := vpath.Parse(*in.TargetPath)
	if err != nil {
		return moveFileReply{}, err
	}
	var newName *vpath.Name
	if in.NewName != nil {
		name, err := vpath.ParseName(*in.NewName)
		if err != nil {
			return moveFileReply{}, err
		}
		newName = &name
	}
	c.audit(audit.Upload, target)
	made, err := a.Tree.Copy(c.ctx(), c.actor, in.ID, target, newName)
	return moveFileReply{made.ID, "pending"}, err
}
