package api

import (
	"context"
	"net/http"

	"larder/internal/audit"
	"larder/internal/download"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/mount"
	"larder/internal/secret"
	"larder/internal/vpath"
)

// mountReply is a mount in listings and details.
type mountReply struct {
	ID        string `json:"id" required:"true"`
	Name      string `json:"name" required:"true"`
	SortBy    string `json:"sortBy" required:"true"`
	SortOrder string `json:"sortOrder" required:"true" enum:"asc,desc"`
}

func viewMount(m mount.Mount) *mountReply { return &mountReply{m.ID, m.Name, m.SortBy, m.SortOrder} }

// pagination describes a page of results.
type pagination struct {
	Total int64 `json:"total" required:"true"`
	Page  int64 `json:"page" required:"true"`
	Limit int64 `json:"limit" required:"true"`
	Pages int64 `json:"pages" required:"true"`
}

// paginate returns the total of rows, the page from 1, its limit of rows, and the number of pages.
func paginate(total, page, limit int64) pagination {
	return pagination{Total: total, Page: page, Limit: limit, Pages: (total + limit - 1) / limit}
}

type listFilesInput struct {
	Path     *string `query:"path" json:"-" default:"/" description:"With at: the path that the folder had at that time, or the present path of a folder if no folder had it."`
	At       *int64  `query:"at" json:"-" minimum:"0" description:"ms; the folder as it was at that time, which search and filters exclude. Not in the future, not before knownSince, and in none of the gaps."`
	FolderID *string `query:"folderId" json:"-" description:"With at, instead of path: the id of the folder."`
	Page     *int64  `query:"page" json:"-" minimum:"1" maximum:"1000000000" default:"1"`
	Limit    *int64  `query:"limit" json:"-" minimum:"1" maximum:"1000" default:"100"`
	Sort     *string `query:"sort" json:"-" enum:"name,time,size,manual" description:"Default: as set for the mount."`
	Order    *string `query:"order" json:"-" enum:"asc,desc"`
	Type     *string `query:"type" json:"-" enum:"file,folder"`
	Search   *string `query:"search" json:"-" maxLength:"255" description:"Part of a name, at any depth below path, case-insensitive."`
}

// filteredListInput is listFilesInput with filters, which visitors do not have.
type filteredListInput struct {
	listFilesInput
	Kind    *string `query:"kind" json:"-" enum:"image,video,audio,document,archive" description:"Only files of this kind, at any depth below path, as with the further filters."`
	From    *int64  `query:"from" json:"-" description:"ms; only files from this time on that the caller may download: takenAt of a picture that states it, else updatedAt."`
	To      *int64  `query:"to" json:"-" description:"ms; only files before this time."`
	MinSize *int64  `query:"minSize" json:"-" minimum:"0" description:"Bytes."`
	MaxSize *int64  `query:"maxSize" json:"-" minimum:"0" description:"Bytes."`
	OwnerID *string `query:"ownerId" json:"-" maxLength:"64" description:"Only files that this account owns."`
}

// filter translates the filters.
func (in *filteredListInput) filter() files.SearchFilter {
	return files.SearchFilter{Types: files.TypeGroup(valueOr(in.Kind, "")), From: in.From, To: in.To,
		MinSize: in.MinSize, MaxSize: in.MaxSize, OwnerID: valueOr(in.OwnerID, "")}
}

type listFilesReply struct {
	Items         []listedReply `json:"items" required:"true"`
	Pagination    pagination    `json:"pagination" required:"true"`
	Mount         *mountReply   `json:"mount" required:"true"`
	Folder        *entryReply   `json:"folder" required:"true" description:"Entry of the folder itself; null when the folder is virtual."`
	CompleteSince int64         `json:"completeSince,omitempty" description:"ms; with at: the earliest time from which everything is known about the folder until now."`
	KnownSince    int64         `json:"knownSince,omitempty" description:"ms; with at: earlier times of the folder cannot be listed. Those from then on can be listed, also before completeSince, unless they are in a gap."`
	Gaps          []gapReply    `json:"gaps,omitempty" description:"With at: the times between knownSince and completeSince that cannot be listed, because the folder had something then that was deleted for good. In order, the last 1,000."`
}

