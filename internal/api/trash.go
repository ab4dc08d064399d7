package api

import (
	"larder/internal/audit"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/vpath"
)

// trashItemReply is an entry in the trash.
type trashItemReply struct {
	ID        string       `json:"id" required:"true" description:"Also that of the entry after its restore."`
	Name      string       `json:"name" required:"true"`
	Path      string       `json:"path" required:"true" description:"At the deletion."`
	Type      string       `json:"type" required:"true" enum:"file,folder"`
	Size      int64        `json:"size" required:"true" description:"Bytes of the files."`
	Files     int64        `json:"files" required:"true" description:"In the folder; 1 for a file."`
	DeletedAt int64        `json:"deletedAt" required:"true" description:"ms"`
	DeletedBy trashDeleter `json:"deletedBy" required:"true"`
	ExpiresAt int64        `json:"expiresAt" required:"true" description:"ms; the end by the present setting trashDays. The oldest items go sooner when an account keeps more than maxKept, or when used, reserved and kept bytes are more than twice maxStorage."`
	Reason    string       `json:"reason" required:"true" enum:"deleted,replaced,rewind" description:"replaced: another entry that was restored, moved or copied took its place. rewind: its folder was brought back to a time before it."`
}

// trashDeleter is the account that deleted or replaced an entry.
type trashDeleter struct {
	ID       string `json:"id" required:"true"`
	Username string `json:"username" required:"true" description:"Empty for an account that is deleted."`
}

// viewTrashItem translates an entry in the trash into its JSON form.
func viewTrashItem(i files.TrashItem) trashItemReply {
	kind := "file"
	if i.Folder {
		kind = "folder"
	}
	return trashItemReply{i.ID, i.Name, i.Path, kind, i.Size, i.Files, i.DeletedAt,
		trashDeleter{i.DeletedBy, i.DeletedByName}, i.ExpiresAt, string(i.Reason)}
}

type listTrashInput struct {
	Cursor *string `query:"cursor" json:"-" maxLength:"100" description:"nextCursor of the page before."`
	Limit  *int64  `query:"limit" json:"-" minimum:"1" maximum:"200" default:"50"`
	Search *string `query:"search" json:"-" maxLength:"255" description:"Part of the name."`
	Path   *string `query:"path" json:"-" description:"Only entries that were directly in this folder."`
}

type listTrashReply struct {
	Items       []trashItemReply `json:"items" required:"true" description:"Newest first."`
	NextCursor  *string          `json:"nextCursor" required:"true" description:"null on the last page."`
	KeptStorage int64            `json:"keptStorage" required:"true" description:"Bytes of the account that only the trash keeps; they do not count as used."`
	MaxKept     int64            `json:"maxKept" required:"true" description:"The bound of keptStorage; -1 for none."`
}

// listTrash handles GET /api/trash: a page of the entries in the trash that belong to the account
// or that it deleted, newest first.
func (a *API) listTrash(c *call, in listTrashInput) (listTrashReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return listTrashReply{}, err
	}
	filter := files.TrashFilter{Search: valueOr(in.Search, ""), Cursor: valueOr(in.Cursor, ""),
		Limit: int(valueOr(in.Limit, 50))}
	if in.Path != nil {
		path, err := vpath.Parse(*in.Path)
		if err != nil {
			return listTrashReply{}, err
		}
		filter.In = &path
	}
	page, err := a.Tree.ListTrash(c.ctx(), c.actor, filter)
	if err != nil {
		return listTrashReply{}, err
	}
	reply := listTrashReply{Items: make([]trashItemReply, len(page.Items)), KeptStorage: page.Kept.Storage,
		MaxKept: page.Kept.Max}
	for i, item := range page.Items {
		reply.Items[i] = viewTrashItem(item)
	}
	if page.Next != "" {
		reply.NextCursor = &page.Next
	}
	return reply, nil
}

