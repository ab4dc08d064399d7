package api

import "larder/internal/share"

// adminShareReply is a share as administrators see it.
type adminShareReply struct {
	ID            string           `json:"id" required:"true"`
	Title         string           `json:"title" required:"true"`
	CreatorID     string           `json:"creatorId" required:"true"`
	CreatorName   *string          `json:"creatorName" required:"true" description:"Username of the creator; null when the account was deleted."`
	CreatorAvatar *string          `json:"creatorAvatar" required:"true" description:"An addition. The address of the creator's uploaded picture, a path of this site; null for none."`
	Status        string           `json:"status" required:"true" enum:"active,expired,revoked"`
	URL           string           `json:"url" required:"true"`
	File          *sharedFileReply `json:"file" required:"true" description:"null when the file or folder was deleted."`
	ExpiresAt     *int64           `json:"expiresAt" required:"true"`
	ViewCount     int64            `json:"viewCount" required:"true"`
	DownloadCount int64            `json:"downloadCount" required:"true"`
	MaxViews      *int64           `json:"maxViews" required:"true"`
	MaxDownloads  *int64           `json:"maxDownloads" required:"true"`
	HasPassword   bool             `json:"hasPassword" required:"true" description:"The share has its own password."`
	CreatedAt     int64            `json:"createdAt" required:"true"`
}

type listAllSharesReply struct {
	Items      []adminShareReply `json:"items" required:"true"`
	Pagination pagination        `json:"pagination" required:"true"`
}

type listAllSharesInput struct {
	listSharesInput
	Search *string `query:"search" json:"-" maxLength:"255" description:"An addition. Part of the title, of the file's name, or of the creator's username or display name, case-insensitive."`
}

// listAllShares handles GET /api/admin/shares: a page of the shares of all users, with their
// creators.
func (a *API) listAllShares(c *call, in listAllSharesInput) (listAllSharesReply, error) {
	q := in.query()
	q.Search = valueOr(in.Search, "")
	items, total, err := a.Shares.ListAll(c.ctx(), c.actor, q)
	if err != nil {
		return listAllSharesReply{}, err
	}
	avatars, err := avatarsOf(c, items, func(i share.Item) string { return i.CreatorID })
	if err != nil {
		return listAllSharesReply{}, err
	}
	reply := listAllSharesReply{Items: []adminShareReply{}, Pagination: paginate(total, q.Page, q.Limit)}
	for _, i := range items {
		creator, err := c.userNamed(i.CreatorID)
		if err != nil {
			return listAllSharesReply{}, err
		}
		reply.Items = append(reply.Items, adminShareReply{
			ID: i.ID, Title: shareTitle(i.Title, i.Entry), CreatorID: i.CreatorID,
			CreatorName: optional(creator.Username), CreatorAvatar: avatars[i.CreatorID], Status: string(i.Status),
			URL: c.shareURL(i.ID), File: viewSharedFile(i.Entry), ExpiresAt: i.ExpiresAt, ViewCount: i.ViewCount,
			DownloadCount: i.DownloadCount,
			MaxViews:      i.MaxViews, MaxDownloads: i.MaxDownloads, HasPassword: i.PasswordID != "",
			CreatedAt: i.CreatedAt,
		})
	}
	return reply, nil
}

// revokeAnyShare handles DELETE /api/admin/shares/{id}: it ends a share of any user for good.
func (a *API) revokeAnyShare(c *call, in idInput) (none, error) {
	_, err := a.Shares.RevokeAny(c.ctx(), c.actor, in.ID)
	return none{}, err
}