// gapReply is a time for which a folder is not known.
type gapReply struct {
	Since int64 `json:"since" required:"true" description:"ms"`
	Until int64 `json:"until" required:"true" description:"ms, exclusive"`
}

// listedReply is an entry in a listing.
type listedReply struct {
	entryReply
	State string `json:"state,omitempty" enum:"same,changed,lost,moved,trashed" description:"With at: the entry now, compared with that time. lost: at the same path, but the content of that time is no longer stored."`
}

// listFiles handles GET /api/files: it lists or searches a folder, present or at an earlier time.
func (a *API) listFiles(c *call, in filteredListInput) (listFilesReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return listFilesReply{}, err
	}
	path, err := vpath.Parse(valueOr(in.Path, "/"))
	if err != nil {
		return listFilesReply{}, err
	}
	if in.At != nil {
		return a.listPast(c, in, path)
	}
	if in.FolderID != nil {
		return listFilesReply{}, fault.InvalidField("folderId", "folderId needs at.")
	}
	query := in.query(path)
	query.Filter = in.filter()
	listing, err := a.Tree.List(c.ctx(), c.actor, query)
	if err != nil {
		return listFilesReply{}, err
	}
	reply := viewListing(listing, in.listFilesInput)
	return reply, c.markFavourites(len(reply.Items), func(i int) *entryReply { return &reply.Items[i].entryReply })
}

// query translates the parameters, with their defaults, for the folder at path.
func (in listFilesInput) query(path vpath.Path) files.ListQuery {
	return files.ListQuery{
		Path: path, Page: int(valueOr(in.Page, 1)), Limit: int(valueOr(in.Limit, 100)),
		Sort: valueOr(in.Sort, ""), Order: valueOr(in.Order, ""), Type: valueOr(in.Type, ""),
		Search: valueOr(in.Search, ""),
	}
}

func viewListing(listing files.Listing, in listFilesInput) listFilesReply {
	reply := listFilesReply{Items: []listedReply{},
		Pagination: paginate(int64(listing.Total), valueOr(in.Page, 1), valueOr(in.Limit, 100))}
	for _, entry := range listing.Items {
		reply.Items = append(reply.Items, listedReply{entryReply: viewEntry(entry)})
	}
	if listing.Mount != nil {
		reply.Mount = viewMount(*listing.Mount)
	}
	if listing.Folder != nil {
		folder := viewEntry(*listing.Folder)
		reply.Folder = &folder
	}
	return reply
}

type createFolderInput struct {
	Path *string `json:"path" required:"true" description:"The parent folder of the new folder."`
	Name *string `json:"name" required:"true" maxLength:"255"`
}

type fileReply struct {
	File entryReply `json:"file" required:"true"`
}

// createFolder handles POST /api/files/folder: it creates a folder in an existing folder.
func (a *API) createFolder(c *call, in createFolderInput) (fileReply, error) {
	if err := c.requirePermission("write"); err != nil {
		return fileReply{}, err
	}
	parent, err := vpath.Parse(*in.Path)
	if err != nil {
		return fileReply{}, err
	}
	name, err := vpath.ParseName(*in.Name)
	if err != nil {
		return fileReply{}, err
	}
	c.audit(audit.Folder, parent.Child(name))
	entry, err := a.Tree.CreateFolder(c.ctx(), c.actor, parent, name)
	if err != nil {
		return fileReply{}, err
	}
	return fileReply{viewEntry(entry)}, nil
}

type idInput struct {
	ID string `path:"id" json:"-"`
}