type restoreTrashInput struct {
	ID         string  `path:"id" json:"-"`
	TargetPath *string `json:"targetPath" description:"An existing folder. Without it: the folder that the entry was in, wherever in its storage provider that is now, else the nearest folder above that still exists, where the folders between are made again."`
	Conflict   *string `json:"conflict" enum:"rename,fail,replace" description:"When the name is taken; default rename. replace moves the other entry into the trash."`
}

type restoreTrashReply struct {
	File  entryReply `json:"file" required:"true"`
	Links int64      `json:"links" required:"true" description:"Permanent links that work again, in a folder those of all files."`
}

// restoreTrash handles POST /api/trash/{id}/restore: it brings an entry back from the trash, to its
// former folder or another one. Faults: those of files.Tree.Restore.
func (a *API) restoreTrash(c *call, in restoreTrashInput) (restoreTrashReply, error) {
	if err := c.requirePermission("write"); err != nil {
		return restoreTrashReply{}, err
	}
	how := files.RestoreOptions{Conflict: files.Conflict(valueOr(in.Conflict, string(files.RenameNew)))}
	if in.TargetPath != nil {
		target, err := vpath.Parse(*in.TargetPath)
		if err != nil {
			return restoreTrashReply{}, err
		}
		how.Target = &target
	}
	back, err := a.Tree.Restore(c.ctx(), c.actor, in.ID, how)
	if err != nil {
		return restoreTrashReply{}, err
	}
	c.audit(audit.Restore, back.Entry.Path())
	return restoreTrashReply{viewEntry(back.Entry), back.Links}, nil
}

type emptyTrashReply struct {
	JobID *string `json:"jobId" required:"true" description:"The job that deletes the rest; null when everything is deleted."`
}

// viewEmptied makes the reply of emptying the trash; rest is the job that deletes the rest, nil
// when everything is deleted.
func viewEmptied(rest *job.Job) emptyTrashReply {
	if rest == nil {
		return emptyTrashReply{}
	}
	return emptyTrashReply{&rest.ID}
}

// emptyTrash handles DELETE /api/trash: it deletes everything for good that the account owns in the
// trash.
func (a *API) emptyTrash(c *call, _ struct{}) (emptyTrashReply, error) {
	if err := c.requirePermission("delete"); err != nil {
		return emptyTrashReply{}, err
	}
	rest, err := a.Tree.EmptyTrash(c.ctx(), c.actor, c.actor.UserID)
	if err != nil {
		return emptyTrashReply{}, err
	}
	c.audit(audit.Purge, vpath.Path{})
	return viewEmptied(rest), nil
}

// emptyTrashOf handles DELETE /api/admin/users/{id}/trash: it deletes everything for good that
// another account owns in the trash.
func (a *API) emptyTrashOf(c *call, in idInput) (emptyTrashReply, error) {
	user, err := a.Accounts.ByID(a.DB.Read(c.ctx()), in.ID)
	if err != nil {
		return emptyTrashReply{}, err
	}
	rest, err := a.Tree.EmptyTrash(c.ctx(), c.actor, user.ID)
	if err != nil {
		return emptyTrashReply{}, err
	}
	c.auditPurgeOf(user.Username)
	return viewEmptied(rest), nil
}

// purgeTrash handles DELETE /api/trash/{id}: it deletes one entry of the trash for good, with a
// folder everything in it.
func (a *API) purgeTrash(c *call, in idInput) (deleteFileReply, error) {
	if err := c.requirePermission("delete"); err != nil {
		return deleteFileReply{}, err
	}
	gone, err := a.Tree.Purge(c.ctx(), c.actor, in.ID)
	if err != nil {
		return deleteFileReply{}, err
	}
	if path, err := vpath.Parse(gone.Path); err == nil {
		c.audit(audit.Purge, path)
	}
	return deleteFileReply{Deleted: gone.Rows, Size: gone.Bytes}, nil
}
