package api

import (
	"net/http"

	"larder/internal/audit"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/secret"
	"larder/internal/share"
)

// sharedFileReply is the file or folder of a share.
type sharedFileReply struct {
	ID       string `json:"id" required:"true"`
	Name     string `json:"name" required:"true"`
	Path     string `json:"path" required:"true" description:"Path of the parent folder; visitors see / instead."`
	Type     string `json:"type" required:"true" enum:"file,folder"`
	Size     int64  `json:"size" required:"true" description:"Bytes."`
	MimeType string `json:"mimeType,omitempty" description:"Only of a file."`
}

// viewSharedFile translates the file or folder of a share into its JSON form; nil stays nil.
func viewSharedFile(e *files.Entry) *sharedFileReply {
	if e == nil {
		return nil
	}
	reply := &sharedFileReply{ID: e.ID, Name: e.Name, Path: e.Dir.String(), Type: "file", Size: e.Size}
	if e.Folder {
		reply.Type = "folder"
	} else {
		reply.MimeType = e.MimeType
	}
	return reply
}

// shareTitle returns the title of a share, or the name of the shared entry if the share has no
// title, or "" if e is nil as well.
func shareTitle(title *string, e *files.Entry) string {
	switch {
	case title != nil:
		return *title
	case e != nil:
		return e.Name
	}
	return ""
}

type createShareInput struct {
	FileID        *string `json:"fileId" required:"true" maxLength:"255"`
	Title         *string `json:"title" maxLength:"200" description:"Default, also for a blank title: the file's name."`
	Password      *string `json:"password" minLength:"1" maxLength:"128"`
	ExpiresIn     *int64  `json:"expiresIn" minimum:"60" maximum:"31536000" description:"Seconds; null for no end."`
	MaxViews      *int64  `json:"maxViews" minimum:"1" maximum:"1000000000" description:"null for no limit."`
	MaxDownloads  *int64  `json:"maxDownloads" minimum:"1" maximum:"1000000000" description:"null for no limit."`
	AllowPreview  *bool   `json:"allowPreview" default:"true"`
	AllowDownload *bool   `json:"allowDownload" default:"true"`
}

// newShareReply is a share at its creation.
type newShareReply struct {
	ID                string `json:"id" required:"true"`
	URL               string `json:"url" required:"true"`
	ExpiresAt         *int64 `json:"expiresAt" required:"true"`
	CreatedAt         int64  `json:"createdAt" required:"true"`
	PasswordProtected bool   `json:"passwordProtected" required:"true" description:"Visitors are asked for a password: the share's, or the file's."`
	AllowPreview      bool   `json:"allowPreview" required:"true"`
	AllowDownload     bool   `json:"allowDownload" required:"true"`
}

type createShareReply struct {
	Share newShareReply `json:"share" required:"true"`
}

// createShare handles POST /api/shares/: it makes a link to a file or folder for others. Faults:
// those of share.Service.Create.
func (a *API) createShare(c *call, in createShareInput) (createShareReply, error) {
	c.auditEntry(audit.Share, *in.FileID)
	item, err := a.Shares.Create(c.ctx(), c.actor, share.Draft{
		EntryID: *in.FileID, Title: in.Title, Password: (*secret.Text)(in.Password), ExpiresIn: in.ExpiresIn,
		MaxViews: in.MaxViews, MaxDownloads: in.MaxDownloads,
		AllowPreview: valueOr(in.AllowPreview, true), AllowDownload: valueOr(in.AllowDownload, true),
	})
	if err != nil {
		return createShareReply{}, err
	}
	return createShareReply{newShareReply{
		ID: item.ID, URL: c.shareURL(item.ID), ExpiresAt: item.ExpiresAt, CreatedAt: item.CreatedAt,
		PasswordProtected: item.RequiresPassword,
		AllowPreview:      item.AllowPreview, AllowDownload: item.AllowDownload,
	}}, nil
}

// shareURL returns the address of the page on which people open the share with that id.
func (c *call) shareURL(id string) string { return c.url("/share/" + id) }

// shareReply is a share as its creator sees it.
type shareReply struct {
	ID               string           `json:"id" required:"true"`
	URL              string           `json:"url" required:"true"`
	Title            string           `json:"title" required:"true"`
	File             *sharedFileReply `json:"file" required:"true" description:"null when it was deleted, or when the creator may not see it any more."`
	ExpiresAt        *int64           `json:"expiresAt" required:"true"`
	ViewCount        int64            `json:"viewCount" required:"true"`
	DownloadCount    int64            `json:"downloadCount" required:"true"`
	MaxViews         *int64           `json:"maxViews" required:"true"`
	MaxDownloads     *int64           `json:"maxDownloads" required:"true"`
	AllowPreview     bool             `json:"allowPreview" required:"true"`
	AllowDownload    bool             `json:"allowDownload" required:"true"`
	RequiresPassword bool             `json:"requiresPassword" required:"true" description:"Visitors are asked for a password: the share's, or the file's."`
	HasPassword      bool             `json:"hasPassword" required:"true" description:"The share has its own password."`
	Status           string           `json:"status" required:"true" enum:"active,expired,revoked"`
	CreatedAt        int64            `json:"createdAt" required:"true"`
	UpdatedAt        int64            `json:"updatedAt" required:"true"`
}