type fileDetailsReply struct {
	File        entryReply  `json:"file" required:"true"`
	Mount       *mountReply `json:"mount" required:"true"`
	Permissions []string    `json:"permissions" required:"true"`
	AccessMode  string      `json:"accessMode" required:"true" enum:"public_cdn,signed_redirect,private_gateway"`
	HasPassword bool        `json:"hasPassword" required:"true"`
}

// fileDetails handles GET /api/files/{id}: the entry, its mount, and the caller's permissions.
func (a *API) fileDetails(c *call, in idInput) (fileDetailsReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return fileDetailsReply{}, err
	}
	entry, m, err := a.Tree.Details(c.ctx(), c.actor, in.ID)
	if err != nil {
		return fileDetailsReply{}, err
	}
	mode, err := a.Tree.AccessMode(c.ctx(), entry)
	if err != nil {
		return fileDetailsReply{}, err
	}
	file := viewEntry(entry)
	err = c.markFavourites(1, func(int) *entryReply { return &file })
	return fileDetailsReply{file, viewMount(m), entry.Permissions.Names(), string(mode), entry.HasPassword}, err
}

type updateFileInput struct {
	ID             string           `path:"id" json:"-"`
	Name           *string          `json:"name" maxLength:"255"`
	CustomTitle    nullable[string] `json:"customTitle" maxLength:"200" description:"Null or empty for none."`
	CustomColor    nullable[string] `json:"customColor" pattern:"^#[0-9A-Fa-f]{6}$" description:"Null for none."`
	CoverURL       nullable[string] `json:"coverUrl" maxLength:"2048" description:"An http or https address, or a path of this site. Null or empty for none."`
	IconEmoji      nullable[string] `json:"iconEmoji" maxLength:"16" description:"Null or empty for none."`
	AccessPassword nullable[string] `json:"accessPassword" minLength:"1" maxLength:"128" description:"Only a hash is stored. Null removes it. Only the owner and administrators may set it."`
	ManualPosition nullable[int64]  `json:"manualPosition" minimum:"-9007199254740991" maximum:"9007199254740991" description:"Null for none."`
}

// updateFile handles PUT /api/files/{id}: name, metadata, password. It applies all changes or none.
func (a *API) updateFile(c *call, in updateFileInput) (fileReply, error) {
	if err := c.requirePermission("write"); err != nil {
		return fileReply{}, err
	}
	change := files.Change{
		Title: changeField(in.CustomTitle), Color: changeField(in.CustomColor), Cover: changeField(in.CoverURL),
		Emoji: changeField(in.IconEmoji), Position: changeField(in.ManualPosition),
	}
	if in.Name != nil {
		name, err := vpath.ParseName(*in.Name)
		if err != nil {
			return fileReply{}, err
		}
		change.Name = &name
	}
	if in.AccessPassword.isSet {
		change.Password = &files.NewPassword{}
		if password := in.AccessPassword.value; password != nil {
			change.Password.Hash = func(ctx context.Context) (string, error) {
				return a.Accounts.HashPassword(ctx, c.hashSource(), secret.Text(*password))
			}
		}
	}
	if change.Name != nil || change.Password != nil { // a password controls access, like a link
		action := audit.Rename
		if change.Name == nil {
			action = audit.Share
		}
		c.auditEntry(action, in.ID)
	}
	entry, err := a.Tree.Update(c.ctx(), c.actor, in.ID, change)
	if err != nil {
		return fileReply{}, err
	}
	return fileReply{viewEntry(entry)}, nil
}

// changeField translates a nullable JSON field into a files.Change field; absent: not Given.
func changeField[T any](n nullable[T]) files.Field[T] {
	return files.Field[T]{Given: n.isSet, Value: n.value}
}

type moveFileInput struct {
	ID         string  `path:"id" json:"-"`
	TargetPath *string `json:"targetPath" required:"true"`
	NewName    *string `json:"newName" maxLength:"255"`
}

type moveFileReply struct {
	JobID  string `json:"jobId" required:"true"`
	Status string `json:"status" required:"true" enum:"pending,running,completed,failed"`
}

