package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"

	"larder/internal/blob"
	"larder/internal/blob/s3"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/freemode"
	"larder/internal/upload"
	"larder/internal/vpath"
)

type freeListInput struct {
	Path   *string `query:"path" json:"-" description:"A folder inside the session's root."`
	Cursor *string `query:"cursor" json:"-" maxLength:"4096" description:"Cursor from the previous page."`
}

type freeItemReply struct {
	Key  string `json:"key" required:"true" description:"The key of a folder ends in a slash."`
	Name string `json:"name" required:"true"`
	Path string `json:"path" required:"true" description:"Path of the parent folder."`
	Type string `json:"type" required:"true" enum:"file,folder"`
	Size int64  `json:"size" required:"true" description:"Bytes; 0 for a folder."`
	ETag string `json:"etag" required:"true" description:"Opaque; empty for a folder."`
}

type freeMountReply struct {
	ID        string `json:"id" required:"true"`
	Name      string `json:"name" required:"true"`
	SortBy    string `json:"sortBy" required:"true" enum:"name,time,size,manual"`
	SortOrder string `json:"sortOrder" required:"true" enum:"asc,desc"`
	MountPath string `json:"mountPath" required:"true"`
}

type freeListReply struct {
	Items  []freeItemReply `json:"items" required:"true"`
	Mount  freeMountReply  `json:"mount" required:"true"`
	Cursor *string         `json:"cursor" required:"true" description:"For the next page; null after the last one."`
	Hidden int             `json:"hidden" required:"true" description:"Number of further objects on this page whose keys cannot be used here."`
}

// freeList handles GET /api/free-mode/files: a page of a folder of the visitor's bucket.
func (a *API) freeList(c *call, in freeListInput) (freeListReply, error) {
	path, cursor := "", ""
	if in.Path != nil {
		path = *in.Path
	}
	if in.Cursor != nil {
		cursor = *in.Cursor
	}
	dir, err := freemode.ParseDir(path)
	if err != nil {
		return freeListReply{}, err
	}
	page, err := a.FreeMode.List(c.ctx(), *c.free, dir, cursor)
	if err != nil {
		return freeListReply{}, err
	}
	reply := freeListReply{
		Items: make([]freeItemReply, 0, len(page.Items)),
		Mount: freeMountReply{ID: c.free.Username, Name: c.free.Connection.Bucket, SortBy: "name", SortOrder: "asc",
			MountPath: "/"},
		Hidden: page.Skipped,
	}
	for _, i := range page.Items {
		item := freeItemReply{Key: string(i.Key), Name: i.Key.Name(), Path: i.Key.Parent(), Type: "file", Size: i.Size,
			ETag: i.ETag}
		if i.Folder {
			item.Type = "folder"
		}
		reply.Items = append(reply.Items, item)
	}
	if page.Cursor != "" {
		reply.Cursor = &page.Cursor
	}
	return reply, nil
}

type freeKeyInput struct {
	Key *string `query:"key" json:"-" required:"true"`
}

// freeDelete handles DELETE /api/free-mode/object: it deletes the object with a key from the
// visitor's bucket.
func (a *API) freeDelete(c *call, in freeKeyInput) (none, error) {
	key, err := freemode.ParseKey(*in.Key)
	if err != nil {
		return none{}, err
	}
	c.auditFree(key.Path(), 0)
	return none{}, a.FreeMode.Delete(c.ctx(), *c.free, key)
}

// freeDownload handles GET /api/free-mode/download: it sends an object of the visitor's bucket,
// always as an attachment.
func (a *API) freeDownload(c *call) error {
	in, err := bindInput[freeKeyInput](c)
	if err != nil {
		return err
	}
	key, err := freemode.ParseKey(*in.Key)
	if err != nil {
		return err
	}
	ctx := c.ctx()
	if c.r.Method != http.MethodHead {
		lasting, leave, err := a.FreeMode.Transfer(ctx, *c.free)
		if err != nil {
			return err
		}
		defer leave()
		ctx = lasting
	}
	c.auditFree(key.Path(), 0)
	c.auditNotes[0].countsSent = true
	object, err := a.FreeMode.Open(ctx, *c.free, key)
	if err != nil {
		return err
	}
	defer object.Close()
	return c.serveBytes(servedContent{key.Name(), object.MimeType, strongTag(object), object.Size(), object.Modified,
		visitorObject{object}}, serveOptions{attachment: true})
}

// visitorObject is an open object in a visitor's bucket.
type visitorObject struct{ *s3.ForeignObject }

// Check implements contentSource: the object is open, so it exists.
func (visitorObject) Check(context.Context) error { return nil }

