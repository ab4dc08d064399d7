package api

import (
	"net/http"
	"strconv"
	"strings"

	"larder/internal/fault"
	"larder/internal/share"
)

// oembedCacheAge is how long a consumer may keep a description, in seconds: a share can end at any
// time.
const oembedCacheAge = 3600

type oembedInput struct {
	URL       *string `query:"url" json:"-" required:"true" maxLength:"2048" description:"The address of a share's page."`
	Format    *string `query:"format" json:"-" enum:"json"`
	MaxWidth  *int64  `query:"maxwidth" json:"-" minimum:"1" maximum:"1000000" description:"The largest width of the picture."`
	MaxHeight *int64  `query:"maxheight" json:"-" minimum:"1" maximum:"1000000" description:"The largest height of the picture."`
}

// oembedReply is a bare object, as oEmbed 1.0 defines it.
type oembedReply struct {
	Version      string `json:"version" required:"true" enum:"1.0"`
	Type         string `json:"type" required:"true" enum:"photo,link"`
	Title        string `json:"title" required:"true"`
	AuthorName   string `json:"author_name" required:"true"`
	ProviderName string `json:"provider_name" required:"true"`
	ProviderURL  string `json:"provider_url" required:"true"`
	CacheAge     int64  `json:"cache_age" required:"true" description:"Seconds."`
	URL          string `json:"url,omitempty" description:"The picture, of the type photo."`
	Width        int64  `json:"width,omitempty" description:"Of the picture, in pixels."`
	Height       int64  `json:"height,omitempty" description:"Of the picture, in pixels."`
}

// oembed handles GET /api/public/oembed: it describes a share to programs that show its address
// with a preview (oEmbed 1.0), and counts no view. A share of one picture is a photo, everything
// else a link. Faults: NotFound for an address that is no share's, and those of describable.
func (a *API) oembed(c *call) error {
	in, err := bindInput[oembedInput](c)
	if err != nil {
		return err
	}
	address, _, _ := strings.Cut(*in.URL, "#")
	address, _, _ = strings.Cut(address, "?")
	path, ours := strings.CutPrefix(address, a.BaseURL)
	if !ours {
		return fault.New(fault.NotFound, "This address leads to no share of this site.")
	}
	id, err := shareIDOf(path)
	if err != nil {
		return err
	}
	visit, err := a.Shares.View(c.ctx(), id, share.Visitor{IP: c.ip}, false)
	if err != nil {
		return err
	}
	if err := describable(visit); err != nil {
		return err
	}
	reply := oembedReply{Version: "1.0", Type: "link", Title: shareTitle(visit.Title, &visit.Entry),
		AuthorName: visit.CreatorName, ProviderName: c.siteTitle(), ProviderURL: c.url("/"), CacheAge: oembedCacheAge}
	if err := c.addPhoto(&reply, visit, min(valueOr(in.MaxWidth, 1280), valueOr(in.MaxHeight, 1280))); err != nil {
		return err
	}
	c.writeJSON(http.StatusOK, reply)
	return nil
}

// addPhoto makes the description of a share that of a photo, with the address of a thumbnail whose
// edges have at most `most` pixels. It changes nothing if the share is no picture, or no thumbnail
// is that small.
func (c *call) addPhoto(reply *oembedReply, visit share.Visit, most int64) error {
	edge := int64(0)
	for _, size := range []int64{160, 320, 640, 1280} {
		if size <= most {
			edge = size
		}
	}
	if _, found := c.sharedPicture(visit); !found || visit.Entry.Folder || edge == 0 {
		return nil
	}
	content, err := c.a.Downloads.PreviewShared(c.ctx(), visit, visit.EntryID)
	if err != nil {
		return err
	}
	t, err := c.openThumbnail(content, int(edge))
	switch {
	case fault.Is(err, fault.NotFound):
		return nil
	case err != nil:
		return err
	}
	defer t.Close()
	width, height, err := t.Dimensions()
	if err != nil {
		return err
	}
	reply.Type, reply.Width, reply.Height = "photo", int64(width), int64(height)
	reply.URL = c.url("/api/shares/" + visit.ID + "/thumbnail?size=" + strconv.FormatInt(edge, 10))
	return nil
}