// moveFile handles POST /api/files/{id}/move. It answers a job and `pending`, as the specification
// requires; the job has the actual status: a move without anything to copy is complete already.
func (a *API) moveFile(c *call, in moveFileInput) (moveFileReply, error) {
	if err := c.requireMovePermissions(); err != nil {
		return moveFileReply{}, err
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
	c.auditEntry(audit.Move, in.ID)
	moved, err := a.Tree.Move(c.ctx(), c.actor, in.ID, target, newName)
	return moveFileReply{moved.ID, "pending"}, err
}

// requireMovePermissions refuses a key that lacks one of the permissions write and delete. Fault:
// Forbidden.
func (c *call) requireMovePermissions() error {
	if err := c.requirePermission("write"); err != nil {
		return err
	}
	return c.requirePermission("delete")
}

type linkReply struct {
	URL       string `json:"url" required:"true"`
	CreatedAt int64  `json:"createdAt" required:"true"`
	Works     bool   `json:"works" required:"true" description:"Whether visitors can open the file by the link now. A password, a rule or a setting of the site can prevent it."`
}

// linkOf returns the permanent link of a file and makes it when there is none. Faults: as of
// files.Tree.Link.
func (c *call) linkOf(id string) (linkReply, error) {
	link, err := c.a.Tree.Link(c.ctx(), c.actor, id)
	if err != nil {
		return linkReply{}, err
	}
	public, err := c.a.Tree.PublicAccess(c.ctx(), id)
	return linkReply{c.linkURL(link), link.CreatedAt, public.Link != nil}, err
}

type makeLinkReply struct {
	Link linkReply `json:"link" required:"true"`
}

// makeLink handles POST /api/files/{id}/link; see linkOf.
func (a *API) makeLink(c *call, in idInput) (makeLinkReply, error) {
	c.auditEntry(audit.Share, in.ID)
	link, err := c.linkOf(in.ID)
	return makeLinkReply{link}, err
}

type makeManyLinksInput struct {
	IDs []string `json:"ids" required:"true" minItems:"1" maxItems:"100"`
}

type makeManyLinksReply struct {
	Items []makeManyLinksItem `json:"items" required:"true" description:"In the order of ids, duplicates once."`
}

type makeManyLinksItem struct {
	ID    string        `json:"id" required:"true"`
	Link  *linkReply    `json:"link" required:"true" description:"Null if there is an error."`
	Error *failureError `json:"error" required:"true" description:"The error of the operation on a single file; null for none."`
}

// makeManyLinks makes the links one after the other, each in a transaction of its own, as makeLink
// does. An error of the server ends it; a repeated request then returns the links already made.
func (a *API) makeManyLinks(c *call, in makeManyLinksInput) (makeManyLinksReply, error) {
	ids := distinct(in.IDs)
	paths := c.pathsOf(ids)
	reply := makeManyLinksReply{Items: []makeManyLinksItem{}}
	for _, id := range ids {
		item, status := makeManyLinksItem{ID: id}, http.StatusOK
		switch link, err := c.linkOf(id); {
		case err == nil:
			item.Link = &link
		case codes[fault.KindOf(err)].status >= 500:
			return makeManyLinksReply{}, err
		default:
			answer := c.describeError(err)
			item.Error, status = &failureError{Code: answer.code, Message: answer.message}, answer.status
		}
		if path, known := paths[id]; known {
			c.auditOne(audit.Share, path, status)
		}
		reply.Items = append(reply.Items, item)
	}
	return reply, nil
}

// revokeLink handles DELETE /api/files/{id}/link: the permanent link stops working.
func (a *API) revokeLink(c *call, in idInput) (none, error) {
	c.auditEntry(audit.Share, in.ID)
	return none{}, a.Tree.Unlink(c.ctx(), c.actor, in.ID)
}

func (c *call) linkURL(link files.Link) string { return c.url("/api/i/" + link.ID + "." + link.Ext) }

// pathURL returns the public address of an entry by its path.
func (c *call) pathURL(path vpath.Path) string { return c.url(escapePath(path.String())) }

type downloadReply struct {
	URL       string `json:"url" required:"true"`
	ExpiresAt int64  `json:"expiresAt" required:"true"`
}

// fileDownload is both an endpoint of the interface and an address that image clients paste into
// documents. For a session or key it answers a single-use address; an embed gets the bytes instead.
// A caller without either that could display the file is redirected to its public address.
func (a *API) fileDownload(c *call) error {
	id := c.r.PathValue("id")
	signedIn := c.actor.UserID != ""
	if signedIn {
		if err := c.requirePermission("read"); err != nil {
			return err
		}
	}
	switch {
	case signedIn && c.r.URL.Query().Has("at"):
		return a.pastDownload(c)
	case signedIn && isEmbed(c.r):
		found, err := c.lookUp()
		if err != nil {
			return err
		}
		c.auditFound(found)
		content, err := found.ContentFor(c.actor)
		if err != nil {
			return c.redirectRefused(id, err)
		}
		return c.serveContent(content, serveOptions{})
	case signedIn && c.omitBodyForHead():
		if err := a.Downloads.CheckIssue(c.ctx(), c.actor, id, download.Save); err != nil {
			return err
		}
		c.answer(http.StatusOK, nil)
		return nil
	case signedIn:
		token, expires, err := a.Downloads.Issue(c.ctx(), c.actor, c.session, id, download.Save)
		if err != nil {
			c.auditEntry(audit.Download, id)
			return err
		}
		c.answer(http.StatusOK, downloadReply{c.url("/api/gateway/download/" + token), expires.UnixMilli()})
		return nil
	case wantsDisplayable(c.r):
		return c.redirectToPublished(id)
	case c.credentialErr != nil:
		return c.credentialErr
	}
	return fault.New(fault.Unauthorized, "Please sign in.")
}

// findDownload finds the entry that fileDownload serves as bytes, or as it was at an earlier time;
// nil for other requests.
func (c *call) findDownload() (*files.FoundEntry, error) {
	if !isEmbed(c.r) && !c.r.URL.Query().Has("at") {
		return nil, nil
	}
	return c.a.Tree.FindID(c.ctx(), c.r.PathValue("id"))
}

// redirectRefused redirects a signed-in user who may not download a file to the file's public
// address, as any visitor. It returns the refusal for a key, for another fault than Forbidden and
// PasswordRequired, and for a file without a public address.
func (c *call) redirectRefused(id string, refusal error) error {
	if c.key != nil || !fault.Is(refusal, fault.Forbidden) && !fault.Is(refusal, fault.PasswordRequired) {
		return refusal
	}
	c.credentialErr = refusal
	return c.redirectToPublished(id)
}

// redirectToPublished redirects to the public address of the file with that id, else it refuses.
func (c *call) redirectToPublished(id string) error {
	published, err := c.a.Tree.PublicAccess(c.ctx(), id)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	var target string
	switch {
	case published.Link != nil:
		target = c.linkURL(*published.Link)
	case published.Path != nil:
		target = c.pathURL(*published.Path)
	case c.credentialErr != nil:
		return c.credentialErr
	default:
		return fault.New(fault.Unauthorized, "Please sign in.")
	}
	h := c.w.Header()
	h.Set("Location", target)
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept, Sec-Fetch-Dest, Cookie, Authorization")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	allowAllOrigins(h)
	c.w.WriteHeader(http.StatusFound)
	return nil
}

// isEmbed reports whether the request was made for an <img>, <video> or <audio>.
func isEmbed(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "image", "video", "audio":
		return true
	}
	return acceptBegins(r, "image/")
}

// wantsDisplayable reports whether the client asks for something to display rather than for JSON.
func wantsDisplayable(r *http.Request) bool {
	return acceptBegins(r, "image/", "video/", "audio/", "text/html", "*/*")
}
