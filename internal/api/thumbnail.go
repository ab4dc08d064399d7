package api

import (
	"context"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/thumb"
)

// thumbnailInput asks for a thumbnail. The same rules as for the original apply to each request:
// the client may cache the thumbnail, but must revalidate it before each use.
type thumbnailInput struct {
	ID   string  `path:"id" json:"-"`
	Size *string `query:"size" json:"-" required:"true" enum:"160,320,640,1280,2048" description:"The longest edge in pixels. No picture is enlarged."`
}

type shareThumbnailInput struct {
	ID   string  `path:"id" json:"-"`
	File *string `query:"file" json:"-" description:"The id of one file in a shared folder."`
	Size *string `query:"size" json:"-" required:"true" enum:"160,320,640,1280,2048" description:"The longest edge in pixels. No picture is enlarged."`
}

type linkThumbnailInput struct {
	Link string  `path:"link" json:"-"`
	Size *string `query:"size" json:"-" required:"true" enum:"160,320,640,1280,2048" description:"The longest edge in pixels. No picture is enlarged."`
}

// thumbnail handles GET /api/files/{id}/thumbnail: it shows a small form of an image to callers who
// may download it, visitors included. Faults: Unauthorized for a visitor who may not, and those of
// serveThumbnail.
func (a *API) thumbnail(c *call) error {
	in, err := bindInput[thumbnailInput](c)
	if err != nil {
		return err
	}
	if err := c.requirePermission("read"); err != nil {
		return err
	}
	found, err := c.lookUp()
	if err != nil {
		return err
	}
	content, err := found.ContentFor(c.actor)
	if c.actor.UserID == "" && (fault.Is(err, fault.Forbidden) || fault.Is(err, fault.NotFound)) {
		if c.credentialErr != nil {
			return c.credentialErr
		}
		return fault.New(fault.Unauthorized, "Please sign in.").WithCause(err)
	}
	if err != nil {
		return err
	}
	return c.serveThumbnail(content, *in.Size, serveOptions{revalidate: true})
}

// findFile finds the entry that thumbnail shows, by the id in the path; see lookUp.
func (c *call) findFile() (*files.FoundEntry, error) {
	return c.a.Tree.FindID(c.ctx(), c.r.PathValue("id"))
}

// shareThumbnail handles GET /api/shares/{id}/thumbnail: it shows a thumbnail of the file that
// sharePreview shows, by the same rules. It is not counted either.
func (a *API) shareThumbnail(c *call) error {
	in, err := bindInput[shareThumbnailInput](c)
	if err != nil {
		return err
	}
	content, err := c.previewContent(in.ID, in.File)
	if err != nil {
		return err
	}
	_, shown, err := a.sniffer.previewType(c.ctx(), content)
	if err != nil {
		return err
	}
	if !shown {
		return noThumbnail()
	}
	return c.serveThumbnail(content, *in.Size, serveOptions{revalidate: true})
}

// linkThumbnail handles GET /api/i/{link}/thumbnail: it shows a thumbnail of the file of a
// permanent link. Any site may embed it, as the original.
func (a *API) linkThumbnail(c *call) error {
	in, err := bindInput[linkThumbnailInput](c)
	if err != nil {
		return err
	}
	content, err := c.linkedContent(in.Link)
	if err != nil {
		return err
	}
	return c.serveThumbnail(content, *in.Size, serveOptions{public: true, revalidate: true})
}

// serveThumbnail serves the thumbnail of a content that the caller may have; size is the longest
// edge in pixels. Faults: NotFound when there is none, such as for a file that is no image;
// RateLimited; Unavailable.
func (c *call) serveThumbnail(content files.Content, size string, opts serveOptions) error {
	edge, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	t, err := c.openThumbnail(content, edge)
	if err != nil {
		return err
	}
	defer t.Close() // after a sent answer this is the second Close, which does nothing
	name := strings.TrimSuffix(content.Entry.Name, path.Ext(content.Entry.Name)) + "." + t.Ext
	return c.serveBytes(servedContent{name, t.Type, t.ETag, t.Size(), time.Time{}, thumbnailSource{t}}, opts)
}

// openThumbnail returns the thumbnail whose longest edge has at most edge pixels, from the cache or
// newly made. The caller closes it. Faults: those of serveThumbnail.
func (c *call) openThumbnail(content files.Content, edge int) (thumb.Thumbnail, error) {
	if c.a.Thumbs == nil {
		return thumb.Thumbnail{}, noThumbnail()
	}
	media, err := c.a.sniffer.typeOf(c.ctx(), content)
	if err != nil {
		return thumb.Thumbnail{}, err
	}
	if top, _, _ := strings.Cut(media, "/"); top != "image" || media == "image/svg+xml" {
		return thumb.Thumbnail{}, noThumbnail()
	}
	original := thumb.Source{ID: content.ID, Size: content.Entry.Size,
		Open: func(ctx context.Context) (blob.Object, error) {
			return content.OpenRange(ctx, 0, content.Entry.Size)
		}}
	return c.a.Thumbs.Get(c.ctx(), c.limitKey(""), original, edge)
}

// noThumbnail returns the fault NotFound of a file that can't have a thumbnail.
func noThumbnail() error { return fault.New(fault.NotFound, "There is no thumbnail of this file.") }

// thumbnailSource is a thumbnail as a contentSource.
type thumbnailSource struct{ thumb.Thumbnail }

// Check implements contentSource.
func (s thumbnailSource) Check(context.Context) error { return nil }

// RedirectAddress implements contentSource; no store has the thumbnail.
func (s thumbnailSource) RedirectAddress(context.Context, files.RedirectTerms) (string, error) {
	return "", nil
}

// OpenRange implements contentSource. The result reads on to the end of the thumbnail; the caller
// stops after its length.
func (s thumbnailSource) OpenRange(_ context.Context, first, _ int64) (blob.Object, error) {
	_, err := s.Seek(first, io.SeekStart)
	return s.Thumbnail, err
}
