package api

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/share"
	"larder/internal/vpath"
)

// sharePageRoute is the page of a share; dispatch chooses it. It reads the database for callers
// without an account, so it counts against the limit of public paths. It is not compressed, because
// it contains the id of the share beside texts that users choose; see compress.go.
var sharePageRoute = route{name: "/share/{id}", auth: noAuth, limit: transferLimit, handler: (*call).sharePage}

// sharePagePath is the path prefix of the pages of shares.
const sharePagePath = "/share/"

// sharePage serves the page of a share, with the status that its address has for a visitor who has
// given no password. It counts no view: the page itself asks for the share, once.
func (c *call) sharePage() error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return c.refuseMethod()
	}
	c.w.Header().Set("X-Robots-Tag", "noindex") // everyone who has the address can open the share
	id, err := shareIDOf(c.r.URL.EscapedPath())
	if err != nil {
		return c.writeEndedShare(err)
	}
	visit, err := c.a.Shares.View(c.ctx(), id, share.Visitor{IP: c.ip}, false)
	if err != nil {
		return c.writeEndedShare(err)
	}
	c.writeShell(c.a.ui.share, http.StatusOK, "", c.shareHead(visit))
	return nil
}

// shareIDOf returns the id of the share whose page is at an escaped path, /share/{id}. Fault:
// NotFound for another path.
func shareIDOf(escaped string) (string, error) {
	id, err := url.PathUnescape(strings.TrimPrefix(escaped, sharePagePath))
	if err != nil || id == "" || strings.Contains(id, "/") || !strings.HasPrefix(escaped, sharePagePath) {
		return "", fault.New(fault.NotFound, "There is no such share.")
	}
	return sanitizeID(id), nil
}

// writeEndedShare answers with the page of a share that can't be opened, because it does not exist,
// has ended or has no views left; the page shows the reason in err. It returns all other errors,
// such as that of a failing database, without an answer.
func (c *call) writeEndedShare(err error) error {
	switch fault.KindOf(err) {
	case fault.NotFound, fault.ShareRevoked, fault.ShareExpired, fault.ShareLimitReached:
		answer := c.describeError(err)
		c.writeShell(c.a.ui.share, answer.status, answer.code, c.shareHead(share.Visit{}))
		return nil
	}
	return err
}

// shareHead is the part of the page's head that describes a share to programs that show its address
// with a preview. html/template escapes the texts, which users choose (abuse case C73).
var shareHead = template.Must(template.New("share").Parse(`<title>{{.Title}}</title>
{{- if .Address}}
<meta property="og:type" content="website">
<meta property="og:site_name" content="{{.Site}}">
<meta property="og:title" content="{{.Title}}">
<meta property="og:url" content="{{.Address}}">
<meta name="author" content="{{.Creator}}">
<meta name="twitter:card" content="{{if .Picture}}summary_large_image{{else}}summary{{end}}">
{{- if .Picture}}
<meta property="og:image" content="{{.Picture}}">
<meta property="og:image:alt" content="{{.Title}}">
{{- end}}
<link rel="alternate" type="application/json+oembed" href="{{.Embed}}" title="{{.Title}}">
{{- end}}`))

// shareHead returns the HTML for the head of a share's page: the title, and the description for
// previews if the share may be described. The zero visit stands for a share that can't be opened.
func (c *call) shareHead(visit share.Visit) string {
	view := struct{ Title, Site, Address, Creator, Picture, Embed string }{Title: c.siteTitle(), Site: c.siteTitle()}
	if describable(visit) == nil {
		view.Title, view.Creator = shareTitle(visit.Title, &visit.Entry), visit.CreatorName
		view.Address = c.shareURL(visit.ID)
		view.Embed = c.url("/api/public/oembed?url=" + url.QueryEscape(view.Address))
		if e, found := c.sharedPicture(visit); found {
			view.Picture = c.url("/api/shares/" + visit.ID + "/thumbnail?size=1280")
			if e.ID != visit.EntryID {
				view.Picture += "&file=" + url.QueryEscape(e.ID)
			}
		}
	}
	var b strings.Builder
	if err := shareHead.Execute(&b, view); err != nil {
		c.a.Log.Error("render the head of a share's page", "error", err)
	}
	return b.String()
}

// describable returns nil for a share that may be described to programs, which show the description
// to people who give no password and count as no view. So a share with a password or a limit of
// views must not be. Faults: NotFound for the zero visit, InvalidPassword, Forbidden.
func describable(visit share.Visit) error {
	switch {
	case visit.ID == "":
		return fault.New(fault.NotFound, "There is no such share.")
	case !visit.Authorized || len(visit.Passwords) > 0:
		return fault.New(fault.InvalidPassword, "This share has a password.")
	case visit.MaxViews != nil:
		return fault.New(fault.Forbidden, "The views of this share are limited.")
	}
	return nil
}

// maxPictureSearch is how many entries of a shared folder are searched for a picture.
const maxPictureSearch = 50

// sharedPicture returns the picture that stands for a share: the shared picture, or the first one
// among maxPictureSearch entries of the shared folder. It returns false if there is none, or the
// share allows no preview.
func (c *call) sharedPicture(visit share.Visit) (files.Entry, bool) {
	switch {
	case !visit.AllowPreview || c.a.Thumbs == nil:
		return files.Entry{}, false
	case !visit.Entry.Folder:
		return visit.Entry, isRaster(visit.Entry)
	}
	listing, err := c.a.Tree.ListShared(c.ctx(), visit.Creator, visit.EntryID, vpath.Path{},
		files.ListQuery{Page: 1, Limit: maxPictureSearch})
	if err != nil {
		c.a.Log.Warn("look for the picture of a share", "error", err)
		return files.Entry{}, false
	}
	for _, e := range listing.Items {
		if !e.Folder && isRaster(e) {
			return e, true
		}
	}
	return files.Entry{}, false
}

// isRaster reports whether the type of a file is that of a picture of pixels, which can have a
// thumbnail. Drawings (SVG) have no thumbnails.
func isRaster(e files.Entry) bool {
	media, _, _ := strings.Cut(e.MimeType, ";")
	return strings.HasPrefix(media, "image/") && media != "image/svg+xml"
}
