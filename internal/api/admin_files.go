package api

import "larder/internal/files"

// adminFileReply is a file or folder in the listing for administrators (specification: Admin
// endpoints, with additions).
type adminFileReply struct {
	ID          string  `json:"id" required:"true"`
	Name        string  `json:"name" required:"true"`
	Path        string  `json:"path" required:"true" description:"Path of the parent folder."`
	Type        string  `json:"type" required:"true" enum:"file,folder"`
	Size        int64   `json:"size" required:"true" description:"Bytes."`
	MimeType    string  `json:"mimeType,omitempty"`
	HasPassword bool    `json:"hasPassword" required:"true"`
	OwnerID     *string `json:"ownerId" required:"true" description:"null for a folder that exists only because a mount is below it."`
	Username    *string `json:"username" required:"true" description:"Username of the owner; null when the account was deleted."`
	OwnerAvatar *string `json:"ownerAvatar" required:"true" description:"An addition. The address of the owner's uploaded picture, a path of this site; null for none."`
	CreatedAt   int64   `json:"createdAt" required:"true"`
	UpdatedAt   int64   `json:"updatedAt" required:"true"`
}

type adminFilesInput struct {
	Page   *int64  `query:"page" json:"-" minimum:"1" maximum:"1000000000" default:"1"`
	Limit  *int64  `query:"limit" json:"-" minimum:"1" maximum:"100" default:"20"`
	Search *string `query:"search" json:"-" maxLength:"255" description:"Part of a name, case-insensitive. Default: all files and folders."`
}

type adminFilesReply struct {
	Items      []adminFileReply `json:"items" required:"true"`
	Pagination pagination       `json:"pagination" required:"true"`
}

// adminFiles handles GET /api/admin/files: a page of the files and folders of all users, with their
// owners, optionally only those whose name contains a text.
func (a *API) adminFiles(c *call, in adminFilesInput) (adminFilesReply, error) {
	page, limit := valueOr(in.Page, 1), valueOr(in.Limit, 20)
	found, total, err := a.Tree.ListAll(c.ctx(), c.actor,
		files.ListQuery{Page: int(page), Limit: int(limit), Search: valueOr(in.Search, "")})
	if err != nil {
		return adminFilesReply{}, err
	}
	avatars, err := avatarsOf(c, found, func(e files.Entry) string { return e.OwnerID })
	if err != nil {
		return adminFilesReply{}, err
	}
	reply := adminFilesReply{Items: []adminFileReply{}, Pagination: paginate(int64(total), page, limit)}
	for _, e := range found {
		owner, err := c.userNamed(e.OwnerID)
		if err != nil {
			return reply, err
		}
		item := adminFileReply{
			ID: e.ID, Name: e.Name, Path: e.Dir.String(), Type: "file", Size: e.Size, MimeType: e.MimeType,
			HasPassword: e.HasPassword,
			OwnerID:     optional(e.OwnerID), Username: optional(owner.Username), OwnerAvatar: avatars[e.OwnerID],
			CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
		}
		if e.Folder {
			item.Type, item.MimeType = "folder", ""
		}
		reply.Items = append(reply.Items, item)
	}
	return reply, nil
}