// RedirectAddress implements contentSource: visitors' stores are not redirected to.
func (visitorObject) RedirectAddress(context.Context, files.RedirectTerms) (string, error) {
	return "", nil
}

// OpenRange implements contentSource. The result reads on to the end of the object; the caller
// stops after its length.
func (o visitorObject) OpenRange(_ context.Context, first, _ int64) (blob.Object, error) {
	_, err := o.Seek(first, io.SeekStart)
	return o.ForeignObject, err
}

var etagPattern = regexp.MustCompile(`^[!#-~]{1,200}$`)

// strongTag returns the value of the ETag header for an object in a visitor's store. If the store's
// ETag has characters that no header may have, the tag is a hash of that ETag, the size and the
// modification time.
func strongTag(object *s3.ForeignObject) string {
	if etagPattern.MatchString(object.ETag) {
		return `"` + object.ETag + `"`
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %d", object.ETag, object.Size(), object.Modified.UnixNano()))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

type freeUploadInput struct {
	Path *string `query:"path" json:"-" description:"The folder inside the session's root."`
}

type freeUploadReply struct {
	Key  string `json:"key" required:"true"`
	Size int64  `json:"size" required:"true" description:"Bytes."`
}

// formOverhead is the number of bytes that a form may be longer than its file.
const formOverhead = 1 << 20

// freeUpload handles POST /api/free-mode/upload: it stores a file that comes as a form or as the
// raw body in the visitor's bucket. It replaces an object with the same key.
func (a *API) freeUpload(c *call) error {
	asked, err := bindInput[freeUploadInput](c)
	if err != nil {
		return err
	}
	path := ""
	if asked.Path != nil {
		path = *asked.Path
	}
	dir, err := freemode.ParseDir(path)
	if err != nil {
		return err
	}
	media, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	in := incomingFile{body: c.r.Body, size: c.r.ContentLength, name: c.r.Header.Get("X-File-Name"),
		mimeType: c.r.Header.Get("Content-Type")}
	if media == "multipart/form-data" {
		if in, err = c.freeForm(params["boundary"]); err != nil {
			return err
		}
	}
	if in.size > freemode.MaxUpload {
		return freemode.TooLarge()
	}
	name, err := vpath.ParseName(decodeName(in.name, true))
	if err != nil {
		return err
	}
	key, err := dir.Child(name)
	if err != nil {
		return err
	}
	c.auditFree(key.Path(), 0)
	size, err := a.FreeMode.Put(c.ctx(), *c.free, key, in.body, in.size, upload.TypeOf(name, in.mimeType))
	if err != nil {
		return err
	}
	c.auditFree(key.Path(), size)
	c.answer(http.StatusCreated, freeUploadReply{Key: string(key), Size: size})
	return nil
}

// freeForm finds the field `file` of a form and returns it unread: its body is read from the client
// while it is stored. Faults: Invalid, TooLarge.
func (c *call) freeForm(boundary string) (incomingFile, error) {
	switch {
	case boundary == "":
		return incomingFile{}, fault.New(fault.Invalid, "The Content-Type of the form has no boundary.")
	case c.r.ContentLength > freemode.MaxUpload+formOverhead:
		return incomingFile{}, freemode.TooLarge()
	}
	form := multipart.NewReader(http.MaxBytesReader(c.w, c.r.Body, freemode.MaxUpload+formOverhead), boundary)
	for range maxParts {
		part, err := form.NextRawPart()
		if err == io.EOF { // not errors.Is: the error of a form that ends early wraps io.EOF
			return incomingFile{}, fault.New(fault.Invalid, "The form contains no file. Send it in the field `file`.")
		}
		if err != nil {
			return incomingFile{}, freeFormError(err,
				fault.New(fault.Invalid, "The form is malformed or ended early.").WithCause(err))
		}
		if field, name, isFile := partNames(part); isFile && field == "file" {
			return incomingFile{body: freeFormBody{part}, size: -1, name: name,
				mimeType: part.Header.Get("Content-Type")}, nil
		}
	}
	return incomingFile{}, fault.Newf(fault.Invalid, "A form has at most %d fields.", maxParts)
}

// freeFormBody is the body of a form part in free mode. It returns Unverified when the form ends
// early, and TooLarge when the form is too long.
type freeFormBody struct{ io.Reader }

// Read implements io.Reader.
func (b freeFormBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = freeFormError(err, bodyError(err))
	}
	return n, err
}

// freeFormError returns the fault TooLarge if reading a form failed because it is longer than
// MaxUpload and formOverhead, else otherwise.
func freeFormError(err, otherwise error) error {
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return freemode.TooLarge()
	}
	return otherwise
}