// viewShare translates a share into its JSON form for its creator.
func (c *call) viewShare(i share.Item) shareReply {
	return shareReply{
		ID: i.ID, URL: c.shareURL(i.ID), Title: shareTitle(i.Title, i.Entry), File: viewSharedFile(i.Entry),
		ExpiresAt: i.ExpiresAt,
		ViewCount: i.ViewCount, DownloadCount: i.DownloadCount, MaxViews: i.MaxViews, MaxDownloads: i.MaxDownloads,
		AllowPreview: i.AllowPreview, AllowDownload: i.AllowDownload, RequiresPassword: i.RequiresPassword,
		HasPassword: i.PasswordID != "",
		Status:      string(i.Status), CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt,
	}
}

type listSharesInput struct {
	Page   *int64  `query:"page" json:"-" minimum:"1" maximum:"1000000000" default:"1"`
	Limit  *int64  `query:"limit" json:"-" minimum:"1" maximum:"100" default:"20"`
	Status *string `query:"status" json:"-" enum:"active,expired,revoked"`
	FileID *string `query:"fileId" json:"-" maxLength:"255" description:"An addition. Only the shares of this file or folder."`
}

// query translates the parameters of a listing of shares, with their defaults, for share.Service.
func (in listSharesInput) query() share.Query {
	return share.Query{Status: share.Status(valueOr(in.Status, "")), EntryID: valueOr(in.FileID, ""),
		Page: valueOr(in.Page, 1), Limit: valueOr(in.Limit, 20)}
}

type listSharesReply struct {
	Items      []shareReply `json:"items" required:"true"`
	Pagination pagination   `json:"pagination" required:"true"`
}

// listShares handles GET /api/shares/: a page of the caller's shares, newest first.
func (a *API) listShares(c *call, in listSharesInput) (listSharesReply, error) {
	q := in.query()
	items, total, err := a.Shares.List(c.ctx(), c.actor, q)
	reply := listSharesReply{Items: []shareReply{}, Pagination: paginate(total, q.Page, q.Limit)}
	for _, i := range items {
		reply.Items = append(reply.Items, c.viewShare(i))
	}
	return reply, err
}

// visitedShareReply is a share as visitors see it.
type visitedShareReply struct {
	ID               string           `json:"id" required:"true"`
	Title            string           `json:"title" required:"true" description:"Empty until the password is given, unless the creator set a title."`
	CreatorName      string           `json:"creatorName" required:"true"`
	Kind             string           `json:"kind" required:"true" enum:"file,folder" description:"Also before the password is given."`
	FileKind         *string          `json:"fileKind" required:"true" enum:"image,video,audio,document,archive" description:"Also before the password is given. null for a folder and for other files."`
	File             *sharedFileReply `json:"file" required:"true" description:"null until the password is given."`
	AllowPreview     *bool            `json:"allowPreview" required:"true" description:"null until the password is given."`
	AllowDownload    *bool            `json:"allowDownload" required:"true" description:"null until the password is given."`
	ExpiresAt        *int64           `json:"expiresAt" required:"true"`
	RequiresPassword bool             `json:"requiresPassword" required:"true" description:"The visitor must still enter a password."`
	ViewCount        int64            `json:"viewCount" required:"true"`
	MaxViews         *int64           `json:"maxViews" required:"true"`
	DownloadCount    int64            `json:"downloadCount" required:"true"`
	MaxDownloads     *int64           `json:"maxDownloads" required:"true"`
}

type visitShareReply struct {
	Share visitedShareReply `json:"share" required:"true"`
}

// visitShare handles GET /api/shares/{id}: it shows a share to a visitor and counts a view. Before
// the password is given, the reply omits the file. HEAD shows nothing and is not counted. Faults:
// those of share.Service.View.
func (a *API) visitShare(c *call, in idInput) (visitShareReply, error) {
	visit, err := a.Shares.View(c.ctx(), in.ID, c.visitor(in.ID), c.r.Method == http.MethodGet)
	if err != nil {
		return visitShareReply{}, err
	}
	reply := visitedShareReply{
		ID: visit.ID, Title: shareTitle(visit.Title, nil), CreatorName: visit.CreatorName, ExpiresAt: visit.ExpiresAt,
		RequiresPassword: !visit.Authorized,
		ViewCount:        visit.ViewCount, MaxViews: visit.MaxViews, DownloadCount: visit.DownloadCount,
		MaxDownloads: visit.MaxDownloads,
	}
	reply.Kind = "file"
	if visit.Entry.Folder {
		reply.Kind = "folder"
	} else if group := string(files.GroupOf(visit.Entry.MimeType)); group != "" {
		reply.FileKind = &group
	}
	if visit.Authorized {
		reply.Title, reply.AllowPreview, reply.AllowDownload = shareTitle(visit.Title,
			&visit.Entry), &visit.AllowPreview, &visit.AllowDownload
		reply.File = viewSharedFile(&visit.Entry)
		reply.File.Path = "/"
	}
	return visitShareReply{reply}, nil
}

type verifyShareInput struct {
	ID       string  `path:"id" json:"-"`
	Password *string `json:"password" required:"true" maxLength:"128"`
}

type verifyShareReply struct {
	Authorized bool `json:"authorized" required:"true"`
}

// verifyShare handles POST /api/shares/{id}/verify: it takes a password of a share, either its own
// or one of its file, and stores its id in the share's cookie. Faults: InvalidPassword,
// PasswordRequired when another password is missing, RateLimited, Invalid, and those of
// share.Service.Visit.
func (a *API) verifyShare(c *call, in verifyShareInput) (verifyShareReply, error) {
	visit, err := a.Shares.Visit(c.ctx(), in.ID, c.visitor(in.ID))
	switch {
	case err != nil:
		return verifyShareReply{}, err
	case len(visit.Passwords) == 0:
		return verifyShareReply{}, fault.New(fault.Invalid, "This share has no password.")
	}
	if err := c.limitUnlocks(); err != nil {
		return verifyShareReply{}, err
	}
	var given []string
	byAddress, everywhere := c.attemptTargets("share:"+visit.ID, visit.Passwords)
	err = c.limitPasswordAttempts(byAddress, everywhere, func() (err error) {
		given, err = c.matchPasswords(visit.Passwords, secret.Text(*in.Password))
		return err
	})
	c.auditWrongPassword(err, audit.ShareDownload, visit.Path)
	if err != nil {
		return verifyShareReply{}, err
	}
	if visit, err = a.Shares.Visit(c.ctx(), in.ID, c.visitor(in.ID, given...)); err != nil {
		return verifyShareReply{}, err
	}
	c.addShareProofs(visit.ID, given)
	if !visit.Authorized {
		return verifyShareReply{}, fault.New(fault.PasswordRequired,
			"This password is correct, but another password is also required.")
	}
	return verifyShareReply{Authorized: true}, nil
}

type changeShareInput struct {
	ID            string           `path:"id" json:"-"`
	Title         nullable[string] `json:"title" maxLength:"200" description:"null or blank for the file's name."`
	Password      nullable[string] `json:"password" minLength:"1" maxLength:"128" description:"null for none. A change ends the access that visitors gained with the previous password."`
	ExpiresIn     nullable[int64]  `json:"expiresIn" minimum:"60" maximum:"31536000" description:"Seconds from now; null for no end."`
	MaxViews      nullable[int64]  `json:"maxViews" minimum:"1" maximum:"1000000000" description:"null for no limit."`
	MaxDownloads  nullable[int64]  `json:"maxDownloads" minimum:"1" maximum:"1000000000" description:"null for no limit."`
	AllowPreview  *bool            `json:"allowPreview"`
	AllowDownload *bool            `json:"allowDownload"`
}

type changeShareReply struct {
	Share shareReply `json:"share" required:"true"`
}

// changeShare handles PATCH /api/shares/{id}: it changes the given fields of one of the caller's
// shares.
func (a *API) changeShare(c *call, in changeShareInput) (changeShareReply, error) {
	change := share.Change{
		Title: patchField(in.Title), ExpiresIn: patchField(in.ExpiresIn), MaxViews: patchField(in.MaxViews),
		MaxDownloads: patchField(in.MaxDownloads),
		AllowPreview: in.AllowPreview, AllowDownload: in.AllowDownload,
	}
	if in.Password.isSet {
		change.Password = new(*secret.Text)
		*change.Password = (*secret.Text)(in.Password.value)
	}
	item, err := a.Shares.Change(c.ctx(), c.actor, in.ID, change)
	if err != nil {
		return changeShareReply{}, err
	}
	c.auditEntry(audit.Share, item.EntryID)
	return changeShareReply{c.viewShare(item)}, nil
}

// patchField translates a JSON field into a field of a share.Change: nil when the field is absent,
// a pointer to nil when it is null, a pointer to the value otherwise.
func patchField[T any](n nullable[T]) **T {
	if !n.isSet {
		return nil
	}
	return &n.value
}

// revokeShare handles DELETE /api/shares/{id}: it ends one of the caller's shares for good.
func (a *API) revokeShare(c *call, in idInput) (none, error) {
	entryID, err := a.Shares.Revoke(c.ctx(), c.user.ID, in.ID)
	if err == nil {
		c.auditEntry(audit.Share, entryID)
	}
	return none{}, err
}
